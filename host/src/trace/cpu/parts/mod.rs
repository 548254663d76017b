//! Parts of an image, traced apart and joined.

mod band;
mod components;
mod contours;
mod part;
pub(super) mod pool;
pub(super) mod runs;
pub(super) mod store;

pub use band::Band;
pub use contours::StoredContours;
pub use part::ContourPart;

#[cfg(test)]
mod tests;
