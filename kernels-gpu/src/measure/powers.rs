//! Sums of `weight · rowⁱ · columnʲ` for i and j up to 3, where the weight is 1 or an intensity.
//!
//! They are floating-point numbers, added in the processor's order ([`portions`](super::portions)),
//! and count from the first pixel of their portion.

use cuda_std::prelude::*;

use super::ellipse::rounded;
use super::portions::{Portion, SUM_BLOCK};
use super::sorted_runs::{Run, SortedRuns};
use super::sums::column_sums;
use crate::trace::fragments::row_values::RowsOfValues;

/// Powers of a coordinate, from 0 up.
pub const POWERS: u32 = 4;

/// Sums per portion, if `powers` powers of each coordinate are wanted: row by row of the matrix
/// whose row is i and whose column is j.
#[must_use]
pub const fn sum_count(powers: u32) -> u32 {
    powers * powers
}

/// Sums of all of `portions` portions.
#[cfg(not(target_arch = "nvptx64"))]
const fn sums_of(portions: usize, powers: u32) -> u64 {
    portions as u64 * sum_count(powers) as u64
}

/// Numbers that a run hands over: its sums of `weight · columnʲ`, and its row.
const OF_RUN: usize = 5;
/// Room for those of all threads.
const ROOM: usize = SUM_BLOCK as usize * OF_RUN;

/// Numbers by which pixels are weighed.
pub(super) trait Weight: Pod {
    /// The number, rounded to the nearest one.
    fn number(self) -> f64;
}

macro_rules! weights {
    ($($t:ty)*) => {$(
        // Types of all sizes, some of which `From` converts.
        #[allow(clippy::cast_lossless)]
        impl Weight for $t {
            #[inline(always)]
            fn number(self) -> f64 {
                self as f64
            }
        }
    )*};
}
weights! { u8 u16 u32 i16 i32 i64 f32 f64 }

/// Adds up the runs of a portion, and writes its sums for i and j below `powers`. `of_run` returns
/// the sums of `weight · columnʲ` of a run of pixels, given the first one's column; columns count
/// from the portion's first pixel.
#[inline(always)]
fn sum_up(
    portion: Portion<'_>,
    memory: SharedView<f64>,
    mut of_run: impl FnMut(Run, f64) -> [f64; 4],
    powers: u32,
    sums: ViewMut<'_, f64>,
) {
    let origin = portion.origin;
    // Each lane has one of the sums; there are more lanes.
    let [i, j] = [portion.lane / POWERS % POWERS, portion.lane % POWERS];
    let mut sum = 0.0;
    portion.for_each_in_order::<OF_RUN>(
        memory,
        |run| {
            let first = f64::from(run.x) - f64::from(origin.x);
            let [s0, s1, s2, s3] = of_run(run, first);
            [s0, s1, s2, s3, f64::from(run.y - origin.y)]
        },
        |of_run| {
            let row = of_run.number(4);
            let mut power = 1.0;
            let mut k = 0;
            while k < i {
                power *= row;
                k += 1;
            }
            sum += power * of_run.number(j as usize);
        },
    );
    if portion.lane < sum_count(POWERS) && i.max(j) < powers {
        let first = portion.index as usize * sum_count(powers) as usize;
        // planted: measure-weight-place
        sums.st(first + (i * powers + j) as usize, sum);
    }
}

/// Writes the sums of `rowⁱ · columnʲ` of each portion.
///
/// Launch: one warp per portion. Reads 12 bytes per run and 4 per portion, and writes 128 bytes per
/// portion.
///
/// # Safety
///
/// `begins` are the places in the order at which portions begin. `sums` has 16 elements per
/// portion, and nothing else uses it meanwhile.
#[kernel(block = SUM_BLOCK, f64, len(runs = (), sums = sums_of(begins.len(), POWERS)))]
pub unsafe fn sum_powers(runs: SortedRuns<'_>, begins: View<'_, u32>, sums: ViewMut<'_, f64>) {
    let memory = shared_array![f64; ROOM];
    if let Some(portion) = Portion::of_warp(runs, begins) {
        let of_run = |run: Run, _| {
            let first = i64::from(run.x) - i64::from(portion.origin.x);
            let [s0, s1, s2, s3] = column_sums(run.end - run.x, first);
            [rounded(s0), rounded(s1), rounded(s2), rounded(s3)]
        };
        sum_up(portion, memory, of_run, POWERS, sums);
    }
}

/// Adds a weight, at place `k` of its run, to the sums of `weight · kʲ`.
#[inline(always)]
fn add(sums: &mut [f64; 4], weight: f64, k: f64) {
    sums[0] += weight;
    sums[1] += weight * k;
    sums[2] += weight * (k * k);
    // planted: measure-weight-cube
    sums[3] += weight * (k * k * k);
}

/// The sums of `weight · kʲ` over `n` pixels, with k = 0 at the first one: those of every fourth
/// pixel, then of all.
#[inline(always)]
fn weighted_sums(n: u32, weight: impl Fn(u32) -> f64) -> [f64; 4] {
    let (mut a, mut b, mut c, mut d) = ([0.0; 4], [0.0; 4], [0.0; 4], [0.0; 4]);
    let mut k = 0;
    while n - k >= 4 {
        add(&mut a, weight(k), f64::from(k));
        add(&mut b, weight(k + 1), f64::from(k + 1));
        add(&mut c, weight(k + 2), f64::from(k + 2));
        add(&mut d, weight(k + 3), f64::from(k + 3));
        k += 4;
    }
    let mut sums = [
        a[0] + b[0] + c[0] + d[0],
        a[1] + b[1] + c[1] + d[1],
        a[2] + b[2] + c[2] + d[2],
        a[3] + b[3] + c[3] + d[3],
    ];
    while k < n {
        add(&mut sums, weight(k), f64::from(k));
        k += 1;
    }
    sums
}

