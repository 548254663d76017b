//! Pieces: runs of one label that a warp sums up.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_shuffle_xor};

use super::sorted_runs::SortedRuns;

/// The most runs of a piece.
pub const PIECE: u32 = 1024;

/// The number of pieces of `runs` runs with `labels` labels. Some of them may be empty.
#[must_use]
pub const fn pieces(labels: u32, runs: u32) -> u32 {
    labels + runs / PIECE
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
    /// The index of a label's first piece. Of `n` runs from place `b` of the order on, there are at
    /// most `(b + n) / PIECE - b / PIECE + 1` pieces.
    #[inline(always)]
    fn first_piece(&self, label: u32) -> u32 {
        label + self.begins.ldg(label) / PIECE
    }

    /// The number of pieces.
    #[inline(always)]
    pub(super) fn pieces(&self) -> u32 {
        pieces(self.labels, self.len())
    }

    /// The indices of a label's first piece, which has runs, and of the one after its last.
    #[inline(always)]
    pub(super) fn pieces_of(&self, label: u32) -> [u32; 2] {
        let end = if label + 1 < self.labels {
            self.first_piece(label + 1)
        } else {
            self.pieces()
        };
        [self.first_piece(label), end]
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

/// Writes a sum of 128 bits as two words, the low one first.
#[inline(always)]
pub(super) fn store_wide(words: ViewMut<'_, u64>, at: usize, sum: i128) {
    words.st(at, sum as u64);
    words.st(at + 1, (sum >> 64) as u64);
}

/// Two numbers of 32 bits as a word, the first one in its low half.
#[inline(always)]
pub(super) fn pack([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The low half of a word, and the high one.
#[inline(always)]
pub(super) fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// A sum of 128 bits from two words, the low one first.
#[inline(always)]
pub(super) fn load_wide(words: View<'_, u64>, at: usize) -> i128 {
    let [low, high] = [words.ldg(at), words.ldg(at + 1)];
    (u128::from(high) << 64 | u128::from(low)).cast_signed()
}
