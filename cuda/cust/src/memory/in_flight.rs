//! Page-locked memory that the GPU is copying from or to.

use cuda_std::Pod;

use super::locked::LockedBuffer;
use crate::error::CudaResult;
use crate::event::Event;
use crate::stream::Stream;

/// A page-locked buffer that the GPU is copying from or to. [`InFlight::wait`] returns it; dropping
/// an `InFlight` waits too.
#[derive(Debug)]
pub struct InFlight<T: Pod> {
    // Dropped in this order: first wait, then free.
    copy: Copying,
    values: LockedBuffer<T>,
}

/// A copy under way; dropping it waits until the copy is done.
#[derive(Debug)]
struct Copying {
    done: Event,
    stream: Stream,
}

impl<T: Pod> InFlight<T> {
    /// Keeps `values` until the work queued on `stream` so far is done.
    pub(crate) fn after(stream: &Stream, values: LockedBuffer<T>) -> CudaResult<Self> {
        let done = stream.record().inspect_err(|_| {
            // Without an event: the copy must still end before `values` is freed.
            let _ = stream.synchronize();
        })?;
        let stream = stream.clone();
        Ok(Self {
            copy: Copying { done, stream },
            values,
        })
    }

    /// Whether the copy is done.
    ///
    /// # Errors
    /// [`Execution`](crate::error::CudaError::Execution) if a kernel has crashed.
    pub fn is_done(&self) -> CudaResult<bool> {
        self.copy.stream.blame(self.copy.done.is_reached())
    }

    /// Waits for the copy and returns the buffer.
    ///
    /// # Errors
    /// [`Execution`](crate::error::CudaError::Execution) if a kernel has crashed.
    pub fn wait(self) -> CudaResult<LockedBuffer<T>> {
        self.copy.stream.blame(self.copy.done.synchronize())?;
        Ok(self.values)
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        // If this fails, a kernel has crashed, and nothing is copied any more.
        let _ = self.done.synchronize();
    }
}
