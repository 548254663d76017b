//! Who runs next.

use std::collections::BinaryHeap;

use fastrand::Rng;

/// How the next thread is picked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// One of the next two, by the seed: each launch draws.
    #[default]
    Mixed,
    /// Any thread that can go on, each as likely as the other.
    Random,
    /// The thread with the highest priority. Priorities are random, by thread, by warp or by block, and now and then the
    /// running thread's falls below all others: so some threads are far behind the others, for long.
    Priorities,
    /// The first thread of the first block that can go on. Blocks start in order.
    InOrder,
}

/// Priorities at and below this belong to threads that were moved back.
const LOW: u64 = 1 << 40;

/// The threads that can go on, by their slots.
#[derive(Debug)]
pub(super) struct Ready {
    order: Order,
    /// Where all choices come from.
    pub(super) rng: Rng,
}

#[derive(Debug)]
enum Order {
    Random(Vec<usize>),
    Priorities(Priorities),
}

#[derive(Debug)]
struct Priorities {
    ready: BinaryHeap<(u64, usize)>,
    /// Each slot's.
    of: Vec<u64>,
    next_low: u64,
    level: Level,
    /// One in so many steps moves the thread that would go on back; 0 is never.
    change: u32,
}

/// What has a priority of its own.
#[derive(Clone, Copy, Debug)]
enum Level {
    Threads,
    Warps,
    Blocks,
    /// The order of threads and blocks itself.
    Numbers,
}

impl Ready {
    /// For so many slots.
    pub(super) fn new(schedule: Schedule, slots: usize, mut rng: Rng) -> Self {
        let random = match schedule {
            Schedule::Mixed => rng.bool(),
            Schedule::Random => true,
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
        Self { order, rng }
    }

    /// Gives priorities to the threads of a block that starts: `block` is its place in the order of starts, `first` the
    /// slot of its first thread.
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
        match &mut self.order {
            Order::Random(ready) => ready.push(slot),
            Order::Priorities(order) => order.ready.push((order.of[slot], slot)),
        }
    }

    /// Takes out the thread that goes on.
    pub(super) fn pop(&mut self) -> Option<usize> {
        match &mut self.order {
            Order::Random(ready) if ready.is_empty() => None,
            Order::Random(ready) => {
                let place = self.rng.usize(..ready.len());
                Some(ready.swap_remove(place))
            }
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
        match &self.order {
            Order::Random(ready) => ready.is_empty(),
            Order::Priorities(order) => order.ready.is_empty(),
        }
    }

    pub(super) fn all(&self, mut holds: impl FnMut(usize) -> bool) -> bool {
        match &self.order {
            Order::Random(ready) => ready.iter().all(|&slot| holds(slot)),
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
