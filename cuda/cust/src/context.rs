//! Contexts: what streams, modules and events of a device belong to.

use std::fmt;
use std::ptr;
use std::sync::Arc;

use crate::driver::init;
use crate::error::{CudaError, CudaResult, check};
use crate::owner::Owner;
use crate::sys::{self, CUcontext, CUdevice};

/// A context of a device. Clones are the same context.
///
/// Nearly every program uses the device's primary context, which the CUDA runtime, and with it
/// PyTorch, CuPy and others use too: [`Device::open`](crate::device::Device::open) does.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    context: CUcontext,
    device: CUdevice,
    /// `None` for the primary context, which is retained.
    owner: Option<Owner>,
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions on
// contexts may be called from any thread; the other fields are `Send` and `Sync` by themselves.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Context {
    /// The primary context of the device with this index. The first call makes it, which takes
    /// about 200 ms; it lasts until its last user is gone.
    ///
    /// # Errors
    /// Those of [`init`]; [`CudaError::NoSuchDevice`]; [`CudaError::Driver`] if the driver can't
    /// make it (because the GPU is in exclusive use by another process, say).
    pub fn primary(index: u32) -> CudaResult<Self> {
        let device = find(index)?;
        let mut context = ptr::null_mut();
        // SAFETY: writes one handle, which lives until it is released as often as it was retained.
        let status = unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device) };
        check("cuDevicePrimaryCtxRetain", status)?;
        let context = Self {
            inner: Arc::new(Inner {
                context,
                device,
                owner: None,
            }),
        };
        context.set_current()?;
        Ok(context)
    }

    /// Adopts a context made elsewhere, by `cuCtxCreate` for example, and makes it the current one
    /// of this thread.
    ///
    /// # Errors
    /// Those of [`init`]; [`CudaError::Driver`] if the driver doesn't accept it.
    ///
    /// # Safety
    /// `context` is a context of this process, and stays one as long as `owner` is kept.
    pub unsafe fn from_raw(context: CUcontext, owner: Owner) -> CudaResult<Self> {
        init()?;
        // SAFETY: the caller's promise.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(context) })?;
        let mut device = 0;
        // SAFETY: writes one handle, that of the current context's device.
        check("cuCtxGetDevice", unsafe {
            sys::cuCtxGetDevice(&mut device)
        })?;
        Ok(Self {
            inner: Arc::new(Inner {
                context,
                device,
                owner: Some(owner),
            }),
        })
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> CUcontext {
        self.inner.context
    }

    /// Makes it the current context of the calling thread. Everything in this crate does so by
    /// itself; only code that calls the driver directly needs this.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn set_current(&self) -> CudaResult<()> {
        // SAFETY: the context is retained, or its owner is kept.
        check("cuCtxSetCurrent", unsafe {
            sys::cuCtxSetCurrent(self.inner.context)
        })
    }

    /// The driver's handle of its device, which is the device's index.
    pub(crate) fn device(&self) -> CUdevice {
        self.inner.device
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.inner.context == other.inner.context
    }
}

impl Eq for Context {}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.owner.is_none() {
            // SAFETY: retained once, released once. There is no one to report a failure to.
            let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.inner.owner {
            None => "primary",
            Some(_) => "adopted",
        };
        write!(
            f,
            "Context({:p}, {kind}, device {})",
            self.inner.context, self.inner.device
        )
    }
}

/// The number of devices.
pub(crate) fn device_count() -> CudaResult<u32> {
    init()?;
    let mut count = 0;
    // SAFETY: writes one integer.
    let status = unsafe { sys::cuDeviceGetCount(&mut count) };
    check("cuDeviceGetCount", status).map(|()| count.unsigned_abs())
}

/// The driver's handle of the device with this index.
pub(crate) fn find(index: u32) -> CudaResult<CUdevice> {
    let count = device_count()?;
    if index >= count {
        return Err(CudaError::NoSuchDevice { index, count });
    }
    let mut device = 0;
    // SAFETY: writes one handle.
    let status = unsafe { sys::cuDeviceGet(&mut device, index.cast_signed()) };
    check("cuDeviceGet", status).map(|()| device)
}
