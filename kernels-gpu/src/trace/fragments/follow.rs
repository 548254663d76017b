//! Fragments and closed borders of each tile, by list ranking in shared memory.
//!
//! One block per tile. Its nodes are listed, W and E nodes in raster order before the others, and
//! each finds its successor. List ranking (`rank.rs`) then tells each node its place on its
//! fragment or closed border, and so the number of points before its own.
//!
//! The results go to global memory in any order of tiles: a tile takes the next free elements of
//! each array, by one addition to the array's [`counter`]. The result does not depend on that
//! order.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::crossings::{CROSSING_WORDS, CrossingSet, MOST_FRAGMENTS};
use super::key::{NO_KEY, key_in_word};
use super::place::{ENDED, NodePlace, POINT};
use super::records::tile_record;
use super::source::Source;
use super::tile::{
    HALO_ROWS, MOST_NODES, NodeLinks, ROW_WORDS, STRAIGHT_WORDS, Successor, TILE_HEIGHT,
    TILE_WIDTH, TileNode, TilePixels,
};
use super::{Parts, counter};
use crate::primitives::block::{self, PrefixSum};
use crate::primitives::quotient;
use crate::primitives::warp::sum_of_lanes;
use crate::trace::node_bits::Kind;
use crate::trace::options::{Approximation, Geometry};
use crate::trace::pixels::TracedImage;

/// Threads per block of [`follow_tiles`](fn@follow_tiles).
pub const BLOCK: u32 = 32;
/// The most nodes of a tile that one of its blocks takes.
pub const MOST_NODES_OF_WARP: u32 = 256;
/// Threads per block of [`follow_few_tiles`](fn@follow_few_tiles).
pub const FEW_TILES_BLOCK: u32 = 64;
/// The most nodes of a tile that one of its blocks takes.
pub const MOST_NODES_OF_TWO_WARPS: u32 = 512;
/// Threads per block of [`follow_dense_tiles`](fn@follow_dense_tiles).
pub const DENSE_BLOCK: u32 = 256;

/// A tile, and the shared memory of the block of `THREADS` threads that works on it.
#[derive(Clone, Copy)]
pub(super) struct Tile<I, const THREADS: u32> {
    pub(super) pixels: TilePixels<I>,
    /// The tile's index.
    pub(super) index: u32,
    /// The thread.
    pub(super) t: u32,
    /// For each row, the nodes of each kind, unless pixels are kept.
    pub(super) nodes: SharedView<u64>,
    /// For each piece of a row, the index of its first W or E node; in the high half, that of its
    /// first N or S node.
    pub(super) pieces: SharedView<u32>,
    /// If pixels are kept: for each pixel, the index of its W node, or one less than that of its E
    /// node if it has no W node. After these, the same for N and S nodes.
    pub(super) indices: SharedView<u16>,
    /// For each node, its [`NodePlace`].
    pub(super) places: SharedView<u64>,
    /// The nodes at which fragments begin; in the high half, the crossings by which they do.
    pub(super) heads: SharedView<u32>,
    pub(super) entries: CrossingSet,
    pub(super) exits: CrossingSet,
    /// For each row, the pixels at which closed borders start, in [`STARTS_WORDS`].
    pub(super) starts: SharedView<u32>,
    pub(super) warp_sums: SharedView<u32>,
    /// Counts of [`found`].
    pub(super) found: SharedView<u32>,
    /// The indices of the tile's first fragment, closed border, point and side; and [`NEXT_TILE`].
    pub(super) firsts: SharedView<u32>,
}

/// Index in [`Tile::firsts`], for blocks that take tiles from the list: the number of tiles taken
/// before the block's next one.
pub(super) const NEXT_TILE: u32 = 4;

/// Words of 32 bits per row for starts.
pub(super) const STARTS_WORDS: u32 = 2;

/// A block's counts, each an index into [`Tile::found`].
pub(super) mod found {
    /// Closed borders.
    pub(in super::super) const CLOSED: u32 = 0;
    /// Points.
    pub(in super::super) const POINTS: u32 = 1;
    /// Fragments, as they are listed.
    pub(in super::super) const HEADS: u32 = 2;
    /// The number of counts.
    pub(in super::super) const COUNT: usize = 3;
}

