//! Images in bands of rows that 32 bits index.
//!
//! One buffer has the labels of all bands. The kernels label each band as an image of its own, but
//! do not write the labels; all of this is queued at once. Then the bands' rims come to the host,
//! where [`LabelPart::join`] joins them. `renumber_table` writes the final numbers of a band's
//! components, and `tiles_write_numbered` the labels. A band has a multiple of 64 rows, so that its
//! words and its labels start at addresses that kernels can use.
//!
//! Where labels with the band's own numbers are needed first, the kernel `renumber` replaces them
//! afterwards. That is so for measuring components, for the algorithm
//! [`Direct`](LabelAlgorithm::Direct), and when there is too little memory to keep the tiles.

use std::ops::Range;

use trazar_kernels::image::row_words;
use trazar_kernels::label::renumber::{self, Absorbed, renumber_table};
use trazar_kernels::label::tiles::layout::TileLayout;
use trazar_kernels::label::tiles::write::LARGEST_NUMBER;

use super::DeviceLabeler;
use super::labels::DeviceLabels;
use super::statistics::{MeasureBuffers, check_sums};
use super::tiles::Tiles;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, read_first};
use crate::image::gpu::DeviceImage;
use crate::label::cpu::Tally;
use crate::label::parts::{LabelPart, LabelTable, RimRow, rows_in_image};
use crate::label::{Component, LabelAlgorithm, LabelOptions};
use crate::memory::{extend, zeroed_vec};

/// Bands have a multiple of this many rows: the height of a tile.
const ROWS: u32 = 64;

/// The most pixels of a band when an image has to be divided: enough to keep the GPU busy, and few
/// enough that the memory for labelling a band is small beside the labels.
const BAND_PIXELS: u32 = 1 << 30;

/// The bands of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    width: u32,
    height: u32,
    /// The number of rows of all bands but the last one.
    rows: u32,
}

impl Division {
    /// Divides an image into bands of at most `most` pixels, but at least 64 rows; without `most`,
    /// only if 32 bits can't index the whole image.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] if 32 bits can't index the pixels of 64 rows.
    pub(super) fn new(width: u32, height: u32, most: Option<u32>) -> Result<Self> {
        let fits = |rows: u32| fits_one_band(width, rows.min(height));
        let mut rows = match most {
            None if fits(height) => height,
            most => (most.unwrap_or(BAND_PIXELS) / width / ROWS).max(1) * ROWS,
        };
        while !fits(rows) {
            if rows <= ROWS {
                return Err(Error::ImageTooLarge {
                    width: width.into(),
                    height: height.into(),
                    limit: "on the GPU, 32 bits index the pixels of 64 rows; label it on the CPU",
                });
            }
            rows = (rows / 2).next_multiple_of(ROWS);
        }
        Ok(Self {
            width,
            height,
            rows,
        })
    }

    /// The tiles of the whole image, if there is one band.
    pub(super) fn whole(self) -> Option<TileLayout> {
        let one_band = self.rows >= self.height;
        one_band.then(|| TileLayout::new(self.width, self.height))?
    }

    /// The bands' rows, and their tiles.
    fn bands(self) -> impl Iterator<Item = (Range<u32>, TileLayout)> {
        let starts = (0..self.height).step_by(self.rows as usize);
        starts.filter_map(move |start| {
            let rows = start..self.height.min(start + self.rows);
            Some((
                rows.clone(),
                TileLayout::new(self.width, rows.end - rows.start)?,
            ))
        })
    }

    /// The rows of the bands.
    pub(super) fn rows(self) -> impl Iterator<Item = Range<u32>> {
        self.bands().map(|(rows, _)| rows)
    }
}

/// Whether an image of that size is one band: 32 bits index its pixels.
pub(in crate::label) fn fits_one_band(width: u32, height: u32) -> bool {
    TileLayout::new(width, height).is_some()
}

/// The elements of `rows` in an array of `per_row` elements per row.
pub(super) fn elements(rows: &Range<u32>, per_row: u32) -> Range<usize> {
    // planted: band-elements
    let at = |row: u32| row as usize * per_row as usize;
    at(rows.start)..at(rows.end)
}

/// Labels of some rows of an image in a GPU's memory, before [`finish`](Self::finish) gives
/// them the numbers that components have in the image.
#[derive(Debug)]
pub struct UnfinishedLabels<'a, G: Gpu> {
    /// The queue that labels them.
    gpu: G,
    image: &'a DeviceImage<G>,
    /// The row of the whole image at which this part begins.
    first_row: u32,
    bands: Vec<Band<G>>,
    /// Per pixel of the bands that are written: the component's number in its band.
    labels: G::Buffer<u32>,
}

