//! Labels from a GPU to the host, by runs where that is faster than by pixels.
//!
//! The labels of all pixels are 32 times as many bytes as the image. As the host has the image's
//! bits, only one label per run has to cross the bus. The host counts the runs of its pieces of the
//! image while the GPU labels, so that it waits only for the labels of the runs. Then all threads
//! write the labels of pixels from these, each piece once. Small images, and those of very many
//! runs, such as noise, are copied pixel by pixel.

use rayon::prelude::*;
use trazar_kernels::image::BitImage;
use trazar_kernels::label::runs::{count_runs, run_labels};
use trazar_kernels::label::tiles::layout::TileLayout;

use super::DeviceLabeler;
use super::scratch::Scratch;
use crate::backend::Backend;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, grow};
use crate::image::BinaryImage;
use crate::image::gpu::{DeviceImage, DeviceImageBatch};
use crate::label::cpu::Strip;
use crate::memory::{collect, par_filled_vec, par_zeroed_pieces};

/// The fewest pixels per run for which labels are copied by runs.
pub(in crate::label) const PIXELS_PER_RUN: u64 = 8;

/// The most labels of a piece: 2 MiB. If several threads start to write to one large page of new
/// memory at the same time, each of them has it cleared.
const MOST: usize = 1 << 19;

/// The fewest labels of a piece, for which a thread is worth waking.
const LEAST: usize = 1 << 16;

/// The most pixels whose runs one thread counts: it is done before the GPU has labelled them.
const COUNTED_ALONE: usize = 1 << 22;

/// The most pixels of small images.
const SMALL: usize = 1 << 19;

/// Whether the labels of an image of this many pixels are copied pixel by pixel: waking the threads
/// that write them from runs would take longer. The emulator copies all images by runs. Time plays
/// no role there, and its tests must run the kernels that list the labels of runs.
fn are_few<G: Gpu>(pixels: usize) -> bool {
    pixels <= SMALL && G::BACKEND == Backend::Cuda
}

/// What errors of memory call the pieces.
const PIECES: &str = "the pieces of an image";

/// An array of labels in the host's memory.
pub(crate) struct HostLabels<'a> {
    /// One element per pixel.
    pub(crate) labels: &'a mut [u32],
    /// Whether all elements are 0: then background, which is often whole pages, is not written.
    pub(crate) is_zero: bool,
}

/// Some rows of an image, whose labels one thread writes.
struct Piece<'a> {
    rows: Strip<'a>,
    /// The number of runs of all pieces before it.
    before: usize,
}

impl Piece<'_> {
    /// Writes the labels of its pixels. `of_runs` are those of all pieces' runs.
    fn write(&self, to: &mut [u32], of_runs: &[u32], is_zero: bool) {
        let of_runs = of_runs.get(self.before..).unwrap_or_default();
        self.rows.fill_runs(to, of_runs, is_zero);
    }
}

/// Images of one size in pieces.
struct Pieces<'a> {
    all: Vec<Piece<'a>>,
    /// The number of labels of each piece, but for the last of an image.
    size: usize,
    /// The number of runs of all pieces.
    runs: usize,
}

