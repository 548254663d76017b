//! [`BandLabels`]: the labels of an image that is larger than the memory.

use std::collections::VecDeque;
use std::sync::Arc;

use rayon::prelude::*;

use super::first_pass::{FirstPass, check_size, share};
use super::plan::Plan;
use super::table::Final;
use super::workers::{LabelTask, Task, Workers};
use super::{BandPixels, LabelNumber, LabelTable, is_wide};
use crate::error::{Error, Result};
use crate::image::BinaryImage;
use crate::label::{Component, ComponentOptions};
use crate::memory::zeroed_vec;
use crate::progress::{ProgressFn, go_on};

/// An image read in bands of rows, from the first to the last, and more than once.
///
/// Bands are of bits, or, as a `BandSource<ValueRows<T>>`, of values.
///
/// `formats::ImageBands` reads an image file this way.
pub trait BandSource<B = BinaryImage> {
    /// The image's width in pixels.
    fn width(&self) -> u32;
    /// The image's height in pixels.
    fn height(&self) -> u32;
    /// The next `rows` rows, fewer at the image's end; `None` after the last one.
    ///
    /// Every pass must give the same bands.
    ///
    /// # Errors
    /// Those of the source.
    fn next_band(&mut self, rows: u32) -> Result<Option<B>>;
    /// Goes back to the first row.
    ///
    /// # Errors
    /// Those of the source.
    fn rewind(&mut self) -> Result<()>;
    /// The most bytes of memory that the source takes, besides the bands that it returns.
    fn decoding_bytes(&self) -> u64 {
        0
    }
}

/// The labels of an image, band by band in bounded memory, with the numbers and the statistics of
/// [`Engine::label`](crate::Engine::label) for the whole image, or the numbers of
/// [`Engine::label_values`](crate::Engine::label_values).
///
/// The first pass, in [`Engine::label_bands`](crate::Engine::label_bands) or
/// [`Engine::label_value_bands`](crate::Engine::label_value_bands), finds which components of the
/// bands belong together. The second pass, by [`next_band`](Self::next_band), labels each
/// band again, with the final numbers. Between the passes, memory holds the components on the
/// bands' first and last rows. If the whole image's bits or values fit into a third of the
/// memory, they are kept too, and the source is read only once.
pub struct BandLabels<S, B = BinaryImage> {
    source: S,
    options: ComponentOptions,
    rows: u32,
    table: Arc<LabelTable>,
    /// The GPUs that label; without them, the processor does.
    workers: Option<Workers<B>>,
    foreground: u64,
    /// The bands that the second pass need not read again, if they are kept.
    held: Option<VecDeque<B>>,
    /// The number of bands that the second pass has read.
    read: usize,
    /// The number of bands that the second pass has returned.
    given: usize,
    /// The number of rim components whose measures the second pass has returned.
    given_components: usize,
    labels: Vec<u32>,
    wide: Vec<u64>,
    components: Vec<Component>,
    report: Option<Arc<ProgressFn>>,
}

/// A band of a labelled image.
#[derive(Clone, Copy, Debug)]
pub struct LabelBand<'a, T> {
    width: u32,
    height: u32,
    first_row: u32,
    first_component: u64,
    labels: &'a [T],
    components: Option<&'a [Component]>,
}

impl<'a, T> LabelBand<'a, T> {
    /// The image's width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The height in pixels of the whole image.
    pub fn image_height(&self) -> u32 {
        self.height
    }

    /// The image's row at which the band begins.
    pub fn first_row(&self) -> u32 {
        self.first_row
    }

    /// The final labels of the band's pixels, row by row, without padding.
    pub fn labels(&self) -> &'a [T] {
        self.labels
    }

    /// With statistics, the measures of the components that start in the band, in the order of
    /// their numbers. They cover the components in the whole image. Those of all bands, one after
    /// the other, are those of components 1, 2, ….
    pub fn components(&self) -> Option<&'a [Component]> {
        self.components
    }

    /// The number of the first component that starts in the band, if any does.
    pub fn first_component(&self) -> u64 {
        self.first_component
    }
}

