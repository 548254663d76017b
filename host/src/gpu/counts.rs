//! Counts that the host waits for, because they say how much memory the next stage needs.

use super::{Gpu, GpuBuffer, Scanner};
use crate::Result;

/// Replaces each count by the sum of those before it, and returns the sum of all; waits for it.
pub(crate) fn scan_counts<G: Gpu>(gpu: &G, counts: &mut G::Buffer<u32>) -> Result<u32> {
    let mut scanner = Scanner::new(gpu, counts.len() as u32)?;
    scanner.scan_in_place(counts)?;
    read_first(scanner.total())
}

/// The first element; waits for it.
pub(crate) fn read_first(buffer: &impl GpuBuffer<u32>) -> Result<u32> {
    let mut value = [0];
    buffer.read(&mut value)?;
    Ok(value[0])
}
