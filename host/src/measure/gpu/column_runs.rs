//! The runs of a label image along its columns, for COCO's run lengths (`rle/`).

use trazar_kernels::rle::columns::Columns;
use trazar_kernels::rle::labels::{LabelColumns, count_column_runs, list_column_runs};

use super::runs::{Sorted, room};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::gpu::DeviceValues;
use crate::measure::Label;
use crate::memory::with_room;

impl<G: Gpu> Sorted<G> {
    /// The runs along the columns of an image; `None` if there are none.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] for 2³² pixels and more, counted in rows of whole words of 64 and
    /// with one more row; [`Error::OutOfMemory`].
    pub(crate) fn of_columns<L: Label>(
        gpu: &G,
        labels: &DeviceValues<G, L>,
    ) -> Result<Option<Self>> {
        let columns = Columns {
            width: labels.width(),
            height: labels.height(),
            images: 1,
        };
        let threads = columns.threads().ok_or(Error::ImageTooLarge {
            width: labels.width().into(),
            height: labels.height().into(),
            limit: "on the GPU, label images that are encoded have fewer than 2³² pixels in whole \
                    words of 64 and with one more row; encode on the CPU",
        })?;
        let on = &gpu.launcher();
        let equality = labels.equality(gpu)?;
        let [low, high] = labels.keys_at(gpu, &edges(gpu, labels)?)?;
        let planes = LabelColumns {
            planes: equality.view(),
            low: low.view(),
            high: high.view(),
        };
        let mut before = gpu.alloc(columns.stripe_count() as usize)?;
        // SAFETY: there is an element per stripe; labels at the edges have both halves, or the low
        // ones alone.
        unsafe { count_column_runs::launch_threads(on, threads, planes, before.view_mut())? };
        let Some(mut runs) = room(gpu, &mut before)? else {
            return Ok(None);
        };
        // SAFETY: labels at the edges are as above; `before` has been scanned, and there is room
        // for all runs.
        unsafe {
            list_column_runs::launch_threads(on, threads, planes, before.view(), runs.views())?;
        }
        Self::of_runs(gpu, labels, runs).map(Some)
    }
}

/// The pixels of the first row and then of the last, by their indices in raster order.
fn edges<G: Gpu, L: Label>(gpu: &G, labels: &DeviceValues<G, L>) -> Result<G::Buffer<u32>> {
    let width = labels.width();
    let last_row = (labels.height() - 1) * width;
    let mut pixels = with_room(2 * width as usize, "the pixels of two rows")?;
    pixels.extend((0..width).chain(last_row..last_row + width));
    gpu.upload(&pixels)
}
