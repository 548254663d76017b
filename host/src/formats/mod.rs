//! File formats: images and grids in, results out.
//!
//! | direction | format | function |
//! |---|---|---|
//! | in | PNG, PBM/PGM/PPM/PAM, BMP, TIFF, `.npy` | [`read_image`] |
//! | out, contours | JSON | [`write_json`] |
//! | | SVG | [`write_svg`] |
//! | | GeoJSON | [`write_geojson`] |
//! | | GDSII | [`write_gds`] |
//! | | PNG, drawn over the image | [`write_overlay`] |
//! | out, labels | `.npy` | [`write_labels_npy`] |
//! | | PNG, a colour a component | [`write_labels_png`] |
//! | | CSV, statistics | [`write_statistics`] |
//! | out, images | PNG | [`write_image_png`] |
//! | | PBM | [`write_image_pbm`] |
//! | | `.npy` | [`write_image_npy`] |
//! | in, grids and nets | text | [`read_case`] |
//! | | `.npy`, and text for the pins | [`read_weights`], [`read_pins`] |
//! | out, grids and nets | text | [`write_case`] |
//! | out, trees | text | [`write_route_text`] |
//! | | JSON | [`write_route_json`] |
//! | | SVG | [`write_route_svg`] |
//! | | PNG | [`write_route_png`] |
//!
//! Writers take any [`std::io::Write`], do their own buffering, and build nothing in memory that
//! they can write as it comes; [`write_gds`] copies the points of one component at a time, where
//! it has to divide it. An [`Output`] is a file that appears complete or not at all.
//! [`report_reading`] tells how far reading is; [`remove_temporaries`] is for programs that handle
//! the signals that end them.

mod binary_image;
mod canvas;
mod gds;
mod geojson;
mod grey;
mod image_file;
mod json;
mod labels_npy;
mod labels_png;
mod npy;
mod output;
mod overlay;
mod png_file;
mod polygon;
mod read;
mod reading;
mod route;
mod statistics;
mod svg;
mod temporaries;
mod text;
mod threshold;
mod tiff_chunk;
mod tiff_file;

pub use self::binary_image::{write_image_npy, write_image_pbm, write_image_png};
pub use self::gds::{GdsOptions, write_gds};
pub use self::geojson::write_geojson;
pub use self::grey::GreyImage;
pub use self::json::write_json;
pub use self::labels_npy::write_labels_npy;
pub use self::labels_png::write_labels_png;
pub use self::output::Output;
pub use self::overlay::write_overlay;
pub use self::read::{Note, ReadImage, ReadOptions, read_image};
pub use self::reading::report_reading;
pub use self::route::{
    read_case, read_pins, read_weights, write_case, write_route_json, write_route_png,
    write_route_svg, write_route_text,
};
pub use self::statistics::write_statistics;
pub use self::svg::write_svg;
#[cfg(unix)]
pub use self::temporaries::remove_temporaries;
pub use self::threshold::SampleKind;
