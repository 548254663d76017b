//! Labelling pixel by pixel: [`LabelAlgorithm::Direct`](crate::LabelAlgorithm::Direct).

use cuda_std::{View, ViewMut};
use trazar_kernels::image::BitImage;
use trazar_kernels::label::direct::{
    direct_flatten, direct_join, direct_start, direct_write, threads,
};
use trazar_kernels::label::number::count_roots;
use trazar_kernels::label::tiles::layout::TileLayout;

use super::number::NumberingBuffers;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::label::Connectivity;

/// Labels the image `words`, whose size is that of `layout`, for whose words `numbering` has room.
/// Returns the number of components.
///
/// # Safety
/// `words` has the layout's words and `labels` one element per pixel; `gpu` has acquired both.
pub(super) unsafe fn label<G: Gpu>(
    gpu: &G,
    words: View<'_, u64>,
    labels: ViewMut<'_, u32>,
    layout: TileLayout,
    connectivity: Connectivity,
    numbering: &mut NumberingBuffers<G>,
) -> Result<G::Buffer<u32>> {
    let on = &gpu.launcher();
    let image = BitImage {
        words,
        width: layout.width,
        height: layout.height,
        row_words: layout.row_words,
    };
    let word_count = layout.words();
    let threads = threads(word_count);
    // SAFETY: all arrays have the lengths that the kernels ask for; the caller vouches for image
    // and labels. The launches are in the order that the kernels ask for.
    unsafe {
        let (_, scan) = numbering.counts.views_mut();
        direct_start::launch_threads(on, threads, image, labels, scan)?;
        direct_join::launch_threads(on, threads, image, labels, connectivity)?;
        let roots = numbering.roots.view_mut_as();
        direct_flatten::launch_threads(on, threads, image, labels, roots)?;
        let (counts, _) = numbering.counts.views_mut();
        count_roots::launch_threads(on, word_count, numbering.roots.view(), counts, word_count)?;
        numbering.counts.scan_chunks(gpu, word_count)?;
        let numbers = numbering.numbering(layout);
        direct_write::launch_threads(on, threads, image, labels, numbers)?;
    }
    numbering.counts.take_total(gpu)
}
