//! The compressed form: differences of counts, in digits of five bits with a sixth for "more".

use super::{Rle, wrong};
use crate::error::Result;
use crate::memory::{push, reserve};

/// The first of 64 characters.
const ZERO: u8 = b'0';
/// More digits follow.
const MORE: u8 = 0x20;
/// In the last digit, that the number is negative.
const NEGATIVE: u8 = 0x10;
/// The most digits of a difference of two counts, which has 33 bits.
const DIGITS: usize = 7;

impl Rle {
    /// The compressed form, as `pycocotools` writes it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_text(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for (i, &count) in self.counts.iter().enumerate() {
            reserve(&mut text, DIGITS, "a compressed mask")?;
            let mut rest = i64::from(count);
            if i > 2 {
                rest -= i64::from(self.counts[i - 2]);
            }
            loop {
                let digit = (rest & 0x1f) as u8;
                rest >>= 5;
                let is_last = rest == if digit & NEGATIVE == 0 { 0 } else { -1 };
                text.push(ZERO + if is_last { digit } else { digit | MORE });
                if is_last {
                    break;
                }
            }
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
