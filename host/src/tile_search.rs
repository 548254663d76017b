//! Least costs from given cells to every cell of a grid, in tiles on all threads, each tile with
//! the costs of its cells and of a rim around them. Grids are rasters of friction
//! (`distance/cpu/tiles.rs`) and grids of weighted edges (`route/cpu/tiles.rs`).
//!
//! Work goes in phases. A phase takes all tiles with cells to relax of a cost up to a horizon, and
//! each of them relaxes its own until none of that cost is left. A tile that lowers a cell of its
//! rim sends the cost to the tile that the cell belongs to, which receives it when it next runs.
//! The horizon is the least cost to relax plus a span, which follows the work that a phase turns
//! out to have: enough for all threads, but no more than that, because a tile that runs far ahead
//! of its neighbours works with costs that are not final. Nor does it grow while tiles wait for
//! each other's costs within the horizon.
//!
//! Each tile has a thread that runs it in every phase, so that the tile stays in the caches of one
//! core. Only threads whose own tiles are done run tiles of other threads.
//!
//! No thread writes what another one reads, and the order of work does not change the costs
//! ([the module of distances](crate::distance) says why).

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::distance::real::Real;
use crate::error::Result;
use crate::memory::{filled_vec, par_collect, push, reserve, with_room};
use crate::progress::Progress;
use crate::threads::lock;

/// Buckets of cells of similar cost, up to the horizon.
const BUCKETS: usize = 256;
/// The number of relaxed cells per thread and phase that the span aims at.
const AIM: usize = 32 << 10;
/// How many cells ahead their surroundings are loaded.
const AHEAD: usize = 8;
const WHAT: &str = "the tiles";

/// A cost in a search by tiles; sums with it never fall.
pub(crate) trait Cost: Copy + PartialOrd + Send + Sync + 'static {
    /// No cost of a path is this large.
    const UNREACHED: Self;

    /// How costs are divided into buckets.
    type Scale: Copy;

    /// Buckets about `width` wide, or wider if [`BUCKETS`] of them would not reach from `least` to
    /// `horizon`.
    fn scale(width: f64, least: Self, horizon: Self) -> Self::Scale;

    /// The bucket of a cost that is `least` or more. It does not fall as the cost rises.
    fn bucket(self, least: Self, scale: Self::Scale) -> usize;

    /// This cost or more: the sum with `span`.
    fn beyond(self, span: f64) -> Self;
}

impl<P: Real> Cost for P {
    const UNREACHED: Self = P::INFINITY;

    type Scale = Self;

    fn scale(width: f64, least: Self, horizon: Self) -> Self {
        let fit = BUCKETS as f64 / (horizon.to_f64() - least.to_f64()).max(f64::MIN_POSITIVE);
        P::from_f64((1.0 / width).min(fit).min(f64::from(f32::MAX)))
    }

    #[inline(always)]
    fn bucket(self, least: Self, scale: Self) -> usize {
        ((self - least) * scale).to_bucket() as usize
    }

    fn beyond(self, span: f64) -> Self {
        P::from_f64(self.to_f64() + span)
    }
}

macro_rules! whole {
    ($($type:ty)*) => {$(
        impl Cost for $type {
            const UNREACHED: Self = Self::MAX;

            /// The binary logarithm of a bucket's width.
            type Scale = u32;

            fn scale(width: f64, least: Self, horizon: Self) -> u32 {
                // Nothing is to relax if all that came to the tile is above the horizon.
                let fit = horizon.saturating_sub(least) / BUCKETS as Self;
                // As a power of two: at most `width`, but more than `fit`.
                let narrowest = Self::BITS - fit.leading_zeros();
                (width as Self).checked_ilog2().unwrap_or(0).max(narrowest)
            }

            #[inline(always)]
            fn bucket(self, least: Self, scale: u32) -> usize {
                ((self - least) >> scale) as usize
            }

            fn beyond(self, span: f64) -> Self {
                // The conversion saturates.
                self.saturating_add(span as Self)
            }
        }
    )*};
}

