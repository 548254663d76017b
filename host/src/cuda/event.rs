//! Events: points in a stream's work.

use cust::event::{Event as CustEvent, EventFlags, EventStatus};

use super::device::Device;
use super::error::{CudaError, check_cust};

/// A point in a stream's work, set by [`Stream::record`](super::Stream::record).
#[derive(Debug)]
pub struct Event {
    event: CustEvent,
    device: Device,
}

impl Event {
    /// An event that is not at any point yet; it counts as reached.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn new(device: &Device) -> Result<Self, CudaError> {
        device.bind()?;
        let event = check_cust("cuEventCreate", CustEvent::new(EventFlags::DEFAULT))?;
        Ok(Self {
            event,
            device: device.clone(),
        })
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn as_cust(&self) -> &CustEvent {
        &self.event
    }

    /// Waits until the GPU has reached it.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.device.bind()?;
        check_cust("cuEventSynchronize", self.event.synchronize())
    }

    /// Has the GPU reached it?
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn is_reached(&self) -> Result<bool, CudaError> {
        self.device.bind()?;
        check_cust("cuEventQuery", self.event.query()).map(|status| status == EventStatus::Ready)
    }

    /// Waits until the GPU has reached this event and says how long after `start` it did, in milliseconds of the GPU's
    /// clock (resolution about 0.5 µs).
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::Execution`], and [`CudaError::Driver`] if either was never recorded.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32, CudaError> {
        self.device.check_same("the start event", &start.device)?;
        start.synchronize()?;
        self.synchronize()?;
        check_cust(
            "cuEventElapsedTime",
            self.event.elapsed_time_f32(&start.event),
        )
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // The event is destroyed next, with its device's context current; on a failure there is no one to tell.
        let _ = self.device.bind();
    }
}
