//! Exchange of parts of a tree for cheaper ones.
//!
//! The tree's key cells are its pins and the cells at which it branches; its key paths run between
//! them. A move removes one key path, or a key cell with all its key paths. The remaining parts of
//! the tree are joined again: the smallest part by a shortest path to the nearest other one, and so
//! on. A move that does not pay is undone, and tried again only when its key paths have changed.
//! (The neighbourhoods of E. Uchoa and R. F. Werneck, Fast local search for the Steiner problem in
//! graphs, 2012.)
//!
//! What the shortest path between two parts costs is known from the regions around the tree
//! (`diagram.rs`), and so is the path.

use std::collections::HashSet;

use super::budget::Budget;
use super::diagram::Diagram;
use super::groups::Groups;
use super::pieces::{NONE, Part, Parts};
use super::shake::Changes;
use super::{Edge, TREE};
use crate::Result;
use crate::memory::{collect, extend, filled_vec, push, reserve_in_set};
use crate::progress::Progress;
use crate::route::cpu::retrace::UNREACHED;
use crate::route::grid::RoutingGrid;
use crate::route::grid::by_cell;

/// The most times that all moves are tried. Most trees need 3 to 6.
const MAX_ROUNDS: i32 = 20;

/// Flag of a cell's state: it is a pin's. The lower bits are its edges on the tree, by direction.
pub(super) const PIN: u8 = 1 << 6;

/// A tree that is being improved.
pub(super) struct Exchange<'a> {
    pub(super) grid: &'a RoutingGrid,
    pub(super) groups: &'a Groups,
    /// By cell; 0 off the tree.
    pub(super) states: Vec<u8>,
    pub(super) last_part: u32,
    pub(super) diagram: Diagram<'a>,
    /// Moves that did not pay, in this tree or another one of the net: those that fail in one tree
    /// mostly fail in the others, too.
    failed: HashSet<Move>,
    pub(super) changes: Changes,
}

/// Two cells that identify the place of a move, and the cost of what it removes. The cells are the
/// ends of a key path, or a key cell and [`NO_CELL`].
pub(super) type Move = (u32, u32, u64);

/// In place of a cell.
pub(super) const NO_CELL: u32 = u32::MAX;

/// Consecutive cells, each joined to the next.
pub(super) type Path = Vec<u32>;

impl<'a> Exchange<'a> {
    /// For trees that join pins.
    pub(super) fn new(grid: &'a RoutingGrid, groups: &'a Groups) -> Result<Self> {
        Ok(Self {
            grid,
            groups,
            states: by_cell(grid, "the tree's cells")?,
            last_part: 0,
            diagram: Diagram::new(grid)?,
            failed: HashSet::new(),
            changes: Changes::default(),
        })
    }

    /// A copy of the tree.
    pub(super) fn copy(&self) -> Result<Self> {
        let mut failed = HashSet::new();
        reserve_in_set(&mut failed, self.failed.len(), TREE)?;
        failed.extend(&self.failed);
        Ok(Self {
            grid: self.grid,
            groups: self.groups,
            states: collect(self.states.iter().copied(), TREE)?,
            last_part: self.last_part,
            diagram: self.diagram.copy()?,
            failed,
            changes: Changes::default(),
        })
    }

    /// The tree of `edges`, improved by moves until none pays. It must join the pins and have no
    /// other ends.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::Cancelled`](crate::Error::Cancelled).
    pub(super) fn improve(
        &mut self,
        edges: &[Edge],
        budget: &Budget,
        progress: &Progress<'_>,
    ) -> Result<Vec<Edge>> {
        self.states.fill(0);
        for cell in self.groups.pin_cells() {
            self.states[cell as usize] = PIN;
        }
        for &(a, b) in edges {
            self.set(a, b);
        }
        self.divide()?;
        self.diagram.fill(&Progress::SILENT)?;
        for round in 0..MAX_ROUNDS {
            let mut improved = false;
            let starts = self.key_path_starts()?;
            let count = 2 * starts.len();
            for (done, (cell, next)) in starts.into_iter().enumerate() {
                report(round, done, count, progress)?;
                if budget.is_over() {
                    return self.edges();
                }
                // An earlier move may have removed it.
                if self.is_key(cell) && self.has(cell, next) {
                    let path = self.key_path(cell, next)?;
                    improved |= self.exchange(&[path], &[])?;
                }
            }
            let cells = self.key_cells()?;
            let count = cells.len();
            for (done, cell) in cells.into_iter().enumerate() {
                report(round, count + done, 2 * count, progress)?;
                if budget.is_over() {
                    return self.edges();
                }
                if self.is_key(cell) {
                    let (paths, own) = self.around(cell)?;
                    improved |= paths.len() > 1 && self.exchange(&paths, own.as_slice())?;
                }
            }
            if !improved {
                break;
            }
        }
        self.edges()
    }

