//! Gathering: closed borders, linked fragments, in order of discovery, and where their points go.

use cuda_std::prelude::*;

use super::grid::{NONE, TileGrid};
use super::track::Fragment;
use crate::trace::components::NO_BORDER;

/// Where a fragment's nodes are on their border: node `i` to `rank + i - split`, or before `split` to `wrapped + i`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Position {
    /// The border.
    pub border: u32,
    /// The nodes before the border's start; 0 but for the fragment that it starts in.
    pub split: u32,
    /// The border's nodes before the fragment, or before `split`.
    pub rank: u32,
    /// The border's nodes before those that stand before its start.
    pub wrapped: u32,
    /// The code of the step into the first node.
    pub code_before: u32,
}

/// Where a fragment's turns are on their border; at first, how many there are from `split` on and before it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Turns {
    /// Of the nodes from `split` on.
    pub rank: u32,
    /// Of those before.
    pub wrapped: u32,
}

/// Marks the vertical sides at which borders are discovered, for a scan. One thread a fragment: reads 4 bytes, writes 4 a
/// border.
///
/// # Safety
///
/// `keys` has an element a fragment, as the last [`connect`](fn@connect) has left it; `discovered` has one a vertical side, all
/// 0; nothing else uses it meanwhile.
#[kernel(block = 256)]
pub unsafe fn mark_discoveries(keys: View<'_, u32>, discovered: ViewMut<'_, u32>, fragments: u32) {
    let fragment = thread::index_1d();
    if fragment >= fragments {
        return;
    }
    let key = keys.ldg(fragment);
    if key != NONE {
        discovered.st(key, 1);
    }
}

/// Lists the borders in their order of discovery: the fragment that each is discovered in. One thread a fragment: reads 4
/// bytes, reads and writes 4 a border.
///
/// # Safety
///
/// `keys` has an element a fragment; `discovered_before` is the exclusive prefix sums of what
/// [`mark_discoveries`](fn@mark_discoveries) has marked, and `leaders` has as many elements as their sum; nothing else uses
/// it meanwhile.
#[kernel(block = 256)]
pub unsafe fn list_borders(
    keys: View<'_, u32>,
    discovered_before: View<'_, u32>,
    leaders: ViewMut<'_, u32>,
    fragments: u32,
) {
    let fragment = thread::index_1d();
    if fragment >= fragments {
        return;
    }
    let key = keys.ldg(fragment);
    if key != NONE {
        leaders.st(discovered_before.ldg(key), fragment);
    }
}

/// Gives each fragment its place on its border, and each border its kind (0 outer, 1 hole) and its number of points,
/// one a step or one in all. One thread a border: reads 28 bytes a fragment and a step, writes 20 bytes a fragment and 5 a
/// border.
///
/// # Safety
///
/// `steps`, `fragments`, `next` and `keys` are as the last [`connect`](fn@connect) has left them, `leaders` as
/// [`list_borders`](fn@list_borders) has; `positions` has an element a fragment, `kinds` and `counts` one a border;
/// nothing else uses these meanwhile.
#[kernel(block = 256)]
pub unsafe fn rank_fragments(
    steps: View<'_, u8>,
    fragments: View<'_, Fragment>,
    next: View<'_, u32>,
    keys: View<'_, u32>,
    leaders: View<'_, u32>,
    positions: ViewMut<'_, Position>,
    kinds: ViewMut<'_, u8>,
    counts: ViewMut<'_, u32>,
    borders: u32,
    edges: u32,
) {
    let border = thread::index_1d();
    if border >= borders {
        return;
    }
    let leader = leaders.ldg(border);
    let hole = keys.ldg(leader) & 1;
    let whole = fragments.ldg(leader);
    // Along edges, a hole's ring starts where the step past its key ends.
    let split = whole
        .discovery_step
        // planted: rectangle-hole-start
        .wrapping_add(hole & edges)
        .min(whole.length);
    let mut rank = whole.length.wrapping_sub(split);
    let mut last = whole;
    let mut at = next.ldg(leader);
    while at != leader {
        let fragment = fragments.ldg(at);
        let position = Position {
            border,
            split: 0,
            rank,
            wrapped: 0,
            code_before: last_code(steps, &last),
        };
        positions.st(at, position);
        rank = rank.wrapping_add(fragment.length);
        last = fragment;
        at = next.ldg(at);
    }
    let position = Position {
        border,
        split,
        rank: 0,
        wrapped: rank,
        code_before: last_code(steps, &last),
    };
    positions.st(leader, position);
    kinds.st(border, hole as u8);
    counts.st(border, rank.wrapping_add(split).max(1));
}

