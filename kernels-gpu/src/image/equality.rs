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
use cuda_std::warp::{FULL_MASK, WARP_SIZE, WarpShuffleValue};

use super::row_words;
use crate::primitives::quotient;
use crate::primitives::rows::for_each_row;
use crate::primitives::warp::transposed;
use crate::trace::node_bits::Around;
use crate::trace::pixels::Raster;

/// Threads per block.
const BLOCK: u32 = 128;
/// Rows of each warp: one per lane.
pub const WARP_ROWS: u32 = WARP_SIZE;
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

/// A type of values.
trait Value: Pod {
    /// The same values as lanes pass them to each other.
    type Passed: WarpShuffleValue + PartialEq + Default;

    fn passed(self) -> Self::Passed;
}

macro_rules! values {
    ($($t:ty as $passed:ty),*) => {$(
        impl Value for $t {
            type Passed = $passed;

            #[inline(always)]
            fn passed(self) -> $passed {
                self.into()
            }
        }
    )*};
}
values!(u8 as u32, u16 as u32, u32 as u32, u64 as u64, f32 as f32);

/// The values of an image, for the lanes of a warp, each of which goes down two columns of a word.
struct Values<'a, T: Pod> {
    values: View<'a, T>,
    /// The values of background.
    background: View<'a, T>,
    pitch: u32,
    height: u32,
    lane: u32,
    /// The columns of what the lane loads, and whether the image has them.
    columns: [u32; 3],
    has_columns: [bool; 3],
}

/// The values of a lane's two pixels, and of one more: in the first lane that of the pixel before
/// the word, in the last lane that of the pixel after it.
type Loaded<T> = [T; 3];

/// Values of a row.
#[derive(Clone, Copy)]
struct Row<T> {
    /// Those of the lane's pixels.
    values: [T; 2],
    /// Those of their neighbours to the east.
    east: [T; 2],
    /// In the first lane, the value of the pixel before the word.
    before: T,
}

/// Answers for the rows of a lane's columns, a bit per row.
#[derive(Clone, Copy, Default)]
struct Columns {
    /// The valid pixels; the third is the pixel that only this lane loads.
    valid: [u32; 3],
    /// Those equal to their neighbour to the E, S and SE.
    e: [u32; 2],
    s: [u32; 2],
    se: [u32; 2],
    /// Those whose neighbours to the E and to the S are equal.
    rising: [u32; 2],
    /// In the first lane: the rows whose first pixel equals its neighbour to the SW.
    first_sw: u32,
}

