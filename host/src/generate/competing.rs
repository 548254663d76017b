//! [`CompetingNets`]: nets that compete for edges, with capacities that suffice.

use super::random::{below, random};
use crate::error::{Error, OptionProblem, Result};
use crate::memory::{push, reserve};
use crate::options::setters;
use crate::route::{
    BLOCKED, Cell, EdgeCounts, MAX_LAYERS, Net, Pin, RoutingCase, RoutingGrid, check_size,
};

/// The parameters of random nets that compete for the edges of a grid.
///
/// ```
/// use trazar::Engine;
/// use trazar::generate::CompetingNets;
/// use trazar::route::NegotiationOptions;
///
/// let case = CompetingNets::default().width(48).height(32).nets(40).reach(20).demand(0.6);
/// let case = case.generate(7)?;
/// let capacities = case.capacities.as_ref().unwrap();
/// let options = NegotiationOptions::default();
/// let found = Engine::cpu().negotiate(&case.grid, capacities, &case.nets, &options)?;
/// assert_eq!(found.overflow(), 0);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// The same values and seed give the same case on every machine:
///
/// - wires run along x on the first, third, … layer, and along y on the others; an edge of a layer
///   has the weight 1, a via `via_weight`;
/// - the pins of a net are cells of layer 0, uniform in a square of side `reach`, which is uniform
///   on the grid;
/// - the generator routes each net on its own: every pin to the nearest of those before it, with
///   one or two bends, on the least used of eight random ways. The capacity of an edge of a layer
///   is the number of nets that use it in this **hidden solution**, or a constant that is the same
///   everywhere, rounded up or down at random, whichever is more. The constant is such that the
///   hidden solution uses the share `demand` of all these capacities;
/// - a via has room for as many nets as use it in the hidden solution, or for the constant rounded
///   up, whichever is more.
///
/// So trees without overflow exist for every demand up to 1.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompetingNets {
    /// Width in cells; 1024 by default.
    pub width: u32,
    /// Height in cells; 1024 by default.
    pub height: u32,
    /// The number of layers, 2 to [`MAX_LAYERS`]; 4 by default.
    pub layers: u32,
    /// The cost of a via between two layers; 2 by default.
    pub via_weight: u32,
    /// The number of nets; 10,000 by default.
    pub nets: u32,
    /// The number of pins per net; 6 by default.
    pub pins: u32,
    /// The side of the square around a net's pins, in cells; 256 by default. It is at most the
    /// grid's smaller side.
    pub reach: u32,
    /// The share of the layers' capacities that the hidden solution uses, above 0 and at most 1;
    /// 0.9 by default.
    pub demand: f64,
}

impl Default for CompetingNets {
    fn default() -> Self {
        Self {
            width: 1024,
            height: 1024,
            layers: 4,
            via_weight: 2,
            nets: 10_000,
            pins: 6,
            reach: 256,
            demand: 0.9,
        }
    }
}

setters! {
    CompetingNets {
        width: u32,
        height: u32,
        layers: u32,
        via_weight: u32,
        nets: u32,
        pins: u32,
        reach: u32,
        demand: f64,
    }
}

/// Stream numbers, the upper half of an index in the random sequence. Net `n` has `NETS + n`.
mod stream {
    pub(super) const CAPACITIES: u64 = 0;
    pub(super) const NETS: u64 = 1;
}

/// The ways among which a connection of the hidden solution is chosen.
const WAYS: u32 = 8;
/// The constant part of capacities is a multiple of this part of 1.
const FRACTION: u32 = 16;
/// Names used in out-of-memory errors.
const NETS: &str = "the nets";
const USAGE: &str = "the use of edges";

impl CompetingNets {
    /// Makes the case.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for fewer than two layers or more than [`MAX_LAYERS`], a weight of
    /// `BLOCKED`, a demand that is not above 0 and at most 1, or a reach of 0;
    /// [`Error::EmptyGrid`], [`Error::GridTooLarge`], [`Error::OutOfMemory`].
    pub fn generate(&self, seed: u64) -> Result<RoutingCase> {
        self.check()?;
        let grid = self.grid()?;
        let mut hidden = Hidden::new(&grid)?;
        let mut nets = Vec::new();
        reserve(&mut nets, self.nets as usize, NETS)?;
        for net in 0..self.nets {
            let mut drawn = Drawn::new(seed, stream::NETS + u64::from(net));
            let net = self.net(&mut drawn)?;
            hidden.route(&net, &mut drawn)?;
            nets.push(net);
        }
        let capacities = self.capacities(&grid, &hidden.usage, seed)?;
        Ok(RoutingCase::new(grid, nets).with_capacities(capacities))
    }

