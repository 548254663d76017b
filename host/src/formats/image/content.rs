//! [`ReadImage`]: the result of reading an image.

use std::fmt::{self, Display};

use super::georeference::{GeoReference, Georeferenced};
use super::grey::GreyImage;
use super::opened::Opened;
use super::options::ReadOptions;
use super::sample::SampleKind;
use super::threshold::Thresholder;
use crate::{BinaryImage, Result};

/// An image file's content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadImage {
    /// Its foreground and background.
    pub image: BinaryImage,
    /// The picture in shades of grey, if [`ReadOptions::keep_grey`](field@ReadOptions::keep_grey)
    /// requested it.
    pub grey: Option<GreyImage>,
    /// The kind of the file's samples.
    pub kind: SampleKind,
    /// The threshold that was used, in the samples' scale.
    pub threshold: f64,
    /// Whether no sample is above the threshold although some are not zero: the threshold may be
    /// wrong.
    pub only_below_threshold: bool,
    /// The file's other contents.
    pub notes: Vec<Note>,
    georeference: Georeferenced,
}

/// Content of a file besides the pixels of its first image, which was left out.
///
/// `Display` describes it on one line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Note {
    /// The georeference of a GeoTIFF. Results are in pixels.
    Georeference {
        /// Whether the file gives the coordinate reference system.
        crs: bool,
        /// Whether the file gives the transform from pixels to coordinates.
        transform: bool,
    },
    /// The value for missing data (GDAL's `nodata`), as text. Pixels with it are background; if it
    /// is no number, there are none.
    NoData(String),
    /// The number of pages after the first, without smaller copies of pages.
    MorePages(u64),
}

impl Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Georeference { crs, transform } => {
                let what = match (crs, transform) {
                    (true, true) => "CRS and transform are",
                    (true, false) => "CRS is",
                    (false, _) => "transform is",
                };
                write!(f, "the file's {what} left out: results are in pixels")
            }
            Self::NoData(value) if value.parse::<f64>().is_ok() => {
                write!(
                    f,
                    "pixels with the file's no-data value {value} are left out"
                )
            }
            Self::NoData(value) => {
                write!(
                    f,
                    "the file's no-data value {value:?} is no number, and is ignored"
                )
            }
            Self::MorePages(1) => write!(f, "another page of the file is left out"),
            Self::MorePages(count) => write!(f, "{count} more pages of the file are left out"),
        }
    }
}

impl ReadImage {
    pub(super) fn new(
        rows: Thresholder,
        opened: Opened<Thresholder>,
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
            kind: opened.kind,
            threshold: opened.threshold,
            only_below_threshold,
            notes: opened.notes,
            georeference: opened.georeference,
        }
    }

    /// Where the image is on Earth, if the file is a GeoTIFF.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) for a georeference that cannot be true.
    pub fn georeference(&self) -> Result<Option<GeoReference>> {
        self.georeference.get()
    }
}
