//! Entering: the nets of a batch replace their trees.
//!
//! The nets were searched at the same time, without seeing each other's new paths, so they enter in
//! the batch's order: whether a net's paths still cost no more than when they were found depends on
//! the nets before it. But most edges are given up and taken by one net of the batch only, and
//! these don't depend on the order:
//!
//! 1. On all threads: each net claims its edges. An edge that several nets claim is *shared*.
//! 2. On all threads: each net gives back its own edges, and adds up what those of its new paths
//!    cost.
//! 3. On one thread, net by net: the same for shared edges. Now it is known which nets enter.
//! 4. On all threads: nets that enter take their own edges; others take back what they gave.

#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::edges::Edges;
use super::growing::Found;
use super::rounds::{Entry, NETS};
use crate::error::Result;
use crate::memory::{collect, extend_from_slice, par_try_collect, push, with_room};
use crate::route::net_by_net::Joined;

/// A new tree for a net.
pub(super) struct Change {
    pub(super) net: u32,
    /// The edges of the net's paths that are not kept.
    pub(super) given_up: Vec<usize>,
    /// The number of paths that are.
    pub(super) kept: usize,
    /// The tree, with the paths that are kept.
    pub(super) found: Found,
}

/// What has become of a batch. Its memory is used again for the next one.
#[derive(Default)]
pub(super) struct Outcome {
    /// The nets that do not have all that was found for them.
    pub(super) again: Vec<u32>,
    /// The edges whose costs have changed, some of them more than once.
    pub(super) changed: Vec<u64>,
    /// Their costs now.
    pub(super) costs: Vec<u32>,
}

/// Replaces the trees of nets whose new paths cost no more than when they were found. A net that
/// gives up no edges gets the paths before the first that costs more.
pub(super) fn enter(
    edges: &Edges<'_>,
    entries: &mut [Entry],
    changes: Vec<Change>,
    outcome: &mut Outcome,
) -> Result<()> {
    let all = changes.par_iter().enumerate().with_max_len(1);
    all.for_each(|(i, change)| claim(edges, number(i), change));
    let all = changes.into_par_iter().enumerate().with_max_len(1);
    let entering = all.map(|(i, change)| Entering::give_back_own(edges, number(i), change));
    let mut entering: Vec<Entering> = par_try_collect(entering, NETS)?;
    for net in &mut entering {
        net.decide(edges)?;
    }
    let all = entering.into_par_iter().with_max_len(1);
    let decided: Vec<Decided> = par_try_collect(all.map(|net| net.finish(edges)), NETS)?;
    outcome.again.clear();
    outcome.changed.clear();
    outcome.costs.clear();
    for net in decided {
        extend_from_slice(&mut outcome.changed, &net.changed, NETS)?;
        extend_from_slice(&mut outcome.costs, &net.costs, NETS)?;
        if !net.is_complete {
            push(&mut outcome.again, net.net, NETS)?;
        }
        if let Some(tree) = net.tree {
            let entry = &mut entries[net.net as usize];
            entry.tree = tree;
            entry.has_all = net.has_all;
            entry.starts_anew = false;
        }
    }
    Ok(())
}

/// The number by which a net of a batch claims edges.
fn number(index: usize) -> u32 {
    index as u32 + 1
}

/// Claims all edges that a net gives up or would take.
fn claim(edges: &Edges<'_>, number: u32, change: &Change) {
    edges.claim(change.given_up.iter().copied(), number);
    for (_, _, path) in change.found.tree.paths().skip(change.kept) {
        edges.claim(edges.along(path), number);
    }
}

/// Edges of a net.
#[derive(Default)]
struct Divided {
    /// Those that no other net of the batch claims.
    own: Vec<usize>,
    /// Those that other nets claim, too.
    shared: Vec<usize>,
}

