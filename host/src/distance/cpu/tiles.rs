//! Tiles of the raster on all threads, each with the costs of its cells and of a rim around them.
//!
//! Work goes in phases. A phase takes all tiles with cells to relax of a cost up to a horizon, and
//! each of them relaxes its own until none of that cost is left. A tile that lowers a cell of its
//! rim sends the cost to the tile that the cell belongs to, which receives it in the next phase.
//! The horizon is the least cost to relax plus a span, which follows the work that a phase turns
//! out to have: enough for all threads, but no more than that, because a tile that runs far ahead
//! of its neighbours works with costs that are not final.
//!
//! No thread writes what another one reads, and the order of work does not change the costs
//! ([the module](crate::distance) says why).

use std::sync::Mutex;

use rayon::prelude::*;

use super::buckets::bucket_width;
use super::near::{Near, OFFSETS, bits};
use crate::distance::real::Real;
use crate::distance::search::Search;
use crate::distance::steps::Step;
use crate::error::Result;
use crate::memory::{filled_vec, par_filled_vec, push, with_room};
use crate::progress::Progress;
use crate::threads::lock;

/// The side of a tile, in cells.
const SIDE: usize = 64;
/// Buckets of cells of similar cost, up to the horizon.
const BUCKETS: usize = 256;
/// The number of relaxed cells per thread and phase that the span aims at.
const AIM: usize = 4096;
const WHAT: &str = "the tiles";

/// As [`costs`](super::costs).
pub(super) fn costs<P: Real>(search: &Search<P>, progress: &Progress<'_>) -> Result<Vec<P>> {
    crate::threads::ensure();
    let threads = rayon::current_num_threads();
    let tiles = Tiles::new(search, threads)?;
    let mut phases = Phases::new(&tiles)?;
    let cells = (search.frame.width * search.frame.height) as u64;
    let mut relaxed = 0;
    while let Some(work) = phases.run(&tiles, threads)? {
        relaxed += work as u64;
        progress.report(relaxed.min(cells), cells)?;
    }
    tiles.collect(search)
}

/// A tile's state.
struct Tile<P> {
    /// With the rim; empty until a path enters the tile.
    costs: Vec<P>,
    /// Cells to relax, some of them more than once.
    pending: Vec<u16>,
}

/// A step, as a jump in two arrays.
#[derive(Clone, Copy)]
struct Jump<P> {
    step: Step<P>,
    /// In the costs of a tile.
    local: isize,
    /// In the friction.
    global: isize,
}

struct Tiles<'a, P> {
    search: &'a Search<P>,
    /// Tiles per row.
    columns: usize,
    rows: usize,
    /// The distance between rows of a tile's costs.
    stride: usize,
    /// The steps to the 8 neighbours, unless they are among `jumps`.
    near: Option<Near<P>>,
    /// All other steps.
    jumps: Vec<Jump<P>>,
    tiles: Vec<Mutex<Tile<P>>>,
    /// By tile: cells that other tiles have lowered, and their costs.
    inboxes: Vec<Mutex<Vec<(u16, P)>>>,
    /// One per thread.
    scratch: Vec<Mutex<Scratch<P>>>,
    /// Buckets per unit of cost, at most.
    scale: P,
}

/// What a thread needs to run a tile.
struct Scratch<P> {
    buckets: Vec<Vec<u16>>,
    list: Vec<u16>,
    /// By neighbour, row by row: what is sent to it.
    outboxes: [Vec<(u16, P)>; 9],
}

/// What is left after a tile was run.
struct Outcome<P> {
    tile: u32,
    relaxed: usize,
    /// The least cost among the tile's pending cells.
    least: P,
    /// By neighbour: the least cost sent.
    sent: [P; 9],
}

fn less<P: Real>(a: P, b: P) -> P {
    if b < a { b } else { a }
}

/// The least cost among cells.
fn least_of<P: Real>(costs: &[P], cells: &[u16]) -> P {
    let costs = cells.iter().map(|&cell| costs[usize::from(cell)]);
    costs.fold(P::INFINITY, less)
}

/// A tile that is being run.
struct Front<'s, P> {
    tiles: &'s Tiles<'s, P>,
    /// The place of the tile's first cell in the friction.
    origin: usize,
    horizon: P,
    /// The least cost to relax, where the first bucket begins.
    least: P,
    /// Buckets per unit of cost.
    scale: P,
    costs: &'s mut [P],
    /// Cells that cost more than the horizon.
    pending: Vec<u16>,
    buckets: &'s mut [Vec<u16>],
    outboxes: &'s mut [Vec<(u16, P)>; 9],
}

