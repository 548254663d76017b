//! What happens before what: vector clocks, kept small by the shape of a grid.
//!
//! Every thread has a clock that moves on when it lets others know what it has done: at a barrier, at `sync_warp`, at a
//! fence and at a release. An access at a thread's time `c` happens before what another thread does now if the other
//! one knows that thread's time `c`. A full vector of all threads' times would be too much; knowledge has three parts:
//! - a block's *floor*: what all its threads know of each other since its last barrier;
//! - a lane's times of the lanes of its own warp;
//! - whatever else was acquired from other warps and blocks, in a map that most threads don't have.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::atomic::ScopeKind;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// What was acquired from elsewhere.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// By block: the time up to which all its threads are known.
    blocks: BTreeMap<u32, u32>,
    /// By thread.
    threads: BTreeMap<u32, u32>,
}

impl Knowledge {
    fn add(&mut self, other: &Self) {
        for (&block, &time) in &other.blocks {
            raise(&mut self.blocks, block, time);
        }
        for (&thread, &time) in &other.threads {
            raise(&mut self.threads, thread, time);
        }
    }
}

fn raise(map: &mut BTreeMap<u32, u32>, key: u32, time: u32) {
    let known = map.entry(key).or_insert(time);
    *known = time.max(*known);
}

/// What a thread knew when it released something.
#[derive(Debug)]
pub(super) struct Snapshot {
    block: u32,
    floor: u32,
    /// The thread that is lane 0 of its warp.
    first_lane: u32,
    lanes: [u32; LANES],
    acquired: Option<Rc<Knowledge>>,
    /// Who may acquire it: the threads of its block alone, or all.
    scope: ScopeKind,
}

/// A thread's clock and what it knows.
#[derive(Debug)]
struct ThreadClock {
    id: u32,
    now: u32,
    lanes: [u32; LANES],
    acquired: Option<Rc<Knowledge>>,
    /// What the thread's last fence released: its later atomic stores carry it.
    fence: Option<Rc<Snapshot>>,
    /// What its relaxed loads have met: its next fence acquires it.
    met: Vec<Rc<Snapshot>>,
}

/// The clocks of the threads that are resident. Threads and blocks are known by their slots.
#[derive(Debug)]
pub(super) struct Clocks {
    /// Threads of a block.
    block_threads: u32,
    threads: Vec<ThreadClock>,
    /// Per slot of a block: its number and its floor.
    blocks: Vec<(u32, u32)>,
    /// What was released to addresses.
    released: BTreeMap<usize, Vec<Rc<Snapshot>>>,
}

impl Clocks {
    pub(super) fn new(block_threads: u32, resident: usize) -> Self {
        let slots = block_threads as usize * resident;
        let clock = |_| ThreadClock {
            id: 0,
            now: 1,
            lanes: [0; LANES],
            acquired: None,
            fence: None,
            met: Vec::new(),
        };
        Self {
            block_threads,
            threads: (0..slots).map(clock).collect(),
            blocks: vec![(0, 0); resident],
            released: BTreeMap::new(),
        }
    }

    /// Block `block` starts in slot `slot`.
    pub(super) fn start_block(&mut self, slot: usize, block: u32) {
        self.blocks[slot] = (block, 0);
        let threads = self.block_threads as usize;
        for (t, thread) in self.threads[slot * threads..(slot + 1) * threads]
            .iter_mut()
            .enumerate()
        {
            *thread = ThreadClock {
                id: block * self.block_threads + t as u32,
                now: 1,
                lanes: [0; LANES],
                acquired: None,
                fence: None,
                met: Vec::new(),
            };
        }
    }

    /// The thread in `slot`, by its number in the grid.
    pub(super) fn id(&self, slot: usize) -> u32 {
        self.threads[slot].id
    }

    /// Its time.
    pub(super) fn now(&self, slot: usize) -> u32 {
        self.threads[slot].now
    }

    /// The number of the block of thread `id`.
    pub(super) fn block_of(&self, id: u32) -> u32 {
        id / self.block_threads
    }

    /// Threads of a block.
    pub(super) fn block_threads(&self) -> u32 {
        self.block_threads
    }

    fn block_slot(&self, slot: usize) -> usize {
        slot / self.block_threads as usize
    }

    fn lane(&self, slot: usize) -> usize {
        slot % self.block_threads as usize % LANES
    }

    /// The number of the thread that is lane 0 of this one's warp.
    pub(super) fn first_lane(&self, id: u32) -> u32 {
        id - id % self.block_threads % LANES as u32
    }

