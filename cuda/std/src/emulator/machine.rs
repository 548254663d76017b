//! One launch: blocks start, their threads run as coroutines until all have ended.
//!
//! Exactly one coroutine runs at a time, on the thread that called `launch`. Through `cuda_std`, a
//! kernel calls the functions in [`call`](super::call), which find their launch in a thread-local
//! pointer. None of them holds a reference to the [`Machine`] while its coroutine is suspended.

use core::ffi::c_void;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::Once;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use fastrand::Rng;

use super::accessed::DynamicArray;
use super::arguments::ViewArgument;
use super::clocks::{Clocks, LANES};
use super::crowds::Crowds;
use super::event::{Source, ThreadId, Waiting};
use super::fault::Fault;
use super::history::{Histories, Value};
use super::memory::Memory;
use super::progress::{Values, Watch};
use super::rendezvous::{Barrier, Warp};
use super::schedule::{Ready, Schedule};
use super::settings::Settings;
use super::tally;
use crate::launch::{Dim3, KernelSpec, LaunchConfig};

/// Size of a coroutine's stack in bytes. Only the part in use takes memory.
const STACK: usize = 128 << 10;
/// Separates the random numbers of weak memory from those of the schedule. The value is arbitrary.
const WEAK: u64 = 0x7765_616b;
/// Separates the random number that decides whether blocks run one after the other.
const ONE_BY_ONE: u64 = 0x6f6e_6562_796f_6e65;

thread_local! {
    /// The launch whose kernel runs on this thread; null while none of its coroutines runs.
    pub(super) static MACHINE: Cell<*mut Machine> = const { Cell::new(null_mut()) };
    /// Stacks of ended coroutines, for reuse.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    /// Place in the source of the last panic in a kernel.
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// It runs or can run.
    Ready,
    /// It can run, and asks which lanes of its warp are active with it.
    AsksActive(Source),
    AtBarrier,
    InWarp,
    Ended,
}

pub(super) struct Thread {
    coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    pub(super) yielder: *const Yielder<(), ()>,
    pub(super) index: Dim3,
    lane: u32,
    /// Index of its warp among those of all block slots.
    warp: usize,
    pub(super) state: State,
    /// Plain accesses since the thread last let others run.
    pub(super) accesses: u32,
}

pub(super) struct Block {
    pub(super) number: u32,
    pub(super) index: Dim3,
    /// Threads that have not ended.
    pub(super) running: u32,
    pub(super) barrier: Option<Barrier>,
    /// The result of the last barrier.
    pub(super) answer: u32,
    /// Bytes of static shared memory so far.
    pub(super) shared_bytes: usize,
    /// The arrays in dynamic shared memory so far.
    pub(super) dynamic_arrays: Vec<DynamicArray>,
}

/// Shared memory of a block slot. The slot's blocks use it one after the other.
pub(super) struct SharedRegion {
    pub(super) slot: usize,
    /// The declaration's address; 0 for dynamic shared memory.
    pub(super) site: usize,
    pub(super) region: usize,
    /// The block that uses it.
    pub(super) block: Option<u32>,
}

/// A launch.
pub(super) struct Machine {
    pub(super) spec: &'static KernelSpec,
    pub(super) config: LaunchConfig,
    args: *const *const c_void,
    pub(super) views: Vec<ViewArgument>,
    pub(super) settings: Settings,
    pub(super) memory: *mut Memory,
    /// The launch's number, for the records on global memory.
    pub(super) generation: u32,
    pub(super) threads: Vec<Thread>,
    pub(super) blocks: Vec<Block>,
    /// The warps of all block slots.
    pub(super) warps: Vec<Warp>,
    pub(super) watches: Vec<Watch>,
    pub(super) shared: Vec<SharedRegion>,
    pub(super) waiting_blocks: VecDeque<u32>,
    blocks_started: u64,
    live_blocks: usize,
    pub(super) ready: Ready,
    pub(super) current: usize,
    pub(super) clocks: Clocks,
    pub(super) crowds: Crowds,
    /// Overwritten values that loads may still return, if memory is weak.
    pub(super) histories: Option<Histories>,
    /// Stale value that the running thread's load returns instead of memory's.
    pub(super) stale: Option<Value>,
    /// Cache of the regions of recently used views, by a hash of the views' starts.
    pub(super) found: [(usize, usize); 16],
    /// Number of changes so far. After a change, waiting threads are worth running again.
    pub(super) changes: u64,
    /// Number of changes so far that had not happened before.
    pub(super) news: u64,
    /// The step of the last such change.
    pub(super) news_at: u64,
    /// The values recently written to memory.
    pub(super) values: Values,
    pub(super) steps: u64,
    pub(super) fault: Option<Fault>,
    ending: bool,
}

