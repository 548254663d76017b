//! What the emulator records about each element of memory: whether it was written, and which
//! threads accessed it last.

use std::collections::HashMap;
use std::ops::Range;

use super::clocks::{Clocks, LANES};
use super::event::{Source, Touch};

/// Which thread made an access, at which of its times, and where in the source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    source: Option<Source>,
    /// The thread's number in the grid; [`MANY`] if `time` is the number of a [`Crowd`].
    thread: u32,
    time: u32,
}

const MANY: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX;

impl Stamp {
    fn is_some(&self) -> bool {
        self.source.is_some()
    }
}

/// Accesses of several threads that nothing orders.
#[derive(Clone, Debug, Default)]
struct Crowd {
    /// Those of few threads, one per thread. They are moved to `warps` when there are more.
    few: Vec<Stamp>,
    warps: Vec<WarpAccesses>,
    /// Where a warp is in `warps`, once there are several.
    places: HashMap<u32, usize>,
}

/// The most accesses of a crowd that are kept as a list.
const FEW: usize = 8;

/// The last access of each lane of a warp; time 0 is none.
#[derive(Clone, Debug)]
struct WarpAccesses {
    first_lane: u32,
    times: [u32; LANES],
    sources: [Option<Source>; LANES],
}

impl Crowd {
    /// Adds an access of the thread in `slot`.
    fn add(&mut self, stamp: Stamp, slot: usize, clocks: &Clocks) {
        if self.warps.is_empty() {
            if let Some(earlier) = self.few.iter_mut().find(|few| few.thread == stamp.thread) {
                *earlier = stamp;
                return;
            }
            if self.few.len() == FEW {
                // What happens after this access also happens after these.
                self.few
                    .retain(|few| !clocks.ordered(few.thread, few.time, slot));
            }
            if self.few.len() < FEW {
                self.few.push(stamp);
                return;
            }
        }
        let mut few = std::mem::take(&mut self.few);
        few.push(stamp);
        for stamp in few.drain(..) {
            self.add_to_warp(stamp, clocks);
        }
        self.few = few;
    }

    fn add_to_warp(&mut self, stamp: Stamp, clocks: &Clocks) {
        let first_lane = clocks.first_lane(stamp.thread);
        let place = match self.warps.last() {
            Some(last) if last.first_lane == first_lane => self.warps.len() - 1,
            _ => *self.places.entry(first_lane).or_insert_with(|| {
                self.warps.push(WarpAccesses {
                    first_lane,
                    times: [0; LANES],
                    sources: [None; LANES],
                });
                self.warps.len() - 1
            }),
        };
        let lane = (stamp.thread - first_lane) as usize;
        let warp = &mut self.warps[place];
        warp.times[lane] = stamp.time;
        warp.sources[lane] = stamp.source;
    }
}

/// The crowds of one launch.
#[derive(Debug, Default)]
pub(super) struct Crowds {
    all: Vec<Crowd>,
    unused: Vec<u32>,
}

impl Crowds {
    fn clear(&mut self, stamp: &mut Stamp) {
        if stamp.thread == MANY && stamp.is_some() {
            let crowd = &mut self.all[stamp.time as usize];
            crowd.few.clear();
            crowd.warps.clear();
            crowd.places.clear();
            self.unused.push(stamp.time);
        }
        *stamp = Stamp::default();
    }

    /// Gives `stamp`, a copy of another one, a crowd of its own.
    fn part(&mut self, stamp: &mut Stamp) {
        if stamp.thread == MANY && stamp.is_some() {
            self.all.push(self.all[stamp.time as usize].clone());
            stamp.time = self.all.len() as u32 - 1;
        }
    }

