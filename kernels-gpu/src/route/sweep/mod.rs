//! Distances by sweeps: along all rows to the right and to the left, along all columns down and up,
//! along vias up and down, until nothing changes.
//!
//! A line is a row or a column, of any length. A block takes a group of [`LINES`] lines, one per
//! warp, through shared memory in chunks of [`CHUNK`] cells, so that both rows and columns are read
//! and written in whole sectors. It sweeps forwards, then backwards; the distance of a chunk's last
//! cell is carried over to the next chunk. A lane has eight cells of a chunk. All lanes relax
//! theirs by one of
//!
//! | kernel | does |
//! | --- | --- |
//! | [`sweep_divide_conquer`](fn@sweep_divide_conquer) | log₂ rounds, in which groups of cells double: the right half relaxes from the last cell of the left |
//! | [`sweep_prefix`](fn@sweep_prefix) | d(i) = s(i) + min over j ≤ i of d(j) - s(j), with s the prefix sum of the weights: a prefix sum and a prefix minimum, which restarts after a blocked edge |
//! | [`sweep_prefix_fused`](fn@sweep_prefix_fused) | one scan of pairs of weight and distance, (w₁, d₁) ∘ (w₂, d₂) = (w₁ + w₂, min(d₁ + w₂, d₂)) |
//!
//! With several layers, [`sweep_vias`](fn@sweep_vias) sweeps along vias, with one thread per cell
//! of a layer.
//!
//! A swept line is exact by itself. So a group of lines is swept again only if another sweep has
//! lowered one of its cells. For each cell that it lowers, a sweep of rows marks the cell's group
//! of columns, and a sweep of columns the group of rows.
//!
//! | | |
//! | --- | --- |
//! | launch | one of the three with [`Lines::blocks`] blocks of [`BLOCK`] threads, rows then columns; `sweep_vias` with one thread per cell of a layer |
//! | reads | 24 bytes per cell of a marked group; 4 bytes per group |
//! | writes | 8 to 16 bytes per cell that is lowered, and 4 bytes for its group |

mod lines;
mod relax;

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::retrace::Joined;
use super::{BLOCK, BLOCKED, GridSize, UNREACHED};
use lines::Axis;
use relax::{Cells, Pair, divide_and_conquer, prefix, prefix_fused};

pub use lines::Lines;

/// Lines of a group: one per warp of the block that sweeps it.
pub const LINES: u32 = BLOCK / WARP_SIZE;
/// Cells of a lane.
const CELLS: usize = 8;
/// Cells of a line that are in shared memory at the same time.
pub const CHUNK: u32 = CELLS as u32 * WARP_SIZE;
/// The distance between two lines of a chunk in shared memory. It avoids most bank conflicts,
/// whether lanes read their own next cells or cells of several lines.
const PITCH: u32 = CHUNK + CHUNK / CELLS as u32 + 4;
/// Cells of a chunk in shared memory.
const STAGED: usize = (LINES * PITCH) as usize;

/// The index in shared memory of cell `at` of a chunk's line `line`.
#[inline(always)]
const fn slot(line: u32, at: u32) -> u32 {
    line * PITCH + at + at / CELLS as u32
}

/// A sweep along rows or along columns.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Sweep<'a> {
    /// By cell: the weight of the edge to the next cell of its line.
    pub weights: View<'a, u32>,
    /// By cell: its distance.
    pub distances: ViewMut<'a, u64>,
    /// By group of lines: not 0 if the group is to be swept. Reset to 0.
    #[len(self.lines.blocks())]
    pub marks: ViewMut<'a, u32>,
    /// By group of crossing lines: set to 1 if a distance was lowered.
    pub crossing_marks: ViewMut<'a, u32>,
    /// One element, set to `sweep_number` if a distance was lowered.
    #[len(1)]
    pub changed: ViewMut<'a, u32>,
    /// The lines: all rows or all columns of a grid of at most [`MAX_CELLS`](super::MAX_CELLS)
    /// cells.
    pub lines: Lines,
    /// The number of sweeps so far, this one included.
    pub sweep_number: u32,
}

