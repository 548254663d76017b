//! What can be wrong with a kernel or its launch.

use core::fmt;

use super::event::{Coordinates, Event, Place, Source, ThreadId, Waiting};
use super::queues::Unordered;
use crate::launch::Dim3;
use crate::lengths::ViewProblem;

fn write_not_started(f: &mut fmt::Formatter<'_>, blocks: u64) -> fmt::Result {
    if blocks > 0 {
        write!(
            f,
            ", and {blocks} blocks have not started: only a cooperative launch has all its blocks \
             resident at once"
        )?;
    }
    Ok(())
}

/// Writes a colon and the waiting threads.
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
    /// A launch whose shape or arguments no GPU would accept.
    BadLaunch {
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A view among the arguments is shorter than the kernel states, or not aligned as stated.
    BadView(ViewProblem),
    /// The grid of a cooperative kernel has more blocks than can be resident at once.
    NotResident {
        /// Blocks in the grid.
        blocks: u64,
        /// Blocks that can be resident at once.
        resident: u32,
    },
    /// An argument of the launch is a buffer that another queue may still be working on.
    StreamOrder(Box<Unordered>),
    /// An access past the end of a view, or of the view's memory.
    OutOfBounds {
        /// The access.
        event: Event,
        /// What it meant to touch.
        place: Place,
        /// Elements that it touches.
        count: usize,
        /// Elements of the view or memory.
        len: usize,
    },
    /// An access through a view outside the device's memory.
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
    /// Two unordered accesses to one element: at least one writes, and they are not both atomic.
    DataRace {
        /// The element.
        place: Place,
        /// The access that happened to come first.
        first: Event,
        /// The other one.
        second: Event,
    },
    /// Atomic accesses by threads of different blocks, one of them at block scope.
    ScopeTooNarrow {
        /// The element.
        place: Place,
        /// The access that happened to come first.
        first: Event,
        /// The other one.
        second: Event,
    },
    /// Two unordered atomic accesses of different sizes to the same bytes, at least one a write:
    /// each is atomic only with respect to accesses of its own size.
    MixedWidths {
        /// The element of the second one.
        place: Place,
        /// The access that happened to come first.
        first: Event,
        /// The other one.
        second: Event,
        /// Their sizes in bytes.
        bytes: (u32, u32),
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
    /// A thread waits at a barrier of the block that another thread does not reach.
    DivergentBarrier {
        /// A waiting thread.
        waiting: Waiting,
        /// A thread elsewhere.
        other: ThreadId,
        /// The other barrier where it waits; `None` if it has ended.
        elsewhere: Option<(&'static str, Source)>,
    },
    /// A warp operation whose mask does not contain the calling lane.
    NotInMask {
        /// Who called what.
        waiting: Waiting,
        /// The mask.
        mask: u32,
    },
    /// A warp operation whose mask contains lanes that have ended.
    ExitedLane {
        /// Who called what.
        waiting: Waiting,
        /// The mask.
        mask: u32,
        /// Those of its lanes that have ended.
        exited: u32,
    },
    /// A warp operation whose mask contains lanes that the block does not have.
    AbsentLane {
        /// Who called what.
        waiting: Waiting,
        /// The mask.
        mask: u32,
        /// Those of its lanes that the block does not have.
        absent: u32,
    },
    /// A shuffle that reads from a lane outside its mask.
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
        /// Some of those that wait, one per place.
        waiting: Vec<Waiting>,
        /// How many threads wait at barriers or in warp operations.
        blocked: usize,
        /// How many threads repeat loads and failing updates without anything changing.
        spinning: usize,
        /// Blocks of the grid that have not started, since no more can be resident.
        not_started: u64,
    },
    /// Threads run, but only repeat what they did before: memory changes back and forth, without
    /// any new value.
    Livelock {
        /// Some of those that repeat themselves or wait, one per place.
        waiting: Vec<Waiting>,
        /// How many threads wait at barriers or in warp operations.
        blocked: usize,
        /// How many threads repeat themselves.
        spinning: usize,
        /// Blocks of the grid that have not started, since no more can be resident.
        not_started: u64,
        /// Steps of the scheduler since something new happened.
        steps: u64,
    },
    /// The scheduler has reached its step limit.
    StepLimit {
        /// The limit.
        steps: u64,
        /// Running threads, one per place in the source.
        running: Vec<Waiting>,
    },
    /// Memory that the kernel promised to leave zero (`zero_at_exit`) is not zero: for instance, a
    /// lock is still held.
    NotZeroAtExit {
        /// The first element that is not zero.
        place: Place,
        /// Who wrote it last.
        last: Option<Event>,
    },
    /// The kernel panicked.
    Panic {
        /// Who.
        thread: ThreadId,
        /// The message, and its place in the source.
        message: String,
    },
    /// The host is out of memory for something that the launch needs.
    OutOfMemory {
        /// What the memory was needed for.
        what: &'static str,
    },
}

impl Fault {
    /// The fault's kind, in a word or two.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadLaunch { .. } => "bad launch",
            Self::BadView(ViewProblem::TooShort { .. }) => "view too short",
            Self::BadView(ViewProblem::Misaligned { .. }) => "view misaligned",
            Self::NotResident { .. } => "grid not resident",
            Self::StreamOrder(_) => "stream order",
            Self::OutOfBounds { .. } => "out of bounds",
            Self::NotDeviceMemory { .. } => "not device memory",
            Self::Misaligned { .. } => "misaligned access",
            Self::Uninitialised { .. } => "uninitialised read",
            Self::DataRace { .. } => "data race",
            Self::ScopeTooNarrow { .. } => "scope too narrow",
            Self::MixedWidths { .. } => "atomics of different widths",
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
            Self::BadView(problem) => problem.fmt(f),
            Self::NotResident { blocks, resident } => write!(
                f,
                "the kernel is cooperative, and of the {blocks} blocks of its grid, {resident} can be \
                 resident at once"
            ),
            Self::StreamOrder(unordered) => unordered.fmt(f),
            Self::Panic { thread, message } => write!(f, "{thread}: {message}"),
            Self::OutOfMemory { what } => write!(f, "the host has no memory for {what}"),
            Self::OutOfBounds { .. }
            | Self::NotDeviceMemory { .. }
            | Self::Misaligned { .. }
            | Self::Uninitialised { .. }
            | Self::DataRace { .. }
            | Self::ScopeTooNarrow { .. }
            | Self::MixedWidths { .. }
            | Self::ReadOnlyWritten { .. }
            | Self::ForeignSharedMemory { .. }
            | Self::TooMuchShared { .. }
            | Self::NotZeroAtExit { .. } => self.fmt_memory(f),
            Self::DivergentBarrier { .. }
            | Self::NotInMask { .. }
            | Self::ExitedLane { .. }
            | Self::AbsentLane { .. }
            | Self::InactiveLane { .. }
            | Self::WarpMismatch { .. }
            | Self::Deadlock { .. }
            | Self::Livelock { .. }
            | Self::StepLimit { .. } => self.fmt_waiting(f),
        }
    }
}

