//! Runs kernels on the host, thread by thread, and checks what they do. Host only.
//!
//! An [`Emulator`] is a device without hardware: it has memory ([`Buffer`]) and launches the
//! kernels that were compiled for the host, through the same typed `launch` functions as a GPU.
//! Each thread of a grid is a coroutine. Wherever threads can see each other (at barriers, warp
//! operations and atomic accesses), a scheduler picks the one that runs next. Its choices come from
//! a seed: the same seed repeats a run, another seed gives another order.
//!
//! ```
//! # #![allow(dead_code)]
//! use cuda_std::emulator::Emulator;
//! use cuda_std::prelude::*;
//!
//! /// Doubles `n` elements; one thread per element.
//! ///
//! /// # Safety
//! /// `values` has at least `n` elements, which nothing else uses meanwhile.
//! #[kernel(block = 64)]
//! pub unsafe fn double(values: ViewMut<'_, u32>, n: u32) {
//!     let i = thread::index_1d();
//!     values.st(i, 2 * values.ld(i));
//! }
//!
//! # fn main() {
//! let emulator = Emulator::new(42);
//! let mut values = emulator.upload(&[1u32; 100]).unwrap();
//! let n = values.len() as u32;
//! // SAFETY: the kernel is wrong, which the emulator reports before anything happens.
//! let result = unsafe { double::launch(&emulator, 2u32, values.view_mut(), n) };
//! // The second block's threads past the end: the kernel forgot to compare `i` with `n`.
//! assert_eq!(result.unwrap_err().fault().unwrap().kind(), "out of bounds");
//! # }
//! ```
//!
//! What is checked is listed at [`Fault`]. `docs/emulator.md` says what can't be.
//!
//! | file | |
//! |---|---|
//! | `machine.rs` | one launch: blocks and threads start, run and end |
//! | `settings.rs` | how launches run |
//! | `schedule.rs` | which thread runs next |
//! | `explore.rs` | all schedules of a small kernel, one after the other |
//! | `device.rs` | multiprocessors and shared memory |
//! | `call.rs` | a kernel's calls to the machine |
//! | `arguments.rs` | the views among a kernel's arguments |
//! | `access.rs` | memory accesses: which element, and whether the access is allowed |
//! | `rendezvous.rs` | barriers, and lanes that wait for each other |
//! | `warp.rs` | warp operations: the result of each lane |
//! | `progress.rs` | telling threads that work from threads that only wait |
//! | `memory.rs` | memory and its owners |
//! | `queues.rs` | which queues have waited for which |
//! | `shadow.rs` | shadow memory: who wrote and read each element |
//! | `clocks.rs` | happens-before: vector clocks |
//! | `fences.rs` | the order of fences |
//! | `history.rs` | overwritten values that loads may still return |
//! | `event.rs` | accesses: thread, element, place in the source |
//! | `fault.rs` | what can be wrong with a kernel or its launch |
//! | `error.rs` | what the emulator's functions return |

mod access;
mod accessed;
mod arguments;
pub(crate) mod call;
mod clocks;
mod crowds;
mod device;
mod error;
mod event;
mod explore;
mod fault;
mod fences;
mod history;
mod machine;
mod memory;
mod progress;
mod queues;
mod rendezvous;
mod schedule;
mod settings;
mod shadow;
mod tally;
mod times;
mod warp;

use core::ffi::c_void;
use std::sync::Arc;

pub use error::{EmulatorError, Report};
pub use event::{Event, Place, Seen, Source, ThreadId, Touch, Waiting};
pub use explore::{Bounds, Choices, ExploreError, Explored, NotChoices};
pub use fault::Fault;

pub(crate) use accessed::{Accessed, DynamicArray};
pub use memory::Buffer;
pub use queues::{QueueWork, Unordered};
pub(crate) use rendezvous::BarrierKind;
pub use schedule::Schedule;
pub use tally::{Tally, tally};
pub(crate) use warp::WarpOp;

use crate::Pod;
use crate::launch::{KernelSpec, LaunchConfig, Launcher};

/// An emulated device, and a queue of work on it. Clones are the same queue of the same device.
#[derive(Clone, Debug)]
pub struct Emulator {
    memory: memory::Shared,
    queue: usize,
    settings: settings::Settings,
}

