//! Labelling in tiles.

use trazar_kernels::label::number;
use trazar_kernels::label::tiles::flatten::tiles_flatten;
use trazar_kernels::label::tiles::label::{tiles_label, tiles_label_bytes};
use trazar_kernels::label::tiles::layout::TileLayout;
use trazar_kernels::label::tiles::merge::tiles_merge;
use trazar_kernels::label::tiles::write::tiles_write;

use super::labels::DeviceLabels;
use super::number::Numbering;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::label::Connectivity;

/// What [`LabelAlgorithm::Tiles`] works in. One of the kernels that label tiles comes first, then
/// [`finish`](Self::finish).
pub(super) struct Tiles<G: Gpu> {
    layout: TileLayout,
    eight: u32,
    labels: G::Buffer<u32>,
    numbering: Numbering<G>,
    firsts: G::Buffer<u16>,
    offsets: G::Buffer<u16>,
    sides: G::Buffer<u32>,
}

impl<G: Gpu> Tiles<G> {
    pub(super) fn new(gpu: &G, layout: TileLayout, connectivity: Connectivity) -> Result<Self> {
        Ok(Self {
            layout,
            eight: connectivity.eight(),
            labels: gpu.alloc(layout.width as usize * layout.height as usize)?,
            numbering: Numbering::new(gpu, layout.words())?,
            firsts: gpu.alloc(layout.firsts_len())?,
            offsets: gpu.alloc(layout.offsets_len())?,
            sides: gpu.alloc(layout.sides_len())?,
        })
    }

    /// Labels each tile of `image`.
    ///
    /// # Safety
    /// `image` has the layout's words, and `gpu` has acquired it.
    pub(super) unsafe fn label(&mut self, gpu: &G, image: &G::Buffer<u64>) -> Result<()> {
        // SAFETY: all buffers have the lengths that the kernel asks for, and are used by this queue alone.
        unsafe {
            tiles_label::launch(
                &gpu.launcher(),
                self.layout.tiles(),
                image.view(),
                self.labels.view_mut(),
                self.firsts.view_mut(),
                self.offsets.view_mut(),
                self.sides.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.status.view_mut(),
                self.numbering.ticket.view_mut(),
                self.layout,
                self.eight,
            )
        }
    }

    /// Labels each tile of an image of bytes, and writes its bits to `image`.
    ///
    /// # Safety
    /// `bytes` has a value a pixel, in rows of a multiple of 16, and `gpu` has acquired it; `image` has the layout's words, and
    /// is the queue's own.
    pub(super) unsafe fn label_bytes(
        &mut self,
        gpu: &G,
        bytes: &G::Buffer<u8>,
        threshold: u8,
        image: &mut G::Buffer<u64>,
    ) -> Result<()> {
        // SAFETY: as in `label`, and the bytes start at a multiple of 16 bytes, as every buffer does.
        unsafe {
            tiles_label_bytes::launch(
                &gpu.launcher(),
                self.layout.tiles(),
                bytes.view(),
                image.view_mut(),
                self.labels.view_mut(),
                self.firsts.view_mut(),
                self.offsets.view_mut(),
                self.sides.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.status.view_mut(),
                self.numbering.ticket.view_mut(),
                self.layout,
                self.eight,
                threshold.into(),
            )
        }
    }

    /// Joins the tiles' components and writes the labels.
    ///
    /// # Safety
    /// `image` is the image whose tiles the launch before on `gpu` has labelled.
    pub(super) unsafe fn finish(
        mut self,
        gpu: &G,
        image: &G::Buffer<u64>,
    ) -> Result<DeviceLabels<G>> {
        let Self { layout, eight, .. } = self;
        let on = &gpu.launcher();
        // SAFETY: all buffers have the lengths that the kernels ask for, and are used by this queue alone; the launches follow
        // each other as the kernels ask for.
        unsafe {
            // planted: merge-grid
            let merge_blocks = layout.merge_threads().div_ceil(128) as u32;
            if merge_blocks > 0 {
                tiles_merge::launch(
                    on,
                    merge_blocks,
                    image.view(),
                    self.labels.view_mut(),
                    self.firsts.view(),
                    self.offsets.view(),
                    self.sides.view(),
                    layout,
                    eight,
                )?;
            }
            tiles_flatten::launch(
                on,
                number::chunks(layout.words()),
                self.labels.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.in_chunk.view_mut(),
                self.numbering.chunks.view_mut(),
                layout,
            )?;
            self.numbering.scan_chunks(gpu)?;
            tiles_write::launch(
                on,
                layout.tiles(),
                image.view(),
                self.labels.view_mut(),
                self.firsts.view(),
                self.offsets.view(),
                self.numbering.roots.view(),
                self.numbering.in_chunk.view(),
                self.numbering.chunks.view(),
                layout,
            )?;
        }
        Ok(DeviceLabels::new(layout, self.labels, self.numbering))
    }
}