/// The sums of `weight · kʲ` for places k that are larger by `first`. For the processor too, whose
/// roundings they share.
#[must_use]
#[inline(always)]
pub fn moved([s0, s1, s2, s3]: [f64; 4], first: f64) -> [f64; 4] {
    [
        s0,
        s1 + first * s0,
        s2 + first * (2.0 * s1 + first * s0),
        s3 + first * (3.0 * s2 + first * (3.0 * s1 + first * s0)),
    ]
}

/// Binomial coefficients.
const CHOOSE: [[f64; 4]; 4] = [
    [1.0, 0.0, 0.0, 0.0],
    [1.0, 1.0, 0.0, 0.0],
    [1.0, 2.0, 1.0, 0.0],
    [1.0, 3.0, 3.0, 1.0],
];

/// Sums of `weight · kʲ`, element j, for numbers k that are larger by `by`.
#[inline(always)]
fn shifted_sums<const N: usize>(sums: [f64; N], by: f64) -> [f64; N] {
    let mut all = sums;
    let mut j = 0;
    while j < N {
        let mut sum = 0.0;
        let mut k = 0;
        while k <= j {
            let mut term = CHOOSE[j][k];
            let mut power = k;
            while power < j {
                term *= by;
                power += 1;
            }
            term *= sums[k];
            sum = if k == 0 { term } else { sum + term };
            k += 1;
        }
        all[j] = sum;
        j += 1;
    }
    all
}

/// Sums of `weight · rowⁱ · columnʲ`, row i and column j of the matrix, for rows that are larger by
/// `dr` and columns that are larger by `dc`. `N` is at most [`POWERS`]. For the processor too.
#[must_use]
#[inline(always)]
pub fn shifted<const N: usize>(sums: [[f64; N]; N], dr: f64, dc: f64) -> [[f64; N]; N] {
    let mut all = sums;
    let mut j = 0;
    while j < N {
        let mut column = [0.0; N];
        let mut i = 0;
        while i < N {
            column[i] = sums[i][j];
            i += 1;
        }
        let column = shifted_sums(column, dr);
        let mut i = 0;
        while i < N {
            all[i][j] = column[i];
            i += 1;
        }
        j += 1;
    }
    let mut i = 0;
    while i < N {
        all[i] = shifted_sums(all[i], dc);
        i += 1;
    }
    all
}

/// The weighted mean of row and column, from the sums of `weight · rowⁱ · columnʲ`. For the
/// processor too.
#[must_use]
#[inline(always)]
pub const fn weighted_centroid<const N: usize>(sums: &[[f64; N]; N]) -> [f64; 2] {
    [sums[1][0] / sums[0][0], sums[0][1] / sums[0][0]]
}

/// Defines the kernel for a type of intensities.
macro_rules! weighted_kernel {
    ($name:ident, $t:ty, $what:literal) => {
        #[doc = concat!("Writes the sums of `intensity · rowⁱ · columnʲ` of each portion, for ")]
        #[doc = concat!($what, ".")]
        ///
        /// Launch: one warp per portion. Reads each intensity once, 12 bytes per run and 4 per
        /// portion, and writes 32 or 128 bytes per portion.
        ///
        /// # Safety
        ///
        /// `intensities` has an element for each pixel, rows `pitch` elements apart. `begins` are
        /// the places in the order at which portions begin. `powers` are at most [`POWERS`];
        /// `sums` has [`sum_count`] elements per portion, and nothing else uses it meanwhile.
        #[kernel(block = SUM_BLOCK, f64, len(runs = (), sums = sums_of(begins.len(), powers)))]
        pub unsafe fn $name(
            intensities: RowsOfValues<'_, $t>,
            runs: SortedRuns<'_>,
            begins: View<'_, u32>,
            powers: u32,
            sums: ViewMut<'_, f64>,
        ) {
            let memory = shared_array![f64; ROOM];
            if let Some(portion) = Portion::of_warp(runs, begins) {
                let of_run = |run: Run, first| {
                    let weight = |k| intensities.at(run.x + k, run.y).number();
                    // planted: measure-weight-moved
                    moved(weighted_sums(run.end - run.x, weight), first)
                };
                sum_up(portion, memory, of_run, powers, sums);
            }
        }
    };
}

weighted_kernel!(sum_weighted_of_u8, u8, "unsigned integers of 8 bits");
weighted_kernel!(sum_weighted_of_u16, u16, "unsigned integers of 16 bits");
weighted_kernel!(sum_weighted_of_u32, u32, "unsigned integers of 32 bits");
weighted_kernel!(sum_weighted_of_i16, i16, "signed integers of 16 bits");
weighted_kernel!(sum_weighted_of_i32, i32, "signed integers of 32 bits");
weighted_kernel!(sum_weighted_of_i64, i64, "signed integers of 64 bits");
weighted_kernel!(
    sum_weighted_of_f32,
    f32,
    "floating-point numbers of 32 bits"
);
weighted_kernel!(
    sum_weighted_of_f64,
    f64,
    "floating-point numbers of 64 bits"
);
