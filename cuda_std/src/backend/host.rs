//! The host: kernels compile and their memory accesses are checked; what needs a GPU panics and says so.
//!
//! An emulator that runs blocks of threads takes this module's place function by function: each function here is
//! one that a thread of a running kernel calls, and [`on_access`] sees every access to memory.

use super::Access;
use crate::Pod;
use crate::atomic::ScopeKind;
use crate::shared::{SharedView, Site};

/// Panics: `function` was called on the host, outside a running kernel.
#[cold]
#[track_caller]
fn device_only(function: &str) -> ! {
    panic!("`{function}` runs only on the device or under the emulator");
}

macro_rules! device_only {
    ($($name:ident($($arg:ident: $t:ty),*) -> $ret:ty;)*) => {$(
        #[track_caller]
        pub(crate) fn $name($($arg: $t),*) -> $ret {
            $(let _ = $arg;)*
            device_only(stringify!($name))
        }
    )*};
}
device_only! {
    thread_idx_x() -> u32;
    thread_idx_y() -> u32;
    thread_idx_z() -> u32;
    block_idx_x() -> u32;
    block_idx_y() -> u32;
    block_idx_z() -> u32;
    block_dim_x() -> u32;
    block_dim_y() -> u32;
    block_dim_z() -> u32;
    grid_dim_x() -> u32;
    grid_dim_y() -> u32;
    grid_dim_z() -> u32;
    lane_id() -> u32;
    lanemask_lt() -> u32;
    lanemask_le() -> u32;
    lanemask_gt() -> u32;
    lanemask_ge() -> u32;
    dynamic_shared_size() -> u32;
    dynamic_shared_mem(bytes: usize) -> *mut u8;

    sync_threads() -> ();
    sync_threads_count(predicate: bool) -> u32;
    sync_threads_and(predicate: bool) -> bool;
    sync_threads_or(predicate: bool) -> bool;
    block_fence() -> ();
    device_fence() -> ();
    system_fence() -> ();
    nanosleep(nanoseconds: u32) -> ();

    sync_warp(mask: u32) -> ();
    activemask() -> u32;
    warp_vote_all(mask: u32, predicate: bool) -> bool;
    warp_vote_any(mask: u32, predicate: bool) -> bool;
    warp_vote_ballot(mask: u32, predicate: bool) -> u32;
    warp_match_any_32(mask: u32, value: u32) -> u32;
    warp_match_any_64(mask: u32, value: u64) -> u32;
    warp_match_all_32(mask: u32, value: u32) -> (u32, bool);
    warp_match_all_64(mask: u32, value: u64) -> (u32, bool);
    warp_reduce_add(mask: u32, value: u32) -> u32;
    warp_reduce_min(mask: u32, value: u32) -> u32;
    warp_reduce_max(mask: u32, value: u32) -> u32;
    warp_reduce_min_i32(mask: u32, value: i32) -> i32;
    warp_reduce_max_i32(mask: u32, value: i32) -> i32;
    warp_reduce_and(mask: u32, value: u32) -> u32;
    warp_reduce_or(mask: u32, value: u32) -> u32;
    warp_reduce_xor(mask: u32, value: u32) -> u32;
    warp_shuffle_up(mask: u32, value: u32, delta: u32, segments: u32) -> (u32, bool);
    warp_shuffle_down(mask: u32, value: u32, delta: u32, segments: u32) -> (u32, bool);
    warp_shuffle_xor(mask: u32, value: u32, lane_mask: u32, segments: u32) -> (u32, bool);
    warp_shuffle_idx(mask: u32, value: u32, idx: u32, segments: u32) -> (u32, bool);
}

/// The running block's memory for the array declared at `site`.
#[track_caller]
pub(crate) fn static_shared_mem<T: Pod>(_site: &'static Site, _len: usize) -> SharedView<T> {
    device_only("shared_array!")
}

pub(crate) fn in_global_memory<T>(ptr: *mut T) -> *mut T {
    ptr
}

/// Panics unless elements `index` to `index + count` lie in a view of `len` elements.
#[track_caller]
pub(crate) fn check_bounds(index: usize, count: usize, len: usize) {
    assert!(
        index.checked_add(count).is_some_and(|end| end <= len),
        "elements {index} to {index} + {count} of a view of {len} elements"
    );
}

/// Panics unless `address` is a multiple of `bytes`.
#[track_caller]
pub(crate) fn check_alignment(address: usize, bytes: usize) {
    assert!(
        address.is_multiple_of(bytes),
        "a vector access of {bytes} bytes at the address {address:#x}, which is not a multiple of {bytes}"
    );
}

/// Called before each access to `count` elements from `index` on of the view that starts at `start`.
#[track_caller]
pub(crate) fn on_access<T>(_start: *const T, _index: usize, _count: usize, _access: Access) {}

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

macro_rules! atomics {
    ($($t:ident, $cell:ident, $load:ident, $store:ident, $cas:ident;)*) => {$(
        /// Atomic load.
        ///
        /// # Safety
        ///
        /// `at` is valid and aligned.
        pub(crate) unsafe fn $load(at: *const $t, _scope: ScopeKind, acquire: bool) -> $t {
            use core::sync::atomic::{$cell, Ordering};
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
