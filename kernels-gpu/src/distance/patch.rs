//! The four cells of a thread: a patch of 2 × 2, in a window of 4 × 4 with the cells around.

use cuda_std::prelude::*;

use super::layout::{PATCHES, Tile};
use super::{Cost, SHARES};

/// Repeats an expression with a constant from 0 to 3.
macro_rules! each {
    ($i:ident, $body:expr) => {
        each!(@ $i, $body, 0, 1, 2, 3)
    };
    (@ $i:ident, $body:expr, $($value:literal),*) => {{
        $({
            const $i: usize = $value;
            $body
        })*
    }};
}

/// Repeats an expression with a constant from 0 to 7.
macro_rules! each8 {
    ($i:ident, $body:expr) => {
        each!(@ $i, $body, 0, 1, 2, 3, 4, 5, 6, 7)
    };
}

/// Repeats an expression with a constant from 0 to 5.
macro_rules! each6 {
    ($i:ident, $body:expr) => {
        each!(@ $i, $body, 0, 1, 2, 3, 4, 5)
    };
}
pub(super) use {each, each6, each8};

/// Cells of the window.
const WINDOW: usize = 16;
/// Cells of the window around the patch.
const AROUND: [usize; 12] = [0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 14, 15];

/// Columns and rows to the 8 neighbours.
pub(super) const NEAR: [(i32, i32); 8] = [
    (1, 0),
    (1, 1),
    (0, 1),
    (-1, 1),
    (-1, 0),
    (-1, -1),
    (0, -1),
    (1, -1),
];

/// Columns and rows of the knight's moves.
pub(super) const KNIGHTS: [(i32, i32); 8] = [
    (2, 1),
    (1, 2),
    (-1, 2),
    (-2, 1),
    (-2, -1),
    (-1, -2),
    (1, -2),
    (2, -1),
];

/// The index in `shares` of a step to one of the 8 neighbours.
pub(super) const fn near_share((x, y): (i32, i32)) -> usize {
    match (x, y) {
        (_, 0) => 0,
        (0, _) => 1,
        _ => 2,
    }
}

/// The index in `shares` of a knight's move.
pub(super) const fn knight_share((x, _): (i32, i32)) -> usize {
    if x == 2 || x == -2 { 3 } else { 4 }
}

/// The two cells between the ends of a knight's move.
pub(super) const fn between((x, y): (i32, i32)) -> [(i32, i32); 2] {
    if x == 2 || x == -2 {
        [(x / 2, 0), (x / 2, y)]
    } else {
        [(0, y / 2), (x, y / 2)]
    }
}

/// The index in the window of a cell of the patch.
const fn own(cell: usize) -> usize {
    (1 + cell / 2) * 4 + 1 + cell % 2
}

/// The index in the window of a cell's neighbour.
const fn beside(cell: usize, (x, y): (i32, i32)) -> usize {
    (own(cell) as i32 + y * 4 + x) as usize
}

/// Whether a cell of the window belongs to the patch.
const fn is_own(at: usize) -> bool {
    matches!(at, 5 | 6 | 9 | 10)
}

/// Column and row in the tile, with its halo, of the first cell of this thread's window.
#[inline(always)]
pub(super) fn first_cell<const REACH: u32>() -> (u32, u32) {
    let t = thread::thread_idx_x();
    (REACH - 1 + t % PATCHES * 2, REACH - 1 + t / PATCHES * 2)
}

/// The costs of this thread's patch of a tile, which is in shared memory.
#[inline(always)]
pub(super) fn patch_costs<P: Cost, const REACH: u32>(tile: &Tile<P>) -> [P; 4] {
    let (x, y) = first_cell::<REACH>();
    [
        tile.cost(x + 1, y + 1),
        tile.cost(x + 2, y + 1),
        tile.cost(x + 1, y + 2),
        tile.cost(x + 2, y + 2),
    ]
}

/// A patch, and what its steps cost.
pub(super) struct Patch<P> {
    /// Column and row in the tile, with its halo, of the window's first cell.
    pub(super) x: u32,
    pub(super) y: u32,
    /// The costs of the window.
    window: [P; WINDOW],
    /// By cell of the patch and neighbour: what the step between them costs.
    steps: [P; 32],
}

impl<P: Cost> Patch<P> {
    /// This thread's patch of a tile, which is in shared memory.
    #[inline(always)]
    pub(super) fn load<const REACH: u32>(tile: &Tile<P>, shares: &[P; SHARES]) -> Self {
        let (x, y) = first_cell::<REACH>();
        let mut friction = [P::INFINITY; WINDOW];
        let mut window = [P::INFINITY; WINDOW];
        each!(J, {
            each!(I, {
                friction[J * 4 + I] = tile.friction(x + I as u32, y + J as u32);
                window[J * 4 + I] = tile.cost(x + I as u32, y + J as u32);
            });
        });
        let mut steps = [P::INFINITY; 32];
        each!(I, {
            each8!(K, {
                const TO: usize = beside(I, NEAR[K]);
                const SHARE: usize = near_share(NEAR[K]);
                steps[I * 8 + K] = shares[SHARE] * (friction[own(I)] + friction[TO]);
            });
        });
        Self {
            x,
            y,
            window,
            steps,
        }
    }

