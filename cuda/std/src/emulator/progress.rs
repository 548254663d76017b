//! Telling threads that work from threads that wait in a loop.
//!
//! A thread that repeats the same loads (with the same values), updates and barriers many times
//! makes no progress unless something new happens. New is a write of a value that its address has
//! not held recently, or a thread or block that starts or ends. If all threads that can run only
//! repeat themselves, none will ever make progress:
//! - If meanwhile no write changes memory and no barrier opens, that is a deadlock.
//! - If memory changes, but only back and forth, that is a livelock: for instance, locks are taken,
//!   released and taken again. A computation may look like that for a while, so a livelock is only
//!   reported after many steps.
//!
//! A thread that loads other elements in between is searching, and makes progress. But no search
//! takes many millions of plain loads.

use std::collections::HashSet;

use super::accessed::Accessed;
use super::event::{Seen, Source, Waiting, same};
use super::fault::Fault;
use super::machine::{Machine, State};
use crate::backend::Access;

/// Repetitions without news anywhere after which a thread counts as spinning.
const SPINNING: u32 = 1000;
/// The same while other threads stall. The stalled threads then go on.
const SPINNING_BESIDE_STALLS: u32 = 64;
/// Repetitions after which, in an exploration, a thread waits for a change.
const EXPLORED: u32 = 2;
/// How often a thread's patience may end without news anywhere before the thread counts as
/// spinning. Patience ends after a few thousand plain loads.
const EXHAUSTED: u32 = 4096;
/// Steps without news anywhere after which threads that write back and forth count as spinning.
const LIVELOCKED: u64 = 1 << 19;
/// Last observations compared to detect a repetition.
const RECENT: usize = 16;
/// The same for a thread that makes many observations without news anywhere.
const MOST_SEEN: usize = 256;

/// A thread's observation: an address, and its value combined with a hash of the plain loads since
/// the previous observation.
type Observation = (usize, u64);

/// A thread's record, from which to tell whether it makes progress.
#[derive(Clone, Default)]
pub(super) struct Watch {
    /// Its last write, until `settle` has examined whether it changed anything.
    write: Option<Written>,
    recent: [Observation; RECENT],
    next_recent: usize,
    /// Further observations, once `recent` is full.
    seen: HashSet<Observation>,
    /// The number of new observations since the last news.
    unknown: u32,
    /// Hash of the plain loads since the last observation.
    trace: u64,
    /// The number of known observations in a row since the last news.
    known: u32,
    /// The number of known observations in a row since the last change.
    repeats: u32,
    /// Times that its patience has ended since the last change.
    exhausted: u32,
    /// The launch's `news` when `seen`, `unknown` and `known` began.
    since_news: u64,
    /// The launch's `changes` when `repeats` and `exhausted` began.
    since: u64,
    /// Its last load or update.
    last: Option<Looked>,
    /// Its last update that changed nothing (for instance, of a lock that another thread holds),
    /// and the launch's `news` then.
    failed: Option<(u64, Looked)>,
}

/// A load or an update.
#[derive(Clone, Copy)]
struct Looked {
    what: &'static str,
    source: Source,
    start: usize,
    index: usize,
    size: usize,
    value: u64,
}

/// A write, and the value before it.
#[derive(Clone, Copy)]
struct Written {
    /// Start of the view that was written through.
    start: usize,
    address: usize,
    bytes: usize,
    before: [u8; 16],
    access: Access,
    source: Source,
}

/// The values recently written to each address, and their writers.
pub(super) struct Values {
    /// Hashes of addresses and values; in each set, the latest first.
    sets: Vec<[u64; WAYS]>,
    threads: Vec<[u32; WAYS]>,
    sources: Vec<[Option<Source>; WAYS]>,
}

const WAYS: usize = 4;
const LOG_SETS: u32 = 12;

impl Values {
    pub(super) fn new() -> Self {
        Self {
            sets: vec![[0; WAYS]; 1 << LOG_SETS],
            threads: vec![[0; WAYS]; 1 << LOG_SETS],
            sources: vec![[None; WAYS]; 1 << LOG_SETS],
        }
    }

