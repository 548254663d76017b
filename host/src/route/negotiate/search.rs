//! The cheapest path from a tree to a pin, on one thread: A* (Hart, Nilsson and Raphael, 1968) from
//! all of the tree. `retrace.rs` takes one of the cheapest paths.
//!
//! The edges that the net gives up are still counted as used, since other nets are searched at the
//! same time. Their cells are marked, so that the search takes them for what they will cost.

use std::sync::Mutex;

use rayon::prelude::*;

use super::edges::{Edges, KINDS, NONE};
use super::estimate::Estimates;
use super::growing::{Found, Growing, Task, Wanted};
use super::queue::{Queue, Waiting};
use super::retrace::Step;
use super::rounds::Searcher;
use crate::error::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{filled_vec, par_try_collect, push};
use crate::threads;

/// Name used in out-of-memory errors.
pub(super) const SEARCH: &str = "the search of a net";

/// What a search knows about a cell.
#[derive(Clone, Copy)]
pub(super) struct Node {
    /// The cost of the cheapest path found from the tree.
    pub(super) label: u64,
    /// The search that wrote it.
    pub(super) search: u32,
    /// Whether there is no cheaper path.
    is_final: bool,
    /// The steps from the cell along edges that the net gives up, as bits.
    pub(super) given_up: u8,
}

impl Node {
    /// A cell through which no way leads back to the tree.
    pub(super) fn dead_end(search: u32, given_up: u8) -> Self {
        Self {
            label: u64::MAX,
            search,
            is_final: true,
            given_up,
        }
    }

    pub(super) fn is_dead_end(&self) -> bool {
        self.label == u64::MAX && self.is_final
    }
}

/// The memory of a search, kept from net to net.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) nodes: Vec<Node>,
    pub(super) search: u32,
    queue: Queue,
    pub(super) steps: Vec<Step>,
    pub(super) path: Vec<u32>,
}

/// Searches on all threads of the processor, each for one net.
#[derive(Default)]
pub(super) struct OnThreads {
    scratches: Mutex<Vec<Scratch>>,
}

impl Searcher for OnThreads {
    fn set_costs(&mut self, _: &[u32]) -> Result<()> {
        Ok(())
    }

    fn change_costs(&mut self, _: &[u64], _: &[u32]) -> Result<()> {
        Ok(())
    }

    fn trees(
        &mut self,
        edges: &Edges<'_>,
        estimates: &Estimates,
        tasks: &[Task<'_>],
    ) -> Result<Vec<Found>> {
        let found = tasks.par_iter().with_max_len(1).map(|&task| {
            // The vector has room for as many as there are threads after a few nets.
            let mut scratch = threads::lock(&self.scratches).pop().unwrap_or_default();
            let found = tree(edges, estimates, task, &mut scratch);
            push(&mut *threads::lock(&self.scratches), scratch, SEARCH)?;
            found
        });
        par_try_collect(found, SEARCH)
    }
}

/// The tree of a net, given those of the others.
fn tree(
    edges: &Edges<'_>,
    estimates: &Estimates,
    task: Task<'_>,
    scratch: &mut Scratch,
) -> Result<Found> {
    let mut growing = Growing::new(edges, estimates, task)?;
    while let Some(wanted) = growing.wanted() {
        let mut search = Search {
            edges,
            estimates,
            wanted: &wanted,
            scratch,
        };
        match search.reach()? {
            Some(cost) => {
                search.retrace(cost)?;
                growing.join(edges, &scratch.path, cost)?;
            }
            None => growing.miss()?,
        }
    }
    Ok(growing.finish())
}

pub(super) struct Search<'a, 'b> {
    pub(super) edges: &'a Edges<'b>,
    estimates: &'a Estimates,
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) scratch: &'a mut Scratch,
}

