//! Trees as SVG.

use std::io::Write;

use super::check_routes;
use super::picture::{BLOCKED_CELL, COLOURS, UNREACHED, Wire, colour, shades, wires};
use crate::Result;
use crate::formats::svg_start::put_start;
use crate::formats::text::Text;
use crate::route::{Cell, Route, RoutingCase};

/// The largest grid whose costs are drawn, in cells.
const MAX_CELLS: u32 = 1 << 14;
/// The shade of the largest cost, in steps from white.
const DARKEST: u8 = 15;

/// Writes an SVG picture with one unit per cell: the grid's frame, and each net's tree and pins. On
/// grids of up to 16,384 cells it also shows the cost of each cell, the mean weight of its edges,
/// as a shade of grey, dark if it is high; cells with all edges blocked are slate.
///
/// Each net's tree has a colour of its own; the tree of a single net has one colour per layer. Vias
/// are dots. Pins are black squares, yellow if no path reaches them, with a white frame behind the
/// trees. Grids with both sides below 800 cells are shown enlarged, up to 16 times.
///
/// # Errors
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there is one route per net;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Write`](crate::Error::Write).
pub fn write_routes_svg(case: &RoutingCase, routes: &[Route], out: impl Write) -> Result<()> {
    check_routes(case, routes)?;
    let (width, height) = (case.grid.width(), case.grid.height());
    let mut text = Text::new(out)?;
    put_start(&mut text, width, height, "Routes");
    text.put("<desc>");
    text.integer(routes.len()).put(" nets on ").integer(width);
    text.put(" x ").integer(height).put(" cells in ");
    text.integer(case.grid.layers());
    text.put(" layers; by trazar</desc>\n");
    text.put("<rect width=\"100%\" height=\"100%\" fill=\"#fff\" stroke=\"#888\" ");
    text.put("stroke-width=\".1\"/>\n");
    if case.grid.cell_count() <= MAX_CELLS {
        put_shades(&mut text, case)?;
    }
    // Coordinates are cell indices; cell centers are half a unit further.
    text.put("<g transform=\"translate(.5 .5)\">\n");
    // Under the wires: over them, a frame would separate them from the pin.
    let pins = case.nets.iter().flat_map(|net| &net.pins);
    let cells = pins.flat_map(|pin| pin.cells.iter().copied());
    put_squares(&mut text, cells, [255; 3], "m-.7-.7h1.4v1.4h-1.4z")?;
    text.put("<g fill=\"none\" stroke-width=\".4\" stroke-linecap=\"round\" ");
    text.put("stroke-linejoin=\"round\">\n");
    let mut dots = Vec::new();
    for (net, route) in routes.iter().enumerate() {
        let (mut wires, vias) = wires(route);
        wires.sort_by_key(|wire| wire.layer);
        for wires in wires.chunk_by(|a, b| a.layer == b.layer) {
            put_wires(&mut text, wires, colour(case, net, wires[0].layer))?;
        }
        dots.extend(vias);
    }
    text.put("</g>\n");
    if !dots.is_empty() {
        text.put("<g fill=\"#fff\" stroke=\"#000\" stroke-width=\".1\">\n");
        for Cell { x, y, .. } in dots {
            text.put("<circle cx=\"")
                .integer(x)
                .put("\" cy=\"")
                .integer(y);
            text.put("\" r=\".22\"/>\n").write_full()?;
        }
        text.put("</g>\n");
    }
    put_pins(&mut text, case, routes)?;
    text.put("</g>\n</svg>\n");
    text.finish()
}

/// Draws the costs: one path per shade of grey, with the runs of cells that have it.
fn put_shades(text: &mut Text<impl Write>, case: &RoutingCase) -> Result<()> {
    let width = case.grid.width() as usize;
    let shades = shades(&case.grid, DARKEST)?;
    text.put("<g shape-rendering=\"crispEdges\">\n");
    for shade in 1..=DARKEST + 1 {
        if !shades.contains(&shade) {
            continue;
        }
        let colour = match shade {
            1..=DARKEST => [255 - 8 * shade; 3],
            _ => BLOCKED_CELL,
        };
        text.put("<path fill=\"").put(&hex(colour)).put("\" d=\"");
        for (y, row) in shades.chunks_exact(width).enumerate() {
            let mut x = 0;
            for run in row.chunk_by(|a, b| a == b) {
                if run[0] == shade {
                    text.put("M").integer(x).put(" ").integer(y);
                    text.put("h").integer(run.len()).put("v1h-");
                    text.integer(run.len()).put("z");
                }
                x += run.len();
            }
            text.write_full()?;
        }
        text.put("\"/>\n");
    }
    text.put("</g>\n");
    Ok(())
}

/// Draws `wires`, all of one layer, as one path.
fn put_wires(text: &mut Text<impl Write>, wires: &[Wire], colour: usize) -> Result<()> {
    text.put("<path stroke=\"").put(&hex(COLOURS[colour]));
    text.put("\" d=\"");
    for wire in wires {
        let mut at = wire.corners[0];
        text.put("M").integer(at.x).put(" ").integer(at.y);
        for &corner in &wire.corners[1..] {
            match corner.y == at.y {
                true => text.put("H").integer(corner.x),
                false => text.put("V").integer(corner.y),
            };
            text.write_full()?;
            at = corner;
        }
    }
    text.put("\"/>\n");
    text.write_full()
}

/// Draws a square at each cell of each pin.
fn put_pins(text: &mut Text<impl Write>, case: &RoutingCase, routes: &[Route]) -> Result<()> {
    for unreached in [false, true] {
        let mut squares = Vec::new();
        for (net, route) in case.nets.iter().zip(routes) {
            let wanted = |pin: &usize| route.unreached().binary_search(pin).is_ok() == unreached;
            let pins = (0..net.pins.len()).filter(wanted);
            squares.extend(pins.flat_map(|pin| &net.pins[pin].cells));
        }
        let fill = if unreached { UNREACHED } else { [0; 3] };
        put_squares(text, squares.into_iter().copied(), fill, "m-.5-.5h1v1h-1z")?;
    }
    Ok(())
}

/// Draws one path with `square` around the center of each of `cells`, if there are any.
fn put_squares(
    text: &mut Text<impl Write>,
    cells: impl IntoIterator<Item = Cell>,
    fill: [u8; 3],
    square: &str,
) -> Result<()> {
    let mut cells = cells.into_iter().peekable();
    if cells.peek().is_none() {
        return Ok(());
    }
    text.put("<path fill=\"").put(&hex(fill)).put("\" d=\"");
    for Cell { x, y, .. } in cells {
        text.put("M").integer(x).put(" ").integer(y).put(square);
        text.write_full()?;
    }
    text.put("\"/>\n");
    Ok(())
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
