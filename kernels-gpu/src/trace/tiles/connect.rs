//! Connection: neighbouring rectangles are joined in pairs until one is left.

use cuda_std::prelude::*;

use super::grid::{CODES, NONE, Rectangle, Stage, TileGrid};
use super::track::Open;
use super::walk::moved;
use crate::primitives::quotient;

/// Two rectangles that are joined.
#[derive(Clone, Copy)]
struct Pair<'a> {
    grid: TileGrid,
    vertical: bool,
    first: Rectangle,
    second: Rectangle,
    /// The open borders of both, and where each one's begin.
    open: View<'a, Open>,
    first_begin: u32,
    second_begin: u32,
    /// Which of them comes in by each node at the side that they share; the pair's part begins at `entries_begin`.
    entries: ViewMut<'a, u32>,
    entries_begin: usize,
    next: ViewMut<'a, u32>,
}

impl Pair<'_> {
    #[inline(always)]
    const fn rectangle(&self, second: bool) -> Rectangle {
        if second { self.second } else { self.first }
    }

    /// The place among `entries` of a node of one of the two, at the side that they share.
    #[inline(always)]
    fn entry_at(&self, x: u32, y: u32, code: u32, second: bool) -> usize {
        let Rectangle {
            left,
            right,
            top,
            bottom,
        } = self.rectangle(second);
        let (along, length) = if self.vertical {
            (x.wrapping_sub(left), right.wrapping_sub(left))
        } else {
            (y.wrapping_sub(top), bottom.wrapping_sub(top))
        };
        let along = if second {
            length.wrapping_add(along)
        } else {
            along
        };
        self.entries_begin
            .wrapping_add(along as usize * CODES as usize + (code % CODES) as usize)
    }

    /// The place among `entries` of a border's first node, if it comes from the other of the two.
    #[inline(always)]
    fn entry_of(&self, open: &Open, second: bool) -> Option<usize> {
        let (x, y) = self.grid.raster.split(open.entry);
        let (from_x, from_y) = moved(x, y, open.entry_code >> 8);
        let code = open.entry_code & 0xff;
        self.rectangle(!second)
            .contains(from_x, from_y)
            .then(|| self.entry_at(x, y, code, second))
    }

    /// Follows a border that begins in one of the two, and links what continues it. Says whether it comes back to its
    /// start, whose entry has been taken.
    #[inline(always)]
    fn follow(&self, border: &mut Open, second: bool) -> bool {
        let mut second = second;
        loop {
            second = !second;
            let (x, y) = self.grid.raster.split(border.exit);
            if !self.rectangle(second).contains(x, y) {
                return false;
            }
            let at = self.entry_at(x, y, border.exit_code, second);
            let i = self.entries.ld(at);
            if i == NONE {
                return true;
            }
            self.entries.st(at, NONE);
            let next = self.open.ldg(i);
            self.next.st(border.last, next.first);
            border.last = next.last;
            border.exit = next.exit;
            border.exit_code = next.exit_code;
            // planted: rectangle-key
            if next.key < border.key {
                border.key = next.key;
                border.leader = next.leader;
            }
        }
    }
}

/// Joins pairs of rectangles: links the borders that go from one to the other. Those that stay open go to `joined`, those
/// that are closed get their key.
///
/// One thread a pair, in a block of its own: [`TileGrid::pairs`] blocks. Reads each open border 3 times, 32 bytes; writes as much
/// once, and 8 bytes an entry.
///
/// # Safety
///
/// `open` and `joined` have an element for each open fragment, `first_open` and `counts` one a rectangle: each rectangle's
/// open borders begin in `open` where `first_open` says for its first tile, and `counts` says there how many there are:
/// at first, what [`track_count`](fn@track_count) has counted. Stages follow each other as [`TileGrid::stages`] says, each with
/// `open` and `joined` exchanged. `entries` has at least [`entries_len`](TileGrid::entries_len) elements, all [`NONE`], which they
/// are again afterwards; `next` and `keys` are those of [`track_write`](fn@track_write). Nothing else uses any of them
/// meanwhile.
#[kernel(block = 1)]
pub unsafe fn connect(
    open: View<'_, Open>,
    joined: ViewMut<'_, Open>,
    first_open: View<'_, u32>,
    counts: ViewMut<'_, u32>,
    entries: ViewMut<'_, u32>,
    next: ViewMut<'_, u32>,
    keys: ViewMut<'_, u32>,
    grid: TileGrid,
    stage: Stage,
) {
    let index = thread::index_1d();
    if index >= quotient(grid.tiles(), 2 * grid.unit(stage)) {
        return;
    }
    let unit = grid.unit(stage);
    let first_tile = index * 2 * unit;
    let second_tile = first_tile + unit;
    let rectangle = |tile: u32| {
        let column = quotient(tile, grid.rows);
        let row = tile.wrapping_sub(column.wrapping_mul(grid.rows));
        if stage.vertical != 0 {
            grid.rectangle(column, row, 1, stage.across)
        } else {
            grid.rectangle(column, 0, stage.across, grid.rows)
        }
    };
    let pair = Pair {
        grid,
        vertical: stage.vertical != 0,
        first: rectangle(first_tile),
        second: rectangle(second_tile),
        open,
        first_begin: first_open.ldg(first_tile),
        second_begin: first_open.ldg(second_tile),
        entries,
        entries_begin: index as usize * grid.pair_entries(stage),
        next,
    };
    // The borders of the first, then those of the second.
    let first_count = counts.ld(first_tile);
    let count = first_count.wrapping_add(counts.ld(second_tile));
    let border = |i: u32| {
        let second = i >= first_count;
        let at = if second {
            pair.second_begin.wrapping_add(i.wrapping_sub(first_count))
        } else {
            pair.first_begin.wrapping_add(i)
        };
        (at, second)
    };

    let mut i = 0;
    while i < count {
        let (at, second) = border(i);
        if let Some(entry) = pair.entry_of(&open.ldg(at), second) {
            entries.st(entry, at);
        }
        i += 1;
    }

    // Those that come from outside: they leave again.
    let mut written = pair.first_begin;
    let mut i = 0;
    while i < count {
        let (at, second) = border(i);
        let mut from = open.ldg(at);
        if pair.entry_of(&from, second).is_none() {
            pair.follow(&mut from, second);
            joined.st(written, from);
            written = written.wrapping_add(1);
        }
        i += 1;
    }
    counts.st(first_tile, written.wrapping_sub(pair.first_begin));

    // What is left is closed.
    let mut i = 0;
    while i < count {
        let (at, second) = border(i);
        let mut from = open.ldg(at);
        if let Some(entry) = pair.entry_of(&from, second)
            && entries.ld(entry) != NONE
        {
            entries.st(entry, NONE);
            pair.follow(&mut from, second);
            next.st(from.last, from.first);
            keys.st(from.leader, from.key);
        }
        i += 1;
    }
}
