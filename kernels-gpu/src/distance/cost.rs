//! The two precisions of costs.

use core::ops::{Add, Mul};

use cuda_std::Atomic;
use cuda_std::prelude::*;

/// f32 or f64, as the cost of a path. Costs are never negative or NaN; infinity is "not reached".
/// Memory that several threads use holds their bits, which order as the costs do.
pub trait Cost: Pod + PartialOrd + Add<Output = Self> + Mul<Output = Self> {
    /// Bits that are read and written atomically.
    type Bits: Atomic;
    /// Nothing reaches the cell, or it is a barrier.
    const INFINITY: Self;
    /// What cells that nothing reaches have in results.
    const NAN: Self;
    /// 0.
    const ZERO: Self;

    /// The bits.
    fn to_bits(self) -> Self::Bits;

    /// The number of these bits.
    fn from_bits(bits: Self::Bits) -> Self;

    /// The lesser of both. NaN, which is what an endless share of no friction gives, counts as
    /// infinity in `other`.
    #[must_use]
    fn lower(self, other: Self) -> Self;

    /// A number below `u32::MAX` that never falls as the cost grows.
    fn priority(self) -> u32;
}

impl Cost for f32 {
    type Bits = u32;
    const INFINITY: Self = Self::INFINITY;
    const NAN: Self = Self::NAN;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }

    #[inline(always)]
    fn lower(self, other: Self) -> Self {
        self.min(other)
    }

    #[inline(always)]
    fn priority(self) -> u32 {
        self.to_bits()
    }
}

impl Cost for f64 {
    type Bits = u64;
    const INFINITY: Self = Self::INFINITY;
    const NAN: Self = Self::NAN;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.to_bits()
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    #[inline(always)]
    fn lower(self, other: Self) -> Self {
        self.min(other)
    }

    #[inline(always)]
    fn priority(self) -> u32 {
        (self.to_bits() >> 32) as u32
    }
}
