//! Writing grids and nets as text.

use std::io::Write;

use super::read::words;
use crate::error::{Error, Result, WriteProblem};
use crate::formats::route::lines::EdgeNumber;
use crate::formats::text::Text;
use crate::route::{Cell, Net, RoutingCase, RoutingGrid};

/// Writes a grid with its nets, and with capacities if there are any, as text, which
/// [`read_case`](super::read_case) reads back, all but the nets' names. If there is no net, the
/// file has one without pins.
///
/// # Errors
/// [`Error::Unwritable`] for pins without cells, which the format cannot express;
/// [`Error::InvalidOption`] for capacities of a grid of another size; [`Error::Write`].
pub fn write_case_text(case: &RoutingCase, out: impl Write) -> Result<()> {
    let RoutingCase {
        grid,
        nets,
        capacities,
        ..
    } = case;
    let refuse = |net: usize, what: &str| {
        Err(Error::unwritable(
            "text",
            WriteProblem::Inexpressible,
            format!("net {net} has {what}: the format has no words for it"),
        ))
    };
    for (i, net) in nets.iter().enumerate() {
        if net.pins.iter().any(|pin| pin.cells.is_empty()) {
            return refuse(i, "a pin without cells");
        }
    }
    if let Some(capacities) = capacities {
        capacities.check_fits(grid)?;
    }
    let mut text = Text::new(out)?;
    text.integer(grid.width()).put(" ").integer(grid.height());
    if grid.layers() > 1 {
        text.put(" ").integer(grid.layers());
    }
    text.put("\n");
    let no_net = [Net::default()];
    let nets = if nets.is_empty() { &no_net } else { &nets[..] };
    for (i, net) in nets.iter().enumerate() {
        text.put(if i == 0 { "" } else { "Net " });
        text.integer(net.pins.len()).put("\n");
        for pin in &net.pins {
            let mut between = "Pin ";
            for &cell in &pin.cells {
                put_cell(text.put(between), cell, grid);
                text.write_full()?;
                between = " / ";
            }
            text.put("\n");
        }
        if let Some(window) = net.window {
            text.put("Window ").integer(window.y);
            for number in [window.x, window.height, window.width] {
                text.put(" ").integer(number);
            }
            text.put("\n");
        }
    }
    let weights = [grid.rights(), grid.downs(), grid.vias()];
    put_edges(&mut text, grid, weights, EdgeNumber::Weight)?;
    if let Some(capacities) = capacities {
        let counts = [capacities.rights(), capacities.downs(), capacities.vias()];
        put_edges(&mut text, grid, counts, EdgeNumber::Capacity)?;
    }
    text.finish()
}

/// Writes a number for each edge.
fn put_edges(
    text: &mut Text<impl Write>,
    grid: &RoutingGrid,
    [rights, downs, vias]: [&[u32]; 3],
    of: EdgeNumber,
) -> Result<()> {
    let [right, down, via] = words(of);
    let width = grid.width() as usize;
    let area = width * grid.height() as usize;
    for layer in 0..grid.layers() as usize {
        let is_last = layer + 1 == grid.layers() as usize;
        let below = layer * area..(layer + 1) * area;
        let vias_after = if is_last { 0..0 } else { below.clone() };
        let last_row = below.end - width;
        let kinds = [
            (right, &rights[below.clone()], width - 1),
            (down, &downs[below.start..last_row], width),
            (via, &vias[vias_after], width),
        ];
        for (word, numbers, per_row) in kinds {
            for row in numbers.chunks_exact(width) {
                text.put(word);
                for &number in &row[..per_row] {
                    // A blocked edge, or one without a limit.
                    match number {
                        u32::MAX => text.put(" x"),
                        _ => text.put(" ").integer(number),
                    };
                    text.write_full()?;
                }
                text.put("\n");
            }
        }
    }
    Ok(())
}

/// Writes `ROW COLUMN`, and on a grid of several layers ` LAYER`.
pub(in crate::formats::route) fn put_cell(
    text: &mut Text<impl Write>,
    cell: Cell,
    grid: &RoutingGrid,
) {
    text.integer(cell.y).put(" ").integer(cell.x);
    if grid.layers() > 1 {
        text.put(" ").integer(cell.layer);
    }
}
