//! Joins the runs of each tile, in shared memory.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::half_runs::{HalfRuns, HalfTouching};
use super::layout::{
    BLOCK, COLUMNS, ROW_HALVES, ROWS, STRIDE, TileLayout, TileWord, WIDTH, shared_runs, split,
};
use super::runs::{TileComponents, TileRunsMut};
use crate::image::ByteImage;
use crate::image::pack::pack_sixteen;
use crate::label::Connectivity;
use crate::primitives::bits::{Beside, Touching};
use crate::primitives::block::{self, PrefixSum};
use crate::primitives::scan::ScanState;
use crate::primitives::union_find::{Parents, union};

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

/// Joins the runs of each tile. The first pixel of each component of a tile becomes a node of
/// `components.parents`, its own parent. Makes `scan` ready.
///
/// # Safety
///
/// `image` has the images' bits, `runs` and `components` have their lengths for `layout`, and
/// `scan` is for the [`chunks`](crate::label::number::chunks) of all images. Nothing else uses what
/// the kernel writes meanwhile. The launch has one block per tile, those of an image along x and
/// the images along y, and [`run_bytes`](super::layout::run_bytes) of dynamic shared memory.
#[kernel(
    block = BLOCK,
    min_blocks = 6,
    len(
        image = layout.source_words(),
        runs = layout,
        components = layout,
        scan = layout.chunks(),
    ),
)]
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
        image.ldg(word.source)
    } else {
        0
    };
    words.st(word.at(), here);
    // planted: tile-load-barrier
    thread::sync_threads();
    scan.make_ready(word.tile * BLOCK + thread::thread_idx_x());
    label_tile(words, &word, runs, components, layout, connectivity);
}

/// [`tiles_label`](fn@tiles_label) for an image of bytes. Also writes the image's words.
///
/// # Safety
///
/// As for [`tiles_label`](fn@tiles_label), and there is one image. `bytes` is of the layout's size,
/// starts at a multiple of 16 bytes and has its width as pitch; the width is a multiple of 16.
/// Nothing else uses `image` meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 6,
    len(
        bytes = (),
        image = layout.words(),
        runs = layout,
        components = layout,
        scan = layout.chunks(),
    ),
)]
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

/// Set in an element of shared memory that no longer holds a run's parent, but the position of a
/// root's first pixel.
pub(in crate::label) const POSITION: u32 = 1 << 31;

/// Joins the runs of the tile in `words`. Called by all threads of the block.
///
/// ```text
/// index the runs that start in the thread's word or half of a band
/// hook: each run's parent is a run above that it touches, or itself
/// shorten all paths to one step
/// join the pairs of touching runs that are left
/// replace each root by the position of its component's first pixel
/// make these pixels nodes: each its own parent, with its bit set
/// write to `firsts` the position at each run's root
/// ```
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
    let run_starts = shared_array![u64; BLOCK as usize];
    let warp_counts = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
    let root_bits = shared_array![u32; 2 * BLOCK as usize];
    // SAFETY: the kernels' callers promise it.
    let parents = unsafe { shared_runs(connectivity) };

    let t = thread::thread_idx_x();
    root_bits.st(t, 0);
    root_bits.st(t + BLOCK, 0);
    write_sides(words, word.tile, runs.sides);

    // Index the runs.
    let stretch = match connectivity {
        Connectivity::Four => Stretch::of_row(words, word),
        Connectivity::Eight => Stretch::of_band(words),
    };
    let starts = stretch.covered.starts();
    let PrefixSum {
        before: offset,
        total,
    } = block::sum_of_threads(starts.count_ones(), warp_counts);
    run_offsets.st(t, offset);
    run_starts.st(t, starts);
    runs.offsets.st(word.tile * BLOCK + t, offset as u16);
    // planted: tile-offset-barrier
    thread::sync_threads();
    let own = HalfRuns::of_word(starts, offset, 0);
    let above = runs_above(&stretch, run_starts, run_offsets);
    let touching = HalfTouching::of_word(stretch.touching, stretch.mask);
    let (low_touching, low_roots) = hook_runs(parents, own[0], above[0], touching[0]);
    let (high_touching, high_roots) = hook_runs(parents, own[1], above[1], touching[1]);
    // planted: tile-hook-barrier
    thread::sync_threads();
    shorten_paths::<BLOCK>(parents, total);
    join_runs(parents, own[0], above[0], low_touching);
    join_runs(parents, own[1], above[1], high_touching);
    thread::sync_threads();

    // Replace roots by positions.
    let (low_roots, high_roots) = match connectivity {
        Connectivity::Four => {
            let first = word.row * WIDTH + word.column * 64;
            let low = mark_roots(parents, own[0], low_roots, first, 1);
            (low, mark_roots(parents, own[1], high_roots, first + 32, 1))
        }
        Connectivity::Eight => {
            // The last position of the band: `lower_positions` finds the first pixel's.
            let last = (t / ROW_HALVES * 2 + 2) * WIDTH - 1;
            (mark_roots(parents, own[0], low_roots, last, 0), 0)
        }
    };
    // planted: tile-position-barrier
    thread::sync_threads();
    if connectivity == Connectivity::Eight {
        lower_positions(parents, own[0], &stretch);
        thread::sync_threads();
    }

    // Make the first pixels of the tile's components nodes of the image's union-find.
    let add_nodes = |own: HalfRuns, roots: u32| {
        for_each_bit(roots, |bit| {
            let (row, column) = split(parents.ld(own.run_at(bit)) & !POSITION);
            let pixel = word.first_pixel + row * layout.width + column;
            components.parents.st(pixel, pixel);
            root_bits.atomic_or(row * ROW_HALVES + column / 32, 1 << (column % 32));
        });
    };
    add_nodes(own[0], low_roots);
    add_nodes(own[1], high_roots);
    for_each_run::<BLOCK>(total, |run| {
        let mut value = parents.ld(run);
        while value & POSITION == 0 {
            value = parents.ld(value);
        }
        runs.firsts
            .st(word.tile * layout.tile_runs + run, value as u16);
    });
    // planted: tile-root-barrier
    thread::sync_threads();
    if word.inside {
        let roots = u64::from(root_bits.ld(2 * t)) | u64::from(root_bits.ld(2 * t + 1)) << 32;
        components.roots.st(word.index, roots);
    }
}