    /// Whether what thread `id` did at its time `time` happens before what the thread in `slot` does now.
    pub(super) fn ordered(&self, id: u32, time: u32, slot: usize) -> bool {
        let thread = &self.threads[slot];
        if id == thread.id {
            return true;
        }
        let (block, floor) = self.blocks[self.block_slot(slot)];
        let its_block = self.block_of(id);
        if its_block == block {
            if time <= floor {
                return true;
            }
            if self.first_lane(id) == self.first_lane(thread.id) {
                let lane = id % self.block_threads % LANES as u32;
                if time <= thread.lanes[lane as usize] {
                    return true;
                }
            }
        }
        thread.acquired.as_ref().is_some_and(|known| {
            known.blocks.get(&its_block).is_some_and(|&t| time <= t)
                || known.threads.get(&id).is_some_and(|&t| time <= t)
        })
    }

    /// All threads of the block in slot `block` have met at a barrier.
    pub(super) fn barrier(&mut self, block: usize) {
        let count = self.block_threads as usize;
        let threads = &mut self.threads[block * count..(block + 1) * count];
        let latest = threads.iter().map(|thread| thread.now).max().unwrap_or(0);
        self.blocks[block].1 = latest;
        share_acquired(threads.iter_mut());
        for thread in threads {
            thread.now = latest + 1;
        }
    }

    /// The lanes of `mask` have met at `sync_warp`; `first` is the slot of their warp's lane 0.
    pub(super) fn warp_barrier(&mut self, first: usize, mask: u32) {
        let slots = || {
            (0..LANES)
                .filter(move |lane| mask >> lane & 1 != 0)
                .map(move |lane| (lane, first + lane))
        };
        let mut joined = [0; LANES];
        let mut known: Option<Knowledge> = None;
        for (lane, slot) in slots() {
            let thread = &self.threads[slot];
            for (joined, &time) in joined.iter_mut().zip(&thread.lanes) {
                *joined = time.max(*joined);
            }
            joined[lane] = thread.now.max(joined[lane]);
            if let Some(acquired) = &thread.acquired {
                known.get_or_insert_default().add(acquired);
            }
        }
        let known = known.map(Rc::new);
        for (_, slot) in slots() {
            let thread = &mut self.threads[slot];
            thread.lanes = joined;
            thread.now += 1;
            thread.acquired.clone_from(&known);
        }
    }

    /// What the thread in `slot` knows, to hand to others. Its clock moves on.
    fn snapshot(&mut self, slot: usize, scope: ScopeKind) -> Rc<Snapshot> {
        let (block, floor) = self.blocks[self.block_slot(slot)];
        let lane = self.lane(slot);
        let first_lane = self.first_lane(self.threads[slot].id);
        let thread = &mut self.threads[slot];
        let mut lanes = thread.lanes;
        lanes[lane] = thread.now;
        thread.now += 1;
        Rc::new(Snapshot {
            block,
            floor,
            first_lane,
            lanes,
            acquired: thread.acquired.clone(),
            scope,
        })
    }

    /// The thread in `slot` acquires what `snapshot` released, if the scope reaches it.
    fn acquire(&mut self, slot: usize, snapshot: &Snapshot) {
        let (block, floor) = self.blocks[self.block_slot(slot)];
        if snapshot.scope == ScopeKind::Block && snapshot.block != block {
            return;
        }
        let first_lane = self.first_lane(self.threads[slot].id);
        let thread = &mut self.threads[slot];
        let mut known = None;
        if snapshot.block != block || snapshot.first_lane != first_lane {
            let known = known.get_or_insert_with(Knowledge::default);
            if snapshot.block != block && snapshot.floor > 0 {
                raise(&mut known.blocks, snapshot.block, snapshot.floor);
            }
            let covered = if snapshot.block == block {
                floor
            } else {
                snapshot.floor
            };
            for (lane, &time) in snapshot.lanes.iter().enumerate() {
                if time > covered {
                    raise(&mut known.threads, snapshot.first_lane + lane as u32, time);
                }
            }
        } else {
            for (known, &time) in thread.lanes.iter_mut().zip(&snapshot.lanes) {
                *known = time.max(*known);
            }
        }
        if let Some(acquired) = &snapshot.acquired {
            known.get_or_insert_with(Knowledge::default).add(acquired);
        }
        if let Some(known) = known {
            Rc::make_mut(thread.acquired.get_or_insert_default()).add(&known);
        }
    }

