//! [`Route`]: the tree that joins a net's pins.

use std::collections::{BTreeSet, HashMap};

use super::grid::{BLOCKED, RoutingGrid};
use super::net::{Net, Pin};
use super::net_by_net::{PATHS, PINS};
use crate::Error;
use crate::geometry::Cell;
use crate::memory::{collect, extend, reserve, reserve_in_map, zeroed_vec};

/// A path by which a pin was joined to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connection<'a> {
    /// The pin's index in its net.
    pub pin: usize,
    /// The sum of its edges' weights.
    pub cost: u64,
    /// Its cells from the pin to the tree, both ends included: one cell if the pin was on the tree
    /// already.
    pub cells: &'a [Cell],
}

/// Why a [`Route`] is no tree of its net: see [`Route::verify`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct InvalidRoute {
    /// What is wrong, in words.
    pub reason: String,
}

/// How [`RouteAlgorithm::Fields`](super::RouteAlgorithm::Fields) found a tree: which of its paths
/// come from fields, and why the others do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldUse {
    /// Pins that were joined by fields, small ones included.
    pub by_fields: usize,
    /// Pins that were each joined by a search in tiles, after which fields continued.
    pub by_searches: usize,
    /// Pins that were left to tiles and joined there.
    pub in_tiles: usize,
    /// Why fields did not route the whole net; `None` if they did, or if there was nothing to join.
    pub fallback: Option<Fallback>,
}

impl FieldUse {
    /// How a tree was found if this is how its first pins were joined, and `rest` how the others.
    pub(in crate::route) fn and(self, rest: Self) -> Self {
        Self {
            by_fields: self.by_fields + rest.by_fields,
            by_searches: self.by_searches + rest.by_searches,
            in_tiles: self.in_tiles + rest.in_tiles,
            fallback: rest.fallback,
        }
    }
}

/// Why a net, or the rest of it, was routed in tiles instead of by fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fallback {
    /// The grid has several layers.
    Layers,
    /// The grid has edges of weight 0.
    FreeEdges,
    /// The pins are too far from each other, or have cells too far from each other, for the largest
    /// boxes that the GPU's blocks can hold; or there are only two, in a large window.
    FarApart,
    /// The net's fields, or its window, have more cells than can be routed at the same time.
    TooLarge,
    /// The remaining pins needed searches, and tiles are faster: after many searches, or for few
    /// pins.
    Searches,
    /// The GPU had no memory for the fields.
    OutOfMemory,
}

impl Fallback {
    /// The reason's name, as the command writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Layers => "layers",
            Self::FreeEdges => "free-edges",
            Self::FarApart => "far-apart",
            Self::TooLarge => "too-large",
            Self::Searches => "searches",
            Self::OutOfMemory => "out-of-memory",
        }
    }
}

/// The tree that joins a net's pins: one path per pin but the first, in the order of joining.
///
/// Two are equal if their trees are, however they were found.
#[derive(Clone, Debug, Default)]
pub struct Route {
    pub(in crate::route) cost: u64,
    pub(in crate::route) turn_cost: u64,
    /// The cells of the first pin.
    pub(in crate::route) root: Vec<Cell>,
    pub(in crate::route) pins: Vec<usize>,
    pub(in crate::route) costs: Vec<u64>,
    /// The end of each path's cells.
    pub(in crate::route) ends: Vec<usize>,
    pub(in crate::route) cells: Vec<Cell>,
    pub(in crate::route) unreached: Vec<usize>,
    pub(in crate::route) field_use: Option<FieldUse>,
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            cost,
            turn_cost,
            root,
            pins,
            costs,
            ends,
            cells,
            unreached,
            field_use: _,
        } = self;
        *cost == other.cost
            && *turn_cost == other.turn_cost
            && *root == other.root
            && *pins == other.pins
            && *costs == other.costs
            && *ends == other.ends
            && *cells == other.cells
            && *unreached == other.unreached
    }
}

impl Eq for Route {}

impl Route {
    /// The tree of `net` with these paths; see the fields.
    pub(in crate::route) fn new(
        net: &Net,
        pins: Vec<usize>,
        costs: Vec<u64>,
        ends: Vec<usize>,
        cells: Vec<Cell>,
    ) -> Result<Self, Error> {
        let mut reached: Vec<bool> = zeroed_vec(net.pins.len(), PINS)?;
        for &pin in &pins {
            reached[pin] = true;
        }
        let root = net.pins.iter().take(1).flat_map(|pin| &pin.cells);
        Ok(Self {
            cost: costs.iter().sum(),
            turn_cost: 0,
            root: collect(root.copied(), PINS)?,
            unreached: collect((1..net.pins.len()).filter(|&pin| !reached[pin]), PINS)?,
            pins,
            costs,
            ends,
            cells,
            field_use: None,
        })
    }

