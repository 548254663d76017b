//! The page-locked memory that a stream's large copies pass through, and the threads that copy.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::locked::LockedBuffer;
use crate::error::{CudaError, CudaResult};
use crate::event::Event;
use crate::stream::Stream;

/// The size of a chunk in bytes.
pub(crate) const CHUNK: usize = 4 << 20;
/// Copies of fewer bytes are left to the driver.
pub(crate) const MIN_BYTES: usize = 4 * CHUNK;

/// The number of copies of one stream that are staged at the same time; the driver makes any
/// others.
const COPIES: usize = 2;

/// Places for values that are made when first needed and kept for later uses.
///
/// A place in use is taken out of the pool, and the pool is not locked meanwhile: a user that waits
/// for other threads of rayon may be given other work to do, which takes a place too. Under a lock
/// that work would wait for itself.
pub(crate) struct Pool<T> {
    places: Mutex<Vec<Option<T>>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        let places = std::iter::repeat_with(|| None).take(COPIES).collect();
        Self {
            places: Mutex::new(places),
        }
    }
}

impl<T> Pool<T> {
    /// A place, with the value made for it before, if there is one; `None` if all places are in
    /// use.
    pub(crate) fn take(&self) -> Option<Pooled<'_, T>> {
        let content = self.lock().pop()?;
        Some(Pooled {
            pool: self,
            content,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<T>>> {
        // While it is locked, only a failed allocation panics.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in use; dropping it puts it back.
pub(crate) struct Pooled<'a, T> {
    pool: &'a Pool<T>,
    content: Option<T>,
}

impl<T> Deref for Pooled<'_, T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.content
    }
}

impl<T> DerefMut for Pooled<'_, T> {
    fn deref_mut(&mut self) -> &mut Option<T> {
        &mut self.content
    }
}

impl<T> Drop for Pooled<'_, T> {
    fn drop(&mut self) {
        // On top, where the next copy takes it before places without a value.
        self.pool.lock().push(self.content.take());
    }
}

/// Page-locked memory in chunks, each with an event after the last copy from it or to it.
#[derive(Default)]
pub(crate) struct Staging {
    chunks: Vec<(LockedBuffer<u8>, Event)>,
}

impl Staging {
    /// Makes chunks until there are `count`.
    fn provide(&mut self, stream: &Stream, count: usize) -> CudaResult<()> {
        while self.chunks.len() < count {
            let bytes = stream.device().locked_buffer(CHUNK)?;
            // Recorded, it is reached as soon as the work before it is done.
            self.chunks.push((bytes, stream.record()?));
        }
        Ok(())
    }
}

/// What a copy by all threads needs.
pub(crate) struct StagedCopy<'a> {
    pub(crate) threads: Threads,
    place: Pooled<'a, Staging>,
}

impl<'a> StagedCopy<'a> {
    /// For a copy through `chunks` chunks. `None` if there are no threads, or no page-locked memory
    /// for it.
    pub(crate) fn begin(stream: &'a Stream, chunks: usize) -> CudaResult<Option<Self>> {
        let (Some(threads), Some(mut place)) = (Threads::find(), stream.staging().take()) else {
            return Ok(None);
        };
        let staging = place.get_or_insert_with(Staging::default);
        match staging.provide(stream, chunks) {
            Ok(()) => Ok(Some(Self { threads, place })),
            // The driver needs less page-locked memory than this.
            Err(CudaError::OutOfLockedMemory { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The chunks, each with the event after the last copy from it or to it.
    pub(crate) fn chunks(&mut self) -> &mut [(LockedBuffer<u8>, Event)] {
        match &mut *self.place {
            Some(staging) => &mut staging.chunks,
            // `begin` has put one there.
            None => &mut [],
        }
    }
}

/// The threads that copy: two or more.
#[derive(Clone, Copy)]
pub(crate) enum Threads {
    /// Those of the caller, which is one of rayon's threads.
    Current,
    /// This crate's own. Rayon's global pool would panic where the system provides no threads.
    Own(&'static ThreadPool),
}

impl Threads {
    fn find() -> Option<Self> {
        static OWN: OnceLock<Option<ThreadPool>> = OnceLock::new();

        if rayon::current_thread_index().is_some() {
            return (rayon::current_num_threads() > 1).then_some(Self::Current);
        }
        let own = OWN.get_or_init(|| ThreadPoolBuilder::new().build().ok());
        let own = own.as_ref()?;
        (own.current_num_threads() > 1).then_some(Self::Own(own))
    }

    pub(crate) fn run<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::Current => work(),
            Self::Own(pool) => pool.install(work),
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Threads outside of rayon ask for copies, each with work for two threads of rayon: a thread
    /// that waits for the other's piece begins the next copy. Fails after a minute if the copies
    /// wait for each other.
    #[test]
    fn copies_within_copies_do_not_wait_for_each_other() {
        let (done, end) = mpsc::channel();
        thread::spawn(move || {
            let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build();
            let threads = threads.expect("threads");
            let pool = Pool::<u32>::default();
            let (made, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let copy = || {
                let Some(mut place) = pool.take() else {
                    return;
                };
                place.get_or_insert_with(|| {
                    made.fetch_add(1, Ordering::Relaxed);
                    0
                });
                most.fetch_max(COPIES - pool.lock().len(), Ordering::Relaxed);
                (0..8).into_par_iter().with_max_len(1).for_each(|_| {
                    thread::sleep(Duration::from_micros(100));
                });
            };
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| (0..8).for_each(|_| threads.install(copy)));
                }
            });
            let places = pool.lock().len();
            let _ = done.send((places, made.into_inner(), most.into_inner()));
        });
        let (places, made, most) = end
            .recv_timeout(Duration::from_secs(60))
            .expect("copies wait for each other");
        assert_eq!(places, COPIES, "all places are back");
        assert!((1..=COPIES).contains(&made), "{made} made");
        assert!((1..=COPIES).contains(&most), "{most} at a time");
    }

    #[test]
    fn what_was_made_is_used_again() {
        let pool = Pool::default();
        *pool.take().expect("a place") = Some(7);
        let first = pool.take().expect("a place");
        assert_eq!(*first, Some(7));
        let second = pool.take().expect("a place");
        assert_eq!(*second, None);
        assert!(pool.take().is_none());
    }
}
