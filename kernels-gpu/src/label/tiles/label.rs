//! Joins the runs of each tile, in shared memory.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::{BLOCK, COLUMNS, ROWS, STRIDE, TileLayout, TileWord, WIDTH};
use crate::image::pack::pack_sixteen;
use crate::primitives::bits::{Beside, Touching, count_through};
use crate::primitives::block::{self, PrefixSum};
use crate::primitives::scan::make_ready;
use crate::primitives::union_find::{Parents, find, union};

/// The most runs of a tile: every second pixel.
const MAX_RUNS: u32 = ROWS * WIDTH / 2;
/// Words of a tile in shared memory: a row of zeros, the tile's rows, and the zero to the right of
/// the last one.
const WORDS: usize = ((ROWS + 1) * STRIDE + 1) as usize;

/// What the kernels that join the runs of each tile write.
#[derive(Clone, Copy)]
struct Found<'a> {
    status: ViewMut<'a, u64>,
    ticket: ViewMut<'a, u32>,
    parents: ViewMut<'a, u32>,
    firsts: ViewMut<'a, u16>,
    offsets: ViewMut<'a, u16>,
    sides: ViewMut<'a, u32>,
    roots: ViewMut<'a, u64>,
}

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
/// `parents`, its own parent. Makes `status` and `ticket` ready for a scan.
///
/// # Safety
///
/// `image` and `roots` have one element per word of the layout, `parents` one per pixel; `firsts`,
/// `offsets` and `sides` have the layout's lengths, `status` has
/// [`status_len`](crate::label::number::status_len) elements, `ticket` one. Nothing else uses what
/// the kernel writes meanwhile. The launch has one block per tile.
#[kernel(block = 256)]
pub unsafe fn tiles_label(
    image: View<'_, u64>,
    parents: ViewMut<'_, u32>,
    firsts: ViewMut<'_, u16>,
    offsets: ViewMut<'_, u16>,
    sides: ViewMut<'_, u32>,
    roots: ViewMut<'_, u64>,
    status: ViewMut<'_, u64>,
    ticket: ViewMut<'_, u32>,
    layout: TileLayout,
    eight: u32,
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
    let found = Found {
        status,
        ticket,
        parents,
        firsts,
        offsets,
        sides,
        roots,
    };
    label_tile(words, &word, found, layout, eight != 0);
}

/// [`tiles_label`](fn@tiles_label) for an image of bytes, whose foreground is `value > threshold`.
/// Also writes the image's words.
///
/// # Safety
///
/// As for [`tiles_label`](fn@tiles_label). `bytes` has one element per pixel and starts at a
/// multiple of 16 bytes; the width is a multiple of 16; nothing else uses `image` meanwhile.
#[kernel(block = 256)]
pub unsafe fn tiles_label_bytes(
    bytes: View<'_, u8>,
    image: ViewMut<'_, u64>,
    parents: ViewMut<'_, u32>,
    firsts: ViewMut<'_, u16>,
    offsets: ViewMut<'_, u16>,
    sides: ViewMut<'_, u32>,
    roots: ViewMut<'_, u64>,
    status: ViewMut<'_, u64>,
    ticket: ViewMut<'_, u32>,
    layout: TileLayout,
    eight: u32,
    threshold: u32,
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
            *pixels = bytes.ldg_vector(y * layout.width + x);
        }
    }
    for (pixels, i) in pixels.iter().zip(0..) {
        let at = ((row + i * 16 + 1) * STRIDE + 1) * 4 + column;
        // Beside the image, a threshold of 0 or more leaves zeros.
        quarters.st(at, pack_sixteen(*pixels, threshold) as u16);
    }
    thread::sync_threads();
    if word.inside {
        image.st(word.index, words.ld(word.at()));
    }
    let found = Found {
        status,
        ticket,
        parents,
        firsts,
        offsets,
        sides,
        roots,
    };
    label_tile(words, &word, found, layout, eight != 0);
}

