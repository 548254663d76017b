//! Building blocks that the kernels of every job share.

pub mod bits;
pub mod list_ranking;
pub mod scan;
pub mod sort;
pub mod union_find;

/// `a / by`, and 0 for a divisor of 0, which no kernel is launched with: the compiler need not provide for a panic.
#[inline(always)]
pub(crate) const fn quotient(a: u32, by: u32) -> u32 {
    match a.checked_div(by) {
        Some(quotient) => quotient,
        None => 0,
    }
}
