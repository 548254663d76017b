//! [`BandLabeller`]: labels an image that is larger than the memory.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::{LabelNumber, LabelPart, LabelTable, Numbered, part_of};
use crate::error::{Error, OptionProblem, Result};
use crate::image::BinaryImage;
use crate::label::cpu::{Meter, sums_fit_64_bits};
use crate::label::{Component, Connectivity, LabelOptions};
use crate::memory::{advise_large_pages, zeroed_vec};
use crate::progress::{Progress, ProgressFn};

/// An image that is given in bands of rows, from the first to the last, and more than once.
///
/// `formats::ImageBands` gives an image file so.
pub trait BandSource {
    /// The image's width in pixels.
    fn width(&self) -> u32;
    /// The image's height in pixels.
    fn height(&self) -> u32;
    /// The next `rows` rows, fewer at the image's end; `None` behind the last one.
    ///
    /// Every pass must give the same bands.
    ///
    /// # Errors
    /// Those of the source.
    fn next_band(&mut self, rows: u32) -> Result<Option<BinaryImage>>;
    /// Goes back to the first row.
    ///
    /// # Errors
    /// Those of the source.
    fn rewind(&mut self) -> Result<()>;
    /// The memory in bytes that the source takes, at most, besides the bands that it gives.
    fn decoding_bytes(&self) -> u64 {
        0
    }
}

/// Labels an image band by band in bounded memory, with the numbers and the statistics of
/// [`Engine::label`](crate::Engine::label) for the whole image.
///
/// The first pass, in [`new`](Self::new), finds which components of the bands belong together. The
/// second pass, by [`next_band`](Self::next_band), labels each band again, with the final numbers.
/// Between the passes, memory holds what is on the bands' first and last rows; and the whole
/// image's bits, if they fit into a third of the memory, so that the source is read once only.
///
/// ```
/// use trazar::formats::{ImageBands, ReadOptions};
/// use trazar::label::parts::BandLabeller;
/// use trazar::LabelOptions;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("a.pbm");
/// std::fs::write(&path, "P1\n3 2\n010 111\n").unwrap();
/// let bands = ImageBands::open(&path, &ReadOptions::default())?;
/// let mut labeller = BandLabeller::new(bands, &LabelOptions::default(), 64 << 20)?;
/// assert_eq!(labeller.count(), 2);
/// let mut labels = Vec::new();
/// while let Some(band) = labeller.next_band::<u32>()? {
///     labels.extend_from_slice(band.labels());
/// }
/// assert_eq!(labels, [1, 0, 2, 0, 0, 0]);
/// # Ok::<(), trazar::Error>(())
/// ```
pub struct BandLabeller<S> {
    source: S,
    options: LabelOptions,
    rows: u32,
    table: LabelTable,
    foreground: u64,
    /// The bands that the second pass need not read again.
    held: Option<VecDeque<BinaryImage>>,
    /// The number of bands that the second pass has given.
    given: usize,
    /// The number of components on the bands' rims whose measures it has given.
    given_components: usize,
    labels: Vec<u32>,
    wide: Vec<u64>,
    components: Vec<Component>,
    report: Option<Box<ProgressFn>>,
}

/// A band of a labelled image.
#[derive(Clone, Copy, Debug)]
pub struct LabelledBand<'a, T> {
    width: u32,
    height: u32,
    first_row: u32,
    first_component: u64,
    labels: &'a [T],
    components: Option<&'a [Component]>,
}

impl<'a, T> LabelledBand<'a, T> {
    /// The image's width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The height in pixels of the whole image.
    pub fn image_height(&self) -> u32 {
        self.height
    }

    /// The image's row that is the band's first.
    pub fn first_row(&self) -> u32 {
        self.first_row
    }

    /// The final labels of the band's pixels, row by row, without padding.
    pub fn labels(&self) -> &'a [T] {
        self.labels
    }

    /// With statistics, the measures of the components that start in the band, whole as they are in
    /// the image, in the order of their numbers. Those of all bands, one after the other, are those
    /// of components 1, 2, ….
    pub fn components(&self) -> Option<&'a [Component]> {
        self.components
    }

    /// The number of the first component that starts in the band, if one does.
    pub fn first_component(&self) -> u64 {
        self.first_component
    }
}

