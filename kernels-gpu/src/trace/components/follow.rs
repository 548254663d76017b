//! Parallel searching: the borders' points, written by one thread a border and one for each further stretch.
//!
//! A thread that follows a whole border takes as long as the longest one. So about one node in 16 is *marked*, by a hash
//! of where it is: from a marked node to before the next marked one is a **stretch**, and a border's **head** goes from its
//! start to before its first marked node. Stretches are measured; where each begins is the sum of those before it, by
//! pointer jumping; then all are followed again and written, the last one through the start and the head. A border without a
//! marked node is all head.
//!
//! | kernel | does | reads, writes |
//! | --- | --- | --- |
//! | [`mark_nodes`](fn@mark_nodes) | marks nodes | 4 bytes a node; 2 bits a node |
//! | [`list_stretches`](fn@list_stretches) | lists the marked ones | 1 bit a node; 4 bytes a stretch |
//! | [`measure_stretches`](fn@measure_stretches) | counts the points of stretches and heads, finds the next | the words around each node; 8 bytes a stretch, 4 a border |
//! | [`cut_cycles`](fn@cut_cycles) | ends each border's last stretch | 12 bytes a stretch; 8 |
//! | [`write_stretches`](fn@write_stretches) | writes the points of both | the words around each node; 8 bytes a point |
//!
//! Between the first two, a scan of the counts numbers the stretches; after `cut_cycles`, they are ranked by
//! [list ranking](crate::primitives::list_ranking).

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::walk::{Cursor, NodeWalk};
use super::{NO_BORDER, rank};
use crate::primitives::list_ranking::{END, element, next, weight};
use crate::trace::node_bits::Kind;
use crate::trace::pixels::Raster;

/// The head of a border without stretches.
const ALL_HEAD: u32 = u32::MAX;

/// Whether the node with this list entry is marked: one in 16, without a pattern.
#[inline(always)]
const fn is_marked(entry: u32) -> bool {
    // The finalizer of MurmurHash3 without its last step, which mixes low bits.
    let mut hash = entry ^ entry >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash >> 28 == 0
}

/// Sets the bits of the marked nodes, and counts them.
///
/// # Safety
///
/// `nodes` has `n` elements, `marks` and `counts` have [`bit_words`](super::bit_words)`(n)`; nothing else
/// uses the latter two meanwhile; the launch has [`blocks`](super::blocks)`(n)` blocks.
#[kernel(block = 256)]
pub unsafe fn mark_nodes(
    nodes: View<'_, u32>,
    marks: ViewMut<'_, u32>,
    counts: ViewMut<'_, u32>,
    n: u32,
) {
    let i = thread::index_1d();
    // planted: mark-end
    let marked = warp::warp_vote_ballot(FULL_MASK, i < n && is_marked(nodes.ldg(i)));
    if i < n && i.is_multiple_of(WARP_SIZE) {
        marks.st(i / WARP_SIZE, marked);
        counts.st(i / WARP_SIZE, marked.count_ones());
    }
}

/// Lists the marked nodes.
///
/// # Safety
///
/// [`mark_nodes`](fn@mark_nodes) has run; `ranks` is the scan of its `counts`, whose sum `stretches` has as elements; nothing
/// else uses these meanwhile; the launch has [`blocks`](super::blocks)`(n)` blocks.
#[kernel(block = 256)]
pub unsafe fn list_stretches(
    marks: View<'_, u32>,
    ranks: View<'_, u32>,
    stretches: ViewMut<'_, u32>,
    n: u32,
) {
    let i = thread::index_1d();
    if i < n && marks.ldg(i / WARP_SIZE) >> (i % WARP_SIZE) & 1 != 0 {
        stretches.st(rank(marks, ranks, i), i);
    }
}

