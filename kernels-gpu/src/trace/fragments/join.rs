//! Chains of fragments; where borders start; the borders in order of discovery.
//!
//! All in one cooperative launch, whose blocks wait for each other between the steps:
//!
//! 1. Each fragment finds its successor.
//! 2. List ranking (`cycles.rs`): each fragment learns its border's start and the number of points
//!    from its first one to there.
//! 3. Where the start lies in a fragment, the start is marked in the image.
//! 4. A scan of the marks puts the borders into order of discovery.
//! 5. Each fragment and each border inside a tile finds its border's number.
//! 6. Each border finds the one that passes the last vertical side before its start.

use core::marker::PhantomData;

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::crossings::{NEIGHBOURS, neighbour_of, opposite};
use super::key::{Key, Link};
use super::records::tile_record;
use super::tile::{TILE_HEIGHT, TILE_WIDTH, listed_nodes};
use super::{Parts, counter};
use crate::primitives::grid::{Grid, GridBarrier, ScanMemory};
use crate::primitives::quotient;
use crate::trace::borders::{FoundBorders, NO_BORDER, count};
use crate::trace::components::walk::{NamedNode, NodeWalk};
use crate::trace::node_bits::{Kind, NodeBits};
use crate::trace::options::Approximation;
use crate::trace::pixels::{Raster, TracedImage};

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Bits of the number of points of a fragment.
const POINT_BITS: u32 = 12;
const POINT_MASK: u32 = (1 << POINT_BITS) - 1;
/// Set in the turn of an outer border.
const OUTER: u32 = 1 << 31;

/// What joining works in, and what it finds.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Chains<'a> {
    /// The barrier of the grid.
    pub barrier: GridBarrier<'a>,
    /// One element per block of the grid.
    pub block_sums: ViewMut<'a, u32>,
    /// 4 words per fragment, or [`WIDE_LINK_WORDS`](super::key::WIDE_LINK_WORDS) for
    /// [`join_wide_fragments`](fn@join_wide_fragments). Starts at a multiple of 16 bytes.
    pub links: ViewMut<'a, u32>,
    /// The same once more.
    pub segment_links: ViewMut<'a, u32>,
    /// As many words for each of the [`most_segments`](super::cycles::most_segments). Starts at a
    /// multiple of 16 bytes.
    pub other_segment_links: ViewMut<'a, u32>,
    /// For each of the [`most_segments`](super::cycles::most_segments), the fragment at which it
    /// begins, the next segment, and the number of points from one to the other; and a list of
    /// segments: 4 words. Starts at a multiple of 16 bytes.
    pub segments: ViewMut<'a, u32>,
    /// The largest number of fragments that are ranked by pointer jumping in any case. More are
    /// ranked so only if most borders have few of them. If it is 0, all are ranked by segments.
    pub few: u32,
    /// The border of each fragment; before that, the segment that begins there.
    pub fragment_borders: ViewMut<'a, u32>,
    /// The number of points from each fragment's first to the first of the fragment in which the
    /// border starts.
    pub fragment_points_left: ViewMut<'a, u32>,
    /// The border that each closed border of a tile is.
    pub closed_borders: ViewMut<'a, u32>,
    /// Per border, the number of points before its start in the fragment where that is, and
    /// whether it is an outer one.
    pub turns: ViewMut<'a, u32>,
}

/// Where a border starts.
#[derive(Clone, Copy)]
struct Start {
    /// The word of the image.
    word: u32,
    /// The row, of all rows of all tiles.
    tile_row: u32,
    /// The bit of the word.
    bit: u32,
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct JoinMemory {
    /// One element per warp.
    pub(super) warp_sums: SharedView<u32>,
    /// One element: the first of the segments that the block has taken.
    pub(super) taken: SharedView<u32>,
}

/// Declares the [`JoinMemory`] of a block.
macro_rules! join_memory {
    () => {
        JoinMemory {
            warp_sums: shared_array![u32; WARPS as usize],
            taken: shared_array![u32; 1],
        }
    };
}

/// What [`join_fragments`](fn@join_fragments) works on.
#[derive(Clone, Copy)]
pub(super) struct Join<'a, K> {
    image: TracedImage<'a>,
    approximation: Approximation,
    walk: NodeWalk<'a>,
    raster: Raster,
    pub(super) parts: Parts<'a>,
    pub(super) chains: Chains<'a>,
    keys: PhantomData<K>,
}

