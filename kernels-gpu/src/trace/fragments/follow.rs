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

use super::crossings::{CROSSING_WORDS, CrossingSet, NEIGHBOURS};
use super::tile::{
    HALO_ROWS, MOST_NODES, NodeLinks, ROW_WORDS, Successor, TILE_HEIGHT, TILE_WIDTH, TileNode,
    TilePixels,
};
use super::{Parts, counter};
use crate::primitives::{block, quotient};
use crate::trace::node_bits::Kind;
use crate::trace::options::Approximation;
use crate::trace::pixels::TracedImage;

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Pieces of a row, one thread each.
const PIECES: u32 = BLOCK / TILE_HEIGHT;
/// Pixels of a piece.
const PIECE: u32 = TILE_WIDTH / PIECES;

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
/// | bits | field |
/// | --- | --- |
/// | 0–11 | `next`: that node; on a fragment in the end, the last one |
/// | 12–23 | `first`: the node with the lowest index of those after this one up to `next` |
/// | 24–35 | `points`: of the nodes from this one to before `next`; to the end, once it is reached |
/// | 36–47 | `to_first`: those of the nodes from this one to before `first` |
/// | 48–60 | the node |
/// | 61 | whether the end of a fragment is reached |
/// | 62 | whether the node has a point |
/// | 63 | whether a fragment begins at the node |
#[derive(Clone, Copy)]
struct Place(u64);

const FIELD: u32 = (1 << 12) - 1;
const ENDED: u64 = 1 << 61;
const POINT: u64 = 1 << 62;
const ENTRY: u64 = 1 << 63;

impl Place {
    /// A node that is not linked yet.
    #[inline(always)]
    const fn of(node: TileNode) -> Self {
        Self((node.to_bits() as u64) << 48)
    }

    #[inline(always)]
    const fn node(self) -> TileNode {
        TileNode::from_bits((self.0 >> 48) as u32)
    }

    #[inline(always)]
    const fn next(self) -> u32 {
        self.0 as u32 & FIELD
    }

    #[inline(always)]
    const fn first(self) -> u32 {
        (self.0 >> 12) as u32 & FIELD
    }

    #[inline(always)]
    const fn points(self) -> u32 {
        (self.0 >> 24) as u32 & FIELD
    }

    #[inline(always)]
    const fn to_first(self) -> u32 {
        (self.0 >> 36) as u32 & FIELD
    }

    #[inline(always)]
    const fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// With other fields; sums wrap around at 4096.
    #[inline(always)]
    const fn with(self, next: u32, first: u32, points: u32, to_first: u32) -> Self {
        let low = (next & FIELD) as u64 | ((first & FIELD) as u64) << 12;
        let high = (points & FIELD) as u64 | ((to_first & FIELD) as u64) << 12;
        Self(self.0 >> 48 << 48 | high << 24 | low)
    }

    /// After one more round, given the place of the node that `next` leads to.
    ///
    /// Sums wrap around only where they are not used: a tile's points are at most 4096, and a
    /// border has them all only if it is the only one, which takes fewer. Once the nodes up to
    /// `next` go around a closed border more than once, `first` and `to_first` stay as they are.
    #[inline(always)]
    const fn jumped(self, ahead: Self) -> Self {
        let points = self.points() + ahead.points();
        let (first, to_first) = if ahead.first() < self.first() {
            (ahead.first(), self.points() + ahead.to_first())
        } else {
            (self.first(), self.to_first())
        };
        let Self(bits) = self.with(ahead.next(), first, points, to_first);
        Self(bits | ahead.0 & ENDED)
    }
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Tile<'a> {
    pixels: TilePixels<'a>,
    /// For each row, the nodes of each kind.
    nodes: SharedView<u64>,
    /// For each piece of a row, the index of its first W or E node, and in the high half that of
    /// its first N or S node.
    pieces: SharedView<u32>,
    places: SharedView<u64>,
    entries: CrossingSet,
    exits: CrossingSet,
}

