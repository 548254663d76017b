//! The paths of a tree that is being improved.

use super::exchange::{Exchange, PIN, Path};
use super::{Edge, TREE, weight};
use crate::Result;
use crate::memory::{collect, push};

impl Exchange<'_> {
    /// The tree's edges, each once.
    pub(super) fn edges(&self) -> Result<Vec<Edge>> {
        let cells = self.cells()?.into_iter();
        let edges = cells.flat_map(|cell| self.tree_neighbours(cell).map(move |next| (cell, next)));
        collect(edges.filter(|(a, b)| a < b), TREE)
    }

    /// The tree's cells, in order.
    pub(super) fn cells(&self) -> Result<Vec<u32>> {
        let on_tree = |&cell: &u32| self.states[cell as usize] != 0;
        collect((0..self.grid.cell_count()).filter(on_tree), TREE)
    }

    pub(super) fn key_cells(&self) -> Result<Vec<u32>> {
        let mut cells = self.cells()?;
        cells.retain(|&cell| self.is_key(cell));
        Ok(cells)
    }

    /// The first two cells of each key path, from one end only.
    pub(super) fn key_path_starts(&self) -> Result<Vec<Edge>> {
        let mut starts = Vec::new();
        for cell in self.key_cells()? {
            for next in self.tree_neighbours(cell) {
                let path = self.key_path(cell, next)?;
                let end = (path[path.len() - 1], path[path.len() - 2]);
                if (cell, next) <= end {
                    push(&mut starts, (cell, next), TREE)?;
                }
            }
        }
        Ok(starts)
    }

    /// Whether a cell of the tree is a pin's, or the tree branches there.
    pub(super) fn is_key(&self, cell: u32) -> bool {
        let state = self.states[cell as usize];
        state & PIN != 0 || state.count_ones() > 2
    }

    /// The key path from the key cell `from` through `next`.
    pub(super) fn key_path(&self, from: u32, next: u32) -> Result<Path> {
        let mut path = vec![from, next];
        let mut last = from;
        let mut at = next;
        while !self.is_key(at) {
            let Some(next) = self.tree_neighbours(at).find(|&cell| cell != last) else {
                break;
            };
            push(&mut path, next, TREE)?;
            last = at;
            at = next;
        }
        Ok(path)
    }

    /// The key paths at a key cell, or at all cells of its group; and one cell of that group, if
    /// any.
    pub(super) fn around(&self, cell: u32) -> Result<(Vec<Path>, Option<u32>)> {
        let here = self.group(&cell);
        // Once per group.
        if here[0] != cell {
            return Ok((Vec::new(), None));
        }
        let mut paths = Vec::new();
        for &cell in here {
            for next in self.tree_neighbours(cell) {
                push(&mut paths, self.key_path(cell, next)?, TREE)?;
            }
        }
        Ok((paths, self.groups.of(cell).map(|_| cell)))
    }

    /// The cells that are joined with a cell of the tree by a pin, or this cell alone.
    pub(super) fn group<'b>(&'b self, cell: &'b u32) -> &'b [u32] {
        self.groups.of(*cell).unwrap_or(std::slice::from_ref(cell))
    }

    /// The cells of paths that are not on the tree.
    pub(super) fn off_tree(&self, paths: &[Path]) -> Result<Vec<u32>> {
        let cells = paths.iter().flatten().copied();
        let mut gone = collect(cells.filter(|&cell| self.states[cell as usize] == 0), TREE)?;
        gone.sort_unstable();
        gone.dedup();
        Ok(gone)
    }

    pub(super) fn cost_of_all(&self, paths: &[Path]) -> u64 {
        paths.iter().map(|path| self.cost(path)).sum()
    }

    pub(super) fn cost(&self, path: &[u32]) -> u64 {
        let steps = path.windows(2);
        steps.map(|step| weight(self.grid, step[0], step[1])).sum()
    }

    pub(super) fn set_path(&mut self, path: &[u32]) {
        for pair in path.windows(2) {
            self.set(pair[0], pair[1]);
        }
    }

    pub(super) fn clear_path(&mut self, path: &[u32]) {
        for pair in path.windows(2) {
            let [there, back] = self.directions(pair[0], pair[1]);
            self.states[pair[0] as usize] &= !there;
            self.states[pair[1] as usize] &= !back;
        }
    }

    pub(super) fn set(&mut self, a: u32, b: u32) {
        let [there, back] = self.directions(a, b);
        self.states[a as usize] |= there;
        self.states[b as usize] |= back;
    }

    pub(super) fn has(&self, a: u32, b: u32) -> bool {
        self.states[a as usize] & self.directions(a, b)[0] != 0
    }

    /// The bits of the edge between two neighbours: in the state of `a`, and in that of `b`.
    pub(super) fn directions(&self, a: u32, b: u32) -> [u8; 2] {
        let axis = match a.abs_diff(b) {
            1 if self.grid.width() > 1 => 0,
            step if step == self.grid.width() && self.grid.height() > 1 => 2,
            _ => 4,
        };
        let (forth, back) = (1 << axis, 2 << axis);
        if a < b { [forth, back] } else { [back, forth] }
    }

    /// The cells that a cell of the tree has edges to.
    pub(super) fn tree_neighbours(&self, cell: u32) -> impl Iterator<Item = u32> + use<> {
        let width = self.grid.width();
        let steps = [1, width, width * self.grid.height()];
        // Back before forth.
        let state = self.states[cell as usize];
        let mut state = (state >> 1 & 0b010101) | (state << 1 & 0b101010);
        std::iter::from_fn(move || {
            if state == 0 {
                return None;
            }
            let bit = state.trailing_zeros();
            state &= state - 1;
            let step = steps[bit as usize / 2];
            Some(if bit.is_multiple_of(2) {
                cell - step
            } else {
                cell + step
            })
        })
    }
}
