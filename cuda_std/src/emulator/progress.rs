//! Telling threads that work from threads that wait in a loop.
//!
//! A launch has changed when a write has changed memory, a barrier has opened, or a thread or block has come or gone. A
//! thread that repeats loads of the same values, or updates that change nothing, many times since the last change only
//! waits, unless it loads something else in between: then it searches. But no search takes many millions of plain loads.
//! Once all that can run only wait, none will ever go on.

use super::access::Accessed;
use super::fault::{Fault, Source, Waiting};
use super::machine::{Machine, State, same};
use crate::backend::Access;

/// Repetitions, with nothing changing anywhere, after which a thread counts as spinning.
const SPINNING: u32 = 1000;
/// Times that a thread's patience may end, with nothing changing anywhere, before it counts as spinning: each time after some
/// thousand plain loads.
const EXHAUSTED: u32 = 4096;
/// Loads that are compared to notice a repetition.
const RECENT: usize = 16;

/// What is noted of a thread to see whether it gets anywhere.
#[derive(Clone, Default)]
pub(super) struct Watch {
    /// Its last write, if nothing has looked yet whether it changed anything.
    write: Option<Written>,
    recent: [(usize, u64); RECENT],
    next_recent: usize,
    /// Stands for the plain loads since the last atomic one.
    trace: u64,
    repeats: u32,
    /// How often its patience has ended.
    exhausted: u32,
    /// The launch's `changes` when `repeats` and `exhausted` began.
    since: u64,
    /// Where it last loaded or updated atomically.
    last: Option<(&'static str, Source)>,
}

/// What a place held before a write.
#[derive(Clone, Copy)]
struct Written {
    address: usize,
    bytes: usize,
    before: [u8; 16],
    update: bool,
}

impl Machine {
    /// Notes what tells a thread that waits from one that works.
    pub(super) fn note_progress(
        &mut self,
        accessed: Accessed,
        address: usize,
        bytes: usize,
    ) -> Result<(), Fault> {
        let slot = self.current;
        if self.stale.is_some() {
            // It will see something else, though nothing changes.
            self.watches[slot].repeats = 0;
            return Ok(());
        }
        let compared = bytes.min(16);
        let mut before = [0u8; 16];
        let mut copy = || {
            // SAFETY: the access was checked to lie in the device's memory.
            let now = unsafe { std::slice::from_raw_parts(address as *const u8, compared) };
            before[..compared].copy_from_slice(now);
        };
        let fault = match accessed.access {
            Access::AtomicLoad { .. } => {
                copy();
                self.watches[slot].last = Some(("atomic load", accessed.source));
                let value = u64::from_ne_bytes(before[..8].try_into().unwrap_or_default());
                self.loads(slot, address, value)
            }
            Access::Load | Access::ReadOnlyLoad if self.threads[slot].accesses == 0 => {
                // Its patience has just ended.
                copy();
                self.watches[slot].last = Some(("load", accessed.source));
                let value = u64::from_ne_bytes(before[..8].try_into().unwrap_or_default());
                let repeated = self.loads(slot, address, value);
                repeated.or_else(|| self.exhaust(slot))
            }
            Access::Store
            | Access::AtomicStore { .. }
            | Access::AtomicUpdate
            | Access::CompareAndSwap { .. } => {
                copy();
                let update = matches!(
                    accessed.access,
                    Access::AtomicUpdate | Access::CompareAndSwap { .. }
                );
                if update {
                    self.watches[slot].last = Some(("atomic update", accessed.source));
                }
                self.watches[slot].write = Some(Written {
                    address,
                    bytes: compared,
                    before,
                    update,
                });
                None
            }
            Access::Load | Access::ReadOnlyLoad => {
                let trace = &mut self.watches[slot].trace;
                *trace =
                    (trace.rotate_left(5) ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                None
            }
        };
        fault.map_or(Ok(()), Err)
    }

    /// Looks whether the thread's last write has changed anything.
    pub(super) fn settle(&mut self, slot: usize) -> Option<Fault> {
        let write = self.watches[slot].write.take()?;
        // SAFETY: the bytes were checked to lie in the device's memory when they were written, and the thread has not
        // let others run since.
        let now = unsafe { std::slice::from_raw_parts(write.address as *const u8, write.bytes) };
        if *now != write.before[..write.bytes] {
            self.changes += 1;
            None
        } else if write.update {
            let value = u64::from_ne_bytes(write.before[..8].try_into().unwrap_or_default());
            self.loads(slot, write.address, value)
        } else {
            None
        }
    }

    /// The thread loads `value` from `address`, as it may have done just before.
    fn loads(&mut self, slot: usize, address: usize, value: u64) -> Option<Fault> {
        let watch = &mut self.watches[slot];
        let load = (address, value ^ std::mem::take(&mut watch.trace));
        if watch.recent.contains(&load) {
            return self.repeat(slot);
        }
        watch.recent[watch.next_recent] = load;
        watch.next_recent = (watch.next_recent + 1) % RECENT;
        watch.repeats = 0;
        None
    }

    /// The thread did what it did before, and learnt nothing.
    fn repeat(&mut self, slot: usize) -> Option<Fault> {
        let watch = self.watch(slot);
        watch.repeats += 1;
        let repeats = watch.repeats;
        if repeats.is_multiple_of(8) {
            self.ready.move_back(slot);
        }
        (repeats >= SPINNING && repeats.is_multiple_of(64))
            .then(|| self.deadlock_unless_some_work())
            .flatten()
    }

    /// The thread has done nothing but plain loads for so long that it lets others run.
    fn exhaust(&mut self, slot: usize) -> Option<Fault> {
        let watch = self.watch(slot);
        watch.exhausted += 1;
        let exhausted = watch.exhausted;
        self.ready.move_back(slot);
        (exhausted >= EXHAUSTED && exhausted.is_multiple_of(64))
            .then(|| self.deadlock_unless_some_work())
            .flatten()
    }

    /// What is noted of a thread since the last change.
    fn watch(&mut self, slot: usize) -> &mut Watch {
        let changes = self.changes;
        let watch = &mut self.watches[slot];
        if watch.since != changes {
            (watch.since, watch.repeats, watch.exhausted) = (changes, 0, 0);
        }
        watch
    }

    fn deadlock_unless_some_work(&self) -> Option<Fault> {
        let waits = |slot: usize| {
            let watch = &self.watches[slot];
            watch.since == self.changes
                && (watch.repeats >= SPINNING || watch.exhausted >= EXHAUSTED)
        };
        self.ready.all(waits).then(|| self.deadlock())
    }

    /// Who waits for what: one thread for each place.
    pub(super) fn deadlock(&self) -> Fault {
        let mut waiting: Vec<Waiting> = Vec::new();
        let (mut blocked, mut spinning) = (0, 0);
        for (slot, thread) in self.threads.iter().enumerate() {
            let found = match thread.state {
                State::Ended => continue,
                State::AtBarrier => {
                    blocked += 1;
                    let barrier = self.block(slot).barrier.as_ref();
                    barrier.map(|barrier| (barrier.kind.name(), barrier.source))
                }
                State::InWarp => {
                    blocked += 1;
                    self.in_warp(slot)
                }
                State::Ready | State::AsksActive(_) => {
                    spinning += 1;
                    self.watches[slot].last
                }
            };
            if let Some((what, source)) = found
                && !waiting
                    .iter()
                    .any(|w| w.what == what && w.source.is_some_and(|at| same(at, source)))
            {
                waiting.push(self.waiting(slot, what, Some(source)));
            }
        }
        Fault::Deadlock {
            waiting,
            blocked,
            spinning,
            not_started: self.waiting_blocks.len() as u64,
        }
    }
}
