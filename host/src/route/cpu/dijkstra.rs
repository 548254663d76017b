//! Distances and tree at once, on one core: Dijkstra's search with Dial's buckets (1969), continued
//! from every new path.
//!
//! Labels are kept from pin to pin. When the nearest pin's label is final, its path goes back into
//! the queue with label 0. The cells that it brings nearer are searched again; the rest wait in
//! their buckets. A net of any number of pins costs about two searches. The pins' cells that the
//! search has reached wait in a heap, so the nearest pin is found without looking at the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cost::Cost;
use super::retrace::{self, UNREACHED};
use crate::memory::{collect, prefetch, push, reserve, zeroed_vec};
use crate::progress::Progress;
use crate::route::cell_bits::CellBits;
use crate::route::grid::by_cell;
use crate::route::grid::{BLOCKED, RoutingGrid};
use crate::route::net_by_net::{Joined, PINS, PinCells};
use crate::{Error, Result};

/// The most buckets that the heaviest edge spans at first.
const SPAN: u32 = 256;
/// How many cells ahead their surroundings are loaded. Cells of a bucket are far from each other.
pub(super) const AHEAD: usize = 8;
/// Name used in out-of-memory errors.
const QUEUE: &str = "the cells of a search";
/// The most buckets: if costs need more, buckets become twice as wide.
const MAX_BUCKETS: usize = 1 << 18;

/// Joins the pins of a net.
pub(super) fn connect(
    grid: &RoutingGrid,
    pins: &PinCells,
    progress: &Progress<'_>,
) -> Result<Joined> {
    // Half the memory takes half the time; if costs are too large, search again with twice the
    // bits.
    if let Some(joined) = Search::<u32>::new(grid)?.connect(pins, progress)? {
        return Ok(joined);
    }
    let joined = Search::<u64>::new(grid)?.connect(pins, progress)?;
    Ok(joined.unwrap_or_default())
}

/// The cost of the cheapest path from `sources` to each cell; [`UNREACHED`] if there is none.
pub(super) fn distances(grid: &RoutingGrid, sources: &[u32]) -> Result<Vec<u64>> {
    if let Some(distances) = Search::<u32>::new(grid)?.distances(sources)? {
        return Ok(distances);
    }
    let distances = Search::<u64>::new(grid)?.distances(sources)?;
    Ok(distances.unwrap_or_default())
}

/// A cell: its label, and its edges to the right and down. Adjacent in memory, because they are
/// used together.
#[derive(Clone, Copy)]
struct CellState<C> {
    label: C,
    right: u32,
    down: u32,
}

/// The state of a search.
struct Search<'a, C> {
    grid: &'a RoutingGrid,
    /// By cell; before the first and after the last there are [`margin`](Self::margin) cells
    /// without edges.
    nodes: Vec<CellState<C>>,
    /// Added to a cell's index to give its place in `nodes`.
    margin: usize,
    queue: Queue,
    /// Whether a path was left out because its cost does not fit a label.
    too_large: bool,
}

impl<'a, C: Cost> Search<'a, C> {
    fn new(grid: &'a RoutingGrid) -> Result<Self> {
        let margin = grid.width() as usize;
        let mut nodes = Vec::new();
        reserve(
            &mut nodes,
            grid.cell_count() as usize + 2 * margin,
            "the nodes of the search",
        )?;
        let none = CellState {
            label: C::MAX,
            right: BLOCKED,
            down: BLOCKED,
        };
        nodes.resize(margin, none);
        let mut heaviest = 0;
        nodes.extend(
            grid.rights()
                .iter()
                .zip(grid.downs())
                .map(|(&right, &down)| {
                    // `BLOCKED` becomes 0.
                    heaviest = heaviest
                        .max(right.wrapping_add(1))
                        .max(down.wrapping_add(1));
                    CellState {
                        label: C::MAX,
                        right,
                        down,
                    }
                }),
        );
        for &via in grid.vias() {
            heaviest = heaviest.max(via.wrapping_add(1));
        }
        nodes.resize(nodes.len() + margin, none);
        Ok(Self {
            grid,
            nodes,
            margin,
            queue: Queue::new(heaviest),
            too_large: false,
        })
    }

    fn label(&self, cell: u32) -> C {
        self.nodes[cell as usize + self.margin].label
    }

