//! Chains of fragments; where borders start; the borders in order of discovery.
//!
//! All in one cooperative launch, whose blocks wait for each other between the steps:
//!
//! 1. Each fragment finds its successor.
//! 2. List ranking (`cycles.rs`): each fragment learns its border's start and the number of points
//!    from its first one to there.
//! 3. A start that lies in a fragment is marked in the image.
//! 4. A scan of the marks puts the borders into order of discovery.
//! 5. Each fragment and each border inside a tile finds its border's number.
//! 6. Each border finds the one that passes the last vertical side before its start
//!    (`previous.rs`).

use core::marker::PhantomData;

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::crossings::{neighbour_of, opposite};
use super::key::{Key, Link};
use super::previous::MOST_ASIDE;
use super::records::{ClosedRecord, FragmentRecord, tile_record};
use super::source::{Source, TracedRegions, TracedValues};
use super::tile::TILE_WIDTH;
use super::{Parts, counter};
use crate::primitives::grid::{Grid, ScanMemory};
use crate::primitives::quotient;
use crate::trace::borders::{FoundBorders, NO_BORDER, count};
use crate::trace::node_bits::Kind;
use crate::trace::node_walk::NamedNode;
use crate::trace::options::Approximation;
use crate::trace::pixels::{Raster, TracedImage};

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
pub(super) const WARPS: u32 = BLOCK / WARP_SIZE;
/// Set in the turn of an outer border.
const OUTER: u32 = 1 << 31;

/// The working memory of joining, and its results.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(super::JoinSizes, buffers = ChainsBuffers)]
pub struct Chains<'a> {
    /// The barrier of the grid.
    #[len(())]
    pub barrier: GridBarrier<'a>,
    /// One element per block of the grid.
    // planted: arena-block-sums
    #[len(sizes.blocks)]
    pub block_sums: ViewMut<'a, u32>,
    /// The link of each fragment.
    #[len(sizes.link_words() * sizes.found.fragments, align = 16)]
    pub links: ViewMut<'a, u32>,
    /// As many links again, for the rounds to alternate; or the link of each segment.
    #[len(sizes.link_words() * sizes.found.fragments, align = 16)]
    pub segment_links: ViewMut<'a, u32>,
    /// The link of each segment, for the rounds to alternate.
    #[len(sizes.link_words() * sizes.segments(), align = 16)]
    pub other_segment_links: ViewMut<'a, u32>,
    /// 4 words per segment: the fragment at which it begins, the next segment, the number of points
    /// from one to the other, and an element of a list of segments.
    #[len(4 * sizes.segments(), align = 16)]
    pub segments: ViewMut<'a, u32>,
    /// Up to this number, fragments are ranked by pointer jumping in any case. More fragments are
    /// so only if most borders have few of them. If it is 0, fragments are always ranked by
    /// segments.
    pub few: u32,
    /// The border of each fragment; before that is known, `BegunSegments`.
    #[len(sizes.found.fragments)]
    pub fragment_borders: ViewMut<'a, u32>,
    /// The number of points from each fragment's first point to the first of the fragment in which
    /// the border starts.
    #[len(sizes.found.fragments)]
    pub fragment_points_left: ViewMut<'a, u32>,
    /// For each closed border of a tile, its border.
    #[len(sizes.found.closed)]
    pub closed_borders: ViewMut<'a, u32>,
    /// Per border that starts in a fragment, the number of points before the start in that
    /// fragment, and whether the border is an outer one.
    #[len(sizes.found.borders())]
    pub turns: ViewMut<'a, u32>,
}

