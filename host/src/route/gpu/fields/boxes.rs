//! The boxes of pins: their size, and whether the device's blocks can hold them.

use trazar_kernels::route::fields::{self, FieldBox, GRAIN};

use super::reach::longest_edges;
use super::{CELLS_AT_ONCE, Settings};
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::gpu::Gpu;
use crate::memory::{collect, filled_vec};
use crate::route::net::{Net, Pin};
use crate::route::net_by_net::PINS;
use crate::route::tree::Fallback;

/// The distance from a pin to its box's border with which fields suffice for nearly all nets, in
/// mean distances between pins.
const ROOM: f64 = 2.0;
/// Where that distance is estimated, it is the expected reach times the first of these, plus the
/// second, in cells: paths of the same length differ in cost. It never exceeds [`ROOM`].
const SURPLUS: f32 = 1.15;
const MARGIN: u32 = 12;
/// Fields are of little use if that distance cannot be this large: too many pins need a search.
const LEAST_ROOM: f64 = 1.35;
/// The most cells of the window of a net of two pins: in a larger one, a search by all blocks is
/// faster than a field by one.
const MOST_FOR_TWO: u64 = 1 << 14;
/// The capacity of a block that joins pins is a multiple of this, and, where it can be, no less
/// than what ties may need.
const CAPACITY_STEP: u32 = 16;
const TIE_CAPACITY: u32 = 4096;
/// The most static shared memory of the kernels, in bytes.
const STATIC_BYTES: u32 = 6 << 10;

/// The capacity of a block of the device, and the settings of fields.
pub(super) struct Limits {
    /// Shared memory, in bytes.
    bytes: u32,
    pub(super) settings: Settings,
}

impl Limits {
    pub(super) fn of<G: Gpu>(gpu: &G, settings: Settings) -> Self {
        Self {
            bytes: gpu.shared_per_block().saturating_sub(STATIC_BYTES),
            settings,
        }
    }

    /// The most cells of a box of a net with `pins` pins: the block that grows the field has to
    /// hold its patches, and the one that joins the pins a part of the box.
    pub(super) fn cells(&self, pins: usize) -> u64 {
        let grown = fields::grow_cells(self.bytes);
        match self.most_join_capacity(pins) {
            capacity if capacity >= fields::PART_CELLS => grown.into(),
            capacity => grown.min(capacity).into(),
        }
    }

    /// The largest distance from a pin of one cell to the border of such a box.
    pub(super) fn room(&self, pins: usize) -> u32 {
        let most = ((self.cells(pins) as f64).sqrt() / 2.0) as u32;
        most.saturating_sub(GRAIN)
    }

    /// The largest capacity of a block that joins `pins` pins: indices of 16 bits count its cells.
    fn most_join_capacity(&self, pins: usize) -> u32 {
        let pins = u32::try_from(pins).unwrap_or(u32::MAX / 16);
        let capacity = fields::join_capacity(self.bytes, pins).min(1 << 16);
        capacity / CAPACITY_STEP * CAPACITY_STEP
    }

    /// The capacity of a block that joins `pins` pins with boxes of up to `cells` cells.
    pub(super) fn join_capacity(&self, pins: usize, cells: u32) -> u32 {
        let wanted = cells.max(TIE_CAPACITY).next_multiple_of(CAPACITY_STEP);
        wanted.min(self.most_join_capacity(pins))
    }

