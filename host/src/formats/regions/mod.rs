//! Writers of regions: polygons with values.

mod flatbuffer;
mod flatgeobuf;
mod gds;
mod geojson;
mod source;
mod svg;
mod value;

pub use self::flatgeobuf::write_regions_flatgeobuf;
pub use self::gds::write_regions_gds;
pub use self::geojson::{
    write_regions_geojson, write_regions_geojson_lines, write_regions_geojson_sequence,
};
pub use self::source::{RegionSource, RegionWriteOptions, count_regions};
pub use self::svg::write_regions_svg;
pub use self::value::FileValue;
