//! Distances in tiles of the grid, on all threads ([`tile_search`]).

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::cost::Cost;
use super::retrace::UNREACHED;
use crate::error::Result;
use crate::memory::{par_filled_vec, prefetch};
use crate::progress::Progress;
use crate::route::grid::{BLOCKED, RoutingGrid};
use crate::tile_search::{self, Front, Grid, TileCell};

/// Layers that fit tiles of 64 × 64 cells well; more of them go into smaller tiles.
const FEW_LAYERS: u32 = 4;

/// The cost of the cheapest path from `sources` to each cell; [`UNREACHED`] if there is none.
pub(super) fn distances(
    grid: &RoutingGrid,
    sources: &[u32],
    progress: &Progress<'_>,
) -> Result<Vec<u64>> {
    if grid.layers() <= FEW_LAYERS {
        by_side::<64>(grid, sources, progress)
    } else {
        by_side::<32>(grid, sources, progress)
    }
}

fn by_side<const SIDE: usize>(
    grid: &RoutingGrid,
    sources: &[u32],
    progress: &Progress<'_>,
) -> Result<Vec<u64>> {
    // As in `dijkstra`: half the memory, unless costs are too large.
    if let Some(distances) = Edges::<u32, SIDE>::new(grid).distances(sources, progress)? {
        return Ok(distances);
    }
    let distances = Edges::<u64, SIDE>::new(grid).distances(sources, progress)?;
    Ok(distances.unwrap_or_default())
}

/// A grid of weighted edges, with costs of type `C`, for tiles of `SIDE`² cells.
struct Edges<'a, C, const SIDE: usize> {
    grid: &'a RoutingGrid,
    /// Columns and rows.
    width: usize,
    height: usize,
    /// Whether a path was left out because its cost does not fit.
    too_large: AtomicBool,
    cost: std::marker::PhantomData<C>,
}

impl<'a, C: Cost + tile_search::Cost, const SIDE: usize> Edges<'a, C, SIDE> {
    fn new(grid: &'a RoutingGrid) -> Self {
        Self {
            grid,
            width: grid.width() as usize,
            height: grid.height() as usize,
            too_large: AtomicBool::new(false),
            cost: std::marker::PhantomData,
        }
    }

    /// The index of a tile's cell in the grid.
    #[inline(always)]
    fn index(&self, cell: TileCell, origin: (usize, usize)) -> usize {
        let (x, y) = (origin.0 + cell.x - 1, origin.1 + cell.y - 1);
        (cell.layer * self.height + y) * self.width + x
    }

    /// `None` if costs do not fit.
    fn distances(&self, sources: &[u32], progress: &Progress<'_>) -> Result<Option<Vec<u64>>> {
        let starts = sources.iter().map(|&source| {
            let cell = self.grid.cell(source);
            let place = [cell.x, cell.y, cell.layer].map(|at| at as usize);
            (place, C::ZERO)
        });
        let tiles = tile_search::costs(self, starts, progress)?;
        if self.too_large.load(Relaxed) {
            return Ok(None);
        }
        let cells = self.grid.cell_count() as usize;
        let mut distances = par_filled_vec(UNREACHED, cells, "the distances")?;
        tiles.write(&mut distances, self.width, |cost| match cost {
            cost if cost == C::MAX => UNREACHED,
            cost => cost.to_u64(),
        });
        Ok(Some(distances))
    }

    /// Offers a cell's neighbour the cell's cost plus an edge's weight.
    #[inline(always)]
    fn offer(
        &self,
        (cell, cost): (TileCell, C),
        weight: u32,
        (step, layer): ((i32, i32), usize),
        front: &mut Front<'_, Self>,
    ) -> Result<()> {
        let offered = cost.plus(weight);
        let stride = tile_search::stride::<Self>() as isize;
        let above = (layer as isize - cell.layer as isize) * stride;
        let jump = (above + step.1 as isize) * stride + step.0 as isize;
        if offered < front.costs[cell.index.wrapping_add_signed(jump)] {
            return front.lower(cell, step, layer, offered);
        }
        if offered == C::MAX && weight != BLOCKED {
            self.too_large.store(true, Relaxed);
        }
        Ok(())
    }
}

impl<C: Cost + tile_search::Cost, const SIDE: usize> Grid for Edges<'_, C, SIDE> {
    type Cost = C;
    type Part = ();
    const SIDE: usize = SIDE;
    const REACH: usize = 1;

    fn size(&self) -> [usize; 3] {
        [self.width, self.height, self.grid.layers() as usize]
    }

    /// A quarter of the weight that three of four edges in a sample exceed.
    fn bucket_width(&self) -> f64 {
        const SAMPLES: usize = 512;
        let grid = self.grid;
        let pace = (grid.cell_count() as usize / SAMPLES).max(1) | 1;
        let weights = [grid.rights(), grid.downs()].into_iter();
        let weights = weights.flat_map(|weights| weights.iter().step_by(pace).copied());
        let mut sample: Vec<u32> = weights
            .filter(|&weight| weight != 0 && weight != BLOCKED)
            .collect();
        sample.sort_unstable();
        let usual = sample.get(sample.len() / 4).copied().unwrap_or(1);
        (f64::from(usual) / 4.0).max(1.0)
    }

    /// On 2048² cells of random weights, this takes a tenth off the time; rasters of friction did
    /// not gain.
    #[inline(always)]
    fn prefetch(&self, cell: TileCell, front: &Front<'_, Self>) {
        let stride = tile_search::stride::<Self>();
        for index in [cell.index - stride, cell.index, cell.index + stride] {
            prefetch(front.costs, index);
        }
        let index = self.index(cell, front.origin);
        prefetch(self.grid.rights(), index);
        prefetch(self.grid.downs(), index);
        prefetch(self.grid.downs(), index.wrapping_sub(self.width));
    }

    #[inline(always)]
    fn relax(&self, cell: TileCell, cost: C, front: &mut Front<'_, Self>) -> Result<()> {
        let (right, down, via) = (self.grid.rights(), self.grid.downs(), self.grid.vias());
        let index = self.index(cell, front.origin);
        // Edges out of the grid are blocked: so are the last cells of the row or layer before. The
        // first cell of all has none before it.
        let before = |weights: &[u32], distance: usize| {
            let weight = weights.get(index.wrapping_sub(distance));
            weight.copied().unwrap_or(BLOCKED)
        };
        let (from, layer) = ((cell, cost), cell.layer);
        self.offer(from, before(right, 1), ((-1, 0), layer), front)?;
        self.offer(from, right[index], ((1, 0), layer), front)?;
        self.offer(from, before(down, self.width), ((0, -1), layer), front)?;
        self.offer(from, down[index], ((0, 1), layer), front)?;
        if !via.is_empty() {
            let area = self.width * self.height;
            if layer > 0 {
                self.offer(from, via[index - area], ((0, 0), layer - 1), front)?;
            }
            if layer + 1 < self.grid.layers() as usize {
                self.offer(from, via[index], ((0, 0), layer + 1), front)?;
            }
        }
        Ok(())
    }
}
