//! Route on a GPU: grids that stay there, and the pipelines of kernels.

mod tiles;

pub use tiles::DeviceGrid;

use super::{Cell, Net, Pin, Route, RoutingGrid, Window};
use crate::Result;
use crate::gpu::Gpu;

/// Routes on one GPU. Clones work on the same queue.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::route::{Cell, DeviceGrid, DeviceRouter, Net, RoutingGrid};
///
/// // On an NVIDIA GPU: `Queue` of `trazar::cuda` in the place of `Emulator`.
/// let router = DeviceRouter::on(Emulator::new(0));
/// let grid = RoutingGrid::uniform(100, 30, 5)?;
/// let grid = DeviceGrid::upload(router.gpu(), &grid)?;
/// let net = Net::from_cells([Cell::at(3, 3), Cell::at(90, 20)]);
/// let routes = router.route(&grid, &[net])?;
/// assert_eq!(routes[0].cost(), (87 + 17) * 5);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceRouter<G: Gpu> {
    gpu: G,
}

impl<G: Gpu> DeviceRouter<G> {
    /// Routes on `gpu`.
    pub fn on(gpu: G) -> Self {
        Self { gpu }
    }

    /// The queue that it works on, with the kernels.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// Joins the pins of each net by a tree, each as if there were no other, with [`RouteAlgorithm::Tiles`](super::RouteAlgorithm::Tiles):
    /// all nets at the same time, in one launch (several, if their windows have more than 2²⁸ cells together). Waits for it.
    ///
    /// # Errors
    /// [`Error::PinOutside`](crate::Error::PinOutside), [`Error::PinWithoutCells`](crate::Error::PinWithoutCells),
    /// [`Error::WindowOutside`](crate::Error::WindowOutside); [`Error::CostTooLarge`](crate::Error::CostTooLarge) for a pin that
    /// only paths of 2³⁵ or more reach; `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator).
    pub fn route(&self, grid: &DeviceGrid<G>, nets: &[Net]) -> Result<Vec<Route>> {
        let (width, height, layers) = (grid.width(), grid.height(), grid.layers());
        let windows: Vec<Window> = nets
            .iter()
            .enumerate()
            .map(|(number, net)| net.check(number, width, height, layers))
            .collect::<Result<_>>()?;
        tiles::route(&self.gpu, grid, nets, &windows)
    }

    /// The cost of the cheapest paths from the cells `sources` to each cell, by its number; `u64::MAX` where there is no path.
    /// Returns before the costs are there.
    ///
    /// # Errors
    /// Those of [`DeviceRouter::route`].
    pub fn distances(&self, grid: &DeviceGrid<G>, sources: &[Cell]) -> Result<G::Buffer<u64>> {
        let source = Net {
            pins: vec![Pin {
                cells: sources.to_vec(),
            }],
            window: None,
        };
        source.check(0, grid.width(), grid.height(), grid.layers())?;
        tiles::distances(&self.gpu, grid, &source)
    }

    /// Routes nets on a grid of the host's.
    pub(crate) fn route_host(&self, grid: &RoutingGrid, nets: &[Net]) -> Result<Vec<Route>> {
        let grid = DeviceGrid::upload(&self.gpu, grid)?;
        self.route(&grid, nets)
    }
}
