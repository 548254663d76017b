//! The compressed form: differences of counts, in digits of five bits with a sixth for "more".

use std::ops::Range;

use trazar_kernels::rle::text::{self, MORE, NEGATIVE, ZERO, for_each_character};

use super::{Rle, wrong};
use crate::error::Result;
use crate::memory::{push, reserve};

/// The most digits of a difference of two counts.
const DIGITS: usize = text::DIGITS as usize;

impl Rle {
    /// The compressed form, as `pycocotools` writes it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_text(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for (i, &count) in self.counts.iter().enumerate() {
            reserve(&mut text, DIGITS, "a compressed mask")?;
            let mut number = i64::from(count);
            if i > 2 {
                number -= i64::from(self.counts[i - 2]);
            }
            for_each_character(number, |character| text.push(character));
        }
        Ok(text)
    }

    /// The mask of a compressed form.
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for a text that is not one, and for
    /// counts whose sum is not the number of pixels;
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for 2³² pixels and more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn from_text(height: u32, width: u32, text: &[u8]) -> Result<Self> {
        super::pixels(height, width)?;
        let mut counts: Vec<u32> = Vec::new();
        let (mut value, mut digits) = (0i64, 0);
        for (at, &character) in text.iter().enumerate() {
            let digit = character.wrapping_sub(ZERO);
            if digit >= 64 {
                return Err(wrong(format!(
                    "byte {at} of the compressed counts is {character}: bytes are {ZERO} to {}",
                    ZERO + 63
                )));
            }
            if digits == DIGITS {
                return Err(wrong(format!(
                    "byte {at} of the compressed counts continues a number of {DIGITS} digits"
                )));
            }
            value |= i64::from(digit & 0x1f) << (5 * digits);
            digits += 1;
            if digit & MORE != 0 {
                continue;
            }
            if digit & NEGATIVE != 0 {
                value |= -1 << (5 * digits);
            }
            if counts.len() > 2 {
                value += i64::from(counts[counts.len() - 2]);
            }
            let count = u32::try_from(value).map_err(|_| {
                wrong(format!(
                    "the compressed counts have a count of {value}, before byte {}",
                    at + 1
                ))
            })?;
            push(&mut counts, count, "run lengths")?;
            (value, digits) = (0, 0);
        }
        if digits > 0 {
            return Err(wrong(
                "the compressed counts end within a number".to_owned(),
            ));
        }
        Self::new(height, width, counts)
    }
}

/// The compressed forms of masks, one after another.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RleTexts {
    pub(super) bytes: Vec<u8>,
    /// The index of each mask's first character.
    pub(super) firsts: Vec<u32>,
}

impl RleTexts {
    /// The number of masks.
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Whether there are no masks.
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// The compressed form of a mask; `None` if there are not as many.
    pub fn get(&self, mask: usize) -> Option<&[u8]> {
        let is_there = mask < self.len();
        is_there.then(|| &self.bytes[range_of(&self.firsts, self.bytes.len(), mask)])
    }

    /// The compressed forms, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        ranges(&self.firsts, self.bytes.len()).map(|range| &self.bytes[range])
    }
}

/// The elements of each mask among those of all masks, given the first of each and their number.
pub(super) fn ranges(firsts: &[u32], len: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    (0..firsts.len()).map(move |mask| range_of(firsts, len, mask))
}

/// Those of one mask.
fn range_of(firsts: &[u32], len: usize, mask: usize) -> Range<usize> {
    let end = firsts.get(mask + 1).map_or(len, |&end| end as usize);
    firsts[mask] as usize..end
}
