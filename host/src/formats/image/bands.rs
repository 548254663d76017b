//! [`ImageBands`]: an image file read in bands of rows.

use std::path::Path;

use super::content::Note;
use super::file_bands::FileBands;
use super::georeference::GeoReference;
use super::options::ReadOptions;
use super::sample::SampleKind;
use super::threshold::Thresholder;
use crate::BinaryImage;
use crate::error::{Error, OptionProblem, Result};
use crate::label::parts::BandSource;

/// An image file that is read and thresholded band by band: each time the next rows, as many as the
/// caller asks for, from the first row to the last.
///
/// The bands of a file, stacked vertically, are the image that [`read_image`](super::read_image)
/// returns, with the same options and the same errors. Memory holds the band and the decoder's
/// needs ([`decoding_bytes`](Self::decoding_bytes)), but never the whole image.
///
/// | format | in bands |
/// |---|---|
/// | PNG | unless it is interlaced |
/// | PBM, PGM, PPM, PAM | yes |
/// | TIFF | yes; a row of tiles, or a strip, is decoded at once, on all cores |
/// | BMP | unless it is run-length encoded |
/// | `.npy` | yes |
///
/// ```
/// use trazar::formats::{ImageBands, ReadOptions};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("a.pbm");
/// std::fs::write(&path, "P1\n3 5\n010 111 000 111 110\n").unwrap();
/// let mut bands = ImageBands::open(&path, &ReadOptions::default().invert(true))?;
/// assert_eq!((bands.width(), bands.height()), (3, 5));
/// let mut heights = Vec::new();
/// while let Some(band) = bands.next_band(2)? {
///     heights.push(band.height());
/// }
/// assert_eq!(heights, [2, 2, 1]);
/// # Ok::<(), trazar::Error>(())
/// ```
pub struct ImageBands {
    file: FileBands<Thresholder>,
    any_nonzero: bool,
    any_above: bool,
}

impl ImageBands {
    /// Opens the file at `path` and reads its header.
    ///
    /// The path may be a pipe, whose content is kept in memory as it is.
    ///
    /// # Errors
    /// Those of [`read_image`](super::read_image) that the header can reveal;
    /// [`Error::Unreadable`](crate::Error::Unreadable) for a file whose rows can only be read all
    /// at once; [`Error::InvalidOption`](crate::Error::InvalidOption) for
    /// [`keep_grey`](field@ReadOptions::keep_grey).
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        if options.keep_grey {
            return Err(Error::option(
                "keep_grey",
                OptionProblem::Conflict,
                "an image that is read in bands comes without its picture: read the whole image",
            ));
        }
        Ok(Self {
            file: FileBands::open(path.as_ref(), options)?,
            any_nonzero: false,
            any_above: false,
        })
    }

    /// The next `rows` rows, fewer at the image's end; `None` after the last one, and for no rows.
    ///
    /// # Errors
    /// Those of [`read_image`](super::read_image). After an error there are no more bands;
    /// [`rewind`](Self::rewind) starts again.
    pub fn next_band(&mut self, rows: u32) -> Result<Option<BinaryImage>> {
        let options = self.file.options;
        let band = self.file.next_band(rows, |opened, first_row, rows| {
            let no_data = options.missing(opened.no_data);
            Thresholder::new(opened.width, first_row, rows, false, no_data)
        })?;
        let Some(band) = band else { return Ok(None) };
        let (mut image, _, any_nonzero) = band.finish();
        self.any_nonzero |= any_nonzero;
        self.any_above = self.any_above || image.words().iter().any(|&word| word != 0);
        if options.invert {
            image.invert();
        }
        Ok(Some(image))
    }

    /// Goes back to the first row, for another pass over the same file.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn rewind(&mut self) -> Result<()> {
        self.file.rewind()?;
        self.any_nonzero = false;
        self.any_above = false;
        Ok(())
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

    /// The threshold in use, in the samples' scale.
    pub fn threshold(&self) -> f64 {
        self.file.opened.threshold
    }

    /// What the file holds besides the image.
    pub fn notes(&self) -> &[Note] {
        &self.file.opened.notes
    }

    /// Where the image is on Earth, if the file is a GeoTIFF.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) for a georeference that cannot be true.
    pub fn georeference(&self) -> Result<Option<GeoReference>> {
        self.file.opened.georeference.get()
    }

    /// Whether no sample of the bands so far is above the threshold although some are not zero: the
    /// threshold may be wrong.
    pub fn only_below_threshold(&self) -> bool {
        self.any_nonzero && !self.any_above
    }

    /// The most bytes of memory that decoding takes besides the bands: a few rows, or in a TIFF
    /// some strips or a row of tiles.
    pub fn decoding_bytes(&self) -> u64 {
        self.file.opened.decoding_bytes
    }
}

impl BandSource for ImageBands {
    fn width(&self) -> u32 {
        self.width()
    }

    fn height(&self) -> u32 {
        self.height()
    }

    fn next_band(&mut self, rows: u32) -> Result<Option<BinaryImage>> {
        self.next_band(rows)
    }

    fn rewind(&mut self) -> Result<()> {
        self.rewind()
    }

    fn decoding_bytes(&self) -> u64 {
        self.decoding_bytes()
    }
}

impl std::fmt::Debug for ImageBands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (width, height, next_row) = (self.width(), self.height(), self.next_row());
        f.debug_struct("ImageBands")
            .field("path", &self.file.path)
            .field("width", &width)
            .field("height", &height)
            .field("next_row", &next_row)
            .finish_non_exhaustive()
    }
}
