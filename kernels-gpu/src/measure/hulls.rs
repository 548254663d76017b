//! Convex hulls: the number of pixels in each one, and its diameter.
//!
//! A label's box has a first and a last pixel in each row with pixels. The first ones give the
//! hull's left chain, the last ones its right chain ([`convex`](super::convex)). The chains give
//! the first and the last pixel of the hull in each row. These pixels are the hull's outline, whose
//! own chains have the points that are furthest apart.

use cuda_std::math::sqrt;
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, sync_warp, warp_shuffle_idx};

use super::convex::{Vertex, corner, is_inside, squared_distance};
use super::pieces::{least_of_warp, short_sum_of_warp};
use super::sorted_runs::SortedRuns;

/// Threads per block of the kernels whose threads take a label or a run each.
pub const BLOCK: u32 = 256;
/// Threads per block of the kernel whose warps take a label each.
pub const HULL_BLOCK: u32 = 128;
/// Lanes that find one chain; the others find the other one.
const LANES: u32 = WARP_SIZE / 2;
/// The fewest rows that are shared out among lanes.
const LEAST_ROWS: u32 = 32;
/// Stands for the column of a pixel in a row without pixels of the label.
pub const NO_PIXEL: u32 = u32::MAX;

/// Some labels, and where the rows of their boxes are in [`BoxRows`].
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Boxes<'a> {
    /// The first label, as a number in the order of labels.
    pub first_label: u32,
    /// The number of labels.
    pub labels: u32,
    /// The number of rows of the boxes before each label's; then of all.
    #[len(self.labels + 1)]
    pub offsets: View<'a, u32>,
}

/// The rows of boxes. The sizes are their number.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = BoxRowsBuffers)]
pub struct BoxRows<'a> {
    /// The column of the first pixel of each, or [`NO_PIXEL`]; then the same of the hull.
    #[len(*sizes)]
    pub firsts: ViewMut<'a, u32>,
    /// The column of the last pixel of each, in the same way.
    #[len(*sizes)]
    pub lasts: ViewMut<'a, u32>,
    /// The vertices of left chains: the row in the box, in the low half, and the column. A label's
    /// vertices begin at its first row.
    #[len(*sizes)]
    pub left: ViewMut<'a, u64>,
    /// The vertices of right chains.
    #[len(*sizes)]
    pub right: ViewMut<'a, u64>,
}

/// Writes the height of each label's box.
///
/// Launch: one thread per label. Reads 24 bytes per label, and writes 4.
///
/// # Safety
///
/// `heights` has an element per label, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(runs = (), heights = runs.labels))]
pub unsafe fn find_heights(runs: SortedRuns<'_>, heights: ViewMut<'_, u32>) {
    let label = thread::index_1d();
    if label < runs.labels {
        let [begin, end] = runs.places_of(label);
        heights.st(label, runs.sorted(end - 1).y - runs.sorted(begin).y + 1);
    }
}

/// Lists the first and the last pixel of each label in each row of its box.
///
/// Launch: one thread per run of the labels. Reads some 60 bytes per run, most of them twice or
/// three times by neighbouring threads, and writes 8 per row.
///
/// # Safety
///
/// The offsets of `boxes` are sums of the heights of its labels' boxes. `rows` has an element for
/// each of their rows, all [`NO_PIXEL`], and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(runs = (), boxes = (), rows = rows.firsts.len() as u32))]
pub unsafe fn list_box_rows(runs: SortedRuns<'_>, boxes: Boxes<'_>, rows: BoxRows<'_>) {
    let [first, _] = runs.places_of(boxes.first_label);
    let [_, last] = runs.places_of(boxes.first_label + boxes.labels - 1);
    let at = first + thread::index_1d();
    if at >= last {
        return;
    }
    let label = runs.group(at);
    let [begin, end] = runs.places_of(label);
    let run = runs.sorted(at);
    // planted: hull-batch-label
    let offset = boxes.offsets.ldg(label - boxes.first_label);
    let row = offset + (run.y - runs.sorted(begin).y);
    // planted: hull-row-first
    if at == begin || runs.sorted(at - 1).y != run.y {
        rows.firsts.st(row, run.x);
    }
    // planted: hull-row-last
    if at + 1 == end || runs.sorted(at + 1).y != run.y {
        rows.lasts.st(row, run.end - 1);
    }
}

/// One side of the hull of a warp's label, as half of its lanes find it.
#[derive(Clone, Copy)]
struct Side<'a> {
    /// The vertices of the chain.
    points: ViewMut<'a, u64>,
    /// The outermost pixels of rows.
    ends: ViewMut<'a, u32>,
    /// The label's first element in both.
    offset: u32,
    /// The sign of columns to the outside.
    sign: i64,
}

