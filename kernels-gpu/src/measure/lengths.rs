//! Lengths of outlines from counts of pixels. Kernels and the processor use the same functions.

use core::f64::consts::{FRAC_PI_4, SQRT_2};

/// The perimeter of an object from its border pixels: those that add 1, √2, or the mean of both.
#[must_use]
#[inline(always)]
pub const fn perimeter([straight, oblique, mixed]: [u64; 3]) -> f64 {
    straight as f64 + SQRT_2 * oblique as f64 + (1.0 + SQRT_2) / 2.0 * mixed as f64
}

/// The length by Crofton's formula from the numbers of runs along rows and columns, and from those
/// along both diagonals.
#[must_use]
#[inline(always)]
pub const fn crofton(straight: u64, oblique: u64) -> f64 {
    FRAC_PI_4 * (straight as f64 + oblique as f64 / SQRT_2)
}
