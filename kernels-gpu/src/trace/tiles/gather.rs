//! Gathering: closed borders, which are linked fragments, in order of discovery, and where their
//! points go.

use cuda_std::prelude::*;

use super::grid::NONE;
use super::track::Fragment;
use crate::trace::BLOCK;
use crate::trace::borders::NO_BORDER;
use crate::trace::options::Geometry;
use crate::trace::pixels::Raster;

/// All fragments and their steps.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Fragments<'a> {
    /// The code of each step, fragment by fragment.
    pub steps: View<'a, u8>,
    /// The fragments.
    pub fragments: View<'a, Fragment>,
}

impl Fragments<'_> {
    /// How many there are.
    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.fragments.len() as u32
    }

    /// The code of a fragment's last step; [`NONE`] if it has no steps.
    #[inline(always)]
    fn last_code(&self, fragment: &Fragment) -> u32 {
        if fragment.forward == 0 {
            return NONE;
        }
        let last = fragment
            .begin
            .wrapping_add(fragment.forward)
            .wrapping_sub(1);
        u32::from(self.steps.ldg(last))
    }

    /// The code of step `i` of a fragment.
    #[inline(always)]
    pub(super) fn code(&self, fragment: &Fragment, i: u32) -> u32 {
        let backward = fragment.length.wrapping_sub(fragment.forward);
        let at = if i < backward {
            // Followed backward, so from their end.
            fragment.length.wrapping_sub(1).wrapping_sub(i)
        } else {
            i.wrapping_sub(backward)
        };
        u32::from(self.steps.ldg(fragment.begin.wrapping_add(at)))
    }
}

/// Closed borders: circles of linked fragments.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct ClosedBorders<'a> {
    /// For each fragment, the one that continues it.
    pub next: View<'a, u32>,
    /// For each fragment, the key of the border that is discovered in it, or [`NONE`].
    #[len(self.next.len())]
    pub keys: View<'a, u32>,
    /// For each border, in order of discovery, the fragment in which it is discovered.
    pub leaders: View<'a, u32>,
}

impl ClosedBorders<'_> {
    /// How many there are.
    #[inline(always)]
    fn len(&self) -> u32 {
        self.leaders.len() as u32
    }
}

/// Which fragment passes each vertical side. The sizes are the number of words.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct PassedSides<'a> {
    /// For each word, the number of vertical sides before it.
    #[len(*sizes)]
    pub before: View<'a, u32>,
    /// For each vertical side, the fragment.
    pub passed_by: View<'a, u32>,
}

/// The positions of a fragment's nodes on their border: node `i` is at `rank + i - split`, or at
/// `wrapped + i` if `i` is less than `split`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Position {
    /// The border.
    pub border: u32,
    /// In the fragment in which the border starts, the number of nodes before the start; else 0.
    pub split: u32,
    /// The number of the border's nodes before the fragment, or before `split`.
    pub rank: u32,
    /// The number of the border's nodes before those `split` nodes.
    pub wrapped: u32,
    /// The code of the step into the first node.
    pub code_before: u32,
}

/// The positions of a fragment's turns on their border; at first, the numbers of turns from `split`
/// on and before it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Turns {
    /// Of the nodes from `split` on.
    pub rank: u32,
    /// Of those before.
    pub wrapped: u32,
}

/// Marks the vertical sides at which borders are discovered, for a scan. Launch: one thread per
/// fragment. Reads 4 bytes per fragment; writes 4 per border.
///
/// # Safety
///
/// `keys` has one element per fragment, as the last [`connect`](fn@super::connect::connect) left
/// them. `discovered` has one per vertical side, all 0; nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn mark_discoveries(keys: View<'_, u32>, discovered: ViewMut<'_, u32>) {
    let fragment = thread::index_1d();
    if fragment >= keys.len() as u32 {
        return;
    }
    let key = keys.ldg(fragment);
    if key != NONE {
        discovered.st(key, 1);
    }
}

/// Lists the borders in order of discovery. Launch: one thread per fragment, which reads 4 bytes;
/// reads and writes 4 per border.
///
/// # Safety
///
/// `keys` has one element per fragment. `discovered_before` is the scan of what
/// [`mark_discoveries`](fn@mark_discoveries) marked; the sum is the length of `leaders`, which gets
/// the fragment in which each border is discovered. Nothing else uses `leaders` meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn list_borders(
    keys: View<'_, u32>,
    discovered_before: View<'_, u32>,
    leaders: ViewMut<'_, u32>,
) {
    let fragment = thread::index_1d();
    if fragment >= keys.len() as u32 {
        return;
    }
    let key = keys.ldg(fragment);
    if key != NONE {
        leaders.st(discovered_before.ldg(key), fragment);
    }
}