impl<S: BandSource> BandLabeller<S> {
    /// Plans bands for `memory` bytes of memory, and takes the first pass over `source`, on all
    /// cores.
    ///
    /// Memory is estimated for the worst image of the size: mostly, less is taken.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for too little memory; [`Error::SizeMismatch`] if the source gives
    /// a band of more rows than it was asked for, or of another width; those of
    /// [`label_part`](super::label_part) and of the source.
    pub fn new(source: S, options: &LabelOptions, memory: u64) -> Result<Self> {
        Self::start(source, options, memory, None)
    }

    /// The same with `report`, which is called from time to time with the share of the work of both
    /// passes that is done, from 0 to 1.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn with_progress(
        source: S,
        options: &LabelOptions,
        memory: u64,
        report: impl Fn(f64) + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::start(source, options, memory, Some(Box::new(report)))
    }

    fn start(
        source: S,
        options: &LabelOptions,
        memory: u64,
        report: Option<Box<ProgressFn>>,
    ) -> Result<Self> {
        let plan = Plan::new(&source, options, memory)?;
        Self::in_bands(source, options, plan, report)
    }

    pub(super) fn in_bands(
        mut source: S,
        options: &LabelOptions,
        plan: Plan,
        report: Option<Box<ProgressFn>>,
    ) -> Result<Self> {
        let (width, height) = (source.width(), source.height());
        let rows = plan.rows.min(height);
        let band_pixels = rows as usize * width as usize;
        let mut labels = zeroed_vec(band_pixels, "labels")?;
        advise_large_pages(&mut labels);
        let mut held = plan.hold.then(VecDeque::new);
        let mut joined: Option<LabelPart> = None;
        let (mut first_row, mut foreground) = (0, 0);
        while let Some(band) = source.next_band(rows)? {
            check_size(&band, width, rows)?;
            let (part, _) = share(
                report.as_deref(),
                0,
                first_row,
                band.height(),
                height,
                |progress| {
                    let labels = &mut labels[..band.pixel_count() as usize];
                    if options.statistics && first_row > 0 {
                        labels.par_chunks_mut(CHUNK).for_each(|chunk| chunk.fill(0));
                    }
                    part_of(&band, first_row, options, labels, progress)
                },
            )?;
            joined = Some(match joined.take() {
                Some(upper) => LabelPart::merge(upper, part)?,
                None => part,
            });
            foreground += band.count_foreground();
            first_row += band.height();
            if let Some(held) = &mut held {
                held.push_back(band);
            }
        }
        let table = match joined {
            Some(part) if first_row == height => part.finish()?,
            _ => {
                return Err(Error::SizeMismatch {
                    width,
                    height,
                    needed: height.into(),
                    given: first_row.into(),
                    unit: "rows",
                });
            }
        };
        if held.is_none() {
            source.rewind()?;
        }
        Ok(Self {
            source,
            options: *options,
            rows,
            table,
            foreground,
            held,
            given: 0,
            given_components: 0,
            labels,
            wide: Vec::new(),
            components: Vec::new(),
            report,
        })
    }

    /// The number of components.
    pub fn count(&self) -> u64 {
        self.table.count()
    }

    /// The number of foreground pixels.
    pub fn foreground(&self) -> u64 {
        self.foreground
    }

    /// The number of rows of a band; the last one may have fewer.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// What is labelled.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The next band, with labels of the type `T`, which must be the same in all calls. `None`
    /// behind the last one.
    ///
    /// # Errors
    /// [`Error::TooMany`] if there are more components than `T` can count;
    /// [`Error::ImageChanged`] if the source gives a band of other rows, or with another number of
    /// components, than in the first pass; those of [`Engine::label`](crate::Engine::label) and of
    /// the source. The labeller is of no use after an error.
    pub fn next_band<T: LabelNumber>(&mut self) -> Result<Option<LabelledBand<'_, T>>> {
        self.table.check_fits::<T>()?;
        let band = match &mut self.held {
            Some(held) => held.pop_front(),
            None => self.source.next_band(self.rows)?,
        };
        let height = self.source.height();
        let own = self.table.band(self.given);
        let first_row = own.map_or(height, |own| own.rows.start);
        let changed = |unit, before: u32, now: u32| Error::ImageChanged {
            first_row,
            unit,
            before: before.into(),
            now: now.into(),
        };
        let rows_before = own.map_or(0, |own| own.rows.len() as u32);
        let rows_now = band.as_ref().map_or(0, BinaryImage::height);
        if rows_before != rows_now {
            return Err(changed("rows", rows_before, rows_now));
        }
        let (Some(band), Some(own)) = (band, own) else {
            return Ok(None);
        };
        check_size(&band, self.source.width(), self.rows)?;
        let pixels = band.pixel_count() as usize;
        self.components = Vec::new();
        let labels = &mut self.labels[..pixels];
        labels.par_chunks_mut(CHUNK).for_each(|chunk| chunk.fill(0));
        let statistics = self.options.statistics;
        let is_wide = size_of::<T>() > size_of::<u32>();
        let connectivity = self.options.connectivity;
        let (numbers, mut measures) = share(
            self.report.as_deref(),
            1,
            first_row,
            band.height(),
            height,
            |progress| {
                let meter = Meter::new(&band, progress);
                let mut numbered = Numbered::of(&band, connectivity, Some(&mut *labels), &meter)?;
                if numbered.count != own.count {
                    return Err(changed("components", own.count, numbered.count));
                }
                let mut numbers: Vec<T> = Vec::new();
                let mut measures = Vec::new();
                if statistics || is_wide {
                    numbered.fill(labels, |number| number, &meter);
                } else {
                    numbers = own.numbers()?;
                    let numbers: &[u32] = bytemuck::cast_slice(&numbers);
                    numbered.fill(labels, |number| numbers[number as usize], &meter);
                }
                if statistics {
                    (measures, _) = numbered.measure_part(first_row, labels, &[])?;
                }
                Ok((numbers, measures))
            },
        )?;
        if statistics {
            let on_rims = self.table.components().unwrap_or_default();
            let mut on_rims = on_rims[self.given_components..].iter();
            // Those that start in the band move to the front.
            let mut starting = 0;
            for (number, on_rim) in own.starting() {
                let inside = measures[number as usize - 1];
                measures[starting] = match on_rim {
                    true => on_rims.next().copied().unwrap_or(inside),
                    false => inside,
                };
                starting += 1;
                self.given_components += usize::from(on_rim);
            }
            measures.truncate(starting);
            self.components = measures;
        }
        if is_wide || statistics {
            let numbers: Vec<T> = if numbers.is_empty() {
                own.numbers()?
            } else {
                numbers
            };
            if is_wide {
                if self.wide.len() < pixels {
                    self.wide = zeroed_vec(pixels, "labels")?;
                }
                let numbers: &[u64] = bytemuck::cast_slice(&numbers);
                let wide = self.wide[..pixels].par_iter_mut().zip(&*labels);
                wide.for_each(|(wide, &label)| *wide = numbers[label as usize]);
            } else {
                let numbers: &[u32] = bytemuck::cast_slice(&numbers);
                labels
                    .par_iter_mut()
                    .for_each(|label| *label = numbers[*label as usize]);
            }
        }
        self.given += 1;
        let labels: &[T] = match is_wide {
            true => bytemuck::cast_slice(&self.wide[..pixels]),
            false => bytemuck::cast_slice(&self.labels[..pixels]),
        };
        Ok(Some(LabelledBand {
            width: band.width(),
            height,
            first_row,
            first_component: own.before + 1,
            labels,
            components: statistics.then_some(&self.components[..]),
        }))
    }
}

