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
//! (`diagram.rs`), so moves that do not pay are found out without a search. The search for a path
//! that pays visits the cells of shortest paths only.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::budget::Budget;
use super::diagram::{Diagram, NONE, Side};
use super::shake::Changes;
use super::{Edge, TREE};
use crate::Result;
use crate::memory::{collect, extend, push, push_to_heap, reserve_in_map, reserve_in_set};
use crate::progress::Progress;
use crate::route::cpu::retrace::UNREACHED;
use crate::route::grid::RoutingGrid;
use crate::route::grid::by_cell;

/// The most times that all moves are tried. Most trees need 3 to 6.
const MAX_ROUNDS: u64 = 20;

/// Name used in out-of-memory errors.
const SEARCH: &str = "the cells of a search";

/// Flag of a cell's state: it is a pin's. The lower bits are its edges on the tree, by direction.
pub(super) const PIN: u8 = 1 << 6;

/// A tree that is being improved.
pub(super) struct Exchange<'a> {
    pub(super) grid: &'a RoutingGrid,
    /// The cells at which pins are joined: one group per pin, or per set of pins that share cells.
    pub(super) groups: Vec<Vec<u32>>,
    pub(super) group_of: HashMap<u32, usize>,
    /// By cell; 0 off the tree.
    pub(super) states: Vec<u8>,
    /// By cell: the id of the last part of the tree in which it was found. Later moves do not reuse
    /// ids.
    parts: Vec<u32>,
    pub(super) last_part: u32,
    /// By cell: how a search reached it.
    reached: Vec<Reached>,
    pub(super) last_search: u32,
    border: BinaryHeap<Reverse<(u64, u32)>>,
    pub(super) diagram: Diagram<'a>,
    /// Moves that did not pay, in this tree or another one of the net: two cells that identify the
    /// place, and the cost of what was removed. A move that failed in another tree mostly fails
    /// here, too.
    failed: HashSet<(u32, u32, u64)>,
    pub(super) changes: Changes,
}

#[derive(Clone, Copy, bytemuck::Zeroable)]
struct Reached {
    cost: u64,
    from: u32,
    /// The search that this belongs to.
    search: u32,
}

/// A part of the tree while it is divided.
pub(super) struct Part {
    id: u32,
    cells: Vec<u32>,
}

/// Consecutive cells, each joined to the next.
pub(super) type Path = Vec<u32>;