impl<S: BandSource<B>, B: BandPixels> BandLabels<S, B> {
    /// The number of rows per band that `memory` bytes of memory allow for `workers`. Several of
    /// them work on several bands at a time, and so need more of the host's memory than the
    /// processor.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for too little memory; [`Error::EmptyImage`] and
    /// [`Error::ImageTooLarge`] for such a source.
    pub(crate) fn rows_within(
        source: &S,
        options: &ComponentOptions,
        memory: u64,
        workers: Option<&Workers<B>>,
    ) -> Result<u32> {
        Ok(Self::plan(source, options, memory, workers)?.rows)
    }

    /// Plans bands for `memory` bytes of memory, and makes the first pass over `source`: on all
    /// cores, or by `workers`. `report` is called with the completed share of both passes.
    ///
    /// # Errors
    /// Those of [`Engine::label_bands`](crate::Engine::label_bands).
    pub(crate) fn begin(
        source: S,
        options: &ComponentOptions,
        memory: u64,
        workers: Option<Workers<B>>,
        report: Option<Arc<ProgressFn>>,
    ) -> Result<Self> {
        let plan = Self::plan(&source, options, memory, workers.as_ref())?;
        Self::in_bands(source, options, plan, workers, report)
    }

    fn plan(
        source: &S,
        options: &ComponentOptions,
        memory: u64,
        workers: Option<&Workers<B>>,
    ) -> Result<Plan> {
        // A source is anyone's.
        crate::image::check_size(source.width().into(), source.height().into())?;
        match workers {
            None => Plan::new::<B>(source, options, memory),
            Some(workers) => Plan::on_gpus::<B>(source, options, memory, workers.len()),
        }
    }

    pub(super) fn in_bands(
        source: S,
        options: &ComponentOptions,
        plan: Plan,
        workers: Option<Workers<B>>,
        report: Option<Arc<ProgressFn>>,
    ) -> Result<Self> {
        let rows = plan.rows.min(source.height());
        let mut first = FirstPass {
            source,
            rows,
            joined: None,
            foreground: 0,
            first_row: 0,
            held: plan.hold.then(VecDeque::new),
            report: report.as_deref(),
        };
        let mut workers = workers;
        let labels = match &mut workers {
            None => first.on_processor(options)?,
            Some(workers) => {
                first.on_workers(workers)?;
                Vec::new()
            }
        };
        let FirstPass {
            mut source,
            joined,
            foreground,
            first_row,
            held,
            ..
        } = first;
        let (width, height) = (source.width(), source.height());
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
            table: Arc::new(table),
            workers,
            foreground,
            held,
            read: 0,
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
    pub fn foreground_count(&self) -> u64 {
        self.foreground
    }

    /// The number of rows of a band; the last one may have fewer.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The source of the image.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The next band, with labels of the type `T`, which must be the same in all calls. `None`
    /// after the last band.
    ///
    /// # Errors
    /// [`Error::TooMany`] if there are more components than `T` can count; [`Error::ImageChanged`]
    /// if the source returns a band with other rows, or with another number of components, than in
    /// the first pass; those of [`Engine::label`](crate::Engine::label) and of the source. After an
    /// error this value is unusable.
    pub fn next_band<T: LabelNumber>(&mut self) -> Result<Option<LabelBand<'_, T>>> {
        self.table.check_fits::<T>()?;
        self.components = Vec::new();
        let mut workers = self.workers.take();
        let labelled = match &mut workers {
            None => self.label_here::<T>(),
            Some(workers) => self.label_there::<T>(workers),
        };
        self.workers = workers;
        if !labelled? {
            return Ok(None);
        }
        let table = Arc::clone(&self.table);
        let Some(own) = table.band(self.given) else {
            return Ok(None);
        };
        self.given += 1;
        let (width, height) = (self.source.width(), self.source.height());
        let pixels = own.rows.len() * width as usize;
        let labels: &[T] = match is_wide::<T>() {
            true => bytemuck::cast_slice(&self.wide[..pixels]),
            false => bytemuck::cast_slice(&self.labels[..pixels]),
        };
        Ok(Some(LabelBand {
            width,
            height,
            first_row: own.rows.start,
            first_component: own.before + 1,
            labels,
            components: self.options.statistics.then_some(&self.components[..]),
        }))
    }

