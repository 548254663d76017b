//! Labels, contours, polygons and measures of very large images, and routes and costs of travel on
//! very large grids, on the GPU and on the CPU, with the same results.
//!
//! | module | what it does | job | result |
//! |---|---|---|---|
//! | [`label`] | finds connected components | [`Engine::label`] | [`Labels`] |
//! | [`trace`] | finds borders with their hierarchy, exactly as `cv2.findContours` gives them, or along the pixels' edges | [`Engine::trace`] | [`Contours`] |
//! | [`distance`] | finds the least costs of travel on rasters of friction, and the paths | [`Engine::cost_distance`] | [`CostDistance`] |
//! | [`regions`] | finds the regions of equal value in class rasters and label images, as polygons, contours or labels | [`Engine::trace_regions`] | [`Regions`] |
//! | [`measure`] | measures the labels of an image, as a table | [`Engine::measure`] | [`Measures`](measure::Measures) |
//! | [`rle`] | masks and labels as COCO's run lengths | [`rle::encode_labels`] | [`Rle`](rle::Rle) |
//! | [`route`] | joins pins on a grid of weighted edges by trees of small cost | [`Engine::route`] | [`Route`] |
//!
//! An image is a [`BinaryImage`], one bit per pixel. An [`Engine`] runs the work. [`formats`] reads
//! images and writes results; [`generate`] makes test images.
//!
//! Every job takes its input and its options, and obeys all of them. Options have a default, fields
//! to read, and a setter per field: [`LabelOptions`], [`TraceOptions`], [`RouteOptions`]. Jobs on
//! parts of an image take the options on which the result depends alone:
//! [`ComponentOptions`](label::ComponentOptions), [`ContourOptions`](trace::ContourOptions).
//!
//! # Label an image
//!
//! ```
//! use trazar::{BinaryImage, Engine, LabelOptions};
//!
//! let grey = [0u8, 200, 200, 0, 0, 200];
//! let image = BinaryImage::from_values(6, 1, &grey, 127)?;
//! // The processor, or a GPU once that pays.
//! let engine = Engine::auto();
//! let labels = engine.label(&image, &LabelOptions::default().statistics(true))?;
//! assert_eq!(labels.as_slice(), [0, 1, 1, 0, 0, 2]);
//! assert_eq!(labels.components().unwrap()[0].area, 2);
//! # Ok::<(), trazar::Error>(())
//! ```
//!
//! # Trace an image
//!
//! ```
//! use trazar::{BinaryImage, BorderKind, Engine, Geometry, TraceOptions};
//!
//! let image = BinaryImage::from_art("####\n#..#\n####")?;
//! let contours = Engine::auto().trace(&image, &TraceOptions::default())?;
//! for contour in contours.iter() {
//!     println!("{:?} {:?}", contour.kind(), contour.points());
//! }
//! assert_eq!(contours.kinds(), [BorderKind::Outer, BorderKind::Hole]);
//! // Exact polygons along the pixels' edges.
//! let options = TraceOptions::default().geometry(Geometry::Edges);
//! let rings = Engine::auto().trace(&image, &options)?;
//! assert_eq!(rings.get(0).unwrap().area(), 12.0);
//! # Ok::<(), trazar::Error>(())
//! ```
//!
//! # Route a net
//!
//! ```
//! use trazar::{Cell, Engine, Net, RouteOptions, RoutingGrid};
//!
//! let mut grid = RoutingGrid::uniform(100, 30, 5)?;
//! // The path goes around this cell.
//! grid.block(Cell::at(50, 3))?;
//! let net = Net::from_cells([Cell::at(3, 3), Cell::at(90, 3)]);
//! let route = Engine::auto().route_net(&grid, &net, &RouteOptions::default())?;
//! assert_eq!(route.cost(), (87 + 2) * 5);
//! # Ok::<(), trazar::Error>(())
//! ```
//!
//! # Trace a batch of images
//!
//! ```
//! use trazar::{BinaryImage, Engine, TraceOptions};
//!
//! let masks = [BinaryImage::from_art("##.#")?, BinaryImage::from_art("...#")?];
//! // The processor traces several at a time; a GPU traces those of one size at once.
//! let contours = Engine::auto().trace_batch(&masks, &TraceOptions::default())?;
//! assert_eq!([contours[0].len(), contours[1].len()], [2, 1]);
//! # Ok::<(), trazar::Error>(())
//! ```
//!
//! # Work in a GPU's memory
//!
//! [`DeviceLabeler`], [`DeviceTracer`] and [`DeviceRouter`] take inputs that are in a GPU's memory,
//! and leave the results there.
//!
//! ```
//! use trazar::emulator::Emulator;
//! use trazar::{BinaryImage, DeviceImage, DeviceTracer, TraceOptions};
//!
//! // On an NVIDIA GPU: `DeviceTracer::new(&trazar::cuda::Device::open(0)?)?`.
//! let tracer = DeviceTracer::on(Emulator::new(0));
//! let image = DeviceImage::upload(tracer.gpu(), &BinaryImage::from_art("##.#")?)?;
//! let contours = tracer.trace(&image, &TraceOptions::default())?;
//! assert_eq!(contours.len(), 2);
//! // Two coordinates of three points.
//! assert_eq!(contours.points().view().len(), 6);
//! # Ok::<(), trazar::Error>(())
//! ```
//!
//! # An image larger than the memory
//!
//! It comes in bands of rows: of a file, or from anywhere else.
//!
//! ```
//! use trazar::label::ComponentOptions;
//! use trazar::trace::{BandTracer, ContourOptions};
//! use trazar::Engine;
//! # #[cfg(feature = "formats")]
//! # fn main() -> trazar::Result<()> {
//! use trazar::formats::{ImageBands, ReadOptions};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("huge.pbm");
//! # std::fs::write(&path, "P1\n3 2\n010 111\n").unwrap();
//! let engine = Engine::auto();
//! let memory = 64 << 20;
//! let mut file = ImageBands::open(&path, &ReadOptions::default())?;
//!
//! // Contours: their points stay in a temporary file until they are read.
//! let rows = BandTracer::rows_within(file.width(), file.height(), memory, 0)?;
//! let tracer = BandTracer::in_file(&ContourOptions::default(), std::env::temp_dir())?;
//! let contours = engine.trace_bands(tracer, || file.next_band(rows))?;
//! trazar::formats::write_contours_json(&contours, std::io::sink())?;
//!
//! // Labels: band by band, with the numbers of the whole image.
//! file.rewind()?;
//! let mut bands = engine.label_bands(file, &ComponentOptions::default(), memory)?;
//! assert_eq!(bands.count(), 2);
//! while let Some(band) = bands.next_band::<u32>()? {
//!     println!("from row {}: {:?}", band.first_row(), band.labels());
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "formats"))]
//! # fn main() {}
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
#[doc(hidden)]
pub mod hooks;
mod image;
pub mod label;
pub mod measure;
mod memory;
mod options;
mod progress;
pub mod regions;
pub mod rle;
pub mod route;
mod threads;
mod tile_search;
pub mod trace;

#[cfg(test)]
use trazar_test_seeds as seeds;

pub use backend::Backend;
/// The emulated device, which runs kernels on the processor and checks them.
pub use cuda_std::emulator;
pub use device_choice::Job;
#[doc(no_inline)]
pub use distance::{CostDistance, CostDistanceOptions, CostSurface, Neighbours, Sources};
pub use distance::{DeviceCosts, DeviceDistances, DeviceSurface};
pub use engine::Engine;
pub use error::{Error, Result};
pub use geometry::{BoundingBox, Location};
pub use glam;
pub use image::gpu::{DeviceBytes, DeviceImage, DeviceImageBatch, DeviceValues};
pub use image::{
    BinaryImage, MAX_SIDE, PixelValue, Sample, Samples, ValueImage, ValueRows, WORD_BITS,
};
#[doc(no_inline)]
pub use label::{
    Component, Connectivity, DeviceLabelBatch, DeviceLabeler, DeviceLabels, LabelAlgorithm,
    LabelOptions, Labels,
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
    DeviceContours, DeviceRegions, DeviceTracer, DeviceValueContours, Geometry, Retrieval,
    TraceAlgorithm, TraceOptions,
};
