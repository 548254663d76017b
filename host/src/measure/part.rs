//! [`MeasurePart`]: the sums of the labels in some rows of an image, to be joined to those of other
//! rows.

use std::ops::Range;

use super::intensities::{Intensity, IntensityImage, Kind};
use super::labels::{Label, LabelImage};
use super::slots::Slots;
use super::strip::{Needs, Sums, Work};
use super::table::Measures;
use super::{
    MeasureOptions, check_images, rows_per_strip, shapes_of, slots_limit, sum_up_rows, table_of,
};
use crate::error::{Error, OptionProblem, Result};
use crate::image::{MAX_SIDE, Samples};
use crate::progress::Progress;

/// The rows of a label image on each side of a band on which the measures of its labels depend:
/// border pixels count by their neighbours, and these are border pixels or not by theirs.
pub const MARGIN: u32 = 2;

/// The sums of the labels in some rows of an image.
///
/// Two parts with adjacent rows are [joined](Self::join) to the part of all these rows, and the
/// part of all rows gives the table of [`Engine::measure`](crate::Engine::measure): integers, and
/// what follows from sums of integers, exactly; sums of floating-point numbers up to rounding, as
/// they depend on the order of joining.
///
/// A part takes as much memory as the sums of an image, 50 to 600 bytes per label in it, and 16
/// bytes per run for hulls and holes, or 32 while the table is made.
///
/// ```
/// use trazar::measure::{MeasureOptions, MeasurePart, Property};
/// use trazar::{Engine, Samples};
///
/// let labels = [1u8, 1, 0, 1, 2, 2, 1, 1, 2];
/// let properties = [Property::Label, Property::Area, Property::Perimeter];
/// let options = MeasureOptions::default().properties(properties);
/// // Bands of one row and two rows, each with the rows beside it.
/// let all = || Samples::new(3, 3, &labels);
/// let upper = MeasurePart::of(all()?, 0..1, 0, &options)?;
/// let lower = MeasurePart::of(all()?, 1..3, 1, &options)?;
/// let measures = MeasurePart::join(upper, &lower)?.finish()?;
/// assert_eq!(measures, Engine::cpu().measure(all()?, &options)?);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct MeasurePart {
    pub(super) width: u32,
    pub(super) rows: Range<u32>,
    pub(super) options: MeasureOptions,
    pub(super) kind: Option<Kind>,
    pub(super) sums: Sums,
}

impl MeasurePart {
    /// Sums up the rows `own` of `labels`; the first of them is row `first_row` of the image. The
    /// other rows are those of the image beside them: at least [`MARGIN`] above and below, unless
    /// the image has fewer.
    ///
    /// # Errors
    /// Those of [`Engine::measure`](crate::Engine::measure);
    /// [`Error::InvalidOption`] for rows that `labels` does not have, and too few above;
    /// [`Error::ImageTooLarge`] for rows beyond [`MAX_SIDE`].
    pub fn of<'a, L: Label + 'a>(
        labels: impl Into<Samples<'a, L>>,
        own: Range<u32>,
        first_row: u32,
        options: &MeasureOptions,
    ) -> Result<Self> {
        Self::of_images(&labels.into(), None, own, first_row, options)
    }

    /// As [`of`](Self::of), with intensities of the size of `labels`; only those of the rows `own`
    /// are used.
    ///
    /// # Errors
    /// Those of [`of`](Self::of), and of
    /// [`Engine::measure_intensities`](crate::Engine::measure_intensities).
    pub fn of_intensities<'a, 'b, L: Label + 'a, I: Intensity + 'b>(
        labels: impl Into<Samples<'a, L>>,
        intensities: impl Into<Samples<'b, I>>,
        own: Range<u32>,
        first_row: u32,
        options: &MeasureOptions,
    ) -> Result<Self> {
        let (labels, intensities) = (labels.into(), intensities.into());
        Self::of_images(&labels, Some(&intensities), own, first_row, options)
    }

