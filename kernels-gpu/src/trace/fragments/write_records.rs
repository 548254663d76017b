//! The records of a tile: its fragments and closed borders, their points, and where borders start.

use cuda_std::warp::WARP_SIZE;

use super::crossings::{Crossing, NEIGHBOURS};
use super::follow::{NEXT_TILE, STARTS_WORDS, Tile, found, keeps_pixels};
use super::place::{AFTER_LISTED, ENDED, FIELD, NodePlace, POINT};
use super::records::{ClosedRecord, FragmentRecord, NO_NODE, TilePoint, tile_record};
use super::source::Source;
use super::tile::TileNode;
use super::{Parts, counter};

/// The node of the last vertical side in the row before that of W or E node `i`, or [`NO_NODE`].
#[inline(always)]
const fn node_before(i: u32, place: NodePlace) -> u16 {
    if place.has(AFTER_LISTED) {
        (i - 1) as u16
    } else {
        NO_NODE
    }
}

impl<I: Source, const THREADS: u32> Tile<I, THREADS> {
    /// Writes that the tile has no nodes.
    #[inline(always)]
    pub(super) fn write_nothing(&self, parts: Parts<'_>) {
        self.for_each(I::TILE_HEIGHT, |y| self.write_starts_of_row(parts, y, 0));
        if self.t == 0 {
            let at = self.index * tile_record::WORDS + tile_record::CLOSED;
            parts.tiles.st_vector(at, [0u32; 4]);
        }
    }

    /// Counts entries and exits, and takes the indices of the tile's fragments and sides, and the
    /// next tile.
    #[inline(always)]
    pub(super) fn count_crossings(&self, parts: Parts<'_>, side_count: u32) {
        let (warp, lane) = (self.t / WARP_SIZE, self.t % WARP_SIZE);
        if warp == 0 {
            self.entries.count(lane);
            // Blocks that take tiles from the list take the next one here, where they wait for such
            // a number anyway.
            let taken = if keeps_pixels(THREADS) { 3 } else { 2 };
            if lane < taken {
                let (count, counter, first) = match lane {
                    0 => {
                        let count = self.found.ld(found::HEADS);
                        (count, counter::FRAGMENTS, tile_record::FIRST_FRAGMENT)
                    }
                    1 => (side_count, counter::SIDES, tile_record::FIRST_SIDE),
                    _ => (1, counter::TAKEN, NEXT_TILE),
                };
                self.firsts.st(first, parts.take(counter, count));
            }
        }
        if warp == THREADS / WARP_SIZE - 1 {
            self.exits.count(lane);
        }
    }

    /// Writes a record for each fragment. In its last node, `first` becomes the fragment's index in
    /// the tile, and `to_first` the end of its points.
    #[inline(always)]
    pub(super) fn number_fragments(&self, parts: Parts<'_>) {
        let first_fragment = self.firsts.ld(tile_record::FIRST_FRAGMENT);
        self.for_each(self.found.ld(found::HEADS), |head| {
            let head = self.heads.ld(head);
            let (i, entry) = (head & 0xffff, Crossing::from_bits(head >> 16));
            let place = self.place(i);
            let id = self.entries.rank(entry);
            let last = self.place(place.next());
            let exit = Crossing::from_bits(last.to_first());
            let neighbour = exit.neighbour(I::TILE_HEIGHT);
            let first = self.exits.first_of(neighbour, I::TILE_HEIGHT);
            let exit = self.exits.rank(exit) - first;
            let points = place.points();
            let start = self.found.atomic_add(found::POINTS, points);
            // planted: fragment-lowest
            let lowest_index = place.first().min(i);
            let lowest = self.place(lowest_index);
            // planted: fragment-record-start
            let before = points - lowest.points();
            let at = first_fragment as usize + id as usize;
            if at < parts.fragments.len() / FragmentRecord::WORDS {
                let record = FragmentRecord {
                    tile: self.index,
                    key: self.key(lowest.node()),
                    points,
                    points_before: before,
                    neighbour,
                    exit,
                    start,
                };
                record.store(parts.fragments, at);
                let before = node_before(lowest_index, lowest);
                parts.fragment_nodes_before.st(at, before);
            }
            let last = last.with(place.next(), id, last.points(), start + points);
            self.set(place.next(), last);
        });
    }