/// A band of [`UnfinishedLabels`].
#[derive(Debug)]
struct Band<G: Gpu> {
    /// Its rows in the part.
    rows: Range<u32>,
    /// The number of its own components.
    count: u32,
    /// The source of the labels; `None` once they are written.
    tiles: Option<Tiles<G>>,
}

/// A band whose kernels are queued.
enum Queued<G: Gpu> {
    /// The labels are written. The buffer has one element: the number of components.
    Written(G::Buffer<u32>),
    /// [`Tiles::write`] is to write the labels. The buffer has the numbers on the band's rim.
    Joined(Tiles<G>, G::Buffer<u32>),
}

/// The labelling of some rows in bands, by [`DeviceLabeler::label_rows`].
struct PartWork<'a, G: Gpu> {
    labeler: &'a DeviceLabeler<G>,
    options: &'a LabelOptions,
    division: Division,
    /// The pixels, which the labeler's queue has acquired.
    words: &'a G::Buffer<u64>,
    /// The array for the labels of all bands.
    labels: G::Buffer<u32>,
}

impl<G: Gpu> PartWork<'_, G> {
    /// Queues all bands, with their labels.
    fn queue_written(&mut self) -> Result<Vec<Queued<G>>> {
        let width = self.division.width;
        let mut queued = Vec::new();
        for (rows, layout) in self.division.bands() {
            let bits = self.words.view_of(elements(&rows, row_words(width)));
            let labels = self.labels.view_mut_of(elements(&rows, width));
            // SAFETY: these are the band's words and labels. The labels belong to the labeler's
            // queue, which has acquired the words.
            let total = unsafe { self.labeler.label_view(bits, labels, layout, self.options) }?;
            queued.push(Queued::Written(total));
        }
        Ok(queued)
    }

    /// Queues all bands up to their rims. Where memory is short, the labels of the bands so far are
    /// written, so that their tiles are dropped.
    fn queue_joined(&mut self) -> Result<Vec<Queued<G>>> {
        let (gpu, connectivity) = (&self.labeler.gpu, self.options.components.connectivity);
        let width = self.division.width;
        let mut queued: Vec<Queued<G>> = Vec::new();
        for (rows, layout) in self.division.bands() {
            let mut tiles = match Tiles::new(gpu, layout, connectivity, None) {
                Ok(tiles) => tiles,
                Err(error) if !error.is_out_of_memory() => return Err(error),
                Err(_) => {
                    queued = self.write_all(queued)?;
                    Tiles::new(gpu, layout, connectivity, None)?
                }
            };
            let bits = self.words.view_of(elements(&rows, row_words(width)));
            let by_pixel = self.labels.view_mut_of(elements(&rows, width));
            // SAFETY: these are the band's words and labels. The labels belong to `gpu`, which has
            // acquired the words.
            let rim = unsafe {
                tiles.label(gpu, bits, by_pixel)?;
                tiles.join(gpu, bits, by_pixel)?;
                tiles.rim(gpu, bits, by_pixel.as_view())?
            };
            queued.push(Queued::Joined(tiles, rim));
        }
        Ok(queued)
    }

    /// Writes the labels of the first bands, those in `queued`, and drops their tiles.
    fn write_all(&mut self, queued: Vec<Queued<G>>) -> Result<Vec<Queued<G>>> {
        let gpu = &self.labeler.gpu;
        let bands = self.division.rows().zip(queued);
        let written = bands.map(|(rows, band)| {
            Ok(Queued::Written(match band {
                Queued::Written(total) => total,
                Queued::Joined(tiles, _) => {
                    let at = (self.division.width, &rows);
                    // SAFETY: `tiles` joined these words and labels on `gpu`, which has acquired
                    // the words.
                    unsafe { write_own(tiles, gpu, self.words, &mut self.labels, at) }?
                }
            }))
        });
        written.collect()
    }

    /// The first and the last row of a band. `rim` has their labels, if these are not written yet.
    fn rim_rows(&self, rows: &Range<u32>, rim: Option<G::Buffer<u32>>) -> Result<[RimRow; 2]> {
        let width = self.division.width;
        // Of the first row, and then of the last one.
        let mut of_rim: Vec<u32> = zeroed_vec(2 * width as usize, "the labels of two rows")?;
        match rim {
            Some(rim) => rim.read(&mut of_rim)?,
            None => {
                let (of_top, of_bottom) = of_rim.split_at_mut(width as usize);
                let band = elements(rows, width);
                self.labels.read_at(band.start, of_top)?;
                self.labels.read_at(band.end - of_bottom.len(), of_bottom)?;
            }
        }
        let row = |y: u32, labels: &[u32]| -> Result<RimRow> {
            let mut bits = zeroed_vec(row_words(width) as usize, "a row")?;
            let at = elements(&(y..y + 1), row_words(width)).start;
            self.words.read_at(at, &mut bits)?;
            Ok(RimRow::of_labels(bits, labels))
        };
        let (of_top, of_bottom) = of_rim.split_at(width as usize);
        Ok([row(rows.start, of_top)?, row(rows.end - 1, of_bottom)?])
    }

    /// The tallies of a band's `count` components, whose labels are written. The band begins at row
    /// `first_row` of the image.
    fn tallies(&self, rows: &Range<u32>, first_row: u32, count: u32) -> Result<Vec<Tally<u64>>> {
        let gpu = &self.labeler.gpu;
        let width = self.division.width;
        let mut measures = MeasureBuffers::new(gpu, count)?;
        // SAFETY: these are the band's words and labels, none of which is larger than the number of
        // its components. `gpu` has acquired the words.
        unsafe {
            measures.add(
                gpu,
                self.words.view_of(elements(rows, row_words(width))),
                self.labels.view_of(elements(rows, width)),
                (width, rows.end - rows.start),
                first_row,
            )?;
        }
        measures.tallies()
    }
}

