//! [`Cost`]: the cost of a path in 32 or 64 bits.

use crate::route::grid::BLOCKED;

/// A cost; `MAX` stands for every cost that does not fit.
pub(super) trait Cost: Copy + Ord + bytemuck::Pod {
    const ZERO: Self;
    const MAX: Self;

    /// The sum, at most `MAX`.
    fn plus(self, weight: u32) -> Self;

    fn to_u64(self) -> u64;
}

impl Cost for u32 {
    const ZERO: Self = 0;
    const MAX: Self = u32::MAX;

    #[inline(always)]
    fn plus(self, weight: u32) -> Self {
        self.saturating_add(weight)
    }

    #[inline(always)]
    fn to_u64(self) -> u64 {
        self.into()
    }
}

impl Cost for u64 {
    const ZERO: Self = 0;
    const MAX: Self = u64::MAX;

    #[inline(always)]
    fn plus(self, weight: u32) -> Self {
        // No path costs that much; a label of `MAX` is never added to.
        match weight {
            BLOCKED => Self::MAX,
            weight => self.saturating_add(weight.into()),
        }
    }

    #[inline(always)]
    fn to_u64(self) -> u64 {
        self
    }
}