impl<P: Real> Front<'_, P> {
    #[inline(always)]
    fn bucket(&self, cost: P) -> usize {
        let bucket = ((cost - self.least) * self.scale).to_bucket();
        (bucket as usize).min(BUCKETS - 1)
    }

    /// Adds a cell of the tile to those to relax.
    #[inline(always)]
    fn add(&mut self, cell: u16, cost: P) -> Result<()> {
        if cost <= self.horizon {
            let bucket = self.bucket(cost);
            push(&mut self.buckets[bucket], cell, WHAT)
        } else {
            push(&mut self.pending, cell, WHAT)
        }
    }

    /// Lowers the costs of a cell's neighbours.
    #[inline(always)]
    fn relax(&mut self, cell: u16, cost: P) -> Result<()> {
        let tiles = self.tiles;
        let search = tiles.search;
        let (friction, margin) = (&search.friction[..], search.frame.margin);
        let cell = usize::from(cell);
        let (x, y) = (cell % tiles.stride, cell / tiles.stride);
        let place = self.origin + (y - margin) * search.frame.stride + x - margin;
        if let Some(near) = &tiles.near {
            let (reached, lowered) = near.lowered(
                cost,
                (friction, place, search.frame.stride),
                (self.costs, cell, tiles.stride),
            );
            for i in bits(lowered) {
                self.lower((x, y), OFFSETS[i], reached[i])?;
            }
        }
        let own = friction[place];
        for jump in &tiles.jumps {
            let at = |offset| friction[place.wrapping_add_signed(search.frame.jump(offset))];
            let to = friction[place.wrapping_add_signed(jump.global)];
            let reached = cost + jump.step.cost(own, to, at);
            if reached < self.costs[cell.wrapping_add_signed(jump.local)] {
                self.lower((x, y), jump.step.offset, reached)?;
            }
        }
        Ok(())
    }

    /// Lowers the cost of the cell to which a step leads.
    #[inline(always)]
    fn lower(
        &mut self,
        (x, y): (usize, usize),
        (right, down): (i32, i32),
        reached: P,
    ) -> Result<()> {
        let tiles = self.tiles;
        if reached > tiles.search.frame.max_cost {
            return Ok(());
        }
        let (x, y) = (
            x.wrapping_add_signed(right as isize),
            y.wrapping_add_signed(down as isize),
        );
        let next = y * tiles.stride + x;
        self.costs[next] = reached;
        let margin = tiles.search.frame.margin;
        let (x, y) = (x.wrapping_sub(margin), y.wrapping_sub(margin));
        if x < SIDE && y < SIDE {
            return self.add(next as u16, reached);
        }
        // A neighbour's: the cell in that one's coordinates.
        let (dx, x) = wrap(x);
        let (dy, y) = wrap(y);
        let message = (tiles.local(x, y) as u16, reached);
        push(&mut self.outboxes[dy * 3 + dx], message, WHAT)
    }
}

impl<'a, P: Real> Tiles<'a, P> {
    fn new(search: &'a Search<P>, threads: usize) -> Result<Self> {
        let (columns, rows) = (
            search.frame.width.div_ceil(SIDE),
            search.frame.height.div_ceil(SIDE),
        );
        let stride = SIDE + 2 * search.frame.margin;
        let near = Near::new(&search.frame.steps);
        let others = search.frame.steps.iter();
        let others = others.filter(|step| near.is_none() || step.passes.is_some());
        let jumps = others.map(|&step| Jump {
            step,
            local: step.offset.1 as isize * stride as isize + step.offset.0 as isize,
            global: search.frame.jump(step.offset),
        });
        let (mut tiles, mut inboxes) = (Vec::new(), Vec::new());
        crate::memory::reserve(&mut tiles, columns * rows, WHAT)?;
        crate::memory::reserve(&mut inboxes, columns * rows, WHAT)?;
        tiles.resize_with(columns * rows, || {
            Mutex::new(Tile {
                costs: Vec::new(),
                pending: Vec::new(),
            })
        });
        inboxes.resize_with(columns * rows, || Mutex::new(Vec::new()));
        let scratch = (0..threads).map(|_| {
            Mutex::new(Scratch {
                buckets: vec![Vec::new(); BUCKETS],
                list: Vec::new(),
                outboxes: Default::default(),
            })
        });
        Ok(Self {
            search,
            columns,
            rows,
            stride,
            near,
            jumps: jumps.collect(),
            tiles,
            inboxes,
            scratch: scratch.collect(),
            scale: P::from_f64((1.0 / bucket_width(search)).min(f64::from(f32::MAX))),
        })
    }

