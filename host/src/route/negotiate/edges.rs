//! [`Edges`]: what each edge of the grid costs a net, given the nets that use it:
//! (weight + history) · (1 + pressure · nets too many).

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use trazar_kernels::route::negotiate as kernels;

use super::counts::{EdgeCounts, UNLIMITED};
use crate::error::{Error, Result};
use crate::geometry::Cell;
use crate::memory::{collect, par_collect, par_rows, prefetch, push};
use crate::route::grid::{BLOCKED, RoutingGrid};

/// The cost of an edge that no net may use.
pub(super) const NONE: u32 = kernels::NONE;
/// An edge of weight 1 costs this much as long as it has room.
const UNIT: u32 = 16;
/// Weights from here on are refused: an edge of such a weight would cost too much for 32 bits.
const MAX_WEIGHT: u32 = 1 << 24;
/// What an overfull edge costs more after each round, in units of a `UNIT`th of its weight.
const HISTORY: u32 = 8;
/// The most that the history of an edge adds to its cost.
const MAX_HISTORY: u32 = 1 << 30;
/// The kinds of edges of a cell: to the right, down, to the next layer.
pub(super) const KINDS: usize = kernels::KINDS as usize;
/// How far ahead of use edges are loaded.
const AHEAD: usize = 8;
/// The cells whose edges a thread makes at a time.
const CELLS: usize = 1 << 12;
/// Name used in out-of-memory errors.
const EDGES: &str = "the edges that nets compete for";

/// No net of the batch claims an edge.
const FREE: u32 = 0;
/// Several nets of the batch claim an edge.
const SHARED: u32 = u32::MAX;

/// What is known about an edge.
struct Edge {
    weight: u32,
    capacity: u32,
    /// The nets that use it.
    usage: AtomicU32,
    /// What it costs more because it was overfull in earlier rounds.
    history: u32,
    /// The net of the batch that claims it, [`FREE`] or [`SHARED`].
    claim: AtomicU32,
}

impl Edge {
    /// What it costs the next net while `usage` nets use it, if each net too many adds `pressure`
    /// sixteenths. A sum that is too large becomes the largest cost, so that the edge is still used
    /// where there is no other.
    fn cost(&self, usage: u32, pressure: u32) -> u32 {
        if self.weight == BLOCKED || self.capacity == 0 {
            return NONE;
        }
        let over = match self.capacity {
            UNLIMITED => 0,
            capacity => (usage + 1).saturating_sub(capacity),
        };
        let past = u64::from(base(self.weight)) + u64::from(self.history);
        // In sixteenths.
        let factor = u64::from(UNIT) + u64::from(over) * u64::from(pressure);
        let cost = past.saturating_mul(factor) / u64::from(UNIT);
        cost.min(u64::from(NONE - 1)) as u32
    }

    fn usage(&self) -> u32 {
        self.usage.load(Relaxed)
    }

    fn overflow(&self) -> u32 {
        self.usage().saturating_sub(self.capacity)
    }
}

/// Edges by number: three times the cell's index, plus 0 for the edge to the right, 1 for the one
/// down, 2 for the via to the next layer.
pub(super) struct Edges<'a> {
    pub(super) grid: &'a RoutingGrid,
    edges: Vec<Edge>,
    /// What each edge costs the next net, [`NONE`] if it is blocked: all that most steps of a
    /// search read.
    costs: Vec<AtomicU32>,
    /// What each net too many adds to an edge's cost, in sixteenths of that cost.
    pressure: u32,
}

impl<'a> Edges<'a> {
    /// The edges of `grid`, used by no net.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for capacities of another grid, [`Error::CostTooLarge`] for weights
    /// that are too large, [`Error::OutOfMemory`].
    pub(super) fn new(grid: &'a RoutingGrid, capacities: &'a EdgeCounts) -> Result<Self> {
        capacities.check_fits(grid)?;
        if grid.max_weight() >= MAX_WEIGHT {
            return Err(Error::CostTooLarge {
                algorithm: "negotiation",
                limit: MAX_WEIGHT.into(),
                instead: "divide all weights by the same number",
            });
        }
        let count = KINDS * grid.cell_count() as usize;
        let row = |row: usize| {
            let cells = row * CELLS..grid.cell_count() as usize;
            cells.flat_map(|cell| {
                let vias = |of: &[u32], none| of.get(cell).copied().unwrap_or(none);
                [
                    (grid.rights()[cell], capacities.rights()[cell]),
                    (grid.downs()[cell], capacities.downs()[cell]),
                    (vias(grid.vias(), BLOCKED), vias(capacities.vias(), 0)),
                ]
                .map(|(weight, capacity)| Edge {
                    weight,
                    capacity,
                    usage: AtomicU32::new(0),
                    history: 0,
                    claim: AtomicU32::new(FREE),
                })
            })
        };
        Ok(Self {
            grid,
            edges: par_rows(KINDS * CELLS, count, EDGES, row)?,
            costs: par_rows(KINDS * CELLS, count, EDGES, |_| {
                std::iter::repeat_with(|| AtomicU32::new(NONE))
            })?,
            pressure: 0,
        })
    }

