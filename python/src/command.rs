//! The command `trazar`.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the first of which is its name, and returns its exit
/// status.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| trazar_cli::run(&args))
}