/// Joins the runs of the tile in `words`. Called by all threads of the block.
#[inline(always)]
fn label_tile(
    words: SharedView<u64>,
    word: &TileWord,
    found: Found<'_>,
    layout: TileLayout,
    eight: bool,
) {
    /// Set in an element of `runs` that holds the position of a root's first pixel.
    const POSITION: u32 = 1 << 31;

    let run_offsets = shared_array![u32; BLOCK as usize];
    let warp_counts = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
    // planted: tile-max-runs
    let runs = shared_array![u32; MAX_RUNS as usize];

    let t = thread::thread_idx_x();
    let lane = t % WARP_SIZE;
    let warp = t / WARP_SIZE;
    let at = word.at();
    let TileWord {
        tile,
        row,
        column,
        y,
        word_x,
        ..
    } = *word;
    make_ready(found.status, found.ticket, tile * BLOCK + t);
    let beside = Beside {
        left: words.ld(at - 1),
        here: words.ld(at),
        right: words.ld(at + 1),
    };
    let up = Beside {
        left: words.ld(at - 1 - STRIDE),
        here: words.ld(at - STRIDE),
        right: words.ld(at + 1 - STRIDE),
    };
    if warp < 2 {
        // The tile's first and last column of pixels, for `tiles_merge`.
        let row_at = (t + 1) * STRIDE;
        let left = warp::warp_vote_ballot(FULL_MASK, words.ld(row_at + 1) & 1 != 0);
        let right = warp::warp_vote_ballot(FULL_MASK, words.ld(row_at + COLUMNS) >> 63 != 0);
        if lane == 0 {
            found.sides.st(tile * 4 + warp, left);
            found.sides.st(tile * 4 + 2 + warp, right);
        }
    }

    // Index the runs.
    let own_starts = beside.starts();
    let PrefixSum {
        before: offset,
        total,
    } = block::sum_of_threads(own_starts.count_ones(), warp_counts);
    run_offsets.st(t, offset);
    found.offsets.st(tile * BLOCK + t, offset as u16);
    // planted: tile-offset-barrier
    thread::sync_threads();

    // Hook every run to the first run above that it touches. That run has a smaller index, so there
    // are no cycles.
    let up_starts = up.starts();
    let up_offset = if row > 0 {
        run_offsets.ld(t - COLUMNS)
    } else {
        0
    };
    let above = |bit: u32| up_offset + count_through(up_starts, bit) - 1;
    let above_left = |bit: u32| {
        if bit == 0 {
            up_offset - 1
        } else {
            above(bit - 1)
        }
    };
    let above_right = |bit: u32| {
        if bit == 63 {
            // planted: tile-above-right
            up_offset + up_starts.count_ones()
        } else {
            above(bit + 1)
        }
    };
    let mut touching = Touching::find(beside, up, eight);
    let mut rest = own_starts;
    let mut run = offset;
    while rest != 0 {
        let first = rest & rest.wrapping_neg();
        rest ^= first;
        // The pixels from this start to before the next one.
        let span = (rest & rest.wrapping_neg()).wrapping_sub(first);
        let overlap = touching.above & span;
        let corner = touching.above_right & span;
        let target = if touching.above_left & first != 0 {
            touching.above_left ^= first;
            above_left(first.trailing_zeros())
        } else if overlap != 0 {
            touching.above ^= overlap & overlap.wrapping_neg();
            above(overlap.trailing_zeros())
        } else if corner != 0 {
            touching.above_right ^= corner;
            above_right(corner.trailing_zeros())
        } else {
            run
        };
        runs.st(run, target);
        run += 1;
    }
    // planted: tile-hook-barrier
    thread::sync_threads();

    // Shorten the paths until all are one step long.
    loop {
        let mut changed = false;
        let mut i = t;
        while i < total {
            let parent = runs.parent(i);
            let ancestor = runs.parent(runs.parent(parent));
            if ancestor != parent {
                runs.lower(i, ancestor);
                changed = true;
            }
            i += BLOCK;
        }
        if !thread::sync_threads_or(changed) {
            break;
        }
    }

    // Join the other runs that touch.
    let joins = !touching.is_empty();
    while touching.above != 0 {
        let bit = touching.above.trailing_zeros();
        touching.above &= touching.above - 1;
        union(
            runs,
            offset + count_through(own_starts, bit) - 1,
            above(bit),
        );
    }
    while touching.above_left != 0 {
        let bit = touching.above_left.trailing_zeros();
        touching.above_left &= touching.above_left - 1;
        union(
            runs,
            offset + count_through(own_starts, bit) - 1,
            above_left(bit),
        );
    }
    while touching.above_right != 0 {
        let bit = touching.above_right.trailing_zeros();
        touching.above_right &= touching.above_right - 1;
        union(
            runs,
            offset + count_through(own_starts, bit) - 1,
            above_right(bit),
        );
    }
    if thread::sync_threads_or(joins) {
        let mut i = t;
        while i < total {
            runs.lower(i, find(runs, i));
            i += BLOCK;
        }
    }
    thread::sync_threads();

    // Replace roots by positions, and make their first pixels nodes of `parents`.
    let mut roots = 0;
    let mut rest = own_starts;
    let mut run = offset;
    while rest != 0 {
        let first = rest & rest.wrapping_neg();
        rest ^= first;
        if runs.ld(run) == run {
            let bit = first.trailing_zeros();
            roots |= first;
            runs.st(run, POSITION | (row * WIDTH + column * 64 + bit));
            let pixel = y * layout.width + word_x * 64 + bit;
            found.parents.st(pixel, pixel);
        }
        run += 1;
    }
    if word.inside {
        found.roots.st(word.index, roots);
    }
    // planted: tile-position-barrier
    thread::sync_threads();
    let mut i = t;
    while i < total {
        let mut value = runs.ld(i);
        if value & POSITION == 0 {
            value = runs.ld(value);
        }
        found.firsts.st(tile * layout.tile_runs + i, value as u16);
        i += BLOCK;
    }
}
