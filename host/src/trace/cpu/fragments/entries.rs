//! Entries: the nodes by which borders come into a strip.

use super::super::pixels::Pixels;
use super::super::walk::{Rim, Walk};
use super::follow::check_count;
use crate::error::Result;
use crate::image::WORD_BITS;
use crate::memory::reserve;

/// The nodes of a row by which borders enter over a rim, in an order of their own.
pub(in crate::trace) struct Entries {
    rim: Rim,
    words: Vec<EntryWord>,
    pub(in crate::trace) count: u32,
}

/// The entries of 64 pixels.
struct EntryWord {
    /// One bit per pixel, by the two low bits of the nodes' codes.
    pixels: [u64; 4],
    /// The number of entries in the words before.
    before: u32,
}

impl Entries {
    /// No entries: there is no row beyond the rim.
    pub(in crate::trace) const fn none(rim: Rim) -> Self {
        Self {
            rim,
            words: Vec::new(),
            count: 0,
        }
    }

    /// Finds the entries over a rim of the plane's row `row`.
    pub(in crate::trace) fn of<P: Pixels, K: Walk>(
        walk: &K,
        plane: &P,
        row: usize,
        rim: Rim,
    ) -> Result<Self> {
        let mut entries = Self::none(rim);
        reserve(
            &mut entries.words,
            plane.row_words(),
            "the entries of strips",
        )?;
        let mut count = 0u64;
        for i in 0..plane.row_words() {
            let pixels = walk.entries(row * plane.row_words() + i, rim);
            entries.words.push(EntryWord {
                pixels,
                before: count as u32,
            });
            count += u64::from(pixels.iter().map(|bits| bits.count_ones()).sum::<u32>());
        }
        check_count(count)?;
        entries.count = count as u32;
        Ok(entries)
    }

    /// The index of a node of column `x`.
    pub(in crate::trace) fn index(&self, x: usize, code: u8) -> u32 {
        let word = &self.words[x / WORD_BITS];
        let code = usize::from(code & 3);
        let of_codes_before = word.pixels[..code].iter().map(|bits| bits.count_ones());
        let of_pixels_before = word.pixels[code] & ((1 << (x % WORD_BITS)) - 1);
        word.before + of_codes_before.sum::<u32>() + of_pixels_before.count_ones()
    }

    /// Visits the columns and codes of all entries, in order.
    pub(in crate::trace) fn for_each<K: Walk>(
        &self,
        mut visit: impl FnMut(usize, u8) -> Result<()>,
    ) -> Result<()> {
        for (i, word) in self.words.iter().enumerate() {
            for (low_bits, &pixels) in word.pixels.iter().enumerate() {
                let mut pixels = pixels;
                while pixels != 0 {
                    let x = i * WORD_BITS + pixels.trailing_zeros() as usize;
                    visit(x, K::entry_code(low_bits as u8, self.rim))?;
                    pixels &= pixels - 1;
                }
            }
        }
        Ok(())
    }
}
