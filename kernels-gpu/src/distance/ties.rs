//! Allocation and directions from final costs, by the rules of `docs/distances.md`.
//!
//! A step is **tight** if the cost of the cell that it leads from and the cost of the step add up,
//! rounded, to the cost of the cell that it leads to. What a cell is reached by is written once,
//! as a bit for each tight step into it. From these bits alone follow
//!
//! - **allocation**: the ids of the tight sources spread along tight steps, and the least stays;
//! - **directions**: the first bit of a step from a cell of smaller cost. Cells without one lie on
//!   plateaus. Their layers spread from the others, 1 per step, and the first bit of a step from
//!   the layer before is the direction.
//!
//! Both spread by the kernels of [`spread`](super::spread). Of cells on plateaus,
//! `finish_directions` also reads the steps and the layers around them.
//!
//! | kernel | launch | moves |
//! |---|---|---|
//! | `start_ids_PRECISION` | one thread per start | the starts, and as many costs and ids |
//! | `find_ties_PRECISION` | one thread per cell | friction and costs in, 3 bytes per cell out |
//! | [`finish_ids`](fn@finish_ids) | one thread per cell | 4 bytes per cell in and out |
//! | [`start_layers`](fn@start_layers) | one thread per cell | 1 byte per cell in, 4 out |
//! | [`finish_directions`](fn@finish_directions) | one thread per cell | 1 byte per cell in |

use cuda_std::prelude::*;

use super::layout::CostRaster;
use super::patch::{KNIGHTS, NEAR, between, each, each8, knight_share, near_share};
use super::raster::{BLOCK, index_below};
use super::spread::NO_VALUE;
use super::{Cost, SHARES};
use crate::primitives::quotient;

/// The direction of cells that nothing reaches.
const NO_DIRECTION: u8 = 255;
/// A cell on a plateau, whose direction is not known yet.
const PENDING: u8 = 254;

impl CostRaster {
    /// The index of this thread's cell, and its place; `None` past the last cell.
    #[inline(always)]
    fn own_cell(self) -> Option<(u32, u32)> {
        let cell = index_below(u64::from(self.width) * u64::from(self.height))?;
        let y = quotient(cell, self.width);
        let x = cell - y * self.width;
        let place = (y + self.margin) * self.stride() + x + self.margin;
        Some((cell, place))
    }

    /// The place that is a number of columns and rows from another one.
    #[inline(always)]
    fn beside(self, place: u32, (columns, rows): (i32, i32)) -> u32 {
        let jump = rows
            .wrapping_mul(self.stride() as i32)
            .wrapping_add(columns);
        place.wrapping_add_signed(jump)
    }
}

/// The tight steps into a cell, and those of them that come from a cell of smaller cost.
#[inline(always)]
fn tight_steps<P: Cost>(
    place: u32,
    friction: View<'_, P>,
    costs: View<'_, P::Bits>,
    shares: &[P; SHARES],
    raster: CostRaster,
) -> (u32, u32) {
    let (own, cost) = (friction.ld(place), P::from_bits(costs.ld(place)));
    let (mut tight, mut descents) = (0, 0);
    let friction_at = |offset| friction.ld(raster.beside(place, offset));
    let mut look = |bit: usize, offset, step: P| {
        let from = P::from_bits(costs.ld(raster.beside(place, offset)));
        // Not so for steps that are not taken, whose share is infinite.
        if from + step == cost {
            tight |= 1 << bit;
            descents |= u32::from(from < cost) << bit;
        }
    };
    each8!(K, {
        let share = shares[near_share(NEAR[K])];
        look(K, NEAR[K], share * (friction_at(NEAR[K]) + own));
    });
    if raster.margin == 2 {
        each8!(K, {
            let [first, second] = between(KNIGHTS[K]);
            let ends = friction_at(KNIGHTS[K]) + own;
            let passed = friction_at(first) + friction_at(second);
            let share = shares[knight_share(KNIGHTS[K])];
            look(8 + K, KNIGHTS[K], share * (ends + passed));
        });
    }
    (tight, descents)
}

/// The code of the first of the steps.
#[inline(always)]
const fn first_code(steps: u32) -> u8 {
    steps.trailing_zeros() as u8 + 1
}

