//! Labelling in tiles.

use trazar_kernels::label::number;
use trazar_kernels::label::tiles::{self, Grid};

use super::labels::DeviceLabels;
use super::number::Numbering;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::label::Connectivity;

/// What [`LabelAlgorithm::Tiles`] works in. One of the kernels that label tiles comes first, then
/// [`finish`](Self::finish).
pub(super) struct Tiles<G: Gpu> {
    grid: Grid,
    eight: u32,
    labels: G::Buffer<u32>,
    numbering: Numbering<G>,
    firsts: G::Buffer<u16>,
    offsets: G::Buffer<u16>,
    sides: G::Buffer<u32>,
}

impl<G: Gpu> Tiles<G> {
    pub(super) fn new(gpu: &G, grid: Grid, connectivity: Connectivity) -> Result<Self> {
        Ok(Self {
            grid,
            eight: connectivity.eight(),
            labels: gpu.alloc(grid.width as usize * grid.height as usize)?,
            numbering: Numbering::new(gpu, grid.words())?,
            firsts: gpu.alloc(grid.firsts_len())?,
            offsets: gpu.alloc(grid.offsets_len())?,
            sides: gpu.alloc(grid.sides_len())?,
        })
    }

    /// Labels each tile of `image`.
    ///
    /// # Safety
    /// `image` has the grid's words, and `gpu` has acquired it.
    pub(super) unsafe fn label(&mut self, gpu: &G, image: &G::Buffer<u64>) -> Result<()> {
        // SAFETY: all buffers have the lengths that the kernel asks for, and are used by this queue alone.
        unsafe {
            tiles::tiles_label::launch(
                &gpu.launcher(),
                self.grid.tiles(),
                image.view(),
                self.labels.view_mut(),
                self.firsts.view_mut(),
                self.offsets.view_mut(),
                self.sides.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.status.view_mut(),
                self.numbering.ticket.view_mut(),
                self.grid,
                self.eight,
            )
        }
    }

    /// Labels each tile of an image of bytes, and writes its bits to `image`.
    ///
    /// # Safety
    /// `bytes` has a value a pixel, in rows of a multiple of 16, and `gpu` has acquired it; `image` has the grid's words, and
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
            tiles::tiles_label_bytes::launch(
                &gpu.launcher(),
                self.grid.tiles(),
                bytes.view(),
                image.view_mut(),
                self.labels.view_mut(),
                self.firsts.view_mut(),
                self.offsets.view_mut(),
                self.sides.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.status.view_mut(),
                self.numbering.ticket.view_mut(),
                self.grid,
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
        let Self { grid, eight, .. } = self;
        let on = &gpu.launcher();
        // SAFETY: all buffers have the lengths that the kernels ask for, and are used by this queue alone; the launches follow
        // each other as the kernels ask for.
        unsafe {
            // planted: merge-grid
            let merge_blocks = grid.merge_threads().div_ceil(128) as u32;
            if merge_blocks > 0 {
                tiles::tiles_merge::launch(
                    on,
                    merge_blocks,
                    image.view(),
                    self.labels.view_mut(),
                    self.firsts.view(),
                    self.offsets.view(),
                    self.sides.view(),
                    grid,
                    eight,
                )?;
            }
            tiles::tiles_flatten::launch(
                on,
                number::chunks(grid.words()),
                self.labels.view_mut(),
                self.numbering.roots.view_mut(),
                self.numbering.in_chunk.view_mut(),
                self.numbering.chunks.view_mut(),
                grid,
            )?;
            self.numbering.scan_chunks(gpu)?;
            tiles::tiles_write::launch(
                on,
                grid.tiles(),
                image.view(),
                self.labels.view_mut(),
                self.firsts.view(),
                self.offsets.view(),
                self.numbering.roots.view(),
                self.numbering.in_chunk.view(),
                self.numbering.chunks.view(),
                grid,
            )?;
        }
        Ok(DeviceLabels::new(grid, self.labels, self.numbering))
    }
}
