//! Weak memory: overwritten values that loads may still return.
//!
//! Atomic and volatile writes to an element have a total order, and memory holds the value of the
//! last one. But a load may return any value that is not known to be overwritten. In the terms of
//! CUDA's memory model, a relaxed or acquiring load returns any value except those that precede, in
//! the element's order,
//! - a write that happens before the load, or that the [order of fences](super::fences) puts before
//!   it, or
//! - a value that this thread, or a load that happens before this one, has already read.
//!
//! So an element's last values are kept, with the times of their writers and readers. Where several
//! values are allowed, the launch's seed picks one. Updates and failed compare-and-swaps always see
//! the last value, since hardware performs both at the memory itself.
//!
//! Values are forgotten for lack of space, or where sizes are mixed. A forgotten value can't be
//! returned: that only makes memory stronger, and is no error.
//!
//! After at most [`PATIENCE`] stale values in a row, a thread gets the last value. It never gets an
//! older value than before. So a thread that repeats its loads while nothing is written soon sees
//! the last value of each element: none waits forever for a value already in memory.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use fastrand::Rng;

use super::clocks::{Clocks, Released};
use super::explore::Trail;

/// Values kept per element.
const KEPT: usize = 8;
/// Words of 8 bytes whose elements' values are kept; the oldest by first write is dropped first.
const WORDS: usize = 1 << 14;
/// Loads kept per element.
const READERS: usize = 128;
/// Maximum number of stale values in a row per thread.
const PATIENCE: u8 = 16;

/// Bytes of an element of at most 8 bytes, padded with 0.
pub(super) type Value = [u8; 8];

/// The values that a launch's loads may return.
#[derive(Debug)]
pub(super) struct Histories {
    rng: Rng,
    /// Of the loads that may return a stale value, one in this many does, if the thread repeats its
    /// last load: most likely it waits for a new value.
    repeats_one_in: u32,
    /// The same for a load of another element than the thread's last one. Here a kernel may assume
    /// an order of the two loads that nothing enforces.
    one_in: u32,
    words: HashMap<usize, Vec<History>, BuildHasherDefault<WordHasher>>,
    /// The keys of `words`, the oldest first.
    order: VecDeque<usize>,
    /// Per thread slot: stale values in a row, since the last load that could have returned one and
    /// did not.
    in_a_row: Vec<u8>,
    /// Per thread slot: address of the last element loaded, among those whose values are kept.
    loaded: Vec<usize>,
    /// Loads that returned a stale value.
    pub(super) stale: u64,
}

/// The elements of one access, taken as a single element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) address: usize,
    pub(super) bytes: usize,
}

impl Element {
    /// Whether its values are kept: it must be small enough, and then lies in one word.
    fn is_kept(self) -> bool {
        self.bytes <= 8 && self.bytes.is_power_of_two()
    }

    fn word(self) -> usize {
        self.address / 8
    }

    fn overlaps(self, other: Self) -> bool {
        self.address < other.address + other.bytes && other.address < self.address + self.bytes
    }

    /// Its value in memory.
    ///
    /// # Safety
    ///
    /// It lies in the device's memory, and is kept.
    unsafe fn value(self) -> Value {
        let mut value = Value::default();
        // SAFETY: the caller's promise.
        let now = unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) };
        value[..self.bytes].copy_from_slice(now);
        value
    }
}

/// The last values of an element, in order.
#[derive(Debug)]
struct History {
    element: Element,
    /// The number of the first entry.
    first: u32,
    /// At least one. The last one's value is in memory.
    entries: VecDeque<Entry>,
    readers: Vec<Reader>,
}

/// A value of an element.
#[derive(Debug)]
struct Entry {
    /// Set once it is overwritten, like `released`.
    value: Value,
    released: Option<Released>,
    /// Its writer's thread and time; `None` for the first value, which all threads know.
    writer: Option<(u32, u32)>,
    /// Whether it was written; otherwise it is from uninitialised memory.
    initialised: bool,
}

/// A thread that has read entry number `entry`, and its time then.
#[derive(Debug)]
struct Reader {
    thread: u32,
    time: u32,
    entry: u32,
}

/// A stale value, which a load returns instead of memory's.
#[derive(Debug)]
pub(super) struct Stale {
    pub(super) value: Value,
    pub(super) initialised: bool,
    /// The releases that came with it.
    pub(super) released: Option<Released>,
}

impl Histories {
    /// The histories of a launch with `slots` thread slots.
    pub(super) fn new(mut rng: Rng, slots: usize) -> Self {
        Self {
            repeats_one_in: [2, 4, 16][rng.usize(..3)],
            one_in: [1, 1, 2][rng.usize(..3)],
            rng,
            words: HashMap::default(),
            order: VecDeque::new(),
            in_a_row: vec![0; slots],
            loaded: vec![0; slots],
            stale: 0,
        }
    }

