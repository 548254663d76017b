//! Writes every pixel's label.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::{BLOCK, ROW_HALVES, ROWS, TileLayout, TileWord, WIDTH, shared_runs, split};
use super::runs::TileRuns;
use crate::label::Connectivity;
use crate::label::number::Numbering;

/// Half words per tile, and threads per block: one for each.
const HALVES: u32 = ROWS * ROW_HALVES;
/// `LINK + i` stands for the label of run `i - 1` of the tile. No component's number is larger than
/// `LINK`: an image has fewer than 2³² pixels, and of two neighbours in a row at most one starts a
/// component.
const LINK: u32 = LARGEST_NUMBER;

/// The largest number that [`tiles_write_numbered`](fn@tiles_write_numbered) can write.
pub const LARGEST_NUMBER: u32 = 1 << 31;

/// The runs of a tile in shared memory, by half words.
#[derive(Clone, Copy)]
pub(in crate::label) struct HalfRuns {
    /// Per half: its pixels.
    pub(in crate::label) bits: SharedView<u32>,
    /// Per half: the columns that its runs cover; 8-connected, those of both rows of its band.
    pub(in crate::label) covered: SharedView<u32>,
    /// Per half: the columns at which runs start.
    pub(in crate::label) starts: SharedView<u32>,
    /// Per half: the index of its first run.
    pub(in crate::label) offsets: SharedView<u32>,
}

impl HalfRuns {
    /// The run that pixel `bit` of `half` belongs to.
    #[inline(always)]
    fn run_at(self, half: u32, bit: u32) -> u32 {
        self.offsets.ld(half) + (self.starts.ld(half) << (31 - bit)).count_ones() - 1
    }
}

/// Writes the labels over the nodes: in each image, those of its components from 1 on.
///
/// # Safety
///
/// `image`, `runs`, `layout` and `connectivity` are those of
/// [`tiles_label`](fn@super::label::tiles_label), and `numbering` is of the roots that
/// [`tiles_flatten`](fn@super::flatten::tiles_flatten) has left. `labels` is its array `parents`
/// and starts at a multiple of 16 bytes; nothing else uses it meanwhile. The launch has the
/// grid and the dynamic shared memory of [`tiles_label`](fn@super::label::tiles_label).
#[kernel(
    block = HALVES,
    min_blocks = 4,
    len(
        image = layout.source_words(),
        runs = layout,
        numbering = layout.words(),
        labels = layout.pixels(),
    ),
)]
pub unsafe fn tiles_write(
    image: View<'_, u64>,
    runs: TileRuns<'_>,
    numbering: Numbering<'_>,
    labels: ViewMut<'_, u32>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    let number = |root| {
        let image = thread::block_idx_y();
        let before = if image == 0 {
            0
        } else {
            // planted: write-before
            numbering.before(image * layout.image_words())
        };
        numbering.number(root) - before
    };
    write_tile(image, runs, number, labels, layout, connectivity);
}

/// [`tiles_write`](fn@tiles_write) with other numbers: component `n` gets as label element `n` of
/// `table`.
///
/// # Safety
///
/// As for [`tiles_write`](fn@tiles_write), and there is one image. `table` has one element more
/// than there are components; all elements but the first are neither 0 nor larger than
/// [`LARGEST_NUMBER`].
#[kernel(
    block = HALVES,
    min_blocks = 4,
    len(
        image = layout.words(),
        runs = layout,
        numbering = layout.words(),
        labels = layout.pixels(),
    ),
)]
pub unsafe fn tiles_write_numbered(
    image: View<'_, u64>,
    runs: TileRuns<'_>,
    numbering: Numbering<'_>,
    table: View<'_, u32>,
    labels: ViewMut<'_, u32>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    // planted: write-table
    let number = |root| table.ldg(numbering.number(root));
    write_tile(image, runs, number, labels, layout, connectivity);
}

/// Writes the labels of the block's tile; `number` gives the label of a root. Called by all threads
/// of the block.
///
/// ```text
/// per half word: store its pixels, and the columns and indices of its runs
/// for each run: if it has its component's first pixel: the label, by `number`
///               otherwise: a link to the run that has it
/// for each run with a link: that run's label
/// for each pixel: the label of its run; 0 for background
/// ```
#[inline(always)]
fn write_tile(
    image: View<'_, u64>,
    runs: TileRuns<'_>,
    number: impl Fn(u32) -> u32,
    labels: ViewMut<'_, u32>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    let halves = HalfRuns {
        bits: shared_array![u32; HALVES as usize],
        covered: shared_array![u32; HALVES as usize],
        starts: shared_array![u32; HALVES as usize],
        offsets: shared_array![u32; HALVES as usize],
    };
    let last_end = shared_array![u32; 1];
    // SAFETY: the kernels' callers promise it.
    let run_labels = unsafe { shared_runs(connectivity) };

    let word = TileWord::of(thread::thread_idx_x() / 2, layout);
    // planted: write-return
    let here = if word.inside {
        image.ldg(word.source)
    } else {
        0
    };
    halves.find(here, runs, word.tile, last_end, connectivity);
    thread::sync_threads();

    let tile = Tile::<HALVES, false> {
        halves,
        run_labels,
        labels,
        layout,
        x: word.tile_x,
        first_pixel: word.first_pixel,
    };
    let firsts = word.tile * layout.tile_runs;
    tile.label_runs(runs, firsts, last_end.ld(0), number);

    // planted: write-last-rows
    let rows = layout.height - word.tile_y * ROWS;
    tile.write(rows);
}