    /// The number of the edge between neighbours, given their indices.
    fn between(&self, a: u32, b: u32) -> usize {
        let (low, step) = (a.min(b) as usize, a.abs_diff(b));
        let (width, height) = (self.grid.width(), self.grid.height());
        // With a width of 1, the next cell is that of the next row, and so on.
        let kind = if width > 1 && step == 1 {
            0
        } else if height > 1 && step == width {
            1
        } else {
            2
        };
        KINDS * low + kind
    }

    /// The numbers of a path's edges, given the indices of its cells.
    pub(super) fn along(&self, path: &[u32]) -> impl Iterator<Item = usize> {
        path.windows(2).map(|pair| self.between(pair[0], pair[1]))
    }

    /// The sum of the weights of a path's edges.
    pub(super) fn weight_along(&self, path: &[u32]) -> u64 {
        let weights = self.along(path).map(|edge| self.edges[edge].weight);
        weights.map(u64::from).sum()
    }

    /// The left, upper or lower cell of an edge, and its other cell.
    pub(super) fn ends(&self, edge: usize) -> [Cell; 2] {
        let from = self.grid.cell((edge / KINDS) as u32);
        let mut to = from;
        match edge % KINDS {
            0 => to.x += 1,
            1 => to.y += 1,
            _ => to.layer += 1,
        }
        [from, to]
    }

    /// What an edge costs the next net.
    #[inline(always)]
    pub(super) fn cost(&self, edge: usize) -> u32 {
        self.costs[edge].load(Relaxed)
    }

    /// What edges cost the next net, by number.
    pub(super) fn costs(&mut self) -> &[u32] {
        let costs: *const [AtomicU32] = &mut *self.costs;
        // SAFETY: both types have the same size, alignment and values, and while `self` is borrowed
        // mutably, nobody else accesses the costs.
        unsafe { &*(costs as *const [u32]) }
    }

    /// What an edge costs a net that uses it, as if it did not.
    #[cold]
    pub(super) fn cost_without_one(&self, edge: usize) -> u32 {
        let edge = &self.edges[edge];
        edge.cost(edge.usage() - 1, self.pressure)
    }

    /// By layer: the smallest cost of an edge of each kind that a net may use, [`NONE`] if there is
    /// none. No search needs less.
    pub(super) fn least_costs(&self) -> Result<Vec<[u32; KINDS]>> {
        let cells = self.grid.width() as usize * self.grid.height() as usize;
        let least = |layer: usize| {
            let edges = KINDS * cells * layer..KINDS * cells * (layer + 1);
            let costs = edges.into_par_iter().map(|edge| {
                let mut costs = [NONE; KINDS];
                let Edge {
                    weight, capacity, ..
                } = self.edges[edge];
                if weight != BLOCKED && capacity != 0 {
                    costs[edge % KINDS] = base(weight);
                }
                costs
            });
            costs.reduce(
                || [NONE; KINDS],
                |a, b| std::array::from_fn(|kind| a[kind].min(b[kind])),
            )
        };
        collect((0..self.grid.layers() as usize).map(least), EDGES)
    }

    /// Sets how much each net too many costs, and with it the costs of all edges.
    pub(super) fn set_pressure(&mut self, pressure: u32) {
        self.pressure = pressure;
        let costs = self.costs.par_iter_mut().zip(&self.edges);
        costs.for_each(|(cost, edge)| *cost.get_mut() = edge.cost(edge.usage(), pressure));
    }

