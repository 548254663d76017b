//! The arrays by which both algorithms number components.

use trazar_kernels::label::number::{self, Numbering, RootCounts};
use trazar_kernels::label::tiles::layout::TileLayout;
use trazar_kernels::primitives::scan;

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, ScanBuffers};

/// The arrays by which both algorithms number components.
#[derive(Debug)]
pub(super) struct NumberingBuffers<G: Gpu> {
    /// Per word: the components' roots, one bit per pixel.
    pub(super) roots: G::Buffer<u64>,
    /// The counts of roots, and their prefix sums.
    pub(super) counts: CountBuffers<G>,
    /// What the blocks of the counts' scan share.
    pub(super) scan: ScanBuffers<G>,
    /// One element: the number of components.
    pub(super) total: G::Buffer<u32>,
}

/// The arrays of [`RootCounts`].
#[derive(Debug)]
pub(super) struct CountBuffers<G: Gpu> {
    in_chunk: G::Buffer<u16>,
    chunks: G::Buffer<u32>,
}

impl<G: Gpu> CountBuffers<G> {
    /// The arrays, for a kernel to write.
    pub(super) fn views_mut(&mut self) -> RootCounts<'_> {
        RootCounts {
            in_chunk: self.in_chunk.view_mut(),
            chunks: self.chunks.view_mut(),
        }
    }
}

impl<G: Gpu> NumberingBuffers<G> {
    /// For an image of `words` words.
    pub(super) fn new(gpu: &G, words: u32) -> Result<Self> {
        let chunks = number::chunks(words);
        Ok(Self {
            roots: gpu.alloc(words as usize)?,
            counts: CountBuffers {
                in_chunk: gpu.alloc(words as usize)?,
                chunks: gpu.alloc(chunks as usize)?,
            },
            scan: ScanBuffers::new(gpu, chunks)?,
            total: gpu.alloc(1)?,
        })
    }

    /// The numbers of the roots, for a kernel to read.
    pub(super) fn numbering(&self, layout: TileLayout) -> Numbering<'_> {
        Numbering {
            roots: self.roots.view(),
            in_chunk: self.counts.in_chunk.view(),
            chunks: self.counts.chunks.view(),
            width: layout.width,
            row_words: layout.row_words,
        }
    }

    /// Replaces the chunks' counts by their exclusive prefix sums, and writes the total.
    ///
    /// # Safety
    /// A kernel launched on `gpu` before has made the scan's state ready, and no scan has followed.
    pub(super) unsafe fn scan_chunks(&mut self, gpu: &G) -> Result<()> {
        let n = self.counts.chunks.len() as u32;
        let chunks = self.counts.chunks.view_mut();
        // SAFETY: the arrays have the lengths that the kernel asks for, and it may scan in place.
        // The state is ready by the caller's promise.
        unsafe {
            scan::scan_exclusive::launch(
                &gpu.launcher(),
                scan::blocks(n, gpu.multiprocessors()),
                chunks.as_view(),
                chunks,
                self.total.view_mut(),
                self.scan.state(),
                n,
            )
        }
    }
}
