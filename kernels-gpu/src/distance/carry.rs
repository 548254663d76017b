//! Carrying costs straight through a tile.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use super::layout::{TILE, Tile};
use super::patch::{each, each8, moved};
use super::{Cost, SHARES};

/// Cells of a row that are loaded together.
const AT_ONCE: u32 = 8;

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
    (columns, rows): (i32, i32),
) {
    let lane = thread::thread_idx_x();
    // The last cell of the halo before the tile.
    let start = |by: i32| match by {
        0 => REACH + lane,
        1 => REACH - 1,
        _ => REACH + TILE,
    };
    let (x, y) = (start(columns), start(rows));
    let at = |step: i32| Tile::<P>::at(moved(x, step * columns), moved(y, step * rows));
    // Two steps on are as far in shared memory from each cell.
    let mut places = [at(1), at(2)];
    let pair = at(3).wrapping_sub(at(1));
    let share = if rows == 0 { shares[0] } else { shares[1] };
    let (mut friction, mut cost) = (tile.friction(x, y), tile.cost(x, y));
    let mut open = cost < P::INFINITY;
    let mut done = 0;
    while done < TILE && warp::warp_vote_any(FULL_MASK, open) {
        let place = |k: usize| places[k % 2].wrapping_add(pair.wrapping_mul(k as u32 / 2));
        let mut frictions = [P::INFINITY; AT_ONCE as usize];
        let mut costs = [P::INFINITY; AT_ONCE as usize];
        if open {
            each8!(K, {
                frictions[K] = tile.friction.ld(place(K));
                costs[K] = P::from_bits(tile.costs.ld(place(K)));
            });
        }
        each8!(K, {
            // planted: distance-carry
            cost = cost + share * (friction + frictions[K]);
            friction = frictions[K];
            open = open && cost <= limit && cost < costs[K];
            if open {
                tile.costs.st(place(K), cost.to_bits());
            }
        });
        let on = pair.wrapping_mul(AT_ONCE / 2);
        places = [places[0].wrapping_add(on), places[1].wrapping_add(on)];
        done += AT_ONCE;
    }
}