    /// The costs of the patch.
    #[inline(always)]
    pub(super) fn costs(&self) -> [P; 4] {
        [
            self.window[own(0)],
            self.window[own(1)],
            self.window[own(2)],
            self.window[own(3)],
        ]
    }

    /// Reads the costs around the patch, and returns whether one has changed.
    #[inline(always)]
    pub(super) fn look(&mut self, tile: &Tile<P>) -> bool {
        let mut changed = false;
        macro_rules! look {
            ($($i:literal)*) => {$({
                const AT: usize = AROUND[$i];
                let cost = tile.cost(self.x + (AT % 4) as u32, self.y + (AT / 4) as u32);
                changed |= cost != self.window[AT];
                self.window[AT] = cost;
            })*};
        }
        look!(0 1 2 3 4 5 6 7 8 9 10 11);
        changed
    }

    /// Lowers the costs of the patch to those over steps to the 8 neighbours: of each cell in turn,
    /// then back within the patch.
    #[inline(always)]
    pub(super) fn relax(&mut self, limit: P) {
        each!(I, {
            let mut best = P::INFINITY;
            each8!(K, best = best.lower(self.over::<I, K>()));
            self.lower::<I>(best, limit);
        });
        self.relax_back::<2>(limit);
        self.relax_back::<1>(limit);
        self.relax_back::<0>(limit);
    }

    /// Lowers a cell's cost to those over steps from within the patch.
    #[inline(always)]
    fn relax_back<const I: usize>(&mut self, limit: P) {
        let mut best = P::INFINITY;
        each8!(K, {
            if is_own(beside(I, NEAR[K])) {
                best = best.lower(self.over::<I, K>());
            }
        });
        self.lower::<I>(best, limit);
    }

    /// The cost of a cell over the step from a neighbour.
    #[inline(always)]
    fn over<const I: usize, const K: usize>(&self) -> P {
        self.window[beside(I, NEAR[K])] + self.steps[I * 8 + K]
    }

    #[inline(always)]
    fn lower<const I: usize>(&mut self, best: P, limit: P) {
        // planted: distance-limit
        if best <= limit {
            self.window[own(I)] = self.window[own(I)].lower(best);
        }
    }

    /// Lowers the costs of the patch to those over knight's moves.
    #[inline(always)]
    pub(super) fn relax_knights(&mut self, tile: &Tile<P>, shares: &[P; SHARES], limit: P) {
        each!(I, {
            let (x, y) = (self.x + (own(I) % 4) as u32, self.y + (own(I) / 4) as u32);
            let mut best = P::INFINITY;
            each8!(
                K,
                best = best.lower(over_knight::<P, K>(tile, shares, x, y))
            );
            self.lower::<I>(best, limit);
        });
    }

    /// Shows the others the costs of the patch that are no longer `before`, and returns whether
    /// there are any.
    #[inline(always)]
    pub(super) fn show(&self, tile: &Tile<P>, before: &[P; 4]) -> bool {
        let mut changed = false;
        each!(I, {
            let cost = self.window[own(I)];
            if cost != before[I] {
                changed = true;
                let (x, y) = ((own(I) % 4) as u32, (own(I) / 4) as u32);
                let at = Tile::<P>::at(self.x + x, self.y + y);
                // Others may be reading it: the cost from before serves them as well.
                tile.costs.atomic_exch(at, cost.to_bits());
            }
        });
        changed
    }

    /// Calls `store` with column and row in the tile, with its halo, of each cell of the patch
    /// whose cost is no longer `before`, and the cost.
    #[inline(always)]
    pub(super) fn each_lowered(&self, before: &[P; 4], mut store: impl FnMut(u32, u32, P)) {
        each!(I, {
            let cost = self.window[own(I)];
            if cost != before[I] {
                let (x, y) = ((own(I) % 4) as u32, (own(I) / 4) as u32);
                store(self.x + x, self.y + y, cost);
            }
        });
    }
}

/// The index of a coordinate moved by a few cells, which stay in the tile and its halo.
#[inline(always)]
pub(super) const fn moved(x: u32, by: i32) -> u32 {
    x.wrapping_add_signed(by)
}

/// The cost of a cell over the step from one of the 8 neighbours.
#[inline(always)]
pub(super) fn over_near<P: Cost, const K: usize>(
    tile: &Tile<P>,
    shares: &[P; SHARES],
    x: u32,
    y: u32,
) -> P {
    let (from_x, from_y) = (moved(x, NEAR[K].0), moved(y, NEAR[K].1));
    let ends = tile.friction(from_x, from_y) + tile.friction(x, y);
    tile.cost(from_x, from_y) + shares[near_share(NEAR[K])] * ends
}

/// The cost of a cell over a knight's move to it.
#[inline(always)]
pub(super) fn over_knight<P: Cost, const K: usize>(
    tile: &Tile<P>,
    shares: &[P; SHARES],
    x: u32,
    y: u32,
) -> P {
    let (from_x, from_y) = (moved(x, KNIGHTS[K].0), moved(y, KNIGHTS[K].1));
    let [(first_x, first_y), (second_x, second_y)] = between(KNIGHTS[K]);
    let ends = tile.friction(from_x, from_y) + tile.friction(x, y);
    let passed = tile.friction(moved(x, first_x), moved(y, first_y))
        + tile.friction(moved(x, second_x), moved(y, second_y));
    tile.cost(from_x, from_y) + shares[knight_share(KNIGHTS[K])] * (ends + passed)
}