/// Whether a kernel runs on this thread.
pub(super) fn in_kernel() -> bool {
    !MACHINE.get().is_null()
}

/// Runs a grid to its end. Returns the fault that ended it (if any), the number of steps and the
/// number of loads that returned stale values.
///
/// # Safety
///
/// `args` points at a value of each parameter's type. `views` are those among them.
pub(super) unsafe fn run(
    memory: &mut Memory,
    settings: Settings,
    spec: &'static KernelSpec,
    config: LaunchConfig,
    args: &[*const c_void],
    views: Vec<ViewArgument>,
    launch: u64,
) -> (Option<Fault>, u64, u64) {
    if let Err(why) = settings.limits.check(spec, &config, args.len()) {
        return (Some(Fault::BadLaunch { why }), 0, 0);
    }
    let resident = settings.resident_blocks(config.block, config.dynamic_shared);
    let blocks = config.grid.count();
    if spec.cooperative && blocks > u64::from(resident) {
        return (Some(Fault::NotResident { blocks, resident }), 0, 0);
    }
    watch_panics();

    let mut machine = Machine::new(memory, settings, spec, config, args, views, launch);
    let machine = &raw mut *machine;
    // SAFETY: the machine lives until the end of this function; references to it end before a
    // coroutine runs.
    unsafe {
        (*machine).start_blocks();
        while let Some(slot) = (*machine).next() {
            let mut coroutine = (*machine)
                .thread(slot)
                .coroutine
                .take()
                .expect("a thread that has not ended");
            MACHINE.set(machine);
            let result = coroutine.resume(());
            MACHINE.set(null_mut());
            match result {
                CoroutineResult::Yield(()) => (*machine).thread(slot).coroutine = Some(coroutine),
                CoroutineResult::Return(()) => {
                    STACKS.with_borrow_mut(|stacks| stacks.push(coroutine.into_stack()));
                    (*machine).end_thread(slot);
                }
            }
            if (*machine).fault.is_some() {
                break;
            }
        }
        (*machine).ending = true;
        for slot in 0..(*machine).slots() {
            // Unwinds an unfinished kernel.
            let coroutine = (*machine).thread(slot).coroutine.take();
            MACHINE.set(machine);
            drop(coroutine);
            MACHINE.set(null_mut());
        }
        let machine = &mut *machine;
        if machine.fault.is_none() {
            machine.fault = machine.not_zero();
        }
        for shared in std::mem::take(&mut machine.shared) {
            (*machine.memory).remove(shared.region);
        }
        let threads = config.block.count() * machine.blocks_started;
        let stale_loads = machine.histories.as_ref().map(|histories| histories.stale);
        tally::add(spec.name, threads, machine.steps, stale_loads);
        (
            machine.fault.take(),
            machine.steps,
            stale_loads.unwrap_or(0),
        )
    }
}

/// Installs a hook that records panics in kernels instead of printing them: they are reported as
/// faults.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if in_kernel() {
                let place = info.location().map(ToString::to_string);
                PANICKED_AT.set(place.unwrap_or_default());
            } else {
                before(info);
            }
        }));
    });
}

/// A panic's message and its place in the source.
fn panic_message(payload: &(dyn Any + Send)) -> String {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    format!("{message}, at {}", PANICKED_AT.take())
}

/// Whether the blocks of an ordinary launch run one after the other, though several would fit.
/// `rng` is the launch's random sequence.
fn runs_one_by_one(memory: &mut Memory, settings: Settings, rng: &Rng) -> bool {
    if let Some(trail) = &mut memory.trail {
        return trail.choose_thread(2, false) == 1;
    }
    // Drawn separately, so that all other draws are the same either way.
    let mut rng = Rng::with_seed(rng.clone().u64(..) ^ ONE_BY_ONE);
    let is_free = settings.resident_blocks.is_none() && settings.schedule != Schedule::InOrder;
    is_free && rng.u32(..8) == 0
}

impl Block {
    /// An empty block slot.
    fn free() -> Self {
        Self {
            number: 0,
            index: Dim3::from(0),
            running: 0,
            barrier: None,
            answer: 0,
            shared_bytes: 0,
            dynamic_arrays: Vec::new(),
        }
    }
}

impl Thread {
    /// The thread in `slot`, whose block has this size, before its start.
    fn ended(slot: usize, block: Dim3) -> Self {
        let Dim3 { x, y, .. } = block;
        let count = block.count() as usize;
        let of_block = slot % count;
        let t = of_block as u32;
        Self {
            coroutine: None,
            yielder: std::ptr::null(),
            index: Dim3 {
                x: t % x,
                y: t / x % y,
                z: t / x / y,
            },
            lane: t % LANES as u32,
            warp: slot / count * count.div_ceil(LANES) + of_block / LANES,
            state: State::Ended,
            accesses: 0,
        }
    }
}