    /// Gives a cell the label 0, as a source of the search.
    fn add_source(&mut self, cell: u32) {
        self.nodes[cell as usize + self.margin].label = C::ZERO;
        self.queue.push(0, cell);
    }

    /// Takes the cells of the first non-empty bucket and passes their labels on to their
    /// neighbours, until the bucket stays empty: its labels are then final. Calls `visit` with each
    /// cell and its label. Returns the bucket; `None` if there are no cells.
    #[inline(always)]
    fn settle_bucket(&mut self, mut visit: impl FnMut(u32, C)) -> Result<Option<usize>> {
        self.queue.check()?;
        self.queue.widen()?;
        let Some(bucket) = self.queue.first() else {
            return Ok(None);
        };
        let width = self.margin;
        let area = width * self.grid.height() as usize;
        let vias = self.grid.vias();
        let shift = self.queue.shift;
        while let Some(cells) = self.queue.take(bucket) {
            for (i, &cell) in cells.iter().enumerate() {
                if let Some(&next) = cells.get(i + AHEAD) {
                    let at = next as usize + width;
                    for line in [at - width, at, at + width] {
                        prefetch(&self.nodes, line);
                    }
                }
                let at = cell as usize + width;
                let CellState { label, right, down } = self.nodes[at];
                // It has got a smaller label since, and has been handled.
                if label.to_u64() >> shift != bucket as u64 {
                    continue;
                }
                visit(cell, label);
                self.offer(label, right, at + 1);
                self.offer(label, self.nodes[at - 1].right, at - 1);
                self.offer(label, down, at + width);
                self.offer(label, self.nodes[at - width].down, at - width);
                if !vias.is_empty() {
                    let cell = cell as usize;
                    if cell + area < vias.len() {
                        self.offer(label, vias[cell], at + area);
                    }
                    if cell >= area {
                        self.offer(label, vias[cell - area], at - area);
                    }
                }
            }
            self.queue.give_back(cells)?;
        }
        self.queue.check()?;
        Ok(Some(bucket))
    }

    /// Lowers the label of the node `to` to `label` plus an edge of `weight`, if that is less.
    #[inline(always)]
    fn offer(&mut self, label: C, weight: u32, to: usize) {
        let offered = label.plus(weight);
        let node = &mut self.nodes[to];
        if offered < node.label {
            node.label = offered;
            let cell = (to - self.margin) as u32;
            self.queue.push(offered.to_u64(), cell);
        } else if offered == C::MAX && weight != BLOCKED {
            self.too_large = true;
        }
    }

    /// Joins the pins; `None` if costs do not fit labels.
    fn connect(mut self, pins: &PinCells, progress: &Progress<'_>) -> Result<Option<Joined>> {
        let mut joined = Joined::default();
        let Some(root) = pins.first() else {
            return Ok(Some(joined));
        };
        let owners = Owner::all(pins)?;
        let mut open = CellBits::new(self.grid.cell_count())?;
        for owner in &owners {
            open.set(owner.cell);
        }
        let mut on_tree = CellBits::new(self.grid.cell_count())?;
        for &cell in root {
            on_tree.set(cell);
            self.add_source(cell);
        }
        let mut is_joined: Vec<bool> = zeroed_vec(pins.len(), PINS)?;
        let mut left = pins.len() - 1;
        let mut reached = Reached::default();
        while left > 0 {
            let mut room = Ok(());
            let bucket = self.settle_bucket(|cell, label| {
                if open.has(cell) && room.is_ok() {
                    let first = owners.partition_point(|owner| owner.cell < cell);
                    room = reached.push(&owners, first, label);
                }
            })?;
            room?;
            let Some((label, owner)) =
                reached.nearest(&owners, &is_joined, |cell| self.label(cell))?
            else {
                match bucket {
                    Some(_) => continue,
                    None => break,
                }
            };
            // Its label is final once its bucket is done.
            if bucket.is_some_and(|bucket| (bucket as u64) < label.to_u64() >> self.queue.shift) {
                continue;
            }
            let (pin, from) = (owner.pin as usize, owner.cell);
            let distance = |cell: u32| match self.label(cell) {
                label if label == C::MAX => UNREACHED,
                label => label.to_u64(),
            };
            let path = retrace::path(self.grid, distance, |cell| on_tree.has(cell), from)?;
            joined.push(pin, label.to_u64(), &path)?;
            is_joined[pin] = true;
            left -= 1;
            progress.report((pins.len() - left) as u64, pins.len() as u64)?;
            for &cell in path.iter().chain(&pins[pin]) {
                if !on_tree.has(cell) {
                    on_tree.set(cell);
                    self.add_source(cell);
                }
            }
        }
        if left > 0 && self.too_large {
            return Ok(None);
        }
        Ok(Some(joined))
    }

