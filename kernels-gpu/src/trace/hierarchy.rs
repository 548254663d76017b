//! From each border's neighbour in its row to the order and the hierarchy of the result.
//!
//! The result is the pre-order walk of a forest whose siblings stand in reverse order of discovery. The retrieval says
//! which borders are in it, and which of their parents count.
//!
//! | kernel | does | bytes a border |
//! | --- | --- | --- |
//! | [`link_parents`](fn@link_parents) | a parent, or a sibling who knows it | 5 read, 4 written |
//! | [`resolve_parents`](fn@resolve_parents) | the parent, by pointer jumping | 8 a jump |
//! | [`choose_parents`](fn@choose_parents) | who counts as parent: keys to sort by | 5 read, 8 written |
//! | [`link_siblings`](fn@link_siblings) | first children, next and previous siblings, from the sorted keys | 16 read, 20 written |
//! | [`link_euler_tour`](fn@link_euler_tour), [`place_by_rank`](fn@place_by_rank) | places in the walk: the list of the steps down to and up from each border, ranked by pointer jumping | 32 a jump |
//! | [`write_rows`](fn@write_rows) | kinds, rows of the hierarchy and lengths, by place | 30 read, 21 written |
//!
//! Between `choose_parents` and `link_siblings` the borders are [sorted](crate::primitives::sort), last discovered first.
//! Where the retrieval has no levels, the sorted order is the result's, and the tour is left out. All have one thread per
//! border, `link_euler_tour` and `jump_tour` two, and blocks of 256;
//! `rank_tour` has one block.

use cuda_std::prelude::*;

use crate::primitives::list_ranking::{END, element, weight};

pub use super::components::NO_BORDER;

/// Set in a link to a sibling. A link without it is a parent, or [`NO_PARENT`].
const SIBLING: u32 = 1 << 31;
/// Directly inside the frame.
const NO_PARENT: u32 = SIBLING - 1;

/// Which borders are kept, and which of their parents count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Levels {
    /// Borders without a parent.
    External = 0,
    /// All borders, without parents.
    List = 1,
    /// Outer borders without parents, holes with theirs.
    Ccomp = 2,
    /// All borders and parents.
    Tree = 3,
}

/// The largest key of `count` borders.
#[must_use]
pub const fn largest_key(count: u32) -> u32 {
    left_out(count)
}

/// The key of borders without a parent that counts; the others' is their parent.
const fn top(count: u32) -> u32 {
    count
}

/// The key of borders that are not kept.
const fn left_out(count: u32) -> u32 {
    count + 1
}

/// Links each border to the one before it in its row: to a sibling, if they are of one kind, else to its parent.
///
/// # Safety
///
/// All views have `count` elements, fewer than 2³¹ - 1; an element of `previous_in_row` is a border discovered earlier, or
/// [`NO_BORDER`]; nothing else uses `links` meanwhile.
#[kernel(block = 256)]
pub unsafe fn link_parents(
    kinds: View<'_, u8>,
    previous_in_row: View<'_, u32>,
    links: ViewMut<'_, u32>,
    count: u32,
) {
    let i = thread::index_1d();
    if i >= count {
        return;
    }
    let before = previous_in_row.ldg(i);
    let link = if before == NO_BORDER {
        NO_PARENT
        // planted: siblings-parents
    } else if kinds.ldg(before) == kinds.ldg(i) {
        SIBLING | before
    } else {
        before
    };
    links.st(i, link);
}

/// Replaces links to siblings by their parents.
///
/// # Safety
///
/// [`link_parents`](fn@link_parents) has run; nothing else uses `links` meanwhile.
#[kernel(block = 256)]
pub unsafe fn resolve_parents(links: ViewMut<'_, u32>, count: u32) {
    let i = thread::index_1d();
    if i >= count {
        return;
    }
    let mut link = links.ld_relaxed(i, Device);
    while link & SIBLING != 0 {
        // The sibling's link, however far it has come: to one discovered before it, or to the parent.
        link = links.ld_relaxed(link & !SIBLING, Device);
        // planted: links-plain-store
        links.st_relaxed(i, link, Device);
    }
}

/// Gives each border a key to sort by: its parent, if that counts. The last discovered border comes first.
///
/// # Safety
///
/// [`resolve_parents`](fn@resolve_parents) has run; `levels` is a [`Levels`]; `keys` and `borders` have `count` elements,
/// which nothing else uses meanwhile.
#[kernel(block = 256)]
pub unsafe fn choose_parents(
    kinds: View<'_, u8>,
    links: View<'_, u32>,
    keys: ViewMut<'_, u32>,
    borders: ViewMut<'_, u32>,
    count: u32,
    levels: u32,
) {
    let i = thread::index_1d();
    if i >= count {
        return;
    }
    let border = count - 1 - i;
    let parent = links.ldg(border);
    // planted: ccomp-parents
    let counts =
        levels == Levels::Tree as u32 || levels == Levels::Ccomp as u32 && kinds.ldg(border) != 0;
    let key = if levels == Levels::External as u32 && parent != NO_PARENT {
        left_out(count)
    } else if counts && parent != NO_PARENT {
        parent
    } else {
        top(count)
    };
    keys.st(i, key);
    borders.st(i, border);
}

