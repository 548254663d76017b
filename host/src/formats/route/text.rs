//! Trees as lists of cells, in the format of the report that [`read_case`](super::read_case) cites.

use std::io::Write;

use super::case::put_cell;
use super::check_routes;
use crate::Result;
use crate::formats::text::Text;
use crate::route::{Route, RoutingCase};

/// Writes one line `ROW COLUMN` per cell of the tree, row by row; on a grid of several layers
/// `ROW COLUMN LAYER`, layer by layer. If there are several nets, a line `Net` with the number of
/// its cells precedes each.
///
/// ```
/// use trazar::route::{Cell, Net, RouteOptions, RoutingCase, RoutingGrid};
/// use trazar::{Engine, formats};
///
/// let net = Net::from_cells([Cell::at(0, 1), Cell::at(2, 1)]);
/// let case = RoutingCase::new(RoutingGrid::uniform(3, 2, 1)?, [net]);
/// let routes = Engine::cpu().route(&case.grid, &case.nets, &RouteOptions::default())?;
/// let mut text = Vec::new();
/// formats::write_routes_text(&case, &routes, &mut text)?;
/// assert_eq!(text, b"1 0\n1 1\n1 2\n");
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there is one route per net;
/// [`Error::Write`](crate::Error::Write).
pub fn write_routes_text(case: &RoutingCase, routes: &[Route], out: impl Write) -> Result<()> {
    check_routes(case, routes)?;
    let mut text = Text::new(out)?;
    for route in routes {
        let cells = route.cells();
        if routes.len() > 1 {
            text.put("Net ").integer(cells.len()).put("\n");
        }
        for cell in cells {
            put_cell(&mut text, cell, &case.grid);
            text.put("\n").write_full()?;
        }
    }
    text.finish()
}
