//! What the emulator reports: who did what, where in the source, to which element.

use core::fmt;
use core::panic::Location;

use crate::launch::Dim3;

/// A place in the source.
pub type Source = &'static Location<'static>;

/// Why the emulator refused something, or stopped a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmulatorError {
    /// A launch ended with a fault.
    Launch(Box<Report>),
    /// The host has no memory for so many bytes.
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// The host copied a number of elements that the buffer does not have.
    WrongLength {
        /// Elements in the buffer.
        buffer: usize,
        /// Elements given.
        given: usize,
    },
    /// The host used a buffer while another queue's work on it may not be done.
    StreamOrder(Box<Unordered>),
    /// A buffer of another emulated device was to be acquired or released.
    OtherDevice,
    /// The host read an element that nothing has written.
    ReadUninitialised {
        /// The first such element.
        index: usize,
        /// Elements in the buffer.
        len: usize,
    },
}

impl EmulatorError {
    /// The fault, if a launch ended with one.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Launch(report) => Some(&report.fault),
            _ => None,
        }
    }
}

impl fmt::Display for EmulatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch(report) => report.fmt(f),
            Self::OutOfMemory { bytes } => {
                write!(
                    f,
                    "no memory for {bytes} bytes in the emulator, and what it notes of them"
                )
            }
            Self::WrongLength { buffer, given } => write!(
                f,
                "a copy of {given} elements to or from an emulated buffer of {buffer}: copy all of them"
            ),
            Self::StreamOrder(unordered) => write!(f, "stream order: {unordered}"),
            Self::OtherDevice => f.write_str(
                "the buffer belongs to another emulator: a queue uses buffers of its own device",
            ),
            Self::ReadUninitialised { index, len } => write!(
                f,
                "the host reads element {index} of an emulated buffer of {len}, which nothing has written"
            ),
        }
    }
}

impl std::error::Error for EmulatorError {}

/// What a queue does with a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueWork {
    /// Allocates it.
    Allocation,
    /// Copies from the host, or fills it.
    Write,
    /// Copies to the host.
    Read,
    /// Launches a kernel that is given it.
    Launch {
        /// The kernel.
        kernel: &'static str,
        /// The view of it that the kernel is given: a parameter, or a field of one.
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

/// Work of two queues on one buffer, at least one of which writes, that nothing orders: on a GPU it might overlap.
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
    /// Whether the home queue waits for the first use: then the second one lacks an `acquire`, else the first a `release`.
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
            "a buffer of {bytes} bytes that belongs to queue {home}: queue {first} {before}, and queue {second} {now} without \
             waiting for that: "
        )?;
        if *is_released {
            write!(f, "`acquire` it on queue {second} before the second")
        } else {
            write!(f, "`release` it on queue {first} after the first")
        }
    }
}

/// A launch that ended with a fault, and how to see it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The emulator's seed.
    pub seed: u64,
    /// The number of the launch on this emulator, from 0.
    pub launch: u64,
    /// Steps that the scheduler had taken.
    pub steps: u64,
    /// Loads that had returned stale values, as weak memory allows.
    pub stale_loads: u64,
    /// What happened.
    pub fault: Fault,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel,
            seed,
            launch,
            steps,
            stale_loads,
            fault,
        } = self;
        write!(
            f,
            "kernel `{kernel}`: {fault} (emulator seed {seed}, launch {launch}, step {steps}"
        )?;
        match stale_loads {
            0 => {}
            1 => f.write_str(", 1 stale load")?,
            _ => write!(f, ", {stale_loads} stale loads")?,
        }
        f.write_str(")")
    }
}

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    /// Its block's coordinates in the grid.
    pub block: Dim3,
    /// Its coordinates in the block.
    pub thread: Dim3,
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "thread {} of block {}",
            Coordinates(self.thread),
            Coordinates(self.block)
        )
    }
}

/// Coordinates, without those that say nothing.
struct Coordinates(Dim3);

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dim3 { x, y, z } = self.0;
        match (y, z) {
            (0, 0) => write!(f, "{x}"),
            (_, 0) => write!(f, "({x}, {y})"),
            _ => write!(f, "({x}, {y}, {z})"),
        }
    }
}

