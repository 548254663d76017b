//! [`Opened`]: an image file whose header is read, and whose pixels are read band by band.

use super::content::Note;
use super::georeference::Georeferenced;
use super::sample::SampleKind;
use crate::Result;
use crate::formats::source::Origin;

/// An image file whose header has been read.
pub(super) struct Opened<S> {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) kind: SampleKind,
    /// The threshold to use, in the samples' scale.
    pub(super) threshold: f64,
    /// The file's contents besides its pixels.
    pub(super) notes: Vec<Note>,
    /// Why all rows have to be read at once, if they have to.
    pub(super) whole_only: Option<&'static str>,
    /// The bytes of memory that decoding takes besides the returned rows.
    pub(super) decoding_bytes: u64,
    /// The value of pixels without data, as the file gives it.
    pub(super) no_data: Option<f64>,
    /// Where the image is on Earth.
    pub(super) georeference: Georeferenced,
    pub(super) rows: Box<dyn Rows<S>>,
}

/// The rows of an open image file, from top to bottom.
pub(super) trait Rows<S>: Send {
    /// Reads the next rows, as many as `into` takes.
    fn read(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()>;
}
