//! Friction into the raster with its margin, and costs out of it.
//!
//! | kernel | launch | moves |
//! |---|---|---|
//! | `place_TYPE_as_PRECISION` | one thread per place | friction once in, once out |
//! | `find_barriers_PRECISION` | one thread per start | one number each |
//! | `finish_PRECISION` | one thread per cell | costs once in, once out |
//!
//! `finish_PRECISION` also reads the friction and the costs around cells that nothing reaches.

use cuda_std::prelude::*;

use super::layout::CostRaster;
use super::patch::{KNIGHTS, NEAR, between, each, each8, knight_share, near_share};
use super::{Cost, SHARES};
use crate::primitives::quotient;

/// Threads per block.
pub(super) const BLOCK: u32 = 256;

/// A type of friction, whose costs are computed in `P`.
trait Friction<P>: Pod + PartialEq {
    /// The number, rounded.
    fn rounded(self) -> P;

    /// Whether it is negative, or finite and more than `P` has numbers for.
    fn is_refused(self) -> bool;
}

macro_rules! whole {
    ($($t:ty => $to_f32:expr;)*) => {$(
        impl Friction<f32> for $t {
            #[inline(always)]
            fn rounded(self) -> f32 {
                $to_f32(self)
            }

            #[inline(always)]
            fn is_refused(self) -> bool {
                false
            }
        }

        impl Friction<f64> for $t {
            #[inline(always)]
            fn rounded(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn is_refused(self) -> bool {
                false
            }
        }
    )*};
}
whole! {
    u8 => f32::from;
    u16 => f32::from;
    u32 => |value: u32| value as f32;
}

impl Friction<f32> for f32 {
    #[inline(always)]
    fn rounded(self) -> f32 {
        self
    }

    #[inline(always)]
    fn is_refused(self) -> bool {
        self < 0.0
    }
}

impl Friction<f64> for f32 {
    #[inline(always)]
    fn rounded(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn is_refused(self) -> bool {
        self < 0.0
    }
}

impl Friction<f32> for f64 {
    #[inline(always)]
    fn rounded(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn is_refused(self) -> bool {
        self < 0.0 || self < Self::INFINITY && self as f32 == f32::INFINITY
    }
}

impl Friction<f64> for f64 {
    #[inline(always)]
    fn rounded(self) -> f64 {
        self
    }

    #[inline(always)]
    fn is_refused(self) -> bool {
        self < 0.0
    }
}

/// The index of this thread, if it is below `count`. The last block's threads may be past 2³².
#[inline(always)]
pub(super) fn index_below(count: u64) -> Option<u32> {
    let index =
        u64::from(thread::block_idx_x()) * u64::from(BLOCK) + u64::from(thread::thread_idx_x());
    (index < count).then_some(index as u32)
}

#[inline(always)]
fn place<T: Friction<P>, P: Cost>(
    values: View<'_, T>,
    pitch: u32,
    no_data: View<'_, T>,
    raster: CostRaster,
    (friction, refused): (ViewMut<'_, P>, ViewMut<'_, u32>),
) {
    let Some(place) = index_below(raster.places()) else {
        return;
    };
    let row = quotient(place, raster.stride());
    let x = (place - row * raster.stride()).wrapping_sub(raster.margin);
    let y = row.wrapping_sub(raster.margin);
    let mut rounded = P::INFINITY;
    if x < raster.width && y < raster.height {
        let value = values.ld(y as usize * pitch as usize + x as usize);
        // planted: distance-no-data
        let is_no_data = !no_data.is_empty() && value == no_data.ld(0u32);
        // A NaN is not equal to itself.
        #[expect(clippy::eq_op)]
        let is_number = value == value;
        if is_number && !is_no_data {
            if value.is_refused() {
                // planted: distance-first-refused
                refused.atomic_min(0u32, y * raster.width + x);
            } else {
                // -0 becomes 0.
                rounded = value.rounded() + P::ZERO;
            }
        }
    }
    friction.st(place, rounded);
}

#[inline(always)]
fn finish<P: Cost>(
    friction: View<'_, P>,
    found: View<'_, P::Bits>,
    shares: [P; SHARES],
    raster: CostRaster,
    (costs, cut_off): (ViewMut<'_, P>, ViewMut<'_, u32>),
) {
    let cells = u64::from(raster.width) * u64::from(raster.height);
    let Some(cell) = index_below(cells) else {
        return;
    };
    let y = quotient(cell, raster.width);
    let x = cell - y * raster.width;
    let stride = raster.stride();
    let place = (y + raster.margin) * stride + x + raster.margin;
    let cost = P::from_bits(found.ld(place));
    if cost < P::INFINITY {
        costs.st(cell, cost);
        return;
    }
    costs.st(cell, P::NAN);
    if friction.ld(place) == P::INFINITY {
        return;
    }
    let beside = |(columns, rows): (i32, i32)| {
        place.wrapping_add_signed(rows.wrapping_mul(stride as i32).wrapping_add(columns))
    };
    let is_open = |offset: (i32, i32)| friction.ld(beside(offset)) < P::INFINITY;
    let is_reached = |offset: (i32, i32)| P::from_bits(found.ld(beside(offset))) < P::INFINITY;
    let mut overflows = false;
    each8!(K, {
        overflows |= shares[near_share(NEAR[K])] < P::INFINITY && is_reached(NEAR[K]);
    });
    if raster.margin == 2 {
        each8!(K, {
            let [first, second] = between(KNIGHTS[K]);
            overflows |= shares[knight_share(KNIGHTS[K])] < P::INFINITY
                && is_reached(KNIGHTS[K])
                && is_open(first)
                && is_open(second);
        });
    }
    if overflows {
        cut_off.atomic_min(0u32, cell);
    }
}

macro_rules! place_kernels {
    ($($name:ident: $from:ty as $to:ty, ($($option:tt)*);)*) => {$(
        /// Rounds friction to the precision of costs and puts a margin of barriers around it.
        /// `refused` becomes the least index of a cell whose friction is negative or too large.
        ///
        /// # Safety
        ///
        /// `values` has an element for each cell, rows `pitch` elements apart, `no_data` none or
        /// one; `friction` has an element for each place, `refused` one. Nothing else uses the
        /// last two meanwhile. The launch has a thread for each place.
        #[kernel(block = BLOCK, $($option)*)]
        pub unsafe fn $name(
            values: View<'_, $from>,
            pitch: u32,
            no_data: View<'_, $from>,
            raster: CostRaster,
            friction: ViewMut<'_, $to>,
            refused: ViewMut<'_, u32>,
        ) {
            place::<$from, $to>(values, pitch, no_data, raster, (friction, refused));
        }
    )*};
}
place_kernels! {
    place_u8_as_f32: u8 as f32, ();
    place_u16_as_f32: u16 as f32, ();
    place_u32_as_f32: u32 as f32, ();
    place_f32_as_f32: f32 as f32, ();
    place_f64_as_f32: f64 as f32, (f64);
    place_u8_as_f64: u8 as f64, (f64);
    place_u16_as_f64: u16 as f64, (f64);
    place_u32_as_f64: u32 as f64, (f64);
    place_f32_as_f64: f32 as f64, (f64);
    place_f64_as_f64: f64 as f64, (f64);
}

macro_rules! end_kernels {
    ($($find:ident, $finish:ident: $t:ty, ($($option:tt)*);)*) => {$(
        /// Finds the least index of a start that is on a barrier.
        ///
        /// # Safety
        ///
        /// `start_places` are places of `friction`; `found` has one element. Nothing else uses it
        /// meanwhile. The launch has a thread for each start.
        #[kernel(block = BLOCK, $($option)*)]
        pub unsafe fn $find(
            friction: View<'_, $t>,
            start_places: View<'_, u32>,
            found: ViewMut<'_, u32>,
        ) {
            if let Some(i) = index_below(start_places.len() as u64)
                && friction.ld(start_places.ld(i)) == <$t>::INFINITY
            {
                found.atomic_min(0u32, i);
            }
        }

        /// Writes the costs of all cells, without the margin; NaN where nothing reaches. `cut_off`
        /// becomes the least index of a cell that nothing reaches though there is a step to it from
        /// one that is reached, which means that its cost overflows or is past the limit.
        ///
        /// # Safety
        ///
        /// `friction` and `found` have an element for each place, `costs` one for each cell,
        /// `cut_off` one. Nothing else uses the last two meanwhile. The launch has a thread for
        /// each cell.
        #[kernel(block = BLOCK, $($option)*)]
        pub unsafe fn $finish(
            friction: View<'_, $t>,
            found: View<'_, <$t as Cost>::Bits>,
            shares: [$t; SHARES],
            raster: CostRaster,
            costs: ViewMut<'_, $t>,
            cut_off: ViewMut<'_, u32>,
        ) {
            finish::<$t>(friction, found, shares, raster, (costs, cut_off));
        }
    )*};
}
end_kernels! {
    find_barriers_f32, finish_f32: f32, ();
    find_barriers_f64, finish_f64: f64, (f64);
}
