//! The rounds of a negotiation.

use std::sync::Mutex;

use rayon::prelude::*;

use super::edges::{Edges, KINDS};
use super::search::{self, Scratch};
use super::{EdgeCounts, Negotiated, NegotiationOptions, OverfullEdge, Round, schedule};
use crate::error::Result;
use crate::geometry::Window;
use crate::memory::{collect, par_collect, push, reserve};
use crate::progress::Progress;
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;
use crate::route::net_by_net::Joined;
use crate::threads;

/// What each net too many adds to an edge's cost, in sixteenths of its weight: in the first round,
/// and at most. It grows by half from round to round.
const PRESSURE: u32 = 8;
const MAX_PRESSURE: u32 = 1 << 12;
/// A net whose tree is overfull after so many rounds gets a larger window.
const PATIENCE: u32 = 3;
/// Name used in out-of-memory errors.
const NETS: &str = "nets that compete";

/// A net on its way through the rounds.
struct Entry {
    tree: Joined,
    has_all: bool,
    window: Window,
    margin: u32,
    /// The rounds since the window has grown.
    tries: u32,
}

/// See [`Engine::negotiate`](crate::Engine::negotiate).
pub(crate) fn negotiate(
    grid: &RoutingGrid,
    capacities: &EdgeCounts,
    nets: &[Net],
    options: &NegotiationOptions,
    progress: &Progress<'_>,
) -> Result<Negotiated> {
    threads::ensure();
    Net::check_all(nets, grid.width(), grid.height(), grid.layers())?;
    let mut edges = Edges::new(grid, capacities)?;
    let least = edges.least_costs();
    let mut entries = Vec::new();
    reserve(&mut entries, nets.len(), NETS)?;
    for net in nets {
        entries.push(Mutex::new(Entry {
            tree: Joined::default(),
            has_all: true,
            window: schedule::window(grid, net, options.margin),
            margin: options.margin,
            tries: 0,
        }));
    }
    let scratches = Mutex::new(Vec::new());
    let mut rounds = Vec::new();
    let mut pending = schedule::all(nets)?;
    let mut pressure = PRESSURE;
    let mut overfull = Vec::new();
    while !pending.is_empty() && rounds.len() < options.rounds as usize {
        let round = rounds.len() as u32;
        edges.set_pressure(pressure);
        schedule::shuffle(&mut pending, round);
        let window_of = |net: u32| threads::lock(&entries[net as usize]).window;
        let groups = schedule::groups(grid, &pending, window_of)?;
        let total = u64::from(options.rounds) * pending.len() as u64;
        let mut done = u64::from(round) * pending.len() as u64;
        for group in &groups {
            progress.report(done, total)?;
            let results = group.par_iter().with_max_len(1).map(|&net| {
                let mut scratch = threads::lock(&scratches).pop().unwrap_or_default();
                let entry = &mut *threads::lock(&entries[net as usize]);
                let result = route(&edges, least, &nets[net as usize], entry, &mut scratch);
                // The vector has room for as many as there are threads after a few nets.
                push(&mut *threads::lock(&scratches), scratch, NETS)?;
                result
            });
            let results: Vec<Result<()>> = par_collect(results, NETS)?;
            results.into_iter().collect::<Result<()>>()?;
            done += group.len() as u64;
        }
        overfull = edges.overfull()?;
        let overflow = overfull.iter().map(|&edge| u64::from(edges.overflow(edge)));
        push(
            &mut rounds,
            Round {
                nets: pending.len(),
                groups: groups.len(),
                overflow: overflow.sum(),
                overfull_edges: overfull.len(),
            },
            NETS,
        )?;
        edges.remember(&overfull);
        pressure = (pressure + pressure / 2).min(MAX_PRESSURE);
        let waiting = entries.par_iter().zip(nets).enumerate();
        let waiting = waiting.filter_map(|(net, (entry, given))| {
            let entry = &mut *threads::lock(entry);
            goes_on(&edges, given, entry).then_some(net as u32)
        });
        pending = par_collect(waiting, NETS)?;
    }
    progress.report(1, 1)?;
    finish(&edges, nets, entries, rounds, &overfull)
}

/// Replaces the tree of a net by the cheapest that the search finds.
fn route(
    edges: &Edges<'_>,
    least: [u32; KINDS],
    net: &Net,
    entry: &mut Entry,
    scratch: &mut Scratch,
) -> Result<()> {
    each_edge(edges, &entry.tree, |edge| edges.give_back(edge));
    entry.tree = Joined::default();
    (entry.tree, entry.has_all) = search::tree(edges, least, net, entry.window, scratch)?;
    each_edge(edges, &entry.tree, |edge| edges.take(edge));
    Ok(())
}

fn each_edge(edges: &Edges<'_>, tree: &Joined, mut visit: impl FnMut(usize)) {
    for (_, _, path) in tree.paths() {
        for pair in path.windows(2) {
            visit(edges.between(pair[0], pair[1]));
        }
    }
}

/// Whether a net must be routed again, perhaps in a larger window.
fn goes_on(edges: &Edges<'_>, net: &Net, entry: &mut Entry) -> bool {
    let mut is_overfull = false;
    each_edge(edges, &entry.tree, |edge| {
        is_overfull |= edges.overflow(edge) > 0;
    });
    let mut has_grown = false;
    if is_overfull || !entry.has_all {
        entry.tries += 1;
        if entry.tries >= PATIENCE || !entry.has_all {
            entry.tries = 0;
            entry.margin = entry.margin.max(1).saturating_mul(2);
            let window = schedule::window(edges.grid, net, entry.margin);
            has_grown = window != entry.window;
            entry.window = window;
        }
    }
    is_overfull || has_grown
}

fn finish(
    edges: &Edges<'_>,
    nets: &[Net],
    entries: Vec<Mutex<Entry>>,
    rounds: Vec<Round>,
    overfull: &[usize],
) -> Result<Negotiated> {
    let grid = edges.grid;
    let mut routes = Vec::new();
    reserve(&mut routes, nets.len(), NETS)?;
    for (net, entry) in nets.iter().zip(entries) {
        let entry = entry.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        routes.push(entry.tree.into_route(net, grid, Window::of(grid))?);
    }
    let overfull = overfull.iter().map(|&edge| {
        let from = grid.cell((edge / KINDS) as u32);
        let mut to = from;
        match edge % KINDS {
            0 => to.x += 1,
            1 => to.y += 1,
            _ => to.layer += 1,
        }
        let (usage, capacity) = edges.usage_and_capacity(edge);
        OverfullEdge {
            from,
            to,
            usage,
            capacity,
        }
    });
    Ok(Negotiated {
        routes,
        usage: edges.usage()?,
        overfull: collect(overfull, NETS)?,
        rounds,
    })
}
