//! The names that most programs need.

pub use crate::context::Context;
pub use crate::device::Device;
pub use crate::error::{CudaError, CudaResult};
pub use crate::event::Event;
pub use crate::graph::Graph;
pub use crate::launch::{LaunchConfig, Launcher, ModuleQueue};
pub use crate::memory::{DeviceBuffer, LockedBuffer};
pub use crate::module::Module;
pub use crate::stream::{Stream, StreamFlags};
