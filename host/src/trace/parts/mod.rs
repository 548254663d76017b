//! Parts of an image, traced separately and joined.

mod assemble;
mod bytes;
mod check;
mod components;
mod cut;
mod follow_band;
mod part;
mod pool;
mod region_tracer;
mod regions;
mod runs;
mod store;
mod stored_contours;
mod tracer;

pub(super) use cut::{Before, Cycles, LEAST_POINTS, NO_CONTOUR, cut};
pub(super) use follow_band::{BandBorders, follow_in_strips};
pub use part::ContourPart;
pub(super) use part::hash_words;
pub use region_tracer::RegionTracer;
pub use regions::{RegionPart, StoredRegions};
pub use stored_contours::StoredContours;
pub use tracer::BandTracer;

#[cfg(test)]
mod bytes_tests;
#[cfg(test)]
mod region_tests;
#[cfg(test)]
mod tests;
