//! Portions: the runs of one label in one strip of rows.
//!
//! A sum of floating-point numbers depends on the order of additions. The processor adds up the
//! runs of each strip one after the other, and joins the sums of strips from the top down. So do
//! kernels: a warp takes a portion, each of its lanes sums up a run, and the sums of runs are added
//! in raster order. The portions of a label are joined as the processor joins the sums of strips.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, sync_warp};

use super::moments::from_point;
use super::pieces::{halves, pack};
use super::powers::{shifted, sum_count};
use super::sorted_runs::{Run, SortedRuns};
use crate::primitives::quotient;

/// Threads per block of the kernels that find portions.
pub const BLOCK: u32 = 256;
/// Threads per block of the kernels that sum them up.
pub const SUM_BLOCK: u32 = 128;
/// Warps per block of these.
const WARPS: u32 = SUM_BLOCK / WARP_SIZE;

/// Counts the portions that begin at each place of the order: one or none. A strip has `rows` rows,
/// the last one perhaps fewer.
///
/// Launch: one thread per run. Reads 16 bytes per run and writes 4.
///
/// # Safety
///
/// `counts` has an element per run, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(runs = (), counts = runs.runs.starts.len()))]
pub unsafe fn count_portions(runs: SortedRuns<'_>, rows: u32, counts: ViewMut<'_, u32>) {
    let at = thread::index_1d();
    if at < runs.len() {
        counts.st(at, u32::from(begins_portion(runs, rows, at)));
    }
}

/// Lists the portions: where each begins in the order, and the row (in the low half of a word) and
/// the column of its first pixel.
///
/// Launch: one thread per run. Reads 20 bytes per run, and writes 12 per portion.
///
/// # Safety
///
/// `before` has the number of portions that begin before each place of the order, `begins` and
/// `origins` an element per portion. Nothing else uses the two meanwhile.
#[kernel(block = BLOCK, len(
    runs = (),
    before = runs.runs.starts.len(),
    origins = begins.len(),
))]
pub unsafe fn list_portions(
    runs: SortedRuns<'_>,
    rows: u32,
    before: View<'_, u32>,
    begins: ViewMut<'_, u32>,
    origins: ViewMut<'_, u64>,
) {
    let at = thread::index_1d();
    if at < runs.len() && begins_portion(runs, rows, at) {
        let index = before.ldg(at);
        let origin = runs.sorted(at);
        begins.st(index, at);
        origins.st(index, pack([origin.y, origin.x]));
    }
}

/// Whether a portion begins at this place of the order.
#[inline(always)]
fn begins_portion(runs: SortedRuns<'_>, rows: u32, at: u32) -> bool {
    if at == 0 {
        return true;
    }
    let [last, this] = [runs.order.ldg(at - 1), runs.order.ldg(at)];
    let strip = |run: u32| quotient(runs.run(run).y, rows);
    // planted: measure-portion-strip
    runs.label(last) != runs.label(this) || strip(last) != strip(this)
}

/// All portions, label by label, those of a label from the top down.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Portions<'a> {
    /// Where each one begins in the order of runs.
    pub begins: View<'a, u32>,
    /// The row, in the low half, and the column of each one's first pixel.
    #[len(self.begins.len())]
    pub origins: View<'a, u64>,
    /// Whether the image is one strip, so that the processor joins no strips.
    pub is_one_strip: u32,
}

