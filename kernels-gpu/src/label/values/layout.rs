//! How an image of values is cut into tiles, and the runs of a tile's words.

use cuda_std::prelude::*;

use crate::image::equality::{E, EqualityPlanes, S, SE, SW};
use crate::label::Connectivity;
use crate::label::tiles::layout::TileLayout;
pub(super) use crate::label::tiles::layout::{COLUMNS, ROW_HALVES, WIDTH, split};
use crate::primitives::bits::Touching;
use crate::primitives::quotient;

/// A tile's height.
pub(super) const ROWS: u32 = 32;
/// Threads per block of the kernel that joins runs: one for each word of a tile.
pub(super) const BLOCK: u32 = COLUMNS * ROWS;
/// The most runs of a tile.
const MOST_RUNS: u32 = ROWS * WIDTH;
/// Threads that join one word's width of border.
pub(super) const PARTS: u32 = 8;

/// Bytes of dynamic shared memory of [`value_tiles_label`](fn@super::label::value_tiles_label) and
/// [`value_tiles_write`](fn@super::write::value_tiles_write): one `u32` per run that a tile can
/// have.
pub const RUN_BYTES: u32 = 4 * MOST_RUNS;

/// One `u32` in dynamic shared memory for each run that a tile can have.
///
/// # Safety
///
/// The launch has [`RUN_BYTES`] of dynamic shared memory.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) unsafe fn shared_runs() -> SharedView<u32> {
    // SAFETY: the caller's promise.
    unsafe { shared::dynamic_shared_mem(0, MOST_RUNS as usize) }
}

/// The tiles of an image of `width × height` pixels. `None` for more than 2³¹ pixels, which may all
/// be regions, or if 32 bits can't index the words of all tiles.
#[must_use]
pub const fn layout(width: u32, height: u32) -> Option<TileLayout> {
    let row_words = width.div_ceil(64);
    let tiles_x = row_words.div_ceil(COLUMNS);
    let tiles_y = height.div_ceil(ROWS);
    let tile_runs = ROWS * if width < WIDTH { width } else { WIDTH };
    let most = u32::MAX as u64;
    let tiles = tiles_x as u64 * tiles_y as u64;
    if width as u64 * height as u64 > 1 << 31
        || row_words as u64 * height as u64 > most - BLOCK as u64
        || tiles * tile_runs as u64 > most
        || tiles * BLOCK as u64 > most
    {
        return None;
    }
    Some(TileLayout {
        width,
        height,
        row_words,
        tiles_x,
        tiles_y,
        tile_runs,
        images: 1,
        pitch: row_words * height,
    })
}

/// Length of [`TileRuns::offsets`](crate::label::tiles::runs::TileRuns::offsets) for a [`layout`].
#[must_use]
pub fn offsets_len(layout: TileLayout) -> usize {
    layout.tiles() as usize * BLOCK as usize
}

/// Threads of [`value_tiles_merge`](fn@super::merge::value_tiles_merge): one for every 8 pixels of
/// border below a tile, and one for every row of border between tiles side by side.
#[must_use]
pub const fn merge_threads(layout: TileLayout) -> u64 {
    let below = (layout.tiles_y as u64).saturating_sub(1) * layout.row_words as u64 * PARTS as u64;
    let beside = (layout.tiles_x as u64).saturating_sub(1) * layout.height as u64;
    below + beside
}

/// A word of a tile, and the runs in it.
#[derive(Clone, Copy)]
pub(super) struct TileWord {
    /// Index of the tile.
    pub(super) tile: u32,
    /// Column and row of the tile among the tiles.
    pub(super) tile_x: u32,
    pub(super) tile_y: u32,
    /// Row of the word in the tile, and its column in words.
    pub(super) row: u32,
    pub(super) column: u32,
    /// Column and row of the word in the image.
    pub(super) word_x: u32,
    pub(super) y: u32,
}

