//! The cells at which pins are joined.

use std::collections::HashMap;

use super::TREE;
use crate::Result;
use crate::memory::{collect, extend, push, reserve_in_map};

/// The cells of each pin, or of a set of pins that share cells.
pub(super) struct Groups {
    /// Some are empty.
    cells: Vec<Vec<u32>>,
    /// By cell.
    of: HashMap<u32, usize>,
}

impl Groups {
    pub(super) fn new(pins: &[Vec<u32>]) -> Result<Self> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut of: HashMap<u32, usize> = HashMap::new();
        for pin in pins {
            let mut cells = collect(pin.iter().copied(), TREE)?;
            let shared = pin.iter().filter_map(|cell| of.get(cell).copied());
            // A group that occurs twice is empty the second time.
            for group in collect(shared, TREE)? {
                extend(&mut cells, groups[group].drain(..), TREE)?;
            }
            cells.sort_unstable();
            cells.dedup();
            for &cell in &cells {
                reserve_in_map(&mut of, TREE)?;
                of.insert(cell, groups.len());
            }
            push(&mut groups, cells, TREE)?;
        }
        Ok(Self { cells: groups, of })
    }

    /// Those that are not empty.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u32]> {
        let groups = self.cells.iter().map(|cells| &cells[..]);
        groups.filter(|cells| !cells.is_empty())
    }

    /// All cells of pins, in any order.
    pub(super) fn pin_cells(&self) -> impl Iterator<Item = u32> {
        self.of.keys().copied()
    }

    /// The cells that a pin joins with a cell, this one among them. `None` if no pin is there.
    pub(super) fn of(&self, cell: u32) -> Option<&[u32]> {
        self.of.get(&cell).map(|&group| &self.cells[group][..])
    }
}
