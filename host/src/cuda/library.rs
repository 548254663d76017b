//! The library's kernels, compiled for a device.

use cust::device::Device;
use cust::error::CudaResult;
use cust::module::Module;

/// The library's kernels ([`trazar_kernels`]) on one device, as pipelines run them. Clones share
/// them.
#[derive(Clone, Debug)]
pub struct Kernels {
    module: Module,
}

impl Kernels {
    /// Compiles [`trazar_kernels::PTX`] for `device`; see [`Module::from_ptx`] for what it costs.
    ///
    /// # Errors
    /// Those of [`Module::from_ptx`].
    pub fn load(device: &Device) -> CudaResult<Self> {
        let module = Module::from_ptx(device, trazar_kernels::PTX)?;
        Ok(Self { module })
    }

    /// The compiled module.
    pub fn module(&self) -> &Module {
        &self.module
    }
}
