//! Buffers that one queue uses and another queue may own.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use cuda_std::Pod;

use super::Gpu;
use crate::error::Result;

/// A borrowed buffer that launches use.
pub(crate) type Lent<'a, G, T> = InUse<'a, G, T, &'a <G as Gpu>::Buffer<T>>;

/// A buffer of any queue that the launches of one queue may use. Made by [`Gpu::using`].
///
/// Launches after this value is made wait for earlier work on the buffer. Later work on the buffer,
/// and freeing its memory, waits for launches before this value is dropped. Both waits are in the
/// device's queues. There are none if the buffer belongs to the queue.
pub struct InUse<'g, G, T, B>
where
    G: Gpu,
    T: Pod,
    B: Deref<Target = G::Buffer<T>>,
{
    gpu: &'g G,
    buffer: B,
    is_released: bool,
    elements: PhantomData<T>,
}

impl<'g, G, T, B> InUse<'g, G, T, B>
where
    G: Gpu,
    T: Pod,
    B: Deref<Target = G::Buffer<T>>,
{
    pub(super) fn new(gpu: &'g G, buffer: B) -> Result<Self> {
        gpu.acquire(&*buffer)?;
        Ok(Self {
            gpu,
            buffer,
            is_released: false,
            elements: PhantomData,
        })
    }

    /// Ends the use, as dropping this value does, but returns an error.
    ///
    /// # Errors
    /// A failure after which the device does no more work.
    pub fn finish(mut self) -> Result<()> {
        self.is_released = true;
        self.gpu.release(&*self.buffer)
    }
}

impl<G, T, B> Drop for InUse<'_, G, T, B>
where
    G: Gpu,
    T: Pod,
    B: Deref<Target = G::Buffer<T>>,
{
    fn drop(&mut self) {
        if !self.is_released {
            // If the wait could not be queued, the host has waited. If that failed too, the device
            // does no more work.
            let _ = self.gpu.release(&*self.buffer);
        }
    }
}

impl<G, T, B> Deref for InUse<'_, G, T, B>
where
    G: Gpu,
    T: Pod,
    B: Deref<Target = G::Buffer<T>>,
{
    type Target = G::Buffer<T>;

    fn deref(&self) -> &G::Buffer<T> {
        &self.buffer
    }
}

impl<G, T, B> DerefMut for InUse<'_, G, T, B>
where
    G: Gpu,
    T: Pod,
    B: DerefMut<Target = G::Buffer<T>>,
{
    fn deref_mut(&mut self) -> &mut G::Buffer<T> {
        &mut self.buffer
    }
}

impl<G, T, B> fmt::Debug for InUse<'_, G, T, B>
where
    G: Gpu,
    T: Pod,
    B: Deref<Target = G::Buffer<T>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InUse")
            .field("gpu", self.gpu)
            .field("buffer", &*self.buffer)
            .finish_non_exhaustive()
    }
}