impl<'a, T: Value> Values<'a, T> {
    /// Those of word `word_x` in each row.
    #[inline(always)]
    fn new(
        [values, background]: [View<'a, T>; 2],
        pitch: u32,
        raster: Raster,
        word_x: u32,
        lane: u32,
    ) -> Self {
        let first = word_x * 64;
        let beside = match lane {
            // planted: equality-before
            0 => first.wrapping_sub(1),
            31 => first.wrapping_add(64),
            _ => u32::MAX,
        };
        let columns = [first + lane, first + lane + WARP_SIZE, beside];
        Self {
            values,
            background,
            pitch,
            height: raster.height,
            lane,
            columns,
            has_columns: columns.map(|x| x < raster.width),
        }
    }

    /// Reads the values of a row; any number outside the image.
    #[inline(always)]
    fn load(&self, y: u32) -> Loaded<T::Passed> {
        let row = y as usize * self.pitch as usize;
        let has_row = y < self.height;
        let value = |i: usize| {
            if self.has_columns[i] && has_row {
                self.values.ldg(row + self.columns[i] as usize).passed()
            } else {
                T::Passed::default()
            }
        };
        [value(0), value(1), value(2)]
    }

    /// Which of a lane's pixels are valid, as far as their values say.
    #[inline(always)]
    fn are_valid(&self, loaded: Loaded<T::Passed>, y: u32) -> [bool; 3] {
        let has_row = y < self.height;
        let mut are_valid = self.has_columns.map(|has| has && has_row);
        let [low, high, beside] = loaded;
        // A NaN is not equal to itself.
        #[expect(clippy::eq_op)]
        {
            are_valid[0] &= low == low;
            are_valid[1] &= high == high;
            are_valid[2] &= beside == beside;
        }
        let mut i = 0;
        while i < self.background.len() as u32 {
            let background = self.background.ldg(i).passed();
            // planted: equality-background
            are_valid[0] &= low != background;
            are_valid[1] &= high != background;
            are_valid[2] &= beside != background;
            i += 1;
        }
        are_valid
    }

    /// A row whose values have been loaded.
    #[inline(always)]
    fn row(&self, loaded: Loaded<T::Passed>) -> Row<T::Passed> {
        let [low, high, beside] = loaded;
        let next = self.lane + 1;
        let (next_low, _) = warp::warp_shuffle_idx(FULL_MASK, low, next, WARP_SIZE);
        let (next_high, _) = warp::warp_shuffle_idx(FULL_MASK, high, next, WARP_SIZE);
        // The lane after the last one is the first, whose second pixel comes after the first half.
        let east = if next < WARP_SIZE {
            [next_low, next_high]
        } else {
            [next_high, beside]
        };
        Row {
            values: [low, high],
            east,
            before: beside,
        }
    }

    /// Compares the pixels of [`WARP_ROWS`] rows, from `top` on, with their neighbours. Returns
    /// the answers, and which pixels of the row after these are valid. All lanes of the warp call
    /// it.
    #[inline(always)]
    fn compare(&self, top: u32) -> (Columns, [bool; 3]) {
        let mut all = Columns::default();
        let mut loaded = self.load(top);
        let mut here = self.row(loaded);
        let load = |i: u32| self.load(top + 1 + i);
        for_each_row(WARP_ROWS, load, |next: Loaded<T::Passed>, i: u32| {
            let below = self.row(next);
            all.add(1 << i, self.are_valid(loaded, top + i), here, below);
            here = below;
            loaded = next;
        });
        (all, self.are_valid(loaded, top + WARP_ROWS))
    }
}

impl Columns {
    /// Sets the answers for a row whose bit is `bit`.
    #[inline(always)]
    fn add<T: WarpShuffleValue + PartialEq>(
        &mut self,
        bit: u32,
        [low, high, beside]: [bool; 3],
        here: Row<T>,
        below: Row<T>,
    ) {
        let set = |is: bool| if is { bit } else { 0 };
        self.valid[0] |= set(low);
        self.valid[1] |= set(high);
        self.valid[2] |= set(beside);
        self.e[0] |= set(here.values[0] == here.east[0]);
        self.e[1] |= set(here.values[1] == here.east[1]);
        self.s[0] |= set(here.values[0] == below.values[0]);
        self.s[1] |= set(here.values[1] == below.values[1]);
        self.se[0] |= set(here.values[0] == below.east[0]);
        self.se[1] |= set(here.values[1] == below.east[1]);
        self.rising[0] |= set(here.east[0] == below.values[0]);
        self.rising[1] |= set(here.east[1] == below.values[1]);
        self.first_sw |= set(here.values[0] == below.before);
    }
}

/// The words of the lane's row, from the bits of all lanes' columns.
#[inline(always)]
fn row_word([low, high]: [u32; 2], lane: u32) -> u64 {
    u64::from(transposed(low, lane)) | u64::from(transposed(high, lane)) << 32
}

/// The word of a predicate that lane `i` knows for pixels `i` and `i + 32`.
#[inline(always)]
fn word_of(low: bool, high: bool) -> u64 {
    let low = warp::warp_vote_ballot(FULL_MASK, low);
    let high = warp::warp_vote_ballot(FULL_MASK, high);
    u64::from(low) | u64::from(high) << 32
}

/// The valid pixels of a word in one row, and of those before it and after it.
#[derive(Clone, Copy)]
struct Valid {
    here: u64,
    /// The pixels whose neighbour to the east, or to the west, is valid.
    east: u64,
    west: u64,
}

impl Validity<'_> {
    /// The word of the mask; all pixels without one.
    #[inline(always)]
    fn word(&self, raster: Raster, word_x: u32, y: u32) -> u64 {
        if self.mask.is_empty() {
            return u64::MAX;
        }
        if word_x < raster.row_words && y < raster.height {
            self.mask.ldg(y * raster.row_words + word_x)
        } else {
            0
        }
    }

