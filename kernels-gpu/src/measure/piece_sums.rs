//! The sums of a label's pieces, joined.

use cuda_std::prelude::*;

use super::ellipse::{CenteredSums, Spread, rounded};
use super::intensities::{self, floor_quotient};
use super::moments::ExactSums;
use super::pieces::{halves, load_wide};
use super::shape_table::{PairCounts, ShapeSums};
use super::sorted_runs::SortedRuns;
use super::sums::{BASE_WORDS, base, pairs, second, wanted, words};
use super::table::BoxSums;

/// A number of pieces, and the [sums](super::sums::wanted) that they have.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceSizes {
    /// The number of pieces.
    pub pieces: u32,
    /// The bits of the sums.
    pub wanted: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl PieceSizes {
    /// Those of no pieces.
    pub(super) const NONE: Self = Self {
        pieces: 0,
        wanted: 0,
    };

    /// The sizes for these runs, with these bits of the sums.
    #[must_use]
    pub fn of(runs: SortedRuns<'_>, wanted: u32) -> Self {
        Self {
            pieces: runs.pieces(),
            wanted,
        }
    }

    /// Words of the sums of pixels.
    #[must_use]
    pub const fn words(self) -> u64 {
        self.pieces as u64 * words(self.wanted) as u64
    }

    /// Words of the sums of intensities.
    #[must_use]
    pub const fn intensities(self) -> u64 {
        if self.wanted & wanted::INTENSITIES != 0 {
            self.pieces as u64 * intensities::WORDS as u64
        } else {
            0
        }
    }
}

/// The sums of all pieces.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(PieceSizes)]
pub struct PieceSums<'a> {
    /// Those of pixels ([`sums`](super::sums)).
    #[len(sizes.words())]
    pub pixels: View<'a, u64>,
    /// Those of intensities ([`intensities`]); empty if they are not wanted.
    #[len(sizes.intensities())]
    pub intensities: View<'a, u64>,
}

/// The pieces of a label.
#[derive(Clone, Copy)]
pub(super) struct LabelPieces<'a> {
    sums: PieceSums<'a>,
    /// The bits of the sums that pieces have.
    bits: u32,
    first: u32,
    /// The piece after the last.
    end: u32,
}

impl<'a> LabelPieces<'a> {
    /// Those of a label, given by its number.
    #[inline(always)]
    pub(super) fn of(runs: SortedRuns<'_>, sums: PieceSums<'a>, bits: u32, label: u32) -> Self {
        let [first, end] = runs.pieces_of(label);
        Self {
            sums,
            bits,
            first,
            end,
        }
    }

    /// The results for all pieces, joined. `of` gets the index of a piece's first word; a piece has
    /// `words` words.
    #[inline(always)]
    fn joined<T>(&self, words: u32, of: impl Fn(usize) -> T, join: impl Fn(T, T) -> T) -> T {
        let place = |piece: u32| piece as usize * words as usize;
        let mut all = of(place(self.first));
        let mut piece = self.first + 1;
        // planted: piece-column-last
        while piece < self.end {
            all = join(all, of(place(piece)));
            piece += 1;
        }
        all
    }

    /// The sum of this word of all pieces.
    #[inline(always)]
    fn sum(&self, word: u32) -> u64 {
        let of = |at: usize| self.sums.pixels.ldg(at + word as usize);
        self.joined(words(self.bits), of, |a, b| a + b)
    }

    /// The sum of the numbers of 128 bits that begin at this word.
    #[inline(always)]
    fn wide_sum(&self, word: u32) -> i128 {
        let of = |at: usize| load_wide(self.sums.pixels, at + word as usize);
        self.joined(words(self.bits), of, |a, b| a + b)
    }

    /// A word of the first piece.
    #[inline(always)]
    fn first_word(&self, word: u32) -> u64 {
        let at = self.first as usize * words(self.bits) as usize;
        self.sums.pixels.ldg(at + word as usize)
    }

    /// The label, as a number in the order of labels.
    #[inline(always)]
    pub(super) fn label(&self) -> u64 {
        self.first_word(base::LABEL)
    }

    /// The row and the column of the first pixel.
    #[inline(always)]
    fn origin(&self) -> [u32; 2] {
        halves(self.first_word(base::ORIGIN))
    }

