//! Memory: on the GPU, and on the host where the GPU reads and writes it directly.

mod adopted;
mod device;
mod download;
mod huge_pages;
mod in_flight;
mod locked;
pub(crate) mod staging;
mod upload;

pub use adopted::{RawBuffer, Release};
pub use device::DeviceBuffer;
pub use in_flight::InFlight;
pub use locked::LockedBuffer;
