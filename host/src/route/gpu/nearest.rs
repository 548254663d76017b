//! One pin after the other: the nearest pin is joined by a shortest path, with distances from a
//! callback. The host does not wait for the results of the rounds.

use trazar_kernels::route::nearest::{self, BlockBestBuffers, Chosen};
use trazar_kernels::route::retrace::{DistanceMap, Joined};
use trazar_kernels::route::{Pins, sweep};

use super::grid::Rows;
use super::retrace::Steps;
use crate::error::{Error, OptionProblem, Result};
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::memory::{collect, filled_vec, reserve};
use crate::progress::Progress;
use crate::route::net_by_net::{self, PINS, PinCells};

/// The growing tree of a net, and the distances from it.
pub(super) struct Search<G: Gpu> {
    pub(super) map: MapBuffers<G>,
    pub(super) paths: PathBuffers<G>,
    /// By pin: whether it is joined.
    is_joined: G::Buffer<u32>,
    /// By round: the cost of the path.
    pub(super) costs: G::Buffer<u64>,
    best: BlockBestBuffers<OnGpu<G>>,
}

/// See [`DistanceMap`].
pub(super) struct MapBuffers<G: Gpu> {
    pub(super) distances: G::Buffer<u64>,
    pub(super) tree: G::Buffer<u32>,
}

impl<G: Gpu> MapBuffers<G> {
    /// The distances on `grid`, as the kernels take them.
    pub(super) fn view<'a>(&'a self, grid: &'a Rows<G>) -> DistanceMap<'a> {
        DistanceMap {
            grid: grid.view(),
            distances: self.distances.view(),
            tree: self.tree.view(),
        }
    }
}

/// See [`Pins`].
pub(super) struct PinBuffers<G: Gpu> {
    cells: G::Buffer<u32>,
    pub(super) owners: G::Buffer<u32>,
    firsts: G::Buffer<u32>,
}

impl<G: Gpu> PinBuffers<G> {
    /// The pins, as the kernels take them.
    pub(super) fn view(&self) -> Pins<'_> {
        Pins {
            cells: self.cells.view(),
            owners: self.owners.view(),
            firsts: self.firsts.view(),
        }
    }
}

/// The pins and their paths: see [`Joined`]. All cells of a path but its last are new to the tree.
pub(super) struct PathBuffers<G: Gpu> {
    pub(super) pins: PinBuffers<G>,
    pub(super) found: G::Buffer<u32>,
    pub(super) ends: G::Buffer<u32>,
    pub(super) cells: G::Buffer<u32>,
}

impl<G: Gpu> PathBuffers<G> {
    /// The joined pins and paths, as the kernels take them.
    pub(super) fn joined(&self) -> Joined<'_> {
        Joined {
            pins: self.pins.view(),
            found: self.found.view(),
            ends: self.ends.view(),
            paths: self.cells.view(),
        }
    }
}

/// The most cells of a net's pins: the ends of paths are counted in 32 bits, and each pin may add
/// one to the grid's cells.
const MAX_PIN_CELLS: usize = 1 << 30;

impl<G: Gpu> Search<G> {
    fn new(gpu: &G, grid: &Rows<G>, pins: &PinCells) -> Result<Self> {
        let cells = collect(pins.iter().flatten().copied(), PINS)?;
        let rounds = pins.len();
        if cells.len() > MAX_PIN_CELLS {
            return Err(Error::option(
                "nets",
                OptionProblem::OutOfRange,
                format!(
                    "the pins of a net have {} cells: on the GPU, they have {MAX_PIN_CELLS} at \
                     most",
                    cells.len()
                ),
            ));
        }
        let owners = (0..).zip(pins);
        let owners = owners.flat_map(|(pin, cells)| cells.iter().map(move |_| pin));
        let owners = collect(owners, PINS)?;
        let mut firsts = vec![0];
        reserve(&mut firsts, rounds, PINS)?;
        let mut is_joined = filled_vec(0, rounds, PINS)?;
        is_joined[0] = 1;
        for cells in pins {
            firsts.push(firsts[firsts.len() - 1] + cells.len() as u32);
        }
        let cell_count = grid.size.cells() as usize;
        let search_blocks = nearest::blocks(cells.len() as u32);
        let mut distances = gpu.alloc(cell_count)?;
        // SAFETY: a thread for each element.
        unsafe {
            sweep::sweep_start::launch_threads(
                &gpu.launcher(),
                grid.size.cells(),
                distances.view_mut(),
            )?;
        }
        Ok(Self {
            map: MapBuffers {
                distances,
                tree: gpu.alloc_zeroed(cell_count.div_ceil(32))?,
            },
            paths: PathBuffers {
                pins: PinBuffers {
                    cells: gpu.upload(&cells)?,
                    owners: gpu.upload(&owners)?,
                    firsts: gpu.upload(&firsts)?,
                },
                found: gpu.alloc_zeroed(rounds)?,
                ends: gpu.alloc_zeroed(rounds)?,
                cells: gpu.alloc(cell_count + rounds)?,
            },
            is_joined: gpu.upload(&is_joined)?,
            costs: gpu.alloc_zeroed(rounds)?,
            best: BlockBestBuffers::alloc(&OnGpu(gpu.clone()), &search_blocks)?,
        })
    }

    /// Chooses the pin of `round`.
    ///
    /// # Safety
    /// Distances are exact.
    unsafe fn find_nearest(&mut self, gpu: &G, round: u32) -> Result<()> {
        let on = &gpu.launcher();
        let best = self.best.views();
        let blocks = best.indices.len() as u32;
        let pins = self.paths.pins.view();
        let chosen = Chosen {
            found: self.paths.found.view_mut(),
            costs: self.costs.view_mut(),
        };
        // SAFETY: lengths as the kernels ask, and they run in order.
        unsafe {
            nearest::nearest_find::launch(
                on,
                blocks,
                self.map.distances.view(),
                pins,
                self.is_joined.view(),
                best,
            )?;
            nearest::nearest_select::launch(
                on,
                1,
                best,
                pins,
                self.is_joined.view_mut(),
                chosen,
                round,
            )
        }
    }
}

/// Joins the pins by distances that `relax` completes. It is given the search and a round: the
/// cells added to the tree in that round have the distance 0, the other cells theirs from the tree
/// before. It makes them exact.
///
/// The host does not wait for the results of the rounds: once no further pin can be reached, the
/// remaining rounds do nothing.
pub(super) fn connect<G: Gpu>(
    gpu: &G,
    grid: &Rows<G>,
    pins: &PinCells,
    progress: &Progress<'_>,
    mut relax: impl FnMut(&mut Search<G>, u32) -> Result<()>,
) -> Result<net_by_net::Joined> {
    if pins.len() < 2 {
        return Ok(net_by_net::Joined::default());
    }
    let mut search = Search::new(gpu, grid, pins)?;
    let mut steps = match grid.has_free_edges {
        true => Some(Steps::new(gpu, grid)?),
        false => None,
    };
    let none = gpu.alloc(0)?;
    search.join(gpu, 0)?;
    for round in 1..pins.len() as u32 {
        progress.report(round.into(), pins.len() as u64)?;
        relax(&mut search, round - 1)?;
        let steps = match &mut steps {
            Some(steps) => steps.count(gpu, grid, &search)?,
            None => none.view(),
        };
        // SAFETY: `relax` has made the distances exact; the steps are exact too.
        unsafe {
            search.find_nearest(gpu, round)?;
            search.retrace(gpu, grid, steps, round)?;
        }
        search.join(gpu, round)?;
    }
    search.joined(gpu)
}
