//! The pins near each cell, as far as they matter there.
//!
//! A pin is near a cell if its small field has a path to it. Another pin lies **between** the two
//! if it is nearer to the cell than the pin is, and nearer to the pin than the cell is. Of two pins
//! at the same distance from a cell, the first one is nearer; of two paths of the same cost from a
//! pin, that with the lesser key is shorter. Then the tree never joins the pin from this cell: as
//! long as the other pin is not joined, that one is nearer to the tree, and from then on the pin
//! has a better path to the other one. So the cell's list can do without the pin. Two or three pins
//! per cell are left, however far small fields reach. (Points with no other point between them are
//! neighbours in the relative neighbourhood graph: G. T. Toussaint, The relative neighbourhood
//! graph of a finite planar set, 1980.)
//!
//! This also holds for what lies beyond a small field. Consider a shortest path from the pin to the
//! tree that costs at least as much as the reach, and its first cell that is that far from the pin.
//! The cells before it have exact keys, and are not where paths may leave the square. So this cell
//! is in the square, and the cost of its key is exact too, if a key has room for it. If another pin
//! lies between, the pin is not the next one that the tree joins, for the reasons above. So the
//! least cost of such keys without a pin between is a **bound**: unless the tree has a cell with
//! the pin on its list, the pin is not joined at a lower cost. It may be nearer to the tree than
//! that, but then another pin is joined first.
//!
//! Of the other pin, keys need not be the least: it is enough that they are costs of paths.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::key::COSTS;
use super::{
    BLOCK, MOST_SIDE, NearNet, NearNets, NearPin, PINS_PER_BLOCK, PathKey, Square, pin_of_warp,
};

/// How many other pins are considered at most.
const MOST_OTHERS: u32 = 64;

/// A warp's pin, and pins around it.
#[derive(Clone, Copy)]
struct Others<'a> {
    pin: u32,
    square: Square,
    entries: View<'a, PathKey>,
    /// The number of others, and the index of the warp's first one.
    count: u32,
    first: u32,
    /// The others, their columns and rows in the square, and the paths to them.
    pins: SharedView<u32>,
    columns: SharedView<u32>,
    rows: SharedView<u32>,
    paths: SharedView<PathKey>,
}

impl<'a> Others<'a> {
    /// The other pins in the square of `pin`, those of nearer rows first; `left` and `top` are the
    /// square's first column and row.
    #[inline(always)]
    fn around(
        pin: u32,
        (left, top): (u32, u32),
        net: NearNet,
        entries: View<'a, PathKey>,
        pins_at: View<'_, u32>,
        square: Square,
    ) -> Self {
        const ALL: usize = (PINS_PER_BLOCK * MOST_OTHERS) as usize;
        let (lane, before) = (warp::lane_id(), square.before());
        let mut others = Self {
            pin,
            square,
            entries,
            count: 0,
            first: thread::thread_idx_x() / WARP_SIZE * MOST_OTHERS,
            pins: shared_array![u32; ALL],
            columns: shared_array![u32; ALL],
            rows: shared_array![u32; ALL],
            paths: shared_array![PathKey; ALL],
        };
        // One row below, one above, and so on: there is one row more below.
        let mut i = 0;
        while i < square.0 && others.count < MOST_OTHERS {
            let row = match i.is_multiple_of(2) {
                true => before - i / 2,
                false => before + i.div_ceil(2),
            };
            let (x, y) = (left.wrapping_add(lane), top.wrapping_add(row));
            let (mut other, mut path) = (pin, PathKey::NONE);
            if lane < square.0 && x < net.width && y < net.height {
                // 0 where there is no pin.
                other = u32::MAX - pins_at.ld(net.index(x, y));
                if other != pin && other != u32::MAX {
                    path = others.path(pin, (lane, row));
                }
            }
            let is_other = path != PathKey::NONE;
            let lanes = warp::warp_vote_ballot(FULL_MASK, is_other);
            let place = others.count + (lanes & warp::lanemask_lt()).count_ones();
            // planted: near-others
            if is_other && place < MOST_OTHERS {
                let place = others.first + place;
                others.pins.st(place, other);
                others.columns.st(place, lane);
                others.rows.st(place, row);
                others.paths.st(place, path);
            }
            others.count += lanes.count_ones();
            i += 1;
        }
        others.count = others.count.min(MOST_OTHERS);
        // planted: near-around
        warp::sync_warp(FULL_MASK);
        others
    }

    /// Which cells of the lane's row have the pin on their lists, a bit for each column; and the
    /// bound, if only the cells of the lane's column counted. Without a bound, it is [`COSTS`].
    #[inline(always)]
    fn listed(&self, reach: u32) -> (u32, u32) {
        let (side, lane) = (self.square.0, warp::lane_id());
        let (mut of_lane, mut bound) = (0, COSTS);
        let mut row = 0;
        while row < side {
            let mut path = PathKey::NONE;
            if lane < side {
                path = self.path(self.pin, (lane, row));
            }
            let mut is_alone = path != PathKey::NONE;
            let mut i = 0;
            while i < self.count && warp::warp_vote_any(FULL_MASK, is_alone) {
                is_alone = is_alone && !self.is_between(i, (lane, row), path);
                i += 1;
            }
            // planted: near-reach
            let is_near = path.cost() < reach;
            if is_alone && !is_near {
                bound = bound.min(path.cost());
            }
            let columns = warp::warp_vote_ballot(FULL_MASK, is_alone && is_near);
            if lane == row {
                of_lane = columns;
            }
            row += 1;
        }
        (of_lane, bound)
    }

