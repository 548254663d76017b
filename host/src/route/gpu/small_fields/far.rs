//! Larger fields of single pins, on the host, for the few pins for which it matters what lies
//! beyond their small fields.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{collect, filled_vec, push, push_to_heap};
use crate::route::cpu::retrace::{self, UNREACHED};
use crate::route::grid::RoutingGrid;

/// How many columns and rows of the grid a field needs on each side of its pin.
const RADIUS: u32 = 64;

/// Name used in out-of-memory errors.
const FIELD: &str = "the field of a pin";

/// The part of a net's window that the field of a pin at `cell` needs.
pub(super) fn part_around(cell: Cell, window: Window) -> Window {
    let span = |at: u32, first: u32, len: u32| {
        let start = at.saturating_sub(RADIUS).max(first);
        let end = at.saturating_add(RADIUS + 1).min(first + len);
        (start, end - start)
    };
    let (x, width) = span(cell.x, window.x, window.width);
    let (y, height) = span(cell.y, window.y, window.height);
    Window {
        x,
        y,
        width,
        height,
    }
}

/// The distances of cells from a pin.
pub(super) struct FarField {
    /// The part of the grid around the pin, and where it is.
    part: RoutingGrid,
    window: Window,
    /// The pin's cell in the part.
    pin: u32,
    /// By cell of the part.
    distances: Vec<u64>,
    /// The cells with distances below the limit, which are exact, in the order of these.
    cells: Vec<u32>,
    /// Distances below this are exact.
    pub(super) limit: u64,
}

impl FarField {
    /// The field of the pin at `cell`, up to the distance `limit`, or less where a path may leave
    /// the part of the grid in `window`: see [`part_around`]. `whole` is the window of the net.
    pub(super) fn grow(
        part: RoutingGrid,
        window: Window,
        whole: Window,
        cell: Cell,
        limit: u64,
    ) -> Result<Self> {
        let pin = part.index(window.to_part(cell));
        let mut field = Self {
            window,
            pin,
            distances: filled_vec(UNREACHED, part.cell_count() as usize, FIELD)?,
            part,
            cells: Vec::new(),
            limit,
        };
        let leads_out = |cell: Cell| {
            let (right, below) = (window.x + window.width, window.y + window.height);
            cell.x == window.x && window.x > whole.x
                || cell.y == window.y && window.y > whole.y
                || cell.x + 1 == right && right < whole.x + whole.width
                || cell.y + 1 == below && below < whole.y + whole.height
        };
        let mut front = BinaryHeap::new();
        field.distances[pin as usize] = 0;
        push_to_heap(&mut front, Reverse((0, pin)), FIELD)?;
        while let Some(Reverse((distance, cell))) = front.pop() {
            // planted: far-limit
            if leads_out(field.cell(cell)) {
                field.limit = field.limit.min(distance);
            }
            if distance >= field.limit {
                break;
            }
            if distance > field.distances[cell as usize] {
                continue;
            }
            push(&mut field.cells, cell, FIELD)?;
            for (near, weight) in field.part.neighbours(cell) {
                let through = distance + u64::from(weight);
                if through < field.distances[near as usize] {
                    field.distances[near as usize] = through;
                    push_to_heap(&mut front, Reverse((through, near)), FIELD)?;
                }
            }
        }
        // The limit may be the distance of cells that came before the one which leads out.
        // planted: far-edge
        while let Some(&cell) = field.cells.last()
            && field.distances[cell as usize] >= field.limit
        {
            field.cells.pop();
        }
        Ok(field)
    }

    fn cell(&self, index: u32) -> Cell {
        self.window.to_whole(self.part.cell(index))
    }

    /// The cells with distances below the limit, the nearest ones first, and the distances.
    pub(super) fn cells(&self) -> impl Iterator<Item = (Cell, u64)> {
        let cells = self.cells.iter();
        cells.map(|&cell| (self.cell(cell), self.distances[cell as usize]))
    }

    /// The distance of a cell from the pin, if it is below the limit.
    #[inline(always)]
    pub(super) fn distance(&self, cell: Cell) -> Option<u64> {
        if !self.window.contains(cell) {
            return None;
        }
        let index = self.part.index(self.window.to_part(cell));
        let distance = self.distances[index as usize];
        (distance < self.limit).then_some(distance)
    }

    /// The path from the pin to the tree, which is at the distance `cost`, below the limit.
    pub(super) fn path(&self, cost: u64, on_tree: impl Fn(Cell) -> bool) -> Result<Vec<Cell>> {
        let is_end =
            |&cell: &u32| self.distances[cell as usize] == cost && on_tree(self.cell(cell));
        // The cells on shortest paths, from their ends on, by their distances from the tree.
        let mut open = collect(self.cells.iter().copied().filter(is_end), FIELD)?;
        let mut to_tree = filled_vec(UNREACHED, self.distances.len(), FIELD)?;
        while let Some(cell) = open.pop() {
            let distance = self.distances[cell as usize];
            if to_tree[cell as usize] != UNREACHED {
                continue;
            }
            to_tree[cell as usize] = cost - distance;
            for (near, weight) in self.part.neighbours(cell) {
                let before = self.distances[near as usize];
                if before.checked_add(weight.into()) == Some(distance) {
                    push(&mut open, near, FIELD)?;
                }
            }
        }
        let path = retrace::path(
            &self.part,
            |cell| to_tree[cell as usize],
            |cell| on_tree(self.cell(cell)),
            self.pin,
        )?;
        collect(path.into_iter().map(|cell| self.cell(cell)), FIELD)
    }
}
