//! Carrying costs straight through tiles.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::layout::{BLOCK, CostRaster, TILE, Tile};
use super::patch::{each, each8, moved};
use super::queue::{NOTHING, RUN, WAY, given_to, way_of};
use super::{Cost, CostSearch, SHARES};

/// In the word that says how a run goes on: costs of the tile have fallen.
const LOWERED: u32 = 1;
/// In that word: there are costs to carry on.
const OPEN: u32 = 2;

/// Lowers the costs along each row of a tile, or along each column, from the halo on for as long as
/// the way straight on is the best one known. `(columns, rows)` is that way: a step to one of the 4
/// neighbours. Called by one warp, whose lanes take a row each, while no other thread uses the
/// costs.
///
/// A front that comes through a passage gets to the other end of the tile at once, in place of two
/// cells per barrier. Where another way is better, the rest of the relaxation finds it.
#[inline(always)]
pub(super) fn carry<P: Cost, const REACH: u32>(
    tile: &Tile<P>,
    shares: &[P; SHARES],
    limit: P,
    way: (i32, i32),
) {
    let mut front = Front::new::<REACH>(tile, before::<REACH>(way));
    front.carry::<REACH, 8>(tile, shares, limit, way, |_, place, cost| {
        tile.costs.st(place, cost.to_bits());
    });
}

/// Carries costs straight on through the tiles beyond the one at a row and a column, as long as
/// that is the best way known, and marks the tiles in which costs fall, for blocks to relax; the
/// first in any case. `way`, also in the word [`WAY`], is columns and rows to it; it has been given
/// costs. Called by the whole block, with the tile that it has relaxed in shared memory.
///
/// In a long passage, the front gets on by a tile in the time that it takes to carry costs through
/// it, and the tiles behind are relaxed at the same time, by other blocks.
#[inline(always)]
pub(super) fn run<P: Cost, const REACH: u32>(
    search: &CostSearch<'_, P>,
    tile: &Tile<P>,
    (row, column): (u32, u32),
    way @ (columns, rows): (i32, i32),
) {
    let (shares, limit, raster) = (&search.shares, search.limit, search.raster);
    let t = thread::thread_idx_x();
    let beyond = |(columns, rows): (i32, i32), tiles: i32| {
        (
            row.wrapping_add_signed(tiles.wrapping_mul(rows)),
            column.wrapping_add_signed(tiles.wrapping_mul(columns)),
        )
    };
    let mut front = Front::new::<REACH>(tile, last::<REACH>(way));
    let mut given = given_to(tile.words, (rows, columns));
    // Two tiles are under way while costs are carried through a third. They take turns, so that
    // none is moved from register to register before it has come.
    let mut coming = Cells::read::<REACH>(search, beyond(way, 1));
    let mut after = Cells::read::<REACH>(search, beyond(way, 2));
    // Before shared memory is used again.
    // planted: distance-run-barrier
    thread::sync_threads();
    let mut tiles = 0;
    macro_rules! hop {
        ($cells:ident) => {{
            tiles += 1;
            $cells.write::<REACH>(tile);
            thread::sync_threads();
            // Read anew for each tile, so that the compiler keeps no addresses that follow from it
            // in registers, of which there are too few.
            let (rows, columns) = way_of(tile.words.ld_relaxed(WAY, Block));
            let way = (columns, rows);
            let (row, column) = beyond(way, tiles);
            let mut least = given;
            if t < WARP_SIZE {
                let priority = if front.open {
                    front.cost.priority()
                } else {
                    NOTHING
                };
                least = least.min(warp::warp_reduce_min(FULL_MASK, priority));
                // The halo's place of each coordinate is the margin's of the raster.
                let (x, y) = before::<REACH>(way);
                let start = (row * TILE + y) * raster.stride() + column * TILE + x;
                let jump = rows
                    .wrapping_mul(raster.stride() as i32)
                    .wrapping_add(columns);
                let lowered = front.carry::<REACH, 4>(tile, shares, limit, way, |step, _, cost| {
                    let place = start.wrapping_add_signed(jump.wrapping_mul(step));
                    // Another block may relax the tile at the same time.
                    search.costs.atomic_min(place, cost.to_bits());
                });
                let lowered = warp::warp_vote_any(FULL_MASK, lowered);
                let open = warp::warp_vote_any(FULL_MASK, front.open);
                if t == 0 {
                    let told = if lowered { LOWERED } else { 0 } + if open { OPEN } else { 0 };
                    tile.words.st(RUN, told);
                }
            }
            // The first warp has registers for these only now.
            $cells = Cells::read::<REACH>(search, beyond(way, tiles + 2));
            // After the stores of all lanes, and before shared memory is used again.
            thread::sync_threads();
            let told = tile.words.ld(RUN);
            // planted: distance-run-mark
            if t == 0 && (told & LOWERED != 0 || given != NOTHING) {
                search
                    .queue
                    .mark(raster, row * raster.tiles_x() + column, least);
            }
            given = NOTHING;
            if told & OPEN == 0 || !exists(raster, beyond(way, tiles + 1)) {
                return;
            }
        }};
    }
    loop {
        hop!(coming);
        hop!(after);
    }
}

