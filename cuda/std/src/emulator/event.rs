//! Events: accesses with their thread, element, kind and place in the source.

use core::fmt;
use core::panic::Location;

use crate::launch::Dim3;

/// A place in the source.
pub type Source = &'static Location<'static>;

/// Whether two places in the source are the same.
pub(super) fn same(a: Source, b: Source) -> bool {
    std::ptr::eq(a, b) || (a.line(), a.column(), a.file()) == (b.line(), b.column(), b.file())
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

/// Coordinates, without trailing zeros.
pub(super) struct Coordinates(pub(super) Dim3);

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

/// Kind of memory access.
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
    /// The parameter's name (several, if they start at one address), or where the shared array was
    /// declared.
    pub view: String,
    /// The first element that the access touches, counted from the view's start.
    pub index: isize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "element {} of {}", self.index, self.view)
    }
}

/// The last element read by a thread that runs without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The element.
    pub place: Place,
    /// Its value as an unsigned number, if it has 8 bytes at most.
    pub value: Option<u64>,
    /// The thread that wrote that value, and where in the source; `None` unless a thread wrote it
    /// recently.
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

/// What a thread waits for, or repeats without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who.
    pub thread: ThreadId,
    /// For what: `sync_threads`, `sync_warp`, an atomic load in a loop, …
    pub what: &'static str,
    /// Where in the source.
    pub source: Option<Source>,
    /// The element that it reads, if it waits in a loop.
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
