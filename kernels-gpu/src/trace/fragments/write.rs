//! The points, at their final places.
//!
//! The points of a tile are stored fragment by fragment. First, a tile's threads find where the
//! points of each fragment and closed border go, by a chain of loads. Then they move each point.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::join::{Chains, first_at_start, first_point};
use super::records::{ClosedRecord, FragmentRecord, TileParts, TilePoint, tile_record};
use super::tile::{TILE_HEIGHT, TILE_WIDTH};
use super::{Parts, VALUE_TILE_HEIGHT, tiles, value_tiles};
use crate::primitives::grid::{each, for_each_loaded};
use crate::primitives::quotient;
use crate::trace::borders::{Destination, NO_BORDER, Stack, count};
use crate::trace::options::Geometry;
use crate::trace::pixels::Raster;

/// Threads per block.
pub const BLOCK: u32 = 64;
/// Warps per block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// The number of tiles that a block of [`place_points`](fn@place_points) takes.
pub const TILES_PER_BLOCK: u32 = WARPS;
/// Fragments and closed borders that a warp keeps in shared memory at a time.
const SPANS_OF_WARP: u32 = 192;

/// Declares the shared memory of a block, and gives the [`Writer`] of its tile, or of one of its
/// tiles.
macro_rules! writer {
    ($tile_warps:expr, $height:expr, $raster:ident, $stack:ident, $geometry:ident, $parts:ident,
     $chains:ident, $destination:ident) => {
        Writer::<{ $tile_warps }, { $height }> {
            raster: $raster,
            stack: $stack,
            geometry: $geometry,
            parts: $parts,
            chains: $chains,
            destination: $destination,
            targets: shared_array![u32; (SPANS_OF_WARP * WARPS) as usize],
            ends: shared_array![u32; (SPANS_OF_WARP * WARPS) as usize],
            lengths: shared_array![u32; (SPANS_OF_WARP * WARPS) as usize],
        }
    };
}

/// Writes the points of all borders that are kept, for images with few dense tiles. A warp takes a
/// tile, so that as many tiles as possible wait for memory at once.
///
/// Launch: one block per [`TILES_PER_BLOCK`] [tiles](super::tiles). Reads 4 bytes per point and
/// some 40 per fragment and per closed border, and writes 8 bytes per point. If `destination` has
/// not room for all borders that have a place and for their points, it writes nothing.
///
/// # Safety
///
/// `parts` and `chains` are the results of [`join_fragments`](fn@super::join::join_fragments) for
/// an image of this size, and `destination` has the places and offsets of its borders. Nothing else
/// uses it meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 32,
    barriers = 0,
    len(
        stack = (),
        parts = parts.sizes(raster),
        chains = parts.join_sizes(raster, false, 0),
        destination = (),
    ),
)]
pub unsafe fn place_points(
    raster: Raster,
    stack: Stack<'_>,
    geometry: Geometry,
    parts: Parts<'_>,
    chains: Chains<'_>,
    destination: Destination<'_>,
) {
    let warp = thread::thread_idx_x() / WARP_SIZE;
    let tile = thread::block_idx_x() * TILES_PER_BLOCK + warp;
    // planted: fragment-tiles-end
    if tile < tiles(raster) && has_room(parts, destination) {
        writer!(
            1,
            TILE_HEIGHT,
            raster,
            stack,
            geometry,
            parts,
            chains,
            destination
        )
        .write(tile);
    }
}

/// [`place_points`](fn@place_points) for images with many dense tiles. A block takes a tile, and
/// each thread looks up four fragments or closed borders at once.
///
/// Launch: one block per [tile](super::tiles).
///
/// # Safety
///
/// That of [`place_points`](fn@place_points).
#[kernel(
    block = BLOCK,
    min_blocks = 20,
    len(
        stack = (),
        parts = parts.sizes(raster),
        chains = parts.join_sizes(raster, false, 0),
        destination = (),
    ),
)]
pub unsafe fn place_points_of_dense_tiles(
    raster: Raster,
    stack: Stack<'_>,
    geometry: Geometry,
    parts: Parts<'_>,
    chains: Chains<'_>,
    destination: Destination<'_>,
) {
    let tile = thread::block_idx_x();
    if !has_room(parts, destination) {
        return;
    }
    writer!(
        WARPS,
        TILE_HEIGHT,
        raster,
        stack,
        geometry,
        parts,
        chains,
        destination
    )
    .write(tile);
}

