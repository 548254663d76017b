//! The path from a pin to the tree, and how it becomes part of the tree.
//!
//! From each cell the path continues to a neighbour on a shortest path, over an edge that is not
//! free: to the first such neighbour in the order left, up, right, down, layer below, layer above.
//! If there is none, the path takes the fewest free edges to a cell that has such a neighbour or is
//! on the tree. The number of these free edges is the cell's *steps*: 0 at cells of that kind; at
//! others, [sweeps](super::sweep) that count free edges find it.
//!
//! Each step of a path depends on the previous one. So the block looks at all cells of a patch
//! around the path's end at once, and notes in shared memory in which direction the path would
//! continue from each. Then one thread follows the path until it leaves the patch.
//!
//! | kernel | launch | reads, writes |
//! | --- | --- | --- |
//! | [`steps_start`](fn@steps_start) | one thread per cell | some 80 bytes per cell, most from caches; 8 bytes |
//! | [`retrace_path`](fn@retrace_path) | one block | some 80 KB per 16 cells of the path or more, most from caches; 4 bytes per cell of the path |
//! | [`join_tree`](fn@join_tree) | any number of blocks | 4 bytes per cell of path and pin; 12 bytes |
//! | [`collect_paths`](fn@collect_paths) | one thread per cell of all paths | 4 bytes per cell; 4 bytes |

use cuda_std::prelude::*;

use super::nearest::NONE;
use super::{BLOCK, BLOCKED, GridSize, Pins, RowGrid, UNREACHED};

/// Directions to neighbours, in the order in which paths prefer them.
const LEFT: u32 = 0;
const UP: u32 = 1;
const RIGHT: u32 = 2;
const DOWN: u32 = 3;
const BELOW: u32 = 4;
const DIRECTIONS: usize = 6;
/// In place of a direction: the cell is on the tree, or cannot reach it.
const STOP: u32 = DIRECTIONS as u32;

/// Width and height of a patch.
const SIDE: u32 = 32;

/// The distances from a net's tree.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct DistanceMap<'a> {
    /// The grid.
    #[len(())]
    pub grid: RowGrid<'a>,
    /// By cell: its distance from the tree, exactly.
    #[len(self.grid.size.cells())]
    pub distances: View<'a, u64>,
    /// One bit per cell, from the lowest bit of a word on: whether the cell is on the tree.
    #[len(crate::primitives::ranked_bits::bit_words(self.grid.size.cells()))]
    pub tree: View<'a, u32>,
}

impl DistanceMap<'_> {
    #[inline(always)]
    fn on_tree(&self, cell: u32) -> bool {
        self.tree.ldg(cell / 32) >> (cell % 32) & 1 != 0
    }

    /// The neighbours in all directions, with the weights of the edges; the cell itself in place of
    /// a blocked neighbour.
    #[inline(always)]
    fn neighbours(&self, cell: u32) -> [(u32, u32); DIRECTIONS] {
        // The last cell of a row has no edge to the right, so nor has the cell before the first of
        // the next row.
        let before = |weights: View<'_, u32>, step: u32| {
            if cell >= step {
                (cell - step, weights.ldg(cell - step))
            } else {
                (cell, BLOCKED)
            }
        };
        let after = |weights: View<'_, u32>, step: u32| {
            let weight = weights.ldg(cell);
            if weight == BLOCKED {
                (cell, BLOCKED)
            } else {
                (cell + step, weight)
            }
        };
        let GridSize { width, layers, .. } = self.grid.size;
        let area = self.grid.size.area();
        let mut neighbours = [
            // planted: retrace-order.1
            before(self.grid.right, 1),
            // planted: retrace-order.2
            before(self.grid.down, width),
            after(self.grid.right, 1),
            after(self.grid.down, width),
            (cell, BLOCKED),
            (cell, BLOCKED),
        ];
        if layers > 1 {
            neighbours[4] = before(self.grid.via, area);
            neighbours[5] = after(self.grid.via, area);
        }
        neighbours
    }

    /// The direction of the first neighbour on a shortest path over an edge that is not free;
    /// [`STOP`] if there is none.
    #[inline(always)]
    fn nearer(&self, cell: u32, neighbours: &[(u32, u32); DIRECTIONS]) -> u32 {
        let here = self.distances.ldg(cell);
        let mut nearer = STOP;
        for ((next, weight), direction) in neighbours.iter().zip(0..) {
            let distance = self.distances.ldg(*next);
            let through = distance.wrapping_add((*weight).into());
            let is_way = *weight != 0 && *weight != BLOCKED && distance != UNREACHED;
            if nearer == STOP && is_way && through == here {
                nearer = direction;
            }
        }
        nearer
    }

    /// The path's direction from `cell`; [`STOP`] on the tree. `steps` is empty if no edge is free.
    #[inline(always)]
    fn direction(&self, cell: u32, steps: View<'_, u64>) -> u32 {
        if self.on_tree(cell) {
            return STOP;
        }
        let neighbours = self.neighbours(cell);
        let mut direction = self.nearer(cell, &neighbours);
        if direction == STOP && !steps.is_empty() {
            let here = steps.ldg(cell);
            for ((next, weight), towards) in neighbours.iter().zip(0..) {
                if direction == STOP
                    && here != UNREACHED
                    && *weight == 0
                    && steps.ldg(*next).wrapping_add(1) == here
                {
                    direction = towards;
                }
            }
        }
        direction
    }
}