/// Links each border with its siblings, each parent with its first child; and gives places for the case that no border has
/// a parent. `first_children` has one element more than there are borders, for those without a parent.
///
/// # Safety
///
/// `keys` and `borders` are those of [`choose_parents`](fn@choose_parents), sorted; `parents`, `next`, `previous` and
/// `places` have `count` elements, `first_children` has `count + 1`, all [`NO_BORDER`], `kept` has one, which is 0; nothing
/// else uses these meanwhile.
#[kernel(block = 256)]
pub unsafe fn link_siblings(
    keys: View<'_, u32>,
    borders: View<'_, u32>,
    parents: ViewMut<'_, u32>,
    first_children: ViewMut<'_, u32>,
    next: ViewMut<'_, u32>,
    previous: ViewMut<'_, u32>,
    places: ViewMut<'_, u32>,
    kept: ViewMut<'_, u32>,
    count: u32,
) {
    let i = thread::index_1d();
    if i >= count {
        return;
    }
    let (key, border) = (keys.ldg(i), borders.ldg(i));
    let after = if i + 1 < count {
        keys.ldg(i + 1)
    } else {
        left_out(count)
    };
    if key == left_out(count) {
        places.st(border, NO_BORDER);
        return;
    }
    if after == left_out(count) {
        kept.st(0u32, i + 1);
    }
    parents.st(border, if key == top(count) { NO_BORDER } else { key });
    let mut sibling = NO_BORDER;
    if after == key {
        sibling = borders.ldg(i + 1);
    }
    next.st(border, sibling);
    // planted: first-sibling
    if i > 0 && keys.ldg(i - 1) == key {
        previous.st(border, borders.ldg(i - 1));
    } else {
        previous.st(border, NO_BORDER);
        first_children.st(key, border);
    }
    places.st(border, i);
}

/// Makes the tour: step `2 b` goes down to border `b`, step `2 b + 1` up from it.
///
/// # Safety
///
/// [`link_siblings`](fn@link_siblings) has run, for [`Levels`] that keep all borders; `tour` has `2 * count` elements, which
/// nothing else uses meanwhile; the launch has as many threads.
#[kernel(block = 256)]
pub unsafe fn link_euler_tour(
    parents: View<'_, u32>,
    first_children: View<'_, u32>,
    next: View<'_, u32>,
    tour: ViewMut<'_, u64>,
    count: u32,
) {
    let i = thread::index_1d();
    let border = i / 2;
    if border >= count {
        return;
    }
    let is_down = i.is_multiple_of(2);
    let (then, parent) = if is_down {
        (first_children.ldg(border), border)
    } else {
        (next.ldg(border), parents.ldg(border))
    };
    let after = if then != NO_BORDER {
        2 * then
    } else if parent != NO_BORDER {
        2 * parent + 1
    } else {
        END
    };
    tour.st(i, element(after, u32::from(is_down)));
}

/// Places the borders in the order of the tour.
///
/// # Safety
///
/// `tour` is a tour whose steps all jump past its end; `places` has `count` elements, which nothing else uses
/// meanwhile.
#[kernel(block = 256)]
pub unsafe fn place_by_rank(tour: View<'_, u64>, places: ViewMut<'_, u32>, count: u32) {
    let i = thread::index_1d();
    if i < count {
        // From the step down to a border on, the tour goes down to it and to all after it.
        places.st(i, count - weight(tour.ldg(2 * i)));
    }
}

/// Writes what belongs to a border to its place: its kind, its row (next, previous, first child, parent; -1 for none), and
/// its number of points.
///
/// # Safety
///
/// The arguments are those of [`link_siblings`](fn@link_siblings), which has run, with the final `places`; `lengths` has
/// `count` elements; `kinds_by_place` has an element for each place, `rows` four, `lengths_by_place` one; `rows` starts at
/// a multiple of 16 bytes; nothing else uses these meanwhile.
#[kernel(block = 256)]
pub unsafe fn write_rows(
    kinds: View<'_, u8>,
    lengths: View<'_, u32>,
    parents: View<'_, u32>,
    first_children: View<'_, u32>,
    next: View<'_, u32>,
    previous: View<'_, u32>,
    places: View<'_, u32>,
    kinds_by_place: ViewMut<'_, u8>,
    rows: ViewMut<'_, i32>,
    lengths_by_place: ViewMut<'_, u32>,
    count: u32,
) {
    let i = thread::index_1d();
    if i >= count {
        return;
    }
    let place = places.ldg(i);
    if place == NO_BORDER {
        return;
    }
    let link = |border: u32| {
        if border == NO_BORDER {
            -1
        } else {
            places.ldg(border).cast_signed()
        }
    };
    // A first child counts only where it is kept as one: first children of borders are set for those alone.
    let row = [
        // planted: row-order.1
        link(next.ldg(i)),
        // planted: row-order.2
        link(previous.ldg(i)),
        link(first_children.ldg(i)),
        link(parents.ldg(i)),
    ];
    kinds_by_place.st(place, kinds.ldg(i));
    rows.st_vector(place as usize * 4, row);
    lengths_by_place.st(place, lengths.ldg(i));
}
