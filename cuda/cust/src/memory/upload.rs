//! Copies from host memory to the GPU; large ones faster than the driver makes them.
//!
//! The driver copies ordinary memory through page-locked memory of its own, on one thread, at
//! about 10 GB/s. Here all threads write a chunk to page-locked memory while the GPU fetches the
//! chunk before it: they copy it there, or compute it.

use rayon::prelude::*;

use super::staging::{CHUNK, MIN_BYTES, StagedCopy};
use crate::error::{CudaResult, check};
use crate::stream::Stream;
use crate::sys::{self, CUdeviceptr};

/// The number of chunks under way at the same time.
const CHUNKS: usize = 3;
/// The number of bytes that a thread writes at a time.
const PIECE: usize = 64 << 10;

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
    let write = |start: usize, piece: &mut [u8]| {
        piece.copy_from_slice(&bytes[start..][..piece.len()]);
        true
    };
    // SAFETY: the caller's promise.
    let copied = unsafe { write_staged(stream, to, bytes.len(), MIN_BYTES, write) }?;
    Ok(copied.is_some())
}

/// Has all threads write `len` bytes to the stream's page-locked memory, piece by piece, copies
/// them to the device address `to`, and waits for it. `write` is called with the index of a piece's
/// first byte; if it returns `false`, the others are left out, and so is the rest of the copy.
///
/// Returns whether everything was written; `None` if there are fewer than `least` bytes, or no
/// threads or no page-locked memory, and nothing was done.
///
/// # Safety
/// The device memory at `to` holds as many bytes.
pub(crate) unsafe fn write_staged(
    stream: &Stream,
    to: CUdeviceptr,
    len: usize,
    least: usize,
    write: impl Fn(usize, &mut [u8]) -> bool + Sync,
) -> CudaResult<Option<bool>> {
    if len < least {
        return Ok(None);
    }
    let Some(mut copy) = StagedCopy::begin(stream, len.div_ceil(CHUNK).min(CHUNKS))? else {
        return Ok(None);
    };
    // SAFETY: the caller's promise.
    let written = unsafe { write_in_chunks(stream, to, len, &mut copy, write) };
    // The chunks are read no more when they are given back, also on an error.
    let done = stream.synchronize();
    let all = written?;
    done.map(|()| Some(all))
}

/// Queues the copies of all chunks, and returns whether everything was written. The stream may
/// still read the chunks of `copy`.
///
/// # Safety
/// The device memory at `to` holds `len` bytes.
unsafe fn write_in_chunks(
    stream: &Stream,
    to: CUdeviceptr,
    len: usize,
    copy: &mut StagedCopy<'_>,
    write: impl Fn(usize, &mut [u8]) -> bool + Sync,
) -> CudaResult<bool> {
    let threads = copy.threads;
    for (i, start) in (0..len).step_by(CHUNK).enumerate() {
        let (chunk, copied) = &mut copy.chunks()[i % CHUNKS];
        stream.blame(copied.synchronize())?;
        let chunk = &mut chunk[..CHUNK.min(len - start)];
        let is_written = threads.run(|| {
            let pieces = chunk.par_chunks_mut(PIECE).enumerate();
            pieces.all(|(i, piece)| write(start + i * PIECE, piece))
        });
        if !is_written {
            return Ok(false);
        }
        // SAFETY: the caller's promise for the destination. The chunk is neither written nor freed
        // before `copied` is reached, which is waited for before the next write, or the stream has
        // been waited for.
        unsafe { queue_copy(stream, to + start as u64, chunk) }?;
        stream.record_into(copied)?;
    }
    Ok(true)
}
