//! What is summed up for each label, and how the sums of two strips are joined.
//!
//! Sums of coordinates count from a label's own origin, the start of its first run: numbers stay
//! small, so that nothing is lost where an object lies far from the image's corner.

use std::ops::{Add, Div, Mul, Sub};

use trazar_kernels::measure::lengths;
use trazar_kernels::measure::powers;
use trazar_kernels::measure::reals::{deviations_between, greatest, least};

use super::slots::Labelled;

/// A label's value, its number of pixels and its box, which every table needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub(super) label: i64,
    pub(super) area: u64,
    /// The row of the first run, which is the box's first row.
    pub(super) row: u32,
    /// The first column of the first run: with `row`, the label's origin.
    pub(super) column: u32,
    pub(super) last_row: u32,
    pub(super) min_column: u32,
    pub(super) max_column: u32,
}

impl Base {
    /// A label whose first run starts at `(column, row)`.
    pub(super) fn new(label: i64, row: u32, column: u32) -> Self {
        Self {
            label,
            area: 0,
            row,
            column,
            last_row: row,
            min_column: column,
            max_column: column,
        }
    }

    pub(super) fn join(&mut self, below: &Self) {
        self.area += below.area;
        self.last_row = self.last_row.max(below.last_row);
        self.min_column = self.min_column.min(below.min_column);
        self.max_column = self.max_column.max(below.max_column);
    }

    pub(super) fn height(&self) -> u64 {
        u64::from(self.last_row - self.row) + 1
    }

    pub(super) fn width(&self) -> u64 {
        u64::from(self.max_column - self.min_column) + 1
    }
}

impl Labelled for Base {
    #[inline(always)]
    fn label(&self) -> i64 {
        self.label
    }
}

/// In images of at most this many columns, all sums of one run fit 63 bits.
pub(super) const NARROW_WIDTH: usize = 1 << 20;

/// Sums of coordinates and of their products, exactly.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Second {
    pub(super) r: i128,
    pub(super) c: i128,
    pub(super) rr: i128,
    pub(super) rc: i128,
    pub(super) cc: i128,
}

impl Second {
    /// Adds the pixels of a run from column `first` on. `is_narrow` says that the image has at most
    /// [`NARROW_WIDTH`] columns.
    #[inline(always)]
    pub(super) fn add_run(&mut self, row: i64, first: i64, len: u64, is_narrow: bool) {
        let n = len as i64;
        let [r, c, cc] = if is_narrow {
            let (c, cc) = sums_and_squares(n, first);
            [n * row, c, cc].map(i128::from)
        } else {
            let (c, cc) = sums_and_squares(i128::from(n), i128::from(first));
            [i128::from(n) * i128::from(row), c, cc]
        };
        let row = i128::from(row);
        self.r += r;
        self.c += c;
        self.rr += row * r;
        self.rc += row * c;
        self.cc += cc;
    }

    /// The sums of `area` pixels whose coordinates are larger by `dr` and `dc`.
    pub(super) fn shifted(&self, area: u64, dr: i64, dc: i64) -> Self {
        let (n, dr, dc) = (i128::from(area), i128::from(dr), i128::from(dc));
        Self {
            r: self.r + n * dr,
            c: self.c + n * dc,
            rr: self.rr + dr * (2 * self.r + n * dr),
            rc: self.rc + dr * self.c + dc * self.r + n * dr * dc,
            cc: self.cc + dc * (2 * self.c + n * dc),
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.r += other.r;
        self.c += other.c;
        self.rr += other.rr;
        self.rc += other.rc;
        self.cc += other.cc;
    }
}

/// Sums of `weight · rowⁱ · columnʲ` for i and j up to 3.
///
/// They are floating-point numbers, exact as long as they are integers below 2⁵³, as they are for
/// objects of up to some hundred pixels across.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Powers(pub(super) [[f64; 4]; 4]);

impl Powers {
    /// Adds a run in row `row` whose sums of `weight · columnʲ` are `sums`.
    #[inline(always)]
    pub(super) fn add_run(&mut self, row: f64, sums: [f64; 4]) {
        let mut power = 1.0;
        for moments in &mut self.0 {
            for (moment, sum) in moments.iter_mut().zip(sums) {
                *moment += power * sum;
            }
            power *= row;
        }
    }

    /// The sums for coordinates that are larger by `dr` and `dc`.
    pub(super) fn shifted(&self, dr: f64, dc: f64) -> Self {
        Self(powers::shifted(self.0, dr, dc))
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (mine, others) in self.0.iter_mut().zip(other.0) {
            for (mine, other) in mine.iter_mut().zip(others) {
                *mine += other;
            }
        }
    }
}

/// The sums of `columnʲ` over a run of `len` columns from `first` on.
#[inline(always)]
pub(super) fn power_sums(first: i64, len: u64) -> [f64; 4] {
    let n = len as i64;
    /// Below this, all sums fit 63 bits: n · max³ ≤ 2⁶⁰.
    const NARROW: i64 = 1 << 15;
    if n < NARROW && first.abs() < NARROW - n {
        let (s1, s2) = sums_and_squares(n, first);
        let s3 = cubes(n, first);
        return [n as f64, s1 as f64, s2 as f64, s3 as f64];
    }
    // Sides are below 2³¹: the sums of third powers are below 2¹²⁶.
    let (n, first) = (i128::from(n), i128::from(first));
    let (s1, s2) = sums_and_squares(n, first);
    let s3 = cubes(n, first);
    [n as f64, s1 as f64, s2 as f64, s3 as f64]
}

/// Integers in which sums are computed: `i64` where they fit, else `i128`.
trait Whole:
    Copy + From<i32> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
}