    /// What the mask leaves of the valid pixels of a row: of a word's, of the one before it, and of
    /// the one after it.
    #[inline(always)]
    fn of_row(
        &self,
        raster: Raster,
        (word_x, y): (u32, u32),
        valid: u64,
        beside: [u32; 2],
    ) -> Valid {
        let here = valid & self.word(raster, word_x, y);
        let before = u64::from(beside[0]) & self.word(raster, word_x.wrapping_sub(1), y) >> 63;
        // planted: equality-mask
        let after = u64::from(beside[1]) & self.word(raster, word_x + 1, y);
        Valid {
            here,
            east: here >> 1 | after << 63,
            west: here << 1 | before,
        }
    }
}

/// Compares the values of a warp's words, from its first row down.
///
/// ```text
/// for each row: load the values of a row further down, two per lane and one to each side
///               pass the next row's to the lane before: its neighbours to the east
///               compare both rows; each lane keeps the answers of its columns, a bit per row
/// transpose: each lane gets the words of a row; keep only what is valid at both ends
/// ```
#[inline(always)]
fn compare<T: Value>(
    values: [View<'_, T>; 2],
    validity: Validity<'_>,
    planes: EqualityPlanesMut<'_>,
) {
    let raster = planes.raster;
    let warps = thread::block_idx_x() * (BLOCK / WARP_SIZE) + thread::thread_idx_x() / WARP_SIZE;
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let stripe = quotient(warps, raster.row_words);
    let top = stripe * WARP_ROWS;
    if top >= raster.height {
        return;
    }
    let word_x = warps - stripe * raster.row_words;
    let values = Values::new(values, validity.pitch, raster, word_x, lane);
    let (columns, after_last) = values.compare(top);
    let lane_of = |bits: u32, lane: u32| warp::warp_shuffle_idx(FULL_MASK, bits, lane, WARP_SIZE).0;
    let bit_of = |bits: u32, y: u32| bits >> y & 1;

    let y = top + lane;
    let (before, after) = (lane_of(columns.valid[2], 0), lane_of(columns.valid[2], 31));
    let valid = row_word([columns.valid[0], columns.valid[1]], lane);
    let beside = [bit_of(before, lane), bit_of(after, lane)];
    let own = validity.of_row(raster, (word_x, y), valid, beside);
    let last_beside = warp::warp_vote_ballot(FULL_MASK, after_last[2]);
    let last = validity.of_row(
        raster,
        (word_x, top + WARP_ROWS),
        word_of(after_last[0], after_last[1]),
        [last_beside & 1, last_beside >> 31],
    );
    let from_next = |own: u64, last: u64| {
        let half = |which: u32| lane_of((own >> (32 * which)) as u32, lane + 1);
        let next = u64::from(half(0)) | u64::from(half(1)) << 32;
        // planted: equality-last-row
        if lane + 1 < WARP_SIZE { next } else { last }
    };
    let below = Valid {
        here: from_next(own.here, last.here),
        east: from_next(own.east, last.east),
        west: from_next(own.west, last.west),
    };
    // A pixel's southwest neighbour is below the pixel before it, whose east neighbour is compared.
    let first_sw = u64::from(bit_of(lane_of(columns.first_sw, 0), lane));
    // planted: equality-west
    let sw = row_word(columns.rising, lane) << 1 | first_sw;
    let e = row_word(columns.e, lane) & own.here & own.east;
    // planted: equality-valid
    let s = row_word(columns.s, lane) & own.here & below.here;
    let se = row_word(columns.se, lane) & own.here & below.east;
    let sw = sw & own.here & below.west;
    if y < raster.height {
        let word = y as usize * raster.row_words as usize + word_x as usize;
        let at = word * BESIDE_WORDS as usize;
        planes.valid.st(word, own.here);
        planes.beside.st_vector(at + E as usize, [e, s]);
        planes.beside.st_vector(at + SE as usize, [se, sw]);
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
        #[kernel(block = BLOCK, min_blocks = 4)]
        pub unsafe fn $name(
            values: View<'_, $t>,
            background: View<'_, $t>,
            validity: Validity<'_>,
            planes: EqualityPlanesMut<'_>,
        ) {
            compare([values, background], validity, planes);
        }
    };
}

equality_kernel!(equality_of_u8, u8, "8 bits");
equality_kernel!(equality_of_u16, u16, "16 bits");
equality_kernel!(equality_of_u32, u32, "32 bits");
equality_kernel!(equality_of_u64, u64, "64 bits");
equality_kernel!(equality_of_f32, f32, "floating-point numbers of 32 bits");