impl Search<'_, '_> {
    /// What a cheapest path costs; `None` if there is none.
    fn reach(&mut self) -> Result<Option<u64>> {
        let grid = self.edges.grid;
        let &Wanted {
            tree,
            pin,
            target,
            window,
            ..
        } = self.wanted;
        self.begin()?;
        let Window {
            x: left,
            y: top,
            width,
            height,
        } = window;
        let plane = width * height;
        let row = KINDS * grid.width() as usize;
        let layer_edges = row * grid.height() as usize;
        let layers = grid.layers();
        let is_single = pin.cells.len() == 1;
        for &cell in tree {
            if let Some((local, line)) = local_index(cell, window) {
                self.offer(local, line, 0, target.distance(cell))?;
            }
        }
        while let Some(Waiting { local, line, .. }) = self.scratch.queue.pop()? {
            let node = &mut self.scratch.nodes[local as usize];
            if node.is_final {
                continue;
            }
            node.is_final = true;
            let given_up = node.given_up;
            let label = node.label;
            let (layer, column) = (line / height, local - line * width);
            let cell = Cell {
                x: left + column,
                y: top + (line - layer * height),
                layer,
            };
            let at_target = match is_single {
                true => cell == target.low,
                false => pin.cells.contains(&cell),
            };
            if at_target {
                return Ok(Some(label));
            }
            let edge = KINDS * grid.index(cell) as usize;
            let serves = self.estimates.serves[layer as usize];
            let mut go = |edge: usize, local: u32, line: u32, step: u8, cell: Cell| {
                let cost = self.cost(edge, given_up >> step & 1 != 0);
                if cost == NONE {
                    return Ok(());
                }
                // Less than 2³² edges, each of less than 2³².
                let label = label + u64::from(cost);
                self.offer(local, line, label, target.distance(cell))
            };
            if layer > 0 {
                let layer = layer - 1;
                let next = Cell { layer, ..cell };
                go(
                    edge + 2 - layer_edges,
                    local - plane,
                    line - height,
                    5,
                    next,
                )?;
            }
            if layer + 1 < layers {
                let layer = layer + 1;
                let next = Cell { layer, ..cell };
                go(edge + 2, local + plane, line + height, 4, next)?;
            }
            if serves & 2 != 0 {
                if cell.y > top {
                    let y = cell.y - 1;
                    go(
                        edge + 1 - row,
                        local - width,
                        line - 1,
                        3,
                        Cell { y, ..cell },
                    )?;
                }
                if cell.y - top + 1 < height {
                    let y = cell.y + 1;
                    go(edge + 1, local + width, line + 1, 1, Cell { y, ..cell })?;
                }
            }
            if serves & 1 != 0 {
                if column > 0 {
                    let x = cell.x - 1;
                    go(edge - KINDS, local - 1, line, 2, Cell { x, ..cell })?;
                }
                if column + 1 < width {
                    let x = cell.x + 1;
                    go(edge, local + 1, line, 0, Cell { x, ..cell })?;
                }
            }
        }
        Ok(None)
    }

    /// What an edge costs the net, which may give it up.
    #[inline(always)]
    pub(super) fn cost(&self, edge: usize, is_given_up: bool) -> u32 {
        match is_given_up {
            false => self.edges.cost(edge),
            true => self.edges.cost_without_one(edge),
        }
    }

    /// Starts a search with no cell known.
    fn begin(&mut self) -> Result<()> {
        let &Wanted {
            window, given_up, ..
        } = self.wanted;
        let layers = self.edges.grid.layers() as usize;
        let cells = window.width as usize * window.height as usize * layers;
        let scratch = &mut *self.scratch;
        if scratch.nodes.len() < cells {
            // Written by no search.
            let node = Node {
                label: 0,
                search: 0,
                is_final: false,
                given_up: 0,
            };
            scratch.nodes = Vec::new();
            scratch.nodes = filled_vec(node, cells, SEARCH)?;
            scratch.search = 0;
        }
        scratch.queue.clear();
        if scratch.search == u32::MAX {
            for node in &mut scratch.nodes {
                node.search = 0;
            }
            scratch.search = 0;
        }
        scratch.search += 1;
        for &edge in given_up {
            self.mark(edge, window);
        }
        Ok(())
    }

    /// Notes at both cells of an edge that the net gives it up.
    fn mark(&mut self, edge: usize, window: Window) {
        let steps = [[0, 2], [1, 3], [4, 5]][edge % KINDS];
        let local = self.edges.ends(edge).map(|cell| local_index(cell, window));
        let scratch = &mut *self.scratch;
        let [Some(from), Some(to)] = local else {
            return;
        };
        for ((local, _), step) in [from, to].into_iter().zip(steps) {
            let node = &mut scratch.nodes[local as usize];
            if node.search != scratch.search {
                *node = Node {
                    label: u64::MAX,
                    search: scratch.search,
                    is_final: false,
                    given_up: 0,
                };
            }
            node.given_up |= 1 << step;
        }
    }

    /// Lowers the label of a cell, if the one offered is less.
    #[inline(always)]
    fn offer(&mut self, local: u32, line: u32, label: u64, estimate: u64) -> Result<()> {
        let scratch = &mut *self.scratch;
        let node = &mut scratch.nodes[local as usize];
        let mut given_up = 0;
        if node.search == scratch.search {
            if node.label <= label {
                return Ok(());
            }
            given_up = node.given_up;
        }
        *node = Node {
            label,
            search: scratch.search,
            is_final: false,
            given_up,
        };
        let key = label.saturating_add(estimate);
        scratch.queue.push(Waiting { key, local, line })
    }
}

/// The index of a cell in a window, and the number of its row there, if it is in the window.
#[inline(always)]
pub(super) fn local_index(cell: Cell, window: Window) -> Option<(u32, u32)> {
    let column = cell.x.checked_sub(window.x)?;
    let row = cell.y.checked_sub(window.y)?;
    if column >= window.width || row >= window.height {
        return None;
    }
    let line = cell.layer * window.height + row;
    Some((line * window.width + column, line))
}