    /// The final label of each cell; `None` if costs do not fit labels.
    fn distances(mut self, sources: &[u32]) -> Result<Option<Vec<u64>>> {
        for &cell in sources {
            self.add_source(cell);
        }
        while self.settle_bucket(|_, _| {})?.is_some() {}
        if self.too_large {
            return Ok(None);
        }
        let mut distances: Vec<u64> = by_cell(self.grid, "the distances")?;
        for (distance, node) in distances.iter_mut().zip(&self.nodes[self.margin..]) {
            *distance = match node.label {
                label if label == C::MAX => UNREACHED,
                label => label.to_u64(),
            };
        }
        Ok(Some(distances))
    }
}

/// A cell of a pin.
#[derive(Clone, Copy)]
struct Owner {
    cell: u32,
    pin: u32,
    /// Its index among the pin's cells.
    order: u32,
}

impl Owner {
    /// The cells of all pins but the first, sorted by cell; owners of one cell are in tie-breaking
    /// order.
    fn all(pins: &PinCells) -> Result<Vec<Self>> {
        let open = pins.get(1..).unwrap_or_default();
        let mut owners = Vec::new();
        let count = open.iter().map(Vec::len).sum();
        reserve(&mut owners, count, PINS)?;
        for (pin, cells) in (1..).zip(open) {
            let cells = cells.iter().zip(0..);
            owners.extend(cells.map(|(&cell, order)| Self { cell, pin, order }));
        }
        owners.sort_unstable_by_key(|owner| (owner.cell, owner.pin, owner.order));
        Ok(owners)
    }
}

/// The cells of pins that the search has reached, nearest first: label, pin and order of a cell,
/// and its index among the owners.
///
/// A cell occurs once per label it was given, until it comes to the top, and with one of its pins
/// at a time: once that pin is joined, the next one replaces it. Outdated labels and joined pins
/// are dropped at the top, so each entry is looked at once, whatever the number of pins.
struct Reached<C>(BinaryHeap<Reverse<(C, u32, u32, usize)>>);

impl<C: Ord> Default for Reached<C> {
    fn default() -> Self {
        Self(BinaryHeap::new())
    }
}

impl<C: Cost> Reached<C> {
    /// Adds the cell of the owner at an index, with its label.
    fn push(&mut self, owners: &[Owner], place: usize, label: C) -> Result<()> {
        let Owner { pin, order, .. } = owners[place];
        let entry = Reverse((label, pin, order, place));
        if self.0.len() == self.0.capacity() {
            self.0.try_reserve(1).map_err(|_| Error::OutOfMemory {
                what: PINS,
                bytes: 2 * size_of_val(self.0.as_slice()) as u64,
            })?;
        }
        self.0.push(entry);
        Ok(())
    }

    /// The smallest label of a pin that is not joined, with the pin's cell. Ties go to the first
    /// pin, then to its first cell.
    fn nearest(
        &mut self,
        owners: &[Owner],
        is_joined: &[bool],
        label_of: impl Fn(u32) -> C,
    ) -> Result<Option<(C, Owner)>> {
        loop {
            let Some(&Reverse((label, .., place))) = self.0.peek() else {
                return Ok(None);
            };
            let owner = owners[place];
            // A cell whose label has fallen has been, or will be, pushed again.
            let stands = label_of(owner.cell) == label;
            if stands && !is_joined[owner.pin as usize] {
                return Ok(Some((label, owner)));
            }
            self.0.pop();
            let next = owners.get(place + 1);
            if stands && next.is_some_and(|next| next.cell == owner.cell) {
                self.push(owners, place + 1, label)?;
            }
        }
    }
}

