//! Label and trace very large binary images, and route nets on very large grids, on the GPU and on
//! the CPU, with the same results.
//!
//! | module | what it does | job | result |
//! |---|---|---|---|
//! | [`label`] | finds connected components | [`Engine::label`] | [`Labels`] |
//! | [`trace`] | finds borders with their hierarchy, exactly as `cv2.findContours` gives them, or along the pixels' edges | [`Engine::trace`] | [`Contours`] |
//! | [`distance`] | finds the least costs of travel on rasters of friction, and the paths | [`Engine::cost_distance`] | [`CostDistance`] |
//! | [`regions`] | finds the regions of equal value in class rasters and label images, as polygons, contours or labels | [`Engine::trace_regions`] | [`Regions`] |
//! | [`route`] | joins pins on a grid of weighted edges by trees of small cost | [`Engine::route`] | [`Route`] |
//!
//! An image is a [`BinaryImage`], one bit per pixel. An [`Engine`] runs the work. [`formats`] reads
//! images and writes results; [`generate`] makes test images.
//!
//! Every job takes its input and its options: [`LabelOptions`], [`TraceOptions`],
//! [`RouteOptions`]. Options have a default, fields to read, and a setter per field. The jobs of
//! [`DeviceLabeler`], [`DeviceTracer`] and [`DeviceRouter`] take the same options for inputs that
//! are in a GPU's memory, and leave the results there.
//!
//! ```
//! use trazar::{BinaryImage, Engine, TraceOptions};
//!
//! let grey = [0u8, 200, 200, 0, 0, 200];
//! let image = BinaryImage::from_values(3, 2, &grey, 127)?;
//! let engine = Engine::auto();
//! let contours = engine.trace(&image, &TraceOptions::default())?;
//! for contour in contours.iter() {
//!     println!("{:?} {:?}", contour.kind(), contour.points());
//! }
//! # assert_eq!(contours.len(), 1);
//! # Ok::<(), trazar::Error>(())
//! ```
//!
//! # Features
//!
//! - `formats` (on by default): [`formats`], and conversions to the types of the crate `geo-types`.
//!   Without it the library depends on few other crates.
//! - `image`: grey images of the crate `image` as input, and `image::GrayImage` as output.
//! - `ndarray`: views of the crate `ndarray` as input, and labels as its arrays.
//! - `cuda`: kernels on an NVIDIA GPU, on Linux.

mod backend;
mod bytes;
#[cfg(feature = "cuda")]
pub mod cuda;

mod device_choice;
pub mod distance;
mod engine;
pub mod error;
#[cfg(feature = "formats")]
pub mod formats;
pub mod generate;
mod geometry;
pub mod gpu;
mod image;
pub mod label;
mod memory;
mod options;
mod progress;
pub mod regions;
pub mod route;
mod threads;
pub mod trace;

#[cfg(test)]
use trazar_test_seeds as seeds;

pub use backend::Backend;
/// The emulated device, which runs kernels on the processor and checks them.
pub use cuda_std::emulator;
pub use device_choice::Job;
#[doc(no_inline)]
pub use distance::{CostDistance, CostDistanceOptions, CostSurface, Neighbours, Sources};
pub use engine::Engine;
pub use error::{Error, Result};
pub use geometry::{BoundingBox, Location};
pub use glam;
pub use image::gpu::{DeviceBytes, DeviceImage, DeviceImageBatch};
pub use image::{BinaryImage, MAX_SIDE, PixelValue, Sample, Samples, ValueImage, WORD_BITS};
#[doc(no_inline)]
pub use label::{
    Component, Connectivity, DeviceLabeler, DeviceLabels, LabelAlgorithm, LabelOptions, Labels,
};
pub use progress::ProgressFn;
#[doc(no_inline)]
pub use regions::{RegionOptions, Regions, ValueContours};
#[doc(no_inline)]
pub use route::{
    Cell, DeviceGrid, DeviceRouter, Net, Pin, Route, RouteAlgorithm, RouteOptions, RoutingGrid,
    TreeKind,
};
#[doc(no_inline)]
pub use trace::{
    Approximation, BorderKind, Contour, ContourBuffers, Contours, DeviceContourBatch,
    DeviceContours, DeviceTracer, Geometry, Retrieval, TraceAlgorithm, TraceOptions,
};
