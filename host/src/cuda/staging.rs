//! Copies from ordinary host memory to the GPU, faster than the driver makes them.
//!
//! The driver copies ordinary memory through page-locked memory of its own on one thread, at some 10 GB/s. Here all threads copy a
//! chunk to page-locked memory while the GPU fetches the one before.

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

/// Copies `values` to all of `buffer` and waits for it; `false` if it had better be left to the driver. `staging` is kept from
/// copy to copy.
pub(super) fn write<T: Pod>(
    buffer: &mut DeviceBuffer<T>,
    staging: &mut Option<Staging>,
    values: &[T],
) -> Result<bool, CudaError> {
    let size = size_of_val(values);
    crate::threads::ensure();
    if size < LEAST || rayon::current_num_threads() < 2 {
        return Ok(false);
    }
    let stream = buffer.stream().clone();
    let staging = match staging {
        Some(staging) => staging,
        // Without so much page-locked memory, the driver still can.
        None => match Staging::new(&stream) {
            Ok(new) => staging.insert(new),
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
