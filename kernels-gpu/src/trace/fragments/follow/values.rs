//! [`follow_tiles`](fn@super::follow_tiles) for images of values: along edges for their regions,
//! over centers for the borders of each value.

use cuda_std::prelude::*;

use super::super::Parts;
use super::super::source::{TracedRegions, TracedValues, VALUE_TILE_HEIGHT};
use super::*;

/// [`follow_tiles`](fn@super::follow_tiles) for the regions of an image of values, in tiles of
/// [`VALUE_TILE_HEIGHT`] rows.
///
/// Launch: one block, of one warp, per [tile](super::super::value_tiles). Reads 5/8 byte per pixel
/// two or three times, and the labels of pixels that touch at corners; writes what
/// [`follow_tiles`](fn@super::follow_tiles) does.
///
/// # Safety
///
/// That of [`follow_tiles`](fn@super::follow_tiles).
#[kernel(block = BLOCK, len(image = (), parts = parts.value_sizes(image.planes.raster)))]
pub unsafe fn follow_value_tiles(image: TracedRegions<'_>, parts: Parts<'_>) {
    const MOST: u32 = MOST_NODES_OF_WARP;
    let tile = tile_memory!(BLOCK, MOST, image, Approximation::Simple, VALUE_TILE_HEIGHT);
    tile.at(thread::block_idx_x()).follow(parts, MOST);
}

/// [`follow_value_tiles`](fn@follow_value_tiles) for the tiles that it has listed.
///
/// Launch: any number of persistent blocks.
///
/// # Safety
///
/// That of [`follow_value_tiles`](fn@follow_value_tiles), which has run before.
#[kernel(
    block = DENSE_BLOCK,
    min_blocks = 3,
    len(image = (), parts = parts.value_sizes(image.planes.raster)),
)]
pub unsafe fn follow_dense_value_tiles(image: TracedRegions<'_>, parts: Parts<'_>) {
    let approximation = Approximation::Simple;
    tile_memory!(
        DENSE_BLOCK,
        MOST_NODES,
        image,
        approximation,
        VALUE_TILE_HEIGHT
    )
    .follow_listed(parts);
}

/// [`follow_value_tiles`](fn@follow_value_tiles) over centers, for the borders of each value.
///
/// Launch: one block, of one warp, per [tile](super::super::value_tiles). Reads 5/8 byte per pixel
/// two or three times; writes what [`follow_tiles`](fn@super::follow_tiles) does.
///
/// # Safety
///
/// That of [`follow_tiles`](fn@super::follow_tiles).
#[kernel(block = BLOCK, len(image = (), parts = parts.value_sizes(image.planes.raster)))]
pub unsafe fn follow_value_centers(
    image: TracedValues<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
) {
    const MOST: u32 = MOST_NODES_OF_WARP;
    // A constant, so that the kernel has no code for edges.
    let image = TracedValues {
        geometry: Geometry::Centers,
        ..image
    };
    let tile = tile_memory!(BLOCK, MOST, image, approximation, VALUE_TILE_HEIGHT);
    tile.at(thread::block_idx_x()).follow(parts, MOST);
}

/// [`follow_value_centers`](fn@follow_value_centers) for the tiles that it has listed.
///
/// Launch: any number of persistent blocks.
///
/// # Safety
///
/// That of [`follow_value_centers`](fn@follow_value_centers), which has run before.
#[kernel(
    block = DENSE_BLOCK,
    min_blocks = 3,
    len(image = (), parts = parts.value_sizes(image.planes.raster)),
)]
pub unsafe fn follow_dense_value_centers(
    image: TracedValues<'_>,
    approximation: Approximation,
    parts: Parts<'_>,
) {
    let image = TracedValues {
        geometry: Geometry::Centers,
        ..image
    };
    tile_memory!(
        DENSE_BLOCK,
        MOST_NODES,
        image,
        approximation,
        VALUE_TILE_HEIGHT
    )
    .follow_listed(parts);
}
