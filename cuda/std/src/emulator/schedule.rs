//! Which thread runs next.

use std::collections::BinaryHeap;
use std::ops::Range;

use fastrand::Rng;

use super::explore::Trail;

/// How the next thread is picked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// One of the next three, drawn from the seed for each launch: of 8 launches, on average 3 use
    /// `Random`, 3 `Priorities` and 2 `Stalls`.
    #[default]
    Mixed,
    /// Any thread that can go on, all equally likely.
    Random,
    /// The thread with the highest priority. Priorities are random, per thread, per warp or per
    /// block. Now and then the running thread's priority falls below all others. So some threads
    /// stay far behind the others.
    Priorities,
    /// One thread, one warp or one block stalls at a time, and the others go on in one of the two
    /// ways above. A stall lasts from 16 to some 250,000 steps, or until nothing else makes
    /// progress. Most stalls begin right after an atomic write that changed memory, where a wrong
    /// order of two publications shows.
    Stalls,
    /// The first thread of the first block that can go on. Blocks start in order.
    InOrder,
}

/// Priorities at and below this belong to threads that were moved back.
const LOW: u64 = 1 << 40;

/// The threads that can go on, by their slots.
#[derive(Debug)]
pub(super) struct Ready {
    order: Order,
    stalls: Option<Stalls>,
    /// The source of all choices.
    pub(super) rng: Rng,
}

#[derive(Debug)]
enum Order {
    Random(Vec<usize>),
    Priorities(Priorities),
    Explored(Explored),
}

/// Threads that run as an exploration says.
#[derive(Debug)]
struct Explored {
    ready: Vec<usize>,
    /// The thread that runs, or ran last.
    current: Option<usize>,
    /// Per slot: the launch's number of changes when the thread began to wait for a change; 0 if it
    /// does not wait.
    waits: Vec<u64>,
    /// Per slot: when the thread last went on.
    went_on: Vec<u64>,
    steps: u64,
}

impl Explored {
    fn new(slots: usize) -> Self {
        Self {
            ready: Vec::new(),
            current: None,
            waits: vec![0; slots],
            went_on: vec![0; slots],
            steps: 0,
        }
    }

    /// Takes out the thread that goes on: the running one or, if `trail` says so, another one. If
    /// all threads wait, they go on in turn.
    fn pop(&mut self, changes: u64, trail: &mut Trail) -> Option<usize> {
        self.ready.sort_unstable();
        let waits = |slot: usize| self.waits[slot] == changes;
        let mut options: Vec<usize> = self.ready.iter().copied().filter(|&s| !waits(s)).collect();
        let current = options.iter().position(|&slot| Some(slot) == self.current);
        if let Some(current) = current {
            options[..=current].rotate_right(1);
        }
        let slot = if options.is_empty() {
            *self.ready.iter().min_by_key(|&&slot| self.went_on[slot])?
        } else {
            options[trail.choose_thread(options.len(), current.is_some())]
        };
        self.ready.retain(|&other| other != slot);
        self.current = Some(slot);
        self.steps += 1;
        self.went_on[slot] = self.steps;
        self.waits[slot] = 0;
        Some(slot)
    }
}

#[derive(Debug)]
struct Priorities {
    ready: BinaryHeap<(u64, usize)>,
    /// The priority of each slot.
    of: Vec<u64>,
    next_low: u64,
    level: Level,
    /// One in this many steps moves the next thread behind the others; 0 for never.
    change: u32,
}

/// What has a priority of its own.
#[derive(Clone, Copy, Debug)]
enum Level {
    Threads,
    Warps,
    Blocks,
    /// Threads and blocks run in order.
    Numbers,
}

/// Threads that stall while others go on: one thread, one warp or one block at a time.
#[derive(Debug)]
struct Stalls {
    /// The number of consecutive slots that stall together.
    together: usize,
    /// Threads per block.
    block_threads: usize,
    /// One in this many atomic updates begins a stall. So does one in [`STORES`] times as many
    /// atomic stores, which are often data, and one in [`RARELY`] times as many steps.
    one_in: u32,
    /// The slots that stall; none if the range is empty.
    slots: Range<usize>,
    /// Steps until they go on.
    left: u64,
    /// The stalled slots that could go on.
    held: Vec<usize>,
}

