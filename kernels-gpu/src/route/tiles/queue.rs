//! The work list: which slots are given smaller labels, and when a net's labels are final.
//!
//! Each slot has a word for the least priority of the labels that the slots beside it give to it.
//! Blocks look for work in these words, each first among those of its own slots.
//!
//! # Why routing ends
//!
//! No block waits for a block that is not running. A block that looks for work ends when all nets
//! are done, so every other net must have work that a running block does or finds:
//! - Such a net has a hold. Each hold belongs to an active slot, to the block that has taken a slot
//!   or advances the net, or to a block that is about to mark a slot active. These blocks have
//!   started, wait for no other block, and give back their holds after a finite number of steps.
//! - An active slot that is not locked is found: a running block without other work scans the words
//!   of every block in turn, even of blocks that have not started.
//! - One of the blocks that find it takes it: a compare-and-swap of its word fails only if the word
//!   has changed since, which is progress, as labels only fall. Only the block that has taken the
//!   word touches the lock. So a locked slot is being relaxed, which ends; until then, a block that
//!   takes its word again puts it back.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{PathCost, Problem, Shared};

/// A slot's word if no labels are given to it.
pub(super) const NOTHING: u32 = u32::MAX;
/// Set in a slot's word if the labels given to it are beyond the net's bound, and wait for the
/// block that advances the net. Otherwise the slot is **active**.
pub(super) const DEFERRED: u32 = 1 << 31;

/// The elements of [`Queue::counters`](super::Queue::counters) with the numbers of nets that were
/// started and of nets that are not done, each on a cache line of its own.
pub(super) const STARTED: u32 = 0;
pub(super) const OPEN: u32 = 32;
/// Length of `counters`.
pub const COUNTERS: u32 = 64;

/// A net's words: its holds, its bound, the number of its joined pins, the length of its paths.
pub(super) const BUSY: u32 = 0;
pub(super) const BOUND: u32 = 1;
pub(super) const JOINED_PINS: u32 = 2;
pub(super) const PATH_CELLS: u32 = 3;
/// Number of a net's words.
pub const NET_WORDS: u32 = 4;
/// The index, among a net's words, of the number of its joined pins.
pub const NET_JOINED_PINS: u32 = JOINED_PINS;
/// The index, among a net's words, of the number of cells of its paths.
pub const NET_PATH_CELLS: u32 = PATH_CELLS;

/// A block's next work.
#[derive(Clone, Copy)]
pub(super) enum Item {
    /// Relax a slot, if it is still active with the priority in [`PRIORITY`].
    Slot(u32),
    /// Start a net.
    Start(u32),
    /// Nothing: all nets are done.
    Finished,
}

/// The index in [`Shared::words`] at which thread 0 keeps the priority of the slot to relax.
pub(super) const PRIORITY: u32 = 4;

/// The number of vain searches of a block's own slots before it searches another block's.
const PATIENCE: u32 = 32;

