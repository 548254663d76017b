//! Happens-before: vector clocks, kept small by the shape of a grid.
//!
//! Every thread has a clock that advances when it publishes what it has done: at a barrier, at
//! `sync_warp`, at a fence and at a release. An access at a thread's time `c` happens before what
//! another thread does now if the other thread knows the first thread's time `c`. A full vector of
//! all threads' times would be too large, so a thread's knowledge has three parts:
//! - its block's *floor*: the time up to which the block's threads know each other, as of its last
//!   barrier;
//! - the times of the lanes of its own warp;
//! - anything else acquired from other warps and blocks, in a map that few threads have.
//!
//! For weak memory, each thread also has the number of the last [fence](super::fences) that it
//! comes after.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::fences::Fences;
use super::times::Times;
use crate::atomic::ScopeKind;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// Knowledge acquired from other warps and blocks.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// Per block: the time up to which all its threads are known.
    blocks: Times,
    /// Per thread: the time up to which it is known.
    threads: Times,
}

impl Knowledge {
    fn add(&mut self, other: &Self) {
        self.blocks.add(&other.blocks);
        self.threads.add(&other.threads);
    }
}

/// The releases to an address: by its last store, and by the updates since.
pub(super) type Released = Rc<Vec<Rc<Snapshot>>>;

/// A thread's knowledge at a release.
#[derive(Debug)]
pub(super) struct Snapshot {
    thread: u32,
    block: u32,
    floor: u32,
    /// The thread that is lane 0 of its warp.
    first_lane: u32,
    lanes: [u32; LANES],
    acquired: Option<Rc<Knowledge>>,
    /// Who may acquire it: only the threads of its block, or all threads.
    scope: ScopeKind,
    after: After,
}

impl Snapshot {
    /// The releasing thread's time.
    fn time(&self) -> u32 {
        self.lanes[(self.thread - self.first_lane) as usize]
    }

    /// Whether every thread that may acquire `other` may acquire this one too, and this one holds
    /// all that `other` holds: a thread's knowledge only grows.
    fn replaces(&self, other: &Self) -> bool {
        self.thread == other.thread
            && self.time() >= other.time()
            && (self.scope != ScopeKind::Block || other.scope == ScopeKind::Block)
    }

    /// Adds this snapshot to the last fence, which it belongs to.
    fn add_to(&self, fences: &mut Fences) {
        fences.add_block(self.block, self.floor);
        for (lane, &time) in (0..).zip(&self.lanes) {
            if time > self.floor {
                fences.add_thread(self.first_lane + lane, time);
            }
        }
        if let Some(acquired) = &self.acquired {
            for (block, time) in acquired.blocks.iter() {
                fences.add_block(block, time);
            }
            for (thread, time) in acquired.threads.iter() {
                fences.add_thread(thread, time);
            }
        }
    }
}

/// Numbers of the last fences that a thread comes after, in the device's order and in the block's.
#[derive(Clone, Copy, Debug, Default)]
struct After {
    device: u32,
    block: u32,
}

impl After {
    fn max(self, other: Self) -> Self {
        Self {
            device: self.device.max(other.device),
            block: self.block.max(other.block),
        }
    }
}

/// A thread's clock and what it knows.
#[derive(Debug)]
struct ThreadClock {
    id: u32,
    /// The number of its block's thread 0.
    first: u32,
    /// The number of its warp's lane 0.
    first_lane: u32,
    /// The slot of its block.
    block_slot: usize,
    now: u32,
    lanes: [u32; LANES],
    acquired: Option<Rc<Knowledge>>,
    /// Release of the thread's last fence: its later atomic stores carry it.
    fence: Option<Rc<Snapshot>>,
    /// Releases carried by the values of its relaxed loads: its next fence acquires them.
    met: Vec<Rc<Snapshot>>,
    after: After,
}

impl ThreadClock {
    /// The thread that starts in `slot`, in a block with this number and this many threads.
    fn new(slot: usize, block_threads: u32, block: u32) -> Self {
        let of_block = (slot % block_threads as usize) as u32;
        let first = block * block_threads;
        Self {
            id: first + of_block,
            first,
            first_lane: first + of_block / LANES as u32 * LANES as u32,
            block_slot: slot / block_threads as usize,
            now: 1,
            lanes: [0; LANES],
            acquired: None,
            fence: None,
            met: Vec::new(),
            after: After::default(),
        }
    }

