//! The host's backend: the running emulator performs a kernel's calls.
//!
//! Outside a kernel, every function panics, memory accesses included. So safe code can hold a view
//! anywhere, but follows its address only after the emulator has checked the access.

use super::Access;
use crate::Pod;
use crate::atomic::ScopeKind;
use crate::emulator::{Accessed, BarrierKind, DynamicArray, WarpOp, call};
use crate::shared::{SharedView, Site};
use core::panic::Location;

/// Panics: `function` was called on the host, outside a running kernel.
#[cold]
#[track_caller]
fn device_only(function: &str) -> ! {
    panic!("`{function}` runs only on the device or under the emulator");
}

/// The answer, or a panic that names the function which was called outside a kernel.
macro_rules! answered {
    ($name:expr, $answer:expr) => {
        match $answer {
            Some(answer) => answer,
            None => device_only($name),
        }
    };
}

macro_rules! registers {
    ($($name:ident = $here:ident => $value:expr;)*) => {$(
        #[track_caller]
        pub(crate) fn $name() -> u32 {
            let $here = answered!(stringify!($name), call::here());
            $value
        }
    )*};
}
registers! {
    thread_idx_x = here => here.thread.x;
    thread_idx_y = here => here.thread.y;
    thread_idx_z = here => here.thread.z;
    block_idx_x = here => here.block.x;
    block_idx_y = here => here.block.y;
    block_idx_z = here => here.block.z;
    block_dim_x = here => here.block_dim.x;
    block_dim_y = here => here.block_dim.y;
    block_dim_z = here => here.block_dim.z;
    grid_dim_x = here => here.grid_dim.x;
    grid_dim_y = here => here.grid_dim.y;
    grid_dim_z = here => here.grid_dim.z;
    lane_id = here => here.lane;
    lanemask_lt = here => (1 << here.lane) - 1;
    lanemask_le = here => u32::MAX >> (31 - here.lane);
    lanemask_gt = here => !(u32::MAX >> (31 - here.lane));
    lanemask_ge = here => u32::MAX << here.lane;
    dynamic_shared_size = here => here.dynamic_shared;
}

macro_rules! barriers {
    ($($name:ident($($predicate:ident)?) -> $ret:ty = $kind:ident,
       $count:ident => $answer:expr;)*) => {$(
        #[track_caller]
        pub(crate) fn $name($($predicate: bool)?) -> $ret {
            let predicate = false $(| $predicate)?;
            let $count = call::barrier(BarrierKind::$kind, predicate, Location::caller());
            let $count = answered!(stringify!($name), $count);
            $answer
        }
    )*};
}
barriers! {
    sync_threads() -> () = Plain, _count => ();
    sync_threads_count(predicate) -> u32 = Count, count => count;
    sync_threads_and(predicate) -> bool = And, count => count != 0;
    sync_threads_or(predicate) -> bool = Or, count => count != 0;
}

macro_rules! fences {
    ($($name:ident = $scope:ident;)*) => {$(
        #[track_caller]
        pub(crate) fn $name() {
            answered!(stringify!($name), call::fence(ScopeKind::$scope));
        }
    )*};
}
fences! {
    block_fence = Block;
    device_fence = Device;
    system_fence = System;
}

#[track_caller]
pub(crate) fn nanosleep(_nanoseconds: u32) {
    answered!("nanosleep", call::sleep());
}

pub(crate) fn sqrt(value: f64) -> f64 {
    value.sqrt()
}

#[track_caller]
pub(crate) fn activemask() -> u32 {
    answered!("activemask", call::active_lanes(Location::caller()))
}

