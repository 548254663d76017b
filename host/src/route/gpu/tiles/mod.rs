//! Routing in tiles: whole nets in one launch of the kernels of [`trazar_kernels::route::tiles`].

mod plan;
mod run;

use trazar_kernels::route::tiles::{self, PathCost, Span};

use super::grid::DeviceGrid;
use crate::error::{Error, Result};
use crate::geometry::Window;
use crate::gpu::{Gpu, GpuBuffer, Lent};
use crate::memory::reserve;
use crate::route::RouteAlgorithm;
use crate::route::net::Net;
use crate::route::tree::Route;
use plan::Plan;
use run::State;

/// Routes nets on `grid`, in the given windows.
pub(super) fn route<G: Gpu>(
    gpu: &G,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    windows: &[Window],
) -> Result<Vec<Route>> {
    let in_use = grid.using(gpu)?;
    let mut routes = Vec::new();
    reserve(&mut routes, nets.len(), "the routes")?;
    let mut start = 0;
    while start < nets.len() {
        let mut plan = Plan::new(grid.tiling());
        let mut end = start;
        while end < nets.len() && plan.add(&nets[end], windows[end], end == start)? {
            end += 1;
        }
        plan.arrange()?;
        routes.extend(route_plan(gpu, grid, &nets[start..end], &plan)?);
        start = end;
    }
    in_use.into_iter().try_for_each(Lent::finish)?;
    Ok(routes)
}

/// Routes the nets of a plan with the smallest labels that suffice.
fn route_plan<G: Gpu>(
    gpu: &G,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    plan: &Plan,
) -> Result<Vec<Route>> {
    if !grid.has_free_edges() {
        let state = State::<G, u32>::run(gpu, grid, plan)?;
        let routes = state.routes(gpu, nets, plan)?;
        // planted: route-retry
        if state.is_complete(gpu, grid, plan, &routes)? {
            return Ok(routes);
        }
    }
    plan.check_u64()?;
    let state = State::<G, u64>::run(gpu, grid, plan)?;
    let routes = state.routes(gpu, nets, plan)?;
    if state.is_complete(gpu, grid, plan, &routes)? {
        return Ok(routes);
    }
    drop(state);
    // Some cell is too far. No pin is too far if no path leads to the unreached ones.
    let steps = grid.with_steps(gpu)?;
    let state = State::<G, u32>::run(gpu, &steps, plan)?;
    let reached = state.routes(gpu, nets, plan)?;
    let mut both = routes.iter().zip(&reached);
    // planted: route-too-far, route-too-far-elsewhere
    if both.all(|(route, reached)| route.unreached() == reached.unreached())
        && state.is_complete(gpu, &steps, plan, &reached)?
    {
        return Ok(routes);
    }
    Err(too_far())
}

fn too_far() -> Error {
    Error::CostTooLarge {
        algorithm: RouteAlgorithm::Tiles.name(),
        limit: u64::COSTS.end,
        instead: "route with `dijkstra` on the CPU",
    }
}

/// The paths of nets, `sum` cells in all, packed without gaps. Waits for them.
pub(super) fn gather_paths<G: Gpu>(
    gpu: &G,
    spans: &[Span],
    sum: u32,
    paths: &G::Buffer<u32>,
) -> Result<Vec<u32>> {
    if sum == 0 {
        return Ok(Vec::new());
    }
    let spans = gpu.upload(spans)?;
    let mut gathered = gpu.alloc(sum as usize)?;
    // SAFETY: spans are consecutive, and together as long as the buffer.
    unsafe {
        tiles::gather_paths::launch_threads(
            &gpu.launcher(),
            sum,
            spans.view(),
            paths.view(),
            gathered.view_mut(),
        )
    }?;
    gathered.to_vec()
}

/// The cost of the cheapest path from the cells `sources` to each cell, by its index; `u64::MAX`
/// where there is none.
pub(super) fn distances<G: Gpu>(
    gpu: &G,
    grid: &DeviceGrid<G>,
    source: &Net,
) -> Result<G::Buffer<u64>> {
    let tiling = grid.tiling();
    let window = Window {
        x: 0,
        y: 0,
        width: tiling.width,
        height: tiling.height,
    };
    let mut plan = Plan::new(tiling);
    plan.add(source, window, true)?;
    plan.arrange()?;
    let _in_use = grid.using(gpu)?;
    if !grid.has_free_edges() {
        let state = State::<G, u32>::run(gpu, grid, &plan)?;
        if !state.left_out(gpu, grid, &plan)?.contains(&1) {
            return state.distances(gpu, tiling);
        }
    }
    plan.check_u64()?;
    let state = State::<G, u64>::run(gpu, grid, &plan)?;
    if state.left_out(gpu, grid, &plan)?.contains(&1) {
        return Err(too_far());
    }
    state.distances(gpu, tiling)
}
