//! Launching the kernels, and reading their results.

use cuda_std::launch::Launcher;
use cuda_std::{Pod, View, ViewMut};
use trazar_kernels::route::tiles::{
    self, Area, JoinedPin, LabelBuffers, Labels, NET_JOINED_PINS, NET_PATH_CELLS, NET_WORDS, Nets,
    PathCost, Problem, QueueBuffers, RouteSizes, Slot, Span, TiledGrid, Tiling, TreeBuffers,
};

use super::gather_paths;
use super::plan::Plan;
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::memory::{collect, reserve};
use crate::route::gpu::grid::DeviceGrid;
use crate::route::net::Net;
use crate::route::net_by_net::PATHS;
use crate::route::tree::Route;

/// The buffers of the kernels' results.
pub(super) struct State<G: Gpu, L: Pod> {
    areas: G::Buffer<Area>,
    slots: G::Buffer<Slot>,
    labels: G::Buffer<L>,
    net_words: G::Buffer<u32>,
    joined: G::Buffer<JoinedPin>,
    paths: G::Buffer<u32>,
}

impl<G: Gpu, L: PathCostKernels> State<G, L> {
    /// Routes the nets.
    pub(super) fn run(gpu: &G, grid: &DeviceGrid<G>, plan: &Plan) -> Result<Self> {
        let tiling = grid.tiling();
        let slots = plan.slots();
        let blocks = tiles::blocks(slots, gpu.multiprocessors());
        let pins = plan.pin_starts.len() - 1;
        let pin_cells = gpu.upload(&plan.pin_cells)?;
        let pin_starts = gpu.upload(&plan.pin_starts)?;
        let cell_places = gpu.upload(&plan.cell_places)?;
        let sizes = RouteSizes {
            slots,
            rim: tiling.rim(),
            blocks,
            nets: plan.nets(),
            pins,
            pin_cells: plan.pin_cells.len(),
            path_cells: plan.path_cells,
        };
        let memory = OnGpu(gpu.clone());
        let mut labels = LabelBuffers::<_, L>::alloc(&memory, &sizes)?;
        let mut queue = QueueBuffers::alloc(&memory, &sizes)?;
        let mut trees = TreeBuffers::alloc(&memory, &sizes)?;
        let areas = gpu.upload(&plan.areas)?;
        let net_slots = gpu.upload(&plan.slots)?;
        let quarters = labels.cells.view_mut_as::<u32>().len() / 4;
        let threads = [
            labels.pins.view_mut_as::<u32>().len(),
            queue.pending.len(),
            queue.counters.len(),
            queue.nets.len(),
            pins,
        ]
        .into_iter()
        .fold(quarters, usize::max);
        let words = Labels {
            cells: labels.cells.view_mut_as(),
            rims: labels.rims.view_mut_as(),
            pins: labels.pins.view_mut_as(),
        };
        let on = &gpu.launcher();
        // SAFETY: one thread per element.
        unsafe {
            tiles::route_start::launch_threads(
                on,
                threads,
                words,
                queue.views(),
                trees.is_joined.view_mut(),
                L::UNREACHED_WORDS,
            )?;
        }
        let problem = Problem {
            grid: grid.tiled(),
            nets: Nets {
                areas: areas.view(),
                slots: net_slots.view(),
                pin_cells: pin_cells.view(),
                pin_starts: pin_starts.view(),
                cell_places: cell_places.view(),
            },
            labels: labels.views(),
            queue: queue.views(),
            trees: trees.views(),
        };
        // SAFETY: as for `route_start`, which has run; the plan's pins are in their nets' windows.
        unsafe { L::launch_route(on, blocks, problem)? };
        Ok(Self {
            areas,
            slots: net_slots,
            labels: labels.cells,
            net_words: queue.nets,
            joined: trees.joined,
            paths: trees.paths,
        })
    }

    /// The trees. Waits for them.
    pub(super) fn routes(&self, gpu: &G, nets: &[Net], plan: &Plan) -> Result<Vec<Route>> {
        let words = self.net_words.to_vec()?;
        let words = collect(words.chunks_exact(NET_WORDS as usize), PATHS)?;
        let mut sum = 0u32;
        let spans = words.iter().zip(&plan.areas).map(|(words, area)| {
            let to = sum;
            // At most `plan.path_cells`.
            sum += words[NET_PATH_CELLS as usize];
            Span {
                from: area.first_path,
                to,
            }
        });
        let spans = collect(spans, PATHS)?;
        let cells = gather_paths(gpu, &spans, sum, &self.paths)?;
        let joined = self.joined.to_vec()?;
        let mut routes = Vec::new();
        reserve(&mut routes, nets.len(), "the routes")?;
        let all = nets.iter().zip(&plan.areas).zip(&words).zip(&spans);
        for (((net, area), words), span) in all {
            let joined = joined[area.first_pin as usize..].iter();
            let joined = joined.take(words[NET_JOINED_PINS as usize] as usize);
            let labels =
                cells[span.to as usize..][..words[NET_PATH_CELLS as usize] as usize].iter();
            let pins = joined
                .clone()
                .map(|pin| (pin.pin - area.first_pin) as usize);
            routes.push(Route::new(
                net,
                collect(pins, PATHS)?,
                collect(joined.clone().map(|pin| pin.cost), PATHS)?,
                collect(joined.map(|pin| pin.end as usize), PATHS)?,
                collect(labels.map(|&label| plan.cell(area, label)), PATHS)?,
            )?);
        }
        Ok(routes)
    }