    /// The place of a tile's cell in its costs.
    fn local(&self, x: usize, y: usize) -> usize {
        (y + self.search.frame.margin) * self.stride + x + self.search.frame.margin
    }

    /// Relaxes the tile's cells until all that are left cost more than `horizon`.
    fn run(&self, tile: usize, horizon: P) -> Result<Outcome<P>> {
        let thread = rayon::current_thread_index().unwrap_or(0);
        let mut scratch = lock(&self.scratch[thread % self.scratch.len()]);
        let Scratch {
            buckets,
            list,
            outboxes,
        } = &mut *scratch;
        let mut state = lock(&self.tiles[tile]);
        self.receive(tile, &mut state)?;
        let Tile { costs, pending } = &mut *state;

        let least = least_of(costs, pending);
        // The buckets reach up to the horizon.
        let fit = BUCKETS as f64 / (horizon.to_f64() - least.to_f64()).max(f64::MIN_POSITIVE);
        let (column, row) = (tile % self.columns, tile / self.columns);
        let mut front = Front {
            tiles: self,
            origin: self.search.frame.place(column * SIDE, row * SIDE),
            horizon,
            least,
            scale: less(self.scale, P::from_f64(fit.min(f64::from(f32::MAX)))),
            costs,
            pending: Vec::new(),
            buckets,
            outboxes,
        };
        for cell in pending.drain(..) {
            front.add(cell, front.costs[usize::from(cell)])?;
        }
        let mut relaxed = 0;
        for now in 0..BUCKETS {
            while !front.buckets[now].is_empty() {
                std::mem::swap(&mut front.buckets[now], list);
                for &cell in &*list {
                    let cost = front.costs[usize::from(cell)];
                    if front.bucket(cost) < now {
                        continue; // It was relaxed at that cost.
                    }
                    relaxed += 1;
                    front.relax(cell, cost)?;
                }
                list.clear();
            }
        }
        let left = front.pending;
        let least = least_of(costs, &left);
        *pending = left;
        drop(state);
        let sent = self.send(tile, outboxes)?;
        Ok(Outcome {
            tile: tile as u32,
            relaxed,
            least,
            sent,
        })
    }

    /// Takes the costs that other tiles have sent.
    fn receive(&self, tile: usize, state: &mut Tile<P>) -> Result<()> {
        let mut inbox = lock(&self.inboxes[tile]);
        if state.costs.is_empty() {
            let len = self.stride * self.stride;
            state.costs = filled_vec(P::INFINITY, len, "the costs")?;
        }
        for &(cell, cost) in &*inbox {
            let own = &mut state.costs[usize::from(cell)];
            if cost < *own {
                *own = cost;
                push(&mut state.pending, cell, WHAT)?;
            }
        }
        inbox.clear();
        Ok(())
    }

    /// Moves the outboxes to the neighbours' inboxes, and returns the least cost sent to each.
    fn send(&self, tile: usize, outboxes: &mut [Vec<(u16, P)>; 9]) -> Result<[P; 9]> {
        let mut sent = [P::INFINITY; 9];
        for (to, outbox) in outboxes.iter_mut().enumerate() {
            if outbox.is_empty() {
                continue;
            }
            let neighbour = self.neighbour(tile, to);
            let mut inbox = lock(&self.inboxes[neighbour]);
            crate::memory::reserve(&mut inbox, outbox.len(), WHAT)?;
            for &message in &*outbox {
                sent[to] = less(sent[to], message.1);
                inbox.push(message);
            }
            outbox.clear();
        }
        Ok(sent)
    }

    /// The tile at a place among the nine around a tile. Only tiles of the raster receive costs,
    /// since all around it are barriers.
    fn neighbour(&self, tile: usize, to: usize) -> usize {
        (tile + (to / 3) * self.columns + to % 3) - self.columns - 1
    }

