//! The tree of one net in its window: the pin with the least estimated distance from the tree joins
//! it by a cheapest path, again and again. Paths are found by A* (Hart, Nilsson and Raphael, 1968),
//! which starts from all of the tree.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::edges::{Edges, KINDS, NONE};
use crate::error::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{collect, filled_vec, push, push_to_heap};
use crate::route::net::{Net, Pin};
use crate::route::net_by_net::{Joined, PATHS, PINS};

/// Name used in out-of-memory errors.
const SEARCH: &str = "the search of a net";

/// The ways to a cell, in the order in which they are tried: from the left, above, the right,
/// below, the layer below, the layer above.
const SOURCE: u8 = 6;

/// What a search knows about a cell.
#[derive(Clone, Copy)]
struct Node {
    /// The cost of the cheapest path found from the tree.
    label: u64,
    /// The search that wrote it.
    search: u32,
    /// The direction in which the path came, or [`SOURCE`].
    from: u8,
    is_final: bool,
}

/// The memory of a search, kept from net to net.
#[derive(Default)]
pub(super) struct Scratch {
    nodes: Vec<Node>,
    search: u32,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    tree: Vec<u32>,
    path: Vec<u32>,
}

/// A box of cells: the cells of a pin, towards which a search goes.
#[derive(Clone, Copy)]
struct Target {
    low: Cell,
    high: Cell,
}

impl Target {
    fn of(pin: &Pin) -> Self {
        let first = pin.cells.first().copied().unwrap_or_default();
        let mut target = Self {
            low: first,
            high: first,
        };
        for cell in &pin.cells {
            target.low.x = target.low.x.min(cell.x);
            target.low.y = target.low.y.min(cell.y);
            target.low.layer = target.low.layer.min(cell.layer);
            target.high.x = target.high.x.max(cell.x);
            target.high.y = target.high.y.max(cell.y);
            target.high.layer = target.high.layer.max(cell.layer);
        }
        target
    }

    /// A path from `cell` to the box costs this much at least.
    #[inline(always)]
    fn distance(&self, cell: Cell, least: [u32; KINDS]) -> u64 {
        let apart = |at: u32, low: u32, high: u32| {
            u64::from(low.saturating_sub(at) + at.saturating_sub(high))
        };
        apart(cell.x, self.low.x, self.high.x) * u64::from(least[0])
            + apart(cell.y, self.low.y, self.high.y) * u64::from(least[1])
            + apart(cell.layer, self.low.layer, self.high.layer) * u64::from(least[2])
    }
}

/// The tree of `net` in `window` that has the paths of `kept`, and whether it has all pins.
pub(super) fn tree(
    edges: &Edges<'_>,
    least: [u32; KINDS],
    net: &Net,
    kept: &Joined,
    window: Window,
    scratch: &mut Scratch,
) -> Result<(Joined, bool)> {
    let mut joined = Joined::default();
    let Some(root) = net.pins.first() else {
        return Ok((joined, true));
    };
    let mut search = Search::new(edges, least, window, scratch)?;
    // The distance of each pin from the tree; `None` once it is joined, or can't be.
    let mut apart: Vec<Option<u64>> = filled_vec(Some(u64::MAX), net.pins.len(), PINS)?;
    apart[0] = None;
    search.add(&root.cells, net, &mut apart)?;
    for (pin, cost, path) in kept.paths() {
        apart[pin] = None;
        joined.push(pin, cost, path)?;
        let cells = collect(path.iter().map(|&cell| edges.grid.cell(cell)), PATHS)?;
        search.add(&cells, net, &mut apart)?;
        search.add(&net.pins[pin].cells, net, &mut apart)?;
    }
    // Pins to which there was no path.
    let mut failed = Vec::new();
    loop {
        let open = apart.iter().enumerate();
        let open = open.filter_map(|(pin, distance)| Some(((*distance)?, pin)));
        let Some((_, pin)) = open.min() else {
            return Ok((joined, failed.is_empty()));
        };
        apart[pin] = None;
        if !search.reach(&net.pins[pin])? {
            push(&mut failed, pin, PINS)?;
            continue;
        }
        if net.pins[pin].cells.len() > 1 {
            // From its other cells, there may be one.
            for pin in failed.drain(..) {
                apart[pin] = Some(u64::MAX);
            }
        }
        let path = std::mem::take(&mut search.scratch.path);
        let mut cost = 0;
        for pair in path.windows(2) {
            cost += u64::from(edges.weight(edges.between(pair[0], pair[1])));
        }
        joined.push(pin, cost, &path)?;
        let cells = collect(path.iter().map(|&cell| edges.grid.cell(cell)), PATHS)?;
        search.scratch.path = path;
        search.add(&cells, net, &mut apart)?;
        search.add(&net.pins[pin].cells, net, &mut apart)?;
    }
}

struct Search<'a, 'b> {
    edges: &'a Edges<'b>,
    least: [u32; KINDS],
    window: Window,
    scratch: &'a mut Scratch,
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(
        edges: &'a Edges<'b>,
        least: [u32; KINDS],
        window: Window,
        scratch: &'a mut Scratch,
    ) -> Result<Self> {
        let cells = window.width as usize * window.height as usize * edges.grid.layers() as usize;
        if scratch.nodes.len() < cells {
            // Written by no search.
            let node = Node {
                label: 0,
                search: 0,
                from: SOURCE,
                is_final: false,
            };
            scratch.nodes = Vec::new();
            scratch.nodes = filled_vec(node, cells, SEARCH)?;
            scratch.search = 0;
        }
        scratch.tree.clear();
        Ok(Self {
            edges,
            least,
            window,
            scratch,
        })
    }

