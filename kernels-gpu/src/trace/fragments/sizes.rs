//! The sizes from which the lengths of [`Parts`] and of [`Chains`](super::join::Chains) follow.

use super::cycles::most_segments;
use super::key::{LINK_WORDS, WIDE_LINK_WORDS};
use super::records::{ClosedRecord, FragmentRecord};
use super::{Parts, TILE_HEIGHT, VALUE_TILE_HEIGHT};
use crate::trace::pixels::Raster;

/// The size of an image, and numbers of what is found in it: those for which there is memory, or
/// those that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The image's size.
    pub raster: Raster,
    /// Rows of a tile: [`TILE_HEIGHT`], or [`VALUE_TILE_HEIGHT`] for an image of values.
    pub tile_height: u32,
    /// Fragments.
    pub fragments: u32,
    /// Borders inside one tile.
    pub closed: u32,
    /// Nodes of kinds W and E.
    pub sides: u32,
    /// Points.
    pub points: u32,
}

impl Sizes {
    /// Tiles.
    #[must_use]
    pub const fn tiles(&self) -> u32 {
        self.raster.row_words * self.raster.height.div_ceil(self.tile_height)
    }

    /// Rows of all tiles.
    #[must_use]
    pub const fn tile_rows(&self) -> u32 {
        self.tiles() * self.tile_height
    }

    /// The most borders: a border that leaves its tile has at least two fragments.
    #[must_use]
    pub const fn borders(&self) -> u32 {
        // planted: arena-borders
        (self.fragments / 2).saturating_add(self.closed)
    }

    /// The larger numbers of both, for an image of this size.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            raster: self.raster,
            tile_height: self.tile_height,
            fragments: self.fragments.max(other.fragments),
            closed: self.closed.max(other.closed),
            sides: self.sides.max(other.sides),
            points: self.points.max(other.points),
        }
    }

    /// Whether memory for `other` has room for this.
    #[must_use]
    pub const fn fit(&self, other: &Self) -> bool {
        self.fragments <= other.fragments
            && self.closed <= other.closed
            && self.sides <= other.sides
            && self.points <= other.points
    }
}

/// The sizes from which the lengths of [`Chains`](super::join::Chains) follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinSizes {
    /// What is joined.
    pub found: Sizes,
    /// Whether fragments are joined by
    /// [`join_wide_fragments`](fn@super::join::join_wide_fragments).
    pub wide_keys: bool,
    /// Blocks of the cooperative grid.
    pub blocks: u32,
}

impl JoinSizes {
    /// Words per link.
    #[must_use]
    pub const fn link_words(&self) -> usize {
        if self.wide_keys {
            WIDE_LINK_WORDS
        } else {
            LINK_WORDS
        }
    }

    /// The most segments.
    #[must_use]
    pub const fn segments(&self) -> u32 {
        most_segments(self.found.fragments)
    }
}

impl Parts<'_> {
    /// The numbers for which there is room; the image is of size `raster`.
    pub(super) fn sizes(&self, raster: Raster) -> Sizes {
        let number = |words: usize, each| u32::try_from(words / each).unwrap_or(u32::MAX);
        Sizes {
            raster,
            tile_height: TILE_HEIGHT,
            fragments: number(self.fragments.len(), FragmentRecord::WORDS),
            closed: number(self.closed.len(), ClosedRecord::WORDS),
            sides: number(self.sides.len(), 1),
            points: number(self.points.len(), 1),
        }
    }

    /// The same for an image of values.
    pub(super) fn value_sizes(&self, raster: Raster) -> Sizes {
        Sizes {
            tile_height: VALUE_TILE_HEIGHT,
            ..self.sizes(raster)
        }
    }

    /// The sizes of joining as many in an image of values, in a grid of `blocks` blocks.
    pub(super) fn value_join_sizes(&self, raster: Raster, blocks: u32) -> JoinSizes {
        JoinSizes {
            found: self.value_sizes(raster),
            wide_keys: false,
            blocks,
        }
    }

    /// The sizes of joining as many, in a grid of `blocks` blocks.
    pub(super) fn join_sizes(&self, raster: Raster, wide_keys: bool, blocks: u32) -> JoinSizes {
        JoinSizes {
            found: self.sizes(raster),
            wide_keys,
            blocks,
        }
    }
}