    fn of_images(
        labels: &dyn LabelImage,
        intensities: Option<&dyn IntensityImage>,
        own: Range<u32>,
        first_row: u32,
        options: &MeasureOptions,
    ) -> Result<Self> {
        let needs = check_images(labels, intensities, options)?;
        let width = labels.width();
        if own.is_empty() || own.end as usize > labels.height() {
            return Err(Error::option(
                "own",
                OptionProblem::OutOfRange,
                format!(
                    "the rows {} to {} are none of an image of {} rows",
                    own.start,
                    own.end,
                    labels.height()
                ),
            ));
        }
        if own.start < first_row.min(MARGIN) {
            return Err(Error::option(
                "own",
                OptionProblem::OutOfRange,
                format!("{MARGIN} rows above a band are needed, unless the image has fewer"),
            ));
        }
        let end = u64::from(first_row) + own.len() as u64;
        if end > u64::from(MAX_SIDE) {
            return Err(Error::ImageTooLarge {
                width: width as u64,
                height: end,
                limit: "a side is at most 2147483646 pixels",
            });
        }
        let work = Work {
            labels,
            intensities: intensities.filter(|_| needs.intensities || needs.weighted),
            needs,
        };
        let rows = own.start as usize..own.end as usize;
        let mut sums = sum_up_rows(work, rows, rows_per_strip(width), &Progress::SILENT)?;
        sums.move_rows(own.start, first_row);
        Ok(Self {
            width: width as u32,
            rows: first_row..end as u32,
            options: options.clone(),
            kind: intensities.map(IntensityImage::kind),
            sums,
        })
    }

    /// The width of the image.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The part's rows of the image.
    pub fn rows(&self) -> Range<u32> {
        self.rows.clone()
    }

    /// The number of labels in it.
    pub fn len(&self) -> usize {
        self.sums.bases.len()
    }

    /// Whether there are no labels in it.
    pub fn is_empty(&self) -> bool {
        self.sums.bases.is_empty()
    }

    /// The sums that its options need.
    pub(super) fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for property in self.options.properties.as_slice() {
            property.add_needs(&mut needs);
        }
        needs
    }

    /// Joins the parts of adjacent rows, `upper` above `lower`. Time: linear in the labels of both,
    /// and in the runs of the lower one for hulls and holes.
    ///
    /// # Errors
    /// [`Error::PartsNotAdjacent`]; [`Error::PartsDiffer`] for parts of images of different widths,
    /// or with other options or types of intensities; [`Error::TooMany`]; [`Error::OutOfMemory`].
    pub fn join(mut upper: Self, lower: &Self) -> Result<Self> {
        let differ = |what, upper, lower| Err(Error::PartsDiffer { what, upper, lower });
        if upper.width != lower.width {
            let [upper, lower] = [&upper, lower].map(|part| format!("{} pixels", part.width));
            return differ("width", upper, lower);
        }
        if upper.options != lower.options || upper.kind != lower.kind {
            let [upper, lower] =
                [&upper, lower].map(|part| format!("{:?}, {:?}", part.options, part.kind));
            return differ("options", upper, lower);
        }
        if upper.rows.end != lower.rows.start {
            return Err(Error::PartsNotAdjacent {
                upper_end: upper.rows.end,
                lower_start: lower.rows.start,
            });
        }
        let pixels = upper.width as usize * (lower.rows.end - upper.rows.start) as usize;
        let mut slots = Slots::new(slots_limit(pixels));
        for (base, slot) in upper.sums.bases.iter().zip(0..) {
            slots.set(base.label, slot)?;
        }
        let needs = upper.needs();
        upper.sums.join(&lower.sums, &mut slots, needs)?;
        upper.rows.end = lower.rows.end;
        Ok(upper)
    }

    /// The table of the labels in these rows, as if there were no others.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn finish(self) -> Result<Measures> {
        let shapes = shapes_of(&self.sums, &self.options)?;
        let kind = self.kind.unwrap_or_default();
        table_of(&self.sums, &shapes, &self.options, kind)
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            width: self.width,
            rows: self.rows.clone(),
            options: self.options.clone(),
            kind: self.kind,
            sums: self.sums.try_clone()?,
        })
    }
}
