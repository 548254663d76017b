//! The nearest cell of a tree for each cell of a grid, kept up to date while the tree changes.
//!
//! The tree is divided into pieces: each key cell is one, and so are stretches of key paths between
//! them. Where cells next to each other are nearest to different pieces, a path between the two
//! pieces leads over the edge between the cells. These edges are kept by piece. So a look at the
//! edges around the smaller of two parts of the tree tells the shortest path between them, without
//! a search. (E. Uchoa and R. F. Werneck, Fast local search for the Steiner problem in graphs, 2012,
//! section 3, evaluate moves by a Voronoi diagram as well.)

use super::{TREE, heaviest};
use crate::Result;
use crate::memory::{collect, filled_vec, prefetch, push};
use crate::route::cpu::dijkstra::{AHEAD, Queue};
use crate::route::cpu::retrace::UNREACHED;
use crate::route::grid::RoutingGrid;

/// The piece of a cell that is not on the tree.
pub(super) const NONE: u32 = u32::MAX;

/// Names used in out-of-memory errors.
const LABELS: &str = "the nearest cells of a tree";
const BORDERS: &str = "the edges between regions of a tree";

/// The most edges that a border has before it is looked through for those that were.
const MOST_EDGES: usize = 64;

/// How far a cell is from the tree.
#[derive(Clone, Copy)]
struct Label {
    cost: u64,
    /// The nearest cell of the tree.
    base: u32,
    /// The number of the change in which it was set.
    change: u32,
}

/// The edges between the regions of a piece and another one, and edges that were.
struct Border {
    other: u32,
    /// No edge is on a cheaper path.
    least: u64,
    /// With more edges than these, it is time to look for those that were.
    most: usize,
    edges: Vec<Crossing>,
}

/// An edge between cells that are nearest to different pieces.
#[derive(Clone, Copy)]
struct Crossing {
    ends: [u32; 2],
    weight: u32,
    /// The sum of both ends' costs when the edge was listed; if it is another one now, the edge has
    /// been listed again.
    costs: u64,
}

impl Crossing {
    /// The cells of the tree that the ends are nearest to; `None` if the edge has been listed again.
    #[inline(always)]
    fn bases(&self, labels: &[Label]) -> Option<[u32; 2]> {
        let [a, b] = self.ends.map(|cell| labels[cell as usize]);
        (a.cost.wrapping_add(b.cost) == self.costs).then_some([a.base, b.base])
    }
}

/// Where a cell of the tree is, seen from one of the tree's parts.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    Inside,
    Outside,
    /// It is no longer on the tree.
    Gone,
}

pub(super) struct Diagram<'a> {
    grid: &'a RoutingGrid,
    /// By cell.
    labels: Vec<Label>,
    queue: Queue,
    change: u32,
    /// The cells that the current change has set, with their labels before it.
    changed: Vec<(u32, Label)>,
    /// The cells that the current change has taken off the tree, with their pieces before it.
    gone: Vec<(u32, u32)>,
    /// By cell.
    pieces: Vec<u32>,
    /// By piece.
    borders: Vec<Vec<Border>>,
    /// Pieces that are no longer on the tree.
    unused: Vec<u32>,
    /// By piece: the change that made it.
    born: Vec<u32>,
    /// By piece: the last query that looked at it.
    seen: Vec<u32>,
    query: u32,
    /// The pieces of the part that a query is for.
    around: Vec<u32>,
    /// The edges found by the last query.
    found: Vec<[u32; 2]>,
    /// The number of labels that changes have set.
    work: u64,
}

impl<'a> Diagram<'a> {
    pub(super) fn new(grid: &'a RoutingGrid) -> Result<Self> {
        let cells = grid.cell_count() as usize;
        let unreached = Label {
            cost: UNREACHED,
            base: 0,
            change: 0,
        };
        Ok(Self {
            grid,
            labels: filled_vec(unreached, cells, LABELS)?,
            queue: Queue::new(heaviest(grid)),
            change: 0,
            changed: Vec::new(),
            gone: Vec::new(),
            pieces: filled_vec(NONE, cells, TREE)?,
            borders: Vec::new(),
            unused: Vec::new(),
            born: Vec::new(),
            seen: Vec::new(),
            query: 0,
            around: Vec::new(),
            found: Vec::new(),
            work: 0,
        })
    }