macro_rules! warp_operations {
    ($($name:ident($($arg:ident: $t:ty),*) -> $ret:ty = $op:ident($value:expr),
       ($answer:ident, $flag:ident) => $result:expr;)*) => {$(
        #[track_caller]
        pub(crate) fn $name(mask: u32 $(, $arg: $t)*) -> $ret {
            let answer = call::warp(WarpOp::$op, mask, $value, 0, 0, Location::caller());
            let ($answer, $flag) = answered!(stringify!($name), answer);
            $result
        }
    )*};
}
warp_operations! {
    sync_warp() -> () = Sync(0), (_a, _f) => ();
    warp_vote_all(predicate: bool) -> bool = VoteAll(predicate.into()), (a, _f) => a != 0;
    warp_vote_any(predicate: bool) -> bool = VoteAny(predicate.into()), (a, _f) => a != 0;
    warp_vote_ballot(predicate: bool) -> u32 = Ballot(predicate.into()), (a, _f) => a as u32;
    warp_match_any_32(value: u32) -> u32 = MatchAny32(value.into()), (a, _f) => a as u32;
    warp_match_any_64(value: u64) -> u32 = MatchAny64(value), (a, _f) => a as u32;
    warp_match_all_32(value: u32) -> (u32, bool) = MatchAll32(value.into()),
        (a, f) => (a as u32, f);
    warp_match_all_64(value: u64) -> (u32, bool) = MatchAll64(value), (a, f) => (a as u32, f);
    warp_reduce_add(value: u32) -> u32 = ReduceAdd(value.into()), (a, _f) => a as u32;
    warp_reduce_min(value: u32) -> u32 = ReduceMin(value.into()), (a, _f) => a as u32;
    warp_reduce_max(value: u32) -> u32 = ReduceMax(value.into()), (a, _f) => a as u32;
    warp_reduce_min_i32(value: i32) -> i32 = ReduceMinSigned(value.cast_unsigned().into()),
        (a, _f) => (a as u32).cast_signed();
    warp_reduce_max_i32(value: i32) -> i32 = ReduceMaxSigned(value.cast_unsigned().into()),
        (a, _f) => (a as u32).cast_signed();
    warp_reduce_and(value: u32) -> u32 = ReduceAnd(value.into()), (a, _f) => a as u32;
    warp_reduce_or(value: u32) -> u32 = ReduceOr(value.into()), (a, _f) => a as u32;
    warp_reduce_xor(value: u32) -> u32 = ReduceXor(value.into()), (a, _f) => a as u32;
}

macro_rules! shuffles {
    ($($name:ident = $op:ident;)*) => {$(
        #[track_caller]
        pub(crate) fn $name(mask: u32, value: u32, lane: u32, segments: u32) -> (u32, bool) {
            let source = Location::caller();
            let answer = call::warp(WarpOp::$op, mask, value.into(), lane, segments, source);
            let (value, valid) = answered!(stringify!($name), answer);
            (value as u32, valid)
        }
    )*};
}
shuffles! {
    warp_shuffle_up = ShuffleUp;
    warp_shuffle_down = ShuffleDown;
    warp_shuffle_xor = ShuffleXor;
    warp_shuffle_idx = ShuffleIdx;
}

/// The running block's memory for the array declared at `site`.
#[track_caller]
pub(crate) fn static_shared_mem<T: Pod>(site: &'static Site, len: usize) -> SharedView<T> {
    let source = Location::caller();
    let element = core::any::type_name::<T>();
    let label = || format!("shared_array![{element}; {len}] of {source}");
    let bytes = len * size_of::<T>();
    let start = call::static_shared((&raw const *site).addr(), bytes, source, label);
    let start = answered!("shared_array!", start);
    // SAFETY: the block's memory for this array, of that many elements.
    unsafe { SharedView::from_raw_parts(core::ptr::with_exposed_provenance_mut(start), len) }
}

/// Start of an array of `len` elements in the launch's dynamic shared memory. Accesses past that
/// memory's end are refused.
#[track_caller]
pub(crate) fn dynamic_shared_mem<T>(byte_offset: usize, len: usize) -> *mut T {
    let array = DynamicArray {
        offset: byte_offset,
        len,
        size: size_of::<T>(),
        element: core::any::type_name::<T>(),
        source: Location::caller(),
    };
    let start = answered!("dynamic_shared_mem", call::dynamic_shared(array));
    core::ptr::with_exposed_provenance_mut(start.wrapping_add(byte_offset))
}

pub(crate) fn in_global_memory<T>(ptr: *mut T) -> *mut T {
    ptr
}

/// Checks an access, before it happens, to `count` elements from `index` on of a view of `len`
/// elements that starts at `start`. The address must be a multiple of `alignment`.
///
/// Returns only if the emulator runs the calling thread and has found the elements in its own
/// memory. A faulty access ends the launch.
///
/// # Panics
///
/// Outside a kernel. The address may then be a GPU's, or memory that another thread uses.
#[track_caller]
pub(crate) fn on_access<T>(
    start: *const T,
    index: usize,
    count: usize,
    len: usize,
    alignment: usize,
    access: Access,
) {
    let accessed = Accessed {
        start: start.addr(),
        index,
        count,
        len,
        size: size_of::<T>(),
        alignment,
        access,
        source: Location::caller(),
    };
    if call::access(accessed).is_none() {
        outside_a_kernel();
    }
}

