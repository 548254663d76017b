//! Exclusive prefix sums.

use cuda_std::{View, ViewMut};
use trazar_kernels::primitives::scan;

use super::{Gpu, GpuBuffer};
use crate::{Error, Result};

/// Scans arrays of one length: holds what the kernels work in.
#[derive(Debug)]
pub struct Scanner<G: Gpu> {
    gpu: G,
    n: u32,
    status: G::Buffer<u64>,
    ticket: G::Buffer<u32>,
    total: G::Buffer<u32>,
}

impl<G: Gpu> Scanner<G> {
    /// For arrays of `n` elements. Allocates little: 8 bytes for each 6144 elements.
    ///
    /// # Errors
    /// No memory.
    pub fn new(gpu: &G, n: u32) -> Result<Self> {
        Ok(Self {
            gpu: gpu.clone(),
            n,
            status: gpu.alloc(scan::status_len(n) as usize)?,
            ticket: gpu.alloc(1)?,
            // A scan writes it, unless it is one of nothing.
            total: if n == 0 {
                // planted: scan-nothing
                gpu.alloc_zeroed(1)?
            } else {
                gpu.alloc(1)?
            },
        })
    }

    /// Sets `output[i]` to the sum of `input[..i]`, modulo 2³², and [`total`](Self::total) to the sum of all.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if a length is not the scanner's; a kernel's failure.
    pub fn scan(&mut self, input: &G::Buffer<u32>, output: &mut G::Buffer<u32>) -> Result<()> {
        self.check_len(input)?;
        self.check_len(output)?;
        let gpu = self.gpu.clone();
        let input = gpu.using(input)?;
        let mut output = gpu.using(output)?;
        // SAFETY: the lengths were checked, buffers are aligned, and the launches wait for them.
        unsafe { self.launch(input.view(), output.view_mut()) }?;
        input.finish()?;
        output.finish()
    }

    /// Replaces `values[i]` by the sum of `values[..i]`, modulo 2³², and sets [`total`](Self::total).
    ///
    /// # Errors
    /// Those of [`Scanner::scan`].
    pub fn scan_in_place(&mut self, values: &mut G::Buffer<u32>) -> Result<()> {
        self.check_len(values)?;
        let gpu = self.gpu.clone();
        let mut values = gpu.using(values)?;
        let view = values.view_mut();
        // SAFETY: as in `scan`; the kernel may scan in place.
        unsafe { self.launch(view.as_view(), view) }?;
        values.finish()
    }

    unsafe fn launch(&mut self, input: View<'_, u32>, output: ViewMut<'_, u32>) -> Result<()> {
        let n = self.n;
        if n == 0 {
            return Ok(());
        }
        let on = &self.gpu.launcher();
        // SAFETY: status, ticket and total have the lengths that the kernels ask for, and belong to this queue; input and
        // output are the caller's promise; the grids are those that the kernels ask for.
        unsafe {
            scan::scan_init::launch(
                on,
                scan::status_len(n).div_ceil(256),
                self.status.view_mut(),
                self.ticket.view_mut(),
            )?;
            scan::scan_exclusive::launch(
                on,
                scan::blocks(n, self.gpu.multiprocessors()),
                input,
                output,
                self.total.view_mut(),
                self.status.view_mut(),
                self.ticket.view_mut(),
                n,
            )
        }
    }

    fn check_len(&self, values: &G::Buffer<u32>) -> Result<()> {
        let (needed, given) = (self.n as usize, values.len());
        if given == needed {
            Ok(())
        } else {
            Err(Error::LengthMismatch { needed, given })
        }
    }

    /// The sum of all elements of the last scan, on the device; 0 for no elements.
    pub fn total(&self) -> &G::Buffer<u32> {
        &self.total
    }

    /// The total, to keep.
    pub fn into_total(self) -> G::Buffer<u32> {
        self.total
    }
}
