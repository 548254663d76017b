//! The path from a pin to the tree, and how it becomes part of the tree.
//!
//! From each cell the path goes to the first neighbour on a shortest path, in the order left, up, right, down, layer below, layer
//! above: one over an edge that is not free, if there is one. Where there is none, it takes the fewest free edges to a cell that
//! has one or is on the tree. *Steps* are how many: 0 at such cells, and in between by [sweeps](super::sweep) that count free edges.
//!
//! A step depends on the one before. So a block looks at all cells of a patch around the path's end at once, and keeps in shared
//! memory where the path would go from each; one thread walks through it, to where it leaves the patch.
//!
//! | kernel | launch | reads, writes |
//! | --- | --- | --- |
//! | [`steps_start`](fn@steps_start) | a thread for each cell | some 80 bytes a cell, most from caches; 8 bytes |
//! | [`retrace_path`](fn@retrace_path) | one block of 256 threads | some 80 KB for each 16 cells of the path or more, most from caches; 4 bytes a cell of the path |
//! | [`join_tree`](fn@join_tree) | any number of blocks of 256 threads | 4 bytes a cell of path and pin; 12 bytes |
//! | [`collect_paths`](fn@collect_paths) | a thread for each cell of all paths | 4 bytes a cell of a path; 4 bytes |

use cuda_std::prelude::*;

use super::nearest::NONE;
use super::{BLOCK, BLOCKED, GridSize, UNREACHED};

/// Directions to neighbours, in the order in which paths prefer them.
const LEFT: u32 = 0;
const UP: u32 = 1;
const RIGHT: u32 = 2;
const DOWN: u32 = 3;
const BELOW: u32 = 4;
const DIRECTIONS: usize = 6;
/// In place of a direction: on the tree, or without a way to it.
const STOP: u32 = DIRECTIONS as u32;

/// Width and height of a patch.
const SIDE: u32 = 32;

/// A grid with distances.
struct Field<'a> {
    right: View<'a, u32>,
    down: View<'a, u32>,
    /// Empty if there is one layer.
    via: View<'a, u32>,
    distances: View<'a, u64>,
    /// A bit for each cell.
    tree: View<'a, u32>,
    grid: GridSize,
}

impl Field<'_> {
    #[inline(always)]
    fn on_tree(&self, cell: u32) -> bool {
        self.tree.ldg(cell / 32) >> (cell % 32) & 1 != 0
    }

    /// The neighbours in all directions, with the weights of the edges; the cell itself where it is blocked.
    #[inline(always)]
    fn neighbours(&self, cell: u32) -> [(u32, u32); DIRECTIONS] {
        // The last cell of a row has no edge to the right, so the one before the first of the next has none either.
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
        let GridSize { width, layers, .. } = self.grid;
        let area = self.grid.area();
        let mut neighbours = [
            // planted: retrace-order.1
            before(self.right, 1),
            // planted: retrace-order.2
            before(self.down, width),
            after(self.right, 1),
            after(self.down, width),
            (cell, BLOCKED),
            (cell, BLOCKED),
        ];
        if layers > 1 {
            neighbours[4] = before(self.via, area);
            neighbours[5] = after(self.via, area);
        }
        neighbours
    }

    /// The direction of the first neighbour on a shortest path over an edge that is not free; else [`STOP`].
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

    /// Where the path goes from `cell`; [`STOP`] on the tree. `steps` is empty where no edge is free.
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

/// Starts the steps: 0 where a path need not go on over free edges alone, else [`UNREACHED`].
///
/// # Safety
///
/// `right`, `down` and, of several layers, `via` are the weights of `grid`, `distances` its exact distances from the cells whose
/// bits are set in `tree`; `steps` has an element for each cell; nothing else uses `steps` meanwhile; the launch has a thread
/// for each cell.
#[kernel(block = 256)]
pub unsafe fn steps_start(
    right: View<'_, u32>,
    down: View<'_, u32>,
    via: View<'_, u32>,
    distances: View<'_, u64>,
    tree: View<'_, u32>,
    steps: ViewMut<'_, u64>,
    grid: GridSize,
) {
    let field = Field {
        right,
        down,
        via,
        distances,
        tree,
        grid,
    };
    let cell = thread::index_1d();
    if cell < grid.cells() {
        let is_exit = field.on_tree(cell) || field.nearer(cell, &field.neighbours(cell)) != STOP;
        steps.st(cell, if is_exit { 0 } else { UNREACHED });
    }
}