/// Initialises the steps: 0 where a path need not continue over free edges only, else
/// [`UNREACHED`].
///
/// # Safety
///
/// `steps` has one element per cell. The launch has a thread for each cell. Nothing else uses
/// `steps` meanwhile.
#[kernel(block = BLOCK, len(map = (), steps = map.grid.size.cells()))]
pub unsafe fn steps_start(map: DistanceMap<'_>, steps: ViewMut<'_, u64>) {
    let cell = thread::index_1d();
    if cell < map.grid.size.cells() {
        let is_exit = map.on_tree(cell) || map.nearer(cell, &map.neighbours(cell)) != STOP;
        steps.st(cell, if is_exit { 0 } else { UNREACHED });
    }
}

/// The paths of a net, as they are found.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Paths<'a> {
    /// By round, from 1 on: the index among the pins' cells of the path's first cell, chosen by
    /// [`nearest_select`](fn@super::nearest::nearest_select).
    pub found: View<'a, u32>,
    /// By round: the end of its path in `cells`; 0 for round 0.
    #[len(self.found.len())]
    pub ends: ViewMut<'a, u32>,
    /// The cells of all paths: at most as many as the grid has, and one more per round.
    pub cells: ViewMut<'a, u32>,
}

/// Writes the path of `round`, from the cell that was found to the tree, both included, after the
/// path of the previous round. Writes no path if no cell was found.
///
/// ```text
/// until the path is on the tree:
///     all threads: note the direction from each cell of a patch around the path's end
///     one thread: append cells, direction by direction, until the path leaves the patch
/// ```
///
/// # Safety
///
/// `steps` has one element per cell and is exact, or is empty and no edge is free. `round` is 1 or
/// more; the views of `paths` by round have more than `round` elements; this kernel has run in all
/// earlier rounds. The launch has one block. Nothing else uses `paths` meanwhile.
#[kernel(block = BLOCK, len(map = (), pins = (), paths = ()))]
pub unsafe fn retrace_path(
    map: DistanceMap<'_>,
    steps: View<'_, u64>,
    pins: Pins<'_>,
    paths: Paths<'_>,
    round: u32,
) {
    let directions = shared_array![u32; (SIDE * SIDE) as usize];
    let at_shared = shared_array![u32; 1];
    let grid = map.grid.size;
    let t = thread::thread_idx_x();
    let mut length = paths.ends.ld(round - 1);
    let index = paths.found.ldg(round);
    let mut cell = if index == NONE {
        NONE
    } else {
        pins.cells.ldg(index)
    };
    while cell != NONE {
        let (x, y, layer) = grid.place(cell);
        let left = x.saturating_sub(SIDE / 2);
        let top = y.saturating_sub(SIDE / 2);
        let mut i = t;
        while i < SIDE * SIDE {
            let (x, y) = (left + i % SIDE, top + i / SIDE);
            if x < grid.width && y < grid.height {
                let cell = (layer * grid.height + y) * grid.width + x;
                directions.st(i, map.direction(cell, steps));
            }
            // Not unrolled: that would take more registers than there are.
            i += thread::block_dim_x();
        }
        // planted: retrace-barrier
        thread::sync_threads();
        if t == 0 {
            // The cell's place in the patch; outside it wraps around.
            let (mut x, mut y) = (x - left, y - top);
            while cell != NONE && x < SIDE && y < SIDE {
                paths.cells.st(length, cell);
                length += 1;
                let direction = directions.ld(y * SIDE + x);
                x = x.wrapping_add(match direction {
                    LEFT => u32::MAX,
                    UP | DOWN => 0,
                    RIGHT => 1,
                    _ => SIDE,
                });
                y = y.wrapping_add(match direction {
                    UP => u32::MAX,
                    DOWN => 1,
                    _ => 0,
                });
                cell = cell.wrapping_add(match direction {
                    LEFT => u32::MAX,
                    UP => grid.width.wrapping_neg(),
                    RIGHT => 1,
                    DOWN => grid.width,
                    BELOW => grid.area().wrapping_neg(),
                    _ => grid.area(),
                });
                if direction == STOP {
                    cell = NONE;
                }
            }
            at_shared.st(0u32, cell);
        }
        thread::sync_threads();
        cell = at_shared.ld(0u32);
    }
    if t == 0 {
        paths.ends.st(round, length);
    }
}

