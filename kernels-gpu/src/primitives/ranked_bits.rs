//! A set as bits, whose members have indices of their own.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

/// A set of numbers, one bit each. A member's rank is its index among the members. The sizes are a
/// number above all members.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct RankedBits<'a> {
    /// The bits, the lowest number's first.
    #[len(bit_words(*sizes))]
    pub bits: View<'a, u32>,
    /// The number of members before each word.
    #[len(bit_words(*sizes))]
    pub ranks: View<'a, u32>,
}

impl RankedBits<'_> {
    /// Whether `number` is a member.
    #[inline(always)]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.bits.ldg(number / WARP_SIZE) >> (number % WARP_SIZE) & 1 != 0
    }

    /// The number of members below `number`: a member's own index.
    #[inline(always)]
    pub(crate) fn rank(&self, number: u32) -> u32 {
        let word = number / WARP_SIZE;
        let below = (1u32 << (number % WARP_SIZE)) - 1;
        self.ranks.ldg(word) + (self.bits.ldg(word) & below).count_ones()
    }
}

/// Words of one bit for each number below `end`.
#[must_use]
pub const fn bit_words(end: u32) -> u32 {
    end.div_ceil(WARP_SIZE)
}
