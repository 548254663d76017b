//! [`Net`]: the pins to join.

use super::net_by_net::PINS;
use crate::error::{Error, Result};
use crate::geometry::{Cell, Window};
use crate::memory::{collect, reserve};

/// A pin: the cells at which a path may reach it. They already count as joined, so one path may
/// enter at one cell and another continue from the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Pin {
    /// Its cells, one at least.
    pub cells: Vec<Cell>,
}

impl Pin {
    /// A pin of these cells.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Self {
        let cells = cells.into_iter().collect();
        Self { cells }
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(in crate::route) fn try_clone(&self) -> Result<Self> {
        let cells = collect(self.cells.iter().copied(), PINS)?;
        Ok(Self { cells })
    }
}

impl From<Cell> for Pin {
    fn from(cell: Cell) -> Self {
        Self { cells: vec![cell] }
    }
}

/// Pins to join by a tree.
///
/// ```
/// use trazar::route::{Cell, Net};
///
/// let net = Net::from_cells([Cell::at(1, 1), Cell::at(2, 0)]);
/// assert_eq!(net.pins.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Net {
    /// The pins; the tree grows from the first. The same cell may be in several pins.
    pub pins: Vec<Pin>,
    /// The part of the grid that the paths stay within; `None` is the whole grid.
    pub window: Option<Window>,
}

impl Net {
    /// A net of these pins.
    pub fn new(pins: impl IntoIterator<Item = Pin>) -> Self {
        let pins = pins.into_iter().collect();
        Self { pins, window: None }
    }

    /// A net of pins of one cell each.
    pub fn from_cells(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self::new(cells.into_iter().map(Pin::from))
    }

    /// The same net, whose paths stay within `window`; `None` is the whole grid.
    #[must_use]
    pub fn within(mut self, window: impl Into<Option<Window>>) -> Self {
        self.window = window.into();
        self
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(in crate::route) fn try_clone(&self) -> Result<Self> {
        let mut pins = Vec::new();
        reserve(&mut pins, self.pins.len(), PINS)?;
        for pin in &self.pins {
            pins.push(pin.try_clone()?);
        }
        Ok(Self {
            pins,
            window: self.window,
        })
    }

    /// A net whose one pin is all of the cells `sources`: for distances from them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn of_sources(sources: &[Cell]) -> Result<Self> {
        let cells = collect(sources.iter().copied(), PINS)?;
        Ok(Self::new([Pin { cells }]))
    }

    /// The windows of `nets` on a grid of this size; refuses nets outside it.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub(crate) fn check_all(
        nets: &[Self],
        width: u32,
        height: u32,
        layers: u32,
    ) -> Result<Vec<Window>> {
        let mut windows = Vec::new();
        reserve(&mut windows, nets.len(), "the windows of nets")?;
        for (index, net) in nets.iter().enumerate() {
            windows.push(net.check(index, width, height, layers)?);
        }
        Ok(windows)
    }

    /// The window, or the whole of a grid of this size; refuses a net outside the grid. `net` is
    /// its index, for the error.
    ///
    /// # Errors
    /// [`Error::WindowOutside`], [`Error::PinOutside`], [`Error::PinWithoutCells`].
    pub(crate) fn check(&self, net: usize, width: u32, height: u32, layers: u32) -> Result<Window> {
        let window = self.window.unwrap_or(Window {
            x: 0,
            y: 0,
            width,
            height,
        });
        if !window.is_within(width, height) {
            return Err(Error::WindowOutside {
                net,
                window,
                width,
                height,
            });
        }
        for (index, pin) in self.pins.iter().enumerate() {
            if pin.cells.is_empty() {
                return Err(Error::PinWithoutCells { net, pin: index });
            }
            for &cell in &pin.cells {
                if !window.contains(cell) || cell.layer >= layers {
                    return Err(Error::PinOutside {
                        net,
                        pin: index,
                        cell,
                        window,
                        layers,
                    });
                }
            }
        }
        Ok(window)
    }
}