/// How memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// A plain load.
    Load,
    /// A load through the read-only cache.
    ReadOnlyLoad,
    /// A plain store.
    Store,
    /// An atomic or volatile load.
    AtomicLoad,
    /// An atomic or volatile store.
    AtomicStore,
    /// An atomic read-modify-write.
    AtomicUpdate,
    /// A compare-and-swap that found another value: it only reads.
    FailedSwap,
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::ReadOnlyLoad => "read-only load",
            Self::Store => "store",
            Self::AtomicLoad => "atomic load",
            Self::AtomicStore => "atomic store",
            Self::AtomicUpdate => "atomic update",
            Self::FailedSwap => "failed compare-and-swap",
        })
    }
}

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub touch: Touch,
    /// Where in the source.
    pub source: Source,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {} at {}", self.touch, self.thread, self.source)
    }
}

/// An element of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The parameter's name (several, if they start at one address), or where the shared array was declared.
    pub view: String,
    /// The first element that the access touches, counted from the view's start.
    pub index: isize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "element {} of {}", self.index, self.view)
    }
}

/// What a thread that goes on without end looked at last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The element.
    pub place: Place,
    /// What it held, as an unsigned number, if it has 8 bytes at most.
    pub value: Option<u64>,
    /// Who gave it that value, and where in the source, if a thread did, and lately.
    pub last: Option<(ThreadId, Source)>,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)?;
        if let Some(value) = self.value {
            write!(f, ", which was {value}")?;
        }
        if let Some((thread, source)) = self.last {
            write!(f, " (set by {thread} at {source})")?;
        }
        Ok(())
    }
}

/// What a thread waits for, or does without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who.
    pub thread: ThreadId,
    /// For what: `sync_threads`, `sync_warp`, an atomic load in a loop, …
    pub what: &'static str,
    /// Where in the source.
    pub source: Option<Source>,
    /// What it looked at, if it waits in a loop.
    pub seen: Option<Box<Seen>>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in `{}`", self.thread, self.what)?;
        if let Some(source) = self.source {
            write!(f, " at {source}")?;
        }
        if let Some(seen) = &self.seen {
            write!(f, " of {seen}")?;
        }
        Ok(())
    }
}

fn write_not_started(f: &mut fmt::Formatter<'_>, blocks: u64) -> fmt::Result {
    if blocks > 0 {
        write!(
            f,
            ", and {blocks} blocks have not started since no more can be resident"
        )?;
    }
    Ok(())
}

/// Writes who waits, after a colon.
fn write_all(f: &mut fmt::Formatter<'_>, waiting: &[Waiting]) -> fmt::Result {
    let mut before = ": ";
    for one in waiting {
        write!(f, "{before}{one}")?;
        before = "; ";
    }
    Ok(())
}

