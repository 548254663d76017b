//! Two passes over a strip of rows: assign provisional labels to runs, then fill pixels.
//!
//! Between the passes, the provisional labels of a row's runs are kept in the result itself, at the
//! row's start, or in a list while they are few ([`LabelRows`]). So the passes need no more than a
//! quarter of a byte per pixel, some rows of labels and the forest.
//!
//! In drawings and masks, most words equal the word above. Their runs have the labels of the runs
//! above, and their pixels those of the pixels above. So the second pass updates one row of labels
//! from row to row (`pixels.rs`), and writes each of its words to the result, which is written once
//! and never read. In a result that is 0, it writes words with foreground alone.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::forest::Forest;
use super::pixels;
use super::rows::LabelRows;
use super::runs::{RUNS_PER_WORD, Word, places, touching};
use crate::error::Result;
use crate::image::{BinaryImage, WORD_BITS};
use crate::label::Connectivity;
use crate::memory::{advise_large_pages, filled_vec, reserve, zeroed_vec};
use crate::progress::Progress;

/// The labels of an image without foreground. Their pages are not touched yet.
pub(crate) fn background(image: &BinaryImage) -> Result<Vec<u32>> {
    let mut labels = zeroed_vec(image.pixel_count() as usize, "labels")?;
    advise_large_pages(&mut labels);
    Ok(labels)
}

/// Some rows of an image, labelled as an image of their own.
#[derive(Clone)]
pub(in crate::label) struct Strip<'a> {
    pub(in crate::label) image: &'a BinaryImage,
    pub(in crate::label) rows: Range<u32>,
}

/// Usually no more runs than these start in a word.
const FEW: usize = 8;

/// Sentinel: a run without a label.
const NONE: u32 = 0;

/// Counts the rows that are done, of all strips in both passes, and reports progress.
pub(in crate::label) struct Meter<'a> {
    progress: &'a Progress<'a>,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    pub(in crate::label) fn new(image: &BinaryImage, progress: &'a Progress<'a>) -> Self {
        Self {
            progress,
            done: AtomicU64::new(0),
            total: 2 * u64::from(image.height()),
        }
    }

    /// Counts row `y` of the strip. Reports about every million pixels, and at the strip's end.
    fn count_row(&self, strip: &Strip<'_>, y: u32) -> Result<()> {
        let batch = ((1 << 20) / strip.image.width()).max(1);
        let row = y - strip.rows.start + 1;
        let rows = match row % batch {
            0 => batch,
            rest if y + 1 == strip.rows.end => rest,
            _ => return Ok(()),
        };
        let done = self.done.fetch_add(rows.into(), Relaxed) + u64::from(rows);
        self.progress.report(done, self.total)
    }
}

impl<'a> Strip<'a> {
    /// The whole image.
    pub(in crate::label) fn whole(image: &'a BinaryImage) -> Self {
        let rows = 0..image.height();
        Self { image, rows }
    }

    /// The number of pixels.
    pub(in crate::label) fn pixels(&self) -> usize {
        self.rows.len() * self.image.width() as usize
    }

    /// The number of runs.
    pub(in crate::label) fn count_runs(&self) -> usize {
        let words = self
            .rows
            .clone()
            .flat_map(|y| Word::of_row(self.image.row(y)));
        words.map(|word| word.starts().count_ones() as usize).sum()
    }

    /// Row `y`, and the row above it if the strip has one.
    fn words(&self, y: u32) -> (&'a [u64], Option<&'a [u64]>) {
        let above = (y > self.rows.start).then(|| self.image.row(y - 1));
        (self.image.row(y), above)
    }

    /// First pass: plants the provisional labels of runs in `forest`, and joins the labels of runs
    /// that touch. The rows of `kept`, unless it is `None`, keep the labels of their runs for
    /// [`fill`](Self::fill).
    ///
    /// Returns the labels of the last row's runs. Those of the first row are 1, 2, ….
    pub(super) fn assign(
        &self,
        connectivity: Connectivity,
        forest: &mut Forest,
        mut kept: Option<&mut LabelRows<'_>>,
        meter: &Meter<'_>,
    ) -> Result<Vec<u32>> {
        let most_runs = self.image.width().div_ceil(2) as usize;
        // The labels of a row's runs, from left to right, from element 1 on. So the index of a
        // place's run is the number of runs that start up to that place.
        let room = 1 + most_runs + RUNS_PER_WORD;
        let mut row_labels = filled_vec(NONE, room, "the labels of a row")?;
        let mut above_labels = filled_vec(NONE, room, "the labels of a row")?;
        let background = zeroed_vec(self.image.words_per_row(), "a row")?;
        let mut runs = 0;
        for y in self.rows.clone() {
            let (row, above) = self.words(y);
            let above = above.unwrap_or(&background);
            forest.reserve(most_runs)?;
            runs = assign_row(
                row,
                above,
                connectivity,
                forest,
                &mut row_labels,
                &above_labels,
            )?;
            if let Some(rows) = &mut kept {
                rows.keep(&row_labels[1..][..runs])?;
            }
            std::mem::swap(&mut row_labels, &mut above_labels);
            meter.count_row(self, y)?;
        }
        above_labels.truncate(1 + runs);
        above_labels.remove(0);
        Ok(above_labels)
    }

