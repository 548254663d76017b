//! [`RoutingGrid`]: cells, and the costs of steps between neighbours.

use super::extents::{Extents, Towards};
use crate::error::{Error, OptionProblem, Result};
use crate::geometry::{Cell, Window};
use crate::memory::{reserve, zeroed_vec};

/// The weight of an edge that no path may take.
pub const BLOCKED: u32 = u32::MAX;

/// The most layers that a grid has.
pub const MAX_LAYERS: u32 = 16;

/// The largest number of cells.
const MAX_CELLS: u64 = u32::MAX as u64 - 1;

/// The direction of a layer's wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Along x.
    Horizontal,
    /// Along y.
    Vertical,
}

/// A grid of cells in one or more layers. Edges join neighbours: left and right, above and below in
/// the picture (x right, y down), and on adjacent layers through a via. Each edge has its own
/// weight: the cost for a path to take it, in either direction.
///
/// Cell `(x, y)` of layer `z` has the index `(z · height + y) · width + x`. Weights are whole
/// numbers from 0 to 2³² - 2, or [`BLOCKED`].
///
/// ```
/// use trazar::route::{Cell, RoutingGrid};
///
/// // Cells are (x, y): x to the right, y down.
/// let right = [24, 26, 47, 13, 70, 2];
/// let down = [33, 68, 51, 80, 24, 77];
/// let grid = RoutingGrid::from_edges(3, 3, &right, &down)?;
/// assert_eq!(grid.right(Cell::at(1, 1)), 13);
/// assert_eq!(grid.down(Cell::at(2, 0)), 51);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Memory
/// 8 bytes per cell, 12 with several layers.
#[derive(Clone, PartialEq, Eq)]
pub struct RoutingGrid {
    width: u32,
    height: u32,
    layers: u32,
    /// By cell: the edges to (x + 1, y) and to (x, y + 1); blocked where there is no such cell.
    right: Vec<u32>,
    down: Vec<u32>,
    /// By cell: the edge to the next layer; empty if there is one layer.
    via: Vec<u32>,
}

impl RoutingGrid {
    /// A grid of one layer in which every edge has the weight `weight`.
    ///
    /// # Errors
    /// [`Error::EmptyGrid`], [`Error::GridTooLarge`], [`Error::OutOfMemory`].
    pub fn uniform(width: u32, height: u32, weight: u32) -> Result<Self> {
        Self::from_fn(width, height, |_, _| weight, |_, _| weight)
    }

    /// A grid of one layer from functions of x and y: the weight of the edge from `(x, y)` to the
    /// right (called for x < width - 1), and down (for y < height - 1). They are called row by row,
    /// first for all edges to the right, then for all edges down.
    ///
    /// # Errors
    /// Those of [`RoutingGrid::uniform`].
    pub fn from_fn(
        width: u32,
        height: u32,
        mut right: impl FnMut(u32, u32) -> u32,
        mut down: impl FnMut(u32, u32) -> u32,
    ) -> Result<Self> {
        let mut grid = Self::blocked(width, height, 1)?;
        for (y, row) in (0..).zip(grid.right.chunks_exact_mut(width as usize)) {
            for (x, weight) in (0..width - 1).zip(row) {
                *weight = right(x, y);
            }
        }
        for (y, row) in (0..height - 1).zip(grid.down.chunks_exact_mut(width as usize)) {
            for (x, weight) in (0..).zip(row) {
                *weight = down(x, y);
            }
        }
        Ok(grid)
    }

    /// A grid of one layer from its weights, row by row: `right` has `width - 1` weights for each
    /// of `height` rows, between `(x, y)` and `(x + 1, y)`; `down` has `width` weights for each of
    /// `height - 1` rows, between `(x, y)` and `(x, y + 1)`.
    ///
    /// # Errors
    /// [`Error::WeightCount`] for other numbers of weights; those of [`RoutingGrid::uniform`].
    pub fn from_edges(width: u32, height: u32, right: &[u32], down: &[u32]) -> Result<Self> {
        check_size(width.into(), height.into(), 1)?;
        let (w, h) = (width as usize, height as usize);
        check_count("edges to the right", (w - 1) * h, right.len())?;
        check_count("edges down", w * (h - 1), down.len())?;
        let mut grid = Self::blocked(width, height, 1)?;
        if w > 1 {
            for (row, given) in grid
                .right
                .chunks_exact_mut(w)
                .zip(right.chunks_exact(w - 1))
            {
                row[..w - 1].copy_from_slice(given);
            }
        }
        grid.down[..down.len()].copy_from_slice(down);
        Ok(grid)
    }

