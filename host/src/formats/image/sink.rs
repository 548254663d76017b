//! [`Sink`]: what takes the samples that readers decode.

use super::sample::{SampleKind, Stored};
use crate::Result;

/// Takes the decoded samples of a band of an image's rows, or of all rows.
pub(super) trait Sink: Send + Sync + Sized + 'static {
    /// Whether samples are kept as they are stored. Otherwise they are thresholded: colours are
    /// reduced to shades, and shades are stretched to the range of their type.
    const VALUES: bool;

    /// The number of bytes that `pixels` pixels take.
    fn bytes(kind: SampleKind, pixels: u64) -> u64;

    fn width(&self) -> usize;

    /// The number of the band's rows.
    fn rows(&self) -> usize;

    /// The image's row at which the band begins.
    fn first_row(&self) -> usize;

    /// Takes row `y` of the band: foreground is `value > threshold`.
    fn row<T: Stored>(&mut self, y: usize, values: &[T], threshold: T) -> Result<()>;

    /// Takes row `y` of the band as bits, the leftmost pixel in the highest bit of the first byte.
    /// Bits equal to `white` stand for the sample 255, others for 0; foreground is above
    /// `threshold`. A sink of values takes `white` as 1, and others as 0.
    fn packed_row(&mut self, y: usize, packed: &[u8], white: bool, threshold: u8);

    /// Takes up to 64 columns, from column `x` (a multiple of 64) on. `values` holds one column
    /// after the other.
    fn columns<T: Stored>(&mut self, x: usize, values: &[T], threshold: T) -> Result<()>;

    /// A sink of this kind for a piece of the image: `rows` rows from `first_row` on.
    fn piece(&self, width: u32, first_row: u32, rows: u32) -> Result<Self>;

    /// Clears all rows, for reuse from row `first_row` on.
    fn start_again(&mut self, first_row: u32);

    /// Merges the facts about all samples of `piece`, whose rows belong to this image.
    fn take_facts(&mut self, piece: &Self);

    /// Takes `count` rows, from its row `y` on, out of pieces.
    fn take_pieces(&mut self, y: usize, count: usize, pieces: &PieceRows<'_, Self>);
}

/// Rows that are spread over pieces from left to right.
pub(super) struct PieceRows<'a, S> {
    /// The width of all pieces but the last.
    pub(super) width: usize,
    /// The pieces that contain a row, counted from the first wanted one, and its place in them.
    pub(super) at: &'a (dyn Fn(usize) -> (&'a [Option<S>], usize) + Sync),
}