/// Writes the labels of the image's rows `rows`, with the numbers of their band. Returns the array
/// of one element that is the number of components, so that the memory of `tiles` is given back.
///
/// # Safety
/// `tiles` joined these words and labels on `gpu`, which has acquired the words.
unsafe fn write_own<G: Gpu>(
    mut tiles: Tiles<G>,
    gpu: &G,
    words: &G::Buffer<u64>,
    labels: &mut G::Buffer<u32>,
    (width, rows): (u32, &Range<u32>),
) -> Result<G::Buffer<u32>> {
    let bits = words.view_of(elements(rows, row_words(width)));
    let labels = labels.view_mut_of(elements(rows, width));
    // SAFETY: the caller's promise.
    unsafe { tiles.write(gpu, bits, labels, None) }?;
    tiles.take_total(gpu)
}

impl<G: Gpu> UnfinishedLabels<'_, G> {
    /// Writes the labels with the numbers of `table`, which must come from the parts of all rows of
    /// the image. On an NVIDIA GPU, this queues the work, on the queue that labelled the part, and
    /// returns before it is done.
    ///
    /// The result's [`count`](DeviceLabels::count) is that of the image.
    ///
    /// # Errors
    /// [`Error::TooMany`] for more than 2³² - 1 components; [`Error::PartsDiffer`] if `table` is
    /// not of an image with these rows; `Error::Cuda`, [`Error::Emulator`].
    pub fn finish(self, table: &LabelTable) -> Result<DeviceLabels<G>> {
        table.check_fits::<u32>()?;
        let gpu = &self.gpu;
        let (mut own, mut numbers) = (Vec::new(), Vec::new());
        let mut bands = Vec::with_capacity(self.bands.len());
        for own_band in self.bands {
            let (rows, count) = (&own_band.rows, own_band.count);
            let band = table.band_at(self.first_row + rows.start)?;
            if band.count != count || band.rows.len() != rows.len() {
                let said = |rows: usize, count| format!("{count} in {rows} rows");
                return Err(Error::PartsDiffer {
                    what: "number of components",
                    upper: said(rows.len(), count),
                    lower: said(band.rows.len(), band.count),
                });
            }
            let first = own.len();
            for (number, in_image) in band.absorbed() {
                own.push(number);
                numbers.push(in_image as u32);
            }
            bands.push((own_band, band.before as u32, first..own.len()));
        }
        // All copies come before the kernels, as the host waits for copies.
        let (own, numbers) = (gpu.upload(&own)?, gpu.upload(&numbers)?);
        let total = gpu.upload(&[table.count() as u32])?;
        let fits = table.count() <= LARGEST_NUMBER.into();
        let (width, height) = (self.image.width(), self.image.height());
        let words = gpu.using(self.image.words())?;
        let mut labels = self.labels;
        for (Band { rows, count, tiles }, before, absorbed) in bands {
            let bits = words.view_of(elements(&rows, row_words(width)));
            let labels = labels.view_mut_of(elements(&rows, width));
            let mut of_band = None;
            if before != 0 || !absorbed.is_empty() {
                let absorbed = Absorbed {
                    own: own.view_of(absorbed.clone()),
                    numbers: numbers.view_of(absorbed),
                };
                let of_band = of_band
                    .insert(gpu.alloc::<u32>(count as usize + 1)?)
                    .view_mut();
                let threads = of_band.len() as u64;
                // SAFETY: the table has one element per component of the band and one for
                // background.
                unsafe {
                    renumber_table::launch_threads(
                        &gpu.launcher(),
                        threads,
                        absorbed,
                        before,
                        of_band,
                    )?;
                }
            }
            let mut to_apply = of_band.as_ref().map(GpuBuffer::view);
            if let Some(tiles) = tiles {
                let at_once = if fits { to_apply.take() } else { None };
                // SAFETY: `tiles` joined these words and labels on `gpu`, which has acquired the
                // words. No number in the image is larger than the number of its components.
                unsafe { tiles.write(gpu, bits, labels, at_once) }?;
            }
            if let Some(table) = to_apply {
                let threads = renumber::threads(labels.len() as u32);
                // SAFETY: no label of the band is larger than the number of its components. The
                // band has fewer than 2³² pixels, and starts at a multiple of 64 rows.
                unsafe {
                    renumber::renumber::launch_threads(&gpu.launcher(), threads, table, labels)?;
                }
            }
        }
        words.finish()?;
        Ok(DeviceLabels::new((width, height), labels, total))
    }

    /// The number of each pixel's component in its band.
    pub(in crate::label) fn own_labels(&mut self) -> Result<&G::Buffer<u32>> {
        let words = self.gpu.using(self.image.words())?;
        for band in &mut self.bands {
            if let Some(tiles) = band.tiles.take() {
                let at = (self.image.width(), &band.rows);
                // SAFETY: `tiles` joined these words and labels on `gpu`, which has acquired the
                // words.
                unsafe { write_own(tiles, &self.gpu, &words, &mut self.labels, at) }?;
            }
        }
        words.finish()?;
        Ok(&self.labels)
    }
}

