//! Shadow memory: whether each element of memory was written, and which threads accessed it last.

use std::ops::Range;

use super::clocks::Clocks;
use super::crowds::{Crowds, Stamp};
use super::event::{Source, Touch};

/// Sentinel for accesses at block scope: several blocks.
const SEVERAL: u32 = u32::MAX;

/// Record of one granule. A granule has as many bytes as the smallest access to the memory.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Stamp,
    loads: Stamp,
    atomic_loads: Stamp,
    atomic_writes: Stamp,
    /// Number of the launch, or of the block's life, that the stamps belong to.
    generation: u32,
    written: bool,
    /// Whether a load went through the read-only cache.
    read_only: bool,
    /// Number plus 1 of the block whose atomic loads were at block scope; 0 for none, or
    /// [`SEVERAL`].
    narrow_loads: u32,
    /// The same for atomic writes.
    narrow_writes: u32,
    /// Whether the last atomic write was an update.
    update: bool,
    /// Whether the last atomic load was a compare-and-swap that failed.
    failed_swap: bool,
    /// Bit set of the sizes in bytes of the atomic loads: each size is a power of 2. A load that
    /// happens after all others resets it.
    load_widths: u8,
    /// The size in bytes of the last atomic writes; 0 for none.
    write_width: u8,
}

/// Kind of an access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) touch: Touch,
    /// Whether it is atomic at block scope.
    pub(super) block_scope: bool,
}

impl Kind {
    fn reads(self) -> bool {
        !matches!(self.touch, Touch::Store | Touch::AtomicStore)
    }

    fn writes(self) -> bool {
        matches!(
            self.touch,
            Touch::Store | Touch::AtomicStore | Touch::AtomicUpdate
        )
    }

    fn is_atomic(self) -> bool {
        !matches!(self.touch, Touch::Load | Touch::ReadOnlyLoad | Touch::Store)
    }
}

/// An access of a thread.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    pub(super) kind: Kind,
    pub(super) bytes: usize,
    pub(super) source: Source,
    /// The thread's slot.
    pub(super) slot: usize,
    pub(super) clocks: &'a Clocks,
}

impl Access<'_> {
    /// One of the accesses of `stamp` that does not happen before this one. `touch` is their touch.
    fn unordered(&self, stamp: &Stamp, touch: Touch, crowds: &Crowds) -> Option<Before> {
        let found = crowds.unordered(stamp, self.slot, self.clocks, |_| true);
        found.map(|found| Before::new(touch, found))
    }

    /// Adds this access's block to `blocks`, if the access is at block scope.
    fn note_narrow(&self, blocks: &mut u32) {
        if !self.kind.block_scope {
            return;
        }
        let mine = self.clocks.block_of(self.clocks.id(self.slot)) + 1;
        if *blocks != mine {
            *blocks = if *blocks == 0 { mine } else { SEVERAL };
        }
    }

    /// Adds this access to those of `stamp`.
    fn add_to(&self, stamp: &mut Stamp, crowds: &mut Crowds) {
        crowds.add(stamp, self.slot, self.source, self.clocks);
    }
}

/// The earlier access of a conflict.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) thread: u32,
    pub(super) touch: Touch,
    pub(super) source: Source,
}

impl Before {
    fn new(touch: Touch, (thread, source): (u32, Source)) -> Self {
        Self {
            thread,
            touch,
            source,
        }
    }
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conflict {
    Uninitialised,
    Race(Before),
    Narrow(Before),
    /// Both accesses are atomic; the earlier one has this many bytes.
    Widths(Before, usize),
    /// One of the two accesses is read-only; this is the other access.
    ReadOnly(Before),
}

/// The records on one allocation.
#[derive(Debug)]
pub(super) struct Shadow {
    bytes: usize,
    /// Bytes per granule; 0 before the first access.
    granule: usize,
    cells: Vec<Cell>,
    /// Whether all of the memory is written. Valid while there are no cells.
    written: bool,
}

/// Error: the host is out of memory for the records.
#[derive(Debug)]
pub(super) struct NoMemory;

impl Shadow {
    pub(super) fn new(bytes: usize, written: bool) -> Self {
        Self {
            bytes,
            granule: 0,
            cells: Vec::new(),
            written,
        }
    }

