//! Distances by sweeps: along all rows to the right and to the left, along all columns down and up, along vias up and down, until
//! nothing changes.
//!
//! A line is a row or a column. A block takes [`LINES`] lines, one a warp, through shared memory in chunks of [`CHUNK`] cells, so
//! that rows and columns are both read and written in whole sectors; forwards, then backwards, the distance of a chunk's last
//! cell carried on to the next. Lines are of any length. In a chunk a lane has eight cells; all lanes relax theirs by one of
//!
//! | kernel | does |
//! | --- | --- |
//! | [`sweep_divide_conquer`](fn@sweep_divide_conquer) | in log₂ rounds groups of cells double: the right half relaxes from the last cell of the left |
//! | [`sweep_prefix`](fn@sweep_prefix) | d(i) = s(i) + min over j ≤ i of d(j) - s(j), with s the prefix sum of the weights: a prefix sum and a prefix minimum, which starts anew after a blocked edge |
//! | [`sweep_prefix_fused`](fn@sweep_prefix_fused) | one scan of pairs of weight and distance, (w₁, d₁) ∘ (w₂, d₂) = (w₁ + w₂, min(d₁ + w₂, d₂)) |
//!
//! and with several layers [`sweep_vias`](fn@sweep_vias), one thread a column of layers.
//!
//! A group of lines is swept only if a cell of it has been lowered by others since: a line that was swept is exact in itself. Who
//! lowers a cell of a row marks its columns' group, and the other way round.
//!
//! | | |
//! | --- | --- |
//! | launch | one of the three with [`Lines::blocks`] blocks of 256 threads, rows then columns; `sweep_vias` with [`blocks`](super::blocks)`(area)` |
//! | reads | 24 bytes a cell of a marked group; 4 bytes a group |
//! | writes | 8 to 16 bytes a cell that is lowered, and 4 bytes for its group |

mod lines;
mod relax;

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::retrace::Joined;
use super::{BLOCK, BLOCKED, GridSize, UNREACHED};

pub use lines::Lines;
use relax::{Cells, Pair, divide_and_conquer, prefix, prefix_fused};

/// Lines of a group, which is a block's: one a warp.
pub const LINES: u32 = BLOCK / WARP_SIZE;
/// Cells of a lane.
const CELLS: usize = 8;
/// Cells of a line that a block has at a time.
pub const CHUNK: u32 = CELLS as u32 * WARP_SIZE;
/// From one line of a chunk to the next in shared memory: lanes that each read their next cell, or that read cells of several
/// lines, meet in few banks.
const PITCH: u32 = CHUNK + CHUNK / CELLS as u32 + 4;
/// Cells of a chunk in shared memory.
const STAGED: usize = (LINES * PITCH) as usize;

/// Where cell `at` of a chunk's line `line` is in shared memory.
#[inline(always)]
const fn slot(line: u32, at: u32) -> u32 {
    line * PITCH + at + at / CELLS as u32
}

/// What a sweep along lines works on.
struct Sweep<'a> {
    weights: View<'a, u32>,
    distances: ViewMut<'a, u64>,
    /// By group of the lines: whether to sweep it.
    marks: ViewMut<'a, u32>,
    /// By group of the lines that cross them.
    crossing_marks: ViewMut<'a, u32>,
    changed: ViewMut<'a, u32>,
    lines: Lines,
    sweep_number: u32,
    free: u32,
}