    /// What makes moments exact.
    #[inline(always)]
    pub(super) fn exact(&self) -> ExactSums {
        let (pixels, first) = (self.pixels(), self.first_powers());
        ExactSums {
            pixels: pixels as f64,
            first: first.map(rounded),
            second: Spread::of(&self.centered_from(pixels, first)).moments,
        }
    }

    /// The sums of coordinates from the centroid on, given the number of pixels and the sums from
    /// the first pixel on.
    #[inline(always)]
    fn centered_from(&self, pixels: u64, [r, c]: [i128; 2]) -> CenteredSums {
        let [rr, rc, cc] = second::PRODUCTS.map(|word| self.wide_sum(BASE_WORDS + word));
        let [y, x] = [r, c].map(|sum| i128::from(floor_quotient(sum, pixels)));
        let n = i128::from(pixels);
        CenteredSums {
            pixels,
            r: r - n * y,
            c: c - n * x,
            // planted: piece-column-centered
            rr: rr - y * (2 * r - n * y),
            rc: rc - y * c - x * r + n * y * x,
            cc: cc - x * (2 * c - n * x),
        }
    }

    /// The sums of rows and of columns from the first pixel on.
    #[inline(always)]
    fn first_powers(&self) -> [i128; 2] {
        [second::ROWS, second::COLUMNS].map(|word| self.wide_sum(BASE_WORDS + word))
    }

    /// The label's box, and the sums of coordinates in it, which are 0 if pieces have none.
    #[inline(always)]
    pub(super) fn in_box(&self) -> BoxSums {
        let pixels = self.pixels();
        let [top, column] = self.origin();
        let [bottom, left] = self.joined(
            words(self.bits),
            |at| {
                let word = at + base::LAST_ROW_AND_FIRST_COLUMN as usize;
                let [last_row, first_column] = halves(self.sums.pixels.ldg(word));
                [last_row + 1, first_column]
            },
            // Those of a piece without runs are row 0 and column u32::MAX.
            |[bottom, left], other| [bottom.max(other[0]), left.min(other[1])],
        );
        let right = self.joined(
            words(self.bits),
            |at| self.sums.pixels.ldg(at + base::END_COLUMN as usize) as u32,
            u32::max,
        );
        let (mut rows, mut columns) = (0, 0);
        if self.bits & wanted::SECOND != 0 {
            let [r, c] = self.first_powers();
            // planted: piece-column-left
            let before = pixels * u64::from(column - left);
            rows = r as u64;
            columns = (c + i128::from(before)) as u64;
        }
        BoxSums {
            pixels,
            rows,
            columns,
            top,
            left,
            bottom,
            right,
        }
    }
}

impl ShapeSums for LabelPieces<'_> {
    #[inline(always)]
    fn pixels(&self) -> u64 {
        self.sum(base::PIXELS)
    }

    #[inline(always)]
    fn centered(&self) -> CenteredSums {
        self.centered_from(self.pixels(), self.first_powers())
    }

    #[inline(always)]
    fn outline(&self) -> [u64; 3] {
        let first = words(self.bits & !wanted::OUTLINE);
        [self.sum(first), self.sum(first + 1), self.sum(first + 2)]
    }

    #[inline(always)]
    fn pairs(&self) -> PairCounts {
        let first = words(self.bits & wanted::SECOND);
        let [right, left] = pairs::SLANTED;
        PairCounts {
            runs: self.sum(first + pairs::RUNS),
            below: self.sum(first + pairs::BELOW),
            slanted: self.sum(first + right) + self.sum(first + left),
            squares: self.sum(first + pairs::SQUARES),
            diagonals: self.sum(first + pairs::DIAGONALS),
        }
    }

    #[inline(always)]
    fn extremes(&self) -> [i64; 2] {
        let all = self.sums.intensities;
        let least = |at: usize| all.ldg(at).cast_signed();
        let greatest = |at: usize| all.ldg(at + 1).cast_signed();
        [
            self.joined(intensities::WORDS, least, i64::min),
            self.joined(intensities::WORDS, greatest, i64::max),
        ]
    }

    #[inline(always)]
    fn intensities(&self) -> i128 {
        let of = |at: usize| load_wide(self.sums.intensities, at + 2);
        self.joined(intensities::WORDS, of, |a, b| a + b)
    }

    #[inline(always)]
    fn intensity_squares(&self) -> i128 {
        let of = |at: usize| load_wide(self.sums.intensities, at + 4);
        self.joined(intensities::WORDS, of, |a, b| a + b)
    }
}
