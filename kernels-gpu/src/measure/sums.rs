//! Sums of coordinates, of pairs of neighbours and of border pixels.
//!
//! Coordinates count from a label's origin, the first pixel of its first run. A run's sums of them
//! have closed forms, and they are integers of 128 bits: no sum of an image of fewer than 2³²
//! pixels needs more.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::pieces::{Piece, least_of_warp, pack, short_sum_of_warp, store_wide, sum_of_warp};
use super::sorted_runs::{Run, SortedRuns};
use crate::image::equality::EqualityPlanes;

/// Threads per block.
pub const BLOCK: u32 = 128;
/// Warps per block.
const WARPS: u32 = BLOCK / WARP_SIZE;

/// Bits that say which sums are wanted.
pub mod wanted {
    /// Sums of coordinates and of products of two.
    pub const SECOND: u32 = 1;
    /// Pairs and squares of neighbours.
    pub const PAIRS: u32 = 4;
    /// Border pixels by what they add to a perimeter.
    pub const OUTLINE: u32 = 8;
    /// The least and the greatest intensity, and the sum of all. Pieces have them in an array of
    /// their own, with the sums of squares.
    pub const INTENSITIES: u32 = 16;
    /// Sums of squared intensities, in [tables](crate::measure::shapes).
    pub const SQUARES: u32 = 32;
}

/// Words that every piece has: pixels; the row and the column of the label's origin; the last row
/// and the first column; the column after the last; and the label, as a number in the order of
/// labels. The second of two is in the upper half of a word.
pub const BASE_WORDS: u32 = 5;

/// The places of these words.
pub(super) mod base {
    pub(crate) const PIXELS: u32 = 0;
    pub(crate) const ORIGIN: u32 = 1;
    pub(crate) const LAST_ROW_AND_FIRST_COLUMN: u32 = 2;
    pub(crate) const END_COLUMN: u32 = 3;
    pub(crate) const LABEL: u32 = 4;
}

/// Words of sums up to second order, without the number of pixels.
pub const SECOND_WORDS: u32 = 10;
/// Words of pairs: runs, pixels with an equal one below, below to the right, below to the left,
/// squares of 2 × 2 equal pixels, and squares in which only the two pixels of a diagonal have the
/// label.
pub const PAIR_WORDS: u32 = 6;
/// Words of border pixels.
pub const OUTLINE_WORDS: u32 = 3;

/// The places of the sums up to second order among theirs, of two words each: of rows, of columns,
/// and of products of two coordinates.
pub(super) mod second {
    pub(crate) const ROWS: u32 = 0;
    pub(crate) const COLUMNS: u32 = 2;
    pub(crate) const PRODUCTS: [u32; 3] = [4, 6, 8];
}

/// The places of the words of pairs among theirs.
pub(super) mod pairs {
    pub(crate) const RUNS: u32 = 0;
    pub(crate) const BELOW: u32 = 1;
    pub(crate) const SLANTED: [u32; 2] = [2, 3];
    pub(crate) const SQUARES: u32 = 4;
    pub(crate) const DIAGONALS: u32 = 5;
}

/// Words of a piece whose [`wanted`] bits are these.
#[must_use]
pub const fn words(bits: u32) -> u32 {
    let mut words = BASE_WORDS;
    if bits & wanted::SECOND != 0 {
        words += SECOND_WORDS;
    }
    if bits & wanted::PAIRS != 0 {
        words += PAIR_WORDS;
    }
    if bits & wanted::OUTLINE != 0 {
        words += OUTLINE_WORDS;
    }
    words
}

/// The sums of `columnʲ` over the `n` columns from `first` on, for j up to 3.
#[inline(always)]
pub(super) fn column_sums(n: u32, first: i64) -> [i128; 4] {
    let n = u64::from(n);
    // Of the numbers below n: their sum, and that of their squares, divided before they are
    // multiplied.
    let t1 = n * n.wrapping_sub(1) / 2;
    let odd = 2 * n - 1;
    let t2 = if t1.is_multiple_of(3) {
        i128::from(t1 / 3) * i128::from(odd)
    } else {
        i128::from(t1) * i128::from(odd / 3)
    };
    let (n, first, t1) = (i128::from(n), i128::from(first), i128::from(t1));
    [
        n,
        n * first + t1,
        first * (n * first + 2 * t1) + t2,
        first * (first * (n * first + 3 * t1) + 3 * t2) + t1 * t1,
    ]
}

/// Calls `add` for each word of a run, with the run's bits.
#[inline(always)]
fn for_each_word(run: Run, mut add: impl FnMut(u32, u64)) {
    let mut x = run.x;
    while x < run.end {
        let word_x = x / 64;
        let mut bits = u64::MAX << (x % 64);
        if run.end - word_x * 64 < 64 {
            // planted: measure-last-word
            bits &= (1 << (run.end % 64)) - 1;
        }
        add(word_x, bits);
        x = word_x * 64 + 64;
    }
}

/// What the lanes of a warp write for their piece.
#[derive(Clone, Copy)]
struct Record<'a> {
    words: ViewMut<'a, u64>,
    at: usize,
    lane: u32,
}

impl Record<'_> {
    /// Writes a word, the same in all lanes.
    #[inline(always)]
    fn put(&mut self, word: u64) {
        if self.lane == 0 {
            self.words.st(self.at, word);
        }
        self.at += 1;
    }

    /// Writes the sum of all lanes' numbers.
    #[inline(always)]
    fn put_sum(&mut self, value: u64) {
        self.put(short_sum_of_warp(value));
    }

    /// Writes the sum of all lanes' numbers of 128 bits.
    #[inline(always)]
    fn put_wide(&mut self, value: i128) {
        let sum = sum_of_warp(value);
        if self.lane == 0 {
            store_wide(self.words, self.at, sum);
        }
        self.at += 2;
    }
}

