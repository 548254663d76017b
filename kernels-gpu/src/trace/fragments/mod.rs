//! Tracing by fragments: pieces of borders inside tiles of the image, joined to borders.
//!
//! One block takes a tile of 64 × 32 pixels into shared memory. Inside the tile, a border is a
//! cycle of [nodes](crate::trace::node_bits) if it never leaves the tile; otherwise it is one or
//! more chains of nodes, **fragments**. A fragment begins at an **entry**, whose predecessor lies
//! outside the tile, and ends at an **exit**, whose successor lies outside. Each node knows its
//! successor from the pixels around it, and list ranking in shared memory tells it which border or
//! fragment it belongs to and how many points lie before it. No thread follows a border, so the
//! time does not depend on a border's length.
//!
//! An exit of one tile is an entry of another: the same **crossing**, with the same rank among the
//! crossings between the two tiles. So a fragment's successor is found by its index, without a
//! search. A second list ranking, over the fragments of all tiles, gives each fragment its border
//! and its place there.
//!
//! | file | stage | what it leaves |
//! | --- | --- | --- |
//! | [`source`] | a binary image, or an image of values | |
//! | [`tile`] | the pixels of a tile, its nodes and their successors | |
//! | [`crossings`] | the order of the crossings of a tile's rim | |
//! | `place`, `rank` | list ranking of a tile's nodes | |
//! | [`key`] | the starts of borders, as numbers | |
//! | [`follow`], `list`, `write_records`, [`records`] | fragments and closed borders of each tile | a few words per fragment, 4 bytes per point |
//! | [`join`] | chains of fragments; starts; the borders in order of discovery | their kinds, lengths and previous borders |
//! | `previous` | the border that passes the side before each start | |
//! | [`row_values`] | in images of values: the same among the borders of one value | |
//! | [`cycles`] | list ranking of the fragments of each border | |
//! | [`mod@write`] | the points, at their final places | the result |
//! | [`before`] | for parts of larger images: what passes the sides before given starts | |
//!
//! `docs/contours-by-fragments.md` argues why order, hierarchy and points are exactly those of a
//! sequential walk.
//!
//! Along edges, the nodes are all four sides of pixels, W and E sides first: a side's successor is
//! then on the same or a neighbouring pixel.

pub mod before;
pub mod crossings;
pub mod cycles;
pub mod follow;
pub mod join;
pub mod key;
mod list;
mod place;
mod previous;
mod rank;
pub mod records;
pub mod row_values;
#[cfg(not(target_arch = "nvptx64"))]
mod sizes;
pub mod source;
pub mod tile;
pub mod write;
mod write_records;

use cuda_std::prelude::*;

use crate::trace::pixels::Raster;

#[cfg(not(target_arch = "nvptx64"))]
pub use sizes::{JoinSizes, Sizes};
pub use source::VALUE_TILE_HEIGHT;
pub use tile::{TILE_HEIGHT, TILE_WIDTH};

/// The number of tiles of an image.
#[must_use]
pub const fn tiles(raster: Raster) -> u32 {
    raster.row_words * raster.height.div_ceil(TILE_HEIGHT)
}

/// The number of tiles of an image of values.
#[must_use]
pub const fn value_tiles(raster: Raster) -> u32 {
    raster.row_words * raster.height.div_ceil(VALUE_TILE_HEIGHT)
}

/// The most fragments, closed borders, points or sides. Up to here, no index wraps around: neither
/// in a persistent grid's last step past the elements, nor for a fragment's point past its border's
/// last one.
pub const MOST: u32 = u32::MAX - (1 << 24);

/// Counters, each an index into [`Parts::counters`], after those of
/// [all ways to find borders](crate::trace::borders::count).
pub mod counter {
    use crate::trace::borders::count;