/// The cells that have become part of the tree, by round.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Joined<'a> {
    /// The net's pins.
    #[len(())]
    pub pins: Pins<'a>,
    /// By round: the index among the pins' cells of a cell of the pin that was joined. In round 0,
    /// a cell of the first pin.
    pub found: View<'a, u32>,
    /// By round: the end of its path in `paths`; 0 for round 0.
    #[len(self.found.len())]
    pub ends: View<'a, u32>,
    /// The cells of all paths.
    pub paths: View<'a, u32>,
}

impl Joined<'_> {
    /// Calls `with` for each cell of the path and the pin of `round`, for some more than once.
    /// Called by the whole grid.
    #[inline(always)]
    pub(super) fn each(&self, round: u32, with: impl Fn(u32)) {
        let index = self.found.ldg(round);
        if index == NONE {
            return;
        }
        let threads = thread::grid_dim_x() * BLOCK;
        let mut i = if round == 0 {
            0
        } else {
            self.ends.ldg(round - 1)
        } + thread::index_1d();
        let end = self.ends.ldg(round);
        while i < end {
            with(self.paths.ldg(i));
            i += threads;
        }
        let pin = self.pins.owners.ldg(index);
        let mut i = self.pins.firsts.ldg(pin) + thread::index_1d();
        let end = self.pins.firsts.ldg(pin + 1);
        while i < end {
            with(self.pins.cells.ldg(i));
            i += threads;
        }
    }
}

/// Makes the path and the pin of `round` part of the tree: their distances become 0, and their bits
/// are set.
///
/// # Safety
///
/// `distances` has one element per cell of the grid, `tree` one per 32 cells. Nothing else uses
/// these two meanwhile.
#[kernel(
    block = BLOCK,
    len(joined = (), tree = crate::primitives::ranked_bits::bit_words(distances.len() as u32)),
)]
pub unsafe fn join_tree(
    joined: Joined<'_>,
    distances: ViewMut<'_, u64>,
    tree: ViewMut<'_, u32>,
    round: u32,
) {
    joined.each(round, |cell| {
        distances.st_relaxed(cell, 0, Device);
        // planted: join-atomic
        tree.atomic_or(cell / 32, 1 << (cell % 32));
    });
}

/// Copies the cells of all paths to `output`, as long as all paths together.
///
/// # Safety
///
/// `paths` has at least as many elements as `output`. The launch has a thread for each of these.
/// Nothing else uses `output` meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn collect_paths(paths: View<'_, u32>, output: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if (i as usize) < output.len() {
        output.st(i, paths.ldg(i));
    }
}
