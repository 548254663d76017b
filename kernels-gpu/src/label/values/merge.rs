//! Joins the regions of neighbouring tiles.

use cuda_std::prelude::*;

use super::layout::{BLOCK, COLUMNS, PARTS, ROWS, WIDTH, WordPixels, split, touching};
use crate::image::equality::EqualityPlanes;
use crate::label::Connectivity;
use crate::label::tiles::layout::TileLayout;
use crate::label::tiles::runs::TileRuns;
use crate::primitives::bits::count_through;
use crate::primitives::quotient;
use crate::primitives::union_find::union;

/// Threads per block.
const MERGE_BLOCK: u32 = 128;

/// The arrays for looking up the nodes of pixels.
#[derive(Clone, Copy)]
struct Lookup<'a> {
    planes: EqualityPlanes<'a>,
    runs: TileRuns<'a>,
    parents: ViewMut<'a, u32>,
    layout: TileLayout,
}

impl Lookup<'_> {
    /// The node of valid pixel `(x, y)`: that of its region within the tile.
    #[inline(always)]
    fn node(&self, x: u32, y: u32) -> u32 {
        let layout = self.layout;
        let starts = WordPixels::of(self.planes, x / 64, y).starts();
        let (tile_x, tile_y) = (x / WIDTH, y / ROWS);
        let tile = tile_y * layout.tiles_x + tile_x;
        let word = y % ROWS * COLUMNS + x / 64 % COLUMNS;
        let offset = u32::from(self.runs.offsets.ldg(tile * BLOCK + word));
        // planted: value-merge-run
        let run = offset + count_through(starts, x % 64) - 1;
        let (row, column) = split(self.runs.firsts.ldg(tile * layout.tile_runs + run).into());
        (tile_y * ROWS + row) * layout.width + tile_x * WIDTH + column
    }

    /// Joins the regions of two valid pixels.
    #[inline(always)]
    fn join(&self, a: (u32, u32), b: (u32, u32)) {
        union(self.parents, self.node(a.0, a.1), self.node(b.0, b.1));
    }

    /// Joins the regions across the border above row `y`, for a part of word `word_x`.
    #[inline(always)]
    fn join_above(&self, word_x: u32, y: u32, part: u32, connectivity: Connectivity) {
        let pixels = WordPixels::of(self.planes, word_x, y);
        let found = touching(self.planes, word_x, y, pixels, connectivity);
        // planted: value-merge-part
        let mask = (u64::MAX >> (64 - 64 / PARTS)) << (part * (64 / PARTS));
        let join_all = |mut pixels: u64, dx: u32| {
            while pixels != 0 {
                let x = word_x * 64 + pixels.trailing_zeros();
                pixels &= pixels - 1;
                self.join((x, y), (x.wrapping_add(dx), y - 1));
            }
        };
        join_all(found.above & mask, 0);
        join_all(found.above_left & mask, u32::MAX);
        join_all(found.above_right & mask, 1);
    }

    /// Joins the regions of pixels `(x - 1, y)` and `(x, y)`, which are in two tiles, and across
    /// the two corners above.
    #[inline(always)]
    fn join_beside(&self, x: u32, y: u32, connectivity: Connectivity) {
        let is_straight = self.planes.equal_to(x / 64 - 1, y).e >> 63 != 0;
        let mut is_new = is_straight;
        // Above a tile's first row is another tile, whose border joins the pixels above.
        if !y.is_multiple_of(ROWS) {
            let left = self.planes.equal_to(x / 64 - 1, y - 1);
            let right = self.planes.equal_to(x / 64, y - 1);
            let straight_above = left.e >> 63 != 0;
            let (left_down, right_down) = (left.s >> 63 != 0, right.s & 1 != 0);
            // The pair above is the same pair of regions.
            // planted: value-merge-again
            is_new = is_straight && !(straight_above && left_down);
            if connectivity == Connectivity::Eight && !is_straight {
                if left.se >> 63 != 0 && !right_down {
                    self.join((x, y), (x - 1, y - 1));
                }
                // planted: value-merge-rising
                if right.sw & 1 != 0 && !left_down {
                    self.join((x - 1, y), (x, y - 1));
                }
            }
        }
        if is_new {
            self.join((x, y), (x - 1, y));
        }
    }
}

/// Joins the regions of neighbouring tiles.
///
/// Launch: [`merge_threads`](super::layout::merge_threads) threads. Reads some 40 bytes per word of
/// border, and the parents on the unions' paths.
///
/// # Safety
///
/// The arguments are those of [`value_tiles_label`](fn@super::label::value_tiles_label), which has
/// run; `parents` is that of its components.
#[kernel(block = MERGE_BLOCK, min_blocks = 8)]
pub unsafe fn value_tiles_merge(
    planes: EqualityPlanes<'_>,
    runs: TileRuns<'_>,
    parents: ViewMut<'_, u32>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    let lookup = Lookup {
        planes,
        runs,
        parents,
        layout,
    };
    let item = thread::index_1d();
    let below = (layout.tiles_y - 1) * layout.row_words * PARTS;
    if item < below {
        let border = quotient(item / PARTS, layout.row_words);
        let word_x = item / PARTS - border * layout.row_words;
        lookup.join_above(word_x, (border + 1) * ROWS, item % PARTS, connectivity);
        return;
    }
    let across = layout.tiles_x - 1;
    let row = item - below;
    if across == 0 || row >= across * layout.height {
        return;
    }
    // Adjacent threads take adjacent rows of one border.
    let side = quotient(row, layout.height);
    let y = row - side * layout.height;
    lookup.join_beside((side + 1) * WIDTH, y, connectivity);
}
