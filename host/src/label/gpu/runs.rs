//! Labels from a GPU to the host, by runs where that is faster than by pixels.
//!
//! The labels of all pixels are 32 times as many bytes as the image. As the host has the image's
//! bits, only one label per run has to cross the bus. All threads write the labels of pixels from
//! these, into memory that is written only once. Images of very many runs, such as noise, are
//! copied pixel by pixel.

use rayon::prelude::*;
use trazar_kernels::image::BitImage;
use trazar_kernels::label::number::CHUNK;
use trazar_kernels::label::runs::{count_runs, run_labels};
use trazar_kernels::label::tiles::layout::TileLayout;

use super::DeviceLabeler;
use super::scratch::Scratch;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, grow};
use crate::image::BinaryImage;
use crate::image::gpu::{DeviceImage, DeviceImageBatch};
use crate::label::cpu::{Strip, background, count_runs_in};
use crate::memory::{advise_large_pages, zeroed_vec};

/// The fewest pixels per run for which labels are copied by runs.
pub(in crate::label) const PIXELS_PER_RUN: u64 = 8;

/// Labels per piece of work on the host: 2 MiB. If several threads start to write to one large page
/// at the same time, each of them has it cleared.
const PIECE: usize = 1 << 19;

/// An array of labels in the host's memory.
pub(crate) struct HostLabels<'a> {
    /// One element per pixel.
    pub(crate) labels: &'a mut [u32],
    /// Whether all elements are 0: then background, which is often whole pages, is not written.
    pub(crate) is_zero: bool,
}

/// Images in a GPU's memory whose labels go to the host: one, or several stacked vertically with a
/// row of background after each.
#[derive(Clone, Copy, Debug)]
struct Stacked {
    images: u32,
    /// Rows from the top of an image to the top of the next one.
    pitch: u32,
}

/// The labels of the runs of some images.
struct RunLabels {
    /// Per chunk of words: the number of runs that start before it.
    chunks: Vec<u32>,
    /// Per image: the number of runs that start before it.
    starts: Vec<u32>,
    /// Words from the start of an image to that of the next.
    pitch_words: usize,
    /// Per run, in raster order: its label.
    labels: Vec<u32>,
}

impl<G: Gpu> DeviceLabeler<G> {
    /// The labels of all pixels of `image`, in new memory of the host; `on_device` is the same
    /// image.
    pub(in crate::label) fn labels_to_host(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImage<G>,
        image: &BinaryImage,
    ) -> Result<Vec<u32>> {
        let mut on_host = background(image)?;
        let to = HostLabels {
            labels: &mut on_host,
            is_zero: true,
        };
        self.read_labels(labels, on_device, &Strip::whole(image), to)?;
        Ok(on_host)
    }

    /// Copies `labels` to the host and waits for them. They are the labels of `on_device`, the same
    /// image as the rows `image`.
    pub(in crate::label) fn read_labels(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImage<G>,
        image: &Strip<'_>,
        to: HostLabels<'_>,
    ) -> Result<()> {
        // An image of the most rows has no other below it.
        let pitch = on_device.height().saturating_add(1);
        let single = Stacked { images: 1, pitch };
        match self.labels_of_runs(labels, on_device, single)? {
            Some(runs) => {
                runs.write_pixels(image, 0, to);
                Ok(())
            }
            None => labels.read(to.labels),
        }
    }

