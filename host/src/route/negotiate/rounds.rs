//! The rounds of a negotiation.

use std::collections::HashSet;
use std::sync::Mutex;

use rayon::prelude::*;

use super::edges::Edges;
use super::estimate::Estimates;
use super::search::{self, Found, Scratch, Task};
use super::{EdgeCounts, Negotiated, NegotiationOptions, OverfullEdge, Round, schedule};
use crate::error::Result;
use crate::geometry::Window;
use crate::memory::{collect, extend, par_collect, push, reserve, reserve_in_set};
use crate::progress::Progress;
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;
use crate::route::net_by_net::Joined;
use crate::threads;

/// What each net too many adds to an edge's cost, in sixteenths of it: in the first round, and at
/// most. It doubles from round to round.
const PRESSURE: u32 = 16;
const MAX_PRESSURE: u32 = 1 << 16;
/// The number of rounds with an overfull tree after which a net gets a larger window and a new
/// tree.
const PATIENCE: u32 = 5;
/// The most nets that are routed at the same time, and the share of a round's nets. As they do not
/// see each other's new paths, some have to be routed again, the more the larger the share. It is
/// not the number of threads, on which the result must not depend.
const MOST_AT_ONCE: usize = 64;
const SHARE_AT_ONCE: usize = 4;
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
    let estimates = Estimates::new(&edges.least_costs()?)?;
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
        let mut next = pending.iter();
        // Nets to be searched again come first.
        let mut batch = Vec::new();
        loop {
            progress.report(done, total)?;
            while batch.len() < at_once
                && let Some(&net) = next.next()
            {
                done += 1;
                push(&mut batch, net, NETS)?;
            }
            if batch.is_empty() {
                break;
            }
            let changes = batch.par_iter().with_max_len(1).map(|&net| {
                let (entry, net) = (&entries[net as usize], &nets[net as usize]);
                // The vector has room for as many as there are threads after a few nets.
                let mut scratch = threads::lock(&scratches).pop().unwrap_or_default();
                let change = change(&edges, &estimates, net, entry, &mut scratch);
                push(&mut *threads::lock(&scratches), scratch, NETS)?;
                change
            });
            let changes: Vec<Result<Option<Change>>> = par_collect(changes, NETS)?;
            let mut again = Vec::new();
            for (&net, change) in batch.iter().zip(changes) {
                let entry = &mut entries[net as usize];
                if let Some(change) = change?
                    && !enter(&edges, entry, change)
                {
                    push(&mut again, net, NETS)?;
                }
            }
            batch = again;
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
        pressure = (2 * pressure).min(MAX_PRESSURE);
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
fn kept(edges: &Edges<'_>, net: &Net, entry: &Entry) -> Result<Option<Joined>> {
    let mut kept = Joined::default();
    if entry.starts_anew {
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
        let is_full = is_overfull(edges, path);
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

/// A new tree for a net.
struct Change {
    /// The edges of the net's paths that are not kept.
    given_up: Vec<usize>,
    /// The number of paths that are.
    kept: usize,
    found: Found,
}

/// A new tree for a net, given those of all others; `None` if it keeps its tree.
fn change(
    edges: &Edges<'_>,
    estimates: &Estimates,
    net: &Net,
    entry: &Entry,
    scratch: &mut Scratch,
) -> Result<Option<Change>> {
    let Some(kept) = kept(edges, net, entry)? else {
        return Ok(None);
    };
    let given_up = given_up(edges, &entry.tree, &kept)?;
    let task = Task {
        net,
        kept: &kept,
        given_up: &given_up,
        window: entry.window,
        margin: entry.margin,
    };
    let found = search::tree(edges, estimates, &task, scratch)?;
    Ok(Some(Change {
        kept: kept.paths().count(),
        given_up,
        found,
    }))
}

/// The edges of a tree's paths that are not among those of `kept`.
fn given_up(edges: &Edges<'_>, tree: &Joined, kept: &Joined) -> Result<Vec<usize>> {
    let mut given_up = Vec::new();
    let mut kept = kept.paths().map(|(pin, ..)| pin).peekable();
    for (pin, _, path) in tree.paths() {
        if kept.next_if_eq(&pin).is_some() {
            continue;
        }
        extend(&mut given_up, edges.along(path), NETS)?;
    }
    Ok(given_up)
}

/// Replaces a net's tree, if its new paths cost no more than when they were found: nets that were
/// searched at the same time may have taken their edges. A net that gives up no edges gets the
/// paths before the first that costs more. Whether the net has all that was found.
fn enter(edges: &Edges<'_>, entry: &mut Entry, change: Change) -> bool {
    let Change {
        given_up,
        kept,
        found,
    } = change;
    let mut tree = found.tree;
    for &edge in &given_up {
        edges.give_back(edge);
    }
    let new = tree.paths().zip(found.costs).skip(kept);
    // The paths of a tree have no edge in common, so they do not raise each other's costs.
    let good = new.take_while(|((_, _, path), cost)| {
        let costs = edges.along(path).map(|edge| u64::from(edges.cost(edge)));
        costs.sum::<u64>() <= *cost
    });
    let entered = kept + good.count();
    let is_complete = entered == tree.paths().count();
    if !is_complete && !given_up.is_empty() {
        for &edge in &given_up {
            edges.take(edge);
        }
        return false;
    }
    tree.truncate(entered);
    for (_, _, path) in tree.paths().skip(kept) {
        for edge in edges.along(path) {
            edges.take(edge);
        }
    }
    entry.tree = tree;
    entry.has_all = found.has_all && is_complete;
    entry.starts_anew = false;
    is_complete
}

/// Whether a path has an overfull edge.
fn is_overfull(edges: &Edges<'_>, path: &[u32]) -> bool {
    edges.along(path).any(|edge| edges.overflow(edge) > 0)
}

/// Whether a net must be routed again, perhaps in a larger window.
fn goes_on(edges: &Edges<'_>, net: &Net, entry: &mut Entry) -> bool {
    let is_overfull = entry
        .tree
        .paths()
        .any(|(_, _, path)| is_overfull(edges, path));
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
        let [from, to] = edges.ends(edge);
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
