//! Distances by sweeps along rows, columns and vias, until nothing changes.

use rayon::prelude::*;

use super::retrace::UNREACHED;
use crate::Result;
use crate::memory::{collect, reserve};
use crate::route::grid::{BLOCKED, RoutingGrid};

/// Name used in out-of-memory errors.
const TASKS: &str = "the rows of sweeps";

/// The threads that sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    One,
    All,
}

/// The fewest columns per task: whole cache lines in each row.
const LEAST_STRIP: usize = 64;

/// Tasks per thread: at the end of a sweep, the other threads wait for the last task.
const TASKS_PER_THREAD: usize = 4;

impl Threads {
    /// Runs all tasks; returns whether any of them changed something.
    fn run<T: Send>(self, tasks: Vec<T>, run: impl Fn(T) -> bool + Send + Sync) -> bool {
        match self {
            Self::One => tasks
                .into_iter()
                .fold(false, |changed, task| changed | run(task)),
            Self::All => tasks
                .into_par_iter()
                .map(run)
                .reduce(|| false, |a, b| a | b),
        }
    }

    /// The number of columns per task.
    fn strip(self, columns: usize) -> usize {
        match self {
            Self::One => columns,
            Self::All => {
                let tasks = rayon::current_num_threads() * TASKS_PER_THREAD;
                columns.div_ceil(tasks).max(LEAST_STRIP)
            }
        }
    }
}

/// Makes distances exact: afterwards, each is at most that of a neighbour plus the edge between
/// them.
pub(super) fn relax(grid: &RoutingGrid, distances: &mut [u64], threads: Threads) -> Result<()> {
    if matches!(threads, Threads::All) {
        crate::threads::ensure();
    }
    let width = grid.width() as usize;
    let area = width * grid.height() as usize;
    loop {
        let rows = distances.chunks_exact_mut(width);
        let rows = collect(rows.zip(grid.rights().chunks_exact(width)), TASKS)?;
        let mut changed = threads.run(rows, |(row, weights)| sweep_row(row, weights));
        let layers = distances.chunks_exact_mut(area);
        for (layer, weights) in layers.zip(grid.downs().chunks_exact(area)) {
            changed |= sweep_columns(layer, weights, width, threads)?;
        }
        if grid.layers() > 1 {
            // The layers are the rows of a matrix with one column per via.
            changed |= sweep_columns(distances, grid.vias(), area, threads)?;
        }
        if !changed {
            return Ok(());
        }
    }
}

/// Sweeps a row to the right and back; returns whether that changed something.
fn sweep_row(row: &mut [u64], weights: &[u32]) -> bool {
    let mut changed = false;
    for x in 1..row.len() {
        changed |= lower(row[x - 1], &mut row[x], weights[x - 1]);
    }
    for x in (1..row.len()).rev() {
        changed |= lower(row[x], &mut row[x - 1], weights[x - 1]);
    }
    changed
}

/// Sweeps the columns of a matrix down and up, many at once; returns whether that changed
/// something.
fn sweep_columns(
    matrix: &mut [u64],
    weights: &[u32],
    width: usize,
    threads: Threads,
) -> Result<bool> {
    let strip = threads.strip(width);
    // For each strip, its part of each row.
    let mut strips: Vec<Vec<&mut [u64]>> = Vec::new();
    let count = width.div_ceil(strip);
    reserve(&mut strips, count, TASKS)?;
    for _ in 0..count {
        let mut rows = Vec::new();
        reserve(&mut rows, matrix.len() / width, TASKS)?;
        strips.push(rows);
    }
    for row in matrix.chunks_exact_mut(width) {
        for (strip, part) in strips.iter_mut().zip(row.chunks_mut(strip)) {
            strip.push(part);
        }
    }
    let tasks = collect(strips.into_iter().enumerate(), TASKS)?;
    Ok(
        threads.run(tasks, |(index, mut rows): (usize, Vec<&mut [u64]>)| {
            let mut changed = false;
            let weights = |y: usize| &weights[y * width + index * strip..];
            for y in 1..rows.len() {
                let (above, below) = rows.split_at_mut(y);
                changed |= lower_all(above[y - 1], below[0], weights(y - 1));
            }
            for y in (1..rows.len()).rev() {
                let (above, below) = rows.split_at_mut(y);
                changed |= lower_all(below[0], above[y - 1], weights(y - 1));
            }
            changed
        }),
    )
}

/// Lowers each of the distances `to` by way of its neighbour in `from`.
fn lower_all(from: &[u64], to: &mut [u64], weights: &[u32]) -> bool {
    let mut changed = false;
    for ((&from, to), &weight) in from.iter().zip(to).zip(weights) {
        changed |= lower(from, to, weight);
    }
    changed
}

/// Lowers the distance `to` to `from` plus an edge of `weight`, if that is less.
fn lower(from: u64, to: &mut u64, weight: u32) -> bool {
    let weight = match weight {
        BLOCKED => UNREACHED,
        open => open.into(),
    };
    // Unreached cells lead nowhere.
    let through = from.saturating_add(weight);
    let less = through < *to;
    *to = through.min(*to);
    less
}
