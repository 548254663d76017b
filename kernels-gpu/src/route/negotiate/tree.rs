//! The tree of a net while pins join it.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::search::{Shared, count, estimate};
use super::{
    Area, BLOCK, CompetingNet, CompetingNets, CompetingTrees, EdgeCosts, GrownTree, JoinedPath,
};

/// In place of a distance: the pin is joined.
const JOINED: u64 = u64::MAX;
/// In place of a distance: there is no path to the pin.
const FAILED: u64 = u64::MAX - 1;
/// The largest distance of a pin that is to join.
const FAR: u64 = u64::MAX - 2;
/// In place of a pin: none is left.
const NO_PIN: u32 = u32::MAX;

/// What comes next.
pub(super) enum Next {
    /// A search for a path to `pin`, counted from the net's first, in `area`. `near` is the tree's
    /// nearest cell.
    Search {
        pin: u32,
        near: [u32; 3],
        area: Area,
    },
    /// Nothing: no pin is left.
    Nothing,
}

pub(super) struct Growing<'a> {
    edges: EdgeCosts<'a>,
    nets: CompetingNets<'a>,
    trees: CompetingTrees<'a>,
    net: CompetingNet,
    shared: Shared,
    /// The tree's cells.
    cells: u32,
    /// The paths that have joined pins.
    paths: u32,
    /// The pin to which there is no path in its box.
    missed: u32,
}

impl<'a> Growing<'a> {
    /// The tree as it is. Called by the whole block, as all that follows.
    #[inline(always)]
    pub(super) fn new(
        edges: EdgeCosts<'a>,
        nets: CompetingNets<'a>,
        trees: CompetingTrees<'a>,
        net: CompetingNet,
        shared: Shared,
    ) -> Self {
        let this = Self {
            edges,
            nets,
            trees,
            net,
            shared,
            cells: net.sources,
            paths: 0,
            missed: NO_PIN,
        };
        let mut pin = net.first_pin + thread::thread_idx_x();
        while pin < net.end_pin {
            trees.distances.st(pin, FAR);
            pin += BLOCK;
        }
        let mut i = thread::thread_idx_x();
        while i < net.sources {
            let cell = nets.sources.ld(net.first_source + i);
            trees.cells.st(net.first_tree + i, cell);
            i += BLOCK;
        }
        thread::sync_threads();
        this.measure(0);
        this
    }

    /// The tree's cells.
    #[inline(always)]
    pub(super) fn tree(&self) -> (ViewMut<'a, u32>, u32, u32) {
        (self.trees.cells, self.net.first_tree, self.end())
    }

    /// The index of the next cell that becomes part of the tree.
    #[inline(always)]
    pub(super) fn end(&self) -> u32 {
        self.net.first_tree + self.cells
    }

    #[inline(always)]
    fn cell(&self, i: u32) -> [u32; 3] {
        let (x, y, layer) = self
            .edges
            .size
            .place(self.trees.cells.ld(self.net.first_tree + i));
        [x, y, layer]
    }

    /// Lowers the distances of the pins that are to join by the tree's cells from `start` on. A
    /// warp takes a pin.
    #[inline(always)]
    fn measure(&self, start: u32) {
        let t = thread::thread_idx_x();
        let lane = t % WARP_SIZE;
        let mut pin = self.net.first_pin + t / WARP_SIZE;
        while pin < self.net.end_pin {
            let before = self.trees.distances.ld(pin);
            if before <= FAR {
                let target = self.nets.pins.ld(pin);
                let (mut least, mut at) = (u64::MAX, u32::MAX);
                let mut i = start + lane;
                while i < self.cells {
                    let distance = estimate(self.edges, target, self.cell(i));
                    if distance < least {
                        (least, at) = (distance, i);
                    }
                    i += WARP_SIZE;
                }
                let mut mask = WARP_SIZE / 2;
                while mask > 0 {
                    let other = warp::warp_shuffle_xor(FULL_MASK, least, mask, WARP_SIZE).0;
                    let other_at = warp::warp_shuffle_xor(FULL_MASK, at, mask, WARP_SIZE).0;
                    // planted: grow-nearest
                    if other < least || other == least && other_at < at {
                        (least, at) = (other, other_at);
                    }
                    mask /= 2;
                }
                // All lanes have read the distance.
                // planted: grow-distance
                warp::sync_warp(FULL_MASK);
                if lane == 0 && least < before {
                    self.trees.distances.st(pin, least);
                    self.trees.nearest.st(pin, at);
                }
            }
            pin += BLOCK / WARP_SIZE;
        }
        thread::sync_threads();
    }