/// What is wrong with a kernel or its launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The launch's shape or arguments can't be.
    BadLaunch {
        /// What is wrong, and what would be right.
        why: String,
    },
    /// The launch is given a buffer while another queue's work on it may not be done.
    StreamOrder(Box<Unordered>),
    /// An access past the end of a view, or of the memory that it lies in.
    OutOfBounds {
        /// The access.
        event: Event,
        /// What it meant to touch.
        place: Place,
        /// Elements that it touches.
        count: usize,
        /// Elements that there are.
        len: usize,
    },
    /// An access through a view that lies in none of the device's memory.
    NotDeviceMemory {
        /// The access.
        event: Event,
        /// What it meant to touch.
        place: Place,
    },
    /// An access at an address that is not a multiple of its size.
    Misaligned {
        /// The access.
        event: Event,
        /// What it meant to touch.
        place: Place,
        /// Its address.
        address: usize,
        /// What the address must be a multiple of.
        alignment: usize,
    },
    /// A load, or an atomic update, of memory that nothing has written.
    Uninitialised {
        /// The access.
        event: Event,
        /// What it touched.
        place: Place,
    },
    /// Two accesses to one element, one of which writes, that nothing orders, and that are not both atomic.
    DataRace {
        /// The element.
        place: Place,
        /// The access that happened to come first.
        first: Event,
        /// The other one.
        second: Event,
    },
    /// Atomic accesses of threads of several blocks, one of them at block scope.
    ScopeTooNarrow {
        /// The element.
        place: Place,
        /// The access that happened to come first.
        first: Event,
        /// The other one.
        second: Event,
    },
    /// A read-only load of memory that the kernel also writes.
    ReadOnlyWritten {
        /// The element.
        place: Place,
        /// The load.
        load: Event,
        /// The store.
        store: Event,
    },
    /// An access to the shared memory of another block.
    ForeignSharedMemory {
        /// The access.
        event: Event,
        /// What it touched.
        place: Place,
        /// The block that the memory belongs to.
        owner: Dim3,
    },
    /// A block asks for more shared memory than it can have.
    TooMuchShared {
        /// Who asked.
        thread: ThreadId,
        /// Where in the source.
        source: Source,
        /// Bytes that the block would have.
        bytes: usize,
        /// Bytes that it may have.
        limit: usize,
    },
    /// A thread waits at a barrier of the block that another one does not come to.
    DivergentBarrier {
        /// One that waits.
        waiting: Waiting,
        /// One that is elsewhere.
        other: ThreadId,
        /// Where it is: at another barrier, or ended (none).
        elsewhere: Option<(&'static str, Source)>,
    },
    /// A warp operation whose mask does not name the lane that calls it.
    NotInMask {
        /// Who called what.
        waiting: Waiting,
        /// The mask.
        mask: u32,
    },
    /// A warp operation whose mask names lanes that have ended.
    ExitedLane {
        /// Who called what.
        waiting: Waiting,
        /// The mask.
        mask: u32,
        /// Those of its lanes that have ended.
        exited: u32,
    },
    /// A warp operation whose mask names lanes that the block does not have.
    AbsentLane {
        /// Who called what.
        waiting: Waiting,
        /// The mask.
        mask: u32,
        /// Those of its lanes that there are not.
        absent: u32,
    },
    /// A shuffle that reads from a lane which its mask does not name.
    InactiveLane {
        /// Who called what.
        waiting: Waiting,
        /// The mask.
        mask: u32,
        /// The lane that it reads from.
        lane: u32,
    },
    /// Two lanes that wait for each other in different warp operations, or with different masks.
    WarpMismatch {
        /// One of them, and its mask.
        first: Box<(Waiting, u32)>,
        /// The other one, and its mask.
        second: Box<(Waiting, u32)>,
    },
    /// No thread can go on.
    Deadlock {
        /// Some of those that wait, one for each place.
        waiting: Vec<Waiting>,
        /// How many threads wait at barriers or in warp operations.
        blocked: usize,
        /// How many threads repeat loads and failing updates without anything changing.
        spinning: usize,
        /// Blocks of the grid that have not started, since no more can be resident.
        not_started: u64,
    },
    /// Threads go on, but only repeat what they did before: memory changes back and forth, and nothing new comes of it.
    Livelock {
        /// Some of those that repeat themselves or wait, one for each place.
        waiting: Vec<Waiting>,
        /// How many threads wait at barriers or in warp operations.
        blocked: usize,
        /// How many threads do not.
        spinning: usize,
        /// Blocks of the grid that have not started, since no more can be resident.
        not_started: u64,
        /// Steps of the scheduler since something new happened.
        steps: u64,
    },
    /// The scheduler has taken as many steps as it may.
    StepLimit {
        /// The limit.
        steps: u64,
        /// Where threads are, one for each place.
        running: Vec<Waiting>,
    },
    /// Memory that the kernel promised to leave zero (`zero_at_exit`) is not: a lock that is still held.
    NotZeroAtExit {
        /// The first such element, in units of bytes of the parameter's elements.
        place: Place,
        /// Who wrote it last.
        last: Option<Event>,
    },
    /// The kernel panicked.
    Panic {
        /// Who.
        thread: ThreadId,
        /// The message, and where.
        message: String,
    },
    /// A function that the emulator does not provide to a kernel.
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
    },
}