whole! { u32 u64 }

/// Cells in rows and layers, and steps between them.
pub(crate) trait Grid: Sync {
    type Cost: Cost;

    /// The part of the grid that a thread has copied for the tile that it runs.
    type Part: Default + Send;

    /// The side of a tile, in cells, which is a power of two. A tile has all layers: with its rim,
    /// they have at most 2¹⁶ cells.
    const SIDE: usize;

    /// How far a step leads within a layer, in rows and columns.
    const REACH: usize;

    /// Columns, rows and layers.
    fn size(&self) -> [usize; 3];

    /// The width of buckets that suits the steps: a part of what one usually costs.
    fn bucket_width(&self) -> f64;

    /// Writes the costs that the cells of a tile have before the search, if it starts from earlier
    /// costs. `origin` is the column and the row of the tile's first cell; `costs` are as in
    /// [`Front`].
    fn begin(&self, _origin: (usize, usize), _costs: &mut [Self::Cost]) {}

    /// Copies the part of the grid that [`relax`](Self::relax) reads. Called before each run of a
    /// tile; `part` has what was copied for another one.
    fn load(&self, _origin: (usize, usize), _part: &mut Self::Part) -> Result<()> {
        Ok(())
    }

    /// Loads what [`relax`](Self::relax) is going to read, where that saves time.
    #[inline(always)]
    fn prefetch(&self, _cell: TileCell, _front: &Front<'_, Self>) {}

    /// Passes a cell's cost on to its neighbours, by [`Front::lower`].
    fn relax(&self, cell: TileCell, cost: Self::Cost, front: &mut Front<'_, Self>) -> Result<()>;
}

/// A cell of a tile.
#[derive(Clone, Copy)]
pub(crate) struct TileCell {
    /// Its index among the costs of the tile.
    pub(crate) index: usize,
    /// Its column and row in the tile with the rim.
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) layer: usize,
}

impl TileCell {
    #[inline(always)]
    fn new<G: Grid>(index: u16) -> Self {
        let index = usize::from(index);
        let (x, line) = (index % stride::<G>(), index / stride::<G>());
        Self {
            index,
            x,
            y: line % stride::<G>(),
            layer: line / stride::<G>(),
        }
    }
}

/// The distance between rows of a tile's costs.
pub(crate) const fn stride<G: Grid + ?Sized>() -> usize {
    G::SIDE + 2 * G::REACH
}

/// The index of a tile's cell among its costs; columns and rows are without the rim.
const fn local<G: Grid + ?Sized>(x: usize, y: usize, layer: usize) -> usize {
    (layer * stride::<G>() + y + G::REACH) * stride::<G>() + x + G::REACH
}

/// The costs of all cells. `starts` are columns, rows, layers and costs of the cells where paths
/// start.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn costs<'a, G: Grid>(
    grid: &'a G,
    starts: impl Iterator<Item = ([usize; 3], G::Cost)>,
    progress: &Progress<'_>,
) -> Result<Tiles<'a, G>> {
    crate::threads::ensure();
    let threads = rayon::current_num_threads();
    let tiles = Tiles::new(grid, threads)?;
    let mut phases = Phases::new(&tiles)?;
    for ([x, y, layer], cost) in starts {
        let tile = y / G::SIDE * tiles.columns + x / G::SIDE;
        let cell = local::<G>(x % G::SIDE, y % G::SIDE, layer) as u16;
        push(&mut lock(&tiles.inboxes[tile]), (cell, cost), WHAT)?;
        phases.activate(tile, cost);
    }
    let cells = grid.size().iter().map(|&side| side as u64).product();
    let mut relaxed = 0;
    // Once in the pool, a phase begins without waiting for one of its threads.
    rayon::scope(|_| -> Result<()> {
        while let Some(work) = phases.run(&tiles)? {
            relaxed += work as u64;
            progress.report(relaxed.min(cells), cells)?;
        }
        Ok(())
    })?;
    Ok(tiles)
}