/// Refuses a band that is not of the image's width, or has more than the `rows` rows that were
/// asked for.
fn check_size(band: &BinaryImage, width: u32, rows: u32) -> Result<()> {
    for (unit, needed, given, fits) in [
        ("columns", width, band.width(), band.width() == width),
        ("rows", rows, band.height(), band.height() <= rows),
    ] {
        if !fits {
            return Err(Error::SizeMismatch {
                width,
                height: rows,
                needed: needed.into(),
                given: given.into(),
                unit,
            });
        }
    }
    Ok(())
}

/// Labels that are cleared at once by one thread.
const CHUNK: usize = 1 << 18;

/// Runs `work` on the band of `rows` rows from `first_row` on, in one of two passes over an image
/// of `height` rows, with the band's progress as a share of all.
fn share<T>(
    report: Option<&ProgressFn>,
    pass: u32,
    first_row: u32,
    rows: u32,
    height: u32,
    work: impl FnOnce(&Progress<'_>) -> Result<T>,
) -> Result<T> {
    let Some(report) = report else {
        return work(&Progress::SILENT);
    };
    let (rows, height) = (f64::from(rows), f64::from(height));
    let before = f64::from(pass) * height + f64::from(first_row);
    let of_band = |share: f64| report((before + share * rows) / (2.0 * height));
    let result = work(&Progress(Some(&of_band)))?;
    of_band(1.0);
    Ok(result)
}

/// The height of the bands, and whether all of them are kept between the passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) rows: u32,
    pub(super) hold: bool,
}

