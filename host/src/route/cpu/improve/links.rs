//! Shortest paths between parts of a tree, from the edges between its regions.

use std::collections::HashSet;

use super::TREE;
use super::diagram::{BORDERS, Crossing, Diagram, Label};
use super::exchange::Path;
use super::pieces::NONE;
use crate::Result;
use crate::memory::{collect, extend, push, reserve_in_set};

/// An edge on a shortest path between two pieces. Of two links, the cheaper one comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Link {
    /// The cost of the path.
    pub(super) cost: u64,
    /// The ends of the edge: nearest to a piece of the part asked for, and to another piece.
    pub(super) ends: [u32; 2],
    /// These pieces.
    pub(super) pieces: [u32; 2],
}

/// A border that a query may have to look through.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    least: u64,
    piece: u32,
    /// Its index among the borders of the piece.
    place: u32,
}

impl Diagram<'_> {
    /// The shortest path between the pieces `part` and others of the tree, if it costs less than
    /// `limit`. It depends on the tree alone, not on how that was reached.
    pub(super) fn shortest(
        &mut self,
        part: impl Iterator<Item = u32>,
        mut limit: u64,
    ) -> Result<Option<Link>> {
        self.query += 1;
        self.around.clear();
        for piece in part {
            self.pieces.get_mut(piece).seen = self.query;
            push(&mut self.around, piece, BORDERS)?;
        }
        let mut found = None;
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let mut first = 0;
        for &piece in &self.around {
            for (border, place) in self.borders[piece as usize].iter().zip(0..) {
                let other = self.pieces.get(border.other);
                let is_outside = other.seen != self.query && other.gone != self.change;
                if border.least < limit && is_outside {
                    let least = border.least;
                    let candidate = Candidate {
                        least,
                        piece,
                        place,
                    };
                    push(&mut candidates, candidate, BORDERS)?;
                    if least < candidates[first].least {
                        first = candidates.len() - 1;
                    }
                }
            }
        }
        // After the cheapest one, most others cost too much.
        if !candidates.is_empty() {
            candidates.swap(0, first);
        }
        for &candidate in &candidates {
            if candidate.least < limit {
                self.look_through(candidate, &mut limit, &mut found);
            }
        }
        self.candidates = candidates;
        for &(cell, _) in &self.changed {
            let label = self.labels[cell as usize];
            // Each path crosses where neither end is farther than its half.
            if label.cost > limit / 2 {
                continue;
            }
            for (near, weight) in self.grid.neighbours(cell) {
                let other = self.labels[near as usize];
                let cost = label.cost + u64::from(weight);
                let cost = cost.saturating_add(other.cost);
                if cost < limit {
                    self.take([cell, near], cost, &mut limit, &mut found);
                }
            }
        }
        Ok(found)
    }

    /// Looks for the cheapest link at a border, and drops edges that are no longer there.
    fn look_through(&mut self, candidate: Candidate, limit: &mut u64, found: &mut Option<Link>) {
        let Candidate { piece, place, .. } = candidate;
        let border = &mut self.borders[piece as usize][place as usize];
        let mut edges = std::mem::take(&mut border.edges);
        let mut least = u64::MAX;
        edges.retain(|edge| {
            let cost = edge.costs + u64::from(edge.weight);
            let has_changed = |&cell: &u32| self.labels[cell as usize].change == self.change;
            if cost < *limit && !edge.ends.iter().any(has_changed) {
                let bases = edge.bases(&self.labels);
                let of_piece = |&base: &u32| self.pieces.of(base) == piece;
                if bases.is_none_or(|bases| !bases.iter().any(of_piece)) {
                    return false;
                }
                self.take(edge.ends, cost, limit, found);
            }
            least = least.min(cost);
            true
        });
        let border = &mut self.borders[piece as usize][place as usize];
        (border.edges, border.least) = (edges, least);
    }

    /// Makes an edge the cheapest link, if one of its ends is nearest to a piece of the part that
    /// the query is for, and the other to another part. Of edges that cost the same, the one with
    /// the lowest indices becomes the link.
    #[inline]
    fn take(&self, ends: [u32; 2], cost: u64, limit: &mut u64, found: &mut Option<Link>) {
        // Cells that are farther than half of a path may have been left as they were.
        let is_exact = |&cell: &u32| self.cost(cell) <= cost / 2;
        if !ends.iter().all(is_exact) {
            return;
        }
        let pieces = ends.map(|cell| self.nearest_piece(cell).filter(|&piece| piece != NONE));
        let [Some(a), Some(b)] = pieces else {
            return;
        };
        let sorted = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
        if found.is_some_and(|found| (found.cost, sorted(found.ends)) <= (cost, sorted(ends))) {
            return;
        }
        let is_inside = |piece| self.pieces.get(piece).seen == self.query;
        let (mut ends, mut pieces) = (ends, [a, b]);
        match pieces.map(is_inside) {
            [true, false] => {}
            [false, true] => {
                ends.reverse();
                pieces.reverse();
            }
            _ => return,
        }
        // Others that cost as much are compared with it.
        *limit = cost + 1;
        *found = Some(Link { cost, ends, pieces });
    }

    /// The cheapest link between each two pieces with regions next to each other, once these are
    /// filled. Its ends are in any order.
    pub(super) fn links(&self) -> Result<Vec<Link>> {
        let mut links = Vec::new();
        for (piece, borders) in (0..).zip(&self.borders) {
            for border in borders.iter().filter(|border| piece < border.other) {
                let link = |edge: &Crossing| Link {
                    cost: edge.costs + u64::from(edge.weight),
                    ends: edge.ends,
                    pieces: [piece, border.other],
                };
                extend(&mut links, border.edges.iter().map(link).min(), BORDERS)?;
            }
        }
        Ok(links)
    }

    /// The cells of the shortest path over a link, to the first of its pieces. `None` if there is
    /// none, which does not happen.
    pub(super) fn path(&self, link: Link) -> Result<Option<Path>> {
        let mut path = Path::new();
        let [inside, outside] = link.ends;
        for end in [outside, inside] {
            path.reverse();
            if !self.extend_to_tree(&mut path, end)? {
                return Ok(None);
            }
        }
        Ok(Some(path))
    }

    /// Appends the cells of a shortest path from `cell` to its nearest cell of the tree.
    pub(super) fn extend_to_tree(&self, path: &mut Path, cell: u32) -> Result<bool> {
        let base = self.labels[cell as usize].base;
        push(path, cell, TREE)?;
        let mut at = cell;
        while at != base {
            let cost = self.cost(at);
            let nearer = self.grid.neighbours(at).find(|&(near, weight)| {
                let label = self.labels[near as usize];
                let through = label.cost.saturating_add(weight.into());
                weight > 0 && label.base == base && through == cost
            });
            match nearer {
                Some((next, _)) => push(path, next, TREE)?,
                None => {
                    if !self.extend_over_no_cost(path, at)? {
                        return Ok(false);
                    }
                }
            }
            at = path[path.len() - 1];
        }
        Ok(true)
    }

    /// Appends the cells after `from` of a path over edges that cost nothing, to a cell from which
    /// an edge leads nearer to the tree, or to the cell of the tree.
    fn extend_over_no_cost(&self, path: &mut Path, from: u32) -> Result<bool> {
        let Label { cost, base, .. } = self.labels[from as usize];
        let mut reached = collect([(from, 0)], TREE)?;
        let mut seen = HashSet::from([from]);
        let mut next = 0;
        while let Some(&(at, _)) = reached.get(next) {
            let mut leads_on = at == base;
            for (near, weight) in self.grid.neighbours(at) {
                let label = self.labels[near as usize];
                if label.base != base || label.cost.saturating_add(weight.into()) != cost {
                    continue;
                }
                if weight > 0 {
                    leads_on = true;
                } else if seen.insert(near) {
                    push(&mut reached, (near, next), TREE)?;
                    reserve_in_set(&mut seen, 1, TREE)?;
                }
            }
            if leads_on {
                let start = path.len();
                let mut at = next;
                while at != 0 {
                    push(path, reached[at].0, TREE)?;
                    at = reached[at].1;
                }
                path[start..].reverse();
                return Ok(true);
            }
            next += 1;
        }
        Ok(false)
    }
}