/// Where a border starts.
#[derive(Clone, Copy)]
struct Start {
    /// The word of the image.
    word: u32,
    /// The row, counted through the rows of all tiles.
    tile_row: u32,
    /// The bit of the word.
    bit: u32,
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct JoinMemory {
    /// One element per warp.
    pub(super) warp_sums: SharedView<u32>,
    /// One element: the first segment that the block has taken.
    pub(super) taken: SharedView<u32>,
    /// [`MOST_ASIDE`] elements per warp.
    pub(super) aside: SharedView<u64>,
}

/// Declares the [`JoinMemory`] of a block.
macro_rules! join_memory {
    () => {
        JoinMemory {
            warp_sums: shared_array![u32; WARPS as usize],
            taken: shared_array![u32; 1],
            aside: shared_array![u64; (WARPS * MOST_ASIDE) as usize],
        }
    };
}

/// The arguments of [`join_fragments`](fn@join_fragments), and their parts.
#[derive(Clone, Copy)]
pub(super) struct Join<'a, K, I> {
    pub(super) image: I,
    pub(super) approximation: Approximation,
    pub(super) raster: Raster,
    pub(super) parts: Parts<'a>,
    pub(super) chains: Chains<'a>,
    keys: PhantomData<K>,
}

impl<'a, K: Key, I: Source> Join<'a, K, I> {
    #[inline(always)]
    pub(super) fn new(
        image: I,
        approximation: Approximation,
        parts: Parts<'a>,
        chains: Chains<'a>,
    ) -> Self {
        Self {
            image,
            approximation,
            raster: image.raster(),
            parts,
            chains,
            keys: PhantomData,
        }
    }

    /// The key of the border's start if that lies in the fragment, else a higher key.
    #[inline(always)]
    pub(super) fn key(&self, fragment: u32) -> K {
        K::of_fragment(self.parts.fragments, fragment)
    }

    /// The start of a closed border, and the number of its points.
    #[inline(always)]
    pub(super) fn closed(&self, i: u32) -> (K, u32) {
        let record = ClosedRecord::load(self.parts.closed, i);
        (K::of_record(record.key), record.points)
    }

    /// Finds the successor of a fragment.
    #[inline(always)]
    fn link(&self, fragment: u32) {
        let FragmentRecord {
            tile,
            points,
            neighbour,
            exit,
            ..
        } = FragmentRecord::load(self.parts.fragments, fragment);
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
        let next = first + before + exit;
        let link = Link {
            next,
            points,
            key: self.key(next),
            points_to_key: points,
        };
        K::store(link, self.chains.links, fragment);
    }

    /// The tile of a pixel.
    #[inline(always)]
    pub(super) fn tile(&self, x: u32, y: u32) -> u32 {
        y / I::TILE_HEIGHT * self.raster.row_words + x / TILE_WIDTH
    }

    /// Where a border starts.
    #[inline(always)]
    fn place(&self, key: K) -> Start {
        let (x, y) = key.pixel(self.raster);
        Start {
            word: y * self.raster.row_words + x / 64,
            tile_row: self.tile(x, y) * I::TILE_HEIGHT + y % I::TILE_HEIGHT,
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

    /// The number of starts before the start `key`.
    #[inline(always)]
    pub(super) fn number(&self, key: K) -> u32 {
        let start = self.place(key);
        // No two borders start at one pixel: above a hole's first pixel is foreground of the
        // component around it, so no outer border starts at the pixel to its left.
        let starts = self.parts.starts.ld(start.tile_row);
        let below = (1u64 << start.bit) - 1;
        self.parts.starts_before.ld(start.word) + (starts & below).count_ones()
    }

    /// The pixels of a word at which borders start.
    #[inline(always)]
    pub(super) fn starts(&self, word_x: u32, y: u32) -> u64 {
        let row = self.tile(word_x * 64, y) * I::TILE_HEIGHT + y % I::TILE_HEIGHT;
        self.parts.starts.ld(row)
    }

    /// Writes a border's kind and the number of its points. Returns the border.
    #[inline(always)]
    fn describe(&self, borders: FoundBorders<'_>, key: K, length: u32) -> u32 {
        let number = self.number(key);
        borders.kinds.st(number, u8::from(!key.is_outer()));
        borders.lengths.st(number, length);
        number
    }
}

/// Joins fragments to borders, and puts all borders into order of discovery, for an image that is
/// not [wide](super::key::is_wide).
///
/// Launch: cooperative, as many blocks as are resident together, or fewer. Reads and writes 64
/// bytes per fragment and round, or, if borders are long, some 200 per fragment and 48 per segment
/// and round; 4 bytes per word of the image three times, and some 60 bytes per fragment and per
/// border.
///
/// # Safety
///
/// `parts` is the result of [`follow_tiles`](fn@super::follow::follow_tiles) for `image`. Nothing
/// else uses it, `chains` and `borders` meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 3,
    cooperative,
    len(
        image = (),
        parts = parts.sizes(image.pixels.raster),
        chains = parts.join_sizes(image.pixels.raster, false, grid.x),
        borders = parts.sizes(image.pixels.raster).borders(),
    ),
)]
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

