//! The list of a tile's nodes.

use super::follow::{DENSE_BLOCK, Tile, indices_of, keeps_pixels};
use super::place::{AFTER_LISTED, NodePlace};
use super::source::Source;
use super::tile::{TILE_HEIGHT, TILE_WIDTH, TileNode, after_listed};
use super::{Parts, counter};
use crate::trace::node_bits::{Around, Kind};

impl<I: Source, const THREADS: u32> Tile<I, THREADS> {
    /// Stores the neighbourhoods of row `y`, if they are kept; this is thread `part` of the row's.
    #[inline(always)]
    fn keep_neighbourhoods(&self, around: Around, (y, part): (u32, u32)) {
        let keep = |group: u32| {
            let bytes = around.neighbourhoods(group * 8);
            let first = y * TILE_WIDTH + group * 8;
            let kept = self.pixels.neighbourhoods;
            kept.st_vector(first, bytes.to_le_bytes());
        };
        if !I::IS_BINARY {
            let mut group = part;
            while group < TILE_WIDTH / 8 {
                keep(group);
                group += Self::ROW_THREADS;
            }
        } else if keeps_pixels(THREADS) {
            const { assert!(TILE_WIDTH / 8 * TILE_HEIGHT == DENSE_BLOCK) };
            keep(part);
        }
    }

    /// Lists the nodes. Returns their number, and in the high half that of W and E nodes; 0 if the
    /// block has nothing more to do for this tile.
    #[inline(always)]
    pub(super) fn list(&self, parts: Parts<'_>, most_nodes: u32) -> u32 {
        let t = self.t;
        let (y, part) = (t / Self::ROW_THREADS, t % Self::ROW_THREADS);
        let around = self.pixels.around(y);
        let (in_row, straight) = self.pixels.nodes(around, y);
        let (after_w, after_e) = after_listed(in_row, straight);
        self.keep_neighbourhoods(around, (y, part));
        if !keeps_pixels(THREADS) {
            let mut kind = part;
            while kind < 4 {
                let of_kind = match kind {
                    0 => in_row.w,
                    1 => in_row.e,
                    2 => in_row.n,
                    _ => in_row.s,
                };
                self.nodes.st(y * 4 + kind, of_kind);
                kind += Self::ROW_THREADS;
            }
        }
        if part == 0 {
            self.pixels.keep_straight(y, straight);
        }
        let own = |bits: u64| bits >> (part * Self::OWN) & Self::OWN_MASK;
        let (w, e, n, s) = (own(in_row.w), own(in_row.e), own(in_row.n), own(in_row.s));
        let count = |mask: u64| {
            let of = |a: u64, b: u64| (a & mask).count_ones() + (b & mask).count_ones();
            of(w, e) | of(n, s) << 16
        };
        let sums = self.sum(count(u64::MAX));
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
        if Self::PIECES == Self::ROW_THREADS {
            self.pieces.st(t, first);
        } else {
            let second = first + count(u64::from(Self::PIECE_MASK));
            self.pieces.st_vector(t * 2, [first, second]);
        }
        let list = |(a, b): (u32, u32), after: (u32, u32), x: u32, kind: Kind, mut at: u32| {
            let mut rest = a | b;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let x = x + bit;
                let has_first = a >> bit & 1;
                if keeps_pixels(THREADS) {
                    let pixel = y * TILE_WIDTH + x;
                    let index = at.wrapping_sub(has_first ^ 1) as u16;
                    self.indices.st(indices_of(kind) + pixel, index);
                }
                let mut set = |kind: Kind, after: u32| {
                    let place = NodePlace::of(TileNode { x, y, kind });
                    let flags = (after >> bit & 1) * AFTER_LISTED;
                    self.set(at, place.with_flags(flags));
                    at += 1;
                };
                if has_first != 0 {
                    set(kind, after.0);
                }
                if b >> bit & 1 != 0 {
                    set(Kind::from_bits(kind as u32 + 1), after.1);
                }
            }
            at
        };
        let (mut at, mut at_others) = (first & 0xffff, first >> 16);
        let mut x = part * Self::OWN;
        let end = x + Self::OWN;
        while x < end {
            let piece = |bits: u64| (bits >> x) as u32 & Self::PIECE_MASK;
            let after = (piece(after_w), piece(after_e));
            at = list((piece(in_row.w), piece(in_row.e)), after, x, Kind::W, at);
            let others = (piece(in_row.n), piece(in_row.s));
            at_others = list(others, (0, 0), x, Kind::N, at_others);
            x += Self::PIECE;
        }
        side_count << 16 | node_count
    }
}
