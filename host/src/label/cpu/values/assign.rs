//! First pass: provisional labels of the runs of a strip.

use std::mem::swap;
use std::ops::Range;

use trazar_kernels::primitives::bits::count_through;

use super::super::forest::Forest;
use crate::error::Result;
use crate::image::compare::{ValueRow, row_words};
use crate::image::{PixelValue, ValueImage, WORD_BITS};
use crate::label::Connectivity;
use crate::memory::{filled_vec, reserve, zeroed_vec};

/// Name used in out-of-memory errors.
const RUNS: &str = "the runs of rows";

/// Sentinel: a run without a label.
const NONE: u32 = 0;

/// The runs that start in 64 pixels.
#[derive(Clone, Copy)]
pub(super) struct RunWord {
    /// The pixels that count.
    pub(super) here: u64,
    /// The first pixels of runs.
    pub(super) starts: u64,
}

/// A strip of rows after the first pass.
#[derive(Default)]
pub(super) struct Assigned {
    rows: Range<u32>,
    /// The provisional labels; those of the strip alone.
    pub(super) forest: Forest,
    /// What to add to a label of the strip for its label in the image.
    pub(super) first_label: u32,
    /// All rows' words.
    pub(super) words: Vec<RunWord>,
    /// The labels of all runs, in raster order.
    pub(super) runs: Vec<u32>,
    /// The number of runs in the first row, and in the last one.
    rims: [usize; 2],
}

impl Assigned {
    /// Labels the runs of some rows.
    pub(super) fn new<T: PixelValue>(
        image: &ValueImage<'_, T>,
        rows: Range<u32>,
        connectivity: Connectivity,
    ) -> Result<Self> {
        let n = row_words(image.width());
        let room = row_room(image.width());
        let mut this = Self {
            rows: rows.clone(),
            forest: Forest::new(u32::MAX)?,
            ..Self::default()
        };
        reserve(&mut this.words, n * rows.len(), RUNS)?;
        let mut north: Vec<u64> = zeroed_vec(n, RUNS)?;
        let (mut above, mut row) = (ValueRow::new(image)?, ValueRow::new(image)?);
        // The labels of a row's runs, from element 1 on. So the index of a place's run is the
        // number of runs that start up to that place.
        let mut labels = filled_vec(NONE, room, RUNS)?;
        let mut above_labels = filled_vec(NONE, room, RUNS)?;
        for y in rows.clone() {
            row.read(image, y)?;
            if y > rows.start {
                above.compare_below(&row, &mut north);
            }
            let pair = RowPair {
                above: &above,
                row: &row,
                north: &north,
                connectivity,
            };
            let (forest, words) = (&mut this.forest, &mut this.words);
            let runs = pair.join(forest, &mut labels, &above_labels, words);
            this.forest.reserve(runs)?;
            for label in &mut labels[1..=runs] {
                if *label == NONE {
                    *label = this.forest.plant()?;
                }
            }
            reserve(&mut this.runs, runs, RUNS)?;
            this.runs.extend_from_slice(&labels[1..=runs]);
            if y == rows.start {
                this.rims[0] = runs;
            }
            this.rims[1] = runs;
            swap(&mut labels, &mut above_labels);
            swap(&mut above, &mut row);
        }
        Ok(this)
    }

    /// The labels of the runs in the first row.
    pub(super) fn first_row(&self) -> &[u32] {
        &self.runs[..self.rims[0]]
    }

    /// The labels of the runs in the last row.
    pub(super) fn last_row(&self) -> &[u32] {
        &self.runs[self.runs.len() - self.rims[1]..]
    }
}

/// The room for the labels of a row's runs, and for as many as can start in a word after them.
fn row_room(width: u32) -> usize {
    1 + width as usize + WORD_BITS
}

/// Joins the labels of runs that touch between the last row of a strip and the first row of the
/// next one. `forest` has the labels of all strips so far.
pub(super) fn join_seam<T: PixelValue>(
    image: &ValueImage<'_, T>,
    upper: &Assigned,
    lower: &Assigned,
    connectivity: Connectivity,
    forest: &mut Forest,
) -> Result<()> {
    let n = row_words(image.width());
    let y = lower.rows.start;
    let (mut above, mut row) = (ValueRow::new(image)?, ValueRow::new(image)?);
    above.read(image, y - 1)?;
    row.read(image, y)?;
    let mut north: Vec<u64> = zeroed_vec(n, RUNS)?;
    above.compare_below(&row, &mut north);
    let room = row_room(image.width());
    let mut above_labels = filled_vec(NONE, room, RUNS)?;
    for (label, run) in above_labels[1..].iter_mut().zip(upper.last_row()) {
        *label = run + upper.first_label;
    }
    let mut labels = filled_vec(NONE, room, RUNS)?;
    let mut words = Vec::new();
    reserve(&mut words, n, RUNS)?;
    let pair = RowPair {
        above: &above,
        row: &row,
        north: &north,
        connectivity,
    };
    let runs = pair.join(forest, &mut labels, &above_labels, &mut words);
    for (label, run) in labels[1..=runs].iter().zip(&lower.runs) {
        if *label != NONE {
            forest.join(*label, run + lower.first_label);
        }
    }
    Ok(())
}