    /// What comes next.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Next {
        let t = thread::thread_idx_x();
        let window = self.net.window;
        if self.missed != NO_PIN {
            let pin = self.missed;
            let near = self.cell(self.trees.nearest.ld(self.net.first_pin + pin));
            return Next::Search {
                pin,
                near,
                area: window,
            };
        }
        if t < WARP_SIZE {
            let (mut least, mut nearest) = (u64::MAX, NO_PIN);
            let mut pin = t;
            while pin < self.net.end_pin - self.net.first_pin {
                let distance = self.trees.distances.ld(self.net.first_pin + pin);
                if distance <= FAR && distance < least {
                    (least, nearest) = (distance, pin);
                }
                pin += WARP_SIZE;
            }
            let mut mask = WARP_SIZE / 2;
            while mask > 0 {
                let other = warp::warp_shuffle_xor(FULL_MASK, least, mask, WARP_SIZE).0;
                let pin = warp::warp_shuffle_xor(FULL_MASK, nearest, mask, WARP_SIZE).0;
                // planted: grow-next
                if other < least || other == least && pin < nearest {
                    (least, nearest) = (other, pin);
                }
                mask /= 2;
            }
            if t == 0 {
                self.shared.counts.st(count::PIN, nearest);
            }
        }
        // planted: grow-chosen
        thread::sync_threads();
        let pin = self.shared.counts.ld(count::PIN);
        if pin == NO_PIN {
            return Next::Nothing;
        }
        let near = self.cell(self.trees.nearest.ld(self.net.first_pin + pin));
        let target = self.nets.pins.ld(self.net.first_pin + pin);
        let margin = self.net.margin;
        let side = |axis: usize, start: u32, len: u32| {
            let low = near[axis].min(target.low[axis]);
            let high = near[axis].max(target.high[axis]);
            let least = low.saturating_sub(margin).max(start);
            let most = high.saturating_add(margin).min(start + (len - 1));
            (least, most - least + 1)
        };
        let (left, width) = side(0, window.left, window.width);
        let (top, height) = side(1, window.top, window.height);
        Next::Search {
            pin,
            near,
            area: Area {
                left,
                top,
                width,
                height,
            },
        }
    }

    /// Takes what the search for `pin` in `area` has found: a path of `cells` cells, which were
    /// appended to the tree's; none if there is no path.
    #[inline(always)]
    pub(super) fn take(&mut self, pin: u32, cost: u64, cells: u32, area: Area) {
        let t = thread::thread_idx_x();
        let at = self.net.first_pin + pin;
        self.missed = NO_PIN;
        if cells == 0 {
            // planted: grow-missed
            if area != self.net.window {
                self.missed = pin;
            } else if t == 0 {
                self.trees.distances.st(at, FAILED);
            }
            thread::sync_threads();
            return;
        }
        let target = self.nets.pins.ld(at);
        let start = self.cells;
        self.cells += cells;
        let mut i = target.first_cell + t;
        while i < target.end_cell {
            let to = self.end() + (i - target.first_cell);
            self.trees.cells.st(to, self.nets.pin_cells.ld(i));
            i += BLOCK;
        }
        self.cells += target.end_cell - target.first_cell;
        if t == 0 {
            self.trees.distances.st(at, JOINED);
            let path = JoinedPath { cost, pin, cells };
            self.trees.paths.st(self.net.first_pin + self.paths, path);
        }
        self.paths += 1;
        if target.end_cell - target.first_cell > 1 {
            // From its other cells, there may be a path to pins that had none.
            let mut other = self.net.first_pin + t;
            while other < self.net.end_pin {
                if other != at && self.trees.distances.ld(other) == FAILED {
                    // planted: grow-failed
                    self.trees.distances.st(other, FAR);
                }
                other += BLOCK;
            }
        }
        // planted: grow-taken
        thread::sync_threads();
        self.measure(start);
    }

    /// Writes what was found.
    #[inline(always)]
    pub(super) fn finish(&self) {
        let t = thread::thread_idx_x();
        let cells = self.cells - self.net.sources;
        if t == 0 {
            let first = self.trees.count.atomic_add(0, cells);
            self.shared.counts.st(count::PLACE, first);
            let grown = GrownTree {
                paths: self.paths,
                first,
                cells,
            };
            self.trees.grown.st(thread::block_idx_x(), grown);
        }
        thread::sync_threads();
        let first = self.shared.counts.ld(count::PLACE);
        let mut i = t;
        while i < cells {
            let cell = self
                .trees
                .cells
                .ld(self.net.first_tree + self.net.sources + i);
            self.trees.new_cells.st(first + i, cell);
            i += BLOCK;
        }
    }
}
