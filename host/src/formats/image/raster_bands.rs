//! [`RasterBands`]: a file of values read in bands of rows.

use std::path::Path;

use super::content::Note;
use super::file_bands::FileBands;
use super::georeference::GeoReference;
use super::options::ReadOptions;
use super::raster::RasterValues;
use super::sample::SampleKind;
use super::values::SampleRows;
use crate::Result;

/// A file of values that is read band by band: each time the next rows, as many as the caller asks
/// for, from the first row to the last.
///
/// The bands of a file, one after the other, are the values that
/// [`read_raster`](super::read_raster) returns, with the same errors. The formats are those of
/// [`ImageBands`](super::ImageBands), without BMP. Memory holds the band and the decoder's needs
/// ([`decoding_bytes`](Self::decoding_bytes)), but never the whole raster.
///
/// ```
/// use trazar::formats::{RasterBands, RasterValues};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("a.pgm");
/// std::fs::write(&path, "P2\n2 3\n9\n1 1\n1 9\n5 5\n").unwrap();
/// let mut bands = RasterBands::open(&path)?;
/// assert_eq!(bands.next_band(2)?, Some(RasterValues::U8(vec![1, 1, 1, 9])));
/// assert_eq!(bands.next_band(2)?, Some(RasterValues::U8(vec![5, 5])));
/// assert_eq!(bands.next_band(2)?, None);
/// # Ok::<(), trazar::Error>(())
/// ```
pub struct RasterBands {
    file: FileBands<SampleRows>,
}

impl RasterBands {
    /// Opens the file at `path` and reads its header.
    ///
    /// The path may be a pipe, whose content is kept in memory as it is.
    ///
    /// # Errors
    /// Those of [`read_raster`](super::read_raster) that the header can reveal;
    /// [`Error::Unreadable`](crate::Error::Unreadable) for a file whose rows can only be read all
    /// at once.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let file = FileBands::open(path.as_ref(), &ReadOptions::default())?;
        Ok(Self { file })
    }

    /// The values of the next `rows` rows, fewer at the raster's end; `None` after the last one,
    /// and for no rows.
    ///
    /// # Errors
    /// Those of [`read_raster`](super::read_raster). After an error there are no more bands;
    /// [`rewind`](Self::rewind) starts again.
    pub fn next_band(&mut self, rows: u32) -> Result<Option<RasterValues>> {
        let band = self.file.next_band(rows, |opened, first_row, rows| {
            SampleRows::new(opened.width, first_row, rows, opened.kind)
        })?;
        Ok(band.map(SampleRows::finish))
    }

    /// Goes back to the first row, for another pass over the same file.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn rewind(&mut self) -> Result<()> {
        self.file.rewind()
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.file.opened.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.file.opened.height
    }

    /// The first row of the next band.
    pub fn next_row(&self) -> u32 {
        self.file.next_row
    }

    /// The kind of the file's samples.
    pub fn kind(&self) -> SampleKind {
        self.file.opened.kind
    }

    /// The bytes of a value in memory.
    pub fn value_bytes(&self) -> u64 {
        RasterValues::sample_bytes(self.kind())
    }

    /// The value of pixels without data that the file names (GDAL's `nodata`); it may be NaN.
    pub fn no_data(&self) -> Option<f64> {
        self.file.opened.no_data
    }

    /// What the file holds besides the values.
    pub fn notes(&self) -> &[Note] {
        &self.file.opened.notes
    }

    /// Where the raster is on Earth, if the file is a GeoTIFF.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) for a georeference that cannot be true.
    pub fn georeference(&self) -> Result<Option<GeoReference>> {
        self.file.opened.georeference.get()
    }

    /// The most bytes of memory that decoding takes besides the bands: a few rows, or in a TIFF
    /// some strips or a row of tiles.
    pub fn decoding_bytes(&self) -> u64 {
        self.file.opened.decoding_bytes
    }
}

impl std::fmt::Debug for RasterBands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RasterBands")
            .field("path", &self.file.path)
            .field("width", &self.width())
            .field("height", &self.height())
            .field("next_row", &self.next_row())
            .finish_non_exhaustive()
    }
}