    /// The thread's place in its warp.
    fn lane(&self) -> usize {
        (self.id - self.first_lane) as usize
    }
}

/// The order of the device's fences and, per block slot, of the block's fences.
#[derive(Debug)]
struct FenceOrder {
    device: Fences,
    blocks: Vec<Fences>,
}

/// The clocks of the resident threads. Threads and blocks are identified by their slots.
#[derive(Debug)]
pub(super) struct Clocks {
    /// Threads per block.
    block_threads: u32,
    threads: Vec<ThreadClock>,
    /// Per block slot: the block's number and its floor.
    blocks: Vec<(u32, u32)>,
    /// The releases to each address.
    released: BTreeMap<usize, Released>,
    /// Present if memory is weak.
    fence_order: Option<FenceOrder>,
}

impl Clocks {
    pub(super) fn new(block_threads: u32, resident: usize) -> Self {
        let slots = block_threads as usize * resident;
        let threads = (0..slots).map(|slot| ThreadClock::new(slot, block_threads, 0));
        Self {
            block_threads,
            threads: threads.collect(),
            blocks: vec![(0, 0); resident],
            released: BTreeMap::new(),
            fence_order: None,
        }
    }

    /// Records the order of fences from now on, for [`known`](Self::known).
    pub(super) fn order_fences(&mut self) {
        let blocks = self.blocks.iter().map(|_| Fences::default()).collect();
        self.fence_order = Some(FenceOrder {
            device: Fences::default(),
            blocks,
        });
    }

    /// Block `block` starts in slot `slot`.
    pub(super) fn start_block(&mut self, slot: usize, block: u32) {
        self.blocks[slot] = (block, 0);
        if let Some(order) = &mut self.fence_order {
            order.blocks[slot] = Fences::default();
        }
        let threads = self.block_threads as usize;
        for slot in slot * threads..(slot + 1) * threads {
            self.threads[slot] = ThreadClock::new(slot, self.block_threads, block);
        }
    }

    /// Number in the grid of the thread in `slot`.
    pub(super) fn id(&self, slot: usize) -> u32 {
        self.threads[slot].id
    }

    /// Time of the thread in `slot`.
    pub(super) fn now(&self, slot: usize) -> u32 {
        self.threads[slot].now
    }

    /// The number of the block of thread `id`.
    pub(super) fn block_of(&self, id: u32) -> u32 {
        id / self.block_threads
    }

    /// Threads per block.
    pub(super) fn block_threads(&self) -> u32 {
        self.block_threads
    }

    /// The slot of the block of the thread in `slot`.
    pub(super) fn block_slot(&self, slot: usize) -> usize {
        self.threads[slot].block_slot
    }

    /// Number of the thread that is lane 0 of the warp of thread `id`.
    pub(super) fn first_lane(&self, id: u32) -> u32 {
        id - id % self.block_threads % LANES as u32
    }

    /// Whether what thread `id` did at its time `time` happens before what the thread in `slot`
    /// does now.
    pub(super) fn ordered(&self, id: u32, time: u32, slot: usize) -> bool {
        let thread = &self.threads[slot];
        if id == thread.id {
            return true;
        }
        // This is asked for every access, so it divides by nothing.
        if id.wrapping_sub(thread.first) < self.block_threads {
            let (_, floor) = self.blocks[thread.block_slot];
            if time <= floor {
                return true;
            }
            let lane = id.wrapping_sub(thread.first_lane) as usize;
            if thread.lanes.get(lane).is_some_and(|&known| time <= known) {
                return true;
            }
        }
        thread.acquired.as_ref().is_some_and(|known| {
            known.threads.knows(id, time) || known.blocks.knows(self.block_of(id), time)
        })
    }