impl HalfRuns {
    /// Finds the runs of tile `tile`, one half word per thread: the thread's is a half of `here`.
    /// `last_end` gets the number of runs. A barrier is to follow.
    #[inline(always)]
    fn find(
        self,
        here: u64,
        runs: TileRuns<'_>,
        tile: u32,
        last_end: SharedView<u32>,
        connectivity: Connectivity,
    ) {
        let t = thread::thread_idx_x();
        // One offset per word of a row, or per half word of a band of two rows.
        let is_band = connectivity == Connectivity::Eight;
        let i = if is_band {
            t / (2 * ROW_HALVES) * ROW_HALVES + t % ROW_HALVES
        } else {
            t / 2
        };
        let offset = u32::from(runs.offsets.ldg(tile * BLOCK + i));
        let is_low = t.is_multiple_of(2);
        let bits = if is_low {
            here as u32
        } else {
            (here >> 32) as u32
        };
        let (beside, _) = warp::warp_shuffle_xor(FULL_MASK, bits, ROW_HALVES, WARP_SIZE);
        let covered = if is_band { bits | beside } else { bits };
        let (left, _) = warp::warp_shuffle_up(FULL_MASK, covered >> 31, 1, ROW_HALVES);
        let carry = if t.is_multiple_of(ROW_HALVES) {
            0
        } else {
            left
        };
        let starts = covered & !(covered << 1 | carry);
        let (low_runs, _) = warp::warp_shuffle_up(FULL_MASK, starts.count_ones(), 1, WARP_SIZE);
        let offset = if is_band || is_low {
            offset
        } else {
            offset + low_runs
        };
        self.bits.st(t, bits);
        self.covered.st(t, covered);
        self.starts.st(t, starts);
        self.offsets.st(t, offset);
        if t == HALVES - 1 {
            last_end.st(0, offset + starts.count_ones());
        }
    }
}

/// A tile whose runs are known, for a block of `THREADS` threads, one per half word. `ADJACENT`
/// says whether runs may follow each other without background between them.
#[derive(Clone, Copy)]
pub(in crate::label) struct Tile<'a, const THREADS: u32, const ADJACENT: bool> {
    pub(in crate::label) halves: HalfRuns,
    /// The label of each run.
    pub(in crate::label) run_labels: SharedView<u32>,
    pub(in crate::label) labels: ViewMut<'a, u32>,
    pub(in crate::label) layout: TileLayout,
    /// Its column among the tiles.
    pub(in crate::label) x: u32,
    /// The index of its first pixel among those of all images.
    pub(in crate::label) first_pixel: u32,
}