    /// Removes key paths and joins the remaining parts, if that is cheaper. `also` are cells of
    /// parts at which all paths begin and none ends.
    pub(super) fn exchange(&mut self, paths: &[Path], also: &[u32]) -> Result<bool> {
        let removed = self.cost_of_all(paths);
        let [first, .., last] = paths[0][..] else {
            return Ok(false);
        };
        let place = if paths.len() == 1 { last } else { NO_CELL };
        if removed == 0 || self.failed.contains(&(first, place, removed)) {
            return Ok(false);
        }
        let seeds = match paths {
            [path] => vec![path[0], path[path.len() - 1]],
            _ => {
                let ends = paths.iter().map(|path| path[path.len() - 1]);
                collect(ends.chain(also.iter().copied()), TREE)?
            }
        };
        let smallest = |parts: &[Part]| {
            let smallest = (0..parts.len()).min_by_key(|&i| parts[i].cells);
            smallest.unwrap_or(0)
        };
        if let Some(added) = self.rejoined(paths, &seeds, None, removed, smallest)? {
            self.replace(paths, &added)?;
            return Ok(true);
        }
        let failed = (first, place, removed);
        self.changes.note_failed(failed)?;
        self.remember([failed])?;
        Ok(false)
    }

    /// Forgets the moves that did not pay at places from which a path to one of `cells` may cost
    /// less than what they remove.
    pub(super) fn forget_near(&mut self, cells: impl Iterator<Item = u32>) -> Result<()> {
        let pieces = &self.diagram.pieces;
        let mut nearest = filled_vec(u64::MAX, pieces.count(), TREE)?;
        for cell in cells {
            if let Some(piece) = self.diagram.nearest_piece(cell) {
                let nearest = &mut nearest[piece as usize];
                *nearest = self.diagram.cost(cell).min(*nearest);
            }
        }
        let mut failed = std::mem::take(&mut self.failed);
        // From the pieces at a key cell.
        let around = |cell: u32| {
            let group = self.group(&cell).iter();
            let cells = group.flat_map(|&cell| self.tree_neighbours(cell).chain([cell]));
            let costs = cells.map(|cell| match pieces.of(cell) {
                NONE => u64::MAX,
                piece => nearest[piece as usize],
            });
            costs.min().unwrap_or(u64::MAX)
        };
        failed.retain(|&(first, last, cost)| {
            around(first) >= cost && (last == NO_CELL || around(last) >= cost)
        });
        self.failed = failed;
        Ok(())
    }

    /// The moves that did not pay, in any order.
    pub(super) fn failed(&self) -> impl Iterator<Item = Move> {
        self.failed.iter().copied()
    }

    /// Remembers that moves did not pay.
    pub(super) fn remember(&mut self, moves: impl IntoIterator<Item = Move>) -> Result<()> {
        for failed in moves {
            reserve_in_set(&mut self.failed, 1, TREE)?;
            self.failed.insert(failed);
        }
        Ok(())
    }

    /// Forgets that moves did not pay.
    pub(super) fn forget(&mut self, moves: &[Move]) {
        for failed in moves {
            self.failed.remove(failed);
        }
    }

    /// Forgets all moves that did not pay, if they are more than `most`.
    pub(super) fn forget_failed(&mut self, most: usize) {
        if self.failed.len() > most {
            self.failed.clear();
        }
    }

    /// Paths that join the parts which the tree has without `paths`, and the cell `fork` if there
    /// is one, provided that they cost less than `limit`. Each part has one of the cells `seeds`.
    /// `choose` says which part is joined next.
    pub(super) fn rejoined(
        &mut self,
        paths: &[Path],
        seeds: &[u32],
        fork: Option<u32>,
        limit: u64,
        choose: impl FnMut(&[Part]) -> usize,
    ) -> Result<Option<Vec<Path>>> {
        self.take_off(paths)?;
        let fork = fork.filter(|&cell| self.states[cell as usize] == 0);
        let fork = match fork {
            Some(cell) => Some((cell, self.piece_for(cell)?)),
            None => None,
        };
        let mut made = Made::default();
        let mut parts = self.parts(seeds, fork.map(|(_, piece)| piece))?;
        let bound = self.bound(&parts, limit)?;
        self.diagram.relabel(bound)?;
        if let Some((cell, piece)) = fork {
            // As long as parts are joined, it is a pin.
            self.states[cell as usize] = PIN;
            self.put_on(&[cell], piece, &mut made)?;
            self.diagram.add(&[cell], bound)?;
        }
        let joins = self.join(&mut parts, limit, bound, choose, &mut made)?;
        for path in &made.paths {
            self.clear_path(path);
        }
        if let Some((cell, _)) = fork {
            self.states[cell as usize] = 0;
        }
        for path in paths {
            self.set_path(path);
        }
        for &cell in &made.cells {
            self.diagram.pieces.set(cell, NONE);
        }
        extend(&mut self.diagram.pieces.unused, made.pieces, TREE)?;
        self.diagram.undo();
        Ok(joins.then_some(made.paths))
    }

