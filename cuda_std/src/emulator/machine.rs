//! One launch: blocks start, their threads run as coroutines until all have ended.
//!
//! Exactly one coroutine runs at a time, on the thread that called `launch`. The functions in [`call`] are what a kernel
//! reaches through `cuda_std`; they find their launch in a thread-local pointer. None holds a reference to the
//! [`Machine`] while its coroutine is suspended.

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

use super::clocks::{Clocks, LANES};
use super::fault::{Event, Fault, Place, Source, ThreadId, Touch, Waiting};
use super::memory::{Memory, Owner};
use super::schedule::{Ready, Schedule};
use super::shadow::{Before, Conflict, Crowds, Kind, NoMemory};
use super::warp::{Operand, WarpOp, answers};
use super::{Settings, tally};
use crate::atomic::ScopeKind;
use crate::backend::Access;
use crate::launch::{Dim3, KernelSpec, LaunchConfig};

/// Bytes of a coroutine's stack, of which only what is used takes memory.
const STACK: usize = 128 << 10;
/// Static shared memory that a block can have, in bytes.
const STATIC_SHARED: usize = 48 << 10;
/// Dynamic shared memory that a block can have.
const DYNAMIC_SHARED: usize = 227 << 10;
/// Plain accesses after which a thread lets others run, should it wait for them.
const PATIENCE: u32 = 4096;
/// Repetitions of a load or a failing update, with nothing changing anywhere, after which a thread counts as spinning.
const SPINNING: u32 = 1000;
/// Loads that are compared to notice a repetition.
const RECENT: usize = 16;

thread_local! {
    /// The launch whose kernel runs on this thread.
    static MACHINE: Cell<*mut Machine> = const { Cell::new(null_mut()) };
    /// Stacks of coroutines that have ended.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    /// Where the last panic in a kernel was.
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// It runs, or can.
    Ready,
    /// It can go on, and asks for the lanes that are with it.
    AsksActive(Source),
    AtBarrier,
    InWarp(WarpWait),
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct WarpWait {
    op: WarpOp,
    mask: u32,
    source: Source,
}

struct Thread {
    coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    yielder: *const Yielder<(), ()>,
    index: Dim3,
    state: State,
    operand: Operand,
    /// What its last warp operation or barrier gave.
    answer: (u64, bool),
    /// Plain accesses since it last let others run.
    accesses: u32,
    /// Its last write, if nothing has looked yet whether it changed anything.
    write: Option<Written>,
    recent: [(usize, u64); RECENT],
    next_recent: usize,
    repeats: u32,
    /// The launch's `changes` when `repeats` began.
    repeats_since: u64,
    /// Where it last loaded or updated atomically.
    last: Option<(&'static str, Source)>,
}

/// What a place held before a write.
#[derive(Clone, Copy)]
struct Written {
    address: usize,
    bytes: usize,
    before: [u8; 16],
    update: bool,
}

struct Block {
    live: bool,
    number: u32,
    index: Dim3,
    /// Threads that have not ended.
    running: u32,
    barrier: Option<Barrier>,
    /// Bytes of static shared memory so far.
    shared_bytes: usize,
}

/// The threads of a block that wait at a barrier.
struct Barrier {
    kind: BarrierKind,
    source: Source,
    first: usize,
    arrived: u32,
    holding: u32,
}

/// The barriers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Plain,
    Count,
    And,
    Or,
}

impl BarrierKind {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "sync_threads",
            Self::Count => "sync_threads_count",
            Self::And => "sync_threads_and",
            Self::Or => "sync_threads_or",
        }
    }
}

/// Shared memory of a slot for blocks, which its blocks use one after the other.
struct SharedRegion {
    slot: usize,
    /// The declaration's address; 0 for dynamic shared memory.
    site: usize,
    region: usize,
    /// The block that uses it.
    block: Option<u32>,
}

struct Param {
    name: &'static str,
    start: usize,
    bytes: usize,
}

struct Machine {
    spec: &'static KernelSpec,
    config: LaunchConfig,
    args: *const *const c_void,
    params: Vec<Param>,
    settings: Settings,
    memory: *mut Memory,
    /// Of the launch, for the notes on global memory.
    generation: u32,
    threads: Vec<Thread>,
    blocks: Vec<Block>,
    shared: Vec<SharedRegion>,
    waiting_blocks: VecDeque<u32>,
    blocks_started: u64,
    live_blocks: usize,
    ready: Ready,
    current: usize,
    clocks: Clocks,
    crowds: Crowds,
    /// Regions that accesses found lately, by a hash of their views' starts.
    found: [(usize, usize); 16],
    /// Counts what makes waiting threads worth running again.
    changes: u64,
    steps: u64,
    fault: Option<Fault>,
    ending: bool,
}

/// An access as the views describe it.
#[derive(Clone, Copy)]
pub(crate) struct Accessed {
    pub(crate) start: usize,
    pub(crate) index: usize,
    pub(crate) count: usize,
    pub(crate) len: usize,
    pub(crate) size: usize,
    pub(crate) alignment: usize,
    pub(crate) access: Access,
    pub(crate) source: Source,
}

