//! One image on several queues: of one GPU, whose copies and launches overlap, or of several GPUs.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;

use trazar_kernels::image::row_words;

use super::DeviceLabeler;
use super::bands::{elements, fits_one_band};
use super::runs::HostLabels;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, Workers, with_overlapping};
use crate::image::BinaryImage;
use crate::image::gpu::DeviceImage;
use crate::label::cpu::{Strip, background};
use crate::label::parts::{LabelPart, LabelTable};
use crate::label::{LabelOptions, LabelSummary, Labels};

/// The most pixels of a band: few enough that a GPU with little memory has room for two bands, and
/// enough that copying the labels takes longer than the other work per band.
const BAND_PIXELS: u32 = 1 << 28;

/// As [`label_host_into`], with the labels in new memory.
pub(crate) fn label_host<G: Gpu + Send + Sync>(
    gpus: &[G],
    image: &BinaryImage,
    options: &LabelOptions,
) -> Result<Labels> {
    let mut labels = background(image)?;
    let to = HostLabels {
        labels: &mut labels,
        is_zero: true,
    };
    let found = label_host_into(gpus, image, options, to)?;
    Ok(Labels::of(image, labels, found))
}

/// Labels an image in the host's memory on `gpus`, each with a second queue if it supports
/// overlapping ones. Bands of rows are copied up, labelled and joined, and then labelled again with
/// the numbers of the image. Labelling a band takes a small part of the time for copying its labels
/// down.
///
/// The labels are written to `to`, one element per pixel.
///
/// Memory on each GPU: 11 bytes per pixel of a band, of at most 2²⁸ pixels; and with statistics 44
/// bytes per component of two bands.
pub(crate) fn label_host_into<G: Gpu + Send + Sync>(
    gpus: &[G],
    image: &BinaryImage,
    options: &LabelOptions,
    to: HostLabels<'_>,
) -> Result<LabelSummary> {
    options.algorithm_on(G::BACKEND).check_runs_on(G::BACKEND)?;
    let labelers: Vec<_> = with_overlapping(gpus)?
        .into_iter()
        .map(DeviceLabeler::on)
        .collect();
    let rows = rows_of_bands(image, labelers.len());
    let bands = Bands { image, rows };
    let count = bands.count();

    let parts: Mutex<Vec<Option<LabelPart>>> = Mutex::new((0..count).map(|_| None).collect());
    for_each_band(&labelers, count, |labeler, i| {
        let rows = bands.rows_of(i);
        let on_device = bands.upload(labeler, &rows)?;
        let (_, part) = labeler.label_part(&on_device, rows.start, options)?;
        parts.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(part);
        Ok(())
    })?;
    let parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let table = join(parts.into_iter().flatten())?;
    table.check_fits::<u32>()?;

    let HostLabels { labels, is_zero } = to;
    let places = labels.chunks_mut(elements(&(0..rows), image.width()).len());
    let places: Vec<_> = places.map(|place| Mutex::new(Some(place))).collect();
    let without = options.statistics(false);
    for_each_band(&labelers, count, |labeler, i| {
        let rows = bands.rows_of(i);
        let on_device = bands.upload(labeler, &rows)?;
        let (own, _) = labeler.label_part(&on_device, rows.start, &without)?;
        let finished = own.finish(&table)?;
        let mut place = places[i].lock().unwrap_or_else(PoisonError::into_inner);
        let Some(labels) = place.take() else {
            return Ok(());
        };
        let to = HostLabels { labels, is_zero };
        let rows = Strip { image, rows };
        // SAFETY: these rows have been uploaded, and labelled.
        unsafe { labeler.read_labels(finished.labels(), &on_device, rows, to) }
    })?;
    Ok(LabelSummary {
        count: table.count() as u32,
        components: table.components().map(<[_]>::to_vec),
    })
}

/// The number of rows of a band: several bands per queue, so that all end at about the same time.
fn rows_of_bands(image: &BinaryImage, queues: usize) -> u32 {
    const BANDS_PER_QUEUE: u32 = 4;
    const ROWS: u32 = 64;
    let shared = image.height().div_ceil(queues as u32 * BANDS_PER_QUEUE);
    let most = (BAND_PIXELS / image.width()).max(1);
    let rows = shared.next_multiple_of(ROWS).min(most);
    // In narrow images, 32 bits may not index the tiles of that many rows.
    let mut rows = rows.max(ROWS.min(most));
    while rows > 1 && !fits_one_band(image.width(), rows) {
        rows = rows.div_ceil(2);
    }
    rows
}

/// The bands of an image in the host's memory.
struct Bands<'a> {
    image: &'a BinaryImage,
    rows: u32,
}

impl Bands<'_> {
    fn count(&self) -> usize {
        self.image.height().div_ceil(self.rows) as usize
    }

    fn rows_of(&self, band: usize) -> Range<u32> {
        let start = band as u32 * self.rows;
        start..self.image.height().min(start.saturating_add(self.rows))
    }

    /// The rows `rows` on the GPU of `labeler`.
    fn upload<G: Gpu>(
        &self,
        labeler: &DeviceLabeler<G>,
        rows: &Range<u32>,
    ) -> Result<DeviceImage<G>> {
        let width = self.image.width();
        let words = &self.image.words()[elements(rows, row_words(width))];
        let words = labeler.gpu().upload(words)?;
        Ok(DeviceImage::of(width, rows.end - rows.start, words))
    }
}

/// Calls `work` for each of `count` bands, on one thread per labeler. Returns the first error;
/// bands that no thread has begun by then are left out.
fn for_each_band<G: Gpu + Send + Sync>(
    labelers: &[DeviceLabeler<G>],
    count: usize,
    work: impl Fn(&DeviceLabeler<G>, usize) -> Result<()> + Sync,
) -> Result<()> {
    thread::scope(|scope| {
        let work = &work;
        let works = labelers.iter().map(|labeler| move |i| work(labeler, i));
        let mut workers = Workers::in_scope(scope, works)?;
        for i in 0..count {
            workers.wait_for_free();
            while let Some(done) = workers.try_finish() {
                done?;
            }
            workers.start(i);
        }
        while let Some(done) = workers.finish() {
            done?;
        }
        Ok(())
    })
}

/// Joins the parts of consecutive bands, and numbers their components.
pub(super) fn join(parts: impl Iterator<Item = LabelPart>) -> Result<LabelTable> {
    let mut joined: Option<LabelPart> = None;
    for part in parts {
        joined = Some(match joined {
            Some(upper) => LabelPart::join(upper, part)?,
            None => part,
        });
    }
    match joined {
        Some(part) => part.finish(),
        None => Err(Error::EmptyImage {
            width: 0,
            height: 0,
        }),
    }
}
