//! Routing by fields: nets whose pins are close are routed by the kernels of
//! [`trazar_kernels::route::fields`], all others in tiles. Where pins are only a few cells apart,
//! small fields (`small_fields/`) come first.
//!
//! The required size of a pin's box depends on the distances between the pins, from which it is
//! estimated (`reach.rs`). Where that is not enough, the boxes of a few pins grow, or, at most
//! once, those of all remaining pins. If that is not enough either, a search in tiles joins one
//! pin, and fields continue from there; the last few pins are all joined in tiles.

mod batch;
mod boxes;
mod member;
mod places;
mod reach;

use super::grid::DeviceGrid;
use super::{DeviceRouter, small_fields, tiles};
use crate::Result;
use crate::geometry::Window;
use crate::gpu::Gpu;
use crate::memory::{collect, push, reserve};
use crate::route::net::Net;
use crate::route::net_by_net::PINS;
use crate::route::tree::{Fallback, FieldUse, Route};
use batch::Batch;
use boxes::Limits;

/// Nets are batched until their fields have this many cells: 2 GiB.
const CELLS_AT_ONCE: u64 = 1 << 29;

/// Limits that affect how fast routes are found, but not the routes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The labels of fields that grow at the same time: where they suffice, as for most nets, there
    /// is a block per field.
    pub(crate) labels: u32,
    /// The sizes of boxes are estimated if full boxes have at least this many cells in total, or a
    /// 128th of that per box on average. Either number may determine how long fields take to grow;
    /// if they grow fast, an estimate gains nothing.
    pub(crate) many_cells: u64,
    /// Nets of at least this many pins, a few cells apart, are routed by small fields.
    pub(crate) dense_pins: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            labels: 1 << 26,
            many_cells: 1 << 25,
            dense_pins: small_fields::LEAST_PINS,
        }
    }
}

/// Routes nets on `grid`, in the given windows. The routes say how they were found.
pub(super) fn route<G: Gpu>(
    router: &DeviceRouter<G>,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    windows: &[Window],
) -> Result<Vec<Route>> {
    let gpu = &router.gpu;
    let by_small_fields = small_fields::route(router, grid, nets, windows)?;
    finish(by_small_fields, nets, windows, |nets, windows| {
        let by_fields = by_fields(gpu, router.field_settings, grid, nets, windows)?;
        finish(by_fields, nets, windows, |nets, windows| {
            tiles::route(gpu, grid, nets, windows)
        })
    })
}

/// Routes nets as far as fields can.
fn by_fields<G: Gpu>(
    gpu: &G,
    settings: Settings,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    windows: &[Window],
) -> Result<Vec<InFields>> {
    let unfit = match (grid.layers(), grid.has_free_edges()) {
        (1, false) => None,
        (1, true) => Some(Fallback::FreeEdges),
        _ => Some(Fallback::Layers),
    };
    let nothing = |net: &Net| InFields::Nothing(unfit.filter(|_| net.pins.len() > 1));
    let mut found = collect(nets.iter().map(nothing), "the routes")?;
    if unfit.is_some() {
        return Ok(found);
    }
    let limits = Limits::of(gpu, settings);
    let mut batch = Batch::default();
    for (index, (net, &window)) in nets.iter().zip(windows).enumerate() {
        if net.pins.len() < 2 {
            continue;
        }
        match limits.plan(net, window, grid.evenness())? {
            Ok(plan) => {
                if !batch.has_room_for(&plan, &limits) {
                    std::mem::take(&mut batch).route(gpu, grid, nets, &limits, &mut found)?;
                }
                batch.add(index, net, plan)?;
            }
            Err(fallback) => found[index] = InFields::Nothing(Some(fallback)),
        }
    }
    batch.route(gpu, grid, nets, &limits, &mut found)?;
    Ok(found)
}

/// The part of a net's tree that fields have found. The routes say how.
pub(super) enum InFields {
    /// Nothing, with the reason; no reason if there is nothing to join, or nothing was tried.
    Nothing(Option<Fallback>),
    /// An incomplete tree.
    Part(Route),
    Whole(Route),
}

/// Completes trees. `route` routes the rest of each net; if a rest's route does not say how it was
/// found, it was found in tiles.
fn finish(
    found: Vec<InFields>,
    nets: &[Net],
    windows: &[Window],
    route: impl FnOnce(&[Net], &[Window]) -> Result<Vec<Route>>,
) -> Result<Vec<Route>> {
    let rests = if found
        .iter()
        .all(|found| matches!(found, InFields::Nothing(_)))
    {
        route(nets, windows)?
    } else {
        let (mut rests, mut rest_windows) = (Vec::new(), Vec::new());
        for ((found, net), &window) in found.iter().zip(nets).zip(windows) {
            let rest = match found {
                InFields::Nothing(_) => net.try_clone()?,
                InFields::Part(route) => route.rest(net)?,
                InFields::Whole(_) => continue,
            };
            push(&mut rests, rest, PINS)?;
            push(&mut rest_windows, window, PINS)?;
        }
        route(&rests, &rest_windows)?
    };
    let mut rests = rests.into_iter();
    let mut routes = Vec::new();
    reserve(&mut routes, nets.len(), "the routes")?;
    for found in found {
        let route = match found {
            InFields::Whole(route) => route,
            InFields::Nothing(fallback) => {
                let mut route = rests.next().unwrap_or_default();
                route.field_use = Some(use_of(&route, fallback));
                route
            }
            InFields::Part(route) => {
                let rest = rests.next().unwrap_or_default();
                let used = route.field_use.unwrap_or_default();
                let used = used.and(use_of(&rest, used.fallback));
                let mut route = route.continued(rest)?;
                route.field_use = Some(used);
                route
            }
        };
        routes.push(route);
    }
    Ok(routes)
}

/// How a route was found: in tiles, with the given reason, unless it says otherwise.
fn use_of(route: &Route, fallback: Option<Fallback>) -> FieldUse {
    route.field_use.unwrap_or(FieldUse {
        in_tiles: route.connections().len(),
        fallback,
        ..FieldUse::default()
    })
}