    /// Claims edges for a net of the batch, by its number, neither [`FREE`] nor [`SHARED`].
    pub(super) fn claim(&self, edges: impl Iterator<Item = usize>, number: u32) {
        for edge in edges {
            let claim = &self.edges[edge].claim;
            let before = claim.compare_exchange(FREE, number, Relaxed, Relaxed);
            if before.is_err_and(|other| other != number) {
                // planted: claim-shared
                claim.store(SHARED, Relaxed);
            }
        }
    }

    /// Whether no other net of the batch claims an edge that this one claims.
    pub(super) fn is_claimed_only_by(&self, edge: usize, number: u32) -> bool {
        self.edges[edge].claim.load(Relaxed) == number
    }

    /// Has no net claim these edges.
    pub(super) fn release(&self, edges: &[usize]) {
        for &edge in edges {
            self.edges[edge].claim.store(FREE, Relaxed);
        }
    }

    /// Adds one user to each of these edges, and those whose costs change to `changed`. No other
    /// thread may change their users meanwhile, or numbers get lost.
    pub(super) fn take(&self, edges: &[usize], changed: &mut Vec<u64>) -> Result<()> {
        self.change_usage(edges, changed, |usage| usage + 1)
    }

    /// Removes one user from each of these edges, as [`take`](Self::take) adds one.
    pub(super) fn give_back(&self, edges: &[usize], changed: &mut Vec<u64>) -> Result<()> {
        self.change_usage(edges, changed, |usage| usage - 1)
    }

    fn change_usage(
        &self,
        edges: &[usize],
        changed: &mut Vec<u64>,
        change: impl Fn(u32) -> u32,
    ) -> Result<()> {
        for (i, &number) in edges.iter().enumerate() {
            self.prefetch(edges, i + AHEAD);
            let edge = &self.edges[number];
            let usage = change(edge.usage());
            edge.usage.store(usage, Relaxed);
            let cost = edge.cost(usage, self.pressure);
            if cost != self.cost(number) {
                self.costs[number].store(cost, Relaxed);
                push(changed, number as u64, EDGES)?;
            }
        }
        Ok(())
    }

    /// What edges cost the next net, together.
    pub(super) fn sum_of_costs(&self, edges: &[usize]) -> u64 {
        let costs = edges.iter().enumerate().map(|(i, &number)| {
            self.prefetch(edges, i + AHEAD);
            u64::from(self.cost(number))
        });
        costs.sum()
    }

    /// Loads the edge at a place of a list, if it is there.
    #[inline(always)]
    fn prefetch(&self, edges: &[usize], place: usize) {
        if let Some(&edge) = edges.get(place) {
            prefetch(&self.edges, edge);
            prefetch(&self.costs, edge);
        }
    }

    /// By how many nets an edge is overfull.
    pub(super) fn overflow(&self, edge: usize) -> u32 {
        self.edges[edge].overflow()
    }

    /// The overfull edges, in their order.
    pub(super) fn overfull(&self) -> Result<Vec<usize>> {
        let all = self.edges.par_iter().enumerate();
        let overfull = all.filter(|(_, edge)| edge.overflow() > 0);
        par_collect(overfull.map(|(number, _)| number), EDGES)
    }

    /// Has the overfull edges cost more from now on.
    pub(super) fn remember(&mut self, overfull: &[usize]) {
        for &edge in overfull {
            let edge = &mut self.edges[edge];
            let more = u64::from(edge.weight.max(1)) * u64::from(edge.overflow());
            let more = more.saturating_mul(HISTORY.into());
            let history = u64::from(edge.history).saturating_add(more);
            edge.history = history.min(MAX_HISTORY.into()) as u32;
        }
    }

    /// The users of an edge and their permitted number.
    pub(super) fn usage_and_capacity(&self, edge: usize) -> (u32, u32) {
        (self.edges[edge].usage(), self.edges[edge].capacity)
    }

    /// The users of all edges.
    pub(super) fn usage(&self) -> Result<EdgeCounts> {
        let mut counts = EdgeCounts::zero(self.grid)?;
        for (kind, counts) in counts.counts_mut().into_iter().enumerate() {
            let cells = counts.par_iter_mut().enumerate();
            cells.for_each(|(cell, count)| *count = self.edges[KINDS * cell + kind].usage());
        }
        Ok(counts)
    }
}

/// What an edge with room costs. An edge of weight 0 costs a little, so that nets don't stray.
fn base(weight: u32) -> u32 {
    (weight * UNIT).max(1)
}
