//! Connection: neighbouring rectangles are joined in pairs until one is left.

use cuda_std::prelude::*;

use super::grid::{CODES, NONE, Pairs, Rectangle, Stage, TileGrid};
use super::track::Open;
use super::walk::moved;
use crate::primitives::quotient;
use crate::trace::pixels::Raster;

/// Two rectangles to join.
#[derive(Clone, Copy)]
struct Pair<'a> {
    raster: Raster,
    pairs: Pairs,
    first: Rectangle,
    second: Rectangle,
    /// The open borders of all rectangles, and the index of the first one of each of the two.
    open: View<'a, Open>,
    first_begin: u32,
    second_begin: u32,
    /// For each node at the side that the two share, the open border that enters there; the pair's
    /// part begins at `entries_begin`.
    entries: ViewMut<'a, u32>,
    entries_begin: usize,
    next: ViewMut<'a, u32>,
}

impl Pair<'_> {
    #[inline(always)]
    const fn rectangle(&self, second: bool) -> Rectangle {
        if second { self.second } else { self.first }
    }

    /// The index in `entries` of a node of one of the two, at the side that they share.
    #[inline(always)]
    fn entry_at(&self, x: u32, y: u32, code: u32, second: bool) -> usize {
        let Rectangle {
            left,
            right,
            top,
            bottom,
        } = self.rectangle(second);
        let (along, length) = match self.pairs {
            Pairs::OneAboveTheOther => (x.wrapping_sub(left), right.wrapping_sub(left)),
            Pairs::SideBySide => (y.wrapping_sub(top), bottom.wrapping_sub(top)),
        };
        let along = if second {
            length.wrapping_add(along)
        } else {
            along
        };
        self.entries_begin
            .wrapping_add(along as usize * CODES as usize + (code % CODES) as usize)
    }

    /// The index in `entries` of a border's first node, if the border comes from the other
    /// rectangle.
    #[inline(always)]
    fn entry_of(&self, open: &Open, second: bool) -> Option<usize> {
        let (x, y) = self.raster.split(open.entry);
        let (from_x, from_y) = moved(x, y, open.entry_code >> 8);
        let code = open.entry_code & 0xff;
        self.rectangle(!second)
            .contains(from_x, from_y)
            .then(|| self.entry_at(x, y, code, second))
    }

    /// Follows a border that begins in one of the two, and links the fragments that continue it.
    /// Returns whether the border comes back to its start, whose entry has been taken before.
    #[inline(always)]
    fn follow(&self, border: &mut Open, second: bool) -> bool {
        let mut second = second;
        loop {
            second = !second;
            let (x, y) = self.raster.split(border.exit);
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
            self.next.st(border.last_fragment, next.first_fragment);
            border.last_fragment = next.last_fragment;
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

/// The open borders of all rectangles. The sizes are the number of tiles.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct OpenLists<'a> {
    /// The open borders of the rectangles so far.
    pub open: View<'a, Open>,
    /// Gets the open borders of the joined rectangles.
    #[len(self.open.len())]
    pub joined: ViewMut<'a, Open>,
    /// For the first tile of each rectangle, the index of the rectangle's first open border.
    #[len(*sizes)]
    pub first: View<'a, u32>,
    /// For each such tile, the number of the rectangle's open borders.
    #[len(*sizes)]
    pub counts: ViewMut<'a, u32>,
}

/// How fragments are linked, and which borders are closed.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct LinksMut<'a> {
    /// For each fragment, the one that continues it.
    pub next: ViewMut<'a, u32>,
    /// For each fragment, the key of the closed border that is discovered in it, or [`NONE`].
    #[len(self.next.len())]
    pub keys: ViewMut<'a, u32>,
}

/// Joins pairs of rectangles: links the borders that go from one to the other. Borders that stay
/// open go to the joined rectangle's list; closed ones get their key.
///
/// ```text
/// for each open border that enters from the other rectangle: note it at its entry
/// for each open border that enters from elsewhere:
///     follow it from entry to entry until it leaves the pair; list it as open
/// for each open border whose entry has not been taken:
///     follow it back to its start; link its ends, and note its key at its leader
/// ```
///
/// Launch: one block of one thread per pair. Reads each open border 3 times, 32 bytes; writes as
/// much once, and 8 bytes per entry.
///
/// # Safety
///
/// | argument | contents |
/// | --- | --- |
/// | `lists`, `links` | at the first stage, the results of [`track_write`](fn@super::track::track_write); then those of the previous stage, with `open` and `joined` exchanged |
/// | `entries` | at least [`entries_len`](TileGrid::entries_len) elements, all [`NONE`], before and after |
/// | `stage` | each of [`TileGrid::stages`], in order |
///
/// Nothing else uses the views meanwhile.
#[kernel(block = 1, len(lists = grid.tiles(), links = ()))]
pub unsafe fn connect(
    lists: OpenLists<'_>,
    links: LinksMut<'_>,
    entries: ViewMut<'_, u32>,
    raster: Raster,
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
        let (column, row) = grid.split(tile);
        match stage.pairs {
            Pairs::OneAboveTheOther => grid.rectangle(raster, column, row, 1, stage.across),
            Pairs::SideBySide => grid.rectangle(raster, column, 0, stage.across, grid.rows),
        }
    };
    let open = lists.open;
    let pair = Pair {
        raster,
        pairs: stage.pairs,
        first: rectangle(first_tile),
        second: rectangle(second_tile),
        open,
        first_begin: lists.first.ldg(first_tile),
        second_begin: lists.first.ldg(second_tile),
        entries,
        entries_begin: index as usize * grid.pair_entries(raster, stage),
        next: links.next,
    };
    // The borders of the first, then those of the second.
    let first_count = lists.counts.ld(first_tile);
    let count = first_count.wrapping_add(lists.counts.ld(second_tile));
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

    // Borders that enter from outside the pair leave it again.
    let mut written = pair.first_begin;
    let mut i = 0;
    while i < count {
        let (at, second) = border(i);
        let mut from = open.ldg(at);
        if pair.entry_of(&from, second).is_none() {
            pair.follow(&mut from, second);
            lists.joined.st(written, from);
            written = written.wrapping_add(1);
        }
        i += 1;
    }
    lists
        .counts
        .st(first_tile, written.wrapping_sub(pair.first_begin));

    // The remaining borders are closed.
    let mut i = 0;
    while i < count {
        let (at, second) = border(i);
        let mut from = open.ldg(at);
        if let Some(entry) = pair.entry_of(&from, second)
            && entries.ld(entry) != NONE
        {
            entries.st(entry, NONE);
            pair.follow(&mut from, second);
            links.next.st(from.last_fragment, from.first_fragment);
            links.keys.st(from.leader, from.key);
        }
        i += 1;
    }
}
