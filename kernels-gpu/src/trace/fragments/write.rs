//! The points, at their final places.

use cuda_std::prelude::*;

use super::Parts;
use super::join::{Chains, first_at_start, first_point};
use super::records::tile_record;
use super::tile::{TILE_HEIGHT, TILE_WIDTH};
use crate::primitives::grid::{each, for_each_loaded};
use crate::primitives::quotient;
use crate::trace::borders::{Destination, NO_BORDER, Stack};
use crate::trace::options::Geometry;
use crate::trace::pixels::Raster;

/// Threads per block.
pub const BLOCK: u32 = 64;
/// Fragments and closed borders that a block keeps in mind at a time.
const SPANS: u32 = 512;

/// Writes the points of all borders that are kept.
///
/// Launch: one block per [tile](super::tiles). Reads 4 bytes per point and some 40 per fragment and
/// per closed border, and writes 8 bytes per point.
///
/// # Safety
///
/// `parts` and `chains` are what [`join_fragments`](fn@super::join::join_fragments) has made of an
/// image of this size. `destination` has room for all points of the borders that have a place, and
/// nothing else uses it meanwhile.
#[kernel(block = BLOCK, min_blocks = 32)]
pub unsafe fn place_points(
    raster: Raster,
    stack: Stack<'_>,
    geometry: Geometry,
    parts: Parts<'_>,
    chains: Chains<'_>,
    destination: Destination<'_>,
) {
    // For each fragment: where a point with index 0 in the tile would go; the end of its border's
    // points; their number.
    let targets = shared_array![u32; SPANS as usize];
    let ends = shared_array![u32; SPANS as usize];
    let lengths = shared_array![u32; SPANS as usize];

    let t = thread::thread_idx_x();
    let tile = thread::block_idx_x();
    let record = tile * tile_record::WORDS;
    let point_count = parts.tiles.ld(record + tile_record::POINTS);
    if point_count == 0 {
        return;
    }
    let fragments = parts.tiles.ld(record + tile_record::ENTRIES) & 0xffff;
    let first_fragment = parts.tiles.ld(record + tile_record::FIRST_FRAGMENT);
    let first_closed = parts.tiles.ld(record + tile_record::FIRST_CLOSED);
    let points = parts.tiles.ld(record + tile_record::FIRST_POINT);
    let all = fragments + parts.tiles.ld(record + tile_record::CLOSED);
    let row = quotient(tile, raster.row_words);
    let left = (tile - row * raster.row_words) * TILE_WIDTH;
    let top = row * TILE_HEIGHT;

    let mut first = 0;
    while first < all {
        let mut i = t;
        while i < SPANS && first + i < all {
            let id = first + i;
            let (border, start, points_left, is_outer);
            if id < fragments {
                let at = first_fragment + id;
                border = chains.fragment_borders.ld(at);
                points_left = Some(chains.fragment_points_left.ld(at));
                is_outer = false;
                start = parts.fragments.ld(at as usize * 4 + 3) & 0xfff;
            } else {
                let at = first_closed + id - fragments;
                border = chains.closed_borders.ld(at);
                points_left = None;
                let [key, last] = parts.closed.ld_vector(at as usize * 2);
                start = last >> 12 & 0xfff;
                is_outer = key & 1 == 0;
            }
            let place = destination.places.ldg(border);
            let mut length = 0;
            if place != NO_BORDER {
                let begin = destination.offsets.ldg(place);
                length = destination.offsets.ldg(place + 1) - begin;
                let along_edges = geometry == Geometry::Edges;
                let at = match points_left {
                    Some(left) => {
                        let turn = chains.turns.ld(border);
                        first_point(length, left, turn, along_edges)
                    }
                    None => first_at_start(is_outer, along_edges),
                };
                targets.st(i, (begin + at).wrapping_sub(start));
                ends.st(i, begin + length);
            }
            lengths.st(i, length);
            i += BLOCK;
        }
        // planted: fragment-targets-barrier
        thread::sync_threads();
        let load = |j: [u32; 4]| each(j, |j| parts.points.ld(points + j));
        for_each_loaded((t, BLOCK), point_count, load, |j, point| {
            let span = (point >> 13).wrapping_sub(first);
            if span < SPANS {
                let length = lengths.ld(span);
                if length != 0 {
                    let mut at = targets.ld(span).wrapping_add(j);
                    // planted: fragment-wrap
                    if at >= ends.ld(span) {
                        at -= length;
                    }
                    let x = left + (point & 127);
                    let y = top + (point >> 7 & 63);
                    // Along edges, a corner may lie below its image's last row.
                    let y = y - stack.rows_before(y);
                    destination.write(at, x, y);
                }
            }
        });
        first += SPANS;
        // planted: fragment-spans-barrier
        thread::sync_threads();
    }
}
