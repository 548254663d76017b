//! [`Plan`]: the nets of one launch, as the kernels take them.

use trazar_kernels::route::tiles::{self, Area, PinCell, Slot, TILE, Tiling};

use crate::error::{Error, Result};
use crate::geometry::{Cell, Window};
use crate::memory::{collect, push, reserve};
use crate::route::net::Net;
use crate::route::net_by_net::PINS;

/// Nets are batched until they have this many slots: 1 GiB of labels.
const SLOTS_AT_ONCE: u64 = 1 << 16;

/// Nets to route in one launch, as the kernels take them.
pub(super) struct Plan {
    tiling: Tiling,
    pub(super) areas: Vec<Area>,
    pub(super) slots: Vec<Slot>,
    /// By pin; the last element is the end.
    pub(super) pin_starts: Vec<u32>,
    /// In the order of pins, until they are [arranged](Self::arrange).
    pub(super) pin_cells: Vec<PinCell>,
    pub(super) cell_places: Vec<u32>,
    /// The most cells of all paths together.
    pub(super) path_cells: u32,
}

impl Plan {
    pub(super) fn new(tiling: Tiling) -> Self {
        Self {
            tiling,
            areas: Vec::new(),
            slots: Vec::new(),
            pin_starts: vec![0],
            pin_cells: Vec::new(),
            cell_places: Vec::new(),
            path_cells: 0,
        }
    }

    /// Adds a net if there is room; there is for the `first` one, unless it is too large by itself.
    pub(super) fn add(&mut self, net: &Net, window: Window, first: bool) -> Result<bool> {
        let tiling = self.tiling;
        let (tile_x, tile_y) = (window.x / tiling.columns(), window.y / tiling.rows());
        let (right, bottom) = (window.x + window.width, window.y + window.height);
        let (tiles_x, tiles_y) = (
            right.div_ceil(tiling.columns()) - tile_x,
            bottom.div_ceil(tiling.rows()) - tile_y,
        );
        let slots = u64::from(tiles_x) * u64::from(tiles_y);
        let first_slot = self.slots.len() as u64;
        let cells: u64 = net.pins.iter().map(|pin| pin.cells.len() as u64).sum();
        // A path has the cells that it adds to the tree, and the cell at which it joins the tree.
        let path_cells = slots * u64::from(TILE) + net.pins.len() as u64;
        let pin_cells = self.pin_cells.len() as u64 + cells;
        let all_path_cells = u64::from(self.path_cells) + path_cells;
        if !first && first_slot + slots > SLOTS_AT_ONCE
            || pin_cells > tiles::MAX_PIN_CELLS.into()
            || all_path_cells > u32::MAX.into()
        {
            if first {
                return Err(Error::TooMany {
                    what: "cells of one net's pins",
                    limit: tiles::MAX_PIN_CELLS.into(),
                });
            }
            return Ok(false);
        }
        let first_pin = self.pin_starts.len() as u32 - 1;
        let first_cell = self.pin_cells.len() as u32;
        let area = Area {
            first_slot: first_slot as u32,
            tile_x,
            tile_y,
            tiles_x,
            tiles_y,
            left: window.x,
            top: window.y,
            right,
            bottom,
            first_pin,
            end_pin: first_pin + net.pins.len() as u32,
            first_cell,
            end_cell: pin_cells as u32,
            first_path: self.path_cells,
        };
        reserve(&mut self.pin_cells, cells as usize, PINS)?;
        for (pin, index) in net.pins.iter().zip(first_pin..) {
            for cell in &pin.cells {
                let tile = (cell.y / tiling.rows() - tile_y) * tiles_x
                    + (cell.x / tiling.columns() - tile_x);
                let place = tiling.place(cell.x, cell.y, cell.layer);
                self.pin_cells.push(PinCell {
                    label: (area.first_slot + tile) * TILE + place,
                    pin: index,
                    rank: self.pin_cells.len() as u32 - first_cell,
                });
            }
            push(&mut self.pin_starts, self.pin_cells.len() as u32, PINS)?;
        }
        let index = self.areas.len() as u32;
        let slot = Slot {
            net: index,
            first_cell: 0,
        };
        // One more is added at the end.
        reserve(&mut self.slots, slots as usize + 1, PINS)?;
        self.slots.extend((0..slots).map(|_| slot));
        push(&mut self.areas, area, PINS)?;
        self.path_cells = all_path_cells as u32;
        Ok(true)
    }

    /// Refuses windows with so many cells that 64-bit labels cannot count steps over free edges
    /// through them.
    pub(super) fn check_u64(&self) -> Result<()> {
        let cells = |area: &Area| {
            let cells = u64::from(area.right - area.left) * u64::from(area.bottom - area.top);
            cells * u64::from(self.tiling.layers)
        };
        if self
            .areas
            .iter()
            .all(|area| cells(area) <= tiles::MAX_U64_CELLS)
        {
            return Ok(());
        }
        Err(Error::GridTooLarge {
            width: self.tiling.width.into(),
            height: self.tiling.height.into(),
            layers: self.tiling.layers,
            limit: "where edges are free, or costs pass 2³¹, a net in tiles has a window of 2²⁸ \
                    cells at most; route on the CPU, or give it a window",
        })
    }

    /// Sorts the cells of pins by slot, once all nets are added. A net's cells stay together, as
    /// its slots do.
    pub(super) fn arrange(&mut self) -> Result<()> {
        let slot_of = |cell: &PinCell| (cell.label / TILE) as usize;
        for cell in &self.pin_cells {
            self.slots[slot_of(cell)].first_cell += 1;
        }
        // One slot more, for the end of the last one.
        let end = Slot {
            net: 0,
            first_cell: 0,
        };
        push(&mut self.slots, end, PINS)?;
        let mut first = 0;
        for slot in &mut self.slots {
            first += std::mem::replace(&mut slot.first_cell, first);
        }
        let firsts = self.slots.iter().map(|slot| slot.first_cell);
        let mut next = collect(firsts, PINS)?;
        let places = self.pin_cells.iter().map(|cell| {
            let next = &mut next[slot_of(cell)];
            *next += 1;
            *next - 1
        });
        self.cell_places = collect(places, PINS)?;
        let mut cells = collect(self.pin_cells.iter().copied(), PINS)?;
        for (cell, &place) in self.pin_cells.iter().zip(&self.cell_places) {
            cells[place as usize] = *cell;
        }
        self.pin_cells = cells;
        Ok(())
    }

    /// The cell of a label.
    pub(super) fn cell(&self, area: &Area, label: u32) -> Cell {
        let tile = label / TILE - area.first_slot;
        let (column, row, layer) = self.tiling.at_place(label % TILE);
        Cell {
            x: (area.tile_x + tile % area.tiles_x) * self.tiling.columns() + column,
            y: (area.tile_y + tile / area.tiles_x) * self.tiling.rows() + row,
            layer,
        }
    }

    pub(super) fn slots(&self) -> u32 {
        self.slots.len() as u32 - 1
    }

    pub(super) fn nets(&self) -> u32 {
        self.areas.len() as u32
    }
}
