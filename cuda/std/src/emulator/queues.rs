//! Queues: which of them have waited for which, and which of them used each buffer last.
//!
//! In the emulator, a launch is done when it returns: the host's requests happen in program order.
//! On a GPU, work of different streams overlaps unless one stream waits for the other. This module
//! records the waits that a GPU would need. Each queue counts its work, and for each other queue
//! knows the count that it has waited for. These counts must order any two uses of a buffer of
//! which at least one writes.
//!
//! Here, a host's wait for a queue orders nothing, although it would on a GPU: a pipeline can't
//! know whether its caller has waited, and must not rely on it.

use core::fmt;
use std::collections::HashMap;

/// A queue's use of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueWork {
    /// Allocates it.
    Allocation,
    /// Copies from the host, or fills it.
    Write,
    /// Copies to the host.
    Read,
    /// Launches a kernel that takes it.
    Launch {
        /// The kernel.
        kernel: &'static str,
        /// The kernel's view of it: a parameter, or a field of one.
        argument: String,
    },
    /// Frees it.
    Drop,
}

impl fmt::Display for QueueWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allocation => f.write_str("allocates it"),
            Self::Write => f.write_str("writes it"),
            Self::Read => f.write_str("reads it"),
            Self::Launch { kernel, argument } => {
                write!(f, "launches `{kernel}` with it as `{argument}`")
            }
            Self::Drop => f.write_str("frees it"),
        }
    }
}

/// Unordered work of two queues on one buffer, at least one of which writes: it might overlap on a
/// GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unordered {
    /// The buffer's size.
    pub bytes: usize,
    /// The queue on which it was allocated, by its [number](super::Emulator::queue).
    pub home: usize,
    /// The queue that used it first, and how.
    pub before: (usize, QueueWork),
    /// The queue that uses it now, and how.
    pub now: (usize, QueueWork),
    /// Whether the home queue waits for the first use. If so, the second use lacks an `acquire`; if
    /// not, the first lacks a `release`.
    pub is_released: bool,
}

impl fmt::Display for Unordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bytes,
            home,
            before: (first, before),
            now: (second, now),
            is_released,
        } = self;
        write!(
            f,
            "a buffer of {bytes} bytes that belongs to queue {home}: queue {first} {before}, and \
             queue {second} {now} without waiting for that: "
        )?;
        if *is_released {
            write!(f, "`acquire` it on queue {second} before the second")
        } else {
            write!(f, "`release` it on queue {first} after the first")
        }
    }
}

/// A queue's work up to a count.
#[derive(Clone, Copy, Debug)]
struct Moment {
    queue: usize,
    count: u64,
}

/// A use of a buffer.
#[derive(Clone, Debug)]
struct Use {
    at: Moment,
    work: QueueWork,
}

/// The uses of a buffer that later uses must wait for.
#[derive(Debug)]
struct Uses {
    /// The queue that allocates, copies and frees the buffer.
    home: usize,
    bytes: usize,
    /// The last write, or the allocation.
    written: Use,
    /// The last read of each queue since then.
    read: Vec<Use>,
}

/// The queues of a device.
#[derive(Debug)]
pub(super) struct Queues {
    /// Per queue and other queue: the count of the other's work that it has waited for.
    waited: Vec<Vec<u64>>,
    /// Per region of memory.
    uses: HashMap<usize, Uses>,
}

impl Default for Queues {
    /// A single queue.
    fn default() -> Self {
        Self {
            waited: vec![vec![0]],
            uses: HashMap::new(),
        }
    }
}

impl Queues {
    /// Adds a queue that has waited for none, and returns its number.
    pub(super) fn add(&mut self) -> usize {
        let queue = self.waited.len();
        for waited in &mut self.waited {
            waited.push(0);
        }
        self.waited.push(vec![0; queue + 1]);
        queue
    }

    /// The next work of a queue.
    fn next(&mut self, queue: usize) -> Moment {
        let count = &mut self.waited[queue][queue];
        *count += 1;
        Moment {
            queue,
            count: *count,
        }
    }

    /// Whether the next work of `queue` comes after `moment`.
    fn is_after(&self, queue: usize, moment: Moment) -> bool {
        self.waited[queue][moment.queue] >= moment.count
    }

    /// Makes later work of `queue` wait for the work of `other` so far.
    fn wait(&mut self, queue: usize, other: usize) {
        for i in 0..self.waited.len() {
            self.waited[queue][i] = self.waited[queue][i].max(self.waited[other][i]);
        }
    }

    /// Records that a buffer is allocated on `queue`.
    pub(super) fn allocate(&mut self, region: usize, bytes: usize, queue: usize) {
        let at = self.next(queue);
        let written = Use {
            at,
            work: QueueWork::Allocation,
        };
        let uses = Uses {
            home: queue,
            bytes,
            written,
            read: Vec::new(),
        };
        self.uses.insert(region, uses);
    }

    /// Records that `queue` uses a buffer, and whether it `writes`. Refuses a use that has not
    /// waited for earlier ones.
    pub(super) fn note(
        &mut self,
        region: usize,
        queue: usize,
        writes: bool,
        work: QueueWork,
    ) -> Result<(), Box<Unordered>> {
        let Some(uses) = self.uses.get(&region) else {
            return Ok(());
        };
        let reads = uses.read.iter().filter(|_| writes);
        let mut before = std::iter::once(&uses.written).chain(reads);
        if let Some(before) = before.find(|before| !self.is_after(queue, before.at)) {
            // An `acquire` waits for all that the buffer's home queue has waited for.
            let is_released = self.is_after(uses.home, before.at);
            return Err(Box::new(Unordered {
                bytes: uses.bytes,
                home: uses.home,
                before: (before.at.queue, before.work.clone()),
                now: (queue, work),
                is_released,
            }));
        }
        let now = Use {
            at: self.next(queue),
            work,
        };
        if let Some(uses) = self.uses.get_mut(&region) {
            if writes {
                uses.written = now;
                uses.read.clear();
            } else {
                uses.read.retain(|read| read.at.queue != queue);
                uses.read.push(now);
            }
        }
        Ok(())
    }

    /// [`note`](Self::note) for the buffer's home queue.
    pub(super) fn note_home(
        &mut self,
        region: usize,
        writes: bool,
        work: QueueWork,
    ) -> Result<(), Box<Unordered>> {
        match self.uses.get(&region) {
            Some(&Uses { home, .. }) => self.note(region, home, writes, work),
            None => Ok(()),
        }
    }

    /// Records that the buffer is freed.
    pub(super) fn free(&mut self, region: usize) -> Result<(), Box<Unordered>> {
        let noted = self.note_home(region, true, QueueWork::Drop);
        self.uses.remove(&region);
        noted
    }

    /// Makes later work of `queue` wait for all work of the buffer's home queue so far.
    pub(super) fn acquire(&mut self, region: usize, queue: usize) {
        if let Some(&Uses { home, .. }) = self.uses.get(&region) {
            self.wait(queue, home);
        }
    }

    /// Makes later work of the buffer's home queue wait for the work of `queue` so far.
    pub(super) fn release(&mut self, region: usize, queue: usize) {
        if let Some(&Uses { home, .. }) = self.uses.get(&region) {
            self.wait(home, queue);
        }
    }
}
