//! Writers of contours.

mod component;
mod gds;
mod geojson;
mod json;
mod overlay;
mod polygon;
mod svg;

pub(in crate::formats) use self::component::Component;
pub(in crate::formats) use self::gds::Stream as GdsStream;
pub use self::gds::{GdsOptions, write_gds};
pub(in crate::formats) use self::geojson::{start_collection, write_rings};
pub use self::geojson::{write_geojson, write_geojson_in, write_geojson_lines};
pub use self::json::write_json;
pub use self::overlay::write_overlay;
pub use self::svg::write_svg;
