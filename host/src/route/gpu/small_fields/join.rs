//! Joining the pins of a net by their small fields: again and again the nearest one.

use trazar_kernels::route::small_fields::{NearNet, NearPin, PathKey};

use super::far::{self, FarField};
use super::ranks::{Rank, Ranks};
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{collect, extend, prefetch, push, reserve};
use crate::route::cell_bits::CellBits;
use crate::route::gpu::fields::InFields;
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;
use crate::route::net_by_net::{PATHS, PINS};
use crate::route::tree::{FieldUse, Route};

/// The pins near each cell of all windows of a batch, without those that the tree will not join
/// from there.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a> {
    /// By cell: where its list begins, and, as the next element, where it ends.
    pub(super) ends: &'a [u32],
    pub(super) pins: &'a [NearPin],
}

impl Lists<'_> {
    /// Where the list of a cell begins and ends.
    #[inline(always)]
    fn range(&self, cell: usize) -> [usize; 2] {
        [cell, cell + 1].map(|cell| self.ends[cell] as usize)
    }

    #[inline(always)]
    fn of(&self, cell: usize) -> &[NearPin] {
        let [begin, end] = self.range(cell);
        &self.pins[begin..end]
    }
}

/// A net and its tree so far.
pub(super) struct Join<'a> {
    net: &'a Net,
    window: Window,
    /// The net as the kernels took it.
    near_net: NearNet,
    /// By pin: its cell, as the kernels took it.
    pin_cells: &'a [u32],
    nearest: Nearest,
    /// The tree's cells, by their indices among those of the net.
    tree: CellBits,
    /// The pins with far fields that are not joined.
    far_pins: Vec<FarPin>,
    /// How many far fields may still grow.
    far_left: usize,
    /// The pins in the order of joining, the costs of their paths, where these end, and their
    /// cells.
    pins: Vec<usize>,
    costs: Vec<u64>,
    ends: Vec<usize>,
    cells: Vec<Cell>,
}

/// A pin with a far field.
struct FarPin {
    pin: u32,
    /// Small fields account for all paths that cost less.
    bound: u32,
    field: FarField,
}

/// Far fields that may grow, and pins for each that may.
const FAR_FIELDS: usize = 8;
const PINS_PER_FAR_FIELD: usize = 128;

impl<'a> Join<'a> {
    /// With the first pin as the tree. As long as no cell of the tree has a pin on its list, the
    /// pin is not joined at a lower cost than its element of `bounds`.
    pub(super) fn new(
        (net, window): (&'a Net, Window),
        (near_net, pin_cells): (NearNet, &'a [u32]),
        bounds: &[u32],
        lists: Lists<'_>,
    ) -> Result<Self> {
        let pins = net.pins.len();
        let mut join = Self {
            net,
            window,
            near_net,
            pin_cells,
            nearest: Nearest::new(bounds)?,
            tree: CellBits::new(NearNet::cells(window.width, window.height) as u32)?,
            far_pins: Vec::new(),
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
    pub(super) fn run(&mut self, lists: Lists<'_>) -> Result<Option<u32>> {
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
    fn join(&mut self, nearest: Rank, lists: Lists<'_>) -> Result<()> {
        let pin = nearest.pin();
        let path = std::mem::replace(&mut self.nearest.keys[pin as usize], JOINED);
        let far_pin = self.take_far_pin(pin);
        let first = self.cells.len();
        if path.has_path() {
            let start = self.cell_of(pin);
            reserve(&mut self.cells, path.steps() as usize + 1, PATHS)?;
            for (x, y) in path.cells((start.x, start.y)) {
                let cell = Cell::at(x, y);
                prefetch(lists.ends, self.list_of(cell));
                self.cells.push(cell);
            }
        } else if let Some(FarPin { field, .. }) = far_pin {
            let is_on_tree = |cell| self.tree.has(self.index(cell));
            let path = field.path(nearest.cost().into(), is_on_tree)?;
            extend(&mut self.cells, path, PATHS)?;
        }
        // The last cell is on the tree.
        // planted: near-offered
        let new = first..self.cells.len() - 1;
        for &cell in &self.cells[new.clone()] {
            // A list is rarely on more than two cache lines.
            let [begin, end] = lists.range(self.list_of(cell));
            prefetch(lists.pins, begin);
            prefetch(lists.pins, end.wrapping_sub(1));
        }
        // Updating the ranks takes about as long as the lists take to arrive.
        self.nearest.ranks.set(pin, Rank::JOINED);
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
        let known = self.nearest.keys[pin as usize].cost();
        // A field that has grown before is replaced.
        // planted: far-again
        let bound = self.take_far_pin(pin).map_or(known, |far| far.bound);
        let most = (2 * known).min(PathKey::MOST_COST);
        let (cell, within) = (self.cell_of(pin), self.part_around(pin));
        let field = FarField::grow(part, within, self.window, cell, most.into())?;
        let limit = field.limit as u32;
        self.far_left = match limit > known {
            true => self.far_left - 1,
            // The part of the grid ends there: another field would not reach farther.
            false => 0,
        };
        // planted: far-tree
        let is_on_tree = |cell| self.tree.has(self.index(cell));
        let nearest = field
            .cells()
            .skip_while(|&(_, cost)| cost < bound.into())
            .find(|&(cell, _)| is_on_tree(cell));
        let rank = match nearest {
            Some((_, cost)) => Rank::known(pin, cost as u32),
            None => Rank::bound(pin, limit.max(known)),
        };
        self.nearest.keys[pin as usize] = PathKey::at_least(rank.cost());
        self.nearest.ranks.set(pin, rank);
        push(&mut self.far_pins, FarPin { pin, bound, field }, PINS)
    }

    /// Takes a pin out of those with far fields, if it is one.
    fn take_far_pin(&mut self, pin: u32) -> Option<FarPin> {
        let index = self.far_pins.iter().position(|far| far.pin == pin)?;
        Some(self.far_pins.swap_remove(index))
    }

    /// Adds a cell to the tree.
    #[inline(always)]
    fn add(&mut self, cell: Cell, lists: Lists<'_>) {
        let list = self.list_of(cell);
        let index = list as u32 - self.near_net.first_cell;
        self.tree.set(index);
        self.nearest.offer(lists.of(list));
        for FarPin { pin, bound, field } in &self.far_pins {
            if let Some(cost) = field.distance(cell)
                && cost >= (*bound).into()
            {
                self.nearest.offer_far(*pin, cost as u32);
            }
        }
    }

    /// The index of a cell's list.
    #[inline(always)]
    fn list_of(&self, cell: Cell) -> usize {
        let NearNet { left, top, .. } = self.near_net;
        self.near_net.index(cell.x - left, cell.y - top) as usize
    }

    /// The cell of a pin: for the first one, any of its cells.
    fn cell_of(&self, pin: u32) -> Cell {
        let Window { x, y, width, .. } = self.window;
        let cell = self.pin_cells[pin as usize];
        Cell::at(x + cell % width, y + cell / width)
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