    /// Records that the host has written all of the memory. The records of threads can stay: their
    /// launches have ended.
    pub(super) fn set_written(&mut self) {
        self.written = true;
        for cell in &mut self.cells {
            cell.written = true;
        }
    }

    /// The first unwritten byte among `bytes`.
    pub(super) fn first_unwritten(&self, bytes: Range<usize>) -> Option<usize> {
        if bytes.is_empty() {
            return None;
        }
        if self.granule == 0 {
            return (!self.written).then_some(bytes.start);
        }
        let cells = bytes.start / self.granule..bytes.end.div_ceil(self.granule);
        let first = cells.start;
        let unwritten = self.cells[cells].iter().position(|cell| !cell.written)?;
        Some((first + unwritten) * self.granule)
    }

    /// Who wrote the byte at `offset` last, in the launch of `generation`.
    pub(super) fn last_writer(
        &self,
        offset: usize,
        generation: u32,
        crowds: &Crowds,
    ) -> Option<Before> {
        let cell = self.cells.get(offset.checked_div(self.granule)?)?;
        if cell.generation != generation {
            return None;
        }
        let (touch, found) = match crowds.any(&cell.atomic_writes) {
            Some(found) => (atomic_write(cell), Some(found)),
            None => (Touch::Store, crowds.any(&cell.write)),
        };
        Some(Before::new(touch, found?))
    }

    /// Whether all of `bytes` bytes at `offset` are written, and whether all were written
    /// atomically since their last plain write, in the launch or life of `generation`.
    pub(super) fn is_written(&self, offset: usize, bytes: usize, generation: u32) -> (bool, bool) {
        let Some(first) = offset.checked_div(self.granule) else {
            return (self.written, false);
        };
        let last = (offset + bytes - 1) / self.granule;
        let cells = &self.cells[first..=last];
        let renewed = |cell: &Cell| cell.generation == generation;
        (
            cells.iter().all(|cell| cell.written),
            cells
                .iter()
                .all(|cell| renewed(cell) && cell.atomic_writes.is_some()),
        )
    }

    /// Makes granules small enough for an access of `bytes` bytes at `offset`.
    fn refine(
        &mut self,
        offset: usize,
        bytes: usize,
        generation: u32,
        short_lived: bool,
        crowds: &mut Crowds,
    ) -> Result<(), NoMemory> {
        let fits = |granule: usize| offset.is_multiple_of(granule) && bytes.is_multiple_of(granule);
        if self.granule != 0 && fits(self.granule) {
            return Ok(());
        }
        let mut granule = if self.granule == 0 { 8 } else { self.granule };
        while !fits(granule) {
            granule /= 2;
        }
        let mut cells = Vec::new();
        let count = self.bytes.div_ceil(granule);
        cells.try_reserve_exact(count).map_err(|_| NoMemory)?;
        if self.granule == 0 {
            let fresh = Cell {
                written: self.written,
                ..Cell::default()
            };
            cells.resize(count, fresh);
        } else {
            let each = self.granule / granule;
            for mut cell in std::mem::take(&mut self.cells) {
                cell.renew(generation, short_lived, crowds);
                cells.push(cell);
                for _ in (1..each).take(count - cells.len()) {
                    cell.part(crowds);
                    cells.push(cell);
                }
            }
        }
        (self.granule, self.cells) = (granule, cells);
        Ok(())
    }

