//! From each border's previous one in its row to the order and the hierarchy of the result.
//!
//! The result is the pre-order walk of a forest whose siblings stand in reverse order of discovery.
//! [`Levels`] says which borders are in it, and which of their parents count.
//!
//! | kernel | does | bytes per border |
//! | --- | --- | --- |
//! | [`link_parents`](fn@link_parents) | links to a parent, or to a sibling that knows it | 5 read, 4 written |
//! | [`resolve_parents`](fn@resolve_parents) | finds the parent, by pointer jumping | 8 per jump |
//! | [`choose_parents`](fn@choose_parents) | decides who counts as parent: keys to sort by | 5 read, 8 written |
//! | [`link_siblings`](fn@link_siblings) | first children, next and previous siblings, from the sorted keys | 16 read, 20 written |
//! | [`link_euler_tour`](fn@link_euler_tour), [`place_by_rank`](fn@place_by_rank) | places in the walk, by ranking the Euler tour of the forest | 12 read, 16 written; 8 read, 4 written |
//! | [`write_rows`](fn@write_rows) | kinds, rows of the hierarchy and lengths, by place | 30 read, 21 written |
//!
//! Between `choose_parents` and `link_siblings` the borders are [sorted](crate::primitives::sort),
//! the last discovered first. Where no level has parents, the sorted order is the result's.
//! Otherwise the walk is made of steps down to a border and up from it: the Euler tour of R. E.
//! Tarjan and U. Vishkin, "An efficient parallel biconnectivity algorithm" (1985). Between
//! `link_euler_tour` and `place_by_rank`, [list ranking](crate::primitives::list_ranking) counts
//! how many steps down are left at each step.

use cuda_std::prelude::*;

use super::BLOCK;
use super::borders::NO_BORDER;
use super::options::Levels;
use crate::primitives::list_ranking::{END, element, weight};

/// Set in a link to a sibling. A link without it is a parent, or [`NO_PARENT`].
const SIBLING: u32 = 1 << 31;
/// Directly inside the frame.
const NO_PARENT: u32 = SIBLING - 1;

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

/// Links each border to the previous one in its row: to a sibling, if they are of one kind, else to
/// its parent. Launch: one thread per border.
///
/// # Safety
///
/// | view | contents |
/// | --- | --- |
/// | `kinds` | one per border, of which there are fewer than 2³¹ - 1 |
/// | `previous_in_row` | for each border one discovered earlier, or [`NO_BORDER`] |
/// | `links` | one per border; nothing else uses it meanwhile |
#[kernel(block = BLOCK)]
pub unsafe fn link_parents(
    kinds: View<'_, u8>,
    previous_in_row: View<'_, u32>,
    links: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    if i >= links.len() as u32 {
        return;
    }
    let previous = previous_in_row.ldg(i);
    let link = if previous == NO_BORDER {
        NO_PARENT
        // planted: siblings-parents
    } else if kinds.ldg(previous) == kinds.ldg(i) {
        SIBLING | previous
    } else {
        previous
    };
    links.st(i, link);
}

/// Replaces links to siblings by their parents. Launch: one thread per border.
///
/// # Safety
///
/// [`link_parents`](fn@link_parents) has made `links`; nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn resolve_parents(links: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if i >= links.len() as u32 {
        return;
    }
    let mut link = links.ld_relaxed(i, Device);
    while link & SIBLING != 0 {
        // The sibling's link, however far it has come: to one discovered before it, or to the
        // parent.
        link = links.ld_relaxed(link & !SIBLING, Device);
        // planted: links-plain-store
        links.st_relaxed(i, link, Device);
    }
}

/// Lists the borders, the last discovered first, and gives each a key to sort by: its parent, if
/// that counts. Launch: one thread per border.
///
/// # Safety
///
/// `kinds` and the [resolved](fn@resolve_parents) `links` have one element per border, as have
/// `keys` and `borders`, which nothing else uses meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn choose_parents(
    kinds: View<'_, u8>,
    links: View<'_, u32>,
    keys: ViewMut<'_, u32>,
    borders: ViewMut<'_, u32>,
    levels: Levels,
) {
    let i = thread::index_1d();
    let count = keys.len() as u32;
    if i >= count {
        return;
    }
    let border = count - 1 - i;
    let parent = links.ldg(border);
    // planted: ccomp-parents
    let counts = levels == Levels::Tree || levels == Levels::Ccomp && kinds.ldg(border) != 0;
    let key = if levels == Levels::External && parent != NO_PARENT {
        left_out(count)
    } else if counts && parent != NO_PARENT {
        parent
    } else {
        top(count)
    };
    keys.st(i, key);
    borders.st(i, border);
}

