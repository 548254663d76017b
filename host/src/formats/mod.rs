//! File formats: images and grids in, results out.
//!
//! | direction | format | function |
//! |---|---|---|
//! | in | PNG, PBM/PGM/PPM/PAM, BMP, TIFF, `.npy` | [`read_image`]; band by band, [`ImageBands`] |
//! | in, values | TIFF, PNG, PGM, `.npy` | [`read_raster`]; band by band, [`RasterBands`] |
//! | out, contours | JSON | [`write_contours_json`] |
//! | | SVG | [`write_contours_svg`] |
//! | | GeoJSON | [`write_contours_geojson`], [`write_contours_geojson_in`], [`write_contours_geojson_lines`] |
//! | | GDSII | [`write_contours_gds`] |
//! | | PNG, drawn over the image | [`write_overlay_png`] |
//! | out, regions | GeoJSON | [`write_regions_geojson`], [`write_regions_geojson_lines`], [`write_regions_geojson_sequence`] |
//! | | FlatGeobuf | [`write_regions_flatgeobuf`] |
//! | | GDSII, one layer per value | [`write_regions_gds`] |
//! | | SVG | [`write_regions_svg`] |
//! | out, labels | `.npy` | [`write_labels_npy`] |
//! | | PNG, one colour per component | [`write_labels_png`] |
//! | | CSV, statistics | [`write_statistics_csv`] |
//! | out, measures of labels | CSV | [`write_measures_csv`] |
//! | out, labels band by band | `.npy` | [`write_band_labels_npy`] |
//! | | CSV, statistics | [`write_band_statistics_csv`] |
//! | out, images | PNG | [`write_image_png`] |
//! | | PBM | [`write_image_pbm`] |
//! | | `.npy` | [`write_image_npy`] |
//! | in, sources and cells of cost distances | CSV, rasters | [`read_sources`], [`read_cells`], [`sources_of_raster`] |
//! | out, costs, allocation, directions | TIFF, `.npy` | [`write_values_tiff`], [`write_values_npy`] |
//! | | PNG, with a colour map | [`write_costs_png`] |
//! | out, paths of least cost | GeoJSON | [`write_paths_geojson`] |
//! | in, grids and nets | text | [`read_case`] |
//! | | `.npy`, and text for the pins | [`read_weights`], [`read_pins`] |
//! | out, grids and nets | text | [`write_case_text`] |
//! | out, trees | text | [`write_routes_text`] |
//! | | JSON | [`write_routes_json`] |
//! | | SVG | [`write_routes_svg`] |
//! | | PNG | [`write_routes_png`], [`write_congestion_png`] |
//! | | `.route` of the ISPD 2024 contest | [`write_routes_ispd`] |
//!
//! Writers take any [`std::io::Write`], buffer their output themselves, and stream results instead
//! of building them in memory. Contours and regions are encoded on all threads of the current rayon
//! pool, two batches of half a million points at a time, or one component that has more. An
//! [`Output`] is a file that appears complete or not at all. [`report_reading`]
//! reports the progress of reading. [`remove_temporaries`] is for programs that handle the signals
//! that end them.

// A new format is a file in the folder of its subject (`image`, `contours`, `labels`, `route`); it
// needs a line in the table above, and a name in the command's `args.rs`.

mod canvas;
mod colour;
mod contours;
mod distance;
mod image;
mod labels;
mod measures;
mod npy;
mod output;
mod panics;
mod placement;
mod png_writer;
mod progress;
mod regions;
mod route;
mod scale;
mod shares;
mod source;
mod svg_start;
mod temporaries;
#[cfg(test)]
mod test_file;
mod text;

pub use self::contours::{
    GdsOptions, write_contours_gds, write_contours_geojson, write_contours_geojson_in,
    write_contours_geojson_lines, write_contours_json, write_contours_svg, write_overlay_png,
};
pub use self::distance::{
    CellOf, GeoTags, Values, read_cells, read_sources, sources_of_raster, write_costs_png,
    write_paths_geojson, write_values_npy, write_values_tiff,
};
pub use self::image::{
    Affine, Crs, GeoReference, GreyImage, ImageBands, NoData, Note, Raster, RasterBands,
    RasterValues, ReadImage, ReadOptions, SampleKind, ValueBands, read_image, read_raster,
    write_image_npy, write_image_pbm, write_image_png,
};
pub use self::labels::{
    write_band_labels_npy, write_band_statistics_csv, write_labels_npy, write_labels_png,
    write_statistics_csv,
};
pub use self::measures::write_measures_csv;
pub use self::output::Output;
pub use self::progress::report_reading;
pub use self::regions::{
    FileValue, RegionSource, RegionWriteOptions, count_regions, write_regions_flatgeobuf,
    write_regions_gds, write_regions_geojson, write_regions_geojson_lines,
    write_regions_geojson_sequence, write_regions_svg,
};
pub use self::route::{
    read_case, read_ispd, read_pins, read_weights, write_case_text, write_congestion_png,
    write_routes_ispd, write_routes_json, write_routes_png, write_routes_svg, write_routes_text,
};
#[cfg(unix)]
pub use self::temporaries::remove_temporaries;
