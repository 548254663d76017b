//! The arrays in which both algorithms number components, and in which runs are counted.

use cuda_std::View;
use trazar_kernels::label::number::{self, BitCountBuffers, BitCounts, Numbering};
use trazar_kernels::label::tiles::layout::TileLayout;
use trazar_kernels::primitives::scan::{self, ScanState};

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, ScanBuffers, grow, read_first};

/// The arrays in which both algorithms number components.
#[derive(Debug)]
pub(super) struct NumberingBuffers<G: Gpu> {
    /// Per word: the components' roots, one bit per pixel.
    pub(super) roots: G::Buffer<u64>,
    /// The counts of roots.
    pub(super) counts: CountBuffers<G>,
}

impl<G: Gpu> NumberingBuffers<G> {
    /// For an image of `words` words.
    pub(super) fn new(gpu: &G, words: u32) -> Result<Self> {
        Ok(Self {
            roots: gpu.alloc(words as usize)?,
            counts: CountBuffers::new(gpu, words)?,
        })
    }

    /// Makes room for an image of `words` words.
    pub(super) fn make_room(&mut self, gpu: &G, words: u32) -> Result<()> {
        grow(gpu, &mut self.roots, words as usize)?;
        self.counts.make_room(gpu, words)
    }

    /// The numbers of the roots, for a kernel to read.
    pub(super) fn numbering(&self, layout: TileLayout) -> Numbering<'_> {
        let (in_chunk, chunks) = self.counts.before();
        Numbering {
            roots: self.roots.view(),
            in_chunk,
            chunks,
            width: layout.width,
            row_words: layout.row_words,
        }
    }
}

/// The arrays of [`BitCounts`], and the scan that replaces the counts by their prefix sums.
#[derive(Debug)]
pub(super) struct CountBuffers<G: Gpu> {
    counts: BitCountBuffers<OnGpu<G>>,
    /// State shared by the scan's blocks.
    scan: ScanBuffers<G>,
    /// One element: the number of bits.
    total: G::Buffer<u32>,
}

impl<G: Gpu> CountBuffers<G> {
    /// For an image of `words` words.
    pub(super) fn new(gpu: &G, words: u32) -> Result<Self> {
        let memory = OnGpu(gpu.clone());
        Ok(Self {
            counts: BitCountBuffers::alloc(&memory, &words)?,
            scan: ScanBuffers::alloc(&memory, &number::chunks(words))?,
            total: gpu.alloc(1)?,
        })
    }

    /// Makes room for an image of `words` words.
    pub(super) fn make_room(&mut self, gpu: &G, words: u32) -> Result<()> {
        let chunks = number::chunks(words);
        grow(gpu, &mut self.counts.in_chunk, words as usize)?;
        grow(gpu, &mut self.counts.chunks, chunks as usize)?;
        grow(
            gpu,
            &mut self.scan.status,
            scan::status_len(chunks) as usize,
        )
    }

    /// The bytes of the arrays.
    pub(super) fn bytes(&self) -> u64 {
        self.counts.bytes() + self.scan.bytes() + self.total.bytes()
    }

    /// The arrays of counts and the scan's state, for kernels to write.
    pub(super) fn views_mut(&mut self) -> (BitCounts<'_>, ScanState<'_>) {
        (self.counts.views(), self.scan.views())
    }

    /// Replaces the counts of the chunks of an image of `words` words by their exclusive prefix
    /// sums, and writes the total.
    ///
    /// # Safety
    /// A kernel launched on `gpu` before has made the scan's state ready, and no scan has followed.
    /// There is room for the words.
    pub(super) unsafe fn scan_chunks(&mut self, gpu: &G, words: u32) -> Result<()> {
        let n = number::chunks(words);
        let chunks = self.counts.chunks.view_mut();
        // SAFETY: the kernel may scan in place. The state is ready by the caller's promise.
        unsafe {
            scan::scan_exclusive::launch(
                &gpu.launcher(),
                scan::blocks(n, gpu.multiprocessors()),
                chunks.as_view(),
                chunks,
                self.total.view_mut(),
                self.scan.views(),
                n,
            )
        }
    }

    /// After the scan: per word, the number of bits before it in its chunk; and per chunk, the
    /// number of bits before it.
    pub(super) fn before(&self) -> (View<'_, u16>, View<'_, u32>) {
        (self.counts.in_chunk.view(), self.counts.chunks.view())
    }

    /// After the scan: the number of bits before each of `images` images of `pitch` words, then of
    /// all.
    pub(super) fn image_starts(&self, gpu: &G, images: u32, pitch: u32) -> Result<G::Buffer<u32>> {
        let (in_chunk, chunks) = self.before();
        let mut starts = gpu.alloc(images as usize + 1)?;
        // SAFETY: the counts are of all words of the images, and nothing else uses the new array.
        unsafe {
            number::image_starts::launch_threads(
                &gpu.launcher(),
                images + 1,
                in_chunk,
                chunks,
                self.total.view(),
                images,
                pitch,
                starts.view_mut(),
            )?;
        }
        Ok(starts)
    }

    /// After the scan: the number of bits. Waits for it.
    pub(super) fn total(&self) -> Result<u32> {
        read_first(&self.total)
    }

    /// Takes the array of one element that [`total`](Self::total) reads. The next scan has another.
    pub(super) fn take_total(&mut self, gpu: &G) -> Result<G::Buffer<u32>> {
        Ok(std::mem::replace(&mut self.total, gpu.alloc(1)?))
    }
}
