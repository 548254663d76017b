//! Routing: grids and nets in, trees out.

mod arrays;
mod case;
mod json;
mod lines;
mod picture;
mod png;
mod svg;
mod text;

pub use self::arrays::{read_pins, read_weights};
pub use self::case::{read_case, write_case};
pub use self::json::write_route_json;
pub use self::png::write_route_png;
pub use self::svg::write_route_svg;
pub use self::text::write_route_text;

use crate::route::{Route, RoutingCase};
use crate::{Error, Result};

/// Refuses routes that are not one for each net.
fn check_routes(case: &RoutingCase, routes: &[Route]) -> Result<()> {
    if case.nets.len() == routes.len() {
        return Ok(());
    }
    Err(Error::LengthMismatch {
        needed: case.nets.len(),
        given: routes.len(),
    })
}
