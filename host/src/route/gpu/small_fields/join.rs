//! Joining the pins of a net by their small fields: again and again the nearest one.

use std::collections::HashMap;

use trazar_kernels::route::small_fields::{NearNet, NearPin, PathKey};

use super::far::{self, FarField};
use super::ranks::{Rank, Ranks};
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{collect, extend, prefetch, push, reserve, reserve_in_map};
use crate::route::cell_bits::CellBits;
use crate::route::gpu::fields::InFields;
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;
use crate::route::net_by_net::{PATHS, PINS};
use crate::route::tree::{FieldUse, Route};

/// The pins near each cell of all windows of a batch, without those that the tree will not join
/// from there.
pub(super) struct Lists {
    /// By cell: where its list begins, and, as the next element, where it ends.
    pub(super) ends: Vec<u32>,
    pub(super) pins: Vec<NearPin>,
}

impl Lists {
    fn of(&self, cell: usize) -> &[NearPin] {
        &self.pins[self.ends[cell] as usize..self.ends[cell + 1] as usize]
    }
}

/// A net and its tree so far.
pub(super) struct Join<'a> {
    net: &'a Net,
    window: Window,
    /// The net as the kernels took it.
    near_net: NearNet,
    nearest: Nearest,
    /// The tree's cells, by their indices among those of the net.
    tree: CellBits,
    /// By pin.
    far_fields: HashMap<u32, FarField>,
    /// By cell: the pins with far fields that small fields do not reach from there, and how far
    /// they are.
    far_pins: HashMap<u32, Vec<(u32, u32)>>,
    /// How many far fields may still grow.
    far_left: usize,
    /// The pins in the order of joining, the costs of their paths, where these end, and their
    /// cells.
    pins: Vec<usize>,
    costs: Vec<u64>,
    ends: Vec<usize>,
    cells: Vec<Cell>,
}

/// Far fields that may grow, and pins for each that may.
const FAR_FIELDS: usize = 8;
const PINS_PER_FAR_FIELD: usize = 128;