/// Writes the sums of each piece.
///
/// Launch: one warp per piece. Reads 12 bytes per run twice or three times, for pairs and outlines
/// some 60 and 250 more, mostly from the cache, and writes 40 to 190 bytes per piece.
///
/// # Safety
///
/// `runs` are those of `planes`. `sums` has [`words`] elements per piece, and nothing else uses it
/// meanwhile.
#[kernel(block = BLOCK, len(
    planes = (),
    runs = (),
    sums = u64::from(runs.pieces()) * u64::from(words(bits)),
))]
pub unsafe fn sum_pieces(
    planes: EqualityPlanes<'_>,
    runs: SortedRuns<'_>,
    bits: u32,
    sums: ViewMut<'_, u64>,
) {
    let t = thread::thread_idx_x();
    let lane = t % WARP_SIZE;
    let index = thread::block_idx_x() * WARPS + t / WARP_SIZE;
    if index >= runs.pieces() {
        return;
    }
    let piece = runs.piece(index);
    let mut record = Record {
        words: sums,
        at: index as usize * words(bits) as usize,
        lane,
    };
    let origin = runs.run(piece.first_run);
    put_base(runs, piece, origin, &mut record);
    if bits & wanted::SECOND != 0 {
        let [_, c, cc] = sums_of_power(runs, piece, origin, 0, lane);
        let [r, rc, _] = sums_of_power(runs, piece, origin, 1, lane);
        let [rr, ..] = sums_of_power(runs, piece, origin, 2, lane);
        record.put_wide(r);
        record.put_wide(c);
        record.put_wide(rr);
        record.put_wide(rc);
        record.put_wide(cc);
    }
    if bits & wanted::PAIRS != 0 {
        put_pairs(planes, runs, piece, &mut record);
    }
    if bits & wanted::OUTLINE != 0 {
        let mut counts = [0u64; 3];
        for_each_run(runs, piece, lane, |run| {
            for_each_word(run, |word_x, own| {
                let [straight, oblique, mixed] = planes.outline(word_x, run.y);
                counts[0] += u64::from((straight & own).count_ones());
                counts[1] += u64::from((oblique & own).count_ones());
                counts[2] += u64::from((mixed & own).count_ones());
            });
        });
        record.put_sum(counts[0]);
        record.put_sum(counts[1]);
        record.put_sum(counts[2]);
    }
}

/// Calls `add` for each of the lane's runs of a piece.
#[inline(always)]
pub(super) fn for_each_run(
    runs: SortedRuns<'_>,
    piece: Piece,
    lane: u32,
    mut add: impl FnMut(Run),
) {
    let mut at = piece.begin + lane;
    while at < piece.end {
        add(runs.sorted(at));
        at += WARP_SIZE;
    }
}

/// Writes the [`BASE_WORDS`].
#[inline(always)]
fn put_base(runs: SortedRuns<'_>, piece: Piece, origin: Run, record: &mut Record<'_>) {
    let mut pixels = 0;
    let (mut last_row, mut first_column, mut end_column) = (i64::MIN, i64::MAX, i64::MIN);
    for_each_run(runs, piece, record.lane, |run| {
        pixels += u64::from(run.end - run.x);
        last_row = last_row.max(run.y.into());
        first_column = first_column.min(run.x.into());
        end_column = end_column.max(run.end.into());
    });
    let greatest = |value: i64| !least_of_warp(!value);
    let (last_row, end_column) = (greatest(last_row), greatest(end_column));
    let first_column = least_of_warp(first_column);
    record.put_sum(pixels);
    record.put(pack([origin.y, origin.x]));
    record.put(pack([last_row as u32, first_column as u32]));
    record.put(end_column.cast_unsigned());
    record.put(runs.label(piece.first_run));
}

/// The lane's sums of `row^power · columnʲ` for j up to 2.
#[inline(always)]
fn sums_of_power(
    runs: SortedRuns<'_>,
    piece: Piece,
    origin: Run,
    power: u32,
    lane: u32,
) -> [i128; 3] {
    let mut sums = [0i128; 3];
    for_each_run(runs, piece, lane, |run| {
        let row = i128::from(run.y - origin.y);
        let mut factor = 1;
        let mut i = 0;
        while i < power {
            factor *= row;
            i += 1;
        }
        // planted: measure-origin
        let first = i64::from(run.x) - i64::from(origin.x);
        let of_run = column_sums(run.end - run.x, first);
        sums[0] += factor * of_run[0];
        sums[1] += factor * of_run[1];
        sums[2] += factor * of_run[2];
    });
    sums
}

/// Writes the [`PAIR_WORDS`].
#[inline(always)]
fn put_pairs(
    planes: EqualityPlanes<'_>,
    runs: SortedRuns<'_>,
    piece: Piece,
    record: &mut Record<'_>,
) {
    let mut counts = [0u64; 5];
    for_each_run(runs, piece, record.lane, |run| {
        for_each_word(run, |word_x, own| {
            let pairs = planes.pairs(word_x, run.y);
            counts[0] += u64::from((pairs[0] & own).count_ones());
            counts[1] += u64::from((pairs[1] & own).count_ones());
            counts[2] += u64::from((pairs[2] & own).count_ones());
            counts[3] += u64::from((pairs[3] & own).count_ones());
            counts[4] += u64::from((pairs[4] & own).count_ones() + (pairs[5] & own).count_ones());
        });
    });
    record.put((piece.end - piece.begin).into());
    record.put_sum(counts[0]);
    record.put_sum(counts[1]);
    record.put_sum(counts[2]);
    record.put_sum(counts[3]);
    record.put_sum(counts[4]);
}
