//! The boxes of pins: their size, and whether the device's blocks can hold them.

use trazar_kernels::route::fields::{self, FieldBox, GRAIN};

use super::CELLS_AT_ONCE;
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::gpu::Gpu;
use crate::memory::reserve;
use crate::route::net::{Net, Pin};
use crate::route::net_by_net::PINS;
use crate::route::tree::Fallback;

/// The initial distance from a pin to its box's border, in mean distances between pins.
const ROOM: f64 = 2.0;
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

/// The capacity of a block of the device, and the labels of all.
pub(super) struct Limits {
    /// Shared memory, in bytes.
    bytes: u32,
    /// The labels of fields that grow at the same time, unless those of the blocks that the device
    /// holds are more.
    pub(super) labels: u32,
}

impl Limits {
    pub(super) fn of<G: Gpu>(gpu: &G, labels: u32) -> Self {
        Self {
            bytes: gpu.shared_per_block().saturating_sub(STATIC_BYTES),
            labels,
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
    /// fields do not suit the net.
    pub(super) fn plan(
        &self,
        net: &Net,
        window: Window,
    ) -> Result<std::result::Result<Plan, Fallback>> {
        let limit = self.cells(net.pins.len());
        let area = u64::from(window.width) * u64::from(window.height);
        let spread = (area as f64 / net.pins.len() as f64).sqrt();
        // The largest distance for a box around one cell.
        let most = ((limit as f64).sqrt() / 2.0) as u32;
        let room = ((ROOM * spread).ceil() as u32).min(most.saturating_sub(GRAIN));
        let is_one_search = net.pins.len() == 2 && area > MOST_FOR_TWO;
        if is_one_search || f64::from(room) < LEAST_ROOM * spread {
            return Ok(Err(Fallback::FarApart));
        }
        let mut plan = Plan {
            window,
            room,
            boxes: Vec::new(),
            cells: 0,
        };
        reserve(&mut plan.boxes, net.pins.len() - 1, PINS)?;
        for pin in &net.pins[1..] {
            let pin_box = PinBox::around(pin, room, window);
            if pin_box.cells() > limit {
                return Ok(Err(Fallback::FarApart));
            }
            plan.cells += pin_box.cells();
            plan.boxes.push(pin_box);
        }
        if plan.cells.max(area) > CELLS_AT_ONCE {
            return Ok(Err(Fallback::TooLarge));
        }
        Ok(Ok(plan))
    }
}

/// The boxes of a net's pins but the first, which extend `room` cells beyond the pins.
pub(super) struct Plan {
    pub(super) window: Window,
    pub(super) room: u32,
    pub(super) boxes: Vec<PinBox>,
    pub(super) cells: u64,
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
