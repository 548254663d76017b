//! [`Growing`]: the tree of one net while its pins join it. The pin with the least estimated
//! distance from the tree is next, in the box around it and the tree's nearest cell; if no path
//! leads to it there, in the net's whole window.
//!
//! It says what to search for, and takes what was found: `search.rs` searches.

use super::edges::Edges;
use super::estimate::{CellBox, Estimates, Target};
use super::schedule;
use crate::error::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{filled_vec, push, with_room};
use crate::route::net::{Net, Pin};
use crate::route::net_by_net::{Joined, PATHS, PINS};

/// What is to be searched for one net.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) net: &'a Net,
    /// The paths that the tree has already.
    pub(super) kept: &'a Joined,
    /// Edges that the net uses now and gives up: they cost as if it did not.
    pub(super) given_up: &'a [usize],
    /// No path leaves this window.
    pub(super) window: Window,
    /// Each path is searched for in the box around its ends with this margin, then in all of the
    /// window.
    pub(super) margin: u32,
}

/// A pin that is not joined yet.
#[derive(Clone, Copy)]
struct Open {
    /// The cell of the tree with the least estimated distance from the pin, once there is a tree.
    near: Cell,
    distance: u64,
}

/// A cheapest path to `pin`, from any cell of the tree, is searched for in `window`.
pub(super) struct Wanted<'a> {
    pub(super) tree: &'a [Cell],
    /// The cell of the tree with the least estimated distance from the pin.
    pub(super) near: Cell,
    /// The box around the tree.
    pub(super) source: Target,
    pub(super) pin: &'a Pin,
    pub(super) target: &'a Target,
    pub(super) window: Window,
    /// The edges that the net gives up.
    pub(super) given_up: &'a [usize],
}

/// The tree of a net.
pub(super) struct Found {
    /// Its paths, those that were kept first. No two have an edge in common: a path is searched for
    /// from the tree so far, and ends at the first of its cells.
    pub(super) tree: Joined,
    /// What each path cost when it was found, given the nets on its edges; 0 for those that were
    /// kept.
    pub(super) costs: Vec<u64>,
    /// Whether there was a path to each pin.
    pub(super) has_all: bool,
}

/// A tree, and the pins that are not part of it yet.
pub(super) struct Growing<'a> {
    estimates: &'a Estimates,
    task: Task<'a>,
    targets: Vec<Target>,
    /// By pin; `None` for one that is joined, or can't be.
    open: Vec<Option<Open>>,
    /// Pins to which there was no path.
    failed: Vec<usize>,
    cells: Vec<Cell>,
    /// The box around these.
    around: CellBox,
    joined: Joined,
    costs: Vec<u64>,
    /// The pin that is searched for, and where.
    wanted: Option<(usize, Cell, Window)>,
}

impl<'a> Growing<'a> {
    pub(super) fn new(edges: &Edges<'_>, estimates: &'a Estimates, task: Task<'a>) -> Result<Self> {
        let pins = &task.net.pins;
        let mut targets = with_room(pins.len(), PINS)?;
        targets.extend(pins.iter().map(|pin| estimates.towards(pin)));
        let open = Open {
            near: Cell::default(),
            distance: u64::MAX,
        };
        let mut this = Self {
            estimates,
            task,
            targets,
            open: filled_vec(Some(open), pins.len(), PINS)?,
            failed: Vec::new(),
            cells: Vec::new(),
            around: CellBox::EMPTY,
            joined: Joined::default(),
            costs: with_room(pins.len(), PATHS)?,
            wanted: None,
        };
        if !pins.is_empty() {
            this.add_pin(0)?;
        }
        for (pin, cost, path) in task.kept.paths() {
            this.joined.push(pin, cost, path)?;
            this.costs.push(0);
            this.add(path.iter().map(|&cell| edges.grid.cell(cell)))?;
            this.add_pin(pin)?;
        }
        this.choose();
        Ok(this)
    }

    /// What to search for next, if anything is left.
    pub(super) fn wanted(&self) -> Option<Wanted<'_>> {
        let (pin, near, window) = self.wanted?;
        Some(Wanted {
            tree: &self.cells,
            near,
            source: self.estimates.towards_box(self.around),
            pin: &self.task.net.pins[pin],
            target: &self.targets[pin],
            window,
            given_up: self.task.given_up,
        })
    }

    /// Takes the path that was wanted, as cells from the pin to the tree. With the nets that are on
    /// its edges, it costs `cost`.
    pub(super) fn join(&mut self, edges: &Edges<'_>, path: &[u32], cost: u64) -> Result<()> {
        let Some((pin, ..)) = self.wanted.take() else {
            return Ok(());
        };
        let given = &self.task.net.pins[pin];
        if given.cells.len() > 1 {
            // From its other cells, there may be a path to pins that had none.
            for pin in self.failed.drain(..) {
                self.open[pin] = Some(Open {
                    near: given.cells[0],
                    distance: u64::MAX,
                });
            }
        }
        self.joined.push(pin, edges.weight_along(path), path)?;
        self.costs.push(cost);
        self.add(path.iter().map(|&cell| edges.grid.cell(cell)))?;
        self.add_pin(pin)?;
        self.choose();
        Ok(())
    }

    /// There is no path where it was wanted.
    pub(super) fn miss(&mut self) -> Result<()> {
        let Some((pin, near, window)) = self.wanted.take() else {
            return Ok(());
        };
        if window != self.task.window {
            self.wanted = Some((pin, near, self.task.window));
            return Ok(());
        }
        push(&mut self.failed, pin, PINS)?;
        self.choose();
        Ok(())
    }

    pub(super) fn finish(self) -> Found {
        Found {
            tree: self.joined,
            costs: self.costs,
            has_all: self.failed.is_empty(),
        }
    }

    /// Makes the cells of a pin part of the tree.
    fn add_pin(&mut self, pin: usize) -> Result<()> {
        self.open[pin] = None;
        self.add(self.task.net.pins[pin].cells.iter().copied())
    }

    fn add(&mut self, cells: impl Iterator<Item = Cell>) -> Result<()> {
        for cell in cells {
            push(&mut self.cells, cell, PATHS)?;
            self.around.include(cell);
            for (target, open) in self.targets.iter().zip(&mut self.open) {
                let Some(open) = open else {
                    continue;
                };
                let distance = target.distance(cell);
                if distance < open.distance {
                    *open = Open {
                        near: cell,
                        distance,
                    };
                }
            }
        }
        Ok(())
    }

    /// Chooses the pin that is searched for next.
    fn choose(&mut self) {
        let nearest = self.open.iter().enumerate();
        let nearest = nearest.filter_map(|(pin, open)| Some(((*open)?.distance, pin)));
        let Some((_, pin)) = nearest.min() else {
            return;
        };
        let near = self.open[pin]
            .take()
            .map(|open| open.near)
            .unwrap_or_default();
        let Target { low, high, .. } = self.targets[pin];
        let ends = [near, low, high];
        let part = schedule::around(ends, self.task.margin, self.task.window);
        self.wanted = Some((pin, near, part));
    }
}