impl<const THREADS: u32, const ADJACENT: bool> Tile<'_, THREADS, ADJACENT> {
    /// Rows of the tile.
    const ROWS: u32 = THREADS / ROW_HALVES;

    /// Finds the labels of the tile's `total` runs. The components' first pixels begin at element
    /// `tile_firsts` of `runs.firsts`.
    #[inline(always)]
    pub(in crate::label) fn label_runs(
        self,
        runs: TileRuns<'_>,
        tile_firsts: u32,
        total: u32,
        number: impl Fn(u32) -> u32,
    ) {
        /// Loads of `firsts` that a thread keeps in flight.
        const LOADS: usize = 4;

        let t = thread::thread_idx_x();
        // Label the runs that have the first pixel of one of the tile's components. The component's
        // other runs get a link to that run.
        let mut from = t;
        while from < total {
            // All loads before the first use.
            let mut firsts = [0; LOADS];
            for (first, i) in firsts.iter_mut().zip(0..) {
                let run = from + i * THREADS;
                if run < total {
                    *first = runs.firsts.ldg(tile_firsts + run);
                }
            }
            for (first, i) in firsts.iter().zip(0..) {
                let run = from + i * THREADS;
                if run < total {
                    let (row, column) = split(u32::from(*first));
                    let half = row * ROW_HALVES + column / 32;
                    let first_run = self.halves.run_at(half, column % 32);
                    let label = if first_run == run {
                        let pixel = self.first_pixel + row * self.layout.width + column;
                        // planted: write-read-only
                        let root = self.labels.ld(pixel);
                        number(root)
                    } else {
                        LINK + 1 + first_run
                    };
                    self.run_labels.st(run, label);
                }
            }
            from += LOADS as u32 * THREADS;
        }
        // planted: write-first-barrier
        thread::sync_threads();
        let mut run = t;
        while run < total {
            let label = self.run_labels.ld(run);
            if label > LINK {
                // The linked run holds its label, and no thread overwrites it.
                self.run_labels
                    .st(run, self.run_labels.ld(label - LINK - 1));
            }
            run += THREADS;
        }
        // planted: write-label-barrier
        thread::sync_threads();
    }

    /// Writes the labels of all pixels. The image has `rows` rows from the tile's first on.
    #[inline(always)]
    pub(in crate::label) fn write(self, rows: u32) {
        // planted: write-vector
        if self.layout.width.is_multiple_of(4) {
            self.write_fours(rows);
        } else {
            self.write_pixels(rows);
        }
    }

    /// Writes the labels of all pixels, four per thread: 512 bytes per warp. The image has `rows`
    /// rows from the tile's first on; its width is a multiple of 4.
    #[inline(always)]
    fn write_fours(self, rows: u32) {
        const ROW_THREADS: u32 = WIDTH / 4;
        let step = const { THREADS / ROW_THREADS };
        let HalfRuns {
            bits,
            covered,
            starts,
            offsets,
        } = self.halves;
        let t = thread::thread_idx_x();
        let x = t % ROW_THREADS * 4;
        let shift = x % 32;
        if self.x * WIDTH + x < self.layout.width {
            for i in 0..Self::ROWS / step {
                let row = t / ROW_THREADS + i * step;
                if row >= rows {
                    break;
                }
                let half = row * ROW_HALVES + x / 32;
                let four = bits.ld(half) >> shift & 15;
                let value = if four == 0 {
                    [0; 4]
                } else {
                    let starts = starts.ld(half);
                    let next = offsets.ld(half) + (starts & low_bits(shift)).count_ones();
                    let covered = covered.ld(half) >> shift & 15;
                    let starts = starts >> shift & 15;
                    if ADJACENT {
                        label_adjacent(self.run_labels, four, starts, next)
                    } else {
                        label_four(self.run_labels, four, covered, starts, next)
                    }
                };
                let at = self.first_pixel + row * self.layout.width + x;
                self.labels.st_vector(at, value);
            }
        }
    }

    /// [`write_fours`](Self::write_fours) for any width, one pixel per thread.
    #[inline(always)]
    fn write_pixels(self, rows: u32) {
        let t = thread::thread_idx_x();
        let column = t % WIDTH;
        let mut row = t / WIDTH;
        if self.x * WIDTH + column < self.layout.width {
            while row < rows && row < Self::ROWS {
                let half = row * ROW_HALVES + column / 32;
                let mut value = 0;
                if self.halves.bits.ld(half) >> (column % 32) & 1 != 0 {
                    value = self.run_labels.ld(self.halves.run_at(half, column % 32));
                }
                let at = self.first_pixel + row * self.layout.width + column;
                self.labels.st(at, value);
                row += THREADS / WIDTH;
            }
        }
    }
}

/// The labels of four consecutive pixels. `four` has their bits, at least one of them set;
/// `covered` the columns that runs cover; `starts` the columns at which runs start; `next` is the
/// index of the first run that starts at or after them.
///
/// At most two runs cover four columns: the run of the first covered column, and that of the last.
#[inline(always)]
fn label_four(
    run_labels: SharedView<u32>,
    four: u32,
    covered: u32,
    starts: u32,
    next: u32,
) -> [u32; 4] {
    let continues = covered & !starts & 1;
    let first = run_labels.ld(next - continues);
    let last = run_labels.ld(next + starts.count_ones() - 1);
    let pick = |bit: u32, label: u32| if four >> bit & 1 != 0 { label } else { 0 };
    [
        pick(0, first),
        pick(1, first),
        pick(2, if starts & 4 != 0 { last } else { first }),
        pick(3, last),
    ]
}

/// The labels of four consecutive pixels, each of which may be a run of its own. `four` has their
/// bits; `starts` the columns at which runs start; `next` is the index of the first run that starts
/// at or after them.
#[inline(always)]
fn label_adjacent(run_labels: SharedView<u32>, four: u32, starts: u32, next: u32) -> [u32; 4] {
    let at = |bit: u32| {
        if four >> bit & 1 == 0 {
            return 0;
        }
        // planted: write-adjacent
        run_labels.ld(next + (starts & low_bits(bit + 1)).count_ones() - 1)
    };
    [at(0), at(1), at(2), at(3)]
}

/// A mask of the `count` lowest bits; `count` is below 32.
#[inline(always)]
const fn low_bits(count: u32) -> u32 {
    (1 << count) - 1
}
