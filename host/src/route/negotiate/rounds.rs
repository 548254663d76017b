//! The rounds of a negotiation.

use std::collections::HashSet;

use rayon::prelude::*;

use super::edges::Edges;
use super::entering::{self, Change, Outcome};
use super::estimate::Estimates;
use super::growing::{Found, Task};
use super::{EdgeCounts, Negotiated, NegotiationOptions, OverfullEdge, Round, schedule};
use crate::error::Result;
use crate::geometry::Window;
use crate::memory::{collect, extend, par_collect, par_try_collect, push, reserve, reserve_in_set};
use crate::progress::Progress;
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;
use crate::route::net_by_net::Joined;
use crate::route::tree::Route;
use crate::threads;

/// What each net too many adds to an edge's cost, in sixteenths of it: in the first round, and at
/// most. It doubles from round to round.
const PRESSURE: u32 = 16;
const MAX_PRESSURE: u32 = 1 << 16;
/// The number of rounds with an overfull tree after which a net gets a larger window and a new
/// tree.
const PATIENCE: u32 = 5;
/// The share of a round's nets that are routed at the same time: a quarter, but at most 64, or a
/// fortieth if that is more. As they do not see each other's new paths, some have to be routed
/// again, the more the larger the share. It is not the number of threads, on which the result must
/// not depend.
const SHARE_AT_ONCE: usize = 4;
const MANY_AT_ONCE: usize = 64;
const SHARE_OF_MANY: usize = 40;
/// Name used in out-of-memory errors.
pub(super) const NETS: &str = "nets that compete";

/// Finds the trees of nets.
pub(super) trait Searcher {
    /// From now on, edges have these costs, by number.
    fn set_costs(&mut self, costs: &[u32]) -> Result<()>;

    /// From now on, the edges `changed` have these costs.
    fn change_costs(&mut self, changed: &[u64], costs: &[u32]) -> Result<()>;

    /// A tree for each task, all by the same costs.
    fn trees(
        &mut self,
        edges: &Edges<'_>,
        estimates: &Estimates,
        tasks: &[Task<'_>],
    ) -> Result<Vec<Found>>;
}

/// A net on its way through the rounds.
pub(super) struct Entry {
    pub(super) tree: Joined,
    /// Whether the tree joins all pins; true before the first search.
    pub(super) has_all: bool,
    /// Paths are searched for in this window.
    window: Window,
    /// The window is the box around the pins, and this many cells on each side.
    margin: u32,
    /// The rounds since the window has grown.
    tries: u32,
    /// Whether all of the tree is replaced in the next round.
    pub(super) starts_anew: bool,
}

impl Entry {
    pub(super) fn new(window: Window, margin: u32) -> Self {
        Self {
            tree: Joined::default(),
            has_all: true,
            window,
            margin,
            tries: 0,
            starts_anew: true,
        }
    }
}

/// See [`Engine::negotiate`](crate::Engine::negotiate). Trees are searched for by what `searcher`
/// returns.
pub(super) fn negotiate<S: Searcher>(
    grid: &RoutingGrid,
    capacities: &EdgeCounts,
    nets: &[Net],
    options: &NegotiationOptions,
    progress: &Progress<'_>,
    searcher: impl FnOnce(&Estimates) -> Result<S>,
) -> Result<Negotiated> {
    threads::ensure();
    Net::check_all(nets, grid.width(), grid.height(), grid.layers())?;
    let mut edges = Edges::new(grid, capacities)?;
    let estimates = Estimates::new(&edges.least_costs()?)?;
    let mut searcher = searcher(&estimates)?;
    let mut entries = Vec::new();
    reserve(&mut entries, nets.len(), NETS)?;
    for net in nets {
        let window = schedule::window(grid, net, options.margin);
        entries.push(Entry::new(window, options.margin));
    }
    let mut rounds = Vec::new();
    let mut pending = schedule::all(nets)?;
    let mut pressure = PRESSURE;
    let mut overfull = Vec::new();
    let mut outcome = Outcome::default();
    while !pending.is_empty() && rounds.len() < options.rounds as usize {
        let round = rounds.len() as u32;
        edges.set_pressure(pressure);
        searcher.set_costs(edges.costs())?;
        schedule::shuffle(&mut pending, round);
        let most = MANY_AT_ONCE.max(pending.len() / SHARE_OF_MANY);
        let at_once = (pending.len() / SHARE_AT_ONCE).clamp(1, most);
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
            let changes = changes(&edges, &estimates, nets, &entries, &batch, &mut searcher)?;
            entering::enter(&edges, &mut entries, changes, &mut outcome)?;
            std::mem::swap(&mut batch, &mut outcome.again);
            searcher.change_costs(&outcome.changed, &outcome.costs)?;
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

/// What a net keeps and gives up.
struct Plan {
    net: u32,
    kept: Joined,
    given_up: Vec<usize>,
}

/// New trees for the nets of a batch that don't keep theirs, each given those of all others.
fn changes(
    edges: &Edges<'_>,
    estimates: &Estimates,
    nets: &[Net],
    entries: &[Entry],
    batch: &[u32],
    searcher: &mut impl Searcher,
) -> Result<Vec<Change>> {
    let plans = batch.par_iter().with_max_len(1).map(|&net| {
        let entry = &entries[net as usize];
        let Some(kept) = kept(edges, &nets[net as usize], entry)? else {
            return Ok(None);
        };
        let given_up = given_up(edges, &entry.tree, &kept)?;
        Ok(Some(Plan {
            net,
            kept,
            given_up,
        }))
    });
    let plans: Vec<Option<Plan>> = par_try_collect(plans, NETS)?;
    let changing = collect(plans.into_iter().flatten(), NETS)?;
    let tasks = changing.iter().map(|plan| {
        let entry = &entries[plan.net as usize];
        Task {
            net: &nets[plan.net as usize],
            kept: &plan.kept,
            given_up: &plan.given_up,
            window: entry.window,
            margin: entry.margin,
        }
    });
    let tasks = collect(tasks, NETS)?;
    let found = searcher.trees(edges, estimates, &tasks)?;
    let changes = changing.into_iter().zip(found).map(|(plan, found)| Change {
        net: plan.net,
        given_up: plan.given_up,
        kept: plan.kept.paths().count(),
        found,
    });
    collect(changes, NETS)
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
    let routes = entries.into_par_iter().zip(nets);
    let routes = routes.map(|(entry, net)| entry.tree.into_route(net, grid, Window::of(grid)));
    let routes: Vec<Route> = par_try_collect(routes, NETS)?;
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