/// Factor by which stalls after an atomic store are rarer than stalls after an update.
const STORES: u32 = 16;
/// The same factor for stalls elsewhere.
const RARELY: u32 = 256;
/// Base-2 logarithm of the longest stall, in steps.
const LOG_LONGEST: u32 = 18;

impl Stalls {
    fn new(block_threads: usize, rng: &mut Rng) -> Self {
        Self {
            together: [1, 32.min(block_threads), block_threads][rng.usize(..3)],
            block_threads,
            one_in: [1, 4, 32][rng.usize(..3)],
            slots: 0..0,
            left: 0,
            held: Vec::new(),
        }
    }

    /// Stalls the thread in `slot` and the others of its group, unless a stall is in progress.
    fn begin(&mut self, slot: usize, rng: &mut Rng) {
        if !self.slots.is_empty() {
            return;
        }
        let block = slot / self.block_threads * self.block_threads;
        let first = block + (slot - block) / self.together * self.together;
        self.slots = first..(first + self.together).min(block + self.block_threads);
        self.left = 1 << rng.u32(4..LOG_LONGEST);
        self.left += rng.u64(..self.left);
    }
}

impl Ready {
    /// An empty set for `slots` threads, in blocks of `block_threads`.
    pub(super) fn new(
        schedule: Schedule,
        slots: usize,
        block_threads: usize,
        mut rng: Rng,
    ) -> Self {
        let schedule = match schedule {
            Schedule::Mixed => match rng.u32(..8) {
                0..3 => Schedule::Random,
                3..6 => Schedule::Priorities,
                _ => Schedule::Stalls,
            },
            schedule => schedule,
        };
        let stalls = (schedule == Schedule::Stalls).then(|| Stalls::new(block_threads, &mut rng));
        let random = match schedule {
            Schedule::Random => true,
            Schedule::Mixed | Schedule::Stalls => rng.bool(),
            Schedule::Priorities | Schedule::InOrder => false,
        };
        let order = if random {
            Order::Random(Vec::new())
        } else {
            let in_order = schedule == Schedule::InOrder;
            let (level, change) = if in_order {
                (Level::Numbers, 0)
            } else {
                let levels = [Level::Threads, Level::Warps, Level::Blocks];
                (levels[rng.usize(..3)], [16, 128, 1024][rng.usize(..3)])
            };
            Order::Priorities(Priorities {
                ready: BinaryHeap::new(),
                of: vec![0; slots],
                next_low: LOW,
                level,
                change,
            })
        };
        Self { order, stalls, rng }
    }

    /// An empty set for an exploration.
    pub(super) fn explored(slots: usize, rng: Rng) -> Self {
        Self {
            order: Order::Explored(Explored::new(slots)),
            stalls: None,
            rng,
        }
    }

    /// In an exploration, makes the thread in `slot` wait for a change, unless all others wait too.
    /// `changes` is the number of changes so far.
    pub(super) fn wait(&mut self, slot: usize, changes: u64) {
        if let Order::Explored(order) = &mut self.order {
            order.waits[slot] = changes;
        }
    }

    /// Gives priorities to the threads of a block that starts. `block` is its position in the order
    /// of starts, `first` the slot of its first thread.
    pub(super) fn start_block(&mut self, block: u64, first: usize, threads: usize) {
        let Order::Priorities(order) = &mut self.order else {
            return;
        };
        let rng = &mut self.rng;
        let of_block = rng.u64(1..1 << 20);
        let mut of_warp = 0;
        for t in 0..threads {
            if t % 32 == 0 {
                of_warp = rng.u64(1..1 << 20);
            }
            let own = rng.u64(0..1 << 20);
            let priority = match order.level {
                Level::Threads => own,
                Level::Warps => of_warp << 20 | own,
                Level::Blocks => of_block << 40 | of_warp << 20 | own,
                Level::Numbers => (1 << 60) - (block << 11) - t as u64,
            };
            order.of[first + t] = 2 * LOW + priority;
        }
    }

    pub(super) fn push(&mut self, slot: usize) {
        if let Some(stalls) = &mut self.stalls
            && stalls.slots.contains(&slot)
        {
            stalls.held.push(slot);
            return;
        }
        self.push_to_order(slot);
    }