impl<'a> Side<'a> {
    #[inline(always)]
    fn of(rows: BoxRows<'a>, offset: u32, is_right: bool) -> Self {
        if is_right {
            Self {
                points: rows.right,
                ends: rows.lasts,
                offset,
                sign: 1,
            }
        } else {
            Self {
                points: rows.left,
                ends: rows.firsts,
                offset,
                sign: -1,
            }
        }
    }

    /// A point of a chain: its row, and its column to the outside.
    #[inline(always)]
    fn point(self, i: u32) -> [i64; 2] {
        let point = self.points.ld(self.offset + i);
        [
            i64::from(point as u32),
            self.sign * i64::from((point >> 32) as u32),
        ]
    }

    #[inline(always)]
    fn set_point(self, i: u32, [row, column]: [i64; 2]) {
        let column = (self.sign * column).cast_unsigned();
        self.points
            .st(self.offset + i, row.cast_unsigned() | column << 32);
    }

    /// A vertex of a chain with this number of them.
    #[inline(always)]
    fn vertex(self, i: u32, len: u32) -> Vertex {
        Vertex {
            above: if i > 0 { Some(self.point(i - 1)) } else { None },
            this: self.point(i),
            below: if i + 1 < len {
                Some(self.point(i + 1))
            } else {
                None
            },
        }
    }

    /// Finds the chain of the outermost pixels of `height` rows, and returns the number of its
    /// vertices. Lanes find those of stretches of rows; the first one joins them.
    #[inline(always)]
    fn find_chain(self, height: u32, lane: u32) -> u32 {
        // planted: hull-stretch-long
        let stretch = height.div_ceil(LANES).max(LEAST_ROWS);
        let begin = lane * stretch;
        let end = (begin + stretch).min(height);
        let mut chain = Chain::new(self, begin);
        let mut row = begin;
        while row < end {
            let column = self.ends.ld(self.offset + row);
            if column != NO_PIXEL {
                chain.add([row.into(), self.sign * i64::from(column)]);
            }
            row += 1;
        }
        // planted: hull-stretch-barrier
        sync_warp(FULL_MASK);
        let mut other = 1;
        while other * stretch < height {
            let (len, _) = warp_shuffle_idx(FULL_MASK, chain.len, other, LANES);
            if lane == 0 {
                // The joined chain is not longer than the rows before these.
                let mut i = 0;
                while i < len {
                    // planted: hull-stretch-joined
                    chain.add(self.point(other * stretch + i));
                    i += 1;
                }
            }
            other += 1;
        }
        let (len, _) = warp_shuffle_idx(FULL_MASK, chain.len, 0, LANES);
        // planted: hull-chain-barrier
        sync_warp(FULL_MASK);
        len
    }

    /// The sum of the columns, to the outside, of the hull's outermost pixels along the edges of
    /// this lane: every 16th one. If they are wanted, they replace the label's outermost pixels.
    #[inline(always)]
    fn sum_columns(self, len: u32, lane: u32, keeps_them: bool) -> i64 {
        let mut sum = 0;
        let mut i = lane;
        while i < len {
            self.vertex(i, len).for_each_row(|row, column| {
                sum += column;
                if keeps_them {
                    let column = (self.sign * column) as u32;
                    self.ends.st(self.offset + row as u32, column);
                }
            });
            // planted: hull-rows-lane
            i += LANES;
        }
        sum
    }
}

/// A chain that one lane makes.
struct Chain<'a> {
    side: Side<'a>,
    /// The place of its first point.
    begin: u32,
    len: u32,
    /// The last point but one, and the last one.
    before: [i64; 2],
    last: [i64; 2],
}

impl<'a> Chain<'a> {
    #[inline(always)]
    fn new(side: Side<'a>, begin: u32) -> Self {
        Self {
            side,
            begin,
            len: 0,
            before: [0; 2],
            last: [0; 2],
        }
    }

    /// Adds a point below the others, and removes those that are then inside.
    #[inline(always)]
    fn add(&mut self, point: [i64; 2]) {
        // planted: hull-chain-pop
        while self.len >= 2 && is_inside([self.before, self.last, point]) {
            self.len -= 1;
            self.last = self.before;
            if self.len >= 2 {
                self.before = self.side.point(self.begin + self.len - 2);
            }
        }
        self.side.set_point(self.begin + self.len, point);
        self.before = self.last;
        self.last = point;
        self.len += 1;
    }
}

