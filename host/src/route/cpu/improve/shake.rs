//! Ways out of a tree that no move improves.
//!
//! A step removes a few key cells near each other with all their key paths, joins the parts in
//! another order than usual, and improves the tree around them. Every other step also joins a
//! random cell between the parts: the best fork may be on no shortest path between two parts, and
//! then no move finds it.
//!
//! Several steps are tried from the same tree, each on a copy of it (`copies.rs`), and taken back.
//! Those that paid are then taken again, one after the other, on all copies. What comes of a step
//! depends on the tree and on the step's number alone, so the result is the same for any number of
//! copies.

use super::budget::Budget;
use super::copies::Copies;
use super::exchange::{Exchange, Move, Path};
use super::pieces::Part;
use super::{Edge, TREE};
use crate::Result;
use crate::generate::random::{below, random};
use crate::geometry::Cell;
use crate::memory::{collect, extend, push};
use crate::progress::Progress;

/// The most key cells that a step removes, or divides the tree at.
const MOST_CELLS: usize = 3;

/// A step may make the tree more expensive at first, by this part of what it removes.
const SLACK: u64 = 8;

/// The most moves that are remembered because they did not pay.
const MOST_FAILED: usize = 1 << 20;

/// Paths that were removed from a tree, and those that replaced them.
type Replaced = (Vec<Path>, Vec<Path>);

/// What has been done to a tree.
#[derive(Default)]
pub(super) struct Changes {
    is_kept: bool,
    done: Vec<Replaced>,
    /// The ends of these paths.
    ends: Vec<u32>,
    /// The moves that did not pay.
    failed: Vec<Move>,
}

/// What came of a step that was tried.
#[derive(Default)]
struct Trial {
    /// What it does, if it pays.
    changes: Option<Vec<Replaced>>,
    /// Moves that did not pay on the way.
    failed: Vec<Move>,
    /// The number of labels that it set.
    labels: u64,
}

impl Changes {
    /// Begins to note changes.
    fn begin(&mut self) {
        self.is_kept = true;
        self.done.clear();
        self.ends.clear();
        self.failed.clear();
    }

    pub(super) fn note_failed(&mut self, failed: Move) -> Result<()> {
        match self.is_kept {
            true => push(&mut self.failed, failed, TREE),
            false => Ok(()),
        }
    }

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

impl Copies<'_> {
    /// Takes steps from a tree that no move improves, as long as `budget` permits. Returns the
    /// edges of the tree to which they lead.
    pub(super) fn shake(&mut self, budget: &Budget, progress: &Progress<'_>) -> Result<Vec<Edge>> {
        let starts = collect(self.tree().groups.all().map(|cells| cells[0]), TREE)?;
        let starts = &starts[..];
        let (mut steps, mut labels) = (0, 0);
        while budget.permits(steps, labels) && self.tree().has_numbers() {
            let batch = steps..steps + budget.batch(steps, labels);
            let trials = self.try_each(batch.clone(), |tree, step| {
                budget.report(steps, labels, progress)?;
                match budget.is_over() {
                    true => Ok(Trial::default()),
                    false => tree.try_step(step, starts),
                }
            })?;
            let work = self.on_each(|tree| {
                let before = tree.diagram.work();
                let paying = batch.clone().zip(&trials);
                let paying =
                    paying.filter_map(|(step, trial)| Some((step, trial.changes.as_ref()?)));
                for (i, (step, changes)) in paying.enumerate() {
                    // The first one still finds the tree from which it was tried.
                    match i {
                        0 => tree.repeat(changes)?,
                        _ => drop(tree.step(step, starts, true)?),
                    }
                }
                for trial in &trials {
                    tree.remember(trial.failed.iter().copied())?;
                }
                tree.forget_failed(MOST_FAILED);
                Ok(tree.diagram.work() - before)
            })?;
            steps = batch.end;
            labels += trials.iter().map(|trial| trial.labels).sum::<u64>();
            // All copies do the same, which counts once.
            labels += work[0];
        }
        self.tree().edges()
    }
}

impl Exchange<'_> {
    /// Whether numbers of parts and changes are left for another step. They last for hours.
    fn has_numbers(&self) -> bool {
        const STEP: u32 = 1 << 28;
        let last = [self.last_part, self.diagram.last_number()];
        last.iter().all(|&last| last < u32::MAX - STEP)
    }

    /// Takes a step and takes it back.
    fn try_step(&mut self, step: u64, starts: &[u32]) -> Result<Trial> {
        let before = self.diagram.work();
        let changes = self.step(step, starts, false)?;
        let failed = std::mem::take(&mut self.changes.failed);
        self.forget(&failed);
        Ok(Trial {
            changes,
            failed,
            labels: self.diagram.work() - before,
        })
    }

    /// Takes the step of a number, beginning at one of the cells `starts`. Returns what it does if
    /// it makes the tree cheaper. If not, or if it is not to be kept, it is taken back.
    fn step(
        &mut self,
        step: u64,
        starts: &[u32],
        is_to_be_kept: bool,
    ) -> Result<Option<Vec<Replaced>>> {
        let mut random = Random { step, last: 0 };
        let random = &mut random;
        self.changes.begin();
        let start = starts[random.below(starts.len())];
        let count = 1 + random.below(MOST_CELLS);
        let (paths, seeds) = self.stars(start, count)?;
        let removed = self.cost_of_all(&paths);
        if removed == 0 {
            return Ok(None);
        }
        let fork = match random.below(2) {
            0 => None,
            _ => Some(self.cell_between(&paths, random)),
        };
        let choose = |parts: &[Part]| random.below(parts.len());
        let limit = removed + removed / SLACK + 1;
        let Some(added) = self.rejoined(&paths, &seeds, fork, limit, choose)? else {
            return Ok(None);
        };
        self.replace(&paths, &added)?;
        if let Some(cell) = fork {
            self.remove_end(cell)?;
        }
        while let Some(cell) = self.changes.ends.pop() {
            self.improve_at(cell)?;
        }
        self.changes.is_kept = false;
        let changes = std::mem::take(&mut self.changes.done);
        let [old, new] = changes.iter().fold([0, 0], |[old, new], (removed, added)| {
            [
                old + self.cost_of_all(removed),
                new + self.cost_of_all(added),
            ]
        });
        let pays = new < old;
        if !pays || !is_to_be_kept {
            for (removed, added) in changes.iter().rev() {
                self.replace(added, removed)?;
            }
        }
        Ok(pays.then_some(changes))
    }

    /// Does again what a step did that was taken back.
    fn repeat(&mut self, changes: &[Replaced]) -> Result<()> {
        for (removed, added) in changes {
            self.replace(removed, added)?;
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
        let is_part = |(i, &end): (usize, &u32)| i >= count || self.groups.of(end).is_some();
        let seeds = ends.iter().enumerate().filter(|&end| is_part(end));
        let seeds = collect(seeds.map(|(_, &end)| end), TREE)?;
        Ok((paths, seeds))
    }
}

/// The random sequence of a step, the same in each run.
struct Random {
    step: u64,
    last: u64,
}

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.last += 1;
        let seed = random(0, self.step);
        below(random(seed, self.last), limit as u64) as usize
    }
}
