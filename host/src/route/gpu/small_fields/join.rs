//! Joining the pins of a net by their small fields: again and again the nearest one.

use trazar_kernels::route::small_fields::{NearPin, PathKey};

use super::ranks::{Rank, Ranks};
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{collect, push, reserve};
use crate::route::cell_bits::CellBits;
use crate::route::gpu::fields::InFields;
use crate::route::net::Net;
use crate::route::net_by_net::{PATHS, PINS};
use crate::route::tree::{FieldUse, Route};

/// The pins near each cell of all windows of a batch.
pub(super) struct Lists {
    /// By cell: where its list begins, and, as the next element, where it ends.
    pub(super) ends: Vec<u32>,
    pub(super) pins: Vec<NearPin>,
}

impl Lists {
    /// The pins near a cell.
    fn of(&self, cell: u32) -> &[NearPin] {
        let cell = cell as usize;
        &self.pins[self.ends[cell] as usize..self.ends[cell + 1] as usize]
    }
}

/// A net and its tree so far.
pub(super) struct Join<'a> {
    pub(super) net: &'a Net,
    pub(super) window: Window,
    /// The first of its window's cells among those of the batch.
    first_cell: u32,
    /// By pin: the index of its cell, and how far its small field reaches.
    pin_cells: &'a [u32],
    reaches: &'a [u32],
    /// By pin: the least key of the tree's cells, or how far they are at least; [`JOINED`].
    keys: Vec<PathKey>,
    ranks: Ranks,
    /// The tree's cells, by their indices.
    tree: CellBits,
    /// The pins in the order of joining, the costs of their paths, where these end, and their
    /// cells.
    pins: Vec<usize>,
    costs: Vec<u64>,
    ends: Vec<usize>,
    cells: Vec<Cell>,
}

impl<'a> Join<'a> {
    /// With the first pin as the tree, and no lists.
    pub(super) fn new(
        (net, window): (&'a Net, Window),
        first_cell: u32,
        pin_cells: &'a [u32],
        reaches: &'a [u32],
    ) -> Result<Self> {
        let mut join = Self {
            net,
            window,
            first_cell,
            pin_cells,
            reaches,
            keys: collect(reaches.iter().map(|_| PathKey::NONE), PINS)?,
            ranks: Ranks::default(),
            tree: CellBits::new(window.width * window.height)?,
            pins: Vec::new(),
            costs: Vec::new(),
            ends: Vec::new(),
            cells: Vec::new(),
        };
        join.keys[0] = JOINED;
        let pins = net.pins.len();
        reserve(&mut join.pins, pins, PATHS)?;
        reserve(&mut join.costs, pins, PATHS)?;
        reserve(&mut join.ends, pins, PATHS)?;
        // planted: near-added
        for cell in &net.pins[0].cells {
            join.tree.set(join.index(cell.x, cell.y));
        }
        Ok(join)
    }

    /// The number of joined pins but the first.
    pub(super) fn joined(&self) -> usize {
        self.pins.len()
    }

    pub(super) fn is_joined(&self, pin: usize) -> bool {
        self.keys[pin] == JOINED
    }

    /// Joins pins by lists of the pins that are not joined, up to the cost `near`. Ends when none
    /// is left, or when it is not known which is the nearest; then returns whether lists that go
    /// further would tell.
    pub(super) fn run(&mut self, lists: &Lists, near: u32) -> Result<bool> {
        for (key, &reach) in self.keys.iter_mut().zip(self.reaches) {
            // planted: near-kept
            if *key != JOINED {
                *key = PathKey::at_least(near.min(reach));
            }
        }
        let ranks = (0..).zip(&self.keys).map(|(pin, &key)| match key {
            JOINED => Rank::JOINED,
            _ => Rank::new(pin, key),
        });
        self.ranks = Ranks::new(collect(ranks, PINS)?)?;
        for cell in self.tree.iter() {
            offer(
                lists.of(self.first_cell + cell),
                &mut self.keys,
                &mut self.ranks,
            );
        }
        loop {
            let nearest = self.ranks.least();
            if nearest == Rank::JOINED {
                return Ok(false);
            }
            let pin = nearest.pin();
            if !nearest.is_known() {
                return Ok(near < self.reaches[pin as usize]);
            }
            self.join(lists, pin)?;
        }
    }

    /// Joins the nearest pin.
    fn join(&mut self, lists: &Lists, pin: u32) -> Result<()> {
        let path = self.keys[pin as usize];
        self.keys[pin as usize] = JOINED;
        self.ranks.set(pin, Rank::JOINED);
        let Window { x, y, width, .. } = self.window;
        let start = self.pin_cells[pin as usize];
        let start = (x + start % width, y + start / width);
        for (step, (x, y)) in (0..).zip(path.cells(start)) {
            push(&mut self.cells, Cell::at(x, y), PATHS)?;
            // The last cell is on the tree.
            if step < path.steps() {
                let index = self.index(x, y);
                // planted: near-tree
                self.tree.set(index);
                offer(
                    lists.of(self.first_cell + index),
                    &mut self.keys,
                    &mut self.ranks,
                );
            }
        }
        self.pins.push(pin as usize);
        self.costs.push(path.cost().into());
        self.ends.push(self.cells.len());
        Ok(())
    }

    /// The index of a cell in the window, row by row.
    fn index(&self, x: u32, y: u32) -> u32 {
        (y - self.window.y) * self.window.width + x - self.window.x
    }

    /// The tree.
    pub(super) fn tree(self) -> Result<InFields> {
        let count = self.joined();
        if count == 0 {
            return Ok(InFields::Nothing(None));
        }
        let mut route = Route::new(self.net, self.pins, self.costs, self.ends, self.cells)?;
        route.field_use = Some(FieldUse {
            by_fields: count,
            ..FieldUse::default()
        });
        // planted: near-whole
        Ok(match route.unreached().is_empty() {
            true => InFields::Whole(route),
            false => InFields::Part(route),
        })
    }
}

/// Offers a cell of the tree to the pins near it: lowers the keys for which the path from it is
/// less.
fn offer(pins: &[NearPin], keys: &mut [PathKey], ranks: &mut Ranks) {
    for near in pins {
        let key = &mut keys[near.pin as usize];
        if near.path() < *key {
            *key = near.path();
            ranks.lower(near.pin, Rank::new(near.pin, near.path()));
        }
    }
}

/// The key of joined pins: no path is less.
const JOINED: PathKey = PathKey::LEAST;
