//! Grids and nets in the text format of the report on parallel maze routing.

use std::io::Write;
use std::path::Path;

use super::super::text::Text;
use super::lines::{Line, Lines};
use crate::route::{
    BLOCKED, Cell, MAX_LAYERS, Net, Pin, RoutingCase, RoutingGrid, Window, check_size,
};
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
/// - After a net's pins, `Window` with a row, a column, and numbers of rows and columns is what its paths stay within.
/// - After the first net, `Net` and a number of pins begin another net, as often as there are nets.
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
        let mut line = lines.expect("the number of pins")?;
        if line.takes("Window") {
            net.window = Some(read_window(line, grid)?);
        } else {
            lines.put_back();
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

/// Reads a window of the grid, `ROW COLUMN ROWS COLUMNS`, which is all that follows on the line.
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
/// [`Error::Unwritable`] for pins without cells, for which the format has no words; [`Error::Write`].
pub fn write_case(case: &RoutingCase, out: impl Write) -> Result<()> {
    let RoutingCase { grid, nets } = case;
    let refuse = |net: usize, what: &str| {
        Err(Error::Unwritable {
            format: "text",
            reason: format!("net {net} has {what}: the format has no words for it"),
        })
    };
    for (i, net) in nets.iter().enumerate() {
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
        if let Some(window) = net.window {
            text.put("Window ").integer(window.y);
            for number in [window.x, window.height, window.width] {
                text.put(" ").integer(number);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::super::super::read::tests::file;
    use super::*;
    use crate::generate::random::random;

    const EXAMPLE: &str = "3 3\n2\nPin 1 1\nPin 0 2\nVertical 24 26\nVertical 47 13\nVertical 70 2\n\
                           Horizontal 33 68 51\nHorizontal 80 24 77\n";

    fn read(text: impl AsRef<[u8]>) -> Result<RoutingCase> {
        read_case(file(text.as_ref()).path())
    }

    fn write(case: &RoutingCase) -> String {
        let mut text = Vec::new();
        write_case(case, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Refused by a message that has all of `words`, the place first.
    #[track_caller]
    fn refused(text: impl AsRef<[u8]>, words: &[&str]) {
        match read(text) {
            Err(Error::Unreadable { reason, .. }) => {
                assert!(reason.starts_with(words[0]), "{reason}");
                for word in words {
                    assert!(reason.contains(word), "no {word:?} in {reason}");
                }
            }
            other => panic!("{other:?} where {words:?} should be said"),
        }
    }

    /// The example with `old`, which is there once, replaced by `new`.
    fn with(old: &str, new: &str) -> String {
        assert_eq!(EXAMPLE.matches(old).count(), 1, "{old:?}");
        EXAMPLE.replace(old, new)
    }

    #[test]
    fn the_reports_example() {
        let case = read(EXAMPLE).unwrap();
        let right = [24, 26, 47, 13, 70, 2];
        let down = [33, 68, 51, 80, 24, 77];
        let grid = RoutingGrid::from_edges(3, 3, &right, &down).unwrap();
        let net = Net::from_cells([Cell::at(1, 1), Cell::at(2, 0)]);
        assert_eq!(
            case,
            RoutingCase {
                grid,
                nets: vec![net]
            }
        );
        assert_eq!(write(&case), EXAMPLE);
    }

    #[test]
    fn spaces_and_line_ends_are_free() {
        let case = read(EXAMPLE).unwrap();
        assert_eq!(read(EXAMPLE.replace('\n', "\r\n")).unwrap(), case);
        assert_eq!(read(EXAMPLE.replace('\n', " \t \n")).unwrap(), case);
        assert_eq!(read(EXAMPLE.replace(' ', "   ")).unwrap(), case);
        assert_eq!(read(EXAMPLE.replace(' ', "\t")).unwrap(), case);
        assert_eq!(read(EXAMPLE.trim_end()).unwrap(), case);
        assert_eq!(read(format!("{EXAMPLE}\n \r\n\n")).unwrap(), case);
        assert_eq!(
            read(EXAMPLE.replace(" 7", " 00000000000007")).unwrap(),
            case
        );
    }

    #[test]
    fn no_pin_one_pin_and_the_same_pin_again() {
        let rest = EXAMPLE.split_once("0 2\n").unwrap().1;
        let pins = |text: &str| {
            let case = read(format!("3 3\n{text}{rest}")).unwrap();
            assert_eq!(case.nets.len(), 1);
            case.nets[0].pins.clone()
        };
        assert_eq!(pins("0\n"), []);
        assert_eq!(pins("1\nPin 2 0\n"), [Cell::at(0, 2).into()]);
        assert_eq!(
            pins("2\nPin 2 0\nPin 2 0\n"),
            [Pin::from(Cell::at(0, 2)), Cell::at(0, 2).into()]
        );
    }

    #[test]
    fn the_smallest_grids() {
        assert_eq!(read("1 1\n0\nVertical\n").unwrap().grid.cell_count(), 1);
        let column = read("1 2\n0\nVertical\nVertical\nHorizontal 5").unwrap();
        assert_eq!(column.grid.down(Cell::at(0, 0)), 5);
        let row = read("2 1\n0\nVertical 5").unwrap();
        assert_eq!(row.grid.right(Cell::at(0, 0)), 5);
    }

    #[test]
    fn layers_nets_blocked_edges_and_pins_of_several_cells() {
        let text = "2 2 2\n1\nPin 0 1 1 / 1 0 0\nNet 0\nNet 1\nPin 1 1 0\n\
                    Vertical 1\nVertical x\nHorizontal 2 3\nVia 4 5\nVia x 6\n\
                    Vertical 7\nVertical 8\nHorizontal 4294967294 0\n";
        let case = read(text).unwrap();
        let cell = |x, y, layer| Cell { x, y, layer };
        let several = Pin {
            cells: vec![cell(1, 0, 1), cell(0, 1, 0)],
        };
        assert_eq!(case.nets[0].pins, [several]);
        assert_eq!(case.nets[1], Net::default());
        assert_eq!(case.nets[2], Net::from_cells([cell(1, 1, 0)]));
        let grid = &case.grid;
        assert_eq!(
            grid.rights(),
            [1, BLOCKED, BLOCKED, BLOCKED, 7, BLOCKED, 8, BLOCKED]
        );
        let downs = [2, 3, BLOCKED, BLOCKED, BLOCKED - 1, 0, BLOCKED, BLOCKED];
        assert_eq!(grid.downs(), downs);
        assert_eq!(
            grid.vias(),
            [&[4, 5, BLOCKED, 6][..], &[BLOCKED; 4]].concat()
        );
        assert_eq!(write(&case), text);
        // Without its layer, a pin is on the lowest.
        let shorter = text.replace("Pin 1 1 0", "Pin 1 1").replace("1 0 0", "1 0");
        assert_eq!(read(shorter).unwrap(), case);
    }

    #[test]
    fn bad_sizes() {
        refused("", &["the file is empty"]);
        refused("\n", &["line 1, column 1: the grid's width is missing"]);
        refused("3", &["line 1, column 2: the grid's height is missing"]);
        refused(
            with("3 3\n", "0 3\n"),
            &["line 1, column 1: the grid's width \"0\"", "from 1"],
        );
        refused(
            with("3 3\n", "3 0\n"),
            &["line 1, column 3: the grid's height \"0\"", "from 1"],
        );
        refused(
            with("3 3\n", "3 -3\n"),
            &["line 1, column 3", "\"-3\" is not a whole number"],
        );
        refused(
            with("3 3\n", "3.5 3\n"),
            &["line 1, column 1", "\"3.5\" is not a whole number"],
        );
        refused(
            with("3 3\n", "3 3 0\n"),
            &["line 1, column 5: the number of layers", "1 to 16"],
        );
        refused(with("3 3\n", "3 3 17\n"), &["line 1, column 5", "1 to 16"]);
        refused(
            with("3 3\n", "3 3 1 1\n"),
            &["line 1, column 7: \"1\" follows"],
        );
        refused(
            with("3 3\n", "99999999999 1\n"),
            &["line 1, column 1", "4294967295"],
        );
        refused(
            with("3 3\n", "4294967295 4294967295\n"),
            &["line 1", "too large"],
        );
        // Nothing is allocated for it: this much could not be had.
        let huge = with("3 3\n", "60000 60000\n");
        refused(
            huge,
            &["line 1: the file is truncated", "60000 × 60000 cells"],
        );
        refused(
            with("\n2\n", "\n4000000000\n"),
            &["line 2: the file is truncated", "pins"],
        );
        refused("<html>", &["line 1, column 1: the grid's width \"<html>\""]);
        refused([0xff; 40], &["line 1, column 1", "…"]);
        refused(vec![b'7'; 2 << 20], &["line 1 is longer than"]);
        refused(vec![0; 2 << 20], &["line 1 is longer than"]);
    }

    #[test]
    fn bad_pins() {
        refused(
            with("Pin 0 2", "Pin 3 2"),
            &["line 4, column 5: the pin's row \"3\"", "0 to 2"],
        );
        refused(
            with("Pin 0 2", "Pin 0 3"),
            &["line 4, column 7: the pin's column \"3\"", "0 to 2"],
        );
        refused(
            with("Pin 0 2", "Pin 0 2 1"),
            &["line 4, column 9: the pin's layer", "0 to 0"],
        );
        refused(with("Pin 0 2", "Pin -1 2"), &["line 4, column 5", "\"-1\""]);
        refused(
            with("Pin 0 2", "Pin 0"),
            &["line 4, column 6: the pin's column is missing"],
        );
        refused(
            with("Pin 0 2", "Pin"),
            &["line 4, column 4: the pin's row is missing"],
        );
        refused(
            with("Pin 0 2", "Pin 0 2 /"),
            &["line 4, column 10: the pin's row is missing"],
        );
        refused(
            with("Pin 0 2", "Pin 0 2 0 1"),
            &["line 4, column 11: \"1\" follows"],
        );
        refused(
            with("Pin 0 2", "Pins 0 2"),
            &["line 4, column 1: \"Pins\"", "\"Pin\""],
        );
        refused(
            with("Pin 0 2\n", ""),
            &["line 4, column 1: \"Vertical\"", "pin 1 (of 2"],
        );
        refused(
            with("\n2\n", "\n1\n"),
            &["line 4, column 1: \"Pin\"", "\"Vertical\" line 0 (of 3"],
        );
        refused(
            with("\n2\n", "\n-2\n"),
            &["line 2, column 1: the number of pins \"-2\""],
        );
        refused(
            with("\n2\n", "\n2 2\n"),
            &["line 2, column 3: \"2\" follows"],
        );
        refused(
            with("Pin 0 2\n", "Pin 0 2\nNet\n"),
            &["line 5, column 4: the number of pins"],
        );
        refused(
            "3 3\n2\nPin 1 1\nPin 0 2               ",
            &["line 5: the file ends before"],
        );
        refused("1 1", &["line 2: the file ends before the number of pins"]);
    }

    #[test]
    fn windows() {
        let case = read(with("Pin 0 2\n", "Pin 0 2\nWindow 0 1 2 2\n")).unwrap();
        let window = Window {
            x: 1,
            y: 0,
            width: 2,
            height: 2,
        };
        assert_eq!(case.nets[0].window, Some(window));
        for (line, words) in [
            (
                "Window 3 1 1 1",
                ["line 5, column 8: the window's first row \"3\"", "0 to 2"],
            ),
            (
                "Window 0 3 1 1",
                ["line 5, column 10: the window's first column", "0 to 2"],
            ),
            (
                "Window 1 0 3 1",
                ["line 5, column 12: the window's number of rows", "1 to 2"],
            ),
            (
                "Window 0 0 0 1",
                ["line 5, column 12: the window's number of rows", "1 to 3"],
            ),
            (
                "Window 0 1 1 3",
                [
                    "line 5, column 14: the window's number of columns",
                    "1 to 2",
                ],
            ),
            (
                "Window 0 1 1",
                [
                    "line 5, column 13: the window's number of columns",
                    "missing",
                ],
            ),
            ("Window 0 1 1 1 1", ["line 5, column 16: \"1\" follows", ""]),
        ] {
            refused(with("Pin 0 2\n", &format!("Pin 0 2\n{line}\n")), &words);
        }
    }

    #[test]
    fn bad_weights() {
        refused(
            with("47 13", "47"),
            &["line 6, column 12: \"Vertical\" line 1", "1 weights", "2"],
        );
        refused(
            with("47 13", "47 13 5"),
            &["line 6, column 16: \"5\" is too much", "2 weights"],
        );
        refused(
            with("47 13", "47 -13"),
            &["line 6, column 13: the weight", "\"-13\"", "4294967294"],
        );
        refused(
            with("47 13", "47 13.5"),
            &["line 6, column 13", "\"13.5\" is not a whole number"],
        );
        refused(
            with("47 13", "47 4294967295"),
            &["line 6, column 13", "4294967294"],
        );
        refused(
            with("47 13", "99999999999999999999 1"),
            &["line 6, column 10"],
        );
        refused(
            with("47 13", "47 X"),
            &["line 6, column 13", "(x blocks an edge)", "\"X\""],
        );
        refused(with("47 13", "47 xx"), &["line 6, column 13", "\"xx\""]);
        refused(with("47 13", "47,13"), &["line 6, column 10", "\"47,13\""]);
        refused(
            with("Vertical 47", "vertical 47"),
            &["line 6, column 1: \"vertical\""],
        );
        refused(
            with("Vertical 47", "Vertical47"),
            &["line 6, column 1: \"Vertical47\""],
        );
        refused(
            with("Vertical 47 13\n", ""),
            &["line 7, column 1: \"Horizontal\"", "line 2 (of 3"],
        );
        refused(
            with("Vertical 47 13\n", "Vertical 47 13\nVertical 1 1\n"),
            &[
                "line 8, column 1: \"Vertical\"",
                "\"Horizontal\" line 0 (of 2",
            ],
        );
        refused(
            with("Horizontal 80 24 77\n", ""),
            &["line 9: the file ends before \"Horizontal\" line 1"],
        );
        refused(
            format!("{EXAMPLE}Horizontal 1 2 3"),
            &["line 10, column 1: \"Horizontal\" follows"],
        );
        refused(
            format!("{EXAMPLE}\n\nx"),
            &["line 12, column 1: \"x\" follows"],
        );
        refused(
            with("Vertical 47", "\nVertical 47"),
            &["line 6, column 1: the line's end"],
        );
        let layers = with("3 3\n", "3 3 2\n");
        refused(
            layers + &" ".repeat(99),
            &[
                "line 10, column 100: the line's end",
                "\"Via\"",
                "of layer 0",
            ],
        );
    }

    #[test]
    fn numbers_of_any_length_and_nothing_like_them() {
        // Far enough from the line's end to be read many digits at a time.
        let line = |weight: &[u8]| [b"9 1\n0\nVertical 7 ", weight, b" 6 5 4 3 2 1"].concat();
        for digits in 0..10 {
            let weight = 1_234_567_890 / 10u32.pow(digits);
            let text = weight.to_string();
            for zeros in ["", "0", "0000000"] {
                let case = read(line(format!("{zeros}{text}").as_bytes())).unwrap();
                assert_eq!(case.grid.rights()[..3], [7, weight, 6], "{zeros}{text}");
            }
        }
        for byte in 0..=u8::MAX {
            let read = read(line(&[b'1', byte, b'2']));
            match byte {
                b'0'..=b'9' => {
                    let weight = 102 + 10 * u32::from(byte - b'0');
                    assert_eq!(read.unwrap().grid.rights()[1], weight);
                }
                // A weight more, or less.
                b' ' | b'\t' | b'\r' | b'\n' => assert!(read.is_err()),
                _ => {
                    let error = read.unwrap_err().to_string();
                    assert!(error.contains("line 3, column 1"), "{byte}: {error}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_words_is_not_written() {
        let mut case = read(EXAMPLE).unwrap();
        let refused = |case: &RoutingCase, word: &str| match write_case(case, &mut Vec::new()) {
            Err(Error::Unwritable { reason, .. }) => assert!(reason.contains(word), "{reason}"),
            other => panic!("{other:?}"),
        };
        case.nets.push(Net {
            pins: vec![Pin { cells: vec![] }],
            window: None,
        });
        refused(&case, "net 1 has a pin without cells");
        case.nets.clear();
        assert_eq!(read(write(&case)).unwrap().nets, [Net::default()]);
    }

    /// Files that differ from a right one in some bytes are read or refused, never worse.
    #[test]
    fn damaged_files_are_read_or_refused() {
        let whole = "3 2 2\n2\nPin 1 1 1\nPin 0 2 / 0 1\nWindow 0 1 2 2\nNet 1\nPin 0 0\nVertical 1 22\nVertical 333 x\n\
                     Horizontal 33 68 51\nVia 1 2 3\nVia 4 5 6\nVertical 5 5\nVertical 6 7\nHorizontal 8 9 1\n";
        assert!(read(whole).is_ok());
        let file = file(whole.as_bytes());
        let mut read_again = 0;
        for seed in 0..3000u64 {
            let mut bytes = whole.as_bytes().to_vec();
            for i in 0..1 + seed % 3 {
                let drawn = random(seed, i);
                if bytes.is_empty() {
                    break;
                }
                let at = (drawn >> 32) as usize % bytes.len();
                let byte = b" \n/-xPinNetV0123456789\r\t\0\xff"[(drawn >> 8) as usize % 26];
                match drawn % 4 {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    2 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at),
                }
            }
            fs::write(file.path(), &bytes).unwrap();
            match read_case(file.path()) {
                Ok(case) => {
                    assert_eq!(read(write(&case)).unwrap(), case, "seed {seed}");
                    read_again += 1;
                }
                Err(Error::Unreadable { reason, .. }) => assert!(!reason.contains('\n')),
                Err(other) => panic!("seed {seed}: {other}"),
            }
        }
        // Other digits, mostly, and more spaces.
        assert!((100..2000).contains(&read_again), "{read_again}");
    }

    fn weight() -> impl Strategy<Value = u32> {
        prop_oneof![
            0..100u32,
            (0..10u32).prop_map(|digits| 10u32.pow(digits)),
            Just(BLOCKED),
            any::<u32>(),
        ]
    }

    fn case() -> impl Strategy<Value = RoutingCase> {
        (1..9u32, 1..6u32, 1..4u32).prop_flat_map(|(width, height, layers)| {
            let layer = (
                prop::collection::vec(weight(), ((width - 1) * height) as usize),
                prop::collection::vec(weight(), (width * (height - 1)) as usize),
            );
            let layer = layer.prop_map(move |(right, down)| {
                RoutingGrid::from_edges(width, height, &right, &down).unwrap()
            });
            let vias = prop::collection::vec(weight(), (width * height * (layers - 1)) as usize);
            let grid = (prop::collection::vec(layer, layers as usize), vias)
                .prop_map(|(layers, vias)| RoutingGrid::stack(&layers, &vias).unwrap());
            let cell = (0..width, 0..height, 0..layers);
            let cell = cell.prop_map(|(x, y, layer)| Cell { x, y, layer });
            let pin = prop::collection::vec(cell, 1..3).prop_map(|cells| Pin { cells });
            let window = (0..width, 0..height).prop_flat_map(move |(x, y)| {
                (1..=width - x, 1..=height - y).prop_map(move |(width, height)| Window {
                    x,
                    y,
                    width,
                    height,
                })
            });
            let net = (prop::collection::vec(pin, 0..4), prop::option::of(window));
            let net = net.prop_map(|(pins, window)| Net { pins, window });
            (grid, prop::collection::vec(net, 1..4))
                .prop_map(|(grid, nets)| RoutingCase { grid, nets })
        })
    }

    proptest! {
        #![proptest_config(crate::seeds::config(256, 1))]

        #[test]
        fn what_is_written_is_read_back(case in case()) {
            let text = write(&case);
            prop_assert_eq!(&read(&text).unwrap(), &case);
            prop_assert_eq!(&read(text.replace('\n', " \r\n")).unwrap(), &case);
        }
    }
}
