//! Pixels grouped by value.

use cuda_std::View;
use trazar_kernels::trace::borders::count;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;
use trazar_kernels::trace::values::{ValueOrderBuffers, ValueOrderSizes, group_borders};

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::image::PixelValue;
use crate::image::gpu::Keys;

/// Pixels, such as those at which borders start, grouped by value in ascending order of values.
pub(crate) struct Groups<G: Gpu> {
    /// The number of values.
    pub(crate) values: u32,
    pub(crate) order: ValueOrderBuffers<OnGpu<G>>,
}

impl<G: Gpu> Groups<G> {
    /// Groups `pixels`, given by their indices, row by row, of an image of this width: by a
    /// cooperative launch of `blocks` blocks. Their number is in `counters`, which get the number
    /// of values. Waits for it.
    ///
    /// # Safety
    /// The pixels are in the image, and `gpu` has acquired both. `counters` has
    /// [`count::COUNT`] elements or more, and element [`count::BORDERS`] is the number of pixels.
    pub(crate) unsafe fn of<T: PixelValue>(
        gpu: &G,
        (rows, width): (RowsOfValues<'_, T>, u32),
        pixels: View<'_, u32>,
        counters: &mut G::Buffer<u32>,
        blocks: u32,
    ) -> Result<Self> {
        let sizes = ValueOrderSizes {
            borders: pixels.len() as u32,
            is_wide: T::IS_WIDE,
            blocks,
        };
        let mut order = ValueOrderBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?;
        let on = &gpu.launcher();
        // SAFETY: the caller's promise; there is room for all keys, and no bit is set yet in which
        // they differ.
        unsafe {
            let keys = Keys {
                low: order.low.view_mut(),
                high: order.high.view_mut(),
                differing: order.differing.view_mut(),
            };
            T::write_keys(on, rows, width, pixels, keys)?;
            group_borders::launch(on, blocks, counters.view_mut(), order.views())?;
        }
        let values = counters.to_vec()?[count::KEPT as usize];
        Ok(Self { values, order })
    }
}