impl<L: PathCost> Problem<'_, L> {
    /// The number of slots' words that belong to each block.
    #[inline(always)]
    fn words_per_block(&self) -> u32 {
        self.slot_count().div_ceil(thread::grid_dim_x().max(1))
    }

    /// The index of a slot's word. The words of a block's slots are adjacent.
    #[inline(always)]
    fn word_of(&self, slot: u32) -> u32 {
        let blocks = thread::grid_dim_x().max(1);
        (slot % blocks) * self.words_per_block() + slot / blocks
    }

    /// Waits until there is work, and returns it. Called by the whole block.
    #[inline(always)]
    pub(super) fn next(&self, shared: &Shared<L>) -> Item {
        const START: u32 = 1 << 31;
        const FINISHED: u32 = NOTHING - 1;
        let t = thread::thread_idx_x();
        if t < WARP_SIZE {
            let near = thread::block_idx_x();
            let (mut item, mut priority) = self.active_slot_of(near);
            let mut idle = 0u32;
            while item == NOTHING {
                // The same in all lanes.
                let mut answer = NOTHING;
                if t == 0 {
                    if self.queue.counters.ld_relaxed(OPEN, Device) == 0 {
                        answer = FINISHED;
                    } else if self.queue.counters.ld_relaxed(STARTED, Device) < self.net_count() {
                        let net = self.queue.counters.atomic_add(STARTED, 1);
                        if net < self.net_count() {
                            answer = START | net;
                        }
                    }
                }
                item = warp::warp_shuffle_idx(FULL_MASK, answer, 0, WARP_SIZE).0;
                if item != NOTHING {
                    break;
                }
                // Now and then, search the slots of another block, which may not have started.
                idle = idle.wrapping_add(1);
                let whose = if idle.is_multiple_of(PATIENCE) {
                    (near + idle / PATIENCE) % thread::grid_dim_x().max(1)
                } else {
                    near
                };
                (item, priority) = self.active_slot_of(whose);
            }
            if t == 0 {
                shared.words.st(0u32, item);
                shared.words.st(PRIORITY, priority);
            }
        }
        thread::sync_threads();
        match shared.words.ld(0u32) {
            FINISHED => Item::Finished,
            item if item & START == 0 => Item::Slot(item),
            item => Item::Start(item & !START),
        }
    }

    /// The active slot of a block with the smallest priority, and that priority; [`NOTHING`] if
    /// there is none. Called by a whole warp.
    #[inline(always)]
    fn active_slot_of(&self, block: u32) -> (u32, u32) {
        let words = self.words_per_block();
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let (mut least, mut at) = (NOTHING, 0);
        let mut i = lane;
        while i < words {
            let word = self.queue.pending.ld_relaxed(block * words + i, Device);
            if word < least {
                (least, at) = (word, i);
            }
            i += WARP_SIZE;
        }
        let best = warp::warp_reduce_min(FULL_MASK, least);
        if best >= DEFERRED {
            return (NOTHING, best);
        }
        let lanes = warp::warp_vote_ballot(FULL_MASK, least == best);
        let (at, _) = warp::warp_shuffle_idx(FULL_MASK, at, lanes.trailing_zeros(), WARP_SIZE);
        (at * thread::grid_dim_x() + block, best)
    }

    /// Takes a slot that was active with `priority` for this block, and returns whether the block
    /// has it. It does not if another block has the slot, or if the slot has been given a smaller
    /// label. If it does, all labels given to the slot are visible. Called by one thread.
    #[inline(always)]
    pub(super) fn take(&self, net: u32, slot: u32, priority: u32) -> bool {
        let word = self.word_of(slot);
        // A word that is not active is left unchanged: the block that advances the net may look at
        // it, and no hold would prevent that.
        if self.queue.pending.atomic_cas(word, priority, NOTHING) != priority {
            return false;
        }
        // planted: route-lock
        let is_locked = self.queue.locks.atomic_exch(slot, 1) != 0;
        // planted: route-take-fence
        thread::device_fence();
        if is_locked && self.queue.pending.atomic_min(word, priority) < DEFERRED {
            // It became active again meanwhile.
            self.drop_hold(net);
        }
        !is_locked
    }

    /// Whether a taken slot has been given more labels since; if so, they are visible. Called by
    /// one thread.
    #[inline(always)]
    pub(super) fn take_more(&self, net: u32, slot: u32) -> bool {
        let word = self.word_of(slot);
        if self.queue.pending.ld_relaxed(word, Device) >= DEFERRED {
            return false;
        }
        let pending = self.queue.pending.atomic_exch(word, NOTHING);
        // planted: route-more-fence
        thread::device_fence();
        if pending < DEFERRED {
            // The slot itself is held.
            // planted: route-wake-hold
            self.drop_hold(net);
            // planted: route-more
            return true;
        }
        if pending != NOTHING {
            self.queue.pending.atomic_min(word, pending);
        }
        false
    }

    /// Lets go of a taken slot, and returns whether that was its net's last hold. What this block
    /// wrote before its last barrier is visible to the block that takes the slot next. Called by
    /// one thread.
    #[inline(always)]
    pub(super) fn let_go(&self, net: u32, slot: u32) -> bool {
        // planted: route-release-fence
        thread::device_fence();
        // planted: route-let-go-lock
        self.queue.locks.st_relaxed(slot, 0, Device);
        self.drop_last(net)
    }

    /// Gives a label of this priority to a slot of `net`, which is held meanwhile. The slot becomes
    /// active if the priority is within `bound`. What this block wrote before its last barrier is
    /// visible to the block that takes the slot. Called by one thread.
    #[inline(always)]
    pub(super) fn mark(&self, net: u32, slot: u32, priority: u32, bound: u32) {
        let active = priority <= bound;
        if active {
            // Before the slot can be taken and done, and its hold given back.
            // planted: route-late-hold.1
            self.hold(net);
        }
        // planted: route-mark-fence
        thread::device_fence();
        let word = if active {
            priority
        } else {
            priority | DEFERRED
        };
        // planted: route-late-hold.2
        let before = self.queue.pending.atomic_min(self.word_of(slot), word);
        if active && before < DEFERRED {
            // planted: route-mark-hold
            self.drop_hold(net);
        }
    }

    /// Makes a slot active if it waits with a label within `bound`, and returns whether it is
    /// active. Called by one thread, while the net is held.
    #[inline(always)]
    pub(super) fn wake(&self, net: u32, slot: u32, bound: u32) -> bool {
        let word = self.queue.pending.ld_relaxed(self.word_of(slot), Device);
        // planted: route-deferred
        if word == NOTHING || word & !DEFERRED > bound {
            return false;
        }
        if word >= DEFERRED {
            self.mark(net, slot, word & !DEFERRED, bound);
        }
        true
    }

    /// Keeps a net from being done until [`release`](Self::release). There is one hold for each of
    /// its active slots, one for each of its taken slots, and one for the block that advances it.
    #[inline(always)]
    pub(super) fn hold(&self, net: u32) {
        self.queue.nets.atomic_add(net * NET_WORDS + BUSY, 1);
    }

    /// Gives back a hold while there are others.
    #[inline(always)]
    fn drop_hold(&self, net: u32) {
        self.queue.nets.atomic_add(net * NET_WORDS + BUSY, u32::MAX);
    }

    /// Gives back a hold, and returns whether it was the last: then the net's labels are final up
    /// to its bound, and visible here.
    #[inline(always)]
    pub(super) fn release(&self, net: u32) -> bool {
        thread::device_fence();
        self.drop_last(net)
    }

    /// [`release`](Self::release) right after a fence.
    #[inline(always)]
    fn drop_last(&self, net: u32) -> bool {
        let last = self.queue.nets.atomic_add(net * NET_WORDS + BUSY, u32::MAX) == 1;
        if last {
            thread::device_fence();
        }
        last
    }

    /// The priority up to which a net's labels are wanted.
    #[inline(always)]
    pub(super) fn bound(&self, net: u32) -> u32 {
        self.queue.nets.ld_relaxed(net * NET_WORDS + BOUND, Device)
    }
}