    fn check(&self) -> Result<()> {
        let invalid =
            |option, reason: String| Err(Error::option(option, OptionProblem::OutOfRange, reason));
        check_size(self.width.into(), self.height.into(), self.layers)?;
        if !(2..=MAX_LAYERS).contains(&self.layers) {
            let reason = format!(
                "{} layers: wires along x and along y need two, and a grid has {MAX_LAYERS} at \
                 most",
                self.layers
            );
            return invalid("layers", reason);
        }
        if self.via_weight == BLOCKED {
            let reason = format!(
                "a via weight of {BLOCKED}: it must be from 0 to {}",
                BLOCKED - 1
            );
            return invalid("via_weight", reason);
        }
        if self.reach == 0 {
            return invalid("reach", "a reach of 0 cells: it is 1 at least".into());
        }
        if !(self.demand > 0.0 && self.demand <= 1.0) {
            let reason = format!(
                "a demand of {}: it must be above 0, and at most 1",
                self.demand
            );
            return invalid("demand", reason);
        }
        Ok(())
    }

    fn grid(&self) -> Result<RoutingGrid> {
        let mut grid = RoutingGrid::blocked(self.width, self.height, self.layers)?;
        let (width, height) = (self.width as usize, self.height as usize);
        let [rights, downs, vias] = grid.weights_mut();
        for line in 0..height * self.layers as usize {
            let row = line * width;
            let (layer, y) = (line / height, line % height);
            if layer.is_multiple_of(2) {
                rights[row..][..width - 1].fill(1);
            } else if y + 1 < height {
                downs[row..][..width].fill(1);
            }
        }
        let last = vias.len() - width * height;
        vias[..last].fill(self.via_weight);
        Ok(grid)
    }

    fn net(&self, drawn: &mut Drawn) -> Result<Net> {
        let reach = self.reach.min(self.width).min(self.height);
        let left = drawn.below(self.width - reach + 1);
        let top = drawn.below(self.height - reach + 1);
        let mut net = Net::default();
        reserve(&mut net.pins, self.pins as usize, NETS)?;
        for _ in 0..self.pins {
            let x = left + drawn.below(reach);
            let y = top + drawn.below(reach);
            let mut cells = Vec::new();
            push(&mut cells, Cell::at(x, y), NETS)?;
            net.pins.push(Pin { cells });
        }
        Ok(net)
    }

    /// The capacities for the use of edges by the hidden solution.
    fn capacities(&self, grid: &RoutingGrid, usage: &EdgeCounts, seed: u64) -> Result<EdgeCounts> {
        let open = |weights: &[u32], cell: usize| weights[cell] != BLOCKED;
        // The number for an edge, which is 0 in the share of edges that a fraction leaves.
        let rounded = |constant: u64, kind: u64, cell: usize| {
            let drawn = random(seed, stream::CAPACITIES << 32 | (2 * cell as u64 + kind));
            let up = (drawn >> (64 - FRACTION)) < constant & ((1 << FRACTION) - 1);
            (constant >> FRACTION) as u32 + u32::from(up)
        };
        let kinds = [
            (grid.rights(), usage.rights()),
            (grid.downs(), usage.downs()),
        ];
        let used = kinds.iter().flat_map(|(_, usage)| usage.iter());
        let used: u64 = used.copied().map(u64::from).sum();
        let sum = |constant: u64| -> u64 {
            let each = (0..).zip(&kinds).map(|(kind, (weights, usage))| {
                let cells = usage
                    .iter()
                    .enumerate()
                    .filter(|(cell, _)| open(weights, *cell));
                let counts = cells.map(|(cell, &used)| used.max(rounded(constant, kind, cell)));
                counts.map(u64::from).sum::<u64>()
            });
            each.sum()
        };
        // The smallest constant for which there is enough room.
        let enough = (used as f64 / self.demand) as u64;
        let (mut low, mut high) = (1 << FRACTION, (u64::from(self.nets) + 1) << FRACTION);
        while low < high {
            let middle = (low + high) / 2;
            match sum(middle) < enough {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let mut capacities = EdgeCounts::zero(grid)?;
        let [rights, downs, vias] = capacities.counts_mut();
        for (kind, (counts, (weights, usage))) in (0..).zip([rights, downs].into_iter().zip(kinds))
        {
            for (cell, (count, &used)) in counts.iter_mut().zip(usage).enumerate() {
                if open(weights, cell) {
                    *count = used.max(rounded(low, kind, cell));
                }
            }
        }
        let least = (low >> FRACTION) as u32 + 1;
        for (cell, (count, &used)) in vias.iter_mut().zip(usage.vias()).enumerate() {
            if open(grid.vias(), cell) {
                *count = used.max(least);
            }
        }
        Ok(capacities)
    }
}

/// Random numbers of one stream.
struct Drawn {
    seed: u64,
    next: u64,
}

impl Drawn {
    fn new(seed: u64, stream: u64) -> Self {
        Self {
            seed,
            next: stream << 32,
        }
    }

    /// A number less than `count`.
    fn below(&mut self, count: u32) -> u32 {
        let drawn = random(self.seed, self.next);
        self.next += 1;
        below(drawn, count.into()) as u32
    }
}

/// A straight stretch, from a cell over a number of edges along x (0), y (1) or layers (2).
#[derive(Clone, Copy, Default)]
struct Stretch {
    axis: usize,
    from: Cell,
    edges: u32,
}

impl Stretch {
    fn between(a: Cell, b: Cell) -> Self {
        let (from, to) = (a.min(b), a.max(b));
        let (axis, edges) = if a.layer != b.layer {
            (2, to.layer - from.layer)
        } else if a.y != b.y {
            (1, to.y - from.y)
        } else {
            (0, to.x - from.x)
        };
        Self { axis, from, edges }
    }
}

/// A way between two pins: up, along, up or down, and so on.
type Way = [Stretch; 7];

/// The hidden solution.
struct Hidden<'a> {
    grid: &'a RoutingGrid,
    usage: EdgeCounts,
    /// The edges of the current net, as an axis and the index of a cell.
    edges: Vec<(usize, usize)>,
}

impl<'a> Hidden<'a> {
    fn new(grid: &'a RoutingGrid) -> Result<Self> {
        Ok(Self {
            grid,
            usage: EdgeCounts::zero(grid)?,
            edges: Vec::new(),
        })
    }