impl Machine {
    fn new(
        memory: &mut Memory,
        settings: Settings,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
        views: Vec<ViewArgument>,
        launch: u64,
    ) -> Box<Self> {
        let block_threads = config.block.count() as usize;
        let grid = config.grid.count() as u32;
        let resident = settings.resident_blocks(config.block, config.dynamic_shared);
        let mut resident = resident.min(grid) as usize;
        let is_explored = memory.trail.is_some();
        // Each launch has its own random sequence, independent of earlier launches' draws.
        let mut seeds = Rng::with_seed(settings.seed);
        let mut rng = Rng::with_seed(seeds.u64(..) ^ launch.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // CUDA promises only for a cooperative launch that its blocks run at the same time.
        if !spec.cooperative && resident > 1 && runs_one_by_one(memory, settings, &rng) {
            resident = 1;
        }
        // Weak memory has its own sequence too, so that it does not change the order of threads.
        let mut weak_rng = Rng::with_seed(rng.clone().u64(..) ^ WEAK);
        let weak = weak_rng.bool() && settings.schedule != Schedule::InOrder || is_explored;
        let weak = settings.weak_memory.unwrap_or(weak);
        let histories = weak.then(|| Histories::new(weak_rng, block_threads * resident));
        let mut clocks = Clocks::new(block_threads as u32, resident);
        if weak {
            clocks.order_fences();
        }
        let mut waiting_blocks: Vec<u32> = (0..grid).collect();
        if settings.schedule != Schedule::InOrder && !is_explored {
            rng.shuffle(&mut waiting_blocks);
        }
        let slots = block_threads * resident;
        let threads = (0..slots)
            .map(|slot| Thread::ended(slot, config.block))
            .collect();
        let blocks = (0..resident).map(|_| Block::free()).collect();
        let warps = (0..resident)
            .flat_map(|_| (0..block_threads).step_by(LANES))
            .map(|first| Warp::new((block_threads - first).min(LANES)))
            .collect();
        Box::new(Self {
            spec,
            config,
            args: args.as_ptr(),
            views,
            settings,
            generation: memory.next_generation(),
            memory,
            threads,
            blocks,
            warps,
            watches: vec![Watch::default(); slots],
            shared: Vec::new(),
            waiting_blocks: waiting_blocks.into(),
            blocks_started: 0,
            live_blocks: 0,
            ready: if is_explored {
                Ready::explored(slots, rng)
            } else {
                Ready::new(settings.schedule, slots, block_threads, rng)
            },
            current: 0,
            clocks,
            crowds: Crowds::default(),
            histories,
            stale: None,
            found: [(0, usize::MAX); 16],
            changes: 1,
            news: 1,
            news_at: 0,
            values: Values::new(),
            steps: 0,
            fault: None,
            ending: false,
        })
    }

    pub(super) fn block_threads(&self) -> usize {
        self.clocks.block_threads() as usize
    }

    pub(super) fn thread(&mut self, slot: usize) -> &mut Thread {
        &mut self.threads[slot]
    }

    fn slots(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn running(&mut self) -> &mut Thread {
        self.thread(self.current)
    }

    pub(super) fn memory(&mut self) -> &mut Memory {
        // SAFETY: `run` holds the memory for as long as the machine lives, and uses it through here
        // alone.
        unsafe { &mut *self.memory }
    }

    fn start_blocks(&mut self) {
        for slot in 0..self.blocks.len() {
            self.start_block(slot);
        }
    }

    /// Starts the next block in `slot`, if there is one.
    fn start_block(&mut self, slot: usize) {
        let Some(number) = self.waiting_blocks.pop_front() else {
            return;
        };
        let count = self.block_threads();
        let Dim3 { x, y, .. } = self.config.grid;
        self.blocks[slot] = Block {
            number,
            index: Dim3 {
                x: number % x,
                y: number / x % y,
                z: number / x / y,
            },
            running: count as u32,
            barrier: None,
            answer: 0,
            shared_bytes: 0,
            dynamic_arrays: Vec::new(),
        };
        self.clocks.start_block(slot, number);
        let first = slot * count;
        self.ready.start_block(self.blocks_started, first, count);
        for t in first..first + count {
            let Some(coroutine) = self.coroutine(t) else {
                self.fault = Some(Fault::OutOfMemory {
                    what: "the stack of a thread",
                });
                return;
            };
            let thread = &mut self.threads[t];
            thread.coroutine = Some(coroutine);
            thread.state = State::Ready;
            thread.accesses = 0;
            self.watches[t] = Watch::default();
            self.ready.push(t);
        }
        let warps = count.div_ceil(LANES);
        for warp in &mut self.warps[slot * warps..(slot + 1) * warps] {
            warp.start();
        }
        self.blocks_started += 1;
        self.live_blocks += 1;
        self.note_news();
    }

    /// The thread in `slot`, before its first instruction.
    fn coroutine(&mut self, slot: usize) -> Option<Coroutine<(), (), (), DefaultStack>> {
        let stack = match STACKS.with_borrow_mut(Vec::pop) {
            Some(stack) => stack,
            None => DefaultStack::new(STACK).ok()?,
        };
        let entry = self.spec.entry?;
        let args = self.args;
        Some(Coroutine::with_stack(stack, move |yielder, ()| {
            let machine = MACHINE.get();
            // SAFETY: the machine lives as long as its coroutines; no reference to it is held while
            // they run.
            unsafe { (*machine).thread(slot).yielder = yielder };
            // SAFETY: `run`'s caller vouches for the arguments.
            let body = AssertUnwindSafe(|| unsafe { entry(args) });
            if let Err(payload) = catch_unwind(body) {
                // SAFETY: as above.
                let machine = unsafe { &mut *machine };
                if machine.ending {
                    resume_unwind(payload);
                }
                machine.fault = Some(Fault::Panic {
                    thread: machine.thread_id(slot),
                    message: panic_message(&*payload),
                });
            }
        }))
    }

    /// The thread that runs next; `None` at the end, or after a fault.
    fn next(&mut self) -> Option<usize> {
        if self.fault.is_some() {
            return None;
        }
        // SAFETY: as in `memory`.
        let trail = unsafe { &mut *self.memory }.trail.as_mut();
        let Some(slot) = self.ready.pop(self.changes, trail) else {
            if self.live_blocks > 0 {
                self.fault = Some(self.deadlock());
            }
            return None;
        };
        if let Some(fault) = self.step() {
            self.fault = Some(fault);
            return None;
        }
        if let State::AsksActive(source) = self.threads[slot].state {
            self.answer_active(slot, source);
        }
        self.current = slot;
        Some(slot)
    }

    /// Counts a step: the scheduler lets a thread go on, possibly the running one.
    pub(super) fn step(&mut self) -> Option<Fault> {
        self.steps += 1;
        let steps = self.settings.step_limit;
        (self.steps > steps).then(|| {
            let (running, ..) = self.who_waits();
            Fault::StepLimit { steps, running }
        })
    }

    /// Index of the warp of the thread in `slot`.
    pub(super) fn warp(&self, slot: usize) -> usize {
        self.threads[slot].warp
    }

    pub(super) fn lane(&self, slot: usize) -> u32 {
        self.threads[slot].lane
    }

    pub(super) fn block(&self, slot: usize) -> &Block {
        &self.blocks[self.clocks.block_slot(slot)]
    }

    pub(super) fn thread_id(&self, slot: usize) -> ThreadId {
        ThreadId {
            block: self.block(slot).index,
            thread: self.threads[slot].index,
        }
    }

    /// The thread with index `id` in the grid; it may no longer be resident.
    pub(super) fn thread_of(&self, id: u32) -> ThreadId {
        let count = self.clocks.block_threads();
        let (number, t) = (id / count, id % count);
        let Dim3 { x, y, .. } = self.config.grid;
        let block = Dim3 {
            x: number % x,
            y: number / x % y,
            z: number / x / y,
        };
        let Dim3 { x, y, .. } = self.config.block;
        let thread = Dim3 {
            x: t % x,
            y: t / x % y,
            z: t / x / y,
        };
        ThreadId { block, thread }
    }

    pub(super) fn waiting(
        &self,
        slot: usize,
        what: &'static str,
        source: Option<Source>,
    ) -> Waiting {
        Waiting {
            thread: self.thread_id(slot),
            what,
            source,
            seen: None,
        }
    }

    /// Ends the thread in `slot`, which has returned.
    fn end_thread(&mut self, slot: usize) {
        if self.fault.is_some() {
            return;
        }
        // An update that changed nothing does not matter any more.
        self.settle(slot);
        self.threads[slot].state = State::Ended;
        self.note_news();
        if let Err(fault) = self.end_meetings(slot) {
            self.fault = Some(fault);
            return;
        }
        let block = slot / self.block_threads();
        self.blocks[block].running -= 1;
        if self.blocks[block].running == 0 {
            self.live_blocks -= 1;
            self.start_block(block);
        }
    }
}