/// Panics: a view was followed on the host, outside a running kernel.
#[cold]
#[track_caller]
fn outside_a_kernel() -> ! {
    panic!(
        "a view gives access to its elements only inside a running kernel, on the device or under \
         the emulator that owns the memory; the host reads and writes through the buffer"
    );
}

/// Reads memory that nothing writes meanwhile.
///
/// # Safety
///
/// `at` is valid for reads and aligned.
pub(crate) unsafe fn load_read_only<T: Pod>(at: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { at.read() }
}

/// Reads a vector from memory that nothing writes meanwhile.
///
/// # Safety
///
/// `at` is valid for reads and aligned.
pub(crate) unsafe fn load_vector_read_only<T: Pod, const N: usize>(at: *const [T; N]) -> [T; N] {
    // SAFETY: the caller's promise.
    unsafe { at.read() }
}

/// Reads a vector.
///
/// # Safety
///
/// `at` is valid for reads and aligned.
pub(crate) unsafe fn load_vector<T: Pod, const N: usize>(at: *const [T; N]) -> [T; N] {
    // SAFETY: the caller's promise.
    unsafe { at.read() }
}

/// Writes a vector.
///
/// # Safety
///
/// `at` is valid for writes and aligned.
pub(crate) unsafe fn store_vector<T: Pod, const N: usize>(at: *mut [T; N], value: [T; N]) {
    // SAFETY: the caller's promise.
    unsafe { at.write(value) }
}

/// A stale value, which a load returns instead of memory's, as a `T`.
fn stale<T: Pod>(value: [u8; 8]) -> T {
    assert!(
        size_of::<T>() <= 8,
        "the values of larger elements are not kept"
    );
    // SAFETY: `size_of::<T>()` bytes that a thread has written to an element; any bytes are a value
    // of plain data.
    unsafe { value.as_ptr().cast::<T>().read_unaligned() }
}

/// Volatile load.
///
/// # Safety
///
/// `at` is valid for reads and aligned.
pub(crate) unsafe fn load_volatile<T: Pod>(at: *const T) -> T {
    match call::stale() {
        Some(value) => stale(value),
        // SAFETY: the caller's promise.
        None => unsafe { at.read_volatile() },
    }
}

macro_rules! atomics {
    ($($t:ident, $cell:ident, $load:ident, $store:ident, $cas:ident;)*) => {$(
        /// Atomic load.
        ///
        /// # Safety
        ///
        /// `at` is valid and aligned.
        pub(crate) unsafe fn $load(at: *const $t, _scope: ScopeKind, acquire: bool) -> $t {
            use core::sync::atomic::{$cell, Ordering};
            if let Some(value) = call::stale() {
                return stale(value);
            }
            // SAFETY: the caller's promise.
            unsafe { $cell::from_ptr(at.cast_mut()) }
                .load(if acquire { Ordering::Acquire } else { Ordering::Relaxed })
        }

        /// Atomic store.
        ///
        /// # Safety
        ///
        /// `at` is valid and aligned.
        pub(crate) unsafe fn $store(at: *mut $t, value: $t, _scope: ScopeKind, release: bool) {
            use core::sync::atomic::{$cell, Ordering};
            // SAFETY: the caller's promise.
            unsafe { $cell::from_ptr(at) }
                .store(value, if release { Ordering::Release } else { Ordering::Relaxed });
        }

        /// Atomic compare and exchange; returns the value before.
        ///
        /// # Safety
        ///
        /// `at` is valid and aligned.
        pub(crate) unsafe fn $cas(at: *mut $t, current: $t, new: $t) -> $t {
            use core::sync::atomic::{$cell, Ordering};
            // SAFETY: the caller's promise.
            let exchange = unsafe { $cell::from_ptr(at) }
                .compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed);
            match exchange {
                Ok(before) | Err(before) => before,
            }
        }
    )*};
}
atomics! {
    u32, AtomicU32, atomic_load_32, atomic_store_32, atomic_cas_32;
    u64, AtomicU64, atomic_load_64, atomic_store_64, atomic_cas_64;
}