/// [`place_points`](fn@place_points) for an image of values.
///
/// Launch: one block per [`TILES_PER_BLOCK`] [tiles](super::value_tiles).
///
/// # Safety
///
/// `parts` and `chains` are the results of
/// [`join_value_fragments`](fn@super::join::join_value_fragments) or
/// [`join_value_contours`](fn@super::join::join_value_contours) for an image of this size; the rest
/// is that of [`place_points`](fn@place_points).
#[kernel(block = BLOCK, barriers = 0, len(
    stack = (),
    parts = parts.value_sizes(raster),
    chains = parts.value_join_sizes(raster, 0),
    destination = (),
))]
pub unsafe fn place_value_points(
    raster: Raster,
    stack: Stack<'_>,
    geometry: Geometry,
    parts: Parts<'_>,
    chains: Chains<'_>,
    destination: Destination<'_>,
) {
    let warp = thread::thread_idx_x() / WARP_SIZE;
    let tile = thread::block_idx_x() * TILES_PER_BLOCK + warp;
    if tile < value_tiles(raster) {
        writer!(
            1,
            VALUE_TILE_HEIGHT,
            raster,
            stack,
            geometry,
            parts,
            chains,
            destination
        )
        .write(tile);
    }
}

/// Whether there are points, and room for all. If there was not room for the offsets of all
/// borders that are kept, none have been written.
#[inline(always)]
fn has_room(parts: Parts<'_>, destination: Destination<'_>) -> bool {
    let points = parts.counters.ld(count::POINTS) as usize;
    let kept = parts.counters.ld(count::KEPT) as usize;
    // planted: points-room, points-offsets-room
    points > 0 && 2 * points <= destination.points.len() && kept < destination.offsets.len()
}

/// Writes the points of a tile of `HEIGHT` rows with the tile's `TILE_WARPS` warps.
struct Writer<'a, const TILE_WARPS: u32, const HEIGHT: u32> {
    raster: Raster,
    stack: Stack<'a>,
    geometry: Geometry,
    parts: Parts<'a>,
    chains: Chains<'a>,
    destination: Destination<'a>,
    /// For each fragment or closed border, the place of a point with index 0 in the tile.
    targets: SharedView<u32>,
    /// The end of its border's points.
    ends: SharedView<u32>,
    /// The number of its border's points; 0 if the border is left out.
    lengths: SharedView<u32>,
}

/// A fragment or a closed border.
#[derive(Clone, Copy)]
struct Span {
    border: u32,
    /// The index of its first point in the tile.
    start: u32,
    /// For a fragment, the number of points to the first of the fragment in which the border
    /// starts; for a closed border, whether it is a hole's, in the lowest bit.
    rest: u32,
    is_fragment: bool,
}

/// Where a fragment's or a closed border's points go.
#[derive(Clone, Copy)]
struct Target {
    target: u32,
    end: u32,
    length: u32,
}

