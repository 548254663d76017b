//! Fragments and closed borders of each tile, by list ranking in shared memory.
//!
//! One block per tile. Its nodes are listed, W and E nodes in raster order before the others, and
//! each finds its successor. In a round of pointer jumping, each node takes over the link of the
//! node that it leads to. A node on a fragment learns the fragment's last node and the number of
//! points up to it; a node on a closed border learns the first of the border's nodes and the number
//! of points up to that one. Both know then which points lie before their own.
//!
//! What is found goes to global memory in any order of tiles: a tile takes the next free elements
//! of each array, by one addition to its [`counter`]. The result does not depend on that order.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::crossings::{CROSSING_WORDS, Crossing, CrossingSet, MOST_CROSSINGS, NEIGHBOURS};
use super::tile::{
    HALO_ROWS, MOST_NODES, NodeLinks, ROW_WORDS, Successor, TILE_HEIGHT, TILE_WIDTH, TileNode,
    TilePixels,
};
use super::{Parts, counter};
use crate::primitives::{block, quotient};
use crate::trace::node_bits::Kind;
use crate::trace::options::Approximation;
use crate::trace::pixels::TracedImage;

/// Threads per block of [`follow_tiles`](fn@follow_tiles).
pub const BLOCK: u32 = 64;
/// The most nodes of a tile that one of its blocks takes.
pub const FEW_NODES: u32 = 512;
/// Threads per block of [`follow_dense_tiles`](fn@follow_dense_tiles).
pub const DENSE_BLOCK: u32 = 256;

/// What is written for each tile, as offsets in its record.
pub mod tile_record {
    /// The index of the tile's first fragment.
    pub const FIRST_FRAGMENT: u32 = 0;
    /// The index of its first closed border.
    pub const FIRST_CLOSED: u32 = 1;
    /// The index of its first point.
    pub const FIRST_POINT: u32 = 2;
    /// The index of its first W or E node.
    pub const FIRST_SIDE: u32 = 3;
    /// For each neighbour, the number of fragments that enter from those before it, in 16 bits. For
    /// the first neighbour, the number of all fragments.
    pub const ENTRIES: u32 = 4;
    /// The number of closed borders.
    pub const CLOSED: u32 = 8;
    /// The number of points.
    pub const POINTS: u32 = 9;
    /// The number of words.
    pub const WORDS: u32 = 12;
}

/// A node's place on its fragment or closed border, in one word, so that it is read and written at
/// once. After some rounds of pointer jumping, `next` is a node some way ahead.
///
/// | half | bits | field |
/// | --- | --- | --- |
/// | low | 0–11 | `next`: that node; on a fragment in the end, the last one |
/// | low | 12–23 | `first`: the node with the lowest index of those after this one up to `next` |
/// | low | 24–31 | the node's column and kind |
/// | high | 0–11 | `points`: of the nodes from this one to before `next`; to the end, once it is reached |
/// | high | 12–23 | `to_first`: those of the nodes from this one to before `first` |
/// | high | 24–28 | the node's row |
/// | high | 29 | whether the end of a fragment is reached |
/// | high | 30 | whether the node has a point |
#[derive(Clone, Copy)]
struct Place {
    low: u32,
    high: u32,
}

const FIELD: u32 = (1 << 12) - 1;
const SECOND_FIELD: u32 = FIELD << 12;
const REST: u32 = u32::MAX << 24;
const ENDED: u32 = 1 << 29;
const POINT: u32 = 1 << 30;

impl Place {
    #[inline(always)]
    const fn from_bits(bits: u64) -> Self {
        Self {
            low: bits as u32,
            high: (bits >> 32) as u32,
        }
    }

    #[inline(always)]
    const fn to_bits(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }

    /// A node that is not linked yet.
    #[inline(always)]
    const fn of(node: TileNode) -> Self {
        let TileNode { x, y, kind } = node;
        Self {
            low: (x << 2 | kind as u32) << 24,
            high: y << 24,
        }
    }

    #[inline(always)]
    fn node(self) -> TileNode {
        TileNode {
            x: self.low >> 26,
            y: self.high >> 24 & (TILE_HEIGHT - 1),
            kind: Kind::from_bits(self.low >> 24),
        }
    }

    #[inline(always)]
    const fn next(self) -> u32 {
        self.low & FIELD
    }