    /// The path from a pin to a cell of its square.
    #[inline(always)]
    fn path(&self, pin: u32, (column, row): (u32, u32)) -> PathKey {
        let side = self.square.0;
        self.entries
            .ld(pin * self.square.cells() + row * side + column)
    }

    /// Whether other `i` lies between the warp's pin and a cell of its square, to which `path`
    /// leads.
    #[inline(always)]
    fn is_between(&self, i: u32, (column, row): (u32, u32), path: PathKey) -> bool {
        let (i, before) = (self.first + i, self.square.before());
        // The cell in the other's square, wrapping around.
        let column = (column + before).wrapping_sub(self.columns.ld(i));
        let row = (row + before).wrapping_sub(self.rows.ld(i));
        // planted: near-shorter
        if self.paths.ld(i) >= path || column >= self.square.0 || row >= self.square.0 {
            return false;
        }
        let other = self.pins.ld(i);
        let from_other = self.path(other, (column, row));
        // planted: near-nearer
        (from_other.cost(), other) < (path.cost(), self.pin)
    }
}

/// Adds up in `lengths` how many pins are on the list of each cell, one element after the cell's:
/// those within their reach of the cell and without another pin between. Writes to `listed` which
/// cells of a pin's square have the pin on their lists, a word for each row with a bit for each
/// column, and to `bounds` the pin's bound.
///
/// # Safety
///
/// - [`grow_small_fields`](fn@super::grow_small_fields) has run with these `nets`, `entries`,
///   `reaches`, `pins_at` and `square`. One warp per pin.
/// - `bounds` has one element per pin; `listed` has [`MOST_SIDE`] elements per pin;
///   `lengths` has one per cell of all nets, and one more, which are 0.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn count_near_pins(
    nets: NearNets<'_>,
    entries: View<'_, PathKey>,
    pins_at: View<'_, u32>,
    reaches: View<'_, u32>,
    bounds: ViewMut<'_, u32>,
    listed: ViewMut<'_, u32>,
    lengths: ViewMut<'_, u32>,
    square: Square,
) {
    let Some((pin, net, left, top)) = pin_of_warp(nets, square) else {
        return;
    };
    let others = Others::around(pin, (left, top), net, entries, pins_at, square);
    let (of_lane, bound) = others.listed(reaches.ld(pin));
    let bound = warp::warp_reduce_min(FULL_MASK, bound);
    let lane = warp::lane_id();
    for_each_listed(of_lane, square, (left, top), net, |_, cell| {
        // planted: near-length
        lengths.atomic_add(cell + 1, 1);
    });
    listed.st(pin * MOST_SIDE + lane, of_lane);
    if lane == 0 {
        bounds.st(pin, bound);
    }
}

/// Calls `visit` with each cell of a warp's square that has the pin on its list: the index of its
/// key in the square, and its index among the cells of all nets. `of_lane` is the word of the
/// row with the lane's number.
#[inline(always)]
fn for_each_listed(
    of_lane: u32,
    square: Square,
    (left, top): (u32, u32),
    net: NearNet,
    visit: impl Fn(u32, u32),
) {
    let lane = warp::lane_id();
    let mut row = 0;
    while row < square.0 {
        let (columns, _) = warp::warp_shuffle_idx(FULL_MASK, of_lane, row, WARP_SIZE);
        if columns >> lane & 1 != 0 {
            let cell = net.index(left.wrapping_add(lane), top.wrapping_add(row));
            visit(row * square.0 + lane, cell);
        }
        row += 1;
    }
}

/// Lists the pins near each cell. `ends` has the prefix sums of the lengths of the lists, as
/// [`count_near_pins`](fn@count_near_pins) counts them; then each element has the end of its list,
/// and the next list's start.
///
/// # Safety
///
/// - [`count_near_pins`](fn@count_near_pins) has run with these `nets`, `entries`, `listed` and
///   `square`. One warp per pin.
/// - `lists` has as many elements as all lists together.
/// - Nothing else uses what is written meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn list_near_pins(
    nets: NearNets<'_>,
    entries: View<'_, PathKey>,
    listed: View<'_, u32>,
    ends: ViewMut<'_, u32>,
    lists: ViewMut<'_, NearPin>,
    square: Square,
) {
    let Some((pin, net, left, top)) = pin_of_warp(nets, square) else {
        return;
    };
    let of_lane = listed.ld(pin * MOST_SIDE + warp::lane_id());
    for_each_listed(of_lane, square, (left, top), net, |key, cell| {
        let path = entries.ld(pin * square.cells() + key);
        // planted: near-place
        let place = ends.atomic_add(cell + 1, 1);
        lists.st(place, NearPin::new(pin - net.first_pin, path));
    });
}
