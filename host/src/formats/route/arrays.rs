//! Grids whose weights are NumPy arrays, and text files of their pins.

use std::io::Read;
use std::path::Path;

use super::case::read_pin;
use super::lines::Lines;
use crate::error::{Error, ReadProblem, Result};
use crate::formats::npy::ArrayHeader;
use crate::formats::source::Source;
use crate::memory::zeroed_vec;
use crate::route::{MAX_LAYERS, Net, RoutingGrid, check_size};

/// The approximate number of bytes read at a time.
const PORTION: usize = 1 << 20;

/// Reads a grid from `.npy` arrays of its weights: of `uint8`, `uint16` or `uint32`, in C or
/// Fortran order and either byte order. A `uint32` of 2³² - 1 is a [blocked](crate::route::BLOCKED)
/// edge.
///
/// | array | shape for one layer | for several, the lowest first |
/// |---|---|---|
/// | `right`: edges between `(x, y)` and `(x + 1, y)` | (height, width - 1) | (layers, height, width - 1) |
/// | `down`: edges between `(x, y)` and `(x, y + 1)` | (height - 1, width) | (layers, height - 1, width) |
/// | `via`: edges between a layer and the next | none | (layers - 1, height, width) |
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read; [`Error::Unreadable`] for a file that is not such
/// an array, is damaged or truncated, and for shapes that do not fit each other;
/// [`Error::EmptyGrid`], [`Error::GridTooLarge`], [`Error::OutOfMemory`].
pub fn read_weights(
    right: impl AsRef<Path>,
    down: impl AsRef<Path>,
    via: Option<&Path>,
) -> Result<RoutingGrid> {
    let right = Weights::open(right.as_ref())?;
    let down = Weights::open(down.as_ref())?;
    let via = via.map(Weights::open).transpose()?;

    let (layers, height, width) = match *right.header.shape.as_slice() {
        [height, edges] => (1, height, edges.saturating_add(1)),
        [layers, height, edges] => (layers, height, edges.saturating_add(1)),
        _ => {
            return Err(right.source.origin.unsupported(format_args!(
                "an array of shape {} has no weights of edges to the right: it must be \
                 (height, width - 1), or (layers, height, width - 1)",
                right.header.shape_text()
            )));
        }
    };
    if !(1..=MAX_LAYERS as usize).contains(&layers) {
        return Err(right.source.origin.unsupported(format_args!(
            "an array of shape {} has {layers} layers: a grid has 1 to {MAX_LAYERS}",
            right.header.shape_text()
        )));
    }
    check_size(width as u64, height as u64, layers as u32)?;
    let shape = |layers: usize, height: usize| match right.header.shape.len() {
        2 => vec![height, width],
        _ => vec![layers, height, width],
    };
    let grid = format!("a grid of {width} × {height} cells in {layers} layers");
    down.check_shape(&shape(layers, height - 1), &grid)?;
    match (&via, layers) {
        (Some(via), 2..) => via.check_shape(&[layers - 1, height, width], &grid)?,
        (None, 2..) => {
            return Err(right.mismatch(format_args!(
                "an array of shape {} has {layers} layers: they need an array of vias too, of \
                 shape ({}, {height}, {width})",
                right.header.shape_text(),
                layers - 1
            )));
        }
        (Some(via), _) => {
            return Err(
                via.mismatch("a grid of one layer has no vias: leave the array of vias out")
            );
        }
        (None, _) => {}
    }
    for array in [&right, &down].into_iter().chain(&via) {
        array.check_holds()?;
    }
    let mut grid = RoutingGrid::blocked(width as u32, height as u32, layers as u32)?;
    let area = width * height;
    let [rights, downs, vias] = grid.weights_mut();
    right.read(rights, width, area)?;
    down.read(downs, width, area)?;
    match via {
        Some(via) => via.read(vias, width, area),
        None => Ok(()),
    }?;
    Ok(grid)
}

