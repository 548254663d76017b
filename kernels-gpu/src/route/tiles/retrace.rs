//! The path from a pin to the tree, tile by tile.

use cuda_std::prelude::*;

use super::layout::{Area, BLOCK, EAST, NORTH, PATCH, SOUTH, TILE, Tiling, WEST};
use super::patch::{PatchIndex, Row, each};
use super::rims::Beyond;
use super::{PathCost, Problem, Shared};

/// Indices of the words of [`Shared::words`] that this file uses.
const AT: u32 = 2;
const COUNT: u32 = 3;

/// Appends the path from the label at `at` to the tree to the net's paths, from `start` on; returns
/// its end.
///
/// In each tile, all threads find each cell's way on; then one thread follows the ways.
#[inline(always)]
pub(super) fn retrace<L: PathCost, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    shared: &Shared<L>,
    area: Area,
    at: u32,
    start: u32,
) -> u32 {
    let tiling = problem.grid.tiling;
    let patch = PatchIndex::mine(tiling);
    let t = thread::thread_idx_x();
    let ways = shared.exchange.ways();
    let (mut at, mut end) = (at, start);
    loop {
        let slot = at / TILE;
        let tile = area.tile_of(slot);
        shared.beyond.read(problem, area, slot, tile, patch);
        thread::sync_threads();
        write_ways::<L, LAYERED>(problem, slot, tile, &shared.beyond, ways);
        thread::sync_threads();
        if t == 0 {
            let mut place = at % TILE;
            let first = slot * TILE;
            loop {
                problem.trees.paths.st(area.first_path + end, first + place);
                end += 1;
                let way = u32::from(ways.ld(place));
                if way >= Way::BEYOND {
                    shared
                        .words
                        .st(AT, next_label(area, slot, tile, place, way, tiling));
                    break;
                }
                place = way;
            }
            shared.words.st(COUNT, end);
        }
        thread::sync_threads();
        let next = shared.words.ld(AT);
        end = shared.words.ld(COUNT);
        thread::sync_threads();
        if next == u32::MAX {
            return end;
        }
        at = next;
    }
}

/// The index of the label beyond the side of the tile given by `way`, from the label at `place`;
/// [`u32::MAX`] at a path's end.
#[inline(always)]
fn next_label(
    area: Area,
    slot: u32,
    tile: (u32, u32),
    place: u32,
    way: u32,
    tiling: Tiling,
) -> u32 {
    if way == Way::END {
        return u32::MAX;
    }
    let side = way - Way::BEYOND;
    let (x, y, layer) = tiling.at_place(place);
    let (x, y) = match side {
        WEST => (x.wrapping_sub(1), y),
        NORTH => (x, y.wrapping_sub(1)),
        EAST => (x + 1, y),
        _ => (x, y + 1),
    };
    area.beside(slot, tile, side) * TILE + tiling.place(x, y, layer)
}

/// Writes the [`Way`] on from each cell of a tile: to the first neighbour that the cell's label
/// comes from. Called by the whole block, after `beyond` has been read and a barrier.
///
/// A thread takes four adjacent cells at a time, and loads the labels around them from memory:
/// whole patches would take too many registers. Labels outside the net's window are unreached, so
/// no label comes from there.
#[inline(always)]
fn write_ways<L: PathCost, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    slot: u32,
    tile: (u32, u32),
    beyond: &Beyond<L>,
    ways: SharedView<u16>,
) {
    let mut place = thread::thread_idx_x() * PATCH;
    while place < TILE {
        let four = ways_from::<L, LAYERED>(problem, slot, tile, beyond, place);
        each!(J, ways.st(place + J as u32, four[J] as u16));
        place += BLOCK * PATCH;
    }
}

