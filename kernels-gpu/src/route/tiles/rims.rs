//! Labels along the sides of tiles: a slot publishes its own, and reads those of the slots beside
//! it.

use cuda_std::prelude::*;

use super::layout::{Area, EAST, NORTH, SOUTH, Tiling, WEST};
use super::patch::{Block4, Edges, PatchIndex, Row, across, each};
use super::{PathCost, Problem};

/// The labels beyond the sides of a tile, in shared memory. Each patch at a side writes and reads
/// its own part.
pub(super) struct Beyond<L> {
    pub(super) rims: SharedView<L>,
    pub(super) tiling: Tiling,
}

impl<L: PathCost> Beyond<L> {
    /// Lowers a patch's labels to the candidates from the labels beyond the tile's sides.
    #[inline(always)]
    pub(super) fn take_in(&self, labels: &mut Block4<L>, edges: &Edges, patch: PatchIndex) {
        let row = |side: u32| L::load_shared_row(self.rims, patch.on_rim(self.tiling, side));
        if patch.is_at(WEST) {
            let left = row(WEST);
            each!(
                I,
                labels[I][0] = labels[I][0].min(left[I].step(edges.left[I]))
            );
        }
        if patch.is_at(NORTH) {
            across(row(NORTH), &mut labels[0], edges.up);
        }
        if patch.is_at(EAST) {
            let right = row(EAST);
            each!(
                I,
                labels[I][3] = labels[I][3].min(right[I].step(edges.right[I][3]))
            );
        }
        if patch.is_at(SOUTH) {
            across(row(SOUTH), &mut labels[3], edges.down[3]);
        }
    }

    /// The label at a place along a side.
    #[inline(always)]
    pub(super) fn at(&self, side: u32, along: u32) -> L {
        self.rims.ld(self.tiling.side(side) + along)
    }

    /// Four labels along a side.
    #[inline(always)]
    pub(super) fn row_at(&self, side: u32, along: u32) -> Row<L> {
        L::load_shared_row(self.rims, self.tiling.side(side) + along)
    }

    /// Reads the labels that the neighbours of a slot have published.
    #[inline(always)]
    pub(super) fn read(
        &self,
        problem: &Problem<'_, L>,
        area: Area,
        slot: u32,
        tile: (u32, u32),
        patch: PatchIndex,
    ) {
        let tiling = self.tiling;
        let one = |side: u32| {
            if patch.is_at(side) {
                let other = area.beside(slot, tile, side);
                let mut row = [L::UNREACHED; 4];
                if other != slot {
                    // planted: route-opposite
                    let opposite = patch.on_rim(tiling, side) - tiling.side(side)
                        + tiling.side((side + 2) % 4);
                    let at = other * tiling.rim() + opposite;
                    each!(
                        I,
                        row[I] = problem.labels.rims.ld_relaxed(at + I as u32, Device)
                    );
                }
                L::store_shared_row(self.rims, patch.on_rim(tiling, side), row);
            }
        };
        one(WEST);
        one(NORTH);
        one(EAST);
        one(SOUTH);
    }
}

/// Publishes the labels along the tile's sides. Returns, for each side, the priority of the
/// smallest candidate beyond it that is less than the label read there; `u32::MAX` if there is
/// none.
#[inline(always)]
pub(super) fn publish<L: PathCost>(
    problem: &Problem<'_, L>,
    slot: u32,
    patch: PatchIndex,
    labels: &Block4<L>,
    edges: &Edges,
    beyond: &Beyond<L>,
) -> Row<u32> {
    let tiling = problem.grid.tiling;
    let [a, b, c, d] = *labels;
    let right = edges.right;
    let one = |side: u32, row: Row<L>, weights: Row<u32>| {
        let mut gives = u32::MAX;
        if patch.is_at(side) {
            let on_rim = patch.on_rim(tiling, side);
            let at = slot * tiling.rim() + on_rim;
            let others = L::load_shared_row(beyond.rims, on_rim);
            each!(I, {
                problem
                    .labels
                    .rims
                    .st_relaxed(at + I as u32, row[I], Device);
                let given = row[I].step(weights[I]);
                if given < others[I] {
                    gives = gives.min(given.priority());
                }
            });
        }
        gives
    };
    let rights = [right[0][3], right[1][3], right[2][3], right[3][3]];
    [
        one(WEST, [a[0], b[0], c[0], d[0]], edges.left),
        one(NORTH, a, edges.up),
        one(EAST, [a[3], b[3], c[3], d[3]], rights),
        one(SOUTH, d, edges.down[3]),
    ]
}