    /// Stacks grids of one layer each, the first lowest. `vias` has one weight per cell of each
    /// layer but the last, row by row and layer by layer: the cost of a via from the cell to the
    /// next layer.
    ///
    /// ```
    /// use trazar::route::{Direction, RoutingGrid};
    ///
    /// // Two layers with preferred directions; a via costs 20.
    /// let lower = RoutingGrid::uniform(4, 3, 1)?.with_direction(Direction::Horizontal);
    /// let upper = RoutingGrid::uniform(4, 3, 1)?.with_direction(Direction::Vertical);
    /// let grid = RoutingGrid::stack(&[lower, upper], &[20; 12])?;
    /// assert_eq!(grid.layers(), 2);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for no layers, more than [`MAX_LAYERS`], layers of different sizes,
    /// or grids that have several layers themselves; [`Error::WeightCount`]; those of
    /// [`RoutingGrid::uniform`].
    pub fn stack(layers: &[Self], vias: &[u32]) -> Result<Self> {
        let invalid = |problem, reason: String| Err(Error::option("layers", problem, reason));
        let Some(first) = layers.first() else {
            let reason = "a grid needs a layer at least".into();
            return invalid(OptionProblem::Missing, reason);
        };
        let (width, height) = (first.width, first.height);
        for (i, layer) in layers.iter().enumerate() {
            if layer.layers != 1 {
                let reason = format!(
                    "layer {i} has {} layers itself: stack grids of one layer",
                    layer.layers
                );
                return invalid(OptionProblem::OutOfRange, reason);
            }
            if (layer.width, layer.height) != (width, height) {
                let reason = format!(
                    "layer {i} has {} × {} cells and layer 0 has {width} × {height}: \
                     all layers have one size",
                    layer.width, layer.height
                );
                return invalid(OptionProblem::Conflict, reason);
            }
        }
        let count = check_layers(layers.len() as u64)?;
        check_size(width.into(), height.into(), count)?;
        let area = first.right.len();
        check_count("vias", area * (layers.len() - 1), vias.len())?;
        let mut grid = Self::blocked(width, height, count)?;
        for (i, layer) in layers.iter().enumerate() {
            grid.right[i * area..][..area].copy_from_slice(&layer.right);
            grid.down[i * area..][..area].copy_from_slice(&layer.down);
        }
        if count > 1 {
            grid.via[..vias.len()].copy_from_slice(vias);
        }
        Ok(grid)
    }

    /// A grid in which every edge is blocked.
    pub(crate) fn blocked(width: u32, height: u32, layers: u32) -> Result<Self> {
        let cells = check_size(width.into(), height.into(), layers)?;
        let weights = |cells: usize| -> Result<Vec<u32>> {
            let mut weights = Vec::new();
            reserve(&mut weights, cells, "the grid's weights")?;
            weights.resize(cells, BLOCKED);
            Ok(weights)
        };
        Ok(Self {
            width,
            height,
            layers,
            right: weights(cells)?,
            down: weights(cells)?,
            via: weights(if layers > 1 { cells } else { 0 })?,
        })
    }

    /// Width in cells.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in cells.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The number of layers.
    pub fn layers(&self) -> u32 {
        self.layers
    }

    /// The number of cells of all layers.
    pub fn cell_count(&self) -> u32 {
        self.right.len() as u32
    }

    /// Whether `cell` is one of the grid's.
    pub fn contains(&self, cell: Cell) -> bool {
        self.extents().contains(cell)
    }

    /// The index of `cell`.
    ///
    /// # Panics
    /// For a cell outside the grid; [`contains`](Self::contains) says whether it is.
    #[track_caller]
    pub fn index(&self, cell: Cell) -> u32 {
        self.extents().index(cell)
    }

    /// The numbers of columns, rows and layers.
    pub(super) fn extents(&self) -> Extents {
        Extents {
            width: self.width,
            height: self.height,
            layers: self.layers,
        }
    }

    /// The cell with an index.
    ///
    /// # Panics
    /// For an index of [`cell_count`](Self::cell_count) or more.
    #[track_caller]
    pub fn cell(&self, index: u32) -> Cell {
        assert!(
            index < self.cell_count(),
            "no cell of a grid of {}: number {index}",
            self.cell_count()
        );
        let line = index / self.width;
        Cell {
            x: index % self.width,
            y: line % self.height,
            layer: line / self.height,
        }
    }

    /// The weight of the edge from `cell` to `(x + 1, y)`; [`BLOCKED`] in the last column.
    ///
    /// # Panics
    /// For a cell outside the grid.
    #[track_caller]
    pub fn right(&self, cell: Cell) -> u32 {
        self.right[self.index(cell) as usize]
    }

    /// The weight of the edge from `cell` to `(x, y + 1)`; [`BLOCKED`] in the last row.
    ///
    /// # Panics
    /// For a cell outside the grid.
    #[track_caller]
    pub fn down(&self, cell: Cell) -> u32 {
        self.down[self.index(cell) as usize]
    }

