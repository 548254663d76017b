//! The saddles of a band that depend on the rows beside it.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use trazar_kernels::primitives::union_find::find_and_shorten;
use trazar_kernels::trace::node_bits::BesideBits;

use super::{Components, ENDED, FoundSaddles, OpenSaddle, OpenSaddles, Overlap, RimRun, RunRows};
use crate::error::Result;
use crate::image::WORD_BITS;
use crate::memory::{reserve, reserve_in_map, zeroed_vec};
use crate::trace::Band;
use crate::trace::cpu::forest::Forest;
use crate::trace::cpu::pixels::Pixels;
use crate::trace::cpu::walk::Rim;

/// A band's rows of runs, and the rows beside it.
pub(in crate::trace) trait BandRows: RunRows {
    /// What regions differ in.
    type Value: Copy;

    /// Whether there is a row above the band, and one below.
    fn rims(&self) -> [bool; 2];

    /// Visits the runs of the row at a rim, from left to right: their columns, whether they touch
    /// pixels of their region in the row beyond, and their value.
    fn for_each_rim_run(&self, rim: Rim, visit: impl FnMut([u32; 2], bool, Self::Value));

    /// As [`for_each_overlap`](RunRows::for_each_overlap), for the two rows at a rim, one of them
    /// beyond the band.
    fn for_each_rim_overlap(
        &self,
        rim: Rim,
        first_runs: [u32; 2],
        visit: impl FnMut(usize, &Overlap),
    );
}

impl BandRows for Band<'_> {
    type Value = ();

    fn rims(&self) -> [bool; 2] {
        [Rim::Above, Rim::Below].map(|rim| self.rim_rows(rim).is_some())
    }

    fn for_each_rim_run(&self, rim: Rim, mut visit: impl FnMut([u32; 2], bool, ())) {
        let Some(rows) = self.rim_rows(rim) else {
            return;
        };
        let (row, beyond) = match rim {
            Rim::Above => (rows[1], rows[0]),
            Rim::Below => (rows[0], rows[1]),
        };
        let ends_of = |i: usize| {
            let left = if i == 0 { 0 } else { row[i - 1] };
            let right = row.get(i + 1).copied().unwrap_or(0);
            let pixels = BesideBits::new(left, row[i], right);
            [pixels.here & !pixels.west, pixels.here & !pixels.east]
        };
        for_each_run((0..row.len()).map(ends_of), |columns| {
            visit(columns, any_within(|i| beyond[i], columns), ());
        });
    }

    fn for_each_rim_overlap(
        &self,
        rim: Rim,
        first_runs: [u32; 2],
        visit: impl FnMut(usize, &Overlap),
    ) {
        if let Some(rows) = self.rim_rows(rim) {
            Overlap::for_each(rows, first_runs, visit);
        }
    }
}

impl<R: BandRows> Components<R> {
    /// Marks the components that have pixels beyond the band.
    pub(super) fn find_those_that_go_on(&mut self) -> Result<()> {
        if self.rows.rims() == [false; 2] {
            return Ok(());
        }
        let words = self.parents.len().div_ceil(WORD_BITS);
        self.goes_on = zeroed_vec(words, "the runs of rows")?;
        for rim in [Rim::Above, Rim::Below] {
            self.for_each_run_that_goes_on(rim, |_, root, _| {
                let (word, bit) = (root as usize / WORD_BITS, root as usize % WORD_BITS);
                self.goes_on[word].fetch_or(1 << bit, Relaxed);
            });
        }
        Ok(())
    }

    /// The row at a rim.
    fn rim_row(&self, rim: Rim) -> u32 {
        match rim {
            Rim::Above => 0,
            Rim::Below => self.rows.height() - 1,
        }
    }

    /// Visits the runs at a rim that touch pixels of their region beyond: their columns, roots and
    /// values.
    fn for_each_run_that_goes_on(&self, rim: Rim, mut visit: impl FnMut([u32; 2], u32, R::Value)) {
        let mut run = self.first_runs[self.rim_row(rim) as usize];
        self.rows.for_each_rim_run(rim, |columns, goes_on, value| {
            if goes_on {
                visit(columns, find_and_shorten(Forest(&self.parents), run), value);
            }
            run += 1;
        });
    }

