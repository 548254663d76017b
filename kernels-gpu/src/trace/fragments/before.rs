//! Which borders pass the sides before given starts: for an image that is part of a larger one,
//! whose borders the host cuts and joins to those of other parts.

use cuda_std::prelude::*;

use super::Parts;
use super::join::{Chains, Join, first_point};
use crate::trace::borders::{Destination, NO_BORDER};
use crate::trace::options::Approximation;
use crate::trace::pixels::TracedImage;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Finds what passes the last vertical side before each start, in the start's row: the border's
/// place, and the index, in the result's order, of the first point of the fragment with that side.
/// If the fragment has no point, the index is that of the next point after it. For a border inside
/// one tile the index is 0; if there is no side, the place is [`NO_BORDER`].
///
/// An element of `starts` has the row in the upper 32 bits, and in the lower ones twice the column,
/// plus 1 for an E side; or it is `u64::MAX`, with no side before it. `before` gets two elements
/// per start.
///
/// Launch: one thread per start. Reads some 60 bytes per start and writes 8.
///
/// # Safety
///
/// `parts` and `chains` are the results of [`join_fragments`](fn@super::join::join_fragments) for
/// `image` over centers, and all its borders have a place in `destination`. Starts are sides of
/// pixels of the image.
#[kernel(
    block = BLOCK,
    len(
        image = (),
        parts = parts.sizes(image.pixels.raster),
        chains = parts.join_sizes(image.pixels.raster, false, 0),
        destination = (),
        before = 2 * starts.len(),
    ),
)]
pub unsafe fn find_sides_before(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
    chains: Chains<'_>,
    destination: Destination<'_>,
    starts: View<'_, u64>,
    before: ViewMut<'_, u32>,
) {
    let i = thread::index_1d() as usize;
    if i >= starts.len() {
        return;
    }
    let start = starts.ldg(i);
    let join = Join::<u32, _>::new(image, approximation, parts, chains);
    let [place, point] = if start == u64::MAX {
        [NO_BORDER, 0]
    } else {
        let (x, y) = (start as u32 >> 1, (start >> 32) as u32);
        let closed = |i| [destination.places.ldg(chains.closed_borders.ld(i)), 0];
        let fragment = |i| {
            let border = chains.fragment_borders.ld(i);
            let place = destination.places.ldg(border);
            let begin = destination.offsets.ldg(place);
            let end = destination.offsets.ldg(place + 1);
            let left = chains.fragment_points_left.ld(i);
            let turn = chains.turns.ld(border);
            // planted: before-point
            [place, first_point(end - begin, left, turn, false)]
        };
        join.passing_before(x, y, start & 1 == 0, [NO_BORDER, 0], fragment, closed)
    };
    before.st_vector(i * 2, [place, point]);
}
