//! A net of a batch, and its tree so far.

use crate::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{collect, extend, push};
use crate::route::net::{Net, Pin};
use crate::route::net_by_net::{PATHS, PINS};
use crate::route::tree::Fallback;

/// A net of a batch, and its tree so far.
pub(super) struct Member {
    /// The net's index.
    pub(super) net: usize,
    pub(super) window: Window,
    /// By pin: the distance from the pin to its box's border.
    pub(super) rooms: Vec<u32>,
    /// The least distance after it has turned out to be too small for many pins.
    pub(super) full_room: u32,
    pub(super) searches: usize,
    /// The number of pins that searches have joined.
    pub(super) by_searches: usize,
    /// Whether the nearest pin is known, but not which of several shortest paths to take.
    pub(super) has_open_tie: bool,
    pub(super) is_joined: Vec<bool>,
    /// As in a [`Route`].
    pub(super) pins: Vec<usize>,
    pub(super) costs: Vec<u64>,
    pub(super) ends: Vec<usize>,
    pub(super) cells: Vec<Cell>,
    pub(super) state: State,
}

/// The state of a net.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// All reachable pins are joined.
    Whole,
    /// The rest is left to tiles.
    GivenUp(Fallback),
}

impl Member {
    pub(super) fn push(
        &mut self,
        pin: usize,
        cost: u64,
        path: impl Iterator<Item = Cell>,
    ) -> Result<()> {
        self.is_joined[pin] = true;
        push(&mut self.pins, pin, PATHS)?;
        push(&mut self.costs, cost, PATHS)?;
        extend(&mut self.cells, path, PATHS)?;
        push(&mut self.ends, self.cells.len(), PATHS)?;
        if self.pins.len() + 1 == self.is_joined.len() {
            self.state = State::Whole;
        }
        Ok(())
    }

    /// Whether larger boxes may help, and some are not full.
    pub(super) fn may_have_full_boxes(&self) -> bool {
        !self.has_open_tie && self.open().any(|pin| self.rooms[pin] < self.full_room)
    }

    /// The pins that are not joined.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.is_joined.len()).filter(|&pin| !self.is_joined[pin])
    }

    /// A net whose route is the next path: its second pin has the cells of all open pins.
    pub(super) fn next_path(&self, net: &Net) -> Result<Net> {
        let joined = std::iter::once(0).chain(self.pins.iter().copied());
        let joined = joined.flat_map(|pin| net.pins[pin].cells.iter());
        let open = self.open().flat_map(|pin| net.pins[pin].cells.iter());
        // planted: field-search
        let tree = self.cells.iter().chain(joined);
        Ok(Net {
            pins: vec![
                Pin {
                    cells: collect(tree.copied(), PINS)?,
                },
                Pin {
                    cells: collect(open.copied(), PINS)?,
                },
            ],
            window: net.window,
        })
    }
}
