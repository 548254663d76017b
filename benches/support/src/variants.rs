//! Kernels to compare in one run: the built-in ones, and variants of them.

use trazar::Result;
use trazar::cuda::{Device, Module, Queue};
use trazar::error::{OptionError, OptionProblem};

use crate::settings::list;

/// Some kernels, on a queue of their own.
pub struct Variant {
    /// The file that they are from, or that they are built in.
    pub name: String,
    /// A stream with these kernels.
    pub queue: Queue,
}

/// The built-in kernels, and those of the PTX files that `TRAZAR_BENCH_PTX` lists with commas:
/// builds of `kernels-gpu` whose kernels have the same parameters.
///
/// # Errors
/// A file can't be read, or the driver refuses it.
pub fn variants(device: &Device) -> Result<Vec<Variant>> {
    let mut variants = vec![Variant {
        name: "built in".to_owned(),
        queue: Queue::open(device)?,
    }];
    for name in list("TRAZAR_BENCH_PTX", "") {
        let ptx = std::fs::read_to_string(&name).map_err(|error| {
            let why = format!("TRAZAR_BENCH_PTX: {name}: {error}");
            OptionError::new("variable", OptionProblem::Malformed, why)
        })?;
        let module = Module::from_ptx(device, &ptx)?;
        // SAFETY: whoever names the file vouches that it has variants of these kernels.
        let queue = unsafe { Queue::with_module(&device.stream()?, &module) }?;
        variants.push(Variant { name, queue });
    }
    Ok(variants)
}
