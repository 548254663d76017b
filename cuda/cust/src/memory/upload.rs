//! Copies from host memory to the GPU; large ones faster than the driver makes them.
//!
//! The driver copies ordinary memory through page-locked memory of its own, on one thread, at
//! about 10 GB/s. Here all threads copy a chunk to page-locked memory while the GPU fetches the
//! chunk before it.

use rayon::prelude::*;

use super::staging::{CHUNK, StagedCopy};
use crate::error::{CudaResult, check};
use crate::stream::Stream;
use crate::sys::{self, CUdeviceptr};

/// The number of chunks under way at the same time.
const CHUNKS: usize = 3;
/// The number of bytes that a thread copies at a time.
const PIECE: usize = 256 << 10;

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
    let Some(mut copy) = StagedCopy::begin(stream, bytes.len(), CHUNKS)? else {
        return Ok(false);
    };
    // SAFETY: the caller's promise.
    let copied = unsafe { copy_in_chunks(stream, to, bytes, &mut copy) };
    // The chunks are read no more when they are given back, also on an error.
    let done = stream.synchronize();
    copied.and(done).map(|()| true)
}

/// Queues the copies of all chunks of `bytes`. The stream may still read those of `copy`.
///
/// # Safety
/// The device memory at `to` holds as many bytes.
unsafe fn copy_in_chunks(
    stream: &Stream,
    to: CUdeviceptr,
    bytes: &[u8],
    copy: &mut StagedCopy<'_>,
) -> CudaResult<()> {
    let threads = copy.threads;
    for (i, from) in bytes.chunks(CHUNK).enumerate() {
        let (chunk, copied) = &mut copy.chunks()[i % CHUNKS];
        stream.blame(copied.synchronize())?;
        let chunk = &mut chunk[..from.len()];
        threads.run(|| {
            chunk
                .par_chunks_mut(PIECE)
                .zip(from.par_chunks(PIECE))
                .for_each(|(chunk, from)| chunk.copy_from_slice(from));
        });
        // SAFETY: the caller's promise for the destination. The chunk is neither written nor freed
        // before `copied` is reached, which is waited for before the next write, or the stream has
        // been waited for.
        unsafe { queue_copy(stream, to + (i * CHUNK) as u64, chunk) }?;
        stream.record_into(copied)?;
    }
    Ok(())
}
