//! Runs of foreground in rows of bits, and where two rows' runs touch.
//!
//! A **run** is a longest stretch of consecutive foreground pixels in a row. A run may span words,
//! so everything here takes the pixel to the left of a word along with it ([`Word`]).

use trazar_kernels::primitives::bits::{Stretch, count_through, left_neighbours, starts};

use crate::image::WORD_BITS;
use crate::label::Connectivity;

/// The most runs that start in one word.
pub(super) const RUNS_PER_WORD: usize = WORD_BITS / 2;

/// A word of a row and the pixel left of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::label) struct Word {
    /// The 64 pixels.
    pub(in crate::label) bits: u64,
    /// The pixel left of them, 0 or 1.
    pub(in crate::label) carry: u64,
}

impl Word {
    /// The row's words from the left.
    pub(in crate::label) fn of_row(row: &[u64]) -> impl Iterator<Item = Self> + '_ {
        let mut carry = 0;
        row.iter().map(move |&bits| {
            let word = Self { bits, carry };
            carry = bits >> (WORD_BITS - 1);
            word
        })
    }

    /// The first pixels of the runs that start in this word.
    pub(in crate::label) fn starts(self) -> u64 {
        starts(self.bits, self.carry)
    }

    /// The number of runs that start in this word, up to and including `place`.
    pub(in crate::label) fn runs_through(self, place: usize) -> usize {
        count_through(self.starts(), place as u32) as usize
    }

    /// The left neighbour of each pixel.
    fn left_neighbours(self) -> u64 {
        left_neighbours(self.bits, self.carry)
    }
}

/// One bit for each pair of touching runs, one in `row` and one in `above`, the row over it.
///
/// The place of the bit names the pair: in each of the two rows, it is the last run that starts at
/// or before that place. A pair that spans words has its bit in one of them.
pub(in crate::label) fn touching(row: Word, above: Word, connectivity: Connectivity) -> u64 {
    let (row_left, above_left) = (row.left_neighbours(), above.left_neighbours());
    // Where two runs overlap, the overlap's first column.
    let overlap = row.bits & above.bits & !(row_left & above_left);
    match connectivity {
        Connectivity::Four => overlap,
        Connectivity::Eight => {
            // Where one starts just right of the other's end, the column where it starts.
            let end_above = row.bits & !row_left & !above.bits & above_left;
            let end_below = !row.bits & row_left & above.bits & !above_left;
            overlap | end_above | end_below
        }
    }
}

/// The places of the bits that are set, in ascending order.
pub(crate) fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (place < WORD_BITS).then_some(place)
    })
}

/// The parts of runs that lie in one word, as the first place and one past the last.
pub(super) fn stretches(mut bits: u64) -> impl Iterator<Item = (usize, usize)> {
    std::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let stretch = Stretch::first(bits);
        bits = stretch.rest;
        Some((stretch.start as usize, stretch.end as usize))
    })
}

/// The runs of a row, as the first column and one past the last.
pub(super) fn runs(row: &[u64]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut stretches = row
        .iter()
        .enumerate()
        .flat_map(|(i, &bits)| {
            stretches(bits).map(move |(a, b)| (i * WORD_BITS + a, i * WORD_BITS + b))
        })
        .peekable();
    std::iter::from_fn(move || {
        let (start, mut end) = stretches.next()?;
        while let Some((_, more)) = stretches.next_if(|&(next, _)| next == end) {
            end = more;
        }
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BinaryImage;
    use proptest::prelude::*;

    #[test]
    fn splits_a_word() {
        let all = |bits| stretches(bits).collect::<Vec<_>>();
        assert_eq!(all(0), []);
        assert_eq!(all(!0), [(0, 64)]);
        assert_eq!(all(1 << 63), [(63, 64)]);
        assert_eq!(all(0b0110_1011), [(0, 2), (3, 4), (5, 7)]);
        assert_eq!(places(0b1001).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(places(1 << 63).collect::<Vec<_>>(), [63]);
        assert_eq!(count_through(0b1101, 0), 1);
        assert_eq!(count_through(0b1101, 2), 2);
        assert_eq!(count_through(!0, 63), 64);
    }

    /// Runs pixel by pixel.
    fn plain_runs(image: &BinaryImage, y: u32) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        for x in 0..image.width() {
            if image.get(x, y) && (x == 0 || !image.get(x - 1, y)) {
                let end = (x..).find(|&x| !image.get(x, y)).unwrap();
                runs.push((x as usize, end as usize));
            }
        }
        runs
    }

    proptest! {
        #![proptest_config(crate::seeds::config(256, 1))]

        #[test]
        fn finds_each_touching_pair_once(
            width in 1u32..200,
            density in 0.0..1.0,
            seed: u64,
        ) {
            let image = crate::generate::noise(width, 2, density, seed).unwrap();
            let (above, row) = (plain_runs(&image, 0), plain_runs(&image, 1));
            prop_assert_eq!(&runs(image.row(1)).collect::<Vec<_>>(), &row);
            for (connectivity, reach) in [(Connectivity::Four, 0), (Connectivity::Eight, 1)] {
                let mut expected = Vec::new();
                for (i, a) in row.iter().enumerate() {
                    for (j, b) in above.iter().enumerate() {
                        if a.0 < b.1 + reach && b.0 < a.1 + reach {
                            expected.push((i, j));
                        }
                    }
                }
                let mut found = Vec::new();
                let (mut i, mut j) = (0, 0);
                for (w, u) in Word::of_row(image.row(1)).zip(Word::of_row(image.row(0))) {
                    for place in places(touching(w, u, connectivity)) {
                        found.push((
                            i + w.runs_through(place) - 1,
                            j + u.runs_through(place) - 1,
                        ));
                    }
                    i += w.starts().count_ones() as usize;
                    j += u.starts().count_ones() as usize;
                }
                prop_assert_eq!(found, expected);
            }
        }
    }
}