    /// The set and the hash of `value` at `place`, a hash of an address.
    fn find(place: u64, value: &[u8]) -> (usize, u64) {
        let mut hash = place;
        for chunk in value.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            hash = mix(hash, u64::from_ne_bytes(bytes));
        }
        let hash = mix(hash, value.len() as u64).max(1);
        ((hash >> (64 - LOG_SETS)) as usize, hash)
    }

    /// Records that `thread` has written `value` at `place`. Returns whether this is new: no thread
    /// had done so recently.
    fn add(&mut self, place: u64, value: &[u8], thread: u32, source: Source) -> bool {
        let (set, hash) = Self::find(place, value);
        let known = self.sets[set].iter().position(|&other| other == hash);
        let last = known.unwrap_or(WAYS - 1);
        self.sets[set][..=last].rotate_right(1);
        self.threads[set][..=last].rotate_right(1);
        self.sources[set][..=last].rotate_right(1);
        self.sets[set][0] = hash;
        self.threads[set][0] = thread;
        self.sources[set][0] = Some(source);
        known.is_none()
    }

    /// The last thread that wrote `value` at `place`, if it did so recently.
    fn writer(&self, place: u64, value: &[u8]) -> Option<(u32, Source)> {
        let (set, hash) = Self::find(place, value);
        let at = self.sets[set].iter().position(|&other| other == hash)?;
        Some((self.threads[set][at], self.sources[set][at]?))
    }
}

fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

impl Machine {
    /// Records an access by the running thread, to tell waiting threads from working ones.
    pub(super) fn note_progress(
        &mut self,
        accessed: Accessed,
        address: usize,
        bytes: usize,
    ) -> Result<(), Fault> {
        let slot = self.current;
        if self.stale.is_some() {
            // Its next load may return another value, though nothing changes.
            self.watches[slot].repeats = 0;
            return Ok(());
        }
        let compared = bytes.min(16);
        let mut before = [0u8; 16];
        let mut copy = || {
            // SAFETY: the access was checked to lie in the device's memory.
            let now = unsafe { std::slice::from_raw_parts(address as *const u8, compared) };
            before[..compared].copy_from_slice(now);
            u64::from_ne_bytes(before[..8].try_into().unwrap_or_default())
        };
        let looked = |what, value| {
            Some(Looked {
                what,
                source: accessed.source,
                start: accessed.start,
                index: accessed.index,
                size: accessed.size,
                value,
            })
        };
        let fault = match accessed.access {
            Access::AtomicLoad { .. } => {
                let value = copy();
                self.watches[slot].last = looked("atomic load", value);
                self.sees(slot, address, value)
            }
            Access::Load | Access::ReadOnlyLoad if self.threads[slot].accesses == 0 => {
                // Its patience has just ended.
                let value = copy();
                self.watches[slot].last = looked("load", value);
                let repeated = self.sees(slot, address, value);
                repeated.or_else(|| self.exhaust(slot))
            }
            Access::Store
            | Access::AtomicStore { .. }
            | Access::AtomicUpdate
            | Access::CompareAndSwap { .. } => {
                let value = copy();
                if accessed.access.is_update() {
                    self.watches[slot].last = looked("atomic update", value);
                }
                self.watches[slot].write = Some(Written {
                    start: accessed.start,
                    address,
                    bytes: compared,
                    before,
                    access: accessed.access,
                    source: accessed.source,
                });
                None
            }
            Access::Load | Access::ReadOnlyLoad => {
                let trace = &mut self.watches[slot].trace;
                *trace = mix(*trace, address as u64);
                None
            }
        };
        fault.map_or(Ok(()), Err)
    }

    /// Examines whether the thread's last write has changed anything.
    pub(super) fn settle(&mut self, slot: usize) -> Option<Fault> {
        let write = self.watches[slot].write.take()?;
        // SAFETY: the bytes were checked to lie in the device's memory when they were written, and
        // the thread has not let others run since.
        let now = unsafe { std::slice::from_raw_parts(write.address as *const u8, write.bytes) };
        if *now != write.before[..write.bytes] {
            if write.access != Access::Store {
                let update = write.access.is_update();
                self.ready.note_write(slot, update);
            }
            let thread = self.clocks.id(slot);
            let place = self.memory_place(write.start, write.address);
            if self.values.add(place, now, thread, write.source) {
                self.note_news();
                return None;
            }
            self.changes += 1;
        } else if write.access.is_update() {
            let news = self.news;
            let watch = &mut self.watches[slot];
            watch.failed = watch.last.map(|looked| (news, looked));
        }
        if write.access.is_update() {
            let value = u64::from_ne_bytes(write.before[..8].try_into().unwrap_or_default());
            self.sees(slot, write.address, value)
        } else {
            None
        }
    }

