//! [`Raster`]: a file's samples as they are.

use std::path::Path;

use super::content::Note;
use super::georeference::{GeoReference, Georeferenced};
use super::options::ReadOptions;
use super::read;
use super::sample::SampleKind;
use super::values::{SampleRows, for_values};
use crate::Result;
use crate::formats::source::{Source, contain};
use crate::memory::zeroed_vec;

/// The values of a raster, row by row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs)]
pub enum RasterValues {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Why a file with colours is no raster.
pub(super) const COLOURS: &str = "a file of values has one channel per pixel, and this one has \
     colours or an alpha channel: save one channel of it";

impl RasterValues {
    /// The number of values.
    pub fn len(&self) -> usize {
        for_values!(self, values => values.len())
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type's name, as NumPy has it.
    pub fn dtype(&self) -> &'static str {
        match self {
            Self::U8(_) => "uint8",
            Self::U16(_) => "uint16",
            Self::U32(_) => "uint32",
            Self::I16(_) => "int16",
            Self::I32(_) => "int32",
            Self::I64(_) => "int64",
            Self::F32(_) => "float32",
            Self::F64(_) => "float64",
        }
    }

    /// `len` zeros of the type that holds samples of this kind.
    pub(super) fn zeros(kind: SampleKind, len: usize) -> Result<Self> {
        const WHAT: &str = "the values of a raster";
        Ok(match kind {
            SampleKind::Bit | SampleKind::U8 => Self::U8(zeroed_vec(len, WHAT)?),
            SampleKind::U16 => Self::U16(zeroed_vec(len, WHAT)?),
            SampleKind::U32 => Self::U32(zeroed_vec(len, WHAT)?),
            SampleKind::I16 => Self::I16(zeroed_vec(len, WHAT)?),
            SampleKind::I32 => Self::I32(zeroed_vec(len, WHAT)?),
            SampleKind::I64 => Self::I64(zeroed_vec(len, WHAT)?),
            SampleKind::F32 => Self::F32(zeroed_vec(len, WHAT)?),
            SampleKind::F64 => Self::F64(zeroed_vec(len, WHAT)?),
        })
    }

    /// The bytes of a value of this kind.
    pub(super) fn sample_bytes(kind: SampleKind) -> u64 {
        match kind {
            SampleKind::Bit | SampleKind::U8 => 1,
            SampleKind::U16 | SampleKind::I16 => 2,
            SampleKind::U32 | SampleKind::I32 | SampleKind::F32 => 4,
            SampleKind::I64 | SampleKind::F64 => 8,
        }
    }
}

/// The content of a file of values: labels, classes, intensities, elevations.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Raster {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The samples, row by row.
    pub values: RasterValues,
    /// The kind of the file's samples.
    pub kind: SampleKind,
    /// The value of pixels without data that the file names (GDAL's `nodata`); it may be NaN.
    pub no_data: Option<f64>,
    /// The file's other contents.
    pub notes: Vec<Note>,
    georeference: Georeferenced,
}

impl Raster {
    /// Where the raster is on Earth, if the file is a GeoTIFF.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) for a georeference that cannot be true.
    pub fn georeference(&self) -> Result<Option<GeoReference>> {
        self.georeference.get()
    }
}

/// Reads a file of values: its samples as they are, without a threshold.
///
/// - **TIFF**: grey and palettes of 1, 8, 16 and 32 bits unsigned, 16, 32 and 64 bits signed,
///   floats of 32 and 64 bits, in all layouts that [`read_image`](super::read_image) reads.
/// - **PNG**: grey and palettes of 1 to 16 bits; of a palette, the indices.
/// - **PBM, PGM, PAM** of one channel; a PBM's white is 1.
/// - **`.npy`**: 2-D arrays of `bool`, `uint8`, `uint16`, `uint32`, `int16`, `int32`, `int64`,
///   `float32` or `float64`.
///
/// Samples of fewer than 8 bits are not stretched, and samples whose zero is white are not
/// inverted. Single bits and `bool` become bytes of 0 and 1. All else is as in
/// [`read_image`](super::read_image), also the errors; memory holds the values and the decoder's
/// needs.
///
/// # Errors
/// [`Error::Unreadable`](crate::Error::Unreadable) also for files with colours.
///
/// ```
/// use trazar::formats::{RasterValues, read_raster};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("a.pgm");
/// std::fs::write(&path, "P2\n3 2\n9\n1 1 2\n1 9 2\n").unwrap();
/// let raster = read_raster(&path)?;
/// assert_eq!((raster.width, raster.height), (3, 2));
/// assert_eq!(raster.values, RasterValues::U8(vec![1, 1, 2, 1, 9, 2]));
/// # Ok::<(), trazar::Error>(())
/// ```
pub fn read_raster(path: impl AsRef<Path>) -> Result<Raster> {
    let source = Source::open(path.as_ref())?;
    let origin = source.origin;
    contain(origin, || {
        let mut opened = read::open::<SampleRows>(source, &ReadOptions::default())?;
        let (width, height, kind) = (opened.width, opened.height, opened.kind);
        let mut rows = SampleRows::new(width, 0, height, kind)?;
        opened.rows.read(origin, &mut rows)?;
        Ok(Raster {
            width,
            height,
            values: rows.finish(),
            kind,
            no_data: opened.no_data,
            notes: opened.notes,
            georeference: opened.georeference,
        })
    })
}
