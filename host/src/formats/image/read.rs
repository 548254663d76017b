//! [`read_image`]: detects the format of a file and calls its reader.

use std::io::Read;
use std::path::Path;

use image::ImageFormat;

use super::content::ReadImage;
use super::options::ReadOptions;
use super::{npy, png, pnm_bmp, tiff};
use crate::error::{ReadProblem, Result};
use crate::formats::source::{Source, contain};

/// Reads an image file and thresholds it.
///
/// - **PNG, PBM/PGM/PPM/PAM, BMP, TIFF**: 1-bit, 8-bit and 16-bit samples; grey TIFFs of signed
///   16-bit and 32-bit integers and of 32-bit and 64-bit floats too. Colours are reduced to their
///   luminance (0.299 R + 0.587 G + 0.114 B); an alpha channel is ignored, as are orientation and
///   colour profiles. 2-bit and 4-bit samples, and PGMs with a maximum other than 255 or 65535,
///   are stretched to the whole range. A PBM's white (0) is foreground, as in a PNG of the same
///   picture; [`ReadOptions::invert`](field@ReadOptions::invert) inverts it.
/// - **`.npy`**: 2-D arrays of shape (height, width) of `bool`, `uint8`, `uint16`, `int16`,
///   `int32`, `float32` or `float64`, in C or Fortran order and either byte order.
///
/// Only the first page of a file is read. [`ReadImage::notes`] tells of other pages, and of other
/// content of a TIFF that the result leaves out.
///
/// The format is detected by the content, whatever the file's extension. The path may be a pipe.
/// Besides the result, memory holds at most the decoded samples (for `.npy` a few rows or columns).
/// No size that a file claims is trusted before memory for it has been allocated.
///
/// A panic of a decoder becomes an [`Error::Unreadable`](crate::Error::Unreadable), unless the
/// program is built with `panic = "abort"`. The panic hook does not run for it: the first call sets
/// a hook that passes all other panics to the hook before it.
///
/// # Errors
/// - [`Error::Io`](crate::Error::Io): the file cannot be read;
/// - [`Error::Unreadable`](crate::Error::Unreadable): the file is not an image, is damaged or
///   truncated, or of a kind that is not supported;
/// - [`Error::InvalidOption`](crate::Error::InvalidOption): the threshold is outside the samples'
///   range;
/// - [`Error::NotANumber`](crate::Error::NotANumber),
///   [`Error::EmptyImage`](crate::Error::EmptyImage),
///   [`Error::ImageTooLarge`](crate::Error::ImageTooLarge),
///   [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn read_image(path: impl AsRef<Path>, options: &ReadOptions) -> Result<ReadImage> {
    let path = path.as_ref();
    let mut source = Source::open(path)?;
    let format = Format::of(&mut source)?;
    contain(source.origin, || match format {
        Format::Npy => npy::read(&mut source, options),
        Format::Image(ImageFormat::Tiff) => tiff::read(&mut source, options),
        Format::Image(ImageFormat::Png) => png::read(&mut source, options),
        Format::Image(format) => pnm_bmp::read(&mut source, format, options),
    })
}

enum Format {
    Npy,
    Image(ImageFormat),
}

impl Format {
    fn of(source: &mut Source<'_>) -> Result<Self> {
        let mut start = Vec::new();
        let read = (&mut source.bytes).take(16).read_to_end(&mut start);
        read.map_err(|error| source.origin.io(error))?;
        source.rewind()?;
        if start.is_empty() {
            return Err(source.origin.truncated("the file is empty"));
        }
        if start.starts_with(b"\x93NUMPY") {
            return Ok(Self::Npy);
        }
        // BigTIFF, which `image` does not recognise.
        if start.starts_with(b"II\x2b\0") || start.starts_with(b"MM\0\x2b") {
            return Ok(Self::Image(ImageFormat::Tiff));
        }
        match image::guess_format(&start).ok() {
            Some(
                format @ (ImageFormat::Png
                | ImageFormat::Pnm
                | ImageFormat::Bmp
                | ImageFormat::Tiff),
            ) => Ok(Self::Image(format)),
            Some(other) => Err(source.origin.unsupported(format_args!(
                "{} images are not read: give a PNG, PBM/PGM/PPM, BMP, TIFF or .npy file",
                other
                    .extensions_str()
                    .first()
                    .unwrap_or(&"such")
                    .to_uppercase()
            ))),
            None => Err(source.origin.refused(
                ReadProblem::UnknownFormat,
                "not an image that can be read: give a PNG, PBM/PGM/PPM, BMP, TIFF or .npy file",
            )),
        }
    }
}
