//! Arithmetic of doubles, rounded alike on the device and on the host.

use cuda_std::math;
use cuda_std::prelude::*;

/// Values that [`doubles`](fn@doubles) writes per thread.
pub const VALUES: u32 = 4;

/// The root of `a`, `a b + c` with both operations rounded, `a / b`, and the last as a single, as
/// bits.
#[inline(always)]
#[must_use]
pub fn of_doubles(a: f64, b: f64, c: f64) -> [u64; VALUES as usize] {
    let quotient = a / b;
    [
        math::sqrt(a).to_bits(),
        (a * b + c).to_bits(),
        quotient.to_bits(),
        f64::from(quotient as f32).to_bits(),
    ]
}

/// Each thread writes [`VALUES`] numbers of element `i` of each input.
///
/// # Safety
///
/// The inputs have as many elements each, and `out` a row for each.
#[kernel(block = 64, f64)]
pub unsafe fn doubles(a: View<'_, f64>, b: View<'_, f64>, c: View<'_, f64>, out: ViewMut<'_, u64>) {
    let i = thread::index_1d();
    if i as usize >= a.len() {
        return;
    }
    let row = i * VALUES;
    let [root, sum, quotient, single] = of_doubles(a.ld(i), b.ld(i), c.ld(i));
    out.st(row, root);
    out.st(row + 1, sum);
    out.st(row + 2, quotient);
    out.st(row + 3, single);
}
