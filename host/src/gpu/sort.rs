//! Stable sorting of pairs by a 32-bit key.

use std::mem::swap;

use trazar_kernels::primitives::sort;

use super::{Gpu, GpuBuffer, Scanner};
use crate::{Error, Result};

/// Sorts pairs of arrays of one length: holds what the kernels work in, 8.5 bytes per pair.
#[derive(Debug)]
pub(crate) struct Sorter<G: Gpu> {
    gpu: G,
    n: u32,
    new_keys: G::Buffer<u32>,
    new_values: G::Buffer<u32>,
    counts: G::Buffer<u32>,
    scanner: Scanner<G>,
}

impl<G: Gpu> Sorter<G> {
    /// For arrays of `n` elements.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn new(gpu: &G, n: u32) -> Result<Self> {
        Ok(Self {
            gpu: gpu.clone(),
            n,
            new_keys: gpu.alloc(n as usize)?,
            new_values: gpu.alloc(n as usize)?,
            counts: gpu.alloc(sort::counts_len(n) as usize)?,
            scanner: Scanner::new(gpu, sort::counts_len(n))?,
        })
    }

    /// Sorts pairs of a key and a value, both buffers of this queue, by their keys. Equal keys keep
    /// their order. `largest` is at least the largest key: small ones take fewer passes.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if a length is not the sorter's; a kernel's failure.
    pub(crate) fn sort_pairs(
        &mut self,
        keys: &mut G::Buffer<u32>,
        values: &mut G::Buffer<u32>,
        largest: u32,
    ) -> Result<()> {
        let n = self.n;
        for given in [keys.len(), values.len()] {
            if given != n as usize {
                let needed = n as usize;
                return Err(Error::LengthMismatch { needed, given });
            }
        }
        let on = &self.gpu.launcher();
        for pass in 0..sort::passes(largest) {
            let shift = pass * sort::DIGIT_BITS;
            // SAFETY: the lengths were checked, and grids are those that the kernels ask for; the
            // counts are scanned between the two.
            unsafe {
                sort::count_digits::launch(
                    on,
                    sort::tiles(n),
                    keys.view(),
                    self.counts.view_mut(),
                    n,
                    shift,
                )?;
                self.scanner.scan_in_place(&mut self.counts)?;
                sort::scatter::launch(
                    on,
                    sort::tiles(n),
                    keys.view(),
                    values.view(),
                    self.counts.view(),
                    self.new_keys.view_mut(),
                    self.new_values.view_mut(),
                    n,
                    shift,
                )?;
            }
            swap(keys, &mut self.new_keys);
            swap(values, &mut self.new_values);
        }
        Ok(())
    }
}
