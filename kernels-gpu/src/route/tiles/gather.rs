//! After routing: paths without gaps, costs row by row, and costs that are too large.

use cuda_std::prelude::*;

use super::layout::{Area, BLOCK, EAST, SOUTH, Slot, Span, TILE, Tiling};
use super::{PathCost, TiledGrid};
use crate::primitives::quotient;

/// Copies the paths of all nets, without gaps between them.
///
/// # Safety
///
/// `spans` has one element per net, in ascending order of [`Span::to`], the first 0. Each span lies
/// in `from`, and `to` is as long as all of them together. The launch has a thread for each element
/// of `to`. Nothing else uses `to` meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn gather_paths(spans: View<'_, Span>, from: View<'_, u32>, to: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if i as usize >= to.len() {
        return;
    }
    // The last net that starts at or before this element.
    let (mut net, mut end) = (0, spans.len() as u32);
    while end - net > 1 {
        let middle = net + (end - net) / 2;
        if spans.ld(middle).to <= i {
            net = middle;
        } else {
            end = middle;
        }
    }
    let span = spans.ld(net);
    to.st(i, from.ld(span.from + (i - span.to)));
}

/// Sets `found[net]` to 1 if a cell has a label and a neighbour, over an edge that is not blocked,
/// has none.
#[inline(always)]
fn too_far<L: PathCost>(
    grid: TiledGrid<'_>,
    areas: View<'_, Area>,
    slots: View<'_, Slot>,
    labels: View<'_, L>,
    found: ViewMut<'_, u32>,
) {
    let tiling = grid.tiling;
    let i = thread::index_1d();
    if i as usize >= labels.len() {
        return;
    }
    let (slot, place) = (i / TILE, i % TILE);
    let net = slots.ld(slot).net;
    let area = areas.ld(net);
    let tile = area.tile_of(slot);
    let (column, row, layer) = tiling.at_place(place);
    let (x, y) = (
        tile.0 * tiling.columns() + column,
        tile.1 * tiling.rows() + row,
    );
    let within =
        |x: u32, y: u32| x >= area.left && x < area.right && y >= area.top && y < area.bottom;
    if !within(x, y) {
        return;
    }
    let weight_at = (tile.1 * tiling.tiles_x + tile.0) * TILE + place;
    let reached = labels.ld(i) < L::UNREACHED;
    let differs = |weight: u32, other: u32| {
        if weight != u32::MAX && (labels.ld(other) < L::UNREACHED) != reached {
            found.atomic_or(net, 1);
        }
    };
    if within(x + 1, y) {
        let slot = if column + 1 == tiling.columns() {
            area.beside(slot, tile, EAST)
        } else {
            slot
        };
        differs(
            grid.right.ld(weight_at),
            slot * TILE + tiling.place(x + 1, y, layer),
        );
    }
    if within(x, y + 1) {
        let slot = if row + 1 == tiling.rows() {
            area.beside(slot, tile, SOUTH)
        } else {
            slot
        };
        differs(
            grid.down.ld(weight_at),
            slot * TILE + tiling.place(x, y + 1, layer),
        );
    }
    // planted: distance-vias
    if layer + 1 < tiling.layers {
        differs(
            grid.via.ld(weight_at),
            slot * TILE + tiling.place(x, y, layer + 1),
        );
    }
}

/// By cell of the window of area 0, row by row and layer by layer: the cost of its label;
/// `u64::MAX` if it has none.
#[inline(always)]
fn costs<L: PathCost>(
    areas: View<'_, Area>,
    labels: View<'_, L>,
    distances: ViewMut<'_, u64>,
    tiling: Tiling,
) {
    let i = thread::index_1d();
    if i as usize >= distances.len() {
        return;
    }
    let area = areas.ld(0u32);
    let line = quotient(i, tiling.width);
    let x = i - line * tiling.width;
    let layer = quotient(line, tiling.height);
    let y = line - layer * tiling.height;
    let tile = quotient(y, tiling.rows()) * area.tiles_x + quotient(x, tiling.columns());
    let label = labels.ld((area.first_slot + tile) * TILE + tiling.place(x, y, layer));
    distances.st(
        i,
        if label < L::UNREACHED {
            label.cost()
        } else {
            u64::MAX
        },
    );
}

/// The kernels that read labels, by their type.
macro_rules! gather_kernels {
    ($($label:ty: $too_far:ident, $gather:ident;)*) => {$(
        /// Sets `found[net]` to 1 for each net in which an edge that is not blocked leads from a
        /// cell with a label to one without: the cost of that cell is too large for a label.
        ///
        /// # Safety
        ///
        /// A kernel that routes has run with this `grid` and these `areas`, `slots` and `labels`;
        /// `found` has one element per net. The launch has a thread for each label. Nothing else
        /// uses `found` meanwhile.
        #[kernel(block = BLOCK)]
        pub unsafe fn $too_far(
            grid: TiledGrid<'_>,
            areas: View<'_, Area>,
            slots: View<'_, Slot>,
            labels: View<'_, $label>,
            found: ViewMut<'_, u32>,
        ) {
            too_far(grid, areas, slots, labels, found);
        }

        /// Writes the costs of the labels of net 0, whose window is the whole grid, row by row and
        /// layer by layer; `u64::MAX` for cells without a label.
        ///
        /// # Safety
        ///
        /// A kernel that routes has run with these `areas` and `labels`; `distances` has one
        /// element per cell of the grid, and the launch a thread for each. Nothing else uses
        /// `distances` meanwhile.
        #[kernel(block = BLOCK)]
        pub unsafe fn $gather(
            areas: View<'_, Area>,
            labels: View<'_, $label>,
            distances: ViewMut<'_, u64>,
            tiling: Tiling,
        ) {
            costs(areas, labels, distances, tiling);
        }
    )*};
}
gather_kernels! {
    u32: find_too_far, gather_distances;
    u64: find_too_far_u64, gather_distances_u64;
}
