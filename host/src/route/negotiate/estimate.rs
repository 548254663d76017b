//! [`Estimates`]: what a path costs at least, from the directions of layers and the cheapest
//! weights.

use trazar_kernels::route::negotiate as kernels;

use super::edges::{KINDS, NONE};
use crate::error::Result;
use crate::geometry::Cell;
use crate::memory::{push, with_room, zeroed_vec};
use crate::route::grid::MAX_LAYERS;
use crate::route::net::Pin;

/// Name used in out-of-memory errors.
const ESTIMATES: &str = "estimates of costs";

const LAYERS: usize = kernels::LAYERS as usize;
const _: () = assert!(kernels::LAYERS == MAX_LAYERS);
/// The kinds of steps that a path still needs, as bits: none, along x, along y, both.
const NEEDS: usize = kernels::NEEDS as usize;

/// Lower bounds for the costs of paths. A path that needs steps along x visits a layer with such
/// edges, and so for y: with its ends, that tells how many vias it has at least.
pub(super) struct Estimates {
    /// The smallest cost of an edge along x and along y.
    pub(super) steps: [u64; 2],
    /// By layer: the needs that its edges serve.
    pub(super) serves: Vec<usize>,
    /// By first layer, last layer and needs: the cost of the vias.
    vias: Vec<[[u64; NEEDS]; LAYERS]>,
}

impl Estimates {
    /// From the smallest costs of edges of each layer, of each kind; [`NONE`] where there is none.
    pub(super) fn new(least: &[[u32; KINDS]]) -> Result<Self> {
        let layers = least.len();
        let step = |kind: usize| {
            let costs = least.iter().map(|costs| costs[kind]);
            costs.min().filter(|&cost| cost != NONE).unwrap_or(0).into()
        };
        let mut serves = with_room(layers, ESTIMATES)?;
        // What the vias from the lowest layer cost.
        let mut height = [0_u64; LAYERS];
        for (layer, costs) in least.iter().enumerate() {
            serves.push(usize::from(costs[0] != NONE) | usize::from(costs[1] != NONE) << 1);
            if layer + 1 < layers {
                let via = if costs[2] == NONE { 0 } else { costs[2] };
                height[layer + 1] = height[layer] + u64::from(via);
            }
        }
        let all = serves.iter().fold(0, |all, serves| all | serves);
        let mut vias = with_room(layers, ESTIMATES)?;
        for from in 0..layers {
            let mut row = [[0; NEEDS]; LAYERS];
            for (to, costs) in row.iter_mut().enumerate().take(layers) {
                let (low, high) = (from.min(to), from.max(to));
                for (needs, cost) in costs.iter_mut().enumerate() {
                    // All ranges of layers that a path may visit: outside of its ends, twice.
                    let ranges = (0..=low).flat_map(|a| (high..layers).map(move |b| (a, b)));
                    let served = ranges.filter(|&(a, b)| {
                        let serves = serves[a..=b].iter().fold(0, |all, serves| all | serves);
                        needs & all & !serves == 0
                    });
                    let costs = served
                        .map(|(a, b)| 2 * (height[b] - height[a]) - (height[high] - height[low]));
                    *cost = costs.min().unwrap_or(0);
                }
            }
            push(&mut vias, row, ESTIMATES)?;
        }
        Ok(Self {
            steps: [step(0), step(1)],
            serves,
            vias,
        })
    }

    /// By first layer, last layer and needs, with room for all layers that a grid may have: the
    /// least costs of vias.
    pub(super) fn via_costs(&self) -> Result<Vec<u64>> {
        let mut costs = zeroed_vec(LAYERS * LAYERS * NEEDS, ESTIMATES)?;
        for (costs, row) in costs.chunks_exact_mut(LAYERS * NEEDS).zip(&self.vias) {
            costs.copy_from_slice(row.as_flattened());
        }
        Ok(costs)
    }

    /// The estimates for paths to `pin`.
    pub(super) fn towards(&self, pin: &Pin) -> Target {
        let mut around = CellBox::EMPTY;
        for &cell in &pin.cells {
            around.include(cell);
        }
        self.towards_box(around)
    }

    /// The estimates for paths to a box, which has a cell.
    pub(super) fn towards_box(&self, CellBox { low, high }: CellBox) -> Target {
        let mut vias = [[0; NEEDS]; LAYERS];
        for (costs, row) in vias.iter_mut().zip(&self.vias) {
            for (needs, cost) in costs.iter_mut().enumerate() {
                let ends = &row[low.layer as usize..=high.layer as usize];
                *cost = ends.iter().map(|costs| costs[needs]).min().unwrap_or(0);
            }
        }
        Target {
            low,
            high,
            steps: self.steps,
            vias,
        }
    }
}

/// The box around some cells.
#[derive(Clone, Copy)]
pub(super) struct CellBox {
    low: Cell,
    high: Cell,
}

impl CellBox {
    pub(super) const EMPTY: Self = Self {
        low: Cell {
            x: u32::MAX,
            y: u32::MAX,
            layer: u32::MAX,
        },
        high: Cell {
            x: 0,
            y: 0,
            layer: 0,
        },
    };

    /// Extends the box to a cell.
    pub(super) fn include(&mut self, cell: Cell) {
        let Self { low, high } = self;
        low.x = low.x.min(cell.x);
        low.y = low.y.min(cell.y);
        low.layer = low.layer.min(cell.layer);
        high.x = high.x.max(cell.x);
        high.y = high.y.max(cell.y);
        high.layer = high.layer.max(cell.layer);
    }
}

/// The cells of a pin, towards which a search goes, and the estimates for paths to the box around
/// them.
pub(super) struct Target {
    pub(super) low: Cell,
    pub(super) high: Cell,
    steps: [u64; 2],
    /// By layer and needs.
    vias: [[u64; NEEDS]; LAYERS],
}

impl Target {
    /// A path from `cell` to the box costs this much at least. Along an edge, the estimate falls by
    /// no more than the edge's cost.
    #[inline(always)]
    pub(super) fn distance(&self, cell: Cell) -> u64 {
        let apart = |at: u32, low: u32, high: u32| low.saturating_sub(at) + at.saturating_sub(high);
        let x = apart(cell.x, self.low.x, self.high.x);
        let y = apart(cell.y, self.low.y, self.high.y);
        let needs = usize::from(x > 0) | usize::from(y > 0) << 1;
        // A grid has less than 2³² cells: the sums are below 2⁶³.
        u64::from(x) * self.steps[0]
            + u64::from(y) * self.steps[1]
            + self.vias[cell.layer as usize % LAYERS][needs]
    }
}
