//! Labelling pixel by pixel.

use trazar_kernels::label::tiles::layout::TileLayout;
use trazar_kernels::label::{direct, number};

use super::labels::DeviceLabels;
use super::number::Numbering;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::label::Connectivity;

/// Labels an image that is in use, pixel by pixel.
pub(super) fn label<G: Gpu>(
    gpu: &G,
    image: &G::Buffer<u64>,
    layout: TileLayout,
    connectivity: Connectivity,
) -> Result<DeviceLabels<G>> {
    let on = &gpu.launcher();
    let TileLayout {
        width,
        height,
        row_words,
        ..
    } = layout;
    let words = layout.words();
    let blocks = direct::blocks(words);
    let mut labels = gpu.alloc(width as usize * height as usize)?;
    let mut numbering = Numbering::new(gpu, words)?;
    // SAFETY: all buffers have the lengths that the kernels ask for, and are used by this queue alone, or in use
    // by it; the launches follow each other as the kernels ask for.
    unsafe {
        direct::direct_start::launch(
            on,
            blocks,
            image.view(),
            labels.view_mut(),
            numbering.status.view_mut(),
            numbering.ticket.view_mut(),
            width,
            height,
            row_words,
        )?;
        direct::direct_join::launch(
            on,
            blocks,
            image.view(),
            labels.view_mut(),
            width,
            height,
            row_words,
            connectivity.eight(),
        )?;
        direct::direct_flatten::launch(
            on,
            blocks,
            image.view(),
            labels.view_mut(),
            numbering.roots.view_mut_as(),
            width,
            height,
            row_words,
        )?;
        number::count_roots::launch(
            on,
            number::chunks(words),
            numbering.roots.view(),
            numbering.in_chunk.view_mut(),
            numbering.chunks.view_mut(),
            words,
        )?;
        numbering.scan_chunks(gpu)?;
        direct::direct_write::launch(
            on,
            blocks,
            image.view(),
            labels.view_mut(),
            numbering.roots.view(),
            numbering.in_chunk.view(),
            numbering.chunks.view(),
            width,
            height,
            row_words,
        )?;
    }
    Ok(DeviceLabels::new(layout, labels, numbering))
}