    /// Records an access at `offset`, and returns its conflict, if any. In short-lived memory (a
    /// block's shared memory), writes of earlier generations are forgotten.
    pub(super) fn access(
        &mut self,
        offset: usize,
        access: Access<'_>,
        generation: u32,
        short_lived: bool,
        crowds: &mut Crowds,
    ) -> Result<Option<Conflict>, NoMemory> {
        self.refine(offset, access.bytes, generation, short_lived, crowds)?;
        let first = offset / self.granule;
        let count = access.bytes / self.granule;
        for cell in &mut self.cells[first..first + count] {
            cell.renew(generation, short_lived, crowds);
            if let Some(conflict) = cell.conflict(&access, crowds) {
                return Ok(Some(conflict));
            }
            cell.record(&access, crowds);
        }
        Ok(None)
    }
}

fn atomic_write(cell: &Cell) -> Touch {
    if cell.update {
        Touch::AtomicUpdate
    } else {
        Touch::AtomicStore
    }
}

fn atomic_load(cell: &Cell) -> Touch {
    if cell.failed_swap {
        Touch::FailedSwap
    } else {
        Touch::AtomicLoad
    }
}

/// The number of bytes of an atomic access, which is a power of 2.
fn width(bytes: usize) -> u8 {
    bytes.min(128) as u8
}

impl Cell {
    /// Forgets the records of another launch or another life of the block.
    fn renew(&mut self, generation: u32, short_lived: bool, crowds: &mut Crowds) {
        if self.generation == generation {
            return;
        }
        if short_lived {
            self.forget(crowds);
        }
        *self = Self {
            generation,
            written: self.written && !short_lived,
            ..Self::default()
        };
    }

    /// Makes this copy of a cell independent of the others.
    fn part(&mut self, crowds: &mut Crowds) {
        crowds.part(&mut self.loads);
        crowds.part(&mut self.atomic_loads);
        crowds.part(&mut self.atomic_writes);
    }

    /// Frees the crowds of its stamps, which are of this launch.
    fn forget(&mut self, crowds: &mut Crowds) {
        crowds.clear(&mut self.loads);
        crowds.clear(&mut self.atomic_loads);
        crowds.clear(&mut self.atomic_writes);
    }

    /// The conflict of an access, if any.
    #[inline]
    fn conflict(&self, access: &Access<'_>, crowds: &Crowds) -> Option<Conflict> {
        let Access { kind, .. } = *access;
        if kind.reads() && !self.written {
            return Some(Conflict::Uninitialised);
        }
        if let Some(before) = self.race(access, crowds) {
            return Some(Conflict::Race(before));
        }
        if kind.is_atomic() {
            if let Some(widths) = self.other_width(access, crowds) {
                return Some(widths);
            }
            let is_narrow = kind.block_scope || self.narrow_loads != 0 || self.narrow_writes != 0;
            if is_narrow && let Some(before) = self.too_narrow(access, crowds) {
                return Some(Conflict::Narrow(before));
            }
        }
        let changed = self.read_only_and_written(kind, crowds);
        changed.map(Conflict::ReadOnly)
    }

    /// An earlier access that does not happen before this one, where one of the two writes and not
    /// both are atomic.
    #[inline]
    fn race(&self, access: &Access<'_>, crowds: &Crowds) -> Option<Before> {
        let writes = access.kind.writes();
        let load = if self.read_only {
            Touch::ReadOnlyLoad
        } else {
            Touch::Load
        };
        let store = access.unordered(&self.write, Touch::Store, crowds);
        if store.is_some() {
            return store;
        }
        if writes && let Some(load) = access.unordered(&self.loads, load, crowds) {
            return Some(load);
        }
        if access.kind.is_atomic() {
            return None;
        }
        let write = access.unordered(&self.atomic_writes, atomic_write(self), crowds);
        if write.is_some() || !writes {
            return write;
        }
        access.unordered(&self.atomic_loads, atomic_load(self), crowds)
    }