/// What is sent to a tile: cells of it, and their costs.
type Messages<C> = Vec<(u16, C)>;

/// A tile's state.
struct Tile<C> {
    /// With the rim; empty until a path enters the tile.
    costs: Vec<C>,
    /// Cells to relax, some of them more than once.
    pending: Vec<u16>,
}

/// A grid's tiles.
pub(crate) struct Tiles<'a, G: Grid> {
    grid: &'a G,
    /// Tiles per row.
    columns: usize,
    rows: usize,
    tiles: Vec<Mutex<Tile<G::Cost>>>,
    /// By tile: cells that other tiles have lowered, and their costs.
    inboxes: Vec<Mutex<Messages<G::Cost>>>,
    /// One per thread.
    scratch: Vec<Mutex<Scratch<G>>>,
    /// The least width of a bucket.
    width: f64,
}

/// What a thread needs to run a tile.
struct Scratch<G: Grid> {
    part: G::Part,
    buckets: Vec<Vec<u16>>,
    list: Vec<u16>,
    /// Empty: what a tile's pending cells are moved to.
    pending: Vec<u16>,
    /// By neighbour, row by row: what is sent to it.
    outboxes: [Messages<G::Cost>; 9],
}

/// What is left after a tile was run.
struct Outcome<C> {
    tile: u32,
    relaxed: usize,
    /// The least cost among the tile's pending cells.
    least: C,
    /// By neighbour: the least cost sent.
    sent: [C; 9],
}

fn less<C: Cost>(a: C, b: C) -> C {
    if b < a { b } else { a }
}

/// The least cost among cells.
fn least_of<C: Cost>(costs: &[C], cells: &[u16]) -> C {
    let costs = cells.iter().map(|&cell| costs[usize::from(cell)]);
    costs.fold(C::UNREACHED, less)
}

/// A tile that is being run.
pub(crate) struct Front<'s, G: Grid + ?Sized> {
    /// The column and the row of the tile's first cell.
    pub(crate) origin: (usize, usize),
    /// What [`Grid::load`] has copied.
    pub(crate) part: &'s G::Part,
    /// With the rim, layer by layer, in rows of [`stride`] cells.
    pub(crate) costs: &'s mut [G::Cost],
    horizon: G::Cost,
    /// The least cost to relax, where the first bucket begins.
    least: G::Cost,
    scale: <G::Cost as Cost>::Scale,
    /// Cells that cost more than the horizon.
    pending: Vec<u16>,
    buckets: &'s mut [Vec<u16>],
    outboxes: &'s mut [Messages<G::Cost>; 9],
}

impl<G: Grid + ?Sized> Front<'_, G> {
    #[inline(always)]
    fn bucket(&self, cost: G::Cost) -> usize {
        cost.bucket(self.least, self.scale).min(BUCKETS - 1)
    }

    /// Adds a cell of the tile to those to relax.
    #[inline(always)]
    fn add(&mut self, cell: u16, cost: G::Cost) -> Result<()> {
        if cost <= self.horizon {
            let bucket = self.bucket(cost);
            push(&mut self.buckets[bucket], cell, WHAT)
        } else {
            push(&mut self.pending, cell, WHAT)
        }
    }

    /// Lowers the cost of a cell's neighbour, `right` columns to the right and `down` rows down on
    /// layer `layer`, to `reached`, which is less.
    #[inline(always)]
    pub(crate) fn lower(
        &mut self,
        from: TileCell,
        (right, down): (i32, i32),
        layer: usize,
        reached: G::Cost,
    ) -> Result<()> {
        let (x, y) = (
            from.x.wrapping_add_signed(right as isize),
            from.y.wrapping_add_signed(down as isize),
        );
        let next = (layer * stride::<G>() + y) * stride::<G>() + x;
        self.costs[next] = reached;
        let (x, y) = (x.wrapping_sub(G::REACH), y.wrapping_sub(G::REACH));
        if x < G::SIDE && y < G::SIDE {
            return self.add(next as u16, reached);
        }
        // A neighbour's: the cell in that one's coordinates.
        let (dx, x) = wrap::<G>(x);
        let (dy, y) = wrap::<G>(y);
        let message = (local::<G>(x, y, layer) as u16, reached);
        push(&mut self.outboxes[dy * 3 + dx], message, WHAT)
    }
}