impl<'a> Join<'a> {
    /// With the first pin as the tree. As long as no cell of the tree has a pin on its list, the
    /// pin is not joined at a lower cost than its element of `bounds`.
    pub(super) fn new(
        (net, window): (&'a Net, Window),
        near_net: NearNet,
        bounds: &[u32],
        lists: &Lists,
    ) -> Result<Self> {
        let pins = net.pins.len();
        let mut join = Self {
            net,
            window,
            near_net,
            nearest: Nearest::new(bounds)?,
            tree: CellBits::new(NearNet::cells(window.width, window.height) as u32)?,
            far_fields: HashMap::new(),
            far_pins: HashMap::new(),
            far_left: FAR_FIELDS + pins / PINS_PER_FAR_FIELD,
            pins: Vec::new(),
            costs: Vec::new(),
            ends: Vec::new(),
            cells: Vec::new(),
        };
        reserve(&mut join.pins, pins, PATHS)?;
        reserve(&mut join.costs, pins, PATHS)?;
        reserve(&mut join.ends, pins, PATHS)?;
        // planted: near-added
        for &cell in &net.pins[0].cells {
            join.add(cell, lists);
        }
        Ok(join)
    }

    /// Joins pins, each time the nearest one. Ends when all are joined, or when it is not known
    /// which is the nearest; then returns the pin that may be, if its far field may
    /// [grow](Self::grow).
    pub(super) fn run(&mut self, lists: &Lists) -> Result<Option<u32>> {
        loop {
            let nearest = self.nearest.ranks.least();
            if nearest == Rank::JOINED {
                return Ok(None);
            }
            if !nearest.is_known() {
                let may_grow = self.far_left > 0 && nearest.cost() < PathKey::MOST_COST;
                return Ok(may_grow.then_some(nearest.pin()));
            }
            self.join(nearest, lists)?;
        }
    }

    /// Joins the nearest pin.
    fn join(&mut self, nearest: Rank, lists: &Lists) -> Result<()> {
        let pin = nearest.pin();
        let path = self.nearest.join(pin);
        let far_field = self.far_fields.remove(&pin);
        let first = self.cells.len();
        if path.has_path() {
            let start = self.cell_of(pin);
            let cells = path.cells((start.x, start.y));
            extend(&mut self.cells, cells.map(|(x, y)| Cell::at(x, y)), PATHS)?;
        } else if let Some(field) = far_field {
            let is_on_tree = |cell| self.tree.has(self.index(cell));
            let path = field.path(nearest.cost().into(), is_on_tree)?;
            extend(&mut self.cells, path, PATHS)?;
        }
        // The last cell is on the tree.
        // planted: near-offered
        let new = first..self.cells.len() - 1;
        for i in new.clone() {
            prefetch(&lists.ends, self.list_of(self.cells[i]));
        }
        for i in new.clone() {
            let list = self.list_of(self.cells[i]);
            prefetch(&lists.pins, lists.ends[list] as usize);
        }
        for i in new {
            self.add(self.cells[i], lists);
        }
        self.pins.push(pin as usize);
        self.costs.push(nearest.cost().into());
        self.ends.push(self.cells.len());
        Ok(())
    }

    /// The part of the grid that the far field of a pin needs.
    pub(super) fn part_around(&self, pin: u32) -> Window {
        far::part_around(self.cell_of(pin), self.window)
    }

    /// Grows the far field of a pin that may be the nearest one, on the `part` of the grid
    /// [around it](Self::part_around).
    pub(super) fn grow(&mut self, pin: u32, part: RoutingGrid) -> Result<()> {
        let bound = self.nearest.keys[pin as usize].cost();
        let most = (2 * bound).min(PathKey::MOST_COST);
        let (cell, within) = (self.cell_of(pin), self.part_around(pin));
        let field = FarField::grow(part, within, self.window, cell, most.into())?;
        let limit = field.limit as u32;
        self.far_left = match limit > bound {
            true => self.far_left - 1,
            // The part of the grid ends there: a second field would not reach farther.
            false => 0,
        };
        let mut rank = Rank::bound(pin, limit.max(bound));
        for (cell, cost) in field.cells() {
            let (index, cost) = (self.index(cell), cost as u32);
            // Lists cover these cells, or another pin lies between.
            if cost < bound {
                continue;
            }
            // planted: far-tree
            if self.tree.has(index) {
                rank = rank.min(Rank::known(pin, cost));
            }
            reserve_in_map(&mut self.far_pins, PINS)?;
            push(self.far_pins.entry(index).or_default(), (pin, cost), PINS)?;
        }
        self.nearest.keys[pin as usize] = PathKey::at_least(rank.cost());
        self.nearest.ranks.set(pin, rank);
        reserve_in_map(&mut self.far_fields, PINS)?;
        self.far_fields.insert(pin, field);
        Ok(())
    }

    /// Adds a cell to the tree.
    #[inline(always)]
    fn add(&mut self, cell: Cell, lists: &Lists) {
        let list = self.list_of(cell);
        let index = list as u32 - self.near_net.first_cell;
        self.tree.set(index);
        self.nearest.offer(lists.of(list));
        if !self.far_pins.is_empty()
            && let Some(pins) = self.far_pins.get(&index)
        {
            for &(pin, cost) in pins {
                self.nearest.offer_far(pin, cost);
            }
        }
    }

    /// The index of a cell's list.
    #[inline(always)]
    fn list_of(&self, cell: Cell) -> usize {
        let NearNet { left, top, .. } = self.near_net;
        self.near_net.index(cell.x - left, cell.y - top) as usize
    }

    fn cell_of(&self, pin: u32) -> Cell {
        self.net.pins[pin as usize].cells[0]
    }

    /// The index of a cell among those of the net.
    #[inline(always)]
    fn index(&self, cell: Cell) -> u32 {
        self.list_of(cell) as u32 - self.near_net.first_cell
    }

    /// The tree.
    pub(super) fn tree(self) -> Result<InFields> {
        let count = self.pins.len();
        if count == 0 {
            return Ok(InFields::Nothing(None));
        }
        let mut route = Route::new(self.net, self.pins, self.costs, self.ends, self.cells)?;
        route.field_use = Some(FieldUse {
            by_fields: count,
            ..FieldUse::default()
        });
        // planted: near-whole
        Ok(match route.unreached().is_empty() {
            true => InFields::Whole(route),
            false => InFields::Part(route),
        })
    }
}

/// What is known of the distances between the pins that are not joined and the tree.
struct Nearest {
    /// By pin: the least key of the tree's cells; without a path, the cost at which the pin is
    /// joined, or its bound; [`JOINED`].
    keys: Vec<PathKey>,
    ranks: Ranks,
}

impl Nearest {
    /// From bounds by pin. The first pin is joined.
    fn new(bounds: &[u32]) -> Result<Self> {
        let keys = bounds.iter().map(|&bound| PathKey::at_least(bound));
        let mut keys = collect(keys, PINS)?;
        let ranks = (0..)
            .zip(bounds)
            .map(|(pin, &bound)| Rank::bound(pin, bound));
        let mut ranks = collect(ranks, PINS)?;
        (keys[0], ranks[0]) = (JOINED, Rank::JOINED);
        let ranks = Ranks::new(ranks)?;
        Ok(Self { keys, ranks })
    }

    /// Joins a pin. Returns what was known of the path to it.
    fn join(&mut self, pin: u32) -> PathKey {
        self.ranks.set(pin, Rank::JOINED);
        std::mem::replace(&mut self.keys[pin as usize], JOINED)
    }

    /// Offers a cell of the tree to the pins on its list: lowers the keys for which the path from
    /// it is less.
    #[inline(always)]
    fn offer(&mut self, pins: &[NearPin]) {
        for near in pins {
            let (pin, path) = (near.pin, near.path());
            if path < self.keys[pin as usize] {
                self.keys[pin as usize] = path;
                self.ranks.lower(pin, Rank::known(pin, path.cost()));
            }
        }
    }

    /// Offers a cell of the tree to a pin with a far field.
    fn offer_far(&mut self, pin: u32, cost: u32) {
        let distance = PathKey::at_least(cost);
        // planted: far-nearer
        if distance < self.keys[pin as usize] {
            self.keys[pin as usize] = distance;
            self.ranks.lower(pin, Rank::known(pin, cost));
        }
    }
}

/// The key of joined pins: no path is less.
const JOINED: PathKey = PathKey::LEAST;
