//! Atomic operations on elements of views: which types have them, at which scopes.

use crate::{Pod, backend};

/// Scope of an atomic load or store: [`Block`], [`Device`] or [`System`].
pub trait Scope: Copy {
    /// The scope as a value.
    #[doc(hidden)]
    const KIND: ScopeKind;
}

/// The scopes as values, for the backends.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    Block,
    Device,
    System,
}

/// The threads of one block.
#[derive(Clone, Copy, Debug)]
pub struct Block;
/// The threads of one device.
#[derive(Clone, Copy, Debug)]
pub struct Device;
/// The device, other devices and the host.
#[derive(Clone, Copy, Debug)]
pub struct System;

impl Scope for Block {
    const KIND: ScopeKind = ScopeKind::Block;
}
impl Scope for Device {
    const KIND: ScopeKind = ScopeKind::Device;
}
impl Scope for System {
    const KIND: ScopeKind = ScopeKind::System;
}

/// Types with atomic operations: `u32`, `i32`, `u64`. The operations are methods of the views.
///
/// # Safety
///
/// For the implementations in this crate only: every pointer handed to them is valid and aligned.
pub unsafe trait Atomic: Pod {
    /// The value's bits, zeros above them.
    #[doc(hidden)]
    fn bits(self) -> u64;
    #[doc(hidden)]
    unsafe fn fetch_add(at: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn fetch_min(at: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn fetch_max(at: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn fetch_and(at: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn fetch_or(at: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn exchange(at: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn compare_exchange(at: *mut Self, current: Self, new: Self) -> Self;
    #[doc(hidden)]
    unsafe fn load(at: *const Self, scope: ScopeKind, acquire: bool) -> Self;
    #[doc(hidden)]
    unsafe fn store(at: *mut Self, value: Self, scope: ScopeKind, release: bool);
}

macro_rules! atomic {
    ($($t:ident, $cell:ident, $bits:ident, $load:ident, $store:ident, $cas:ident;)*) => {$(
        // SAFETY: each operation is one atomic access to `at`, which the caller vouches for.
        // Read-modify-writes are relaxed: LLVM's NVPTX back end silently drops a stronger ordering.
        // Kernels that need one use a fence.
        unsafe impl Atomic for $t {
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self as $bits)
            }

            atomic!(@rmw $t $cell: fetch_add, fetch_min, fetch_max, fetch_and, fetch_or, fetch_xor);

            #[inline(always)]
            unsafe fn exchange(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { core::sync::atomic::$cell::from_ptr(at) }
                    .swap(value, core::sync::atomic::Ordering::Relaxed)
            }

            #[inline(always)]
            unsafe fn compare_exchange(at: *mut Self, current: Self, new: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { backend::$cas(at.cast(), current as $bits, new as $bits) as Self }
            }

            #[inline(always)]
            unsafe fn load(at: *const Self, scope: ScopeKind, acquire: bool) -> Self {
                // SAFETY: the caller's promise.
                unsafe { backend::$load(at.cast(), scope, acquire) as Self }
            }

            #[inline(always)]
            unsafe fn store(at: *mut Self, value: Self, scope: ScopeKind, release: bool) {
                // SAFETY: the caller's promise.
                unsafe { backend::$store(at.cast(), value as $bits, scope, release) }
            }
        }
    )*};
    (@rmw $t:ident $cell:ident: $($op:ident),*) => {$(
        #[inline(always)]
        unsafe fn $op(at: *mut Self, value: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { core::sync::atomic::$cell::from_ptr(at) }
                .$op(value, core::sync::atomic::Ordering::Relaxed)
        }
    )*};
}
atomic! {
    u32, AtomicU32, u32, atomic_load_32, atomic_store_32, atomic_cas_32;
    i32, AtomicI32, u32, atomic_load_32, atomic_store_32, atomic_cas_32;
    u64, AtomicU64, u64, atomic_load_64, atomic_store_64, atomic_cas_64;
}