    fn push_to_order(&mut self, slot: usize) {
        match &mut self.order {
            Order::Random(ready) => ready.push(slot),
            Order::Explored(order) => order.ready.push(slot),
            Order::Priorities(order) => order.ready.push((order.of[slot], slot)),
        }
    }

    /// Takes out the thread that goes on. `changes` and `trail` are the launch's.
    pub(super) fn pop(&mut self, changes: u64, trail: Option<&mut Trail>) -> Option<usize> {
        if let (Order::Explored(order), Some(trail)) = (&mut self.order, trail) {
            return order.pop(changes, trail);
        }
        let Some(stalls) = &mut self.stalls else {
            return self.pop_from_order();
        };
        if stalls.left > 0 {
            stalls.left -= 1;
        } else if !stalls.slots.is_empty() {
            self.end_stall();
        }
        loop {
            let Some(slot) = self.pop_from_order() else {
                // No other thread can go on.
                if self.end_stall() {
                    continue;
                }
                return None;
            };
            let stalls = self.stalls.as_mut()?;
            if stalls.slots.is_empty() && self.rng.u32(..stalls.one_in * RARELY) == 0 {
                stalls.begin(slot, &mut self.rng);
            }
            if !stalls.slots.contains(&slot) {
                return Some(slot);
            }
            stalls.held.push(slot);
        }
    }

    /// Records that the running thread, in `slot`, has changed memory by an atomic update or store.
    pub(super) fn note_write(&mut self, slot: usize, update: bool) {
        let Some(stalls) = &mut self.stalls else {
            return;
        };
        let one_in = stalls.one_in * if update { 1 } else { STORES };
        if self.rng.u32(..one_in) == 0 {
            stalls.begin(slot, &mut self.rng);
        }
    }

    /// Ends the stall; returns whether any of the stalled threads can go on.
    pub(super) fn end_stall(&mut self) -> bool {
        let Some(stalls) = &mut self.stalls else {
            return false;
        };
        stalls.slots = 0..0;
        let held = std::mem::take(&mut stalls.held);
        for &slot in &held {
            self.push_to_order(slot);
        }
        !held.is_empty()
    }

    /// Ends the stall, and allows no further ones.
    pub(super) fn end_stalls(&mut self) {
        self.end_stall();
        self.stalls = None;
    }

    /// Whether a thread that could go on is stalled.
    pub(super) fn stalls(&self) -> bool {
        self.stalls.as_ref().is_some_and(|s| !s.held.is_empty())
    }

    fn pop_from_order(&mut self) -> Option<usize> {
        match &mut self.order {
            Order::Random(ready) if ready.is_empty() => None,
            Order::Random(ready) => {
                let place = self.rng.usize(..ready.len());
                Some(ready.swap_remove(place))
            }
            // Its choices come from a trail.
            Order::Explored(_) => None,
            Order::Priorities(order) => {
                let (_, slot) = order.ready.pop()?;
                if order.change == 0 || self.rng.u32(..order.change) != 0 {
                    return Some(slot);
                }
                order.move_back(slot);
                order.ready.push((order.of[slot], slot));
                order.ready.pop().map(|(_, slot)| slot)
            }
        }
    }

    /// Moves a thread that waits for others behind them.
    pub(super) fn move_back(&mut self, slot: usize) {
        if let Order::Priorities(order) = &mut self.order {
            order.move_back(slot);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.stalls()
            && match &self.order {
                Order::Random(ready) | Order::Explored(Explored { ready, .. }) => ready.is_empty(),
                Order::Priorities(order) => order.ready.is_empty(),
            }
    }

    /// Whether `holds` is true of all threads that can go on and do not stall.
    pub(super) fn all(&self, mut holds: impl FnMut(usize) -> bool) -> bool {
        match &self.order {
            Order::Random(ready) | Order::Explored(Explored { ready, .. }) => {
                ready.iter().all(|&slot| holds(slot))
            }
            Order::Priorities(order) => order.ready.iter().all(|&(_, slot)| holds(slot)),
        }
    }
}

impl Priorities {
    fn move_back(&mut self, slot: usize) {
        self.next_low -= 1;
        self.of[slot] = self.next_low;
    }
}
