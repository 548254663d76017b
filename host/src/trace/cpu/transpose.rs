//! From bits in words to bytes.

/// Transposes eight words into 64 bytes: byte `i` consists of bit `i` of each word.
#[inline(always)]
pub(super) fn bytes_of(words: [u64; 8]) -> [u64; 8] {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: all processors of the architecture have SSE2.
        unsafe { sse2::bytes_of(words) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let around = trazar_kernels::trace::node_bits::Around::of_connected(0, words);
        std::array::from_fn(|i| around.neighbourhoods(8 * i as u32))
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_set1_epi64x, _mm_slli_epi64, _mm_srli_epi64, _mm_unpackhi_epi8,
        _mm_unpacklo_epi8, _mm_xor_si128,
    };

    #[target_feature(enable = "sse2")]
    #[inline]
    pub(super) fn bytes_of(words: [u64; 8]) -> [u64; 8] {
        // The words' bytes are a matrix, which three perfect shuffles transpose.
        let mut rows: [__m128i; 4] = bytemuck::cast(words);
        for _ in 0..3 {
            let [a, b, c, d] = rows;
            rows = [
                _mm_unpacklo_epi8(a, c),
                _mm_unpackhi_epi8(a, c),
                _mm_unpacklo_epi8(b, d),
                _mm_unpackhi_epi8(b, d),
            ];
        }
        // Then each eight bytes, as a matrix of bits, are transposed, two matrices at a time.
        for bits in &mut rows {
            *bits = exchange::<7>(*bits, 0x00aa_00aa_00aa_00aa);
            *bits = exchange::<14>(*bits, 0x0000_cccc_0000_cccc);
            *bits = exchange::<28>(*bits, 0x0000_0000_f0f0_f0f0);
        }
        bytemuck::cast(rows)
    }

    /// Exchanges the bits of `mask` with those `SHIFT` further up.
    #[target_feature(enable = "sse2")]
    #[inline]
    fn exchange<const SHIFT: i32>(bits: __m128i, mask: i64) -> __m128i {
        let swap = _mm_xor_si128(bits, _mm_srli_epi64::<SHIFT>(bits));
        let swap = _mm_and_si128(swap, _mm_set1_epi64x(mask));
        _mm_xor_si128(bits, _mm_xor_si128(swap, _mm_slli_epi64::<SHIFT>(swap)))
    }
}

#[cfg(test)]
mod tests {
    use super::bytes_of;
    use crate::generate::noise;

    #[test]
    fn bytes_have_a_bit_of_each_word() {
        let image = noise(512, 1, 0.5, 3).unwrap();
        let words: [u64; 8] = image.row(0)[..8].try_into().unwrap();
        let bytes = bytes_of(words);
        for (i, &byte) in bytemuck::bytes_of(&bytes).iter().enumerate() {
            for (k, word) in words.iter().enumerate() {
                let [of_byte, of_word] = [u64::from(byte) >> k & 1, word >> i & 1];
                assert_eq!(of_byte, of_word, "bit {i} of word {k}");
            }
        }
    }
}
