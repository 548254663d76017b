//! Routing by fields: nets whose pins are close are routed by the kernels of
//! [`trazar_kernels::route::fields`], all others in tiles.
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
use super::tiles;
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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            labels: 1 << 26,
            many_cells: 1 << 25,
        }
    }
}

/// Routes nets on `grid`, in the given windows. The routes say how they were found.
pub(super) fn route<G: Gpu>(
    gpu: &G,
    settings: Settings,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    windows: &[Window],
) -> Result<Vec<Route>> {
    let unfit = match (grid.layers(), grid.has_free_edges()) {
        (1, false) => None,
        (1, true) => Some(Fallback::FreeEdges),
        _ => Some(Fallback::Layers),
    };
    let nothing = |net: &Net| InFields::Nothing(unfit.filter(|_| net.pins.len() > 1));
    let mut found = collect(nets.iter().map(nothing), "the routes")?;
    if unfit.is_none() {
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
    }
    finish_in_tiles(gpu, grid, nets, windows, found)
}

/// The part of a net's tree that fields have found. The routes say how.
enum InFields {
    /// Nothing, with the reason; no reason if there is nothing to join.
    Nothing(Option<Fallback>),
    /// An incomplete tree.
    Part(Route),
    Whole(Route),
}

/// Completes routes by searches in tiles.
fn finish_in_tiles<G: Gpu>(
    gpu: &G,
    grid: &DeviceGrid<G>,
    nets: &[Net],
    windows: &[Window],
    found: Vec<InFields>,
) -> Result<Vec<Route>> {
    let rests = if found
        .iter()
        .all(|found| matches!(found, InFields::Nothing(_)))
    {
        tiles::route(gpu, grid, nets, windows)?
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
        tiles::route(gpu, grid, &rests, &rest_windows)?
    };
    let mut rests = rests.into_iter();
    let mut routes = Vec::new();
    reserve(&mut routes, nets.len(), "the routes")?;
    for found in found {
        let route = match found {
            InFields::Whole(route) => route,
            InFields::Nothing(fallback) => {
                let mut route = rests.next().unwrap_or_default();
                let in_tiles = route.connections().len();
                route.field_use = Some(FieldUse {
                    in_tiles,
                    fallback,
                    ..FieldUse::default()
                });
                route
            }
            InFields::Part(route) => {
                let rest = rests.next().unwrap_or_default();
                let in_tiles = rest.connections().len();
                let mut route = route.continued(rest)?;
                if let Some(used) = &mut route.field_use {
                    used.in_tiles = in_tiles;
                }
                route
            }
        };
        routes.push(route);
    }
    Ok(routes)
}