/// [`write_ways`] for the four cells from `place` on.
#[inline(always)]
fn ways_from<L: PathCost, const LAYERED: bool>(
    problem: &Problem<'_, L>,
    slot: u32,
    tile: (u32, u32),
    beyond: &Beyond<L>,
    place: u32,
) -> [u32; 4] {
    let tiling = problem.grid.tiling;
    let (columns, rows) = (tiling.columns(), tiling.rows());
    let (column, row, layer) = tiling.at_place(place);
    let edge = (tile.1 * tiling.tiles_x + tile.0) * TILE + place;
    let at = slot * TILE + place;
    let here = L::load_row(problem.labels.cells, at);

    let (is_west, is_east) = (column == 0, column + PATCH == columns);
    let (is_north, is_south) = (row == 0, row + 1 == rows);
    let (upright, level) = (layer * rows + row, layer * columns + column);
    let cell = |is_beyond: bool, side: u32, inside: u32| {
        if is_beyond {
            beyond.at(side, upright)
        } else {
            problem.labels.cells.ld(inside)
        }
    };
    let cells = |is_beyond: bool, side: u32, inside: u32| {
        if is_beyond {
            beyond.row_at(side, level)
        } else {
            L::load_row(problem.labels.cells, inside)
        }
    };
    let left = cell(is_west, WEST, at.wrapping_sub(1));
    let right = cell(is_east, EAST, at + PATCH);
    let up = cells(is_north, NORTH, at.wrapping_sub(columns));
    let down = cells(is_south, SOUTH, at + columns);
    let left_edge = match tiling.back_to_left(tile.0, is_west) {
        Some(back) => problem.grid.right.ld(edge - back),
        None => u32::MAX,
    };
    let up_edges: Row<u32> = match tiling.back_to_above(tile.1, is_north) {
        Some(back) => problem.grid.down.ld_vector(edge - back),
        None => [u32::MAX; 4],
    };
    let right_edges: Row<u32> = problem.grid.right.ld_vector(edge);
    let down_edges: Row<u32> = problem.grid.down.ld_vector(edge);

    let mut ways = [Way::END; 4];
    let mut offer = |j: usize, from: L, weight: u32, next: u32| {
        // planted: route-order
        if from.step(L::weight(weight)) == here[j] {
            ways[j] = next;
        }
    };
    // The last of the neighbours, in the order of preference, comes first.
    if LAYERED {
        let layer_cells = tiling.layer_cells();
        if layer + 1 < tiling.layers {
            let from = L::load_row(problem.labels.cells, at + layer_cells);
            let vias: Row<u32> = problem.grid.via.ld_vector(edge);
            let above = place + layer_cells;
            each!(J, offer(J, from[J], vias[J], above + J as u32));
        }
        if layer > 0 {
            let from = L::load_row(problem.labels.cells, at - layer_cells);
            let vias: Row<u32> = problem.grid.via.ld_vector(edge - layer_cells);
            let below = place - layer_cells;
            each!(J, offer(J, from[J], vias[J], below + J as u32));
        }
    }
    let beyond_or = |is: bool, side: u32, next: u32| if is { Way::BEYOND + side } else { next };
    each!(J, {
        let next = beyond_or(is_south, SOUTH, place + J as u32 + columns);
        offer(J, down[J], down_edges[J], next);
    });
    let rights = [here[1], here[2], here[3], right];
    each!(J, {
        let next = beyond_or(J == 3 && is_east, EAST, place + J as u32 + 1);
        offer(J, rights[J], right_edges[J], next);
    });
    each!(J, {
        let next = beyond_or(is_north, NORTH, (place + J as u32).wrapping_sub(columns));
        offer(J, up[J], up_edges[J], next);
    });
    let lefts = [left, here[0], here[1], here[2]];
    let left_edges = [left_edge, right_edges[0], right_edges[1], right_edges[2]];
    each!(J, {
        let next = beyond_or(J == 0 && is_west, WEST, (place + J as u32).wrapping_sub(1));
        offer(J, lefts[J], left_edges[J], next);
    });
    each!(J, {
        // What is on the tree, or not reached, comes from nowhere.
        if here[J] == L::TREE || here[J] >= L::UNREACHED {
            ways[J] = Way::END;
        }
    });
    ways
}

/// Where a path goes on from a cell: to the place in the tile of the next, or one of these.
struct Way;

impl Way {
    /// This plus a side: the tile beyond that side.
    const BEYOND: u32 = 0x8000;
    /// None: the cell is on the tree.
    const END: u32 = 0xffff;
}