    /// Copies the labels of a batch to the host, each image's to its place, and waits for them.
    /// They are the labels of `on_device`, the same images as `images`.
    pub(in crate::label) fn read_batch(
        &self,
        labels: &G::Buffer<u32>,
        on_device: &DeviceImageBatch<G>,
        images: &[&BinaryImage],
        places: &mut [HostLabels<'_>],
    ) -> Result<()> {
        let stacked = Stacked {
            images: images.len() as u32,
            pitch: on_device.pitch(),
        };
        let Some(runs) = self.labels_of_runs(labels, on_device.stack(), stacked)? else {
            let mut start = 0;
            for place in places {
                labels.read_at(start, place.labels)?;
                start += place.labels.len();
            }
            return Ok(());
        };
        let places = places.par_iter_mut().zip(images).enumerate();
        places.for_each(|(i, (to, image))| {
            let to = HostLabels {
                labels: &mut *to.labels,
                is_zero: to.is_zero,
            };
            runs.write_pixels(&Strip::whole(image), i, to);
        });
        Ok(())
    }

    /// The labels of all runs; `None` if copying those of all pixels is as fast, or if there is no
    /// memory for these.
    fn labels_of_runs(
        &self,
        labels: &G::Buffer<u32>,
        image: &DeviceImage<G>,
        stacked: Stacked,
    ) -> Result<Option<RunLabels>> {
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
        let counts = &mut scratch.run_counts;
        match counts.make_room(gpu, word_count) {
            Err(error) if error.is_out_of_memory() => return Ok(None),
            done => done?,
        }
        let (views, scan) = counts.views_mut();
        // SAFETY: the arrays have the lengths for the image, and only this queue uses them. The
        // scan is made ready by the kernel before it.
        unsafe {
            count_runs::launch_threads(&gpu.launcher(), word_count, image, views, scan)?;
            counts.scan_chunks(gpu, word_count)?;
        }
        let total = counts.total()?;
        let pixels = u64::from(layout.width) * u64::from(layout.height);
        if u64::from(total) > pixels / PIXELS_PER_RUN {
            self.kept.put(scratch);
            return Ok(None);
        }
        let pitch_words = stacked.pitch.saturating_mul(layout.row_words);
        let mut found = RunLabels {
            chunks: Vec::new(),
            starts: vec![0],
            pitch_words: pitch_words as usize,
            labels: Vec::new(),
        };
        if total > 0 {
            let labels = gpu.using(labels)?;
            let on_host = zeroed_vec(total as usize, "the labels of runs");
            let of_runs = &mut scratch.of_runs;
            let memory = on_host.and_then(|on_host| {
                grow(gpu, of_runs, total as usize)?;
                Ok(on_host)
            });
            found.labels = match memory {
                Err(error) if error.is_out_of_memory() => return Ok(None),
                memory => memory?,
            };
            let (in_chunk, chunks) = counts.before();
            // SAFETY: there is one label per pixel, `gpu` has acquired image and labels, and the
            // counts are those of this image.
            unsafe {
                run_labels::launch_threads(
                    &gpu.launcher(),
                    word_count,
                    image,
                    labels.view(),
                    in_chunk,
                    chunks,
                    of_runs.view_mut(),
                    stacked.pitch,
                )?;
            }
            labels.finish()?;
            advise_large_pages(&mut found.labels);
            // All threads touch the new memory: a single thread gets its pages at 4 GB/s only.
            crate::threads::ensure();
            let pieces = found.labels.par_chunks_mut(PIECE);
            pieces.for_each(|piece| piece.fill(0));
            of_runs.read_at(0, &mut found.labels)?;
            found.chunks = counts.chunks_to_host(word_count)?;
            if stacked.images > 1 {
                let starts = counts.image_starts(gpu, stacked.images, pitch_words)?;
                found.starts = starts.to_vec()?;
            }
        }
        words.finish()?;
        self.kept.put(scratch);
        Ok(Some(found))
    }
}

impl RunLabels {
    /// Writes the labels of all pixels of the rows `of`, which are image `index`, on all threads.
    fn write_pixels(&self, of: &Strip<'_>, index: usize, to: HostLabels<'_>) {
        crate::threads::ensure();
        let HostLabels { labels, is_zero } = to;
        let image = of.image;
        let width = image.width() as usize;
        let rows = PIECE.div_ceil(width);
        let pieces = labels.par_chunks_mut(rows * width).enumerate();
        pieces.for_each(|(i, labels)| {
            let start = of.rows.start + (i * rows) as u32;
            let piece = Strip {
                image,
                rows: start..start + (labels.len() / width) as u32,
            };
            let runs = self.runs_above(of, index, i * rows);
            let runs = runs.min(self.labels.len());
            piece.fill_runs(labels, &self.labels[runs..], is_zero);
        });
    }

    /// The number of runs of the images above image `index`, which is `of`, and in its first `rows`
    /// rows.
    fn runs_above(&self, of: &Strip<'_>, index: usize, rows: usize) -> usize {
        const CHUNK_WORDS: usize = CHUNK as usize;

        let row_words = of.image.words_per_row();
        let words = &of.image.words()[of.rows.start as usize * row_words..];
        let end = rows * row_words;
        let first = index * self.pitch_words;
        let chunk = (first + end) / CHUNK_WORDS;
        // The chunk may start in the image above.
        let (before, start) = match (chunk * CHUNK_WORDS).checked_sub(first) {
            Some(start) => (self.chunks.get(chunk), start),
            // planted: runs-of-image
            None => (self.starts.get(index), 0),
        };
        // planted: runs-in-chunk
        let in_chunk = count_runs_in(words, row_words, start..end);
        before.map_or(0, |&runs| runs as usize) + in_chunk
    }
}
