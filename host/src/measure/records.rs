//! The sums of labels from what kernels write: a record for each piece of a label's runs, and
//! rounded sums for each portion, the label's runs in a strip.

use std::ops::Range;

use trazar_kernels::measure::pieces::first_piece;
use trazar_kernels::measure::powers;
use trazar_kernels::measure::{intensities, reals, sums};

use super::labels::Label;
use super::strip::{Needs, Sums};
use super::sums::{Base, IntensitySums, Outline, Pairs, Powers, Second};
use crate::error::Result;
use crate::memory::par_rows;

/// Named in out-of-memory errors.
const SUMS: &str = "the sums of labels";

const POWERS: usize = powers::POWERS as usize;

/// The bits of the sums that are needed of pieces.
pub(super) const fn wanted(needs: Needs) -> u32 {
    let mut bits = 0;
    if needs.second {
        bits |= sums::wanted::SECOND;
    }
    if needs.pairs {
        bits |= sums::wanted::PAIRS;
    }
    if needs.outline {
        bits |= sums::wanted::OUTLINE;
    }
    bits
}

/// The sums of the runs of all labels, labels in ascending order.
pub(super) struct Records {
    /// Where each label's runs begin in the order of runs.
    pub(super) begins: Vec<u32>,
    /// The sums of pieces.
    pub(super) pieces: Vec<u64>,
    /// The sums of intensities, of pieces or of portions; empty if they are not needed.
    pub(super) intensities: Vec<u64>,
    /// Whether the sums of intensities are rounded, and so those of portions.
    pub(super) has_reals: bool,
    pub(super) portions: Portions,
    pub(super) needs: Needs,
}

/// The runs of each label in each strip; those of a label from the top down.
#[derive(Default)]
pub(super) struct Portions {
    /// Where each one begins in the order of runs.
    pub(super) begins: Vec<u32>,
    /// The row, in the low half, and the column of each one's first pixel.
    pub(super) origins: Vec<u64>,
    /// Sums of `rowⁱ · columnʲ`; empty if they are not needed.
    pub(super) powers: Vec<f64>,
    /// The same, weighted by intensities, for i and j below `weighted_powers`.
    pub(super) weighted: Vec<f64>,
    pub(super) weighted_powers: usize,
    /// Whether the image is one strip, so that the processor joins no strips.
    pub(super) is_one_strip: bool,
}

/// Words of a record, read in order.
struct Words<'a>(std::slice::Iter<'a, u64>);

impl Words<'_> {
    fn next(&mut self) -> u64 {
        self.0.next().copied().unwrap_or_default()
    }

    /// Two numbers of 32 bits.
    fn pair(&mut self) -> [u32; 2] {
        halves(self.next())
    }

    fn float(&mut self) -> f64 {
        f64::from_bits(self.next())
    }

    fn wide(&mut self) -> i128 {
        let (low, high) = (self.next(), self.next());
        (u128::from(high) << 64 | u128::from(low)).cast_signed()
    }
}

/// The low half and the high one.
const fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

impl Records {
    /// The sums of all labels but the first ones, which are background. All threads add up pieces
    /// and portions.
    pub(super) fn join<L: Label>(&self, background: usize) -> Result<Sums> {
        let needs = self.needs;
        let joined = Joined {
            records: self,
            background,
        };
        let portions = &self.portions;
        let intensities = |label: usize| match self.has_reals {
            true => self.of_portions(
                label,
                |portion| self.reals(portion),
                |mine, other, _| mine.join(other, needs.deviations),
            ),
            false => self.of_pieces(
                label,
                |piece| self.intensities(piece),
                |mine, other| mine.join(other, false),
            ),
        };
        let powers = |sums: &[f64], count: usize, label: usize| {
            self.of_portions(
                label,
                |portion| powers_of(sums, count, portion),
                |mine, other, [dr, dc]| mine.join(&other.shifted(dr as f64, dc as f64)),
            )
        };
        Ok(Sums {
            bases: joined.all(true, |label| {
                self.of_pieces(label, |piece| self.base::<L>(piece), Base::join)
            })?,
            second: joined.all(needs.second, |label| {
                self.of_pieces(label, |piece| self.second(piece), Second::join)
            })?,
            pairs: joined.all(needs.pairs, |label| {
                self.of_pieces(label, |piece| self.pairs(piece), Pairs::join)
            })?,
            outlines: joined.all(needs.outline, |label| {
                self.of_pieces(label, |piece| self.outline(piece), Outline::join)
            })?,
            powers: joined.all(needs.powers, |label| {
                powers(&portions.powers, POWERS, label)
            })?,
            weighted: joined.all(needs.weighted, |label| {
                powers(&portions.weighted, portions.weighted_powers, label)
            })?,
            intensities: joined.all(!self.intensities.is_empty(), intensities)?,
            ..Sums::default()
        })
    }