impl Emulator {
    /// A device whose scheduler follows `seed`. Its resources are drawn from the seed too: 1, 2, 3,
    /// 4, 16 or 60 multiprocessors, and 48, 64, 99, 163 or 227 KiB of shared memory per block, as
    /// GPUs have.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            memory: Arc::default(),
            queue: 0,
            settings: settings::Settings {
                seed,
                schedule: Schedule::default(),
                limits: device::Limits::draw(seed),
                resident_blocks: None,
                step_limit: 1 << 40,
                weak_memory: None,
            },
        }
    }

    /// Sets how the scheduler picks the next thread.
    #[must_use]
    pub fn with_schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = schedule;
        self
    }

    /// Sets the number of multiprocessors, at least 1, whatever the seed. As many blocks are in
    /// flight at once, unless together they have more than 16384 threads.
    #[must_use]
    pub fn with_multiprocessors(mut self, multiprocessors: u32) -> Self {
        self.settings.limits.multiprocessors = multiprocessors.max(1);
        self
    }

    /// Sets the shared memory of a block in bytes, static and dynamic together, whatever the seed.
    #[must_use]
    pub fn with_shared_per_block(mut self, bytes: u32) -> Self {
        self.settings.limits.shared_per_block = bytes;
        self
    }

    /// Sets the number of blocks in flight at once, at least 1. A block that waits forever for one
    /// that can't start is reported. By default, the multiprocessors decide: one block per
    /// multiprocessor, or up to 16 with 2048 threads together.
    #[must_use]
    pub fn with_resident_blocks(mut self, blocks: u32) -> Self {
        self.settings.resident_blocks = Some(blocks.max(1));
        self
    }

    /// Ends launches that take more than `steps` steps of the scheduler.
    #[must_use]
    pub fn with_step_limit(mut self, steps: u64) -> Self {
        self.settings.step_limit = steps;
        self
    }

    /// Another queue of the same device, with the same settings.
    ///
    /// A launch is done when it returns, whatever its queue. But on a GPU, work of two queues may
    /// overlap. So a queue may use another queue's buffer only between
    /// [`acquire`](Self::acquire) and [`release`](Self::release); any other use is a fault.
    #[must_use]
    pub fn another_queue(&self) -> Self {
        let queue = memory::lock(&self.memory).queues.add();
        Self {
            memory: Arc::clone(&self.memory),
            queue,
            settings: self.settings,
        }
    }

    /// This queue's index among those of its device, from 0.
    #[must_use]
    pub fn queue(&self) -> usize {
        self.queue
    }

    /// Makes later launches of this queue wait for the work so far of the queue that allocated
    /// `buffer`.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::OtherDevice`].
    pub fn acquire<T: Pod>(&self, buffer: &Buffer<T>) -> Result<(), EmulatorError> {
        let region = buffer.region_of(&self.memory)?;
        memory::lock(&self.memory)
            .queues
            .acquire(region, self.queue);
        Ok(())
    }

    /// Makes later work of the queue that allocated `buffer`, its drop included, wait for this
    /// queue's launches so far.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::OtherDevice`].
    pub fn release<T: Pod>(&self, buffer: &Buffer<T>) -> Result<(), EmulatorError> {
        let region = buffer.region_of(&self.memory)?;
        memory::lock(&self.memory)
            .queues
            .release(region, self.queue);
        Ok(())
    }

    /// Sets whether atomic and volatile loads may return any value that the memory model allows,
    /// stale ones included.
    ///
    /// By default, the seed decides for each launch; under [`Schedule::InOrder`], loads return the
    /// last value.
    #[must_use]
    pub fn with_weak_memory(mut self, weak: bool) -> Self {
        self.settings.weak_memory = Some(weak);
        self
    }

    /// The places in the source whose loads have returned stale values on this device so far, and
    /// how often each did. If a result is wrong only [with weak memory](Self::with_weak_memory),
    /// look there for a missing fence. Not to be called by a running kernel.
    #[must_use]
    pub fn stale_loads(&self) -> Vec<(Source, u64)> {
        memory::lock(&self.memory).stale_loads.clone()
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// The number of multiprocessors, from which a host derives its grid sizes.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.settings.limits.multiprocessors
    }

    /// The most shared memory of a block, in bytes, static and dynamic together.
    #[must_use]
    pub fn shared_per_block(&self) -> u32 {
        self.settings.limits.shared_per_block
    }

    /// The number of blocks of a kernel that are resident at once, at least 1. A cooperative
    /// kernel's grid can be no larger. `dynamic_shared` is the launch's dynamic shared memory per
    /// block, in bytes.
    #[must_use]
    pub fn resident_blocks(&self, spec: &KernelSpec, dynamic_shared: u32) -> u32 {
        self.settings.resident_blocks(spec.block, dynamic_shared)
    }

    /// Allocates `len` uninitialised elements.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::OutOfMemory`].
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>, EmulatorError> {
        Buffer::new(&self.memory, self.queue, len)
    }

    /// Allocates `len` elements whose bytes are zero.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::OutOfMemory`].
    pub fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>, EmulatorError> {
        let mut buffer = self.alloc::<T>(len)?;
        // SAFETY: plain data may be all zeros.
        buffer.fill(unsafe { core::mem::zeroed() })?;
        Ok(buffer)
    }

    /// Allocates a copy of `values`.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::OutOfMemory`].
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>, EmulatorError> {
        let mut buffer = self.alloc(values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Runs `run` under every schedule within the bounds, each on a new device with the settings of
    /// this one, until it fails. Meant for kernels of a few threads: the number of schedules grows
    /// exponentially with the bounds.
    ///
    /// A thread can be preempted before each of its atomic and volatile accesses. What it does
    /// between them is visible only through a data race, which is reported in any case. A thread
    /// that has seen the same value three times in a row waits until memory changes. Blocks start
    /// in order. Those of an ordinary launch run together, as many as are resident, or one after
    /// the other.
    ///
    /// ```
    /// # #![allow(dead_code)]
    /// use cuda_std::emulator::{Bounds, Emulator, ExploreError};
    /// use cuda_std::prelude::*;
    ///
    /// /// Each thread adds 1.
    /// ///
    /// /// # Safety
    /// /// `count` has one element.
    /// #[kernel(block = 2)]
    /// pub unsafe fn lossy(count: ViewMut<'_, u32>) {
    ///     let before = count.ld_relaxed(0u32, Device);
    ///     count.st_relaxed(0u32, before + 1, Device);
    /// }
    ///
    /// # fn main() {
    /// let run = |gpu: &Emulator| -> Result<(), Box<dyn std::error::Error>> {
    ///     let mut count = gpu.upload(&[0])?;
    ///     // SAFETY: one element.
    ///     unsafe { lossy::launch(gpu, 1, count.view_mut())? };
    ///     match count.to_vec()?[..] {
    ///         [2] => Ok(()),
    ///         _ => Err("an update was lost".into()),
    ///     }
    /// };
    /// let gpu = Emulator::new(0);
    /// let Err(ExploreError::Failed { choices, .. }) = gpu.explore(Bounds::preemptions(1), run)
    /// else {
    ///     panic!("not found");
    /// };
    /// assert!(gpu.repeat(&choices, run).is_err());
    /// # }
    /// ```
    ///
    /// If `run` panics, its choices are printed for [`repeat`](Self::repeat).
    ///
    /// # Errors
    ///
    /// [`ExploreError::Failed`] with the first error of `run` and the choices that lead to it;
    /// [`ExploreError::NotRepeatable`] if `run` depends on anything but its emulator.
    pub fn explore<E>(
        &self,
        bounds: Bounds,
        mut run: impl FnMut(&Self) -> Result<(), E>,
    ) -> Result<Explored, ExploreError<E>> {
        explore::explore(bounds, |trail| self.follow(trail, &mut run))
    }

    /// Runs `run` once, on a new device with the settings of this one, and with choices found by
    /// [`explore`](Self::explore).
    ///
    /// # Errors
    ///
    /// Those of `run`.
    pub fn repeat<T>(&self, choices: &Choices, run: impl FnOnce(&Self) -> T) -> T {
        self.follow(explore::Trail::given(choices), run).1
    }

    /// Runs `run` on a new device that makes the choices of `trail`.
    fn follow<T>(
        &self,
        trail: explore::Trail,
        run: impl FnOnce(&Self) -> T,
    ) -> (explore::Trail, T) {
        /// Prints the choices of a run that panics.
        struct Watched(Emulator);

        impl Drop for Watched {
            fn drop(&mut self) {
                if std::thread::panicking()
                    && let Some(trail) = &memory::lock(&self.0.memory).trail
                {
                    eprintln!("the emulator's choices were \"{}\"", trail.choices());
                }
            }
        }

        let watched = Watched(Self {
            memory: Arc::default(),
            queue: 0,
            settings: self.settings,
        });
        memory::lock(&watched.0.memory).trail = Some(trail);
        let result = run(&watched.0);
        let trail = memory::lock(&watched.0.memory).trail.take();
        (trail.expect("only this function takes it"), result)
    }

    fn report(
        &self,
        spec: &'static KernelSpec,
        launch: u64,
        fault: Fault,
        steps: u64,
        stale_loads: u64,
    ) -> EmulatorError {
        EmulatorError::Launch(Box::new(Report {
            kernel: spec.name,
            seed: self.settings.seed,
            launch,
            steps,
            stale_loads,
            fault,
        }))
    }
}

/// A launch runs the whole grid before it returns. After a fault, memory holds whatever the kernel
/// has written so far.
impl Launcher for Emulator {
    type Error = EmulatorError;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), EmulatorError> {
        if machine::in_kernel() {
            let why = "a kernel runs on this thread, and can't launch another".into();
            let fault = Fault::BadLaunch { why };
            return Err(self.report(spec, 0, fault, 0, 0));
        }
        let mut memory = memory::lock(&self.memory);
        let launch = memory.launches;
        memory.launches += 1;
        // SAFETY: the caller's promise.
        if let Err(problem) = unsafe { spec.check_views(config, args) } {
            memory.has_failed = true;
            return Err(self.report(spec, launch, Fault::BadView(problem), 0, 0));
        }
        // SAFETY: the caller's promise.
        let views = unsafe { arguments::views(spec, args) };
        if let Err(unordered) = memory.note_launch(self.queue, spec, &views) {
            memory.has_failed = true;
            return Err(self.report(spec, launch, Fault::StreamOrder(unordered), 0, 0));
        }
        // SAFETY: the caller's promise, as far as the arguments' types go; accesses are checked.
        let (fault, steps, stale_loads) = unsafe {
            machine::run(
                &mut memory,
                self.settings,
                spec,
                config,
                args,
                views,
                launch,
            )
        };
        memory.has_failed |= fault.is_some();
        match fault {
            None => Ok(()),
            Some(fault) => Err(self.report(spec, launch, fault, steps, stale_loads)),
        }
    }
}
