//! The path that a search takes, of all that are as cheap: seen from the pin, it goes to the first
//! neighbour that is on a cheapest path, in the order of [`step_order`]. So it depends on costs
//! alone, not on the order in which cells were reached, and a GPU finds the same path.
//!
//! A search ends when it is at the pin. Until then it has seen all cells through which a path might
//! be cheaper than the one it has found, but not all through which one might be as cheap. So a way
//! back is tried through cells that the search has not seen, as long as the estimate says that a
//! path through them may be as cheap; where none of their neighbours was reached at the cost that
//! this takes, the way is given up.

use trazar_kernels::route::negotiate::{STEPS, step_order};

use super::edges::{KINDS, NONE};
use super::search::{Node, SEARCH, Search, local_index};
use crate::error::Result;
use crate::geometry::Cell;
use crate::memory::push;
use crate::route::net_by_net::PATHS;

/// A cell on the way back.
#[derive(Clone, Copy)]
pub(super) struct Step {
    cell: Cell,
    /// What a path from the tree to the cell costs, if the way back leads through it.
    label: u64,
    /// The steps from here that were not tried, as [`step_order`] has them.
    order: u32,
    /// Their number.
    left: u32,
}

/// What is known about a cell on a way back.
enum Leads {
    /// A path from the tree leads to it at the cost in question.
    Yes,
    No,
    Perhaps,
}

impl Search<'_, '_> {
    /// Leaves the path of the cost `cost` in the scratch, from the pin to the tree, as indices in
    /// the grid.
    pub(super) fn retrace(&mut self, cost: u64) -> Result<()> {
        self.scratch.path.clear();
        for &cell in &self.wanted.pin.cells {
            self.scratch.steps.clear();
            self.visit(cell, cost, 0, cost)?;
            if self.walk(cost)? {
                let scratch = &mut *self.scratch;
                for step in &scratch.steps {
                    push(&mut scratch.path, self.edges.grid.index(step.cell), PATHS)?;
                }
                break;
            }
        }
        Ok(())
    }

    /// Goes on to the tree from the last step. False if no way leads there.
    fn walk(&mut self, cost: u64) -> Result<bool> {
        while let Some(step) = self.scratch.steps.last_mut() {
            if step.label == 0 {
                return Ok(true);
            }
            let &mut Step {
                cell, label, left, ..
            } = step;
            if left == 0 {
                self.give_up(cell);
                self.scratch.steps.pop();
                continue;
            }
            let next = step.order & 15;
            step.order >>= 4;
            step.left -= 1;
            let Some((neighbour, edge)) = self.neighbour(cell, next) else {
                continue;
            };
            let Some((local, _)) = local_index(cell, self.wanted.window) else {
                continue;
            };
            let node = self.scratch.nodes[local as usize];
            let is_given_up = node.search == self.scratch.search && node.given_up >> next & 1 != 0;
            let step_cost = self.cost(edge, is_given_up);
            if step_cost == NONE || u64::from(step_cost) > label {
                continue;
            }
            self.visit(neighbour, label - u64::from(step_cost), next, cost)?;
        }
        Ok(false)
    }

    /// Adds a cell, to which the step `came` led, to the way, unless no path from the tree leads to
    /// it for `label`.
    fn visit(&mut self, cell: Cell, label: u64, came: u32, cost: u64) -> Result<()> {
        if let Leads::No = self.leads(cell, label, cost) {
            return Ok(());
        }
        let near = self.wanted.near;
        let place = |cell: Cell| [cell.x, cell.y, cell.layer];
        let step = Step {
            cell,
            label,
            order: step_order(place(cell), place(near), came),
            left: STEPS,
        };
        push(&mut self.scratch.steps, step, SEARCH)
    }

    fn leads(&self, cell: Cell, label: u64, cost: u64) -> Leads {
        let Some((local, _)) = local_index(cell, self.wanted.window) else {
            return Leads::No;
        };
        let node = self.scratch.nodes[local as usize];
        let is_known = node.search == self.scratch.search;
        if is_known && node.label == label {
            Leads::Yes
        } else if is_known && node.is_dead_end() || label == 0 {
            Leads::No
        } else if label + self.wanted.target.distance(cell) == cost
            && label >= self.wanted.source.distance(cell)
        {
            Leads::Perhaps
        } else {
            Leads::No
        }
    }

    /// The cell that a step leads to, if it is on the grid, and the edge.
    fn neighbour(&self, cell: Cell, step: u32) -> Option<(Cell, usize)> {
        let grid = self.edges.grid;
        let mut to = cell;
        match step {
            0 => to.x += 1,
            1 => to.y += 1,
            2 => to.x = cell.x.checked_sub(1)?,
            3 => to.y = cell.y.checked_sub(1)?,
            4 => to.layer += 1,
            _ => to.layer = cell.layer.checked_sub(1)?,
        }
        if to.x >= grid.width() || to.y >= grid.height() || to.layer >= grid.layers() {
            return None;
        }
        let kind = if step < 4 { step as usize % 2 } else { 2 };
        let from = grid.index(cell.min(to)) as usize;
        Some((to, KINDS * from + kind))
    }

    /// No way back leads through the cell.
    fn give_up(&mut self, cell: Cell) {
        let Some((local, _)) = local_index(cell, self.wanted.window) else {
            return;
        };
        let search = self.scratch.search;
        let node = &mut self.scratch.nodes[local as usize];
        let given_up = match node.search == search {
            true => node.given_up,
            false => 0,
        };
        *node = Node::dead_end(search, given_up);
    }
}
