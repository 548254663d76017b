//! Label and trace very large binary images, and route nets on very large grids, on the GPU and on
//! the CPU, with the same results.
//!
//! - **label**: connected components ([`Engine::label`], [`Labels`]);
//! - **trace**: borders of a binary image with their hierarchy ([`Engine::trace`], [`Contours`]),
//!   exactly as `cv2.findContours` gives them, or along the pixels' edges;
//! - **route**: trees of small cost that join pins on a grid of weighted edges ([`Engine::route`],
//!   [`route`]).
//!
//! An image is a [`BinaryImage`], one bit per pixel. An [`Engine`] runs the work. [`formats`] reads
//! images and writes results; [`generate`] makes test images.
//!
//! ```
//! use trazar::{BinaryImage, Engine, Job, TraceOptions};
//!
//! let grey = [0u8, 200, 200, 0, 0, 200];
//! let image = BinaryImage::from_values(3, 2, &grey, 127)?;
//! let engine = Engine::auto(Job::trace(&image), 1);
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
//! - `formats` (on by default): [`formats`], and conversions from and to the types of the crates
//!   `image` and `geo-types`. Without it the library depends on few other crates.
//! - `cuda`: kernels on an NVIDIA GPU, on Linux.

mod backend;
#[cfg(feature = "cuda")]
pub mod cuda;

mod engine;
mod error;
#[cfg(feature = "formats")]
pub mod formats;
pub mod generate;
mod geometry;
pub mod gpu;
mod image;
mod job;
mod label;
mod memory;
mod progress;
pub mod route;
mod threads;
mod trace;

#[cfg(test)]
use trazar_test_seeds as seeds;

pub use backend::Backend;
/// The emulated device, which runs kernels on the processor and checks them.
pub use cuda_std::emulator;
pub use engine::Engine;
pub use error::{Error, Result};
pub use geometry::{BoundingBox, Location};
pub use glam;
pub use image::gpu::DeviceImage;
pub use image::{BinaryImage, MAX_SIDE, Sample, WORD_BITS};
pub use job::Job;
pub use label::gpu::{DeviceLabeler, DeviceLabels};
pub use label::{Component, Connectivity, LabelAlgorithm, LabelOptions, Labels};
pub use progress::ProgressFn;
pub use trace::gpu::{ContourBuffers, DeviceContours, DeviceTracer};
pub use trace::{
    Approximation, BorderKind, Contour, Contours, Geometry, HierarchyRow, Links, Retrieval,
    TraceAlgorithm, TraceOptions,
};
