//! The nearest cell of a tree for each cell of a grid, kept up to date while the tree changes.
//!
//! Where cells next to each other are nearest to different pieces of the tree (`pieces.rs`), a path
//! between the two pieces leads over the edge between the cells. These edges are kept by piece. So
//! the edges around the smaller of two parts of the tree tell the shortest path between them,
//! without a search (`links.rs`). (E. Uchoa and R. F. Werneck, Fast local search for the Steiner
//! problem in graphs, 2012, section 3, evaluate moves by a Voronoi diagram as well.)

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

#[cfg(test)]
use super::exchange::Path;
use super::links::Candidate;
use super::pieces::{NONE, Pieces};
use super::{TREE, heaviest};
use crate::Result;
use crate::memory::{collect, filled_vec, prefetch, push, with_room};
use crate::progress::Progress;
use crate::route::cpu::dijkstra::{AHEAD, Queue};
use crate::route::cpu::retrace::UNREACHED;
use crate::route::grid::{BLOCKED, RoutingGrid};
use crate::threads;

/// Names used in out-of-memory errors.
const LABELS: &str = "the nearest cells of a tree";
pub(super) const BORDERS: &str = "the edges between regions of a tree";

/// The most edges that a border has before it is looked through for those that were.
const MOST_EDGES: usize = 64;

/// The rows of a band that one thread labels by itself.
const ROWS: usize = 64;

/// How far a cell is from the tree.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) cost: u64,
    /// The nearest cell of the tree; of several, the one with the lowest index. So labels depend on
    /// the tree alone, and not on how it was reached.
    pub(super) base: u32,
    /// The number of the change in which it was set.
    pub(super) change: u32,
}

impl Label {
    /// Whether this label of `cell` is larger than that of a path which leads from `base` to it.
    #[inline(always)]
    fn is_above(&self, cell: u32, cost: u64, base: u32) -> bool {
        // Cells of the tree keep their own.
        cost < self.cost || (cost == self.cost && base < self.base && self.base != cell)
    }
}

/// The edges between the regions of a piece and another one, and edges that were.
pub(super) struct Border {
    pub(super) other: u32,
    /// No edge is on a cheaper path.
    pub(super) least: u64,
    /// With more edges than these, it is time to look for those that were.
    most: usize,
    pub(super) edges: Vec<Crossing>,
}

/// An edge between cells that are nearest to different pieces.
#[derive(Clone, Copy)]
pub(super) struct Crossing {
    pub(super) ends: [u32; 2],
    pub(super) weight: u32,
    /// The sum of both ends' costs when the edge was listed; if it is another one now, the edge has
    /// been listed again.
    pub(super) costs: u64,
}

impl Crossing {
    /// The cells of the tree that the ends are nearest to; `None` if the edge was listed again.
    #[inline(always)]
    pub(super) fn bases(&self, labels: &[Label]) -> Option<[u32; 2]> {
        let [a, b] = self.ends.map(|cell| labels[cell as usize]);
        (a.cost.wrapping_add(b.cost) == self.costs).then_some([a.base, b.base])
    }
}

/// A queue with buckets for many labels each: most searches reach few cells.
fn new_queue(heaviest: u32) -> Queue {
    Queue::with_span(heaviest, 16)
}

