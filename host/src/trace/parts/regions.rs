//! [`RegionPart`]: the regions of some rows of an image of values, complete or not; and
//! [`StoredRegions`]: those of an image, their points made on demand.

use std::ops::Range;

use super::part::{Extent, Part};
use super::pool::Pool;
use super::stored_contours::{InRasterOrder, StoredContours};
use crate::error::Result;
use crate::image::PixelValue;
use crate::memory::collect;
use crate::regions::{RegionOptions, Regions};
use crate::trace::ValueBand;
use crate::trace::cpu::fragments::strip_rows;
use crate::trace::cpu::values::order::by_region;
use crate::trace::cpu::values::{ring_options, trace_band};
use crate::trace::cpu::walk::Rim;

const LETTERS: [u8; 4] = *b"TZRP";

/// Name of the bytes' content, in errors.
const PART: &str = "a region part";

/// The rings of regions in some rows of an image of values, and the fragments of those that leave
/// these rows.
///
/// A part is made from a [`ValueBand`]. Two parts with adjacent rows are [joined](Self::join) to
/// the part of all these rows, and the part of all rows of the image gives its regions. They are
/// those of [`Engine::trace_regions`](crate::Engine::trace_regions), whatever the bands and the
/// order of joining: the same rings, order and numbers. Parts take as much memory as a
/// [`ContourPart`](super::ContourPart), and a value per ring and fragment.
///
/// ```
/// use trazar::trace::{RegionPart, ValueBand};
/// use trazar::{Engine, RegionOptions, Samples, ValueImage};
///
/// let classes: &[u8] = &[3, 3, 3, 3, 8, 3, 3, 3, 3];
/// let image = |rows: &'static [u8]| {
///     ValueImage::new(Samples::new(3, rows.len() as u32 / 3, rows)?)
/// };
/// let (upper, lower) = (image(&classes[..6])?, image(&classes[6..])?);
/// let options = RegionOptions::default();
/// let upper_part = RegionPart::trace(ValueBand::new(&upper, 0).with_below(&lower), &options)?;
/// let lower_part = RegionPart::trace(ValueBand::new(&lower, 2).with_above(&upper), &options)?;
/// let regions = RegionPart::join(upper_part, lower_part)?.finish()?;
/// assert_eq!(regions, Engine::cpu().trace_regions(&image(classes)?, &options)?);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct RegionPart<T>(pub(super) Part<T>);

impl<T: PixelValue> RegionPart<T> {
    /// Traces a band, on all threads of the current rayon pool.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for a neighbouring row of another
    /// width; [`Error::InvalidOption`](crate::Error::InvalidOption) for a band that has no row
    /// above it although it is not at the image's upper frame;
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for rows beyond
    /// [`MAX_SIDE`](crate::MAX_SIDE); [`Error::TooMany`](crate::Error::TooMany);
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn trace(band: ValueBand<'_, '_, T>, options: &RegionOptions) -> Result<Self> {
        band.check()?;
        crate::threads::ensure();
        let rows = strip_rows(band.width(), band.height(), rayon::current_num_threads());
        rayon::scope(|_| Self::trace_in_strips(band, rows, options))
    }

    pub(super) fn trace_in_strips(
        band: ValueBand<'_, '_, T>,
        rows: u32,
        options: &RegionOptions,
    ) -> Result<Self> {
        let found = trace_band(&band, rows, options.connectivity)?;
        let extent = Extent {
            width: band.width(),
            rows: band.rows(),
            rows_hashes: [Rim::Above, Rim::Below].map(|rim| band.rim_hash(rim)),
        };
        let part = Part::new(extent, ring_options(), options.connectivity, found)?;
        Ok(Self(part))
    }

    /// The width of the image.
    pub fn width(&self) -> u32 {
        self.0.width
    }

    /// The part's rows of the image.
    pub fn rows(&self) -> Range<u32> {
        self.0.rows.clone()
    }

    /// The number of rings that lie in the part.
    pub fn closed_count(&self) -> usize {
        self.0.pool.borders.len()
    }

    /// The number of fragments of rings that leave the part.
    pub fn open_count(&self) -> usize {
        self.0.pool.open()
    }

    /// The approximate number of bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }

    /// Whether it has all rows of the image.
    pub fn is_whole(&self) -> bool {
        self.0.is_whole()
    }

    /// Joins the parts of adjacent rows, `upper` above `lower`.
    ///
    /// # Errors
    /// Those of [`ContourPart::join`](super::ContourPart::join).
    pub fn join(upper: Self, lower: Self) -> Result<Self> {
        Ok(Self(Part::join(upper.0, lower.0)?))
    }

    /// The regions of the image; this must be the part of all its rows.
    ///
    /// # Errors
    /// [`Error::PartNotWhole`](crate::Error::PartNotWhole) if there are rows above or below the
    /// part; [`Error::TooMany`](crate::Error::TooMany);
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn finish(self) -> Result<Regions<T>> {
        self.finish_stored()?.into_regions()
    }

    /// The regions, with points made on demand.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_stored(mut self) -> Result<StoredRegions<T>> {
        self.0.check_whole()?;
        StoredRegions::new(self.0.pool, (self.0.width, self.0.rows.end))
    }

    /// The part as bytes, which other processes and machines read by
    /// [`from_bytes`](Self::from_bytes). They are those of a
    /// [`ContourPart`](super::ContourPart::to_bytes) with the values.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.0.to_bytes(LETTERS, PART)
    }

    /// The part that [`to_bytes`](Self::to_bytes) has written for values of this type. The bytes
    /// are checked as those of a [`ContourPart`](super::ContourPart::from_bytes).
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for bytes that are damaged, or not of
    /// a part with such values; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self(Part::from_bytes(bytes, LETTERS, PART)?))
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }
}

/// The regions of an image in their order; points are made on demand.
///
/// [`RegionTracer::finish`](super::RegionTracer::finish) returns them, and the writers of regions
/// take them.
///
/// Memory: that of [`StoredContours`], and for each ring its value and 4 bytes.
#[derive(Debug)]
pub struct StoredRegions<T> {
    rings: StoredContours,
    values: Vec<T>,
    regions: Vec<u32>,
    count: u32,
}

impl<T: PixelValue> StoredRegions<T> {
    /// Puts the rings of a pool into the result's order; all of them are closed.
    fn new(pool: Pool<T>, size: (u32, u32)) -> Result<Self> {
        let (borders, nesting) = InRasterOrder::of(pool)?;
        let rings = by_region(&nesting)?;
        drop(nesting);
        let order = rings.arrangement.order.iter();
        let values = order.map(|&ring| borders.border(ring).value);
        let values = collect(values, "the values of borders")?;
        let arrangement = rings.arrangement;
        Ok(Self {
            rings: StoredContours::arranged(borders, arrangement, size, &ring_options())?,
            values,
            regions: rings.regions,
            count: rings.count,
        })
    }

    /// All regions, in memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and [`Error::Io`](crate::Error::Io) for
    /// the temporary file.
    pub fn into_regions(self) -> Result<Regions<T>> {
        Ok(Regions {
            contours: self.rings.into_contours()?,
            values: self.values,
            regions: self.regions,
            count: self.count,
        })
    }
}

impl<T> StoredRegions<T> {
    /// The rings; in the hierarchy, each hole is below its region's outer ring.
    pub fn rings(&self) -> &StoredContours {
        &self.rings
    }

    /// Each ring's value.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Each ring's region: see [`Regions::regions`].
    pub fn regions(&self) -> &[u32] {
        &self.regions
    }

    /// The number of regions.
    pub fn count(&self) -> u32 {
        self.count
    }
}