impl Fault {
    /// The fault's kind, in a word or two.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadLaunch { .. } => "bad launch",
            Self::StreamOrder(_) => "stream order",
            Self::OutOfBounds { .. } => "out of bounds",
            Self::NotDeviceMemory { .. } => "not device memory",
            Self::Misaligned { .. } => "misaligned access",
            Self::Uninitialised { .. } => "uninitialised read",
            Self::DataRace { .. } => "data race",
            Self::ScopeTooNarrow { .. } => "scope too narrow",
            Self::ReadOnlyWritten { .. } => "read-only memory written",
            Self::ForeignSharedMemory { .. } => "foreign shared memory",
            Self::TooMuchShared { .. } => "too much shared memory",
            Self::DivergentBarrier { .. } => "divergent barrier",
            Self::NotInMask { .. } => "lane not in its mask",
            Self::ExitedLane { .. } => "exited lane in mask",
            Self::AbsentLane { .. } => "absent lane in mask",
            Self::InactiveLane { .. } => "read from inactive lane",
            Self::WarpMismatch { .. } => "warp operations differ",
            Self::Deadlock { .. } => "deadlock",
            Self::Livelock { .. } => "livelock",
            Self::StepLimit { .. } => "step limit",
            Self::NotZeroAtExit { .. } => "not zero at exit",
            Self::Panic { .. } => "panic",
            Self::OutOfMemory { .. } => "out of memory",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind())?;
        match self {
            Self::BadLaunch { why } => f.write_str(why),
            Self::StreamOrder(unordered) => unordered.fmt(f),
            Self::OutOfBounds {
                event,
                place,
                count,
                len,
            } => {
                write!(f, "{place}, which has {len}")?;
                if *count > 1 {
                    write!(f, " ({count} elements from there on)")?;
                }
                write!(f, ", {event}")
            }
            Self::NotDeviceMemory { event, place } => {
                write!(f, "{place} lies in no memory of the device, {event}")
            }
            Self::Misaligned {
                event,
                place,
                address,
                alignment,
            } => write!(
                f,
                "{place} at the address {address:#x}, which is not a multiple of {alignment}, {event}"
            ),
            Self::Uninitialised { event, place } => {
                write!(f, "{place}, which nothing has written, {event}")
            }
            Self::DataRace {
                place,
                first,
                second,
            } => write!(f, "{place}: {first}, and {second}; nothing orders the two"),
            Self::ScopeTooNarrow {
                place,
                first,
                second,
            } => write!(
                f,
                "{place}: {first}, and {second}: several blocks, but one access is at block scope"
            ),
            Self::ReadOnlyWritten { place, load, store } => write!(
                f,
                "{place}: {load}, and {store}: what is read through the read-only cache may not change"
            ),
            Self::ForeignSharedMemory {
                event,
                place,
                owner,
            } => write!(
                f,
                "{place} belongs to block {}, {event}",
                Coordinates(*owner)
            ),
            Self::TooMuchShared {
                thread,
                source,
                bytes,
                limit,
            } => write!(
                f,
                "{bytes} bytes in a block with the array of {thread} at {source}; there are {limit}"
            ),
            Self::DivergentBarrier {
                waiting,
                other,
                elsewhere,
            } => {
                write!(f, "{waiting} waits for all of its block, but {other} ")?;
                match elsewhere {
                    Some((what, source)) => write!(f, "is in `{what}` at {source}"),
                    None => f.write_str("has ended"),
                }
            }
            Self::NotInMask { waiting, mask } => {
                write!(f, "{waiting} with the mask {mask:#010x}")
            }
            Self::ExitedLane {
                waiting,
                mask,
                exited,
            } => write!(
                f,
                "{waiting} with the mask {mask:#010x}; the lanes {exited:#010x} have ended"
            ),
            Self::AbsentLane {
                waiting,
                mask,
                absent,
            } => write!(
                f,
                "{waiting} with the mask {mask:#010x}; the block has no lanes {absent:#010x}"
            ),
            Self::InactiveLane {
                waiting,
                mask,
                lane,
            } => write!(
                f,
                "{waiting} with the mask {mask:#010x} reads from lane {lane}"
            ),
            Self::WarpMismatch { first, second } => write!(
                f,
                "{} with the mask {:#010x} and {} with the mask {:#010x} wait for each other",
                first.0, first.1, second.0, second.1
            ),
            Self::Deadlock {
                waiting,
                blocked,
                spinning,
                not_started,
            } => {
                write!(f, "{blocked} threads wait, {spinning} spin")?;
                write_not_started(f, *not_started)?;
                write_all(f, waiting)
            }
            Self::Livelock {
                waiting,
                blocked,
                spinning,
                not_started,
                steps,
            } => {
                write!(
                    f,
                    "{spinning} threads repeat themselves, {blocked} wait, and nothing new has come of {steps} steps"
                )?;
                write_not_started(f, *not_started)?;
                write_all(f, waiting)
            }
            Self::StepLimit { steps, running } => {
                write!(f, "not done after {steps} steps of the scheduler")?;
                write_all(f, running)
            }
            Self::NotZeroAtExit { place, last } => {
                write!(f, "{place} is to be zero when the kernel ends")?;
                match last {
                    Some(event) => write!(f, "; last: {event}"),
                    None => f.write_str("; the kernel did not write it"),
                }
            }
            Self::Panic { thread, message } => write!(f, "{thread}: {message}"),
            Self::OutOfMemory { what } => write!(f, "the host has no memory for {what}"),
        }
    }
}
