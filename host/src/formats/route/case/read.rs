//! Reading grids and nets from text.

use std::path::Path;

use crate::Result;
use crate::formats::route::lines::{EdgeNumber, Line, Lines};
use crate::route::{
    Cell, EdgeCounts, MAX_LAYERS, Net, Pin, RoutingCase, RoutingGrid, Window, check_size,
};

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
/// The file gives the width and height; the number of pins; row and column of each pin; for each
/// row its `Vertical` edges, the `width - 1` weights between `(x, y)` and `(x + 1, y)`; and for
/// each row but the last its `Horizontal` edges, the `width` weights between `(x, y)` and
/// `(x, y + 1)`. (The words name the borders between cells.) This is the format of a report on
/// parallel maze routing (王領崧, "Parallized Maze Routing" (sic), undated project report);
/// these are extensions:
///
/// - The weight `x` blocks an edge.
/// - A third number on the first line is the number of layers. Then the `Vertical` and `Horizontal`
///   lines of each layer, the lowest first, are followed by its `Via` lines, except for the last
///   layer: for each row, the `width` weights between its cells and those of the next layer. The
///   third number of a pin is its layer, 0 by default.
/// - A pin may have several cells: `Pin 1 1 / 0 2`.
/// - After a net's pins, a line `Window` with a row, a column, a number of rows and a number of
///   columns gives the window that its paths stay within.
/// - A line `Net` with a number of pins begins each further net.
/// - After all weights there may be the capacities of the edges, how many nets may use each: lines
///   as those of the weights, in the same order, that begin with `VerticalCapacity`,
///   `HorizontalCapacity` and `ViaCapacity`. A capacity of `x` is no limit.
///
/// Numbers are separated by any spaces and tabs, lines end as on Unix or Windows, and blank lines
/// are allowed only at the end. The path may be a pipe. A size that a file claims is trusted only
/// once memory for it has been allocated.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) for a file that cannot be read;
/// [`Error::Unreadable`](crate::Error::Unreadable), with line and column, for a file that is not of
/// this format; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn read_case(path: impl AsRef<Path>) -> Result<RoutingCase> {
    let mut lines = Lines::open(path.as_ref())?;
    let mut grid = read_size(&mut lines)?;
    let nets = read_nets(&mut lines, &grid)?;
    let size = (grid.width(), grid.height(), grid.layers());
    read_edges(&mut lines, size, grid.weights_mut(), EdgeNumber::Weight)?;
    let capacities = read_capacities(&mut lines, &grid)?;
    lines.finish()?;
    Ok(RoutingCase::new(grid, nets).with_capacities(capacities))
}

/// Reads the first line, and makes a grid of its size with all edges blocked.
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
    // A weight takes at least a digit and a separator.
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
        let mut line = lines.expect("the number of pins")?;
        if line.takes("Window") {
            net.window = Some(read_window(line, grid)?);
        } else {
            lines.put_back();
        }
        nets.push(net);
    }
}

/// Reads the rest of a line, the cells of a pin: `ROW COLUMN [LAYER]` for each, separated by `/`.
pub(in crate::formats::route) fn read_pin(mut line: Line<'_>, grid: &RoutingGrid) -> Result<Pin> {
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

/// Reads the rest of a line, a window: `ROW COLUMN ROWS COLUMNS`.
fn read_window(mut line: Line<'_>, grid: &RoutingGrid) -> Result<Window> {
    let y = line.number("window's first row", 0..=grid.height() - 1)?;
    let x = line.number("window's first column", 0..=grid.width() - 1)?;
    let height = line.number("window's number of rows", 1..=grid.height() - y)?;
    let width = line.number("window's number of columns", 1..=grid.width() - x)?;
    line.finish("the window's number of columns")?;
    Ok(Window {
        x,
        y,
        width,
        height,
    })
}

/// Reads the capacities, if there are any.
fn read_capacities(lines: &mut Lines<'_>, grid: &RoutingGrid) -> Result<Option<EdgeCounts>> {
    let [first, ..] = words(EdgeNumber::Capacity);
    let has_any = match lines.next()? {
        // A grid of one column begins with a line without numbers, like any other.
        Some(mut line) => line.takes(first),
        None => return Ok(None),
    };
    lines.put_back();
    if !has_any {
        return Ok(None);
    }
    let mut capacities = EdgeCounts::zero(grid)?;
    let size = (grid.width(), grid.height(), grid.layers());
    read_edges(lines, size, capacities.counts_mut(), EdgeNumber::Capacity)?;
    Ok(Some(capacities))
}

/// The words with which the lines of numbers begin: of edges to the right, down and between layers.
pub(super) fn words(of: EdgeNumber) -> [&'static str; 3] {
    match of {
        EdgeNumber::Weight => ["Vertical", "Horizontal", "Via"],
        EdgeNumber::Capacity => ["VerticalCapacity", "HorizontalCapacity", "ViaCapacity"],
    }
}

/// Reads a number for each edge of a grid of this size: width, height and layers. `numbers` are
/// those to the right, down and between layers, by cell.
fn read_edges(
    lines: &mut Lines<'_>,
    (width, height, layers): (u32, u32, u32),
    [rights, downs, vias]: [&mut [u32]; 3],
    of: EdgeNumber,
) -> Result<()> {
    let (width, height, layers) = (width as usize, height as usize, layers as usize);
    let [right, down, via] = words(of);
    for layer in 0..layers {
        // Messages about grids of one layer do not mention it.
        let of_layer = match layers {
            1 => String::new(),
            _ => format!(" of layer {layer}"),
        };
        let vias_after = if layer + 1 < layers { height } else { 0 };
        let kinds: [(&str, &mut [u32], usize, usize); 3] = [
            (right, rights, height, width - 1),
            (down, downs, height - 1, width),
            (via, vias, vias_after, width),
        ];
        for (word, numbers, rows, per_row) in kinds {
            for row in 0..rows {
                let what = format_args!("\"{word}\" line {row} (of {rows}, from 0){of_layer}");
                let mut line = lines.expect(what)?;
                line.keyword(word, what)?;
                let start = (layer * height + row) * width;
                line.numbers(&mut numbers[start..][..per_row], of, what)?;
            }
        }
    }
    Ok(())
}
