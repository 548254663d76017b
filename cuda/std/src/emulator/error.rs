//! What the emulator's functions return.

use core::fmt;

use super::fault::Fault;
use super::queues::Unordered;

/// Why the emulator refused something, or stopped a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmulatorError {
    /// A launch ended with a fault.
    Launch(Box<Report>),
    /// The host is out of memory.
    OutOfMemory {
        /// The number of bytes asked for.
        bytes: usize,
    },
    /// The number of elements that the host copied differs from the buffer's length.
    WrongLength {
        /// Elements in the buffer.
        buffer: usize,
        /// Elements given.
        given: usize,
    },
    /// The host used a buffer that another queue may still be working on.
    StreamOrder(Box<Unordered>),
    /// The buffer to acquire or release belongs to another emulated device.
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
                "a copy of {given} elements to or from an emulated buffer of {buffer}: copy all of \
                 them"
            ),
            Self::StreamOrder(unordered) => write!(f, "stream order: {unordered}"),
            Self::OtherDevice => f.write_str(
                "the buffer belongs to another emulator: a queue uses buffers of its own device",
            ),
            Self::ReadUninitialised { index, len } => write!(
                f,
                "the host reads element {index} of an emulated buffer of {len}, which nothing has \
                 written"
            ),
        }
    }
}

impl std::error::Error for EmulatorError {}

/// A launch that ended with a fault, and what is needed to repeat it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The emulator's seed.
    pub seed: u64,
    /// The launch's index on this emulator, from 0.
    pub launch: u64,
    /// Steps of the scheduler so far.
    pub steps: u64,
    /// Loads so far that returned stale values, as weak memory allows.
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
