//! What the benches share: inputs, published figures to compare with, settings, and kernels to
//! compare.

pub mod grids;
pub mod images;
pub mod labels;
pub mod report;
pub mod settings;
pub mod timing;
#[cfg(target_os = "linux")]
pub mod variants;