    /// Whether every unreached pin is unreached for another reason than its cost.
    pub(super) fn is_complete(
        &self,
        gpu: &G,
        grid: &DeviceGrid<G>,
        plan: &Plan,
        routes: &[Route],
    ) -> Result<bool> {
        if routes.iter().all(|route| route.unreached().is_empty()) {
            return Ok(true);
        }
        let left_out = self.left_out(gpu, grid, plan)?;
        let mut nets = routes.iter().zip(left_out);
        Ok(nets.all(|(route, left_out)| route.unreached().is_empty() || left_out == 0))
    }

    /// By net: whether a cell's cost is too large for a label. Waits for it.
    pub(super) fn left_out(&self, gpu: &G, grid: &DeviceGrid<G>, plan: &Plan) -> Result<Vec<u32>> {
        let mut found = gpu.alloc_zeroed(plan.nets() as usize)?;
        // SAFETY: one element per net and one thread per label, after the kernels that route.
        unsafe {
            L::launch_too_far(
                &gpu.launcher(),
                self.labels.len(),
                grid.tiled(),
                self.areas.view(),
                self.slots.view(),
                self.labels.view(),
                found.view_mut(),
            )
        }?;
        found.to_vec()
    }

    /// Each cell's distance from the first net's tree.
    pub(super) fn distances(&self, gpu: &G, tiling: Tiling) -> Result<G::Buffer<u64>> {
        let cells = tiling.width * tiling.height * tiling.layers;
        let mut distances = gpu.alloc(cells as usize)?;
        // SAFETY: the net's window is the grid, and there are one element and one thread per cell.
        unsafe {
            L::launch_gather(
                &gpu.launcher(),
                cells,
                self.areas.view(),
                self.labels.view(),
                distances.view_mut(),
                tiling,
            )
        }?;
        Ok(distances)
    }
}

/// A type of labels, with its kernels.
pub(super) trait PathCostKernels: PathCost {
    /// [`PathCost::UNREACHED`] as two words, the lower first; repeated if it has one word.
    const UNREACHED_WORDS: [u32; 2];

    /// Launches the kernel that routes, on `blocks` blocks.
    ///
    /// # Safety
    /// What the kernel asks for.
    unsafe fn launch_route<O: Launcher>(
        on: &O,
        blocks: u32,
        problem: Problem<'_, Self>,
    ) -> std::result::Result<(), O::Error>;

    /// Launches the kernel that looks for too large costs, on `threads` threads.
    ///
    /// # Safety
    /// What the kernel asks for.
    unsafe fn launch_too_far<O: Launcher>(
        on: &O,
        threads: usize,
        grid: TiledGrid<'_>,
        areas: View<'_, Area>,
        slots: View<'_, Slot>,
        labels: View<'_, Self>,
        found: ViewMut<'_, u32>,
    ) -> std::result::Result<(), O::Error>;

    /// Launches the kernel that copies costs, on `threads` threads.
    ///
    /// # Safety
    /// What the kernel asks for.
    unsafe fn launch_gather<O: Launcher>(
        on: &O,
        threads: u32,
        areas: View<'_, Area>,
        labels: View<'_, Self>,
        distances: ViewMut<'_, u64>,
        tiling: Tiling,
    ) -> std::result::Result<(), O::Error>;
}

macro_rules! path_cost_kernels {
    ($($label:ty: $words:expr, $tiles:ident, $layers:ident, $too_far:ident, $gather:ident;)*) => {$(
        impl PathCostKernels for $label {
            const UNREACHED_WORDS: [u32; 2] = $words;

            unsafe fn launch_route<O: Launcher>(
                on: &O,
                blocks: u32,
                problem: Problem<'_, Self>,
            ) -> std::result::Result<(), O::Error> {
                // SAFETY: the caller's promise.
                unsafe {
                    if problem.grid.tiling.layers > 1 {
                        tiles::$layers::launch(on, blocks, problem)
                    } else {
                        tiles::$tiles::launch(on, blocks, problem)
                    }
                }
            }

            unsafe fn launch_too_far<O: Launcher>(
                on: &O,
                threads: usize,
                grid: TiledGrid<'_>,
                areas: View<'_, Area>,
                slots: View<'_, Slot>,
                labels: View<'_, Self>,
                found: ViewMut<'_, u32>,
            ) -> std::result::Result<(), O::Error> {
                // SAFETY: the caller's promise.
                unsafe {
                    tiles::$too_far::launch_threads(on, threads, grid, areas, slots, labels, found)
                }
            }

            unsafe fn launch_gather<O: Launcher>(
                on: &O,
                threads: u32,
                areas: View<'_, Area>,
                labels: View<'_, Self>,
                distances: ViewMut<'_, u64>,
                tiling: Tiling,
            ) -> std::result::Result<(), O::Error> {
                // SAFETY: the caller's promise.
                unsafe {
                    tiles::$gather::launch_threads(on, threads, areas, labels, distances, tiling)
                }
            }
        }
    )*};
}
path_cost_kernels! {
    u32: [u32::UNREACHED; 2], route_tiles, route_layers, find_too_far, gather_distances;
    u64: [u64::UNREACHED as u32, (u64::UNREACHED >> 32) as u32], route_tiles_u64, route_layers_u64,
        find_too_far_u64, gather_distances_u64;
}