    /// Adds cells to the tree.
    fn add(&mut self, cells: &[Cell], net: &Net, apart: &mut [Option<u64>]) -> Result<()> {
        for &cell in cells {
            let local = self.local(cell);
            push(&mut self.scratch.tree, local, SEARCH)?;
        }
        for (pin, distance) in net.pins.iter().zip(apart) {
            if let Some(distance) = distance {
                let target = Target::of(pin);
                for &cell in cells {
                    *distance = (*distance).min(target.distance(cell, self.least));
                }
            }
        }
        Ok(())
    }

    /// The index of a cell in the window.
    fn local(&self, cell: Cell) -> u32 {
        let Window {
            x,
            y,
            width,
            height,
        } = self.window;
        (cell.layer * height + (cell.y - y)) * width + (cell.x - x)
    }

    /// The cell with an index in the window.
    #[inline(always)]
    fn cell(&self, local: u32) -> Cell {
        let Window {
            x,
            y,
            width,
            height,
        } = self.window;
        let line = local / width;
        Cell {
            x: x + local % width,
            y: y + line % height,
            layer: line / height,
        }
    }

    /// Finds a cheapest path from the tree to `pin`, and leaves it in the scratch, from the pin to
    /// the tree. False if there is none.
    fn reach(&mut self, pin: &Pin) -> Result<bool> {
        self.begin()?;
        let target = Target::of(pin);
        let (width, height) = (self.window.width, self.window.height);
        let grid = self.edges.grid;
        let (grid_width, area) = (
            grid.width() as usize,
            grid.width() as usize * grid.height() as usize,
        );
        let layers = grid.layers();
        let is_single = pin.cells.len() == 1;
        for i in 0..self.scratch.tree.len() {
            let local = self.scratch.tree[i];
            let estimate = target.distance(self.cell(local), self.least);
            self.offer(local, 0, SOURCE, estimate)?;
        }
        while let Some(Reverse((_, local))) = self.scratch.queue.pop() {
            let node = &mut self.scratch.nodes[local as usize];
            if node.is_final {
                continue;
            }
            node.is_final = true;
            let label = node.label;
            let cell = self.cell(local);
            let at_target = match is_single {
                true => cell == target.low,
                false => pin.cells.contains(&cell),
            };
            if at_target {
                self.trace_back(local)?;
                return Ok(true);
            }
            let index = grid.index(cell) as usize;
            let (column, row) = (cell.x - self.window.x, cell.y - self.window.y);
            let plane = width * height;
            let steps = [
                (
                    column + 1 < width,
                    KINDS * index,
                    1,
                    Cell {
                        x: cell.x + 1,
                        ..cell
                    },
                ),
                (
                    row + 1 < height,
                    KINDS * index + 1,
                    width,
                    Cell {
                        y: cell.y + 1,
                        ..cell
                    },
                ),
                (
                    column > 0,
                    (KINDS * index).wrapping_sub(KINDS),
                    1u32.wrapping_neg(),
                    Cell {
                        x: cell.x.wrapping_sub(1),
                        ..cell
                    },
                ),
                (
                    row > 0,
                    (KINDS * index + 1).wrapping_sub(KINDS * grid_width),
                    width.wrapping_neg(),
                    Cell {
                        y: cell.y.wrapping_sub(1),
                        ..cell
                    },
                ),
                (
                    cell.layer + 1 < layers,
                    KINDS * index + 2,
                    plane,
                    Cell {
                        layer: cell.layer + 1,
                        ..cell
                    },
                ),
                (
                    cell.layer > 0,
                    (KINDS * index + 2).wrapping_sub(KINDS * area),
                    plane.wrapping_neg(),
                    Cell {
                        layer: cell.layer.wrapping_sub(1),
                        ..cell
                    },
                ),
            ];
            for (from, (is_inside, edge, step, next)) in (0..).zip(steps) {
                if !is_inside {
                    continue;
                }
                let cost = self.edges.cost(edge);
                if cost == NONE {
                    continue;
                }
                // Less than 2³² edges, each of less than 2³².
                let label = label + u64::from(cost);
                let estimate = target.distance(next, self.least);
                self.offer(local.wrapping_add(step), label, from, estimate)?;
            }
        }
        Ok(false)
    }

    /// Starts a search with no cell known.
    fn begin(&mut self) -> Result<()> {
        self.scratch.queue.clear();
        if self.scratch.search == u32::MAX {
            for node in &mut self.scratch.nodes {
                node.search = 0;
            }
            self.scratch.search = 0;
        }
        self.scratch.search += 1;
        Ok(())
    }

    /// Lowers the label of a cell, if the one offered is less.
    #[inline(always)]
    fn offer(&mut self, local: u32, label: u64, from: u8, estimate: u64) -> Result<()> {
        let search = self.scratch.search;
        let node = &mut self.scratch.nodes[local as usize];
        if node.search == search && node.label <= label {
            return Ok(());
        }
        *node = Node {
            label,
            search,
            from,
            is_final: false,
        };
        let entry = Reverse((label.saturating_add(estimate), local));
        push_to_heap(&mut self.scratch.queue, entry, SEARCH)
    }

    /// Writes the path to a cell into the scratch, as indices in the grid.
    fn trace_back(&mut self, mut local: u32) -> Result<()> {
        let (width, plane) = (self.window.width, self.window.width * self.window.height);
        self.scratch.path.clear();
        loop {
            let cell = self.edges.grid.index(self.cell(local));
            push(&mut self.scratch.path, cell, PATHS)?;
            local = match self.scratch.nodes[local as usize].from {
                0 => local - 1,
                1 => local - width,
                2 => local + 1,
                3 => local + width,
                4 => local - plane,
                5 => local + plane,
                _ => return Ok(()),
            };
        }
    }
}