    /// A fence of the thread in `slot`.
    pub(super) fn fence(&mut self, slot: usize, scope: ScopeKind) {
        let (block, _) = self.blocks[self.block_slot(slot)];
        for snapshot in std::mem::take(&mut self.threads[slot].met) {
            if scope == ScopeKind::Block && snapshot.block != block {
                // A fence that reaches further may still come.
                self.threads[slot].met.push(snapshot);
            } else {
                self.acquire(slot, &snapshot);
            }
        }
        let snapshot = self.snapshot(slot, scope);
        self.threads[slot].fence = Some(snapshot);
    }

    /// The memory serves another block: what was released there is gone.
    pub(super) fn forget(&mut self, start: usize, bytes: usize) {
        while let Some((&address, _)) = self.released.range(start..start + bytes).next() {
            self.released.remove(&address);
        }
    }

    /// An atomic load at `address`.
    pub(super) fn atomic_load(&mut self, slot: usize, address: usize, acquire: bool) {
        // Almost no kernel releases anything to an address.
        if self.released.is_empty() {
            return;
        }
        let Some(snapshots) = self.released.get(&address).cloned() else {
            return;
        };
        for snapshot in snapshots {
            if acquire {
                self.acquire(slot, &snapshot);
            } else {
                let met = &mut self.threads[slot].met;
                if !met.iter().any(|other| Rc::ptr_eq(other, &snapshot)) {
                    met.push(snapshot);
                }
            }
        }
    }

    /// An atomic store, or the store of an atomic update, to `address`. An update leaves what others have released there.
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
                if !update {
                    released.clear();
                }
                if !released.iter().any(|other| Rc::ptr_eq(other, &snapshot)) {
                    released.push(snapshot);
                }
            }
            None if !update && !self.released.is_empty() => {
                self.released.remove(&address);
            }
            None => {}
        }
    }
}

