//! [`Net`]: the pins to join.

use super::RoutingGrid;
use crate::{Error, Result};

/// A cell of a grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// Its layer, 0 the lowest.
    pub layer: u32,
    /// Its row.
    pub y: u32,
    /// Its column.
    pub x: u32,
}

impl Cell {
    /// The cell in column `x` and row `y` of layer 0.
    pub fn at(x: u32, y: u32) -> Self {
        Self { x, y, layer: 0 }
    }

    /// The cell in the same column and row of another layer.
    #[must_use]
    pub fn on(self, layer: u32) -> Self {
        Self { layer, ..self }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {}, column {}", self.y, self.x)?;
        match self.layer {
            0 => Ok(()),
            layer => write!(f, ", layer {layer}"),
        }
    }
}

/// A pin: the cells at which a path may reach it. They count as joined to each other already, so that a path may come in at one
/// and another go on from the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pin {
    /// Its cells, one at least.
    pub cells: Vec<Cell>,
}

impl From<Cell> for Pin {
    fn from(cell: Cell) -> Self {
        Self { cells: vec![cell] }
    }
}

/// A rectangle of cells, on all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Its first column.
    pub x: u32,
    /// Its first row.
    pub y: u32,
    /// Its number of columns.
    pub width: u32,
    /// Its number of rows.
    pub height: u32,
}

impl Window {
    /// All of a grid.
    pub fn of(grid: &RoutingGrid) -> Self {
        Self {
            x: 0,
            y: 0,
            width: grid.width(),
            height: grid.height(),
        }
    }

    /// Whether a cell is in it.
    pub fn contains(self, cell: Cell) -> bool {
        cell.x.wrapping_sub(self.x) < self.width && cell.y.wrapping_sub(self.y) < self.height
    }

    /// Whether it has cells, all of which are on a grid of this size.
    pub(super) fn is_within(self, width: u32, height: u32) -> bool {
        let within = |start: u32, len: u32, side: u32| {
            len > 0 && u64::from(start) + u64::from(len) <= side.into()
        };
        within(self.x, self.width, width) && within(self.y, self.height, height)
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
pub struct Net {
    /// The pins, the first of which the tree grows from. The same cell may be in several pins.
    pub pins: Vec<Pin>,
    /// What the paths stay within; `None` is the whole grid.
    pub window: Option<Window>,
}

impl Net {
    /// A net of pins of one cell each.
    pub fn from_cells(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self {
            pins: cells.into_iter().map(Pin::from).collect(),
            window: None,
        }
    }

    /// The same net, whose paths stay within `window`.
    #[must_use]
    pub fn within(self, window: Window) -> Self {
        Self {
            window: Some(window),
            ..self
        }
    }

    /// A net whose one pin is all of the cells `sources`: for distances from them.
    pub(crate) fn of_sources(sources: &[Cell]) -> Self {
        Self {
            pins: vec![Pin {
                cells: sources.to_vec(),
            }],
            window: None,
        }
    }

    /// The windows of `nets` on a grid of this size; refuses nets that are not on it.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub(crate) fn check_all(
        nets: &[Self],
        width: u32,
        height: u32,
        layers: u32,
    ) -> Result<Vec<Window>> {
        let windows = nets.iter().enumerate();
        windows
            .map(|(number, net)| net.check(number, width, height, layers))
            .collect()
    }

    /// The window, or all of a grid of this size; refuses a net, number `net`, that is not on the grid.
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
        for (number, pin) in self.pins.iter().enumerate() {
            if pin.cells.is_empty() {
                return Err(Error::PinWithoutCells { net, pin: number });
            }
            for &cell in &pin.cells {
                if !window.contains(cell) || cell.layer >= layers {
                    return Err(Error::PinOutside {
                        net,
                        pin: number,
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
