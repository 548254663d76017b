//! Distances, tree and paths on the GPU, with distances from elsewhere; the paths come back at the end.

use cuda_std::View;
use trazar_kernels::route::nearest::{self, NONE};
use trazar_kernels::route::{Grid, MAX_CELLS, blocks, retrace, sweep};

use super::sweep as sweeps;
use crate::gpu::{Gpu, GpuBuffer};
use crate::progress::Progress;
use crate::route::grid::RoutingGrid;
use crate::route::net_by_net::{Joined, PinCells};
use crate::{Error, Result};

/// The weights of a grid in a GPU's memory, row by row.
pub(super) struct Rows<G: Gpu> {
    pub(super) size: Grid,
    pub(super) right: G::Buffer<u32>,
    pub(super) down: G::Buffer<u32>,
    /// Empty if there is one layer.
    pub(super) via: G::Buffer<u32>,
    pub(super) has_free_edges: bool,
}

impl<G: Gpu> Rows<G> {
    pub(super) fn upload(gpu: &G, grid: &RoutingGrid) -> Result<Self> {
        let (width, height, layers) = (grid.width(), grid.height(), grid.layers());
        if grid.cell_count() > MAX_CELLS {
            return Err(Error::GridTooLarge {
                width: width.into(),
                height: height.into(),
                layers,
                limit: "on the GPU, a grid has at most 2³¹ cells; route on the CPU, or within windows",
            });
        }
        Ok(Self {
            size: Grid {
                width,
                height,
                layers,
            },
            right: gpu.upload(grid.rights())?,
            down: gpu.upload(grid.downs())?,
            via: gpu.upload(grid.vias())?,
            has_free_edges: grid.has_free_edges(),
        })
    }
}

/// The growing tree of a net, and the distances from it.
pub(super) struct Search<G: Gpu> {
    /// By cell.
    pub(super) distances: G::Buffer<u64>,
    /// A bit for each cell: whether it is on the tree.
    pub(super) tree: G::Buffer<u32>,
    /// The cells of all pins, one pin after the other.
    pub(super) pin_cells: G::Buffer<u32>,
    /// By cell of a pin: the pin.
    pub(super) owners: G::Buffer<u32>,
    /// By pin: where its cells begin; one more than there are pins.
    pub(super) firsts: G::Buffer<u32>,
    /// By pin.
    pub(super) is_joined: G::Buffer<u32>,
    /// By round: the pin's cell that was found, and its distance. In round 0, the first cell of the first pin.
    pub(super) found: G::Buffer<u32>,
    pub(super) costs: G::Buffer<u64>,
    /// By round: where its path ends.
    pub(super) ends: G::Buffer<u32>,
    /// The cells of all paths. The cells of a path but its last are new to the tree.
    pub(super) paths: G::Buffer<u32>,
    /// What the blocks that look for the nearest pin found.
    best_distances: G::Buffer<u64>,
    best_indices: G::Buffer<u32>,
}

/// The most cells that the pins of a net have: the ends of paths are counted in 32 bits, and each pin may add one to the grid's
/// cells.
const MAX_PIN_CELLS: usize = 1 << 30;

/// Blocks that make a path part of the tree.
pub(super) const JOIN_BLOCKS: u32 = 4;

impl<G: Gpu> Search<G> {
    fn new(gpu: &G, grid: &Rows<G>, pins: &PinCells) -> Result<Self> {
        let cells: Vec<u32> = pins.iter().flatten().copied().collect();
        let rounds = pins.len();
        if cells.len() > MAX_PIN_CELLS {
            return Err(Error::InvalidOption(format!(
                "the pins of a net have {} cells: on the GPU, they have {MAX_PIN_CELLS} at most",
                cells.len()
            )));
        }
        let owners: Vec<u32> = (0..)
            .zip(pins)
            .flat_map(|(pin, cells)| cells.iter().map(move |_| pin))
            .collect();
        let mut firsts = vec![0];
        let mut is_joined = vec![0; rounds];
        is_joined[0] = 1;
        for cells in pins {
            firsts.push(firsts[firsts.len() - 1] + cells.len() as u32);
        }
        let cell_count = grid.size.cells() as usize;
        let search_blocks = nearest::blocks(cells.len() as u32) as usize;
        let mut distances = gpu.alloc(cell_count)?;
        // SAFETY: a thread for each element.
        unsafe {
            sweep::sweep_start::launch(
                &gpu.launcher(),
                blocks(grid.size.cells()),
                distances.view_mut(),
            )?;
        }
        Ok(Self {
            distances,
            tree: gpu.alloc_zeroed(cell_count.div_ceil(32))?,
            pin_cells: gpu.upload(&cells)?,
            owners: gpu.upload(&owners)?,
            firsts: gpu.upload(&firsts)?,
            is_joined: gpu.upload(&is_joined)?,
            found: gpu.alloc_zeroed(rounds)?,
            costs: gpu.alloc_zeroed(rounds)?,
            ends: gpu.alloc_zeroed(rounds)?,
            paths: gpu.alloc(cell_count + rounds)?,
            best_distances: gpu.alloc(search_blocks)?,
            best_indices: gpu.alloc(search_blocks)?,
        })
    }

