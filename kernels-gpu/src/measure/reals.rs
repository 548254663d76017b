//! Sums of intensities whose squares have no exact sum: floating-point numbers, and integers of 64
//! bits. They are added in the processor's order ([`portions`](super::portions)).

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_shuffle_xor};

use super::ellipse::rounded;
use super::pieces::{load_wide, store_wide, sum_of_warp};
use super::portions::{Portion, SUM_BLOCK};
use super::powers::Weight;
use super::sorted_runs::SortedRuns;
use crate::trace::fragments::row_values::RowsOfValues;

/// Words per portion: pixels, the least value, the greatest, the sum, and the sum of squared
/// differences from the mean, all as floating-point numbers; and the sum of integers, of two words.
pub const WORDS: u32 = 7;
/// Numbers that a run hands over: its pixels, its sum, its mean, and its sum of squared differences
/// from that.
const OF_RUN: usize = 4;
/// Room for those of all threads.
const ROOM: usize = SUM_BLOCK as usize * OF_RUN;

/// Numbers whose sums are rounded.
trait Real: Weight {
    /// The sum of `n` numbers, and the same as an integer, which is 0 for floating-point numbers.
    fn sum(n: u32, number: impl Fn(u32) -> Self) -> (f64, i128);
}

impl Real for i64 {
    #[inline(always)]
    fn sum(n: u32, number: impl Fn(u32) -> Self) -> (f64, i128) {
        let mut sum = 0i128;
        let mut k = 0;
        while k < n {
            sum += i128::from(number(k));
            k += 1;
        }
        (rounded(sum), sum)
    }
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Real for $t {
            #[inline(always)]
            fn sum(n: u32, number: impl Fn(u32) -> Self) -> (f64, i128) {
                (sum_in_lanes(n, |k| number(k).number()), 0)
            }
        }
    )*};
}
floats! { f32 f64 }

/// The sum of `n` numbers: those of every eighth one, then of all; and the last ones, fewer than
/// eight, by themselves.
#[inline(always)]
fn sum_in_lanes(n: u32, number: impl Fn(u32) -> f64) -> f64 {
    let [mut s0, mut s1, mut s2, mut s3] = [0.0; 4];
    let [mut s4, mut s5, mut s6, mut s7] = [0.0; 4];
    let mut k = 0;
    while n - k >= 8 {
        s0 += number(k);
        s1 += number(k + 1);
        s2 += number(k + 2);
        s3 += number(k + 3);
        s4 += number(k + 4);
        s5 += number(k + 5);
        s6 += number(k + 6);
        s7 += number(k + 7);
        k += 8;
    }
    let mut rest = 0.0;
    while k < n {
        rest += number(k);
        k += 1;
    }
    s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + rest
}

/// The lesser number, or NaN if one is NaN. For the processor too.
#[must_use]
#[inline(always)]
pub fn least(a: f64, b: f64) -> f64 {
    if b < a || b.is_nan() { b } else { a }
}

/// The greater number, or NaN if one is NaN. For the processor too.
#[must_use]
#[inline(always)]
pub fn greatest(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

/// What two sets with these numbers of elements, whose means are `apart`, add to the sum of squared
/// differences from the mean when they are joined. For the processor too.
///
/// Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample variances,
/// 1979.
#[must_use]
#[inline(always)]
pub const fn deviations_between(apart: f64, [n, m]: [f64; 2]) -> f64 {
    apart * apart * (n * m / (n + m))
}

/// The sums of a label's intensities, or of a portion's.
#[derive(Clone, Copy)]
pub(super) struct Reals {
    pub(super) pixels: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) sum: f64,
    pub(super) deviations: f64,
    pub(super) whole: i128,
}

impl Reals {
    /// Those of no pixels.
    pub(super) const NONE: Self = Self {
        pixels: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        sum: 0.0,
        deviations: 0.0,
        whole: 0,
    };

    /// Those that a kernel has written for a portion.
    #[inline(always)]
    pub(super) fn of_portion(sums: View<'_, u64>, portion: u32) -> Self {
        let first = portion as usize * WORDS as usize;
        let number = |i: usize| f64::from_bits(sums.ldg(first + i));
        Self {
            pixels: number(0),
            min: number(1),
            max: number(2),
            sum: number(3),
            deviations: number(4),
            whole: load_wide(sums, first + 5),
        }
    }

