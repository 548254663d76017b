//! Images: their readers and writers.

mod bands;
mod bmp;
mod content;
mod grey;
mod luminance;
mod npy;
mod opened;
mod options;
#[cfg(test)]
mod oracle;
mod png;
mod pnm;
mod read;
mod sample;
mod threshold;
mod tiff;
mod write;

pub use self::bands::ImageBands;
pub use self::content::{Note, ReadImage};
pub use self::grey::GreyImage;
pub use self::options::ReadOptions;
pub use self::read::read_image;
pub use self::sample::SampleKind;
pub use self::write::{write_image_npy, write_image_pbm, write_image_png};