    /// Gives each closed border an index in the tile, after the fragments. In its first node,
    /// `next` becomes the index, and `to_first` the end of its points.
    #[inline(always)]
    pub(super) fn number_closed(&self, node_count: u32) {
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
            let TileNode { x, y, .. } = place.node();
            let word = y * STARTS_WORDS + x / 32;
            // planted: fragment-starts-plain
            self.starts.atomic_or(word, 1 << (x % 32));
        });
    }

    #[inline(always)]
    pub(super) fn write_record(&self, parts: Parts<'_>) {
        let t = self.t;
        let record = self.index * tile_record::WORDS;
        if t < 4 {
            parts.tiles.st(record + t, self.firsts.ld(t));
            let of = |neighbour| {
                if neighbour == 0 {
                    self.found.ld(found::HEADS)
                } else {
                    self.entries.first_of(neighbour, I::TILE_HEIGHT)
                }
            };
            const {
                assert!(NEIGHBOURS == 2 * 4);
                // The counts are copied one by one.
                assert!(tile_record::CLOSED + found::POINTS == tile_record::POINTS);
                assert!(found::CLOSED == 0 && found::POINTS == 1);
            };
            let pair = of(2 * t) | of(2 * t + 1) << 16;
            parts.tiles.st(record + tile_record::ENTRIES + t, pair);
            let count = if t < 2 { self.found.ld(t) } else { 0 };
            parts.tiles.st(record + tile_record::CLOSED + t, count);
        }
        self.for_each(I::TILE_HEIGHT, |y| {
            let first = self.pieces.ld(y * Self::PIECES) & 0xffff;
            parts.rows.st(self.index * I::TILE_HEIGHT + y, first as u16);
        });
    }

    /// Writes where closed borders start, and the number of starts.
    #[inline(always)]
    pub(super) fn write_starts(&self, parts: Parts<'_>) {
        self.for_each(I::TILE_HEIGHT, |y| {
            let [low, high] = self.starts.ld_vector(y * STARTS_WORDS);
            self.write_starts_of_row(parts, y, u64::from(low) | u64::from(high) << 32);
        });
    }

    /// Writes where closed borders start in a row, and their number, if it is a row of the image.
    #[inline(always)]
    fn write_starts_of_row(&self, parts: Parts<'_>, y: u32, starts: u64) {
        let raster = self.pixels.image.raster();
        let image_y = self.pixels.top + y;
        if image_y >= raster.height {
            return;
        }
        parts.starts.st(self.index * I::TILE_HEIGHT + y, starts);
        let word = image_y * raster.row_words + self.pixels.left / 64;
        parts.starts_before.st(word, starts.count_ones());
    }

    /// Writes the points, fragment by fragment; the fragment or closed border of each W and E node;
    /// and a record for each closed border.
    #[inline(always)]
    pub(super) fn write_nodes(&self, parts: Parts<'_>, node_count: u32, side_count: u32) {
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
            parts.closed.len() / ClosedRecord::WORDS,
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
                    let at = first_closed + id - fragments;
                    let record = ClosedRecord {
                        key: self.key(place.node()),
                        points: left,
                        start: end.wrapping_sub(left) & FIELD,
                    };
                    record.store(parts.closed, at);
                    parts.closed_nodes_before.st(at, node_before(i, place));
                }
            }
            if place.has(POINT) && points_fit {
                let (x, y) = self.pixels.point(place.node());
                let at = end.wrapping_sub(left) & FIELD;
                let point = TilePoint { x, y, part: id };
                parts.points.st(first_point + at, point.to_bits());
            }
            if i < side_count && sides_fit {
                parts.sides.st(first_side + i, id as u16);
            }
        });
    }
}
