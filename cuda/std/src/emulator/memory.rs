//! The emulated device's memory.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Emulator;
use super::arguments::ViewArgument;
use super::error::EmulatorError;
use super::event::{Source, same};
use super::explore::Trail;
use super::queues::{QueueWork, Queues, Unordered};
use super::shadow::Shadow;
use crate::launch::{Dim3, KernelSpec};
use crate::{Pod, View, ViewMut, lengths};

/// Alignment of allocations in bytes, as in the CUDA driver.
const ALIGNMENT: usize = 256;
/// The byte that fills fresh memory. Zeros would hide a missing initialisation.
const GARBAGE: u8 = 0xa5;

/// Owner of a piece of memory.
#[derive(Debug)]
pub(super) enum Owner {
    /// The device: global memory.
    Device,
    /// A block, while it lives: shared memory, declared where `label` says.
    Block { block: Dim3, label: String },
}

/// A piece of the device's memory.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) start: usize,
    pub(super) bytes: usize,
    pub(super) owner: Owner,
    pub(super) shadow: Shadow,
    /// For shared memory: number of the block's life that uses it. For global memory, the launch
    /// has this number.
    pub(super) generation: u32,
    memory: *mut u8,
    layout: Layout,
}

impl Region {
    /// The `bytes` bytes from the address `start` on.
    pub(super) fn bytes_from(&self, start: usize, bytes: usize) -> &[u8] {
        let offset = start - self.start;
        assert!(offset <= self.bytes && bytes <= self.bytes - offset);
        // SAFETY: bytes of the region's own memory, all of which were written when it was added.
        // The memory's lock is held, and nothing runs while they are borrowed.
        unsafe { std::slice::from_raw_parts(self.memory.add(offset), bytes) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `Memory::add` with this layout.
        unsafe { dealloc(self.memory, self.layout) };
    }
}

// SAFETY: the pointer is this region's own memory, which is only used under the lock of the whole
// memory.
unsafe impl Send for Region {}

/// All memory of one emulated device.
#[derive(Debug, Default)]
pub(super) struct Memory {
    regions: Vec<Option<Region>>,
    unused: Vec<usize>,
    by_start: BTreeMap<usize, usize>,
    generation: u32,
    /// Launches so far.
    pub(super) launches: u64,
    pub(super) queues: Queues,
    /// Places in the source whose loads have returned stale values, and how often.
    pub(super) stale_loads: Vec<(Source, u64)>,
    /// Whether a launch, a copy or an allocation has returned an error. The caller then gets that
    /// error: buffers dropped on its way do not panic.
    pub(super) has_failed: bool,
    /// The choices of a run of an exploration.
    pub(super) trail: Option<Trail>,
}

impl Memory {
    /// A number for a new launch or a new life of a block.
    pub(super) fn next_generation(&mut self) -> u32 {
        self.generation += 1;
        self.generation
    }

    /// Counts a load at `source` that returned a stale value.
    pub(super) fn note_stale_load(&mut self, source: Source) {
        match self.stale_loads.iter_mut().find(|(at, _)| same(at, source)) {
            Some((_, count)) => *count += 1,
            None => self.stale_loads.push((source, 1)),
        }
    }

