//! One bit per corner of an image's pixels.

use crate::error::{Error, Result};
use crate::memory::zeroed_vec;

/// Name used in out-of-memory errors.
const PLANE: &str = "bits of pixels' corners";

/// A bit for each corner `(x, y)`, 0 ≤ x ≤ width and 0 ≤ y ≤ height of the image. Bits elsewhere
/// are 0.
pub(super) struct CornerPlane {
    words: Vec<u64>,
    /// The number of words per row.
    stride: usize,
    rows: i32,
}

impl CornerPlane {
    /// All bits 0, for an image of this size.
    pub(super) fn new(width: u32, height: u32) -> Result<Self> {
        let stride = width / 64 + 1;
        let len = u64::from(stride) * (u64::from(height) + 1);
        let too_long = |_| Error::out_of_memory(PLANE, len.saturating_mul(8));
        Ok(Self {
            words: zeroed_vec(usize::try_from(len).map_err(too_long)?, PLANE)?,
            stride: stride as usize,
            rows: height as i32 + 1,
        })
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The word with the bits of `64 * index` and the next 63 corners of row `y`.
    fn word(&self, index: usize, y: i32) -> u64 {
        match (0..self.rows).contains(&y) && index < self.stride {
            true => self.words[y as usize * self.stride + index],
            false => 0,
        }
    }

    pub(super) fn get(&self, x: i32, y: i32) -> bool {
        x >= 0 && self.word(x as usize / 64, y) >> (x % 64) & 1 == 1
    }

    /// Corner `(x, y)` exists.
    pub(super) fn set(&mut self, x: i32, y: i32) {
        self.words[y as usize * self.stride + x as usize / 64] |= 1 << (x % 64);
    }

    /// Corner `(x, y)` exists.
    pub(super) fn unset(&mut self, x: i32, y: i32) {
        self.words[y as usize * self.stride + x as usize / 64] &= !(1 << (x % 64));
    }

    /// Sets the bits of the corners from `(from, y)` to before `(to, y)`, which exist.
    pub(super) fn set_run(&mut self, from: i32, to: i32, y: i32) {
        let row = y as usize * self.stride;
        for (index, mask) in masks(from, to) {
            self.words[row + index] |= mask;
        }
    }

    /// The corners from `from` to before `to` whose bit in row `y`, or in row `above` if there is
    /// one, is 1, from left to right.
    pub(super) fn ones(
        &self,
        from: i32,
        to: i32,
        y: i32,
        above: Option<i32>,
    ) -> impl Iterator<Item = i32> + '_ {
        masks(from, to).flat_map(move |(index, mask)| {
            let more = above.map_or(0, |above| self.word(index, above));
            let mut bits = (self.word(index, y) | more) & mask;
            std::iter::from_fn(move || {
                let next = bits.trailing_zeros() as i32;
                bits &= bits.wrapping_sub(1);
                (next < 64).then_some(64 * index as i32 + next)
            })
        })
    }
}

/// The words of a row that have the bits from `from`, at least 0, to before `to`, and which bits
/// these are.
fn masks(from: i32, to: i32) -> impl Iterator<Item = (usize, u64)> {
    let (from, to) = (from as usize, to.max(from) as usize);
    let words = from / 64..to.div_ceil(64).max(from / 64);
    words.map(move |index| {
        let low = from.saturating_sub(64 * index);
        let high = (to - 64 * index).min(64);
        // `high` is 1 at least, but for no bits at all.
        let below = |bits: usize| u64::MAX.checked_shl(bits as u32).map_or(u64::MAX, |m| !m);
        (index, below(high) & !below(low))
    })
}
