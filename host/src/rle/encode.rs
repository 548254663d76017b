//! From images to run lengths.
//!
//! Images are stored row by row, and runs go along columns. Bits are turned by blocks of 64 × 64,
//! in registers and the nearest cache.

use super::{Counts, Rle, pixels};
use crate::error::Result;
use crate::image::{BinaryImage, Samples, WORD_BITS, check_size};
use crate::measure::{Label, column_runs};
use crate::memory::{reserve, zeroed_vec};

impl Rle {
    /// Encodes a mask.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for 2³² pixels and more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn from_image(image: &BinaryImage) -> Result<Self> {
        let (width, height) = (image.width(), image.height());
        let mask_pixels = pixels(height, width)? as u32;
        let rows = (height as usize).div_ceil(WORD_BITS);
        // 64 columns, word by word from top to bottom.
        let mut columns: Vec<u64> = zeroed_vec(rows * WORD_BITS, "columns of bits")?;
        let mut counts = Counts::default();
        for i in 0..(width as usize).div_ceil(WORD_BITS) {
            let mut any = false;
            for (j, top) in (0..height).step_by(WORD_BITS).enumerate() {
                let mut block = [0; WORD_BITS];
                let end = height.min(top + WORD_BITS as u32);
                for (word, y) in block.iter_mut().zip(top..end) {
                    *word = image.row(y)[i];
                }
                let is_empty = block.iter().all(|&word| word == 0);
                if !is_empty {
                    turn(&mut block);
                    any = true;
                }
                for (column, word) in block.into_iter().enumerate() {
                    columns[column * rows + j] = word;
                }
            }
            if !any {
                continue;
            }
            let first = i * WORD_BITS;
            for (x, column) in (first..width as usize).zip(columns.chunks_exact(rows)) {
                add_column(&mut counts, column, x as u32 * height)?;
            }
        }
        Self::finished(height, width, counts, mask_pixels)
    }

    /// Encodes the mask whose columns are the rows of `turned`: for arrays that are stored column
    /// by column.
    ///
    /// # Errors
    /// Those of [`from_image`](Self::from_image).
    pub fn from_columns(turned: &BinaryImage) -> Result<Self> {
        let (width, height) = (turned.height(), turned.width());
        let mask_pixels = pixels(height, width)? as u32;
        let mut counts = Counts::default();
        for x in 0..width {
            add_column(&mut counts, turned.row(x), x * height)?;
        }
        Self::finished(height, width, counts, mask_pixels)
    }

    fn finished(height: u32, width: u32, counts: Counts, pixels: u32) -> Result<Self> {
        Ok(Self {
            height,
            width,
            counts: counts.finish(pixels)?,
        })
    }
}

/// Adds the runs of a column, which starts at place `first`. Its bits after the last pixel are 0.
#[inline]
fn add_column(counts: &mut Counts, column: &[u64], first: u32) -> Result<()> {
    let mut start = None;
    let mut carried = 0;
    for (j, &word) in column.iter().enumerate() {
        let at = first + (j * WORD_BITS) as u32;
        // Where a pixel differs from the one before.
        let mut changes = word ^ (word << 1 | carried);
        carried = word >> 63;
        while changes != 0 {
            let place = at + changes.trailing_zeros();
            changes &= changes - 1;
            match start.take() {
                None => start = Some(place),
                Some(start) => counts.add(start, place)?,
            }
        }
    }
    // The run goes on to the end of the last word.
    if let Some(start) = start {
        counts.add(start, first + (column.len() * WORD_BITS) as u32)?;
    }
    Ok(())
}

/// Exchanges rows and columns of a block of bits: bit j of word i and bit i of word j.
fn turn(block: &mut [u64; WORD_BITS]) {
    let mut width = WORD_BITS / 2;
    // The lower half of each group of twice the width.
    let mut mask = u64::from(u32::MAX);
    while width > 0 {
        let mut i = 0;
        while i < WORD_BITS {
            for j in i..i + width {
                let exchanged = (block[j] >> width ^ block[j + width]) & mask;
                block[j] ^= exchanged << width;
                block[j + width] ^= exchanged;
            }
            i += 2 * width;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

/// Encodes the mask of each label of an image, in the order of the labels. Positive values are
/// labels; 0 and negative values are background. The image is read once, on all threads.
///
/// ```
/// use trazar::Samples;
/// use trazar::rle::encode_labels;
///
/// let masks = encode_labels(Samples::new(3, 2, &[7u8, 7, 0, 0, 7, 5])?)?;
/// assert_eq!((masks[0].0, masks[0].1.counts()), (5, &[5, 1][..]));
/// assert_eq!((masks[1].0, masks[1].1.counts()), (7, &[0, 1, 1, 2, 2][..]));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::EmptyImage`](crate::Error::EmptyImage);
/// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for 2³² pixels and more;
/// [`Error::TooMany`](crate::Error::TooMany) for more than 2³² - 1 labels;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn encode_labels<'a, L: Label + 'a>(
    labels: impl Into<Samples<'a, L>>,
) -> Result<Vec<(i64, Rle)>> {
    let labels = labels.into();
    check_size(labels.width() as u64, labels.height() as u64)?;
    let (width, height) = (labels.width() as u32, labels.height() as u32);
    let mask_pixels = pixels(height, width)? as u32;
    let found = column_runs(labels, |counts: &mut Counts, start, end| {
        counts.add(start, end)
    })?;
    let mut masks: Vec<(i64, Rle)> = Vec::new();
    reserve(&mut masks, found.len(), "masks")?;
    for (label, counts) in found {
        masks.push((label, Rle::finished(height, width, counts, mask_pixels)?));
    }
    Ok(masks)
}
