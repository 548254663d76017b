//! Routing by small fields: the kernels of [`trazar_kernels::route::small_fields`] route nets whose
//! pins are a few cells apart. Larger fields join the pins that small fields do not reach.

use trazar_kernels::route::small_fields::{
    self, MOST_PINS, NearNet, NearNets, NearPins, PathKey, Square,
};

use super::fields::InFields;
use super::grid::DeviceGrid;
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::gpu::{Gpu, GpuBuffer, Lent, Scanner};
use crate::memory::{collect, extend, push, reserve};
use crate::route::net::Net;
use crate::route::net_by_net::{PATHS, PINS};
use crate::route::tree::{FieldUse, Route};

/// The sides of squares, and the greatest mean distance between a net's pins with which they
/// suffice for nearly all nets.
const SIZES: [(u32, f64); 2] = [(24, 2.75), (32, 5.25)];
/// The most cells of squares at the same time, of 1 GiB, and of windows.
const CELLS_AT_ONCE: u64 = 1 << 27;
/// The most static shared memory of the kernels, in bytes.
const STATIC_BYTES: u32 = 1 << 10;

/// Routes nets as far as small fields reach, in the given windows. Nets of fewer than `least_pins`
/// pins, and those that do not suit, are left out.
pub(super) fn route<G: Gpu>(
    gpu: &G,
    least_pins: usize,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    windows: &[Window],
) -> Result<Vec<InFields>> {
    let nothing = nets.iter().map(|_| InFields::Nothing(None));
    let mut found = collect(nothing, "the routes")?;
    if grid.layers() != 1 || grid.has_free_edges() {
        return Ok(found);
    }
    let shared = gpu.shared_per_block().saturating_sub(STATIC_BYTES);
    let mut denser = 0.0;
    for (side, spread) in SIZES {
        let mut batch = Batch::new(Square(side));
        for (index, (net, &window)) in nets.iter().zip(windows).enumerate() {
            let mean = (area(window) as f64 / net.pins.len() as f64).sqrt();
            let is_dense = mean > denser && mean <= spread;
            if net.pins.len() < least_pins || !is_dense || !suits(net, shared) {
                continue;
            }
            if !batch.has_room_for(net, window) {
                std::mem::replace(&mut batch, Batch::new(Square(side)))
                    .route(gpu, grid, nets, &mut found)?;
            }
            batch.add(index, net, window)?;
        }
        batch.route(gpu, grid, nets, &mut found)?;
        denser = spread;
    }
    Ok(found)
}

/// Whether the kernels can route a net with `shared` bytes of shared memory.
fn suits(net: &Net, shared: u32) -> bool {
    let pins = net.pins.len();
    pins > 1
        && pins <= MOST_PINS as usize
        && small_fields::join_bytes(pins as u32) <= shared
        && net.pins[1..].iter().all(|pin| pin.cells.len() == 1)
}

fn area(window: Window) -> u64 {
    u64::from(window.width) * u64::from(window.height)
}

/// Nets that are routed at the same time.
struct Batch {
    square: Square,
    /// The nets' indices, and the nets, as the kernels take them.
    indices: Vec<usize>,
    nets: Vec<NearNet>,
    owners: Vec<u32>,
    cells: Vec<u32>,
    added: Vec<u32>,
    /// The cells of all windows.
    window_cells: u64,
}

impl Batch {
    fn new(square: Square) -> Self {
        Self {
            square,
            indices: Vec::new(),
            nets: Vec::new(),
            owners: Vec::new(),
            cells: Vec::new(),
            added: Vec::new(),
            window_cells: 0,
        }
    }

    /// Whether the net can be added; always if the batch is empty.
    fn has_room_for(&self, net: &Net, window: Window) -> bool {
        let pins = (self.cells.len() + net.pins.len()) as u64;
        let cells = self.window_cells + area(window);
        self.nets.is_empty() || cells.max(pins * u64::from(self.square.cells())) <= CELLS_AT_ONCE
    }

    fn add(&mut self, index: usize, net: &Net, window: Window) -> Result<()> {
        let (first_pin, first_added) = (self.cells.len() as u32, self.added.len() as u32);
        let at = |cell: &Cell| (cell.y - window.y) * window.width + cell.x - window.x;
        let cells = net.pins.iter().map(|pin| at(&pin.cells[0]));
        extend(&mut self.cells, cells, PINS)?;
        extend(&mut self.added, net.pins[0].cells.iter().map(at), PINS)?;
        let owner = self.nets.len() as u32;
        extend(&mut self.owners, net.pins.iter().map(|_| owner), PINS)?;
        let of_net = NearNet {
            left: window.x,
            top: window.y,
            width: window.width,
            height: window.height,
            first_pin,
            end_pin: self.cells.len() as u32,
            first_cell: self.window_cells as u32,
            first_added,
            end_added: self.added.len() as u32,
        };
        self.window_cells += area(window);
        push(&mut self.indices, index, PINS)?;
        push(&mut self.nets, of_net, PINS)
    }

