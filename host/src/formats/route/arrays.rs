//! Grids whose weights are NumPy arrays, and pins beside them.

use std::io::Read;
use std::path::Path;

use super::super::npy::ArrayHeader;
use super::super::read::Source;
use super::case::read_pin;
use super::lines::Lines;
use crate::error::zeroed_vec;
use crate::route::{MAX_LAYERS, Net, RoutingGrid, check_size};
use crate::{Error, Result};

/// How many bytes are read at a time.
const PORTION: usize = 1 << 20;

/// Reads a grid from `.npy` arrays of its weights, of `uint8`, `uint16` or `uint32`, in C or Fortran order, of either endianness.
/// A `uint32` of 2³² - 1 is [blocked](crate::route::BLOCKED).
///
/// | array | shape for one layer | for several, the lowest first |
/// |---|---|---|
/// | `right`: edges between `(x, y)` and `(x + 1, y)` | (height, width - 1) | (layers, height, width - 1) |
/// | `down`: edges between `(x, y)` and `(x, y + 1)` | (height - 1, width) | (layers, height - 1, width) |
/// | `via`: edges between a layer and the next | none | (layers - 1, height, width) |
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read; [`Error::Unreadable`] for one that is no such array, damaged or truncated, and for
/// shapes that do not go together; [`Error::EmptyGrid`], [`Error::GridTooLarge`], [`Error::OutOfMemory`].
pub fn read_weights(
    right: impl AsRef<Path>,
    down: impl AsRef<Path>,
    via: Option<impl AsRef<Path>>,
) -> Result<RoutingGrid> {
    let right = Weights::open(right.as_ref())?;
    let down = Weights::open(down.as_ref())?;
    let via = via.as_ref().map(|via| Weights::open(via.as_ref()));
    let via = via.transpose()?;

    let (layers, height, width) = match *right.header.shape.as_slice() {
        [height, edges] => (1, height, edges.saturating_add(1)),
        [layers, height, edges] => (layers, height, edges.saturating_add(1)),
        _ => {
            return Err(right.unreadable(format_args!(
                "an array of shape {} has no weights of edges to the right: it must be (height, width - 1), or \
                 (layers, height, width - 1)",
                right.header.shape_text()
            )));
        }
    };
    if !(1..=MAX_LAYERS as usize).contains(&layers) {
        return Err(right.unreadable(format_args!(
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
            return Err(right.unreadable(format_args!(
                "an array of shape {} has {layers} layers: they need an array of vias too, of shape ({}, {height}, \
                 {width})",
                right.header.shape_text(),
                layers - 1
            )));
        }
        (Some(via), _) => {
            return Err(
                via.unreadable("a grid of one layer has no vias: leave the array of vias out")
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

/// Reads nets on `grid` from text: a line `ROW COLUMN` for each pin, with a third number for its layer (0 without it), and `/`
/// between the cells of a pin that has several. A line `Net` begins a net; the first needs none. Blank lines may be at the end only.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read; [`Error::Unreadable`], with line and column, for one that holds anything else, or
/// pins outside of the grid.
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

/// An array of weights whose header was read.
struct Weights<'a> {
    source: Source<'a>,
    header: ArrayHeader,
    /// Bytes of an element.
    size: usize,
}

impl<'a> Weights<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let mut source = Source::open(path)?;
        if !source.starts_with(b"\x93NUMPY")? {
            let reason = "not a .npy file: give an array of weights as NumPy saves it";
            return Err(source.origin.unreadable(reason));
        }
        let header = ArrayHeader::read(&mut source)?;
        let size = match header.element() {
            "u1" => 1,
            "u2" => 2,
            "u4" => 4,
            _ => {
                return Err(source.origin.unreadable(format_args!(
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

    fn unreadable(&self, reason: impl std::fmt::Display) -> Error {
        self.source.origin.unreadable(reason)
    }

    fn check_shape(&self, shape: &[usize], grid: &str) -> Result<()> {
        if self.header.shape == shape {
            return Ok(());
        }
        let sides: Vec<_> = shape.iter().map(usize::to_string).collect();
        Err(self.unreadable(format_args!(
            "an array of shape {} does not fit {grid}: it must be ({})",
            self.header.shape_text(),
            sides.join(", ")
        )))
    }

    /// Refuses a file that has not the bytes for the array that it claims.
    fn check_holds(&self) -> Result<()> {
        let len = self.source.origin.len;
        let count = self.header.shape.iter().map(|&side| side as u128);
        if count.product::<u128>() * self.size as u128 <= len.into() {
            return Ok(());
        }
        Err(self.unreadable(format_args!(
            "the file is truncated: {len} bytes cannot hold the array of shape {} that it claims",
            self.header.shape_text()
        )))
    }

    /// Reads the array to where its weights are in a grid's layers of `area` cells and rows of `width`.
    fn read(mut self, weights: &mut [u32], width: usize, area: usize) -> Result<()> {
        // Each axis with its step in the grid, the fastest in the file first.
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

/// A number of one, two or four bytes.
fn weight(bytes: &[u8], is_big_endian: bool) -> u32 {
    match (bytes, is_big_endian) {
        (&[a], _) => a.into(),
        (&[a, b], false) => u16::from_le_bytes([a, b]).into(),
        (&[a, b], true) => u16::from_be_bytes([a, b]).into(),
        (&[a, b, c, d], false) => u32::from_le_bytes([a, b, c, d]),
        (&[a, b, c, d], true) => u32::from_be_bytes([a, b, c, d]),
        // No other size is read.
        _ => crate::route::BLOCKED,
    }
}
