//! [`Opened`]: an image file whose header is read, and whose pixels are read band by band.

use super::content::Note;
use super::sample::SampleKind;
use super::threshold::Thresholder;
use crate::Result;
use crate::formats::source::Origin;

/// An image file whose header has been read.
pub(super) struct Opened {
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
    pub(super) rows: Box<dyn Rows>,
}

/// The rows of an open image file, from top to bottom.
pub(super) trait Rows: Send {
    /// Reads the next rows, as many as `into` takes.
    fn read(&mut self, origin: Origin<'_>, into: &mut Thresholder) -> Result<()>;
}
