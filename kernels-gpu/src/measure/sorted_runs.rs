//! Runs sorted by label.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_shuffle_down, warp_shuffle_up};

use super::runs::Runs;
use crate::primitives::quotient;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Runs sorted by label.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct SortedRuns<'a> {
    /// The runs in the order of their pixels.
    #[len(self.runs.starts.len() as u32)]
    pub runs: Runs<'a>,
    /// The runs, label by label, those of a label in the order of their pixels.
    #[len(self.runs.starts.len())]
    pub order: View<'a, u32>,
    /// Where each label's runs begin in the order; the elements after those are not read.
    #[len(self.labels)]
    pub begins: View<'a, u32>,
    /// The low 32 bits of each run's label, as a number in the order of labels.
    #[len(self.runs.starts.len())]
    pub low: View<'a, u32>,
    /// The high ones; empty for labels of up to 32 bits.
    pub high: View<'a, u32>,
    /// Each run's label, numbered from 0 in ascending order.
    #[len(self.runs.starts.len())]
    pub groups: View<'a, u32>,
    /// The number of labels.
    pub labels: u32,
    /// Pixels per row of the image.
    pub width: u32,
}

/// A run of pixels.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) x: u32,
    pub(super) y: u32,
    /// The column after the last.
    pub(super) end: u32,
}

impl SortedRuns<'_> {
    /// The number of runs.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.runs.starts.len() as u32
    }

    /// Where the runs of a label, given by its number, begin and end in the order.
    #[inline(always)]
    pub(crate) fn places_of(&self, label: u32) -> [u32; 2] {
        let end = if label + 1 < self.labels {
            self.begins.ldg(label + 1)
        } else {
            self.len()
        };
        [self.begins.ldg(label), end]
    }

    /// The number of the label whose run is at this place of the order.
    #[inline(always)]
    pub(super) fn group(&self, at: u32) -> u32 {
        self.groups.ldg(self.order.ldg(at))
    }

    /// The first pixel, by its index in raster order, of the run at this place of the order.
    #[inline(always)]
    pub(super) fn start(&self, at: u32) -> u32 {
        self.runs.starts.ld(self.order.ldg(at))
    }

    /// A run in a row, by its index.
    #[inline(always)]
    pub(super) fn run(&self, index: u32) -> Run {
        let start = self.runs.starts.ld(index);
        let y = quotient(start, self.width);
        Run {
            x: start - y * self.width,
            y,
            end: self.runs.ends.ld(index),
        }
    }

    /// A run's label, as a number in the order of labels.
    #[inline(always)]
    pub(crate) fn label(&self, index: u32) -> u64 {
        let high = if self.high.is_empty() {
            0
        } else {
            self.high.ldg(index)
        };
        u64::from(self.low.ldg(index)) | u64::from(high) << 32
    }

    /// A run in a row, by its index in the order.
    #[inline(always)]
    pub(super) fn sorted(&self, at: u32) -> Run {
        self.run(self.order.ldg(at))
    }
}

/// Writes the number of labels up to `background`, given as a number in the order of labels.
///
/// Launch: one thread. Reads 12 bytes per step of a binary search.
///
/// # Safety
///
/// `count` has one element, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(runs = (), count = 1))]
pub unsafe fn count_background(runs: SortedRuns<'_>, background: u64, count: ViewMut<'_, u32>) {
    if thread::index_1d() > 0 {
        return;
    }
    let (mut from, mut to) = (0, runs.labels);
    while from < to {
        let middle = from + (to - from) / 2;
        // planted: runs-background
        if runs.label(runs.order.ldg(runs.begins.ldg(middle))) <= background {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    count.st(0, from);
}

/// Finds the first column of each label's box.
///
/// Launch: one thread per run. Reads 16 bytes per run.
///
/// # Safety
///
/// `columns` has an element per label, all `u32::MAX`, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(runs = (), columns = runs.labels))]
pub unsafe fn find_first_columns(runs: SortedRuns<'_>, columns: ViewMut<'_, u32>) {
    let at = thread::index_1d();
    let (mut label, mut column) = (u32::MAX, u32::MAX);
    if at < runs.len() {
        label = runs.group(at);
        column = runs.sorted(at).x;
    }
    let (least, is_first) = joined_by_label(label, column.into(), |a, b| a.min(b));
    if is_first && label != u32::MAX {
        // planted: runs-first-column
        columns.atomic_min(label, least as u32);
    }
}

/// The values of the lanes from this one on that have its label, joined; and whether it is the
/// first lane with the label. Labels ascend from lane to lane.
#[inline(always)]
pub(super) fn joined_by_label(
    label: u32,
    value: u64,
    join: impl Fn(u64, u64) -> u64,
) -> (u64, bool) {
    let mut all = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (other, has_other) = warp_shuffle_down(FULL_MASK, all, distance, WARP_SIZE);
        let (of, _) = warp_shuffle_down(FULL_MASK, label, distance, WARP_SIZE);
        // planted: label-of-lane
        if has_other && of == label {
            all = join(all, other);
        }
        distance *= 2;
    }
    let (before, has_before) = warp_shuffle_up(FULL_MASK, label, 1, WARP_SIZE);
    (all, !has_before || before != label)
}