    /// Joins `parts` and the rest of the tree by paths, provided that these cost less than `limit`.
    fn join(
        &mut self,
        parts: &mut Parts,
        limit: u64,
        bound: u64,
        mut choose: impl FnMut(&[Part]) -> usize,
        made: &mut Made,
    ) -> Result<bool> {
        let mut left = limit;
        while !parts.open.is_empty() {
            let mut part = parts.open.swap_remove(choose(&parts.open));
            let pieces = part.pieces.iter().copied();
            let link = self.diagram.shortest(pieces, left)?;
            #[cfg(test)]
            self.check_link(&part, left, link);
            let Some(link) = link else {
                return Ok(false);
            };
            let Some(path) = self.diagram.path(link)? else {
                return Ok(false);
            };
            debug_assert_eq!(self.cost(&path), link.cost);
            left -= link.cost;
            self.set_path(&path);
            if let [_, within @ .., _] = &path[..]
                && !within.is_empty()
            {
                let piece = self.diagram.new_piece()?;
                self.put_on(within, piece, made)?;
                parts.extend(&mut part, piece, self.diagram.pieces.get_mut(piece))?;
                part.cells += within.len() as u64;
            }
            let [_, other] = link.pieces;
            parts.join(part, self.diagram.pieces.get(other))?;
            if !parts.open.is_empty() {
                self.diagram.add(&path, bound)?;
            }
            push(&mut made.paths, path, TREE)?;
        }
        Ok(true)
    }

    /// Makes a piece of cells, until the change is taken back.
    fn put_on(&mut self, cells: &[u32], piece: u32, made: &mut Made) -> Result<()> {
        for &cell in cells {
            self.diagram.pieces.set(cell, piece);
        }
        extend(&mut made.cells, cells.iter().copied(), TREE)?;
        push(&mut made.pieces, piece, TREE)
    }

    /// Takes paths off the tree: the beginning of a change of the diagram.
    fn take_off(&mut self, paths: &[Path]) -> Result<()> {
        for path in paths {
            self.clear_path(path);
        }
        let gone = self.off_tree(paths)?;
        self.diagram.remove(&gone)
    }

    /// Replaces the paths `old` of the tree by `new`.
    pub(super) fn replace(&mut self, old: &[Path], new: &[Path]) -> Result<()> {
        self.take_off(old)?;
        self.diagram.relabel(UNREACHED)?;
        for path in new {
            self.set_path(path);
            self.diagram.add(path, UNREACHED)?;
        }
        self.divide_around(new)?;
        self.changes.note(old, new)?;
        #[cfg(test)]
        self.check();
        Ok(())
    }

    /// Where labels may end: no cell of a shortest path is farther than half of it from both of its
    /// ends. Paths over edges that are labelled already show that no path which joins the parts
    /// costs more.
    fn bound(&mut self, parts: &Parts, limit: u64) -> Result<u64> {
        let mut most = 0;
        // Prim's tree of the parts, from the largest one on.
        let mut rest = collect(&parts.open, TREE)?;
        while !rest.is_empty() {
            let pieces = rest.iter().flat_map(|part| part.pieces.iter().copied());
            let Some(link) = self.diagram.shortest(pieces, limit)? else {
                return Ok(limit.div_ceil(2));
            };
            most = most.max(link.cost);
            let [piece, _] = link.pieces;
            rest.retain(|part| !parts.is_in(part, self.diagram.pieces.get(piece)));
        }
        Ok((most / 2 + 1).min(limit.div_ceil(2)))
    }
}

/// Reports that `done` of `count` moves of a round are tried. A round takes less time than the one
/// before, so that it counts as half of what remains.
fn report(round: i32, done: usize, count: usize, progress: &Progress<'_>) -> Result<()> {
    let left = 1.0 - done as f64 / (2 * count) as f64;
    progress.report_share(1.0 - left * 0.5f64.powi(round))
}

/// What is put on the tree while its parts are joined.
#[derive(Default)]
struct Made {
    paths: Vec<Path>,
    /// Pieces, and their cells.
    pieces: Vec<u32>,
    cells: Vec<u32>,
}