    /// The pieces of a label. The first has runs; some of the others may have none.
    fn pieces(&self, label: usize) -> Range<usize> {
        let first = |label: usize| match self.begins.get(label) {
            Some(&begin) => first_piece(label as u32, begin) as usize,
            None => self.pieces.len() / self.words(),
        };
        first(label)..first(label + 1)
    }

    /// The sums of a label's pieces, joined.
    fn of_pieces<T>(
        &self,
        label: usize,
        of_piece: impl Fn(usize) -> T,
        join: impl Fn(&mut T, &T),
    ) -> T {
        let pieces = self.pieces(label);
        let mut sum = of_piece(pieces.start);
        for piece in pieces.skip(1).filter(|&piece| self.area(piece) > 0) {
            join(&mut sum, &of_piece(piece));
        }
        sum
    }

    /// The sums of a label's portions, joined as the processor joins those of strips. `join` also
    /// gets the place of a portion's first pixel, row before column, from that of the label's.
    fn of_portions<T: Default>(
        &self,
        label: usize,
        of_portion: impl Fn(usize) -> T,
        join: impl Fn(&mut T, &T, [i64; 2]),
    ) -> T {
        let Portions {
            begins,
            origins,
            is_one_strip,
            ..
        } = &self.portions;
        let first = |label: usize| match self.begins.get(label) {
            Some(&begin) => begins.partition_point(|&other| other < begin),
            None => begins.len(),
        };
        let portions = first(label)..first(label + 1);
        if *is_one_strip {
            return of_portion(portions.start);
        }
        let origin = |portion: usize| halves(origins[portion]).map(i64::from);
        let [row, column] = origin(portions.start);
        let mut sum = T::default();
        for portion in portions {
            let [y, x] = origin(portion);
            join(&mut sum, &of_portion(portion), [y - row, x - column]);
        }
        sum
    }

    /// Words of a piece's record.
    fn words(&self) -> usize {
        sums::words(wanted(self.needs)) as usize
    }

    /// The words of a piece that come after its base and the wanted sums among these bits.
    fn words_after(&self, bits: u32, piece: usize) -> Words<'_> {
        let start = piece * self.words() + sums::words(wanted(self.needs) & bits) as usize;
        Words(self.pieces[start..].iter())
    }

    /// A piece's number of pixels.
    fn area(&self, piece: usize) -> u64 {
        self.pieces[piece * self.words()]
    }

    fn base<L: Label>(&self, piece: usize) -> Base {
        let mut words = Words(self.pieces[piece * self.words()..].iter());
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
        let mut words = self.words_after(0, piece);
        Second {
            r: words.wide(),
            c: words.wide(),
            rr: words.wide(),
            rc: words.wide(),
            cc: words.wide(),
        }
    }

    fn pairs(&self, piece: usize) -> Pairs {
        let mut words = self.words_after(sums::wanted::SECOND, piece);
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

    /// Exact sums of a piece's intensities.
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

    /// Rounded sums of a portion's intensities.
    fn reals(&self, portion: usize) -> IntensitySums {
        let start = portion * reals::WORDS as usize;
        let mut words = Words(self.intensities[start..].iter());
        IntensitySums {
            pixels: words.float() as u64,
            min: words.float(),
            max: words.float(),
            sum: words.float(),
            deviations: words.float(),
            whole_sum: words.wide(),
            ..IntensitySums::default()
        }
    }
}

/// A portion's sums of `rowⁱ · columnʲ` for i and j below `powers`; 0 for greater ones.
fn powers_of(sums: &[f64], powers: usize, portion: usize) -> Powers {
    let sums = &sums[portion * powers * powers..];
    let mut all = Powers::default();
    for (row, sums) in all.0.iter_mut().zip(sums.chunks_exact(powers)).take(powers) {
        row[..powers].copy_from_slice(sums);
    }
    all
}

/// The labels after the background.
struct Joined<'a> {
    records: &'a Records,
    background: usize,
}

impl Joined<'_> {
    /// One kind of sums of all labels; none unless they are `wanted`.
    fn all<T: Send>(&self, wanted: bool, of_label: impl Fn(usize) -> T + Sync) -> Result<Vec<T>> {
        /// Labels that a thread takes at a time.
        const SHARE: usize = 1024;
        let background = self.background;
        let count = self.records.begins.len() - background;
        if !wanted || count == 0 {
            return Ok(Vec::new());
        }
        crate::threads::ensure();
        par_rows(SHARE, count, SUMS, |share| {
            (background + share * SHARE..).map(&of_label)
        })
    }
}