    /// Forgets the tree.
    pub(super) fn clear(&mut self) {
        self.pieces.fill(NONE);
        self.borders.clear();
        self.seen.clear();
        self.born.clear();
        self.unused.clear();
    }

    /// A new piece of the tree.
    pub(super) fn new_piece(&mut self) -> Result<u32> {
        let piece = match self.unused.pop() {
            Some(piece) => piece,
            None => {
                push(&mut self.borders, Vec::new(), BORDERS)?;
                push(&mut self.seen, 0, BORDERS)?;
                push(&mut self.born, 0, BORDERS)?;
                self.borders.len() as u32 - 1
            }
        };
        self.born[piece as usize] = self.change;
        Ok(piece)
    }

    /// The larger of the numbers of the last change and of the last query.
    pub(super) fn last_number(&self) -> u32 {
        self.change.max(self.query)
    }

    /// The number of labels that changes have set so far.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    pub(super) fn piece(&self, cell: u32) -> u32 {
        self.pieces[cell as usize]
    }

    pub(super) fn set_piece(&mut self, cell: u32, piece: u32) {
        self.pieces[cell as usize] = piece;
    }

    /// The distance of a cell from the tree.
    pub(super) fn cost(&self, cell: u32) -> u64 {
        self.labels[cell as usize].cost
    }

    /// The nearest cell of the tree.
    #[cfg(test)]
    pub(super) fn base(&self, cell: u32) -> Option<u32> {
        let label = self.labels[cell as usize];
        (label.cost != UNREACHED).then_some(label.base)
    }

    /// Checks that each edge between regions is listed by both pieces.
    #[cfg(test)]
    pub(super) fn check_borders(&self) {
        let unused = |piece: &u32| self.unused.contains(piece);
        assert!(!self.pieces.iter().any(unused));
        let mut listed = std::collections::HashSet::new();
        for (piece, borders) in (0..).zip(&self.borders) {
            for border in borders {
                for edge in &border.edges {
                    assert!(border.least <= edge.costs + u64::from(edge.weight));
                    listed.insert((piece, border.other, edge.ends, edge.costs));
                }
            }
        }
        for a in 0..self.grid.cell_count() {
            for (b, _) in self.grid.neighbours(a) {
                let pieces = (self.nearest_piece(a), self.nearest_piece(b));
                if let (Some(of_a), Some(of_b)) = pieces
                    && of_a != of_b
                {
                    let costs = self.cost(a) + self.cost(b);
                    let is_listed = |ends| listed.contains(&(of_a, of_b, ends, costs));
                    assert!(is_listed([a.min(b), a.max(b)]), "{a} {b}");
                }
            }
        }
    }

    /// The regions of a tree whose cells all have pieces.
    pub(super) fn fill(&mut self) -> Result<()> {
        self.change += 1;
        self.changed.clear();
        self.gone.clear();
        for (cell, (label, &piece)) in (0..).zip(self.labels.iter_mut().zip(&self.pieces)) {
            let on_tree = piece != NONE;
            *label = Label {
                cost: if on_tree { 0 } else { UNREACHED },
                base: cell,
                change: self.change,
            };
            if on_tree {
                self.queue.push(0, cell);
            }
        }
        self.spread(UNREACHED)?;
        for cell in 0..self.grid.cell_count() {
            for (next, weight) in self.grid.neighbours(cell) {
                if cell < next {
                    self.list(cell, next, weight)?;
                }
            }
        }
        Ok(())
    }

    /// Begins a change: takes cells off the tree. [`relabel`](Self::relabel) is still to come.
    pub(super) fn remove(&mut self, cells: &[u32]) -> Result<()> {
        self.change += 1;
        self.changed.clear();
        self.gone.clear();
        for &cell in cells {
            let piece = self.piece(cell);
            push(&mut self.gone, (cell, piece), TREE)?;
            self.set_piece(cell, NONE);
            self.note(cell)?;
        }
        Ok(())
    }

    /// Labels the regions of the cells that were removed. Cells that are `bound` or farther from
    /// the tree stay without a nearest cell.
    pub(super) fn relabel(&mut self, bound: u64) -> Result<()> {
        let mut next = 0;
        while let Some(&(cell, _)) = self.changed.get(next) {
            next += 1;
            for (near, _) in self.grid.neighbours(cell) {
                let label = self.labels[near as usize];
                if label.change != self.change
                    && label.cost < bound
                    && self.piece(label.base) == NONE
                {
                    self.note(near)?;
                }
            }
        }
        for &(cell, _) in &self.changed {
            self.labels[cell as usize].cost = UNREACHED;
        }
        for i in 0..self.changed.len() {
            let cell = self.changed[i].0;
            let mut nearest = self.labels[cell as usize];
            for (near, weight) in self.grid.neighbours(cell) {
                let label = self.labels[near as usize];
                // Cells of the regions themselves are labelled from here.
                if label.change == self.change || label.cost == UNREACHED {
                    continue;
                }
                let through = label.cost + u64::from(weight);
                if through < nearest.cost.min(bound) && self.piece(label.base) != NONE {
                    (nearest.cost, nearest.base) = (through, label.base);
                }
            }
            if nearest.cost != UNREACHED {
                self.labels[cell as usize] = nearest;
                self.queue.push(nearest.cost, cell);
            }
        }
        self.spread(bound)
    }

    /// Puts cells on the tree, within a change. Cells that are `bound` or farther from these are
    /// left as they are.
    pub(super) fn add(&mut self, cells: &[u32], bound: u64) -> Result<()> {
        for &cell in cells {
            let Label { cost, base, .. } = self.labels[cell as usize];
            if base == cell && cost == 0 {
                continue;
            }
            self.set(cell, 0, cell)?;
            if cost == 0 {
                self.rebase(cell, base)?;
            } else {
                self.queue.push(0, cell);
            }
        }
        self.spread(bound)
    }

    /// Makes `base` the nearest cell, instead of `old`, of cells whose path to `old` is through it.
    /// It was off the tree at cost 0.
    fn rebase(&mut self, base: u32, old: u32) -> Result<()> {
        let mut open = collect([base], LABELS)?;
        while let Some(cell) = open.pop() {
            let cost = self.cost(cell);
            for (near, weight) in self.grid.neighbours(cell) {
                let label = self.labels[near as usize];
                let is_behind = label.cost == cost + u64::from(weight) && label.base == old;
                if is_behind && near != old {
                    self.set(near, label.cost, base)?;
                    push(&mut open, near, LABELS)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the change back.
    pub(super) fn undo(&mut self) {
        while let Some((cell, label)) = self.changed.pop() {
            self.labels[cell as usize] = label;
        }
        while let Some((cell, piece)) = self.gone.pop() {
            self.pieces[cell as usize] = piece;
        }
    }

    /// Lists the edges around what has changed: where labels have, and around pieces that are new.
    /// `cells` are those of such pieces which were on the tree before.
    pub(super) fn keep(&mut self, cells: &[u32]) -> Result<()> {
        // A key path that is removed is removed with all its pieces.
        while let Some((_, piece)) = self.gone.pop() {
            let borders = std::mem::take(&mut self.borders[piece as usize]);
            for border in &borders {
                self.borders[border.other as usize].retain(|other| other.other != piece);
            }
            push(&mut self.unused, piece, BORDERS)?;
        }
        self.unused.sort_unstable();
        self.unused.dedup();
        for &cell in cells {
            self.note(cell)?;
        }
        let mut next = 0;
        while let Some(&(cell, _)) = self.changed.get(next) {
            next += 1;
            let Some(piece) = self
                .nearest_piece(cell)
                .filter(|&piece| self.born[piece as usize] == self.change)
            else {
                continue;
            };
            for (near, _) in self.grid.neighbours(cell) {
                if self.nearest_piece(near) == Some(piece) {
                    self.note(near)?;
                }
            }
        }
        for i in 0..self.changed.len() {
            let cell = self.changed[i].0;
            for (near, weight) in self.grid.neighbours(cell) {
                if cell < near || self.labels[near as usize].change != self.change {
                    self.list(cell, near, weight)?;
                }
            }
        }
        self.changed.clear();
        Ok(())
    }

    /// The cost of the shortest path between the cells `part` and others of the tree, if it is less
    /// than `limit`. `side` says of a cell of the tree whether it is in the part.
    /// [`on_paths`](Self::on_paths) then lists the cells of these paths.
    pub(super) fn shortest(
        &mut self,
        part: impl Iterator<Item = u32>,
        limit: u64,
        side: impl Fn(u32) -> Side,
    ) -> Result<Option<u64>> {
        let crosses = |a: u32, b: u32| {
            let sides = (side(a), side(b));
            sides == (Side::Inside, Side::Outside) || sides == (Side::Outside, Side::Inside)
        };
        self.query += 1;
        self.found.clear();
        let Some(mut least) = limit.checked_sub(1) else {
            return Ok(None);
        };
        self.around.clear();
        for cell in part {
            let piece = self.piece(cell);
            // Cells that this change put on the tree have changed themselves.
            if piece != NONE && self.seen[piece as usize] != self.query {
                self.seen[piece as usize] = self.query;
                push(&mut self.around, piece, BORDERS)?;
            }
        }
        for &piece in &self.around {
            let borders = &mut self.borders[piece as usize];
            // Each piece is within one part.
            let outside = |border: &Border| self.seen[border.other as usize] != self.query;
            for border in borders.iter_mut() {
                if border.least > least || !outside(border) {
                    continue;
                }
                let edges = &mut border.edges;
                let mut i = 0;
                while let Some(&crossing) = edges.get(i) {
                    i += 1;
                    let cost = crossing.costs + u64::from(crossing.weight);
                    if cost > least {
                        continue;
                    }
                    let has_changed =
                        |&cell: &u32| self.labels[cell as usize].change == self.change;
                    if crossing.ends.iter().any(has_changed) {
                        continue;
                    }
                    let bases = crossing.bases(&self.labels);
                    let of_piece = |&base: &u32| self.pieces[base as usize] == piece;
                    let Some([a, b]) = bases.filter(|bases| bases.iter().any(of_piece)) else {
                        i -= 1;
                        edges.swap_remove(i);
                        continue;
                    };
                    if crosses(a, b) {
                        take(&mut self.found, &mut least, cost, crossing.ends)?;
                    }
                }
            }
            borders.retain(|border| !border.edges.is_empty());
        }
        for &(cell, _) in &self.changed {
            let label = self.labels[cell as usize];
            // Each path crosses where neither end is farther than its half.
            if label.cost > least / 2 {
                continue;
            }
            for (near, weight) in self.grid.neighbours(cell) {
                let other = self.labels[near as usize];
                let cost = label.cost + u64::from(weight);
                let cost = cost.saturating_add(other.cost);
                if cost <= least && crosses(label.base, other.base) {
                    take(&mut self.found, &mut least, cost, [cell, near])?;
                }
            }
        }
        Ok((!self.found.is_empty()).then_some(least))
    }

    /// The ends on the tree of a path that the last query found.
    pub(super) fn found_ends(&self) -> [u32; 2] {
        self.found[0].map(|cell| self.labels[cell as usize].base)
    }

    /// Appends the cells of the shortest paths that the last query found, and perhaps some others.
    /// `mark` is called with each cell, and returns whether it is new.
    pub(super) fn on_paths(&mut self, mut mark: impl FnMut(u32) -> bool) -> Result<()> {
        let mut open: Vec<u32> = Vec::new();
        for &cell in self.found.iter().flatten() {
            if mark(cell) {
                push(&mut open, cell, BORDERS)?;
            }
        }
        while let Some(cell) = open.pop() {
            for (near, weight) in self.grid.neighbours(cell) {
                let through = self.cost(near).saturating_add(weight.into());
                if through == self.cost(cell) && mark(near) {
                    push(&mut open, near, BORDERS)?;
                }
            }
        }
        Ok(())
    }

    fn nearest_piece(&self, cell: u32) -> Option<u32> {
        let label = self.labels[cell as usize];
        (label.cost != UNREACHED).then(|| self.piece(label.base))
    }

    /// Lists an edge if it is between the regions of two pieces.
    fn list(&mut self, a: u32, b: u32, weight: u32) -> Result<()> {
        let (Some(a_piece), Some(b_piece)) = (self.nearest_piece(a), self.nearest_piece(b)) else {
            return Ok(());
        };
        if a_piece == b_piece {
            return Ok(());
        }
        let crossing = Crossing {
            ends: [a.min(b), a.max(b)],
            weight,
            costs: self.cost(a) + self.cost(b),
        };
        let cost = crossing.costs + u64::from(weight);
        for (piece, other) in [(a_piece, b_piece), (b_piece, a_piece)] {
            let borders = &mut self.borders[piece as usize];
            // Mostly the last one.
            let place = borders.iter().rposition(|border| border.other == other);
            let place = match place {
                Some(place) => place,
                None => {
                    let border = Border {
                        other,
                        least: cost,
                        most: MOST_EDGES,
                        edges: Vec::new(),
                    };
                    push(borders, border, BORDERS)?;
                    borders.len() - 1
                }
            };
            let border = &mut borders[place];
            border.least = border.least.min(cost);
            push(&mut border.edges, crossing, BORDERS)?;
            if border.edges.len() > border.most {
                border.edges.retain(|edge| {
                    let bases = edge.bases(&self.labels);
                    let pieces = bases.map(|bases| bases.map(|base| self.pieces[base as usize]));
                    pieces == Some([piece, other]) || pieces == Some([other, piece])
                });
                border.edges.sort_unstable_by_key(|edge| edge.ends);
                border.edges.dedup_by_key(|edge| edge.ends);
                border.most = 2 * border.edges.len() + MOST_EDGES;
            }
        }
        Ok(())
    }

    /// Remembers the label of a cell that is about to change.
    fn note(&mut self, cell: u32) -> Result<()> {
        let label = &mut self.labels[cell as usize];
        if label.change != self.change {
            push(&mut self.changed, (cell, *label), LABELS)?;
            label.change = self.change;
            self.work += 1;
        }
        Ok(())
    }

    fn set(&mut self, cell: u32, cost: u64, base: u32) -> Result<()> {
        self.note(cell)?;
        self.labels[cell as usize] = Label {
            cost,
            base,
            change: self.change,
        };
        Ok(())
    }

    /// Passes on the labels of the queue's cells as long as they are less than `bound`.
    fn spread(&mut self, bound: u64) -> Result<()> {
        let width = self.grid.width() as usize;
        loop {
            self.queue.check()?;
            self.queue.widen()?;
            let Some(bucket) = self.queue.first() else {
                return Ok(());
            };
            while let Some(cells) = self.queue.take(bucket) {
                for (i, &cell) in cells.iter().enumerate() {
                    if let Some(&next) = cells.get(i + AHEAD) {
                        let at = next as usize;
                        for line in [at.saturating_sub(width), at, at + width] {
                            prefetch(&self.labels, line);
                        }
                    }
                    let Label { cost, base, .. } = self.labels[cell as usize];
                    // It has got a smaller label since, and has been handled.
                    if cost >> self.queue.shift != bucket as u64 {
                        continue;
                    }
                    for (near, weight) in self.grid.neighbours(cell) {
                        let through = cost + u64::from(weight);
                        if through < self.cost(near).min(bound) {
                            self.set(near, through, base)?;
                            self.queue.push(through, near);
                        }
                    }
                }
                self.queue.give_back(cells)?;
            }
        }
    }
}

/// Adds an edge to those of the least cost.
#[inline]
fn take(found: &mut Vec<[u32; 2]>, least: &mut u64, cost: u64, edge: [u32; 2]) -> Result<()> {
    if cost < *least {
        *least = cost;
        found.clear();
    }
    push(found, edge, BORDERS)
}