    /// A hash of an address in a view that starts at `start`. It does not depend on addresses in
    /// the host's memory.
    fn memory_place(&mut self, start: usize, address: usize) -> u64 {
        let Some(number) = self.find(start) else {
            return 0;
        };
        let offset = address - self.memory().region(number).start;
        (number as u64) << 40 | offset as u64
    }

    /// Records news: something has happened for the first time, so threads that repeat themselves
    /// may stop now.
    pub(super) fn note_news(&mut self) {
        self.changes += 1;
        self.news += 1;
        self.news_at = self.steps;
    }

    /// Records that the thread in `slot` meets others at a barrier.
    pub(super) fn meets(&mut self, slot: usize, source: Source) {
        self.knows(slot, (std::ptr::from_ref(source).addr(), 0));
    }

    /// Records that the thread in `slot` sees `value` at `address`, perhaps again.
    fn sees(&mut self, slot: usize, address: usize, value: u64) -> Option<Fault> {
        if self.knows(slot, (address, value)) {
            return self.repeat(slot);
        }
        None
    }

    /// Whether the thread has made this observation before, after the same plain loads. Counts
    /// known observations in a row.
    fn knows(&mut self, slot: usize, (place, value): Observation) -> bool {
        let watch = self.watch(slot);
        let observation = (place, value ^ std::mem::take(&mut watch.trace));
        if watch.recent.contains(&observation) || watch.seen.contains(&observation) {
            watch.known += 1;
            watch.repeats += 1;
            return true;
        }
        watch.recent[watch.next_recent] = observation;
        watch.next_recent = (watch.next_recent + 1) % RECENT;
        watch.unknown += 1;
        if watch.unknown > RECENT as u32 && watch.seen.len() < MOST_SEEN {
            watch.seen.insert(observation);
        }
        (watch.known, watch.repeats) = (0, 0);
        false
    }

    /// Handles a repetition: the thread repeats itself and learns nothing.
    fn repeat(&mut self, slot: usize) -> Option<Fault> {
        let known = self.watches[slot].known;
        if known >= EXPLORED {
            self.ready.wait(slot, self.changes);
        }
        if known.is_multiple_of(8) {
            self.ready.move_back(slot);
        }
        let many = if self.ready.stalls() {
            SPINNING_BESIDE_STALLS
        } else {
            SPINNING
        };
        (known >= many && known.is_multiple_of(64))
            .then(|| self.look_whether_some_work(slot))
            .flatten()
    }

    /// Handles the end of a thread's patience: it has made so many plain loads that it lets others
    /// run.
    fn exhaust(&mut self, slot: usize) -> Option<Fault> {
        let watch = self.watch(slot);
        watch.exhausted += 1;
        let exhausted = watch.exhausted;
        self.ready.move_back(slot);
        self.ready.wait(slot, self.changes);
        (exhausted >= EXHAUSTED && exhausted.is_multiple_of(64))
            .then(|| self.look_whether_some_work(slot))
            .flatten()
    }

    /// A thread's record since the last change, and since the last news.
    fn watch(&mut self, slot: usize) -> &mut Watch {
        let (changes, news) = (self.changes, self.news);
        let watch = &mut self.watches[slot];
        if watch.since != changes {
            (watch.since, watch.repeats, watch.exhausted) = (changes, 0, 0);
        }
        if watch.since_news != news {
            (watch.since_news, watch.known) = (news, 0);
            if watch.unknown > RECENT as u32 {
                watch.seen.clear();
            }
            watch.unknown = 0;
        }
        watch
    }

    /// Whether `holds` is true of the running thread, in `slot`, and of all others that can run and
    /// do not stall.
    fn all(&self, slot: usize, holds: impl Fn(&Watch) -> bool) -> bool {
        holds(&self.watches[slot]) && self.ready.all(|other| holds(&self.watches[other]))
    }

