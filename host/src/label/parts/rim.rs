//! The first and the last row of a part: what touches across a seam.

use super::RIMS;
use crate::error::Result;
use crate::image::{PixelValue, ValueImage};
use crate::label::Connectivity;
use crate::label::cpu::{Word, places, touching};
use crate::memory::{collect, push};

/// A row on the rim.
#[derive(Clone, Debug)]
pub(super) struct Rim {
    pub(super) runs: RimRuns,
    /// The node of each run.
    pub(super) nodes: Vec<u32>,
}

/// The runs of a row.
#[derive(Clone, Debug)]
pub(super) enum RimRuns {
    /// Of foreground, as bits.
    Bits(Vec<u64>),
    /// Of equal values, from left to right.
    Values(Vec<ValueRun>),
}

/// Adjacent pixels of a row that count and have one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ValueRun {
    /// The first column, and the one past the last.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The key of the value.
    pub(super) key: u64,
}

/// The first or the last row of a band, and the numbers of its runs' components in the band.
pub(in crate::label) struct RimRow {
    pub(super) runs: RimRuns,
    pub(super) numbers: Vec<u32>,
}

impl RimRow {
    /// A row with one label per pixel.
    pub(in crate::label) fn of_labels(bits: Vec<u64>, labels: &[u32]) -> Self {
        let mut numbers = Vec::new();
        for (word, first) in Word::of_row(&bits).zip((0..).step_by(64)) {
            numbers.extend(places(word.starts()).map(|place| labels[first + place]));
        }
        let runs = RimRuns::Bits(bits);
        Self { runs, numbers }
    }

    /// Row `y` of a labelled image of values, which has one label per pixel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub(super) fn of_labelled_values<T: PixelValue>(
        image: &ValueImage<'_, T>,
        y: u32,
        labels: &[u32],
    ) -> Result<Self> {
        let runs = value_runs(image, y)?;
        let row = &labels[y as usize * image.width() as usize..];
        let numbers = collect(runs.iter().map(|run| row[run.start as usize]), RIMS)?;
        let runs = RimRuns::Values(runs);
        Ok(Self { runs, numbers })
    }

    /// The row with the index of each run's component in `number`, the nodes' numbers in ascending
    /// order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub(super) fn with_nodes(self, number: &[u32]) -> Result<Rim> {
        let node = |own| number.partition_point(|&other| other < own) as u32;
        Ok(Rim {
            runs: self.runs,
            nodes: collect(self.numbers.into_iter().map(node), RIMS)?,
        })
    }
}

/// The runs of a row of values.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub(super) fn value_runs<T: PixelValue>(
    image: &ValueImage<'_, T>,
    y: u32,
) -> Result<Vec<ValueRun>> {
    let mut runs: Vec<ValueRun> = Vec::new();
    for x in 0..image.width() {
        let Some(key) = image.get(x, y).map(|value| value.key()) else {
            continue;
        };
        match runs.last_mut() {
            Some(last) if last.end == x && last.key == key => last.end += 1,
            _ => {
                let (start, end) = (x, x + 1);
                push(&mut runs, ValueRun { start, end, key }, RIMS)?;
            }
        }
    }
    Ok(runs)
}

impl Rim {
    /// The bytes of memory that it takes.
    pub(super) fn memory(&self) -> usize {
        let runs = match &self.runs {
            RimRuns::Bits(bits) => size_of_val(&bits[..]),
            RimRuns::Values(runs) => size_of_val(&runs[..]),
        };
        runs + size_of_val(&self.nodes[..])
    }

    /// Calls `join` with the nodes of runs that touch across the seam to `lower`, the next row.
    pub(super) fn touching(
        &self,
        lower: &Self,
        connectivity: Connectivity,
        mut join: impl FnMut(u32, u32),
    ) {
        match (&self.runs, &lower.runs) {
            (RimRuns::Bits(above), RimRuns::Bits(below)) => {
                let (mut upper_runs, mut lower_runs) = (0, 0);
                for (u, w) in Word::of_row(above).zip(Word::of_row(below)) {
                    for place in places(touching(w, u, connectivity)) {
                        join(
                            self.nodes[upper_runs + u.runs_through(place) - 1],
                            lower.nodes[lower_runs + w.runs_through(place) - 1],
                        );
                    }
                    upper_runs += u.starts().count_ones() as usize;
                    lower_runs += w.starts().count_ones() as usize;
                }
            }
            (RimRuns::Values(above), RimRuns::Values(below)) => {
                let reach = match connectivity {
                    Connectivity::Four => 0,
                    Connectivity::Eight => 1,
                };
                // The first run below that may touch the run above, or one to the right of it.
                let mut first = 0;
                for (run, &node) in above.iter().zip(&self.nodes) {
                    let left = |other: &&ValueRun| other.end + reach <= run.start;
                    first += below[first..].iter().take_while(left).count();
                    let touch = |other: &&ValueRun| other.start < run.end + reach;
                    let touched = below[first..].iter().take_while(touch);
                    for (other, &other_node) in touched.zip(&lower.nodes[first..]) {
                        if other.key == run.key {
                            join(node, other_node);
                        }
                    }
                }
            }
            // Parts of different kinds are refused before.
            _ => {}
        }
    }
}
