//! Areas of labels, and of their holes.
//!
//! A **gap** is a row's pixels between two runs of a label, or on the outside of its first or last
//! run there. Gaps of adjacent rows that touch at a side or a corner are connected, and a hole is a
//! set of connected gaps that leads to none on the outside. Union-find joins gaps: a gap between
//! two runs has the number of the run after it in the order of runs. All gaps on the outside have
//! number 0, a number that no other gap has.

use cuda_std::prelude::*;

use super::sorted_runs::{SortedRuns, joined_by_label};
use crate::primitives::union_find::{find, union};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// The number of the gaps on the outside.
const OUTSIDE: u32 = 0;

/// Makes each gap a set of its own.
///
/// Launch: one thread per run. Writes 4 bytes per run.
///
/// # Safety
///
/// Nothing else uses `parents` meanwhile.
#[kernel(block = BLOCK, len(parents = parents.len()))]
pub unsafe fn start_gaps(parents: ViewMut<'_, u32>) {
    let gap = thread::index_1d();
    if (gap as usize) < parents.len() {
        parents.st(gap, gap);
    }
}

/// Joins the gaps before and after each run to those that they touch in the row below, and to the
/// outside if the row above is outside. The first labels are `background`, and have no gaps.
///
/// Launch: one thread per run. Reads some 60 bytes per run from neighbouring threads' runs, some 12
/// per step of a binary search, and joins a set for each two gaps that touch.
///
/// # Safety
///
/// `parents` has an element per run, each its own parent. Nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(runs = (), parents = runs.runs.starts.len()))]
pub unsafe fn join_gaps(runs: SortedRuns<'_>, background: u32, parents: ViewMut<'_, u32>) {
    let at = thread::index_1d();
    // planted: gap-background
    if at >= runs.len() || runs.group(at) < background {
        return;
    }
    let [begin, end] = runs.places_of(runs.group(at));
    let run = runs.sorted(at);
    let label = OfLabel {
        runs,
        parents,
        end,
        row: run.y,
        at,
    };
    let above = if at > begin {
        Some(runs.sorted(at - 1))
    } else {
        None
    };
    match above {
        // planted: gap-corner
        Some(before) if before.y == run.y => label.join_below(at, before.end, run.x),
        _ => {
            label.join_below(OUTSIDE, 0, run.x);
            // planted: gap-row-above
            if above.is_none_or(|above| above.y + 1 != run.y) {
                let mut gap = at + 1;
                while label.is_in_row(gap, run.y) {
                    union(parents, gap, OUTSIDE);
                    gap += 1;
                }
            }
        }
    }
    // planted: gap-outside
    if !label.is_in_row(at + 1, run.y) {
        label.join_below(OUTSIDE, run.end, u32::MAX);
    }
}

/// The runs of a label, seen from one of them.
#[derive(Clone, Copy)]
struct OfLabel<'a> {
    runs: SortedRuns<'a>,
    parents: ViewMut<'a, u32>,
    /// The place after the label's last run.
    end: u32,
    /// The row of the run.
    row: u32,
    /// Its place.
    at: u32,
}

impl OfLabel<'_> {
    /// Whether the run at this place, which is not before the label's first one, is in this row.
    #[inline(always)]
    fn is_in_row(&self, place: u32, row: u32) -> bool {
        place < self.end && self.runs.sorted(place).y == row
    }

    /// The first place after the run's whose run starts at this column of the row below, or after
    /// it.
    #[inline(always)]
    fn first_below(&self, column: u32) -> u32 {
        let start = (u64::from(self.row) + 1) * u64::from(self.runs.width) + u64::from(column);
        let (mut from, mut to) = (self.at + 1, self.end);
        while from < to {
            let middle = from + (to - from) / 2;
            if u64::from(self.runs.start(middle)) < start {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Joins a gap with the columns from `from` to before `to` to those that it touches in the row
    /// below.
    #[inline(always)]
    fn join_below(&self, gap: u32, from: u32, to: u32) {
        let row = self.row + 1;
        let mut after = self.first_below(from);
        loop {
            // The gap before the run at `after`, or the one behind the row's last run.
            let begins_inside = self.is_in_row(after - 1, row);
            // planted: gap-touches
            if begins_inside && self.runs.sorted(after - 1).end > to {
                return;
            }
            let ends_inside = self.is_in_row(after, row);
            let other = if begins_inside && ends_inside {
                after
            } else {
                OUTSIDE
            };
            if gap != other {
                union(self.parents, gap, other);
            }
            if !ends_inside {
                return;
            }
            after += 1;
        }
    }
}

/// Adds the pixels of each label, and those of its holes. Without gaps (`parents` is empty), labels
/// have no holes.
///
/// Launch: one thread per run. Reads 20 bytes per run, and the path from each gap to its root.
///
/// # Safety
///
/// `parents` has an element per run, and all gaps that touch are joined; or it has none. `pixels`
/// and `holes` have an element per label, and nothing else uses them meanwhile.
#[kernel(block = BLOCK, len(
    runs = (),
    parents = if parents.is_empty() { 0 } else { runs.runs.starts.len() },
    pixels = runs.labels,
    holes = if parents.is_empty() { 0 } else { runs.labels },
))]
pub unsafe fn sum_areas(
    runs: SortedRuns<'_>,
    parents: ViewMut<'_, u32>,
    pixels: ViewMut<'_, u64>,
    holes: ViewMut<'_, u64>,
) {
    let at = thread::index_1d();
    let (mut label, mut of_run, mut of_gap) = (u32::MAX, 0, 0);
    if at < runs.len() {
        label = runs.group(at);
        let run = runs.sorted(at);
        of_run = run.end - run.x;
        if !parents.is_empty() && find(parents, at) != OUTSIDE && at > runs.begins.ldg(label) {
            let before = runs.sorted(at - 1);
            // planted: gap-of-row
            if before.y == run.y {
                of_gap = run.x - before.end;
            }
        }
    }
    add_by_label(pixels, label, of_run.into());
    if !parents.is_empty() {
        add_by_label(holes, label, of_gap.into());
    }
}

/// Adds the lanes' amounts to the sums of their labels, one atomic addition for each label of the
/// warp. Labels ascend from lane to lane; `u32::MAX` is none.
#[inline(always)]
fn add_by_label(sums: ViewMut<'_, u64>, label: u32, amount: u64) {
    let (sum, is_first) = joined_by_label(label, amount, |a, b| a + b);
    if is_first && label != u32::MAX && sum > 0 {
        // planted: gap-sum-atomic
        sums.atomic_add(label, sum);
    }
}