/// Cells by label: bucket `i` has those from `i · 2^shift` to before `(i + 1) · 2^shift`. A cell
/// whose label has fallen stays in its old bucket, and is in another one as well.
pub(super) struct Queue {
    buckets: Vec<Vec<u32>>,
    pub(super) shift: u32,
    /// One bit per bucket: whether it has cells.
    occupied: Vec<u64>,
    /// All buckets before this one are empty.
    start: usize,
    /// Empty buckets with capacity.
    spare: Vec<Vec<u32>>,
    /// Set when there was no memory for a cell, which is then left out.
    failed: Option<Error>,
}

impl Queue {
    /// For edges that weigh less than `weights`; 0 is no limit.
    pub(super) fn new(weights: u32) -> Self {
        Self::with_span(weights, SPAN)
    }

    /// As [`new`](Self::new), with buckets so wide that the heaviest edge spans about `span`.
    pub(super) fn with_span(weights: u32, span: u32) -> Self {
        let bits = u32::BITS - weights.wrapping_sub(1).leading_zeros();
        Self {
            buckets: Vec::new(),
            shift: bits.saturating_sub(span.ilog2()),
            occupied: Vec::new(),
            start: 0,
            spare: Vec::new(),
            failed: None,
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, label: u64, cell: u32) {
        let bucket = (label >> self.shift) as usize;
        if bucket >= self.buckets.len() {
            if let Err(error) = self.grow(bucket) {
                self.failed = Some(error);
            }
            if bucket >= self.buckets.len() {
                return;
            }
        }
        let cells = &mut self.buckets[bucket];
        if cells.is_empty() {
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
            self.start = self.start.min(bucket);
            if cells.capacity() == 0 {
                *cells = self.spare.pop().unwrap_or_default();
            }
        }
        if let Err(error) = push(cells, cell, QUEUE) {
            self.failed = Some(error);
        }
    }

    /// Whether all cells could be added.
    pub(super) fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    #[cold]
    fn grow(&mut self, bucket: usize) -> Result<()> {
        let len = (bucket + 1)
            .next_multiple_of(64)
            .max(2 * self.buckets.len());
        let more = len - self.buckets.len();
        reserve(&mut self.occupied, more / 64, QUEUE)?;
        reserve(&mut self.buckets, more, QUEUE)?;
        self.buckets.resize_with(len, Vec::new);
        self.occupied.resize(len / 64, 0);
        Ok(())
    }

    /// The first bucket with cells.
    pub(super) fn first(&mut self) -> Option<usize> {
        let mut word = self.start / 64;
        // Bits before `start` are 0.
        while let Some(&bits) = self.occupied.get(word) {
            if bits != 0 {
                self.start = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.start);
            }
            word += 1;
        }
        self.start = self.buckets.len();
        None
    }

    /// Takes the cells out of a bucket; `None` if it is empty.
    pub(super) fn take(&mut self, bucket: usize) -> Option<Vec<u32>> {
        let cells = std::mem::take(&mut self.buckets[bucket]);
        if cells.is_empty() {
            self.buckets[bucket] = cells;
            return None;
        }
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        Some(cells)
    }

    /// Keeps the memory of a bucket that was taken.
    pub(super) fn give_back(&mut self, mut cells: Vec<u32>) -> Result<()> {
        cells.clear();
        push(&mut self.spare, cells, QUEUE)
    }

    /// Widens the buckets while there are too many.
    pub(super) fn widen(&mut self) -> Result<()> {
        while self.buckets.len() > MAX_BUCKETS {
            self.shift += 1;
            let narrow = std::mem::take(&mut self.buckets);
            let len = narrow.len().div_ceil(2).next_multiple_of(64);
            reserve(&mut self.buckets, len, QUEUE)?;
            for pair in narrow.chunks(2) {
                self.buckets
                    .push(collect(pair.iter().flatten().copied(), QUEUE)?);
            }
            self.buckets.resize_with(len, Vec::new);
            let occupied = self.buckets.chunks(64).map(|buckets| {
                let bits = buckets.iter().zip(0..);
                bits.fold(0, |word, (cells, bit)| {
                    word | u64::from(!cells.is_empty()) << bit
                })
            });
            self.occupied = collect(occupied, QUEUE)?;
            self.start = 0;
        }
        Ok(())
    }
}