/// The forest of borders, to be written: links of each border, or [`NO_BORDER`]. Nothing is written
/// for borders that are not kept.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct ForestMut<'a> {
    /// The parent of each border.
    pub parents: ViewMut<'a, u32>,
    /// The first child of each border, and after these the first border without a parent. All
    /// [`NO_BORDER`] at first.
    pub first_children: ViewMut<'a, u32>,
    /// The sibling after each border.
    pub next: ViewMut<'a, u32>,
    /// The sibling before each border.
    pub previous: ViewMut<'a, u32>,
}

/// What [`ForestMut`] describes, to be read.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Forest<'a> {
    /// The parent of each border.
    pub parents: View<'a, u32>,
    /// The first child of each border, and after these the first border without a parent.
    pub first_children: View<'a, u32>,
    /// The sibling after each border.
    pub next: View<'a, u32>,
    /// The sibling before each border.
    pub previous: View<'a, u32>,
}

/// Links each border with its siblings, and each parent with its first child; and gives the places
/// for the case that no border has a parent. Launch: one thread per border.
///
/// # Safety
///
/// `keys` and `borders` are those of [`choose_parents`](fn@choose_parents), sorted. `forest` is as
/// its fields say; `places` has one element per border; `kept` has one, 0 at first, which becomes
/// the number of borders that are kept. Nothing else uses these three meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn link_siblings(
    keys: View<'_, u32>,
    borders: View<'_, u32>,
    forest: ForestMut<'_>,
    places: ViewMut<'_, u32>,
    kept: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    let count = keys.len() as u32;
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
    let parent = if key == top(count) { NO_BORDER } else { key };
    forest.parents.st(border, parent);
    let mut sibling = NO_BORDER;
    if after == key {
        sibling = borders.ldg(i + 1);
    }
    forest.next.st(border, sibling);
    // planted: first-sibling
    if i > 0 && keys.ldg(i - 1) == key {
        forest.previous.st(border, borders.ldg(i - 1));
    } else {
        forest.previous.st(border, NO_BORDER);
        forest.first_children.st(key, border);
    }
    places.st(border, i);
}

/// Makes the Euler tour of the forest, a list: element `2 b` is the step down to border `b`, with
/// weight 1, and element `2 b + 1` the step up from it, with weight 0. Launch: one thread per step.
///
/// # Safety
///
/// [`link_siblings`](fn@link_siblings) has made `forest`, for [`Levels`] that keep all borders.
/// `tour` has two elements per border, and nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn link_euler_tour(forest: Forest<'_>, tour: ViewMut<'_, u64>) {
    let i = thread::index_1d();
    let border = i / 2;
    if i >= tour.len() as u32 {
        return;
    }
    let is_down = i.is_multiple_of(2);
    let (then, parent) = if is_down {
        (forest.first_children.ldg(border), border)
    } else {
        (forest.next.ldg(border), forest.parents.ldg(border))
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

/// Gives each border its place in the order of the Euler tour. Launch: one thread per border.
///
/// # Safety
///
/// `tour` is that of [`link_euler_tour`](fn@link_euler_tour), ranked. `places` has one element per
/// border, and nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn place_by_rank(tour: View<'_, u64>, places: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    let count = places.len() as u32;
    if i < count {
        // From the step down to a border on, the tour goes down to it and to all after it.
        places.st(i, count - weight(tour.ldg(2 * i)));
    }
}

/// The result's rows: one for each place.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Rows<'a> {
    /// The kind of the border at each place.
    pub kinds: ViewMut<'a, u8>,
    /// Four numbers per place: next, previous, first child and parent, or -1 for none. Starts at a
    /// multiple of 16 bytes.
    pub links: ViewMut<'a, i32>,
    /// The number of points of the border at each place.
    pub lengths: ViewMut<'a, u32>,
}

/// Writes each border's row to its place. Launch: one thread per border.
///
/// # Safety
///
/// [`link_siblings`](fn@link_siblings) has made `forest`. `kinds`, `lengths` and the final `places`
/// have one element per border; `rows` has one per place, and nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn write_rows(
    kinds: View<'_, u8>,
    lengths: View<'_, u32>,
    forest: Forest<'_>,
    places: View<'_, u32>,
    rows: Rows<'_>,
) {
    let i = thread::index_1d();
    if i >= places.len() as u32 {
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
    // A first child counts only where it is kept as one: first children of borders are set for
    // those alone.
    let row = [
        // planted: row-order.1
        link(forest.next.ldg(i)),
        // planted: row-order.2
        link(forest.previous.ldg(i)),
        link(forest.first_children.ldg(i)),
        link(forest.parents.ldg(i)),
    ];
    rows.kinds.st(place, kinds.ldg(i));
    rows.links.st_vector(place as usize * 4, row);
    rows.lengths.st(place, lengths.ldg(i));
}
