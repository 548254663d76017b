//! Trees that pay for turns, routed on a grid of two layers: one for wires along x, one for wires
//! along y, with a via at each cell that costs as much as a turn.
//!
//! A pin is on both layers, so a wire leaves it in any direction for free. Any algorithm on any
//! device routes such a grid. With two pins the tree is the cheapest path. With more, wires of the
//! two layers may cross without a via. They touch when the layers become one; of the ways around
//! the resulting ring, one is then left out.

use super::cpu::spanning;
use super::grid::{BLOCKED, RoutingGrid};
use super::net::{Net, Pin};
use super::net_by_net::{PATHS, PINS, PinCells};
use super::tree::Route;
use super::{RouteOptions, TreeKind};
use crate::error::{Error, OptionProblem, Result};
use crate::geometry::Window;
use crate::memory::{collect, reserve};

/// Routes nets at `options.turn_cost` per turn, which must not be 0. `route` routes on the grid of
/// two layers.
pub(crate) fn route(
    grid: &RoutingGrid,
    nets: &[Net],
    options: &RouteOptions,
    route: impl Fn(&RoutingGrid, &[Net], &RouteOptions) -> Result<Vec<Route>>,
) -> Result<Vec<Route>> {
    let turn_cost = options.turn_cost;
    if grid.layers() > 1 {
        return Err(Error::option(
            "turn_cost",
            OptionProblem::Conflict,
            format!(
                "a cost of turns is for a grid of one layer, and this one has {}: give each a \
                 direction, so that a turn takes a via",
                grid.layers()
            ),
        ));
    }
    if turn_cost == BLOCKED {
        return Err(Error::option(
            "turn_cost",
            OptionProblem::OutOfRange,
            format!(
                "{turn_cost} for a turn is too much: {} at most",
                BLOCKED - 1
            ),
        ));
    }
    for (index, net) in nets.iter().enumerate() {
        net.check(index, grid.width(), grid.height(), grid.layers())?;
    }
    let layered = grid.by_direction(turn_cost)?;
    let mut layered_nets = Vec::new();
    reserve(&mut layered_nets, nets.len(), PINS)?;
    for net in nets {
        let mut pins = Vec::new();
        reserve(&mut pins, net.pins.len(), PINS)?;
        for pin in &net.pins {
            let both = pin.cells.iter().flat_map(|cell| [*cell, cell.on(1)]);
            let cells = collect(both, PINS)?;
            pins.push(Pin { cells });
        }
        layered_nets.push(Net {
            pins,
            window: net.window,
        });
    }
    let flat = |tree: TreeKind| -> Result<Vec<Route>> {
        let options = RouteOptions {
            turn_cost: 0,
            tree,
            ..*options
        };
        let routes = route(&layered, &layered_nets, &options)?;
        let mut flat = Vec::new();
        reserve(&mut flat, nets.len(), "the routes")?;
        for (net, layered) in nets.iter().zip(&routes) {
            let mut route = flatten(grid, net, layered)?;
            route.field_use = layered.field_use;
            route.turn_cost = route.turns(net)? * u64::from(turn_cost);
            route.cost += route.turn_cost;
            flat.push(route);
        }
        Ok(flat)
    };
    let mut routes = flat(options.tree)?;
    if options.tree == TreeKind::Improved {
        // A tree that is cheaper on two layers need not be cheaper on one.
        for (route, plain) in routes.iter_mut().zip(flat(TreeKind::Nearest)?) {
            if plain.cost < route.cost {
                *route = plain;
            }
        }
    }
    Ok(routes)
}

/// The one-layer tree of `net` from a tree on two layers.
fn flatten(grid: &RoutingGrid, net: &Net, layered: &Route) -> Result<Route> {
    let edges = layered
        .edges()
        .filter(|(a, b)| a.layer == b.layer)
        .map(|(a, b)| (grid.index(a.on(0)), grid.index(b.on(0))));
    let edges = collect(edges, PATHS)?;
    let mut pins = PinCells::new();
    reserve(&mut pins, net.pins.len(), PINS)?;
    for pin in &net.pins {
        let cells = pin.cells.iter().map(|&cell| grid.index(cell));
        pins.push(collect(cells, PINS)?);
    }
    spanning::joined_over(grid, &pins, &edges)?.into_route(net, grid, Window::of(grid))
}
