//! The target's backends: one module per target, with the same functions.

#[cfg(not(target_arch = "nvptx64"))]
mod host;
#[cfg(target_arch = "nvptx64")]
mod nvptx;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use host::*;
#[cfg(target_arch = "nvptx64")]
pub(crate) use nvptx::*;

use crate::atomic::ScopeKind;

/// Kind of a memory access, from which the host's backend detects conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(target_arch = "nvptx64", allow(dead_code))]
pub(crate) enum Access {
    /// A plain load.
    Load,
    /// A load of memory that nothing writes while the kernel runs.
    ReadOnlyLoad,
    /// A plain store.
    Store,
    /// An atomic or volatile load.
    AtomicLoad { scope: ScopeKind, acquire: bool },
    /// An atomic or volatile store.
    AtomicStore { scope: ScopeKind, release: bool },
    /// An atomic read-modify-write: relaxed, at device scope.
    AtomicUpdate,
    /// A compare-and-swap: an update if the element's bits are `current`, otherwise a load. Both
    /// are relaxed, at device scope.
    CompareAndSwap { current: u64 },
}

impl Access {
    /// PTX treats volatile accesses as relaxed ones at system scope.
    pub(crate) const VOLATILE_LOAD: Self = Self::load(ScopeKind::System, false);
    /// As for loads.
    pub(crate) const VOLATILE_STORE: Self = Self::store(ScopeKind::System, false);

    pub(crate) const fn load(scope: ScopeKind, acquire: bool) -> Self {
        Self::AtomicLoad { scope, acquire }
    }

    pub(crate) const fn store(scope: ScopeKind, release: bool) -> Self {
        Self::AtomicStore { scope, release }
    }

    /// Whether it is a read-modify-write, or may be.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) const fn is_update(self) -> bool {
        matches!(self, Self::AtomicUpdate | Self::CompareAndSwap { .. })
    }
}
