//! [`ReadOptions`].

use crate::options::setters;

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
}

setters! {
    ReadOptions {
        threshold: impl Into<Option<f64>>,
        invert: bool,
        keep_grey: bool,
    }
}