    /// Whether a load by the thread in `slot` must see what thread `id` did at its time `time`:
    /// that is [ordered](Self::ordered) before it, or is known through fences. The load then may
    /// not return a value that was overwritten, or passed over by a load, before that.
    pub(super) fn known(&self, id: u32, time: u32, slot: usize) -> bool {
        if self.ordered(id, time, slot) {
            return true;
        }
        let Some(order) = &self.fence_order else {
            return false;
        };
        let (After { device, block }, of) = (self.threads[slot].after, self.block_of(id));
        order.device.covered(of, id, time, device)
            || order.blocks[self.block_slot(slot)].covered(of, id, time, block)
    }

    /// Records that all threads of the block in slot `block` have met at a barrier.
    pub(super) fn barrier(&mut self, block: usize) {
        let count = self.block_threads as usize;
        let threads = &mut self.threads[block * count..(block + 1) * count];
        let latest = threads.iter().map(|thread| thread.now).max().unwrap_or(0);
        self.blocks[block].1 = latest;
        let known = acquired_by_any(threads.iter());
        let after = threads.iter().map(|thread| thread.after);
        let after = after.reduce(After::max).unwrap_or_default();
        for thread in threads {
            thread.now = latest + 1;
            thread.acquired.clone_from(&known);
            thread.after = after;
        }
    }

    /// Records that the lanes of `mask` have met at `sync_warp`. `first` is the slot of their
    /// warp's lane 0.
    pub(super) fn warp_barrier(&mut self, first: usize, mask: u32) {
        let slots = || {
            (0..LANES)
                .filter(move |lane| mask >> lane & 1 != 0)
                .map(move |lane| (lane, first + lane))
        };
        let mut joined = [0; LANES];
        let mut after = After::default();
        for (lane, slot) in slots() {
            let thread = &self.threads[slot];
            for (joined, &time) in joined.iter_mut().zip(&thread.lanes) {
                *joined = time.max(*joined);
            }
            joined[lane] = thread.now.max(joined[lane]);
            after = after.max(thread.after);
        }
        let known = acquired_by_any(slots().map(|(_, slot)| &self.threads[slot]));
        for (_, slot) in slots() {
            let thread = &mut self.threads[slot];
            thread.lanes = joined;
            thread.now += 1;
            thread.acquired.clone_from(&known);
            thread.after = after;
        }
    }

    /// The knowledge of the thread in `slot`, to release to others. Advances its clock.
    fn snapshot(&mut self, slot: usize, scope: ScopeKind) -> Rc<Snapshot> {
        let (block, floor) = self.blocks[self.block_slot(slot)];
        let thread = &mut self.threads[slot];
        let mut lanes = thread.lanes;
        lanes[thread.lane()] = thread.now;
        thread.now += 1;
        Rc::new(Snapshot {
            thread: thread.id,
            block,
            floor,
            first_lane: thread.first_lane,
            lanes,
            acquired: thread.acquired.clone(),
            scope,
            after: thread.after,
        })
    }

    /// Lets the thread in `slot` acquire `snapshot`, if the snapshot's scope includes it.
    fn acquire(&mut self, slot: usize, snapshot: &Snapshot) {
        let (block, floor) = self.blocks[self.block_slot(slot)];
        if snapshot.scope == ScopeKind::Block && snapshot.block != block {
            return;
        }
        let thread = &mut self.threads[slot];
        thread.after = thread.after.max(After {
            device: snapshot.after.device,
            // Each block has its own order of fences.
            block: if snapshot.block == block {
                snapshot.after.block
            } else {
                0
            },
        });
        let elsewhere = snapshot.block != block || snapshot.first_lane != thread.first_lane;
        if !elsewhere {
            for (known, &time) in thread.lanes.iter_mut().zip(&snapshot.lanes) {
                *known = time.max(*known);
            }
        }
        if !elsewhere && snapshot.acquired.is_none() {
            return;
        }
        let known = Rc::make_mut(thread.acquired.get_or_insert_default());
        if elsewhere {
            let covered = if snapshot.block == block {
                floor
            } else {
                snapshot.floor
            };
            if snapshot.block != block && snapshot.floor > 0 {
                known.blocks.raise(snapshot.block, snapshot.floor);
            }
            let lanes = (0..LANES).map(|lane| {
                let id = snapshot.first_lane + lane as u32;
                (id, snapshot.lanes[lane])
            });
            known
                .threads
                .add_all(lanes.filter(|&(_, time)| time > covered));
        }
        if let Some(acquired) = &snapshot.acquired {
            known.add(acquired);
        }
    }

