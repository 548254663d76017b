//! [`Opened`]: an image file whose header is read, and whose pixels are read band by band.

use super::content::Note;
use super::sample::SampleKind;
use super::threshold::Thresholder;
use crate::Result;
use crate::formats::source::Origin;

/// An image file whose header is read.
pub(super) struct Opened {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) kind: SampleKind,
    /// The threshold to use, in the samples' scale.
    pub(super) threshold: f64,
    /// What the file holds besides its pixels.
    pub(super) notes: Vec<Note>,
    /// Why all rows have to be read at once, if they have to.
    pub(super) whole_only: Option<&'static str>,
    /// The memory in bytes that decoding takes besides the rows that it gives.
    pub(super) decoding_bytes: u64,
    pub(super) rows: Box<dyn Rows>,
}

/// The rows of an open image file, from top to bottom.
pub(super) trait Rows: Send {
    /// Reads the next rows, as many as `into` takes.
    fn read(&mut self, origin: Origin<'_>, into: &mut Thresholder) -> Result<()>;
}
