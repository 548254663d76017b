//! The rows of the result.

use cuda_std::prelude::*;

use super::{Arrangement, BLOCK};
use crate::trace::borders::{FoundBorders, NO_BORDER, Stack, count};

/// The result's rows: one for each place. The sizes are the number of places.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = RowsBuffers)]
pub struct Rows<'a> {
    /// The kind of the border at each place.
    #[len(*sizes)]
    pub kinds: ViewMut<'a, u8>,
    /// Four numbers per place: next, previous, first child and parent, counted from the image's
    /// first place, or -1 for none.
    #[len(4 * *sizes, align = 16)]
    pub links: ViewMut<'a, i32>,
    /// For each place, the number of points before it, and the number of all points.
    #[len(*sizes + 1)]
    pub offsets: ViewMut<'a, u32>,
}

/// Writes the row of each border that is kept to its place. Launch: one thread per such border, or
/// one. Reads 33 bytes per border and writes 21; the keys and places of the borders with the next
/// and the previous rank come from the cache. If there are not as many rows, it writes nothing.
///
/// # Safety
///
/// [`arrange_borders`](fn@super::arrange_borders) has made `counters` and `arrangement` of `found`.
/// Nothing else uses `rows` meanwhile.
#[kernel(
    block = BLOCK,
    len(
        counters = count::COUNT,
        stack = (),
        found = found.room(),
        arrangement = Arrangement::sizes_for(&found, &stack, 0),
        rows = rows.kinds.len() as u32,
    ),
)]
pub unsafe fn write_rows(
    counters: View<'_, u32>,
    stack: Stack<'_>,
    found: FoundBorders<'_>,
    arrangement: Arrangement<'_>,
    rows: Rows<'_>,
) {
    let i = thread::index_1d();
    let to = arrangement;
    let kept = counters.ldg(count::KEPT);
    // planted: rows-room
    if kept as usize > rows.kinds.len() {
        return;
    }
    if i == 0 {
        // planted: offsets-end
        rows.offsets.st(kept, counters.ldg(count::POINTS));
    }
    if i >= kept {
        return;
    }
    let sorted = to.pairs;
    let (key, border) = (sorted.keys.ld(i), sorted.values.ld(i));
    // Rows count from their image's first; those of values from the first of all.
    let first = if stack.images == 1 || stack.has_values() {
        0
    } else {
        // planted: batch-first
        stack.offsets.ld(stack.image_of(border))
    };
    let link = |rank: u32| {
        if rank == NO_BORDER {
            -1
        } else {
            (to.ranked_places.ld(rank) - first).cast_signed()
        }
    };
    let sibling = |is_there: bool, rank: u32| {
        if is_there && sorted.keys.ld(rank) == key {
            rank
        } else {
            NO_BORDER
        }
    };
    let row = [
        // planted: row-order.1
        link(sibling(i + 1 < kept, i + 1)),
        // planted: row-order.2
        link(sibling(i > 0, i.wrapping_sub(1))),
        link(to.first_children.ld(i)),
        link(to.parents.ld(i)),
    ];
    let place = to.ranked_places.ld(i);
    rows.kinds.st(place, found.kinds.ld(border));
    rows.links.st_vector(place as usize * 4, row);
    rows.offsets.st(place, to.offsets.ld(place));
}

/// Writes the offsets of images without borders, if there are several.
#[inline(always)]
pub(super) fn no_borders(stack: Stack<'_>) {
    if stack.images > 1 && thread::index_1d() == 0 {
        let mut image = 0;
        // planted: batch-empty
        while image <= stack.images {
            stack.offsets.st(image, 0);
            image += 1;
        }
    }
}
