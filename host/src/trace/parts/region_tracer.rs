//! [`RegionTracer`]: traces the regions of an image of values band by band.

#[cfg(feature = "formats")]
use std::path::Path;

use super::part::Part;
use super::regions::{RegionPart, StoredRegions};
use super::store::Store;
use super::tracer::{Rows, Stack, rows_of};
use crate::error::Result;
use crate::image::{PixelValue, ValueImage, ValueRows};
use crate::memory::{collect, push};
use crate::regions::RegionOptions;
use crate::trace::ValueBand;

/// Memory for tracing, per pixel of a band of noise, besides its values.
const BYTES_PER_PIXEL: u64 = 16;

/// Traces the regions of an image of values that comes in bands of rows, from top to bottom, and
/// keeps each band only until the next one has come.
///
/// The result is that of tracing the image at once: the same rings, order and numbers. Rings are
/// stored as by a [`BandTracer`](super::BandTracer), in memory or in a temporary file, so memory
/// holds
///
/// | bytes | per | |
/// |---|---|---|
/// | 2 values | pixel of a band | the last band and the one before |
/// | 1.2 | pixel of a band | planes of equal neighbours and of saddles |
/// | 4 | run of equal values in a row of a band | |
/// | 1 | step of a ring in a band | while the band is traced |
/// | 60, and a value | ring | at most 130 while the result is put into order |
/// | 24 to 40 | pass of a ring through a band | of rings in several bands, complete or not |
/// | 64, and a value | fragment: part of a ring that is not complete yet | |
///
/// ```
/// use trazar::trace::RegionTracer;
/// use trazar::{Engine, RegionOptions, Samples, ValueImage};
///
/// let classes = [3u8, 3, 3, 3, 8, 3, 3, 3, 3];
/// let options = RegionOptions::default();
/// let mut tracer = RegionTracer::in_memory(3, &options)?;
/// for band in classes.chunks(6) {
///     tracer.push(band.to_vec())?;
/// }
/// let regions = tracer.finish()?.into_regions()?;
/// let whole = ValueImage::new(Samples::new(3, 3, &classes)?)?;
/// assert_eq!(regions, Engine::cpu().trace_regions(&whole, &options)?);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct RegionTracer<T: PixelValue> {
    stack: Stack<ValueRows<T>>,
    width: u32,
}

/// How the regions of all bands are traced.
#[derive(Debug)]
pub(in crate::trace::parts) struct How<T> {
    options: RegionOptions,
    background: Vec<T>,
}

impl<T: PixelValue> How<T> {
    fn image<'a>(&self, rows: &'a ValueRows<T>) -> Result<ValueImage<'a, T>> {
        let mut image = rows.image()?;
        for &value in &self.background {
            image = image.background(value)?;
        }
        Ok(image)
    }
}

impl<T: PixelValue> RegionTracer<T> {
    /// A tracer for an image of this width that keeps rings in memory.
    ///
    /// # Errors
    /// [`Error::EmptyImage`](crate::Error::EmptyImage) and
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for widths that no image has.
    pub fn in_memory(width: u32, options: &RegionOptions) -> Result<Self> {
        Self::new(width, options, Store::in_memory())
    }

    /// A tracer that puts rings into a temporary file in `folder`: see
    /// [`BandTracer::in_file`](super::BandTracer::in_file).
    ///
    /// # Errors
    /// Those of [`in_memory`](Self::in_memory), and [`Error::Io`](crate::Error::Io) if no file can
    /// be made there.
    #[cfg(feature = "formats")]
    pub fn in_file(width: u32, options: &RegionOptions, folder: impl AsRef<Path>) -> Result<Self> {
        Self::new(width, options, Store::in_folder(folder.as_ref())?)
    }

    fn new(width: u32, options: &RegionOptions, store: Store) -> Result<Self> {
        crate::image::check_size(width.into(), 1)?;
        let how = How {
            options: *options,
            background: Vec::new(),
        };
        Ok(Self {
            stack: Stack::new(how, store),
            width,
        })
    }

