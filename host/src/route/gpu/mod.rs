//! Routing on a GPU: the pipelines of kernels; grids stay in the GPU's memory.
//!
//! | file | stage | kernels |
//! |---|---|---|
//! | `grid.rs` | a grid on the GPU: in tiles, and row by row | `lay_out_*` of `tiles/start.rs` |
//! | `tiles/` | whole nets at once | `tiles/` |
//! | `small_fields/` | nets of pins a few cells apart; the rest by fields | `small_fields/` |
//! | `fields/` | whole nets whose pins stand close; the rest in tiles | `fields/` |
//! | `nearest.rs` | by sweeps: the pin to join next | `nearest.rs` |
//! | `sweep.rs` | by sweeps: distances | `sweep/` |
//! | `retrace.rs` | by sweeps: the path of a pin, which becomes part of the tree | `retrace.rs` |
//!
//! The kernels are those of `trazar_kernels::route`. On the CPU, `cpu/` has the same stages under
//! the same names.
//!
//! # Memory
//! On the GPU, in bytes per cell:
//!
//! | | weights (once) | labels or distances | paths | besides |
//! |---|---|---|---|---|
//! | in tiles, per net that is routed at the same time | 8, or 12 with several layers | 4, or 8 where labels need 64 bits | 4 | 0.3 for the tiles' sides, or 0.6 |
//! | by fields, per net that is routed at the same time | 8 | some 64, and, up to 256 MiB, twice that for boxes that grow | 4 | 1/8 for the tree |
//! | by small fields, likewise | 8 | 8 KB per pin, 12 per listed pin | - | 8 for lists and pins |
//! | by sweeps | 8, or 12 | 8 | 4 | 1/8 for the tree; 8 for steps where edges are free |
//!
//! And some 24 bytes per cell of a pin; while fields grow, up to 270 MB of labels.
//!
//! On the host, small fields take 12 bytes per listed pin and 4 per cell of the nets' windows; and
//! up to 0.4 MB per pin that needs a larger field: at most 8 such pins per net, and one more for
//! each 128 of its pins.

mod fields;
mod grid;
mod nearest;
mod retrace;
pub(crate) mod small_fields;
mod sweep;
mod tiles;

pub use grid::DeviceGrid;

use super::grid::RoutingGrid;
use super::net::Net;
use super::net_by_net;
use super::tree::Route;
use super::{DeviceRouteAlgorithm, DeviceRouteOptions, Distances, RouteAlgorithm};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::geometry::Cell;
use crate::gpu::{Gpu, GpuBuffer, Kept};
use crate::progress::Progress;
use grid::Rows;
use small_fields::KeptLists;

/// Routes on one GPU. Clones work on the same queue.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::route::DeviceRouteOptions;
/// use trazar::{Cell, DeviceGrid, DeviceRouter, Net, RoutingGrid};
///
/// // On an NVIDIA GPU: `DeviceRouter::new(&trazar::cuda::Device::open(0)?)?`.
/// let router = DeviceRouter::on(Emulator::new(0));
/// let grid = RoutingGrid::uniform(100, 30, 5)?;
/// let grid = DeviceGrid::upload(router.gpu(), &grid)?;
/// let net = Net::from_cells([Cell::at(3, 3), Cell::at(90, 20)]);
/// let routes = router.route(&grid, &[net], &DeviceRouteOptions::default())?;
/// assert_eq!(routes[0].cost(), (87 + 17) * 5);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceRouter<G: Gpu> {
    gpu: G,
    field_settings: fields::Settings,
    /// Host memory for the lists of small fields.
    lists: Kept<KeptLists<G>>,
}

#[cfg(feature = "cuda")]
impl DeviceRouter<crate::cuda::Queue> {
    /// Compiles the kernels for `device` and makes a stream.
    ///
    /// # Errors
    /// `Error::Cuda`.
    pub fn new(device: &crate::cuda::Device) -> Result<Self> {
        Ok(Self::on(crate::cuda::Queue::open(device)?))
    }
}

impl<G: Gpu> DeviceRouter<G> {
    /// Routes on `gpu`.
    pub fn on(gpu: G) -> Self {
        Self {
            gpu,
            field_settings: fields::Settings::default(),
            lists: Kept::default(),
        }
    }

    /// Changes limits of fields; routes stay the same.
    pub(crate) fn with_field_settings(mut self, change: impl Fn(&mut fields::Settings)) -> Self {
        change(&mut self.field_settings);
        self
    }

