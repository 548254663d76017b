//! Routing by small fields, for nets whose pins are a few cells apart. The kernels of
//! [`trazar_kernels::route::small_fields`] find the fields. The host joins the pins (`join.rs`),
//! each time the nearest one (`ranks.rs`). Larger fields join the pins that small fields do not
//! reach.

mod join;
mod ranks;

use rayon::prelude::*;
use trazar_kernels::route::small_fields::{self, BUCKETS, NearNet, NearNets, PathKey, Square};

use super::fields::{InFields, Settings};
use super::grid::DeviceGrid;
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::gpu::{Gpu, GpuBuffer, Lent, Scanner, View};
use crate::memory::{collect, extend, par_collect, par_try_collect, push};
use crate::route::net::Net;
use crate::route::net_by_net::{PATHS, PINS};
use join::{Join, Lists};

/// The sides of squares, and the greatest mean distance between a net's pins with which they
/// suffice for nearly all nets.
const SIZES: [(u32, f64); 2] = [(24, 2.75), (32, 5.25)];
/// Nets of fewer pins are left to fields.
pub(crate) const LEAST_PINS: usize = 64;
/// The greatest mean distance between pins: that of [`SIZES`].
pub(crate) const MOST_SPREAD: f64 = SIZES[SIZES.len() - 1].1;
/// The most cells of squares at the same time, of 256 MiB, and of windows.
const CELLS_AT_ONCE: u64 = 1 << 25;

/// Routes nets as far as small fields reach, in the given windows. Nets of few pins, and those that
/// do not suit, are left out.
pub(super) fn route<G: Gpu>(
    gpu: &G,
    settings: Settings,
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
            if net.pins.len() < settings.dense_pins || !is_dense || !suits(net, square) {
                continue;
            }
            if !batch.has_room_for(net, window) {
                std::mem::replace(&mut batch, Batch::new(square))
                    .route(gpu, settings, grid, &mut found)?;
            }
            batch.add(index, net, window)?;
        }
        batch.route(gpu, settings, grid, &mut found)?;
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
    /// The cells of all windows.
    window_cells: u64,
}

impl<'a> Batch<'a> {
    fn new(square: Square) -> Self {
        Self {
            square,
            nets: Vec::new(),
            near_nets: Vec::new(),
            owners: Vec::new(),
            cells: Vec::new(),
            window_cells: 0,
        }
    }