/// Reads nets on `grid` from text: one line `ROW COLUMN` per pin, with a third number for its layer
/// (0 by default), and `/` between the cells of a pin with several cells. A line `Net` begins a
/// net; the first net needs none. Blank lines are allowed only at the end.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read; [`Error::Unreadable`], with line and column, for a
/// file of another format and for pins outside the grid.
pub fn read_pins(path: impl AsRef<Path>, grid: &RoutingGrid) -> Result<Vec<Net>> {
    let mut lines = Lines::open(path.as_ref())?;
    let mut nets: Vec<Net> = Vec::new();
    while let Some(mut line) = lines.next()? {
        if line.is_done() {
            lines.finish()?;
            break;
        }
        if line.takes("Net") {
            line.finish("\"Net\"")?;
            nets.push(Net::default());
            continue;
        }
        let pin = read_pin(line, grid)?;
        match nets.last_mut() {
            Some(net) => net.pins.push(pin),
            None => nets.push(Net {
                pins: vec![pin],
                window: None,
            }),
        }
    }
    Ok(nets)
}

/// An array of weights whose header has been read.
struct Weights<'a> {
    source: Source<'a>,
    header: ArrayHeader,
    /// The size of an element in bytes.
    size: usize,
}

impl<'a> Weights<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let mut source = Source::open(path)?;
        if !source.starts_with(b"\x93NUMPY")? {
            let reason = "not a .npy file: give an array of weights as NumPy saves it";
            return Err(source.origin.refused(ReadProblem::UnknownFormat, reason));
        }
        let header = ArrayHeader::read(&mut source)?;
        let size = match header.element() {
            "u1" => 1,
            "u2" => 2,
            "u4" => 4,
            _ => {
                return Err(source.origin.unsupported(format_args!(
                    "arrays of dtype '{}' are no weights: use uint8, uint16 or uint32",
                    header.dtype
                )));
            }
        };
        Ok(Self {
            source,
            header,
            size,
        })
    }

    /// The error for an array that does not match the others.
    fn mismatch(&self, reason: impl std::fmt::Display) -> Error {
        let origin = self.source.origin;
        origin.refused(ReadProblem::Mismatch, reason)
    }

    fn check_shape(&self, shape: &[usize], grid: &str) -> Result<()> {
        if self.header.shape == shape {
            return Ok(());
        }
        let sides: Vec<_> = shape.iter().map(usize::to_string).collect();
        Err(self.mismatch(format_args!(
            "an array of shape {} does not fit {grid}: it must be ({})",
            self.header.shape_text(),
            sides.join(", ")
        )))
    }

    /// Refuses a file that is too short for the array that its header claims.
    fn check_holds(&self) -> Result<()> {
        let len = self.source.origin.len;
        let count = self.header.shape.iter().map(|&side| side as u128);
        if count.product::<u128>() * self.size as u128 <= len.into() {
            return Ok(());
        }
        Err(self.source.origin.truncated(format_args!(
            "the file is truncated: {len} bytes cannot hold the array of shape {} that it claims",
            self.header.shape_text()
        )))
    }

    /// Reads the array into a grid's `weights`, with `area` cells per layer and `width` cells per
    /// row.
    fn read(mut self, weights: &mut [u32], width: usize, area: usize) -> Result<()> {
        // The length of each axis and its step in the grid, in the order of the file: fastest
        // first.
        let steps = [1, width, area];
        let mut axes: Vec<_> = self.header.shape.iter().rev().copied().zip(steps).collect();
        if self.header.fortran {
            axes.reverse();
        }
        axes.resize(3, (1, 0));
        let [
            (fast, fast_step),
            (slow, slow_step),
            (slowest, slowest_step),
        ] = axes[..]
        else {
            return Ok(());
        };
        if fast * slow * slowest == 0 {
            return Ok(());
        }
        let at_once = (PORTION / (fast * self.size)).clamp(1, slow);
        let mut bytes: Vec<u8> = zeroed_vec(at_once * fast * self.size, "the weights")?;
        for third in 0..slowest {
            for first in (0..slow).step_by(at_once) {
                let lines = at_once.min(slow - first);
                let bytes = &mut bytes[..lines * fast * self.size];
                let read = self.source.bytes.read_exact(bytes);
                read.map_err(|error| self.source.origin.io(error))?;
                for (line, bytes) in (first..).zip(bytes.chunks_exact(fast * self.size)) {
                    let start = third * slowest_step + line * slow_step;
                    let to = weights[start..].iter_mut().step_by(fast_step);
                    for (to, bytes) in to.zip(bytes.chunks_exact(self.size)) {
                        *to = weight(bytes, self.header.is_big_endian());
                    }
                }
            }
        }
        Ok(())
    }
}

