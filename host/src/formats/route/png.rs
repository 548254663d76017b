//! Trees drawn over the grid, as PNG.

use std::io::Write;

use glam::IVec2;

use super::picture::{BLOCKED_CELL, COLOURS, UNREACHED, colour, shades, wires};
use super::{check_picture, check_routes};
use crate::error::Result;
use crate::formats::canvas::Canvas;
use crate::route::{Cell, Route, RoutingCase};

/// The palette's entries: shades of grey up to this one, then one for cells with all edges blocked,
/// then the following ones.
const DARKEST: u8 = 199;
const FIRST_COLOUR: u8 = DARKEST + 2;
const FRAME: u8 = FIRST_COLOUR + COLOURS.len() as u8;
const PIN: u8 = FRAME + 1;
const UNREACHED_PIN: u8 = PIN + 1;

/// Writes a PNG picture with each net's tree and pins over the costs of the cells. The cost of a
/// cell, the mean weight of its edges, is a shade of grey, dark if it is high; cells with all edges
/// blocked are slate.
///
/// Each net's tree has a colour of its own; the tree of a single net has one colour per layer. Pins
/// are black squares, yellow if no path reaches them, with a white frame behind the trees. Vias are
/// white dots. Grids with both sides below 800 cells are enlarged by a whole number, at most 16.
///
/// # Errors
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there is one route per net;
/// [`Error::Unwritable`](crate::Error::Unwritable) for grids with a side of 2³¹ cells or more;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Write`](crate::Error::Write).
pub fn write_routes_png(case: &RoutingCase, routes: &[Route], out: impl Write) -> Result<()> {
    check_routes(case, routes)?;
    let grid = &case.grid;
    check_picture(grid)?;
    let shades = shades(grid, DARKEST)?;
    let mut canvas = Canvas::new(grid.width(), grid.height(), shades, false)?.with_thick_lines();
    // Under the wires: over them, a frame would separate them from the pin.
    for cell in case
        .nets
        .iter()
        .flat_map(|net| &net.pins)
        .flat_map(|pin| &pin.cells)
    {
        canvas.frame(at(*cell), FRAME);
    }
    for (net, route) in routes.iter().enumerate() {
        let (wires, vias) = wires(route);
        for wire in &wires {
            let colour = FIRST_COLOUR + colour(case, net, wire.layer) as u8;
            for pair in wire.corners.windows(2) {
                canvas.line(at(pair[0]), at(pair[1]), colour);
            }
        }
        for via in vias {
            canvas.spot(at(via), FRAME);
        }
    }
    for (net, route) in case.nets.iter().zip(routes) {
        for (index, pin) in net.pins.iter().enumerate() {
            let colour = match route.unreached().binary_search(&index) {
                Ok(_) => UNREACHED_PIN,
                Err(_) => PIN,
            };
            for &cell in &pin.cells {
                canvas.marker(at(cell), colour);
            }
        }
    }
    let mut palette: Vec<u8> = (0..=DARKEST).flat_map(|s| [255 - s / 5 * 3; 3]).collect();
    palette.extend(BLOCKED_CELL);
    palette.extend(COLOURS.as_flattened());
    palette.extend([255; 3]);
    palette.extend([0; 3]);
    palette.extend(UNREACHED);
    canvas.write(palette, out)
}

fn at(cell: Cell) -> IVec2 {
    IVec2::new(cell.x as i32, cell.y as i32)
}
