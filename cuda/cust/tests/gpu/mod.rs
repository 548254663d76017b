//! Shared by the GPU tests: finds the GPU, or reports that there is none.

// Each test binary uses a part of it.
#[allow(dead_code)]
pub(crate) mod kernels;

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cust::device::Device;
use cust::error::CudaError;
use trazar_test_seeds::skipped;

/// The first GPU, for one test alone.
pub(crate) struct Gpu {
    device: Device,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Gpu {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

/// The first GPU, once no other test uses it. Without a GPU this prints why, or panics if
/// `TRAZAR_REQUIRE_GPU=1` is set.
pub(crate) fn gpu(test: &str) -> Option<Gpu> {
    static IN_USE: Mutex<()> = Mutex::new(());
    // A failed test leaves nothing behind that matters to the next one.
    let alone = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    match Device::open(0) {
        Ok(device) => {
            println!("{test}: on {}", device.info().name);
            Some(Gpu {
                device,
                _alone: alone,
            })
        }
        Err(error) => {
            let required = std::env::var_os("TRAZAR_REQUIRE_GPU").is_some_and(|value| value == "1");
            assert!(!required, "TRAZAR_REQUIRE_GPU=1, but: {error}");
            let why = match &error {
                CudaError::NoDriver { tried, .. } => format!("no CUDA driver (none of {tried})"),
                CudaError::NoDevice { driver } => format!("no GPU (driver for CUDA {driver})"),
                other => format!("CUDA does not work ({other})"),
            };
            skipped(test, &why);
            None
        }
    }
}
