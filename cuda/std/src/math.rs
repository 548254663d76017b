//! Arithmetic that `core` lacks, rounded alike on the device and on the host.

use crate::backend;

/// The square root, rounded to the nearest double as IEEE 754 asks: `sqrt.rn.f64`.
///
/// A kernel that calls it uses double precision, and must say so: `#[kernel(..., f64)]`.
#[must_use]
#[inline(always)]
pub fn sqrt(value: f64) -> f64 {
    backend::sqrt(value)
}
