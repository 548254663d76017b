//! Distances, or steps over free edges, by sweeps until nothing changes.

use trazar_kernels::route::blocks;
use trazar_kernels::route::sweep::{self, Lines};

use super::grid::Rows;
use super::nearest::Search;
use super::retrace::JOIN_BLOCKS;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::route::RouteAlgorithm;

/// Sweeps that are launched before the host looks whether the last one changed anything: so many at first, then twice as many
/// each time, up to so many. Those after the last that did cost little more than their launches.
const BATCH: std::ops::RangeInclusive<u32> = 2..=32;

/// What sweeps.
pub(super) struct Sweeper<G: Gpu> {
    algorithm: RouteAlgorithm,
    /// Whether it counts free edges.
    free: bool,
    /// By group of rows, and of columns: whether a cell was lowered since their last sweep.
    pub(super) rows: G::Buffer<u32>,
    pub(super) columns: G::Buffer<u32>,
    /// The number of the last sweep that lowered anything.
    changed: G::Buffer<u32>,
}

impl<G: Gpu> Sweeper<G> {
    pub(super) fn new(gpu: &G, grid: &Rows<G>, algorithm: RouteAlgorithm) -> Result<Self> {
        let groups = |lines: Lines| gpu.alloc_zeroed(lines.blocks() as usize);
        Ok(Self {
            algorithm,
            free: false,
            rows: groups(Lines::rows(grid.size))?,
            columns: groups(Lines::columns(grid.size))?,
            changed: gpu.alloc_zeroed(1)?,
        })
    }

    /// A sweeper that counts free edges.
    pub(super) fn over_free_edges(gpu: &G, grid: &Rows<G>) -> Result<Self> {
        Ok(Self {
            free: true,
            ..Self::new(gpu, grid, RouteAlgorithm::PrefixFused)?
        })
    }

    /// Makes the distances exact after what became part of the tree in `round`.
    pub(super) fn relax(
        &mut self,
        gpu: &G,
        grid: &Rows<G>,
        search: &mut Search<G>,
        round: u32,
    ) -> Result<()> {
        // SAFETY: an element for each group; the round's path has become part of the tree.
        unsafe {
            sweep::sweep_mark::launch(
                &gpu.launcher(),
                JOIN_BLOCKS,
                search.pin_cells.view(),
                search.owners.view(),
                search.firsts.view(),
                search.found.view(),
                search.ends.view(),
                search.paths.view(),
                self.rows.view_mut(),
                self.columns.view_mut(),
                grid.size,
                round,
            )?;
        }
        self.sweep(gpu, grid, &mut search.distances)
    }

    /// Sweeps until nothing changes. Then no group is marked.
    pub(super) fn sweep(
        &mut self,
        gpu: &G,
        grid: &Rows<G>,
        distances: &mut G::Buffer<u64>,
    ) -> Result<()> {
        self.changed.fill(0)?;
        let mut sweep_number = 0;
        let mut batch = *BATCH.start();
        loop {
            for _ in 0..batch {
                sweep_number += 1;
                self.sweep_lines(gpu, grid, distances, Lines::rows(grid.size), sweep_number)?;
                self.sweep_lines(
                    gpu,
                    grid,
                    distances,
                    Lines::columns(grid.size),
                    sweep_number,
                )?;
                if grid.size.layers > 1 {
                    // SAFETY: lengths as the kernel asks; a thread for each cell of a layer.
                    unsafe {
                        sweep::sweep_vias::launch(
                            &gpu.launcher(),
                            blocks(grid.size.area()),
                            grid.via.view(),
                            distances.view_mut(),
                            self.rows.view_mut(),
                            self.columns.view_mut(),
                            self.changed.view_mut(),
                            grid.size,
                            sweep_number,
                            self.free.into(),
                        )?;
                    }
                }
            }
            let mut changed = [0];
            self.changed.read(&mut changed)?;
            // planted: sweep-last
            if changed[0] < sweep_number {
                return Ok(());
            }
            batch = (2 * batch).min(*BATCH.end());
        }
    }

    /// Sweeps the marked groups of `lines`, which are the grid's rows or columns.
    fn sweep_lines(
        &mut self,
        gpu: &G,
        grid: &Rows<G>,
        distances: &mut G::Buffer<u64>,
        lines: Lines,
        sweep_number: u32,
    ) -> Result<()> {
        let on = &gpu.launcher();
        let is_rows = lines == Lines::rows(grid.size);
        let weights = if is_rows { &grid.right } else { &grid.down }.view();
        let distances = distances.view_mut();
        let changed = self.changed.view_mut();
        let (rows, columns) = (self.rows.view_mut(), self.columns.view_mut());
        let (marks, crossing) = if is_rows {
            (rows, columns)
        } else {
            (columns, rows)
        };
        let groups = lines.blocks();
        // SAFETY: weights, distances and marks are those of the grid's rows or columns; a block for each group.
        unsafe {
            match self.algorithm {
                RouteAlgorithm::DivideConquer => sweep::sweep_divide_conquer::launch(
                    on,
                    groups,
                    weights,
                    distances,
                    marks,
                    crossing,
                    changed,
                    lines,
                    sweep_number,
                ),
                RouteAlgorithm::Prefix => sweep::sweep_prefix::launch(
                    on,
                    groups,
                    weights,
                    distances,
                    marks,
                    crossing,
                    changed,
                    lines,
                    sweep_number,
                ),
                _ => sweep::sweep_prefix_fused::launch(
                    on,
                    groups,
                    weights,
                    distances,
                    marks,
                    crossing,
                    changed,
                    lines,
                    sweep_number,
                    self.free.into(),
                ),
            }
        }
    }
}
