//! [`read_image`]: detects the format of a file and calls its reader.

use std::io::Read;
use std::path::Path;

use super::content::{Note, ReadImage};
use super::opened::Opened;
use super::options::{NoData, ReadOptions};
use super::sink::Sink;
use super::threshold::Thresholder;
use super::{bmp, npy, png, pnm, tiff};
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
/// Only the first page of a file is read. [`ReadImage::notes`] lists other pages, and other content
/// of a TIFF that the result leaves out.
///
/// The format is detected by the content, whatever the file's extension. The path may be a pipe.
/// Besides the result, memory holds at most the decoded samples (for `.npy` a few rows or columns).
/// A size that a file claims is trusted only once memory for it has been allocated.
///
/// A panic of a decoder becomes an [`Error::Unreadable`](crate::Error::Unreadable), unless the
/// program is built with `panic = "abort"`. The panic hook does not run for it: the first call sets
/// a hook that passes all other panics to the previous hook.
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
    let source = Source::open(path.as_ref())?;
    let origin = source.origin;
    contain(origin, || {
        let mut opened = open(source, options)?;
        let (width, height) = (opened.width, opened.height);
        let no_data = options.missing(opened.no_data);
        let mut rows = Thresholder::new(width, 0, height, options.keep_grey, no_data)?;
        opened.rows.read(origin, &mut rows)?;
        Ok(ReadImage::new(rows, opened, options))
    })
}

/// Reads the header of a source that is at its start.
pub(super) fn open<S: Sink>(mut source: Source<'_>, options: &ReadOptions) -> Result<Opened<S>> {
    let mut opened = match Format::of(&mut source)? {
        Format::Bmp => bmp::open(source, options),
        Format::Npy => npy::open(source, options),
        Format::Png => png::open(source, options),
        Format::Pnm => pnm::open(source, options),
        Format::Tiff => tiff::open(source, options),
    }?;
    if options.no_data != NoData::OfFile {
        opened.notes.retain(|note| !matches!(note, Note::NoData(_)));
    }
    Ok(opened)
}

#[derive(Clone, Copy)]
enum Format {
    Bmp,
    Npy,
    Png,
    Pnm,
    Tiff,
}

/// The first bytes of files of the formats that are read.
const STARTS: [(&[u8], Format); 14] = [
    (b"\x89PNG\r\n\x1a\n", Format::Png),
    (b"\x93NUMPY", Format::Npy),
    (b"BM", Format::Bmp),
    (b"II*\0", Format::Tiff),
    (b"MM\0*", Format::Tiff),
    // BigTIFF.
    (b"II+\0", Format::Tiff),
    (b"MM\0+", Format::Tiff),
    (b"P1", Format::Pnm),
    (b"P2", Format::Pnm),
    (b"P3", Format::Pnm),
    (b"P4", Format::Pnm),
    (b"P5", Format::Pnm),
    (b"P6", Format::Pnm),
    (b"P7", Format::Pnm),
];

/// The first bytes of files of other formats, for the error to name.
const OTHERS: [(&[u8], &str); 9] = [
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"DDS ", "DDS"),
    (b"\0\0\x01\0", "ICO"),
    (b"#?RADIANCE", "HDR"),
    (b"\x76\x2f\x31\x01", "EXR"),
    (b"qoif", "QOI"),
    (b"farbfeld", "farbfeld"),
];

impl Format {
    fn of(source: &mut Source<'_>) -> Result<Self> {
        let mut start = Vec::new();
        let read = (&mut source.bytes).take(16).read_to_end(&mut start);
        read.map_err(|error| source.origin.io(error))?;
        source.rewind()?;
        if start.is_empty() {
            return Err(source.origin.truncated("the file is empty"));
        }
        if let Some((_, format)) = STARTS.iter().find(|(magic, _)| start.starts_with(magic)) {
            return Ok(*format);
        }
        let other = match (start.get(4..12), start.get(8..12)) {
            (Some(b"ftypavif"), _) => Some("AVIF"),
            (_, Some(b"WEBP")) => Some("WEBP"),
            _ => OTHERS
                .iter()
                .find(|(magic, _)| start.starts_with(magic))
                .map(|(_, name)| *name),
        };
        Err(match other {
            Some(name) => source.origin.unsupported(format_args!(
                "{name} images are not read: give a PNG, PBM/PGM/PPM, BMP, TIFF or .npy file"
            )),
            None => source.origin.refused(
                ReadProblem::UnknownFormat,
                "not an image that can be read: give a PNG, PBM/PGM/PPM, BMP, TIFF or .npy file",
            ),
        })
    }
}