    /// Second pass: writes the strip's rows. Each foreground pixel gets the number of its run's
    /// provisional label.
    pub(super) fn fill(
        &self,
        rows: &mut LabelRows<'_>,
        number: impl Fn(u32) -> u32,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let width = self.image.width() as usize;
        let row_words = self.image.words_per_row();
        let background = zeroed_vec(row_words, "a row")?;
        let mut labels = filled_vec([0; WORD_BITS], row_words, "the labels of a row")?;
        // A row is written over the labels of its runs.
        let mut runs = Vec::new();
        reserve(&mut runs, width.div_ceil(2), "the labels of a row")?;
        for y in self.rows.clone() {
            let (row, above) = self.words(y);
            let above = above.unwrap_or(&background);
            runs.clear();
            runs.extend_from_slice(rows.kept());
            rows.write(|writer| {
                pixels::fill_row(row, above, &runs, &mut labels, writer, &number);
            });
            meter.count_row(self, y)?;
        }
        Ok(())
    }

    /// Gives each foreground pixel the label of its run, from a list: `runs` are the labels of the
    /// strip's runs, in raster order, and may be followed by others. Background is set to 0, unless
    /// `is_zero` says that `labels` are 0 already.
    pub(in crate::label) fn fill_runs(&self, labels: &mut [u32], runs: &[u32], is_zero: bool) {
        let width = self.image.width() as usize;
        let mut runs = runs.iter().copied();
        for (y, labels) in self.rows.clone().zip(labels.chunks_exact_mut(width)) {
            // planted: runs-clear
            if !is_zero {
                labels.fill(0);
            }
            pixels::fill_row_of_runs(self.image.row(y), labels, &mut runs);
        }
    }
}

/// Gives the runs of a row their labels, from element 1 on. Returns their number.
fn assign_row(
    row: &[u64],
    above: &[u64],
    connectivity: Connectivity,
    forest: &mut Forest,
    row_labels: &mut [u32],
    above_labels: &[u32],
) -> Result<usize> {
    let runs = join_row(row, above, connectivity, forest, row_labels, above_labels);
    for label in &mut row_labels[1..][..runs] {
        if *label == NONE {
            *label = forest.plant()?;
        }
    }
    Ok(runs)
}

/// Gives each run that touches runs above the label of one of them, and joins the labels of all of
/// them. Other runs get [`NONE`]. Returns the number of runs.
fn join_row(
    row: &[u64],
    above: &[u64],
    connectivity: Connectivity,
    forest: &mut Forest,
    row_labels: &mut [u32],
    above_labels: &[u32],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has the features, as just asked.
        return unsafe {
            join_row_popcnt(row, above, connectivity, forest, row_labels, above_labels)
        };
    }
    join_row_anywhere(row, above, connectivity, forest, row_labels, above_labels)
}

/// [`join_row_anywhere`] with instructions that count bits. x86-64 processors have had them since
/// 2008, but the architecture does not guarantee them. The whole job takes 20 % less time on noise
/// of 90 %, 15 % less on nested rectangles.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1")]
fn join_row_popcnt(
    row: &[u64],
    above: &[u64],
    connectivity: Connectivity,
    forest: &mut Forest,
    row_labels: &mut [u32],
    above_labels: &[u32],
) -> usize {
    join_row_anywhere(row, above, connectivity, forest, row_labels, above_labels)
}

#[inline(always)]
fn join_row_anywhere(
    row: &[u64],
    above: &[u64],
    connectivity: Connectivity,
    forest: &mut Forest,
    row_labels: &mut [u32],
    above_labels: &[u32],
) -> usize {
    // The runs before this word.
    let (mut row_runs, mut above_runs) = (0, 0);
    for (w, u) in Word::of_row(row).zip(Word::of_row(above)) {
        if w.bits | u.bits == 0 {
            continue;
        }
        let (row_starts, above_starts) = (w.starts(), u.starts());
        if w == u && row_starts == 0 {
            continue; // The inside of runs that touch further left.
        }
        // Copies of constant length are cheaper, and later ones overwrite the surplus.
        let count = row_starts.count_ones() as usize;
        let new = &mut row_labels[row_runs + 1..][..RUNS_PER_WORD];
        if w == u {
            let labels = &above_labels[above_runs + 1..][..RUNS_PER_WORD];
            new[..FEW].copy_from_slice(&labels[..FEW]);
            if count > FEW {
                new[FEW..].copy_from_slice(&labels[FEW..]);
            }
        } else {
            new[..FEW].fill(NONE);
            // planted: runs-few
            if count > FEW {
                new[FEW..].fill(NONE);
            }
            for place in places(touching(w, u, connectivity)) {
                let label = &mut row_labels[row_runs + w.runs_through(place)];
                let other = above_labels[above_runs + u.runs_through(place)];
                *label = if *label == NONE {
                    other
                } else {
                    forest.join(*label, other)
                };
            }
        }
        row_runs += count;
        above_runs += above_starts.count_ones() as usize;
    }
    row_runs
}
