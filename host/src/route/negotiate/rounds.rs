//! The rounds of a negotiation.

use std::collections::HashSet;
use std::sync::Mutex;

use rayon::prelude::*;

use super::edges::{Edges, KINDS};
use super::search;
use super::{EdgeCounts, Negotiated, NegotiationOptions, OverfullEdge, Round, schedule};
use crate::error::Result;
use crate::geometry::Window;
use crate::memory::{collect, par_collect, push, reserve, reserve_in_set};
use crate::progress::Progress;
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;
use crate::route::net_by_net::Joined;
use crate::threads;

/// What each net too many adds to an edge's cost, in sixteenths of it: in the first round, and at
/// most. It grows by 3/10 from round to round. Beyond some ten times the cost, nets take detours
/// that crowd out more nets than they make room for, and overflow grows again.
const PRESSURE: u32 = 8;
const MAX_PRESSURE: u32 = 128;
/// The number of rounds with an overfull tree after which a net gets a larger window and a new
/// tree. History needs that long to show which edges are worth a detour.
const PATIENCE: u32 = 25;
/// The most nets that are routed at the same time, and the share of a round's nets. Few, as they do
/// not see each other; not the number of threads, on which the result must not depend.
const MOST_AT_ONCE: usize = 64;
const SHARE_AT_ONCE: usize = 32;
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
    /// Whether all of the tree is replaced in the next round.
    starts_anew: bool,
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
        entries.push(Entry {
            tree: Joined::default(),
            has_all: true,
            window: schedule::window(grid, net, options.margin),
            margin: options.margin,
            tries: 0,
            starts_anew: true,
        });
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
        let at_once = (pending.len() / SHARE_AT_ONCE).clamp(1, MOST_AT_ONCE);
        let total = u64::from(options.rounds) * pending.len() as u64;
        let mut done = u64::from(round) * pending.len() as u64;
        for batch in pending.chunks(at_once) {
            progress.report(done, total)?;
            let mut again = Vec::new();
            for &net in batch {
                let entry = &mut entries[net as usize];
                if let Some(kept) = kept(&edges, &nets[net as usize], entry)? {
                    each_edge(&edges, &entry.tree, |edge| edges.give_back(edge));
                    entry.tree = kept;
                    push(&mut again, net, NETS)?;
                }
            }
            let trees = again.par_iter().with_max_len(1).map(|&net| {
                let (entry, net) = (&entries[net as usize], &nets[net as usize]);
                let mut scratch = threads::lock(&scratches).pop().unwrap_or_default();
                let kept = &entry.tree;
                let tree = search::tree(&edges, least, net, kept, entry.window, &mut scratch);
                // The vector has room for as many as there are threads after a few nets.
                push(&mut *threads::lock(&scratches), scratch, NETS)?;
                tree
            });
            let trees: Vec<Result<(Joined, bool)>> = par_collect(trees, NETS)?;
            for (&net, tree) in again.iter().zip(trees) {
                let entry = &mut entries[net as usize];
                (entry.tree, entry.has_all) = tree?;
                each_edge(&edges, &entry.tree, |edge| edges.take(edge));
            }
            done += batch.len() as u64;
        }
        overfull = edges.overfull()?;
        let overflow = overfull.iter().map(|&edge| u64::from(edges.overflow(edge)));
        push(
            &mut rounds,
            Round {
                nets: pending.len(),
                at_once,
                overflow: overflow.sum(),
                overfull_edges: overfull.len(),
            },
            NETS,
        )?;
        edges.remember(&overfull);
        pressure = (pressure * 13 / 10).min(MAX_PRESSURE);
        let waiting = entries.par_iter_mut().zip(nets).enumerate();
        let waiting = waiting.filter_map(|(net, (entry, given))| {
            goes_on(&edges, given, entry).then_some(net as u32)
        });
        pending = par_collect(waiting, NETS)?;
    }
    progress.report(1, 1)?;
    finish(&edges, nets, entries, rounds, &overfull)
}

/// The part of a net's tree that it keeps: the paths without overfull edges that the others do not
/// need to reach the first pin. `None` if it keeps all.
fn kept(edges: &Edges<'_>, net: &Net, entry: &mut Entry) -> Result<Option<Joined>> {
    let mut kept = Joined::default();
    if std::mem::take(&mut entry.starts_anew) {
        return Ok(Some(kept));
    }
    let mut cells: HashSet<u32> = HashSet::new();
    let add = |cells: &mut HashSet<u32>, pin: usize, path: &[u32]| -> Result<()> {
        let of_pin = &net.pins[pin].cells;
        reserve_in_set(cells, path.len() + of_pin.len(), NETS)?;
        cells.extend(path);
        cells.extend(of_pin.iter().map(|&cell| edges.grid.index(cell)));
        Ok(())
    };
    add(&mut cells, 0, &[])?;
    let mut keeps_all = entry.has_all;
    for (pin, cost, path) in entry.tree.paths() {
        let is_full = path
            .windows(2)
            .any(|pair| edges.overflow(edges.between(pair[0], pair[1])) > 0);
        let end = path[path.len() - 1];
        if is_full || !cells.contains(&end) {
            keeps_all = false;
            continue;
        }
        add(&mut cells, pin, path)?;
        kept.push(pin, cost, path)?;
    }
    Ok((!keeps_all).then_some(kept))
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
            entry.margin = entry.margin.saturating_add(entry.margin.max(2) / 2);
            entry.starts_anew = true;
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
    entries: Vec<Entry>,
    rounds: Vec<Round>,
    overfull: &[usize],
) -> Result<Negotiated> {
    let grid = edges.grid;
    let mut routes = Vec::new();
    reserve(&mut routes, nets.len(), NETS)?;
    for (net, entry) in nets.iter().zip(entries) {
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
