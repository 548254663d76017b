//! The runs of tiles, and the components that they form.

use cuda_std::prelude::*;

/// The runs of all tiles, as [`tiles_label`](fn@super::label::tiles_label) finds them.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(super::layout::TileLayout)]
pub struct TileRuns<'a> {
    /// Per tile and run: the first pixel of the run's component within the tile, as a position in
    /// the tile.
    #[len(sizes.firsts_len())]
    pub firsts: View<'a, u16>,
    /// Per tile and word, or, 8-connected, per half word of a band of two rows: the index in the
    /// tile of the first run that starts there.
    #[len(sizes.offsets_len())]
    pub offsets: View<'a, u16>,
    /// Per tile: its first and its last column of pixels, 64 bits each, as two half words.
    #[len(sizes.sides_len())]
    pub sides: View<'a, u32>,
}

/// The arrays of [`TileRuns`], to be written.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(super::layout::TileLayout, buffers = TileRunsBuffers)]
pub struct TileRunsMut<'a> {
    /// [`TileRuns::firsts`].
    #[len(sizes.firsts_len())]
    pub firsts: ViewMut<'a, u16>,
    /// [`TileRuns::offsets`].
    #[len(sizes.offsets_len())]
    pub offsets: ViewMut<'a, u16>,
    /// [`TileRuns::sides`].
    #[len(sizes.sides_len())]
    pub sides: ViewMut<'a, u32>,
}

/// The components of all tiles, as nodes of the image's union-find.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(super::layout::TileLayout)]
pub struct TileComponents<'a> {
    /// Per pixel of the image: if it is the first pixel of a tile's component, its parent, a pixel
    /// index.
    #[len(sizes.pixels())]
    pub parents: ViewMut<'a, u32>,
    /// Per word of the image: the first pixels of tiles' components; after
    /// [`tiles_flatten`](fn@super::flatten::tiles_flatten), only the roots.
    #[len(sizes.words())]
    pub roots: ViewMut<'a, u64>,
}
