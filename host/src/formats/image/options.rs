//! [`ReadOptions`].

use super::sample::Missing;
use crate::options::setters;

/// Which pixels have no data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum NoData {
    /// Those with the value that the file names: GDAL's `nodata` in a TIFF.
    #[default]
    OfFile,
    /// None.
    None,
    /// Those with this value. NaN stands for all values that are not a number.
    Value(f64),
}

/// How to read an image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Foreground is `value > threshold`, in the samples' own scale.
    ///
    /// | samples | range | default |
    /// |---|---|---|
    /// | 1-bit, `bool` | 0 to 1 | 0.5: 1 (true) is foreground |
    /// | 8-bit | 0 to 255 | 127 |
    /// | 16-bit | 0 to 65535 | 32767 |
    /// | signed 16-bit | -32768 to 32767 | 0 |
    /// | signed 32-bit | -2³¹ to 2³¹ - 1 | 0 |
    /// | floats | finite numbers | 0.5 |
    pub threshold: Option<f64>,
    /// Swap foreground and background after thresholding.
    pub invert: bool,
    /// Keep the picture too, as [`ReadImage::grey`](super::ReadImage::grey).
    pub keep_grey: bool,
    /// The pixels without data. They are background, even if [`invert`](field@Self::invert) swaps
    /// foreground and background.
    pub no_data: NoData,
}

setters! {
    ReadOptions {
        threshold: impl Into<Option<f64>>,
        invert: bool,
        keep_grey: bool,
        no_data: NoData,
    }
}

impl ReadOptions {
    /// The pixels without data; `of_file` is the value that the file names.
    pub(super) fn missing(&self, of_file: Option<f64>) -> Option<Missing> {
        let value = match self.no_data {
            NoData::OfFile => of_file,
            NoData::None => None,
            NoData::Value(value) => Some(value),
        };
        value.map(|value| Missing {
            value,
            bit: self.invert,
        })
    }
}
