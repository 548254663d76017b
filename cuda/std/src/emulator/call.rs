//! A kernel's calls to the machine that runs it. Outside a kernel, each function does nothing and
//! returns `None`.

use super::accessed::{Accessed, DynamicArray};
use super::event::Source;
use super::fault::Fault;
use super::history::Value;
use super::machine::{MACHINE, Machine, State};
use super::rendezvous::BarrierKind;
use super::warp::{Operand, WarpOp};
use crate::atomic::ScopeKind;
use crate::backend::Access;
use crate::launch::Dim3;

/// Plain accesses after which a thread lets others run: it may be waiting for them.
const PATIENCE: u32 = 4096;

/// Lets another thread run; the running one goes on when the scheduler says so.
///
/// # Safety
///
/// `machine` runs the calling coroutine, and the caller holds no reference to it.
unsafe fn suspend(machine: *mut Machine) {
    // SAFETY: the caller's promise; the yielder lives as long as its coroutine runs.
    unsafe {
        let thread = (*machine).running();
        thread.accesses = 0;
        let yielder = thread.yielder;
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

/// The running thread's position in the grid.
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

/// Marks the running thread as ready, and lets another run.
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

/// Examines the running thread's last write, before its next action.
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
        if (*machine).running().accesses == 0 {
            if !(*machine).ready.is_empty() {
                let_others(machine);
            } else if let Some(fault) = (*machine).step() {
                fail(machine, fault);
            }
        }
        let done = (*machine).access(accessed);
        if let Err(fault) = done {
            fail(machine, fault);
        }
    }
    Some(())
}

/// The stale value that the load just checked by [`access`] returns instead of memory's value.
pub(crate) fn stale() -> Option<Value> {
    let machine = machine()?;
    // SAFETY: the machine runs this thread, and nothing else refers to it now.
    unsafe { (*machine).stale.take() }
}

pub(crate) fn barrier(kind: BarrierKind, predicate: bool, source: Source) -> Option<u32> {
    let machine = machine()?;
    // SAFETY: as in `access`.
    unsafe {
        settle(machine);
        let current = (*machine).current;
        (*machine).meets(current, source);
        let arrived = (*machine).arrive(kind, predicate, source);
        if let Err(fault) = arrived {
            fail(machine, fault);
        }
        suspend(machine);
        let current = (*machine).current;
        Some((*machine).block(current).answer)
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
        Some((*machine).answer())
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
        let (mask, _) = (*machine).answer();
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
        {
            let machine = &mut *machine;
            machine.ready.wait(machine.current, machine.changes);
        }
        let_others(machine);
    }
    Some(())
}

/// Start of the block's array declared at `site`.
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

/// Start of the block's dynamic shared memory. Records that the running thread has `array` there.
pub(crate) fn dynamic_shared(array: DynamicArray) -> Option<usize> {
    let machine = machine()?;
    // SAFETY: as in `access`.
    unsafe {
        settle(machine);
        let bytes = (*machine).config.dynamic_shared as usize;
        let label = || "the dynamic shared memory".to_owned();
        let start = (*machine).shared(0, bytes, array.source, label);
        let start = start.unwrap_or_else(|fault| fail(machine, fault));
        (*machine).note_dynamic(array);
        Some(start)
    }
}
