//! Labelling pixel by pixel: [`LabelAlgorithm::Direct`](crate::LabelAlgorithm::Direct).

use trazar_kernels::image::BitImage;
use trazar_kernels::label::direct::{
    direct_flatten, direct_join, direct_start, direct_write, threads,
};
use trazar_kernels::label::number::count_roots;
use trazar_kernels::label::tiles::layout::TileLayout;

use super::labels::DeviceLabels;
use super::number::NumberingBuffers;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::label::Connectivity;

/// Labels the image `words`, which `gpu` has acquired, and whose size is that of `layout`.
pub(super) fn label<G: Gpu>(
    gpu: &G,
    words: &G::Buffer<u64>,
    layout: TileLayout,
    connectivity: Connectivity,
) -> Result<DeviceLabels<G>> {
    let on = &gpu.launcher();
    let image = BitImage {
        words: words.view(),
        width: layout.width,
        height: layout.height,
        row_words: layout.row_words,
    };
    let word_count = layout.words();
    let threads = threads(word_count);
    let mut labels = gpu.alloc(layout.width as usize * layout.height as usize)?;
    let mut numbering = NumberingBuffers::new(gpu, word_count)?;
    // SAFETY: all arrays have the lengths that the kernels ask for. This queue has allocated them,
    // or acquired them. The launches are in the order that the kernels ask for.
    unsafe {
        let scan = numbering.scan.state();
        direct_start::launch_threads(on, threads, image, labels.view_mut(), scan)?;
        direct_join::launch_threads(on, threads, image, labels.view_mut(), connectivity)?;
        let roots = numbering.roots.view_mut_as();
        direct_flatten::launch_threads(on, threads, image, labels.view_mut(), roots)?;
        let counts = numbering.counts.views_mut();
        count_roots::launch_threads(on, word_count, numbering.roots.view(), counts, word_count)?;
        numbering.scan_chunks(gpu)?;
        let numbers = numbering.numbering(layout);
        direct_write::launch_threads(on, threads, image, labels.view_mut(), numbers)?;
    }
    Ok(DeviceLabels::new(layout, labels, numbering.total))
}
