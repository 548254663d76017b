//! Copies from the GPU to host memory; large ones faster than the driver makes them.
//!
//! The driver copies to ordinary memory on one thread, at 4 GB/s where the memory is new, so that
//! each of its pages has to be provided first. Here the GPU writes some chunks to page-locked
//! memory while all threads copy the previous chunks to where they belong.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::locked::LockedBuffer;
use super::staging::{CHUNK, MIN_BYTES, StagedCopy};
use crate::error::{CudaResult, check};
use crate::event::Event;
use crate::stream::Stream;
use crate::sys::{self, CUdeviceptr};

/// The number of chunks that all threads copy together: the more, the less often they wait for each
/// other.
const GROUP: usize = 8;
/// The number of groups under way at the same time: the GPU fills one while the threads copy the
/// other.
const GROUPS: usize = 2;
/// The number of bytes that a thread copies at a time, which is that of a large page. Where threads
/// begin to write to one new page at the same time, each of them has a page cleared, and all but
/// one for nothing.
const PIECE: usize = 2 << 20;

/// Queues a copy of `bytes` bytes from the device address `from` to `to`.
///
/// # Safety
/// The device memory at `from` holds as many bytes, `to` has room for them, and no one uses it
/// until the stream has done the copy.
pub(crate) unsafe fn queue_copy(
    stream: &Stream,
    from: CUdeviceptr,
    to: *mut u8,
    bytes: usize,
) -> CudaResult<()> {
    let on = stream.bind()?;
    // SAFETY: the caller's promise.
    let status = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, on) };
    stream.blame(check("cuMemcpyDtoHAsync", status))
}

/// Fills `bytes` from the device address `from` on through the stream's page-locked memory, and
/// waits for it. `false` if nothing was copied, because the driver does this copy as well or
/// better.
///
/// # Safety
/// The device memory at `from` holds as many bytes.
pub(crate) unsafe fn copy_staged(
    stream: &Stream,
    from: CUdeviceptr,
    bytes: &mut [MaybeUninit<u8>],
) -> CudaResult<bool> {
    if bytes.len() < MIN_BYTES {
        return Ok(false);
    }
    let Some(mut copy) = StagedCopy::begin(stream, GROUP * GROUPS)? else {
        return Ok(false);
    };
    // SAFETY: the caller's promise.
    let copied = unsafe { copy_in_groups(stream, from, bytes, &mut copy) };
    if copied.is_err() {
        // The chunks are written no more when they are given back.
        let _ = stream.synchronize();
    }
    copied.map(|()| true)
}

/// Fills `bytes` through the chunks of `copy`. On an error, the stream may still write to these.
///
/// # Safety
/// The device memory at `from` holds as many bytes.
unsafe fn copy_in_groups(
    stream: &Stream,
    from: CUdeviceptr,
    bytes: &mut [MaybeUninit<u8>],
    copy: &mut StagedCopy<'_>,
) -> CudaResult<()> {
    let threads = copy.threads;
    let len = bytes.len();
    let mut destinations = bytes.chunks_mut(GROUP * CHUNK);
    for i in 0..len.div_ceil(GROUP * CHUNK) + GROUPS - 1 {
        let starts = (i * GROUP * CHUNK..len).step_by(CHUNK);
        for ((chunk, copied), at) in group(copy, i).iter_mut().zip(starts) {
            let part = CHUNK.min(len - at);
            // SAFETY: the caller's promise for the source. The chunk's last content has been read,
            // and it is neither read nor freed before `copied` is reached, or the stream has been
            // waited for.
            unsafe { queue_copy(stream, from + at as u64, chunk.as_mut_ptr(), part) }?;
            stream.record_into(copied)?;
        }
        // The group that was queued the longest ago.
        let Some(i) = (i + 1).checked_sub(GROUPS) else {
            continue;
        };
        let Some(to) = destinations.next() else { break };
        let chunks = group(copy, i);
        for (_, copied) in chunks.iter() {
            stream.blame(copied.synchronize())?;
        }
        threads.run(|| {
            to.par_chunks_mut(PIECE).enumerate().for_each(|(i, to)| {
                let at = i * PIECE;
                let chunk = &chunks[at / CHUNK].0[at % CHUNK..];
                to.write_copy_of_slice(&chunk[..to.len()]);
            });
        });
    }
    Ok(())
}

/// The chunks of a group.
fn group<'a>(copy: &'a mut StagedCopy<'_>, index: usize) -> &'a mut [(LockedBuffer<u8>, Event)] {
    let first = index % GROUPS * GROUP;
    &mut copy.chunks()[first..first + GROUP]
}
