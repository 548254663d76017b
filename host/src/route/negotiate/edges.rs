//! [`Edges`]: what each edge of the grid costs a net, given the nets that use it:
//! (weight + history) · (1 + pressure · nets too many).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::counts::{EdgeCounts, UNLIMITED};
use crate::error::{Error, Result};
use crate::geometry::Cell;
use crate::memory::{collect, par_collect, reserve, zeroed_vec};
use crate::route::grid::{BLOCKED, RoutingGrid};

/// The cost of an edge that no net may use.
pub(super) const NONE: u32 = u32::MAX;
/// An edge of weight 1 costs this much as long as it has room.
const UNIT: u32 = 16;
/// Weights from here on are refused: an edge of such a weight would cost too much for 32 bits.
const MAX_WEIGHT: u32 = 1 << 24;
/// What an overfull edge costs more after each round, in units of a `UNIT`th of its weight.
const HISTORY: u32 = 8;
/// The most that the history of an edge adds to its cost.
const MAX_HISTORY: u32 = 1 << 30;
/// The kinds of edges of a cell: to the right, down, to the next layer.
pub(super) const KINDS: usize = 3;
/// Name used in out-of-memory errors.
const EDGES: &str = "the edges that nets compete for";

/// Edges by number: three times the cell's index, plus 0 for the edge to the right, 1 for the one
/// down, 2 for the via to the next layer.
///
/// Searches on several threads read the costs while nobody changes them.
pub(super) struct Edges<'a> {
    pub(super) grid: &'a RoutingGrid,
    capacities: &'a EdgeCounts,
    /// The nets that use an edge.
    usage: Vec<AtomicU32>,
    /// What an edge costs because it was overfull in earlier rounds.
    history: Vec<u32>,
    /// What an edge costs the next net, [`NONE`] if it is blocked.
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
        let atomics = || -> Result<Vec<AtomicU32>> {
            let mut atomics = Vec::new();
            reserve(&mut atomics, count, EDGES)?;
            atomics.resize_with(count, AtomicU32::default);
            Ok(atomics)
        };
        Ok(Self {
            grid,
            capacities,
            usage: atomics()?,
            history: zeroed_vec(count, EDGES)?,
            costs: atomics()?,
            pressure: 0,
        })
    }

    /// The weight of an edge.
    pub(super) fn weight(&self, edge: usize) -> u32 {
        let (cell, kind) = (edge / KINDS, edge % KINDS);
        match kind {
            0 => self.grid.rights()[cell],
            1 => self.grid.downs()[cell],
            _ => self.grid.vias().get(cell).copied().unwrap_or(BLOCKED),
        }
    }

    fn capacity(&self, edge: usize) -> u32 {
        let (cell, kind) = (edge / KINDS, edge % KINDS);
        match kind {
            0 => self.capacities.rights()[cell],
            1 => self.capacities.downs()[cell],
            _ => self.capacities.vias().get(cell).copied().unwrap_or(0),
        }
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

    /// What an edge costs a net that uses it, as if it did not.
    #[cold]
    pub(super) fn cost_without_one(&self, edge: usize) -> u32 {
        let usage = self.usage[edge].load(Relaxed);
        self.current_cost(edge, usage - 1)
    }

    /// By layer: the smallest cost of an edge of each kind that a net may use, [`NONE`] if there is
    /// none. No search needs less.
    pub(super) fn least_costs(&self) -> Result<Vec<[u32; KINDS]>> {
        let cells = self.grid.width() as usize * self.grid.height() as usize;
        let least = |layer: usize| {
            let edges = KINDS * cells * layer..KINDS * cells * (layer + 1);
            let costs = edges.into_par_iter().map(|edge| {
                let mut costs = [NONE; KINDS];
                if self.weight(edge) != BLOCKED && self.capacity(edge) != 0 {
                    costs[edge % KINDS] = base(self.weight(edge));
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
        let this = &*self;
        this.costs.par_iter().enumerate().for_each(|(edge, cost)| {
            cost.store(
                this.current_cost(edge, this.usage[edge].load(Relaxed)),
                Relaxed,
            );
        });
    }

    /// Adds one user to an edge.
    pub(super) fn take(&self, edge: usize) {
        let usage = self.usage[edge].load(Relaxed) + 1;
        self.set_usage(edge, usage);
    }

    /// Removes one user from an edge.
    pub(super) fn give_back(&self, edge: usize) {
        let usage = self.usage[edge].load(Relaxed) - 1;
        self.set_usage(edge, usage);
    }

    fn set_usage(&self, edge: usize, usage: u32) {
        self.usage[edge].store(usage, Relaxed);
        self.costs[edge].store(self.current_cost(edge, usage), Relaxed);
    }

    /// What an edge costs the next net while `usage` nets use it. A sum that is too large becomes
    /// the largest cost, so that the edge is still used where there is no other.
    fn current_cost(&self, edge: usize, usage: u32) -> u32 {
        let (weight, capacity) = (self.weight(edge), self.capacity(edge));
        if weight == BLOCKED || capacity == 0 {
            return NONE;
        }
        let over = match capacity {
            UNLIMITED => 0,
            _ => (usage + 1).saturating_sub(capacity),
        };
        let past = u64::from(base(weight)) + u64::from(self.history[edge]);
        // In sixteenths.
        let factor = u64::from(UNIT) + u64::from(over) * u64::from(self.pressure);
        let cost = past.saturating_mul(factor) / u64::from(UNIT);
        cost.min(u64::from(NONE - 1)) as u32
    }

    /// By how many nets an edge is overfull.
    pub(super) fn overflow(&self, edge: usize) -> u32 {
        let usage = self.usage[edge].load(Relaxed);
        usage.saturating_sub(self.capacity(edge))
    }

    /// The overfull edges, in their order.
    pub(super) fn overfull(&self) -> Result<Vec<usize>> {
        let all = (0..self.usage.len()).into_par_iter();
        par_collect(all.filter(|&edge| self.overflow(edge) > 0), EDGES)
    }

    /// Has the overfull edges cost more from now on.
    pub(super) fn remember(&mut self, overfull: &[usize]) {
        for &edge in overfull {
            let more = u64::from(self.weight(edge).max(1)) * u64::from(self.overflow(edge));
            let more = more.saturating_mul(HISTORY.into());
            let history = u64::from(self.history[edge]).saturating_add(more);
            self.history[edge] = history.min(MAX_HISTORY.into()) as u32;
        }
    }

    /// The users of an edge and their permitted number.
    pub(super) fn usage_and_capacity(&self, edge: usize) -> (u32, u32) {
        (self.usage[edge].load(Relaxed), self.capacity(edge))
    }

    /// The users of all edges.
    pub(super) fn usage(&self) -> Result<EdgeCounts> {
        let mut counts = EdgeCounts::zero(self.grid)?;
        for (kind, counts) in counts.counts_mut().into_iter().enumerate() {
            for (cell, count) in counts.iter_mut().enumerate() {
                *count = self.usage[KINDS * cell + kind].load(Relaxed);
            }
        }
        Ok(counts)
    }
}

/// What an edge with room costs. An edge of weight 0 costs a little, so that nets don't stray.
fn base(weight: u32) -> u32 {
    (weight * UNIT).max(1)
}
