//! Values as bits: equal values have equal bits, and keys in the order of the values.

use cuda_std::Pod;

/// A value that kernels compare.
pub trait ValueBits: Pod {
    /// Bits that are the same for equal values, and only for these.
    fn equal_bits(self) -> u64;

    /// A number in the order of the values; `sign` is the bit that negative integers have, or 0.
    #[inline(always)]
    fn ordered(self, sign: u64) -> u64 {
        // planted: value-sign
        self.equal_bits() ^ sign
    }
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl ValueBits for $t {
            #[inline(always)]
            fn equal_bits(self) -> u64 {
                self.into()
            }
        }
    )*};
}

integers!(u8 u16 u32 u64);

impl ValueBits for f32 {
    #[inline(always)]
    fn equal_bits(self) -> u64 {
        // Zeros of both signs are equal.
        let bits = if self == 0.0 { 0 } else { self.to_bits() };
        bits.into()
    }

    /// The bits of positive numbers are in their order, those of negative ones in the reverse one.
    #[inline(always)]
    fn ordered(self, _: u64) -> u64 {
        let bits = self.equal_bits() as u32;
        let ordered = if bits >> 31 == 0 {
            bits | 1 << 31
        } else {
            !bits
        };
        ordered.into()
    }
}