    /// Adds an access of the thread in `slot` to those that `stamp` stands for.
    fn add(&mut self, stamp: &mut Stamp, slot: usize, source: Source, clocks: &Clocks) {
        let mine = Stamp {
            source: Some(source),
            thread: clocks.id(slot),
            time: clocks.now(slot),
        };
        if !stamp.is_some() {
            *stamp = mine;
        } else if stamp.thread == MANY {
            self.all[stamp.time as usize].add(mine, slot, clocks);
        } else if clocks.ordered(stamp.thread, stamp.time, slot) {
            // What happens after this access also happens after that one.
            *stamp = mine;
        } else {
            let crowd = self.unused.pop().unwrap_or_else(|| {
                self.all.push(Crowd::default());
                self.all.len() as u32 - 1
            });
            self.all[crowd as usize].few.extend([*stamp, mine]);
            *stamp = Stamp {
                source: Some(source),
                thread: MANY,
                time: crowd,
            };
        }
    }

    /// One of the accesses that `stamp` stands for that does not happen before what the thread in
    /// `slot` does now, and that `counts`.
    fn unordered(
        &self,
        stamp: &Stamp,
        slot: usize,
        clocks: &Clocks,
        counts: impl Fn(u32) -> bool,
    ) -> Option<(u32, Source)> {
        let source = stamp.source?;
        if stamp.thread != MANY {
            let conflict = counts(stamp.thread) && !clocks.ordered(stamp.thread, stamp.time, slot);
            return conflict.then_some((stamp.thread, source));
        }
        let crowd = &self.all[stamp.time as usize];
        for few in &crowd.few {
            if counts(few.thread) && !clocks.ordered(few.thread, few.time, slot) {
                return Some((few.thread, few.source.unwrap_or(source)));
            }
        }
        for warp in &crowd.warps {
            for (lane, &time) in warp.times.iter().enumerate() {
                let thread = warp.first_lane + lane as u32;
                if time > 0 && counts(thread) && !clocks.ordered(thread, time, slot) {
                    return Some((thread, warp.sources[lane].unwrap_or(source)));
                }
            }
        }
        None
    }

    /// Any of the accesses that `stamp` stands for.
    fn any(&self, stamp: &Stamp) -> Option<(u32, Source)> {
        let source = stamp.source?;
        if stamp.thread != MANY {
            return Some((stamp.thread, source));
        }
        let crowd = &self.all[stamp.time as usize];
        if let Some(few) = crowd.few.first() {
            return Some((few.thread, few.source.unwrap_or(source)));
        }
        let warp = crowd.warps.first()?;
        let lane = warp.times.iter().position(|&time| time > 0)?;
        Some((
            warp.first_lane + lane as u32,
            warp.sources[lane].unwrap_or(source),
        ))
    }
}

/// What is known about one granule: the number of bytes of the smallest access to the memory.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Stamp,
    loads: Stamp,
    atomic_loads: Stamp,
    atomic_writes: Stamp,
    /// The launch, or the block's life, to which the stamps belong.
    generation: u32,
    written: bool,
    /// Whether a load went through the read-only cache.
    read_only: bool,
    /// The block whose atomic loads were at block scope: its number plus 1, 0 for none, or
    /// [`SEVERAL`].
    narrow_loads: u32,
    /// The same for atomic writes.
    narrow_writes: u32,
    /// Whether the last atomic write was an update.
    update: bool,
    /// Whether the last atomic load was a compare-and-swap that failed.
    failed_swap: bool,
    /// The sizes in bytes of the atomic loads, added up: each is a power of 2. A load that comes
    /// after all others begins anew.
    load_widths: u8,
    /// The size in bytes of the last atomic writes; 0 for none.
    write_width: u8,
}

/// How an access touches memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) touch: Touch,
    /// Whether it is atomic at block scope.
    pub(super) block_scope: bool,
}

/// The earlier access of a conflict.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) thread: u32,
    pub(super) touch: Touch,
    pub(super) source: Source,
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conflict {
    Uninitialised,
    Race(Before),
    Narrow(Before),
    /// Both are atomic, and the earlier one has that number of bytes.
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
    /// Whether all of the memory is written, as long as there are no cells.
    written: bool,
}

