//! Route on a GPU: the pipelines of kernels. Distances, tree and paths stay there; the paths come back at the end.
//!
//! | file | stages | kernels |
//! |---|---|---|
//! | `mod.rs` | nearest pin, its path, the tree | those of `trazar_kernels::route::{nearest, retrace}` |
//! | `sweeps.rs` | distances by sweeps | those of `trazar_kernels::route::sweep` |
//!
//! # Memory
//! On the GPU, in bytes a cell: 8 for the weights, 12 with several layers; 8 for the distance; 4 for the paths; 1/8 for the tree;
//! where edges are free, 8 for steps over them. And 8 bytes for each cell of a pin.

mod sweeps;

use cuda_std::View;
use trazar_kernels::route::nearest::{self, NONE};
use trazar_kernels::route::{Grid, MAX_CELLS, blocks, retrace, sweep};

use super::heuristic::{Joined, PinCells};
use super::{Net, Route, RouteAlgorithm, RoutingGrid, route};
use crate::engine::Progress;
use crate::gpu::{Gpu, GpuBuffer};
use crate::{Error, Result};
use sweeps::Sweeper;

/// Routes on one GPU. Clones work on the same queue.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::route::{Cell, DeviceRouter, Net, RouteAlgorithm, RoutingGrid};
///
/// // On an NVIDIA GPU: `DeviceRouter::new(&trazar::cuda::Device::open(0)?)?`.
/// let router = DeviceRouter::on(Emulator::new(0));
/// let grid = RoutingGrid::uniform(4, 3, 5)?;
/// let net = Net::from_cells([Cell::at(0, 0), Cell::at(3, 2)]);
/// let routes = router.route(&grid, &[net], RouteAlgorithm::PrefixFused)?;
/// assert_eq!(routes[0].cost(), 25);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceRouter<G: Gpu> {
    gpu: G,
}

#[cfg(feature = "cuda")]
impl DeviceRouter<crate::cuda::Queue> {
    /// Compiles the kernels for `device` and makes a stream.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn new(device: &crate::cuda::Device) -> Result<Self> {
        let labeler = crate::DeviceLabeler::new(device)?;
        Ok(Self::on(labeler.gpu().clone()))
    }
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

    /// Joins the pins of each net by the tree of the report, each as if there were no other. Copies the grid to the device and the
    /// trees back.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for an algorithm of the processor; [`Error::PinOutside`], [`Error::PinWithoutCells`],
    /// [`Error::WindowOutside`] for nets that are not on the grid; [`Error::GridTooLarge`] past 2³¹ cells, and
    /// [`Error::InvalidOption`] past 2³⁰ cells of pins;
    /// [`Error::OutOfMemory`], `Error::Cuda`, [`Error::Emulator`].
    pub fn route(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        algorithm: RouteAlgorithm,
    ) -> Result<Vec<Route>> {
        self.route_host(grid, nets, algorithm, &Progress::SILENT)
    }

    /// [`route`](Self::route), which reports progress.
    pub(crate) fn route_host(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        algorithm: RouteAlgorithm,
        progress: &Progress<'_>,
    ) -> Result<Vec<Route>> {
        algorithm.check_runs_on(G::DEVICE)?;
        let gpu = &self.gpu;
        // The whole grid is copied once.
        let mut whole = None;
        route(grid, nets, |part, pins| {
            let on_device = if !std::ptr::eq(part, grid) {
                &DeviceGrid::upload(gpu, part)?
            } else if let Some(whole) = &whole {
                whole
            } else {
                whole.insert(DeviceGrid::upload(gpu, part)?)
            };
            match algorithm {
                RouteAlgorithm::Tiles => Err(Error::Unavailable(
                    "this build has no tiles for routing: use `prefix-fused`".into(),
                )),
                _ => {
                    let mut sweeper = Sweeper::new(gpu, on_device, algorithm)?;
                    connect(gpu, on_device, pins, progress, |search, round| {
                        sweeper.relax(gpu, on_device, search, round)
                    })
                }
            }
        })
    }
}

/// The weights of a grid in a GPU's memory.
struct DeviceGrid<G: Gpu> {
    size: Grid,
    right: G::Buffer<u32>,
    down: G::Buffer<u32>,
    /// Empty if there is one layer.
    via: G::Buffer<u32>,
    has_free_edges: bool,
}

