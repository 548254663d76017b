//! The sums of labels from what kernels write: a record for each piece of a label's runs.

use std::ops::Range;

use trazar_kernels::measure::pieces::first_piece;
use trazar_kernels::measure::{intensities, sums};

use super::labels::Label;
use super::strip::{Needs, Sums};
use super::sums::{Base, IntensitySums, Outline, Pairs, Powers, Second};
use crate::error::Result;
use crate::memory::par_rows;

/// Named in out-of-memory errors.
const SUMS: &str = "the sums of labels";

/// The bits of the sums that are needed.
pub(super) const fn wanted(needs: Needs) -> u32 {
    let mut bits = 0;
    if needs.second {
        bits |= sums::wanted::SECOND;
    }
    if needs.powers {
        bits |= sums::wanted::POWERS;
    }
    if needs.pairs {
        bits |= sums::wanted::PAIRS;
    }
    if needs.outline {
        bits |= sums::wanted::OUTLINE;
    }
    bits
}

/// The records of the pieces of all labels, labels in ascending order.
pub(super) struct Records {
    /// Where each label's runs begin in the order of runs.
    pub(super) begins: Vec<u32>,
    /// The sums of pieces.
    pub(super) sums: Vec<u64>,
    /// The sums of intensities; empty if they are not needed.
    pub(super) intensities: Vec<u64>,
    pub(super) needs: Needs,
}

/// Words of a record, read in order.
struct Words<'a>(std::slice::Iter<'a, u64>);

impl Words<'_> {
    fn next(&mut self) -> u64 {
        self.0.next().copied().unwrap_or_default()
    }

    /// Two numbers of 32 bits.
    fn pair(&mut self) -> [u32; 2] {
        let word = self.next();
        [word as u32, (word >> 32) as u32]
    }

    fn wide(&mut self) -> i128 {
        let (low, high) = (self.next(), self.next());
        (u128::from(high) << 64 | u128::from(low)).cast_signed()
    }
}

impl Records {
    /// The sums of the positive labels, and the number of the others, which are background. All
    /// threads add up the pieces.
    pub(super) fn join<L: Label>(&self) -> Result<(Sums, u32)> {
        let is_background = |label: usize| self.base::<L>(self.pieces(label).start).label <= 0;
        let background = partition_point(0..self.begins.len(), is_background);
        let needs = self.needs;
        let joined = Joined {
            records: self,
            background,
        };
        let sums = Sums {
            bases: joined.all(true, |piece| self.base::<L>(piece), Base::join)?,
            second: joined.all(needs.second, |piece| self.second(piece), Second::join)?,
            powers: joined.all(needs.powers, |piece| self.powers(piece), Powers::join)?,
            pairs: joined.all(needs.pairs, |piece| self.pairs(piece), Pairs::join)?,
            outlines: joined.all(needs.outline, |piece| self.outline(piece), Outline::join)?,
            intensities: joined.all(
                !self.intensities.is_empty(),
                |piece| self.intensities(piece),
                |mine, other| mine.join(other, false),
            )?,
            ..Sums::default()
        };
        // There are fewer labels than runs.
        Ok((sums, background as u32))
    }

    /// The pieces of a label. The first has runs; some of the others may have none.
    fn pieces(&self, label: usize) -> Range<usize> {
        let first = |label: usize| match self.begins.get(label) {
            Some(&begin) => first_piece(label as u32, begin) as usize,
            None => self.sums.len() / self.words(),
        };
        first(label)..first(label + 1)
    }

    /// Words of a record.
    fn words(&self) -> usize {
        sums::words(wanted(self.needs)) as usize
    }

    /// The words of a piece that come after its base and the wanted sums among these bits.
    fn words_after(&self, bits: u32, piece: usize) -> Words<'_> {
        let start = piece * self.words() + sums::words(wanted(self.needs) & bits) as usize;
        Words(self.sums[start..].iter())
    }

    /// A piece's number of pixels.
    fn area(&self, piece: usize) -> u64 {
        self.sums[piece * self.words()]
    }

    fn base<L: Label>(&self, piece: usize) -> Base {
        let mut words = Words(self.sums[piece * self.words()..].iter());
        let area = words.next();
        let [row, column] = words.pair();
        let [last_row, min_column] = words.pair();
        let end = words.next();
        Base {
            label: L::of_key(words.next()).number(),
            area,
            row,
            column,
            last_row,
            min_column,
            max_column: (end as u32).wrapping_sub(1),
        }
    }

    fn second(&self, piece: usize) -> Second {
        if self.needs.powers {
            let sums = self.whole_powers(piece);
            return Second {
                r: sums[1][0],
                c: sums[0][1],
                rr: sums[2][0],
                rc: sums[1][1],
                cc: sums[0][2],
            };
        }
        let mut words = self.words_after(0, piece);
        Second {
            r: words.wide(),
            c: words.wide(),
            rr: words.wide(),
            rc: words.wide(),
            cc: words.wide(),
        }
    }

    fn whole_powers(&self, piece: usize) -> [[i128; 4]; 4] {
        let mut words = self.words_after(0, piece);
        std::array::from_fn(|_| std::array::from_fn(|_| words.wide()))
    }

    fn powers(&self, piece: usize) -> Powers {
        let sums = self.whole_powers(piece);
        Powers(sums.map(|row| row.map(|sum| sum as f64)))
    }

    fn pairs(&self, piece: usize) -> Pairs {
        let before = sums::wanted::SECOND | sums::wanted::POWERS;
        let mut words = self.words_after(before, piece);
        Pairs {
            runs: words.next(),
            below: words.next(),
            below_right: words.next(),
            below_left: words.next(),
            squares: words.next(),
            diagonals: words.next(),
        }
    }

    fn outline(&self, piece: usize) -> Outline {
        let mut words = self.words_after(!sums::wanted::OUTLINE, piece);
        Outline([words.next(), words.next(), words.next()])
    }

    fn intensities(&self, piece: usize) -> IntensitySums {
        let start = piece * intensities::WORDS as usize;
        let mut words = Words(self.intensities[start..].iter());
        let (least, greatest) = (words.next().cast_signed(), words.next().cast_signed());
        IntensitySums {
            pixels: self.area(piece),
            min: least as f64,
            max: greatest as f64,
            whole_sum: words.wide(),
            squares: words.wide().cast_unsigned(),
            ..IntensitySums::default()
        }
    }
}

/// Adds up the pieces of the labels after the background.
struct Joined<'a> {
    records: &'a Records,
    background: usize,
}

impl Joined<'_> {
    /// One kind of sums of all labels; none unless they are `wanted`.
    fn all<T: Copy + Send + Sync>(
        &self,
        wanted: bool,
        of_piece: impl Fn(usize) -> T + Sync,
        join: impl Fn(&mut T, &T) + Sync,
    ) -> Result<Vec<T>> {
        /// Labels that a thread takes at a time.
        const SHARE: usize = 1024;
        let Self {
            records,
            background,
        } = *self;
        let count = records.begins.len() - background;
        if !wanted || count == 0 {
            return Ok(Vec::new());
        }
        let of_label = |slot: usize| {
            let pieces = records.pieces(background + slot);
            let mut sum = of_piece(pieces.start);
            for piece in pieces.skip(1).filter(|&piece| records.area(piece) > 0) {
                join(&mut sum, &of_piece(piece));
            }
            sum
        };
        crate::threads::ensure();
        par_rows(SHARE, count, SUMS, |share| (share * SHARE..).map(of_label))
    }
}

/// The first number of a range for which the predicate, which holds up to some number, does not.
fn partition_point(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (range.start, range.end);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}
