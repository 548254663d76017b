//! The points of borders, written fragment by fragment.

use cuda_std::prelude::*;

use super::gather::{Position, Turns, code_of};
use super::grid::TileGrid;
use super::track::Fragment;
use super::walk::moved;
use crate::trace::components::NO_BORDER;

/// Writes the borders' points, (x, y): one a step, or if `simple` those where a border turns. One thread a fragment: reads 1
/// byte a step, 60 a fragment; writes 8 a point.
///
/// # Safety
///
/// The views are as the kernels before have left them; `turns` is only used if `simple`. `places` has an element a border: its
/// place in the result, or [`NO_BORDER`] if it is left out; `offsets` has one a place: where its
/// points begin; and `points` two for each point of those, as many as were counted. Nothing else uses `points` meanwhile.
#[kernel(block = 256)]
pub unsafe fn write_points(
    steps: View<'_, u8>,
    fragments: View<'_, Fragment>,
    positions: View<'_, Position>,
    turns: View<'_, Turns>,
    places: View<'_, u32>,
    offsets: View<'_, u32>,
    points: ViewMut<'_, i32>,
    count: u32,
    simple: u32,
    grid: TileGrid,
) {
    let index = thread::index_1d();
    if index >= count {
        return;
    }
    let fragment = fragments.ldg(index);
    let position = positions.ldg(index);
    let place = places.ldg(position.border);
    if place == NO_BORDER {
        return;
    }
    let offset = offsets.ldg(place);
    let (mut x, mut y) = grid.raster.split(fragment.first);
    let write = |rank: u32, x: u32, y: u32| {
        let at = offset.wrapping_add(rank) as usize * 2;
        points.st_vector(at, [x.cast_signed(), y.cast_signed()]);
    };
    if fragment.length == 0 {
        write(0, x, y);
        return;
    }
    if grid.edges != 0 {
        // From the pixel to the corner at which its first side begins.
        let heading = code_of(steps, &fragment, 0);
        x = x.wrapping_add(u32::from(heading == 2 || heading == 4));
        y = y.wrapping_add(u32::from(heading == 0 || heading == 2));
    }
    // Where the next point goes: from `split` on, and before.
    let (from_split, wrapped) = if simple != 0 {
        let turns = turns.ldg(index);
        (turns.rank, turns.wrapped)
    } else {
        (position.rank, position.wrapped)
    };
    let mut rank = wrapped;
    let mut code_before = position.code_before;
    let mut i = 0;
    while i < fragment.length {
        if i == position.split {
            rank = from_split;
        }
        let code = code_of(steps, &fragment, i);
        if simple == 0 || code != code_before {
            write(rank, x, y);
            rank = rank.wrapping_add(1);
        }
        code_before = code;
        (x, y) = moved(x, y, code);
        i += 1;
    }
}
