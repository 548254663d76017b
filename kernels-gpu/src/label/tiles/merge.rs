//! Joins the components of neighbouring tiles.

use cuda_std::prelude::*;

use super::layout::{BLOCK, COLUMNS, PARTS, ROW_HALVES, ROWS, TileLayout, WIDTH, split};
use super::runs::TileRuns;
use crate::label::Connectivity;
use crate::primitives::bits::{Beside, Touching, count_through, starts};
use crate::primitives::quotient;
use crate::primitives::union_find::union;

/// Threads per block of [`tiles_merge`](fn@tiles_merge).
pub const MERGE_BLOCK: u32 = 128;

/// The arrays for looking up the nodes of pixels.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a> {
    pub(super) image: View<'a, u64>,
    pub(super) runs: TileRuns<'a>,
    pub(super) layout: TileLayout,
    pub(super) connectivity: Connectivity,
    /// The image's index.
    pub(super) index: u32,
}

impl Lookup<'_> {
    /// The word `word_x` of row `y`; 0 beside the image.
    #[inline(always)]
    pub(super) fn word(&self, word_x: u32, y: u32) -> u64 {
        // Left of the image, `word_x` has wrapped around.
        if word_x < self.layout.row_words {
            let first = self.index * self.layout.pitch;
            self.image.ldg(first + y * self.layout.row_words + word_x)
        } else {
            0
        }
    }

    /// The word `word_x` of row `y`, and those beside it.
    #[inline(always)]
    fn beside(&self, word_x: u32, y: u32) -> Beside {
        Beside {
            left: self.word(word_x.wrapping_sub(1), y),
            here: self.word(word_x, y),
            right: self.word(word_x + 1, y),
        }
    }

    /// The node of foreground pixel `(x, y)`: that of its component within the tile.
    #[inline(always)]
    pub(super) fn node(&self, x: u32, y: u32) -> u32 {
        let layout = self.layout;
        let word_x = x / 64;
        let is_band = self.connectivity == Connectivity::Eight;
        let other_y = y ^ 1;
        let covered = |word_x: u32| {
            let other = if is_band && other_y < layout.height {
                self.word(word_x, other_y)
            } else {
                0
            };
            self.word(word_x, y) | other
        };
        // planted: merge-side-run
        let left = if word_x.is_multiple_of(COLUMNS) {
            0
        } else {
            covered(word_x - 1)
        };
        let mut starts = starts(covered(word_x), left >> 63);
        let (tile_x, tile_y) = (word_x / COLUMNS, y / ROWS);
        let tile = self.index * layout.image_tiles() + tile_y * layout.tiles_x + tile_x;
        let (row, column) = (y % ROWS, x % WIDTH);
        let offset_at = if is_band {
            if column % 64 >= 32 {
                starts &= u64::MAX << 32;
            }
            row / 2 * ROW_HALVES + column / 32
        } else {
            row * COLUMNS + column / 64
        };
        let offset = u32::from(self.runs.offsets.ldg(tile * BLOCK + offset_at));
        let run = offset + count_through(starts, x % 64) - 1;
        let (row, column) = split(self.runs.firsts.ldg(tile * layout.tile_runs + run).into());
        let first_row = self.index * layout.height + tile_y * ROWS;
        (first_row + row) * layout.width + tile_x * WIDTH + column
    }
}

/// Joins the components of neighbouring tiles.
///
/// ```text
/// take 8 pixels of the border below a tile, or 8 rows of the border between two tiles
/// find the pairs of touching pixels: straight, falling, rising; one per pair of runs
/// for each pair: look up both pixels' nodes, and join them
/// ```
///
/// # Safety
///
/// The arguments are those of [`tiles_label`](fn@super::label::tiles_label), which has run. The
/// launch has blocks for [`merge_threads`](TileLayout::merge_threads) threads along x, and the
/// images along y.
#[kernel(
    block = MERGE_BLOCK,
    min_blocks = 8,
    len(image = layout.source_words(), runs = layout, parents = layout.pixels()),
)]
pub unsafe fn tiles_merge(
    image: View<'_, u64>,
    runs: TileRuns<'_>,
    parents: ViewMut<'_, u32>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    let sides = runs.sides;
    let lookup = Lookup {
        image,
        runs,
        layout,
        connectivity,
        index: thread::block_idx_y(),
    };
    let corners = connectivity == Connectivity::Eight;
    let item = thread::index_1d();
    let below = (layout.tiles_y - 1) * layout.row_words * PARTS;
    // Pairs to join: straight across the border, and along the two diagonals. Bit i stands for the
    // pixel that is i pixels from (x, y) along the border.
    let (x, y, mut straight, mut falling, mut rising);
    let is_below = item < below;
    if is_below {
        // A part of a word in the first row of a tile, and the row above it.
        let border = quotient(item / PARTS, layout.row_words);
        let word_x = item / PARTS - border * layout.row_words;
        (x, y) = (word_x * 64, (border + 1) * ROWS);
        let touching = Touching::find(
            lookup.beside(word_x, y),
            lookup.beside(word_x, y - 1),
            corners,
        );
        // planted: merge-corner-falling, merge-corner-rising
        (straight, falling, rising) = (touching.above, touching.above_left, touching.above_right);
    } else {
        // A part of the border between a tile and the one to its left, whose columns of pixels are
        // words with one bit per row.
        let side = (item - below) / PARTS;
        let across = layout.tiles_x - 1;
        if across == 0 || side >= across * layout.tiles_y {
            return;
        }
        let tile_y = quotient(side, across);
        let tile_x = side - tile_y * across + 1;
        // planted: merge-image-sides
        let tile = lookup.index * layout.image_tiles() + tile_y * layout.tiles_x + tile_x;
        let column = |i: u32| u64::from(sides.ldg(i)) | u64::from(sides.ldg(i + 1)) << 32;
        let left = column(tile * 4 - 2);
        let right = column(tile * 4);
        (x, y) = (tile_x * WIDTH, tile_y * ROWS);
        // Pixels one above the other are joined within their tile, so one pair per stretch is
        // enough.
        straight = left & right;
        straight &= !(straight << 1);
        (falling, rising) = (0, 0);
        if corners {
            falling = right & (left << 1) & !left & !(right << 1);
            // planted: merge-rising
            rising = left & (right << 1) & !right & !(left << 1);
        }
    }
    // planted: merge-part
    let mask = (u64::MAX >> (64 - 64 / PARTS)) << (item % PARTS * (64 / PARTS));
    straight &= mask;
    falling &= mask;
    rising &= mask;
    loop {
        // The next pair's lower (or right) pixel as a bit, and the distances from it to the upper
        // pixel, to the left and up.
        let (bit, left, above);
        if straight != 0 {
            bit = straight.trailing_zeros();
            straight &= straight - 1;
            (left, above) = if is_below { (0, 1) } else { (1, 0) };
        } else if falling != 0 {
            bit = falling.trailing_zeros();
            falling &= falling - 1;
            (left, above) = (1, 1);
        } else if rising != 0 {
            bit = rising.trailing_zeros();
            rising &= rising - 1;
            (left, above) = (u32::MAX, 1);
        } else {
            return;
        }
        let (mut x, mut y) = (x, y);
        if is_below {
            x += bit;
        } else {
            y += bit;
            // A rising pair's lower pixel is the left one.
            if left == u32::MAX {
                x -= 1;
            }
        }
        let lower = lookup.node(x, y);
        union(parents, lower, lookup.node(x.wrapping_sub(left), y - above));
    }
}
