//! Following: the borders' points, written by one thread per border and one per further stretch.
//!
//! A thread that follows a whole border takes as long as the longest border. So about one node in
//! 16 is *marked*, by a hash of its position. A **stretch** runs from a marked node up to the next
//! one; a border's **head** runs from its start up to its first marked node. Stretches and heads
//! are measured first. [List ranking](crate::primitives::list_ranking) adds up the lengths before
//! each, which says where its points begin. Then all are followed again and written, each border's
//! last stretch through the start and the head. A border without a marked node is all head.
//!
//! | kernel | does | reads, writes |
//! | --- | --- | --- |
//! | [`mark_nodes`](fn@mark_nodes) | marks nodes | 4 bytes per node; 2 bits per node |
//! | [`list_stretches`](fn@list_stretches) | lists the marked ones | 1 bit per node; 4 bytes per stretch |
//! | [`measure_stretches`](fn@measure_stretches) | counts the points of stretches and heads, finds the next stretch | the words around each node; 8 bytes per stretch, 4 per border |
//! | [`cut_cycles`](fn@cut_cycles) | makes each border's last stretch the end of a list | 12 bytes per stretch; 8 |
//! | [`write_stretches`](fn@write_stretches) | writes the points of both | the words around each node; 8 bytes per point |
//!
//! Between the first two, a scan of the counts gives each stretch its index; after `cut_cycles`,
//! the lists of stretches are ranked.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{JoinedNodes, NodeList};
use crate::primitives::list_ranking::{END, element, next, weight};
use crate::primitives::ranked_bits::RankedBits;
use crate::trace::BLOCK;
use crate::trace::borders::{Destination, NO_BORDER};
use crate::trace::node_bits::Kind;
use crate::trace::node_walk::{Cursor, NodeWalk};
use crate::trace::options::{Approximation, Geometry};
use crate::trace::pixels::TracedImage;

/// The head of a border without stretches.
const ALL_HEAD: u32 = u32::MAX;

/// The marked nodes, at which stretches begin. The sizes are the number of nodes.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct Stretches<'a> {
    /// The marked nodes. A node's rank is the index of its stretch.
    #[len(*sizes)]
    pub marks: RankedBits<'a>,
    /// For each stretch, the index of its first node.
    pub nodes: View<'a, u32>,
}

impl Stretches<'_> {
    /// How many there are.
    #[inline(always)]
    fn len(&self) -> u32 {
        self.nodes.len() as u32
    }
}

/// What [`measure_stretches`](fn@measure_stretches) gives.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Measures<'a> {
    /// For each stretch, the stretch after it on its border and the number of its points, as an
    /// [element of a list](element).
    pub list: ViewMut<'a, u64>,
    /// For each stretch, whether it is its border's first; 0 at first.
    pub is_first: ViewMut<'a, u8>,
    /// For each border, the number of points of its head, or `u32::MAX` if it is all head.
    pub heads: ViewMut<'a, u32>,
}

/// The pieces of borders, measured and ranked.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct RankedPieces<'a> {
    /// For each stretch, the index of its first node.
    pub stretches: View<'a, u32>,
    /// For each stretch, the ranked element: the end of a list, and the number of points from this
    /// stretch to the end of its border's last stretch.
    pub list: View<'a, u64>,
    /// For each border, its first node, as an entry.
    pub starts: View<'a, u32>,
    /// For each border, what [`Measures::heads`] says.
    pub heads: View<'a, u32>,
}

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