impl Sweep<'_> {
    /// Sweeps the block's group of lines, forwards and backwards. For a whole block.
    #[inline(always)]
    fn run(&self, relax: impl Fn(&mut Cells, u32)) {
        let distances = shared_array![u64; STAGED];
        let weights = shared_array![u32; STAGED];
        let t = thread::thread_idx_x();
        let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
        let group = thread::block_idx_x();
        if self.marks.ld_relaxed(group, Device) == 0 {
            return;
        }
        let Lines {
            count,
            len,
            columns,
            ..
        } = self.lines;
        // The thread's cells of a chunk: one of each line, or of columns, which lie side by side, some of one.
        let (first_line, line_step, first_at, at_step) = if columns == 0 {
            (0, 1, t, 0)
        } else {
            (t % LINES, 0, t / LINES, WARP_SIZE)
        };
        let first_cell = self.lines.first(group * LINES + first_line);
        let first_step = line_step * len;
        let step = self.lines.step();

        let chunks = len.div_ceil(CHUNK);
        let mut any = false;
        let mut carried = UNREACHED;
        let mut round = 0;
        while round < 2 * chunks {
            let backwards = round >= chunks;
            let start = if backwards { round - chunks } else { round } * CHUNK;
            // What the other threads have stored.
            // planted: sweep-stored-barrier
            thread::sync_threads();
            let mut k = 0;
            while k < CELLS as u32 {
                let (line, at) = (first_line + k * line_step, first_at + k * at_step);
                let way = start + at;
                let (mut distance, mut weight) = (UNREACHED, BLOCKED);
                if group * LINES + line < count && way < len {
                    let forwards = if backwards { len - 1 - way } else { way };
                    let cell = first_cell + k * first_step + forwards * step;
                    distance = self.distances.ld(cell);
                    if backwards {
                        weight = self.weights.ldg(cell);
                    } else if way > 0 {
                        weight = self.weights.ldg(cell - step);
                    }
                }
                distances.st(slot(line, at), distance);
                weights.st(slot(line, at), counted(weight, self.free));
                k += 1;
            }
            // planted: sweep-staged-barrier
            thread::sync_threads();
            if group * LINES + warp < count {
                let own = slot(warp, lane * CELLS as u32);
                let mut cells = [Pair {
                    weight: u64::MAX,
                    distance: UNREACHED,
                }; CELLS];
                for (cell, i) in cells.iter_mut().zip(0..) {
                    cell.distance = distances.ld(own + i);
                    cell.weight = wide(weights.ld(own + i));
                }
                // A line's first cell, from either end, has no edge before it.
                if lane == 0 {
                    let before = Pair {
                        weight: 0,
                        // planted: sweep-carry
                        distance: carried,
                    };
                    // planted: sweep-first-lane
                    cells[0].distance = before.then(cells[0]).distance;
                }
                relax(&mut cells, lane);
                // In the weights' place: which are lower now.
                for (cell, i) in cells.iter().zip(0..) {
                    let lowered = cell.distance < distances.ld(own + i);
                    distances.st(own + i, cell.distance);
                    weights.st(own + i, lowered.into());
                }
                let last = cells[CELLS - 1].distance;
                carried = warp::warp_shuffle_idx(FULL_MASK, last, WARP_SIZE - 1, WARP_SIZE).0;
            }
            thread::sync_threads();
            let mut k = 0;
            while k < CELLS as u32 {
                let (line, at) = (first_line + k * line_step, first_at + k * at_step);
                let place = group * LINES + line;
                if place < count && weights.ld(slot(line, at)) != 0 {
                    let way = start + at;
                    let forwards = if backwards { len - 1 - way } else { way };
                    let cell = first_cell + k * first_step + forwards * step;
                    self.distances.st(cell, distances.ld(slot(line, at)));
                    let crossing = self.lines.crossing(place, forwards);
                    // planted: sweep-mark
                    self.crossing_marks.st_relaxed(crossing / LINES, 1, Device);
                    any = true;
                }
                k += 1;
            }
            round += 1;
        }
        if thread::sync_threads_or(any) && t == 0 {
            self.changed.atomic_max(0u32, self.sweep_number);
        }
        if t == 0 {
            self.marks.st_relaxed(group, 0, Device);
        }
    }
}

/// The weight of an edge as it is, or, to count free edges, 1 for a free one and [`BLOCKED`] for others.
#[inline(always)]
const fn counted(weight: u32, free: u32) -> u32 {
    if free == 0 {
        weight
    } else if weight == 0 {
        1
    } else {
        BLOCKED
    }
}

/// The weight of an edge as sums take it.
#[inline(always)]
const fn wide(weight: u32) -> u64 {
    if weight == BLOCKED {
        u64::MAX
    } else {
        weight as u64
    }
}

/// Sets all distances to [`UNREACHED`].
///
/// # Safety
///
/// Nothing else uses `distances` meanwhile; the launch has a thread for each.
#[kernel(block = 256)]
pub unsafe fn sweep_start(distances: ViewMut<'_, u64>) {
    let i = thread::index_1d();
    if (i as usize) < distances.len() {
        distances.st(i, UNREACHED);
    }
}

/// Marks the rows and columns of the cells that became part of the tree in round `round`.
///
/// # Safety
///
/// [`join_tree`](fn@super::retrace::join_tree) has run with these arguments; `rows` and `columns` have an element for each group
/// of the rows and columns of `grid`; nothing else uses these meanwhile.
#[kernel(block = 256)]
pub unsafe fn sweep_mark(
    pin_cells: View<'_, u32>,
    owners: View<'_, u32>,
    firsts: View<'_, u32>,
    found: View<'_, u32>,
    ends: View<'_, u32>,
    paths: View<'_, u32>,
    rows: ViewMut<'_, u32>,
    columns: ViewMut<'_, u32>,
    grid: GridSize,
    round: u32,
) {
    let joined = Joined {
        pin_cells,
        owners,
        firsts,
        found,
        ends,
        paths,
    };
    joined.each(round, |cell| mark(cell, rows, columns, grid));
}

