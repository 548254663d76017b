//! From images to run lengths.
//!
//! Images are stored row by row, and runs go along columns. Bits are turned by blocks of 64 × 64,
//! in registers and the nearest cache.

use super::{Counts, Rle, pixels};
use crate::error::Result;
use crate::image::{BinaryImage, Sample, Samples, WORD_BITS, check_size, pack_row};
use crate::measure::{Label, column_runs};
use crate::memory::{collect, extend_from_slice, reserve, zeroed_vec};

impl Rle {
    /// Encodes a mask.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for 2³² pixels and more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn from_image(image: &BinaryImage) -> Result<Self> {
        let (width, height) = (image.width(), image.height());
        let mut changes = Changes::of_columns(width, height)?;
        let rows = (height as usize).div_ceil(WORD_BITS);
        // 64 columns, word by word from top to bottom.
        let mut columns: Vec<u64> = zeroed_vec(rows * WORD_BITS, "columns of bits")?;
        for i in 0..(width as usize).div_ceil(WORD_BITS) {
            for (j, top) in (0..height).step_by(WORD_BITS).enumerate() {
                let mut block = [0; WORD_BITS];
                let end = height.min(top + WORD_BITS as u32);
                for (word, y) in block.iter_mut().zip(top..end) {
                    *word = image.row(y)[i];
                }
                if block.iter().any(|&word| word != 0) {
                    turn(&mut block);
                }
                for (column, word) in block.into_iter().enumerate() {
                    columns[column * rows + j] = word;
                }
            }
            for column in columns
                .chunks_exact(rows)
                .take(width as usize - i * WORD_BITS)
            {
                changes.add_column(column)?;
            }
        }
        changes.finish()
    }

    /// Encodes a mask of values in the caller's memory; foreground is `value > threshold`. If the
    /// values of each column are adjacent, as pycocotools takes them, nothing is stored but runs.
    ///
    /// ```
    /// use trazar::Samples;
    /// use trazar::rle::Rle;
    ///
    /// // Column by column: the distance between rows is 1, and that between columns 3.
    /// let values = [0u8, 0, 0, 0, 255, 0, 0, 255, 0, 0, 0, 0];
    /// let mask = Rle::from_samples(Samples::with_strides(4, 3, 1, 3, &values)?, 127)?;
    /// assert_eq!(mask.counts(), [4, 1, 2, 1, 4]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`BinaryImage::from_samples`] and [`from_image`](Self::from_image).
    pub fn from_samples<'a, T: Sample + 'a>(
        samples: impl Into<Samples<'a, T>>,
        threshold: T,
    ) -> Result<Self> {
        let samples = samples.into();
        check_size(samples.width() as u64, samples.height() as u64)?;
        let by_image = || Self::from_image(&BinaryImage::from_samples(samples, threshold)?);
        let columns = samples.turned();
        if columns.row(0).is_none() {
            return by_image();
        }
        let mut changes = Changes::of_columns(samples.width() as u32, samples.height() as u32)?;
        let words = samples.height().div_ceil(WORD_BITS);
        let mut bits: Vec<u64> = zeroed_vec(words, "a column of bits")?;
        for column in (0..samples.width()).filter_map(|x| columns.row(x)) {
            if pack_row(column, threshold, &mut bits) {
                // The error names the first NaN in raster order.
                return by_image();
            }
            changes.add_column(&bits)?;
        }
        changes.finish()
    }
}

/// Where a pixel of a mask differs from the pixel before it. Pixels are counted column by column,
/// and background comes before the first one.
struct Changes {
    width: u32,
    height: u32,
    places: Vec<u32>,
    /// The place of the next column's first pixel.
    next: u32,
    /// The pixel before it: 1 for foreground.
    last: u64,
    /// The changes in some words.
    buffer: Vec<u32>,
}

impl Changes {
    /// The number of words whose changes are collected together.
    const WORDS: usize = 16;

    /// No changes yet, of a mask of this size.
    fn of_columns(width: u32, height: u32) -> Result<Self> {
        pixels(height, width)?;
        Ok(Self {
            width,
            height,
            places: Vec::new(),
            next: 0,
            last: 0,
            buffer: zeroed_vec(Self::WORDS * WORD_BITS + 1, "run lengths")?,
        })
    }

    /// Adds a column. Its bits after the last pixel are 0.
    ///
    /// A column of a smooth mask has two or three changes, and branches on the words that have them
    /// are mispredicted. So the place of a word's first change is written in any case, and counts
    /// only if there is one.
    #[inline]
    fn add_column(&mut self, column: &[u64]) -> Result<()> {
        if self.last == 0 && column.iter().all(|&word| word == 0) {
            self.next += self.height;
            return Ok(());
        }
        let after = self.height as usize % WORD_BITS;
        for (group, words) in column.chunks(Self::WORDS).enumerate() {
            let mut found = 0;
            let mut at = self.next + (group * Self::WORDS * WORD_BITS) as u32;
            let is_last = (group + 1) * Self::WORDS >= column.len();
            for (j, &word) in words.iter().enumerate() {
                let mut changes = word ^ (word << 1 | self.last);
                self.last = word >> 63;
                if after != 0 && is_last && j + 1 == words.len() {
                    changes &= (1 << after) - 1;
                    self.last = word >> (after - 1);
                }
                self.buffer[found] = at.wrapping_add(changes.trailing_zeros());
                found += usize::from(changes != 0);
                changes &= changes.wrapping_sub(1);
                while changes != 0 {
                    self.buffer[found] = at.wrapping_add(changes.trailing_zeros());
                    found += 1;
                    changes &= changes - 1;
                }
                // Past the last word this may be past 2³².
                at = at.wrapping_add(WORD_BITS as u32);
            }
            extend_from_slice(&mut self.places, &self.buffer[..found], "run lengths")?;
        }
        self.next += self.height;
        Ok(())
    }

    /// The mask, once all columns have been added. Runs end where pixels change, and at the end.
    fn finish(self) -> Result<Rle> {
        let starts = std::iter::once(0).chain(self.places.iter().copied());
        let ends = self.places.iter().copied().chain([self.next]);
        let counts = ends.zip(starts).map(|(end, start)| end - start);
        Ok(Rle {
            height: self.height,
            width: self.width,
            counts: collect(counts, "run lengths")?,
        })
    }
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
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn encode_labels<'a, L: Label + 'a>(
    labels: impl Into<Samples<'a, L>>,
) -> Result<Vec<(i64, Rle)>> {
    let labels = labels.into();
    check_size(labels.width() as u64, labels.height() as u64)?;
    let (width, height) = (labels.width() as u32, labels.height() as u32);
    let pixels = pixels(height, width)? as u32;
    let found = column_runs(labels, |counts: &mut Counts, start, end| {
        counts.add(start, end)
    })?;
    let mut masks: Vec<(i64, Rle)> = Vec::new();
    reserve(&mut masks, found.len(), "masks")?;
    for (label, counts) in found {
        let counts = counts.finish(pixels)?;
        let mask = Rle {
            height,
            width,
            counts,
        };
        masks.push((label, mask));
    }
    Ok(masks)
}