/// Whether there is a tile at a row and a column.
#[inline(always)]
fn exists(raster: CostRaster, (row, column): (u32, u32)) -> bool {
    row < raster.tiles_y() && column < raster.tiles_x()
}

/// Column and row of the cell of the halo before the tile, on the row or column of this lane.
#[inline(always)]
fn before<const REACH: u32>((columns, rows): (i32, i32)) -> (u32, u32) {
    let start = |by: i32| match by {
        0 => REACH + thread::thread_idx_x() % WARP_SIZE,
        1 => REACH - 1,
        _ => REACH + TILE,
    };
    (start(columns), start(rows))
}

/// Column and row of the tile's last cell, on the row or column of this lane.
#[inline(always)]
fn last<const REACH: u32>(way @ (columns, rows): (i32, i32)) -> (u32, u32) {
    let (x, y) = before::<REACH>(way);
    let on = TILE as i32;
    (moved(x, on * columns), moved(y, on * rows))
}

/// What a lane carries along a row or a column: cost and friction of the cell that it has come to.
struct Front<P> {
    cost: P,
    friction: P,
    /// Whether the way straight on is the best one known.
    open: bool,
}

impl<P: Cost> Front<P> {
    /// A front at a cell of a tile, which is in shared memory.
    #[inline(always)]
    fn new<const REACH: u32>(tile: &Tile<P>, (x, y): (u32, u32)) -> Self {
        let cost = tile.cost(x, y);
        Self {
            cost,
            friction: tile.friction(x, y),
            open: cost < P::INFINITY,
        }
    }

    /// Goes through a tile from the cell before it, and returns whether a cost is lowered. Calls
    /// `store` for each cell whose cost is lowered, with the number of steps to it, its index in
    /// shared memory, and the cost. `AT_ONCE` cells, 8 at most, are loaded together.
    #[inline(always)]
    fn carry<const REACH: u32, const AT_ONCE: usize>(
        &mut self,
        tile: &Tile<P>,
        shares: &[P; SHARES],
        limit: P,
        way @ (columns, rows): (i32, i32),
        mut store: impl FnMut(i32, u32, P),
    ) -> bool {
        let (x, y) = before::<REACH>(way);
        let at = |step: i32| Tile::<P>::at(moved(x, step * columns), moved(y, step * rows));
        // Two steps on are as far in shared memory from each cell.
        let mut places = [at(1), at(2)];
        let pair = at(3).wrapping_sub(at(1));
        let share = if rows == 0 { shares[0] } else { shares[1] };
        let mut lowered = false;
        let mut done = 0;
        while done < TILE && warp::warp_vote_any(FULL_MASK, self.open) {
            let place = |k: usize| places[k % 2].wrapping_add(pair.wrapping_mul(k as u32 / 2));
            let mut frictions = [P::INFINITY; 8];
            let mut costs = [P::INFINITY; 8];
            if self.open {
                each8!(K, {
                    if K < AT_ONCE {
                        frictions[K] = tile.friction.ld(place(K));
                        costs[K] = P::from_bits(tile.costs.ld(place(K)));
                    }
                });
            }
            each8!(K, {
                if K < AT_ONCE {
                    // planted: distance-carry
                    self.cost = self.cost + share * (self.friction + frictions[K]);
                    self.friction = frictions[K];
                    self.open = self.open && self.cost <= limit && self.cost < costs[K];
                    if self.open {
                        lowered = true;
                        store((done + 1) as i32 + K as i32, place(K), self.cost);
                    }
                }
            });
            let on = pair.wrapping_mul(AT_ONCE as u32 / 2);
            places = [places[0].wrapping_add(on), places[1].wrapping_add(on)];
            done += AT_ONCE as u32;
        }
        lowered
    }
}

/// What a thread loads of a tile without its halo: every [`BLOCK`]th cell. They are loads from
/// memory until they are used.
struct Cells<P> {
    friction: [P; 4],
    costs: [P; 4],
}

impl<P: Cost> Cells<P> {
    /// Reads the tile at a row and a column; barriers in place of one that does not exist.
    #[inline(always)]
    fn read<const REACH: u32>(search: &CostSearch<'_, P>, (row, column): (u32, u32)) -> Self {
        let raster = search.raster;
        let mut cells = Self {
            friction: [P::INFINITY; 4],
            costs: [P::INFINITY; 4],
        };
        if exists(raster, (row, column)) {
            each!(K, {
                let i = thread::thread_idx_x() + K as u32 * BLOCK;
                let (x, y) = (column * TILE + i % TILE, row * TILE + i / TILE);
                if x < raster.width && y < raster.height {
                    let place = (y + REACH) * raster.stride() + x + REACH;
                    cells.friction[K] = search.friction.ld(place);
                    // Other blocks may lower them at the same time.
                    cells.costs[K] = P::from_bits(search.costs.ld_relaxed(place, Device));
                }
            });
        }
        cells
    }

    /// Writes them to shared memory.
    #[inline(always)]
    fn write<const REACH: u32>(&self, tile: &Tile<P>) {
        each!(K, {
            let i = thread::thread_idx_x() + K as u32 * BLOCK;
            let at = Tile::<P>::at(REACH + i % TILE, REACH + i / TILE);
            tile.friction.st(at, self.friction[K]);
            tile.costs.st(at, self.costs[K].to_bits());
        });
    }
}