impl Tile<'_> {
    /// The index of a node.
    #[inline(always)]
    fn index(&self, node: TileNode) -> u32 {
        let TileNode { x, y, kind } = node;
        let first = self.pieces.ld(y * PIECES + x / PIECE);
        let (pair, first) = match kind {
            Kind::W | Kind::E => (0, first & 0xffff),
            Kind::N | Kind::S => (2, first >> 16),
        };
        let piece = |kind: u32| {
            let bits = self.nodes.ld(y * 4 + kind) >> (x / PIECE * PIECE);
            bits as u32 & ((1 << PIECE) - 1)
        };
        let (a, b) = (piece(pair), piece(pair + 1));
        let bit = x % PIECE;
        let below = (1 << bit) - 1;
        // The second of a pixel's two nodes comes after the first.
        // planted: fragment-index
        let second = matches!(kind, Kind::E | Kind::S) && a >> bit & 1 != 0;
        first + (a & below).count_ones() + (b & below).count_ones() + u32::from(second)
    }

    #[inline(always)]
    fn place(&self, index: u32) -> Place {
        Place(self.places.ld_relaxed(index, Block))
    }

    #[inline(always)]
    fn set(&self, index: u32, place: Place) {
        self.places.st_relaxed(index, place.0, Block);
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
            flags |= ENTRY;
        }
        let points = u32::from(is_point);
        let next = match successor {
            Successor::Inside(node) => self.index(node),
            Successor::Outside(crossing) => {
                self.exits.insert(crossing);
                flags |= ENDED;
                i
            }
        };
        let Place(bits) = place.with(next, next, points, points);
        self.set(i, Place(bits | flags));
    }

    /// One round of pointer jumping for a node; whether it learned something.
    #[inline(always)]
    fn jump(&self, i: u32) -> bool {
        let place = self.place(i);
        if place.has(ENDED) {
            return false;
        }
        let jumped = place.jumped(self.place(place.next()));
        self.set(i, jumped);
        jumped.has(ENDED) || jumped.first() != place.first()
    }
}

