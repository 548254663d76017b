//! [`Gpu`] for a stream of an NVIDIA GPU, with the library's kernels.

use std::ops::Deref;

use cuda_std::{Pod, View, ViewMut};

use super::{FillValue, Gpu, GpuBuffer, HostBuffer, KernelSpec, sealed};
use crate::backend::Backend;
use crate::cuda::{CudaError, DeviceBuffer, LockedBuffer, Queue};
use crate::error::Result;

impl sealed::Sealed for Queue {}
impl<T: Pod> sealed::Sealed for DeviceBuffer<T> {}
impl<T: Pod> sealed::Sealed for LockedValues<T> {}

/// The kernels are the library's: [`Queue::new`] loads no others, and the caller of
/// [`Queue::with_module`] vouches for them.
// SAFETY: `DeviceBuffer` allocates the length asked for from the driver, which aligns it, and frees
// it in its stream's order; whoever has adopted other memory has promised the same, and `acquire`
// checks its alignment. A stream does its work in order.
unsafe impl Gpu for Queue {
    type Buffer<T: Pod> = DeviceBuffer<T>;
    type HostBuffer<T: Pod> = LockedValues<T>;

    const BACKEND: Backend = Backend::Cuda;

    fn alloc<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        Ok(self.stream().alloc(len)?)
    }

    fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        Ok(self.stream().alloc_zeroed(len)?)
    }

    fn upload<T: Pod>(&self, values: &[T]) -> Result<DeviceBuffer<T>> {
        Ok(self.stream().upload(values)?)
    }

    fn upload_computed(
        &self,
        len: usize,
        write: impl Fn(usize, &mut [u8]) -> bool + Sync,
    ) -> Result<Option<DeviceBuffer<u8>>> {
        Ok(self.stream().upload_computed(len, write)?)
    }

    fn copy_to_host<T: Pod>(
        &self,
        buffer: &DeviceBuffer<T>,
        host: &mut LockedValues<T>,
    ) -> Result<()> {
        host.fill_from(buffer)
    }

    fn overlapping_queue(&self) -> Result<Option<Self>> {
        let stream = self.stream().device().stream()?;
        Ok(Some(self.on_stream(&stream)?))
    }

    fn multiprocessors(&self) -> u32 {
        self.stream().device().info().multiprocessors
    }

    fn shared_per_block(&self) -> u32 {
        self.stream().device().info().shared_per_block
    }

    fn resident_blocks(&self, spec: &'static KernelSpec, dynamic_shared: u32) -> Result<u32> {
        Ok(self.resident_blocks(spec, dynamic_shared)?)
    }

    fn acquire<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> Result<()> {
        check_usable(self, buffer)?;
        Ok(self.stream().wait_for(buffer.stream())?)
    }

    fn release<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> Result<()> {
        check_usable(self, buffer)?;
        Ok(buffer.stream().must_wait_for(self.stream())?)
    }
}

/// Alignment in bytes of a [`Gpu`]'s buffers, on which kernels rely.
const ALIGNMENT: usize = 256;

/// Refuses a buffer that is not on the queue's GPU, or an adopted one whose address is not aligned
/// as kernels expect.
fn check_usable<T: Pod>(queue: &Queue, buffer: &DeviceBuffer<T>) -> Result<()> {
    let (device, other) = (queue.stream().device(), buffer.stream().device());
    device.check_same("the buffer", other)?;
    let address = buffer.as_ptr().addr();
    if !address.is_multiple_of(ALIGNMENT) {
        return Err(CudaError::Misaligned {
            address: address as u64,
            needs: ALIGNMENT,
        }
        .into());
    }
    Ok(())
}

impl<T: Pod> GpuBuffer<T> for DeviceBuffer<T> {
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

/// Values in page-locked memory, which may have room for more.
pub struct LockedValues<T: Pod> {
    memory: Option<LockedBuffer<T>>,
    len: usize,
}

impl<T: Pod> Default for LockedValues<T> {
    fn default() -> Self {
        Self {
            memory: None,
            len: 0,
        }
    }
}

impl<T: Pod> LockedValues<T> {
    /// Replaces the values by those of `buffer`. New memory has room for a quarter more, so that
    /// the next buffer may be somewhat larger.
    fn fill_from(&mut self, buffer: &DeviceBuffer<T>) -> Result<()> {
        self.len = 0;
        // Memory that is too small is freed before the new is taken.
        let has_room = |memory: &LockedBuffer<T>| memory.len() >= buffer.len();
        let memory = match self.memory.take().filter(has_room) {
            Some(memory) => memory,
            None => {
                let room = buffer.len() + buffer.len() / 4;
                buffer.stream().device().locked_buffer(room)?
            }
        };
        let memory = self.memory.insert(memory);
        buffer.read_to(memory)?;
        self.len = buffer.len();
        Ok(())
    }
}

impl<T: Pod> Deref for LockedValues<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.memory
            .as_ref()
            .map_or(&[], |memory| &memory[..self.len])
    }
}

impl<T: Pod> HostBuffer<T> for LockedValues<T> {
    fn bytes(&self) -> u64 {
        let memory = self.memory.as_ref();
        memory.map_or(0, |memory| size_of_val(&memory[..]) as u64)
    }
}