/// [`join_fragments`](fn@join_fragments) for an image of any size.
///
/// Launch: as for [`join_fragments`](fn@join_fragments). Reads and writes 112 bytes per fragment
/// and round, or some 300 per fragment and 80 per segment and round.
///
/// # Safety
///
/// That of [`join_fragments`](fn@join_fragments).
#[kernel(
    block = BLOCK,
    min_blocks = 3,
    cooperative,
    len(
        image = (),
        parts = parts.sizes(image.pixels.raster),
        chains = parts.join_sizes(image.pixels.raster, true, grid.x),
        borders = parts.sizes(image.pixels.raster).borders(),
    ),
)]
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

/// Joins the fragments of a binary image, with keys of type `K`.
#[inline(always)]
fn join<K: Key>(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
    chains: Chains<'_>,
    borders: FoundBorders<'_>,
    memory: JoinMemory,
) {
    let join = Join::<K, _>::new(image, approximation, parts, chains);
    let Some((grid, numbers, links)) = join_numbered(join, borders, memory, |_, _| ()) else {
        return;
    };
    join.find_previous(grid, numbers, links, borders, memory);
}

/// Joins fragments, puts all borders into order of discovery, and calls `describe` with each
/// border's number and key. Returns the grid, the numbers of fragments and of borders inside one
/// tile, and the fragments' ranked links. Waits for all blocks at the end.
#[inline(always)]
fn join_numbered<'a, K: Key, I: Source>(
    join: Join<'a, K, I>,
    borders: FoundBorders<'_>,
    memory: JoinMemory,
    describe: impl Fn(u32, K),
) -> Option<(Grid<'a, BLOCK>, [u32; 2], ViewMut<'a, u32>)> {
    let (parts, chains) = (join.parts, join.chains);
    if !parts.fits() {
        return None;
    }
    let fragments = parts.counters.ld(counter::FRAGMENTS);
    let closed = parts.counters.ld(counter::CLOSED);
    let words = join.raster.words();
    // A thread scans four words at a time.
    let grid = Grid::<BLOCK>::for_work(chains.barrier, fragments.max(words / 4))?;

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
    let total = |borders| parts.counters.st(count::BORDERS, borders);
    grid.scan(parts.starts_before, words, total, scan);
    grid.sync();

    grid.for_each(fragments, |fragment| {
        let link = K::load(links, fragment);
        let number = if link.key == join.key(fragment) {
            let before = FragmentRecord::load_points_before(parts.fragments, fragment);
            let number = join.describe(borders, link.key, link.points_to_key);
            describe(number, link.key);
            let outer = if link.key.is_outer() { OUTER } else { 0 };
            chains.turns.st(number, before | outer);
            number
        } else {
            join.number(link.key)
        };
        chains.fragment_borders.st(fragment, number);
        chains.fragment_points_left.st(fragment, link.points_to_key);
    });
    grid.for_each(closed, |i| {
        let (key, points) = join.closed(i);
        let number = join.describe(borders, key, points);
        describe(number, key);
        chains.closed_borders.st(i, number);
    });
    grid.sync();
    Some((grid, [fragments, closed], links))
}

