//! Copies from ordinary host memory to the GPU, faster than the driver makes them.
//!
//! The driver copies ordinary memory through page-locked memory of its own on one thread, at some 10 GB/s. Here all threads copy a
//! chunk to page-locked memory while the GPU fetches the one before.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_std::Pod;
use rayon::prelude::*;

use super::buffer::DeviceBuffer;
use super::error::CudaError;
use super::event::Event;
use super::pinned::PinnedBuffer;
use super::stream::Stream;

/// Bytes of a chunk.
const CHUNK: usize = 4 << 20;
/// Bytes that a thread copies at a time.
const PIECE: usize = 256 << 10;
/// Chunks that are under way at the same time.
const CHUNKS: usize = 3;
/// Copies of fewer bytes are left to the driver.
const LEAST: usize = 4 * CHUNK;

/// Copies through a stream's page-locked memory at the same time; any more are left to the driver.
const COPIES: usize = 2;

/// Places for things that are made when first needed, and kept from use to use.
///
/// A place in use is taken out, and nothing is locked meanwhile: its user may wait for other threads of rayon, and so be given
/// other work to do, which uses this pool as well. Under a lock that work would wait for itself.
pub(super) struct Pool<T> {
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
    /// A place, with what was made for it before, if anything was; none if all are in use.
    pub(super) fn take(&self) -> Option<Place<'_, T>> {
        let content = self.lock().pop()?;
        Some(Place {
            pool: self,
            content,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<T>>> {
        // Nothing panics while it is locked but for want of memory.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in use; dropping it puts it back.
pub(super) struct Place<'a, T> {
    pool: &'a Pool<T>,
    content: Option<T>,
}

impl<T> Deref for Place<'_, T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.content
    }
}

impl<T> DerefMut for Place<'_, T> {
    fn deref_mut(&mut self) -> &mut Option<T> {
        &mut self.content
    }
}

impl<T> Drop for Place<'_, T> {
    fn drop(&mut self) {
        // On top, where the next copy takes it before places for which nothing was made.
        self.pool.lock().push(self.content.take());
    }
}

/// Page-locked memory that a stream copies through, each part with the end of the copy from it.
pub(super) struct Staging {
    chunks: Vec<(PinnedBuffer<u8>, Event)>,
}

impl Staging {
    fn new(stream: &Stream) -> Result<Self, CudaError> {
        let chunk = |_| {
            let bytes = stream.device().pinned(CHUNK)?;
            // Where nothing has been copied yet, there is nothing to wait for.
            Ok((bytes, stream.record()?))
        };
        let chunks = (0..CHUNKS).map(chunk);
        Ok(Self {
            chunks: chunks.collect::<Result<_, CudaError>>()?,
        })
    }
}

/// Copies `values` to all of `buffer` and waits for it; `false` if it had better be left to the driver.
pub(super) fn write<T: Pod>(buffer: &mut DeviceBuffer<T>, values: &[T]) -> Result<bool, CudaError> {
    let size = size_of_val(values);
    crate::threads::ensure();
    if size < LEAST || rayon::current_num_threads() < 2 {
        return Ok(false);
    }
    let stream = buffer.stream().clone();
    let Some(mut place) = stream.staging().take() else {
        return Ok(false);
    };
    let staging = match &mut *place {
        Some(staging) => staging,
        // Without so much page-locked memory, the driver still can.
        empty => match Staging::new(&stream) {
            Ok(new) => empty.insert(new),
            Err(CudaError::OutOfPinnedMemory { .. }) => return Ok(false),
            Err(error) => return Err(error),
        },
    };
    // SAFETY: `Pod` has no padding: all bytes of the values are initialised.
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size) };
    for (i, from) in bytes.chunks(CHUNK).enumerate() {
        let (chunk, copied) = &mut staging.chunks[i % CHUNKS];
        stream.blame(copied.synchronize())?;
        let to = &mut chunk[..from.len()];
        to.par_chunks_mut(PIECE)
            .zip(from.par_chunks(PIECE))
            .for_each(|(to, from)| to.copy_from_slice(from));
        // SAFETY: the chunk is neither written nor freed before `copied` is reached: it is waited for before the next write, and
        // below, also on an error.
        let queued = unsafe { buffer.queue_write_bytes(i * CHUNK, to) };
        let queued = queued.and_then(|()| stream.record_into(copied));
        if let Err(error) = queued {
            let _ = stream.synchronize();
            return Err(error);
        }
    }
    stream.synchronize()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Copies that are asked for from outside, each with work for two threads: one that waits for the other's piece begins
    /// the next copy. Fails after a minute if they wait for each other.
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
