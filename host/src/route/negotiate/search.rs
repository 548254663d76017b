//! The tree of one net in its window: the pin with the least estimated distance from the tree joins
//! it by a cheapest path, again and again. Paths are found by A* (Hart, Nilsson and Raphael, 1968),
//! which starts from all of the tree: first in the box around the path's ends, then in the window.
//!
//! The edges that the net gives up are still counted as used, since other nets are searched at the
//! same time. Their cells are marked, so that the search takes them for what they will cost.

use super::edges::{Edges, KINDS, NONE};
use super::estimate::{Estimates, Target};
use super::queue::{Queue, Waiting};
use super::schedule;
use crate::error::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{filled_vec, push, with_room};
use crate::route::net::{Net, Pin};
use crate::route::net_by_net::{Joined, PATHS, PINS};

/// Name used in out-of-memory errors.
const SEARCH: &str = "the search of a net";

/// The ways to a cell, by the step to it: right, down, left, up, to the next layer, to the last.
const SOURCE: u8 = 6;
const FINAL: u8 = 8;

/// What a search knows about a cell.
#[derive(Clone, Copy)]
struct Node {
    /// The cost of the cheapest path found from the tree.
    label: u64,
    /// The search that wrote it.
    search: u32,
    /// The direction in which the path came, or [`SOURCE`]; plus [`FINAL`] if there is no better.
    from: u8,
    /// The steps from the cell along edges that the net gives up, as bits.
    given_up: u8,
}

/// The memory of a search, kept from net to net.
#[derive(Default)]
pub(super) struct Scratch {
    nodes: Vec<Node>,
    search: u32,
    queue: Queue,
    tree: Vec<Cell>,
    path: Vec<u32>,
    /// What the path costs, given the nets on its edges.
    cost: u64,
}

/// A pin that is not joined yet.
#[derive(Clone, Copy)]
struct Open {
    /// The cell of the tree with the least estimated distance from the pin, once there is a tree.
    near: Cell,
    distance: u64,
}

/// The tree of a net.
pub(super) struct Found {
    pub(super) tree: Joined,
    /// What each path cost when it was found, given the nets on its edges; 0 for those that were
    /// kept.
    pub(super) costs: Vec<u64>,
    pub(super) has_all: bool,
}

/// What is to be searched for one net.
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

/// The tree of a net, given those of the others.
pub(super) fn tree(
    edges: &Edges<'_>,
    estimates: &Estimates,
    task: &Task<'_>,
    scratch: &mut Scratch,
) -> Result<Found> {
    let &Task {
        net,
        kept,
        given_up,
        window,
        margin,
    } = task;
    let mut joined = Joined::default();
    let mut costs = with_room(net.pins.len(), PATHS)?;
    let Some(root) = net.pins.first() else {
        return Ok(Found {
            tree: joined,
            costs,
            has_all: true,
        });
    };
    scratch.tree.clear();
    let mut targets = with_room(net.pins.len(), PINS)?;
    targets.extend(net.pins.iter().map(|pin| estimates.towards(pin)));
    // `None` for a pin that is joined, or can't be.
    let open = Open {
        near: Cell::default(),
        distance: u64::MAX,
    };
    let mut open = filled_vec(Some(open), net.pins.len(), PINS)?;
    open[0] = None;
    let mut search = Search {
        edges,
        estimates,
        targets: &targets,
        given_up,
        scratch,
    };
    search.add(root.cells.iter().copied(), &mut open)?;
    for (pin, cost, path) in kept.paths() {
        open[pin] = None;
        joined.push(pin, cost, path)?;
        costs.push(0);
        search.add(path.iter().map(|&cell| edges.grid.cell(cell)), &mut open)?;
        search.add(net.pins[pin].cells.iter().copied(), &mut open)?;
    }
    // Pins to which there was no path.
    let mut failed = Vec::new();
    loop {
        let nearest = open.iter().enumerate();
        let nearest = nearest.filter_map(|(pin, open)| Some(((*open)?.distance, pin)));
        let Some((_, pin)) = nearest.min() else {
            return Ok(Found {
                tree: joined,
                costs,
                has_all: failed.is_empty(),
            });
        };
        let near = open[pin].take().map(|open| open.near).unwrap_or_default();
        let target = &targets[pin];
        let part = schedule::around([near, target.low, target.high], margin, window);
        let given = &net.pins[pin];
        if !search.reach(given, target, part)?
            && (part == window || !search.reach(given, target, window)?)
        {
            push(&mut failed, pin, PINS)?;
            continue;
        }
        if given.cells.len() > 1 {
            // From its other cells, there may be one.
            for pin in failed.drain(..) {
                open[pin] = Some(Open {
                    near: given.cells[0],
                    distance: u64::MAX,
                });
            }
        }
        let path = std::mem::take(&mut search.scratch.path);
        let weights = edges.along(&path).map(|edge| u64::from(edges.weight(edge)));
        joined.push(pin, weights.sum(), &path)?;
        costs.push(search.scratch.cost);
        search.add(path.iter().map(|&cell| edges.grid.cell(cell)), &mut open)?;
        search.scratch.path = path;
        search.add(given.cells.iter().copied(), &mut open)?;
    }
}