impl<'a, K: Key> Join<'a, K> {
    #[inline(always)]
    pub(super) const fn new(
        image: TracedImage<'a>,
        approximation: Approximation,
        parts: Parts<'a>,
        chains: Chains<'a>,
    ) -> Self {
        Self {
            image,
            approximation,
            walk: NodeWalk::new(image),
            raster: image.pixels.raster,
            parts,
            chains,
            keys: PhantomData,
        }
    }

    /// The start of a fragment's border if it lies in the fragment, else a higher one.
    #[inline(always)]
    pub(super) fn key(&self, fragment: u32) -> K {
        K::of_fragment(self.parts.fragments, fragment)
    }

    /// The start of a closed border, and the last word of its record.
    #[inline(always)]
    fn closed(&self, i: u32) -> (K, u32) {
        let [low, last] = self.parts.closed.ld_vector(i as usize * 2);
        (K::of_record(low, last), last)
    }

    /// Finds the successor of a fragment.
    #[inline(always)]
    fn link(&self, fragment: u32) {
        let [tile, _, third, fourth] = self.parts.fragments.ld_vector(fragment as usize * 4);
        let neighbour = fourth >> POINT_BITS & (NEIGHBOURS - 1);
        let row = quotient(tile, self.raster.row_words);
        let (column, row) = neighbour_of(tile - row * self.raster.row_words, row, neighbour);
        let record = (row * self.raster.row_words + column) * tile_record::WORDS;
        let entries = opposite(neighbour);
        let first = self.parts.tiles.ld(record + tile_record::FIRST_FRAGMENT);
        let before = if entries == 0 {
            0
        } else {
            let pair = self
                .parts
                .tiles
                .ld(record + tile_record::ENTRIES + entries / 2);
            // planted: join-entry-half
            pair >> (entries % 2 * 16) & 0xffff
        };
        let next = first + before + (third >> 24);
        let points = third & POINT_MASK;
        let link = Link {
            next,
            points,
            key: self.key(next),
            points_to_key: points,
        };
        K::store(link, self.chains.links, fragment);
    }

    /// Where a border starts.
    #[inline(always)]
    fn place(&self, key: K) -> Start {
        let (x, y) = key.pixel(self.raster);
        let tile = y / TILE_HEIGHT * self.raster.row_words + x / TILE_WIDTH;
        Start {
            word: y * self.raster.row_words + x / 64,
            tile_row: tile * TILE_HEIGHT + y % TILE_HEIGHT,
            bit: x % 64,
        }
    }

    /// Marks a start.
    #[inline(always)]
    fn mark(&self, key: K) {
        let start = self.place(key);
        // planted: join-mark-plain
        self.parts.starts.atomic_or(start.tile_row, 1 << start.bit);
        // planted: join-count-plain
        self.parts.starts_before.atomic_add(start.word, 1);
    }

    /// The number of starts before one.
    #[inline(always)]
    fn number(&self, key: K) -> u32 {
        let start = self.place(key);
        // No two borders start at one pixel: above a hole's first pixel is foreground of the hole's
        // component, so that no outer border starts there.
        let starts = self.parts.starts.ld(start.tile_row);
        let below = (1u64 << start.bit) - 1;
        self.parts.starts_before.ld(start.word) + (starts & below).count_ones()
    }

    /// Writes what is known of a border: the number of its points, and those before its start.
    #[inline(always)]
    fn describe(&self, borders: FoundBorders<'_>, key: K, length: u32, before: u32) -> u32 {
        let number = self.number(key);
        let is_outer = key.is_outer();
        borders.kinds.st(number, u8::from(!is_outer));
        borders.lengths.st(number, length);
        let turn = before | if is_outer { OUTER } else { 0 };
        self.chains.turns.st(number, turn);
        number
    }