    /// Adds a region, filled with [`GARBAGE`].
    pub(super) fn add(&mut self, bytes: usize, owner: Owner) -> Result<usize, EmulatorError> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT)
            .map_err(|_| EmulatorError::OutOfMemory { bytes })?;
        // SAFETY: the layout has at least one byte.
        let memory = unsafe { alloc(layout) };
        if memory.is_null() {
            return Err(EmulatorError::OutOfMemory { bytes });
        }
        // SAFETY: the layout's size, just allocated.
        unsafe { memory.write_bytes(GARBAGE, layout.size()) };
        // Kernels reach the memory through views alone, whose addresses are exposed.
        let start = memory.expose_provenance();
        let region = Region {
            start,
            bytes,
            owner,
            shadow: Shadow::new(bytes, false),
            generation: 0,
            memory,
            layout,
        };
        let index = self.unused.pop().unwrap_or_else(|| {
            self.regions.push(None);
            self.regions.len() - 1
        });
        self.regions[index] = Some(region);
        self.by_start.insert(start, index);
        Ok(index)
    }

    pub(super) fn remove(&mut self, index: usize) {
        if let Some(region) = self.regions[index].take() {
            self.by_start.remove(&region.start);
            self.unused.push(index);
        }
    }

    /// The region with number `index`, which must exist.
    pub(super) fn region(&mut self, index: usize) -> &mut Region {
        self.regions[index].as_mut().expect("a region in use")
    }

    /// The region that contains `address` or ends there: an empty view at a region's end belongs to
    /// the region.
    pub(super) fn find(&self, address: usize) -> Option<usize> {
        let (&start, &index) = self.by_start.range(..=address).next_back()?;
        let region = self.regions[index].as_ref()?;
        (address - start <= region.bytes).then_some(index)
    }

    /// Records which buffers a launch on `queue` uses.
    pub(super) fn note_launch(
        &mut self,
        queue: usize,
        spec: &'static KernelSpec,
        views: &[ViewArgument],
    ) -> Result<(), Box<Unordered>> {
        for view in views.iter().filter(|view| view.len > 0) {
            if let Some(region) = self.find(view.start) {
                let work = QueueWork::Launch {
                    kernel: spec.name,
                    argument: view.name.clone(),
                };
                self.queues.note(region, queue, view.writes, work)?;
            }
        }
        Ok(())
    }

    /// Whether region `index` still exists and contains `address`.
    pub(super) fn holds(&self, index: usize, address: usize) -> bool {
        self.regions
            .get(index)
            .and_then(Option::as_ref)
            .is_some_and(|region| address >= region.start && address - region.start <= region.bytes)
    }

    /// Fills a block's memory with [`GARBAGE`] and marks it as unwritten.
    pub(super) fn renew(&mut self, index: usize, block: Dim3) {
        let generation = self.next_generation();
        let region = self.region(index);
        region.generation = generation;
        if let Owner::Block { block: owner, .. } = &mut region.owner {
            *owner = block;
        }
        // SAFETY: the region's own bytes.
        unsafe { region.memory.write_bytes(GARBAGE, region.bytes) };
    }
}

/// The memory of a device, behind a lock that a launch holds.
pub(super) type Shared = Arc<Mutex<Memory>>;

pub(super) fn lock(memory: &Shared) -> MutexGuard<'_, Memory> {
    // A panic under the lock leaves at most records that the next launch renews.
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `len` elements in the memory of an emulated device.
pub struct Buffer<T: Pod> {
    memory: Shared,
    region: usize,
    start: *mut T,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: the elements are plain data and are only touched under the memory's lock.
unsafe impl<T: Pod> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for Buffer<T> {}

impl<T: Pod> Buffer<T> {
    pub(super) fn new(memory: &Shared, queue: usize, len: usize) -> Result<Self, EmulatorError> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or(EmulatorError::OutOfMemory { bytes: usize::MAX })?;
        let mut held = lock(memory);
        let added = held.add(bytes, Owner::Device);
        held.has_failed |= added.is_err();
        let region = added?;
        held.queues.allocate(region, bytes, queue);
        let start = held.region(region).memory.cast();
        drop(held);
        Ok(Self {
            memory: Arc::clone(memory),
            region,
            start,
            len,
            elements: PhantomData,
        })
    }

    /// Number of its region, if that belongs to `memory`.
    pub(super) fn region_of(&self, memory: &Shared) -> Result<usize, EmulatorError> {
        if Arc::ptr_eq(&self.memory, memory) {
            Ok(self.region)
        } else {
            Err(EmulatorError::OtherDevice)
        }
    }

    /// Records a copy or a fill as work of the queue that allocated the buffer.
    fn note(&self, memory: &mut Memory, work: QueueWork) -> Result<(), EmulatorError> {
        let writes = work != QueueWork::Read;
        let noted = memory.queues.note_home(self.region, writes, work);
        memory.has_failed |= noted.is_err();
        noted.map_err(EmulatorError::StreamOrder)
    }

