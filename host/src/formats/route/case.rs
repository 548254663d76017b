//! Grids and nets in the text format of the report on parallel maze routing.

use std::io::Write;
use std::path::Path;

use super::super::text::Text;
use super::lines::{Line, Lines};
use crate::route::{BLOCKED, Cell, MAX_LAYERS, Net, Pin, RoutingCase, RoutingGrid, check_size};
use crate::{Error, Result};

/// Reads a grid with its nets from text:
///
/// ```text
/// 3 3
/// 2
/// Pin 1 1
/// Pin 0 2
/// Vertical 24 26
/// Vertical 47 13
/// Vertical 70 2
/// Horizontal 33 68 51
/// Horizontal 80 24 77
/// ```
///
/// Width and height; the number of pins; row and column of each pin; for each row, its `Vertical` edges, `width - 1` weights between
/// `(x, y)` and `(x + 1, y)`; for each row but the last, its `Horizontal` edges, `width` weights between `(x, y)` and `(x, y + 1)`.
/// (The words name the borders between cells.) This much is the report's; its files are read as they are. Beyond it:
///
/// - A weight `x` is a blocked edge.
/// - A first line of three numbers gives the layers too. Then the `Vertical` and `Horizontal` lines of each layer, the lowest first,
///   are followed by its `Via` lines, but for the last: for each row, `width` weights between a cell and the one on the next layer.
///   A pin may have a third number, its layer; without it, it is on layer 0.
/// - A pin of several cells: `Pin 1 1 / 0 2`.
/// - After the first net's pins, `Net` and a number of pins begin another net, as often as there are nets.
///
/// Spaces, tabs and line ends of either kind may be more than is needed; blank lines may be at the end only. A pipe is read as well
/// as a file. No size that a file claims is trusted before memory for it was had.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read; [`Error::Unreadable`], with line and column, for one that is not of this format;
/// [`Error::OutOfMemory`].
pub fn read_case(path: impl AsRef<Path>) -> Result<RoutingCase> {
    let mut lines = Lines::open(path.as_ref())?;
    let mut grid = read_size(&mut lines)?;
    let nets = read_nets(&mut lines, &grid)?;
    read_weights(&mut lines, &mut grid)?;
    lines.finish()?;
    Ok(RoutingCase { grid, nets })
}

/// The grid that the first line asks for, all of it blocked.
fn read_size(lines: &mut Lines<'_>) -> Result<RoutingGrid> {
    let mut line = lines.expect("the grid's size")?;
    let width = line.number("grid's width", 1..=u32::MAX)?;
    let height = line.number("grid's height", 1..=u32::MAX)?;
    let layers = match line.is_done() {
        true => 1,
        false => line.number("number of layers", 1..=MAX_LAYERS)?,
    };
    check_size(width.into(), height.into(), layers).map_err(|error| line.error(error))?;
    line.finish("width, height and layers")?;
    let (w, h, l) = (u128::from(width), u128::from(height), u128::from(layers));
    let weights = l * (h * (w - 1) + (h - 1) * w) + (l - 1) * h * w;
    // A digit and what separates it from the next.
    let cells = format_args!("{width} × {height} cells in {layers} layers");
    lines.check_holds(2 * weights, cells)?;
    lines.allow_weights(width);
    RoutingGrid::blocked(width, height, layers)
}

fn read_nets(lines: &mut Lines<'_>, grid: &RoutingGrid) -> Result<Vec<Net>> {
    let mut nets = Vec::new();
    loop {
        let mut line = lines.expect("the number of pins")?;
        if !nets.is_empty() && !line.takes("Net") {
            lines.put_back();
            return Ok(nets);
        }
        let count = line.number("number of pins", 0..=u32::MAX)?;
        line.finish("the number of pins")?;
        let shortest = "Pin 0 0\n".len() as u128;
        lines.check_holds(shortest * u128::from(count), format_args!("{count} pins"))?;
        let mut net = Net::default();
        for pin in 0..count {
            let what = format_args!("the line of pin {pin} (of {count}, from 0)");
            let mut line = lines.expect(what)?;
            line.keyword("Pin", what)?;
            net.pins.push(read_pin(line, grid)?);
        }
        nets.push(net);
    }
}