    /// The border that passes the last vertical side before a start.
    #[inline(always)]
    fn previous(&self, key: K) -> u32 {
        let (x, y) = key.pixel(self.raster);
        let of_fragment = |i| self.chains.fragment_borders.ld(i);
        let of_closed = |i| self.chains.closed_borders.ld(i);
        self.passing_before(x, y, key.is_outer(), NO_BORDER, of_fragment, of_closed)
    }

    /// What passes the last vertical side before pixel `(x, y)` of its row, or of its run, where a
    /// border starts: what one of the functions gives for the fragment's or closed border's index;
    /// `none` if there is no side.
    #[inline(always)]
    pub(super) fn passing_before<R>(
        &self,
        x: u32,
        y: u32,
        is_outer: bool,
        none: R,
        fragment: impl FnOnce(u32) -> R,
        closed: impl FnOnce(u32) -> R,
    ) -> R {
        let node = if is_outer {
            match self.walk.last_before(x, y) {
                Some(x) => self.walk.at_east_side(x, y),
                None => return none,
            }
        } else {
            // planted: join-run-start
            let x = self.walk.run_start(x, y);
            NamedNode {
                x,
                y,
                kind: Kind::W,
            }
        };
        self.passing(node, fragment, closed)
    }

    /// The nodes of the word with pixel `(x, y)` that its tile has listed, and those that it has
    /// left out because they are passed straight on.
    #[inline(always)]
    fn nodes(&self, x: u32, y: u32) -> (NodeBits, NodeBits) {
        let around = self.image.pixels.around(x / 64, y);
        let geometry = self.image.geometry;
        listed_nodes(around, geometry, self.approximation, y % TILE_HEIGHT)
    }

    /// What a W or E node belongs to: what one of the functions gives for the index of the fragment
    /// or closed border.
    #[inline(always)]
    fn passing<R>(
        &self,
        node: NamedNode,
        fragment: impl FnOnce(u32) -> R,
        closed: impl FnOnce(u32) -> R,
    ) -> R {
        let NamedNode { x, mut y, mut kind } = node;
        let tile = y / TILE_HEIGHT * self.raster.row_words + x / TILE_WIDTH;
        let bit = x % 64;
        let (mut nodes, straight) = self.nodes(x, y);
        let of_kind = if kind == Kind::W {
            straight.w
        } else {
            straight.e
        };
        // planted: join-straight
        if of_kind >> bit & 1 != 0 {
            // Not listed: the first one of its run is, which is on the same border.
            y = self
                .walk
                .top_of_side(x, y, kind, y / TILE_HEIGHT * TILE_HEIGHT);
            if kind == Kind::E {
                kind = self.walk.at_east_side(x, y).kind;
            }
            (nodes, _) = self.nodes(x, y);
        }
        let below = (1u64 << bit) - 1;
        // planted: join-second
        let second = kind == Kind::E && nodes.w >> bit & 1 != 0;
        let before = u32::from(self.parts.rows.ld(tile * TILE_HEIGHT + y % TILE_HEIGHT));
        let in_row = (nodes.w & below).count_ones() + (nodes.e & below).count_ones();
        let record = tile * tile_record::WORDS;
        let first = self.parts.tiles.ld(record + tile_record::FIRST_SIDE);
        let side = first + before + in_row + u32::from(second);
        let id = u32::from(self.parts.sides.ld(side));
        let fragments = self.parts.tiles.ld(record + tile_record::ENTRIES) & 0xffff;
        if id < fragments {
            let first = self.parts.tiles.ld(record + tile_record::FIRST_FRAGMENT);
            fragment(first + id)
        } else {
            let first = self.parts.tiles.ld(record + tile_record::FIRST_CLOSED);
            closed(first + id - fragments)
        }
    }
}

/// Joins fragments to borders, and puts all borders into order of discovery, of an image that is
/// not [wide](super::key::is_wide).
///
/// Launch: cooperative, as many blocks as are resident together, or fewer. Reads and writes 64
/// bytes per fragment and round, or, where borders are long, some 200 per fragment and 48 per
/// segment and round; 4 bytes per word of the image three times, and some 60 bytes per fragment and
/// per border.
///
/// # Safety
///
/// `parts` is what [`follow_tiles`](fn@super::follow::follow_tiles) has made of `image`. `chains`
/// has the lengths that its fields say, for all fragments and closed borders that fit `parts`, and
/// `borders` an element for each of both. Nothing else uses them meanwhile.
#[kernel(block = BLOCK, cooperative)]
pub unsafe fn join_fragments(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
    chains: Chains<'_>,
    borders: FoundBorders<'_>,
) {
    let memory = join_memory!();
    join::<u32>(image, approximation, parts, chains, borders, memory);
}

