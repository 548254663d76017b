//! Labelling.

use super::Engine;
use crate::device_choice::Job;
use crate::error::{Error, Result};
use crate::image::BinaryImage;
use crate::label::parts::{
    BandLabels, BandNumbers, BandSource, LabelNumber, LabelPart, Workers, is_wide,
};
use crate::label::{
    self, ComponentOptions, Connectivity, LabelAlgorithm, LabelOptions, LabelSummary, Labels,
};

impl Engine {
    /// The algorithm that [`label`](Self::label) uses for these options. On the processor, small
    /// images take one thread of [`LabelAlgorithm::Parallel`], unless the options name it.
    pub fn label_algorithm(&self, options: &LabelOptions) -> LabelAlgorithm {
        options.algorithm_on(self.backend())
    }

    /// Labels the components of `image`.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) for an algorithm of another backend;
    /// - [`Error::TooMany`](crate::Error::TooMany) for more than 2³² - 1 provisional labels;
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// - by kernels, [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for rows of more than
    ///   2²⁷ pixels, and `Error::Cuda` or [`Error::Emulator`](crate::Error::Emulator).
    pub fn label(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels> {
        if let Some(engine) = self.chosen(
            || Job::label(image),
            options.algorithm.map(LabelAlgorithm::backends),
        ) {
            return engine.label(image, options);
        }
        let algorithm = self.label_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let Some(device) = &self.device else {
            return label::cpu::label(image, options, algorithm, &self.progress());
        };
        let labels = device.label(image, options)?;
        self.progress().report(1, 1)?;
        Ok(labels)
    }

    /// As [`label`](Self::label), with the labels written to an array, row by row and without
    /// padding. The array's old values do not matter; after an error it holds some of the labels.
    ///
    /// ```
    /// use trazar::{BinaryImage, Engine, LabelOptions};
    ///
    /// let image = BinaryImage::from_art("#.#\n#..")?;
    /// let mut labels = [7; 6];
    /// let found = Engine::cpu().label_into(&image, &LabelOptions::default(), &mut labels)?;
    /// assert_eq!((labels, found.count), ([1, 0, 2, 1, 0, 0], 2));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`label`](Self::label), and [`Error::SizeMismatch`](crate::Error::SizeMismatch) if
    /// there is not one element per pixel.
    pub fn label_into(
        &self,
        image: &BinaryImage,
        options: &LabelOptions,
        labels: &mut [u32],
    ) -> Result<LabelSummary> {
        let given = labels.len() as u64;
        if given != image.pixel_count() {
            return Err(Error::SizeMismatch {
                width: image.width(),
                height: image.height(),
                needed: image.pixel_count(),
                given,
                unit: "labels",
            });
        }
        if let Some(engine) = self.chosen(
            || Job::label(image),
            options.algorithm.map(LabelAlgorithm::backends),
        ) {
            return engine.label_into(image, options, labels);
        }
        if self.device.is_none() {
            let algorithm = self.label_algorithm(options);
            algorithm.check_runs_on(self.backend())?;
            return label::cpu::label_into(image, options, algorithm, &self.progress(), labels);
        }
        let (found, summary) = self.label(image, options)?.into_labels_and_summary();
        labels.copy_from_slice(&found);
        Ok(summary)
    }

    /// Labels a band of an image, to be joined to the parts of the other bands; its first row is
    /// the image's row `first_row`. This is [`LabelPart::label`] on any device; of several
    /// GPUs, on the first. [`label_band`](Self::label_band) then returns the
    /// labels.
    ///
    /// # Errors
    /// Those of [`LabelPart::label`]; by kernels,
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for a band whose pixels 32 bits can't
    /// index, and `Error::Cuda` or [`Error::Emulator`](crate::Error::Emulator).
    pub fn label_part(
        &self,
        band: &BinaryImage,
        first_row: u32,
        options: &ComponentOptions,
    ) -> Result<LabelPart> {
        if let Some(engine) = self.chosen(|| Job::label(band), None) {
            return engine.label_part(band, first_row, options);
        }
        match &self.device {
            None => LabelPart::label(band, first_row, options),
            Some(device) => device.label_part(band, first_row, options),
        }
    }

    /// Labels a band of an image again, with the image's numbers of components. The connectivity
    /// must be that of the parts that `numbers` come from.
    ///
    /// ```
    /// use trazar::label::{ComponentOptions, LabelPart};
    /// use trazar::{BinaryImage, Engine};
    ///
    /// let bands = [BinaryImage::from_art("#.#")?, BinaryImage::from_art("..#\n#..")?];
    /// // On an NVIDIA GPU: `Engine::cuda()?`. Bands can be on different devices.
    /// let (engine, options) = (Engine::cpu(), ComponentOptions::default());
    /// let upper = engine.label_part(&bands[0], 0, &options)?;
    /// let lower = engine.label_part(&bands[1], 1, &options)?;
    /// let numbers = LabelPart::join(upper, lower)?.finish()?.into_bands();
    /// let labels = engine.label_band::<u32>(&bands[0], &numbers[0], options.connectivity)?;
    /// assert_eq!(labels, [1, 0, 2]);
    /// let labels = engine.label_band::<u64>(&bands[1], &numbers[1], options.connectivity)?;
    /// assert_eq!(labels, [0, 0, 2, 3, 0, 0]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ImageChanged`](crate::Error::ImageChanged) if the band differs from that of
    /// `numbers` in its number of rows or components; [`Error::TooMany`](crate::Error::TooMany) if
    /// the image has more components than `T` can count; those of [`label`](Self::label) and
    /// [`label_part`](Self::label_part).
    pub fn label_band<T: LabelNumber>(
        &self,
        band: &BinaryImage,
        numbers: &BandNumbers,
        connectivity: Connectivity,
    ) -> Result<Vec<T>> {
        numbers.check_rows(band.height())?;
        if let Some(engine) = self.chosen(|| Job::label(band), None) {
            return engine.label_band(band, numbers, connectivity);
        }
        if is_wide::<T>() {
            let options = LabelOptions::default().connectivity(connectivity);
            return numbers.relabel(&self.label(band, &options)?);
        }
        let labels = match &self.device {
            None => numbers.label_on_processor(band, connectivity, &self.progress())?,
            Some(device) => device.label_band(band, numbers, connectivity)?,
        };
        Ok(bytemuck::allocation::cast_vec(labels))
    }

    /// Labels an image that comes in bands, with at most about `memory` bytes of the host's memory.
    /// Makes the first of two passes over it; [`BandLabels::next_band`] makes the second.
    ///
    /// Memory is estimated for the worst image of the size: usually, less is taken. Progress is the
    /// completed share of both passes.
    ///
    /// A GPU works on two bands at a time: while the labels of one are copied down, the next one is
    /// copied up and labelled. It takes at most 3 GiB, and with statistics up to 88 bytes more per
    /// component of a band; a band has at most 2²⁸ pixels.
    ///
    /// ```
    /// use trazar::formats::{ImageBands, ReadOptions};
    /// use trazar::Engine;
    /// use trazar::label::ComponentOptions;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.pbm");
    /// std::fs::write(&path, "P1\n3 2\n010 111\n").unwrap();
    /// let bands = ImageBands::open(&path, &ReadOptions::default())?;
    /// // On NVIDIA GPUs: `Engine::cuda()?`, or `Engine::cuda_all()?`.
    /// let engine = Engine::cpu();
    /// let mut bands = engine.label_bands(bands, &ComponentOptions::default(), 64 << 20)?;
    /// assert_eq!(bands.count(), 2);
    /// let mut labels = Vec::new();
    /// while let Some(band) = bands.next_band::<u32>()? {
    ///     labels.extend_from_slice(band.labels());
    /// }
    /// assert_eq!(labels, [1, 0, 2, 0, 0, 0]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for too little memory; [`Error::EmptyImage`] and
    /// [`Error::ImageTooLarge`] for such a source; [`Error::SizeMismatch`] if the source returns a
    /// band with more rows than asked for, or of another width; those of
    /// [`label_part`](Self::label_part) and of the source.
    pub fn label_bands<S: BandSource>(
        &self,
        source: S,
        options: &ComponentOptions,
        memory: u64,
    ) -> Result<BandLabels<S>> {
        let pixels = u64::from(source.width()) * u64::from(source.height());
        if let Some(engine) = self.chosen(|| Job::LabelBands { pixels }, None) {
            return engine.label_bands(source, options, memory);
        }
        let workers = self.label_workers(options)?;
        BandLabels::begin(source, options, memory, workers, self.progress.clone())
    }

    /// The number of rows per band that [`label_bands`](Self::label_bands) takes for `memory` bytes
    /// of memory. GPUs work on several bands at a time, and so need more of the host's memory than
    /// the processor.
    ///
    /// # Errors
    /// As [`label_bands`](Self::label_bands), for too little memory and for the source's size.
    pub fn label_rows_within<S: BandSource>(
        &self,
        source: &S,
        options: &ComponentOptions,
        memory: u64,
    ) -> Result<u32> {
        let pixels = u64::from(source.width()) * u64::from(source.height());
        if let Some(engine) = self.chosen(|| Job::LabelBands { pixels }, None) {
            return engine.label_rows_within(source, options, memory);
        }
        let workers = self.label_workers(options)?;
        BandLabels::rows_within(source, options, memory, workers.as_ref())
    }

    /// The workers that label bands on the engine's GPUs; `None` if the processor labels them.
    pub(crate) fn label_workers(&self, options: &ComponentOptions) -> Result<Option<Workers>> {
        let device = self.device.as_ref();
        device
            .map(|device| device.label_workers(options))
            .transpose()
    }
}
