//! Saddles: corners at which two foreground pixels touch diagonally, the other two being
//! background.
//!
//! A ring along the edges of pixels stays with its pixel at a saddle if the two pixels belong to
//! two 4-connected components. If they belong to one, the saddle is **joined**: the ring would come
//! to the corner a second time, and it crosses over to the other pixel instead.
//!
//! Runs of foreground in rows that overlap are joined by union-find on all threads, so that it
//! takes 4 bytes per run to find the components.

use rayon::prelude::*;
use trazar_kernels::primitives::bits::{count_through, starts};
use trazar_kernels::primitives::union_find::{Parents, find_and_shorten, union};

use super::forest::{Forest, OwnForest, singletons};
use crate::error::{Error, Result};
use crate::image::{BinaryImage, WORD_BITS};
use crate::memory::zeroed_vec;

/// One bit per joined saddle, at the pixel to its lower right.
pub(super) struct Saddles {
    /// Rows have as many words as those of a [`Plane`](super::plane::Plane); a spare word ends
    /// them.
    joined: Vec<u64>,
}

/// The fewest pixels that are worth a task.
const LEAST_PIXELS: u32 = 1 << 16;

/// Two words of runs, one above the other.
struct Overlap {
    above: u64,
    row: u64,
    /// The first pixels of the runs in each.
    above_starts: u64,
    row_starts: u64,
    /// The pixels to the left of both words' pixels.
    above_left: u64,
    row_left: u64,
    /// The runs that start before these words.
    above_first: u32,
    row_first: u32,
}

impl Overlap {
    /// Visits the words of a row and the row above it, from left to right, but for those in which
    /// no run begins or ends; with the numbers of runs before the two rows.
    fn for_each(rows: [&[u64]; 2], first_runs: [u32; 2], mut visit: impl FnMut(usize, &Self)) {
        let [above, row] = rows;
        let [mut above_first, mut row_first] = first_runs;
        let (mut above_carry, mut row_carry) = (0, 0);
        for (i, (&above, &row)) in above.iter().zip(row).enumerate() {
            // In most images, most words go on with what is to their left.
            let uniform = |word: u64, carry: u64| word == carry.wrapping_neg();
            if uniform(above, above_carry) && uniform(row, row_carry) {
                continue;
            }
            let overlap = Self {
                above,
                row,
                above_starts: starts(above, above_carry),
                row_starts: starts(row, row_carry),
                above_left: above << 1 | above_carry,
                row_left: row << 1 | row_carry,
                above_first,
                row_first,
            };
            visit(i, &overlap);
            above_first += overlap.above_starts.count_ones();
            row_first += overlap.row_starts.count_ones();
            (above_carry, row_carry) = (above >> 63, row >> 63);
        }
    }

    /// The last runs that start at or before a bit, above and in the row.
    fn runs_at(&self, bit: u32) -> [u32; 2] {
        [
            self.above_first + count_through(self.above_starts, bit) - 1,
            self.row_first + count_through(self.row_starts, bit) - 1,
        ]
    }

    /// The first column in which each pair of runs overlaps.
    fn overlaps(&self) -> u64 {
        self.above & self.row & !(self.above_left & self.row_left)
    }

    /// The pixels with a saddle at their upper left corner.
    fn saddles(&self) -> u64 {
        let falling = self.above_left & self.row & !self.above & !self.row_left;
        let rising = self.above & self.row_left & !self.above_left & !self.row;
        falling | rising
    }
}

impl Saddles {
    /// Finds the joined saddles of an image.
    pub(super) fn of(image: &BinaryImage) -> Result<Self> {
        let height = image.height();
        let least_rows = (LEAST_PIXELS / image.width()).max(1) as usize;
        let mut first_runs: Vec<u32> = zeroed_vec(height as usize, "the runs of rows")?;
        let each_row = first_runs.par_iter_mut().with_min_len(least_rows);
        each_row.enumerate().for_each(|(y, runs)| {
            let mut carry = 0;
            for &word in image.row(y as u32) {
                *runs += starts(word, carry).count_ones();
                carry = word >> 63;
            }
        });
        let mut count = 0u32;
        for runs in &mut first_runs {
            let before = count;
            count = count.checked_add(*runs).ok_or(Error::TooMany {
                what: "runs of foreground",
                limit: u32::MAX.into(),
            })?;
            *runs = before;
        }

        let parents = singletons(count, "the runs of rows")?;
        let rows = |y: u32| [image.row(y - 1), image.row(y)];
        let first_runs = |y: u32| [first_runs[y as usize - 1], first_runs[y as usize]];
        // Rows in bands, each by one thread; then the bands.
        let band = least_rows as u32;
        let bands = height.div_ceil(band);
        let own = OwnForest(&parents);
        (0..bands).into_par_iter().for_each(|i| {
            for y in i * band + 1..height.min((i + 1) * band) {
                join_runs(own, rows(y), first_runs(y));
            }
        });
        let parents = Forest(&parents);
        (1..bands).into_par_iter().for_each(|i| {
            let y = i * band;
            join_runs(parents, rows(y), first_runs(y));
        });

        let row_words = image.width() as usize / WORD_BITS + 1;
        let words = row_words * height as usize + 1;
        let mut joined: Vec<u64> = zeroed_vec(words, "the plane of saddles")?;
        let each_row = joined[..words - 1].par_chunks_mut(row_words);
        let each_row = each_row.with_min_len(least_rows).enumerate();
        each_row.for_each(|(y, joined)| {
            let y = y as u32;
            if y == 0 {
                return;
            }
            Overlap::for_each(rows(y), first_runs(y), |i, overlap| {
                let mut saddles = overlap.saddles();
                while saddles != 0 {
                    let bit = saddles.trailing_zeros();
                    // The run that has ended to the left of the corner is the last one there too.
                    let roots = overlap
                        .runs_at(bit)
                        .map(|run| find_and_shorten(parents, run));
                    joined[i] |= u64::from(roots[0] == roots[1]) << bit;
                    saddles &= saddles - 1;
                }
            });
        });
        Ok(Self { joined })
    }

    /// The joined saddles at the pixels of a word.
    #[inline]
    pub(super) fn joined(&self, word: usize) -> u64 {
        self.joined[word]
    }
}

/// Joins the runs of two rows, one above the other, that overlap.
fn join_runs(parents: impl Parents, rows: [&[u64]; 2], first_runs: [u32; 2]) {
    Overlap::for_each(rows, first_runs, |_, overlap| {
        let mut overlaps = overlap.overlaps();
        while overlaps != 0 {
            let [above, run] = overlap.runs_at(overlaps.trailing_zeros());
            union(parents, above, run);
            overlaps &= overlaps - 1;
        }
    });
}
