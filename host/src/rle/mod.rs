//! Masks as run lengths, as COCO's annotations have them.
//!
//! A mask's pixels are read column by column, from top to bottom. Counts alternate between
//! background and foreground, and start with background, whose first count may be 0. The
//! compressed form is the string that `pycocotools.mask` writes and reads, byte for byte.

mod encode;
mod gpu;
mod operations;
#[cfg(test)]
mod tests;
mod text;

pub use encode::encode_labels;
pub use gpu::{DeviceLabelRles, DeviceRleTexts, DeviceRles};
pub use operations::{Merge, iou_of_all, merge};
pub use text::RleTexts;

use crate::error::{Error, OptionProblem, Result};
use crate::image::{BinaryImage, check_size};
use crate::memory::{collect, par_zeroed_pieces};

/// A mask as run lengths.
///
/// ```
/// use trazar::BinaryImage;
/// use trazar::rle::Rle;
///
/// let image = BinaryImage::from_art("....\n.##.\n....")?;
/// let mask = Rle::from_image(&image)?;
/// assert_eq!(mask.counts(), [4, 1, 2, 1, 4]);
/// assert_eq!(mask.to_text()?, b"41202");
/// assert_eq!(Rle::from_text(3, 4, b"41202")?, mask);
/// assert_eq!((mask.area(), mask.to_image()? == image), (2, true));
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rle {
    height: u32,
    width: u32,
    counts: Vec<u32>,
}

impl Rle {
    /// A mask of these counts.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] unless the counts' sum is the number of pixels;
    /// [`Error::ImageTooLarge`] for 2³² pixels and more.
    pub fn new(height: u32, width: u32, counts: Vec<u32>) -> Result<Self> {
        let pixels = pixels(height, width)?;
        let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if sum != pixels {
            return Err(wrong(format!(
                "the counts add up to {sum}, and a mask of {height} rows and {width} columns has \
                 {pixels} pixels"
            )));
        }
        Ok(Self {
            height,
            width,
            counts,
        })
    }

    /// Height in pixels. A mask may have none.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Width in pixels. A mask may have none.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The lengths of the runs, of background and of foreground in turn.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The number of foreground pixels.
    pub fn area(&self) -> u64 {
        let foreground = self.counts.iter().skip(1).step_by(2);
        foreground.map(|&count| u64::from(count)).sum()
    }

    /// The box of the foreground: its first column and row, its width and its height. All are 0 if
    /// there is none.
    pub fn bounding_box(&self) -> [u32; 4] {
        let height = u64::from(self.height);
        let (mut left, mut top) = (u64::from(self.width), height);
        let (mut right, mut bottom) = (0, 0);
        let mut any = false;
        for [start, end] in self.foreground() {
            any = true;
            // The run's first and last pixel.
            let [(x, y), (last_x, last_y)] = [start, end - 1].map(|at| (at / height, at % height));
            left = left.min(x);
            right = right.max(last_x);
            if x < last_x {
                (top, bottom) = (0, height - 1);
            } else {
                top = top.min(y);
                bottom = bottom.max(last_y);
            }
        }
        if !any {
            return [0; 4];
        }
        [left, top, right - left + 1, bottom - top + 1].map(|side| side as u32)
    }

    /// The image of the mask.
    ///
    /// # Errors
    /// [`Error::EmptyImage`] for a mask without pixels, [`Error::ImageTooLarge`],
    /// [`Error::OutOfMemory`].
    pub fn to_image(&self) -> Result<BinaryImage> {
        check_size(self.width.into(), self.height.into())?;
        let mut image = BinaryImage::new(self.width, self.height)?;
        let height = u64::from(self.height);
        for [start, end] in self.foreground() {
            for at in start..end {
                image.set((at / height) as u32, (at % height) as u32, true);
            }
        }
        Ok(image)
    }

    /// The runs of foreground that are not empty: the first pixel's place, counted column by
    /// column, and that after the last.
    fn foreground(&self) -> impl Iterator<Item = [u64; 2]> {
        let mut at = 0;
        self.counts.chunks(2).filter_map(move |pair| {
            let start = at + u64::from(pair[0]);
            at = start + pair.get(1).map_or(0, |&count| u64::from(count));
            (at > start).then_some([start, at])
        })
    }
}

/// The pixels of masks of one size, mask after mask and column by column: 1 for foreground, 0 for
/// background. Masks are decoded on all threads.
///
/// ```
/// use trazar::rle::{Rle, decode};
///
/// let masks = [Rle::from_text(3, 4, b"41202")?, Rle::new(3, 4, vec![0, 12])?];
/// assert_eq!(decode(&masks)?[..12], [0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0]);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidOption`] for masks of different sizes; [`Error::OutOfMemory`].
pub fn decode(masks: &[Rle]) -> Result<Vec<u8>> {
    let Some(Rle { height, width, .. }) = masks.first() else {
        return Ok(Vec::new());
    };
    if let Some(other) = masks
        .iter()
        .find(|mask| (&mask.height, &mask.width) != (height, width))
    {
        return Err(Error::option(
            "masks",
            OptionProblem::Conflict,
            format!(
                "masks of size [{height}, {width}] and [{}, {}]: those of one array have one size",
                other.height, other.width
            ),
        ));
    }
    let pixels = *height as usize * *width as usize;
    if pixels == 0 {
        return Ok(Vec::new());
    }
    let len = pixels.saturating_mul(masks.len());
    par_zeroed_pieces(
        len,
        pixels,
        "the pixels of masks",
        |i, pixels: &mut [u8]| {
            for [start, end] in masks[i].foreground() {
                pixels[start as usize..end as usize].fill(1);
            }
        },
    )
}

/// The number of pixels, which must fit the 32 bits of a count.
fn pixels(height: u32, width: u32) -> Result<u64> {
    let pixels = u64::from(height) * u64::from(width);
    if pixels > u32::MAX.into() {
        return Err(Error::ImageTooLarge {
            width: width.into(),
            height: height.into(),
            limit: "run lengths are of 32 bits, so a mask has fewer than 2³² pixels",
        });
    }
    Ok(pixels)
}

/// The error for counts that are not those of a mask.
fn wrong(reason: String) -> Error {
    Error::option("counts", OptionProblem::Malformed, reason)
}

/// Counts that grow run by run.
#[derive(Clone, Debug, Default)]
struct Counts {
    counts: Vec<u32>,
    /// The place after the last run of foreground.
    end: u32,
}

impl Counts {
    /// Adds the foreground from `start` to before `end`, which comes after all before.
    #[inline(always)]
    fn add(&mut self, start: u32, end: u32) -> Result<()> {
        match self.counts.last_mut() {
            // It continues in the next column.
            Some(last) if start == self.end => *last += end - start,
            _ => {
                crate::memory::extend(
                    &mut self.counts,
                    [start - self.end, end - start],
                    "run lengths",
                )?;
            }
        }
        self.end = end;
        Ok(())
    }

    /// The counts of a mask of this number of pixels.
    fn finish(mut self, pixels: u32) -> Result<Vec<u32>> {
        if self.end < pixels || self.counts.is_empty() {
            crate::memory::push(&mut self.counts, pixels - self.end, "run lengths")?;
        }
        Ok(self.counts)
    }
}

/// A copy of a mask.
fn copy(mask: &Rle) -> Result<Rle> {
    Ok(Rle {
        counts: collect(mask.counts.iter().copied(), "run lengths")?,
        ..*mask
    })
}
