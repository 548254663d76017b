//! From values to planes of equality: which neighbours of a pixel have its value.
//!
//! A pixel is **valid** if the mask has it and its value is neither background nor a NaN. Two
//! neighbours are **equal** if both are valid and their values are equal as numbers. The four
//! planes to the E, S, SE and SW say all about a pixel's eight neighbours, because equality is
//! mutual. Kernels after this one work on bits, whatever the type of the values.
//!
//! | | |
//! | --- | --- |
//! | launch | [`threads`]`(width, height)` threads: a warp per word of 64 pixels and [`WARP_ROWS`] rows |
//! | reads | each value once from device memory, and some of their neighbours again; 1 bit per pixel of a mask |
//! | writes | 5 bits per pixel, rows padded to words of 64 |

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::row_words;
use crate::primitives::quotient;
use crate::trace::node_bits::Around;
use crate::trace::pixels::Raster;

/// Threads per block.
const BLOCK: u32 = 256;
/// Rows of each warp.
pub const WARP_ROWS: u32 = 16;
/// Words of [`EqualityPlanes::beside`] per word of the image.
pub const BESIDE_WORDS: u32 = 4;
/// The index of each plane among these.
pub(crate) const E: u32 = 0;
pub(crate) const S: u32 = 1;
pub(crate) const SE: u32 = 2;
pub(crate) const SW: u32 = 3;

/// Threads for an image of `width × height` pixels.
#[must_use]
pub const fn threads(width: u32, height: u32) -> u64 {
    row_words(width) as u64 * height.div_ceil(WARP_ROWS) as u64 * WARP_SIZE as u64
}

/// Which pixels of an image are valid and equal, 64 per word, the leftmost in the least significant
/// bit. Bits past the width are 0.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct EqualityPlanes<'a> {
    /// The valid pixels.
    #[len(self.raster.words())]
    pub valid: View<'a, u64>,
    /// For each word of the image, [`BESIDE_WORDS`] words: the pixels that are equal to their
    /// neighbour to the E, S, SE and SW.
    #[len(u64::from(self.raster.words()) * u64::from(BESIDE_WORDS), align = 16)]
    pub beside: View<'a, u64>,
    /// The image's size.
    pub raster: Raster,
}

/// The equalities of a word's pixels.
#[derive(Clone, Copy, Default)]
pub(crate) struct EqualTo {
    pub(crate) e: u64,
    pub(crate) s: u64,
    pub(crate) se: u64,
    pub(crate) sw: u64,
}

impl EqualityPlanes<'_> {
    /// Whether there is a word `word_x` in row `y`; not if one of them has wrapped around below 0.
    #[inline(always)]
    const fn has(&self, word_x: u32, y: u32) -> bool {
        word_x < self.raster.row_words && y < self.raster.height
    }

    /// The valid pixels of word `word_x` of row `y`; none outside the image.
    #[inline(always)]
    pub(crate) fn valid(&self, word_x: u32, y: u32) -> u64 {
        if self.has(word_x, y) {
            self.valid.ldg(y * self.raster.row_words + word_x)
        } else {
            0
        }
    }

    /// The equalities of word `word_x` of row `y`; none outside the image.
    #[inline(always)]
    pub(crate) fn equal_to(&self, word_x: u32, y: u32) -> EqualTo {
        // planted: equality-outside
        if !self.has(word_x, y) {
            return EqualTo::default();
        }
        let at =
            (y as usize * self.raster.row_words as usize + word_x as usize) * BESIDE_WORDS as usize;
        let [e, s] = self.beside.ldg_vector(at + E as usize);
        let [se, sw] = self.beside.ldg_vector(at + SE as usize);
        EqualTo { e, s, se, sw }
    }

    /// The pixels of word `word_x` of row `y`, and which of their neighbours are equal to them.
    #[inline(always)]
    pub(crate) fn around(&self, word_x: u32, y: u32) -> Around {
        let (left, up) = (word_x.wrapping_sub(1), y.wrapping_sub(1));
        let EqualTo { e, s, se, sw } = self.equal_to(word_x, y);
        let above = self.equal_to(word_x, up);
        // planted: equality-around-carry
        let w = e << 1 | self.plane(E, left, y) >> 63;
        let nw = above.se << 1 | self.plane(SE, left, up) >> 63;
        let ne = above.sw >> 1 | self.plane(SW, word_x + 1, up) << 63;
        Around::of_connected(self.valid(word_x, y), [e, ne, above.s, nw, w, sw, s, se])
    }

    /// One of a word's equalities, by its index; none outside the image.
    #[inline(always)]
    pub(crate) fn plane(&self, plane: u32, word_x: u32, y: u32) -> u64 {
        if !self.has(word_x, y) {
            return 0;
        }
        let word = y as usize * self.raster.row_words as usize + word_x as usize;
        self.beside
            .ldg(word * BESIDE_WORDS as usize + plane as usize)
    }
}