    /// The rest of `net` when this is its tree so far: a net whose first pin is the tree, and whose
    /// other pins are the unjoined ones, in order.
    pub(in crate::route) fn rest(&self, net: &Net) -> Result<Net, Error> {
        let joined = net.pins.iter().enumerate();
        let joined = joined.filter(|(pin, _)| self.unreached.binary_search(pin).is_err());
        let joined = joined.flat_map(|(_, pin)| &pin.cells);
        let mut pins = Vec::new();
        reserve(&mut pins, 1 + self.unreached.len(), PINS)?;
        pins.push(Pin {
            cells: collect(self.cells.iter().chain(joined).copied(), PINS)?,
        });
        for &pin in &self.unreached {
            pins.push(net.pins[pin].try_clone()?);
        }
        Ok(Net {
            pins,
            window: net.window,
        })
    }

    /// This tree, extended by that of its [`rest`](Self::rest).
    pub(in crate::route) fn continued(mut self, rest: Self) -> Result<Self, Error> {
        let index = |pin: &usize| self.unreached[pin - 1];
        let start = self.cells.len();
        self.cost += rest.cost;
        extend(&mut self.pins, rest.pins.iter().map(index), PINS)?;
        extend(&mut self.costs, rest.costs, PATHS)?;
        let ends = rest.ends.iter().map(|end| start + end);
        extend(&mut self.ends, ends, PATHS)?;
        extend(&mut self.cells, rest.cells, PATHS)?;
        self.unreached = collect(rest.unreached.iter().map(index), PINS)?;
        Ok(self)
    }

    /// How much of the tree was found by fields, and why no more; `None` if an algorithm other than
    /// [`RouteAlgorithm::Fields`](super::RouteAlgorithm::Fields) was requested. An improved tree,
    /// or one with a cost of turns, reports how its original tree was found.
    pub fn field_use(&self) -> Option<FieldUse> {
        self.field_use
    }

    /// The sum of the weights of all edges, plus the cost of turns.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The cost of turns, by [`RouteOptions::turn_cost`](super::RouteOptions::turn_cost). It is not
    /// part of the paths' costs.
    pub fn turn_cost(&self) -> u64 {
        self.turn_cost
    }

    /// The number of cells, other than those of the pins of `net`, at which the tree turns or
    /// branches, that is, has edges along x and along y.
    pub(in crate::route) fn turns(&self, net: &Net) -> Result<u64, Error> {
        let mut axes: HashMap<Cell, (bool, bool)> = HashMap::new();
        for (a, b) in self.edges() {
            for cell in [a, b] {
                reserve_in_map(&mut axes, "the cells of a tree")?;
                let (x, y) = axes.entry(cell).or_default();
                *x |= a.x != b.x;
                *y |= a.y != b.y;
            }
        }
        for cell in net.pins.iter().flat_map(|pin| &pin.cells) {
            axes.remove(cell);
        }
        Ok(axes.values().filter(|&&(x, y)| x && y).count() as u64)
    }

    /// The indices of the pins that no path reaches, in order: blocked edges or the window separate
    /// them from the first pin.
    pub fn unreached(&self) -> &[usize] {
        &self.unreached
    }

