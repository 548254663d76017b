//! GPUs that label the bands of an image for [`BandLabels`](super::BandLabels).
//!
//! Each worker is a thread with a queue of a GPU. It takes one band at a time: copies its bits to
//! the GPU, labels them, and copies back what the task asks for. There are two workers per GPU if
//! it has overlapping queues: while the labels of one band are copied down, the next one is copied
//! up and labelled.

use std::sync::Arc;

use super::{LabelPart, LabelTable};
use crate::error::Result;
use crate::gpu::{self, Gpu, with_overlapping};
use crate::image::BinaryImage;
use crate::image::gpu::DeviceImage;
use crate::label::cpu::Strip;
use crate::label::gpu::HostLabels;
use crate::label::{Component, ComponentOptions, DeviceLabeler, LabelOptions};
use crate::memory::{advise_large_pages, zeroed_vec};

/// A worker's task: one band.
pub(crate) struct Task<B> {
    pub(super) band: B,
    /// The image's row at which the band begins.
    pub(super) first_row: u32,
    /// The labels to make, in the second pass.
    pub(super) labels: Option<LabelTask>,
}

/// The labels that the second pass asks for.
pub(crate) struct LabelTask {
    pub(super) table: Arc<LabelTable>,
    /// The memory for the labels, with at least as many elements as the largest band has pixels. If
    /// it is empty, the worker allocates `most` elements.
    pub(super) buffer: Vec<u32>,
    pub(super) most: usize,
    /// Whether the labels get the image's numbers instead of the band's own.
    pub(super) is_final: bool,
}

/// A worker's result for a band.
pub(crate) struct LabelledPart<B> {
    pub(super) band: B,
    /// The part; with statistics, without the measures of the components inside.
    pub(super) part: LabelPart,
    /// In the second pass, the labels of the band's pixels, and further elements.
    pub(super) labels: Vec<u32>,
    /// With statistics, the measures of all components of the band.
    pub(super) measures: Vec<Component>,
}

/// Workers that label bands.
pub(crate) type Workers<B = BinaryImage> = gpu::Workers<Task<B>, Result<LabelledPart<B>>>;

/// Workers on `gpus`, each with a second queue of the GPU if it supports overlapping ones.
///
/// # Errors
/// Those of [`Gpu::overlapping_queue`]; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the
/// system provides no thread.
pub(crate) fn workers_on<G>(gpus: &[G], options: &ComponentOptions) -> Result<Workers>
where
    G: Gpu + Send + Sync + 'static,
{
    let options = LabelOptions::from(*options);
    let queues = with_overlapping(gpus)?;
    gpu::Workers::new(queues.into_iter().map(|queue| {
        let labeler = DeviceLabeler::on(queue);
        move |task| do_task(&labeler, task, &options)
    }))
}

/// Labels a band.
fn do_task<G: Gpu>(
    labeler: &DeviceLabeler<G>,
    task: Task<BinaryImage>,
    options: &LabelOptions,
) -> Result<LabelledPart<BinaryImage>> {
    let Task {
        band,
        first_row,
        labels: wanted,
    } = task;
    let image = DeviceImage::upload(labeler.gpu(), &band)?;
    let (mut on_device, part, measures) = labeler.label_rows(&image, first_row, options, false)?;
    let mut labels = Vec::new();
    if let Some(wanted) = wanted {
        labels = wanted.buffer;
        let is_new = labels.is_empty();
        if is_new {
            labels = zeroed_vec(wanted.most, "labels")?;
            advise_large_pages(&mut labels);
        }
        let rows = Strip::whole(&band);
        let to = HostLabels {
            labels: &mut labels[..band.pixel_count() as usize],
            is_zero: is_new,
        };
        // A band that differs from the first pass has no place in the table; the caller compares
        // the numbers of components and reports it.
        // SAFETY: the band has been uploaded, and labelled.
        unsafe {
            if wanted.is_final && wanted.table.matches(&part) {
                let finished = on_device.finish(&wanted.table)?;
                labeler.read_labels(finished.labels(), &image, rows, to)?;
            } else {
                labeler.read_labels(on_device.own_labels()?, &image, rows, to)?;
            }
        }
    }
    Ok(LabelledPart {
        band,
        part,
        labels,
        measures,
    })
}