    /// Reads the next band of the second pass, and compares its rows with those of the first pass.
    fn read_band(&mut self) -> Result<Option<B>> {
        let band = match &mut self.held {
            Some(held) => held.pop_front(),
            None => self.source.next_band(self.rows)?,
        };
        let own = self.table.band(self.read);
        let rows_before = own.map_or(0, |own| own.rows.len() as u32);
        let rows_now = band.as_ref().map_or(0, B::height);
        if rows_before != rows_now {
            return Err(Error::ImageChanged {
                first_row: own.map_or(self.source.height(), |own| own.rows.start),
                unit: "rows",
                before: rows_before.into(),
                now: rows_now.into(),
            });
        }
        if let Some(band) = &band {
            check_size(band, self.source.width(), self.rows)?;
            self.read += 1;
        }
        Ok(band)
    }

    /// Labels the next band on the processor; false after the last one.
    fn label_here<T: LabelNumber>(&mut self) -> Result<bool> {
        let Some(band) = self.read_band()? else {
            return Ok(false);
        };
        let table = Arc::clone(&self.table);
        let Some(own) = table.band(self.given) else {
            return Ok(false);
        };
        let first_row = own.rows.start;
        let pixels = band.height() as usize * band.width() as usize;
        let labels = &mut self.labels[..pixels];
        let statistics = self.options.statistics;
        let is_wide = is_wide::<T>();
        // With measures, the numbers of the band's own components are needed.
        let is_own = is_wide || statistics;
        let measures = share(
            self.report.as_deref(),
            1,
            first_row,
            band.height(),
            self.source.height(),
            |progress| band.label(first_row, &table, &self.options, is_own, labels, progress.0),
        )?;
        if statistics {
            self.keep_starting(own, measures);
        }
        if is_wide {
            self.widen(own, pixels)?;
        } else if statistics {
            let numbers: Vec<u32> = own.numbers()?;
            self.labels[..pixels]
                .par_iter_mut()
                .for_each(|label| *label = numbers[*label as usize]);
        }
        Ok(true)
    }

    /// Takes the next band's labels from the workers, after giving tasks to idle ones; false after
    /// the last band.
    fn label_there<T: LabelNumber>(&mut self, workers: &mut Workers<B>) -> Result<bool> {
        // The buffer of the labels last returned goes to the next task.
        let mut buffer = std::mem::take(&mut self.labels);
        while !workers.is_full() {
            let first_row = self.table.band(self.read).map(|own| own.rows.start);
            let (Some(band), Some(first_row)) = (self.read_band()?, first_row) else {
                break;
            };
            let most = self.rows as usize * band.width() as usize;
            workers.start(Task {
                band,
                first_row,
                labels: Some(LabelTask {
                    table: Arc::clone(&self.table),
                    buffer: std::mem::take(&mut buffer),
                    most,
                    is_final: !is_wide::<T>(),
                }),
            });
        }
        let Some(found) = workers.finish() else {
            return Ok(false);
        };
        let found = found?;
        let table = Arc::clone(&self.table);
        let Some(own) = table.band(self.given) else {
            return Ok(false);
        };
        own.check_count(found.part.count())?;
        self.labels = found.labels;
        if self.options.statistics {
            self.keep_starting(own, found.measures);
        }
        if is_wide::<T>() {
            let pixels = found.band.height() as usize * found.band.width() as usize;
            self.widen(own, pixels)?;
        }
        if let Some(report) = &self.report {
            let height = f64::from(self.source.height());
            go_on(report((height + f64::from(own.rows.end)) / (2.0 * height)))?;
        }
        Ok(true)
    }

    /// From the measures of all components of the band `own`, keeps those of components that start
    /// in it, and adds the pixels that they have in other bands.
    fn keep_starting(&mut self, own: &Final, mut measures: Vec<Component>) {
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

    /// Writes 64-bit labels, from the own labels of the band `own`, of `pixels` pixels.
    fn widen(&mut self, own: &Final, pixels: usize) -> Result<()> {
        if self.wide.len() < pixels {
            self.wide = zeroed_vec(pixels, "labels")?;
        }
        own.relabel(&self.labels[..pixels], &mut self.wide[..pixels])
    }
}

impl<S: BandSource<B>, B: BandPixels> std::fmt::Debug for BandLabels<S, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BandLabels")
            .field("width", &self.source.width())
            .field("height", &self.source.height())
            .field("rows", &self.rows)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}