/// Whether a kernel runs on this thread.
pub(super) fn in_kernel() -> bool {
    !MACHINE.get().is_null()
}

/// Runs a grid to its end. A fault comes with the steps taken.
///
/// # Safety
///
/// `args` points at a value of each parameter's type.
pub(super) unsafe fn run(
    memory: &mut Memory,
    settings: Settings,
    spec: &'static KernelSpec,
    config: LaunchConfig,
    args: &[*const c_void],
    launch: u64,
) -> Result<(), (Fault, u64)> {
    check_shape(spec, &config, args.len()).map_err(|why| (Fault::BadLaunch { why }, 0))?;
    if spec.entry.is_none() {
        let why = "the kernel was not compiled for the host".into();
        return Err((Fault::BadLaunch { why }, 0));
    }
    watch_panics();

    // SAFETY: the caller's promise.
    let mut machine = unsafe { Machine::new(memory, settings, spec, config, args, launch) };
    let machine = &raw mut *machine;
    MACHINE.set(machine);
    // SAFETY: the machine lives until the end of this function; references to it end before a coroutine runs.
    unsafe {
        (*machine).start_blocks();
        while let Some(slot) = (*machine).next() {
            let mut coroutine = (*machine)
                .thread(slot)
                .coroutine
                .take()
                .expect("a thread that has not ended");
            match coroutine.resume(()) {
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
        let slots = (&(*machine).threads).len();
        for slot in 0..slots {
            // Unwinds what is left of a kernel.
            let coroutine = (*machine).thread(slot).coroutine.take();
            drop(coroutine);
        }
        MACHINE.set(null_mut());
        let machine = &mut *machine;
        if machine.fault.is_none() {
            machine.fault = machine.not_zero();
        }
        for shared in std::mem::take(&mut machine.shared) {
            (*machine.memory).remove(shared.region);
        }
        let threads = config.block.count() * machine.blocks_started;
        tally::add(spec.name, threads, machine.steps);
        match machine.fault.take() {
            None => Ok(()),
            Some(fault) => Err((fault, machine.steps)),
        }
    }
}

/// Holds a launch against what a GPU takes.
fn check_shape(spec: &KernelSpec, config: &LaunchConfig, args: usize) -> Result<(), String> {
    let LaunchConfig {
        grid,
        block,
        dynamic_shared,
    } = config;
    if args != spec.params.len() {
        let needed = spec.params.len();
        return Err(format!(
            "it takes {needed} arguments, and {args} were given"
        ));
    }
    for (what, Dim3 { x, y, z }) in [("grid", grid), ("block", block)] {
        if [x, y, z].contains(&&0) {
            return Err(format!(
                "its {what} is {x} × {y} × {z}, and no side may be 0"
            ));
        }
    }
    if *block != spec.block {
        let Dim3 { x, y, z } = spec.block;
        return Err(format!("its blocks have {x} × {y} × {z} threads"));
    }
    if grid.count().saturating_mul(block.count()) >= u64::from(u32::MAX) {
        return Err("the emulator counts threads with 32 bits".into());
    }
    if *dynamic_shared as usize > DYNAMIC_SHARED {
        return Err(format!(
            "it asks for {dynamic_shared} bytes of dynamic shared memory, and a block has at most {DYNAMIC_SHARED}"
        ));
    }
    Ok(())
}

/// Has panics in kernels noted instead of printed: they are reported as faults.
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

/// A panic's message, and where it was.
fn panic_message(payload: &(dyn Any + Send)) -> String {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    format!("{message}, at {}", PANICKED_AT.take())
}

impl Machine {
    /// # Safety
    ///
    /// As for [`run`].
    unsafe fn new(
        memory: &mut Memory,
        settings: Settings,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
        launch: u64,
    ) -> Box<Self> {
        let block_threads = config.block.count() as usize;
        let grid = config.grid.count() as u32;
        let resident = settings
            .resident_blocks
            .map_or((2048 / block_threads).clamp(2, 16), |blocks| {
                blocks as usize
            })
            .min(grid as usize);
        // Each launch has its own sequence, so that what an earlier one drew does not matter.
        let mut seeds = Rng::with_seed(settings.seed);
        let mut rng = Rng::with_seed(seeds.u64(..) ^ launch.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut waiting_blocks: Vec<u32> = (0..grid).collect();
        if settings.schedule != Schedule::InOrder {
            rng.shuffle(&mut waiting_blocks);
        }
        let params = spec
            .params
            .iter()
            .zip(args)
            .filter(|(param, _)| param.element > 0)
            .map(|(param, &value)| {
                // SAFETY: a view starts with its address and its length.
                let (start, len) = unsafe { value.cast::<(usize, usize)>().read() };
                Param {
                    name: param.name,
                    start,
                    bytes: len.saturating_mul(param.element),
                }
            })
            .collect();
        let Dim3 { x, y, .. } = config.block;
        let slots = block_threads * resident;
        let threads = (0..slots)
            .map(|slot| {
                let t = (slot % block_threads) as u32;
                Thread {
                    coroutine: None,
                    yielder: std::ptr::null(),
                    index: Dim3 {
                        x: t % x,
                        y: t / x % y,
                        z: t / x / y,
                    },
                    state: State::Ended,
                    operand: Operand::default(),
                    answer: (0, false),
                    accesses: 0,
                    write: None,
                    recent: [(0, 0); RECENT],
                    next_recent: 0,
                    repeats: 0,
                    repeats_since: 0,
                    last: None,
                }
            })
            .collect();
        let blocks = (0..resident)
            .map(|_| Block {
                live: false,
                number: 0,
                index: Dim3::from(0),
                running: 0,
                barrier: None,
                shared_bytes: 0,
            })
            .collect();
        Box::new(Self {
            spec,
            config,
            args: args.as_ptr(),
            params,
            settings,
            generation: memory.next_generation(),
            memory,
            threads,
            blocks,
            shared: Vec::new(),
            waiting_blocks: waiting_blocks.into(),
            blocks_started: 0,
            live_blocks: 0,
            ready: Ready::new(settings.schedule, slots, rng),
            current: 0,
            clocks: Clocks::new(block_threads as u32, resident),
            crowds: Crowds::default(),
            found: [(0, usize::MAX); 16],
            changes: 1,
            steps: 0,
            fault: None,
            ending: false,
        })
    }

    fn block_threads(&self) -> usize {
        self.clocks.block_threads() as usize
    }

    fn thread(&mut self, slot: usize) -> &mut Thread {
        &mut self.threads[slot]
    }

    fn running(&mut self) -> &mut Thread {
        self.thread(self.current)
    }

    fn memory(&mut self) -> &mut Memory {
        // SAFETY: `run` holds the memory for as long as the machine lives, and uses it through here alone.
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
            live: true,
            number,
            index: Dim3 {
                x: number % x,
                y: number / x % y,
                z: number / x / y,
            },
            running: count as u32,
            barrier: None,
            shared_bytes: 0,
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
            thread.write = None;
            thread.repeats = 0;
            thread.last = None;
            self.ready.push(t);
        }
        self.blocks_started += 1;
        self.live_blocks += 1;
        self.changes += 1;
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
            // SAFETY: the machine lives as long as its coroutines; no reference to it is held while they run.
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

    /// The thread that goes on; none at the end, or after a fault.
    fn next(&mut self) -> Option<usize> {
        if self.fault.is_some() {
            return None;
        }
        let Some(slot) = self.ready.pop() else {
            if self.live_blocks > 0 {
                self.fault = Some(self.deadlock());
            }
            return None;
        };
        self.steps += 1;
        if self.steps > self.settings.step_limit {
            self.fault = Some(Fault::StepLimit {
                steps: self.settings.step_limit,
            });
            return None;
        }
        if let State::AsksActive(source) = self.threads[slot].state {
            self.answer_active(slot, source);
        }
        self.current = slot;
        Some(slot)
    }

    /// Answers the lanes that ask at `source` with the thread in `slot`, or some of them: they are together.
    fn answer_active(&mut self, slot: usize, source: Source) {
        let (first, lanes) = self.warp_of(slot);
        let mut mask = 0u32;
        for lane in 0..lanes {
            let other = first + lane;
            let asks =
                matches!(self.threads[other].state, State::AsksActive(at) if same(at, source));
            if asks && (other == slot || self.ready.rng.u32(..4) != 0) {
                mask |= 1 << lane;
            }
        }
        for lane in 0..lanes {
            if mask >> lane & 1 != 0 {
                self.threads[first + lane].answer = (mask.into(), false);
                self.threads[first + lane].state = State::Ready;
            }
        }
    }

    /// The slot of lane 0 of the warp of the thread in `slot`, and how many lanes the warp has.
    fn warp_of(&self, slot: usize) -> (usize, usize) {
        let count = self.block_threads();
        let t = slot % count;
        let in_block = t - t % LANES;
        (slot - t + in_block, (count - in_block).min(LANES))
    }

    fn lane(&self, slot: usize) -> u32 {
        (slot % self.block_threads() % LANES) as u32
    }

    fn block(&self, slot: usize) -> &Block {
        &self.blocks[slot / self.block_threads()]
    }

    fn thread_id(&self, slot: usize) -> ThreadId {
        ThreadId {
            block: self.block(slot).index,
            thread: self.threads[slot].index,
        }
    }

    /// A thread by its number in the grid, which need not be resident any more.
    fn thread_of(&self, id: u32) -> ThreadId {
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

    fn waiting(&self, slot: usize, what: &'static str, source: Source) -> Waiting {
        Waiting {
            thread: self.thread_id(slot),
            what,
            source: Some(source),
        }
    }

    /// The thread in `slot` has returned.
    fn end_thread(&mut self, slot: usize) {
        if self.fault.is_some() {
            return;
        }
        self.settle(slot);
        self.threads[slot].state = State::Ended;
        self.changes += 1;
        let lane = self.lane(slot);
        let (first, lanes) = self.warp_of(slot);
        for other in first..first + lanes {
            if let State::InWarp(wait) = self.threads[other].state
                && wait.mask >> lane & 1 != 0
            {
                self.fault = Some(Fault::ExitedLane {
                    waiting: self.waiting(other, wait.op.name(), wait.source),
                    mask: wait.mask,
                    exited: 1 << lane,
                });
                return;
            }
        }
        let block = slot / self.block_threads();
        if let Some(barrier) = &self.blocks[block].barrier {
            self.fault = Some(Fault::DivergentBarrier {
                waiting: self.waiting(barrier.first, barrier.kind.name(), barrier.source),
                other: self.thread_id(slot),
                elsewhere: None,
            });
            return;
        }
        self.blocks[block].running -= 1;
        if self.blocks[block].running == 0 {
            self.blocks[block].live = false;
            self.live_blocks -= 1;
            self.start_block(block);
        }
    }

    /// Looks whether the thread's last write has changed anything.
    fn settle(&mut self, slot: usize) -> Option<Fault> {
        let write = self.threads[slot].write.take()?;
        // SAFETY: the bytes were checked to lie in the device's memory when they were written, and the thread has not
        // let others run since.
        let now = unsafe { std::slice::from_raw_parts(write.address as *const u8, write.bytes) };
        if *now != write.before[..write.bytes] {
            self.changes += 1;
            None
        } else if write.update {
            self.repeat(slot)
        } else {
            None
        }
    }

    /// The thread loads `value` from `address`, as it may have done just before.
    fn loads(&mut self, slot: usize, address: usize, value: u64) -> Option<Fault> {
        let thread = &mut self.threads[slot];
        if thread.recent.contains(&(address, value)) {
            return self.repeat(slot);
        }
        thread.recent[thread.next_recent] = (address, value);
        thread.next_recent = (thread.next_recent + 1) % RECENT;
        thread.repeats = 0;
        None
    }

    /// The thread did what it did before, and learnt nothing.
    fn repeat(&mut self, slot: usize) -> Option<Fault> {
        let changes = self.changes;
        let thread = &mut self.threads[slot];
        if thread.repeats_since != changes {
            (thread.repeats_since, thread.repeats) = (changes, 0);
        }
        thread.repeats += 1;
        if thread.repeats.is_multiple_of(8) {
            self.ready.move_back(slot);
        }
        if self.threads[slot].repeats < SPINNING || !self.threads[slot].repeats.is_multiple_of(64) {
            return None;
        }
        let spins = |slot: usize| {
            let thread = &self.threads[slot];
            thread.repeats_since == changes && thread.repeats >= SPINNING
        };
        self.ready.all(spins).then(|| self.deadlock())
    }

    /// Who waits for what: one thread for each place.
    fn deadlock(&self) -> Fault {
        let mut waiting: Vec<Waiting> = Vec::new();
        let (mut blocked, mut spinning) = (0, 0);
        for (slot, thread) in self.threads.iter().enumerate() {
            let found = match thread.state {
                State::Ended => continue,
                State::AtBarrier => {
                    blocked += 1;
                    let barrier = self.block(slot).barrier.as_ref();
                    barrier.map(|barrier| (barrier.kind.name(), barrier.source))
                }
                State::InWarp(wait) => {
                    blocked += 1;
                    Some((wait.op.name(), wait.source))
                }
                State::Ready | State::AsksActive(_) => {
                    spinning += 1;
                    thread.last
                }
            };
            if let Some((what, source)) = found
                && !waiting
                    .iter()
                    .any(|w| w.what == what && w.source.is_some_and(|at| same(at, source)))
            {
                waiting.push(self.waiting(slot, what, source));
            }
        }
        Fault::Deadlock {
            waiting,
            blocked,
            spinning,
            not_started: self.waiting_blocks.len() as u64,
        }
    }

    /// An access, by the running thread.
    fn access(&mut self, accessed: Accessed) -> Result<(), Fault> {
        let Accessed {
            start,
            index,
            count,
            len,
            size,
            alignment,
            access,
            source,
        } = accessed;
        let slot = self.current;
        let touch = touch_of(access);
        let event = Event {
            thread: self.thread_id(slot),
            touch,
            source,
        };
        if index.checked_add(count).is_none_or(|end| end > len) {
            return Err(Fault::OutOfBounds {
                event,
                place: self.place(start, index, size),
                count,
                len,
            });
        }
        let address = start + index * size;
        let bytes = count * size;
        if bytes == 0 {
            return Ok(());
        }
        if !address.is_multiple_of(alignment) {
            return Err(Fault::Misaligned {
                event,
                place: self.place(start, index, size),
                address,
                alignment,
            });
        }
        let Some(region) = self.find(start) else {
            let place = self.place(start, index, size);
            return Err(Fault::NotDeviceMemory { event, place });
        };

        let block = self.block(slot).index;
        // SAFETY: as in `memory`, spelt out so that other fields can be borrowed beside it.
        let memory = unsafe { &mut *self.memory };
        let region = memory.region(region);
        let (short_lived, generation) = match &region.owner {
            Owner::Device => (false, self.generation),
            Owner::Block { block: owner, .. } => {
                if *owner != block {
                    let owner = *owner;
                    let place = self.place(start, index, size);
                    return Err(Fault::ForeignSharedMemory {
                        event,
                        place,
                        owner,
                    });
                }
                (true, region.generation)
            }
        };
        let end = region.start + region.bytes;
        if address + bytes > end {
            return Err(Fault::OutOfBounds {
                event,
                place: self.place(start, index, size),
                count,
                len: (end - start) / size,
            });
        }
        let kind = Kind {
            touch,
            block_scope: match access {
                Access::AtomicLoad { scope, .. } | Access::AtomicStore { scope, .. } => {
                    !short_lived && scope == ScopeKind::Block
                }
                _ => false,
            },
        };
        let offset = address - region.start;
        let conflict = region
            .shadow
            .access(
                offset,
                bytes,
                kind,
                source,
                slot,
                generation,
                short_lived,
                &self.clocks,
                &mut self.crowds,
            )
            .map_err(|NoMemory| Fault::OutOfMemory {
                what: "the notes on an array",
            })?;
        if let Some(conflict) = conflict {
            let place = self.place(start, index, size);
            return Err(self.conflict(conflict, event, place));
        }

        match access {
            Access::AtomicLoad { acquire, .. } => {
                self.clocks.atomic_load(slot, address, acquire);
            }
            Access::AtomicStore { scope, release } => {
                let release = release.then_some(scope);
                self.clocks.atomic_store(slot, address, release, false);
            }
            Access::AtomicUpdate => {
                self.clocks.atomic_load(slot, address, false);
                self.clocks.atomic_store(slot, address, None, true);
            }
            Access::Load | Access::ReadOnlyLoad | Access::Store => {}
        }
        self.note_progress(accessed, address, bytes)
    }

    /// Notes what tells a thread that waits from one that works.
    fn note_progress(
        &mut self,
        accessed: Accessed,
        address: usize,
        bytes: usize,
    ) -> Result<(), Fault> {
        let slot = self.current;
        let compared = bytes.min(16);
        let mut before = [0u8; 16];
        let mut copy = || {
            // SAFETY: the access was checked to lie in the device's memory.
            let now = unsafe { std::slice::from_raw_parts(address as *const u8, compared) };
            before[..compared].copy_from_slice(now);
        };
        let fault = match accessed.access {
            Access::AtomicLoad { .. } => {
                copy();
                self.threads[slot].last = Some(("atomic load", accessed.source));
                let value = u64::from_ne_bytes(before[..8].try_into().unwrap_or_default());
                self.loads(slot, address, value)
            }
            Access::Load if self.threads[slot].accesses == 0 => {
                // Its patience has just ended.
                copy();
                self.threads[slot].last = Some(("load", accessed.source));
                let value = u64::from_ne_bytes(before[..8].try_into().unwrap_or_default());
                self.loads(slot, address, value)
            }
            Access::Store | Access::AtomicStore { .. } | Access::AtomicUpdate => {
                copy();
                let update = accessed.access == Access::AtomicUpdate;
                if update {
                    self.threads[slot].last = Some(("atomic update", accessed.source));
                }
                self.threads[slot].write = Some(Written {
                    address,
                    bytes: compared,
                    before,
                    update,
                });
                None
            }
            Access::Load | Access::ReadOnlyLoad => None,
        };
        fault.map_or(Ok(()), Err)
    }

    fn conflict(&self, conflict: Conflict, event: Event, place: Place) -> Fault {
        let other = |before: Before| Event {
            thread: self.thread_of(before.thread),
            touch: before.touch,
            source: before.source,
        };
        match conflict {
            Conflict::Uninitialised => Fault::Uninitialised { event, place },
            Conflict::Race(before) => Fault::DataRace {
                place,
                first: other(before),
                second: event,
            },
            Conflict::Narrow(before) => Fault::ScopeTooNarrow {
                place,
                first: other(before),
                second: event,
            },
            Conflict::ReadOnly(before) => {
                let before = other(before);
                let (load, store) = if event.touch == Touch::ReadOnlyLoad {
                    (event, before)
                } else {
                    (before, event)
                };
                Fault::ReadOnlyWritten { place, load, store }
            }
        }
    }

    /// The region that a view which starts at `start` lies in.
    fn find(&mut self, start: usize) -> Option<usize> {
        let hash = (start >> 4 ^ start >> 12) % self.found.len();
        let (key, region) = self.found[hash];
        if key == start && self.memory().holds(region, start) {
            return Some(region);
        }
        let region = self.memory().find(start)?;
        self.found[hash] = (start, region);
        Some(region)
    }

    /// How to call element `index` of the view that starts at `start`.
    fn place(&mut self, start: usize, index: usize, size: usize) -> Place {
        let index = index.cast_signed();
        let named: Vec<_> = self
            .params
            .iter()
            .filter(|param| param.start == start && param.bytes > 0)
            .map(|param| format!("`{}`", param.name))
            .collect();
        if !named.is_empty() {
            let view = named.join(" or ");
            return Place { view, index };
        }
        let within = self
            .params
            .iter()
            .find(|param| start >= param.start && start - param.start < param.bytes);
        if let Some(param) = within {
            let view = format!("`{}` from byte {} on", param.name, start - param.start);
            return Place { view, index };
        }
        let view = match self.find(start) {
            Some(region) => {
                let region = self.memory().region(region);
                match &region.owner {
                    Owner::Block { label, .. } if start == region.start => label.clone(),
                    Owner::Block { label, .. } => {
                        format!("{label} from byte {} on", start - region.start)
                    }
                    Owner::Device => format!(
                        "an array of {} bytes that is no argument, from byte {} on",
                        region.bytes,
                        start - region.start
                    ),
                }
            }
            None => format!("a view of {size} bytes an element at the address {start:#x}"),
        };
        Place { view, index }
    }

    /// The running thread comes to a barrier of its block.
    fn arrive(&mut self, kind: BarrierKind, predicate: bool, source: Source) -> Result<(), Fault> {
        let slot = self.current;
        let count = self.block_threads();
        let block = slot / count;
        if (self.blocks[block].running as usize) < count {
            let ended = (block * count..(block + 1) * count)
                .find(|&other| self.threads[other].state == State::Ended);
            return Err(Fault::DivergentBarrier {
                waiting: self.waiting(slot, kind.name(), source),
                other: self.thread_id(ended.unwrap_or(slot)),
                elsewhere: None,
            });
        }
        let barrier = self.blocks[block].barrier.get_or_insert(Barrier {
            kind,
            source,
            first: slot,
            arrived: 0,
            holding: 0,
        });
        if barrier.kind != kind || !same(barrier.source, source) {
            let (first, first_kind, first_source) = (barrier.first, barrier.kind, barrier.source);
            return Err(Fault::DivergentBarrier {
                waiting: self.waiting(first, first_kind.name(), first_source),
                other: self.thread_id(slot),
                elsewhere: Some((kind.name(), source)),
            });
        }
        barrier.arrived += 1;
        barrier.holding += u32::from(predicate);
        self.threads[slot].state = State::AtBarrier;
        if barrier.arrived as usize == count {
            let holding = barrier.holding;
            let answer = match kind {
                BarrierKind::Plain => 0,
                BarrierKind::Count => holding,
                BarrierKind::And => u32::from(holding as usize == count),
                BarrierKind::Or => u32::from(holding > 0),
            };
            self.blocks[block].barrier = None;
            self.clocks.barrier(block);
            self.changes += 1;
            for other in block * count..(block + 1) * count {
                self.threads[other].answer = (answer.into(), false);
                self.threads[other].state = State::Ready;
                self.ready.push(other);
            }
        }
        Ok(())
    }

    /// The running thread comes to a warp operation.
    fn arrive_in_warp(
        &mut self,
        op: WarpOp,
        mask: u32,
        operand: Operand,
        source: Source,
    ) -> Result<(), Fault> {
        let slot = self.current;
        let lane = self.lane(slot);
        let (first, lanes) = self.warp_of(slot);
        let waiting = self.waiting(slot, op.name(), source);
        if mask >> lane & 1 == 0 {
            return Err(Fault::NotInMask { waiting, mask });
        }
        let absent = mask & !(u32::MAX >> (LANES - lanes));
        if absent != 0 {
            return Err(Fault::AbsentLane {
                waiting,
                mask,
                absent,
            });
        }
        let wait = WarpWait { op, mask, source };
        let mut exited = 0u32;
        let mut missing = false;
        for other in 0..lanes {
            if mask >> other & 1 == 0 || other as u32 == lane {
                continue;
            }
            match self.threads[first + other].state {
                State::Ended => exited |= 1 << other,
                State::InWarp(its) if its.op == op && its.mask == mask => {}
                State::InWarp(its) if its.mask >> lane & 1 != 0 => {
                    let other = self.waiting(first + other, its.op.name(), its.source);
                    return Err(Fault::WarpMismatch {
                        first: (other, its.mask),
                        second: (waiting, mask),
                    });
                }
                _ => missing = true,
            }
        }
        if exited != 0 {
            return Err(Fault::ExitedLane {
                waiting,
                mask,
                exited,
            });
        }
        self.threads[slot].operand = operand;
        self.threads[slot].state = State::InWarp(wait);
        if missing {
            return Ok(());
        }

        let mut operands = [Operand::default(); LANES];
        let mut slots = Vec::with_capacity(lanes);
        for other in (0..lanes).filter(|other| mask >> other & 1 != 0) {
            operands[other] = self.threads[first + other].operand;
            slots.push(first + other);
        }
        let answers = answers(op, mask, &operands).map_err(|inactive| {
            let reader = first + inactive.reader;
            let source = match self.threads[reader].state {
                State::InWarp(wait) => wait.source,
                _ => source,
            };
            Fault::InactiveLane {
                waiting: self.waiting(reader, op.name(), source),
                mask,
                lane: inactive.lane as u32,
            }
        })?;
        // Of the operations, only this one orders memory accesses.
        if op == WarpOp::Sync {
            self.clocks.warp_barrier(&slots);
        }
        for slot in slots {
            self.threads[slot].answer = answers[slot - first];
            self.threads[slot].state = State::Ready;
            self.ready.push(slot);
        }
        Ok(())
    }

    /// The running block's memory for the array that `site` stands for; where it starts.
    fn shared(
        &mut self,
        site: usize,
        bytes: usize,
        source: Source,
        label: impl FnOnce() -> String,
    ) -> Result<usize, Fault> {
        let slot = self.current / self.block_threads();
        let Block { number, index, .. } = self.blocks[slot];
        let known = self
            .shared
            .iter()
            .position(|shared| shared.slot == slot && shared.site == site);
        let place = match known {
            Some(place) => place,
            None => {
                let owner = Owner::Block {
                    block: index,
                    label: label(),
                };
                let what = "shared memory";
                let region = self.memory().add(bytes, owner);
                let region = region.map_err(|_| Fault::OutOfMemory { what })?;
                self.shared.push(SharedRegion {
                    slot,
                    site,
                    region,
                    block: None,
                });
                self.shared.len() - 1
            }
        };
        let region = self.shared[place].region;
        if self.shared[place].block != Some(number) {
            self.shared[place].block = Some(number);
            self.memory().renew(region, index);
            if site != 0 {
                let total = self.blocks[slot].shared_bytes + bytes;
                if total > STATIC_SHARED {
                    return Err(Fault::TooMuchShared {
                        thread: self.thread_id(self.current),
                        source,
                        bytes: total,
                        limit: STATIC_SHARED,
                    });
                }
                self.blocks[slot].shared_bytes = total;
            }
        }
        Ok(self.memory().region(region).start)
    }

    /// The first element that should be zero when the kernel ends, and is not.
    fn not_zero(&mut self) -> Option<Fault> {
        for (param, value) in self.spec.params.iter().zip(0..) {
            if !param.zero_at_exit || param.element == 0 {
                continue;
            }
            // SAFETY: a view starts with its address and its length.
            let (start, len) = unsafe { (*self.args.add(value)).cast::<(usize, usize)>().read() };
            let Some(region) = self.find(start) else {
                continue;
            };
            // SAFETY: as in `memory`.
            let region = unsafe { &mut *self.memory }.region(region);
            let bytes =
                (len.saturating_mul(param.element)).min(region.start + region.bytes - start);
            // SAFETY: bytes of the device's memory.
            let now = unsafe { std::slice::from_raw_parts(start as *const u8, bytes) };
            let Some(byte) = now.iter().position(|&byte| byte != 0) else {
                continue;
            };
            let last = region.shadow.last_writer(
                start - region.start + byte,
                self.generation,
                &self.crowds,
                &self.clocks,
            );
            return Some(Fault::NotZeroAtExit {
                place: Place {
                    view: format!("`{}`", param.name),
                    index: (byte / param.element).cast_signed(),
                },
                last: last.map(|before| Event {
                    thread: self.thread_of(before.thread),
                    touch: before.touch,
                    source: before.source,
                }),
            });
        }
        None
    }
}

fn touch_of(access: Access) -> Touch {
    match access {
        Access::Load => Touch::Load,
        Access::ReadOnlyLoad => Touch::ReadOnlyLoad,
        Access::Store => Touch::Store,
        Access::AtomicLoad { .. } => Touch::AtomicLoad,
        Access::AtomicStore { .. } => Touch::AtomicStore,
        Access::AtomicUpdate => Touch::AtomicUpdate,
    }
}

/// Whether two places in the source are the same.
fn same(a: Source, b: Source) -> bool {
    std::ptr::eq(a, b) || (a.line(), a.column(), a.file()) == (b.line(), b.column(), b.file())
}

/// Lets another thread run; the running one goes on when the scheduler says so.
///
/// # Safety
///
/// `machine` runs the calling coroutine, and the caller holds no reference to it.
unsafe fn suspend(machine: *mut Machine) {
    // SAFETY: the caller's promise; the yielder lives as long as its coroutine runs.
    unsafe {
        let yielder = (*machine).running().yielder;
        (*yielder).suspend(());
    }
}

/// Ends the launch with `fault`. The calling thread goes no further.
///
/// # Safety
///
/// As for [`suspend`].
unsafe fn fail(machine: *mut Machine, fault: Fault) -> ! {
    // SAFETY: the caller's promise.
    unsafe {
        (*machine).fault.get_or_insert(fault);
        loop {
            suspend(machine);
        }
    }
}

/// What a kernel asks of the machine that runs it. Outside a kernel, each gives `None` and does nothing.
pub(crate) mod call {
    use super::{
        Access, Accessed, BarrierKind, Dim3, MACHINE, Machine, Operand, PATIENCE, ScopeKind,
        Source, State, WarpOp, fail, suspend,
    };

    /// Where the running thread is.
    #[derive(Clone, Copy)]
    pub(crate) struct Here {
        pub(crate) thread: Dim3,
        pub(crate) block: Dim3,
        pub(crate) block_dim: Dim3,
        pub(crate) grid_dim: Dim3,
        pub(crate) lane: u32,
        pub(crate) dynamic_shared: u32,
    }

    /// The machine that runs the calling thread.
    fn machine() -> Option<*mut Machine> {
        let machine = MACHINE.get();
        (!machine.is_null()).then_some(machine)
    }

    pub(crate) fn here() -> Option<Here> {
        let machine = machine()?;
        // SAFETY: the machine runs this thread, and nothing else refers to it now.
        let machine = unsafe { &*machine };
        let slot = machine.current;
        Some(Here {
            thread: machine.threads[slot].index,
            block: machine.block(slot).index,
            block_dim: machine.config.block,
            grid_dim: machine.config.grid,
            lane: machine.lane(slot),
            dynamic_shared: machine.config.dynamic_shared,
        })
    }

    /// Puts the running thread among those that can go on, and lets another run.
    ///
    /// # Safety
    ///
    /// As for [`suspend`].
    unsafe fn let_others(machine: *mut Machine) {
        // SAFETY: the caller's promise.
        unsafe {
            let current = (*machine).current;
            (*machine).ready.push(current);
            suspend(machine);
        }
    }

    /// The thread is about to do something: looks at what it did last.
    ///
    /// # Safety
    ///
    /// As for [`suspend`].
    unsafe fn settle(machine: *mut Machine) {
        // SAFETY: the caller's promise.
        unsafe {
            let current = (*machine).current;
            if let Some(fault) = (*machine).settle(current) {
                fail(machine, fault);
            }
        }
    }

    pub(crate) fn access(accessed: Accessed) -> Option<()> {
        let machine = machine()?;
        let atomic = !matches!(
            accessed.access,
            Access::Load | Access::ReadOnlyLoad | Access::Store
        );
        // SAFETY: the machine runs this thread; each reference ends before the thread is suspended.
        unsafe {
            settle(machine);
            {
                let machine = &mut *machine;
                let thread = &mut machine.threads[machine.current];
                thread.accesses += 1;
                if atomic || thread.accesses >= PATIENCE {
                    thread.accesses = 0;
                }
            }
            if (*machine).running().accesses == 0 && !(*machine).ready.is_empty() {
                let_others(machine);
            }
            let done = (*machine).access(accessed);
            if let Err(fault) = done {
                fail(machine, fault);
            }
        }
        Some(())
    }

    pub(crate) fn barrier(kind: BarrierKind, predicate: bool, source: Source) -> Option<u32> {
        let machine = machine()?;
        // SAFETY: as in `access`.
        unsafe {
            settle(machine);
            let arrived = (*machine).arrive(kind, predicate, source);
            if let Err(fault) = arrived {
                fail(machine, fault);
            }
            suspend(machine);
            let (answer, _) = (*machine).running().answer;
            Some(answer as u32)
        }
    }

    pub(crate) fn warp(
        op: WarpOp,
        mask: u32,
        value: u64,
        lane: u32,
        segments: u32,
        source: Source,
    ) -> Option<(u64, bool)> {
        let machine = machine()?;
        let operand = Operand {
            value,
            lane,
            segments,
        };
        // SAFETY: as in `access`.
        unsafe {
            settle(machine);
            let arrived = (*machine).arrive_in_warp(op, mask, operand, source);
            if let Err(fault) = arrived {
                fail(machine, fault);
            }
            suspend(machine);
            Some((*machine).running().answer)
        }
    }

    pub(crate) fn active_lanes(source: Source) -> Option<u32> {
        let machine = machine()?;
        // SAFETY: as in `access`.
        unsafe {
            settle(machine);
            {
                let machine = &mut *machine;
                machine.threads[machine.current].state = State::AsksActive(source);
            }
            let_others(machine);
            let (mask, _) = (*machine).running().answer;
            Some(mask as u32)
        }
    }

    pub(crate) fn fence(scope: ScopeKind) -> Option<()> {
        let machine = machine()?;
        // SAFETY: as in `access`.
        unsafe {
            settle(machine);
            let current = (*machine).current;
            (*machine).clocks.fence(current, scope);
        }
        Some(())
    }

    pub(crate) fn sleep() -> Option<()> {
        let machine = machine()?;
        // SAFETY: as in `access`.
        unsafe {
            settle(machine);
            let_others(machine);
        }
        Some(())
    }

    /// Start of the block's array that `site` stands for.
    pub(crate) fn static_shared(
        site: usize,
        bytes: usize,
        source: Source,
        label: impl FnOnce() -> String,
    ) -> Option<usize> {
        let machine = machine()?;
        // SAFETY: as in `access`.
        unsafe {
            settle(machine);
            let start = (*machine).shared(site, bytes, source, label);
            Some(start.unwrap_or_else(|fault| fail(machine, fault)))
        }
    }

    /// Start of the launch's dynamic shared memory.
    pub(crate) fn dynamic_shared(source: Source) -> Option<usize> {
        let machine = machine()?;
        // SAFETY: as in `access`.
        unsafe {
            settle(machine);
            let bytes = (*machine).config.dynamic_shared as usize;
            let label = || "the dynamic shared memory".to_owned();
            let start = (*machine).shared(0, bytes, source, label);
            Some(start.unwrap_or_else(|fault| fail(machine, fault)))
        }
    }
}