/// What [`join_fragments`](fn@join_fragments) does, of an image of any size.
///
/// Launch: as [`join_fragments`](fn@join_fragments). Reads and writes 112 bytes per fragment and
/// round, or some 300 per fragment and 80 per segment and round.
///
/// # Safety
///
/// That of [`join_fragments`](fn@join_fragments).
#[kernel(block = BLOCK, cooperative)]
pub unsafe fn join_wide_fragments(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
    chains: Chains<'_>,
    borders: FoundBorders<'_>,
) {
    let memory = join_memory!();
    join::<u64>(image, approximation, parts, chains, borders, memory);
}

/// Joins fragments, with keys of type `K`.
#[inline(always)]
fn join<K: Key>(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
    chains: Chains<'_>,
    borders: FoundBorders<'_>,
    memory: JoinMemory,
) {
    if !parts.fits() {
        return;
    }
    let join = Join::<K>::new(image, approximation, parts, chains);
    let fragments = parts.counters.ld(counter::FRAGMENTS);
    let closed = parts.counters.ld(counter::CLOSED);
    let words = join.raster.words();
    // A thread scans four words at a time.
    let Some(grid) = Grid::<BLOCK>::for_work(chains.barrier, fragments.max(words / 4)) else {
        return;
    };

    let mut links = chains.links;
    if fragments > 0 {
        grid.for_each(fragments, |fragment| join.link(fragment));
        // planted: join-link-barrier
        grid.sync();
        links = join.rank(grid, fragments, memory);
        grid.for_each(fragments, |fragment| {
            let key = K::load(links, fragment).key;
            if key == join.key(fragment) {
                join.mark(key);
            }
        });
        grid.sync();
    }
    let scan = ScanMemory {
        block_sums: chains.block_sums,
        warp_sums: memory.warp_sums,
    };
    let total = (parts.counters, count::BORDERS);
    grid.scan(parts.starts_before, words, total, scan);
    grid.sync();

    grid.for_each(fragments, |fragment| {
        let link = K::load(links, fragment);
        let number = if link.key == join.key(fragment) {
            let before = parts.fragments.ld(fragment as usize * 4 + 2) >> POINT_BITS & POINT_MASK;
            join.describe(borders, link.key, link.points_to_key, before)
        } else {
            join.number(link.key)
        };
        chains.fragment_borders.st(fragment, number);
        chains.fragment_points_left.st(fragment, link.points_to_key);
    });
    grid.for_each(closed, |i| {
        let (key, points) = join.closed(i);
        let number = join.describe(borders, key, points & POINT_MASK, 0);
        chains.closed_borders.st(i, number);
    });
    grid.sync();

    grid.for_each(fragments, |fragment| {
        let key = join.key(fragment);
        if key == K::load(links, fragment).key {
            let number = chains.fragment_borders.ld(fragment);
            borders.previous_in_row.st(number, join.previous(key));
        }
    });
    grid.for_each(closed, |i| {
        let (key, _) = join.closed(i);
        let number = chains.closed_borders.ld(i);
        borders.previous_in_row.st(number, join.previous(key));
    });
}

/// Where a fragment's points go, of those of its border.
#[inline(always)]
pub(super) const fn first_point(
    length: u32,
    points_left: u32,
    turn: u32,
    along_edges: bool,
) -> u32 {
    let before = turn & !OUTER;
    let mut at = length - points_left;
    at = if at >= before {
        at - before
    } else {
        at + length - before
    };
    // An outer border along edges begins where its first side does, which is the last corner that
    // the walk comes to.
    // planted: fragment-turn
    if along_edges && turn & OUTER != 0 {
        at += 1;
    }
    if at >= length { at - length } else { at }
}
