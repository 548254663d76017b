//! Routing by small fields, for nets whose pins are a few cells apart. The kernels of
//! [`trazar_kernels::route::small_fields`] find the fields. The host joins the pins (`join.rs`),
//! each time the nearest one (`ranks.rs`). Where small fields do not tell which one that is, the
//! host grows larger ones (`far.rs`). If that happens often, the remaining pins are left to the
//! fields of `fields/`.

mod far;
mod join;
mod ranks;

use std::fmt;

use rayon::prelude::*;
use trazar_kernels::route::small_fields::{self, MOST_SIDE, NearNet, NearNets, NearPin, Square};

use super::DeviceRouter;
use super::fields::InFields;
use super::grid::DeviceGrid;
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::gpu::{Gpu, GpuBuffer, HostBuffer, Lent, Scanner, WorkingMemory};
use crate::memory::{collect, extend, par_try_collect, push};
use crate::route::net::Net;
use crate::route::net_by_net::{PATHS, PINS};
use join::{Join, Lists};

/// The sides of squares, and the greatest mean distance between a net's pins with which few pins
/// need larger fields.
const SIZES: [(u32, f64); 2] = [(24, 2.75), (32, 6.5)];
/// Nets of fewer pins are left to fields.
pub(crate) const LEAST_PINS: usize = 64;
/// The greatest mean distance between pins: that of [`SIZES`].
pub(crate) const MOST_SPREAD: f64 = SIZES[SIZES.len() - 1].1;
/// The most cells of squares at the same time, of 1 GiB, and of windows.
const CELLS_AT_ONCE: u64 = 1 << 27;
/// The most pins of a net, with squares of any size.
pub(crate) const MOST_PINS: f64 =
    CELLS_AT_ONCE as f64 / Square(SIZES[SIZES.len() - 1].0).cells() as f64;

/// The most bytes of lists that come to the host in memory that a router keeps, which has room for
/// a quarter more.
const MOST_KEPT: u64 = 48 << 20;

/// The host memory of lists that a router keeps.
pub(super) struct KeptLists<G: Gpu> {
    ends: G::HostBuffer<u32>,
    pins: G::HostBuffer<NearPin>,
}

impl<G: Gpu> Default for KeptLists<G> {
    fn default() -> Self {
        Self {
            ends: Default::default(),
            pins: Default::default(),
        }
    }
}

impl<G: Gpu> fmt::Debug for KeptLists<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptLists({} bytes)", self.bytes())
    }
}

impl<G: Gpu> WorkingMemory for KeptLists<G> {
    fn bytes(&self) -> u64 {
        self.ends.bytes() + self.pins.bytes()
    }
}

/// Lists on the host.
enum HostLists<G: Gpu> {
    Kept(KeptLists<G>),
    /// Large ones, in memory of their own.
    Own(Vec<u32>, Vec<NearPin>),
}

impl<G: Gpu> HostLists<G> {
    /// Copies lists, if possible to the memory that the router keeps.
    fn copy(
        router: &DeviceRouter<G>,
        ends: &G::Buffer<u32>,
        pins: &G::Buffer<NearPin>,
    ) -> Result<Self> {
        if ends.bytes() + pins.bytes() > MOST_KEPT {
            return Ok(Self::Own(ends.to_vec()?, pins.to_vec()?));
        }
        let mut memory = router.lists.take().unwrap_or_default();
        router.gpu.copy_to_host(ends, &mut memory.ends)?;
        router.gpu.copy_to_host(pins, &mut memory.pins)?;
        Ok(Self::Kept(memory))
    }

    fn lists(&self) -> Lists<'_> {
        let (ends, pins) = match self {
            Self::Kept(memory) => (&memory.ends[..], &memory.pins[..]),
            Self::Own(ends, pins) => (&ends[..], &pins[..]),
        };
        Lists { ends, pins }
    }

    /// Gives the router its memory back.
    fn put_back(self, router: &DeviceRouter<G>) {
        if let Self::Kept(memory) = self {
            router.lists.put(memory);
        }
    }
}

