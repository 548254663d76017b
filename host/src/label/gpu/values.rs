//! Labelling the regions of images of values, in tiles.

use cuda_std::ViewMut;
use trazar_kernels::image::equality::EqualityPlanes;
use trazar_kernels::label::tiles::flatten::tiles_flatten;
use trazar_kernels::label::tiles::layout::TileLayout;
use trazar_kernels::label::tiles::runs::TileComponents;
use trazar_kernels::label::values::label::value_tiles_label;
use trazar_kernels::label::values::layout::{RUN_BYTES, layout, merge_threads, offsets_len};
use trazar_kernels::label::values::merge::value_tiles_merge;
use trazar_kernels::label::values::write::value_tiles_write;

use super::scratch::{RunLengths, Scratch};
use super::tiles::runs_of;
use super::{DeviceLabeler, DeviceLabels};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::PixelValue;
use crate::image::gpu::{AnyValues, DeviceValues, Equality, with_values};
use crate::label::{Connectivity, Labels};

impl<G: Gpu> DeviceLabeler<G> {
    /// Labels the regions of an image of values: connected pixels of equal value, as
    /// [`Engine::label_values`](crate::Engine::label_values) does. Queues the work and returns
    /// before it is done.
    ///
    /// # Errors
    /// [`Error::ImageTooLarge`] for more than 2³¹ pixels; `Error::Cuda`, [`Error::Emulator`].
    pub fn label_values<T: PixelValue>(
        &self,
        image: &DeviceValues<G, T>,
        connectivity: Connectivity,
    ) -> Result<DeviceLabels<G>> {
        let (width, height) = (image.width(), image.height());
        let layout = region_layout(width, height)?;
        let equality = image.equality(self.gpu())?;
        self.label_equal(&equality, layout, connectivity)
    }

    /// Labels regions by which neighbours are equal.
    pub(crate) fn label_equal(
        &self,
        equality: &Equality<G>,
        layout: TileLayout,
        connectivity: Connectivity,
    ) -> Result<DeviceLabels<G>> {
        let gpu = self.gpu();
        let pixels = layout.width as usize * layout.height as usize;
        let mut labels = gpu.alloc(pixels)?;
        let mut scratch = Scratch::of(gpu, self.kept.take())?;
        let runs = RunLengths {
            firsts: layout.firsts_len(),
            offsets: offsets_len(layout),
            sides: 0,
        };
        scratch.make_room(gpu, layout.words(), runs)?;
        // SAFETY: the planes are of the layout's size, and belong to `gpu`.
        let total = unsafe {
            label_planes(
                gpu,
                equality.view(),
                labels.view_mut(),
                layout,
                &mut scratch,
                connectivity,
            )
        }?;
        self.kept.put(scratch);
        Ok(DeviceLabels::new(
            (layout.width, layout.height),
            labels,
            total,
        ))
    }

    /// Labels an image of values in the host's memory.
    pub(crate) fn label_values_host(
        &self,
        image: AnyValues<'_, '_>,
        connectivity: Connectivity,
    ) -> Result<Labels> {
        with_values!(image, image => {
            // Before it is copied.
            region_layout(image.width(), image.height())?;
            let image = DeviceValues::upload(self.gpu(), image)?;
            self.label_values(&image, connectivity)?.to_host()
        })
    }
}

/// The tiles of an image of values.
pub(crate) fn region_layout(width: u32, height: u32) -> Result<TileLayout> {
    layout(width, height).ok_or(Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit: "on the GPU, an image of values has at most 2³¹ pixels",
    })
}

/// Labels the regions of a layout. Returns their number.
///
/// # Safety
/// `planes` are of the layout's size, and `labels` has one element per pixel, from a multiple of 16
/// bytes on; `gpu` has acquired both.
unsafe fn label_planes<G: Gpu>(
    gpu: &G,
    planes: EqualityPlanes<'_>,
    labels: ViewMut<'_, u32>,
    layout: TileLayout,
    scratch: &mut Scratch<G>,
    connectivity: Connectivity,
) -> Result<G::Buffer<u32>> {
    let on = &gpu.launcher();
    let Scratch {
        numbering,
        runs: run_buffers,
        ..
    } = scratch;
    let runs = run_buffers.views();
    let components = TileComponents {
        parents: labels,
        roots: numbering.roots.view_mut(),
    };
    let (_, scan) = numbering.counts.views_mut();
    // SAFETY: all arrays have the lengths that the kernels ask for; the caller vouches for planes
    // and labels. The launches are in the order that the kernels ask for.
    unsafe {
        value_tiles_label::launch_with_shared(
            on,
            layout.tiles(),
            RUN_BYTES,
            planes,
            runs,
            components,
            scan,
            layout,
            connectivity,
        )?;
        let runs = runs_of(run_buffers);
        let threads = merge_threads(layout);
        value_tiles_merge::launch_threads(on, threads, planes, runs, labels, layout, connectivity)?;
        let components = TileComponents {
            parents: labels,
            roots: numbering.roots.view_mut(),
        };
        let (counts, _) = numbering.counts.views_mut();
        tiles_flatten::launch_threads(on, layout.words(), components, counts, layout)?;
        numbering.counts.scan_chunks(gpu, layout.words())?;
        let numbers = numbering.numbering(layout);
        value_tiles_write::launch_with_shared(
            on,
            layout.tiles(),
            RUN_BYTES,
            planes,
            runs,
            numbers,
            labels,
            layout,
        )?;
    }
    numbering.counts.take_total(gpu)
}