    /// Whether the net can be added; always if the batch is empty.
    fn has_room_for(&self, net: &Net, window: Window) -> bool {
        let pins = (self.cells.len() + net.pins.len()) as u64;
        let cells = self.window_cells + area(window);
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
            first_cell: self.window_cells as u32,
        };
        self.window_cells += area(window);
        push(&mut self.nets, (net, window, index), PINS)?;
        push(&mut self.near_nets, near_net, PINS)
    }

    /// Routes the batch's nets, as far as small fields reach.
    fn route<G: Gpu>(
        self,
        gpu: &G,
        settings: Settings,
        grid: &DeviceGrid<G>,
        found: &mut [InFields],
    ) -> Result<()> {
        if self.nets.is_empty() {
            return Ok(());
        }
        match self.join(gpu, settings, grid) {
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
        gpu: &G,
        settings: Settings,
        grid: &DeviceGrid<G>,
    ) -> Result<Vec<InFields>> {
        let of_nets = gpu.upload(&self.near_nets)?;
        let owners = gpu.upload(&self.owners)?;
        let cells = gpu.upload(&self.cells)?;
        let nets = NearNets {
            nets: of_nets.view(),
            owners: owners.view(),
            cells: cells.view(),
        };
        let Grown {
            entries,
            reaches,
            histograms,
        } = self.grow(gpu, grid, nets)?;
        crate::threads::ensure();
        let joins = self.nets.par_iter().zip(&self.near_nets);
        let joins = joins.map(|(&(net, window, _), near_net)| {
            let pins = near_net.first_pin as usize..near_net.first_pin as usize + net.pins.len();
            let (cells, reaches) = (&self.cells[pins.clone()], &reaches[pins]);
            Join::new((net, window), near_net.first_cell, cells, reaches)
        });
        let mut joins = par_try_collect(joins, PATHS)?;
        let per_cell = settings.pins_per_cell;
        let histograms = || histograms.par_chunks_exact(BUCKETS as usize);
        // How far lists go next, by net; 0 once a net is done.
        let first = joins.par_iter().zip(histograms());
        let first = first.map(|(join, histogram)| next_near(join, 0, histogram, per_cell));
        let mut near = par_collect(first, PATHS)?;
        while near.iter().any(|&near| near > 0) {
            let of_pins = (0..).zip(&self.owners).map(|(pin, &owner): (u32, _)| {
                let (net, owner) = (self.near_nets[owner as usize], owner as usize);
                match joins[owner].is_joined((pin - net.first_pin) as usize) {
                    true => 0,
                    false => near[owner],
                }
            });
            let of_pins = gpu.upload(&collect(of_pins, PINS)?)?;
            let lists = self.list(gpu, nets, entries.view(), of_pins.view())?;
            let next = joins.par_iter_mut().zip(&near).zip(histograms());
            let next = next.map(|((join, &near), histogram)| {
                let is_waiting = near > 0 && join.run(&lists, near)?;
                Ok(match is_waiting {
                    true => next_near(join, near, histogram, per_cell),
                    false => 0,
                })
            });
            near = par_try_collect(next, PATHS)?;
        }
        par_try_collect(joins.into_par_iter().map(Join::tree), PATHS)
    }

    fn grow<G: Gpu>(&self, gpu: &G, grid: &DeviceGrid<G>, nets: NearNets<'_>) -> Result<Grown<G>> {
        let (square, pins) = (self.square, self.cells.len());
        let mut entries = gpu.alloc(pins * square.cells() as usize)?;
        let mut reaches = gpu.alloc_zeroed(pins)?;
        let mut histograms = gpu.alloc_zeroed(self.nets.len() * BUCKETS as usize)?;
        let in_use = grid.using(gpu)?;
        // SAFETY: windows lie in the grid, cells in their windows; a warp for each pin; lengths as
        // the kernel asks.
        unsafe {
            small_fields::grow_small_fields::launch_with_shared(
                &gpu.launcher(),
                self.blocks(),
                small_fields::grow_bytes(square),
                grid.tiled(),
                nets,
                entries.view_mut(),
                reaches.view_mut(),
                histograms.view_mut(),
                square,
            )?;
        }
        in_use.into_iter().try_for_each(Lent::finish)?;
        Ok(Grown {
            entries,
            reaches: reaches.to_vec()?,
            histograms: histograms.to_vec()?,
        })
    }

    /// The blocks of a launch with a warp for each pin.
    fn blocks(&self) -> u32 {
        (self.cells.len() as u32).div_ceil(small_fields::PINS_PER_BLOCK)
    }

    /// The lists of pins near each cell; `near` has by pin how far they go.
    fn list<G: Gpu>(
        &self,
        gpu: &G,
        nets: NearNets<'_>,
        entries: View<'_, PathKey>,
        near: View<'_, u32>,
    ) -> Result<Lists> {
        // The length of each cell's list, one element after the cell's; then where it ends.
        let len = self.window_cells as u32 + 1;
        let mut ends = gpu.alloc_zeroed(len as usize)?;
        // SAFETY: small fields have grown; a warp for each pin; lengths as the kernel asks.
        unsafe {
            small_fields::count_near_pins::launch(
                &gpu.launcher(),
                self.blocks(),
                nets,
                entries,
                near,
                ends.view_mut(),
                self.square,
            )?;
        }
        let mut scanner = Scanner::new(gpu, len)?;
        scanner.scan_in_place(&mut ends)?;
        let listed = scanner.total().to_vec()?[0] as usize;
        let mut lists = gpu.alloc(listed)?;
        // SAFETY: as above, and lengths have been counted and added up.
        unsafe {
            small_fields::list_near_pins::launch(
                &gpu.launcher(),
                self.blocks(),
                nets,
                entries,
                near,
                ends.view_mut(),
                lists.view_mut(),
                self.square,
            )?;
        }
        Ok(Lists {
            ends: ends.to_vec()?,
            pins: lists.to_vec()?,
        })
    }
}

/// What `grow_small_fields` has found.
struct Grown<G: Gpu> {
    entries: G::Buffer<PathKey>,
    reaches: Vec<u32>,
    histograms: Vec<u32>,
}

/// The cost up to which lists of a net's remaining pins go next: further than to `last`, and if
/// possible so that a cell has `pins_per_cell` pins on average. `histogram` counts the keys of all
/// pins but the first.
fn next_near(join: &Join<'_>, last: u32, histogram: &[u32], pins_per_cell: u32) -> u32 {
    let all = join.net.pins.len() as u64 - 1;
    let left = all - join.joined() as u64;
    let most = u64::from(pins_per_cell) * area(join.window) * all;
    let mut sum = 0;
    for (bucket, &count) in (0..).zip(histogram) {
        sum += u64::from(count);
        let near = small_fields::least_cost(bucket);
        if near > last && sum * left > most {
            return near;
        }
    }
    u32::MAX
}
