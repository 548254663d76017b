//! Reading an image file: which format it is, and what became of it.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use image::ImageFormat;

use super::grey::GreyImage;
use super::reading::Reported;
use super::threshold::{SampleKind, Thresholder};
use super::{image_file, npy, png_file, tiff_file};
use crate::panics;
use crate::{BinaryImage, Error, Result};

/// How to read an image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// Foreground is `value > threshold`. `None`: 127 for 8-bit samples, 32767 for 16-bit, 0 for
    /// signed ones, 0.5 for floats, and 1 (true) is foreground for 1-bit and `bool`.
    ///
    /// In the samples' own scale: 0 to 255, 0 to 65535, -32768 to 32767, -2³¹ to 2³¹ - 1, any
    /// finite number, 0 to 1.
    pub threshold: Option<f64>,
    /// Swap foreground and background after thresholding.
    pub invert: bool,
    /// Keep the picture too, as [`ReadImage::grey`].
    pub keep_grey: bool,
}

/// An image file's content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadImage {
    /// Its foreground and background.
    pub image: BinaryImage,
    /// The picture in shades of grey, if [`ReadOptions::keep_grey`] asked for it.
    pub grey: Option<GreyImage>,
    /// What the file holds for each pixel.
    pub kind: SampleKind,
    /// The threshold that was used, in the samples' scale.
    pub threshold: f64,
    /// No sample is above the threshold though some are not zero: it may be the wrong one.
    pub only_below_threshold: bool,
    /// What else the file holds that is not in `image`.
    pub notes: Vec<Note>,
}

/// Something that a file holds beside the pixels of its first image, and that was left out.
///
/// `Display` says so on one line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Note {
    /// Where a GeoTIFF's pixels lie on Earth: results are in pixels.
    Georeference {
        /// Its coordinate reference system is given.
        crs: bool,
        /// The transform from pixels to coordinates is.
        transform: bool,
    },
    /// The value, as it is written, that stands for missing data (GDAL's `nodata`): it was compared
    /// with the threshold as any other.
    NoData(String),
    /// So many pages after the first; smaller copies of pages do not count.
    MorePages(u64),
}

impl Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Georeference { crs, transform } => {
                let what = match (crs, transform) {
                    (true, true) => "CRS and transform are",
                    (true, false) => "CRS is",
                    (false, _) => "transform is",
                };
                write!(f, "the file's {what} left out: results are in pixels")
            }
            Self::NoData(value) => write!(
                f,
                "the file's no-data value {value} is compared with the threshold as any other"
            ),
            Self::MorePages(1) => write!(f, "another page of the file is left out"),
            Self::MorePages(count) => write!(f, "{count} more pages of the file are left out"),
        }
    }
}

impl ReadImage {
    pub(super) fn new(
        rows: Thresholder,
        kind: SampleKind,
        threshold: f64,
        options: &ReadOptions,
    ) -> Self {
        let (mut image, grey, any_nonzero) = rows.finish();
        let only_below_threshold = any_nonzero && image.count_foreground() == 0;
        if options.invert {
            image.invert();
        }
        Self {
            image,
            grey,
            kind,
            threshold,
            only_below_threshold,
            notes: Vec::new(),
        }
    }
}

/// Reads an image file and thresholds it.
///
/// - **PNG, PBM/PGM/PPM/PAM, BMP, TIFF**: 1-bit, 8-bit and 16-bit samples; grey TIFFs of signed
///   16-bit and 32-bit integers and of 32-bit and 64-bit floats too. Colours are reduced to their
///   luminance (0.299 R + 0.587 G + 0.114 B); an alpha channel is ignored, as are orientation and
///   colour profiles. 2-bit and 4-bit samples, and PGMs with another maximum than 255 or 65535,
///   are stretched to the whole range. A PBM's white (0) is foreground, as in a PNG of
///   the same picture; [`ReadOptions::invert`] turns it.
/// - **`.npy`**: 2-D arrays of shape (height, width) of `bool`, `uint8`, `uint16`, `int16`,
///   `int32`, `float32` or `float64`, in C or Fortran order, of either endianness.
///
/// Of a file of several pages the first is read. That, and what else of a TIFF has no place in the
/// result, is in [`ReadImage::notes`].
///
/// The format is detected by content, whatever the file's extension. A pipe
/// is read as well as a file. Beside the result, memory is used for the decoded samples at most
/// (a few rows or columns for `.npy`), and no size that a file claims is trusted before memory
/// for it was had.
///
/// Should a decoder panic, that is an [`Error::Unreadable`] as well, and no panic hook runs: a
/// hook is set, the first time, that passes on all other panics to the one before it. (Not where
/// the program is built with `panic = "abort"`.)
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read; [`Error::Unreadable`] for one that is no image,
/// damaged, truncated, or of a kind that is not supported; [`Error::InvalidOption`] for a
/// threshold that the samples cannot have; [`Error::NotANumber`], [`Error::EmptyImage`],
/// [`Error::ImageTooLarge`], [`Error::OutOfMemory`].
pub fn read_image(path: impl AsRef<Path>, options: &ReadOptions) -> Result<ReadImage> {
    let path = path.as_ref();
    let mut source = Source::open(path)?;
    let format = Format::of(&mut source)?;
    contain(source.origin, || match format {
        Format::Npy => npy::read(&mut source, options),
        Format::Image(ImageFormat::Tiff) => tiff_file::read(&mut source, options),
        Format::Image(ImageFormat::Png) => png_file::read(&mut source, options),
        Format::Image(format) => image_file::read(&mut source, format, options),
    })
}