    /// Chooses the pin of `round`, and finds its path.
    ///
    /// # Safety
    /// Distances are exact, and `steps` are, or it is empty and no edge is free.
    unsafe fn find_path(
        &mut self,
        gpu: &G,
        grid: &Rows<G>,
        steps: View<'_, u64>,
        round: u32,
    ) -> Result<()> {
        let on = &gpu.launcher();
        // SAFETY: lengths and grids as the kernels ask, which run in their order; paths have no cell twice but the ends.
        unsafe {
            nearest::nearest_find::launch(
                on,
                self.best_indices.len() as u32,
                self.distances.view(),
                self.pin_cells.view(),
                self.owners.view(),
                self.is_joined.view(),
                self.best_distances.view_mut(),
                self.best_indices.view_mut(),
            )?;
            nearest::nearest_select::launch(
                on,
                1,
                self.best_distances.view(),
                self.best_indices.view(),
                self.owners.view(),
                self.is_joined.view_mut(),
                self.found.view_mut(),
                self.costs.view_mut(),
                round,
            )?;
            retrace::retrace_path::launch(
                on,
                1,
                grid.right.view(),
                grid.down.view(),
                grid.via.view(),
                self.distances.view(),
                steps,
                self.tree.view(),
                self.pin_cells.view(),
                self.found.view(),
                self.ends.view_mut(),
                self.paths.view_mut(),
                grid.size,
                round,
            )
        }
    }

    /// Makes the path and the pin of `round` part of the tree.
    fn join(&mut self, gpu: &G, round: u32) -> Result<()> {
        // SAFETY: lengths as the kernel asks; the path of the round is found, in round 0 it is empty.
        unsafe {
            retrace::join_tree::launch(
                &gpu.launcher(),
                JOIN_BLOCKS,
                self.pin_cells.view(),
                self.owners.view(),
                self.firsts.view(),
                self.found.view(),
                self.ends.view(),
                self.paths.view(),
                self.distances.view_mut(),
                self.tree.view_mut(),
                round,
            )
        }
    }

    /// The paths, on the host.
    fn joined(&self, gpu: &G) -> Result<Joined> {
        let ends = self.ends.to_vec()?;
        let total = ends.last().map_or(0, |&end| end as usize);
        let mut output = gpu.alloc(total)?;
        if total > 0 {
            // SAFETY: so many elements are written; a thread for each.
            unsafe {
                retrace::collect_paths::launch(
                    &gpu.launcher(),
                    blocks(total as u32),
                    self.paths.view(),
                    output.view_mut(),
                )?;
            }
        }
        let paths = output.to_vec()?;
        let (owners, found) = (self.owners.to_vec()?, self.found.to_vec()?);
        let costs = self.costs.to_vec()?;
        let mut joined = Joined::default();
        let rounds = ends.windows(2).zip(&found[1..]).zip(&costs[1..]);
        for ((ends, &index), &cost) in rounds.take_while(|((_, index), _)| **index != NONE) {
            let path = &paths[ends[0] as usize..ends[1] as usize];
            joined.push(owners[index as usize] as usize, cost, path);
        }
        Ok(joined)
    }
}

/// Joins the pins by distances that `relax` completes. It is given the search and a round: what became part of the tree in
/// that round has the distance 0, the other cells theirs from the tree before. It makes them exact.
///
/// The host does not wait for what the rounds find: where no pin is reached any more, the rounds that are left do nothing.
pub(super) fn connect<G: Gpu>(
    gpu: &G,
    grid: &Rows<G>,
    pins: &PinCells,
    progress: &Progress<'_>,
    mut relax: impl FnMut(&mut Search<G>, u32) -> Result<()>,
) -> Result<Joined> {
    if pins.len() < 2 {
        return Ok(Joined::default());
    }
    let mut search = Search::new(gpu, grid, pins)?;
    let mut steps = match grid.has_free_edges {
        true => Some(sweeps::Steps::new(gpu, grid)?),
        false => None,
    };
    let none = gpu.alloc(0)?;
    search.join(gpu, 0)?;
    for round in 1..pins.len() as u32 {
        progress.report(round.into(), pins.len() as u64);
        relax(&mut search, round - 1)?;
        let steps = match &mut steps {
            Some(steps) => steps.count(gpu, grid, &search)?,
            None => none.view(),
        };
        // SAFETY: `relax` has made the distances exact; the steps are as well.
        unsafe { search.find_path(gpu, grid, steps, round)? };
        search.join(gpu, round)?;
    }
    search.joined(gpu)
}