/// Finds the position of each fragment on its border, and the kind of each border (0 outer, 1 hole)
/// and its number of points: one per step, or one in all. Launch: one thread per border; reads 28
/// bytes per fragment and a step, writes 20 bytes per fragment and 5 per border.
///
/// # Safety
///
/// `fragments` and `borders` are as the last [`connect`](fn@super::connect::connect) and
/// [`list_borders`](fn@list_borders) left them. `positions` has one element per fragment, `kinds`
/// and `lengths` have one per border; nothing else uses the three meanwhile.
#[kernel(
    block = BLOCK,
    len(
        borders = (),
        positions = fragments.fragments.len(),
        kinds = borders.leaders.len(),
        lengths = borders.leaders.len(),
    ),
)]
pub unsafe fn rank_fragments(
    fragments: Fragments<'_>,
    borders: ClosedBorders<'_>,
    positions: ViewMut<'_, Position>,
    kinds: ViewMut<'_, u8>,
    lengths: ViewMut<'_, u32>,
    geometry: Geometry,
) {
    let border = thread::index_1d();
    if border >= borders.len() {
        return;
    }
    let leader = borders.leaders.ldg(border);
    let hole = borders.keys.ldg(leader) & 1;
    let whole = fragments.fragments.ldg(leader);
    // Along edges, a hole's ring starts where the step past its key ends.
    let delay = if geometry == Geometry::Edges { hole } else { 0 };
    let split = whole
        .discovery_step
        // planted: rectangle-hole-start
        .wrapping_add(delay)
        .min(whole.length);
    let mut rank = whole.length.wrapping_sub(split);
    let mut last = whole;
    let mut at = borders.next.ldg(leader);
    while at != leader {
        let fragment = fragments.fragments.ldg(at);
        let position = Position {
            border,
            split: 0,
            rank,
            wrapped: 0,
            code_before: fragments.last_code(&last),
        };
        positions.st(at, position);
        rank = rank.wrapping_add(fragment.length);
        last = fragment;
        at = borders.next.ldg(at);
    }
    let position = Position {
        border,
        split,
        rank: 0,
        wrapped: rank,
        code_before: fragments.last_code(&last),
    };
    positions.st(leader, position);
    kinds.st(border, hole as u8);
    lengths.st(border, rank.wrapping_add(split).max(1));
}

/// Finds each border's previous border in its row: the one that passes the last vertical side
/// before the border's key, or [`NO_BORDER`]. Launch: one thread per border, which reads 60 bytes
/// and writes 4.
///
/// # Safety
///
/// `fragments`, `borders`, `positions` and `sides` are as the kernels before left them, for an
/// image of this size. `previous_in_row` has one element per border, and nothing else uses it
/// meanwhile.
#[kernel(
    block = BLOCK,
    len(
        borders = (),
        positions = fragments.len(),
        sides = raster.words(),
        previous_in_row = borders.leaders.len(),
    ),
)]
pub unsafe fn find_previous_in_row(
    fragments: View<'_, Fragment>,
    borders: ClosedBorders<'_>,
    positions: View<'_, Position>,
    sides: PassedSides<'_>,
    previous_in_row: ViewMut<'_, u32>,
    raster: Raster,
) {
    let border = thread::index_1d();
    if border >= borders.len() {
        return;
    }
    let leader = borders.leaders.ldg(border);
    let key = borders.keys.ldg(leader);
    let (_, y) = raster.split(fragments.ldg(leader).discovery_pixel);
    let first_in_row = sides.before.ldg(y.wrapping_mul(raster.row_words));
    // planted: rectangle-row
    let found = if key > first_in_row {
        positions.ldg(sides.passed_by.ldg(key - 1)).border
    } else {
        NO_BORDER
    };
    previous_in_row.st(border, found);
}

/// Counts the nodes of each fragment at which its border turns. Launch: one thread per fragment,
/// which reads 44 bytes and 1 per step, and writes 8.
///
/// # Safety
///
/// `positions` is as [`rank_fragments`](fn@rank_fragments) left it. `turns` has one element per
/// fragment, and nothing else uses it meanwhile.
#[kernel(
    block = BLOCK,
    len(positions = fragments.fragments.len(), turns = fragments.fragments.len()),
)]
pub unsafe fn count_turns(
    fragments: Fragments<'_>,
    positions: View<'_, Position>,
    turns: ViewMut<'_, Turns>,
) {
    let index = thread::index_1d();
    if index >= fragments.len() {
        return;
    }
    let fragment = fragments.fragments.ldg(index);
    let position = positions.ldg(index);
    let mut found = Turns {
        rank: 0,
        wrapped: 0,
    };
    let mut before = position.code_before;
    let mut i = 0;
    while i < fragment.length {
        let code = fragments.code(&fragment, i);
        // planted: rectangle-turn
        let turn = u32::from(code != before);
        if i < position.split {
            found.wrapped = found.wrapped.wrapping_add(turn);
        } else {
            found.rank = found.rank.wrapping_add(turn);
        }
        before = code;
        i += 1;
    }
    turns.st(index, found);
}

/// Replaces each fragment's numbers of turns by the numbers of turns before them on its border;
/// gives each border its number of points: one per turn, or one in all. Launch: one thread per
/// border; reads 12 bytes per fragment, writes 8 per fragment and 4 per border.
///
/// # Safety
///
/// `turns` is as [`count_turns`](fn@count_turns) left it, `borders` as the kernels before did.
/// `lengths` has one element per border. Nothing else uses `turns` and `lengths` meanwhile.
#[kernel(
    block = BLOCK,
    len(borders = (), turns = borders.next.len(), lengths = borders.leaders.len()),
)]
pub unsafe fn rank_turns(
    borders: ClosedBorders<'_>,
    turns: ViewMut<'_, Turns>,
    lengths: ViewMut<'_, u32>,
) {
    let border = thread::index_1d();
    if border >= borders.len() {
        return;
    }
    let leader = borders.leaders.ldg(border);
    let own = turns.ld(leader);
    let mut rank = own.rank;
    let mut at = borders.next.ldg(leader);
    while at != leader {
        let found = turns.ld(at);
        turns.st(at, Turns { rank, wrapped: 0 });
        rank = rank.wrapping_add(found.rank);
        at = borders.next.ldg(at);
    }
    let ranks = Turns {
        rank: 0,
        wrapped: rank,
    };
    turns.st(leader, ranks);
    lengths.st(border, rank.wrapping_add(own.wrapped).max(1));
}
