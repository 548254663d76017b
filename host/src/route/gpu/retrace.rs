//! The path from a pin to the tree, adding it to the tree, and copying the paths to the host.

use cuda_std::View;
use trazar_kernels::route::nearest::NONE;
use trazar_kernels::route::retrace::{self, Paths};

use super::grid::Rows;
use super::nearest::Search;
use super::sweep::Sweeper;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::route::net_by_net::Joined;

/// Blocks that add a path to the tree.
pub(super) const JOIN_BLOCKS: u32 = 4;

impl<G: Gpu> Search<G> {
    /// Finds the path of the pin of `round`.
    ///
    /// # Safety
    /// The pin is chosen; distances are exact, and `steps` are, or it is empty and no edge is free.
    pub(super) unsafe fn retrace(
        &mut self,
        gpu: &G,
        grid: &Rows<G>,
        steps: View<'_, u64>,
        round: u32,
    ) -> Result<()> {
        let (on, map) = (&gpu.launcher(), self.map.view(grid));
        let pins = self.paths.pins.view();
        let paths = Paths {
            found: self.paths.found.view(),
            ends: self.paths.ends.view_mut(),
            cells: self.paths.cells.view_mut(),
        };
        // SAFETY: lengths and grids as the kernel asks; no cell occurs twice in a path, except the
        // ends.
        unsafe { retrace::retrace_path::launch(on, 1, map, steps, pins, paths, round) }
    }

    /// Adds the path and the pin of `round` to the tree.
    pub(super) fn join(&mut self, gpu: &G, round: u32) -> Result<()> {
        let (on, joined) = (&gpu.launcher(), self.paths.joined());
        // SAFETY: lengths as the kernel asks; the path of the round is found, in round 0 it is
        // empty.
        unsafe {
            retrace::join_tree::launch(
                on,
                JOIN_BLOCKS,
                joined,
                self.map.distances.view_mut(),
                self.map.tree.view_mut(),
                round,
            )
        }
    }

    /// The paths, on the host.
    pub(super) fn joined(&self, gpu: &G) -> Result<Joined> {
        let ends = self.paths.ends.to_vec()?;
        let total = ends.last().map_or(0, |&end| end as usize);
        let mut output = gpu.alloc(total)?;
        // SAFETY: that many elements have been written; a thread for each.
        unsafe {
            retrace::collect_paths::launch_threads(
                &gpu.launcher(),
                total,
                self.paths.cells.view(),
                output.view_mut(),
            )?;
        }
        let paths = output.to_vec()?;
        let (owners, found) = (self.paths.pins.owners.to_vec()?, self.paths.found.to_vec()?);
        let costs = self.costs.to_vec()?;
        let mut joined = Joined::default();
        let rounds = ends.windows(2).zip(&found[1..]).zip(&costs[1..]);
        for ((ends, &index), &cost) in rounds.take_while(|((_, index), _)| **index != NONE) {
            let path = &paths[ends[0] as usize..ends[1] as usize];
            joined.push(owners[index as usize] as usize, cost, path)?;
        }
        Ok(joined)
    }
}

/// Counts the steps over free edges from each cell to the first cell whose path need not continue
/// over free edges alone.
pub(super) struct Steps<G: Gpu> {
    sweeper: Sweeper<G>,
    steps: G::Buffer<u64>,
}

impl<G: Gpu> Steps<G> {
    pub(super) fn new(gpu: &G, grid: &Rows<G>) -> Result<Self> {
        Ok(Self {
            sweeper: Sweeper::over_free_edges(gpu, grid)?,
            steps: gpu.alloc(grid.size.cells() as usize)?,
        })
    }

    /// The steps by cell, for the distances of `search`, which are exact.
    pub(super) fn count(
        &mut self,
        gpu: &G,
        grid: &Rows<G>,
        search: &Search<G>,
    ) -> Result<View<'_, u64>> {
        // SAFETY: lengths as the kernel asks; a thread for each cell.
        unsafe {
            retrace::steps_start::launch_threads(
                &gpu.launcher(),
                grid.size.cells(),
                search.map.view(grid),
                self.steps.view_mut(),
            )?;
        }
        // planted: steps-marks.1
        self.sweeper.marks.rows.fill(1)?;
        // planted: steps-marks.2
        self.sweeper.marks.columns.fill(1)?;
        self.sweeper.sweep(gpu, grid, &mut self.steps)?;
        Ok(self.steps.view())
    }
}
