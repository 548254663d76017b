//! What both algorithms number components with.

use trazar_kernels::label::number;
use trazar_kernels::primitives::scan;

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// What both algorithms number components with.
pub(super) struct Numbering<G: Gpu> {
    pub(super) roots: G::Buffer<u64>,
    pub(super) in_chunk: G::Buffer<u16>,
    pub(super) chunks: G::Buffer<u32>,
    pub(super) status: G::Buffer<u64>,
    pub(super) ticket: G::Buffer<u32>,
    pub(super) total: G::Buffer<u32>,
}

impl<G: Gpu> Numbering<G> {
    pub(super) fn new(gpu: &G, words: u32) -> Result<Self> {
        Ok(Self {
            roots: gpu.alloc(words as usize)?,
            in_chunk: gpu.alloc(words as usize)?,
            chunks: gpu.alloc(number::chunks(words) as usize)?,
            status: gpu.alloc(number::status_len(words) as usize)?,
            ticket: gpu.alloc(1)?,
            total: gpu.alloc(1)?,
        })
    }

    /// Turns the chunks' counts into their sums so far.
    ///
    /// # Safety
    /// A kernel that makes status and ticket ready has been launched on `gpu` before, and not yet been followed by a scan.
    pub(super) unsafe fn scan_chunks(&mut self, gpu: &G) -> Result<()> {
        let n = self.chunks.len() as u32;
        let chunks = self.chunks.view_mut();
        // SAFETY: the lengths and the grid are those that the kernel asks for, which may scan in place; status and
        // ticket are ready by the caller's promise.
        unsafe {
            scan::scan_exclusive::launch(
                &gpu.launcher(),
                scan::blocks(n, gpu.multiprocessors()),
                chunks.as_view(),
                chunks,
                self.total.view_mut(),
                self.status.view_mut(),
                self.ticket.view_mut(),
                n,
            )
        }
    }
}