/// Finds the fragments and the closed borders of each tile, their points, and where closed borders
/// start.
///
/// Launch: one block per [tile](super::tiles). Reads 1/8 byte per pixel, once or twice; writes 24
/// bytes per word of the image, 48 per tile, 64 more per tile with nodes, 16 per fragment, 8 per
/// closed border, 2 per W or E node and 4 per point.
///
/// # Safety
///
/// `parts` has the lengths that its fields say for this image; the others may have any length.
/// Nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn follow_tiles(
    image: TracedImage<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
) {
    let rows = shared_array![u32; (HALO_ROWS * ROW_WORDS + 1) as usize];
    let nodes = shared_array![u64; (TILE_HEIGHT * 4) as usize];
    let pieces = shared_array![u32; BLOCK as usize];
    let places = shared_array![u64; MOST_NODES as usize];
    let entry_bits = shared_array![u32; CROSSING_WORDS as usize];
    let entries_before = shared_array![u32; CROSSING_WORDS as usize + 1];
    let exit_bits = shared_array![u32; CROSSING_WORDS as usize];
    let exits_before = shared_array![u32; CROSSING_WORDS as usize + 1];
    let starts = shared_array![u32; (TILE_HEIGHT * 4) as usize];
    let warp_sums = shared_array![u32; WARPS as usize];
    // Closed borders and points so far; then the indices of the tile's first ones, of each counter.
    let found = shared_array![u32; 2];
    let firsts = shared_array![u32; 4];

    let t = thread::thread_idx_x();
    let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
    let tile_index = thread::block_idx_x();
    let raster = image.pixels.raster;
    let tile_row = quotient(tile_index, raster.row_words);
    let column = tile_index - tile_row * raster.row_words;
    let tile = Tile {
        pixels: TilePixels {
            rows,
            image,
            approximation,
            left: column * TILE_WIDTH,
            top: tile_row * TILE_HEIGHT,
        },
        nodes,
        pieces,
        places,
        entries: CrossingSet {
            bits: entry_bits,
            before: entries_before,
        },
        exits: CrossingSet {
            bits: exit_bits,
            before: exits_before,
        },
    };
    if t < HALO_ROWS {
        tile.pixels.load_row(t);
    }
    tile.entries.clear(t);
    tile.exits.clear(t);
    if t < TILE_HEIGHT * 4 {
        starts.st(t, 0);
    }
    if t < 2 {
        found.st(t, 0);
    }
    thread::sync_threads();

    // The nodes, listed.
    let (y, piece) = (t / PIECES, t % PIECES);
    let in_row = tile.pixels.nodes(y);
    if piece < 4 {
        let of_kind = match piece {
            0 => in_row.w,
            1 => in_row.e,
            2 => in_row.n,
            _ => in_row.s,
        };
        nodes.st(y * 4 + piece, of_kind);
    }
    let own = |bits: u64| (bits >> (piece * PIECE)) as u32 & ((1 << PIECE) - 1);
    let (w, e, n, s) = (own(in_row.w), own(in_row.e), own(in_row.n), own(in_row.s));
    let counts = (w.count_ones() + e.count_ones()) | (n.count_ones() + s.count_ones()) << 16;
    let sums = block::sum_of_threads(counts, warp_sums);
    let side_count = sums.total & 0xffff;
    let node_count = side_count + (sums.total >> 16);
    let image_row = tile.pixels.top + y;
    let word = image_row * raster.row_words + column;
    let is_row = piece == 0 && image_row < raster.height;
    if node_count == 0 {
        if is_row {
            parts.starts.st_vector(word as usize * 2, [0u64; 2]);
            parts.starts_before.st(word, 0);
        }
        if t == 0 {
            let at = tile_index * tile_record::WORDS + tile_record::CLOSED;
            parts.tiles.st_vector(at, [0u32; 4]);
        }
        return;
    }
    let first = sums.before + (side_count << 16);
    pieces.st(t, first);
    let list = |a: u32, b: u32, kind: Kind, mut at: u32| {
        let mut rest = a | b;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let bits = TileNode {
                x: piece * PIECE + bit,
                y,
                kind,
            };
            if a >> bit & 1 != 0 {
                tile.set(at, Place::of(bits));
                at += 1;
            }
            if b >> bit & 1 != 0 {
                let kind = Kind::from_bits(kind as u32 + 1);
                tile.set(at, Place::of(TileNode { kind, ..bits }));
                at += 1;
            }
        }
    };
    list(w, e, Kind::W, first & 0xffff);
    list(n, s, Kind::N, first >> 16);
    // planted: fragment-list-barrier
    thread::sync_threads();

    // Their links.
    let mut i = t;
    while i < node_count {
        tile.link(i);
        i += BLOCK;
    }
    // planted: fragment-link-barrier
    thread::sync_threads();
    if warp == 0 {
        tile.entries.count(lane);
        if lane == 0 {
            let count = tile.entries.len();
            let first = parts.counters.atomic_add(counter::FRAGMENTS, count);
            firsts.st(tile_record::FIRST_FRAGMENT, first);
            let first = parts.counters.atomic_add(counter::SIDES, side_count);
            firsts.st(tile_record::FIRST_SIDE, first);
        }
    } else if warp == 1 {
        tile.exits.count(lane);
    }
    loop {
        let mut learned = false;
        let mut i = t;
        while i < node_count {
            learned |= tile.jump(i);
            i += BLOCK;
        }
        // planted: fragment-rounds
        if !thread::sync_threads_or(learned) {
            break;
        }
    }

    // What is found. The last node of a fragment gets its index in the place of `first`, the first
    // node of a closed border in the place of `next`; both get where its points end, in the place
    // of `to_first`.
    let first_fragment = firsts.ld(tile_record::FIRST_FRAGMENT);
    let fragment_count = tile.entries.len();
    let mut i = t;
    while i < node_count {
        let place = tile.place(i);
        if place.has(ENTRY) {
            let links = tile.pixels.links(place.node());
            if let Some(entry) = links.entry {
                let last = tile.place(place.next());
                let id = tile.entries.rank(entry);
                let points = place.points();
                let start = found.atomic_add(1u32, points);
                // planted: fragment-lowest
                let lowest = place.first().min(i);
                let before = points - tile.place(lowest).points();
                let mut exit = 0;
                let mut neighbour = 0;
                if let Successor::Outside(crossing) = tile.pixels.links(last.node()).successor {
                    neighbour = crossing.neighbour();
                    exit = tile.exits.rank(crossing) - tile.exits.first_of(neighbour);
                }
                let key = key(&tile.pixels, tile.place(lowest).node());
                let at = first_fragment + id;
                if (at as usize + 1) * 4 <= parts.fragments.len() {
                    let record = [
                        tile_index,
                        key,
                        points | before << 12 | exit << 24,
                        start & FIELD | neighbour << 12,
                    ];
                    parts.fragments.st_vector(at as usize * 4, record);
                }
                let ended = last.with(place.next(), id, last.points(), start + points);
                tile.set(place.next(), Place(ended.0));
            }
        } else if !place.has(ENDED) && place.first() == i {
            let points = place.to_first();
            let id = fragment_count + found.atomic_add(0u32, 1);
            let start = found.atomic_add(1u32, points);
            tile.set(i, place.with(id, i, points, start + points));
            let TileNode { x, y, kind } = place.node();
            let side = u32::from(kind == Kind::E);
            starts.atomic_or((y * 2 + side) * 2 + x / 32, 1 << (x % 32));
        }
        i += BLOCK;
    }
    // planted: fragment-found-barrier
    thread::sync_threads();
    if t < 2 {
        let counter = if t == 0 { counter::CLOSED } else { counter::POINTS };
        let first = parts.counters.atomic_add(counter, found.ld(t));
        firsts.st(tile_record::FIRST_CLOSED + t, first);
    }
    thread::sync_threads();
    let record = tile_index * tile_record::WORDS;
    if t < 4 {
        parts.tiles.st(record + t, firsts.ld(t));
        let of = |neighbour| {
            if neighbour == 0 {
                fragment_count
            } else {
                tile.entries.first_of(neighbour)
            }
        };
        const { assert!(NEIGHBOURS == 2 * 4) };
        let pair = of(2 * t) | of(2 * t + 1) << 16;
        parts.tiles.st(record + tile_record::ENTRIES + t, pair);
        let count = if t < 2 { found.ld(t) } else { 0 };
        parts.tiles.st(record + tile_record::CLOSED + t, count);
    }
    if piece == 0 {
        let row_first = pieces.ld(t) & 0xffff;
        parts.rows.st(tile_index * TILE_HEIGHT + y, row_first as u16);
    }
    if is_row {
        let side = |side: u32| {
            let at = (y * 2 + side) * 2;
            u64::from(starts.ld(at)) | u64::from(starts.ld(at + 1)) << 32
        };
        let words = [side(0), side(1)];
        parts.starts.st_vector(word as usize * 2, words);
        let count = words[0].count_ones() + words[1].count_ones();
        parts.starts_before.st(word, count);
    }

    // The points, fragment by fragment.
    let first_closed = firsts.ld(tile_record::FIRST_CLOSED);
    let first_point = firsts.ld(tile_record::FIRST_POINT);
    let first_side = firsts.ld(tile_record::FIRST_SIDE);
    let points_fit = (first_point + found.ld(1u32)) as usize <= parts.points.len();
    let sides_fit = (first_side + side_count) as usize <= parts.sides.len();
    let closed_fit = (first_closed + found.ld(0u32)) as usize * 2 <= parts.closed.len();
    let mut i = t;
    while i < node_count {
        let place = tile.place(i);
        let (id, end, left);
        if place.has(ENDED) {
            let last = tile.place(place.next());
            (id, end) = (last.first(), last.to_first());
            left = place.points();
        } else if place.first() != i {
            let first = tile.place(place.first());
            (id, end) = (first.next(), first.to_first());
            left = place.to_first();
        } else {
            (id, end) = (place.next(), place.to_first());
            left = place.points();
            if closed_fit {
                let start = end.wrapping_sub(left) & FIELD;
                let words = [key(&tile.pixels, place.node()), left | start << 12];
                let at = (first_closed + id - fragment_count) as usize * 2;
                parts.closed.st_vector(at, words);
            }
        }
        if place.has(POINT) && points_fit {
            let (x, y) = tile.pixels.point(place.node());
            let at = end.wrapping_sub(left) & FIELD;
            parts.points.st(first_point + at, x | y << 7 | id << 13);
        }
        if i < side_count && sides_fit {
            parts.sides.st(first_side + i, id as u16);
        }
        i += BLOCK;
    }
}

/// A node's key: the order of nodes in the image; `u32::MAX` for N and S nodes.
#[inline(always)]
fn key(pixels: &TilePixels<'_>, node: TileNode) -> u32 {
    let TileNode { x, y, kind } = node;
    let raster = pixels.image.pixels.raster;
    match kind {
        Kind::W | Kind::E => {
            let pixel = raster.pixel(pixels.left + x, pixels.top + y);
            pixel << 1 | u32::from(kind == Kind::E)
        }
        Kind::N | Kind::S => u32::MAX,
    }
}
