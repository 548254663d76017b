//! Large trees are improved by sections, several at the same time.
//!
//! A section is a subtree with some dozens of pins. It is improved as a tree of its own, on the
//! part of the grid around it. Where it is attached to the rest of the tree, there is a pin of
//! both, so that the improved sections join all pins again.
//!
//! Moves that do not pay in a section mostly do not pay in the whole tree either, so they are not
//! tried there again. Those near the rest of the tree are, since paths may lead there.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::budget::Budget;
use super::exchange::{Exchange, NO_CELL};
use super::groups::Groups;
use super::{COPY_BYTES, Edge, Improved, TREE, edges_of};
use crate::Result;
use crate::geometry::{Cell, Window};
use crate::memory::{
    collect, extend, filled_vec, par_try_collect, push, reserve_in_map, with_room,
};
use crate::progress::Progress;
use crate::route::cpu::spanning;
use crate::route::grid::RoutingGrid;
use crate::route::net_by_net::{Joined, MOST_BYTES, PINS, PinCells, group};
use crate::threads;

/// Each section has at least this many pins, except for the one with the first pin. Larger sections
/// lead to better trees, smaller ones give work to more threads.
const LEAST_PINS: u32 = 64;

/// With fewer sections, the tree is improved as a whole.
const LEAST_SECTIONS: usize = 4;

/// Improves the sections of `tree`, which joins `pins`. `None` if it has too few.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::Cancelled`](crate::Error::Cancelled).
pub(super) fn improve(
    grid: &RoutingGrid,
    pins: &PinCells,
    tree: &Joined,
    budget: &Budget,
    progress: &Progress<'_>,
) -> Result<Option<Improved>> {
    let sections = Section::all_of(pins, tree)?;
    if sections.len() < LEAST_SECTIONS {
        return Ok(None);
    }
    let mut cells = collect(
        tree.paths().flat_map(|(_, _, cells)| cells.iter().copied()),
        TREE,
    )?;
    cells.sort_unstable();
    let windows = collect(sections.iter().map(|section| section.window(grid)), TREE)?;
    let at_once = at_once(grid, &windows);
    let sections: Vec<Improved> = progress.of_many(sections.len() as u64, |of_section, done| {
        let improve = |(section, &window): (&Section, &Option<Window>)| {
            let improved = match window {
                Some(window) if !budget.is_over() => {
                    section.improve(grid, window, &cells, budget, of_section)
                }
                _ => section.as_it_is(),
            };
            done.fetch_add(1, Relaxed);
            improved
        };
        if at_once == 1 {
            let mut improved = with_room(sections.len(), TREE)?;
            for section in sections.iter().zip(&windows) {
                improved.push(improve(section)?);
            }
            return Ok(improved);
        }
        let group = group(sections.len(), at_once);
        let sections = sections.par_iter().zip(&windows);
        let sections = sections.with_min_len(group).with_max_len(group);
        par_try_collect(sections.map(improve), TREE)
    })?;
    let mut edges = Vec::new();
    let mut failed = Vec::new();
    for section in sections {
        extend(&mut edges, section.edges, TREE)?;
        extend(&mut failed, section.failed, TREE)?;
    }
    let edges = edges_of(&spanning::joined_over(grid, pins, &edges)?)?;
    Ok(Some(Improved { edges, failed }))
}

/// The number of sections with these windows to improve at the same time, as memory allows.
fn at_once(grid: &RoutingGrid, windows: &[Option<Window>]) -> usize {
    /// The memory for a cell of a section's window, with its edges.
    const SECTION_BYTES: u64 = COPY_BYTES + 12;
    // A cell is labelled more than ten times.
    if !threads::are_worth_waking(10 * u64::from(grid.cell_count())) {
        return 1;
    }
    let windows = windows.iter().flatten();
    let cells = windows.map(|window| u64::from(window.width) * u64::from(window.height));
    let largest = cells.max().unwrap_or(1) * u64::from(grid.layers());
    // Those of two trees are improved at the same time.
    let fit = MOST_BYTES / 2 / (largest * SECTION_BYTES);
    usize::try_from(fit).unwrap_or(usize::MAX).max(1)
}

/// A subtree.
#[derive(Default)]
pub(super) struct Section {
    pub(super) edges: Vec<Edge>,
    /// Those of the net, and where other sections are attached.
    pub(super) pins: PinCells,
}

impl Section {
    /// Divides a tree.
    pub(super) fn all_of(pins: &PinCells, tree: &Joined) -> Result<Vec<Self>> {
        let parents = parents(pins, tree)?;
        // The pins of each path and of those that lead to it, without the ones in sections.
        let mut counts = filled_vec(1, parents.len(), TREE)?;
        let mut section_of = filled_vec(0, parents.len(), TREE)?;
        let mut sections = Vec::new();
        push(&mut sections, Self::default(), TREE)?;
        for path in (1..parents.len()).rev() {
            if counts[path] >= LEAST_PINS {
                section_of[path] = sections.len();
                push(&mut sections, Self::default(), TREE)?;
            } else {
                counts[parents[path]] += counts[path];
            }
        }
        sections[0].add_pin(&pins[0])?;
        for (path, (pin, _, cells)) in (1..).zip(tree.paths()) {
            let of_parent = section_of[parents[path]];
            if section_of[path] == 0 {
                section_of[path] = of_parent;
            } else {
                let end = &cells[cells.len() - 1..];
                sections[section_of[path]].add_pin(end)?;
                sections[of_parent].add_pin(end)?;
            }
            let section = &mut sections[section_of[path]];
            section.add_pin(&pins[pin])?;
            let steps = cells.windows(2).map(|step| (step[0], step[1]));
            extend(&mut section.edges, steps, TREE)?;
        }
        Ok(sections)
    }