/// [`join_fragments`](fn@join_fragments) for the regions of an image of values. Each border's
/// previous border is its region instead.
///
/// Launch: as for [`join_fragments`](fn@join_fragments).
///
/// # Safety
///
/// `parts` is the result of [`follow_value_tiles`](fn@super::follow::follow_value_tiles) for
/// `image`, which is not [wide](super::key::is_wide). Nothing else uses it, `chains` and `borders`
/// meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 3,
    cooperative,
    len(
        image = (),
        parts = parts.value_sizes(image.planes.raster),
        chains = parts.value_join_sizes(image.planes.raster, grid.x),
        borders = parts.value_sizes(image.planes.raster).borders(),
    ),
)]
pub unsafe fn join_value_fragments(
    image: TracedRegions<'_>,
    parts: Parts<'_>,
    chains: Chains<'_>,
    borders: FoundBorders<'_>,
) {
    let memory = join_memory!();
    let join = Join::<u32, _>::new(image, Approximation::Simple, parts, chains);
    join_numbered(join, borders, memory, |number, key| {
        let (x, y) = key.pixel(join.raster);
        borders.previous_in_row.st(number, image.region(x, y));
    });
}

/// [`join_fragments`](fn@join_fragments) for the borders of each value of an image. `starts` gets
/// the pixel at which each begins. The previous border of a hole's is found; outer borders get
/// none, until [`link_outer_borders`](super::row_values) finds theirs.
///
/// Launch: as for [`join_fragments`](fn@join_fragments). Writes 4 bytes more per border.
///
/// # Safety
///
/// `parts` is the result of
/// [`follow_value_centers`](fn@super::follow::follow_value_centers) or
/// [`follow_value_tiles`](fn@super::follow::follow_value_tiles) for `image`, by its geometry. The
/// image is not [wide](super::key::is_wide). Nothing else uses `parts`, `chains`, `borders` and
/// `starts` meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 3,
    cooperative,
    len(
        image = (),
        parts = parts.value_sizes(image.planes.raster),
        chains = parts.value_join_sizes(image.planes.raster, grid.x),
        borders = parts.value_sizes(image.planes.raster).borders(),
        starts = parts.value_sizes(image.planes.raster).borders(),
    ),
)]
pub unsafe fn join_value_contours(
    image: TracedValues<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
    chains: Chains<'_>,
    borders: FoundBorders<'_>,
    starts: ViewMut<'_, u32>,
) {
    let memory = join_memory!();
    let join = Join::<u32, _>::new(image, approximation, parts, chains);
    let start = |number, key: u32| {
        let (x, y) = key.pixel(join.raster);
        starts.st(number, join.raster.wide_pixel(x, y) as u32);
    };
    let Some((grid, [fragments, closed], links)) = join_numbered(join, borders, memory, start)
    else {
        return;
    };
    let link = |number, key: u32| {
        let mut previous = NO_BORDER;
        if !key.is_outer() {
            let (x, y) = key.pixel(join.raster);
            let node = NamedNode {
                x: image.planes.run_start(x, y),
                y,
                kind: Kind::W,
            };
            previous = join.passing(node, |i| join.of_fragment(i), |i| join.of_closed(i));
        }
        borders.previous_in_row.st(number, previous);
    };
    grid.for_each(fragments, |i| {
        let key = join.key(i);
        if key == u32::load(links, i).key {
            link(join.of_fragment(i), key);
        }
    });
    grid.for_each(closed, |i| link(join.of_closed(i), join.closed(i).0));
}

/// The index of a fragment's first point among its border's points, in the result's order.
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
    at += first_at_start(turn & OUTER != 0, along_edges);
    if at >= length { at - length } else { at }
}

/// The index of the point of a border's first node, in the result's order.
///
/// An outer border along edges begins where its first side begins: the last corner that the walk
/// comes to.
#[inline(always)]
pub(super) const fn first_at_start(is_outer: bool, along_edges: bool) -> u32 {
    // planted: fragment-turn
    if along_edges && is_outer { 1 } else { 0 }
}