    /// The planes of joined and of open saddles, and the open ones with the roots of components.
    pub(super) fn saddles_of_band(&self) -> Result<(Vec<u64>, Vec<u64>, Vec<OpenSaddle>)> {
        let diagonals = R::Pixels::DIAGONALS;
        let row_words = self.rows.width() as usize / WORD_BITS + 1;
        let is_part = self.rows.rims() != [false; 2];
        let (joined, found) = self.saddles(usize::from(is_part))?;
        let mut open: Vec<u64> = Vec::new();
        if is_part {
            open = zeroed_vec(joined.len(), "the plane of saddles")?;
        }
        let mut saddles = self.rim_saddles(Rim::Above)?;
        let at_lower_rim = self.rim_saddles(Rim::Below)?;
        reserve(
            &mut saddles,
            found.len() + at_lower_rim.len(),
            "the open saddles",
        )?;
        saddles.extend(found.into_iter().chain(at_lower_rim));
        for saddle in &saddles {
            let (word, bit) = (saddle.x as usize / WORD_BITS, saddle.x as usize % WORD_BITS);
            let word = (saddle.y as usize * row_words + word) * diagonals;
            let diagonal = usize::from(!saddle.falling) % diagonals;
            open[word + diagonal] |= 1 << bit;
        }
        Ok((joined, open, saddles))
    }

    /// The saddles between the two rows at a rim.
    fn rim_saddles(&self, rim: Rim) -> Result<Vec<OpenSaddle>> {
        // The row that is in the band, and the number of runs before it.
        let (inside, y) = match rim {
            Rim::Above => (1, 0),
            Rim::Below => (0, self.rows.height()),
        };
        let mut first_runs = [0; 2];
        first_runs[inside] = self.first_runs[self.rim_row(rim) as usize];
        let mut found = FoundSaddles::default();
        self.rows
            .for_each_rim_overlap(rim, first_runs, |i, overlap| {
                overlap.for_each_saddle::<R::Pixels>(|bit, diagonal, runs| {
                    let root = find_and_shorten(Forest(&self.parents), runs[inside]);
                    let mut components = [ENDED; 2];
                    if self.goes_on(root) {
                        components[inside] = root;
                    }
                    let corner = [i as u32 * WORD_BITS as u32 + bit, y];
                    found.push(corner, diagonal, components);
                });
            });
        found.saddles()
    }

    /// Names the components that continue beyond the band.
    pub(super) fn name(&self, mut saddles: Vec<OpenSaddle>) -> Result<OpenSaddles<R::Value>> {
        const RUNS: &str = "the runs at rims";
        let mut names: HashMap<u32, u32> = HashMap::new();
        let mut runs = [Vec::new(), Vec::new()];
        let mut named = Ok(());
        for (rim, runs) in [Rim::Above, Rim::Below].into_iter().zip(&mut runs) {
            self.for_each_run_that_goes_on(rim, |columns, root, value| {
                let next = names.len() as u32;
                let room = reserve_in_map(&mut names, RUNS).and(reserve(runs, 1, RUNS));
                if let Err(error) = room {
                    named = Err(error);
                    return;
                }
                let component = *names.entry(root).or_insert(next);
                runs.push(RimRun {
                    columns,
                    component,
                    value,
                });
            });
        }
        named?;
        for saddle in &mut saddles {
            for component in &mut saddle.components {
                *component = names.get(component).copied().unwrap_or(ENDED);
            }
        }
        Ok(OpenSaddles {
            saddles,
            runs,
            components: names.len() as u32,
        })
    }
}

/// Visits the runs of a row, given by the first pixels and the last pixels of runs in each word:
/// the first column of each run, and the one after its last.
pub(in crate::trace) fn for_each_run(
    words: impl Iterator<Item = [u64; 2]>,
    mut visit: impl FnMut([u32; 2]),
) {
    let mut begin = 0;
    for (i, [mut starts, mut ends]) in words.enumerate() {
        let column = |bits: u64| i as u32 * WORD_BITS as u32 + bits.trailing_zeros();
        while ends != 0 {
            // The run that ends next may have begun in a word before.
            if starts.trailing_zeros() <= ends.trailing_zeros() {
                begin = column(starts);
                starts &= starts - 1;
            }
            visit([begin, column(ends) + 1]);
            ends &= ends - 1;
        }
        if starts != 0 {
            begin = column(starts);
        }
    }
}

/// Whether a row of bits, given by its words, has ones in some columns.
pub(in crate::trace) fn any_within(row: impl Fn(usize) -> u64, [begin, end]: [u32; 2]) -> bool {
    let (first, last) = (begin as usize / WORD_BITS, (end as usize - 1) / WORD_BITS);
    (first..=last).any(|i| {
        let mut word = row(i);
        if i == first {
            word &= !0 << (begin as usize % WORD_BITS);
        }
        if i == last {
            word &= !0 >> (WORD_BITS - 1 - (end as usize - 1) % WORD_BITS);
        }
        word != 0
    })
}