/// A weight of one, two or four bytes.
fn weight(bytes: &[u8], is_big_endian: bool) -> u32 {
    match (bytes, is_big_endian) {
        (&[a], _) => a.into(),
        (&[a, b], false) => u16::from_le_bytes([a, b]).into(),
        (&[a, b], true) => u16::from_be_bytes([a, b]).into(),
        (&[a, b, c, d], false) => u32::from_le_bytes([a, b, c, d]),
        (&[a, b, c, d], true) => u32::from_be_bytes([a, b, c, d]),
        // `open` admits no other size.
        _ => crate::route::BLOCKED,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::formats::test_file::file;
    use crate::route::{BLOCKED, Cell, Pin};

    /// A folder of arrays.
    struct Arrays(tempfile::TempDir);

    /// How an array is stored: its type, and whether the first index is the fastest.
    type Layout = (&'static str, bool);

    impl Arrays {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        /// Writes an array of `value(index)`.
        fn put(
            &self,
            name: &str,
            (dtype, fortran): Layout,
            shape: &[usize],
            value: impl Fn(&[usize]) -> u32,
        ) -> PathBuf {
            let mut header = format!(
                "{{'descr': '{dtype}', 'fortran_order': {}, 'shape': ({},), }}\n",
                if fortran { "True" } else { "False" },
                shape
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
            .into_bytes();
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((header.len() as u16).to_le_bytes());
            bytes.append(&mut header);
            for i in 0..shape.iter().product() {
                let mut rest = i;
                let mut index = vec![0; shape.len()];
                let axes: Vec<usize> = match fortran {
                    true => (0..shape.len()).collect(),
                    false => (0..shape.len()).rev().collect(),
                };
                for axis in axes {
                    index[axis] = rest % shape[axis];
                    rest /= shape[axis];
                }
                let value = value(&index);
                let size = dtype[2..].parse::<usize>().unwrap();
                match dtype.starts_with('>') {
                    true => bytes.extend(&value.to_be_bytes()[4 - size..]),
                    false => bytes.extend(&value.to_le_bytes()[..size]),
                }
            }
            let path = self.0.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        }
    }

    #[track_caller]
    fn refused<T: std::fmt::Debug>(result: Result<T>, words: &[&str]) {
        match result {
            Err(Error::Unreadable { reason, .. }) => {
                for word in words {
                    assert!(reason.contains(word), "no {word:?} in {reason}");
                }
            }
            other => panic!("{other:?} where {words:?} should be said"),
        }
    }

    const LAYOUTS: [Layout; 10] = [
        ("|u1", false),
        ("|u1", true),
        ("<u2", false),
        ("<u2", true),
        (">u2", false),
        (">u2", true),
        ("<u4", false),
        ("<u4", true),
        (">u4", false),
        (">u4", true),
    ];

    #[test]
    fn every_type_and_order() {
        let arrays = Arrays::new();
        for (width, height) in [(5, 3), (1, 4), (4, 1), (1, 1), (2, 300_000)] {
            // All bytes differ.
            let weight = |from: u32, x: usize, y: usize| {
                (from + 31 * x as u32 + 7 * y as u32).wrapping_mul(0x0101_0107) >> 3
            };
            for layout in LAYOUTS {
                let mask = match layout.0.as_bytes()[2] {
                    b'1' => 0xff,
                    b'2' => 0xffff,
                    _ => 0xffff_ffff,
                };
                let right = |x: u32, y: u32| weight(1, x as usize, y as usize) & mask;
                let down = |x: u32, y: u32| weight(2, x as usize, y as usize) & mask;
                let (w, h) = (width as usize, height as usize);
                let rights = arrays.put("r", layout, &[h, w - 1], |i| weight(1, i[1], i[0]));
                let downs = arrays.put("d", layout, &[h - 1, w], |i| weight(2, i[1], i[0]));
                let grid = read_weights(rights, downs, None).unwrap();
                let expected = RoutingGrid::from_fn(width, height, right, down).unwrap();
                assert_eq!(grid, expected, "{layout:?}, {width} × {height}");
            }
        }
    }

    #[test]
    fn layers_and_blocked_edges() {
        let arrays = Arrays::new();
        let (width, height) = (4, 3);
        for layout in LAYOUTS {
            let value =
                |from: usize| move |i: &[usize]| (from + 50 * i[0] + 10 * i[1] + i[2]) as u32;
            let right = arrays.put("r", layout, &[3, height, width - 1], value(0));
            let down = arrays.put("d", layout, &[3, height - 1, width], value(1));
            let via = arrays.put("v", layout, &[2, height, width], value(2));
            let grid = read_weights(&right, &down, Some(&via)).unwrap();
            assert_eq!(grid.layers(), 3);
            for index in 0..grid.cell_count() {
                let cell = grid.cell(index);
                let weight = 50 * cell.layer + 10 * cell.y + cell.x;
                let has = |is: bool, from: u32| if is { weight + from } else { BLOCKED };
                assert_eq!(grid.right(cell), has(cell.x < 3, 0), "{layout:?} {cell}");
                assert_eq!(grid.down(cell), has(cell.y < 2, 1), "{layout:?} {cell}");
                assert_eq!(grid.via(cell), has(cell.layer < 2, 2), "{layout:?} {cell}");
            }
        }
        // Only the largest number of the largest type means a blocked edge.
        for (dtype, weight) in [("|u1", 255), ("<u2", 65_535), ("<u4", BLOCKED)] {
            let right = arrays.put("r", (dtype, false), &[1, 1], |_| u32::MAX);
            let down = arrays.put("d", (dtype, false), &[0, 2], |_| 0);
            let grid = read_weights(right, down, None).unwrap();
            assert_eq!(grid.right(Cell::at(0, 0)), weight);
        }
    }

    #[test]
    fn arrays_that_do_not_go_together() {
        let arrays = Arrays::new();
        let put = |name: &str, shape: &[usize]| arrays.put(name, ("<u2", false), shape, |_| 1);
        let (right, down) = (put("r", &[3, 4]), put("d", &[2, 5]));
        assert!(read_weights(&right, &down, None).is_ok());
        let read = |right: &[usize], down: &[usize], via: Option<&[usize]>| {
            let via = via.map(|via| put("v", via));
            read_weights(put("r", right), put("d", down), via.as_deref())
        };
        refused(
            read(&[3, 4], &[2, 4], None),
            &["(2, 4)", "5 × 3 cells", "must be (2, 5)"],
        );
        refused(read(&[3, 4], &[3, 5], None), &["(3, 5)", "must be (2, 5)"]);
        refused(
            read(&[3, 4], &[1, 2, 5], None),
            &["(1, 2, 5)", "must be (2, 5)"],
        );
        refused(read(&[12], &[2, 5], None), &["(12)", "(height, width - 1)"]);
        refused(
            read(&[2, 3, 4], &[2, 2, 5], None),
            &["2 layers", "(1, 3, 5)"],
        );
        refused(
            read(&[2, 3, 4], &[2, 2, 5], Some(&[2, 3, 5])),
            &["must be (1, 3, 5)"],
        );
        refused(read(&[3, 4], &[2, 5], Some(&[1, 3, 5])), &["no vias"]);
        refused(
            read(&[17, 1, 1], &[17, 0, 2], None),
            &["17 layers", "1 to 16"],
        );
        refused(read(&[0, 1, 1], &[0, 0, 2], None), &["0 layers"]);
        let empty = read(&[0, 4], &[0, 5], None);
        assert!(matches!(empty, Err(Error::EmptyGrid { .. })), "{empty:?}");

        let float = arrays.put("f", ("<f4", false), &[3, 4], |_| 1);
        refused(
            read_weights(float, &down, None),
            &["<f4", "uint8, uint16 or uint32"],
        );
        let text = file(b"1 2\n");
        refused(
            read_weights(&right, text.path(), None),
            &["not a .npy file"],
        );
        let whole = std::fs::read(put("r", &[3, 4])).unwrap();
        for len in 0..whole.len() {
            let part = file(&whole[..len]);
            refused(read_weights(part.path(), &down, None), &[]);
        }
        let huge = [60_000, 59_999];
        let claim = |shape: &[usize]| {
            // The header alone.
            let path = put("h", &[0]);
            let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()[10..]).into_owned();
            let text = text.replace("(0,)", &format!("({}, {})", shape[0], shape[1]));
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text.as_bytes());
            file(&bytes)
        };
        let (right, down) = (claim(&huge), claim(&[59_999, 60_000]));
        refused(
            read_weights(right.path(), down.path(), None),
            &["truncated", "59999"],
        );
        let right = claim(&[usize::MAX, usize::MAX]);
        assert!(read_weights(right.path(), down.path(), None).is_err());
    }

    #[test]
    fn pins() {
        let flat = RoutingGrid::uniform(4, 3, 1).unwrap();
        let grid = RoutingGrid::stack(&[flat.clone(), flat.clone()], &[1; 12]).unwrap();
        let read = |text: &str, grid| read_pins(file(text.as_bytes()).path(), grid);
        let cell = |x, y, layer| Cell { x, y, layer };
        let one = Net::from_cells([cell(2, 1, 0), cell(3, 2, 1)]);
        for text in ["1 2\n2 3 1\n", "1 2 0\r\n2 3 1", "Net\n1 2\n2 3 1\n\n"] {
            assert_eq!(
                read(text, &grid).unwrap(),
                std::slice::from_ref(&one),
                "{text:?}"
            );
        }
        let several = Pin {
            cells: vec![cell(2, 1, 0), cell(3, 2, 1)],
        };
        let nets = read("1 2 / 2 3 1\nNet\nNet\n0 0\n", &grid).unwrap();
        assert_eq!(nets[0].pins, [several]);
        assert_eq!(
            nets[1..],
            [Net::default(), Net::from_cells([cell(0, 0, 0)])]
        );
        assert_eq!(read("\n", &grid).unwrap(), []);

        refused(
            read("1 2\n3 0\n", &flat),
            &["line 2, column 1: the pin's row \"3\"", "0 to 2"],
        );
        refused(
            read("1 4\n", &flat),
            &["line 1, column 3: the pin's column \"4\"", "0 to 3"],
        );
        refused(
            read("1 2 1\n", &flat),
            &["line 1, column 5: the pin's layer \"1\"", "0 to 0"],
        );
        refused(
            read("Pin 1 2\n", &flat),
            &["line 1, column 1: the pin's row \"Pin\""],
        );
        refused(
            read("1\n", &flat),
            &["line 1, column 2: the pin's column is missing"],
        );
        refused(
            read("1 2\n\n1 2\n", &flat),
            &["line 3, column 1: \"1\" follows"],
        );
        refused(read("Net 3\n", &flat), &["line 1, column 5: \"3\" follows"]);
        refused(read("", &flat), &["empty"]);
    }
}
