//! Parts of an image, traced separately and joined.

mod band;
mod bytes;
mod check;
mod components;
mod contours;
mod part;
pub(super) mod pool;
pub(super) mod runs;
pub(super) mod store;
mod tracer;
mod whole;

pub use band::Band;
pub use contours::StoredContours;
pub use part::ContourPart;
pub use tracer::BandTracer;

#[cfg(test)]
mod bytes_tests;
#[cfg(test)]
mod tests;