impl<'a> Pieces<'a> {
    fn of(images: &[Strip<'a>]) -> Result<Self> {
        crate::threads::ensure();
        let pixels: usize = images.iter().map(Strip::pixels).sum();
        let width = images
            .first()
            .map_or(1, |image| image.image.width() as usize);
        // Two per thread, so that all of them end at about the same time.
        let most = (pixels / (2 * rayon::current_num_threads())).clamp(LEAST, MOST);
        let rows = most.div_ceil(width);
        let of_images = images.iter().flat_map(|image| {
            let starts = image.rows.clone().step_by(rows);
            starts.map(|start| {
                // planted: piece-rows
                let end = image.rows.end.min(start.saturating_add(rows as u32));
                Piece {
                    rows: Strip {
                        image: image.image,
                        rows: start..end,
                    },
                    before: 0,
                }
            })
        });
        let mut all = collect(of_images, PIECES)?;
        let count = |piece: &mut Piece<'_>| piece.before = piece.rows.count_runs();
        if pixels <= COUNTED_ALONE {
            all.iter_mut().for_each(count);
        } else {
            all.par_iter_mut().for_each(count);
        }
        let mut runs = 0;
        for piece in &mut all {
            // planted: runs-before-piece
            runs += std::mem::replace(&mut piece.before, runs);
        }
        let size = rows * width;
        Ok(Self { all, size, runs })
    }

    /// Whether labels are copied by runs.
    fn have_few_runs(&self) -> bool {
        let pixels: usize = self.all.iter().map(|piece| piece.rows.pixels()).sum();
        self.runs as u64 <= pixels as u64 / PIXELS_PER_RUN
    }

    /// Writes the labels of all pixels, each image's to its place.
    fn write(&self, places: &mut [HostLabels<'_>], of_runs: &[u32]) -> Result<()> {
        let places = places.iter_mut().flat_map(|place| {
            let is_zero = place.is_zero;
            let parts = place.labels.chunks_mut(self.size);
            parts.map(move |labels| (labels, is_zero))
        });
        let works = collect(self.all.iter().zip(places), PIECES)?;
        let write = |(piece, (labels, is_zero)): (&Piece<'_>, (&mut [u32], bool))| {
            piece.write(labels, of_runs, is_zero);
        };
        if works.len() == 1 {
            // No other thread is worth waking.
            works.into_iter().for_each(write);
        } else {
            works.into_par_iter().for_each(write);
        }
        Ok(())
    }
}

impl<G: Gpu> DeviceLabeler<G> {
    /// The labels of all pixels of `image`, in new memory of the host. Waits for them.
    ///
    /// # Safety
    /// `on_device` has the bits of `image`, and `labels` are its labels.
    pub(in crate::label) unsafe fn labels_to_host(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImage<G>,
        image: &BinaryImage,
    ) -> Result<Vec<u32>> {
        if are_few::<G>(image.pixel_count() as usize) {
            return labels.to_vec();
        }
        let pieces = Pieces::of(&[Strip::whole(image)])?;
        let pitch = pitch_of_one(on_device);
        // SAFETY: the caller's promise.
        match unsafe { self.labels_of_runs(labels, on_device, pitch, &pieces)? } {
            None => labels.to_vec(),
            Some(of_runs) => par_zeroed_pieces(
                image.pixel_count() as usize,
                pieces.size,
                "labels",
                |i, labels| pieces.all[i].write(labels, &of_runs, true),
            ),
        }
    }

    /// Copies `labels` to `to` and waits for them.
    ///
    /// # Safety
    /// `on_device` has the bits of the rows `image`, and `labels` are its labels.
    pub(in crate::label) unsafe fn read_labels(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImage<G>,
        image: Strip<'_>,
        to: HostLabels<'_>,
    ) -> Result<()> {
        let (pitch, places) = (pitch_of_one(on_device), &mut [to]);
        // SAFETY: the caller's promise.
        unsafe { self.read_stack(labels, on_device, pitch, &[image], places) }
    }

    /// Copies the labels of a batch to the host, each image's to its place, and waits for them.
    ///
    /// # Safety
    /// `on_device` has the bits of `images`, and `labels` are their labels.
    pub(in crate::label) unsafe fn read_batch(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImageBatch<G>,
        images: &[&BinaryImage],
        places: &mut [HostLabels<'_>],
    ) -> Result<()> {
        let strips = collect(images.iter().map(|image| Strip::whole(image)), PIECES)?;
        let pitch = on_device.pitch();
        // SAFETY: the caller's promise.
        unsafe { self.read_stack(labels, on_device.stack(), pitch, &strips, places) }
    }

    /// Copies the labels of images of one size that are stacked vertically, with a row of
    /// background after each: there are `pitch` rows from the top of an image to the top of the
    /// next one.
    ///
    /// # Safety
    /// `on_device` has the bits of `images`, and `labels` are their labels.
    unsafe fn read_stack(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImage<G>,
        pitch: u32,
        images: &[Strip<'_>],
        places: &mut [HostLabels<'_>],
    ) -> Result<()> {
        let pixels = places.iter().map(|place| place.labels.len());
        if !are_few::<G>(pixels.sum()) {
            let pieces = Pieces::of(images)?;
            // SAFETY: the caller's promise.
            let of_runs = unsafe { self.labels_of_runs(labels, on_device, pitch, &pieces)? };
            if let Some(of_runs) = of_runs {
                return pieces.write(places, &of_runs);
            }
        }
        let mut start = 0;
        for place in places {
            labels.read_at(start, place.labels)?;
            start += place.labels.len();
        }
        Ok(())
    }

    /// The labels of all runs of `image`, and waits for them; `None` if there are too many, or if
    /// there is no memory for these. `image` may be several images, as
    /// [`read_stack`](Self::read_stack) says.
    ///
    /// # Safety
    /// `image` has the bits of `pieces`, and `labels` are its labels.
    unsafe fn labels_of_runs(
        &self,
        labels: &G::Buffer<u32>,
        image: &DeviceImage<G>,
        pitch: u32,
        pieces: &Pieces<'_>,
    ) -> Result<Option<Vec<u32>>> {
        let runs = pieces.runs;
        if runs == 0 || !pieces.have_few_runs() {
            return Ok((runs == 0).then(Vec::new));
        }
        let gpu = &self.gpu;
        let Some(layout) = TileLayout::new(image.width(), image.height()) else {
            return Ok(None);
        };
        let words = gpu.using(image.words())?;
        let image = BitImage {
            words: words.view(),
            width: layout.width,
            height: layout.height,
            row_words: layout.row_words,
        };
        let word_count = layout.words();
        let mut scratch = Scratch::of(gpu, self.kept.take())?;
        let Scratch {
            run_counts: counts,
            of_runs,
            ..
        } = &mut scratch;
        let room = counts.make_room(gpu, word_count);
        match room.and_then(|()| grow(gpu, of_runs, runs)) {
            Err(error) if error.is_out_of_memory() => return Ok(None),
            done => done?,
        }
        let labels = gpu.using(labels)?;
        let (views, scan) = counts.views_mut();
        // SAFETY: the arrays have the lengths for the image, and only this queue uses them. The
        // scan is made ready by the kernel before it. There is one label per pixel, and `gpu` has
        // acquired image and labels.
        unsafe {
            count_runs::launch_threads(&gpu.launcher(), word_count, image, views, scan)?;
            counts.scan_chunks(gpu, word_count)?;
            let (in_chunk, chunks) = counts.before();
            run_labels::launch_threads(
                &gpu.launcher(),
                word_count,
                image,
                labels.view(),
                in_chunk,
                chunks,
                of_runs.view_mut(),
                pitch,
            )?;
        }
        labels.finish()?;
        words.finish()?;
        // All threads touch new memory: a single thread gets its pages at 4 GB/s only.
        let mut on_host = match par_filled_vec(0, runs, "the labels of runs") {
            Err(error) if error.is_out_of_memory() => return Ok(None),
            on_host => on_host?,
        };
        of_runs.read_at(0, &mut on_host)?;
        self.kept.put(scratch);
        Ok(Some(on_host))
    }
}

/// The pitch of a stack of this image alone. An image of the most rows has no other below it.
fn pitch_of_one<G: Gpu>(image: &DeviceImage<G>) -> u32 {
    image.height().saturating_add(1)
}