/// Writes the path from the cell that was found in round `round` to the tree, both ends included, to `paths` from
/// `ends[round - 1]` on; `ends[round]` is where it ends. No path if none was found.
///
/// # Safety
///
/// As for [`steps_start`](fn@steps_start); `steps`, if not empty, are exact; `found` is what
/// [`nearest_select`](fn@super::nearest::nearest_select) chose of `pin_cells`, up to `round`, which is 1 or more; `ends` has
/// more than `round` elements, and this ran in all rounds before, from 1 on; `paths` has an element for each cell of the grid and
/// one for each round; nothing else uses `ends` and `paths` meanwhile; the launch has one block.
#[kernel(block = 256)]
pub unsafe fn retrace_path(
    right: View<'_, u32>,
    down: View<'_, u32>,
    via: View<'_, u32>,
    distances: View<'_, u64>,
    steps: View<'_, u64>,
    tree: View<'_, u32>,
    pin_cells: View<'_, u32>,
    found: View<'_, u32>,
    ends: ViewMut<'_, u32>,
    paths: ViewMut<'_, u32>,
    grid: GridSize,
    round: u32,
) {
    let directions = shared_array![u32; (SIDE * SIDE) as usize];
    let at_shared = shared_array![u32; 1];
    let field = Field {
        right,
        down,
        via,
        distances,
        tree,
        grid,
    };
    let t = thread::thread_idx_x();
    let mut length = ends.ld(round - 1);
    let index = found.ldg(round);
    let mut cell = if index == NONE {
        NONE
    } else {
        pin_cells.ldg(index)
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
                directions.st(i, field.direction(cell, steps));
            }
            // Not unrolled: that would take more registers than there are.
            i += thread::block_dim_x();
        }
        // planted: retrace-barrier
        thread::sync_threads();
        if t == 0 {
            // In the patch; outside of it, wrapped around.
            let (mut x, mut y) = (x - left, y - top);
            while cell != NONE && x < SIDE && y < SIDE {
                paths.st(length, cell);
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
        ends.st(round, length);
    }
}

/// What became part of the tree, by round.
#[derive(Clone, Copy)]
pub(super) struct Joined<'a> {
    /// The cells of all pins, one pin after the other.
    pub(super) pin_cells: View<'a, u32>,
    /// By cell of a pin: the pin.
    pub(super) owners: View<'a, u32>,
    /// By pin: where its cells begin; one more than there are pins.
    pub(super) firsts: View<'a, u32>,
    /// By round: the cell of a pin that was found. In round 0, one of the first pin.
    pub(super) found: View<'a, u32>,
    /// By round: where its path ends.
    pub(super) ends: View<'a, u32>,
    /// The cells of all paths.
    pub(super) paths: View<'a, u32>,
}

impl Joined<'_> {
    /// Calls `with` with each cell of the path and the pin of `round`, some more than once. For a whole grid of blocks.
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
        let pin = self.owners.ldg(index);
        let mut i = self.firsts.ldg(pin) + thread::index_1d();
        let end = self.firsts.ldg(pin + 1);
        while i < end {
            with(self.pin_cells.ldg(i));
            i += threads;
        }
    }
}

/// Makes the path and the pin of round `round` part of the tree: their distances 0, their bits set.
///
/// # Safety
///
/// `firsts` says where each pin's cells begin among `pin_cells`, `owners` whose they are; `found`, `ends` and `paths` are what
/// [`retrace_path`](fn@retrace_path) had and gave, in round 0 the first cell of a pin and 0; `distances` has an element for each
/// cell of the grid, `tree` one for 32 of them; nothing else uses these two meanwhile.
#[kernel(block = 256)]
pub unsafe fn join_tree(
    pin_cells: View<'_, u32>,
    owners: View<'_, u32>,
    firsts: View<'_, u32>,
    found: View<'_, u32>,
    ends: View<'_, u32>,
    paths: View<'_, u32>,
    distances: ViewMut<'_, u64>,
    tree: ViewMut<'_, u32>,
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
    joined.each(round, |cell| {
        distances.st_relaxed(cell, 0, Device);
        // planted: join-atomic
        tree.atomic_or(cell / 32, 1 << (cell % 32));
    });
}

/// Copies the cells of all paths to `output`, which has as many elements.
///
/// # Safety
///
/// `paths` has at least as many elements as `output`; nothing else uses `output` meanwhile; the launch has a thread for each of
/// its elements.
#[kernel(block = 256)]
pub unsafe fn collect_paths(paths: View<'_, u32>, output: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if (i as usize) < output.len() {
        output.st(i, paths.ldg(i));
    }
}