    #[inline(always)]
    const fn first(self) -> u32 {
        self.low >> 12 & FIELD
    }

    #[inline(always)]
    const fn points(self) -> u32 {
        self.high & FIELD
    }

    #[inline(always)]
    const fn to_first(self) -> u32 {
        self.high >> 12 & FIELD
    }

    #[inline(always)]
    const fn has(self, flag: u32) -> bool {
        self.high & flag != 0
    }

    /// With other fields; sums wrap around at 4096.
    #[inline(always)]
    const fn with(self, next: u32, first: u32, points: u32, to_first: u32) -> Self {
        Self {
            low: self.low & REST | (first & FIELD) << 12 | next & FIELD,
            high: self.high & REST | (to_first & FIELD) << 12 | points & FIELD,
        }
    }

    #[inline(always)]
    const fn with_flags(self, flags: u32) -> Self {
        Self {
            high: self.high | flags,
            ..self
        }
    }

    /// After one more round, given the place of the node that `next` leads to.
    ///
    /// Sums wrap around only where they are not used: a tile's points are at most 4096, and a
    /// border has them all only if it is the only one, which takes fewer. Once the nodes up to
    /// `next` go around a closed border more than once, `first` and `to_first` stay as they are.
    #[inline(always)]
    const fn jumped(self, ahead: Self) -> Self {
        let (first, ahead_first) = (self.low & SECOND_FIELD, ahead.low & SECOND_FIELD);
        let is_lower = ahead_first < first;
        let first = if is_lower { ahead_first } else { first };
        let to_first = if is_lower {
            (self.high << 12).wrapping_add(ahead.high)
        } else {
            self.high
        };
        let points = self.high.wrapping_add(ahead.high) & FIELD;
        Self {
            low: self.low & REST | first | ahead.low & FIELD,
            high: self.high & REST | ahead.high & ENDED | to_first & SECOND_FIELD | points,
        }
    }
}

/// A tile, and the shared memory of the block of `THREADS` threads that works on it.
#[derive(Clone, Copy)]
struct Tile<'a, const THREADS: u32> {
    pixels: TilePixels<'a>,
    /// The tile's index.
    index: u32,
    /// The thread.
    t: u32,
    /// For each row, the nodes of each kind.
    nodes: SharedView<u64>,
    /// For each piece of a row, the index of its first W or E node, and in the high half that of
    /// its first N or S node.
    pieces: SharedView<u32>,
    /// For each node, its [`Place`].
    places: SharedView<u64>,
    /// The nodes at which fragments begin.
    heads: SharedView<u16>,
    entries: CrossingSet,
    exits: CrossingSet,
    /// For each row, the starts at W and then at E sides, in two words each.
    starts: SharedView<u32>,
    warp_sums: SharedView<u32>,
    /// Counts of [`found`].
    found: SharedView<u32>,
    /// The indices of the tile's first fragment, closed border, point and side.
    firsts: SharedView<u32>,
}

/// What a block counts, each an index into [`Tile::found`].
mod found {
    /// Closed borders.
    pub(super) const CLOSED: u32 = 0;
    /// Points.
    pub(super) const POINTS: u32 = 1;
    /// Fragments, as they are listed.
    pub(super) const HEADS: u32 = 2;
    /// The number of counts.
    pub(super) const COUNT: usize = 3;
}