/// Sets the bits of the marked nodes, and counts them. Launch: one thread per node.
///
/// # Safety
///
/// `marks` and `counts` have [`bit_words`](crate::primitives::ranked_bits::bit_words) elements for
/// the nodes in `entries`; nothing else uses the two meanwhile.
#[kernel(
    block = BLOCK,
    len(
        marks = crate::primitives::ranked_bits::bit_words(entries.len() as u32),
        counts = marks.len(),
    ),
)]
pub unsafe fn mark_nodes(
    entries: View<'_, u32>,
    marks: ViewMut<'_, u32>,
    counts: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    let n = entries.len() as u32;
    // planted: mark-end
    let marked = warp::warp_vote_ballot(FULL_MASK, i < n && is_marked(entries.ldg(i)));
    if i < n && i.is_multiple_of(WARP_SIZE) {
        marks.st(i / WARP_SIZE, marked);
        counts.st(i / WARP_SIZE, marked.count_ones());
    }
}

/// Lists the marked nodes of `n`. Launch: one thread per node.
///
/// # Safety
///
/// `marks` are those that [`mark_nodes`](fn@mark_nodes) gave, and the scan of its counts, whose sum
/// is the length of `stretches`. Nothing else uses `stretches` meanwhile.
#[kernel(block = BLOCK, len(marks = n))]
pub unsafe fn list_stretches(marks: RankedBits<'_>, stretches: ViewMut<'_, u32>, n: u32) {
    let i = thread::index_1d();
    if i < n && marks.contains(i) {
        stretches.st(marks.rank(i), i);
    }
}

/// Follows a border up to the next marked node, or back to its start; returns the number of points
/// passed on the way, and the final position.
#[inline(always)]
fn measure(walk: &NodeWalk<'_>, mut cursor: Cursor, approximation: Approximation) -> (u32, Cursor) {
    let start = cursor.node;
    let mut points = 0;
    loop {
        points += walk.advance(&mut cursor, approximation).count;
        if cursor.node == start || is_marked(walk.entry(cursor.node)) {
            return (points, cursor);
        }
    }
}

/// Counts each stretch's points and finds the stretch after it; counts the points of each border's
/// head and finds the border's first stretch. Launch: one thread per stretch and per border.
///
/// # Safety
///
/// `nodes` are those of `image`, and `stretches` are [listed](fn@list_stretches) from them.
/// `starts` has each border's first node, as an entry. `measures` are as long as their fields say,
/// and nothing else uses them meanwhile.
#[kernel(
    block = BLOCK,
    len(image = (), nodes = image.pixels.raster.words(), stretches = nodes.len()),
)]
pub unsafe fn measure_stretches(
    image: TracedImage<'_>,
    nodes: NodeList<'_>,
    stretches: Stretches<'_>,
    starts: View<'_, u32>,
    measures: Measures<'_>,
    approximation: Approximation,
) {
    let walk = NodeWalk::new(image);
    let i = thread::index_1d();
    let stretch_count = stretches.len();
    // A stretch, or a head.
    let is_stretch = i < stretch_count;
    let border = i.wrapping_sub(stretch_count);
    if !is_stretch && border as usize >= starts.len() {
        return;
    }
    let entry = if is_stretch {
        nodes.entries.ldg(stretches.nodes.ldg(i))
    } else {
        starts.ldg(border)
    };
    let cursor = walk.cursor(walk.node(entry));
    // A border that starts at a marked node has no head.
    let (points, end) = if is_stretch || !is_marked(entry) {
        measure(&walk, cursor, approximation)
    } else {
        (0, cursor)
    };
    let mut after = END;
    if is_marked(walk.entry(end.node)) {
        after = stretches.marks.rank(walk.index(nodes.first, end.node));
    }
    if is_stretch {
        measures.list.st(i, element(after, points));
    } else {
        if after != END {
            measures.is_first.st(after, 1);
            measures.heads.st(border, points);
        } else {
            measures.heads.st(border, ALL_HEAD);
        }
    }
}

/// Makes a list of the stretches of each border: the last stretch, which leads to the first, gets
/// no next one. Launch: one thread per stretch.
///
/// # Safety
///
/// [`measure_stretches`](fn@measure_stretches) has made both; nothing else uses `list` meanwhile.
#[kernel(block = BLOCK, len(is_first = list.len()))]
pub unsafe fn cut_cycles(list: ViewMut<'_, u64>, is_first: View<'_, u8>) {
    let i = thread::index_1d();
    if i as usize >= list.len() {
        return;
    }
    let stretch = list.ld(i);
    // planted: cut-forgotten
    if is_first.ldg(next(stretch)) != 0 {
        list.st(i, element(END, weight(stretch)));
    }
}