impl<'a, G: Grid> Tiles<'a, G> {
    fn new(grid: &'a G, threads: usize) -> Result<Self> {
        let [width, height, layers] = grid.size();
        assert!(layers * stride::<G>() * stride::<G>() <= 1 << 16);
        let (columns, rows) = (width.div_ceil(G::SIDE), height.div_ceil(G::SIDE));
        let (mut tiles, mut inboxes) = (Vec::new(), Vec::new());
        reserve(&mut tiles, columns * rows, WHAT)?;
        reserve(&mut inboxes, columns * rows, WHAT)?;
        tiles.resize_with(columns * rows, || {
            Mutex::new(Tile {
                costs: Vec::new(),
                pending: Vec::new(),
            })
        });
        inboxes.resize_with(columns * rows, || Mutex::new(Vec::new()));
        let scratch = (0..threads).map(|_| {
            Mutex::new(Scratch {
                part: G::Part::default(),
                buckets: vec![Vec::new(); BUCKETS],
                list: Vec::new(),
                pending: Vec::new(),
                outboxes: Default::default(),
            })
        });
        Ok(Self {
            grid,
            columns,
            rows,
            tiles,
            inboxes,
            scratch: scratch.collect(),
            width: grid.bucket_width(),
        })
    }

    /// The column and the row of a tile's first cell.
    fn origin(&self, tile: usize) -> (usize, usize) {
        let (column, row) = (tile % self.columns, tile / self.columns);
        (column * G::SIDE, row * G::SIDE)
    }