    fn route(&mut self, net: &Net, drawn: &mut Drawn) -> Result<()> {
        self.edges.clear();
        let pins = || net.pins.iter().map(|pin| pin.cells[0]);
        for (count, pin) in pins().enumerate().skip(1) {
            let apart = |other: &Cell| pin.x.abs_diff(other.x) + pin.y.abs_diff(other.y);
            let Some(other) = pins().take(count).min_by_key(apart) else {
                continue;
            };
            let mut best: Option<(u64, Way)> = None;
            for _ in 0..WAYS {
                let way = self.draw_way(pin, other, drawn);
                let cost = self.cost(&way);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, way));
                }
            }
            for stretch in best.iter().flat_map(|(_, way)| way) {
                for edge in self.edges_of(*stretch) {
                    push(&mut self.edges, (stretch.axis, edge), USAGE)?;
                }
            }
        }
        self.edges.sort_unstable();
        self.edges.dedup();
        let usage = self.usage.counts_mut();
        for &(axis, edge) in &self.edges {
            usage[axis][edge] += 1;
        }
        Ok(())
    }

    /// A way with one bend or two: along x, y and x, or along y, x and y.
    fn draw_way(&self, from: Cell, to: Cell, drawn: &mut Drawn) -> Way {
        let layers = self.grid.layers();
        let along_x = 2 * drawn.below(layers.div_ceil(2));
        let along_y = 1 + 2 * drawn.below(layers / 2);
        let between = |a: u32, b: u32, drawn: &mut Drawn| a.min(b) + drawn.below(a.abs_diff(b) + 1);
        let (first, turns, second) = match drawn.below(2) {
            0 => {
                let x = between(from.x, to.x, drawn);
                let turns = [Cell::at(x, from.y), Cell::at(x, to.y)];
                (along_x, turns, along_y)
            }
            _ => {
                let y = between(from.y, to.y, drawn);
                let turns = [Cell::at(from.x, y), Cell::at(to.x, y)];
                (along_y, turns, along_x)
            }
        };
        let corners = [
            from,
            from.on(first),
            turns[0].on(first),
            turns[0].on(second),
            turns[1].on(second),
            turns[1].on(first),
            to.on(first),
            to,
        ];
        let mut way = Way::default();
        for (stretch, pair) in way.iter_mut().zip(corners.windows(2)) {
            *stretch = Stretch::between(pair[0], pair[1]);
        }
        way
    }

    /// The sum of what edges cost: more the more nets use them.
    fn cost(&self, way: &Way) -> u64 {
        let usage = [self.usage.rights(), self.usage.downs(), self.usage.vias()];
        let each = way.iter().flat_map(|stretch| {
            let usage = usage[stretch.axis];
            self.edges_of(*stretch)
                .map(move |edge| u64::from(usage[edge]))
        });
        each.map(|used| (used + 1) * (used + 1)).sum()
    }

    fn edges_of(&self, stretch: Stretch) -> impl Iterator<Item = usize> + use<> {
        let (width, height) = (self.grid.width() as usize, self.grid.height() as usize);
        let step = [1, width, width * height][stretch.axis];
        let start = self.grid.index(stretch.from) as usize;
        (0..stretch.edges as usize).map(move |i| start + i * step)
    }
}
