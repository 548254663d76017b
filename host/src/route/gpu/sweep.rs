//! Distances, or steps over free edges, by sweeps until nothing changes.

use trazar_kernels::route::sweep::{self, EdgeCost, LineMarks, Lines, Sweep};

use super::grid::Rows;
use super::nearest::Search;
use super::retrace::JOIN_BLOCKS;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::route::RouteAlgorithm;

/// The number of sweeps that are launched before the host checks whether the last one changed
/// anything: the first number, and the largest one, as it doubles each time. Sweeps that change
/// nothing cost little more than their launches.
const BATCH: std::ops::RangeInclusive<u32> = 2..=32;

/// Sweeps a grid until nothing changes.
pub(super) struct Sweeper<G: Gpu> {
    algorithm: RouteAlgorithm,
    /// The cost of an edge.
    cost: EdgeCost,
    pub(super) marks: MarkBuffers<G>,
    /// The number of the last sweep that lowered anything.
    changed: G::Buffer<u32>,
}

impl<G: Gpu> Sweeper<G> {
    pub(super) fn new(gpu: &G, grid: &Rows<G>, algorithm: RouteAlgorithm) -> Result<Self> {
        let groups = |lines: Lines| gpu.alloc_zeroed(lines.blocks() as usize);
        Ok(Self {
            algorithm,
            cost: EdgeCost::Weight,
            marks: MarkBuffers {
                rows: groups(Lines::rows(grid.size))?,
                columns: groups(Lines::columns(grid.size))?,
            },
            changed: gpu.alloc_zeroed(1)?,
        })
    }

    /// A sweeper that counts free edges.
    pub(super) fn over_free_edges(gpu: &G, grid: &Rows<G>) -> Result<Self> {
        Ok(Self {
            cost: EdgeCost::FreeStep,
            ..Self::new(gpu, grid, RouteAlgorithm::PrefixFused)?
        })
    }

    /// Makes the distances exact after `round` has added its path to the tree.
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
                search.paths.joined(),
                self.marks.view(grid),
                round,
            )?;
        }
        self.sweep(gpu, grid, &mut search.map.distances)
    }

    /// Sweeps until nothing changes. No group is marked afterwards.
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
                    let marks = self.marks.view(grid);
                    // SAFETY: lengths as the kernel asks; a thread for each cell of a layer.
                    unsafe {
                        sweep::sweep_vias::launch_threads(
                            &gpu.launcher(),
                            grid.size.area(),
                            grid.view().via,
                            distances.view_mut(),
                            marks,
                            self.changed.view_mut(),
                            sweep_number,
                            self.cost,
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
        let marks = self.marks.view(grid);
        let (weights, marks, crossing_marks) = if is_rows {
            (grid.view().right, marks.rows, marks.columns)
        } else {
            (grid.view().down, marks.columns, marks.rows)
        };
        let sweep = Sweep {
            weights,
            distances: distances.view_mut(),
            marks,
            crossing_marks,
            changed: self.changed.view_mut(),
            lines,
            sweep_number,
        };
        let blocks = lines.blocks();
        // SAFETY: weights, distances and marks are those of the grid's rows or columns; one block
        // per group.
        unsafe {
            match self.algorithm {
                RouteAlgorithm::DivideConquer => {
                    sweep::sweep_divide_conquer::launch(on, blocks, sweep)
                }
                RouteAlgorithm::Prefix => sweep::sweep_prefix::launch(on, blocks, sweep),
                _ => sweep::sweep_prefix_fused::launch(on, blocks, sweep, self.cost),
            }
        }
    }
}

/// See [`LineMarks`]: the lines with a cell that was lowered since their last sweep.
pub(super) struct MarkBuffers<G: Gpu> {
    pub(super) rows: G::Buffer<u32>,
    pub(super) columns: G::Buffer<u32>,
}

impl<G: Gpu> MarkBuffers<G> {
    /// The marks of `grid`, as the kernels take them.
    fn view(&mut self, grid: &Rows<G>) -> LineMarks<'_> {
        LineMarks {
            rows: self.rows.view_mut(),
            columns: self.columns.view_mut(),
            size: grid.size,
        }
    }
}