    /// The costs with the margin of the search.
    fn collect(self, search: &Search<P>) -> Result<Vec<P>> {
        let mut costs = par_filled_vec(P::INFINITY, search.friction.len(), "the costs")?;
        let bands = costs[search.frame.margin * search.frame.stride..]
            .par_chunks_mut(SIDE * search.frame.stride);
        bands.take(self.rows).enumerate().for_each(|(row, band)| {
            for column in 0..self.columns {
                let tile = lock(&self.tiles[row * self.columns + column]);
                if tile.costs.is_empty() {
                    continue;
                }
                let width = SIDE.min(search.frame.width - column * SIDE);
                let height = SIDE.min(search.frame.height - row * SIDE);
                for y in 0..height {
                    let to =
                        &mut band[y * search.frame.stride + search.frame.margin + column * SIDE..];
                    let from = &tile.costs[self.local(0, y)..];
                    to[..width].copy_from_slice(&from[..width]);
                }
            }
        });
        Ok(costs)
    }
}

/// Which of three tiles in a row a coordinate is in, seen from the middle one, and where in it.
fn wrap(coordinate: usize) -> (usize, usize) {
    let shifted = coordinate.wrapping_add(SIDE);
    (shifted / SIDE, shifted % SIDE)
}

/// The tiles with cells to relax.
struct Phases<P> {
    /// By tile: the least cost to relax, or infinity.
    least: Vec<P>,
    /// Those whose least cost is finite.
    active: Vec<u32>,
    span: f64,
    least_span: f64,
    now: Vec<u32>,
}

impl<P: Real> Phases<P> {
    fn new(tiles: &Tiles<'_, P>) -> Result<Self> {
        let count = tiles.tiles.len();
        let span = 8.0 * bucket_width(tiles.search);
        let mut phases = Self {
            least: filled_vec(P::INFINITY, count, WHAT)?,
            active: with_room(count, WHAT)?,
            span,
            least_span: span,
            now: with_room(count, WHAT)?,
        };
        let search = tiles.search;
        for start in &search.starts {
            let (x, y) = search.frame.cell(start.place as usize);
            let tile = y / SIDE * tiles.columns + x / SIDE;
            let cell = tiles.local(x % SIDE, y % SIDE) as u16;
            push(&mut lock(&tiles.inboxes[tile]), (cell, start.cost), WHAT)?;
            phases.activate(tile, start.cost);
        }
        Ok(phases)
    }

    fn activate(&mut self, tile: usize, cost: P) {
        if !self.least[tile].is_finite() && cost.is_finite() {
            self.active.push(tile as u32);
        }
        self.least[tile] = less(self.least[tile], cost);
    }

    /// Runs the tiles up to the next horizon; `None` if there are no more. Returns the number of
    /// relaxed cells.
    fn run(&mut self, tiles: &Tiles<'_, P>, threads: usize) -> Result<Option<usize>> {
        let costs = self.active.iter().map(|&tile| self.least[tile as usize]);
        let least = costs.fold(P::INFINITY, less);
        if !least.is_finite() {
            return Ok(None);
        }
        let horizon = P::from_f64(least.to_f64() + self.span);
        self.now.clear();
        let (all, now) = (&mut self.least, &mut self.now);
        self.active.retain(|&tile| {
            let least = &mut all[tile as usize];
            let runs = *least <= horizon;
            if runs {
                now.push(tile);
                *least = P::INFINITY;
            }
            !runs
        });
        let run = |&tile: &u32| tiles.run(tile as usize, horizon);
        let outcomes: Result<Vec<_>> = if self.now.len() < 2 || threads < 2 {
            self.now.iter().map(run).collect()
        } else {
            self.now.par_iter().map(run).collect()
        };
        let mut relaxed = 0;
        for outcome in outcomes? {
            let tile = outcome.tile as usize;
            relaxed += outcome.relaxed;
            self.activate(tile, outcome.least);
            for (to, &cost) in outcome.sent.iter().enumerate() {
                if cost.is_finite() {
                    self.activate(tiles.neighbour(tile, to), cost);
                }
            }
        }
        if relaxed < AIM * threads {
            self.span = (self.span * 2.0).min(f64::MAX / 4.0);
        } else if relaxed > 2 * AIM * threads {
            self.span = (self.span / 2.0).max(self.least_span);
        }
        Ok(Some(relaxed))
    }
}