/// Routes nets as far as small fields reach, in the given windows. Nets of few pins, and those that
/// do not suit, are left out.
pub(super) fn route<G: Gpu>(
    router: &DeviceRouter<G>,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    windows: &[Window],
) -> Result<Vec<InFields>> {
    let nothing = nets.iter().map(|_| InFields::Nothing(None));
    let mut found = collect(nothing, "the routes")?;
    if grid.layers() != 1 || grid.has_free_edges() {
        return Ok(found);
    }
    let mut denser = 0.0;
    for (side, spread) in SIZES {
        let square = Square(side);
        let mut batch = Batch::new(square);
        for (index, (net, &window)) in nets.iter().zip(windows).enumerate() {
            let mean = (area(window) as f64 / net.pins.len() as f64).sqrt();
            let is_dense = mean > denser && mean <= spread;
            if net.pins.len() < router.field_settings.dense_pins || !is_dense || !suits(net, square)
            {
                continue;
            }
            if !batch.has_room_for(net, window) {
                std::mem::replace(&mut batch, Batch::new(square))
                    .route(router, grid, &mut found)?;
            }
            batch.add(index, net, window)?;
        }
        batch.route(router, grid, &mut found)?;
        denser = spread;
    }
    Ok(found)
}

/// Whether small fields of these squares can route a net.
fn suits(net: &Net, square: Square) -> bool {
    let pins = net.pins.len();
    pins > 1
        && pins as u64 * u64::from(square.cells()) <= CELLS_AT_ONCE
        // planted: near-several
        && net.pins[1..].iter().all(|pin| pin.cells.len() == 1)
}

fn area(window: Window) -> u64 {
    u64::from(window.width) * u64::from(window.height)
}

/// Nets that are routed at the same time.
struct Batch<'a> {
    square: Square,
    /// The nets, their windows, and their indices.
    nets: Vec<(&'a Net, Window, usize)>,
    /// The nets and their pins, as the kernels take them.
    near_nets: Vec<NearNet>,
    owners: Vec<u32>,
    cells: Vec<u32>,
    /// The cells of all nets.
    net_cells: u64,
}

impl<'a> Batch<'a> {
    fn new(square: Square) -> Self {
        Self {
            square,
            nets: Vec::new(),
            near_nets: Vec::new(),
            owners: Vec::new(),
            cells: Vec::new(),
            net_cells: 0,
        }
    }

    /// Whether the net can be added; always if the batch is empty.
    fn has_room_for(&self, net: &Net, window: Window) -> bool {
        let pins = (self.cells.len() + net.pins.len()) as u64;
        let cells = self.net_cells + NearNet::cells(window.width, window.height);
        self.nets.is_empty() || cells.max(pins * u64::from(self.square.cells())) <= CELLS_AT_ONCE
    }

    fn add(&mut self, index: usize, net: &'a Net, window: Window) -> Result<()> {
        let first_pin = self.cells.len() as u32;
        let at = |cell: Cell| (cell.y - window.y) * window.width + cell.x - window.x;
        let cells = net.pins.iter().map(|pin| at(pin.cells[0]));
        extend(&mut self.cells, cells, PINS)?;
        let owner = self.nets.len() as u32;
        extend(&mut self.owners, net.pins.iter().map(|_| owner), PINS)?;
        let near_net = NearNet {
            left: window.x,
            top: window.y,
            width: window.width,
            height: window.height,
            first_pin,
            first_cell: self.net_cells as u32,
        };
        self.net_cells += NearNet::cells(window.width, window.height);
        push(&mut self.nets, (net, window, index), PINS)?;
        push(&mut self.near_nets, near_net, PINS)
    }

    /// Routes the batch's nets, as far as small fields reach.
    fn route<G: Gpu>(
        self,
        router: &DeviceRouter<G>,
        grid: &DeviceGrid<G>,
        found: &mut [InFields],
    ) -> Result<()> {
        if self.nets.is_empty() {
            return Ok(());
        }
        match self.join(router, grid) {
            // Larger fields, or tiles, may take less memory.
            Err(error) if error.is_out_of_memory() => Ok(()),
            Err(error) => Err(error),
            Ok(trees) => {
                for (tree, &(_, _, index)) in trees.into_iter().zip(&self.nets) {
                    found[index] = tree;
                }
                Ok(())
            }
        }
    }

