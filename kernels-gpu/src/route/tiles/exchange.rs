//! The labels that patches of a tile show each other in shared memory.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use super::layout::{BLOCK, PATCH, TILE, Tiling};
use super::patch::{Block4, Edges, PatchIndex, across, each};
use super::{PathCost, Problem};

/// The memory in which the patches of a block show each other their labels: 4 rows per patch, or
/// twice its first and last row.
pub(super) struct Exchange<L> {
    pub(super) rows: SharedView<L>,
    pub(super) tiling: Tiling,
}

impl<L: PathCost> Exchange<L> {
    /// The same memory, for the ways on from the tile's cells, while no labels are shown.
    #[inline(always)]
    pub(super) fn ways(&self) -> SharedView<u16> {
        // SAFETY: there are `TILE` labels of 4 bytes or more.
        unsafe { SharedView::from_raw_parts(self.rows.as_mut_ptr().cast(), TILE as usize) }
    }

    /// The index at which a row begins: the same row of all patches is stored side by side.
    #[inline(always)]
    fn at(row: u32, thread: u32) -> u32 {
        (row * BLOCK + thread) * PATCH
    }

    /// Shows this thread's labels. `turn` alternates between 0 and 1: without layers, labels shown
    /// in one turn may still be read in the next.
    #[inline(always)]
    pub(super) fn show<const LAYERED: bool>(&self, labels: &Block4<L>, turn: u32) {
        let t = thread::thread_idx_x();
        if LAYERED {
            each!(
                I,
                L::store_shared_row(self.rows, Self::at(I as u32, t), labels[I])
            );
        } else {
            L::store_shared_row(self.rows, Self::at(2 * turn, t), labels[0]);
            L::store_shared_row(self.rows, Self::at(2 * turn + 1, t), labels[3]);
        }
    }

    /// Lowers a patch's labels to the candidates from the labels around it. The other patches have
    /// shown these in this turn, before a barrier. Called by whole warps.
    #[inline(always)]
    pub(super) fn take_in<const LAYERED: bool>(
        &self,
        problem: &Problem<'_, L>,
        labels: &mut Block4<L>,
        edges: &Edges,
        patch: PatchIndex,
        turn: u32,
    ) {
        let t = thread::thread_idx_x();
        let columns = self.tiling.patch_columns();
        let (first, last) = if LAYERED {
            (0, 3)
        } else {
            (2 * turn, 2 * turn + 1)
        };
        if patch.row > 0 {
            let up = L::load_shared_row(self.rows, Self::at(last, t - columns));
            across(up, &mut labels[0], edges.up);
        }
        if !patch.last_row {
            let down = L::load_shared_row(self.rows, Self::at(first, t + columns));
            across(down, &mut labels[3], edges.down[3]);
        }
        // The lanes beside this one hold the labels to the left and right.
        each!(I, {
            let row = &mut labels[I];
            let (left, is_left) = warp::warp_shuffle_up(FULL_MASK, row[3], 1, columns);
            let (right, is_right) = warp::warp_shuffle_down(FULL_MASK, row[0], 1, columns);
            if is_left {
                row[0] = row[0].min(left.step(edges.left[I]));
            }
            if is_right {
                row[3] = row[3].min(right.step(edges.right[I][3]));
            }
        });
        if LAYERED {
            self.take_in_layers(problem, labels, edges, patch);
        }
    }

    /// Whether a patch's labels differ from those it has shown. Only with layers, when all rows are
    /// shown; this takes fewer registers than keeping the old labels.
    #[inline(always)]
    pub(super) fn differs(&self, labels: &Block4<L>) -> bool {
        let t = thread::thread_idx_x();
        let mut bits = 0;
        each!(I, {
            let shown = L::load_shared_row(self.rows, Self::at(I as u32, t));
            each!(J, bits |= L::bits_that_differ(shown[J], labels[I][J]));
        });
        bits != 0
    }

    /// Lowers a patch's labels to the candidates from the layers below and above, whose labels the
    /// other patches have shown.
    #[inline(always)]
    fn take_in_layers(
        &self,
        problem: &Problem<'_, L>,
        labels: &mut Block4<L>,
        edges: &Edges,
        patch: PatchIndex,
    ) {
        let t = thread::thread_idx_x();
        let patches = self.tiling.layer_patches();
        let weights = |at: u32| {
            let [a, b, c, d] = problem.grid.via.ld_vector(at);
            [L::weight(a), L::weight(b), L::weight(c), L::weight(d)]
        };
        // Below, then above. The compiler must not know that there are always two rounds: unrolled,
        // the loop would load all weights before it uses any, and registers are scarce.
        let cells = self.tiling.layer_cells();
        let (mut other, mut via) = (t.wrapping_sub(patches), edges.via.wrapping_sub(cells));
        let mut round = 0;
        while round < self.tiling.layers.min(2) {
            // There are no threads for the layer below the first or above the last.
            if other < BLOCK {
                each!(I, {
                    let row = L::load_shared_row(self.rows, Self::at(I as u32, other));
                    across(row, &mut labels[I], weights(via + I as u32 * patch.pitch));
                });
            }
            // planted: route-layer-stride
            other = other.wrapping_add(2 * patches);
            via = via.wrapping_add(cells);
            round += 1;
        }
    }
}
