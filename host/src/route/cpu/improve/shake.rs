//! Ways out of a tree that no move improves.
//!
//! A step removes a few key cells near each other with all their key paths, joins the parts in
//! another order than usual, and improves the tree around them. Every other step also joins a
//! random cell between the parts: the best fork may be on no shortest path between two parts, and
//! then no move finds it. A step that makes the tree cost more is taken back.

use super::TREE;
use super::budget::Budget;
use super::exchange::{Exchange, Path};
use super::pieces::Part;
use crate::Result;
use crate::generate::random::random;
use crate::geometry::Cell;
use crate::memory::{collect, extend, push};
use crate::progress::Progress;

/// The most key cells that a step removes, or divides the tree at.
const MOST_CELLS: usize = 3;

/// A step may make the tree more expensive at first, by this part of what it removes.
const SLACK: u64 = 8;

/// The most moves that are remembered because they did not pay.
const MOST_FAILED: usize = 1 << 20;

/// What has been done to a tree.
#[derive(Default)]
pub(super) struct Changes {
    is_kept: bool,
    /// The paths removed, and those added.
    done: Vec<(Vec<Path>, Vec<Path>)>,
    /// The ends of these paths.
    ends: Vec<u32>,
}

impl Changes {
    pub(super) fn note(&mut self, old: &[Path], new: &[Path]) -> Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        let copy = |paths: &[Path]| -> Result<Vec<Path>> {
            let mut copy = Vec::new();
            for path in paths {
                push(&mut copy, collect(path.iter().copied(), TREE)?, TREE)?;
            }
            Ok(copy)
        };
        for path in old.iter().chain(new) {
            extend(&mut self.ends, [path[0], path[path.len() - 1]], TREE)?;
        }
        push(&mut self.done, (copy(old)?, copy(new)?), TREE)
    }
}

impl Exchange<'_> {
    /// Takes steps from the tree that was improved last, as long as `budget` permits.
    pub(super) fn shake(&mut self, budget: &Budget, progress: &Progress<'_>) -> Result<()> {
        let starts = self
            .groups
            .iter()
            .filter_map(|cells| cells.first().copied());
        let starts = collect(starts, TREE)?;
        let before = self.diagram.work();
        let mut random = Random(0);
        let mut steps = 0;
        while budget.permits(steps, self.diagram.work() - before) && self.has_numbers() {
            budget.report(steps, self.diagram.work() - before, progress)?;
            steps += 1;
            self.forget_failed(MOST_FAILED);
            let start = starts[random.below(starts.len())];
            let count = 1 + random.below(MOST_CELLS);
            let (paths, seeds) = self.stars(start, count)?;
            self.step(&paths, &seeds, &mut random)?;
        }
        Ok(())
    }

    /// Whether numbers of parts and changes are left for another step. They last for hours.
    fn has_numbers(&self) -> bool {
        const STEP: u32 = 1 << 28;
        let last = [self.last_part, self.diagram.last_number()];
        last.iter().all(|&last| last < u32::MAX - STEP)
    }

    fn step(&mut self, paths: &[Path], seeds: &[u32], random: &mut Random) -> Result<()> {
        let removed = self.cost_of_all(paths);
        if removed == 0 {
            return Ok(());
        }
        let fork = match random.below(2) {
            0 => None,
            _ => Some(self.cell_between(paths, random)),
        };
        let choose = |parts: &[Part]| random.below(parts.len());
        let limit = removed + removed / SLACK + 1;
        let Some(added) = self.rejoined(paths, seeds, fork, limit, choose)? else {
            return Ok(());
        };
        self.changes.is_kept = true;
        self.changes.done.clear();
        self.changes.ends.clear();
        self.replace(paths, &added)?;
        if let Some(cell) = fork {
            self.remove_end(cell)?;
        }
        while let Some(cell) = self.changes.ends.pop() {
            self.improve_at(cell)?;
        }
        self.changes.is_kept = false;
        let done = self.changes.done.iter();
        let [old, new] = done.fold([0, 0], |[old, new], (removed, added)| {
            [
                old + self.cost_of_all(removed),
                new + self.cost_of_all(added),
            ]
        });
        if new > old {
            while let Some((removed, added)) = self.changes.done.pop() {
                self.replace(&added, &removed)?;
            }
        }
        Ok(())
    }

    /// A cell of the smallest box with the paths.
    fn cell_between(&self, paths: &[Path], random: &mut Random) -> u32 {
        let cells = || paths.iter().flatten().map(|&cell| self.grid.cell(cell));
        let mut between = |along: fn(Cell) -> u32| {
            let least = cells().map(along).min().unwrap_or(0);
            let most = cells().map(along).max().unwrap_or(0);
            least + random.below((most - least) as usize + 1) as u32
        };
        let (x, y) = (between(|cell| cell.x), between(|cell| cell.y));
        let layer = random.below(self.grid.layers() as usize) as u32;
        self.grid.index(Cell { x, y, layer })
    }

    /// Removes the key path that ends at a cell where no pin is.
    fn remove_end(&mut self, cell: u32) -> Result<()> {
        let mut neighbours = self.tree_neighbours(cell);
        if let (Some(next), None) = (neighbours.next(), neighbours.next())
            && !self.is_key(cell)
        {
            let path = self.key_path(cell, next)?;
            self.replace(&[path], &[])?;
        }
        Ok(())
    }

    /// Tries the moves at a cell.
    fn improve_at(&mut self, cell: u32) -> Result<()> {
        if self.states[cell as usize] == 0 || !self.is_key(cell) {
            return Ok(());
        }
        for next in collect(self.tree_neighbours(cell), TREE)? {
            if self.is_key(cell) && self.has(cell, next) {
                let path = self.key_path(cell, next)?;
                self.exchange(&[path], &[])?;
            }
        }
        let first = self.group(&cell)[0];
        if self.states[first as usize] != 0 && self.is_key(first) {
            let (paths, own) = self.around(first)?;
            if paths.len() > 1 {
                self.exchange(&paths, own.as_slice())?;
            }
        }
        Ok(())
    }

    /// The key paths at `count` key cells, the nearest ones on the tree to `start`, and a cell of
    /// each part that the tree has without these.
    fn stars(&self, start: u32, count: usize) -> Result<(Vec<Path>, Vec<u32>)> {
        let mut paths: Vec<Path> = Vec::new();
        let mut ends = collect([start], TREE)?;
        let mut next = 0;
        while next < ends.len().min(count) {
            let here = ends[next];
            next += 1;
            for &cell in self.group(&here) {
                for near in self.tree_neighbours(cell) {
                    let path = self.key_path(cell, near)?;
                    let last = path[path.len() - 1];
                    let end = self.group(&last)[0];
                    if !ends.contains(&end) {
                        push(&mut ends, end, TREE)?;
                        push(&mut paths, path, TREE)?;
                    }
                }
            }
        }
        // The first ones lose all their paths: they are parts if they are pins.
        let is_part = |(i, &end): (usize, &u32)| i >= count || self.group_of.contains_key(&end);
        let seeds = ends.iter().enumerate().filter(|&end| is_part(end));
        let seeds = collect(seeds.map(|(_, &end)| end), TREE)?;
        Ok((paths, seeds))
    }
}

/// The random sequence of steps, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 += 1;
        ((u128::from(random(0, self.0)) * limit as u128) >> 64) as usize
    }
}