    /// The trees of the batch's nets.
    fn join<G: Gpu>(
        &self,
        router: &DeviceRouter<G>,
        grid: &DeviceGrid<G>,
    ) -> Result<Vec<InFields>> {
        let gpu = &router.gpu;
        let of_nets = gpu.upload(&self.near_nets)?;
        let owners = gpu.upload(&self.owners)?;
        let cells = gpu.upload(&self.cells)?;
        let nets = NearNets {
            nets: of_nets.view(),
            owners: owners.view(),
            cells: cells.view(),
        };
        let (host_lists, bounds) = self.list(router, grid, nets)?;
        let lists = host_lists.lists();
        crate::threads::ensure();
        let joins = self.nets.par_iter().zip(&self.near_nets);
        let joins = joins.map(|(&(net, window, _), near_net)| {
            let first_pin = near_net.first_pin as usize;
            let pins = first_pin..first_pin + net.pins.len();
            let (cells, bounds) = (&self.cells[pins.clone()], &bounds[pins]);
            Join::new((net, window), (*near_net, cells), bounds, lists)
        });
        let mut joins = par_try_collect(joins, PATHS)?;
        let mut may_be_nearest =
            par_try_collect(joins.par_iter_mut().map(|join| join.run(lists)), PATHS)?;
        while may_be_nearest.iter().any(Option::is_some) {
            // Buffers cannot be used by several threads at once.
            let mut parts = Vec::new();
            for (join, pin) in joins.iter().zip(&may_be_nearest) {
                let part = pin.map(|pin| grid.part(join.part_around(pin)));
                push(&mut parts, part.transpose()?, PATHS)?;
            }
            let next = joins.par_iter_mut().zip(may_be_nearest).zip(parts);
            let next = next.map(|((join, pin), part)| {
                let (Some(pin), Some(part)) = (pin, part) else {
                    return Ok(None);
                };
                join.grow(pin, part)?;
                join.run(lists)
            });
            may_be_nearest = par_try_collect(next, PATHS)?;
        }
        host_lists.put_back(router);
        par_try_collect(joins.into_par_iter().map(Join::tree), PATHS)
    }

    /// Lists the pins near each cell. Returns the lists and, by pin, the bounds.
    fn list<G: Gpu>(
        &self,
        router: &DeviceRouter<G>,
        grid: &DeviceGrid<G>,
        nets: NearNets<'_>,
    ) -> Result<(HostLists<G>, Vec<u32>)> {
        let gpu = &router.gpu;
        let (square, pins) = (self.square, self.cells.len());
        let net_cells = self.net_cells as usize;
        let mut entries = gpu.alloc(pins * square.cells() as usize)?;
        let mut reaches = gpu.alloc(pins)?;
        // 0 for first pins, which have no small fields.
        let mut bounds = gpu.alloc_zeroed(pins)?;
        let mut pins_at = gpu.alloc_zeroed(net_cells)?;
        let mut listed = gpu.alloc(pins * MOST_SIDE as usize)?;
        // The length of each cell's list, one element after the cell's; then where it ends.
        let mut ends = gpu.alloc_zeroed(net_cells + 1)?;
        let mut scanner = Scanner::new(gpu, ends.len() as u32)?;
        let in_use = grid.using(gpu)?;
        // SAFETY: windows lie in the grid, cells in their windows; a warp for each pin; lengths as
        // the kernels ask.
        unsafe {
            small_fields::grow_small_fields::launch_with_shared(
                &gpu.launcher(),
                self.blocks(),
                small_fields::grow_bytes(square),
                grid.tiled(),
                nets,
                entries.view_mut(),
                reaches.view_mut(),
                pins_at.view_mut(),
                square,
            )?;
            small_fields::count_near_pins::launch(
                &gpu.launcher(),
                self.blocks(),
                nets,
                entries.view(),
                pins_at.view(),
                reaches.view(),
                bounds.view_mut(),
                listed.view_mut(),
                ends.view_mut(),
                square,
            )?;
        }
        in_use.into_iter().try_for_each(Lent::finish)?;
        scanner.scan_in_place(&mut ends)?;
        let mut lists = gpu.alloc(scanner.total().to_vec()?[0] as usize)?;
        // SAFETY: as above, and lengths have been counted and added up.
        unsafe {
            small_fields::list_near_pins::launch(
                &gpu.launcher(),
                self.blocks(),
                nets,
                entries.view(),
                listed.view(),
                ends.view_mut(),
                lists.view_mut(),
                square,
            )?;
        }
        let bounds = bounds.to_vec()?;
        Ok((HostLists::copy(router, &ends, &lists)?, bounds))
    }

    /// The blocks of a launch with a warp for each pin.
    fn blocks(&self) -> u32 {
        (self.cells.len() as u32).div_ceil(small_fields::PINS_PER_BLOCK)
    }
}