    /// Relaxes the tile's cells until all that are left cost more than `horizon`.
    fn run(
        &self,
        tile: usize,
        horizon: G::Cost,
        scratch: &mut Scratch<G>,
    ) -> Result<Outcome<G::Cost>> {
        let Scratch {
            part,
            buckets,
            list,
            pending: kept,
            outboxes,
        } = scratch;
        let mut state = lock(&self.tiles[tile]);
        self.receive(tile, &mut state)?;
        let Tile { costs, pending } = &mut *state;

        self.grid.load(self.origin(tile), part)?;
        let least = least_of(costs, pending);
        let mut front = Front::<G> {
            origin: self.origin(tile),
            part,
            costs,
            horizon,
            least,
            scale: G::Cost::scale(self.width, least, horizon),
            pending: std::mem::take(kept),
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
                for (i, &cell) in list.iter().enumerate() {
                    if let Some(&next) = list.get(i + AHEAD) {
                        self.grid.prefetch(TileCell::new::<G>(next), &front);
                    }
                    let cost = front.costs[usize::from(cell)];
                    if front.bucket(cost) < now {
                        continue; // It was relaxed at that cost.
                    }
                    relaxed += 1;
                    self.grid
                        .relax(TileCell::new::<G>(cell), cost, &mut front)?;
                }
                list.clear();
            }
        }
        // planted: phases-pending
        *kept = std::mem::replace(pending, front.pending);
        let least = least_of(costs, pending);
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
    fn receive(&self, tile: usize, state: &mut Tile<G::Cost>) -> Result<()> {
        let mut inbox = lock(&self.inboxes[tile]);
        if state.costs.is_empty() {
            let len = self.grid.size()[2] * stride::<G>() * stride::<G>();
            state.costs = filled_vec(G::Cost::UNREACHED, len, "the costs")?;
            self.grid.begin(self.origin(tile), &mut state.costs);
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
    fn send(&self, tile: usize, outboxes: &mut [Messages<G::Cost>; 9]) -> Result<[G::Cost; 9]> {
        let mut sent = [G::Cost::UNREACHED; 9];
        for (to, outbox) in outboxes.iter_mut().enumerate() {
            if outbox.is_empty() {
                continue;
            }
            let neighbour = self.neighbour(tile, to);
            let mut inbox = lock(&self.inboxes[neighbour]);
            reserve(&mut inbox, outbox.len(), WHAT)?;
            for &message in &*outbox {
                sent[to] = less(sent[to], message.1);
                inbox.push(message);
            }
            outbox.clear();
        }
        Ok(sent)
    }

    /// The tile at a place among the nine around a tile. Only tiles of the grid receive costs,
    /// since no step leads out of it.
    fn neighbour(&self, tile: usize, to: usize) -> usize {
        (tile + (to / 3) * self.columns + to % 3) - self.columns - 1
    }

    /// Writes the costs to an array, row by row and layer by layer, each row `distance` values
    /// after the one before it. Cells of tiles that no path enters are left as they are.
    pub(crate) fn write<T: Send>(
        self,
        to: &mut [T],
        distance: usize,
        convert: impl Fn(G::Cost) -> T + Sync,
    ) {
        let [width, height, layers] = self.grid.size();
        for layer in 0..layers {
            let bands = to[layer * height * distance..].par_chunks_mut(G::SIDE * distance);
            bands.take(self.rows).enumerate().for_each(|(row, band)| {
                for column in 0..self.columns {
                    let tile = lock(&self.tiles[row * self.columns + column]);
                    if tile.costs.is_empty() {
                        continue;
                    }
                    let x = column * G::SIDE;
                    for y in 0..G::SIDE.min(height - row * G::SIDE) {
                        let to = &mut band[y * distance + x..][..G::SIDE.min(width - x)];
                        let from = &tile.costs[local::<G>(0, y, layer)..];
                        for (to, &from) in to.iter_mut().zip(from) {
                            *to = convert(from);
                        }
                    }
                }
            });
        }
    }
}

/// Which of three tiles in a row a coordinate is in, seen from the middle one, and where in it.
fn wrap<G: Grid + ?Sized>(coordinate: usize) -> (usize, usize) {
    let shifted = coordinate.wrapping_add(G::SIDE);
    (shifted / G::SIDE, shifted % G::SIDE)
}

/// The tiles that a thread runs in a phase.
#[derive(Default)]
struct Queue {
    tiles: Vec<u32>,
    /// How many of them have been taken, or more.
    taken: AtomicUsize,
}

/// The tiles with cells to relax.
struct Phases<C> {
    /// By tile: the least cost to relax, or [`Cost::UNREACHED`].
    least: Vec<C>,
    /// Those with such cells.
    active: Vec<u32>,
    span: f64,
    least_span: f64,
    /// Those that run in this phase.
    now: Vec<u32>,
    /// The same by thread.
    queues: Vec<Queue>,
}

impl<C: Cost> Phases<C> {
    fn new<G: Grid<Cost = C>>(tiles: &Tiles<'_, G>) -> Result<Self> {
        let count = tiles.tiles.len();
        let span = 8.0 * tiles.width;
        Ok(Self {
            least: filled_vec(C::UNREACHED, count, WHAT)?,
            active: with_room(count, WHAT)?,
            span,
            least_span: span,
            now: with_room(count, WHAT)?,
            queues: tiles.scratch.iter().map(|_| Queue::default()).collect(),
        })
    }

    fn activate(&mut self, tile: usize, cost: C) {
        if self.least[tile] == C::UNREACHED && cost != C::UNREACHED {
            self.active.push(tile as u32);
        }
        self.least[tile] = less(self.least[tile], cost);
    }

    /// Runs the tiles up to the next horizon; `None` if there are no more. Returns the number of
    /// relaxed cells.
    fn run<G: Grid<Cost = C>>(&mut self, tiles: &Tiles<'_, G>) -> Result<Option<usize>> {
        let costs = self.active.iter().map(|&tile| self.least[tile as usize]);
        let least = costs.fold(C::UNREACHED, less);
        if least == C::UNREACHED {
            return Ok(None);
        }
        let horizon = least.beyond(self.span);
        self.take_up_to(horizon);
        self.fill_queues(tiles)?;
        let threads = self.queues.len();
        let drain = |_| drain(&self.queues, tiles, horizon);
        let outcomes = match threads.min(self.now.len()) {
            1 => vec![drain(0)],
            shares => par_collect((0..shares).into_par_iter().with_max_len(1).map(drain), WHAT)?,
        };
        let mut relaxed = 0;
        for outcomes in outcomes {
            for outcome in outcomes? {
                let tile = outcome.tile as usize;
                relaxed += outcome.relaxed;
                self.activate(tile, outcome.least);
                for (to, &cost) in outcome.sent.iter().enumerate() {
                    if cost != C::UNREACHED {
                        self.activate(tiles.neighbour(tile, to), cost);
                    }
                }
            }
        }
        // In a passage, a phase has little work however far it may go, because tile waits for tile.
        // Those that wait have costs up to the horizon already: a wider span would not help them.
        let least = self.active.iter().map(|&tile| self.least[tile as usize]);
        let waiting = least.filter(|&least| least <= horizon).count();
        if relaxed < AIM * threads && 2 * waiting < self.now.len().max(2) {
            self.span = (self.span * 2.0).min(f64::MAX / 4.0);
        } else if relaxed > 2 * AIM * threads {
            self.span = (self.span / 2.0).max(self.least_span);
        }
        Ok(Some(relaxed))
    }

    /// Moves the active tiles with costs up to the horizon to those that run now.
    fn take_up_to(&mut self, horizon: C) {
        self.now.clear();
        let (all, now) = (&mut self.least, &mut self.now);
        self.active.retain(|&tile| {
            let least = &mut all[tile as usize];
            let runs = *least <= horizon;
            if runs {
                now.push(tile);
                *least = C::UNREACHED;
            }
            !runs
        });
    }

    /// Gives the tiles that run now to their threads. Fronts cross rows, columns and diagonals, so
    /// that neighbours there belong to different threads.
    fn fill_queues<G: Grid<Cost = C>>(&mut self, tiles: &Tiles<'_, G>) -> Result<()> {
        let threads = self.queues.len();
        for queue in &mut self.queues {
            queue.tiles.clear();
            // planted: phases-taken
            queue.taken.store(0, Ordering::Relaxed);
        }
        for &tile in &self.now {
            let (column, row) = (tile as usize % tiles.columns, tile as usize / tiles.columns);
            push(
                &mut self.queues[(column + 3 * row) % threads].tiles,
                tile,
                WHAT,
            )?;
        }
        Ok(())
    }
}

/// Runs the tiles of this thread, and then those that are left of other threads'.
fn drain<G: Grid>(
    queues: &[Queue],
    tiles: &Tiles<'_, G>,
    horizon: G::Cost,
) -> Result<Vec<Outcome<G::Cost>>> {
    let own = rayon::current_thread_index().unwrap_or(0) % queues.len();
    let mut scratch = lock(&tiles.scratch[own]);
    let mut outcomes = Vec::new();
    for queue in queues[own..].iter().chain(&queues[..own]) {
        // Tiles were queued before the threads began.
        while let Some(&tile) = queue.tiles.get(queue.taken.fetch_add(1, Ordering::Relaxed)) {
            let outcome = tiles.run(tile as usize, horizon, &mut scratch)?;
            push(&mut outcomes, outcome, WHAT)?;
        }
    }
    Ok(outcomes)
}