/// What a program and its threads take besides.
const BASE: f64 = (32 << 20) as f64;

impl Plan {
    pub(super) fn new(
        source: &impl BandSource,
        options: &LabelOptions,
        memory: u64,
    ) -> Result<Self> {
        let (width, height) = (f64::from(source.width()), f64::from(source.height()));
        // The largest number of components, or of provisional labels, per pixel.
        let components: f64 = match options.connectivity {
            Connectivity::Four => 0.5,
            Connectivity::Eight => 0.25,
        };
        let is_wide = components * width * height > f64::from(u32::MAX);
        let sums_fit = sums_fit_64_bits(
            u64::from(source.width()) * u64::from(source.height()),
            source.width().max(source.height()),
        );
        // The band's bits and labels; per component, its forest, which grows by doubling, its
        // number, and its measures, with tallies before them if they do not take the same place.
        let measures = match (options.statistics, sums_fit) {
            (false, _) => 0.0,
            (true, true) => 40.0,
            (true, false) => 104.0,
        };
        let number = if is_wide { 8.0 } else { 4.0 };
        let per_component = 8.0 + number + measures;
        let per_pixel = 4.125 + if is_wide { 8.0 } else { 0.0 } + components * per_component;
        // A component per pixel of two rows has its node, its place in the table, and its tally.
        let per_rim = width * if options.statistics { 144.0 } else { 40.0 };
        let fixed = BASE + source.decoding_bytes() as f64;
        let free = memory as f64 - fixed;
        let row = width * per_pixel;
        // Bands of `rows` rows take rows · row + height / rows · per_rim: the most rows for which
        // that is at most `free`.
        let rows = |free: f64| {
            let square = free * free - 4.0 * row * height * per_rim;
            let rows = ((free + square.sqrt()) / (2.0 * row)).floor();
            (free > 0.0 && rows >= 1.0).then(|| rows.min(height) as u32)
        };
        let bits = width * height / 8.0;
        if bits <= free / 3.0
            && let Some(rows) = rows(free - bits)
        {
            return Ok(Self { rows, hold: true });
        }
        if let Some(rows) = rows(free) {
            return Ok(Self { rows, hold: false });
        }
        let best = (height * per_rim / row).sqrt().clamp(1.0, height);
        let least = (best + 1.0) * row + height / best * per_rim;
        let mebibytes = ((fixed + least) / f64::from(1 << 20)).ceil();
        Err(Error::option(
            "memory",
            OptionProblem::OutOfRange,
            format!(
                "{memory} bytes of memory are too little for the bands of an image of {width} × \
                 {height} pixels: give {mebibytes} MiB or more"
            ),
        ))
    }
}

impl<S: BandSource> std::fmt::Debug for BandLabeller<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BandLabeller")
            .field("width", &self.source.width())
            .field("height", &self.source.height())
            .field("rows", &self.rows)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}