impl Portions<'_> {
    /// The first portion that begins at this place of the order, or after it.
    #[inline(always)]
    fn first_from(&self, place: u32) -> u32 {
        let (mut from, mut to) = (0, self.begins.len() as u32);
        while from < to {
            let middle = from + (to - from) / 2;
            if self.begins.ldg(middle) < place {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// The row and the column of a portion's first pixel.
    #[inline(always)]
    fn origin(&self, portion: u32) -> [u32; 2] {
        halves(self.origins.ldg(portion))
    }
}

/// The portions of a label.
#[derive(Clone, Copy)]
pub(super) struct LabelPortions<'a> {
    portions: Portions<'a>,
    first: u32,
    /// The place in the order after the label's last run.
    end: u32,
}

impl<'a> LabelPortions<'a> {
    /// Those of a label, given by its number.
    #[inline(always)]
    pub(super) fn of(runs: SortedRuns<'_>, portions: Portions<'a>, label: u32) -> Self {
        let [begin, end] = runs.places_of(label);
        Self {
            portions,
            first: portions.first_from(begin),
            end,
        }
    }

    /// The row and the column of the label's first pixel.
    #[inline(always)]
    pub(super) fn origin(&self) -> [u32; 2] {
        self.portions.origin(self.first)
    }

    /// The sums of all portions, joined to `none`, or those of the only one.
    #[inline(always)]
    pub(super) fn joined<T>(
        &self,
        none: T,
        of: impl Fn(u32) -> T,
        mut join: impl FnMut(&mut T, T),
    ) -> T {
        if self.portions.is_one_strip != 0 {
            return of(self.first);
        }
        let mut all = none;
        let mut portion = self.first;
        // planted: portion-column-last
        while (portion as usize) < self.portions.begins.len()
            && self.portions.begins.ldg(portion) < self.end
        {
            join(&mut all, of(portion));
            portion += 1;
        }
        all
    }

    /// The sums of `weight · rowⁱ · columnʲ` for i and j below `N`, from the label's first pixel.
    /// `sums` has those for i and j below `powers` of each portion.
    #[inline(always)]
    pub(super) fn powers<const N: usize>(&self, sums: View<'_, f64>, powers: u32) -> [[f64; N]; N] {
        let [row, column] = self.origin().map(i64::from);
        let of_portion = |portion: u32| {
            let first = portion as usize * sum_count(powers) as usize;
            let mut all = [[0.0; N]; N];
            let mut i = 0;
            while i < N {
                let mut j = 0;
                while j < N {
                    all[i][j] = sums.ldg(first + i * powers as usize + j);
                    j += 1;
                }
                i += 1;
            }
            if self.portions.is_one_strip != 0 {
                return all;
            }
            let [y, x] = self.portions.origin(portion).map(i64::from);
            // planted: portion-column-shifted
            shifted(all, (y - row) as f64, (x - column) as f64)
        };
        self.joined([[0.0; N]; N], of_portion, |all, other| {
            let mut i = 0;
            while i < N {
                let mut j = 0;
                while j < N {
                    all[i][j] += other[i][j];
                    j += 1;
                }
                i += 1;
            }
        })
    }

    /// The row and the column of the first pixel of the label's box, whose column is `left`, from
    /// the label's first pixel.
    #[inline(always)]
    pub(super) fn corner(&self, left: u32) -> [f64; 2] {
        let [_, column] = self.origin();
        // planted: moment-left
        let before = i64::from(column) - i64::from(left);
        [0.0, -(before as f64)]
    }

    /// The same sums as [`powers`](Self::powers), from the first pixel of the label's box on, whose
    /// column is `left`.
    #[inline(always)]
    pub(super) fn powers_in_box<const N: usize>(
        &self,
        sums: View<'_, f64>,
        powers: u32,
        left: u32,
    ) -> [[f64; N]; N] {
        from_point(self.powers(sums, powers), self.corner(left))
    }
}

/// The numbers that a run has handed over, in shared memory.
#[derive(Clone, Copy)]
pub(super) struct OfRun {
    memory: SharedView<f64>,
    first: usize,
}

impl OfRun {
    #[inline(always)]
    pub(super) fn number(self, i: usize) -> f64 {
        self.memory.ld(self.first + i)
    }
}

/// A warp's portion.
#[derive(Clone, Copy)]
pub(super) struct Portion<'a> {
    runs: SortedRuns<'a>,
    /// Its runs, as a range of the order.
    begin: u32,
    end: u32,
    /// Its first run.
    pub(super) origin: Run,
    /// Its index.
    pub(super) index: u32,
    pub(super) lane: u32,
}

impl<'a> Portion<'a> {
    /// That of this warp, if there is one. `begins` has the place in the order at which each one
    /// begins.
    #[inline(always)]
    pub(super) fn of_warp(runs: SortedRuns<'a>, begins: View<'_, u32>) -> Option<Self> {
        let t = thread::thread_idx_x();
        let index = thread::block_idx_x() * WARPS + t / WARP_SIZE;
        if index as usize >= begins.len() {
            return None;
        }
        let begin = begins.ldg(index);
        let end = if index as usize + 1 < begins.len() {
            begins.ldg(index + 1)
        } else {
            runs.len()
        };
        Some(Self {
            runs,
            begin,
            end,
            origin: runs.sorted(begin),
            index,
            lane: t % WARP_SIZE,
        })
    }

    /// Calls `add` with the numbers that `of_run` returns for each run, in the order of runs. All
    /// lanes call `add`. `memory` has room for `N` numbers per thread of the block.
    #[inline(always)]
    pub(super) fn for_each_in_order<const N: usize>(
        &self,
        memory: SharedView<f64>,
        mut of_run: impl FnMut(Run) -> [f64; N],
        mut add: impl FnMut(OfRun),
    ) {
        let of_warp = (thread::thread_idx_x() - self.lane) as usize * N;
        let mut at = self.begin;
        while at < self.end {
            if self.end - at > self.lane {
                let numbers = of_run(self.runs.sorted(at + self.lane));
                let own = of_warp + self.lane as usize * N;
                let mut i = 0;
                while i < N {
                    memory.st(own + i, numbers[i]);
                    i += 1;
                }
            }
            // planted: measure-portion-barrier
            sync_warp(FULL_MASK);
            let count = (self.end - at).min(WARP_SIZE);
            let mut run = 0;
            while run < count {
                add(OfRun {
                    memory,
                    first: of_warp + run as usize * N,
                });
                run += 1;
            }
            // planted: measure-portion-reuse
            sync_warp(FULL_MASK);
            at += WARP_SIZE;
        }
    }
}