    /// Adds the sums of other pixels.
    #[inline(always)]
    pub(super) fn join(&mut self, other: Self) {
        self.min = least(self.min, other.min);
        self.max = greatest(self.max, other.max);
        self.whole += other.whole;
        if self.pixels > 0.0 {
            let apart = other.sum / other.pixels - self.sum / self.pixels;
            // planted: portion-column-deviations
            self.deviations += deviations_between(apart, [self.pixels, other.pixels]);
        }
        self.deviations += other.deviations;
        self.pixels += other.pixels;
        self.sum += other.sum;
    }
}

/// The least of all lanes' numbers, or NaN if one is NaN.
#[inline(always)]
fn least_of_warp(number: f64) -> f64 {
    let mut all = number;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (other, _) = warp_shuffle_xor(FULL_MASK, all, distance, WARP_SIZE);
        all = least(all, other);
        distance *= 2;
    }
    all
}

/// Sums up the intensities of a portion.
#[inline(always)]
fn sum_up<T: Real>(
    portion: Portion<'_>,
    memory: SharedView<f64>,
    intensities: RowsOfValues<'_, T>,
    with_deviations: bool,
    sums: ViewMut<'_, u64>,
) {
    // The least value, and the least negated value.
    let (mut low, mut negated) = (f64::INFINITY, f64::INFINITY);
    let mut whole = 0i128;
    let (mut pixels, mut sum, mut deviations) = (0.0, 0.0, 0.0);
    portion.for_each_in_order::<OF_RUN>(
        memory,
        |run| {
            let n = run.end - run.x;
            let value = |k| intensities.at(run.x + k, run.y);
            let mut k = 0;
            while k < n {
                let number = value(k).number();
                low = least(low, number);
                negated = least(negated, -number);
                k += 1;
            }
            let (sum_of_run, whole_of_run) = T::sum(n, value);
            whole += whole_of_run;
            let count = f64::from(n);
            let mean = sum_of_run / count;
            let deviations_of_run = if with_deviations {
                sum_in_lanes(n, |k| {
                    let apart = value(k).number() - mean;
                    apart * apart
                })
            } else {
                0.0
            };
            [count, sum_of_run, mean, deviations_of_run]
        },
        |of_run| {
            let count = of_run.number(0);
            if with_deviations && pixels > 0.0 {
                let apart = of_run.number(2) - sum / pixels;
                // planted: measure-real-apart
                deviations += deviations_between(apart, [pixels, count]);
            }
            deviations += of_run.number(3);
            pixels += count;
            sum += of_run.number(1);
        },
    );
    let (low, negated) = (least_of_warp(low), least_of_warp(negated));
    let whole = sum_of_warp(whole);
    if portion.lane == 0 {
        let at = portion.index as usize * WORDS as usize;
        sums.st(at, pixels.to_bits());
        sums.st(at + 1, low.to_bits());
        sums.st(at + 2, (-negated).to_bits());
        sums.st(at + 3, sum.to_bits());
        sums.st(at + 4, deviations.to_bits());
        store_wide(sums, at + 5, whole);
    }
}

/// Defines the kernel for a type of intensities.
macro_rules! reals_kernel {
    ($name:ident, $t:ty, $what:literal) => {
        #[doc = concat!("Writes the sums of intensities of each portion, for ", $what, ".")]
        ///
        /// Launch: one warp per portion. Reads each value twice or three times, mostly from the
        /// cache, 12 bytes per run and 4 per portion, and writes 56 bytes per portion.
        ///
        /// # Safety
        ///
        /// `intensities` has an element for each pixel, rows `pitch` elements apart. `begins` are
        /// the places in the order at which portions begin. `sums` has [`WORDS`] elements per
        /// portion, and nothing else uses it meanwhile.
        #[kernel(block = SUM_BLOCK, f64, len(runs = (), sums = begins.len() * WORDS as usize))]
        pub unsafe fn $name(
            intensities: RowsOfValues<'_, $t>,
            runs: SortedRuns<'_>,
            begins: View<'_, u32>,
            with_deviations: u32,
            sums: ViewMut<'_, u64>,
        ) {
            let memory = shared_array![f64; ROOM];
            if let Some(portion) = Portion::of_warp(runs, begins) {
                sum_up(portion, memory, intensities, with_deviations != 0, sums);
            }
        }
    };
}

reals_kernel!(sum_reals_of_i64, i64, "signed integers of 64 bits");
reals_kernel!(sum_reals_of_f32, f32, "floating-point numbers of 32 bits");
reals_kernel!(sum_reals_of_f64, f64, "floating-point numbers of 64 bits");