    /// Looks for a thread that works: the running thread, in `slot`, repeats itself. If all others
    /// do as well, the stalled threads go on; if none is stalled, the launch ends with a fault.
    fn look_whether_some_work(&mut self, slot: usize) -> Option<Fault> {
        let (changes, news) = (self.changes, self.news);
        let knows = |watch: &Watch, times: u32| watch.since_news == news && watch.known >= times;
        let exhausted = |watch: &Watch| watch.since == changes && watch.exhausted >= EXHAUSTED;
        let spins = |watch: &Watch| watch.since == changes && watch.repeats >= SPINNING;
        let steps = self.steps - self.news_at;
        if self.ready.stalls() {
            if steps >= LIVELOCKED {
                self.ready.end_stalls();
            } else if self.all(slot, |watch| {
                knows(watch, SPINNING_BESIDE_STALLS) || exhausted(watch)
            }) {
                self.ready.end_stall();
            }
            return None;
        }
        if self.all(slot, |watch| spins(watch) || exhausted(watch)) {
            return Some(self.deadlock());
        }
        if steps < LIVELOCKED || !self.all(slot, |watch| knows(watch, SPINNING) || exhausted(watch))
        {
            return None;
        }
        let (mut waiting, blocked, spinning) = self.who_waits();
        self.add_failed(&mut waiting);
        Some(Fault::Livelock {
            waiting,
            blocked,
            spinning,
            not_started: self.waiting_blocks.len() as u64,
            steps,
        })
    }

    /// The fault of a launch in which no thread can go on.
    pub(super) fn deadlock(&mut self) -> Fault {
        let (waiting, blocked, spinning) = self.who_waits();
        Fault::Deadlock {
            waiting,
            blocked,
            spinning,
            not_started: self.waiting_blocks.len() as u64,
        }
    }

    /// What threads wait for, one thread per place; the number of threads at barriers or in warp
    /// operations, and the number of others.
    pub(super) fn who_waits(&mut self) -> (Vec<Waiting>, usize, usize) {
        let mut waiting: Vec<Waiting> = Vec::new();
        let (mut blocked, mut spinning) = (0, 0);
        for slot in 0..self.threads.len() {
            let mut looked = None;
            let found = match self.threads[slot].state {
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
                    looked = self.watches[slot].last;
                    looked.map(|looked| (looked.what, looked.source))
                }
            };
            if let Some((what, source)) = found {
                self.add_waiting(&mut waiting, slot, (what, source), looked);
            }
        }
        (waiting, blocked, spinning)
    }

    /// Adds the threads whose updates have changed nothing since the last news.
    fn add_failed(&mut self, waiting: &mut Vec<Waiting>) {
        for slot in 0..self.threads.len() {
            let running = self.threads[slot].state != State::Ended;
            if let Some((news, looked)) = self.watches[slot].failed
                && running
                && news == self.news
            {
                let at = (looked.what, looked.source);
                self.add_waiting(waiting, slot, at, Some(looked));
            }
        }
    }

    /// Adds what the thread in `slot` waits for, unless another thread is listed with the same.
    fn add_waiting(
        &mut self,
        waiting: &mut Vec<Waiting>,
        slot: usize,
        (what, source): (&'static str, Source),
        looked: Option<Looked>,
    ) {
        let known = waiting
            .iter()
            .any(|w| w.what == what && w.source.is_some_and(|at| same(at, source)));
        if !known {
            let mut one = self.waiting(slot, what, Some(source));
            one.seen = looked.map(|looked| Box::new(self.seen(looked)));
            waiting.push(one);
        }
    }

    /// The element that a thread saw, its value and its writer.
    fn seen(&mut self, looked: Looked) -> Seen {
        let Looked {
            start,
            index,
            size,
            value,
            ..
        } = looked;
        let place = self.place(start, index, size);
        let address = start + index * size;
        let memory_place = self.memory_place(start, address);
        let bytes = value.to_ne_bytes();
        let bytes = &bytes[..size.min(8)];
        let last = self.values.writer(memory_place, bytes);
        let last = last.map(|(thread, source)| (self.thread_of(thread), source));
        Seen {
            place,
            value: (size <= 8).then_some(value),
            last,
        }
    }
}
