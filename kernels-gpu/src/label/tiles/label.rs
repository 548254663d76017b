//! Joins the runs of each tile, in shared memory.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::{BLOCK, COLUMNS, ROWS, STRIDE, TileLayout, TileWord, WIDTH};
use super::runs::{TileComponents, TileRunsMut};
use crate::image::ByteImage;
use crate::image::pack::pack_sixteen;
use crate::label::Connectivity;
use crate::primitives::bits::{Beside, Touching};
use crate::primitives::block::{self, PrefixSum};
use crate::primitives::scan::ScanState;
use crate::primitives::union_find::{Parents, union};

/// The most runs of a tile: every second pixel.
const MAX_RUNS: u32 = ROWS * WIDTH / 2;
/// Words of a tile in shared memory: a row of zeros, the tile's rows, and the zero to the right of
/// the last one.
const WORDS: usize = ((ROWS + 1) * STRIDE + 1) as usize;

/// Writes the zeros to the left of the tile, above it and to its right.
#[inline(always)]
fn frame(words: SharedView<u64>, word: &TileWord) {
    let t = thread::thread_idx_x();
    if word.column == 0 {
        // planted: tile-frame
        words.st(word.at() - 1, 0);
    }
    if t < STRIDE {
        words.st(t, 0);
    }
    if t == BLOCK - 1 {
        words.st(word.at() + 1, 0);
    }
}

/// Joins the runs of each tile. The first pixel of each of a tile's components becomes a node of
/// `components.parents`, its own parent. Makes `scan` ready.
///
/// # Safety
///
/// `image` has one element per word of the image, `runs` and `components` have their lengths for
/// `layout`, and `scan` is for the [`chunks`](crate::label::number::chunks) of the image. Nothing
/// else uses what the kernel writes meanwhile. The launch has one block per tile.
#[kernel(block = BLOCK)]
pub unsafe fn tiles_label(
    image: View<'_, u64>,
    runs: TileRunsMut<'_>,
    components: TileComponents<'_>,
    scan: ScanState<'_>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    let words = shared_array![u64; WORDS];
    let word = TileWord::of_thread(layout);
    frame(words, &word);
    let here = if word.inside {
        image.ldg(word.index)
    } else {
        0
    };
    words.st(word.at(), here);
    // planted: tile-load-barrier
    thread::sync_threads();
    scan.make_ready(thread::index_1d());
    label_tile(words, &word, runs, components, layout, connectivity);
}

/// [`tiles_label`](fn@tiles_label) for an image of bytes. Also writes the image's words.
///
/// # Safety
///
/// As for [`tiles_label`](fn@tiles_label). `bytes` is of the layout's size, starts at a multiple of
/// 16 bytes and has its width as pitch; the width is a multiple of 16. Nothing else uses `image`
/// meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn tiles_label_bytes(
    bytes: ByteImage<'_>,
    image: ViewMut<'_, u64>,
    runs: TileRunsMut<'_>,
    components: TileComponents<'_>,
    scan: ScanState<'_>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    /// Loads of 16 pixels per thread.
    const LOADS: usize = 4;

    let words = shared_array![u64; WORDS];
    let word = TileWord::of_thread(layout);
    frame(words, &word);
    // SAFETY: the same memory, as quarters of words.
    let quarters =
        unsafe { SharedView::from_raw_parts(words.as_mut_ptr().cast::<u16>(), 4 * WORDS) };
    let t = thread::thread_idx_x();
    let (row, column) = (t / 16, t % 16);
    let x = word.tile_x * WIDTH + column * 16;
    // All loads before the first use.
    let mut pixels = [[0; 16]; LOADS];
    for (pixels, i) in pixels.iter_mut().zip(0..) {
        let y = word.tile_y * ROWS + row + i * 16;
        // planted: tile-bytes-inside
        if y < layout.height && x < layout.width {
            *pixels = bytes.values.ldg_vector(y * layout.width + x);
        }
    }
    for (pixels, i) in pixels.iter().zip(0..) {
        let at = ((row + i * 16 + 1) * STRIDE + 1) * 4 + column;
        // Pixels beside the image are 0, and so background for every threshold.
        quarters.st(at, pack_sixteen(*pixels, bytes.threshold) as u16);
    }
    thread::sync_threads();
    if word.inside {
        image.st(word.index, words.ld(word.at()));
    }
    scan.make_ready(thread::index_1d());
    label_tile(words, &word, runs, components, layout, connectivity);
}

/// Set in a run's element in shared memory that holds the position of a root's first pixel.
const POSITION: u32 = 1 << 31;