struct Search<'a, 'b> {
    edges: &'a Edges<'b>,
    estimates: &'a Estimates,
    targets: &'a [Target],
    given_up: &'a [usize],
    scratch: &'a mut Scratch,
}

impl Search<'_, '_> {
    /// Adds cells to the tree.
    fn add(&mut self, cells: impl Iterator<Item = Cell>, open: &mut [Option<Open>]) -> Result<()> {
        for cell in cells {
            push(&mut self.scratch.tree, cell, SEARCH)?;
            for (target, open) in self.targets.iter().zip(&mut *open) {
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

    /// Finds a cheapest path in `window` from the tree to `pin`, and leaves it in the scratch, from
    /// the pin to the tree. False if there is none.
    fn reach(&mut self, pin: &Pin, target: &Target, window: Window) -> Result<bool> {
        let grid = self.edges.grid;
        self.begin(window)?;
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
        for i in 0..self.scratch.tree.len() {
            let cell = self.scratch.tree[i];
            if let Some((local, line)) = local_index(cell, window) {
                self.offer(local, line, 0, SOURCE, target.distance(cell))?;
            }
        }
        while let Some(Waiting { local, line, .. }) = self.scratch.queue.pop()? {
            let node = &mut self.scratch.nodes[local as usize];
            if node.from >= FINAL {
                continue;
            }
            node.from |= FINAL;
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
                self.scratch.cost = label;
                self.trace_back(local, window)?;
                return Ok(true);
            }
            let edge = KINDS * grid.index(cell) as usize;
            let serves = self.estimates.serves[layer as usize];
            let mut go = |edge: usize, local: u32, line: u32, from: u8, cell: Cell| {
                // Leaving one of the net's edges: the step back has the same bit at the other cell.
                let cost = match given_up >> from & 1 {
                    0 => self.edges.cost(edge),
                    _ => self.edges.cost_without_one(edge),
                };
                if cost == NONE {
                    return Ok(());
                }
                // Less than 2³² edges, each of less than 2³².
                let label = label + u64::from(cost);
                self.offer(local, line, label, from, target.distance(cell))
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
        Ok(false)
    }

    /// Starts a search in `window` with no cell known.
    fn begin(&mut self, window: Window) -> Result<()> {
        let layers = self.edges.grid.layers() as usize;
        let cells = window.width as usize * window.height as usize * layers;
        let scratch = &mut *self.scratch;
        if scratch.nodes.len() < cells {
            // Written by no search.
            let node = Node {
                label: 0,
                search: 0,
                from: SOURCE,
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
        for &edge in self.given_up {
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
                    from: SOURCE,
                    given_up: 0,
                };
            }
            node.given_up |= 1 << step;
        }
    }

    /// Lowers the label of a cell, if the one offered is less.
    #[inline(always)]
    fn offer(&mut self, local: u32, line: u32, label: u64, from: u8, estimate: u64) -> Result<()> {
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
            from,
            given_up,
        };
        let key = label.saturating_add(estimate);
        scratch.queue.push(Waiting { key, local, line })
    }

    /// Writes the path to a cell into the scratch, as indices in the grid.
    fn trace_back(&mut self, mut local: u32, window: Window) -> Result<()> {
        let (width, height) = (window.width, window.height);
        self.scratch.path.clear();
        loop {
            let line = local / width;
            let cell = self.edges.grid.index(Cell {
                x: window.x + local % width,
                y: window.y + line % height,
                layer: line / height,
            });
            push(&mut self.scratch.path, cell, PATHS)?;
            local = match self.scratch.nodes[local as usize].from & !FINAL {
                0 => local - 1,
                1 => local - width,
                2 => local + 1,
                3 => local + width,
                4 => local - width * height,
                5 => local + width * height,
                _ => return Ok(()),
            };
        }
    }
}

/// The index of a cell in a window, and the number of its row there, if it is in the window.
#[inline(always)]
fn local_index(cell: Cell, window: Window) -> Option<(u32, u32)> {
    let column = cell.x.checked_sub(window.x)?;
    let row = cell.y.checked_sub(window.y)?;
    if column >= window.width || row >= window.height {
        return None;
    }
    let line = cell.layer * window.height + row;
    Some((line * window.width + column, line))
}