impl Divided {
    fn add(
        &mut self,
        edges: &Edges<'_>,
        number: u32,
        added: impl Iterator<Item = usize>,
    ) -> Result<()> {
        for edge in added {
            let part = match edges.is_claimed_only_by(edge, number) {
                true => &mut self.own,
                false => &mut self.shared,
            };
            push(part, edge, NETS)?;
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts {
            own: self.own.len(),
            shared: self.shared.len(),
        }
    }
}

/// Numbers of edges.
#[derive(Clone, Copy, Default)]
struct Counts {
    own: usize,
    shared: usize,
}

/// A path that was found.
struct NewPath {
    /// The ends of its edges among those taken.
    ends: Counts,
    /// What its own edges cost.
    own_cost: u64,
    /// What it cost when it was found.
    cost: u64,
}

/// A net of a batch that enters, or does not.
struct Decided {
    net: u32,
    /// Its new tree, if it enters.
    tree: Option<Joined>,
    /// Whether this joins all pins.
    has_all: bool,
    /// Whether no path that was found is left out.
    is_complete: bool,
    changed: Vec<u64>,
    costs: Vec<u32>,
}

/// A net of a batch on its way in.
struct Entering {
    net: u32,
    /// See [`Change`], as the next one.
    kept: usize,
    found: Found,
    /// The edges that it has given up; those that are shared, once it has decided.
    given_up: Divided,
    /// The edges of its new paths, all of which it takes if it enters with all paths.
    taken: Divided,
    paths: Vec<NewPath>,
    /// The edges whose costs it has changed.
    changed: Vec<u64>,
    /// How many of its new paths still cost what they did.
    entered: usize,
    /// Whether it gets a new tree.
    enters: bool,
}

impl Entering {
    /// Gives back the net's own edges, and adds up what those of its new paths cost.
    fn give_back_own(edges: &Edges<'_>, number: u32, change: Change) -> Result<Self> {
        let Change {
            net,
            given_up: all,
            kept,
            found,
        } = change;
        let mut changed = Vec::new();
        let mut given_up = Divided::default();
        given_up.add(edges, number, all.into_iter())?;
        edges.give_back(&given_up.own, &mut changed)?;
        let mut paths = with_room(found.costs.len() - kept, NETS)?;
        let mut taken = Divided::default();
        // Its paths have no edge in common, so they do not raise each other's costs.
        for ((_, _, path), &cost) in found.tree.paths().zip(&found.costs).skip(kept) {
            let first = taken.own.len();
            taken.add(edges, number, edges.along(path))?;
            paths.push(NewPath {
                ends: taken.counts(),
                own_cost: edges.sum_of_costs(&taken.own[first..]),
                cost,
            });
        }
        Ok(Self {
            net,
            kept,
            found,
            given_up,
            taken,
            paths,
            changed,
            entered: 0,
            enters: false,
        })
    }

    /// The same for shared edges, once all nets before have decided.
    fn decide(&mut self, edges: &Edges<'_>) -> Result<()> {
        let shared = &self.taken.shared;
        edges.give_back(&self.given_up.shared, &mut self.changed)?;
        for path in &self.paths {
            let of_path = &shared[self.ends().shared..path.ends.shared];
            // planted: enter-shared
            if path.own_cost + edges.sum_of_costs(of_path) > path.cost {
                break;
            }
            self.entered += 1;
        }
        let gives_up_none = self.given_up.own.is_empty() && self.given_up.shared.is_empty();
        self.enters = self.is_complete() || gives_up_none;
        let taken = match self.enters {
            true => &shared[..self.ends().shared],
            false => &self.given_up.shared,
        };
        edges.take(taken, &mut self.changed)
    }

    /// Takes the net's own edges, or takes them back, and gives up all claims.
    fn finish(mut self, edges: &Edges<'_>) -> Result<Decided> {
        let taken = match self.enters {
            true => &self.taken.own[..self.ends().own],
            false => &self.given_up.own,
        };
        edges.take(taken, &mut self.changed)?;
        for part in [&self.given_up, &self.taken] {
            edges.release(&part.own);
            edges.release(&part.shared);
        }
        // planted: grow-costs
        let costs = self.changed.iter().map(|&edge| edges.cost(edge as usize));
        let costs = collect(costs, NETS)?;
        let is_complete = self.is_complete();
        self.found.tree.truncate(self.kept + self.entered);
        Ok(Decided {
            net: self.net,
            tree: self.enters.then_some(self.found.tree),
            has_all: self.found.has_all && is_complete,
            is_complete,
            changed: self.changed,
            costs,
        })
    }

    /// The ends of the edges of the paths that cost no more.
    fn ends(&self) -> Counts {
        match self.entered {
            0 => Counts::default(),
            entered => self.paths[entered - 1].ends,
        }
    }

    fn is_complete(&self) -> bool {
        self.entered == self.paths.len()
    }
}