const fn smaller(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

const fn larger(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

/// The number of pieces of a row of a tile of `height` rows, for a block of `threads` threads. A
/// piece has at most 32 pixels.
const fn pieces(threads: u32, height: u32) -> u32 {
    larger(threads / height, 2)
}

/// Whether a block of `threads` threads keeps the indices of the nodes of all pixels, and in a
/// binary image their neighbourhoods. In an image of values, neighbourhoods are always kept.
pub(super) const fn keeps_pixels(threads: u32) -> bool {
    threads == DENSE_BLOCK
}

/// The number of pixels for which there is memory: at least some, since no shared array is empty.
const fn kept_pixels(threads: u32) -> u32 {
    if keeps_pixels(threads) {
        TILE_WIDTH * TILE_HEIGHT
    } else {
        8
    }
}

/// The length of [`Tile::firsts`]. A few bytes more would cost small blocks one of 32 per
/// multiprocessor of sm_90.
const fn firsts(threads: u32) -> usize {
    let taken = if keeps_pixels(threads) { 1 } else { 0 };
    NEXT_TILE as usize + taken
}

/// Where the indices of W and E nodes begin, or those of N and S nodes.
#[inline(always)]
pub(super) const fn indices_of(kind: Kind) -> u32 {
    kind as u32 / 2 * (TILE_WIDTH * TILE_HEIGHT)
}

/// The number of pixels of which neighbourhoods are kept.
const fn kept_neighbourhoods(threads: u32, height: u32) -> u32 {
    if height == TILE_HEIGHT {
        kept_pixels(threads)
    } else {
        TILE_WIDTH * height
    }
}

/// The number of rows of bits in shared memory, at least one.
const fn bit_rows(height: u32) -> u32 {
    if height == TILE_HEIGHT { HALO_ROWS } else { 1 }
}

/// Declares the shared memory of a block, and gives its [`Tile`] of `$height` rows.
macro_rules! tile_memory {
    ($threads:expr, $most_nodes:expr, $image:expr, $approximation:expr) => {
        tile_memory!($threads, $most_nodes, $image, $approximation, TILE_HEIGHT)
    };
    ($threads:expr, $most_nodes:expr, $image:expr, $approximation:expr, $height:expr) => {{
        let straight = shared_array![u64; ($height * STRAIGHT_WORDS) as usize];
        // SAFETY: the same memory, which has twice as many words of 32 bits. It is used for starts
        // once nodes are linked.
        let starts = unsafe {
            SharedView::from_raw_parts(
                straight.as_mut_ptr().cast::<u32>(),
                ($height * STARTS_WORDS) as usize,
            )
        };
        let neighbourhoods =
            shared_array![u64; kept_neighbourhoods($threads, $height) as usize / 8];
        // SAFETY: the same memory, in bytes.
        let neighbourhoods = unsafe {
            SharedView::from_raw_parts(
                neighbourhoods.as_mut_ptr().cast::<u8>(),
                kept_neighbourhoods($threads, $height) as usize,
            )
        };
        Tile::<_, { $threads }> {
            pixels: TilePixels {
                neighbourhoods,
                keeps_neighbourhoods: keeps_pixels($threads),
                rows: shared_array![u32; (bit_rows($height) * ROW_WORDS + 1) as usize],
                straight,
                image: $image,
                approximation: $approximation,
                left: 0,
                top: 0,
            },
            index: 0,
            t: thread::thread_idx_x(),
            nodes: shared_array![u64; ($height * 4) as usize],
            pieces: shared_array![u32; (pieces($threads, $height) * $height) as usize],
            indices: shared_array![u16; 2 * kept_pixels($threads) as usize],
            places: shared_array![u64; $most_nodes as usize],
            heads: shared_array![u32; smaller(MOST_FRAGMENTS, $most_nodes) as usize],
            entries: CrossingSet {
                bits: shared_array![u32; CROSSING_WORDS as usize],
                before: shared_array![u32; CROSSING_WORDS as usize + 1],
            },
            exits: CrossingSet {
                bits: shared_array![u32; CROSSING_WORDS as usize],
                before: shared_array![u32; CROSSING_WORDS as usize + 1],
            },
            starts,
            warp_sums: shared_array![u32; ($threads / WARP_SIZE) as usize],
            found: shared_array![u32; found::COUNT],
            firsts: shared_array![u32; firsts($threads)],
        }
    }};
}

impl<I: Source, const THREADS: u32> Tile<I, THREADS> {
    /// Pieces of a row.
    pub(super) const PIECES: u32 = pieces(THREADS, I::TILE_HEIGHT);
    /// Pixels of a piece.
    pub(super) const PIECE: u32 = TILE_WIDTH / Self::PIECES;
    /// A piece's bits.
    pub(super) const PIECE_MASK: u32 = u32::MAX >> (32 - Self::PIECE);
    /// Threads per row; each takes one or two pieces when nodes are listed.
    pub(super) const ROW_THREADS: u32 = THREADS / I::TILE_HEIGHT;
    /// Pixels per thread.
    pub(super) const OWN: u32 = TILE_WIDTH / Self::ROW_THREADS;
    /// Their bits.
    pub(super) const OWN_MASK: u64 = u64::MAX >> (64 - Self::OWN);
    /// Whether the block is one warp.
    const IS_WARP: bool = THREADS == WARP_SIZE;

    /// Waits for all threads of the block.
    #[inline(always)]
    pub(super) fn sync(&self) {
        if Self::IS_WARP {
            warp::sync_warp(FULL_MASK);
        } else {
            thread::sync_threads();
        }
    }

    /// Waits for all threads of the block; whether the predicate holds in any of them.
    #[inline(always)]
    pub(super) fn sync_or(&self, predicate: bool) -> bool {
        if Self::IS_WARP {
            warp::sync_warp(FULL_MASK);
            warp::warp_vote_any(FULL_MASK, predicate)
        } else {
            thread::sync_threads_or(predicate)
        }
    }

    /// The prefix sum of one value per thread.
    #[inline(always)]
    pub(super) fn sum(&self, value: u32) -> PrefixSum {
        if Self::IS_WARP {
            sum_of_lanes(value, self.t)
        } else {
            block::sum_of_threads(value, self.warp_sums)
        }
    }

    /// The index of a node.
    #[inline(always)]
    fn index(&self, node: TileNode) -> u32 {
        let TileNode { x, y, kind } = node;
        if keeps_pixels(THREADS) {
            let pixel = y * TILE_WIDTH + x;
            let first = self.indices.ld(indices_of(kind) + pixel);
            return u32::from(first.wrapping_add(kind as u16 % 2));
        }
        let first = self.pieces.ld(y * Self::PIECES + x / Self::PIECE);
        let (pair, first) = match kind {
            Kind::W | Kind::E => (0, first & 0xffff),
            Kind::N | Kind::S => (2, first >> 16),
        };
        let piece = |kind: u32| {
            let bits = self.nodes.ld(y * 4 + kind) >> (x / Self::PIECE * Self::PIECE);
            bits as u32 & Self::PIECE_MASK
        };
        let (a, b) = (piece(pair), piece(pair + 1));
        let bit = x % Self::PIECE;
        let below = (1 << bit) - 1;
        // The second of a pixel's two nodes comes after the first.
        // planted: fragment-index
        let second = matches!(kind, Kind::E | Kind::S) && a >> bit & 1 != 0;
        first + (a & below).count_ones() + (b & below).count_ones() + u32::from(second)
    }

    #[inline(always)]
    pub(super) fn place(&self, index: u32) -> NodePlace {
        NodePlace::from_bits(self.places.ld_relaxed(index, Block))
    }

    #[inline(always)]
    pub(super) fn set(&self, index: u32, place: NodePlace) {
        self.places.st(index, place.to_bits());
    }

    /// Replaces a place that other threads may be reading.
    #[inline(always)]
    pub(super) fn replace(&self, index: u32, place: NodePlace) {
        // planted: fragment-replace-plain
        self.places.atomic_exch(index, place.to_bits());
    }

    /// Links a node with its successor, and notes where the border enters and leaves the tile.
    #[inline(always)]
    fn link(&self, i: u32) {
        let place = self.place(i);
        let NodeLinks {
            successor,
            entry,
            is_point,
        } = self.pixels.links(place.node());
        let mut flags = if is_point { POINT } else { 0 };
        if let Some(crossing) = entry {
            self.entries.insert(crossing);
            // planted: fragment-heads-plain
            let at = self.found.atomic_add(found::HEADS, 1);
            self.heads.st(at, i | crossing.to_bits() << 16);
        }
        let points = u32::from(is_point);
        let (next, to_first) = match successor {
            Successor::Inside(node) => {
                let next = self.index(node);
                (next, points)
            }
            Successor::Outside(crossing) => {
                self.exits.insert(crossing);
                flags |= ENDED;
                (i, crossing.to_bits())
            }
        };
        let place = place.with(next, next, points, to_first);
        self.set(i, place.with_flags(flags));
    }

    /// Calls `work` for each index below `count`, one thread each.
    #[inline(always)]
    pub(super) fn for_each(&self, count: u32, mut work: impl FnMut(u32)) {
        let mut i = self.t;
        while i < count {
            work(i);
            i += THREADS;
        }
    }

    /// A node's key, in the order of nodes in the image; for N and S nodes the highest key. The
    /// second word has the bits from the 33rd on.
    #[inline(always)]
    pub(super) fn key(&self, node: TileNode) -> [u32; 2] {
        let TileNode { x, y, kind } = node;
        let raster = self.pixels.image.raster();
        match kind {
            Kind::W | Kind::E => {
                let word = (self.pixels.top + y) * raster.row_words + self.pixels.left / 64;
                key_in_word(word, x, kind == Kind::E)
            }
            Kind::N | Kind::S => NO_KEY,
        }
    }
}

impl<I: Source, const THREADS: u32> Tile<I, THREADS> {
    /// The tile with an index.
    #[inline(always)]
    fn at(self, index: u32) -> Self {
        let row_words = self.pixels.image.raster().row_words;
        let row = quotient(index, row_words);
        Self {
            pixels: TilePixels {
                left: (index - row * row_words) * TILE_WIDTH,
                top: row * I::TILE_HEIGHT,
                ..self.pixels
            },
            index,
            ..self
        }
    }

    /// Follows the borders of the listed tiles. When the block is done with a tile, it takes the
    /// next one that no block has taken.
    #[inline(always)]
    fn follow_listed(&self, parts: Parts<'_>) {
        let count = parts.counters.ld(counter::DENSE);
        let mut i = thread::block_idx_x();
        while i < count {
            if !self.at(parts.dense.ld(i)).follow(parts, MOST_NODES) {
                // The tile had nodes when it was listed: the image has been changed meanwhile.
                return;
            }
            // planted: fragment-next-tile
            i = thread::grid_dim_x() + self.firsts.ld(NEXT_TILE);
            // planted: fragment-dense-barrier
            thread::sync_threads();
        }
    }

    /// Follows the tile's borders if it has at most `most_nodes` nodes; otherwise lists the tile.
    /// Returns whether there were borders to follow.
    ///
    /// ```text
    /// load the tile's rows and one more to each side
    /// list the nodes, W and E nodes first; more than `most_nodes`: list the tile, and end
    /// link each node with its successor; note entries and exits
    /// count entries and exits; take indices for the tile's fragments and sides
    /// rank: pointer jumping, until no node learns anything
    /// number fragments, then closed borders; write the fragments' records
    /// take indices for the closed borders and points
    /// write the tile's record, the starts, and for each node its point and its side
    /// ```
    #[inline(always)]
    fn follow(&self, parts: Parts<'_>, most_nodes: u32) -> bool {
        self.for_each(I::TILE_HEIGHT + 2, |row| self.pixels.load_row(row));
        self.for_each(found::COUNT as u32, |i| self.found.st(i, 0));
        self.for_each(CROSSING_WORDS, |i| {
            self.entries.bits.st(i, 0);
            self.exits.bits.st(i, 0);
        });
        self.sync();

        let counts = self.list(parts, most_nodes);
        let node_count = counts & 0xffff;
        if node_count == 0 {
            return false;
        }
        let side_count = counts >> 16;
        // planted: fragment-list-barrier
        self.sync();

        self.for_each(node_count, |i| self.link(i));
        // planted: fragment-link-barrier
        self.sync();
        self.for_each(I::TILE_HEIGHT * STARTS_WORDS, |i| self.starts.st(i, 0));
        self.count_crossings(parts, side_count);
        self.rank(node_count);
        self.number_fragments(parts);
        // planted: fragment-number-barrier
        self.sync();
        self.number_closed(node_count);
        // planted: fragment-found-barrier
        self.sync();
        if self.t < 2 {
            let (count, counter) = if self.t == 0 {
                (self.found.ld(found::CLOSED), counter::CLOSED)
            } else {
                (self.found.ld(found::POINTS), counter::POINTS)
            };
            let first = parts.take(counter, count);
            self.firsts.st(tile_record::FIRST_CLOSED + self.t, first);
        }
        self.sync();
        self.write_record(parts);
        self.write_starts(parts);
        self.write_nodes(parts, node_count, side_count);
        true
    }
}

/// Finds the fragments and the closed borders of each tile with at most [`MOST_NODES_OF_WARP`]
/// nodes, their points, and where closed borders start. Lists the other tiles.
///
/// Launch: one block, of one warp, per [tile](super::tiles). Reads 1/8 byte per pixel, once or
/// twice; writes 12 bytes per word of the image, 16 per tile, 96 more per tile with nodes, 18 per
/// fragment, 10 per closed border, 2 per listed W or E node and 4 per point.
///
/// # Safety
///
/// `parts` has the lengths that its fields say for this image; those with capacities may have any.
/// Nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(image = (), parts = parts.sizes(image.pixels.raster)))]
pub unsafe fn follow_tiles(image: TracedImage<'_>, approximation: Approximation, parts: Parts<'_>) {
    let tile = tile_memory!(BLOCK, MOST_NODES_OF_WARP, image, approximation);
    tile.at(thread::block_idx_x())
        .follow(parts, MOST_NODES_OF_WARP);
}

/// [`follow_tiles`](fn@follow_tiles) for so few tiles that all of them are resident at once: two
/// warps and up to [`MOST_NODES_OF_TWO_WARPS`] nodes per tile.
///
/// Launch: one block per [tile](super::tiles).
///
/// # Safety
///
/// That of [`follow_tiles`](fn@follow_tiles).
#[kernel(block = FEW_TILES_BLOCK, len(image = (), parts = parts.sizes(image.pixels.raster)))]
pub unsafe fn follow_few_tiles(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
) {
    const MOST: u32 = MOST_NODES_OF_TWO_WARPS;
    let tile = tile_memory!(FEW_TILES_BLOCK, MOST, image, approximation);
    tile.at(thread::block_idx_x()).follow(parts, MOST);
}

/// [`follow_tiles`](fn@follow_tiles), over centers, for the tiles that it or
/// [`follow_few_tiles`](fn@follow_few_tiles) has listed.
///
/// Launch: any number of persistent blocks.
///
/// # Safety
///
/// That of [`follow_tiles`](fn@follow_tiles), which has run before.
#[kernel(
    block = DENSE_BLOCK,
    min_blocks = 4,
    len(image = (), parts = parts.sizes(image.pixels.raster)),
)]
pub unsafe fn follow_dense_tiles(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
) {
    // A constant, so that the kernel has no code and needs no registers for edges.
    let image = TracedImage {
        geometry: Geometry::Centers,
        ..image
    };
    tile_memory!(DENSE_BLOCK, MOST_NODES, image, approximation).follow_listed(parts);
}

/// [`follow_dense_tiles`](fn@follow_dense_tiles) along edges.
///
/// Launch: any number of persistent blocks.
///
/// # Safety
///
/// That of [`follow_dense_tiles`](fn@follow_dense_tiles).
#[kernel(
    block = DENSE_BLOCK,
    min_blocks = 3,
    len(image = (), parts = parts.sizes(image.pixels.raster)),
)]
pub unsafe fn follow_dense_tiles_along_edges(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
) {
    let image = TracedImage {
        geometry: Geometry::Edges,
        ..image
    };
    tile_memory!(DENSE_BLOCK, MOST_NODES, image, approximation).follow_listed(parts);
}

mod values;

pub use values::{
    follow_dense_value_centers, follow_dense_value_tiles, follow_value_centers, follow_value_tiles,
};