    /// Its number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address of the first element, a multiple of 256.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.start
    }

    /// Address of the first element, for kernels that write.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.start
    }

    /// The elements, for a kernel to read.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        // SAFETY: `len` elements, aligned, that live as long as the buffer is borrowed.
        unsafe { View::from_raw_parts(self.start, self.len) }
    }

    /// The elements, for a kernel to write.
    #[must_use]
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        // SAFETY: as in `view`, borrowed mutably.
        unsafe { ViewMut::from_raw_parts(self.start, self.len) }
    }

    /// Forgets the elements from `len` on, if there are more. Their memory is freed with that of
    /// the others.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Copies `values` here.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::WrongLength`] unless `values` has the buffer's length;
    /// [`EmulatorError::StreamOrder`].
    pub fn write(&mut self, values: &[T]) -> Result<(), EmulatorError> {
        self.check_len(values.len())?;
        let mut memory = lock(&self.memory);
        self.note(&mut memory, QueueWork::Write)?;
        // SAFETY: `len` elements on both sides; under the lock, no kernel runs.
        unsafe {
            self.start
                .copy_from_nonoverlapping(values.as_ptr(), self.len);
        }
        memory.region(self.region).shadow.set_written();
        Ok(())
    }

    /// Sets every element to `value`.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::StreamOrder`].
    pub fn fill(&mut self, value: T) -> Result<(), EmulatorError> {
        let mut memory = lock(&self.memory);
        self.note(&mut memory, QueueWork::Write)?;
        for i in 0..self.len {
            // SAFETY: element `i` of `len`; under the lock, no kernel runs.
            unsafe { self.start.add(i).write(value) };
        }
        memory.region(self.region).shadow.set_written();
        Ok(())
    }

    /// Copies all elements to `values`.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::WrongLength`] unless `values` has the buffer's length;
    /// [`EmulatorError::ReadUninitialised`] if nothing has written some of them;
    /// [`EmulatorError::StreamOrder`].
    pub fn read(&self, values: &mut [T]) -> Result<(), EmulatorError> {
        self.check_len(values.len())?;
        self.read_at(0, values)
    }

    /// Copies the elements from `start` on to `values`.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::WrongLength`] if the buffer has fewer elements;
    /// [`EmulatorError::ReadUninitialised`] if nothing has written some of them;
    /// [`EmulatorError::StreamOrder`].
    pub fn read_at(&self, start: usize, values: &mut [T]) -> Result<(), EmulatorError> {
        let end = start.saturating_add(values.len());
        if end > self.len {
            self.check_len(end)?;
        }
        let mut memory = lock(&self.memory);
        self.note(&mut memory, QueueWork::Read)?;
        let size = size_of::<T>();
        let bytes = start * size..end * size;
        if let Some(byte) = memory.region(self.region).shadow.first_unwritten(bytes) {
            memory.has_failed = true;
            return Err(EmulatorError::ReadUninitialised {
                index: byte / size.max(1),
                len: self.len,
            });
        }
        // SAFETY: as many elements on both sides: `end` is at most `len`. Under the lock, no kernel
        // runs.
        unsafe {
            values
                .as_mut_ptr()
                .copy_from_nonoverlapping(self.start.add(start), values.len());
        }
        Ok(())
    }

    /// All elements, in a new vector.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read); [`EmulatorError::OutOfMemory`].
    pub fn to_vec(&self) -> Result<Vec<T>, EmulatorError> {
        let mut values = Vec::new();
        values
            .try_reserve_exact(self.len)
            .map_err(|_| EmulatorError::OutOfMemory {
                bytes: self.len * size_of::<T>(),
            })?;
        // SAFETY: zeros are a value of any plain type, and are replaced below.
        values.resize(self.len, unsafe { std::mem::zeroed() });
        self.read(&mut values)?;
        Ok(values)
    }

    fn check_len(&self, given: usize) -> Result<(), EmulatorError> {
        if given == self.len {
            Ok(())
        } else {
            lock(&self.memory).has_failed = true;
            Err(EmulatorError::WrongLength {
                buffer: self.len,
                given,
            })
        }
    }
}

impl lengths::Memory for Emulator {
    type Error = EmulatorError;
    type Buffer<T: Pod> = Buffer<T>;

    fn alloc<T: Pod>(&self, len: usize, zeroed: bool) -> Result<Buffer<T>, EmulatorError> {
        if zeroed {
            self.alloc_zeroed(len)
        } else {
            self.alloc(len)
        }
    }

    fn view<T: Pod>(buffer: &Buffer<T>) -> View<'_, T> {
        buffer.view()
    }

    fn view_mut<T: Pod>(buffer: &mut Buffer<T>) -> ViewMut<'_, T> {
        buffer.view_mut()
    }
}

/// # Panics
///
/// If another queue may still use the buffer. No panic if the thread panics already, or if the
/// device has returned an error: a panic would hide it. On a GPU, the memory would go to another
/// buffer while a kernel works on it. An error from a later call might never be seen.
impl<T: Pod> Drop for Buffer<T> {
    fn drop(&mut self) {
        let mut memory = lock(&self.memory);
        let freed = memory.queues.free(self.region);
        memory.remove(self.region);
        let has_failed = memory.has_failed;
        drop(memory);
        if let Err(unordered) = freed
            && !has_failed
            && !std::thread::panicking()
        {
            panic!("{}", EmulatorError::StreamOrder(unordered));
        }
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("start", &self.start)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
