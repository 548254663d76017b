//! Events: points in a stream's work.

use std::fmt;
use std::ptr;

use crate::device::Device;
#[cfg(doc)]
use crate::error::CudaError;
use crate::error::{CudaResult, check};
use crate::owner::Owner;
use crate::sys::{self, CUevent, status};

/// `CU_EVENT_DEFAULT` and `CU_EVENT_DISABLE_TIMING`.
const WITH_TIMING: u32 = 0;
const WITHOUT_TIMING: u32 = 2;

/// A point in a stream's work, set by [`Stream::record`](crate::stream::Stream::record).
pub struct Event {
    event: CUevent,
    device: Device,
    /// `None` for an event of this crate, which is destroyed with this value.
    owner: Option<Owner>,
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
    pub fn new(device: &Device) -> CudaResult<Self> {
        Self::with_flags(device, WITH_TIMING)
    }

    /// An event without a time, which costs less.
    pub(crate) fn without_timing(device: &Device) -> CudaResult<Self> {
        Self::with_flags(device, WITHOUT_TIMING)
    }

    fn with_flags(device: &Device, flags: u32) -> CudaResult<Self> {
        device.bind()?;
        let mut event = ptr::null_mut();
        // SAFETY: writes one handle, of the current context.
        check("cuEventCreate", unsafe {
            sys::cuEventCreate(&mut event, flags)
        })?;
        Ok(Self {
            event,
            device: device.clone(),
            owner: None,
        })
    }

    /// Adopts an event made elsewhere, for waits and measurements with it.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the driver doesn't accept it; [`CudaError::Execution`].
    ///
    /// # Safety
    /// `event` is an event of the device's context, and stays one as long as `owner` is kept.
    pub unsafe fn from_raw(device: &Device, event: CUevent, owner: Owner) -> CudaResult<Self> {
        let event = Self {
            event,
            device: device.clone(),
            owner: Some(owner),
        };
        event.is_reached().map(|_| event)
    }

    /// The driver's handle, for calls that this type lacks; [`Device::bind`] comes before them.
    pub fn as_raw(&self) -> CUevent {
        self.event
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until the GPU has reached it.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn synchronize(&self) -> CudaResult<()> {
        self.device.bind()?;
        // SAFETY: the event is alive.
        check("cuEventSynchronize", unsafe {
            sys::cuEventSynchronize(self.event)
        })
    }

    /// Whether the GPU has reached it.
    ///
    /// # Errors
    /// [`CudaError::Execution`] if a kernel has crashed.
    pub fn is_reached(&self) -> CudaResult<bool> {
        self.device.bind()?;
        // SAFETY: the event is alive.
        match unsafe { sys::cuEventQuery(self.event) } {
            status::NOT_READY => Ok(false),
            status => check("cuEventQuery", status).map(|()| true),
        }
    }

    /// Waits until the GPU has reached this event, and returns the time from `start` to it in
    /// milliseconds, by the GPU's clock (resolution about 0.5 µs).
    ///
    /// # Errors
    /// [`CudaError::WrongDevice`], [`CudaError::Execution`], and [`CudaError::Driver`] if either
    /// was never recorded.
    pub fn elapsed_ms_since(&self, start: &Event) -> CudaResult<f32> {
        self.device.check_same("the start event", &start.device)?;
        start.synchronize()?;
        self.synchronize()?;
        let mut ms = 0.0;
        // SAFETY: both events are alive; writes one number.
        let status = unsafe { sys::cuEventElapsedTime(&mut ms, start.event, self.event) };
        check("cuEventElapsedTime", status).map(|()| ms)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.owner.is_some() {
            return;
        }
        // There is no one to report a failure to.
        let _ = self.device.bind();
        // SAFETY: this is its only owner; the driver keeps the event until no work waits for it.
        let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:p})", self.event)
    }
}
