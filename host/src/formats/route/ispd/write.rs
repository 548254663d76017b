//! Trees: `.route`.

use std::io::Write;

use crate::Result;
use crate::formats::route::check_routes;
use crate::formats::text::Text;
use crate::route::{Route, RoutingCase};

/// Writes trees as the ISPD 2024 contest has them: for each net its name, a line `(`, a line
/// `x1 y1 layer1 x2 y2 layer2` for each straight wire and each stack of vias, and a line `)`. Each
/// segment goes from its smaller coordinate to its larger one. A net without a name is `net0`,
/// `net1`, … by its index.
///
/// ```
/// use trazar::route::{Cell, Net, RouteOptions, RoutingCase, RoutingGrid};
/// use trazar::{Engine, formats};
///
/// let net = Net::from_cells([Cell::at(0, 1), Cell::at(2, 1)]);
/// let case = RoutingCase::new(RoutingGrid::uniform(3, 2, 1)?, [net]);
/// let routes = Engine::cpu().route(&case.grid, &case.nets, &RouteOptions::default())?;
/// let mut text = Vec::new();
/// formats::write_routes_ispd(&case, &routes, &mut text)?;
/// assert_eq!(text, b"net0\n(\n0 1 0 2 1 0\n)\n");
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there is one route per net;
/// [`Error::Write`](crate::Error::Write).
pub fn write_routes_ispd(case: &RoutingCase, routes: &[Route], out: impl Write) -> Result<()> {
    check_routes(case, routes)?;
    let mut text = Text::new(out)?;
    for (index, route) in routes.iter().enumerate() {
        match case.names.get(index) {
            Some(name) => text.put(name),
            None => text.put("net").integer(index),
        };
        text.put("\n(\n");
        for (from, to) in route.segments() {
            let (low, high) = (from.min(to), from.max(to));
            text.integer(low.x).put(" ").integer(low.y);
            text.put(" ").integer(low.layer).put(" ");
            text.integer(high.x).put(" ").integer(high.y);
            text.put(" ").integer(high.layer).put("\n").write_full()?;
        }
        text.put(")\n").write_full()?;
    }
    text.finish()
}