    /// For an atomic access: an earlier atomic access of another size that does not happen before
    /// it, if one of the two writes. They are not atomic with respect to each other.
    #[inline]
    fn other_width(&self, access: &Access<'_>, crowds: &Crowds) -> Option<Conflict> {
        let mine = width(access.bytes);
        let with = |stamp: &Stamp, touch, widths: u8| {
            // Where sizes are mixed, it is unknown which access has which size.
            if widths & mine != 0 || widths == 0 {
                return None;
            }
            let before = access.unordered(stamp, touch, crowds)?;
            Some(Conflict::Widths(before, 1 << widths.trailing_zeros()))
        };
        let write = with(&self.atomic_writes, atomic_write(self), self.write_width);
        if write.is_some() || !access.kind.writes() {
            return write;
        }
        with(&self.atomic_loads, atomic_load(self), self.load_widths)
    }

    /// For an atomic access: an earlier atomic access of another block that does not happen before
    /// it, if one of the two is at block scope and one writes.
    fn too_narrow(&self, access: &Access<'_>, crowds: &Crowds) -> Option<Before> {
        let Access { slot, clocks, .. } = *access;
        let my_block = clocks.block_of(clocks.id(slot));
        let with = |stamp: &Stamp, touch, narrow: u32| {
            let counts = |thread| {
                let block = clocks.block_of(thread);
                let is_narrow = access.kind.block_scope || narrow == SEVERAL || narrow == block + 1;
                is_narrow && block != my_block
            };
            let found = crowds.unordered(stamp, slot, clocks, counts);
            found.map(|found| Before::new(touch, found))
        };
        let write = with(&self.atomic_writes, atomic_write(self), self.narrow_writes);
        if write.is_some() || !access.kind.writes() {
            return write;
        }
        with(&self.atomic_loads, atomic_load(self), self.narrow_loads)
    }

    /// The other access, if one of the two is a read-only load: such loads conflict with every
    /// write of the launch, in any order.
    #[inline]
    fn read_only_and_written(&self, kind: Kind, crowds: &Crowds) -> Option<Before> {
        if kind.touch == Touch::ReadOnlyLoad {
            let atomic = crowds.any(&self.atomic_writes);
            let written = atomic
                .map(|found| Before::new(atomic_write(self), found))
                .or_else(|| {
                    let plain = crowds.any(&self.write);
                    plain.map(|found| Before::new(Touch::Store, found))
                });
            if written.is_some() {
                return written;
            }
        }
        if !kind.writes() || !self.read_only {
            return None;
        }
        let load = crowds.any(&self.loads);
        load.map(|found| Before::new(Touch::ReadOnlyLoad, found))
    }

    /// Records an access without a conflict.
    #[inline]
    fn record(&mut self, access: &Access<'_>, crowds: &mut Crowds) {
        let touch = access.kind.touch;
        self.written |= access.kind.writes();
        match touch {
            Touch::Load | Touch::ReadOnlyLoad => {
                self.read_only |= touch == Touch::ReadOnlyLoad;
                access.add_to(&mut self.loads, crowds);
            }
            Touch::Store => {
                self.forget(crowds);
                self.read_only = false;
                (self.narrow_loads, self.narrow_writes) = (0, 0);
                (self.load_widths, self.write_width) = (0, 0);
                self.write = Stamp {
                    source: Some(access.source),
                    thread: access.clocks.id(access.slot),
                    time: access.clocks.now(access.slot),
                };
            }
            Touch::AtomicLoad | Touch::FailedSwap => {
                self.failed_swap = touch == Touch::FailedSwap;
                let mine = width(access.bytes);
                if self.load_widths & !mine != 0
                    && access
                        .unordered(&self.atomic_loads, touch, crowds)
                        .is_none()
                {
                    self.load_widths = 0;
                }
                self.load_widths |= mine;
                access.note_narrow(&mut self.narrow_loads);
                access.add_to(&mut self.atomic_loads, crowds);
            }
            Touch::AtomicStore | Touch::AtomicUpdate => {
                access.note_narrow(&mut self.narrow_writes);
                self.update = touch == Touch::AtomicUpdate;
                self.write_width = width(access.bytes);
                access.add_to(&mut self.atomic_writes, crowds);
            }
        }
    }
}

#[cfg(test)]
mod tests;