pub(super) struct Diagram<'a> {
    pub(super) grid: &'a RoutingGrid,
    /// By cell.
    pub(super) labels: Vec<Label>,
    /// One more than the largest weight.
    heaviest: u32,
    queue: Queue,
    pub(super) change: u32,
    /// The cells that the current change has set, with their labels before it.
    pub(super) changed: Vec<(u32, Label)>,
    /// The cells that the current change has taken off the tree, with their pieces before it.
    gone: Vec<(u32, u32)>,
    pub(super) pieces: Pieces,
    /// By piece.
    pub(super) borders: Vec<Vec<Border>>,
    pub(super) query: u32,
    /// The pieces of the part that a query is for.
    pub(super) around: Vec<u32>,
    pub(super) candidates: Vec<Candidate>,
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
        let heaviest = heaviest(grid);
        Ok(Self {
            grid,
            labels: filled_vec(unreached, cells, LABELS)?,
            heaviest,
            queue: new_queue(heaviest),
            change: 0,
            changed: Vec::new(),
            gone: Vec::new(),
            pieces: Pieces::new(grid)?,
            borders: Vec::new(),
            query: 0,
            around: Vec::new(),
            candidates: Vec::new(),
            work: 0,
        })
    }

    /// Another diagram of the same tree. No change may be under way.
    pub(super) fn copy(&self) -> Result<Self> {
        let mut borders = with_room(self.borders.len(), BORDERS)?;
        for of_piece in &self.borders {
            let mut copies = with_room(of_piece.len(), BORDERS)?;
            for border in of_piece {
                let edges = collect(border.edges.iter().copied(), BORDERS)?;
                copies.push(Border { edges, ..*border });
            }
            borders.push(copies);
        }
        Ok(Self {
            grid: self.grid,
            labels: collect(self.labels.iter().copied(), LABELS)?,
            heaviest: self.heaviest,
            queue: new_queue(self.heaviest),
            change: self.change,
            changed: Vec::new(),
            gone: Vec::new(),
            pieces: self.pieces.copy()?,
            borders,
            query: self.query,
            around: Vec::new(),
            candidates: Vec::new(),
            work: 0,
        })
    }

    /// Forgets the tree.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.borders.clear();
    }

    /// A new piece of the tree.
    pub(super) fn new_piece(&mut self) -> Result<u32> {
        let piece = self.pieces.add(self.change)?;
        while self.borders.len() < self.pieces.count() {
            push(&mut self.borders, Vec::new(), BORDERS)?;
        }
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

    /// Checks that a way leads from each cell to its nearest cell of the tree, at the cell's cost.
    #[cfg(test)]
    pub(super) fn check_ways(&self) {
        for cell in 0..self.grid.cell_count() {
            let Some(base) = self.base(cell) else {
                continue;
            };
            let mut way = Path::new();
            assert!(self.extend_to_tree(&mut way, cell).unwrap(), "cell {cell}");
            let steps = way.windows(2).map(|step| {
                let weight = self.grid.weight_between(step[0], step[1]);
                u64::from(weight.unwrap())
            });
            assert_eq!((way[0], way[way.len() - 1]), (cell, base));
            assert_eq!(steps.sum::<u64>(), self.cost(cell), "cell {cell}");
        }
    }

    /// Checks that each edge between regions is listed by both pieces.
    #[cfg(test)]
    pub(super) fn check_borders(&self) {
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
    pub(super) fn fill(&mut self, progress: &Progress<'_>) -> Result<()> {
        self.change += 1;
        self.changed.clear();
        self.gone.clear();
        let Self {
            grid,
            change,
            heaviest,
            ..
        } = *self;
        // Each thread labels bands of rows of a layer by itself.
        let size = match grid.layers() {
            1 => ROWS * grid.width() as usize,
            _ => grid.cell_count() as usize,
        };
        let chunks = self.labels.chunks_mut(size);
        let mut chunks = chunks.zip(self.pieces.by_cell().chunks(size)).enumerate();
        let (done, count) = (AtomicU64::new(0), chunks.len() as u64);
        let label = |(chunk, (labels, pieces)): (usize, (&mut [Label], &[u32]))| {
            let first = (chunk * size) as u32;
            let mut queue = new_queue(heaviest);
            for (cell, (label, &piece)) in (first..).zip(labels.iter_mut().zip(pieces)) {
                let on_tree = piece != NONE;
                *label = Label {
                    cost: if on_tree { 0 } else { UNREACHED },
                    base: cell,
                    change,
                };
                if on_tree {
                    queue.push(0, cell);
                }
            }
            spread(
                grid,
                &mut queue,
                (labels, first),
                change,
                UNREACHED,
                |_, _| Ok(()),
            )?;
            let done = done.fetch_add(1, Relaxed) + 1;
            progress.report(done.min(count), count)
        };
        match threads::are_worth_waking(grid.cell_count().into()) {
            true => chunks.par_bridge().try_for_each(label)?,
            false => chunks.try_for_each(label)?,
        }
        // Then labels pass from one band to the next.
        let width = grid.width();
        for below in (size as u32..grid.cell_count()).step_by(size) {
            for below in below..below + width {
                let weight = grid.downs()[(below - width) as usize];
                if weight != BLOCKED {
                    self.relax([below - width, below], weight)?;
                    self.relax([below, below - width], weight)?;
                }
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

    /// Passes the label of a cell on to a neighbour.
    fn relax(&mut self, [from, to]: [u32; 2], weight: u32) -> Result<()> {
        let Label { cost, base, .. } = self.labels[from as usize];
        let through = cost.saturating_add(weight.into());
        if through < UNREACHED && self.labels[to as usize].is_above(to, through, base) {
            self.set(to, through, base)?;
            self.queue.push(through, to);
        }
        Ok(())
    }

    /// Begins a change: takes cells off the tree. [`relabel`](Self::relabel) is still to come.
    pub(super) fn remove(&mut self, cells: &[u32]) -> Result<()> {
        self.change += 1;
        self.changed.clear();
        self.gone.clear();
        for &cell in cells {
            let piece = self.pieces.of(cell);
            push(&mut self.gone, (cell, piece), TREE)?;
            self.pieces.set(cell, NONE);
            self.pieces.get_mut(piece).gone = self.change;
            self.note(cell)?;
        }
        Ok(())
    }

    /// Labels the regions of the cells that were removed. Cells that are `bound` or farther from
    /// the tree stay without a nearest cell.
    pub(super) fn relabel(&mut self, bound: u64) -> Result<()> {
        let width = self.grid.width() as usize;
        let mut next = 0;
        while let Some(&(cell, _)) = self.changed.get(next) {
            next += 1;
            for (near, _) in self.grid.neighbours(cell) {
                let label = self.labels[near as usize];
                if label.change != self.change
                    && label.cost < bound
                    && self.pieces.of(label.base) == NONE
                {
                    self.note(near)?;
                    let at = near as usize;
                    for line in [at.saturating_sub(width), at + width] {
                        prefetch(&self.labels, line);
                    }
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
                if through < bound
                    && nearest.is_above(cell, through, label.base)
                    && self.pieces.of(label.base) != NONE
                {
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

    /// Labels the cells again whose path to `old` may lead through `base`, a cell off the tree at
    /// cost 0 until now. [`spread`](Self::spread) is still to come.
    fn rebase(&mut self, base: u32, old: u32) -> Result<()> {
        let mut behind = collect([base], LABELS)?;
        let mut next = 0;
        while let Some(&cell) = behind.get(next) {
            next += 1;
            let cost = self.cost(cell);
            self.queue.push(cost, cell);
            for (near, weight) in self.grid.neighbours(cell) {
                let label = self.labels[near as usize];
                let is_behind = label.cost == cost + u64::from(weight) && label.base == old;
                if is_behind && near != old {
                    self.set(near, label.cost, base)?;
                    push(&mut behind, near, LABELS)?;
                }
            }
        }
        // Some are still nearest to `old`, or to another cell that comes before `base`.
        for cell in behind {
            for (near, weight) in self.grid.neighbours(cell) {
                self.relax([near, cell], weight)?;
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
            self.pieces.set(cell, piece);
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
            push(&mut self.pieces.unused, piece, BORDERS)?;
        }
        self.pieces.unused.sort_unstable();
        self.pieces.unused.dedup();
        // What is noted from here on depends on how the tree is divided, so it is not counted.
        let work = self.work;
        for &cell in cells {
            self.note(cell)?;
        }
        let mut next = 0;
        while let Some(&(cell, _)) = self.changed.get(next) {
            next += 1;
            let Some(piece) = self
                .nearest_piece(cell)
                .filter(|&piece| self.pieces.get(piece).born == self.change)
            else {
                continue;
            };
            for (near, _) in self.grid.neighbours(cell) {
                if self.nearest_piece(near) == Some(piece) {
                    self.note(near)?;
                }
            }
        }
        self.work = work;
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

    pub(super) fn nearest_piece(&self, cell: u32) -> Option<u32> {
        let label = self.labels[cell as usize];
        (label.cost != UNREACHED).then(|| self.pieces.of(label.base))
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
                    borders.retain(|border| !border.edges.is_empty());
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
                    let pieces = bases.map(|bases| bases.map(|base| self.pieces.of(base)));
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
        let Self {
            grid,
            labels,
            queue,
            change,
            changed,
            work,
            ..
        } = self;
        let note = |cell, label| {
            *work += 1;
            push(changed, (cell, label), LABELS)
        };
        spread(grid, queue, (labels, 0), *change, bound, note)
    }
}

/// Passes on the labels of the queue's cells as long as they are less than `bound`, to cells whose
/// labels are given: those from the cell `first` on. `note` is called with each label which the
/// change has not set yet.
fn spread(
    grid: &RoutingGrid,
    queue: &mut Queue,
    (labels, first): (&mut [Label], u32),
    change: u32,
    bound: u64,
    mut note: impl FnMut(u32, Label) -> Result<()>,
) -> Result<()> {
    let width = grid.width() as usize;
    loop {
        queue.check()?;
        queue.widen()?;
        let Some(bucket) = queue.first() else {
            return Ok(());
        };
        while let Some(cells) = queue.take(bucket) {
            for (i, &cell) in cells.iter().enumerate() {
                if let Some(&next) = cells.get(i + AHEAD) {
                    let at = (next - first) as usize;
                    for line in [at.saturating_sub(width), at, at + width] {
                        prefetch(labels, line);
                    }
                }
                let Label { cost, base, .. } = labels[(cell - first) as usize];
                // It has got a smaller label since, and has been handled.
                if cost >> queue.shift != bucket as u64 {
                    continue;
                }
                for (near, weight) in grid.neighbours(cell) {
                    let through = cost + u64::from(weight);
                    let Some(label) = labels.get_mut(near.wrapping_sub(first) as usize) else {
                        continue;
                    };
                    if through < bound && label.is_above(near, through, base) {
                        if label.change != change {
                            note(near, *label)?;
                        }
                        *label = Label {
                            cost: through,
                            base,
                            change,
                        };
                        queue.push(through, near);
                    }
                }
            }
            queue.give_back(cells)?;
        }
    }
}