/// Writes the number of pixels in the hull of each label of `boxes`; and its diameter, if
/// `diameters` has elements. `spacing` is that of rows and of columns.
///
/// Launch: one warp per label of `boxes`. Reads 8 bytes per row and writes up to 16; for diameters,
/// reads 16 and writes up to 40.
///
/// # Safety
///
/// `rows` are those that [`list_box_rows()`] lists. `areas` has an element per label of the image,
/// and `diameters` as many or none. Nothing else uses the three meanwhile.
#[kernel(block = HULL_BLOCK, f64, len(
    boxes = (),
    rows = rows.firsts.len() as u32,
    areas = boxes.first_label + boxes.labels,
    diameters = if diameters.is_empty() { 0 } else { areas.len() },
))]
pub unsafe fn find_hulls(
    boxes: Boxes<'_>,
    rows: BoxRows<'_>,
    spacing: [f64; 2],
    areas: ViewMut<'_, u64>,
    diameters: ViewMut<'_, f64>,
) {
    let t = thread::thread_idx_x();
    let index = thread::block_idx_x() * (HULL_BLOCK / WARP_SIZE) + t / WARP_SIZE;
    if index >= boxes.labels {
        return;
    }
    let lane = t % WARP_SIZE;
    let offset = boxes.offsets.ldg(index);
    let height = boxes.offsets.ldg(index + 1) - offset;
    let side = Side::of(rows, offset, lane >= LANES);
    let of_side = lane % LANES;
    // The column of the label's first pixel, from which the processor counts.
    let origin = rows.firsts.ld(offset);
    let len = side.find_chain(height, of_side);
    let columns = side.sum_columns(len, of_side, !diameters.is_empty());
    let area = short_sum_of_warp(columns.cast_unsigned()) + u64::from(height);
    let label = boxes.first_label + index;
    if lane == 0 {
        areas.st(label, area);
    }
    if diameters.is_empty() {
        return;
    }
    // planted: hull-rows-barrier
    sync_warp(FULL_MASK);
    let len = side.find_chain(height, of_side);
    // Rows are not read any more: their memory takes the corners that are vertices of the hull.
    let mut i = of_side;
    while i < len {
        side.ends.st(offset + i, side.vertex(i, len).corners());
        i += LANES;
    }
    let (left, _) = warp_shuffle_idx(FULL_MASK, len, 0, WARP_SIZE);
    let (right, _) = warp_shuffle_idx(FULL_MASK, len, LANES, WARP_SIZE);
    // planted: hull-corners-barrier
    sync_warp(FULL_MASK);
    let longest = longest_distance(rows, [offset, origin], [left, right], lane, spacing);
    // Of numbers that are not negative, the order is that of their bits.
    let longest = !least_of_warp(!longest.to_bits().cast_signed());
    if lane == 0 {
        let longest = f64::from_bits(longest.cast_unsigned());
        diameters.st(label, sqrt(longest));
    }
}

/// The longest squared distance between a corner of this lane's vertices, every 32nd one, and one
/// of the vertices from there on. Columns count from `origin`, as roundings depend on it. The
/// chains have these numbers of vertices, and corners replace the label's rows from `offset` on.
#[inline(always)]
fn longest_distance(
    rows: BoxRows<'_>,
    [offset, origin]: [u32; 2],
    [left, right]: [u32; 2],
    lane: u32,
    spacing: [f64; 2],
) -> f64 {
    let vertex = |i: u32| {
        let (side, i) = if i < left {
            (Side::of(rows, offset, false), i)
        } else {
            (Side::of(rows, offset, true), i - left)
        };
        let [row, column] = side.point(i);
        // planted: hull-origin
        let column = column - side.sign * i64::from(origin);
        ([row, column], side.ends.ld(offset + i), side.sign)
    };
    let mut longest = 0.0f64;
    let mut i = lane;
    while i < left + right {
        let (a, of_a, sign_a) = vertex(i);
        let mut j = i;
        while j < left + right {
            let (b, of_b, sign_b) = vertex(j);
            let mut pair = 0;
            while pair < 9 {
                let [p, q] = [pair / 3, pair % 3];
                if of_a >> p & of_b >> q & 1 != 0 {
                    let from = corner(a, p, sign_a, spacing);
                    let to = corner(b, q, sign_b, spacing);
                    longest = longest.max(squared_distance(from, to));
                }
                pair += 1;
            }
            j += 1;
        }
        // planted: hull-pairs-lane
        i += WARP_SIZE;
    }
    longest
}