/// The host has no memory for the records.
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

    /// The host has written all of the memory; what was recorded about threads belongs to launches
    /// that have ended.
    pub(super) fn set_written(&mut self) {
        self.written = true;
        for cell in &mut self.cells {
            cell.written = true;
        }
    }

    /// The first of these bytes of the memory that nothing has written.
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
        let (thread, source) = found?;
        Some(Before {
            thread,
            touch,
            source,
        })
    }

    /// Whether all of `bytes` bytes at `offset` are written; and whether atomically, in the launch
    /// or life of `generation`, since they were written plainly, if they were.
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

    /// Records an access to `bytes` bytes at `offset`, and returns what is wrong with it. In a
    /// memory whose contents live as long as `generation`, as a block's shared memory does, what
    /// was written before is forgotten.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn access(
        &mut self,
        offset: usize,
        bytes: usize,
        kind: Kind,
        source: Source,
        slot: usize,
        generation: u32,
        short_lived: bool,
        clocks: &Clocks,
        crowds: &mut Crowds,
    ) -> Result<Option<Conflict>, NoMemory> {
        self.refine(offset, bytes, generation, short_lived, crowds)?;
        let first = offset / self.granule;
        let count = bytes / self.granule;
        for cell in &mut self.cells[first..first + count] {
            cell.renew(generation, short_lived, crowds);
            if let Some(conflict) = cell.access(kind, bytes, source, slot, clocks, crowds) {
                return Ok(Some(conflict));
            }
        }
        Ok(None)
    }
}