impl<G: Gpu> DeviceGrid<G> {
    fn upload(gpu: &G, grid: &RoutingGrid) -> Result<Self> {
        let (width, height, layers) = (grid.width(), grid.height(), grid.layers());
        if grid.cell_count() > MAX_CELLS {
            return Err(Error::GridTooLarge {
                width: width.into(),
                height: height.into(),
                layers,
                limit: "on the GPU, a grid has at most 2³¹ cells; route on the CPU, or within windows",
            });
        }
        Ok(Self {
            size: Grid {
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
}

/// The growing tree of a net, and the distances from it.
struct Search<G: Gpu> {
    /// By cell.
    distances: G::Buffer<u64>,
    /// A bit for each cell: whether it is on the tree.
    tree: G::Buffer<u32>,
    /// The cells of all pins, one pin after the other.
    pin_cells: G::Buffer<u32>,
    /// By cell of a pin: the pin.
    owners: G::Buffer<u32>,
    /// By pin: where its cells begin; one more than there are pins.
    firsts: G::Buffer<u32>,
    /// By pin.
    is_joined: G::Buffer<u32>,
    /// By round: the pin's cell that was found, and its distance. In round 0, the first cell of the first pin.
    found: G::Buffer<u32>,
    costs: G::Buffer<u64>,
    /// By round: where its path ends.
    ends: G::Buffer<u32>,
    /// The cells of all paths. The cells of a path but its last are new to the tree.
    paths: G::Buffer<u32>,
    /// What the blocks that look for the nearest pin found.
    best_distances: G::Buffer<u64>,
    best_indices: G::Buffer<u32>,
}

/// The most cells that the pins of a net have: the ends of paths are counted in 32 bits, and each pin may add one to the grid's
/// cells.
const MAX_PIN_CELLS: usize = 1 << 30;

/// Blocks that make a path part of the tree.
const JOIN_BLOCKS: u32 = 4;

impl<G: Gpu> Search<G> {
    fn new(gpu: &G, grid: &DeviceGrid<G>, pins: &PinCells) -> Result<Self> {
        let cells: Vec<u32> = pins.iter().flatten().copied().collect();
        let rounds = pins.len();
        if cells.len() > MAX_PIN_CELLS {
            return Err(Error::InvalidOption(format!(
                "the pins of a net have {} cells: on the GPU, they have {MAX_PIN_CELLS} at most",
                cells.len()
            )));
        }
        let owners: Vec<u32> = (0..)
            .zip(pins)
            .flat_map(|(pin, cells)| cells.iter().map(move |_| pin))
            .collect();
        let mut firsts = vec![0];
        let mut is_joined = vec![0; rounds];
        is_joined[0] = 1;
        for cells in pins {
            firsts.push(firsts[firsts.len() - 1] + cells.len() as u32);
        }
        let cell_count = grid.size.cells() as usize;
        let search_blocks = nearest::blocks(cells.len() as u32) as usize;
        let mut distances = gpu.alloc(cell_count)?;
        // SAFETY: a thread for each element.
        unsafe {
            sweep::sweep_start::launch(
                &gpu.launcher(),
                blocks(grid.size.cells()),
                distances.view_mut(),
            )?;
        }
        Ok(Self {
            distances,
            tree: gpu.alloc_zeroed(cell_count.div_ceil(32))?,
            pin_cells: gpu.upload(&cells)?,
            owners: gpu.upload(&owners)?,
            firsts: gpu.upload(&firsts)?,
            is_joined: gpu.upload(&is_joined)?,
            found: gpu.alloc_zeroed(rounds)?,
            costs: gpu.alloc_zeroed(rounds)?,
            ends: gpu.alloc_zeroed(rounds)?,
            paths: gpu.alloc(cell_count + rounds)?,
            best_distances: gpu.alloc(search_blocks)?,
            best_indices: gpu.alloc(search_blocks)?,
        })
    }

    /// Chooses the pin of `round`, and finds its path.
    ///
    /// # Safety
    /// Distances are exact, and `steps` are, or it is empty and no edge is free.
    unsafe fn find_path(
        &mut self,
        gpu: &G,
        grid: &DeviceGrid<G>,
        steps: View<'_, u64>,
        round: u32,
    ) -> Result<()> {
        let on = &gpu.launcher();
        // SAFETY: lengths and grids as the kernels ask, which run in their order; paths have no cell twice but the ends.
        unsafe {
            nearest::nearest_find::launch(
                on,
                self.best_indices.len() as u32,
                self.distances.view(),
                self.pin_cells.view(),
                self.owners.view(),
                self.is_joined.view(),
                self.best_distances.view_mut(),
                self.best_indices.view_mut(),
            )?;
            nearest::nearest_select::launch(
                on,
                1,
                self.best_distances.view(),
                self.best_indices.view(),
                self.owners.view(),
                self.is_joined.view_mut(),
                self.found.view_mut(),
                self.costs.view_mut(),
                round,
            )?;
            retrace::retrace_path::launch(
                on,
                1,
                grid.right.view(),
                grid.down.view(),
                grid.via.view(),
                self.distances.view(),
                steps,
                self.tree.view(),
                self.pin_cells.view(),
                self.found.view(),
                self.ends.view_mut(),
                self.paths.view_mut(),
                grid.size,
                round,
            )
        }
    }

    /// Makes the path and the pin of `round` part of the tree.
    fn join(&mut self, gpu: &G, round: u32) -> Result<()> {
        // SAFETY: lengths as the kernel asks; the path of the round is found, in round 0 it is empty.
        unsafe {
            retrace::join_tree::launch(
                &gpu.launcher(),
                JOIN_BLOCKS,
                self.pin_cells.view(),
                self.owners.view(),
                self.firsts.view(),
                self.found.view(),
                self.ends.view(),
                self.paths.view(),
                self.distances.view_mut(),
                self.tree.view_mut(),
                round,
            )
        }
    }

    /// The paths, on the host.
    fn joined(&self, gpu: &G) -> Result<Joined> {
        let ends = self.ends.to_vec()?;
        let total = ends.last().map_or(0, |&end| end as usize);
        let mut output = gpu.alloc(total)?;
        if total > 0 {
            // SAFETY: so many elements are written; a thread for each.
            unsafe {
                retrace::collect_paths::launch(
                    &gpu.launcher(),
                    blocks(total as u32),
                    self.paths.view(),
                    output.view_mut(),
                )?;
            }
        }
        let paths = output.to_vec()?;
        let (owners, found) = (self.owners.to_vec()?, self.found.to_vec()?);
        let costs = self.costs.to_vec()?;
        let mut joined = Joined::default();
        let rounds = ends.windows(2).zip(&found[1..]).zip(&costs[1..]);
        for ((ends, &index), &cost) in rounds.take_while(|((_, index), _)| **index != NONE) {
            let path = &paths[ends[0] as usize..ends[1] as usize];
            joined.push(owners[index as usize] as usize, cost, path);
        }
        Ok(joined)
    }
}

/// Joins the pins by distances that `relax` completes. It is given the search and a round: what became part of the tree in
/// that round has the distance 0, the other cells theirs from the tree before. It makes them exact.
///
/// The host does not wait for what the rounds find: where no pin is reached any more, the rounds that are left do nothing.
fn connect<G: Gpu>(
    gpu: &G,
    grid: &DeviceGrid<G>,
    pins: &PinCells,
    progress: &Progress<'_>,
    mut relax: impl FnMut(&mut Search<G>, u32) -> Result<()>,
) -> Result<Joined> {
    if pins.len() < 2 {
        return Ok(Joined::default());
    }
    let mut search = Search::new(gpu, grid, pins)?;
    let mut steps = match grid.has_free_edges {
        true => Some(sweeps::Steps::new(gpu, grid)?),
        false => None,
    };
    let none = gpu.alloc(0)?;
    search.join(gpu, 0)?;
    for round in 1..pins.len() as u32 {
        progress.report(round.into(), pins.len() as u64);
        relax(&mut search, round - 1)?;
        let steps = match &mut steps {
            Some(steps) => steps.count(gpu, grid, &search)?,
            None => none.view(),
        };
        // SAFETY: `relax` has made the distances exact; the steps are as well.
        unsafe { search.find_path(gpu, grid, steps, round)? };
        search.join(gpu, round)?;
    }
    search.joined(gpu)
}