    /// The queue that it works on, with the kernels.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// The bytes of host memory that the router and its clones keep for their next nets of pins a
    /// few cells apart: up to some 64 MiB, for the lists that small fields make of such nets. For a
    /// GPU, the memory is page-locked.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::generate::RandomNets;
    /// use trazar::route::DeviceRouteOptions;
    /// use trazar::{DeviceGrid, DeviceRouter};
    ///
    /// let router = DeviceRouter::on(Emulator::new(0));
    /// let case = RandomNets::default().width(20).height(20).pins(70).generate(1)?;
    /// let grid = DeviceGrid::upload(router.gpu(), &case.grid)?;
    /// router.route(&grid, &case.nets, &DeviceRouteOptions::default())?;
    /// let kept = router.working_memory();
    /// assert!(kept > 0);
    /// assert_eq!(router.release_working_memory(), kept);
    /// assert_eq!(router.working_memory(), 0);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn working_memory(&self) -> u64 {
        self.lists.bytes()
    }

    /// Gives the [working memory](Self::working_memory) back, and says how many bytes that was.
    pub fn release_working_memory(&self) -> u64 {
        self.lists.release()
    }

    /// Joins the pins of each net by a tree, independently of the other nets: all nets at the same
    /// time, in few launches (more if their windows have more than 2²⁸ cells together). Waits for
    /// the result.
    ///
    /// Nets that do not suit [fields](DeviceRouteAlgorithm::Fields), or for which fields have no
    /// memory, are routed in tiles: [`Route::field_use`] says which and why. Any other failure is
    /// an error.
    ///
    /// # Errors
    /// - [`Error::PinOutside`], [`Error::PinWithoutCells`], [`Error::WindowOutside`];
    /// - [`Error::CostTooLarge`] for a pin that is reached only by paths of cost 2³⁵ or more;
    /// - `Error::Cuda`, [`Error::Emulator`].
    pub fn route(
        &self,
        grid: &DeviceGrid<G>,
        nets: &[Net],
        options: &DeviceRouteOptions,
    ) -> Result<Vec<Route>> {
        let windows = grid.windows(nets)?;
        match options.algorithm {
            DeviceRouteAlgorithm::Fields => fields::route(self, grid, nets, &windows),
            DeviceRouteAlgorithm::Tiles => tiles::route(&self.gpu, grid, nets, &windows),
        }
    }

    /// The cost of the cheapest path from the cells `sources` to each cell, by its index;
    /// [`Distances::UNREACHED`] where there is no path. Returns before the costs are computed.
    ///
    /// # Errors
    /// Those of [`DeviceRouter::route`].
    pub fn distances(&self, grid: &DeviceGrid<G>, sources: &[Cell]) -> Result<G::Buffer<u64>> {
        let source = Net::of_sources(sources)?;
        source.check(0, grid.width(), grid.height(), grid.layers())?;
        tiles::distances(&self.gpu, grid, &source)
    }

    /// [`distances`](Self::distances) on a grid in the host's memory.
    pub(crate) fn distances_host(&self, grid: &RoutingGrid, sources: &[Cell]) -> Result<Distances> {
        let grid = DeviceGrid::upload(&self.gpu, grid)?;
        let by_cell = self.distances(&grid, sources)?.to_vec()?;
        Ok(Distances { by_cell })
    }

    /// Joins the pins of nets on a grid in the host's memory: copies it to the device and the trees
    /// back.
    ///
    /// # Errors
    /// Those of [`DeviceGrid::upload`] and [`DeviceRouter::route`]; by sweeps,
    /// [`Error::GridTooLarge`] past 2³¹ cells.
    pub(crate) fn route_host(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        algorithm: RouteAlgorithm,
        progress: &Progress<'_>,
    ) -> Result<Vec<Route>> {
        algorithm.check_runs_on(G::BACKEND)?;
        let on_grid = match algorithm {
            RouteAlgorithm::Fields => Some(DeviceRouteAlgorithm::Fields),
            RouteAlgorithm::Tiles => Some(DeviceRouteAlgorithm::Tiles),
            _ => None,
        };
        if let Some(algorithm) = on_grid {
            let options = DeviceRouteOptions { algorithm };
            return self.route(&DeviceGrid::upload(&self.gpu, grid)?, nets, &options);
        }
        let gpu = &self.gpu;
        // The whole grid is copied once.
        let mut whole = None;
        net_by_net::route_each(grid, nets, progress, |part, pins, progress| {
            let rows = if !std::ptr::eq(part, grid) {
                &Rows::upload(gpu, part)?
            } else if let Some(whole) = &whole {
                whole
            } else {
                whole.insert(Rows::upload(gpu, part)?)
            };
            let mut sweeper = sweep::Sweeper::new(gpu, rows, algorithm)?;
            nearest::connect(gpu, rows, pins, progress, |search, round| {
                sweeper.relax(gpu, rows, search, round)
            })
        })
    }
}