    /// The weight of the via from `cell` to the next layer; [`BLOCKED`] on the last.
    ///
    /// # Panics
    /// For a cell outside the grid.
    #[track_caller]
    pub fn via(&self, cell: Cell) -> u32 {
        let index = self.index(cell) as usize;
        self.via.get(index).copied().unwrap_or(BLOCKED)
    }

    /// By cell: the weights of the edges to the right, [`BLOCKED`] in the last column.
    pub fn rights(&self) -> &[u32] {
        &self.right
    }

    /// By cell: the weights of the edges down, [`BLOCKED`] in the last row.
    pub fn downs(&self) -> &[u32] {
        &self.down
    }

    /// By cell: the weights of the vias to the next layer, [`BLOCKED`] on the last; empty for one
    /// layer.
    pub fn vias(&self) -> &[u32] {
        &self.via
    }

    /// By cell: the weights of the edges to the right and down and of the vias, as
    /// [`rights`](Self::rights), [`downs`](Self::downs) and [`vias`](Self::vias) return them. Those
    /// in the last column, in the last row and on the last layer must stay [`BLOCKED`].
    pub(crate) fn weights_mut(&mut self) -> [&mut [u32]; 3] {
        [&mut self.right, &mut self.down, &mut self.via]
    }

    /// The largest weight that is not [`BLOCKED`]; 0 if there is none.
    pub fn max_weight(&self) -> u32 {
        let weights = [&self.right, &self.down, &self.via].into_iter().flatten();
        let open = weights.map(|&weight| if weight == BLOCKED { 0 } else { weight });
        open.max().unwrap_or(0)
    }

    /// Whether some edge costs nothing.
    pub fn has_free_edges(&self) -> bool {
        [&self.right, &self.down, &self.via]
            .into_iter()
            .any(|weights| weights.contains(&0))
    }

    /// Sets the weight of the edge from `cell` to `(x + 1, y)`. [`BLOCKED`] blocks it.
    ///
    /// # Errors
    /// [`Error::CellOutside`] for a cell outside the grid, [`Error::EdgeOutside`] for one in the
    /// last column: nothing is set.
    pub fn set_right(&mut self, cell: Cell, weight: u32) -> Result<()> {
        let index = self.extents().checked_edge(cell, Towards::Right)?;
        self.right[index] = weight;
        Ok(())
    }

    /// Sets the weight of the edge from `cell` to `(x, y + 1)`. [`BLOCKED`] blocks it.
    ///
    /// # Errors
    /// [`Error::CellOutside`] for a cell outside the grid, [`Error::EdgeOutside`] for one in the
    /// last row: nothing is set.
    pub fn set_down(&mut self, cell: Cell, weight: u32) -> Result<()> {
        let index = self.extents().checked_edge(cell, Towards::Down)?;
        self.down[index] = weight;
        Ok(())
    }

    /// Sets the weight of the via from `cell` to the next layer. [`BLOCKED`] blocks it.
    ///
    /// # Errors
    /// [`Error::CellOutside`] for a cell outside the grid, [`Error::EdgeOutside`] for one on the
    /// last layer: nothing is set.
    pub fn set_via(&mut self, cell: Cell, weight: u32) -> Result<()> {
        let index = self.extents().checked_edge(cell, Towards::NextLayer)?;
        self.via[index] = weight;
        Ok(())
    }

    /// Blocks all edges of a cell, so that no path passes it.
    ///
    /// # Errors
    /// [`Error::CellOutside`] for a cell outside the grid: nothing is blocked.
    pub fn block(&mut self, cell: Cell) -> Result<()> {
        let index = self.extents().checked_index(cell)?;
        let (line, area) = (
            self.width as usize,
            self.width as usize * self.height as usize,
        );
        // Edges that lead off the grid are blocked already.
        self.right[index] = BLOCKED;
        self.down[index] = BLOCKED;
        if cell.x > 0 {
            self.right[index - 1] = BLOCKED;
        }
        if cell.y > 0 {
            self.down[index - line] = BLOCKED;
        }
        if self.layers > 1 {
            self.via[index] = BLOCKED;
        }
        if cell.layer > 0 {
            self.via[index - area] = BLOCKED;
        }
        Ok(())
    }

    /// Blocks all edges that do not run in `direction`, which makes a layer with a preferred
    /// direction. Vias are unchanged.
    #[must_use]
    pub fn with_direction(mut self, direction: Direction) -> Self {
        match direction {
            Direction::Horizontal => self.down.fill(BLOCKED),
            Direction::Vertical => self.right.fill(BLOCKED),
        }
        self
    }

