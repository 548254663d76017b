//! Grids in a GPU's memory: in tiles, and row by row.

use trazar_kernels::route::tiles::{self, TILE, TiledGrid, Tiling};
use trazar_kernels::route::{GridSize, MAX_CELLS, RowGrid};

use crate::error::{Error, Result};
use crate::geometry::Window;
use crate::gpu::{Gpu, GpuBuffer, Lent};
use crate::route::grid::{BLOCKED, RoutingGrid};
use crate::route::net::Net;

/// The most slots of one launch: labels and the cells of paths have 32-bit indices.
const MAX_SLOTS: u64 = (1 << 20) - (1 << 10);

/// A routing grid in a GPU's memory, laid out in tiles.
#[derive(Debug)]
pub struct DeviceGrid<G: Gpu> {
    tiling: Tiling,
    right: G::Buffer<u32>,
    down: G::Buffer<u32>,
    via: G::Buffer<u32>,
    /// Whether some edge costs nothing.
    has_free_edges: bool,
}

impl<G: Gpu> DeviceGrid<G> {
    /// Copies `grid` to the memory of `gpu`, and waits for the copy. It takes 8 bytes per cell
    /// there, 12 with several layers, and twice that during the copy.
    ///
    /// # Errors
    /// [`Error::GridTooLarge`] past 2³² - 2²² cells, including padding of tiles; `Error::Cuda`,
    /// [`Error::Emulator`].
    pub fn upload(gpu: &G, grid: &RoutingGrid) -> Result<Self> {
        let tiling = Tiling::new(grid.width(), grid.height(), grid.layers());
        if tiling.tiles() > MAX_SLOTS {
            return Err(too_large(grid));
        }
        let len = tiling.tiles() as usize * TILE as usize;
        let mut has_free = gpu.alloc_zeroed(1)?;
        let mut lay_out = |rows: &[u32]| {
            let mut tiles = gpu.alloc(if rows.is_empty() { 0 } else { len })?;
            if !rows.is_empty() {
                let rows = gpu.upload(rows)?;
                // SAFETY: one weight per cell, room for each cell of a tile, and one thread per
                // four of them.
                unsafe {
                    tiles::lay_out_weights::launch_threads(
                        &gpu.launcher(),
                        len / 4,
                        rows.view(),
                        tiles.view_mut(),
                        has_free.view_mut(),
                        tiling,
                    )
                }?;
            }
            Ok::<_, Error>(tiles)
        };
        let (right, down, via) = (
            lay_out(grid.rights())?,
            lay_out(grid.downs())?,
            lay_out(grid.vias())?,
        );
        Ok(Self {
            tiling,
            right,
            down,
            via,
            has_free_edges: has_free.to_vec()? != [0],
        })
    }

    /// Width in cells.
    pub fn width(&self) -> u32 {
        self.tiling.width
    }

    /// Height in cells.
    pub fn height(&self) -> u32 {
        self.tiling.height
    }

    /// The number of layers.
    pub fn layers(&self) -> u32 {
        self.tiling.layers
    }

    /// The same grid with weight 1 for every edge that is not blocked.
    pub(super) fn with_steps(&self, gpu: &G) -> Result<Self> {
        let steps = |weights: &G::Buffer<u32>| {
            let mut steps = weights.to_vec()?;
            for step in steps.iter_mut().filter(|step| **step != BLOCKED) {
                *step = 1;
            }
            gpu.upload(&steps)
        };
        Ok(Self {
            tiling: self.tiling,
            right: steps(&self.right)?,
            down: steps(&self.down)?,
            via: steps(&self.via)?,
            has_free_edges: false,
        })
    }

    /// The windows of nets on the grid; refuses nets outside it.
    pub(super) fn windows(&self, nets: &[Net]) -> Result<Vec<Window>> {
        Net::check_all(nets, self.width(), self.height(), self.layers())
    }

    /// Lets later launches on `gpu` use it.
    pub(super) fn using<'a>(&'a self, gpu: &'a G) -> Result<[Lent<'a, G, u32>; 3]> {
        Ok([
            gpu.using(&self.right)?,
            gpu.using(&self.down)?,
            gpu.using(&self.via)?,
        ])
    }

    /// Its layout.
    pub(super) fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// Whether some edge costs nothing.
    pub(super) fn has_free_edges(&self) -> bool {
        self.has_free_edges
    }

    /// The grid, as the kernels take it.
    pub(super) fn tiled(&self) -> TiledGrid<'_> {
        TiledGrid {
            right: self.right.view(),
            down: self.down.view(),
            via: self.via.view(),
            tiling: self.tiling,
        }
    }
}

fn too_large(grid: &RoutingGrid) -> Error {
    Error::GridTooLarge {
        width: grid.width().into(),
        height: grid.height().into(),
        layers: grid.layers(),
        limit: "the GPU numbers 2³² - 2²² cells in tiles at most; route on the CPU, or give each \
                net a window",
    }
}

/// The weights of a grid in a GPU's memory, row by row.
pub(super) struct Rows<G: Gpu> {
    pub(super) size: GridSize,
    right: G::Buffer<u32>,
    down: G::Buffer<u32>,
    /// Empty if there is one layer.
    via: G::Buffer<u32>,
    pub(super) has_free_edges: bool,
}

impl<G: Gpu> Rows<G> {
    pub(super) fn upload(gpu: &G, grid: &RoutingGrid) -> Result<Self> {
        let (width, height, layers) = (grid.width(), grid.height(), grid.layers());
        if grid.cell_count() > MAX_CELLS {
            return Err(Error::GridTooLarge {
                width: width.into(),
                height: height.into(),
                layers,
                limit: "on the GPU, a grid has at most 2³¹ cells; route on the CPU, or within \
                        windows",
            });
        }
        Ok(Self {
            size: GridSize {
                width,
                height,
                layers,
            },
            right: gpu.upload(grid.rights())?,
            down: gpu.upload(grid.downs())?,
            via: gpu.upload(grid.vias())?,
            has_free_edges: grid.has_free_edges(),
        })
    }

    /// The grid, as the kernels take it.
    pub(super) fn view(&self) -> RowGrid<'_> {
        RowGrid {
            right: self.right.view(),
            down: self.down.view(),
            via: self.via.view(),
            size: self.size,
        }
    }
}