impl EqualityPlanes<'_> {
    /// The first pixel of the run of row `y` that pixel `x` belongs to.
    #[inline(always)]
    pub(crate) fn run_start(&self, x: u32, y: u32) -> u32 {
        if x == 0 {
            return 0;
        }
        let mut word_x = (x - 1) / 64;
        // planted: value-run-start
        let mut through = u64::MAX >> (63 - (x - 1) % 64);
        loop {
            let ends = !self.plane(E, word_x, y) & through;
            if ends != 0 {
                return word_x * 64 + 64 - ends.leading_zeros();
            }
            if word_x == 0 {
                return 0;
            }
            word_x -= 1;
            through = u64::MAX;
        }
    }

    /// The last pixel of the run of row `y` that pixel `x` belongs to.
    #[inline(always)]
    pub(crate) fn run_end(&self, x: u32, y: u32) -> u32 {
        let mut word_x = x / 64;
        let mut from = u64::MAX << (x % 64);
        loop {
            // The last pixel of a row is equal to none to the east.
            let ends = !self.plane(E, word_x, y) & from;
            if ends != 0 {
                return word_x * 64 + ends.trailing_zeros();
            }
            word_x += 1;
            // planted: value-run-end
            from = u64::MAX;
        }
    }

    /// The pixels of a word at which runs begin.
    #[inline(always)]
    pub(crate) fn run_starts(&self, word_x: u32, y: u32) -> u64 {
        let before = self.plane(E, word_x.wrapping_sub(1), y) >> 63;
        // planted: value-run-carry-west
        self.valid(word_x, y) & !(self.plane(E, word_x, y) << 1 | before)
    }
}

/// The memory that the planes are written to.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct EqualityPlanesMut<'a> {
    /// [`EqualityPlanes`](field@EqualityPlanes::valid).
    #[len(self.raster.words())]
    pub valid: ViewMut<'a, u64>,
    /// [`EqualityPlanes::beside`].
    #[len(u64::from(self.raster.words()) * u64::from(BESIDE_WORDS), align = 16)]
    pub beside: ViewMut<'a, u64>,
    /// The image's size.
    pub raster: Raster,
}

/// Which pixels are valid.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Validity<'a> {
    /// The pixels of the mask as a binary image, [`Raster::words`] words; empty without a mask.
    pub mask: View<'a, u64>,
    /// Elements from the start of a row of values to the start of the next.
    pub pitch: u32,
}

/// A pixel's value, and whether it is valid, as far as the value says.
#[derive(Clone, Copy)]
struct Sample<T> {
    value: T,
    is_valid: bool,
}

impl<T: Pod + PartialEq> Sample<T> {
    #[inline(always)]
    fn equals(self, other: Self) -> bool {
        // planted: equality-valid
        self.is_valid && other.is_valid && self.value == other.value
    }
}

/// The values of an image, for a warp.
struct Values<'a, T: Pod> {
    values: View<'a, T>,
    /// The values of background.
    background: View<'a, T>,
    validity: Validity<'a>,
    raster: Raster,
}

impl<T: Pod + PartialEq + Default> Values<'_, T> {
    /// Pixel `(x, y)`; one that is not valid outside the image, also where `x` has wrapped around.
    #[inline(always)]
    fn at(&self, x: u32, y: u32) -> Sample<T> {
        if x >= self.raster.width || y >= self.raster.height {
            return Sample {
                value: T::default(),
                is_valid: false,
            };
        }
        let value = self
            .values
            .ldg(y as usize * self.validity.pitch as usize + x as usize);
        // A NaN is not equal to itself.
        #[expect(clippy::eq_op)]
        let mut is_valid = value == value;
        let mut i = 0;
        while i < self.background.len() as u32 {
            // planted: equality-background
            is_valid = is_valid && value != self.background.ldg(i);
            i += 1;
        }
        Sample { value, is_valid }
    }

    /// The word of the mask; all pixels without one.
    #[inline(always)]
    fn mask(&self, word_x: u32, y: u32) -> u64 {
        if self.validity.mask.is_empty() {
            return u64::MAX;
        }
        if word_x < self.raster.row_words && y < self.raster.height {
            self.validity.mask.ldg(y * self.raster.row_words + word_x)
        } else {
            0
        }
    }
}

