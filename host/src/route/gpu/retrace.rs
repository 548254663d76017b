//! The path from a pin to the tree, how it becomes part of the tree, and the paths on the host.

use cuda_std::View;
use trazar_kernels::route::nearest::NONE;
use trazar_kernels::route::{blocks, retrace};

use super::grid::Rows;
use super::nearest::Search;
use super::sweep::Sweeper;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::route::net_by_net::Joined;

/// Blocks that make a path part of the tree.
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
        // SAFETY: lengths and grids as the kernel asks; paths have no cell twice but the ends.
        unsafe {
            retrace::retrace_path::launch(
                &gpu.launcher(),
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
    pub(super) fn join(&mut self, gpu: &G, round: u32) -> Result<()> {
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
    pub(super) fn joined(&self, gpu: &G) -> Result<Joined> {
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

/// Counts the steps over free edges from each cell to the first from which a path need not go on over free edges alone.
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
            retrace::steps_start::launch(
                &gpu.launcher(),
                blocks(grid.size.cells()),
                grid.right.view(),
                grid.down.view(),
                grid.via.view(),
                search.distances.view(),
                search.tree.view(),
                self.steps.view_mut(),
                grid.size,
            )?;
        }
        // planted: steps-marks.1
        self.sweeper.rows.fill(1)?;
        // planted: steps-marks.2
        self.sweeper.columns.fill(1)?;
        self.sweeper.sweep(gpu, grid, &mut self.steps)?;
        Ok(self.steps.view())
    }
}