/// Decodes a file; a panic of the decoder is the file's error.
pub(super) fn contain<T>(origin: Origin<'_>, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    panics::contain(decode).unwrap_or_else(|panic| {
        Err(origin.unreadable(format_args!(
            "the decoder gave up on this file, which is a bug in it ({panic}): save it in another \
             format"
        )))
    })
}

/// What a reader reads from.
pub(super) struct Source<'a> {
    pub(super) origin: Origin<'a>,
    pub(super) bytes: Box<dyn BufReadSeek>,
}

/// Where it comes from, for errors.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) path: &'a Path,
    /// The file's size in bytes.
    pub(super) len: u64,
}

pub(super) trait BufReadSeek: BufRead + Seek {}
impl<T: BufRead + Seek> BufReadSeek for T {}

impl<'a> Source<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let io = |source| Error::Io {
            path: path.into(),
            source,
        };
        let mut file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_dir() {
            return Err(io(std::io::ErrorKind::IsADirectory.into()));
        }
        if metadata.is_file() {
            return Ok(Self {
                origin: Origin {
                    path,
                    len: metadata.len(),
                },
                bytes: Box::new(BufReader::with_capacity(
                    1 << 18,
                    Reported::new(file, Some(metadata.len())),
                )),
            });
        }
        #[cfg(unix)]
        if std::os::unix::fs::FileTypeExt::is_char_device(&metadata.file_type()) {
            // It may never end.
            return Err(Error::Unreadable {
                path: path.into(),
                reason: "this is a device: give a file or a pipe".into(),
            });
        }
        // A pipe: the decoders seek, so it has to be in memory.
        let mut bytes = Vec::new();
        let read = Reported::new(&mut file, None).read_to_end(&mut bytes);
        read.map_err(io)?;
        Ok(Self {
            origin: Origin {
                path,
                len: bytes.len() as u64,
            },
            bytes: Box::new(Cursor::new(bytes)),
        })
    }

    /// Whether the source, at its start and left there, has these bytes there.
    pub(super) fn starts_with(&mut self, bytes: &[u8]) -> Result<bool> {
        let mut start = Vec::new();
        let read = (&mut self.bytes)
            .take(bytes.len() as u64)
            .read_to_end(&mut start);
        read.map_err(|error| self.origin.io(error))?;
        self.rewind()?;
        Ok(start == bytes)
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        match self.bytes.seek(SeekFrom::Start(0)) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.origin.io(error)),
        }
    }
}

impl Origin<'_> {
    pub(super) fn io(&self, source: std::io::Error) -> Error {
        if source.kind() == std::io::ErrorKind::UnexpectedEof {
            return self.unreadable("the file is truncated: it ends before the last value");
        }
        Error::Io {
            path: self.path.into(),
            source,
        }
    }

    /// Refuses a file that is too small for the `bytes` of samples that it claims, even packed
    /// `ratio` to 1.
    pub(super) fn holds(&self, bytes: u64, ratio: u64, width: u32, height: u32) -> Result<()> {
        if bytes <= self.len.saturating_mul(ratio) {
            return Ok(());
        }
        Err(self.unreadable(format_args!(
            "the file is truncated: {} bytes cannot hold the {width} × {height} pixels it claims",
            self.len
        )))
    }

    /// An [`Error::Unreadable`]; decoders' messages are put on one line.
    pub(super) fn unreadable(&self, reason: impl Display) -> Error {
        let words = reason.to_string();
        Error::Unreadable {
            path: self.path.into(),
            reason: words.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
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
            return Err(source.origin.unreadable("the file is empty"));
        }
        if start.starts_with(b"\x93NUMPY") {
            return Ok(Self::Npy);
        }
        // BigTIFF, which `image` does not guess.
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
            Some(other) => Err(source.origin.unreadable(format_args!(
                "{} images are not read: give a PNG, PBM/PGM/PPM, BMP, TIFF or .npy file",
                other
                    .extensions_str()
                    .first()
                    .unwrap_or(&"such")
                    .to_uppercase()
            ))),
            None => Err(source.origin.unreadable(
                "not an image that can be read: give a PNG, PBM/PGM/PPM, BMP, TIFF or .npy file",
            )),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    /// A file that holds `bytes`.
    pub(in super::super) fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }
}