    /// Records an atomic write of the thread in `slot`, just before it happens. `is_first`: it is
    /// the launch's first atomic write to the element since the last plain one. `initialised`: the
    /// element had a value.
    ///
    /// # Safety
    ///
    /// The element lies in the device's memory.
    pub(super) unsafe fn write(
        &mut self,
        element: Element,
        is_first: bool,
        initialised: bool,
        slot: usize,
        clocks: &Clocks,
    ) {
        if !element.is_kept() {
            self.forget(element);
            return;
        }
        // SAFETY: the caller's promise.
        let value = unsafe { element.value() };
        let histories = self.histories(element.word());
        histories.retain(|history| {
            let same = history.element == element;
            if same {
                !is_first
            } else {
                !history.element.overlaps(element)
            }
        });
        let known = histories
            .iter()
            .position(|history| history.element == element);
        let history = match known {
            Some(known) => &mut histories[known],
            None => {
                histories.push(History {
                    element,
                    first: 0,
                    entries: VecDeque::from([Entry {
                        value,
                        released: None,
                        writer: None,
                        initialised,
                    }]),
                    readers: Vec::new(),
                });
                histories.last_mut().expect("just added")
            }
        };
        if let Some(last) = history.entries.back_mut() {
            last.value = value;
            last.released = clocks.released(element.address);
        }
        history.entries.push_back(Entry {
            value: Value::default(),
            released: None,
            writer: Some((clocks.id(slot), clocks.now(slot))),
            initialised: true,
        });
        if history.entries.len() > KEPT {
            history.start_at(history.first + 1);
        }
    }

    /// The stale value that an atomic load by the thread in `slot` returns; `None` if it returns
    /// memory's value. The element was written atomically since its last plain write. With `last`,
    /// the load must return the last value. An exploration's `trail` chooses; otherwise the seed
    /// does.
    pub(super) fn load(
        &mut self,
        element: Element,
        last: bool,
        slot: usize,
        clocks: &Clocks,
        trail: Option<&mut Trail>,
    ) -> Option<Stale> {
        if !element.is_kept() {
            self.forget(element);
            return None;
        }
        let histories = self.words.get_mut(&element.word())?;
        histories
            .retain(|history| history.element == element || !history.element.overlaps(element));
        let history = histories
            .iter_mut()
            .find(|history| history.element == element)?;
        let repeats = std::mem::replace(&mut self.loaded[slot], element.address) == element.address;
        let one_in = if repeats {
            self.repeats_one_in
        } else {
            self.one_in
        };
        let newest = history.entries.len() - 1;
        let oldest = history.oldest_for(slot, clocks);
        if oldest == newest {
            return None;
        }
        let returned = match trail {
            _ if last => newest,
            Some(trail) => newest - trail.choose_value(newest - oldest + 1),
            None if self.in_a_row[slot] < PATIENCE && self.rng.u32(..one_in) == 0 => {
                self.rng.usize(oldest..newest)
            }
            None => newest,
        };
        let stale = returned < newest;
        self.in_a_row[slot] = if stale { self.in_a_row[slot] + 1 } else { 0 };
        let value = stale.then(|| {
            let entry = &history.entries[returned];
            Stale {
                value: entry.value,
                initialised: entry.initialised,
                released: entry.released.clone(),
            }
        });
        if returned > oldest {
            history.note_reader(returned, slot, clocks);
        }
        self.stale += u64::from(stale);
        value
    }

    /// The histories of a word's elements.
    fn histories(&mut self, word: usize) -> &mut Vec<History> {
        if !self.words.contains_key(&word) {
            if self.words.len() == WORDS
                && let Some(oldest) = self.order.pop_front()
            {
                self.words.remove(&oldest);
            }
            self.order.push_back(word);
        }
        self.words.entry(word).or_default()
    }

    /// Forgets the values of elements touched by an access whose size is not kept.
    fn forget(&mut self, element: Element) {
        let end = element.address + element.bytes;
        for word in element.word()..end.div_ceil(8) {
            if let Some(histories) = self.words.get_mut(&word) {
                histories.retain(|history| !history.element.overlaps(element));
            }
        }
    }
}

impl History {
    /// Position of the oldest entry that the thread in `slot` may read.
    fn oldest_for(&self, slot: usize, clocks: &Clocks) -> usize {
        let overwrites = |entry: &Entry| {
            let known = |(thread, time)| clocks.known(thread, time, slot);
            entry.writer.is_none_or(known)
        };
        let written = self.entries.iter().rposition(overwrites).unwrap_or(0);
        if written + 1 == self.entries.len() {
            return written;
        }
        let read = self
            .readers
            .iter()
            .filter(|reader| clocks.known(reader.thread, reader.time, slot))
            .map(|reader| (reader.entry - self.first) as usize);
        read.fold(written, usize::max)
    }

