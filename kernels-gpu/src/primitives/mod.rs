//! Building blocks that the kernels of every job share.
//!
//! | tier | file |
//! | --- | --- |
//! | one thread | [`bits`]: runs in rows of bits; [`union_find`]: sets on an array of parents; [`ranked_bits`]: sets of which each member has an index |
//! | one thread | `rows`: going down a column of an image |
//! | warp | [`warp`]: prefix sum; [`warp_list`]: a list in shared memory |
//! | block | [`block`]: prefix sums |
//! | grid | [`grid`]: loops and prefix sums of all blocks of a cooperative kernel; [`sort`]: stable sort by a 32-bit key; [`partition`]: stable partition |
//! | device, as kernels | [`scan`]: exclusive prefix sum; [`list_ranking`]: pointer jumping |

pub mod bits;
pub mod block;
pub mod grid;
pub mod list_ranking;
pub mod partition;
pub mod ranked_bits;
pub(crate) mod rows;
pub mod scan;
pub mod sort;
pub mod union_find;
pub mod warp;
pub mod warp_list;

/// `a / by`, or 0 for a divisor of 0, so that the compiler emits no panic. No kernel is launched
/// with such a divisor.
#[inline(always)]
pub(crate) const fn quotient(a: u32, by: u32) -> u32 {
    match a.checked_div(by) {
        Some(quotient) => quotient,
        None => 0,
    }
}