    /// The boxes of a net's pins but the first, of which there must be some; or the reason why
    /// fields do not suit the net. `evenness` is that of the grid.
    pub(super) fn plan(
        &self,
        net: &Net,
        window: Window,
        evenness: f32,
    ) -> Result<std::result::Result<Plan, Fallback>> {
        let limit = self.cells(net.pins.len());
        let area = u64::from(window.width) * u64::from(window.height);
        let spread = (area as f64 / net.pins.len() as f64).sqrt();
        let room = ((ROOM * spread).ceil() as u32).min(self.room(net.pins.len()));
        let is_one_search = net.pins.len() == 2 && area > MOST_FOR_TWO;
        if is_one_search || f64::from(room) < LEAST_ROOM * spread {
            return Ok(Err(Fallback::FarApart));
        }
        let boxes = net.pins[1..].iter();
        let boxes = boxes.map(|pin| PinBox::around(pin, room, window));
        let mut plan = Plan {
            window,
            rooms: filled_vec(room, net.pins.len(), PINS)?,
            boxes: collect(boxes, PINS)?,
            full_room: room,
            full_cells: 0,
            most_cells: 0,
        };
        for cells in plan.boxes.iter().map(|pin_box| pin_box.cells()) {
            plan.full_cells += cells;
            plan.most_cells = plan.most_cells.max(cells);
        }
        if plan.most_cells > limit {
            return Ok(Err(Fallback::FarApart));
        }
        if plan.full_cells.max(area) > CELLS_AT_ONCE {
            return Ok(Err(Fallback::TooLarge));
        }
        let many_cells = self.settings.many_cells;
        if plan.full_cells >= many_cells.min(many_cells / 128 * plan.boxes.len() as u64) {
            plan.rooms = rooms(net, room, evenness)?;
            let pins = net.pins.iter().zip(&plan.rooms).skip(1);
            for (pin_box, (pin, &room)) in plan.boxes.iter_mut().zip(pins) {
                *pin_box = PinBox::around(pin, room, window);
            }
        }
        Ok(Ok(plan))
    }
}

/// By pin, an estimate of how many cells its box has to extend beyond the pin: up to `room`.
fn rooms(net: &Net, room: u32, evenness: f32) -> Result<Vec<u32>> {
    let places = net.pins.iter().map(|pin| (pin.cells[0].x, pin.cells[0].y));
    let places = collect(places, PINS)?;
    // If weights differ much, there are cheap detours in every direction, and the cost of a path
    // grows with the straight distance between its ends; if not, with the number of its steps.
    let length = |columns: f32, rows: f32| {
        let straight = (columns * columns + rows * rows).sqrt();
        straight + evenness * (columns + rows - straight)
    };
    let mut rooms = longest_edges(&places, room, length)?;
    for reach in &mut rooms {
        *reach = room.min((*reach as f32 * SURPLUS) as u32 + MARGIN);
    }
    Ok(rooms)
}

/// The boxes of a net's pins but the first.
pub(super) struct Plan {
    pub(super) window: Window,
    /// By pin of the net: how many cells its box extends beyond the pin.
    pub(super) rooms: Vec<u32>,
    pub(super) boxes: Vec<PinBox>,
    /// How far **full** boxes extend, which pins get if theirs turn out to be too small.
    pub(super) full_room: u32,
    /// The cells of all full boxes, and the most of one.
    pub(super) full_cells: u64,
    pub(super) most_cells: u64,
}

/// A pin's box: a rectangle whose sides are multiples of [`GRAIN`].
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PinBox {
    left: u32,
    top: u32,
    columns: u32,
    rows: u32,
}

impl PinBox {
    /// The box with `room` cells on all sides of a pin, within the window.
    pub(super) fn around(pin: &Pin, room: u32, window: Window) -> Self {
        let span = |of: fn(&Cell) -> u32, start: u32, len: u32| {
            let all = pin.cells.iter().map(of);
            let (first, last) = all.fold((u32::MAX, 0), |(first, last), at| {
                (first.min(at), last.max(at))
            });
            let first = first.saturating_sub(room).max(start) / GRAIN * GRAIN;
            let end = last.saturating_add(room + 1).min(start + len);
            (first, (end - first).next_multiple_of(GRAIN))
        };
        let (left, columns) = span(|cell| cell.x, window.x, window.width);
        let (top, rows) = span(|cell| cell.y, window.y, window.height);
        Self {
            left,
            top,
            columns,
            rows,
        }
    }

    pub(super) fn cells(self) -> u64 {
        u64::from(self.columns) * u64::from(self.rows)
    }

    /// The box of a field whose cells start at `first_entry`.
    pub(super) fn extent(self, first_entry: u64) -> FieldBox {
        FieldBox {
            left: self.left,
            top: self.top,
            size: FieldBox::size(self.columns, self.rows),
            // All fields together have fewer than 2³² cells.
            first_entry: first_entry as u32,
        }
    }
}