/// The word of a predicate that lane `i` knows for pixels `i` and `i + 32`.
#[inline(always)]
fn word_of(low: bool, high: bool) -> u64 {
    let low = warp::warp_vote_ballot(FULL_MASK, low);
    let high = warp::warp_vote_ballot(FULL_MASK, high);
    u64::from(low) | u64::from(high) << 32
}

/// Compares the values of a warp's words, from its first row down.
///
/// ```text
/// for each row: load the values below, and one more to each side
///               ask each lane which neighbours are equal; ballots make words of the answers
///               keep only what the mask has at both ends
/// ```
#[inline(always)]
fn compare<T: Pod + PartialEq + Default>(values: &Values<'_, T>, planes: EqualityPlanesMut<'_>) {
    let raster = values.raster;
    let warps = thread::block_idx_x() * (BLOCK / WARP_SIZE) + thread::thread_idx_x() / WARP_SIZE;
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let stripe = quotient(warps, raster.row_words);
    let word_x = warps - stripe * raster.row_words;
    let top = stripe * WARP_ROWS;
    if top >= raster.height {
        return;
    }
    let columns = [word_x * 64 + lane, word_x * 64 + lane + WARP_SIZE];
    let mut here = columns.map(|x| values.at(x, top));
    let mut east = columns.map(|x| values.at(x + 1, top));
    let end = raster.height.min(top + WARP_ROWS);
    let mut y = top;
    while y < end {
        // planted: equality-west
        let below_west = columns.map(|x| values.at(x.wrapping_sub(1), y + 1));
        let below = columns.map(|x| values.at(x, y + 1));
        let below_east = columns.map(|x| values.at(x + 1, y + 1));
        let equal =
            |other: [Sample<T>; 2]| word_of(here[0].equals(other[0]), here[1].equals(other[1]));
        let valid = word_of(here[0].is_valid, here[1].is_valid) & values.mask(word_x, y);
        let mut words = [
            equal(east),
            equal(below),
            equal(below_east),
            equal(below_west),
        ];
        if !values.validity.mask.is_empty() {
            let right = values.mask(word_x + 1, y);
            let below = values.mask(word_x, y + 1);
            let below_right = values.mask(word_x + 1, y + 1);
            let below_left = values.mask(word_x.wrapping_sub(1), y + 1);
            let this = values.mask(word_x, y);
            words[E as usize] &= this >> 1 | right << 63;
            words[S as usize] &= below;
            // planted: equality-mask
            words[SE as usize] &= below >> 1 | below_right << 63;
            words[SW as usize] &= below << 1 | below_left >> 63;
        }
        let word = y as usize * raster.row_words as usize + word_x as usize;
        if lane < BESIDE_WORDS {
            let own = match lane {
                E => words[0],
                S => words[1],
                SE => words[2],
                _ => words[3],
            };
            let at = word * BESIDE_WORDS as usize + lane as usize;
            planes.beside.st(at, own & valid);
        } else if lane == BESIDE_WORDS {
            planes.valid.st(word, valid);
        }
        here = below;
        east = below_east;
        y += 1;
    }
}

/// Defines the kernel for a type of values.
macro_rules! equality_kernel {
    ($name:ident, $t:ty, $what:literal) => {
        #[doc = concat!("Finds which neighbours are equal, for values of ", $what, ".")]
        ///
        /// # Safety
        ///
        /// `values` has an element for each pixel, rows of the image's width `validity.pitch`
        /// elements apart; the views in `validity` and `planes` have the lengths that their fields
        /// say. Nothing else uses `planes` meanwhile. The launch has [`threads`] threads.
        #[kernel(block = BLOCK, min_blocks = 5)]
        pub unsafe fn $name(
            values: View<'_, $t>,
            background: View<'_, $t>,
            validity: Validity<'_>,
            planes: EqualityPlanesMut<'_>,
        ) {
            let raster = planes.raster;
            let values = Values {
                values,
                background,
                validity,
                raster,
            };
            compare(&values, planes);
        }
    };
}

equality_kernel!(equality_of_u8, u8, "8 bits");
equality_kernel!(equality_of_u16, u16, "16 bits");
equality_kernel!(equality_of_u32, u32, "32 bits");
equality_kernel!(equality_of_u64, u64, "64 bits");
equality_kernel!(equality_of_f32, f32, "floating-point numbers of 32 bits");