/// Joins the runs of the tile in `words`. Called by all threads of the block.
#[inline(always)]
fn label_tile(
    words: SharedView<u64>,
    word: &TileWord,
    runs: TileRunsMut<'_>,
    components: TileComponents<'_>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    let run_offsets = shared_array![u32; BLOCK as usize];
    let warp_counts = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
    // planted: tile-max-runs
    let parents = shared_array![u32; MAX_RUNS as usize];

    let t = thread::thread_idx_x();
    let at = word.at();
    let beside = Beside {
        left: words.ld(at - 1),
        here: words.ld(at),
        right: words.ld(at + 1),
    };
    let beside_above = Beside {
        left: words.ld(at - 1 - STRIDE),
        here: words.ld(at - STRIDE),
        right: words.ld(at + 1 - STRIDE),
    };
    write_sides(words, word.tile, runs.sides);

    // Index the runs.
    let starts = beside.starts();
    let PrefixSum {
        before: offset,
        total,
    } = block::sum_of_threads(starts.count_ones(), warp_counts);
    run_offsets.st(t, offset);
    runs.offsets.st(word.tile * BLOCK + t, offset as u16);
    // planted: tile-offset-barrier
    thread::sync_threads();
    let own = HalfRuns::of_word(starts, offset);
    let above = HalfRuns::of_word(
        beside_above.starts(),
        if word.row > 0 {
            run_offsets.ld(t - COLUMNS)
        } else {
            0
        },
    );

    let corners = connectivity == Connectivity::Eight;
    let touching = HalfTouching::of_word(Touching::find(beside, beside_above, corners));
    let (low_touching, low_roots) = hook_runs(parents, own[0], above[0], touching[0]);
    let (high_touching, high_roots) = hook_runs(parents, own[1], above[1], touching[1]);
    // planted: tile-hook-barrier
    thread::sync_threads();
    shorten_paths(parents, total);
    join_runs(parents, own[0], above[0], low_touching);
    join_runs(parents, own[1], above[1], high_touching);
    thread::sync_threads();

    // Replace roots by positions, and make their first pixels nodes of the image's union-find.
    let position = word.row * WIDTH + word.column * 64;
    let pixel = word.y * layout.width + word.word_x * 64;
    let mut replace = |own: HalfRuns, candidates: u32, x: u32| {
        let mut roots = 0u32;
        for_each_bit(candidates, |bit| {
            let run = own.run_at(bit);
            if parents.ld(run) == run {
                roots |= 1 << bit;
                parents.st(run, POSITION | (position + x + bit));
                components.parents.st(pixel + x + bit, pixel + x + bit);
            }
        });
        roots
    };
    let roots =
        u64::from(replace(own[0], low_roots, 0)) | u64::from(replace(own[1], high_roots, 32)) << 32;
    if word.inside {
        components.roots.st(word.index, roots);
    }
    // planted: tile-position-barrier
    thread::sync_threads();
    for_each_run(total, |run| {
        let mut value = parents.ld(run);
        while value & POSITION == 0 {
            value = parents.ld(value);
        }
        runs.firsts
            .st(word.tile * layout.tile_runs + run, value as u16);
    });
}

/// Writes the first and the last column of pixels of the tile in `words`, for
/// [`tiles_merge`](fn@super::merge::tiles_merge).
#[inline(always)]
fn write_sides(words: SharedView<u64>, tile: u32, sides: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    // One bit per row, and so one warp for each half of a column.
    let half = t / WARP_SIZE;
    if half < ROWS / WARP_SIZE {
        let row_at = (t + 1) * STRIDE;
        let left = warp::warp_vote_ballot(FULL_MASK, words.ld(row_at + 1) & 1 != 0);
        let right = warp::warp_vote_ballot(FULL_MASK, words.ld(row_at + COLUMNS) >> 63 != 0);
        if t.is_multiple_of(WARP_SIZE) {
            sides.st(tile * 4 + half, left);
            sides.st(tile * 4 + 2 + half, right);
        }
    }
}

/// The runs that start in a half of a word of the tile, by their indices in the tile.
#[derive(Clone, Copy)]
struct HalfRuns {
    /// The pixels at which they start.
    starts: u32,
    /// The index of the first one.
    offset: u32,
}

impl HalfRuns {
    /// The runs of a word's halves. The word's first run has the index `offset`.
    #[inline(always)]
    const fn of_word(starts: u64, offset: u32) -> [Self; 2] {
        let low = Self {
            starts: starts as u32,
            offset,
        };
        let high = Self {
            starts: (starts >> 32) as u32,
            offset: offset + low.starts.count_ones(),
        };
        [low, high]
    }

    /// The run that the foreground pixel `bit` belongs to.
    #[inline(always)]
    const fn run_at(self, bit: u32) -> u32 {
        self.offset + (self.starts << (31 - bit)).count_ones() - 1
    }

    /// The run that the foreground pixel to the left of `bit` belongs to.
    #[inline(always)]
    const fn run_left_of(self, bit: u32) -> u32 {
        self.offset + (self.starts & ((1 << bit) - 1)).count_ones() - 1
    }