impl Whole for i64 {}
impl Whole for i128 {}

/// The sums of the numbers from 0 to `n - 1`, and of their squares.
#[inline(always)]
fn from_zero<N: Whole>(n: N) -> (N, N) {
    let [one, two, three] = [1, 2, 3].map(N::from);
    let sum = n * (n - one) / two;
    (sum, sum * (two * n - one) / three)
}

/// The sums of the `n` numbers from `first` on, and of their squares.
#[inline(always)]
fn sums_and_squares<N: Whole>(n: N, first: N) -> (N, N) {
    let (t1, t2) = from_zero(n);
    (n * first + t1, first * (n * first + N::from(2) * t1) + t2)
}

/// The sum of the third powers of the `n` numbers from `first` on.
#[inline(always)]
fn cubes<N: Whole>(n: N, first: N) -> N {
    let (t1, t2) = from_zero(n);
    let three = N::from(3);
    first * (first * (n * first + three * t1) + three * t2) + t1 * t1
}

/// Counts of a label's runs, and of its pairs and squares of neighbouring pixels: all that its
/// Euler number and Crofton's formula need.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairs {
    /// Runs along the rows.
    pub(super) runs: u64,
    /// Pixels with an equal pixel below; below and to the right; below and to the left.
    pub(super) below: u64,
    pub(super) below_right: u64,
    pub(super) below_left: u64,
    /// Squares of 2 × 2 equal pixels.
    pub(super) squares: u64,
    /// Squares in which only the two pixels of a diagonal have the label.
    pub(super) diagonals: u64,
}

impl Pairs {
    pub(super) fn join(&mut self, other: &Self) {
        self.runs += other.runs;
        self.below += other.below;
        self.below_right += other.below_right;
        self.below_left += other.below_left;
        self.squares += other.squares;
        self.diagonals += other.diagonals;
    }

    /// Pixels less pairs plus squares: the Euler number where pixels are connected at their 4
    /// sides.
    pub(super) fn euler_4(&self) -> i64 {
        // A row of k pixels has k - 1 pairs, so pixels less pairs along the rows are the runs.
        self.runs as i64 - self.below as i64 + self.squares as i64
    }

    /// The same where they are also connected at their corners.
    pub(super) fn euler_8(&self) -> i64 {
        self.euler_4() - self.diagonals as i64
    }

    /// The length by Crofton's formula from the numbers of runs in four directions.
    pub(super) fn crofton(&self, area: u64) -> f64 {
        let straight = self.runs + (area - self.below);
        let oblique = (area - self.below_right) + (area - self.below_left);
        lengths::crofton(straight, oblique)
    }
}

/// Border pixels by what they add to the perimeter: 1, √2, or the mean of both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outline(pub(super) [u64; 3]);

impl Outline {
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, other) in self.0.iter_mut().zip(other.0) {
            *mine += other;
        }
    }

    pub(super) fn length(&self) -> f64 {
        lengths::perimeter(self.0)
    }
}

/// Sums of intensities. Which of them are filled in depends on the type of the intensities.
#[derive(Clone, Copy, Debug)]
pub struct IntensitySums {
    pub(super) pixels: u64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Of integers.
    pub(super) whole_sum: i128,
    /// Of integers of up to 32 bits.
    pub(super) squares: u128,
    pub(super) sum: f64,
    /// The sum of squared differences from the mean, of all others.
    pub(super) deviations: f64,
}

impl Default for IntensitySums {
    fn default() -> Self {
        Self {
            pixels: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            whole_sum: 0,
            squares: 0,
            sum: 0.0,
            deviations: 0.0,
        }
    }
}

impl IntensitySums {
    /// Adds the sums of other pixels; `with_deviations` also those of differences from the mean.
    #[inline(always)]
    pub(super) fn join(&mut self, other: &Self, with_deviations: bool) {
        self.min = least(self.min, other.min);
        self.max = greatest(self.max, other.max);
        self.whole_sum += other.whole_sum;
        self.squares += other.squares;
        if with_deviations && self.pixels > 0 {
            // Sums of squares, where there are any, make this superfluous.
            let counts = [self.pixels, other.pixels].map(|pixels| pixels as f64);
            let apart = other.sum / counts[1] - self.sum / counts[0];
            self.deviations += deviations_between(apart, counts);
        }
        self.deviations += other.deviations;
        self.pixels += other.pixels;
        self.sum += other.sum;
    }
}

/// The pixels of a label in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) slot: u32,
    pub(super) row: u32,
    pub(super) start: u32,
    /// The column after the last.
    pub(super) end: u32,
}