    /// Fragments.
    pub const FRAGMENTS: u32 = count::COUNT;
    /// Borders inside one tile.
    pub const CLOSED: u32 = FRAGMENTS + 1;
    /// Points.
    pub const POINTS: u32 = FRAGMENTS + 2;
    /// Nodes of kinds W and E.
    pub const SIDES: u32 = FRAGMENTS + 3;
    /// Tiles with many nodes.
    pub const DENSE: u32 = FRAGMENTS + 4;
    /// Tiles with many nodes that blocks have taken after their first one.
    pub const TAKEN: u32 = FRAGMENTS + 5;
    /// Fragments of a sample whose successor starts lower than both of its own neighbours.
    pub const LOWEST: u32 = FRAGMENTS + 6;
    /// Segments of the cycles of fragments.
    pub const SEGMENTS: u32 = FRAGMENTS + 7;
    /// Segments that are not all of their border.
    pub const OPEN: u32 = FRAGMENTS + 8;
    /// The first of [`COUNT_OF_ROUNDS`] counters, one per round of joining: whether a fragment
    /// learned something.
    pub const ROUNDS: u32 = FRAGMENTS + 9;
    /// The number of these counters: each fragment knows of twice as many others after a round.
    pub const COUNT_OF_ROUNDS: u32 = 33;
    /// Not 0 if one of the counters before [`DENSE`] has wrapped around.
    pub const WRAPPED: u32 = ROUNDS + COUNT_OF_ROUNDS;
    /// The number of counters.
    pub const COUNT: u32 = WRAPPED + 1;
}

/// What the stages pass on. If a capacity is exceeded, counters still count everything, and the
/// stages after [`follow`] do nothing. No capacity exceeds [`MOST`].
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(Sizes, buffers = PartsBuffers)]
pub struct Parts<'a> {
    /// One element per [`counter`], all 0 at first.
    #[len(counter::COUNT, zeroed)]
    pub counters: ViewMut<'a, u32>,
    /// The records of tiles with nodes, at the fields' offsets in [`records::tile_record`].
    #[len(sizes.tiles() * records::tile_record::WORDS, align = 16)]
    pub tiles: ViewMut<'a, u32>,
    /// The tiles with many nodes, as they are found.
    #[len(sizes.tiles())]
    pub dense: ViewMut<'a, u32>,
    /// Per row of each tile, the number of W and E nodes in the tile before the row.
    #[len(sizes.tile_rows())]
    pub rows: ViewMut<'a, u16>,
    /// Per row of each tile, the pixels at which borders start.
    #[len(sizes.tile_rows())]
    pub starts: ViewMut<'a, u64>,
    /// Per word of the image, the number of these starts; later, the number of starts before it.
    #[len(sizes.raster.words())]
    pub starts_before: ViewMut<'a, u32>,
    /// The records of fragments.
    #[len(sizes.fragments * records::FragmentRecord::WORDS, align = 16)]
    pub fragments: ViewMut<'a, u32>,
    /// The records of borders inside one tile.
    #[len(sizes.closed * records::ClosedRecord::WORDS, align = 8)]
    pub closed: ViewMut<'a, u32>,
    /// For each fragment, the W or E node of the last vertical side before its lowest node, in that
    /// node's row. Nodes are counted in the tile; [`records::NO_NODE`] if the tile has not listed
    /// the node.
    #[len(sizes.fragments)]
    pub fragment_nodes_before: ViewMut<'a, u16>,
    /// The same for the start of each border inside one tile.
    #[len(sizes.closed)]
    pub closed_nodes_before: ViewMut<'a, u16>,
    /// For each W or E node, the fragment or border that it belongs to, counted in its tile.
    #[len(sizes.sides)]
    pub sides: ViewMut<'a, u16>,
    /// Points, tile by tile, and in each tile fragment by fragment.
    #[len(sizes.points)]
    pub points: ViewMut<'a, u32>,
}

impl Parts<'_> {
    /// Takes `count` elements: adds to their counter. Returns the index of the first one.
    #[inline(always)]
    fn take(&self, counter: u32, count: u32) -> u32 {
        let first = self.counters.atomic_add(counter, count);
        // planted: fragment-wrapped
        if first > u32::MAX - count {
            self.counters.st_relaxed(counter::WRAPPED, 1, Device);
        }
        first
    }

    /// Whether everything found fits.
    #[inline(always)]
    fn fits(&self) -> bool {
        let fits = |counter, words: usize, each| self.counters.ld(counter) as usize * each <= words;
        self.counters.ld(counter::WRAPPED) == 0
            && fits(counter::FRAGMENTS, self.fragments.len(), 4)
            && fits(counter::CLOSED, self.closed.len(), 2)
            && fits(counter::FRAGMENTS, self.fragment_nodes_before.len(), 1)
            && fits(counter::CLOSED, self.closed_nodes_before.len(), 1)
            // planted: fragment-sides-room
            && fits(counter::SIDES, self.sides.len(), 1)
            && fits(counter::POINTS, self.points.len(), 1)
    }
}
