//! Tracing.

use super::Engine;
use crate::device_choice::Job;
use crate::error::Result;
use crate::image::BinaryImage;
use crate::trace::{
    self, Band, BandTracer, ContourOptions, ContourPart, Contours, StoredContours, TraceAlgorithm,
    TraceOptions,
};

impl Engine {
    /// The algorithm that [`trace`](Self::trace) uses for these options.
    pub fn trace_algorithm(&self, options: &TraceOptions) -> TraceAlgorithm {
        options.algorithm_on(self.backend())
    }

    /// Traces the borders of `image`.
    ///
    /// # Errors
    /// - [`Error::InvalidOption`](crate::Error::InvalidOption) for options that contradict each
    ///   other, or more tiles than pixels along a side;
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend;
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³¹ - 1 borders, or more than
    ///   2³² - 1 pieces of borders in tiles or steps by components;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for more pixels than
    ///   [`DeviceTracer::trace`](crate::DeviceTracer::trace) takes, and `Error::Cuda` or
    ///   [`Error::Emulator`](crate::Error::Emulator).
    pub fn trace(&self, image: &BinaryImage, options: &TraceOptions) -> Result<Contours> {
        options.contours.validate()?;
        if let Some(engine) = self.chosen(
            || Job::trace(image),
            options.algorithm.map(TraceAlgorithm::backends),
        ) {
            return engine.trace(image, options);
        }
        let algorithm = self.trace_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let Some(device) = &self.device else {
            return trace::cpu::trace(image, &options.contours, algorithm, &self.progress());
        };
        self.done(device.trace(image, options)?)
    }

    /// Traces each of many images, as [`trace`](Self::trace) does. The processor traces several at
    /// the same time. A GPU traces many small images of one size at once, by
    /// [`TraceAlgorithm::Fragments`]: one alone would leave most of the GPU idle.
    ///
    /// ```
    /// use trazar::{BinaryImage, Engine, TraceOptions};
    ///
    /// let images = [BinaryImage::from_art("##.#")?, BinaryImage::from_art("...#")?];
    /// let contours = Engine::cpu().trace_batch(&images, &TraceOptions::default())?;
    /// assert_eq!(contours.len(), 2);
    /// assert_eq!(contours[0].len(), 2);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`trace`](Self::trace), for any of the images.
    pub fn trace_batch(
        &self,
        images: &[BinaryImage],
        options: &TraceOptions,
    ) -> Result<Vec<Contours>> {
        options.contours.validate()?;
        if let Some(engine) = self.chosen(
            || Job::traces(images),
            options.algorithm.map(TraceAlgorithm::backends),
        ) {
            return engine.trace_batch(images, options);
        }
        let algorithm = self.trace_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let Some(device) = &self.device else {
            return self.each(images, |engine, image| engine.trace(image, options));
        };
        let progress = self.progress();
        let total = images.len() as u64;
        let mut contours = Vec::with_capacity(images.len());
        let mut left = images;
        while let Some(first) = left.first() {
            let count = match algorithm {
                TraceAlgorithm::Fragments => at_once(first, left),
                _ => 1,
            };
            let (batch, rest) = left.split_at(count);
            contours.extend(match batch {
                [image] => vec![device.trace(image, options)?],
                images => device.trace_batch(images, &options.contours)?,
            });
            left = rest;
            progress.report(contours.len() as u64, total)?;
        }
        Ok(contours)
    }

    /// Traces an image that comes in bands, by [`BandTracer::trace`] or [`BandTracer::trace_on`].
    ///
    /// ```
    /// use trazar::trace::{BandTracer, ContourOptions};
    /// use trazar::{BinaryImage, Engine};
    ///
    /// let mut bands = [".####.\n.#..#.\n", ".#..#.\n.####.\n"].into_iter();
    /// let next = || bands.next().map(BinaryImage::from_art).transpose();
    /// let tracer = BandTracer::in_memory(&ContourOptions::default())?;
    /// let contours = Engine::cpu().trace_bands(tracer, next)?.into_contours()?;
    /// assert_eq!(contours.len(), 2);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of these functions.
    pub fn trace_bands(
        &self,
        tracer: BandTracer,
        mut next: impl FnMut() -> Result<Option<BinaryImage>>,
    ) -> Result<StoredContours> {
        // The size of the image is not known.
        if let Some(engine) = self.chosen(|| Job::TraceBands { pixels: 0 }, None) {
            return engine.trace_bands(tracer, next);
        }
        match &self.device {
            Some(device) => device.trace_bands(tracer, &mut next),
            None => tracer.trace(next),
        }
    }

    /// Traces a band of an image, to be joined to the parts of the other bands: by
    /// [`ContourPart::trace`], or on the first GPU by
    /// [`DeviceTracer::trace_part`](crate::DeviceTracer::trace_part).
    ///
    /// ```
    /// use trazar::trace::{Band, ContourOptions, ContourPart};
    /// use trazar::{BinaryImage, Engine};
    ///
    /// let bands = [".##.\n.#..\n", ".##.\n"].map(BinaryImage::from_art);
    /// let [upper, lower] = bands;
    /// let (upper, lower) = (upper?, lower?);
    /// let (engine, options) = (Engine::cpu(), ContourOptions::default());
    /// let above = engine.trace_part(Band::new(&upper, 0).with_below(lower.row(0)), &options)?;
    /// let below = engine.trace_part(Band::new(&lower, 2).with_above(upper.row(1)), &options)?;
    /// assert_eq!(ContourPart::join(above, below)?.finish()?.len(), 1);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of these functions.
    pub fn trace_part(&self, band: Band<'_>, options: &ContourOptions) -> Result<ContourPart> {
        if let Some(engine) = self.chosen(
            || Job::TraceBands {
                pixels: u64::from(band.width()) * band.rows().len() as u64,
            },
            None,
        ) {
            return engine.trace_part(band, options);
        }
        match &self.device {
            None => ContourPart::trace(band, options),
            Some(device) => device.trace_part(band, options),
        }
    }
}

/// The number of `images` that a GPU traces at once: the first ones of the same size as `first`,
/// with at most about 2²⁹ pixels together in whole words, which take 2 GB of its memory.
fn at_once(first: &BinaryImage, images: &[BinaryImage]) -> usize {
    const WORDS: usize = 1 << 23;
    let size = |image: &BinaryImage| (image.width(), image.height());
    let most = WORDS / (first.words().len() + first.words_per_row());
    let candidates = images.iter().take(most.max(1));
    candidates
        .take_while(|image| size(image) == size(first))
        .count()
}
