//! Regions: what is connected and has one value, in class rasters, label images and masks.
//!
//! # What a region is
//!
//! A region is a maximal 4-connected (or 8-connected) set of pixels with equal values. Values are
//! those of [`PixelValue`](crate::PixelValue); pixels that a [`ValueImage`](crate::ValueImage)
//! leaves out belong to no region.
//!
//! | result | job |
//! |---|---|
//! | [`Regions`]: rings along the pixels' edges, which make polygons that share their edges | [`Engine::trace_regions`](crate::Engine::trace_regions) |
//! | [`ValueContours`]: for each value k, the contours of the pixels with value k | [`Engine::trace_values`](crate::Engine::trace_values) |
//! | [`Labels`](crate::Labels): each pixel's region | [`Engine::label_values`](crate::Engine::label_values) |
//!
//! Time depends on the number of pixels and on the length of the borders, and not on the number of
//! values: all values are traced in one pass.
//!
//! # Files
//!
//! | what | where |
//! |---|---|
//! | options | this file |
//! | results | `polygons.rs`, `contours.rs` |
//! | borders of values on the CPU | `trace/cpu/values/` |
//! | regions left out, holes filled | `filter.rs` |
//! | fewer corners, with the borders still in common | `simplify/` |
//! | labels of values on the CPU | `label/cpu/values/` |

mod contours;
mod filter;
mod polygons;
mod sieve;
mod simplify;

pub use contours::{ValueContourArrays, ValueContours, ValueGroup};
#[cfg(feature = "formats")]
pub(crate) use filter::pixel_count;
pub use polygons::{RegionArrays, Regions};
pub(crate) use sieve::sieve;
pub use simplify::{SimplifiedRegions, SimplifyMethod, SimplifyOptions};

use crate::label::Connectivity;
use crate::options::setters;

/// How to trace [`Regions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RegionOptions {
    /// Which neighbouring pixels with equal values belong to one region;
    /// [`Four`](Connectivity::Four) by default.
    ///
    /// With [`Four`](Connectivity::Four), each polygon is valid: its rings are simple, and touch at
    /// corners at most. With [`Eight`](Connectivity::Eight), pixels of a region may touch at a
    /// corner only. A ring passes such a corner twice and goes over to the other pixel there, so
    /// the ring is not simple, as in GDAL's `polygonize`.
    pub connectivity: Connectivity,
}

impl Default for RegionOptions {
    fn default() -> Self {
        Self {
            connectivity: Connectivity::Four,
        }
    }
}

setters! {
    RegionOptions {
        connectivity: Connectivity,
    }
}
