//! Pieces: runs of one label that a warp sums up.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_shuffle_down, warp_shuffle_up, warp_shuffle_xor};

use super::runs::Runs;
use crate::primitives::quotient;

/// The most runs of a piece.
pub const PIECE: u32 = 1024;

/// The number of pieces of `runs` runs with `labels` labels. Some of them may be empty.
#[must_use]
pub const fn pieces(labels: u32, runs: u32) -> u32 {
    labels + runs / PIECE
}

/// The index of the first piece of a label whose runs begin at this place in the order. Of `n` runs
/// from place `b` on, there are at most `(b + n) / PIECE - b / PIECE + 1` pieces.
#[inline(always)]
#[must_use]
pub const fn first_piece(label: u32, begin: u32) -> u32 {
    label + begin / PIECE
}

/// Runs sorted by label.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct SortedRuns<'a> {
    /// The runs in raster order.
    #[len(self.runs.starts.len() as u32)]
    pub runs: Runs<'a>,
    /// The runs, label by label, those of a label in raster order.
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

/// A piece.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    /// The first run of its label, as an index in raster order.
    pub(super) first_run: u32,
    /// Its runs, as a range of the order; may be empty.
    pub(super) begin: u32,
    pub(super) end: u32,
}

impl SortedRuns<'_> {
    /// The number of runs.
    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.runs.starts.len() as u32
    }

    /// Where the runs of a label, given by its number, begin and end in the order.
    #[inline(always)]
    pub(super) fn places_of(&self, label: u32) -> [u32; 2] {
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

    /// The index of a label's first piece.
    #[inline(always)]
    fn first_piece(&self, label: u32) -> u32 {
        first_piece(label, self.begins.ldg(label))
    }

    /// The piece with an index below [`pieces`].
    #[inline(always)]
    pub(super) fn piece(&self, index: u32) -> Piece {
        // The last label whose first piece is at most the index.
        let (mut label, mut after) = (0, self.labels);
        while after - label > 1 {
            let middle = label + (after - label) / 2;
            // planted: measure-piece-label
            if self.first_piece(middle) <= index {
                label = middle;
            } else {
                after = middle;
            }
        }
        let [first, end_of_label] = self.places_of(label);
        let begin = (first + (index - self.first_piece(label)) * PIECE).min(end_of_label);
        Piece {
            first_run: self.order.ldg(first),
            begin,
            // planted: measure-piece-end
            end: (begin + PIECE).min(end_of_label),
        }
    }

    /// A run by its index in raster order.
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
    pub(super) fn label(&self, index: u32) -> u64 {
        let high = if self.high.is_empty() {
            0
        } else {
            self.high.ldg(index)
        };
        u64::from(self.low.ldg(index)) | u64::from(high) << 32
    }

    /// A run by its index in the order.
    #[inline(always)]
    pub(super) fn sorted(&self, at: u32) -> Run {
        self.run(self.order.ldg(at))
    }
}

/// The sum of all lanes' values.
#[inline(always)]
pub(super) fn sum_of_warp(value: i128) -> i128 {
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (low, _) = warp_shuffle_xor(FULL_MASK, sum as u64, distance, WARP_SIZE);
        let (high, _) = warp_shuffle_xor(FULL_MASK, (sum >> 64) as u64, distance, WARP_SIZE);
        sum = sum.wrapping_add((u128::from(high) << 64 | u128::from(low)).cast_signed());
        distance *= 2;
    }
    sum
}

/// The sum of all lanes' values of 64 bits.
#[inline(always)]
pub(super) fn short_sum_of_warp(value: u64) -> u64 {
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (other, _) = warp_shuffle_xor(FULL_MASK, sum, distance, WARP_SIZE);
        sum = sum.wrapping_add(other);
        distance *= 2;
    }
    sum
}

/// The least of all lanes' values.
#[inline(always)]
pub(super) fn least_of_warp(value: i64) -> i64 {
    let mut least = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (other, _) = warp_shuffle_xor(FULL_MASK, least, distance, WARP_SIZE);
        least = least.min(other);
        distance *= 2;
    }
    least
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

/// Writes a sum of 128 bits as two words, the low one first.
#[inline(always)]
pub(super) fn store_wide(words: ViewMut<'_, u64>, at: usize, sum: i128) {
    words.st(at, sum as u64);
    words.st(at + 1, (sum >> 64) as u64);
}
