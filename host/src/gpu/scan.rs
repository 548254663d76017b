//! Exclusive prefix sums.

use cuda_std::{View, ViewMut};
use trazar_kernels::primitives::scan;

use super::{Gpu, GpuBuffer, OnGpu};
use crate::error::{Result, check_len};

/// The arrays of a [`ScanState`](scan::ScanState): 8 bytes for every 6144 elements.
pub(crate) type ScanBuffers<G> = scan::ScanBuffers<OnGpu<G>>;

/// Scans arrays of one length, and holds the arrays that the scan needs.
#[derive(Debug)]
pub struct Scanner<G: Gpu> {
    gpu: G,
    n: u32,
    buffers: ScanBuffers<G>,
    total: G::Buffer<u32>,
}

impl<G: Gpu> Scanner<G> {
    /// A scanner for arrays of `n` elements. It allocates 8 bytes for every 6144 elements.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(gpu: &G, n: u32) -> Result<Self> {
        Ok(Self {
            gpu: gpu.clone(),
            n,
            buffers: ScanBuffers::alloc(&OnGpu(gpu.clone()), &n)?,
            // A scan of no elements launches no kernel that would write the total.
            total: if n == 0 {
                // planted: scan-nothing
                gpu.alloc_zeroed(1)?
            } else {
                gpu.alloc(1)?
            },
        })
    }

    /// Sets `output[i]` to the sum of `input[..i]`, modulo 2³², and [`total`](Self::total) to the
    /// sum of all elements.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if an array has another length than
    /// the scanner; an earlier kernel's failure.
    pub fn scan(&mut self, input: &G::Buffer<u32>, output: &mut G::Buffer<u32>) -> Result<()> {
        self.check_len(input)?;
        self.check_len(output)?;
        let gpu = self.gpu.clone();
        let input = gpu.using(input)?;
        let mut output = gpu.using(output)?;
        // SAFETY: the lengths were checked, buffers are aligned, and `gpu` has acquired them.
        unsafe { self.launch(input.view(), output.view_mut()) }?;
        input.finish()?;
        output.finish()
    }

    /// Replaces `values[i]` by the sum of `values[..i]`, modulo 2³², and sets
    /// [`total`](Self::total).
    ///
    /// # Errors
    /// Those of [`Scanner::scan`].
    pub fn scan_in_place(&mut self, values: &mut G::Buffer<u32>) -> Result<()> {
        self.check_len(values)?;
        let gpu = self.gpu.clone();
        let mut values = gpu.using(values)?;
        let view = values.view_mut();
        // SAFETY: as in `scan`. The kernel may scan in place.
        unsafe { self.launch(view.as_view(), view) }?;
        values.finish()
    }

    /// # Safety
    /// `input` and `output` have the scanner's length, start at multiples of 16 bytes, and the
    /// scanner's `gpu` has acquired them.
    unsafe fn launch(&mut self, input: View<'_, u32>, output: ViewMut<'_, u32>) -> Result<()> {
        let n = self.n;
        if n == 0 {
            return Ok(());
        }
        let on = &self.gpu.launcher();
        let blocks = scan::blocks(n, self.gpu.multiprocessors());
        let state = self.buffers.views();
        let total = self.total.view_mut();
        // SAFETY: the state and the total belong to this queue. The caller vouches for input and
        // output.
        unsafe {
            scan::scan_init::launch_threads(on, scan::status_len(n), state)?;
            scan::scan_exclusive::launch(on, blocks, input, output, total, state, n)
        }
    }

    fn check_len(&self, values: &G::Buffer<u32>) -> Result<()> {
        check_len(self.n as usize, values.len())
    }

    /// The sum of all elements of the last scan, one element on the GPU; 0 for no elements.
    pub fn total(&self) -> &G::Buffer<u32> {
        &self.total
    }

    /// Ends the scanner and returns the [`total`](Self::total).
    pub fn into_total(self) -> G::Buffer<u32> {
        self.total
    }
}