const fn smaller(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

/// Declares the shared memory of a block, and gives its [`Tile`].
macro_rules! tile_memory {
    ($threads:expr, $most_nodes:expr, $image:expr, $approximation:expr) => {
        Tile::<{ $threads }> {
            pixels: TilePixels {
                rows: shared_array![u32; (HALO_ROWS * ROW_WORDS + 1) as usize],
                straight: shared_array![u64; (TILE_HEIGHT * 2) as usize],
                image: $image,
                approximation: $approximation,
                left: 0,
                top: 0,
            },
            index: 0,
            t: thread::thread_idx_x(),
            nodes: shared_array![u64; (TILE_HEIGHT * 4) as usize],
            pieces: shared_array![u32; $threads as usize],
            places: shared_array![u64; $most_nodes as usize],
            heads: shared_array![u16; smaller(MOST_CROSSINGS, $most_nodes) as usize],
            entries: CrossingSet {
                bits: shared_array![u32; CROSSING_WORDS as usize],
                before: shared_array![u32; CROSSING_WORDS as usize + 1],
            },
            exits: CrossingSet {
                bits: shared_array![u32; CROSSING_WORDS as usize],
                before: shared_array![u32; CROSSING_WORDS as usize + 1],
            },
            starts: shared_array![u32; (TILE_HEIGHT * 4) as usize],
            warp_sums: shared_array![u32; ($threads / WARP_SIZE) as usize],
            found: shared_array![u32; found::COUNT],
            firsts: shared_array![u32; 4],
        }
    };
}

impl<const THREADS: u32> Tile<'_, THREADS> {
    /// Pieces of a row, one thread each.
    const PIECES: u32 = THREADS / TILE_HEIGHT;
    /// Pixels of a piece.
    const PIECE: u32 = TILE_WIDTH / Self::PIECES;
    /// A piece's bits.
    const PIECE_MASK: u32 = u32::MAX >> (32 - Self::PIECE);

    /// The index of a node.
    #[inline(always)]
    fn index(&self, node: TileNode) -> u32 {
        let TileNode { x, y, kind } = node;
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
    fn place(&self, index: u32) -> Place {
        Place::from_bits(self.places.ld_relaxed(index, Block))
    }

    #[inline(always)]
    fn set(&self, index: u32, place: Place) {
        self.places.st_relaxed(index, place.to_bits(), Block);
    }

    /// Links a node with its successor, and notes where it enters and leaves the tile.
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
            self.heads.st(at, i as u16);
        }
        let points = u32::from(is_point);
        let (next, to_first) = match successor {
            Successor::Inside(node) => (self.index(node), points),
            Successor::Outside(crossing) => {
                self.exits.insert(crossing);
                flags |= ENDED;
                (i, crossing.to_bits())
            }
        };
        let place = place.with(next, next, points, to_first);
        self.set(i, place.with_flags(flags));
    }

    /// One round of pointer jumping for a node; whether it learned something.
    #[inline(always)]
    fn jump(&self, i: u32) -> bool {
        let place = self.place(i);
        if place.has(ENDED) || place.next() == i {
            return false;
        }
        let mut jumped = place.jumped(self.place(place.next()));
        if !jumped.has(ENDED) {
            let first = self.place(jumped.first());
            if !first.has(ENDED) && first.first() == jumped.first() {
                // That node has been all around its border: so it is the first of all, and this one
                // knows all that it needs to.
                jumped = jumped.with(i, jumped.first(), 0, jumped.to_first());
            }
        }
        self.set(i, jumped);
        // planted: fragment-learned
        jumped.has(ENDED) || jumped.first() != place.first()
    }

    /// Calls `work` for each index below `count`, one thread each.
    #[inline(always)]
    fn for_each(&self, count: u32, mut work: impl FnMut(u32)) {
        let mut i = self.t;
        while i < count {
            work(i);
            i += THREADS;
        }
    }

    /// A node's key: the order of nodes in the image; `u32::MAX` for N and S nodes.
    #[inline(always)]
    fn key(&self, node: TileNode) -> u32 {
        let TileNode { x, y, kind } = node;
        let raster = self.pixels.image.pixels.raster;
        match kind {
            Kind::W | Kind::E => {
                let pixel = raster.pixel(self.pixels.left + x, self.pixels.top + y);
                pixel << 1 | u32::from(kind == Kind::E)
            }
            Kind::N | Kind::S => u32::MAX,
        }
    }
}