impl Fault {
    /// Writes the message of a fault of a memory access.
    fn fmt_memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
                "{place} at the address {address:#x}, which is not a multiple of {alignment}, \
                 {event}"
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
            Self::MixedWidths {
                place,
                first,
                second,
                bytes,
            } => write!(
                f,
                "{place}: {first}, of {} bytes, and {second}, of {}; nothing orders the two, and \
                 atomics of different sizes are not atomic to each other",
                bytes.0, bytes.1
            ),
            Self::ReadOnlyWritten { place, load, store } => write!(
                f,
                "{place}: {load}, and {store}: what is read through the read-only cache may not \
                 change"
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
            Self::NotZeroAtExit { place, last } => {
                write!(f, "{place} is to be zero when the kernel ends")?;
                match last {
                    Some(event) => write!(f, "; last: {event}"),
                    None => f.write_str("; the kernel did not write it"),
                }
            }
            _ => Ok(()),
        }
    }

    /// Writes the message of a fault of waiting threads.
    fn fmt_waiting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
                    "{spinning} threads repeat themselves, {blocked} wait, and nothing new has \
                     come of {steps} steps"
                )?;
                write_not_started(f, *not_started)?;
                write_all(f, waiting)
            }
            Self::StepLimit { steps, running } => {
                write!(f, "not done after {steps} steps of the scheduler")?;
                write_all(f, running)
            }
            _ => Ok(()),
        }
    }
}