/// Gives all `threads` what any of them has acquired.
fn share_acquired<'a>(threads: impl Iterator<Item = &'a mut ThreadClock>) {
    let threads: Vec<_> = threads.collect();
    if threads.iter().all(|thread| thread.acquired.is_none()) {
        return;
    }
    let mut known = Knowledge::default();
    for thread in &threads {
        if let Some(acquired) = &thread.acquired {
            known.add(acquired);
        }
    }
    let known = Rc::new(known);
    for thread in threads {
        thread.acquired = Some(Rc::clone(&known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blocks of 64 threads: slots 0 to 63 and 64 to 127, which are also the threads' numbers.
    fn clocks() -> Clocks {
        let mut clocks = Clocks::new(64, 2);
        clocks.start_block(0, 0);
        clocks.start_block(1, 1);
        clocks
    }

    /// What `a` has done so far, as `ordered` wants it.
    fn so_far(clocks: &Clocks, a: usize) -> (u32, u32) {
        (clocks.id(a), clocks.now(a))
    }

    const FLAG: usize = 0x1000;

    #[test]
    fn nothing_orders_threads_at_first() {
        let clocks = clocks();
        let (id, time) = so_far(&clocks, 5);
        assert!(clocks.ordered(id, time, 5));
        for other in [4, 6, 40, 70] {
            assert!(!clocks.ordered(id, time, other));
        }
    }

    #[test]
    fn a_barrier_orders_its_block_up_to_then() {
        let mut clocks = clocks();
        let (id, before) = so_far(&clocks, 5);
        clocks.barrier(0);
        let after = clocks.now(5);
        assert!(clocks.ordered(id, before, 40));
        assert!(!clocks.ordered(id, after, 40));
        assert!(!clocks.ordered(id, before, 70));
    }

    #[test]
    fn a_warp_barrier_orders_its_lanes_and_what_they_know() {
        let mut clocks = clocks();
        let (id, time) = so_far(&clocks, 33);
        clocks.warp_barrier(32, 0b0110);
        assert!(clocks.ordered(id, time, 34));
        assert!(!clocks.ordered(id, time, 32));
        assert!(!clocks.ordered(id, time, 1));
        // Lane 2 tells lane 3 about lane 1.
        clocks.warp_barrier(32, 0b1100);
        assert!(clocks.ordered(id, time, 35));
        assert!(!clocks.ordered(id, clocks.now(33), 35));
    }

    #[test]
    fn release_and_acquire_order_across_blocks() {
        let mut clocks = clocks();
        let (id, time) = so_far(&clocks, 5);
        clocks.atomic_store(5, FLAG, Some(ScopeKind::Device), false);
        assert!(!clocks.ordered(id, time, 70));
        clocks.atomic_load(70, FLAG, true);
        assert!(clocks.ordered(id, time, 70));
        // What comes after the release is not covered, nor is any other thread.
        assert!(!clocks.ordered(id, clocks.now(5), 70));
        assert!(!clocks.ordered(id, time, 71));
        clocks.barrier(1);
        assert!(clocks.ordered(id, time, 71));
    }

    #[test]
    fn a_release_carries_what_its_thread_knew() {
        let mut clocks = clocks();
        let (id, time) = so_far(&clocks, 40);
        clocks.barrier(0);
        let (next_id, next_time) = so_far(&clocks, 40);
        clocks.atomic_store(5, FLAG, Some(ScopeKind::Device), false);
        clocks.atomic_load(70, FLAG, true);
        assert!(clocks.ordered(id, time, 70));
        assert!(!clocks.ordered(next_id, next_time, 70));
        // And hands it on.
        clocks.atomic_store(70, FLAG + 4, Some(ScopeKind::Device), false);
        clocks.atomic_load(64, FLAG + 4, true);
        assert!(clocks.ordered(id, time, 64));
    }

    #[test]
    fn a_relaxed_load_needs_a_fence() {
        let mut clocks = clocks();
        let (id, time) = so_far(&clocks, 5);
        clocks.atomic_store(5, FLAG, Some(ScopeKind::Device), false);
        clocks.fence(70, ScopeKind::Device);
        clocks.atomic_load(70, FLAG, false);
        assert!(!clocks.ordered(id, time, 70));
        clocks.fence(70, ScopeKind::Device);
        assert!(clocks.ordered(id, time, 70));
    }

    #[test]
    fn a_relaxed_store_carries_the_fence_before_it() {
        let mut clocks = clocks();
        let (id, before) = so_far(&clocks, 5);
        clocks.fence(5, ScopeKind::Device);
        let after = clocks.now(5);
        clocks.atomic_store(5, FLAG, None, false);
        clocks.atomic_load(70, FLAG, true);
        assert!(clocks.ordered(id, before, 70));
        // What was done between the fence and the store is not carried.
        assert!(!clocks.ordered(id, after, 70));
    }

    #[test]
    fn a_store_ends_a_release_and_an_update_does_not() {
        for update in [false, true] {
            let mut clocks = clocks();
            let (id, time) = so_far(&clocks, 5);
            clocks.atomic_store(5, FLAG, Some(ScopeKind::Device), false);
            clocks.atomic_store(6, FLAG, None, update);
            clocks.atomic_load(70, FLAG, true);
            assert_eq!(clocks.ordered(id, time, 70), update);
        }
    }

    #[test]
    fn a_release_to_the_block_reaches_no_other() {
        let mut clocks = clocks();
        let (id, time) = so_far(&clocks, 5);
        clocks.atomic_store(5, FLAG, Some(ScopeKind::Block), false);
        clocks.atomic_load(70, FLAG, true);
        clocks.atomic_load(40, FLAG, true);
        assert!(!clocks.ordered(id, time, 70));
        assert!(clocks.ordered(id, time, 40));
        assert!(!clocks.ordered(id, time, 41));
    }

    #[test]
    fn a_fence_of_the_block_reaches_no_other() {
        let mut clocks = clocks();
        let (id, time) = so_far(&clocks, 5);
        clocks.fence(5, ScopeKind::Block);
        clocks.atomic_store(5, FLAG, None, true);
        for reader in [40, 70] {
            clocks.atomic_load(reader, FLAG, false);
            clocks.fence(reader, ScopeKind::Device);
        }
        assert!(clocks.ordered(id, time, 40));
        assert!(!clocks.ordered(id, time, 70));
        // On the side that acquires, too.
        clocks.fence(5, ScopeKind::Device);
        clocks.atomic_store(5, FLAG, None, false);
        clocks.atomic_load(70, FLAG, false);
        clocks.fence(70, ScopeKind::Block);
        assert!(!clocks.ordered(id, time, 70));
        clocks.fence(70, ScopeKind::Device);
        assert!(clocks.ordered(id, time, 70));
    }

    #[test]
    fn a_new_block_knows_nothing_of_the_one_before_in_its_slot() {
        let mut clocks = clocks();
        clocks.atomic_store(70, FLAG, Some(ScopeKind::Device), false);
        clocks.barrier(1);
        let (id, time) = so_far(&clocks, 70);
        clocks.start_block(1, 2);
        assert_eq!(clocks.id(70), 2 * 64 + 6);
        assert!(!clocks.ordered(id, time, 70));
        assert!(!clocks.ordered(id, 1, 70));
        // The release is still there to be acquired, until its memory serves another block.
        clocks.atomic_load(70, FLAG, true);
        assert!(clocks.ordered(id, 1, 70));
        clocks.forget(FLAG, 4);
        clocks.atomic_load(71, FLAG, true);
        assert!(!clocks.ordered(id, 1, 71));
    }
}