/// Marks a cell's row and column.
#[inline(always)]
fn mark(cell: u32, rows: ViewMut<'_, u32>, columns: ViewMut<'_, u32>, grid: GridSize) {
    let (x, y, layer) = grid.place(cell);
    rows.st_relaxed((layer * grid.height + y) / LINES, 1, Device);
    columns.st_relaxed((layer * grid.width + x) / LINES, 1, Device);
}

/// Sweeps lines by divide and conquer.
///
/// `changed[0]` becomes `number` if a distance was lowered.
///
/// # Safety
///
/// `lines` are the rows or the columns of a grid of at most [`MAX_CELLS`](super::MAX_CELLS) cells, `weights` the weights of its
/// edges along them and `distances` its distances, by cell; `marks` and `crossing_marks` have an element for each group of them,
/// and of the lines that cross them, as the launch has blocks; `changed` has one element; nothing else uses these meanwhile.
#[kernel(block = 256)]
pub unsafe fn sweep_divide_conquer(
    weights: View<'_, u32>,
    distances: ViewMut<'_, u64>,
    marks: ViewMut<'_, u32>,
    crossing_marks: ViewMut<'_, u32>,
    changed: ViewMut<'_, u32>,
    lines: Lines,
    sweep_number: u32,
) {
    let sweep = Sweep {
        weights,
        distances,
        marks,
        crossing_marks,
        changed,
        lines,
        sweep_number,
        free: 0,
    };
    sweep.run(divide_and_conquer);
}

/// Sweeps lines by a prefix sum and a prefix minimum.
///
/// As [`sweep_divide_conquer`](fn@sweep_divide_conquer).
///
/// # Safety
///
/// That of [`sweep_divide_conquer`](fn@sweep_divide_conquer).
#[kernel(block = 256)]
pub unsafe fn sweep_prefix(
    weights: View<'_, u32>,
    distances: ViewMut<'_, u64>,
    marks: ViewMut<'_, u32>,
    crossing_marks: ViewMut<'_, u32>,
    changed: ViewMut<'_, u32>,
    lines: Lines,
    sweep_number: u32,
) {
    let sweep = Sweep {
        weights,
        distances,
        marks,
        crossing_marks,
        changed,
        lines,
        sweep_number,
        free: 0,
    };
    sweep.run(prefix);
}

/// Sweeps lines by a scan of pairs.
///
/// As [`sweep_divide_conquer`](fn@sweep_divide_conquer). With `free` not 0, edges of weight 0 count 1, and no other is taken.
///
/// # Safety
///
/// That of [`sweep_divide_conquer`](fn@sweep_divide_conquer).
#[kernel(block = 256)]
pub unsafe fn sweep_prefix_fused(
    weights: View<'_, u32>,
    distances: ViewMut<'_, u64>,
    marks: ViewMut<'_, u32>,
    crossing_marks: ViewMut<'_, u32>,
    changed: ViewMut<'_, u32>,
    lines: Lines,
    sweep_number: u32,
    free: u32,
) {
    let sweep = Sweep {
        weights,
        distances,
        marks,
        crossing_marks,
        changed,
        lines,
        sweep_number,
        free,
    };
    sweep.run(prefix_fused);
}

/// Sweeps along vias, up and down, unless the sweep before changed nothing. The other arguments are as for lines.
///
/// # Safety
///
/// `via` has the weights of the edges to the next layer and `distances` the distances, by cell of `grid`; `rows` and `columns`
/// have an element for each group of its rows and columns; `changed` has one element; nothing else uses these meanwhile; the
/// launch has a thread for each cell of a layer.
#[kernel(block = 256)]
pub unsafe fn sweep_vias(
    via: View<'_, u32>,
    distances: ViewMut<'_, u64>,
    rows: ViewMut<'_, u32>,
    columns: ViewMut<'_, u32>,
    changed: ViewMut<'_, u32>,
    grid: GridSize,
    sweep_number: u32,
    free: u32,
) {
    let i = thread::index_1d();
    let area = grid.area();
    // Only this sweep sets it to its own number, and only if it was one less before.
    if i >= area || changed.ld_relaxed(0u32, Device) + 1 < sweep_number {
        return;
    }
    let mut any = false;
    // Steps up, then steps down.
    let steps = grid.layers - 1;
    let mut distance = distances.ld(i);
    let mut step = 0;
    while step < 2 * steps {
        let up = step < steps;
        let lower = if up { step } else { 2 * steps - 1 - step };
        let to = i + if up { lower + 1 } else { lower } * area;
        let before = Pair {
            weight: 0,
            distance,
        };
        let old = distances.ld(to);
        let here = Pair {
            weight: wide(counted(via.ldg(i + lower * area), free)),
            distance: old,
        };
        distance = before.then(here).distance;
        if distance < old {
            distances.st(to, distance);
            // planted: sweep-via-mark
            mark(to, rows, columns, grid);
            any = true;
        }
        step += 1;
    }
    if any {
        changed.atomic_max(0u32, sweep_number);
    }
}
