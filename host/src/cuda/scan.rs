//! Exclusive prefix sums on the GPU.

use trazar_kernels::primitives::scan;

use super::buffer::DeviceBuffer;
use super::error::CudaError;
use super::queue::Queue;

/// Scans arrays of one length: holds what the kernels work in.
#[derive(Debug)]
pub struct Scanner {
    queue: Queue,
    n: u32,
    status: DeviceBuffer<u64>,
    ticket: DeviceBuffer<u32>,
    total: DeviceBuffer<u32>,
}

impl Scanner {
    /// For arrays of `n` elements, on the stream of `queue`, whose module holds [`trazar_kernels::PTX`].
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`] and others of allocation.
    pub fn new(queue: &Queue, n: u32) -> Result<Self, CudaError> {
        let stream = queue.stream();
        Ok(Self {
            queue: queue.clone(),
            n,
            status: stream.alloc(scan::status_len(n) as usize)?,
            ticket: stream.alloc(1)?,
            // A scan writes it, unless it is one of nothing.
            total: if n == 0 {
                stream.alloc_zeroed(1)?
            } else {
                stream.alloc(1)?
            },
        })
    }

    /// Sets `output[i]` to the sum of `input[..i]`, modulo 2³², and [`total`](Self::total) to the sum of all.
    ///
    /// # Errors
    /// [`CudaError::OutOfRange`] if a length is not the scanner's, [`CudaError::Execution`].
    pub fn scan<E: From<CudaError>>(
        &mut self,
        input: &DeviceBuffer<u32>,
        output: &mut DeviceBuffer<u32>,
    ) -> Result<(), E> {
        for len in [input.len(), output.len()] {
            if len != self.n as usize {
                let (start, end) = (0, self.n as usize);
                return Err(CudaError::OutOfRange { start, end, len }.into());
            }
        }
        let stream = self.queue.stream().clone();
        stream.wait_for(input.stream())?;
        stream.wait_for(output.stream())?;
        // SAFETY: the lengths were checked, the driver aligns the buffers, and the stream has waited for them.
        unsafe { self.launch(input.view(), output.view_mut()) }?;
        input.stream().wait_for(&stream)?;
        Ok(output.stream().wait_for(&stream)?)
    }

    /// Replaces `values[i]` by the sum of `values[..i]`, modulo 2³².
    ///
    /// # Errors
    /// Those of [`Scanner::scan`].
    pub fn scan_in_place(&mut self, values: &mut DeviceBuffer<u32>) -> Result<(), CudaError> {
        let len = values.len();
        if len != self.n as usize {
            let (start, end) = (0, self.n as usize);
            return Err(CudaError::OutOfRange { start, end, len });
        }
        let stream = self.queue.stream().clone();
        stream.wait_for(values.stream())?;
        let view = values.view_mut();
        // SAFETY: as in `scan`; the kernel may scan in place.
        unsafe { self.launch(view.as_view(), view) }?;
        values.stream().wait_for(&stream)
    }

    unsafe fn launch(
        &mut self,
        input: cuda_std::View<'_, u32>,
        output: cuda_std::ViewMut<'_, u32>,
    ) -> Result<(), CudaError> {
        let n = self.n;
        if n == 0 {
            return Ok(());
        }
        // SAFETY: status, ticket and total have the lengths that the kernels ask for, and belong to the stream; input and
        // output are the caller's promise; the grids are those that the kernels ask for.
        unsafe {
            scan::scan_init::launch(
                &self.queue,
                scan::status_len(n).div_ceil(256),
                self.status.view_mut(),
                self.ticket.view_mut(),
            )?;
            scan::scan_exclusive::launch(
                &self.queue,
                scan::blocks(n, self.queue.stream().device().info().multiprocessors),
                input,
                output,
                self.total.view_mut(),
                self.status.view_mut(),
                self.ticket.view_mut(),
                n,
            )
        }
    }

    /// The sum of all elements of the last scan, on the device; 0 for no elements.
    pub fn total(&self) -> &DeviceBuffer<u32> {
        &self.total
    }

    /// The total, to keep.
    pub fn into_total(self) -> DeviceBuffer<u32> {
        self.total
    }
}
