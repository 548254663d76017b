//! What borders are followed on: a binary image, or the planes of equality of an image of values.

use super::tile::TILE_HEIGHT;
use crate::image::equality::{E, EqualityPlanes, S};
use crate::trace::node_bits::{Around, Kind};
use crate::trace::node_walk::NodeWalk;
use crate::trace::options::Geometry;
use crate::trace::pixels::{Raster, TracedImage};

/// Rows of a tile of an image of values. Every side of every pixel may be a node, twice as many as
/// in a binary image, so a tile has half as many rows.
pub const VALUE_TILE_HEIGHT: u32 = TILE_HEIGHT / 2;

/// An image whose borders are followed in tiles. A pixel's border passes between it and those of
/// its neighbours that are not connected to it: background, or pixels of another value.
pub(super) trait Source: Copy {
    /// Rows of a tile, at most [`TILE_HEIGHT`].
    const TILE_HEIGHT: u32;
    /// Whether a neighbour is connected if it is foreground, so that a tile's rows of bits tell.
    const IS_BINARY: bool;

    fn raster(&self) -> Raster;
    fn geometry(&self) -> Geometry;
    /// A word of a binary image; 0 outside.
    fn word(&self, word_x: u32, y: u32) -> u64;
    /// A word's pixels, and which of their neighbours are connected to them.
    fn around(&self, word_x: u32, y: u32) -> Around;
    /// Whether two pixels that touch at a corner belong to one 4-connected component or region.
    fn joined(&self, x: u32, y: u32, u: u32, v: u32) -> bool;
    /// The first row, from `top` on, such that the pixels of column `x` from there down to `y` are
    /// connected and have a side of this kind, W or E.
    fn top_of_side(&self, x: u32, y: u32, kind: Kind, top: u32) -> u32;

    /// The kind of the node whose gap contains the E neighbour of pixel `(x, y)`, which is not
    /// connected to it.
    #[inline(always)]
    fn kind_at_east(&self, x: u32, y: u32) -> Kind {
        match self.geometry() {
            Geometry::Edges => Kind::E,
            Geometry::Centers => self.around(x / 64, y).kind_at_e(x % 64),
        }
    }
}

impl Source for TracedImage<'_> {
    const TILE_HEIGHT: u32 = TILE_HEIGHT;
    const IS_BINARY: bool = true;

    #[inline(always)]
    fn raster(&self) -> Raster {
        self.pixels.raster
    }

    #[inline(always)]
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline(always)]
    fn word(&self, word_x: u32, y: u32) -> u64 {
        self.pixels.word(word_x, y)
    }

    #[inline(always)]
    fn around(&self, word_x: u32, y: u32) -> Around {
        self.pixels.around(word_x, y)
    }

    #[inline(always)]
    fn joined(&self, x: u32, y: u32, u: u32, v: u32) -> bool {
        TracedImage::joined(self, x, y, u, v)
    }

    #[inline(always)]
    fn top_of_side(&self, x: u32, y: u32, kind: Kind, top: u32) -> u32 {
        NodeWalk::new(*self).top_of_side(x, y, kind, top)
    }
}

/// The regions of an image of values, whose borders run along edges.
#[repr(C)]
#[derive(Clone, Copy, cuda_std::KernelParam)]
pub struct TracedRegions<'a> {
    /// Which neighbours have the same value.
    #[len(())]
    pub planes: EqualityPlanes<'a>,
    /// Each pixel's 4-connected region, numbered from 1 in raster order of first pixels.
    #[len(self.planes.raster.pixels())]
    pub labels: cuda_std::View<'a, u32>,
}

impl TracedRegions<'_> {
    /// The region of a pixel.
    #[inline(always)]
    pub(super) fn region(&self, x: u32, y: u32) -> u32 {
        let at = self.planes.raster.wide_pixel(x, y);
        self.labels.ldg(at as usize)
    }
}

impl Source for TracedRegions<'_> {
    const TILE_HEIGHT: u32 = VALUE_TILE_HEIGHT;
    const IS_BINARY: bool = false;

    #[inline(always)]
    fn raster(&self) -> Raster {
        self.planes.raster
    }

    #[inline(always)]
    fn geometry(&self) -> Geometry {
        Geometry::Edges
    }

    #[inline(always)]
    fn word(&self, word_x: u32, y: u32) -> u64 {
        self.planes.valid(word_x, y)
    }

    #[inline(always)]
    fn around(&self, word_x: u32, y: u32) -> Around {
        self.planes.around(word_x, y)
    }

    #[inline(always)]
    fn joined(&self, x: u32, y: u32, u: u32, v: u32) -> bool {
        // planted: region-saddle
        self.region(x, y) == self.region(u, v)
    }

    #[inline(always)]
    fn top_of_side(&self, x: u32, y: u32, kind: Kind, top: u32) -> u32 {
        self.planes.top_of_side(x, y, kind, top)
    }
}

/// An image of values without its regions: enough to follow borders over centers. Along edges,
/// regions decide where pixels touch at a corner ([`TracedRegions`]).
#[repr(C)]
#[derive(Clone, Copy, cuda_std::KernelParam)]
pub struct TracedValues<'a> {
    /// Which neighbours have the same value.
    #[len(())]
    pub planes: EqualityPlanes<'a>,
    /// Where borders run.
    pub geometry: Geometry,
}

impl Source for TracedValues<'_> {
    const TILE_HEIGHT: u32 = VALUE_TILE_HEIGHT;
    const IS_BINARY: bool = false;

    #[inline(always)]
    fn raster(&self) -> Raster {
        self.planes.raster
    }

    #[inline(always)]
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline(always)]
    fn word(&self, word_x: u32, y: u32) -> u64 {
        self.planes.valid(word_x, y)
    }

    #[inline(always)]
    fn around(&self, word_x: u32, y: u32) -> Around {
        self.planes.around(word_x, y)
    }

    /// Over centers, saddles need no decision.
    #[inline(always)]
    fn joined(&self, _: u32, _: u32, _: u32, _: u32) -> bool {
        false
    }

    #[inline(always)]
    fn top_of_side(&self, x: u32, y: u32, kind: Kind, top: u32) -> u32 {
        self.planes.top_of_side(x, y, kind, top)
    }
}

impl EqualityPlanes<'_> {
    /// [`Source::top_of_side`].
    #[inline(always)]
    fn top_of_side(&self, x: u32, y: u32, kind: Kind, top: u32) -> u32 {
        let mut y = y;
        while y > top {
            let above = y - 1;
            // A column before the first has wrapped around, to a word that no row has.
            let is_equal = |plane, x: u32| self.plane(plane, x / 64, above) >> (x % 64) & 1 != 0;
            // The pixel whose equality to the E says whether there is such a side.
            let beside = if kind == Kind::W {
                x.wrapping_sub(1)
            } else {
                x
            };
            // planted: value-top-of-side
            if !is_equal(S, x) || is_equal(E, beside) {
                break;
            }
            y = above;
        }
        y
    }
}