    /// Records a fence of the thread in `slot`.
    pub(super) fn fence(&mut self, slot: usize, scope: ScopeKind) {
        let (block, _) = self.blocks[self.block_slot(slot)];
        for snapshot in std::mem::take(&mut self.threads[slot].met) {
            if scope == ScopeKind::Block && snapshot.block != block {
                // A fence of wider scope may still acquire it.
                self.threads[slot].met.push(snapshot);
            } else {
                self.acquire(slot, &snapshot);
            }
        }
        let block_slot = self.block_slot(slot);
        let after = &mut self.threads[slot].after;
        if let Some(order) = &mut self.fence_order {
            after.block = order.blocks[block_slot].next();
            if scope != ScopeKind::Block {
                after.device = order.device.next();
            }
        }
        let snapshot = self.snapshot(slot, scope);
        if let Some(order) = &mut self.fence_order {
            snapshot.add_to(&mut order.blocks[block_slot]);
            if scope != ScopeKind::Block {
                snapshot.add_to(&mut order.device);
            }
        }
        self.threads[slot].fence = Some(snapshot);
    }

    /// Forgets the releases to memory that now serves another block.
    pub(super) fn forget(&mut self, start: usize, bytes: usize) {
        while let Some((&address, _)) = self.released.range(start..start + bytes).next() {
            self.released.remove(&address);
        }
    }

    /// The releases to `address`.
    pub(super) fn released(&self, address: usize) -> Option<Released> {
        // Almost no kernel releases anything to an address.
        if self.released.is_empty() {
            return None;
        }
        self.released.get(&address).cloned()
    }

    /// Records an atomic load by the thread in `slot`; `released` came with the loaded value.
    pub(super) fn atomic_load(&mut self, slot: usize, released: Option<&Released>, acquire: bool) {
        for snapshot in released.into_iter().flat_map(|released| &**released) {
            if acquire {
                self.acquire(slot, snapshot);
            } else {
                add(&mut self.threads[slot].met, snapshot);
            }
        }
    }

    /// Records an atomic store, or the store of an atomic update, to `address`. An update keeps the
    /// earlier releases there.
    pub(super) fn atomic_store(
        &mut self,
        slot: usize,
        address: usize,
        release: Option<ScopeKind>,
        update: bool,
    ) {
        let snapshot = match release {
            Some(scope) => Some(self.snapshot(slot, scope)),
            None => self.threads[slot].fence.clone(),
        };
        match snapshot {
            Some(snapshot) => {
                let released = self.released.entry(address).or_default();
                if update {
                    add(Rc::make_mut(released), &snapshot);
                } else {
                    *released = Rc::new(vec![snapshot]);
                }
            }
            None if !update && !self.released.is_empty() => {
                self.released.remove(&address);
            }
            None => {}
        }
    }
}

/// Adds `snapshot` to `all`, unless one of them replaces it. Removes those that it replaces.
fn add(all: &mut Vec<Rc<Snapshot>>, snapshot: &Rc<Snapshot>) {
    if !all.iter().any(|other| other.replaces(snapshot)) {
        all.retain(|other| !snapshot.replaces(other));
        all.push(Rc::clone(snapshot));
    }
}

/// All that any of `threads` has acquired.
fn acquired_by_any<'a>(threads: impl Iterator<Item = &'a ThreadClock>) -> Option<Rc<Knowledge>> {
    let mut known: Option<Rc<Knowledge>> = None;
    // Threads share what they acquired at their last meeting.
    let mut last: Option<&Rc<Knowledge>> = None;
    for acquired in threads.filter_map(|thread| thread.acquired.as_ref()) {
        if last.is_some_and(|last| Rc::ptr_eq(last, acquired)) {
            continue;
        }
        last = Some(acquired);
        match &mut known {
            Some(known) => Rc::make_mut(known).add(acquired),
            None => known = Some(Rc::clone(acquired)),
        }
    }
    known
}

#[cfg(test)]
mod tests;
