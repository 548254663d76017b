//! Working memory that is kept from one job to the next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory in which a job of some kind works.
pub(crate) trait WorkingMemory {
    /// The bytes that it takes.
    fn bytes(&self) -> u64;
}

/// The working memory of the jobs on one queue, between two of them. Clones share it.
///
/// A job takes it, and puts it back once its work is queued or done. A job that finds none, because
/// it is the first or another thread's job has it, works in new memory.
#[derive(Debug)]
pub(crate) struct Kept<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: WorkingMemory> Kept<T> {
    /// Takes the memory, if there is some.
    pub(crate) fn take(&self) -> Option<T> {
        self.memory().take()
    }

    /// Keeps `memory` for the next job. If jobs of several threads have put some here, the largest
    /// is kept.
    pub(crate) fn put(&self, memory: T) {
        let mut kept = self.memory();
        let smaller = match &*kept {
            Some(other) if other.bytes() > memory.bytes() => Some(memory),
            _ => kept.replace(memory),
        };
        // Not while others wait for the lock.
        drop(kept);
        drop(smaller);
    }

    /// The bytes that are kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.memory().as_ref().map_or(0, T::bytes)
    }

    /// Frees the memory, and returns its number of bytes.
    pub(crate) fn release(&self) -> u64 {
        self.take().map_or(0, |memory| memory.bytes())
    }

    fn memory(&self) -> MutexGuard<'_, Option<T>> {
        // After a panic, there is whole memory or none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