/// The runs above this thread's, which another thread has indexed.
#[inline(always)]
fn runs_above(
    stretch: &Stretch,
    run_starts: SharedView<u64>,
    run_offsets: SharedView<u32>,
) -> [HalfRuns; 2] {
    let t = thread::thread_idx_x();
    if t < stretch.threads {
        return HalfRuns::of_word(0, 0, 0);
    }
    let i = t - stretch.threads;
    // Only bands need the start to the right, and they have a thread per half.
    let right = if t % ROW_HALVES == ROW_HALVES - 1 {
        0
    } else {
        run_starts.ld(i + 1) as u32 & 1
    };
    HalfRuns::of_word(run_starts.ld(i), run_offsets.ld(i), right)
}

/// Replaces the roots among the runs `candidates` of `own` by positions: `first`, and `step` more
/// per bit. Returns the roots.
#[inline(always)]
pub(in crate::label) fn mark_roots(
    parents: SharedView<u32>,
    own: HalfRuns,
    candidates: u32,
    first: u32,
    step: u32,
) -> u32 {
    let mut roots = 0;
    for_each_bit(candidates, |bit| {
        let run = own.run_at(bit);
        if parents.ld(run) == run {
            roots |= 1 << bit;
            parents.st(run, POSITION | (first + bit * step));
        }
    });
    roots
}

/// Lowers the position of each component whose root is in this thread's band to that of the
/// component's first pixel in the thread's half. Called by all threads of the block.
///
/// The first pixel of a component need not belong to its first run: that run may have pixels only
/// in the band's lower row, while a run to its right has pixels in the upper row.
#[inline(always)]
fn lower_positions(parents: SharedView<u32>, own: HalfRuns, stretch: &Stretch) {
    let t = thread::thread_idx_x();
    let (band, half) = (t / ROW_HALVES, t % ROW_HALVES);
    let upper = stretch.upper;
    let mut rest = stretch.covered.here as u32;
    while rest != 0 {
        let first = rest & rest.wrapping_neg();
        let after = rest & rest.wrapping_add(first);
        let piece = rest ^ after;
        rest = after;
        let run = own.run_at(first.trailing_zeros());
        let mut at = run;
        let mut value = parents.parent(at);
        while value & POSITION == 0 {
            at = value;
            value = parents.parent(at);
        }
        if at != run {
            parents.lower(run, at);
        }
        if (value & !POSITION) / (2 * WIDTH) == band {
            let (row, pixels) = if piece & upper != 0 {
                (0, piece & upper)
            } else {
                (1, piece)
            };
            let column = half * 32 + pixels.trailing_zeros();
            let position = POSITION | ((2 * band + row) * WIDTH + column);
            // planted: tile-band-position
            if position < value {
                parents.lower(at, position);
            }
        }
    }
}

/// The pixels whose runs a thread joins: a word of a row, or a half word of a band.
///
/// 8-connected, pixels in consecutive columns of two adjacent rows are connected, whichever of the
/// rows they are in. So runs are formed by the columns in which either row has a pixel. In noise, a
/// band of two rows has fewer of them than one row has runs.
struct Stretch {
    /// The columns that have a pixel, with the neighbouring words.
    covered: Beside,
    /// For a band, the pixels in its upper row.
    upper: u32,
    /// Where runs touch runs of the row or the band above.
    touching: Touching,
    /// The bits of `touching` that belong to the thread.
    mask: u64,
    /// The number of threads per row or band.
    threads: u32,
}