/// Follows a border to before the next marked node, or back to where it started; gives the points passed on the way, and
/// where it is then.
#[inline(always)]
fn measure(walk: &NodeWalk<'_>, mut cursor: Cursor, simple: bool) -> (u32, Cursor) {
    let start = cursor.node;
    let mut points = 0;
    loop {
        points += walk.advance(&mut cursor, simple).count;
        if cursor.node == start || is_marked(walk.entry(cursor.node)) {
            return (points, cursor);
        }
    }
}

/// Counts each stretch's points, and finds the stretch after it; then counts the points of each border's head, unless it is all
/// head, and sets the element of `is_first` of its first stretch.
///
/// # Safety
///
/// [`list_stretches`](fn@list_stretches) has run on the nodes of `image`, which `first` numbers; `tour` has an element for each
/// stretch, as has `is_first`, whose are 0; `starts` has one for each border, as has `heads`; nothing else uses `tour`,
/// `is_first` and `heads` meanwhile; the launch has a thread for each stretch and for each border.
#[kernel(block = 256)]
pub unsafe fn measure_stretches(
    image: View<'_, u64>,
    labels: View<'_, u32>,
    first: View<'_, u32>,
    nodes: View<'_, u32>,
    marks: View<'_, u32>,
    ranks: View<'_, u32>,
    stretches: View<'_, u32>,
    starts: View<'_, u32>,
    tour: ViewMut<'_, u64>,
    is_first: ViewMut<'_, u8>,
    heads: ViewMut<'_, u32>,
    raster: Raster,
    edges: u32,
    simple: u32,
) {
    let walk = NodeWalk::new(image, labels, raster, edges);
    let i = thread::index_1d();
    let stretch_count = stretches.len() as u32;
    // A stretch, or a head.
    let is_stretch = i < stretch_count;
    let border = i.wrapping_sub(stretch_count);
    if !is_stretch && border as usize >= starts.len() {
        return;
    }
    let entry = if is_stretch {
        nodes.ldg(stretches.ldg(i))
    } else {
        starts.ldg(border)
    };
    let cursor = walk.cursor(walk.node(entry));
    // A border that starts at a marked node has no head.
    let (points, end) = if is_stretch || !is_marked(entry) {
        measure(&walk, cursor, simple != 0)
    } else {
        (0, cursor)
    };
    let mut after = END;
    if is_marked(walk.entry(end.node)) {
        after = rank(marks, ranks, walk.index(first, end.node));
    }
    if is_stretch {
        tour.st(i, element(after, points));
    } else {
        if after != END {
            is_first.st(after, 1);
            heads.st(border, points);
        } else {
            heads.st(border, ALL_HEAD);
        }
    }
}

/// Makes the stretches of each border a list: the last one, which leads to the first, has none after it.
///
/// # Safety
///
/// [`measure_stretches`](fn@measure_stretches) has run; nothing else uses `tour`
/// meanwhile; the launch has a thread for each stretch.
#[kernel(block = 256)]
pub unsafe fn cut_cycles(tour: ViewMut<'_, u64>, is_first: View<'_, u8>) {
    let i = thread::index_1d();
    if i as usize >= tour.len() {
        return;
    }
    let step = tour.ld(i);
    // planted: cut-forgotten
    if is_first.ldg(next(step)) != 0 {
        tour.st(i, element(END, weight(step)));
    }
}

/// A border's range of the points, and where in it the next one goes.
struct Range<'a> {
    points: ViewMut<'a, i32>,
    begin: u32,
    length: u32,
    at: u32,
}

impl Range<'_> {
    /// The points of the border at `place`, from its point `at` on.
    #[inline(always)]
    fn new<'a>(points: ViewMut<'a, i32>, offsets: View<'_, u32>, place: u32, at: u32) -> Range<'a> {
        let begin = offsets.ldg(place);
        let length = offsets.ldg(place + 1) - begin;
        Range {
            points,
            begin,
            length,
            at: if at >= length { at - length } else { at },
        }
    }

    /// Writes a point; after the border's last place comes its first.
    #[inline(always)]
    fn write(&mut self, (x, y): (u32, u32)) {
        // Indices of coordinates may pass 2³².
        let at = (self.begin + self.at) as usize * 2;
        self.points
            .st_vector(at, [x.cast_signed(), y.cast_signed()]);
        self.at += 1;
        // planted: range-end
        if self.at == self.length {
            self.at = 0;
        }
    }
}

