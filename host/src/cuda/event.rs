//! Events: points in a stream's work.

use std::fmt;
use std::ptr;

use cust::sys::CUevent;

use super::device::Device;
use super::error::{CudaError, check};
use super::raw;

/// A point in a stream's work, set by [`Stream::record`](super::Stream::record).
pub struct Event {
    event: CUevent,
    device: Device,
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions on
// events may be called from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that marks no point yet; it counts as reached.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Execution`].
    pub fn new(device: &Device) -> Result<Self, CudaError> {
        Self::with_flags(device, raw::EVENT_DEFAULT)
    }

    /// An event without a time, which costs less.
    pub(super) fn without_timing(device: &Device) -> Result<Self, CudaError> {
        Self::with_flags(device, raw::EVENT_WITHOUT_TIMING)
    }

    fn with_flags(device: &Device, flags: u32) -> Result<Self, CudaError> {
        device.bind()?;
        let mut event = ptr::null_mut();
        // SAFETY: writes one handle, of the current context.
        check("cuEventCreate", unsafe {
            raw::cuEventCreate(&mut event, flags)
        })?;
        Ok(Self {
            event,
            device: device.clone(),
        })
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn raw(&self) -> CUevent {
        self.event
    }

    /// Waits until the GPU has reached it.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.device.bind()?;
        // SAFETY: the event is alive.
        check("cuEventSynchronize", unsafe {
            raw::cuEventSynchronize(self.event)
        })
    }

    /// Whether the GPU has reached it.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn is_reached(&self) -> Result<bool, CudaError> {
        const NOT_READY: u32 = 600;
        self.device.bind()?;
        // SAFETY: the event is alive.
        match unsafe { raw::cuEventQuery(self.event) } {
            NOT_READY => Ok(false),
            status => check("cuEventQuery", status).map(|()| true),
        }
    }

    /// Waits until the GPU has reached this event, and returns the time from `start` to it in
    /// milliseconds, by the GPU's clock (resolution about 0.5 µs).
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::Execution`], and [`CudaError::Driver`] if either
    /// was never recorded.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32, CudaError> {
        self.device.check_same("the start event", &start.device)?;
        start.synchronize()?;
        self.synchronize()?;
        let mut ms = 0.0;
        // SAFETY: both events are alive; writes one number.
        let status = unsafe { raw::cuEventElapsedTime(&mut ms, start.event, self.event) };
        check("cuEventElapsedTime", status).map(|()| ms)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // There is no one to report a failure to.
        let _ = self.device.bind();
        // SAFETY: this is its only owner; the driver keeps the event until no work waits for it.
        let _ = unsafe { raw::cuEventDestroy_v2(self.event) };
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:p})", self.event)
    }
}