impl<G: Gpu> DeviceLabeler<G> {
    /// Labels some rows of an image, the first of which is the image's row `first_row`. Waits for
    /// the work.
    ///
    /// The labels are not written yet: [`UnfinishedLabels::finish`] writes them, once. Until then,
    /// 1.2 bytes per pixel are needed besides them, if the GPU has as many.
    ///
    /// The [`LabelPart`] is joined to those of the other rows, which may have been labelled
    /// anywhere. From all of them comes the [`LabelTable`] for [`UnfinishedLabels::finish`].
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::label::LabelPart;
    /// use trazar::{BinaryImage, DeviceImage, DeviceLabeler, LabelOptions};
    ///
    /// // Each half of the image on a GPU of its own.
    /// let gpus = [Emulator::new(0), Emulator::new(1)].map(DeviceLabeler::on);
    /// let upper = DeviceImage::upload(gpus[0].gpu(), &BinaryImage::from_art("#.#\n#.#")?)?;
    /// let lower = DeviceImage::upload(gpus[1].gpu(), &BinaryImage::from_art("###\n...")?)?;
    /// let options = LabelOptions::default();
    /// let (above, upper) = gpus[0].label_part(&upper, 0, &options)?;
    /// let (below, lower) = gpus[1].label_part(&lower, 2, &options)?;
    /// let table = LabelPart::join(upper, lower)?.finish()?;
    /// let above = above.finish(&table)?.to_host()?;
    /// assert_eq!(above.as_slice(), [1, 0, 1, 1, 0, 1]);
    /// let below = below.finish(&table)?.to_host()?;
    /// assert_eq!(below.as_slice(), [1, 1, 1, 0, 0, 0]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`label`](Self::label); [`Error::ImageTooLarge`] if a row lies below the last one
    /// that an image can have; [`Error::OutOfMemory`].
    pub fn label_part<'a>(
        &self,
        image: &'a DeviceImage<G>,
        first_row: u32,
        options: &LabelOptions,
    ) -> Result<(UnfinishedLabels<'a, G>, LabelPart)> {
        let (labels, part, _) = self.label_rows(image, first_row, options, true)?;
        Ok((labels, part))
    }

    /// As [`label_part`](Self::label_part). With statistics and `keep_inside`, the part has the
    /// measures of the components inside the bands. Without `keep_inside`, the measures of all
    /// components are returned instead, band after band.
    pub(in crate::label) fn label_rows<'a>(
        &self,
        image: &'a DeviceImage<G>,
        first_row: u32,
        options: &LabelOptions,
        keep_inside: bool,
    ) -> Result<(UnfinishedLabels<'a, G>, LabelPart, Vec<Component>)> {
        let (width, height) = (image.width(), image.height());
        let division = Division::new(width, height, self.band_pixels)?;
        let algorithm = options.algorithm_on(G::BACKEND);
        algorithm.check_runs_on(G::BACKEND)?;
        rows_in_image(width, first_row, height)?;
        let gpu = &self.gpu;
        let words = gpu.using(image.words())?;
        let mut work = PartWork {
            labeler: self,
            options,
            division,
            words: &words,
            labels: gpu.alloc::<u32>(elements(&(0..height), width).len())?,
        };
        // Components are measured by the band's own numbers.
        let is_deferred = algorithm == LabelAlgorithm::Tiles && !options.components.statistics;
        let queued = if is_deferred {
            work.queue_joined()?
        } else {
            work.queue_written()?
        };
        let mut bands = Vec::with_capacity(queued.len());
        let mut joined: Option<LabelPart> = None;
        let mut all = Vec::new();
        for (rows, band) in division.rows().zip(queued) {
            let (count, tiles, rim) = match band {
                Queued::Written(total) => (read_first(&total)?, None, None),
                Queued::Joined(tiles, rim) => (tiles.count()?, Some(tiles), Some(rim)),
            };
            let [top, bottom] = work.rim_rows(&rows, rim)?;
            let in_image = first_row + rows.start..first_row + rows.end;
            let first_of_band = in_image.start;
            let mut part =
                LabelPart::of_band(width, in_image, &options.components, count, top, bottom)?;
            if options.components.statistics {
                check_sums(width, first_row + height)?;
                let tallies = work.tallies(&rows, first_of_band, count)?;
                part.set_tallies(&tallies);
                let measures = tallies.into_iter().map(|tally| tally.finish());
                if keep_inside {
                    part.set_inside(measures.collect());
                } else {
                    extend(&mut all, measures, "the components' measures")?;
                }
            }
            joined = Some(match joined.take() {
                Some(upper) => LabelPart::join(upper, part)?,
                None => part,
            });
            bands.push(Band { rows, count, tiles });
        }
        let labels = UnfinishedLabels {
            gpu: gpu.clone(),
            image,
            first_row,
            bands,
            labels: work.labels,
        };
        words.finish()?;
        match joined {
            Some(part) => Ok((labels, part, all)),
            // An image has at least one row, and so one band.
            None => Err(Error::EmptyImage {
                width: width.into(),
                height: height.into(),
            }),
        }
    }

    /// Labels an image in several bands.
    pub(super) fn label_in_bands(
        &self,
        image: &DeviceImage<G>,
        options: &LabelOptions,
    ) -> Result<DeviceLabels<G>> {
        // The whole image is measured at the end, so that no measures have to be joined.
        let (labels, part) = self.label_part(image, 0, &options.statistics(false))?;
        let labels = labels.finish(&part.finish()?)?;
        self.with_statistics(image, labels, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bands of images of more pixels than 32 bits count begin where the bands above end, in the
    /// arrays of words and of labels.
    #[test]
    fn elements_of_bands_past_2_32() {
        for (width, height) in [
            (65_536, 65_537),
            (100_000, 100_000),
            (1 << 25, 300),
            (70, 200),
        ] {
            let division = Division::new(width, height, None).unwrap();
            for per_row in [width, row_words(width)] {
                let mut end = 0;
                for rows in division.rows() {
                    let found = elements(&rows, per_row);
                    let count = u128::from(rows.end - rows.start) * u128::from(per_row);
                    let expected = end..end + count;
                    assert_eq!(
                        found.start as u128..found.end as u128,
                        expected,
                        "not the CPU's elements of {rows:?}, {width} × {height}"
                    );
                    end += count;
                }
                assert_eq!(end, u128::from(height) * u128::from(per_row));
            }
        }
    }
}