/// Adds the block of the thread in `slot` to those with accesses at block scope, if this is one.
fn note_narrow(blocks: &mut u32, block_scope: bool, slot: usize, clocks: &Clocks) {
    let mine = clocks.block_of(clocks.id(slot)) + 1;
    if block_scope && *blocks != mine {
        *blocks = if *blocks == 0 { mine } else { SEVERAL };
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
    /// An earlier atomic access of another size that nothing orders before this one of the thread
    /// in `slot`, if one of the two writes: they are not atomic to each other.
    fn other_width(
        &self,
        writes: bool,
        bytes: usize,
        slot: usize,
        clocks: &Clocks,
        crowds: &Crowds,
    ) -> Option<Conflict> {
        let mine = width(bytes);
        let with = |stamp: &Stamp, touch, widths: u8| {
            // Where sizes are mixed, it is not known which access has which.
            if widths & mine != 0 || widths == 0 {
                return None;
            }
            let (thread, source) = crowds.unordered(stamp, slot, clocks, |_| true)?;
            let before = Before {
                thread,
                touch,
                source,
            };
            let earlier = 1 << widths.trailing_zeros();
            Some(Conflict::Widths(before, earlier))
        };
        with(&self.atomic_writes, atomic_write(self), self.write_width).or_else(|| {
            writes
                .then(|| with(&self.atomic_loads, atomic_load(self), self.load_widths))
                .flatten()
        })
    }

    /// Forgets what was recorded in another launch or another life of the block.
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

    /// Gives back what its stamps stand for, which is of this launch.
    fn forget(&mut self, crowds: &mut Crowds) {
        crowds.clear(&mut self.loads);
        crowds.clear(&mut self.atomic_loads);
        crowds.clear(&mut self.atomic_writes);
    }

    fn access(
        &mut self,
        kind: Kind,
        bytes: usize,
        source: Source,
        slot: usize,
        clocks: &Clocks,
        crowds: &mut Crowds,
    ) -> Option<Conflict> {
        let Kind { touch, block_scope } = kind;
        let reads = !matches!(touch, Touch::Store | Touch::AtomicStore);
        let writes = matches!(
            touch,
            Touch::Store | Touch::AtomicStore | Touch::AtomicUpdate
        );
        let atomic = !matches!(touch, Touch::Load | Touch::ReadOnlyLoad | Touch::Store);
        if reads && !self.written {
            return Some(Conflict::Uninitialised);
        }

        let before = |touch, (thread, source)| Before {
            thread,
            touch,
            source,
        };
        let everyone = |_| true;
        // What this access conflicts with, if nothing orders the two.
        let with = |stamp: &Stamp, touch, crowds: &Crowds| {
            crowds
                .unordered(stamp, slot, clocks, everyone)
                .map(|found| Conflict::Race(before(touch, found)))
        };
        let load = if self.read_only {
            Touch::ReadOnlyLoad
        } else {
            Touch::Load
        };
        if let Some(race) = with(&self.write, Touch::Store, crowds) {
            return Some(race);
        }
        if writes && let Some(race) = with(&self.loads, load, crowds) {
            return Some(race);
        }
        if !atomic {
            if let Some(race) = with(&self.atomic_writes, atomic_write(self), crowds) {
                return Some(race);
            }
            if writes && let Some(race) = with(&self.atomic_loads, atomic_load(self), crowds) {
                return Some(race);
            }
        } else if let Some(widths) = self.other_width(writes, bytes, slot, clocks, crowds) {
            return Some(widths);
        } else if block_scope || self.narrow_loads != 0 || self.narrow_writes != 0 {
            let my_block = clocks.block_of(clocks.id(slot));
            let with = |stamp: &Stamp, touch, narrow: u32| {
                let counts = |thread| {
                    let block = clocks.block_of(thread);
                    let narrow = block_scope || narrow == SEVERAL || narrow == block + 1;
                    narrow && block != my_block
                };
                crowds
                    .unordered(stamp, slot, clocks, counts)
                    .map(|found| Conflict::Narrow(before(touch, found)))
            };
            let (loads, stores) = (&self.atomic_loads, &self.atomic_writes);
            if let Some(narrow) = with(stores, atomic_write(self), self.narrow_writes) {
                return Some(narrow);
            }
            if writes && let Some(narrow) = with(loads, atomic_load(self), self.narrow_loads) {
                return Some(narrow);
            }
        }
        // Read-only loads conflict with every write of the launch, in any order.
        if touch == Touch::ReadOnlyLoad {
            let written = crowds
                .any(&self.atomic_writes)
                .map(|found| before(atomic_write(self), found))
                .or_else(|| {
                    crowds
                        .any(&self.write)
                        .map(|found| before(Touch::Store, found))
                });
            if let Some(written) = written {
                return Some(Conflict::ReadOnly(written));
            }
        }
        if writes
            && self.read_only
            && let Some(found) = crowds.any(&self.loads)
        {
            return Some(Conflict::ReadOnly(before(Touch::ReadOnlyLoad, found)));
        }

        self.written |= writes;
        match touch {
            Touch::Load | Touch::ReadOnlyLoad => {
                self.read_only |= touch == Touch::ReadOnlyLoad;
                crowds.add(&mut self.loads, slot, source, clocks);
            }
            Touch::Store => {
                self.forget(crowds);
                self.read_only = false;
                (self.narrow_loads, self.narrow_writes) = (0, 0);
                (self.load_widths, self.write_width) = (0, 0);
                self.write = Stamp {
                    source: Some(source),
                    thread: clocks.id(slot),
                    time: clocks.now(slot),
                };
            }
            Touch::AtomicLoad | Touch::FailedSwap => {
                self.failed_swap = touch == Touch::FailedSwap;
                let mine = width(bytes);
                if self.load_widths & !mine != 0
                    && crowds
                        .unordered(&self.atomic_loads, slot, clocks, everyone)
                        .is_none()
                {
                    self.load_widths = 0;
                }
                self.load_widths |= mine;
                note_narrow(&mut self.narrow_loads, block_scope, slot, clocks);
                crowds.add(&mut self.atomic_loads, slot, source, clocks);
            }
            Touch::AtomicStore | Touch::AtomicUpdate => {
                note_narrow(&mut self.narrow_writes, block_scope, slot, clocks);
                self.update = touch == Touch::AtomicUpdate;
                self.write_width = width(bytes);
                crowds.add(&mut self.atomic_writes, slot, source, clocks);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
