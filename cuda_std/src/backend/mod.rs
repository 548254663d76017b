//! What the rest of the crate needs from the machine: one module per machine, with the same functions.

#[cfg(not(target_arch = "nvptx64"))]
mod host;
#[cfg(target_arch = "nvptx64")]
mod nvptx;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use host::*;
#[cfg(target_arch = "nvptx64")]
pub(crate) use nvptx::*;

/// How a thread touches memory: what the host's backend needs to know to find conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A plain load.
    Load,
    /// A load of memory that nothing writes while the kernel runs.
    ReadOnlyLoad,
    /// A plain store.
    Store,
    /// An atomic or volatile access, which may meet others of its kind.
    Atomic,
}
