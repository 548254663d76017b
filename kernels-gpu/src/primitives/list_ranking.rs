//! List ranking by pointer jumping: for each element of linked lists, the sum of the weights from
//! it to the end of its list.
//!
//! An element is one word, made by [`element`]: the index of the next element, or [`END`], and a
//! weight. In a round of pointer jumping, each element adds the weight of the next one to its own
//! and takes over its link; `n` elements are ranked after ⌊log₂ `n`⌋ + 1 rounds. Any number of
//! lists may lie in one array.
//!
//! | kernel | does | reads, writes per element |
//! | --- | --- | --- |
//! | [`jump_pointers`](fn@jump_pointers) | one round | 16 bytes, 8 bytes |
//! | [`rank_short_lists`](fn@rank_short_lists) | all rounds, in one block | the same per round |

use cuda_std::prelude::*;

/// The link of a list's last element.
pub const END: u32 = u32::MAX;

/// The most elements for which [`rank_short_lists`](fn@rank_short_lists) is faster.
pub const MOST_SHORT: u32 = 4096;

/// Threads per block of both kernels.
const BLOCK: u32 = 256;

/// An element of a list: the index of the next one, or [`END`], in the low half; its weight in the
/// high half.
#[inline(always)]
#[must_use]
pub const fn element(next: u32, weight: u32) -> u64 {
    (weight as u64) << 32 | next as u64
}

/// The index of the element after `element`, or [`END`].
#[inline(always)]
#[must_use]
pub const fn next(element: u64) -> u32 {
    element as u32
}

/// The weight of an element; of a ranked one, the sum of the weights from it to the list's end.
#[inline(always)]
#[must_use]
pub const fn weight(element: u64) -> u32 {
    (element >> 32) as u32
}

/// Rounds of pointer jumping that rank lists with `n` elements in total.
#[must_use]
pub const fn rounds(n: u32) -> u32 {
    // After each round, a link leads over twice as many elements.
    // planted: jump-count
    u32::BITS - n.leading_zeros()
}

/// The element at index `i` after one round of pointer jumping.
#[inline(always)]
#[must_use]
pub fn jumped(list: View<'_, u64>, i: u32) -> u64 {
    jumped_from(list.ld(i), list)
}

/// An element of `list` after one round of pointer jumping.
#[inline(always)]
#[must_use]
pub fn jumped_from(here: u64, list: View<'_, u64>) -> u64 {
    if next(here) == END {
        return here;
    }
    let after = list.ld(next(here));
    element(next(after), weight(here) + weight(after))
}

/// One round of pointer jumping. Launch: one thread per element.
///
/// # Safety
///
/// `to` has as many elements as `from`, and nothing else uses it meanwhile. Links in `from` are
/// indices of its elements, or [`END`].
#[kernel(block = BLOCK)]
pub unsafe fn jump_pointers(from: View<'_, u64>, to: ViewMut<'_, u64>) {
    let i = thread::index_1d();
    if i as usize >= from.len() {
        return;
    }
    to.st(i, jumped(from, i));
}

/// An even number of rounds of pointer jumping, so that the result is in `list` again. For short
/// lists, where a launch costs more than a round. Launch: one block.
///
/// # Safety
///
/// `other` has as many elements as `list`; nothing else uses the two meanwhile. Links are indices
/// of elements, or [`END`]. `rounds` is even.
#[kernel(block = BLOCK)]
pub unsafe fn rank_short_lists(list: ViewMut<'_, u64>, other: ViewMut<'_, u64>, rounds: u32) {
    let n = list.len() as u32;
    let (mut from, mut to) = (list, other);
    let mut round = 0;
    while round < rounds {
        let mut i = thread::thread_idx_x();
        while i < n {
            to.st(i, jumped(from.as_view(), i));
            i += BLOCK;
        }
        // planted: jump-barrier
        thread::sync_threads();
        (from, to) = (to, from);
        round += 1;
    }
}