    /// Routes the batch's nets, as far as small fields reach; `nets` are all nets.
    fn route<G: Gpu>(
        self,
        gpu: &G,
        grid: &DeviceGrid<G>,
        nets: &[Net],
        found: &mut [InFields],
    ) -> Result<()> {
        if self.nets.is_empty() {
            return Ok(());
        }
        match self.join(gpu, grid) {
            // Larger fields, or tiles, may take less memory.
            Err(error) if error.is_out_of_memory() => Ok(()),
            Err(error) => Err(error),
            Ok(joined) => joined.collect(&self, nets, found),
        }
    }

    fn join<G: Gpu>(&self, gpu: &G, grid: &DeviceGrid<G>) -> Result<Joined> {
        let (square, pins) = (self.square, self.cells.len());
        let of_nets = gpu.upload(&self.nets)?;
        let owners = gpu.upload(&self.owners)?;
        let cells = gpu.upload(&self.cells)?;
        let added = gpu.upload(&self.added)?;
        let nets = NearNets {
            nets: of_nets.view(),
            owners: owners.view(),
            cells: cells.view(),
            added: added.view(),
        };
        let mut entries = gpu.alloc(pins * square.cells() as usize)?;
        let mut least = gpu.alloc(pins)?;
        // The length of each cell's list, one element after the cell's; then where it ends.
        // Fewer than 2²⁸: a window has few cells per pin.
        let cells = self.window_cells as u32 + 1;
        let mut ends = gpu.alloc_zeroed(cells as usize)?;
        let mut joined = gpu.alloc_zeroed(pins)?;
        let mut paths = gpu.alloc_zeroed(pins)?;
        let mut counts = gpu.alloc(self.nets.len())?;
        let in_use = grid.using(gpu)?;
        let blocks = (pins as u32).div_ceil(small_fields::PINS_PER_BLOCK);
        // SAFETY: windows lie in the grid, cells in their windows; a warp for each pin; lengths as
        // the kernel asks.
        unsafe {
            small_fields::grow_small_fields::launch_with_shared(
                &gpu.launcher(),
                blocks,
                small_fields::grow_bytes(square),
                grid.tiled(),
                nets,
                entries.view_mut(),
                least.view_mut(),
                ends.view_mut(),
                square,
            )?;
        }
        let mut scanner = Scanner::new(gpu, cells)?;
        scanner.scan_in_place(&mut ends)?;
        let listed = scanner.total().to_vec()?[0] as usize;
        let mut paths_near = gpu.alloc(listed)?;
        let mut pins_near = gpu.alloc(listed)?;
        // SAFETY: small fields have grown; a warp for each pin; lengths as the kernel asks.
        unsafe {
            small_fields::list_near_pins::launch(
                &gpu.launcher(),
                blocks,
                nets,
                entries.view(),
                ends.view_mut(),
                paths_near.view_mut(),
                pins_near.view_mut(),
                square,
            )?;
        }
        let near = NearPins {
            ends: ends.view(),
            paths: paths_near.view(),
            pins: pins_near.view(),
        };
        let most = self.nets.iter().map(|net| net.end_pin - net.first_pin);
        let most = most.max().unwrap_or(0);
        // SAFETY: pins are listed; `suits` has checked the nets; lengths as the kernel asks.
        unsafe {
            small_fields::join_near_pins::launch_with_shared(
                &gpu.launcher(),
                self.nets.len() as u32,
                small_fields::join_bytes(most),
                nets,
                near,
                least.view(),
                joined.view_mut(),
                paths.view_mut(),
                counts.view_mut(),
            )?;
        }
        in_use.into_iter().try_for_each(Lent::finish)?;
        Ok(Joined {
            pins: joined.to_vec()?,
            paths: paths.to_vec()?,
            counts: counts.to_vec()?,
        })
    }
}

/// What the kernels have found: see `join_near_pins`.
struct Joined {
    pins: Vec<u32>,
    paths: Vec<PathKey>,
    counts: Vec<u32>,
}

impl Joined {
    /// Makes the trees.
    fn collect(self, batch: &Batch, nets: &[Net], found: &mut [InFields]) -> Result<()> {
        for ((of_net, &index), &count) in batch.nets.iter().zip(&batch.indices).zip(&self.counts) {
            let (count, first) = (count as usize, of_net.first_pin as usize);
            if count == 0 {
                continue;
            }
            let paths = &self.paths[first..][..count];
            let len = paths.iter().map(|path| path.steps() as usize + 1).sum();
            let (mut costs, mut ends, mut cells) = (Vec::new(), Vec::new(), Vec::new());
            reserve(&mut costs, count, PATHS)?;
            reserve(&mut ends, count, PATHS)?;
            reserve(&mut cells, len, PATHS)?;
            let pins = self.pins[first..][..count].iter().map(|&pin| pin as usize);
            let pins = collect(pins, PATHS)?;
            let net = &nets[index];
            for (&pin, path) in pins.iter().zip(paths) {
                let Cell { x, y, .. } = net.pins[pin].cells[0];
                cells.extend(path.cells((x, y)).map(|(x, y)| Cell::at(x, y)));
                costs.push(path.cost().into());
                ends.push(cells.len());
            }
            let mut route = Route::new(net, pins, costs, ends, cells)?;
            route.field_use = Some(FieldUse {
                by_fields: count,
                ..FieldUse::default()
            });
            found[index] = match count + 1 == net.pins.len() {
                true => InFields::Whole(route),
                false => InFields::Part(route),
            };
        }
        Ok(())
    }
}
