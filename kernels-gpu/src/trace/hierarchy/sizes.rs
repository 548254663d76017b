//! The sizes from which the lengths of an [`Arrangement`] follow.

use super::Arrangement;
use crate::trace::borders::{FoundBorders, Stack};

/// The sizes from which the lengths of an [`Arrangement`] follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrangementSizes {
    /// The most borders.
    pub borders: u32,
    /// Images that they are in.
    pub images: u32,
    /// Blocks of the cooperative grid.
    pub blocks: u32,
}

impl Arrangement<'_> {
    /// The sizes for as many borders as `found` has, in `stack`, and for a grid of `blocks` blocks.
    pub(super) fn sizes_for(
        found: &FoundBorders<'_>,
        stack: &Stack<'_>,
        blocks: u32,
    ) -> ArrangementSizes {
        ArrangementSizes {
            borders: found.room(),
            images: stack.images,
            blocks,
        }
    }
}
