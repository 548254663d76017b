//! A net of a batch, and its tree so far.

use crate::geometry::{Cell, Window};
use crate::route::net::{Net, Pin};
use crate::route::tree::Fallback;

/// A net of a batch, and its tree so far.
pub(super) struct Member {
    /// The net's index.
    pub(super) net: usize,
    pub(super) window: Window,
    /// By pin: how far its box goes beyond it.
    pub(super) rooms: Vec<u32>,
    pub(super) searches: usize,
    /// Pins that these have joined.
    pub(super) by_searches: usize,
    pub(super) is_joined: Vec<bool>,
    /// As a [`Route`] has them.
    pub(super) pins: Vec<usize>,
    pub(super) costs: Vec<u64>,
    pub(super) ends: Vec<usize>,
    pub(super) cells: Vec<Cell>,
    pub(super) state: State,
}

/// What becomes of a net.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// All pins that a path reaches are joined.
    Whole,
    /// The rest is for tiles.
    GivenUp(Fallback),
}

impl Member {
    pub(super) fn push(&mut self, pin: usize, cost: u64, path: impl Iterator<Item = Cell>) {
        self.is_joined[pin] = true;
        self.pins.push(pin);
        self.costs.push(cost);
        self.cells.extend(path);
        self.ends.push(self.cells.len());
        if self.pins.len() + 1 == self.is_joined.len() {
            self.state = State::Whole;
        }
    }

    /// The pins that are not joined.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.is_joined.len()).filter(|&pin| !self.is_joined[pin])
    }

    /// A net whose route is the next path: its second pin is all that are left.
    pub(super) fn next_path(&self, net: &Net) -> Net {
        let joined = std::iter::once(0).chain(self.pins.iter().copied());
        let joined = joined.flat_map(|pin| net.pins[pin].cells.iter());
        let open = self.open().flat_map(|pin| net.pins[pin].cells.iter());
        // planted: field-search
        let tree = self.cells.iter().chain(joined);
        Net {
            pins: vec![
                Pin {
                    cells: tree.copied().collect(),
                },
                Pin {
                    cells: open.copied().collect(),
                },
            ],
            window: net.window,
        }
    }
}