impl TileWord {
    /// Word `i` of the block's tile.
    #[inline(always)]
    pub(super) fn of(i: u32, layout: TileLayout) -> Self {
        let tile = thread::block_idx_x();
        let tile_y = quotient(tile, layout.tiles_x);
        let tile_x = tile - tile_y * layout.tiles_x;
        let (row, column) = (i / COLUMNS, i % COLUMNS);
        Self {
            tile,
            tile_x,
            tile_y,
            row,
            column,
            word_x: tile_x * COLUMNS + column,
            y: tile_y * ROWS + row,
        }
    }

    /// Its pixels.
    #[inline(always)]
    pub(super) fn pixels(&self, planes: EqualityPlanes<'_>) -> WordPixels {
        WordPixels::of(planes, self.word_x, self.y)
    }

    /// Where its runs touch runs of the row above in the tile.
    #[inline(always)]
    pub(super) fn touching_above(
        &self,
        planes: EqualityPlanes<'_>,
        pixels: WordPixels,
        connectivity: Connectivity,
    ) -> Touching {
        // planted: value-tile-top
        if self.row == 0 {
            return Touching {
                above: 0,
                above_left: 0,
                above_right: 0,
            };
        }
        let mut touching = touching(planes, self.word_x, self.y, pixels, connectivity);
        // Corners beyond the tile's sides are for the tiles' borders.
        if self.column == 0 {
            touching.above_left &= !1;
        }
        if self.column == COLUMNS - 1 {
            // planted: value-tile-corner
            touching.above_right &= u64::MAX >> 1;
        }
        touching
    }
}

/// The valid pixels of a word, and which of them continue a run.
#[derive(Clone, Copy)]
pub(super) struct WordPixels {
    pub(super) valid: u64,
    /// Those equal to the pixel to their left; none of a tile's first column.
    pub(super) equal_left: u64,
    /// Those equal to the pixel to their right, in the image.
    equal_right: u64,
}

impl WordPixels {
    /// The pixels of word `word_x` of row `y`; none outside the image.
    #[inline(always)]
    pub(super) fn of(planes: EqualityPlanes<'_>, word_x: u32, y: u32) -> Self {
        let equal_right = planes.plane(E, word_x, y);
        // planted: value-run-carry
        let carry = if word_x.is_multiple_of(COLUMNS) {
            0
        } else {
            planes.plane(E, word_x - 1, y) >> 63
        };
        Self {
            valid: planes.valid(word_x, y),
            equal_left: equal_right << 1 | carry,
            equal_right,
        }
    }

    /// The pixels at which runs start.
    #[inline(always)]
    pub(super) const fn starts(self) -> u64 {
        self.valid & !self.equal_left
    }
}

/// Where runs of word `word_x` of row `y` touch runs of the row above, each pair once. Corners are
/// left out unless regions are 8-connected.
///
/// Two runs that overlap do so in one interval: its first pixel is the one whose left neighbour is
/// not equal, or has another value above. Two that only touch at a corner have one such corner,
/// with neither of the two pixels beside the corner equal to both.
#[inline(always)]
pub(super) fn touching(
    planes: EqualityPlanes<'_>,
    word_x: u32,
    y: u32,
    pixels: WordPixels,
    connectivity: Connectivity,
) -> Touching {
    let up = y.wrapping_sub(1);
    let north = planes.plane(S, word_x, up);
    let left = word_x.wrapping_sub(1);
    let north_left = north << 1 | planes.plane(S, left, up) >> 63;
    // planted: value-overlap-start
    let above = north & !(north_left & pixels.equal_left);
    let (mut above_left, mut above_right) = (0, 0);
    if connectivity == Connectivity::Eight {
        let north_west = planes.plane(SE, word_x, up) << 1 | planes.plane(SE, left, up) >> 63;
        let north_east = planes.plane(SW, word_x, up) >> 1 | planes.plane(SW, word_x + 1, up) << 63;
        above_left = north_west & !pixels.equal_left & !north;
        // planted: value-corner-right
        above_right = north_east & !pixels.equal_right & !north;
    }
    Touching {
        above,
        above_left,
        above_right,
    }
}
