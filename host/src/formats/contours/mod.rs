//! Writers of contours.

mod component;
mod gds;
mod geojson;
mod json;
mod overlay;
mod polygon;
mod svg;

pub(in crate::formats) use self::component::Component;
pub(in crate::formats) use self::gds::Records as GdsRecords;
pub use self::gds::{GdsOptions, write_contours_gds};
pub(in crate::formats) use self::geojson::{start_collection, write_rings};
pub use self::geojson::{
    write_contours_geojson, write_contours_geojson_in, write_contours_geojson_lines,
};
pub use self::json::write_contours_json;
pub use self::overlay::write_overlay_png;
pub use self::svg::write_contours_svg;