/// Reads a pin of the grid, `ROW COLUMN [LAYER]` for each of its cells, which is all that follows on the line.
pub(super) fn read_pin(mut line: Line<'_>, grid: &RoutingGrid) -> Result<Pin> {
    let mut cells = Vec::new();
    loop {
        let y = line.number("pin's row", 0..=grid.height() - 1)?;
        let x = line.number("pin's column", 0..=grid.width() - 1)?;
        let has_layer = !line.is_done() && !line.is_at(b'/');
        let layer = match has_layer {
            true => line.number("pin's layer", 0..=grid.layers() - 1)?,
            false => 0,
        };
        cells.push(Cell { x, y, layer });
        if !line.takes_byte(b'/') {
            line.finish("the pin's row, column and layer")?;
            return Ok(Pin { cells });
        }
    }
}

fn read_weights(lines: &mut Lines<'_>, grid: &mut RoutingGrid) -> Result<()> {
    let (width, height, layers) = (
        grid.width() as usize,
        grid.height() as usize,
        grid.layers() as usize,
    );
    let [rights, downs, vias] = grid.weights_mut();
    for layer in 0..layers {
        // A grid of one layer has no word for it.
        let of_layer = match layers {
            1 => String::new(),
            _ => format!(" of layer {layer}"),
        };
        let vias_after = if layer + 1 < layers { height } else { 0 };
        let kinds: [(&str, &mut [u32], usize, usize); 3] = [
            ("Vertical", rights, height, width - 1),
            ("Horizontal", downs, height - 1, width),
            ("Via", vias, vias_after, width),
        ];
        for (word, weights, rows, per_row) in kinds {
            for row in 0..rows {
                let what = format_args!("\"{word}\" line {row} (of {rows}, from 0){of_layer}");
                let mut line = lines.expect(what)?;
                line.keyword(word, what)?;
                let start = (layer * height + row) * width;
                line.weights(&mut weights[start..][..per_row], what)?;
            }
        }
    }
    Ok(())
}

/// Writes a grid with its nets as text, which [`read_case`] reads back. Without a net, the file has one of no pins.
///
/// # Errors
/// [`Error::Unwritable`] for nets with windows and pins without cells, for which the format has no words; [`Error::Write`].
pub fn write_case(case: &RoutingCase, out: impl Write) -> Result<()> {
    let RoutingCase { grid, nets } = case;
    let refuse = |net: usize, what: &str| {
        Err(Error::Unwritable {
            format: "text",
            reason: format!("net {net} has {what}: the format has no words for it"),
        })
    };
    for (i, net) in nets.iter().enumerate() {
        if net.window.is_some() {
            return refuse(i, "a window");
        }
        if net.pins.iter().any(|pin| pin.cells.is_empty()) {
            return refuse(i, "a pin without cells");
        }
    }
    let mut text = Text::new(out);
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
                text.hand_on()?;
                between = " / ";
            }
            text.put("\n");
        }
    }
    let width = grid.width() as usize;
    let area = width * grid.height() as usize;
    for layer in 0..grid.layers() as usize {
        let is_last = layer + 1 == grid.layers() as usize;
        let below = layer * area..(layer + 1) * area;
        let vias = if is_last { 0..0 } else { below.clone() };
        let last_row = below.end - width;
        let kinds = [
            ("Vertical", &grid.rights()[below.clone()], width - 1),
            ("Horizontal", &grid.downs()[below.start..last_row], width),
            ("Via", &grid.vias()[vias], width),
        ];
        for (word, weights, per_row) in kinds {
            for row in weights.chunks_exact(width) {
                text.put(word);
                for &weight in &row[..per_row] {
                    match weight {
                        BLOCKED => text.put(" x"),
                        _ => text.put(" ").integer(weight),
                    };
                    text.hand_on()?;
                }
                text.put("\n");
            }
        }
    }
    text.finish()
}

/// `ROW COLUMN`, and ` LAYER` on a grid of several.
pub(super) fn put_cell(text: &mut Text<impl Write>, cell: Cell, grid: &RoutingGrid) {
    text.integer(cell.y).put(" ").integer(cell.x);
    if grid.layers() > 1 {
        text.put(" ").integer(cell.layer);
    }
}