    fn add_pin(&mut self, cells: &[u32]) -> Result<()> {
        push(&mut self.pins, collect(cells.iter().copied(), PINS)?, PINS)
    }

    fn as_it_is(&self) -> Result<Improved> {
        Ok(Improved {
            edges: collect(self.edges.iter().copied(), TREE)?,
            failed: Vec::new(),
        })
    }

    /// Improves the section on the part of the grid in `window`. `tree` are the cells of the whole
    /// tree, in order.
    fn improve(
        &self,
        grid: &RoutingGrid,
        window: Window,
        tree: &[u32],
        budget: &Budget,
        progress: &Progress<'_>,
    ) -> Result<Improved> {
        let part = grid.crop(window)?;
        let within = |cell: u32| {
            let cell = grid.cell(cell);
            let is_within = window.contains(cell);
            is_within.then(|| part.index(window.to_part(cell)))
        };
        let whole = |cell: u32| grid.index(window.to_whole(part.cell(cell)));
        let mut pins = PinCells::new();
        for pin in &self.pins {
            let cells = pin.iter().filter_map(|&cell| within(cell));
            push(&mut pins, collect(cells, PINS)?, PINS)?;
        }
        let edges = self.edges.iter();
        let edges = edges.filter_map(|&(a, b)| Some((within(a)?, within(b)?)));
        let groups = Groups::new(&pins)?;
        let mut exchange = Exchange::new(&part, &groups)?;
        let improved = exchange.improve(&collect(edges, TREE)?, budget, progress)?;
        let mut own = collect(self.edges.iter().flat_map(|&(a, b)| [a, b]), TREE)?;
        own.sort_unstable();
        let others = cells_within(grid, window, tree);
        let others = others.filter(|cell| own.binary_search(cell).is_err());
        exchange.forget_near(others.filter_map(within))?;
        let edges = improved.into_iter().map(|(a, b)| (whole(a), whole(b)));
        let failed = exchange.failed().map(|(first, last, cost)| match last {
            NO_CELL => (whole(first), NO_CELL, cost),
            last => (whole(first), whole(last), cost),
        });
        Ok(Improved {
            edges: collect(edges, TREE)?,
            failed: collect(failed, TREE)?,
        })
    }

    /// The window around the section's edges, if there are any.
    fn window(&self, grid: &RoutingGrid) -> Option<Window> {
        let cells = || {
            let ends = self.edges.iter().flat_map(|&(a, b)| [a, b]);
            ends.map(|cell| grid.cell(cell))
        };
        let range = |along: fn(Cell) -> u32, side: u32| {
            let (least, most) = (cells().map(along).min()?, cells().map(along).max()?);
            let margin = (most - least) / 8 + 4;
            let start = least.saturating_sub(margin);
            let end = most.saturating_add(margin).min(side - 1);
            Some((start, end - start + 1))
        };
        let (x, width) = range(|cell| cell.x, grid.width())?;
        let (y, height) = range(|cell| cell.y, grid.height())?;
        Some(Window {
            x,
            y,
            width,
            height,
        })
    }
}

/// By path of a tree, counted from 1 on, the one before it that it leads to: 0 for the first pin.
fn parents(pins: &PinCells, tree: &Joined) -> Result<Vec<usize>> {
    // The first path at each cell.
    let mut path_at: HashMap<u32, usize> = HashMap::new();
    let mut parents = collect([0], TREE)?;
    let mut reach = |cells: &[u32], path: usize| -> Result<()> {
        for &cell in cells {
            reserve_in_map(&mut path_at, TREE)?;
            path_at.entry(cell).or_insert(path);
        }
        Ok(())
    };
    reach(&pins[0], 0)?;
    for (path, (pin, _, cells)) in (1..).zip(tree.paths()) {
        reach(cells, path)?;
        reach(&pins[pin], path)?;
    }
    for (_, _, cells) in tree.paths() {
        push(&mut parents, path_at[&cells[cells.len() - 1]], TREE)?;
    }
    Ok(parents)
}

/// The cells of a list, which is in order, that are in a window.
fn cells_within<'a>(
    grid: &'a RoutingGrid,
    window: Window,
    cells: &'a [u32],
) -> impl Iterator<Item = u32> + use<'a> {
    let rows = (0..grid.layers())
        .flat_map(move |layer| (window.y..window.y + window.height).map(move |y| (y, layer)));
    rows.flat_map(move |(y, layer)| {
        let x = window.x;
        let first = grid.index(Cell { x, y, layer });
        let start = cells.partition_point(|&cell| cell < first);
        let end = cells.partition_point(|&cell| cell < first + window.width);
        cells[start..end].iter().copied()
    })
}
