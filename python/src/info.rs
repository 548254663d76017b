//! Available versions and devices.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The facts of `trazar.info`.
#[pyfunction]
pub(crate) fn info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", env!("CARGO_PKG_VERSION"))?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    info.set_item("threads", threads)?;
    info.set_item("architecture", std::env::consts::ARCH)?;
    gpus(py, &info)?;
    Ok(info)
}

#[cfg(not(target_os = "macos"))]
fn gpus(py: Python<'_>, info: &Bound<'_, PyDict>) -> PyResult<()> {
    use trazar::cuda::{DeviceInfo, kernels};

    let found = py.detach(DeviceInfo::all);
    let mut gpus = Vec::new();
    for gpu in found.iter().flatten() {
        let facts = PyDict::new(py);
        facts.set_item("index", gpu.index)?;
        facts.set_item("name", &gpu.name)?;
        facts.set_item("compute_capability", gpu.compute_capability.to_string())?;
        facts.set_item("memory", gpu.total_memory)?;
        facts.set_item("driver", gpu.driver.to_string())?;
        gpus.push(facts);
    }
    info.set_item("gpus", gpus)?;
    let none = found.as_ref().err().map(ToString::to_string);
    info.set_item("no_gpu", none)?;
    info.set_item("kernels", kernels::header().source_hash)
}

#[cfg(target_os = "macos")]
fn gpus(py: Python<'_>, info: &Bound<'_, PyDict>) -> PyResult<()> {
    info.set_item("gpus", pyo3::types::PyList::empty(py))?;
    info.set_item("no_gpu", "this build does not use GPUs")?;
    info.set_item("kernels", py.None())
}
