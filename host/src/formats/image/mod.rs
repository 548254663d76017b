//! Images: their readers and writers.

mod bands;
mod bmp;
mod content;
mod file_bands;
mod georeference;
mod grey;
mod luminance;
mod npy;
mod opened;
mod options;
#[cfg(test)]
mod oracle;
mod png;
mod pnm;
mod raster;
mod raster_bands;
mod read;
mod sample;
mod sink;
mod threshold;
mod tiff;
mod value_bands;
mod values;
mod write;

pub use self::bands::ImageBands;
pub use self::content::{Note, ReadImage};
pub use self::georeference::{Affine, Crs, GeoReference};
pub use self::grey::GreyImage;
pub use self::options::{NoData, ReadOptions};
pub use self::raster::{Raster, RasterValues, read_raster};
pub use self::raster_bands::RasterBands;
pub use self::read::read_image;
pub use self::sample::SampleKind;
pub use self::value_bands::ValueBands;
pub use self::write::{write_image_npy, write_image_pbm, write_image_png};
