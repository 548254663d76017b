//! [`Gpu`] for the emulator, which runs the kernels on the processor, thread by thread.

use cuda_std::emulator::{Buffer, Emulator};
use cuda_std::{Pod, View, ViewMut};

use super::{FillValue, Gpu, GpuBuffer, HostBuffer, KernelSpec, sealed};
use crate::backend::Backend;
use crate::error::Result;
use crate::memory::zeroed_vec;

impl sealed::Sealed for Emulator {}
impl<T: Pod> sealed::Sealed for Buffer<T> {}
impl<T: Pod> sealed::Sealed for Vec<T> {}

/// A launch runs the whole grid before it returns, so nothing has to wait. But if a GPU would have
/// to wait, a missing [`acquire`](Gpu::acquire) or [`release`](Gpu::release) is a fault.
// SAFETY: `Buffer` has the length asked for, at a multiple of 256 bytes, until it is dropped.
// Launches return when they are done.
unsafe impl Gpu for Emulator {
    type Buffer<T: Pod> = Buffer<T>;
    type HostBuffer<T: Pod> = Vec<T>;

    const BACKEND: Backend = Backend::Emulator;

    fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Ok(self.alloc(len)?)
    }

    fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Ok(self.alloc_zeroed(len)?)
    }

    fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        Ok(self.upload(values)?)
    }

    fn upload_computed(
        &self,
        len: usize,
        write: impl Fn(usize, &mut [u8]) -> bool + Sync,
    ) -> Result<Option<Buffer<u8>>> {
        let mut bytes = zeroed_vec(len, "what is copied to the emulator")?;
        if !write(0, &mut bytes) {
            return Ok(None);
        }
        Ok(Some(self.upload(&bytes)?))
    }

    fn copy_to_host<T: Pod>(&self, buffer: &Buffer<T>, host: &mut Vec<T>) -> Result<()> {
        *host = buffer.to_vec()?;
        Ok(())
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors()
    }

    fn shared_per_block(&self) -> u32 {
        self.shared_per_block()
    }

    fn resident_blocks(&self, spec: &'static KernelSpec, dynamic_shared: u32) -> Result<u32> {
        Ok(self.resident_blocks(spec, dynamic_shared))
    }

    fn acquire<T: Pod>(&self, buffer: &Buffer<T>) -> Result<()> {
        Ok(self.acquire(buffer)?)
    }

    fn release<T: Pod>(&self, buffer: &Buffer<T>) -> Result<()> {
        Ok(self.release(buffer)?)
    }
}

impl<T: Pod> GpuBuffer<T> for Buffer<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn view(&self) -> View<'_, T> {
        self.view()
    }

    fn view_mut(&mut self) -> ViewMut<'_, T> {
        self.view_mut()
    }

    fn read(&self, values: &mut [T]) -> Result<()> {
        Ok(self.read(values)?)
    }

    fn read_at(&self, start: usize, values: &mut [T]) -> Result<()> {
        Ok(self.read_at(start, values)?)
    }

    fn to_vec(&self) -> Result<Vec<T>> {
        Ok(self.to_vec()?)
    }

    fn write(&mut self, values: &[T]) -> Result<()> {
        Ok(self.write(values)?)
    }

    fn fill(&mut self, value: T) -> Result<()>
    where
        T: FillValue,
    {
        Ok(self.fill(value)?)
    }
}

impl<T: Pod> HostBuffer<T> for Vec<T> {
    fn bytes(&self) -> u64 {
        size_of_val(&self[..]) as u64
    }
}
