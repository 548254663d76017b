//! The parts of the kernels' crate that tests and benches use directly, named in one place.

pub use trazar_kernels::PTX;
pub use trazar_kernels::primitives::{grid, partition, scan, sort};
pub use trazar_kernels::route::sweep::CHUNK as SWEEP_CHUNK;
pub use trazar_kernels::trace::{fragments, options, pixels};