/// The code of a fragment's last step; of one without steps, [`NONE`].
#[inline(always)]
fn last_code(steps: View<'_, u8>, fragment: &Fragment) -> u32 {
    if fragment.forward == 0 {
        return NONE;
    }
    let last = fragment
        .begin
        .wrapping_add(fragment.forward)
        .wrapping_sub(1);
    u32::from(steps.ldg(last))
}

/// The code of step `i` of a fragment.
#[inline(always)]
pub(super) fn code_of(steps: View<'_, u8>, fragment: &Fragment, i: u32) -> u32 {
    let backward = fragment.length.wrapping_sub(fragment.forward);
    let at = if i < backward {
        // Followed backward, so from their end.
        fragment.length.wrapping_sub(1).wrapping_sub(i)
    } else {
        i.wrapping_sub(backward)
    };
    u32::from(steps.ldg(fragment.begin.wrapping_add(at)))
}

/// Counts the nodes of each fragment where its border turns. One thread a fragment: reads 1 byte a step and 44 a fragment,
/// writes 8 a fragment.
///
/// # Safety
///
/// `positions` is as [`rank_fragments`](fn@rank_fragments) has left it; `turns` has an element a fragment; nothing else uses it
/// meanwhile.
#[kernel(block = 256)]
pub unsafe fn count_turns(
    steps: View<'_, u8>,
    fragments: View<'_, Fragment>,
    positions: View<'_, Position>,
    turns: ViewMut<'_, Turns>,
    count: u32,
) {
    let index = thread::index_1d();
    if index >= count {
        return;
    }
    let fragment = fragments.ldg(index);
    let position = positions.ldg(index);
    let mut found = Turns {
        rank: 0,
        wrapped: 0,
    };
    let mut before = position.code_before;
    let mut i = 0;
    while i < fragment.length {
        let code = code_of(steps, &fragment, i);
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

/// Finds what lies before each border: the one that passes the last vertical side before it in its row, or
/// [`NO_BORDER`]. One thread a border: reads 60 bytes, writes 4.
///
/// # Safety
///
/// The views are as the kernels before have left them; `previous_in_row` has an element a border, and nothing else uses it
/// meanwhile.
#[kernel(block = 256)]
pub unsafe fn find_previous_in_row(
    fragments: View<'_, Fragment>,
    keys: View<'_, u32>,
    leaders: View<'_, u32>,
    positions: View<'_, Position>,
    sides_before: View<'_, u32>,
    passed_by: View<'_, u32>,
    previous_in_row: ViewMut<'_, u32>,
    borders: u32,
    grid: TileGrid,
) {
    let border = thread::index_1d();
    if border >= borders {
        return;
    }
    let leader = leaders.ldg(border);
    let key = keys.ldg(leader);
    let (_, y) = grid.raster.split(fragments.ldg(leader).discovery_pixel);
    let first_in_row = sides_before.ldg(y.wrapping_mul(grid.raster.row_words));
    // planted: rectangle-row
    let found = if key > first_in_row {
        positions.ldg(passed_by.ldg(key - 1)).border
    } else {
        NO_BORDER
    };
    previous_in_row.st(border, found);
}

/// Turns each fragment's numbers of turns into those before it on its border; gives each border its number of points, one a
/// turn or one in all. One thread a border: reads 12 bytes a fragment, writes 8 a fragment and 4 a border.
///
/// # Safety
///
/// `turns` is as [`count_turns`](fn@count_turns) has left it, the rest as the kernels before have; `counts` has an element a
/// border; nothing else uses `turns` and `counts` meanwhile.
#[kernel(block = 256)]
pub unsafe fn rank_turns(
    next: View<'_, u32>,
    leaders: View<'_, u32>,
    turns: ViewMut<'_, Turns>,
    counts: ViewMut<'_, u32>,
    borders: u32,
) {
    let border = thread::index_1d();
    if border >= borders {
        return;
    }
    let leader = leaders.ldg(border);
    let own = turns.ld(leader);
    let mut rank = own.rank;
    let mut at = next.ldg(leader);
    while at != leader {
        let found = turns.ld(at);
        turns.st(at, Turns { rank, wrapped: 0 });
        rank = rank.wrapping_add(found.rank);
        at = next.ldg(at);
    }
    let ranks = Turns {
        rank: 0,
        wrapped: rank,
    };
    turns.st(leader, ranks);
    counts.st(border, rank.wrapping_add(own.wrapped).max(1));
}
