//! Labelling.

use std::sync::{Mutex, PoisonError};

use super::Engine;
use crate::device_choice::Job;
use crate::error::{Error, Result};
use crate::image::BinaryImage;
use crate::label::parts::{
    BandLabels, BandNumbers, BandSource, LabelNumber, LabelPart, Workers, is_wide,
};
use crate::label::{
    self, ComponentOptions, Connectivity, HostLabels, LabelAlgorithm, LabelOptions, LabelSummary,
    Labels,
};
use crate::memory::{collect, with_room};

/// What errors of memory call the results of a batch.
const BATCH: &str = "the labels of a batch";

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
        self.done(device.label(image, options)?)
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
        let algorithm = self.label_algorithm(options);
        algorithm.check_runs_on(self.backend())?;
        let Some(device) = &self.device else {
            return label::cpu::label_into(image, options, algorithm, &self.progress(), labels);
        };
        self.done(device.label_into(image, options, labels)?)
    }

    /// Labels each of many images, as [`label`](Self::label) does. The processor labels several at
    /// the same time. A GPU labels many images of one size at once, by
    /// [`LabelAlgorithm::Tiles`]: one small image alone would leave most of it idle.
    ///
    /// On a GPU, the images that are labelled at once have about 2²⁹ pixels together, which take
    /// 2.9 GB of its memory: 5.4 bytes per pixel. Where there is less, it labels fewer at once.
    ///
    /// ```
    /// use trazar::{BinaryImage, Engine, LabelOptions};
    ///
    /// let images = [BinaryImage::from_art("##.#")?, BinaryImage::from_art("...#")?];
    /// let labels = Engine::cpu().label_batch(&images, &LabelOptions::default())?;
    /// assert_eq!(labels[0].as_slice(), [1, 1, 0, 2]);
    /// assert_eq!(labels[1].as_slice(), [0, 0, 0, 1]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`label`](Self::label), for any of the images.
    pub fn label_batch(
        &self,
        images: &[BinaryImage],
        options: &LabelOptions,
    ) -> Result<Vec<Labels>> {
        if let Some(engine) = self.chosen(
            || Job::labels(images),
            options.algorithm.map(LabelAlgorithm::backends),
        ) {
            return engine.label_batch(images, options);
        }
        if self.device.is_none() {
            return self.each(images, |engine, image| engine.label(image, options));
        }
        let mut labels = with_room(images.len(), BATCH)?;
        for image in images {
            labels.push(label::background(image)?);
        }
        let places = labels.iter_mut().map(|labels| HostLabels {
            labels,
            is_zero: true,
        });
        let found = self.label_places(images, options, collect(places, BATCH)?)?;
        let labels = images.iter().zip(labels).zip(found);
        let labels = labels.map(|((image, labels), found)| Labels::of(image, labels, found));
        collect(labels, BATCH)
    }

    /// As [`label_batch`](Self::label_batch), with the labels written to one array: those of the
    /// first image, row by row and without padding, then those of the second, and so on. The
    /// array's old values do not matter; after an error it holds some of the labels.
    ///
    /// ```
    /// use trazar::{BinaryImage, Engine, LabelOptions};
    ///
    /// let images = [BinaryImage::from_art("##.#")?, BinaryImage::from_art(".#")?];
    /// let mut labels = [7; 6];
    /// let found = Engine::cpu().label_batch_into(&images, &LabelOptions::default(), &mut labels)?;
    /// assert_eq!(labels, [1, 1, 0, 2, 0, 1]);
    /// assert_eq!([found[0].count, found[1].count], [2, 1]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`label`](Self::label), for any of the images, and
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if there is not one element per
    /// pixel of all images.
    pub fn label_batch_into(
        &self,
        images: &[BinaryImage],
        options: &LabelOptions,
        labels: &mut [u32],
    ) -> Result<Vec<LabelSummary>> {
        let needed = images.iter().map(BinaryImage::pixel_count).sum::<u64>() as usize;
        if labels.len() != needed {
            return Err(Error::LengthMismatch {
                needed,
                given: labels.len(),
            });
        }
        if let Some(engine) = self.chosen(
            || Job::labels(images),
            options.algorithm.map(LabelAlgorithm::backends),
        ) {
            return engine.label_batch_into(images, options, labels);
        }
        let mut rest = labels;
        let places = images.iter().map(|image| {
            let (labels, after) =
                std::mem::take(&mut rest).split_at_mut(image.pixel_count() as usize);
            rest = after;
            HostLabels {
                labels,
                is_zero: false,
            }
        });
        let places = collect(places, BATCH)?;
        if self.device.is_some() {
            return self.label_places(images, options, places);
        }
        let places = places.into_iter().map(|place| Mutex::new(place.labels));
        let work = collect(images.iter().zip(places), BATCH)?;
        self.each(&work, |engine, (image, place)| {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            engine.label_into(image, options, &mut place)
        })
    }

    /// Labels images on the engine's device, each image's labels to its place: those of one size at
    /// once, wherever they are among the others.
    fn label_places(
        &self,
        images: &[BinaryImage],
        options: &LabelOptions,
        places: Vec<HostLabels<'_>>,
    ) -> Result<Vec<LabelSummary>> {
        let Some(device) = &self.device else {
            return Ok(Vec::new());
        };
        options
            .algorithm_on(self.backend())
            .check_runs_on(self.backend())?;
        let mut order = collect(0..images.len(), BATCH)?;
        let size = |&i: &usize| (images[i].width(), images[i].height());
        order.sort_by_key(size);
        let mut places = collect(places.into_iter().map(Some), BATCH)?;
        let mut found = collect(images.iter().map(|_| None), BATCH)?;
        let mut left = &order[..];
        let mut done = 0;
        while let Some(first) = left.first() {
            let (width, height) = size(first);
            let one_size = left.iter().take_while(|i| size(i) == (width, height));
            let at_once = labelled_at_once(width, height).min(one_size.count());
            let (now, rest) = left.split_at(at_once);
            left = rest;
            if let ([i], Some(to)) = (now, places[now[0]].as_mut())
                && !label::fits_a_batch(width, height)
            {
                found[*i] = Some(device.label_into(&images[*i], options, to.labels)?);
            } else {
                let of_batch = collect(now.iter().map(|&i| &images[i]), BATCH)?;
                let mut to = collect(now.iter().filter_map(|&i| places[i].take()), BATCH)?;
                let summaries = device.label_batch(&of_batch, options, &mut to)?;
                for (&i, summary) in now.iter().zip(summaries) {
                    found[i] = Some(summary);
                }
            }
            done += at_once;
            self.progress().report(done as u64, images.len() as u64)?;
        }
        collect(found.into_iter().flatten(), BATCH)
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

/// The most images of that size that a GPU labels at once: about 2²⁹ pixels in whole words, but at
/// least one image.
fn labelled_at_once(width: u32, height: u32) -> usize {
    const WORDS: u64 = 1 << 23;
    let words = u64::from(width.div_ceil(64)) * (u64::from(height) + 1);
    (WORDS / words).max(1) as usize
}