/// A border's range of points, and where in it the next point goes.
struct Range<'a> {
    destination: Destination<'a>,
    begin: u32,
    length: u32,
    at: u32,
}

impl<'a> Range<'a> {
    /// The points of the border at `place`, from its point `at` on.
    #[inline(always)]
    fn new(destination: Destination<'a>, place: u32, at: u32) -> Self {
        let begin = destination.offsets.ldg(place);
        let length = destination.offsets.ldg(place + 1) - begin;
        Range {
            destination,
            begin,
            length,
            at: if at >= length { at - length } else { at },
        }
    }

    /// Writes a point; after the border's last point comes its first.
    #[inline(always)]
    fn write(&mut self, (x, y): (u32, u32)) {
        self.destination.write(self.begin + self.at, x, y);
        self.at += 1;
        // planted: range-end
        if self.at == self.length {
            self.at = 0;
        }
    }
}

/// Follows a border as [`measure`] does, and writes its points.
#[inline(always)]
fn write(
    walk: &NodeWalk<'_>,
    mut cursor: Cursor,
    approximation: Approximation,
    range: &mut Range<'_>,
) {
    let start = cursor.node;
    loop {
        let found = walk.advance(&mut cursor, approximation);
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

/// The number of points from a border's first one to the first that its walk passes. An outer
/// border along edges begins where its first side begins: the last corner that the walk comes to.
#[inline(always)]
fn turned(geometry: Geometry, start_kind: Kind) -> u32 {
    // planted: points-turned
    u32::from(geometry == Geometry::Edges && start_kind == Kind::W)
}

/// Writes the points of each stretch, and those of borders that are all head. Launch: one thread
/// per stretch and per border.
///
/// # Safety
///
/// `entries` and `joined` are the nodes of `image`; `pieces` are measured on them,
/// [cut](fn@cut_cycles) and ranked, with this `approximation`. `destination` has room for all
/// points of the borders that have a place, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(image = (), joined = entries.len() as u32, destination = ()))]
pub unsafe fn write_stretches(
    image: TracedImage<'_>,
    entries: View<'_, u32>,
    joined: JoinedNodes<'_>,
    pieces: RankedPieces<'_>,
    destination: Destination<'_>,
    approximation: Approximation,
) {
    let walk = NodeWalk::new(image);
    let i = thread::index_1d();
    let stretch_count = pieces.stretches.len() as u32;
    let is_stretch = i < stretch_count;
    let mut border = i.wrapping_sub(stretch_count);
    let entry;
    if is_stretch {
        let node = pieces.stretches.ldg(i);
        border = joined.border_of(node);
        entry = entries.ldg(node);
    } else {
        // If there are stretches, the last one continues through the head.
        // planted: head-twice
        if border as usize >= pieces.starts.len() || pieces.heads.ldg(border) != ALL_HEAD {
            return;
        }
        entry = pieces.starts.ldg(border);
    }
    let place = destination.places.ldg(border);
    if place == NO_BORDER {
        return;
    }
    let mut at = turned(image.geometry, Kind::from_bits(pieces.starts.ldg(border)));
    if is_stretch {
        // The number of points from this stretch until the walk is back at the border's first
        // stretch; the start is among the last of these points.
        let left = weight(pieces.list.ldg(i));
        let length = destination.offsets.ldg(place + 1) - destination.offsets.ldg(place);
        // planted: head-length
        at += pieces.heads.ldg(border) + length - left;
    }
    let mut range = Range::new(destination, place, at);
    let cursor = walk.cursor(walk.node(entry));
    write(&walk, cursor, approximation, &mut range);
}