impl<'a> Exchange<'a> {
    /// For trees that join `pins`.
    pub(super) fn new(grid: &'a RoutingGrid, pins: &[Vec<u32>]) -> Result<Self> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut group_of: HashMap<u32, usize> = HashMap::new();
        for pin in pins {
            let mut cells = collect(pin.iter().copied(), TREE)?;
            let shared = pin.iter().filter_map(|cell| group_of.get(cell).copied());
            // A group that occurs twice is empty the second time.
            for group in collect(shared, TREE)? {
                extend(&mut cells, groups[group].drain(..), TREE)?;
            }
            cells.sort_unstable();
            cells.dedup();
            for &cell in &cells {
                reserve_in_map(&mut group_of, TREE)?;
                group_of.insert(cell, groups.len());
            }
            push(&mut groups, cells, TREE)?;
        }
        Ok(Self {
            grid,
            groups,
            group_of,
            states: by_cell(grid, "the tree's cells")?,
            parts: by_cell(grid, "the tree's parts")?,
            last_part: 0,
            reached: by_cell(grid, "the distances")?,
            last_search: 0,
            border: BinaryHeap::new(),
            diagram: Diagram::new(grid)?,
            failed: HashSet::new(),
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
        for &cell in self.group_of.keys() {
            self.states[cell as usize] = PIN;
        }
        for &(a, b) in edges {
            self.set(a, b);
        }
        self.divide()?;
        self.diagram.fill()?;
        for round in 0..MAX_ROUNDS {
            let mut improved = false;
            for (cell, next) in self.key_path_starts()? {
                progress.report(round, MAX_ROUNDS)?;
                if budget.is_over() {
                    return self.edges();
                }
                // An earlier move may have removed it.
                if self.is_key(cell) && self.has(cell, next) {
                    let path = self.key_path(cell, next)?;
                    improved |= self.exchange(&[path], &[])?;
                }
            }
            for cell in self.key_cells()? {
                progress.report(round, MAX_ROUNDS)?;
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
        let place = if paths.len() == 1 { last } else { u32::MAX };
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
            let smallest = (0..parts.len()).min_by_key(|&i| parts[i].cells.len());
            smallest.unwrap_or(0)
        };
        if let Some(added) = self.rejoined(paths, &seeds, None, removed, smallest)? {
            self.replace(paths, &added)?;
            return Ok(true);
        }
        reserve_in_set(&mut self.failed, 1, TREE)?;
        self.failed.insert((first, place, removed));
        Ok(false)
    }

    /// Forgets which moves did not pay, if they are more than `most`.
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
        // As long as parts are joined, the fork is a pin.
        let fork = fork.filter(|&cell| self.states[cell as usize] == 0);
        let fork = fork.as_slice();
        for &cell in fork {
            self.states[cell as usize] = PIN;
        }
        let seeds = collect(seeds.iter().chain(fork).copied(), TREE)?;
        let mut parts = self.parts(&seeds)?;
        let bound = self.bound(&parts, limit)?;
        self.diagram.relabel(bound)?;
        self.diagram.add(fork, bound)?;
        let mut added = Vec::new();
        let joins = self.join(&mut parts, limit, bound, choose, &mut added)?;
        for path in &added {
            self.clear_path(path);
        }
        for &cell in fork {
            self.states[cell as usize] = 0;
        }
        for path in paths {
            self.set_path(path);
        }
        self.diagram.undo();
        Ok(joins.then_some(added))
    }

    /// Joins `parts` and the rest of the tree by the paths `added`, provided that these cost less
    /// than `limit`.
    fn join(
        &mut self,
        parts: &mut Vec<Part>,
        limit: u64,
        bound: u64,
        mut choose: impl FnMut(&[Part]) -> usize,
        added: &mut Vec<Path>,
    ) -> Result<bool> {
        let mut left = limit;
        while !parts.is_empty() {
            let mut part = parts.swap_remove(choose(parts));
            let Some((path, cost)) = self.nearest_other(&part, left)? else {
                return Ok(false);
            };
            left -= cost;
            self.set_path(&path);
            let other = self.parts[path[0] as usize];
            extend(&mut part.cells, path.iter().copied(), TREE)?;
            if let Some(at) = parts.iter().position(|part| part.id == other) {
                let (mut small, mut large) = (part, parts.swap_remove(at));
                if small.cells.len() > large.cells.len() {
                    std::mem::swap(&mut small, &mut large);
                }
                for &cell in small.cells.iter().chain(&path) {
                    self.parts[cell as usize] = large.id;
                }
                extend(&mut large.cells, small.cells, TREE)?;
                push(parts, large, TREE)?;
            } else {
                // It belongs to the largest part from now on.
                for &cell in &path {
                    self.parts[cell as usize] = 0;
                }
            }
            if !parts.is_empty() {
                self.diagram.add(&path, bound)?;
            }
            push(added, path, TREE)?;
        }
        Ok(true)
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

    /// Divides the tree into pieces.
    fn divide(&mut self) -> Result<()> {
        self.diagram.clear();
        for cell in self.key_cells()? {
            let piece = self.diagram.new_piece()?;
            self.diagram.set_piece(cell, piece);
            for next in self.tree_neighbours(cell) {
                self.name_stretch(next, NONE)?;
            }
        }
        Ok(())
    }

    /// Divides the tree's new paths into pieces, and those that they branch off.
    fn divide_around(&mut self, added: &[Path]) -> Result<()> {
        let mut divided = Vec::new();
        for &cell in added.iter().flatten() {
            let old = self.diagram.piece(cell);
            if !self.is_key(cell) {
                self.name_stretch(cell, NONE)?;
                continue;
            }
            let mut same = self.tree_neighbours(cell);
            let same = same.find(|&next| old != NONE && self.diagram.piece(next) == old);
            if old == NONE || same.is_some() {
                let piece = self.diagram.new_piece()?;
                self.diagram.set_piece(cell, piece);
                push(&mut divided, cell, TREE)?;
            }
            if let Some(next) = same {
                extend(&mut divided, self.name_stretch(next, old)?, TREE)?;
            }
        }
        self.diagram.keep(&divided)
    }

    /// Makes a new piece of a cell between key cells and of those next to it as far as they belong
    /// to the piece `old`, if it does. Returns its cells.
    fn name_stretch(&mut self, cell: u32, old: u32) -> Result<Vec<u32>> {
        let mut cells = Vec::new();
        if self.is_key(cell) || self.diagram.piece(cell) != old {
            return Ok(cells);
        }
        let piece = self.diagram.new_piece()?;
        self.diagram.set_piece(cell, piece);
        push(&mut cells, cell, TREE)?;
        let mut next = 0;
        while let Some(&cell) = cells.get(next) {
            next += 1;
            for near in self.tree_neighbours(cell) {
                if !self.is_key(near) && self.diagram.piece(near) == old {
                    self.diagram.set_piece(near, piece);
                    push(&mut cells, near, TREE)?;
                }
            }
        }
        Ok(cells)
    }

    /// All parts of the tree but the largest, from one cell of each. This takes as long as the
    /// second largest part.
    fn parts(&mut self, seeds: &[u32]) -> Result<Vec<Part>> {
        let mut open: Vec<(Part, usize)> = Vec::new();
        for &seed in seeds {
            self.last_part += 1;
            self.parts[seed as usize] = self.last_part;
            let part = Part {
                id: self.last_part,
                cells: vec![seed],
            };
            push(&mut open, (part, 0), TREE)?;
        }
        let mut done = Vec::new();
        while open.len() > 1 {
            // One cell of each part in turn.
            let mut i = 0;
            while i < open.len() {
                let (part, next) = &mut open[i];
                let Some(&cell) = part.cells.get(*next) else {
                    push(&mut done, open.swap_remove(i).0, TREE)?;
                    continue;
                };
                *next += 1;
                let id = part.id;
                let is_pin = self.states[cell as usize] & PIN != 0;
                let joined = if is_pin {
                    self.group_of.get(&cell)
                } else {
                    None
                };
                let joined = joined.map_or(&[][..], |&group| &self.groups[group]);
                for near in self.tree_neighbours(cell).chain(joined.iter().copied()) {
                    if self.parts[near as usize] != id {
                        self.parts[near as usize] = id;
                        push(&mut open[i].0.cells, near, TREE)?;
                    }
                }
                i += 1;
            }
        }
        Ok(done)
    }

    /// Where labels may end: no cell of a shortest path is farther than half of it from both of its
    /// ends. Paths over edges that are labelled already show that no path which joins the parts
    /// costs more.
    fn bound(&mut self, parts: &[Part], limit: u64) -> Result<u64> {
        let mut most = 0;
        // Prim's tree of the parts, from the largest one on.
        let mut rest = collect(parts, TREE)?;
        while !rest.is_empty() {
            let Some(cost) = self.shortest(&rest, limit)? else {
                return Ok(limit.div_ceil(2));
            };
            most = most.max(cost);
            let ends = self.diagram.found_ends();
            let joined = ends.map(|base| self.parts[base as usize]);
            rest.retain(|part| !joined.contains(&part.id));
        }
        Ok((most / 2 + 1).min(limit.div_ceil(2)))
    }

    /// The cost of the shortest path between `parts` and the others, if it is less than `limit`, as
    /// far as regions are labelled.
    fn shortest(&mut self, parts: &[&Part], limit: u64) -> Result<Option<u64>> {
        let side = |cell: u32| match (self.states[cell as usize], self.parts[cell as usize]) {
            (0, _) => Side::Gone,
            (_, id) if parts.iter().any(|part| part.id == id) => Side::Inside,
            _ => Side::Outside,
        };
        let cells = parts.iter().flat_map(|part| part.cells.iter().copied());
        self.diagram.shortest(cells, limit, side)
    }

    /// The shortest path from another part to `part`, if it costs less than `limit`, and its cost.
    fn nearest_other(&mut self, part: &Part, limit: u64) -> Result<Option<(Path, u64)>> {
        let Some(cost) = self.shortest(&[part], limit)? else {
            return Ok(None);
        };
        self.last_search += 1;
        let search = self.last_search;
        self.diagram.on_paths(|cell| {
            let reached = &mut self.reached[cell as usize];
            let is_new = reached.search != search;
            *reached = Reached {
                cost: UNREACHED,
                from: cell,
                search,
            };
            is_new
        })?;
        let on_paths = |&cell: &u32| self.reached[cell as usize].search == search;
        let starts = collect(part.cells.iter().copied().filter(on_paths), SEARCH)?;
        for &cell in &starts {
            self.reached[cell as usize].cost = 0;
        }
        self.border.clear();
        let mut limit = cost + 1;
        let mut found = None;
        for &cell in &starts {
            self.reach_from(cell, 0, part.id, &mut limit, &mut found)?;
        }
        while let Some(Reverse((cost, cell))) = self.border.pop() {
            if cost >= limit {
                break;
            }
            if cost == self.reached[cell as usize].cost {
                self.reach_from(cell, cost, part.id, &mut limit, &mut found)?;
            }
        }
        let Some(mut at) = found else {
            return Ok(None);
        };
        let mut path = collect([at], TREE)?;
        loop {
            let from = self.reached[at as usize].from;
            if from == at {
                return Ok(Some((path, limit)));
            }
            push(&mut path, from, TREE)?;
            at = from;
        }
    }

    /// Reaches the neighbours of a cell that may be on a shortest path, at costs below `limit`. A
    /// neighbour in another part is `found`, and its cost becomes the limit.
    fn reach_from(
        &mut self,
        cell: u32,
        cost: u64,
        part: u32,
        limit: &mut u64,
        found: &mut Option<u32>,
    ) -> Result<()> {
        for (next, weight) in self.grid.neighbours(cell) {
            let through = cost + u64::from(weight);
            let reached = &mut self.reached[next as usize];
            if through < *limit && reached.search == self.last_search && through < reached.cost {
                reached.cost = through;
                reached.from = cell;
                if self.states[next as usize] != 0 && self.parts[next as usize] != part {
                    *found = Some(next);
                    *limit = through;
                } else {
                    push_to_heap(&mut self.border, Reverse((through, next)), SEARCH)?;
                }
            }
        }
        Ok(())
    }
}