    /// Leaves out the pixels with a value: see [`ValueImage::background`]. It is called before the
    /// first band comes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn background(mut self, value: T) -> Result<Self> {
        push(
            &mut self.stack.options.background,
            value,
            "the background's values",
        )?;
        Ok(self)
    }

    /// The number of rows per band for which tracing an image of this size takes at most about
    /// `memory` bytes: half of it for bands with many small regions, and half for the rings that
    /// are kept. Large images with more rings take more. `reserved` bytes of the memory are for
    /// other uses, such as reading the image (`RasterBands::decoding_bytes`).
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) if that is less than 16 rows; the
    /// error names the memory needed.
    pub fn rows_within(width: u32, height: u32, memory: u64, reserved: u64) -> Result<u32> {
        let per_pixel = BYTES_PER_PIXEL + 2 * size_of::<T>() as u64;
        rows_of(width, height, memory, reserved, (per_pixel, 1))
    }

    /// The number of rows so far.
    pub fn rows(&self) -> u32 {
        self.stack.rows()
    }

    /// Takes the values of the next rows, below those so far, row by row. Traces the band before,
    /// on all threads of the current rayon pool.
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`](crate::Error::LengthMismatch) for values that are no whole rows,
    ///   and for none;
    /// - [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for rows beyond
    ///   [`MAX_SIDE`](crate::MAX_SIDE);
    /// - [`Error::TooMany`](crate::Error::TooMany);
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - [`Error::Io`](crate::Error::Io) for the temporary file.
    ///
    /// After an error the tracer is unusable.
    pub fn push(&mut self, values: Vec<T>) -> Result<()> {
        self.stack.push(ValueRows::new(self.width, values)?)
    }

    /// Takes bands from `next`, from top to bottom, until it returns none, and ends the image
    /// there. `next` is called on this thread, for a band while the band before is traced.
    ///
    /// # Errors
    /// Those of [`push`](Self::push), [`finish`](Self::finish) and `next`.
    pub fn trace(
        self,
        mut next: impl FnMut() -> Result<Option<Vec<T>>>,
    ) -> Result<StoredRegions<T>> {
        let width = self.width;
        let rows = || {
            next()?
                .map(|values| ValueRows::new(width, values))
                .transpose()
        };
        RegionPart(self.stack.trace(rows)?).finish_stored()
    }

    /// Traces the last band and ends the image there.
    ///
    /// # Errors
    /// Those of [`push`](Self::push), and [`Error::EmptyImage`](crate::Error::EmptyImage) if there
    /// was no band.
    pub fn finish(self) -> Result<StoredRegions<T>> {
        RegionPart(self.stack.finish()?).finish_stored()
    }
}

impl<T: PixelValue> Rows for ValueRows<T> {
    type Value = T;
    type Options = How<T>;

    fn width(&self) -> u32 {
        self.width()
    }

    fn height(&self) -> u32 {
        self.height()
    }

    fn row(&self, y: u32) -> Result<Self> {
        let width = self.width() as usize;
        let row = &self.values()[y as usize * width..][..width];
        Self::new(
            self.width(),
            collect(row.iter().copied(), "a row of values")?,
        )
    }

    fn trace(
        &self,
        first_row: u32,
        [above, below]: [Option<&Self>; 2],
        how: &How<T>,
    ) -> Result<Part<T>> {
        let own = how.image(self)?;
        let above = above.map(|rows| how.image(rows)).transpose()?;
        let below = below.map(|rows| how.image(rows)).transpose()?;
        let mut band = ValueBand::new(&own, first_row);
        if let Some(above) = &above {
            band = band.with_above(above);
        }
        if let Some(below) = &below {
            band = band.with_below(below);
        }
        Ok(RegionPart::trace(band, &how.options)?.0)
    }
}