impl Stretch {
    /// The word `word` of a row.
    #[inline(always)]
    fn of_row(words: SharedView<u64>, word: &TileWord) -> Self {
        let beside = |at: u32| Beside {
            left: words.ld(at - 1),
            here: words.ld(at),
            right: words.ld(at + 1),
        };
        let covered = beside(word.at());
        Self {
            covered,
            upper: 0,
            touching: Touching::find(covered, beside(word.at() - STRIDE), false),
            mask: u64::MAX,
            threads: COLUMNS,
        }
    }

    /// This thread's half word of a band.
    #[inline(always)]
    fn of_band(words: SharedView<u64>) -> Self {
        let t = thread::thread_idx_x();
        // SAFETY: the same memory, as halves of words.
        let halves =
            unsafe { SharedView::from_raw_parts(words.as_mut_ptr().cast::<u32>(), 2 * WORDS) };
        // The half as the lower one of a word, so that all results lie there.
        let beside = |at: u32| Beside {
            left: u64::from(halves.ld(at - 1)) << 32,
            here: u64::from(halves.ld(at)) | u64::from(halves.ld(at + 1)) << 32,
            right: 0,
        };
        let (band, half) = (t / ROW_HALVES, t % ROW_HALVES);
        let at = ((2 * band + 1) * STRIDE + 1) * 2 + half;
        let (upper, lower) = (beside(at), beside(at + 2 * STRIDE));
        Self {
            covered: Beside {
                left: upper.left | lower.left,
                here: (upper.here | lower.here) & u64::from(u32::MAX),
                right: 0,
            },
            upper: upper.here as u32,
            touching: Touching::find(upper, beside(at - 2 * STRIDE), true),
            mask: u32::MAX.into(),
            threads: ROW_HALVES,
        }
    }
}

/// Writes the first and the last column of pixels of the tile in `words`, for
/// [`tiles_merge`](fn@super::merge::tiles_merge).
#[inline(always)]
fn write_sides(words: SharedView<u64>, tile: u32, sides: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    // One bit per row: so one warp for each half of a column.
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

/// Gives each run a parent: a run above that it touches within this half, or itself if there is
/// none. A parent above has a smaller index, so there are no cycles.
///
/// Returns the pairs of touching runs that are left to join, and the runs that are their own
/// parents, as the bits at which they start.
#[inline(always)]
pub(in crate::label) fn hook_runs(
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
        // The pixels from this start up to the next.
        let span = (rest & rest.wrapping_neg()).wrapping_sub(first);
        let overlap = touching.above & span;
        let left = touching.above_left & span;
        let right = touching.above_right & span;
        let parent = if overlap != 0 {
            touching.above ^= overlap & overlap.wrapping_neg();
            above.run_at(overlap.trailing_zeros())
        } else if left != 0 {
            touching.above_left ^= left & left.wrapping_neg();
            above.run_left_of(left.trailing_zeros())
        } else if right != 0 {
            touching.above_right ^= right & right.wrapping_neg();
            above.run_right_of(right.trailing_zeros())
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
pub(in crate::label) fn join_runs(
    parents: SharedView<u32>,
    own: HalfRuns,
    above: HalfRuns,
    mut touching: HalfTouching,
) {
    // The runs of most pairs have the same parent. These pairs are taken out first, so that fewer
    // lanes wait while others join sets.
    let mut apart = touching;
    let mut before = touching;
    while let Some((run, other)) = touching.take(own, above) {
        if parents.parent(run) == parents.parent(other) {
            apart.above ^= before.above ^ touching.above;
            apart.above_left ^= before.above_left ^ touching.above_left;
            apart.above_right ^= before.above_right ^ touching.above_right;
        }
        before = touching;
    }
    while let Some((run, other)) = apart.take(own, above) {
        union(parents, run, other);
    }
}

/// The most steps that [`shorten_paths`] follows a path in one round.
const STEPS: u32 = 8;

/// Shortens the paths of all runs to one step, by rounds of pointer jumping. Called by all threads
/// of a block of `THREADS` threads.
///
/// Threads take runs in raster order, so that the paths of the rows above are mostly short by the
/// time a run is reached.
#[inline(always)]
pub(in crate::label) fn shorten_paths<const THREADS: u32>(parents: SharedView<u32>, total: u32) {
    loop {
        let mut is_left = false;
        for_each_run::<THREADS>(total, |run| {
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
                // Only this thread changes the run's element in this round, though others read it.
                parents.lower(run, ancestor);
            }
        });
        if !thread::sync_threads_or(is_left) {
            break;
        }
    }
}

/// Visits the set bits in ascending order.
#[inline(always)]
pub(in crate::label) fn for_each_bit(bits: u32, mut visit: impl FnMut(u32)) {
    let mut rest = bits;
    while rest != 0 {
        visit(rest.trailing_zeros());
        rest &= rest - 1;
    }
}

/// Visits this thread's share of the tile's runs, in a block of `THREADS` threads.
#[inline(always)]
pub(in crate::label) fn for_each_run<const THREADS: u32>(total: u32, mut visit: impl FnMut(u32)) {
    let mut run = thread::thread_idx_x();
    while run < total {
        visit(run);
        run += THREADS;
    }
}
