//! Copies from host memory to the GPU; large ones faster than the driver makes them.
//!
//! The driver copies ordinary memory through page-locked memory of its own, on one thread, at
//! about 10 GB/s. Here all threads copy a chunk to page-locked memory while the GPU fetches the
//! chunk before it.

use std::sync::OnceLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::staging::Staging;
use crate::error::{CudaError, CudaResult, check};
use crate::stream::Stream;
use crate::sys::{self, CUdeviceptr};

/// The size of a chunk in bytes.
const CHUNK: usize = 4 << 20;
/// The number of bytes that a thread copies at a time.
const PIECE: usize = 256 << 10;
/// The number of chunks under way at the same time.
const CHUNKS: usize = 3;
/// Copies of fewer bytes are left to the driver.
const MIN_BYTES: usize = 4 * CHUNK;

/// Queues a copy of `bytes` to the device address `to`.
///
/// # Safety
/// The device memory at `to` holds as many bytes, and the source stays alive and unchanged,
/// until the stream has done the copy.
pub(crate) unsafe fn queue_copy(stream: &Stream, to: CUdeviceptr, bytes: &[u8]) -> CudaResult<()> {
    let on = stream.bind()?;
    // SAFETY: the caller's promise.
    let status = unsafe { sys::cuMemcpyHtoDAsync_v2(to, bytes.as_ptr().cast(), bytes.len(), on) };
    stream.blame(check("cuMemcpyHtoDAsync", status))
}

/// Copies `bytes` to the device address `to` through the stream's page-locked memory, and waits
/// for it. `false` if nothing was copied, because the driver does this copy as well or better.
///
/// # Safety
/// The device memory at `to` holds as many bytes.
pub(crate) unsafe fn copy_staged(
    stream: &Stream,
    to: CUdeviceptr,
    bytes: &[u8],
) -> CudaResult<bool> {
    if bytes.len() < MIN_BYTES {
        return Ok(false);
    }
    let Some(threads) = Threads::find() else {
        return Ok(false);
    };
    let Some(mut place) = stream.staging().take() else {
        return Ok(false);
    };
    let staging = match &mut *place {
        Some(staging) => staging,
        // The driver needs less page-locked memory than this.
        empty => match new_staging(stream) {
            Ok(new) => empty.insert(new),
            Err(CudaError::OutOfLockedMemory { .. }) => return Ok(false),
            Err(error) => return Err(error),
        },
    };
    for (i, from) in bytes.chunks(CHUNK).enumerate() {
        let (chunk, copied) = &mut staging.chunks[i % CHUNKS];
        stream.blame(copied.synchronize())?;
        let chunk = &mut chunk[..from.len()];
        threads.run(|| {
            chunk
                .par_chunks_mut(PIECE)
                .zip(from.par_chunks(PIECE))
                .for_each(|(chunk, from)| chunk.copy_from_slice(from));
        });
        // SAFETY: the caller's promise for the destination. The chunk is neither written nor freed
        // before `copied` is reached: it is waited for before the next write, and the stream is
        // below, also on an error.
        let queued = unsafe { queue_copy(stream, to + (i * CHUNK) as u64, chunk) };
        let queued = queued.and_then(|()| stream.record_into(copied));
        if let Err(error) = queued {
            let _ = stream.synchronize();
            return Err(error);
        }
    }
    stream.synchronize()?;
    Ok(true)
}

/// The threads that copy: two or more.
enum Threads {
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

    fn run(&self, work: impl FnOnce() + Send) {
        match self {
            Self::Current => work(),
            Self::Own(pool) => pool.install(work),
        }
    }
}

fn new_staging(stream: &Stream) -> CudaResult<Staging> {
    let chunk = |_| {
        let bytes = stream.device().locked_buffer(CHUNK)?;
        // Recorded, it is reached as soon as the work before it is done.
        Ok((bytes, stream.record()?))
    };
    let chunks = (0..CHUNKS).map(chunk);
    Ok(Staging {
        chunks: chunks.collect::<CudaResult<_>>()?,
    })
}