    /// Two layers from one: the lower has its edges along x, the upper its edges along y, and all
    /// vias have the weight `via`.
    ///
    /// # Panics
    /// For a grid of several layers.
    pub(super) fn by_direction(&self, via: u32) -> Result<Self> {
        assert_eq!(self.layers, 1, "a grid of one layer");
        let mut grid = Self::blocked(self.width, self.height, 2)?;
        let area = self.right.len();
        grid.right[..area].copy_from_slice(&self.right);
        grid.down[area..].copy_from_slice(&self.down);
        grid.via[..area].fill(via);
        Ok(grid)
    }

    /// The part of the grid in `window`, on all layers.
    ///
    /// # Errors
    /// [`Error::PartOutside`] for a window that is empty or not within the grid;
    /// [`Error::OutOfMemory`].
    pub fn crop(&self, window: Window) -> Result<Self> {
        let Window {
            x,
            y,
            width,
            height,
        } = window;
        if !window.is_within(self.width, self.height) {
            return Err(Error::PartOutside {
                window,
                width: self.width,
                height: self.height,
            });
        }
        let mut part = Self::blocked(width, height, self.layers)?;
        let lines = (0..self.layers).flat_map(|z| (0..height).map(move |row| (z, row)));
        for (line, (layer, row)) in lines.enumerate() {
            let from = self.index(Cell {
                x,
                y: y + row,
                layer,
            }) as usize;
            let (to, w) = (line * width as usize, width as usize);
            part.right[to..][..w - 1].copy_from_slice(&self.right[from..][..w - 1]);
            if row + 1 < height {
                part.down[to..][..w].copy_from_slice(&self.down[from..][..w]);
            }
            if self.layers > 1 {
                part.via[to..][..w].copy_from_slice(&self.via[from..][..w]);
            }
        }
        Ok(part)
    }

    /// The neighbours of a cell and the weights of the edges to them, without blocked ones, in the
    /// order in which paths prefer them: left, up, right, down, the layer below, the layer above.
    #[inline(always)]
    pub(crate) fn neighbours(&self, index: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (w, n) = (self.width as usize, index as usize);
        // The last cell of a row has no edge to the right, so the edge before the first cell of the
        // next row does not exist either.
        let back = |by: usize, weights: &[u32]| match n.checked_sub(by) {
            Some(to) => (to as u32, weights[to]),
            None => (0, BLOCKED),
        };
        let forth = |by: usize, weights: &[u32]| ((n + by) as u32, weights[n]);
        let area = w * self.height as usize;
        let [below, above] = if self.via.is_empty() {
            [(0, BLOCKED); 2]
        } else {
            [back(area, &self.via), forth(area, &self.via)]
        };
        let edges = [
            back(1, &self.right),
            back(w, &self.down),
            forth(1, &self.right),
            forth(w, &self.down),
            below,
            above,
        ];
        edges.into_iter().filter(|&(_, weight)| weight != BLOCKED)
    }

    /// The weight of the edge between two cells, if there is an open one.
    pub(crate) fn weight_between(&self, from: u32, to: u32) -> Option<u32> {
        let mut neighbours = self.neighbours(from);
        let edge = neighbours.find(|&(next, _)| next == to);
        edge.map(|(_, weight)| weight)
    }
}

impl std::fmt::Debug for RoutingGrid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoutingGrid")
            .field("width", &self.width)
            .field("height", &self.height)
            .field("layers", &self.layers)
            .finish_non_exhaustive()
    }
}

/// Refuses a grid without cells, or with more than 32 bits can index; returns the number of cells.
pub(crate) fn check_size(width: u64, height: u64, layers: u32) -> Result<usize> {
    if width == 0 || height == 0 {
        return Err(Error::EmptyGrid { width, height });
    }
    let cells = width.saturating_mul(height).saturating_mul(layers.into());
    if cells > MAX_CELLS {
        return Err(Error::GridTooLarge {
            width,
            height,
            layers,
            limit: "2³² - 2 cells at most",
        });
    }
    Ok(cells as usize)
}

fn check_layers(layers: u64) -> Result<u32> {
    match u32::try_from(layers) {
        Ok(layers @ 1..=MAX_LAYERS) => Ok(layers),
        _ => Err(Error::option(
            "layers",
            OptionProblem::OutOfRange,
            format!("{layers} layers: a grid has 1 to {MAX_LAYERS}"),
        )),
    }
}

fn check_count(what: &'static str, needed: usize, given: usize) -> Result<()> {
    if needed == given {
        Ok(())
    } else {
        Err(Error::WeightCount {
            what,
            needed,
            given,
        })
    }
}

/// One value per cell.
pub(crate) fn by_cell<T: bytemuck::Zeroable>(
    grid: &RoutingGrid,
    what: &'static str,
) -> Result<Vec<T>> {
    zeroed_vec(grid.cell_count() as usize, what)
}

impl Window {
    /// The window of a whole grid.
    pub fn of(grid: &RoutingGrid) -> Self {
        Self {
            x: 0,
            y: 0,
            width: grid.width(),
            height: grid.height(),
        }
    }
}
