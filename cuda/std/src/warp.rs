//! Operations among the 32 threads (lanes) of a warp.
//!
//! Each takes a `mask` of the lanes that take part, bit `i` for lane `i`. Every lane in the mask
//! must execute the same call with the same mask, and the calling lane must be in it; otherwise the
//! result is undefined. [`FULL_MASK`] contains all 32 lanes. Prefer blocks of a multiple of 32
//! threads: in a partial warp, the full mask contains lanes that do not exist.

use crate::{Pod, backend};

/// All 32 lanes.
pub const FULL_MASK: u32 = u32::MAX;

/// Lanes in a warp.
pub const WARP_SIZE: u32 = 32;

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name() -> u32 {
            backend::$name()
        }
    )*};
}

registers! {
    /// This thread's lane in its warp, 0 to 31.
    lane_id;
    /// Mask with the bits of the lanes before this one.
    lanemask_lt;
    /// Mask with the bits of this lane and the lanes before it.
    lanemask_le;
    /// Mask with the bits of the lanes after this one.
    lanemask_gt;
    /// Mask with the bits of this lane and the lanes after it.
    lanemask_ge;
    /// Mask of the lanes that execute this instruction together. It is only a hint: lanes that
    /// arrive a moment later are missing. Never use it to determine which lanes take part in a
    /// branch.
    activemask;
}

/// Waits for the lanes in `mask` and makes the earlier writes of each visible to all of them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_warp(mask: u32) {
    backend::sync_warp(mask);
}

/// Whether `predicate` is true in every lane of `mask`.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    backend::warp_vote_all(mask, predicate)
}

/// Whether `predicate` is true in any lane of `mask`.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    backend::warp_vote_any(mask, predicate)
}

/// The lanes of `mask` in which `predicate` is true, one bit each.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    backend::warp_vote_ballot(mask, predicate)
}

/// The lanes of `mask` whose `value` equals this lane's, one bit each.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_match_any_32(mask: u32, value: u32) -> u32 {
    backend::warp_match_any_32(mask, value)
}

/// [`warp_match_any_32`] on 64-bit values.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_match_any_64(mask: u32, value: u64) -> u32 {
    backend::warp_match_any_64(mask, value)
}

/// `mask` and true if all lanes of `mask` have the same `value`, otherwise 0 and false.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_match_all_32(mask: u32, value: u32) -> (u32, bool) {
    backend::warp_match_all_32(mask, value)
}

/// [`warp_match_all_32`] on 64-bit values.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_match_all_64(mask: u32, value: u64) -> (u32, bool) {
    backend::warp_match_all_64(mask, value)
}

macro_rules! reduce {
    ($($(#[$doc:meta])* $name:ident($t:ty);)*) => {$(
        $(#[$doc])*
        ///
        /// One instruction from compute capability 8.0 on; five shuffles before it.
        #[must_use]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name(mask: u32, value: $t) -> $t {
            backend::$name(mask, value)
        }
    )*};
}

reduce! {
    /// The sum, modulo 2³², over the lanes of `mask`; every lane gets it.
    warp_reduce_add(u32);
    /// The smallest value over the lanes of `mask`; every lane gets it.
    warp_reduce_min(u32);
    /// The largest value over the lanes of `mask`; every lane gets it.
    warp_reduce_max(u32);
    /// The smallest signed value over the lanes of `mask`; every lane gets it.
    warp_reduce_min_i32(i32);
    /// The largest signed value over the lanes of `mask`; every lane gets it.
    warp_reduce_max_i32(i32);
    /// The bitwise and over the lanes of `mask`; every lane gets it.
    warp_reduce_and(u32);
    /// The bitwise or over the lanes of `mask`; every lane gets it.
    warp_reduce_or(u32);
    /// The bitwise exclusive or over the lanes of `mask`; every lane gets it.
    warp_reduce_xor(u32);
}

/// A value that shuffles can move: 4 or 8 bytes of plain data. Eight bytes take two instructions.
pub trait WarpShuffleValue: Pod {
    /// Shuffles each 32-bit half.
    #[doc(hidden)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn shuffle(self, mode: Mode, mask: u32, lane: u32, segments: u32) -> (Self, bool);
}

/// The modes of a shuffle: a macro, since a function would hide the caller's source line from the
/// emulator.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    Up,
    Down,
    Xor,
    Idx,
}

#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn shuffle(mode: Mode, mask: u32, bits: u32, lane: u32, segments: u32) -> (u32, bool) {
    match mode {
        Mode::Up => backend::warp_shuffle_up(mask, bits, lane, segments),
        Mode::Down => backend::warp_shuffle_down(mask, bits, lane, segments),
        Mode::Xor => backend::warp_shuffle_xor(mask, bits, lane, segments),
        Mode::Idx => backend::warp_shuffle_idx(mask, bits, lane, segments),
    }
}

macro_rules! shuffle_value {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl WarpShuffleValue for $t {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            fn shuffle(self, mode: Mode, mask: u32, lane: u32, segments: u32) -> (Self, bool) {
                let (bits, valid) = shuffle(mode, mask, $to(self), lane, segments);
                ($from(bits), valid)
            }
        }
    )*};
}
shuffle_value! {
    u32: |v| v, |v| v;
    i32: i32::cast_unsigned, u32::cast_signed;
    f32: f32::to_bits, f32::from_bits;
}

macro_rules! shuffle_wide_value {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl WarpShuffleValue for $t {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            fn shuffle(self, mode: Mode, mask: u32, lane: u32, segments: u32) -> (Self, bool) {
                let bits: u64 = $to(self);
                let (low, valid) = shuffle(mode, mask, bits as u32, lane, segments);
                let (high, _) = shuffle(mode, mask, (bits >> 32) as u32, lane, segments);
                ($from(u64::from(low) | u64::from(high) << 32), valid)
            }
        }
    )*};
}
shuffle_wide_value! {
    u64: |v| v, |v| v;
    i64: i64::cast_unsigned, u64::cast_signed;
    f64: f64::to_bits, f64::from_bits;
}

/// Segment mask and clamp in the shuffle instruction's encoding. A segment has `width` lanes.
/// `clamp` is the last in-range lane, or the first one for the mode that moves up.
#[inline(always)]
fn segments(width: u32, clamp: u32) -> u32 {
    (WARP_SIZE - width) << 8 | clamp
}

/// The value of the lane `delta` before this one in its segment of `width` lanes (1, 2, 4, 8, 16 or
/// 32), and true; or this lane's own value and false if there is none.
///
/// The flag says that the source lane lies in the segment, not that it takes part.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_shuffle_up<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    value.shuffle(Mode::Up, mask, delta, segments(width, 0))
}

/// The value of the lane `delta` after this one in its segment of `width` lanes (1, 2, 4, 8, 16 or
/// 32), and true; or this lane's own value and false if there is none.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    value.shuffle(Mode::Down, mask, delta, segments(width, 31))
}

/// The value of the lane whose number is this lane's xor `lane_mask`, and true; or this lane's own
/// value and false if that lane lies in a later segment of `width` lanes (1, 2, 4, 8, 16 or 32).
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane_mask: u32,
    width: u32,
) -> (T, bool) {
    value.shuffle(Mode::Xor, mask, lane_mask, segments(width, 31))
}

/// The value of lane `idx` modulo `width` of this lane's segment of `width` lanes (1, 2, 4, 8, 16
/// or 32). The flag is always true.
#[must_use]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_shuffle_idx<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    idx: u32,
    width: u32,
) -> (T, bool) {
    value.shuffle(Mode::Idx, mask, idx, segments(width, 31))
}