macro_rules! tie_kernels {
    ($($start:ident, $find:ident: $t:ty, ($($option:tt)*);)*) => {$(
        /// Notes the least id of the sources that start at their cell's cost, less 1.
        ///
        /// # Safety
        ///
        /// `start_places` are places of `costs` and `ids`; `start_costs` and `start_ids`, from 1
        /// on, are as many. Nothing else uses `ids` meanwhile. The launch has a thread for each
        /// start.
        #[kernel(block = BLOCK, $($option)*)]
        pub unsafe fn $start(
            costs: View<'_, <$t as Cost>::Bits>,
            start_places: View<'_, u32>,
            start_costs: View<'_, <$t as Cost>::Bits>,
            start_ids: View<'_, u32>,
            ids: ViewMut<'_, u32>,
        ) {
            if let Some(i) = index_below(start_places.len() as u64) {
                let place = start_places.ld(i);
                // planted: ties-start
                if start_costs.ld(i) == costs.ld(place) {
                    // planted: ties-least-start
                    ids.atomic_min(place, start_ids.ld(i) - 1);
                }
            }
        }

        /// Finds the tight steps into each cell, and directions that do not follow plateaus.
        ///
        /// # Safety
        ///
        /// `friction`, `costs`, `ids` and `steps` have an element for each place, `directions` one
        /// for each cell, or none if they are not wanted. `ids` is not `u32::MAX` at tight sources.
        /// Nothing else uses `steps` and `directions` meanwhile. The launch has a thread for each
        /// cell.
        #[kernel(block = BLOCK, $($option)*)]
        pub unsafe fn $find(
            friction: View<'_, $t>,
            costs: View<'_, <$t as Cost>::Bits>,
            ids: View<'_, u32>,
            shares: [$t; SHARES],
            raster: CostRaster,
            steps: ViewMut<'_, u16>,
            directions: ViewMut<'_, u8>,
        ) {
            let Some((cell, place)) = raster.own_cell() else {
                return;
            };
            let is_reached = <$t>::from_bits(costs.ld(place)) < <$t>::INFINITY;
            let (mut tight, mut descents) = (0, 0);
            if is_reached {
                (tight, descents) = tight_steps(place, friction, costs, &shares, raster);
            }
            steps.st(place, tight as u16);
            if directions.is_empty() {
                return;
            }
            let code = if !is_reached {
                NO_DIRECTION
            } else if ids.ld(place) != NO_VALUE {
                0
            } else if descents != 0 {
                // planted: ties-descent
                first_code(descents)
            } else {
                PENDING
            };
            directions.st(cell, code);
        }
    )*};
}
tie_kernels! {
    start_ids_f32, find_ties_f32: f32, ();
    start_ids_f64, find_ties_f64: f64, (f64);
}

/// Writes the ids of all cells without the margin; 0 where nothing reaches.
///
/// # Safety
///
/// `found` has an element for each place, each an id less 1 or `u32::MAX`; `ids` has one for each
/// cell. Nothing else uses it meanwhile. The launch has a thread for each cell.
#[kernel(block = BLOCK)]
pub unsafe fn finish_ids(found: View<'_, u32>, raster: CostRaster, ids: ViewMut<'_, u32>) {
    if let Some((cell, place)) = raster.own_cell() {
        ids.st(cell, found.ld(place).wrapping_add(1));
    }
}

/// Sets the layers of cells whose direction is known to 0.
///
/// # Safety
///
/// `directions` has an element for each cell, `layers` one for each place. Nothing else uses it
/// meanwhile. The launch has a thread for each cell.
#[kernel(block = BLOCK)]
pub unsafe fn start_layers(directions: View<'_, u8>, raster: CostRaster, layers: ViewMut<'_, u32>) {
    if let Some((cell, place)) = raster.own_cell() {
        let is_known = directions.ld(cell) < PENDING;
        layers.st(place, if is_known { 0 } else { NO_VALUE });
    }
}

/// Finds the directions of cells on plateaus.
///
/// # Safety
///
/// `steps` and `layers` have an element for each place, `directions` has one for each cell. Nothing
/// else uses it meanwhile. The launch has a thread for each cell.
#[kernel(block = BLOCK)]
pub unsafe fn finish_directions(
    steps: View<'_, u16>,
    layers: View<'_, u32>,
    raster: CostRaster,
    directions: ViewMut<'_, u8>,
) {
    let Some((cell, place)) = raster.own_cell() else {
        return;
    };
    if directions.ld(cell) != PENDING {
        return;
    }
    let (tight, layer) = (u32::from(steps.ld(place)), layers.ld(place));
    let mut nearer = 0;
    macro_rules! look {
        ($first:literal, $offsets:ident) => {
            each8!(K, {
                if tight >> ($first + K) & 1 != 0 {
                    // A cell that has a layer has no endless one.
                    let before = layers.ld(raster.beside(place, $offsets[K]));
                    // planted: ties-layer
                    nearer |= u32::from(before < layer) << ($first + K);
                }
            });
        };
    }
    look!(0, NEAR);
    if raster.margin == 2 {
        look!(8, KNIGHTS);
    }
    directions.st(cell, first_code(nearer));
}