    /// The run that the foreground pixel to the right of `bit` starts.
    #[inline(always)]
    const fn run_right_of(self, bit: u32) -> u32 {
        // planted: tile-above-right
        self.offset + (self.starts << (31 - bit)).count_ones()
    }
}

/// [`Touching`] of a half of a word.
#[derive(Clone, Copy)]
struct HalfTouching {
    /// [`Touching::above`].
    above: u32,
    /// [`Touching::above_left`].
    above_left: u32,
    /// [`Touching::above_right`].
    above_right: u32,
}

impl HalfTouching {
    /// Those of a word's halves.
    #[inline(always)]
    const fn of_word(touching: Touching) -> [Self; 2] {
        let low = Self {
            above: touching.above as u32,
            above_left: touching.above_left as u32,
            above_right: touching.above_right as u32,
        };
        let high = Self {
            above: (touching.above >> 32) as u32,
            above_left: (touching.above_left >> 32) as u32,
            above_right: (touching.above_right >> 32) as u32,
        };
        [low, high]
    }
}

/// Makes the first run above that each run touches within this half the run's parent; a run that
/// touches none there becomes its own. The parent has a smaller index, so there are no cycles.
///
/// Returns the pairs of touching runs that are left to join, and the runs that are their own
/// parents, as the bits at which they start.
#[inline(always)]
fn hook_runs(
    parents: SharedView<u32>,
    own: HalfRuns,
    above: HalfRuns,
    mut touching: HalfTouching,
) -> (HalfTouching, u32) {
    let mut roots = 0;
    let mut rest = own.starts;
    let mut run = own.offset;
    while rest != 0 {
        let first = rest & rest.wrapping_neg();
        rest ^= first;
        // The pixels from this start up to the next one.
        let span = (rest & rest.wrapping_neg()).wrapping_sub(first);
        let overlap = touching.above & span;
        let corner = touching.above_right & span;
        let parent = if touching.above_left & first != 0 {
            touching.above_left ^= first;
            above.run_left_of(first.trailing_zeros())
        } else if overlap != 0 {
            touching.above ^= overlap & overlap.wrapping_neg();
            above.run_at(overlap.trailing_zeros())
        } else if corner != 0 {
            touching.above_right ^= corner;
            above.run_right_of(corner.trailing_zeros())
        } else {
            roots |= first;
            run
        };
        parents.st(run, parent);
        run += 1;
    }
    (touching, roots)
}

/// Joins the pairs of touching runs that [`hook_runs`] has left.
#[inline(always)]
fn join_runs(parents: SharedView<u32>, own: HalfRuns, above: HalfRuns, mut touching: HalfTouching) {
    loop {
        let (bit, other);
        if touching.above != 0 {
            bit = touching.above.trailing_zeros();
            touching.above &= touching.above - 1;
            other = above.run_at(bit);
        } else if touching.above_left != 0 {
            bit = touching.above_left.trailing_zeros();
            touching.above_left &= touching.above_left - 1;
            other = above.run_left_of(bit);
        } else if touching.above_right != 0 {
            bit = touching.above_right.trailing_zeros();
            touching.above_right &= touching.above_right - 1;
            other = above.run_right_of(bit);
        } else {
            return;
        }
        union(parents, own.run_at(bit), other);
    }
}

/// Steps that [`shorten_paths`] follows a path in one round.
const STEPS: u32 = 8;

/// Shortens the paths of all runs to one step, by rounds of pointer jumping. Called by all threads
/// of the block.
///
/// Threads take runs in raster order, so that the paths of the rows above are mostly short by the
/// time a run is reached.
#[inline(always)]
fn shorten_paths(parents: SharedView<u32>, total: u32) {
    loop {
        let mut is_left = false;
        for_each_run(total, |run| {
            let parent = parents.parent(run);
            let mut ancestor = parent;
            let mut steps = 0;
            loop {
                let next = parents.parent(ancestor);
                if next == ancestor {
                    break;
                }
                ancestor = next;
                steps += 1;
                if steps == STEPS {
                    is_left = true;
                    break;
                }
            }
            if ancestor != parent {
                // Only this thread writes the run's element in this round.
                parents.st_relaxed(run, ancestor, Block);
            }
        });
        if !thread::sync_threads_or(is_left) {
            break;
        }
    }
}

/// Visits the set bits in ascending order.
#[inline(always)]
fn for_each_bit(bits: u32, mut visit: impl FnMut(u32)) {
    let mut rest = bits;
    while rest != 0 {
        visit(rest.trailing_zeros());
        rest &= rest - 1;
    }
}

/// Visits this thread's share of the tile's runs.
#[inline(always)]
fn for_each_run(total: u32, mut visit: impl FnMut(u32)) {
    let mut run = thread::thread_idx_x();
    while run < total {
        visit(run);
        run += BLOCK;
    }
}