    /// The paths, in the order in which they were joined.
    pub fn connections(&self) -> impl ExactSizeIterator<Item = Connection<'_>> {
        (0..self.pins.len()).map(|i| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] };
            Connection {
                pin: self.pins[i],
                cost: self.costs[i],
                cells: &self.cells[start..self.ends[i]],
            }
        })
    }

    /// The tree's cells, each once, by layer, row and column. They include the first pin's cells
    /// that a path touches (all of its cells if there is no path), and the cell at which each pin
    /// was joined.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = if self.cells.is_empty() {
            self.root.clone()
        } else {
            self.cells.clone()
        };
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// The tree's edges, each as its two cells.
    pub fn edges(&self) -> impl Iterator<Item = (Cell, Cell)> + '_ {
        self.connections()
            .flat_map(|path| path.cells.windows(2).map(|pair| (pair[0], pair[1])))
    }

    /// The paths as straight wires and vias: the first and last cell of each straight stretch.
    pub fn segments(&self) -> Vec<(Cell, Cell)> {
        let mut segments: Vec<(Cell, Cell)> = Vec::new();
        for path in self.connections() {
            let mut last = None;
            for pair in path.cells.windows(2) {
                let step = step(pair[0], pair[1]);
                match segments.last_mut() {
                    Some(segment) if last == Some(step) => segment.1 = pair[1],
                    _ => segments.push((pair[0], pair[1])),
                }
                last = Some(step);
            }
        }
        segments
    }

    /// Checks that this is a tree on `grid` that joins the pins of `net`: every edge is between
    /// neighbours, not blocked, and within the net's window; no edge occurs twice and there is no
    /// cycle; all pins are joined but those [unreached](Self::unreached); the costs are the sums of
    /// the weights, and that of turns is a multiple of their number. Cells of one pin count as
    /// joined.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn verify(&self, grid: &RoutingGrid, net: &Net) -> Result<(), InvalidRoute> {
        self.check(grid, net)
            .map_err(|reason| InvalidRoute { reason })
    }

    fn check(&self, grid: &RoutingGrid, net: &Net) -> Result<(), String> {
        let mut sets = Sets::default();
        let window = net
            .check(0, grid.width(), grid.height(), grid.layers())
            .map_err(|error| error.to_string())?;
        // The cells of a pin join when the pin does: a cell may be in several pins, and a path may
        // pass two cells of another pin.
        let join_pin = |sets: &mut Sets, pin: &super::Pin| {
            for &cell in &pin.cells {
                sets.join(pin.cells[0], cell);
            }
        };
        if let Some(root) = net.pins.first() {
            join_pin(&mut sets, root);
        }
        let mut total = 0u64;
        for path in self.connections() {
            let Some(pin) = net.pins.get(path.pin) else {
                return Err(format!("there is no pin {}", path.pin));
            };
            match path.cells.first() {
                Some(first) if pin.cells.contains(first) => {}
                other => {
                    return Err(format!("the path of pin {} starts at {other:?}", path.pin));
                }
            }
            let mut cost = 0u64;
            for pair in path.cells.windows(2) {
                let weight = weight(grid, pair[0], pair[1])
                    .ok_or_else(|| format!("no edge from {} to {}", pair[0], pair[1]))?;
                if !window.contains(pair[0]) || !window.contains(pair[1]) {
                    return Err(format!("{} or {} is outside the window", pair[0], pair[1]));
                }
                if !sets.join(pair[0], pair[1]) {
                    return Err(format!(
                        "the edge from {} to {} closes a cycle",
                        pair[0], pair[1]
                    ));
                }
                cost += u64::from(weight);
            }
            if cost != path.cost {
                return Err(format!(
                    "the path of pin {} costs {cost}, not {}",
                    path.pin, path.cost
                ));
            }
            total += cost;
            join_pin(&mut sets, pin);
        }
        if total + self.turn_cost != self.cost {
            return Err(format!(
                "the tree costs {total} and {} for turns, not {}",
                self.turn_cost, self.cost
            ));
        }
        let turns = self.turns(net).map_err(|error| error.to_string())?;
        if self.turn_cost.checked_rem(turns).unwrap_or(self.turn_cost) != 0 {
            return Err(format!(
                "{turns} turns cannot cost {} together",
                self.turn_cost
            ));
        }
        let unreached: BTreeSet<_> = self.unreached.iter().copied().collect();
        let mut joined: Vec<_> = self
            .pins
            .iter()
            .copied()
            .chain(unreached.iter().copied())
            .collect();
        joined.sort_unstable();
        if joined != (1..net.pins.len()).collect::<Vec<_>>() {
            return Err("not every pin has one path, or is unreached".into());
        }
        for &cell in &self.cells {
            if sets.find(cell) != sets.find(net.pins[0].cells[0]) {
                return Err(format!("{cell} is apart from the first pin"));
            }
        }
        Ok(())
    }
}

/// The direction from a cell to the next: the sign of each coordinate's difference.
fn step(from: Cell, to: Cell) -> [i8; 3] {
    let sign = |a: u32, b: u32| i8::from(b > a) - i8::from(b < a);
    [
        sign(from.x, to.x),
        sign(from.y, to.y),
        sign(from.layer, to.layer),
    ]
}

/// The weight of the edge between two neighbours, if there is one that is not blocked.
fn weight(grid: &RoutingGrid, a: Cell, b: Cell) -> Option<u32> {
    if !grid.contains(a) || !grid.contains(b) {
        return None;
    }
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    let weight = if b == (Cell { x: a.x + 1, ..a }) {
        grid.right(a)
    } else if b == (Cell { y: a.y + 1, ..a }) {
        grid.down(a)
    } else if b == a.on(a.layer + 1) {
        grid.via(a)
    } else {
        BLOCKED
    };
    (weight != BLOCKED).then_some(weight)
}

/// Disjoint sets of cells.
#[derive(Default)]
struct Sets(HashMap<Cell, Cell>);

impl Sets {
    fn find(&mut self, cell: Cell) -> Cell {
        let mut root = cell;
        while let Some(&parent) = self.0.get(&root) {
            root = parent;
        }
        let mut at = cell;
        while let Some(parent) = self.0.get_mut(&at) {
            at = std::mem::replace(parent, root);
        }
        root
    }

    /// Joins the sets of two cells; returns whether they were separate.
    fn join(&mut self, a: Cell, b: Cell) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        self.0.insert(a, b);
        true
    }
}