impl<const TILE_WARPS: u32, const HEIGHT: u32> Writer<'_, TILE_WARPS, HEIGHT> {
    /// Threads of a tile.
    const THREADS: u32 = TILE_WARPS * WARP_SIZE;
    /// Fragments and closed borders of a tile that are looked up at a time.
    const SPANS: u32 = TILE_WARPS * SPANS_OF_WARP;

    /// Waits for all threads of the tile.
    #[inline(always)]
    fn sync(&self) {
        if TILE_WARPS == 1 {
            warp::sync_warp(FULL_MASK);
        } else {
            thread::sync_threads();
        }
    }

    /// Writes the points of a tile.
    #[inline(always)]
    fn write(&self, tile: u32) {
        let parts = self.parts;
        let record = tile * tile_record::WORDS;
        let point_count = parts.tiles.ld(record + tile_record::POINTS);
        if point_count == 0 {
            return;
        }
        let tile_parts = TileParts::load(parts.tiles, tile);
        let points = tile_parts.first_point;
        let all = tile_parts.fragments + parts.tiles.ld(record + tile_record::CLOSED);
        let row = quotient(tile, self.raster.row_words);
        let left = (tile - row * self.raster.row_words) * TILE_WIDTH;
        let top = row * HEIGHT;

        // The tile's part of the block's memory.
        let t = thread::thread_idx_x() % Self::THREADS;
        let memory = thread::thread_idx_x() / Self::THREADS * Self::SPANS;
        let mut first = 0;
        while first < all {
            self.find_targets(tile_parts, first, Self::SPANS.min(all - first), memory);
            // planted: fragment-targets-barrier
            self.sync();
            let load = |j: [u32; 4]| each(j, |j| parts.points.ld(points + j));
            for_each_loaded((t, Self::THREADS), point_count, load, |j, point| {
                let TilePoint { x, y, part } = TilePoint::from_bits(point);
                let span = part.wrapping_sub(first);
                if span >= Self::SPANS {
                    return;
                }
                let length = self.lengths.ld(memory + span);
                if length == 0 {
                    return;
                }
                let mut at = self.targets.ld(memory + span).wrapping_add(j);
                // planted: fragment-wrap
                if at >= self.ends.ld(memory + span) {
                    at -= length;
                }
                let (x, y) = (left + x, top + y);
                // Along edges, a corner may be below the last row of its image.
                let y = y - self.stack.rows_before(y);
                self.destination.write(at, x, y);
            });
            first += Self::SPANS;
            // planted: fragment-spans-barrier
            self.sync();
        }
    }

    /// Finds where the points of `count` fragments and closed borders go, from index `first` in the
    /// tile on. Writes to the elements from `memory` on.
    #[inline(always)]
    fn find_targets(&self, tile: TileParts, first: u32, count: u32, memory: u32) {
        let keep = |i: u32, target: Target| {
            self.targets.st(memory + i, target.target);
            self.ends.st(memory + i, target.end);
            self.lengths.st(memory + i, target.length);
        };
        let own = thread::thread_idx_x() % Self::THREADS;
        if TILE_WARPS > 1 {
            let load = |i: [u32; 4]| {
                let spans = each(i, |i| self.span(tile, first + i));
                let placed = each(spans, |span| self.placed(span));
                each(placed, |placed| self.target(placed))
            };
            for_each_loaded((own, Self::THREADS), count, load, keep);
            return;
        }
        let mut i = own;
        while i < count {
            keep(i, self.target(self.placed(self.span(tile, first + i))));
            i += Self::THREADS;
        }
    }

    /// The fragment or closed border with an index in the tile.
    #[inline(always)]
    fn span(&self, tile: TileParts, id: u32) -> Span {
        let Self { parts, chains, .. } = self;
        tile.select(
            id,
            |at| Span {
                border: chains.fragment_borders.ld(at),
                start: FragmentRecord::load_start(parts.fragments, at),
                rest: chains.fragment_points_left.ld(at),
                is_fragment: true,
            },
            |at| {
                let record = ClosedRecord::load(parts.closed, at);
                Span {
                    border: chains.closed_borders.ld(at),
                    start: record.start,
                    rest: record.key[0],
                    is_fragment: false,
                }
            },
        )
    }

    /// A span with its border's place, or [`NO_BORDER`], and for a fragment its border's turn.
    #[inline(always)]
    fn placed(&self, span: Span) -> (Span, u32, u32) {
        let place = self.destination.places.ldg(span.border);
        let turn = if span.is_fragment {
            self.chains.turns.ld(span.border)
        } else {
            0
        };
        (span, place, turn)
    }

    /// Where its points go.
    #[inline(always)]
    fn target(&self, (span, place, turn): (Span, u32, u32)) -> Target {
        let mut target = Target {
            target: 0,
            end: 0,
            length: 0,
        };
        if place != NO_BORDER {
            let begin = self.destination.offsets.ldg(place);
            target.end = self.destination.offsets.ldg(place + 1);
            target.length = target.end - begin;
            let along_edges = self.geometry == Geometry::Edges;
            let at = if span.is_fragment {
                first_point(target.length, span.rest, turn, along_edges)
            } else {
                first_at_start(span.rest & 1 == 0, along_edges)
            };
            target.target = (begin + at).wrapping_sub(span.start);
        }
        target
    }
}
