//! The device's backend: each function is one or a few instructions.
//!
//! All functions use LLVM's intrinsics, none uses `asm!`: LLVM knows which of its intrinsics are
//! convergent (must not be moved into or out of a branch, or copied), which read memory, and which
//! do neither. `cuda/builder/src/device.ll` covers what rustc can't express (address spaces, atomic
//! scopes, loads from read-only memory) with small LLVM IR functions, which are inlined.

use super::Access;
use crate::Pod;
use crate::atomic::ScopeKind;

unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    safe fn tid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.y"]
    safe fn tid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.z"]
    safe fn tid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    safe fn ctaid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.y"]
    safe fn ctaid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.z"]
    safe fn ctaid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    safe fn ntid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.y"]
    safe fn ntid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.z"]
    safe fn ntid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.x"]
    safe fn nctaid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.y"]
    safe fn nctaid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.z"]
    safe fn nctaid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    safe fn laneid() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.lt"]
    safe fn sreg_lanemask_lt() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.le"]
    safe fn sreg_lanemask_le() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.gt"]
    safe fn sreg_lanemask_gt() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.ge"]
    safe fn sreg_lanemask_ge() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.dynamic_smem_size"]
    safe fn dynamic_smem_size() -> u32;

    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    safe fn barrier_sync(barrier: u32);
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    safe fn barrier_red_popc(barrier: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    safe fn barrier_red_and(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    safe fn barrier_red_or(barrier: u32, predicate: bool) -> bool;

    #[link_name = "llvm.nvvm.membar.cta"]
    safe fn membar_cta();
    #[link_name = "llvm.nvvm.membar.gl"]
    safe fn membar_gl();
    #[link_name = "llvm.nvvm.membar.sys"]
    safe fn membar_sys();
    #[link_name = "llvm.nvvm.nanosleep"]
    safe fn sleep(nanoseconds: u32);

    #[link_name = "llvm.nvvm.bar.warp.sync"]
    safe fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.activemask"]
    safe fn active() -> u32;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    safe fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    safe fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    safe fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    safe fn match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    safe fn match_any_64(mask: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.match.all.sync.i32p"]
    safe fn match_all_32(mask: u32, value: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.match.all.sync.i64p"]
    safe fn match_all_64(mask: u32, value: u64) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.up.i32p"]
    safe fn shfl_up(mask: u32, value: u32, delta: u32, segments: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.down.i32p"]
    safe fn shfl_down(mask: u32, value: u32, delta: u32, segments: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32p"]
    safe fn shfl_bfly(mask: u32, value: u32, lane_mask: u32, segments: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32p"]
    safe fn shfl_idx(mask: u32, value: u32, idx: u32, segments: u32) -> (u32, bool);

    #[link_name = "llvm.sqrt.f64"]
    safe fn sqrt_f64(value: f64) -> f64;

    #[link_name = "cuda_std.in_global_memory"]
    safe fn device_in_global_memory(ptr: *mut u8) -> *mut u8;
    #[link_name = "cuda_std.dynamic_shared_mem"]
    safe fn device_dynamic_shared_mem() -> *mut u8;
    #[link_name = "cuda_std.ldg.b8"]
    fn ldg_b8(at: *const u8) -> u8;
    #[link_name = "cuda_std.ldg.b16"]
    fn ldg_b16(at: *const u8) -> u16;
    #[link_name = "cuda_std.ldg.b32"]
    fn ldg_b32(at: *const u8) -> u32;
    #[link_name = "cuda_std.ldg.b64"]
    fn ldg_b64(at: *const u8) -> u64;
    #[link_name = "cuda_std.ldg.v2b32"]
    fn ldg_v2b32(at: *const u8) -> [u32; 2];
    #[link_name = "cuda_std.ldg.v4b32"]
    fn ldg_v4b32(at: *const u8) -> [u32; 4];
    #[link_name = "cuda_std.ldg.v2b64"]
    fn ldg_v2b64(at: *const u8) -> [u64; 2];
    #[link_name = "cuda_std.ld.v2b32"]
    fn ld_v2b32(at: *const u8) -> [u32; 2];
    #[link_name = "cuda_std.ld.v4b32"]
    fn ld_v4b32(at: *const u8) -> [u32; 4];
    #[link_name = "cuda_std.ld.v2b64"]
    fn ld_v2b64(at: *const u8) -> [u64; 2];
    #[link_name = "cuda_std.st.v2b32"]
    fn st_v2b32(at: *mut u8, v0: u32, v1: u32);
    #[link_name = "cuda_std.st.v4b32"]
    fn st_v4b32(at: *mut u8, v0: u32, v1: u32, v2: u32, v3: u32);
    #[link_name = "cuda_std.st.v2b64"]
    fn st_v2b64(at: *mut u8, v0: u64, v1: u64);
}

macro_rules! rename {
    ($($to:ident($($arg:ident: $t:ty),*) $(-> $ret:ty)? = $from:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $to($($arg: $t),*) $(-> $ret)? {
            $from
        }
    )*};
}
rename! {
    thread_idx_x() -> u32 = tid_x();
    thread_idx_y() -> u32 = tid_y();
    thread_idx_z() -> u32 = tid_z();
    block_idx_x() -> u32 = ctaid_x();
    block_idx_y() -> u32 = ctaid_y();
    block_idx_z() -> u32 = ctaid_z();
    block_dim_x() -> u32 = ntid_x();
    block_dim_y() -> u32 = ntid_y();
    block_dim_z() -> u32 = ntid_z();
    grid_dim_x() -> u32 = nctaid_x();
    grid_dim_y() -> u32 = nctaid_y();
    grid_dim_z() -> u32 = nctaid_z();
    lane_id() -> u32 = laneid();
    lanemask_lt() -> u32 = sreg_lanemask_lt();
    lanemask_le() -> u32 = sreg_lanemask_le();
    lanemask_gt() -> u32 = sreg_lanemask_gt();
    lanemask_ge() -> u32 = sreg_lanemask_ge();
    dynamic_shared_size() -> u32 = dynamic_smem_size();

    sync_threads() = barrier_sync(0);
    sync_threads_count(predicate: bool) -> u32 = barrier_red_popc(0, predicate);
    sync_threads_and(predicate: bool) -> bool = barrier_red_and(0, predicate);
    sync_threads_or(predicate: bool) -> bool = barrier_red_or(0, predicate);
    block_fence() = membar_cta();
    device_fence() = membar_gl();
    system_fence() = membar_sys();
    nanosleep(nanoseconds: u32) = sleep(nanoseconds);

    sync_warp(mask: u32) = bar_warp_sync(mask);
    activemask() -> u32 = active();
    warp_vote_all(mask: u32, predicate: bool) -> bool = vote_all(mask, predicate);
    warp_vote_any(mask: u32, predicate: bool) -> bool = vote_any(mask, predicate);
    warp_vote_ballot(mask: u32, predicate: bool) -> u32 = vote_ballot(mask, predicate);
    warp_match_any_32(mask: u32, value: u32) -> u32 = match_any_32(mask, value);
    warp_match_any_64(mask: u32, value: u64) -> u32 = match_any_64(mask, value);
    warp_match_all_32(mask: u32, value: u32) -> (u32, bool) = match_all_32(mask, value);
    warp_match_all_64(mask: u32, value: u64) -> (u32, bool) = match_all_64(mask, value);
    warp_shuffle_up(mask: u32, value: u32, delta: u32, segments: u32) -> (u32, bool) =
        shfl_up(mask, value, delta, segments);
    warp_shuffle_down(mask: u32, value: u32, delta: u32, segments: u32) -> (u32, bool) =
        shfl_down(mask, value, delta, segments);
    warp_shuffle_xor(mask: u32, value: u32, lane_mask: u32, segments: u32) -> (u32, bool) =
        shfl_bfly(mask, value, lane_mask, segments);
    warp_shuffle_idx(mask: u32, value: u32, idx: u32, segments: u32) -> (u32, bool) =
        shfl_idx(mask, value, idx, segments);

    sqrt(value: f64) -> f64 = sqrt_f64(value);
}

/// Reductions over a warp: one instruction where the device has it, five shuffles elsewhere.
mod reduce {
    #[cfg(target_feature = "sm_80")]
    unsafe extern "unadjusted" {
        #[link_name = "llvm.nvvm.redux.sync.add"]
        safe fn redux_add(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umin"]
        safe fn redux_umin(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umax"]
        safe fn redux_umax(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.min"]
        safe fn redux_min(value: i32, mask: u32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.max"]
        safe fn redux_max(value: i32, mask: u32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.and"]
        safe fn redux_and(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.or"]
        safe fn redux_or(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.xor"]
        safe fn redux_xor(value: u32, mask: u32) -> u32;
    }

    macro_rules! reduce {
        ($($name:ident($t:ty): $redux:ident, $combine:expr;)*) => {$(
            #[cfg(target_feature = "sm_80")]
            #[inline(always)]
            pub(crate) fn $name(mask: u32, value: $t) -> $t {
                $redux(value, mask)
            }

            #[cfg(not(target_feature = "sm_80"))]
            #[inline(always)]
            pub(crate) fn $name(mask: u32, value: $t) -> $t {
                let combine = |a, b| $combine(a as $t, b as $t) as u32;
                reduce_by_shuffles(mask, value as u32, combine) as $t
            }
        )*};
    }
    reduce! {
        warp_reduce_add(u32): redux_add, u32::wrapping_add;
        warp_reduce_min(u32): redux_umin, u32::min;
        warp_reduce_max(u32): redux_umax, u32::max;
        warp_reduce_min_i32(i32): redux_min, i32::min;
        warp_reduce_max_i32(i32): redux_max, i32::max;
        warp_reduce_and(u32): redux_and, |a: u32, b: u32| a & b;
        warp_reduce_or(u32): redux_or, |a: u32, b: u32| a | b;
        warp_reduce_xor(u32): redux_xor, |a: u32, b: u32| a ^ b;
    }

    /// A butterfly for the full mask. A partial mask takes one shuffle per lane in it: it is rare
    /// and need not be fast.
    #[cfg(not(target_feature = "sm_80"))]
    #[inline(always)]
    fn reduce_by_shuffles(mask: u32, value: u32, combine: impl Fn(u32, u32) -> u32) -> u32 {
        let mut total = value;
        if mask == u32::MAX {
            let mut distance = 16;
            while distance > 0 {
                total = combine(total, super::shfl_bfly(mask, total, distance, 31).0);
                distance /= 2;
            }
            return total;
        }
        let mut rest = mask;
        let mut first = true;
        while rest != 0 {
            let other = super::shfl_idx(mask, value, rest.trailing_zeros(), 31).0;
            total = if first { other } else { combine(total, other) };
            first = false;
            rest &= rest - 1;
        }
        total
    }
}
pub(crate) use reduce::*;

/// Tells the optimizer that `ptr` points into global memory, as every pointer in a kernel's
/// arguments does.
#[inline(always)]
pub(crate) fn in_global_memory<T>(ptr: *mut T) -> *mut T {
    device_in_global_memory(ptr.cast()).cast()
}

/// Start of an array of `len` elements in the launch's dynamic shared memory.
#[inline(always)]
pub(crate) fn dynamic_shared_mem<T>(byte_offset: usize, _len: usize) -> *mut T {
    device_dynamic_shared_mem().wrapping_add(byte_offset).cast()
}

#[inline(always)]
pub(crate) fn on_access<T>(
    _start: *const T,
    _index: usize,
    _count: usize,
    _len: usize,
    _alignment: usize,
    _access: Access,
) {
}

/// Volatile load.
///
/// # Safety
///
/// `at` is valid for reads and aligned.
#[inline(always)]
pub(crate) unsafe fn load_volatile<T: Pod>(at: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { at.read_volatile() }
}

/// Reads through the read-only cache.
///
/// # Safety
///
/// `at` is valid and aligned, lies in global memory, and nothing writes it while the kernel runs.
#[inline(always)]
pub(crate) unsafe fn load_read_only<T: Pod>(at: *const T) -> T {
    // SAFETY: the caller's promise; `transmute_copy` is between types of one size.
    unsafe {
        match size_of::<T>() {
            1 => core::mem::transmute_copy(&ldg_b8(at.cast())),
            2 => core::mem::transmute_copy(&ldg_b16(at.cast())),
            4 => core::mem::transmute_copy(&ldg_b32(at.cast())),
            8 => core::mem::transmute_copy(&ldg_b64(at.cast())),
            _ => at.read(),
        }
    }
}

/// Reads a vector through the read-only cache.
///
/// # Safety
///
/// As for [`load_read_only`], and `at` is aligned to the vector's size.
#[inline(always)]
pub(crate) unsafe fn load_vector_read_only<T: Pod, const N: usize>(at: *const [T; N]) -> [T; N] {
    // SAFETY: the caller's promise; `transmute_copy` is between types of one size.
    unsafe {
        match (
            size_of::<T>(),
            const { crate::view::vector_bytes::<T, N>() },
        ) {
            (8, 16) => core::mem::transmute_copy(&ldg_v2b64(at.cast())),
            (_, 16) => core::mem::transmute_copy(&ldg_v4b32(at.cast())),
            _ => core::mem::transmute_copy(&ldg_v2b32(at.cast())),
        }
    }
}

/// Reads a vector.
///
/// # Safety
///
/// `at` is valid for reads and aligned to the vector's size.
#[inline(always)]
pub(crate) unsafe fn load_vector<T: Pod, const N: usize>(at: *const [T; N]) -> [T; N] {
    // SAFETY: the caller's promise; `transmute_copy` is between types of one size.
    unsafe {
        match (
            size_of::<T>(),
            const { crate::view::vector_bytes::<T, N>() },
        ) {
            (8, 16) => core::mem::transmute_copy(&ld_v2b64(at.cast())),
            (_, 16) => core::mem::transmute_copy(&ld_v4b32(at.cast())),
            _ => core::mem::transmute_copy(&ld_v2b32(at.cast())),
        }
    }
}

/// Writes a vector.
///
/// # Safety
///
/// `at` is valid for writes and aligned to the vector's size.
#[inline(always)]
pub(crate) unsafe fn store_vector<T: Pod, const N: usize>(at: *mut [T; N], value: [T; N]) {
    // SAFETY: the caller's promise; `transmute_copy` is between types of one size.
    unsafe {
        match (
            size_of::<T>(),
            const { crate::view::vector_bytes::<T, N>() },
        ) {
            (8, 16) => {
                let [v0, v1] = core::mem::transmute_copy(&value);
                st_v2b64(at.cast(), v0, v1);
            }
            (_, 16) => {
                let [v0, v1, v2, v3] = core::mem::transmute_copy(&value);
                st_v4b32(at.cast(), v0, v1, v2, v3);
            }
            _ => {
                let [v0, v1] = core::mem::transmute_copy(&value);
                st_v2b32(at.cast(), v0, v1);
            }
        }
    }
}

macro_rules! scoped_atomics {
    ($t:ident, $load:ident, $store:ident, $cas:ident, $cas_device:ident = $cas_name:literal:
     $($scope:ident {
        $relaxed:ident = $relaxed_name:literal, $acquire:ident = $acquire_name:literal,
        $put:ident = $put_name:literal, $release:ident = $release_name:literal
     })*) => {
        unsafe extern "unadjusted" {
            #[link_name = $cas_name]
            fn $cas_device(at: *mut u8, current: $t, new: $t) -> $t;
            $(
                #[link_name = $relaxed_name]
                fn $relaxed(at: *const u8) -> $t;
                #[link_name = $acquire_name]
                fn $acquire(at: *const u8) -> $t;
                #[link_name = $put_name]
                fn $put(at: *mut u8, value: $t);
                #[link_name = $release_name]
                fn $release(at: *mut u8, value: $t);
            )*
        }

        /// Atomic load.
        ///
        /// # Safety
        ///
        /// `at` is valid and aligned.
        #[inline(always)]
        pub(crate) unsafe fn $load(at: *const $t, scope: ScopeKind, acquire: bool) -> $t {
            // SAFETY: the caller's promise.
            unsafe {
                match (scope, acquire) {
                    $(
                        (ScopeKind::$scope, false) => $relaxed(at.cast()),
                        (ScopeKind::$scope, true) => $acquire(at.cast()),
                    )*
                }
            }
        }

        /// Atomic store.
        ///
        /// # Safety
        ///
        /// `at` is valid and aligned.
        #[inline(always)]
        pub(crate) unsafe fn $store(at: *mut $t, value: $t, scope: ScopeKind, release: bool) {
            // SAFETY: the caller's promise.
            unsafe {
                match (scope, release) {
                    $(
                        (ScopeKind::$scope, false) => $put(at.cast(), value),
                        (ScopeKind::$scope, true) => $release(at.cast(), value),
                    )*
                }
            }
        }

        /// Atomic compare and exchange at device scope; returns the value before.
        ///
        /// # Safety
        ///
        /// `at` is valid and aligned.
        #[inline(always)]
        pub(crate) unsafe fn $cas(at: *mut $t, current: $t, new: $t) -> $t {
            // SAFETY: the caller's promise.
            unsafe { $cas_device(at.cast(), current, new) }
        }
    };
}
scoped_atomics! {
    u32, atomic_load_32, atomic_store_32, atomic_cas_32, cas_32 = "cuda_std.cas.device.i32":
    Block {
        ld_relaxed_block_32 = "cuda_std.ld.relaxed.block.i32",
        ld_acquire_block_32 = "cuda_std.ld.acquire.block.i32",
        st_relaxed_block_32 = "cuda_std.st.relaxed.block.i32",
        st_release_block_32 = "cuda_std.st.release.block.i32"
    }
    Device {
        ld_relaxed_device_32 = "cuda_std.ld.relaxed.device.i32",
        ld_acquire_device_32 = "cuda_std.ld.acquire.device.i32",
        st_relaxed_device_32 = "cuda_std.st.relaxed.device.i32",
        st_release_device_32 = "cuda_std.st.release.device.i32"
    }
    System {
        ld_relaxed_system_32 = "cuda_std.ld.relaxed.system.i32",
        ld_acquire_system_32 = "cuda_std.ld.acquire.system.i32",
        st_relaxed_system_32 = "cuda_std.st.relaxed.system.i32",
        st_release_system_32 = "cuda_std.st.release.system.i32"
    }
}
scoped_atomics! {
    u64, atomic_load_64, atomic_store_64, atomic_cas_64, cas_64 = "cuda_std.cas.device.i64":
    Block {
        ld_relaxed_block_64 = "cuda_std.ld.relaxed.block.i64",
        ld_acquire_block_64 = "cuda_std.ld.acquire.block.i64",
        st_relaxed_block_64 = "cuda_std.st.relaxed.block.i64",
        st_release_block_64 = "cuda_std.st.release.block.i64"
    }
    Device {
        ld_relaxed_device_64 = "cuda_std.ld.relaxed.device.i64",
        ld_acquire_device_64 = "cuda_std.ld.acquire.device.i64",
        st_relaxed_device_64 = "cuda_std.st.relaxed.device.i64",
        st_release_device_64 = "cuda_std.st.release.device.i64"
    }
    System {
        ld_relaxed_system_64 = "cuda_std.ld.relaxed.system.i64",
        ld_acquire_system_64 = "cuda_std.ld.acquire.system.i64",
        st_relaxed_system_64 = "cuda_std.st.relaxed.system.i64",
        st_release_system_64 = "cuda_std.st.release.system.i64"
    }
}