/// The cost of taking an edge.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub enum EdgeCost {
    /// Its weight.
    Weight,
    /// 1 if the edge is free, that is, of weight 0. No other edge is taken.
    FreeStep,
}

/// The lines to be swept.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct LineMarks<'a> {
    /// By group of rows: not 0 if it is to be swept.
    #[len(Lines::rows(self.size).blocks())]
    pub rows: ViewMut<'a, u32>,
    /// By group of columns.
    #[len(Lines::columns(self.size).blocks())]
    pub columns: ViewMut<'a, u32>,
    /// The grid's size.
    pub size: GridSize,
}

impl LineMarks<'_> {
    /// Marks a cell's row and column.
    #[inline(always)]
    fn mark(&self, cell: u32) {
        let (x, y, layer) = self.size.place(cell);
        let GridSize { width, height, .. } = self.size;
        self.rows
            .st_relaxed((layer * height + y) / LINES, 1, Device);
        self.columns
            .st_relaxed((layer * width + x) / LINES, 1, Device);
    }
}

impl Sweep<'_> {
    /// Sweeps the block's group of lines, forwards and backwards. Called by the whole block.
    ///
    /// ```text
    /// return if the group is not marked
    /// for each chunk forwards, then each chunk backwards:
    ///     load distances and weights into shared memory
    ///     each warp, on its line: add the distance carried over; relax; carry the last one over
    ///     store lowered distances, and mark the crossing groups
    /// note whether any distance was lowered; reset the group's mark
    /// ```
    #[inline(always)]
    fn run(&self, cost: EdgeCost, relax: impl Fn(&mut Cells, u32)) {
        let (distances, weights) = (shared_array![u64; STAGED], shared_array![u32; STAGED]);
        let t = thread::thread_idx_x();
        let group = thread::block_idx_x();
        if self.marks.ld_relaxed(group, Device) == 0 {
            return;
        }
        let Lines { count, len, .. } = self.lines;
        let staged = Staged::new(self, group, (distances, weights));
        let has_line = group * LINES + t / WARP_SIZE < count;
        let chunks = len.div_ceil(CHUNK);
        let mut any = false;
        let mut carried = UNREACHED;
        let mut round = 0;
        while round < 2 * chunks {
            let backwards = round >= chunks;
            let start = if backwards { round - chunks } else { round } * CHUNK;
            // After the stores of the other threads.
            // planted: sweep-stored-barrier
            thread::sync_threads();
            staged.load(start, backwards, cost);
            // planted: sweep-staged-barrier
            thread::sync_threads();
            if has_line {
                carried = staged.sweep_line(carried, &relax);
            }
            thread::sync_threads();
            any |= staged.store(start, backwards);
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

/// A chunk of each line of a group, in shared memory, and the cells of it that the thread loads:
/// one of each row, or several of one column, since columns are side by side in memory.
struct Staged<'a> {
    sweep: &'a Sweep<'a>,
    group: u32,
    distances: SharedView<u64>,
    weights: SharedView<u32>,
    /// The line of the thread's first cell, and from one cell to the next.
    lines: (u32, u32),
    /// Likewise, the place in the chunk.
    at: (u32, u32),
    /// The first cell of the first line, and from one line to the next.
    cells: (u32, u32),
}

impl<'a> Staged<'a> {
    #[inline(always)]
    fn new(
        sweep: &'a Sweep<'a>,
        group: u32,
        (distances, weights): (SharedView<u64>, SharedView<u32>),
    ) -> Self {
        let t = thread::thread_idx_x();
        let (lines, at) = match sweep.lines.axis {
            Axis::Rows => ((0, 1), (t, 0)),
            Axis::Columns => ((t % LINES, 0), (t / LINES, WARP_SIZE)),
        };
        let first_cell = sweep.lines.first(group * LINES + lines.0);
        Self {
            sweep,
            group,
            distances,
            weights,
            lines,
            at,
            cells: (first_cell, lines.1 * sweep.lines.len),
        }
    }

    /// The line and the place in the chunk of the thread's cell `k`.
    #[inline(always)]
    const fn place(&self, k: u32) -> (u32, u32) {
        (self.lines.0 + k * self.lines.1, self.at.0 + k * self.at.1)
    }

    /// The index of the thread's cell `k`, which is the cell `forwards` of its line.
    #[inline(always)]
    fn cell(&self, k: u32, forwards: u32) -> u32 {
        self.cells.0 + k * self.cells.1 + forwards * self.sweep.lines.step()
    }

    /// Loads the thread's cells of the chunk that begins at cell `start` of the lines. A barrier is
    /// to follow.
    #[inline(always)]
    fn load(&self, start: u32, backwards: bool, cost: EdgeCost) {
        let Lines { count, len, .. } = self.sweep.lines;
        let mut k = 0;
        while k < CELLS as u32 {
            let (line, at) = self.place(k);
            let way = start + at;
            let (mut distance, mut weight) = (UNREACHED, BLOCKED);
            if self.group * LINES + line < count && way < len {
                let forwards = if backwards { len - 1 - way } else { way };
                let cell = self.cell(k, forwards);
                distance = self.sweep.distances.ld(cell);
                if backwards {
                    weight = self.sweep.weights.ldg(cell);
                } else if way > 0 {
                    weight = self.sweep.weights.ldg(cell - self.sweep.lines.step());
                }
            }
            self.distances.st(slot(line, at), distance);
            self.weights.st(slot(line, at), cost.of(weight));
            k += 1;
        }
    }

    /// Sweeps the warp's line of the chunk; `carried` is the distance of the cell before the chunk.
    /// Returns the last cell's distance. Replaces each weight by whether its cell was lowered.
    #[inline(always)]
    fn sweep_line(&self, carried: u64, relax: &impl Fn(&mut Cells, u32)) -> u64 {
        let t = thread::thread_idx_x();
        let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
        let own = slot(warp, lane * CELLS as u32);
        let mut cells = [Pair {
            weight: u64::MAX,
            distance: UNREACHED,
        }; CELLS];
        for (cell, i) in cells.iter_mut().zip(0..) {
            cell.distance = self.distances.ld(own + i);
            cell.weight = as_u64(self.weights.ld(own + i));
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
        for (cell, i) in cells.iter().zip(0..) {
            let lowered = cell.distance < self.distances.ld(own + i);
            self.distances.st(own + i, cell.distance);
            self.weights.st(own + i, lowered.into());
        }
        let last = cells[CELLS - 1].distance;
        warp::warp_shuffle_idx(FULL_MASK, last, WARP_SIZE - 1, WARP_SIZE).0
    }

    /// Stores those of the thread's cells whose distances are lower now, and marks the lines that
    /// cross there. Returns whether there are any.
    #[inline(always)]
    fn store(&self, start: u32, backwards: bool) -> bool {
        let Lines { count, len, .. } = self.sweep.lines;
        let mut any = false;
        let mut k = 0;
        while k < CELLS as u32 {
            let (line, at) = self.place(k);
            let place = self.group * LINES + line;
            if place < count && self.weights.ld(slot(line, at)) != 0 {
                let way = start + at;
                let forwards = if backwards { len - 1 - way } else { way };
                let cell = self.cell(k, forwards);
                let distance = self.distances.ld(slot(line, at));
                self.sweep.distances.st(cell, distance);
                let crossing = self.sweep.lines.crossing(place, forwards);
                let marks = self.sweep.crossing_marks;
                // planted: sweep-mark
                marks.st_relaxed(crossing / LINES, 1, Device);
                any = true;
            }
            k += 1;
        }
        any
    }
}

impl EdgeCost {
    /// The cost of taking an edge of `weight`; [`BLOCKED`] if it is not taken.
    #[inline(always)]
    const fn of(self, weight: u32) -> u32 {
        match self {
            Self::Weight => weight,
            Self::FreeStep if weight == 0 => 1,
            Self::FreeStep => BLOCKED,
        }
    }
}

/// The weight of an edge, as used in sums.
#[inline(always)]
const fn as_u64(weight: u32) -> u64 {
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
/// The launch has a thread for each element. Nothing else uses `distances` meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn sweep_start(distances: ViewMut<'_, u64>) {
    let i = thread::index_1d();
    if (i as usize) < distances.len() {
        distances.st(i, UNREACHED);
    }
}

/// Marks the rows and columns of the cells that have become part of the tree in `round`.
///
/// # Safety
///
/// [`join_tree`](fn@super::retrace::join_tree) has run with these arguments. Nothing else uses
/// `marks` meanwhile.
#[kernel(block = BLOCK, len(joined = (), marks = ()))]
pub unsafe fn sweep_mark(joined: Joined<'_>, marks: LineMarks<'_>, round: u32) {
    joined.each(round, |cell| marks.mark(cell));
}

/// Sweeps lines by divide and conquer.
///
/// # Safety
///
/// The launch has [`Lines::blocks`] blocks. Nothing else uses what the sweep writes meanwhile.
#[kernel(block = BLOCK, len(sweep = ()))]
pub unsafe fn sweep_divide_conquer(sweep: Sweep<'_>) {
    sweep.run(EdgeCost::Weight, divide_and_conquer);
}

/// Sweeps lines by a prefix sum and a prefix minimum.
///
/// # Safety
///
/// That of [`sweep_divide_conquer`](fn@sweep_divide_conquer).
#[kernel(block = BLOCK, len(sweep = ()))]
pub unsafe fn sweep_prefix(sweep: Sweep<'_>) {
    sweep.run(EdgeCost::Weight, prefix);
}

/// Sweeps lines by a scan of pairs.
///
/// # Safety
///
/// That of [`sweep_divide_conquer`](fn@sweep_divide_conquer).
#[kernel(block = BLOCK, len(sweep = ()))]
pub unsafe fn sweep_prefix_fused(sweep: Sweep<'_>, cost: EdgeCost) {
    sweep.run(cost, prefix_fused);
}

/// Sweeps along vias, up and down, unless the previous sweep has changed nothing, so that
/// `changed[0]` is less than `sweep_number - 1`.
///
/// # Safety
///
/// `via` and `distances` have one element per cell of the grid of `marks`; `changed` has one
/// element. The launch has a thread for each cell of a layer. Nothing else uses what is written
/// meanwhile.
#[kernel(
    block = BLOCK,
    len(
        via = marks.size.cells(),
        distances = marks.size.cells(),
        marks = (),
        changed = 1,
    ),
)]
pub unsafe fn sweep_vias(
    via: View<'_, u32>,
    distances: ViewMut<'_, u64>,
    marks: LineMarks<'_>,
    changed: ViewMut<'_, u32>,
    sweep_number: u32,
    cost: EdgeCost,
) {
    let i = thread::index_1d();
    let area = marks.size.area();
    // Only this sweep sets it to `sweep_number`, and only if it was one less before.
    if i >= area || changed.ld_relaxed(0u32, Device) + 1 < sweep_number {
        return;
    }
    let mut any = false;
    // Steps up, then steps down.
    let steps = marks.size.layers - 1;
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
            weight: as_u64(cost.of(via.ldg(i + lower * area))),
            distance: old,
        };
        distance = before.then(here).distance;
        if distance < old {
            distances.st(to, distance);
            // planted: sweep-via-mark
            marks.mark(to);
            any = true;
        }
        step += 1;
    }
    if any {
        changed.atomic_max(0u32, sweep_number);
    }
}