impl<const THREADS: u32> Tile<'_, THREADS> {
    /// The tile with an index.
    #[inline(always)]
    fn at(self, index: u32) -> Self {
        let row_words = self.pixels.image.pixels.raster.row_words;
        let row = quotient(index, row_words);
        Self {
            pixels: TilePixels {
                left: (index - row * row_words) * TILE_WIDTH,
                top: row * TILE_HEIGHT,
                ..self.pixels
            },
            index,
            ..self
        }
    }

    /// Follows the tile's borders if it has at most `most_nodes` nodes. Otherwise it is listed.
    #[inline(always)]
    fn follow(&self, parts: Parts<'_>, most_nodes: u32) {
        self.for_each(HALO_ROWS, |row| self.pixels.load_row(row));
        self.for_each(TILE_HEIGHT * 4, |i| self.starts.st(i, 0));
        self.for_each(found::COUNT as u32, |i| self.found.st(i, 0));
        self.for_each(CROSSING_WORDS, |i| {
            self.entries.bits.st(i, 0);
            self.exits.bits.st(i, 0);
        });
        thread::sync_threads();

        let counts = self.list(parts, most_nodes);
        let node_count = counts & 0xffff;
        if node_count == 0 {
            return;
        }
        let side_count = counts >> 16;
        // planted: fragment-list-barrier
        thread::sync_threads();

        self.for_each(node_count, |i| self.link(i));
        // planted: fragment-link-barrier
        thread::sync_threads();
        self.count_crossings(parts, side_count);
        loop {
            let mut learned = false;
            self.for_each(node_count, |i| learned |= self.jump(i));
            // planted: fragment-rounds, fragment-own-rounds
            if !thread::sync_threads_or(learned) {
                break;
            }
        }

        self.number_fragments(parts);
        self.number_closed(node_count);
        // planted: fragment-found-barrier
        thread::sync_threads();
        if self.t < 2 {
            let (count, counter) = if self.t == 0 {
                (self.found.ld(found::CLOSED), counter::CLOSED)
            } else {
                (self.found.ld(found::POINTS), counter::POINTS)
            };
            let first = parts.counters.atomic_add(counter, count);
            self.firsts.st(tile_record::FIRST_CLOSED + self.t, first);
        }
        thread::sync_threads();
        self.write_record(parts);
        self.write_starts(parts);
        self.write_nodes(parts, node_count, side_count);
    }

    /// Lists the nodes. Returns their number, and in the high half that of W and E nodes; 0 if that
    /// is all there is to do for this block.
    #[inline(always)]
    fn list(&self, parts: Parts<'_>, most_nodes: u32) -> u32 {
        let t = self.t;
        let (y, piece) = (t / Self::PIECES, t % Self::PIECES);
        let mut in_row = self.pixels.nodes(y);
        let straight = self.pixels.straight(y);
        in_row.n &= !straight.0;
        in_row.s &= !straight.1;
        if piece == 0 {
            self.pixels
                .straight
                .st_vector(y * 2, [straight.0, straight.1]);
        }
        let mut kind = piece;
        while kind < 4 {
            let of_kind = match kind {
                0 => in_row.w,
                1 => in_row.e,
                2 => in_row.n,
                _ => in_row.s,
            };
            self.nodes.st(y * 4 + kind, of_kind);
            kind += Self::PIECES;
        }
        let own = |bits: u64| (bits >> (piece * Self::PIECE)) as u32 & Self::PIECE_MASK;
        let (w, e, n, s) = (own(in_row.w), own(in_row.e), own(in_row.n), own(in_row.s));
        let counts = (w.count_ones() + e.count_ones()) | (n.count_ones() + s.count_ones()) << 16;
        let sums = block::sum_of_threads(counts, self.warp_sums);
        let side_count = sums.total & 0xffff;
        let node_count = side_count + (sums.total >> 16);
        if node_count == 0 {
            self.write_nothing(parts);
            return 0;
        }
        // planted: fragment-few
        if node_count > most_nodes {
            if t == 0 {
                let at = parts.counters.atomic_add(counter::DENSE, 1);
                parts.dense.st(at, self.index);
            }
            return 0;
        }
        let first = sums.before + (side_count << 16);
        self.pieces.st(t, first);
        let list = |a: u32, b: u32, kind: Kind, mut at: u32| {
            let mut rest = a | b;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let x = piece * Self::PIECE + bit;
                let node = TileNode { x, y, kind };
                if a >> bit & 1 != 0 {
                    self.set(at, Place::of(node));
                    at += 1;
                }
                if b >> bit & 1 != 0 {
                    let kind = Kind::from_bits(kind as u32 + 1);
                    self.set(at, Place::of(TileNode { kind, ..node }));
                    at += 1;
                }
            }
        };
        list(w, e, Kind::W, first & 0xffff);
        list(n, s, Kind::N, first >> 16);
        side_count << 16 | node_count
    }

    /// Writes that the tile has no nodes.
    #[inline(always)]
    fn write_nothing(&self, parts: Parts<'_>) {
        self.write_starts(parts);
        if self.t == 0 {
            let at = self.index * tile_record::WORDS + tile_record::CLOSED;
            parts.tiles.st_vector(at, [0u32; 4]);
        }
    }

    /// Counts entries and exits, and takes the indices of the tile's fragments and sides.
    #[inline(always)]
    fn count_crossings(&self, parts: Parts<'_>, side_count: u32) {
        let (warp, lane) = (self.t / WARP_SIZE, self.t % WARP_SIZE);
        if warp == 0 {
            self.entries.count(lane);
            if lane < 2 {
                let (count, counter, first) = if lane == 0 {
                    let count = self.found.ld(found::HEADS);
                    (count, counter::FRAGMENTS, tile_record::FIRST_FRAGMENT)
                } else {
                    (side_count, counter::SIDES, tile_record::FIRST_SIDE)
                };
                self.firsts
                    .st(first, parts.counters.atomic_add(counter, count));
            }
        }
        if warp == THREADS / WARP_SIZE - 1 {
            self.exits.count(lane);
        }
    }

    /// Writes a record for each fragment. Its last node gets the fragment's index in the tile in
    /// the place of `first`, and where its points end in the place of `to_first`.
    #[inline(always)]
    fn number_fragments(&self, parts: Parts<'_>) {
        let first_fragment = self.firsts.ld(tile_record::FIRST_FRAGMENT);
        self.for_each(self.found.ld(found::HEADS), |head| {
            let i = u32::from(self.heads.ld(head));
            let place = self.place(i);
            let Some(entry) = self.pixels.links(place.node()).entry else {
                return;
            };
            let id = self.entries.rank(entry);
            let last = self.place(place.next());
            let exit = Crossing::from_bits(last.to_first());
            let neighbour = exit.neighbour();
            let exit = self.exits.rank(exit) - self.exits.first_of(neighbour);
            let points = place.points();
            let start = self.found.atomic_add(found::POINTS, points);
            // planted: fragment-lowest
            let lowest = self.place(place.first().min(i));
            // planted: fragment-record-start
            let before = points - lowest.points();
            let at = first_fragment as usize + id as usize;
            if at < parts.fragments.len() / 4 {
                let record = [
                    self.index,
                    self.key(lowest.node()),
                    points | before << 12 | exit << 24,
                    start & FIELD | neighbour << 12,
                ];
                parts.fragments.st_vector(at * 4, record);
            }
            let last = last.with(place.next(), id, last.points(), start + points);
            self.set(place.next(), last);
        });
    }

    /// Gives each closed border an index in the tile, after the fragments: its first node gets it
    /// in the place of `next`, and where its points end in the place of `to_first`.
    #[inline(always)]
    fn number_closed(&self, node_count: u32) {
        let fragments = self.found.ld(found::HEADS);
        self.for_each(node_count, |i| {
            let place = self.place(i);
            if place.has(ENDED) || place.first() != i {
                return;
            }
            let points = place.to_first();
            let id = fragments + self.found.atomic_add(found::CLOSED, 1);
            let start = self.found.atomic_add(found::POINTS, points);
            self.set(i, place.with(id, i, points, start + points));
            let TileNode { x, y, kind } = place.node();
            // planted: fragment-closed-side
            let side = u32::from(kind == Kind::E);
            let word = (y * 2 + side) * 2 + x / 32;
            // planted: fragment-starts-plain
            self.starts.atomic_or(word, 1 << (x % 32));
        });
    }

    #[inline(always)]
    fn write_record(&self, parts: Parts<'_>) {
        let t = self.t;
        let record = self.index * tile_record::WORDS;
        if t < 4 {
            parts.tiles.st(record + t, self.firsts.ld(t));
            let of = |neighbour| {
                if neighbour == 0 {
                    self.found.ld(found::HEADS)
                } else {
                    self.entries.first_of(neighbour)
                }
            };
            const { assert!(NEIGHBOURS == 2 * 4) };
            let pair = of(2 * t) | of(2 * t + 1) << 16;
            parts.tiles.st(record + tile_record::ENTRIES + t, pair);
            let count = if t < 2 { self.found.ld(t) } else { 0 };
            parts.tiles.st(record + tile_record::CLOSED + t, count);
        }
        self.for_each(TILE_HEIGHT, |y| {
            let first = self.pieces.ld(y * Self::PIECES) & 0xffff;
            parts.rows.st(self.index * TILE_HEIGHT + y, first as u16);
        });
    }

    /// Writes where closed borders start, and the number of starts.
    #[inline(always)]
    fn write_starts(&self, parts: Parts<'_>) {
        let raster = self.pixels.image.pixels.raster;
        self.for_each(TILE_HEIGHT, |y| {
            let image_y = self.pixels.top + y;
            if image_y >= raster.height {
                return;
            }
            let side = |side: u32| {
                let at = (y * 2 + side) * 2;
                u64::from(self.starts.ld(at)) | u64::from(self.starts.ld(at + 1)) << 32
            };
            let words = [side(0), side(1)];
            let at = (self.index * TILE_HEIGHT + y) as usize * 2;
            parts.starts.st_vector(at, words);
            let word = image_y * raster.row_words + self.pixels.left / 64;
            let count = words[0].count_ones() + words[1].count_ones();
            parts.starts_before.st(word, count);
        });
    }

    /// Writes the points, fragment by fragment; what each W and E node belongs to; and a record for
    /// each closed border.
    #[inline(always)]
    fn write_nodes(&self, parts: Parts<'_>, node_count: u32, side_count: u32) {
        let fragments = self.found.ld(found::HEADS);
        let first_closed = self.firsts.ld(tile_record::FIRST_CLOSED);
        let first_point = self.firsts.ld(tile_record::FIRST_POINT);
        let first_side = self.firsts.ld(tile_record::FIRST_SIDE);
        let fits = |first: u32, count: u32, len: usize| first as usize + count as usize <= len;
        // planted: fragment-points-fit
        let points_fit = fits(
            first_point,
            self.found.ld(found::POINTS),
            parts.points.len(),
        );
        let sides_fit = fits(first_side, side_count, parts.sides.len());
        let closed_fit = fits(
            first_closed,
            self.found.ld(found::CLOSED),
            parts.closed.len() / 2,
        );
        self.for_each(node_count, |i| {
            let place = self.place(i);
            let (id, end, left);
            if place.has(ENDED) {
                let last = self.place(place.next());
                (id, end) = (last.first(), last.to_first());
                left = place.points();
            } else if place.first() != i {
                let first = self.place(place.first());
                (id, end) = (first.next(), first.to_first());
                left = place.to_first();
            } else {
                (id, end) = (place.next(), place.to_first());
                left = place.points();
                if closed_fit {
                    let start = end.wrapping_sub(left) & FIELD;
                    let words = [self.key(place.node()), left | start << 12];
                    let at = first_closed + id - fragments;
                    parts.closed.st_vector(at as usize * 2, words);
                }
            }
            if place.has(POINT) && points_fit {
                let (x, y) = self.pixels.point(place.node());
                let at = end.wrapping_sub(left) & FIELD;
                parts.points.st(first_point + at, x | y << 7 | id << 13);
            }
            if i < side_count && sides_fit {
                parts.sides.st(first_side + i, id as u16);
            }
        });
    }
}

