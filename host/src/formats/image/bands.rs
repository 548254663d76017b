//! [`ImageBands`]: an image file read in bands of rows.

use std::path::{Path, PathBuf};

use super::content::Note;
use super::opened::Opened;
use super::options::ReadOptions;
use super::read;
use super::sample::SampleKind;
use super::threshold::Thresholder;
use crate::BinaryImage;
use crate::error::{Error, OptionProblem, ReadProblem, Result};
use crate::formats::source::{Origin, Source, Store, contain};
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
    path: PathBuf,
    len: u64,
    store: Store,
    options: ReadOptions,
    opened: Opened,
    next_row: u32,
    any_nonzero: bool,
    any_above: bool,
    /// Whether a band could not be read.
    failed: bool,
}

impl ImageBands {
    /// Opens the file at `path` and reads its header.
    ///
    /// The path may be a pipe, whose content is kept in memory as it is.
    ///
    /// # Errors
    /// Those of [`read_image`](super::read_image) that the header can reveal; [`Error::Unreadable`]
    /// for a file whose rows can only be read all at once; [`Error::InvalidOption`] for
    /// [`keep_grey`](field@ReadOptions::keep_grey).
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        if options.keep_grey {
            return Err(Error::option(
                "keep_grey",
                OptionProblem::Conflict,
                "an image that is read in bands comes without its picture: read the whole image",
            ));
        }
        let path = path.as_ref();
        let source = Source::open(path)?;
        let (origin, store) = (source.origin, source.store.clone());
        let opened = contain(origin, || read::open(source, options))?;
        if let Some(reason) = opened.whole_only {
            return Err(origin.unsupported(format_args!(
                "this file cannot be read in bands, because {reason}: save it without that, or \
                 as TIFF, PNG, PBM/PGM or .npy, or read it as a whole"
            )));
        }
        Ok(Self {
            len: origin.len,
            path: path.into(),
            store,
            options: *options,
            opened,
            next_row: 0,
            any_nonzero: false,
            any_above: false,
            failed: false,
        })
    }

    /// The next `rows` rows, fewer at the image's end; `None` after the last one, and for no rows.
    ///
    /// # Errors
    /// Those of [`read_image`](super::read_image). After an error there are no more bands;
    /// [`rewind`](Self::rewind) starts again.
    pub fn next_band(&mut self, rows: u32) -> Result<Option<BinaryImage>> {
        let rows = rows.min(self.opened.height - self.next_row);
        if rows == 0 {
            return Ok(None);
        }
        let origin = Origin {
            path: &self.path,
            len: self.len,
        };
        if self.failed {
            return Err(origin.refused(
                ReadProblem::Damaged,
                "a band of it could not be read, so the next ones are not read either",
            ));
        }
        self.failed = true;
        let opened = &mut self.opened;
        let mut band = Thresholder::new(opened.width, self.next_row, rows, false)?;
        contain(origin, || opened.rows.read(origin, &mut band))?;
        self.failed = false;
        self.next_row += rows;
        let (mut image, _, any_nonzero) = band.finish();
        self.any_nonzero |= any_nonzero;
        self.any_above = self.any_above || image.words().iter().any(|&word| word != 0);
        if self.options.invert {
            image.invert();
        }
        Ok(Some(image))
    }

    /// Goes back to the first row, for another pass over the same file.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn rewind(&mut self) -> Result<()> {
        let origin = Origin {
            path: &self.path,
            len: self.len,
        };
        let source = Source::at_start(origin, self.store.clone())?;
        self.opened = contain(origin, || read::open(source, &self.options))?;
        self.next_row = 0;
        self.any_nonzero = false;
        self.any_above = false;
        self.failed = false;
        Ok(())
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.opened.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.opened.height
    }

    /// The first row of the next band.
    pub fn next_row(&self) -> u32 {
        self.next_row
    }

    /// The kind of the file's samples.
    pub fn kind(&self) -> SampleKind {
        self.opened.kind
    }

    /// The threshold in use, in the samples' scale.
    pub fn threshold(&self) -> f64 {
        self.opened.threshold
    }

    /// What the file holds besides the image.
    pub fn notes(&self) -> &[Note] {
        &self.opened.notes
    }

    /// Whether no sample of the bands so far is above the threshold although some are not zero: the
    /// threshold may be wrong.
    pub fn only_below_threshold(&self) -> bool {
        self.any_nonzero && !self.any_above
    }

    /// The most bytes of memory that decoding takes besides the bands: a few rows, or in a TIFF
    /// some strips or a row of tiles.
    pub fn decoding_bytes(&self) -> u64 {
        self.opened.decoding_bytes
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
        let (width, height, next_row) = (self.width(), self.height(), self.next_row);
        f.debug_struct("ImageBands")
            .field("path", &self.path)
            .field("width", &width)
            .field("height", &height)
            .field("next_row", &next_row)
            .finish_non_exhaustive()
    }
}
