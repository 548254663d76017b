//! Preprocessing: the pixels that borders pass, and indices for vertical sides.

use cuda_std::prelude::*;

use crate::primitives::quotient;
use crate::trace::BLOCK;
use crate::trace::pixels::Pixels;

/// Finds the pixels that borders pass: foreground with background to the W, N, E or S. Counts each
/// word's vertical sides, for a scan. Launch: one thread per word, which reads 5 words from the
/// cache and writes 12 bytes.
///
/// # Safety
///
/// `border` and `side_counts` have one element per word of `image`; nothing else uses the two
/// meanwhile.
#[kernel(
    block = BLOCK,
    len(image = (), border = image.raster.words(), side_counts = image.raster.words()),
)]
pub unsafe fn border_preprocessing(
    image: Pixels<'_>,
    border: ViewMut<'_, u64>,
    side_counts: ViewMut<'_, u32>,
) {
    let at = thread::index_1d();
    let raster = image.raster;
    if at >= raster.words() {
        return;
    }
    let y = quotient(at, raster.row_words);
    let word_x = at.wrapping_sub(y.wrapping_mul(raster.row_words));
    let (west, east) = image.vertical_sides(word_x, y);
    let inside = image.word(word_x, y.wrapping_sub(1)) & image.word(word_x, y + 1);
    border.st(at, west | east | image.word(word_x, y) & !inside);
    side_counts.st(at, west.count_ones() + east.count_ones());
}

/// Finds the indices of vertical sides.
#[derive(Clone, Copy)]
pub(super) struct SideIndex<'a> {
    pub(super) pixels: Pixels<'a>,
    /// The number of sides before each word.
    pub(super) before: View<'a, u32>,
}

impl SideIndex<'_> {
    /// The indices of a pixel's W and E sides; each is meaningful only if the pixel has that side.
    #[inline(always)]
    pub(super) fn of(self, x: u32, y: u32) -> (u32, u32) {
        let (word, bit) = (x / 64, x % 64);
        let (west, east) = self.pixels.vertical_sides(word, y);
        let before = (1u64 << bit) - 1;
        let at = y
            .wrapping_mul(self.pixels.raster.row_words)
            .wrapping_add(word);
        let first = self
            .before
            .ldg(at)
            .wrapping_add((west & before).count_ones())
            .wrapping_add((east & before).count_ones());
        (first, first.wrapping_add((west >> bit & 1) as u32))
    }
}
