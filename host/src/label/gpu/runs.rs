//! Labels from a GPU to the host, by runs where that is faster than by pixels.
//!
//! The labels of all pixels are 32 times as many bytes as the image. As the host has the image's
//! bits, only one label per run has to cross the bus. The host counts the runs of its pieces of the
//! image while the GPU labels, so that it waits only for the labels of the runs. Then all threads
//! write the labels of pixels from these, each piece once. Images of very many runs, such as noise,
//! are copied pixel by pixel.

use rayon::prelude::*;
use trazar_kernels::image::BitImage;
use trazar_kernels::label::runs::{count_runs, run_labels};
use trazar_kernels::label::tiles::layout::TileLayout;

use super::DeviceLabeler;
use super::scratch::Scratch;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, grow};
use crate::image::BinaryImage;
use crate::image::gpu::{DeviceImage, DeviceImageBatch};
use crate::label::cpu::{Strip, background};
use crate::memory::{collect, par_filled_vec};

/// The fewest pixels per run for which labels are copied by runs.
pub(in crate::label) const PIXELS_PER_RUN: u64 = 8;

/// The most labels of a piece: 2 MiB. If several threads start to write to one large page of new
/// memory at the same time, each of them has it cleared.
const MOST: usize = 1 << 19;

/// The fewest labels of a piece, for which a thread is worth waking.
const LEAST: usize = 1 << 14;

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
    to: HostLabels<'a>,
    /// The number of runs of all pieces before it.
    before: usize,
}

impl<G: Gpu> DeviceLabeler<G> {
    /// The labels of all pixels of `image`, in new memory of the host.
    ///
    /// # Safety
    /// `on_device` has the bits of `image`, and `labels` are its labels.
    pub(in crate::label) unsafe fn labels_to_host(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImage<G>,
        image: &BinaryImage,
    ) -> Result<Vec<u32>> {
        let mut on_host = background(image)?;
        let mut to = HostLabels {
            labels: &mut on_host,
            is_zero: true,
        };
        // SAFETY: the caller's promise.
        unsafe { self.read_labels(labels, on_device, Strip::whole(image), &mut to)? };
        Ok(on_host)
    }

    /// Copies `labels` to the host and waits for them.
    ///
    /// # Safety
    /// `on_device` has the bits of the rows `image`, and `labels` are its labels.
    pub(in crate::label) unsafe fn read_labels(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImage<G>,
        image: Strip<'_>,
        to: &mut HostLabels<'_>,
    ) -> Result<()> {
        // An image of the most rows has no other below it.
        let pitch = on_device.height().saturating_add(1);
        let to = std::slice::from_mut(to);
        // SAFETY: the caller's promise.
        unsafe { self.read_stack(labels, on_device, pitch, &[image], to) }
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

    /// Copies the labels of images that are stacked vertically, with a row of background after
    /// each: there are `pitch` rows from the top of an image to the top of the next one.
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
        crate::threads::ensure();
        let mut pieces = pieces(images, places)?;
        let count = |piece: &mut Piece<'_>| piece.before = piece.rows.count_runs();
        pieces.par_iter_mut().for_each(count);
        let mut runs = 0;
        for piece in &mut pieces {
            // planted: runs-before-piece
            runs += std::mem::replace(&mut piece.before, runs);
        }
        let pixels: usize = pieces.iter().map(|piece| piece.to.labels.len()).sum();
        let mut of_runs = None;
        if runs as u64 <= pixels as u64 / PIXELS_PER_RUN {
            // SAFETY: the caller's promise.
            of_runs = unsafe { self.labels_of_runs(labels, on_device, pitch, runs)? };
        }
        let Some(of_runs) = of_runs else {
            let mut start = 0;
            for place in places {
                labels.read_at(start, place.labels)?;
                start += place.labels.len();
            }
            return Ok(());
        };
        pieces.into_par_iter().for_each(|piece| {
            let of_piece = of_runs.get(piece.before..).unwrap_or_default();
            piece
                .rows
                .fill_runs(piece.to.labels, of_piece, piece.to.is_zero);
        });
        Ok(())
    }

    /// The labels of all `runs` runs of `image`; `None` if there is no memory for these. Waits for
    /// them.
    ///
    /// # Safety
    /// `image` has this number of runs, and `labels` are its labels. It may be several images, as
    /// [`read_stack`](Self::read_stack) says.
    unsafe fn labels_of_runs(
        &self,
        labels: &G::Buffer<u32>,
        image: &DeviceImage<G>,
        pitch: u32,
        runs: usize,
    ) -> Result<Option<Vec<u32>>> {
        if runs == 0 {
            return Ok(Some(Vec::new()));
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
        let on_host = match par_filled_vec(0, runs, "the labels of runs") {
            Err(error) if error.is_out_of_memory() => None,
            on_host => {
                let mut on_host = on_host?;
                of_runs.read_at(0, &mut on_host)?;
                Some(on_host)
            }
        };
        self.kept.put(scratch);
        Ok(on_host)
    }
}

/// The images' rows in pieces, each with its place; without the numbers of runs.
fn pieces<'a>(images: &[Strip<'a>], places: &'a mut [HostLabels<'_>]) -> Result<Vec<Piece<'a>>> {
    let pixels: usize = places.iter().map(|place| place.labels.len()).sum();
    // Two per thread, so that all of them end at about the same time.
    let most = (pixels / (2 * rayon::current_num_threads())).clamp(LEAST, MOST);
    let of_images = images.iter().zip(places).flat_map(|(image, place)| {
        let is_zero = place.is_zero;
        let width = image.image.width() as usize;
        let rows = most.div_ceil(width);
        let pieces = place.labels.chunks_mut(rows * width).enumerate();
        pieces.map(move |(i, labels)| {
            // planted: piece-rows
            let start = image.rows.start + (i * rows) as u32;
            Piece {
                rows: Strip {
                    image: image.image,
                    rows: start..start + (labels.len() / width) as u32,
                },
                to: HostLabels { labels, is_zero },
                before: 0,
            }
        })
    });
    collect(of_images, PIECES)
}