/// Finds the fragments and the closed borders of each tile with at most [`FEW_NODES`] nodes, their
/// points, and where closed borders start. Lists the other tiles.
///
/// Launch: one block per [tile](super::tiles). Reads 1/8 byte per pixel, once or twice; writes 20
/// bytes per word of the image, 16 per tile, 96 more per tile with nodes, 16 per fragment, 8 per
/// closed border, 2 per W or E node and 4 per point.
///
/// # Safety
///
/// `parts` has the lengths that its fields say for this image; those with capacities may have any.
/// Nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn follow_tiles(image: TracedImage<'_>, approximation: Approximation, parts: Parts<'_>) {
    let tile = tile_memory!(BLOCK, FEW_NODES, image, approximation);
    tile.at(thread::block_idx_x()).follow(parts, FEW_NODES);
}

/// What [`follow_tiles`](fn@follow_tiles) does, for the tiles that it has listed.
///
/// Launch: any number of persistent blocks.
///
/// # Safety
///
/// That of [`follow_tiles`](fn@follow_tiles), which has run before.
#[kernel(block = DENSE_BLOCK, min_blocks = 3)]
pub unsafe fn follow_dense_tiles(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
) {
    let tile = tile_memory!(DENSE_BLOCK, MOST_NODES, image, approximation);
    let count = parts.counters.ld(counter::DENSE);
    let mut i = thread::block_idx_x();
    while i < count {
        tile.at(parts.dense.ld(i)).follow(parts, MOST_NODES);
        // planted: fragment-dense-barrier
        thread::sync_threads();
        i += thread::grid_dim_x();
    }
}