    /// Records that the thread in `slot` has read the entry at `place`. No thread that knows of
    /// this load may read an older entry.
    fn note_reader(&mut self, place: usize, slot: usize, clocks: &Clocks) {
        self.readers.push(Reader {
            thread: clocks.id(slot),
            time: clocks.now(slot),
            entry: self.first + place as u32,
        });
        if self.readers.len() > READERS {
            // The forgotten load now counts as known to all threads.
            let entries = self.readers.iter().map(|reader| reader.entry);
            self.start_at(entries.min().unwrap_or(self.first));
        }
    }

    /// Forgets the entries before entry number `entry`.
    fn start_at(&mut self, entry: u32) {
        while self.first < entry {
            self.entries.pop_front();
            self.first += 1;
        }
        self.readers.retain(|reader| reader.entry > entry);
    }
}

/// Spreads the numbers of words.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, word: usize) {
        self.0 = (self.0 ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::ScopeKind;

    /// Words that threads of two blocks of 64 write and read.
    struct Words {
        memory: Vec<u64>,
        written: Vec<bool>,
        histories: Histories,
        clocks: Clocks,
    }

    impl Words {
        fn new(words: usize) -> Self {
            let mut clocks = Clocks::new(64, 2);
            clocks.start_block(0, 0);
            clocks.start_block(1, 1);
            clocks.order_fences();
            let mut histories = Histories::new(Rng::with_seed(1), 128);
            (histories.repeats_one_in, histories.one_in) = (1, 1);
            Self {
                memory: vec![0; words],
                written: vec![false; words],
                histories,
                clocks,
            }
        }

        fn element(&self, word: usize) -> Element {
            Element {
                address: self.memory[word..].as_ptr().addr(),
                bytes: 8,
            }
        }

        fn write(&mut self, slot: usize, word: usize, value: u64) {
            let (element, first) = (self.element(word), !self.written[word]);
            self.memory.as_ptr().expose_provenance();
            // SAFETY: a word of memory.
            unsafe {
                self.histories
                    .write(element, first, true, slot, &self.clocks);
            }
            self.memory[word] = value;
            self.written[word] = true;
        }

        fn load(&mut self, slot: usize, word: usize) -> u64 {
            let element = self.element(word);
            let stale = self
                .histories
                .load(element, false, slot, &self.clocks, None);
            stale.map_or(self.memory[word], |stale| u64::from_ne_bytes(stale.value))
        }
    }

    #[test]
    fn a_thread_sees_its_own_writes() {
        let mut words = Words::new(1);
        for value in 1..100 {
            words.write(5, 0, value);
            assert_eq!(words.load(5, 0), value);
        }
    }

    #[test]
    fn stale_values_come_to_an_end() {
        let mut words = Words::new(1);
        for value in 1..=20 {
            words.write(5, 0, value);
        }
        let seen: Vec<_> = (0..40).map(|_| words.load(70, 0)).collect();
        assert!(seen.is_sorted(), "{seen:?}");
        // Not all of the past is kept.
        assert!(seen[0] > 20 - KEPT as u64 && seen[0] < 20, "{seen:?}");
        assert!(
            seen[usize::from(PATIENCE)..]
                .iter()
                .all(|&value| value == 20)
        );
    }

    #[test]
    fn a_barrier_tells_what_was_written_and_read() {
        let mut words = Words::new(2);
        for value in 1..=5 {
            words.write(5, 0, value);
            words.write(70, 1, value);
        }
        let read = (0..3).map(|_| words.load(6, 1)).max();
        words.clocks.barrier(0);
        assert_eq!(words.load(40, 0), 5);
        assert!(Some(words.load(40, 1)) >= read);
        assert!(words.load(100, 0) < 5);
    }

    #[test]
    fn a_later_fence_knows_what_was_before_an_earlier_one() {
        for (first, second) in [(5, 70), (70, 5)] {
            let mut words = Words::new(1);
            words.write(5, 0, 1);
            // A fence of another thread of the block, after a barrier.
            words.clocks.barrier(0);
            let fence = |words: &mut Words, slot| {
                words.clocks.fence(slot, ScopeKind::Device);
            };
            fence(&mut words, first + 1);
            fence(&mut words, second + 1);
            words.clocks.barrier(1);
            assert_eq!(words.load(100, 0), u64::from(first == 5));
            assert!(!words.clocks.ordered(5, 1, 100));
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut words = Words::new(WORDS + 10);
        for word in 0..WORDS + 10 {
            words.write(5, word, 1);
        }
        assert_eq!(words.histories.words.len(), WORDS);
        assert_eq!(words.histories.order.len(), WORDS);
        // The oldest are forgotten.
        assert_eq!(words.load(70, 0), 1);
        assert_eq!(words.load(70, WORDS), 0);
        let last = WORDS + 9;
        for value in 1..100 {
            words.write(5, last, value);
            for reader in 64..128 {
                words.load(reader, last);
            }
            for reader in 0..64 {
                words.load(reader, last);
            }
        }
        let key = words.element(last).word();
        let [history] = &words.histories.words[&key][..] else {
            panic!("one element");
        };
        assert!(history.entries.len() <= KEPT);
        assert!(history.readers.len() <= READERS);
    }
}