/// A row and the row above it.
struct RowPair<'r, 'a, T> {
    above: &'r ValueRow<'a, T>,
    row: &'r ValueRow<'a, T>,
    /// The pixels of the row that equal the pixel above.
    north: &'r [u64],
    connectivity: Connectivity,
}

/// The bits at the left side of a word that come from the word before.
#[derive(Default)]
struct Carries {
    above_east: u64,
    east: u64,
    north: u64,
    diagonals: [u64; 2],
}

impl<T: PixelValue> RowPair<'_, '_, T> {
    /// Gives each run that touches runs above the label of one of them, and joins the labels of all
    /// of them. Other runs get [`NONE`]. Adds the row's words to `words`, which has room for them.
    /// Returns the number of runs.
    fn join(
        &self,
        forest: &mut Forest,
        labels: &mut [u32],
        above_labels: &[u32],
        words: &mut Vec<RunWord>,
    ) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
            // SAFETY: the processor has the features, as just asked.
            return unsafe { self.join_popcnt(forest, labels, above_labels, words) };
        }
        self.join_anywhere(forest, labels, above_labels, words)
    }

    /// [`join_anywhere`](Self::join_anywhere) with instructions that count bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,bmi1")]
    fn join_popcnt(
        &self,
        forest: &mut Forest,
        labels: &mut [u32],
        above_labels: &[u32],
        words: &mut Vec<RunWord>,
    ) -> usize {
        self.join_anywhere(forest, labels, above_labels, words)
    }

    #[inline(always)]
    fn join_anywhere(
        &self,
        forest: &mut Forest,
        labels: &mut [u32],
        above_labels: &[u32],
        words: &mut Vec<RunWord>,
    ) -> usize {
        let (above, row) = (self.above, self.row);
        let [mut above_runs, mut runs] = [0; 2];
        let mut carries = Carries::default();
        for i in 0..row.here.len() {
            let (here, above_here, north) = (row.here[i], above.here[i], self.north[i]);
            let above_west = above.east[i] << 1 | carries.above_east;
            let west = row.east[i] << 1 | carries.east;
            let (starts, above_starts) = (here & !west, above_here & !above_west);
            words.push(RunWord { here, starts });
            let count = starts.count_ones() as usize;
            let corners = match self.connectivity {
                Connectivity::Four => [0; 2],
                Connectivity::Eight => {
                    let sides = above_west | west | north | north << 1 | carries.north;
                    self.corners(i, sides, &mut carries.diagonals)
                }
            };
            let new = &mut labels[runs + 1..][..count];
            if north == here && here == above_here && starts == above_starts {
                // The runs that start here are below runs of the same columns.
                new.copy_from_slice(&above_labels[above_runs + 1..][..count]);
            } else {
                new.fill(NONE);
                let mut touch = |run: usize, other: usize| {
                    let label = &mut labels[run];
                    let other = above_labels[other];
                    *label = if *label == NONE {
                        other
                    } else {
                        forest.join(*label, other)
                    };
                };
                let run_at = |bit| runs + count_through(starts, bit) as usize;
                let above_at = |bit| above_runs + count_through(above_starts, bit) as usize;
                // Where two runs overlap, the overlap's first column.
                for_each_bit(north & !(above_west & west), |bit| {
                    touch(run_at(bit), above_at(bit));
                });
                // The left one of two pixels that touch at a corner may end its run there.
                for_each_bit(corners[0], |bit| {
                    let ended = (above_starts >> bit & 1) as usize;
                    touch(run_at(bit), above_at(bit) - ended);
                });
                for_each_bit(corners[1], |bit| {
                    let ended = (starts >> bit & 1) as usize;
                    touch(run_at(bit) - ended, above_at(bit));
                });
            }
            above_runs += above_starts.count_ones() as usize;
            runs += count;
            carries.above_east = above.east[i] >> (WORD_BITS - 1);
            carries.east = row.east[i] >> (WORD_BITS - 1);
            carries.north = north >> (WORD_BITS - 1);
        }
        runs
    }

    /// The pixels of word `i` with a corner to their upper left at which two pixels on a diagonal
    /// are equal and no two side by side: for the falling and for the rising diagonal. `sides` are
    /// the corners at which two side by side are equal.
    #[inline(always)]
    fn corners(&self, i: usize, sides: u64, carries: &mut [u64; 2]) -> [u64; 2] {
        let diagonals = self.above.diagonals(self.row, self.north, i);
        let corners = [0, 1].map(|d| (diagonals[d] << 1 | carries[d]) & !sides);
        *carries = diagonals.map(|equal| equal >> (WORD_BITS - 1));
        corners
    }
}

/// Visits the bits that are set.
#[inline(always)]
fn for_each_bit(mut bits: u64, mut visit: impl FnMut(u32)) {
    while bits != 0 {
        visit(bits.trailing_zeros());
        bits &= bits - 1;
    }
}
