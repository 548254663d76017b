//! Writers of contours.

mod component;
mod gds;
mod geojson;
mod json;
mod overlay;
mod polygon;
mod svg;

pub use self::gds::{GdsOptions, write_gds};
pub use self::geojson::{write_geojson, write_geojson_lines};
pub use self::json::write_json;
pub use self::overlay::write_overlay;
pub use self::svg::write_svg;