/// Follows a border as [`measure`] does, and writes its points.
#[inline(always)]
fn write(walk: &NodeWalk<'_>, mut cursor: Cursor, simple: bool, range: &mut Range<'_>) {
    let start = cursor.node;
    loop {
        let found = walk.advance(&mut cursor, simple);
        if found.count > 0 {
            range.write(found.points[0]);
        }
        if found.count > 1 {
            range.write(found.points[1]);
        }
        if cursor.node == start || is_marked(walk.entry(cursor.node)) {
            return;
        }
    }
}

/// How many places a border's first point stands before the first one that its walk passes: a ring along the sides of an outer
/// border begins where its first side does, which is the last corner that the walk comes to.
#[inline(always)]
fn turned(walk: &NodeWalk<'_>, start_kind: Kind) -> u32 {
    // planted: points-turned
    u32::from(walk.edges && start_kind == Kind::W)
}

/// Writes the points of each stretch, x and y of each, and those of borders that are all head.
///
/// # Safety
///
/// `tour` has been [cut](fn@cut_cycles) and jumped to its end; `parents`, `roots` and `root_ranks` are those of
/// [`select_starts`](fn@super::select_starts), `starts` what it gave; `places` has an element per border, its place in
/// the result, or [`NO_BORDER`] if it is left out; `offsets` has for each place where its points begin, and one more; `points`
/// has two elements for each, and starts at a multiple of 8 bytes; nothing else uses it meanwhile; the launch has a thread
/// for each stretch and for each border.
#[kernel(block = 256)]
pub unsafe fn write_stretches(
    image: View<'_, u64>,
    labels: View<'_, u32>,
    nodes: View<'_, u32>,
    parents: View<'_, u32>,
    roots: View<'_, u32>,
    root_ranks: View<'_, u32>,
    starts: View<'_, u32>,
    heads: View<'_, u32>,
    stretches: View<'_, u32>,
    tour: View<'_, u64>,
    places: View<'_, u32>,
    offsets: View<'_, u32>,
    points: ViewMut<'_, i32>,
    raster: Raster,
    edges: u32,
    simple: u32,
) {
    let walk = NodeWalk::new(image, labels, raster, edges);
    let i = thread::index_1d();
    let stretch_count = stretches.len() as u32;
    let is_stretch = i < stretch_count;
    let mut border = i.wrapping_sub(stretch_count);
    let entry;
    if is_stretch {
        let node = stretches.ldg(i);
        border = rank(roots, root_ranks, parents.ldg(node));
        entry = nodes.ldg(node);
    } else {
        // Where there are stretches, the last one goes on through the head.
        // planted: head-twice
        if border as usize >= starts.len() || heads.ldg(border) != ALL_HEAD {
            return;
        }
        entry = starts.ldg(border);
    }
    let place = places.ldg(border);
    if place == NO_BORDER {
        return;
    }
    let mut at = turned(&walk, Kind::from_bits(starts.ldg(border)));
    if is_stretch {
        // From this stretch on, so many points come before the walk is back at the border's first stretch; the start lies
        // among the last of them.
        let left = weight(tour.ldg(i));
        let length = offsets.ldg(place + 1) - offsets.ldg(place);
        // planted: head-length
        at += heads.ldg(border) + length - left;
    }
    let mut range = Range::new(points, offsets, place, at);
    let cursor = walk.cursor(walk.node(entry));
    write(&walk, cursor, simple != 0, &mut range);
}
