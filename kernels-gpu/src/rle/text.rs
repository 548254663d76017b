//! Run lengths as text, compressed as COCO's annotations are.
//!
//! From a mask's fourth count on, the difference from the count two before is written instead of
//! the count. A number's digits have five bits, the least significant first, and a sixth says
//! whether more digits follow. A negative number's last digit has its highest bit set.
//!
//! 1. [`mark_first_counts`](fn@mark_first_counts) sets a bit for each mask's first count.
//! 2. [`count_digits`](fn@count_digits) counts the digits of each count, and a scan gives the
//!    number of those before.
//! 3. [`write_digits`](fn@write_digits) writes them.

use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = 256;
/// The most digits of a difference of two counts, which has 33 bits.
pub const DIGITS: u32 = 7;
/// The character of digit 0.
pub const ZERO: u8 = b'0';
/// More digits follow.
pub const MORE: u8 = 0x20;
/// In the last digit, that the number is negative.
pub const NEGATIVE: u8 = 0x10;

/// The counts of masks, mask after mask.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct MaskCounts<'a> {
    /// All counts.
    pub counts: View<'a, u32>,
    /// A bit for each of them, set if it is the first one of a mask.
    #[len((self.counts.len() as u64).div_ceil(32))]
    pub are_first: View<'a, u32>,
}

impl MaskCounts<'_> {
    /// Whether a count is the first one of a mask.
    #[inline(always)]
    fn is_first(&self, i: u32) -> bool {
        self.are_first.ldg(i / 32) >> (i % 32) & 1 != 0
    }

    /// The number that is written for a count.
    #[inline(always)]
    fn number(&self, i: u32) -> i64 {
        let count = i64::from(self.counts.ldg(i));
        // planted: rle-text-first
        if self.is_first(i) || self.is_first(i - 1) || self.is_first(i - 2) {
            count
        } else {
            count - i64::from(self.counts.ldg(i - 2))
        }
    }
}

/// Calls `take` with the characters of a number, from the first to the last.
#[inline(always)]
pub fn for_each_character(mut number: i64, mut take: impl FnMut(u8)) {
    loop {
        let digit = (number & 0x1f) as u8;
        number >>= 5;
        let is_last = number == if digit & NEGATIVE == 0 { 0 } else { -1 };
        take(ZERO + if is_last { digit } else { digit | MORE });
        if is_last {
            return;
        }
    }
}

/// Sets the bit of each mask's first count.
///
/// Launch: one thread per mask. Reads 4 bytes per mask, and writes as many by an atomic operation.
///
/// # Safety
///
/// `firsts` are indices of counts. `are_first` has a bit per count; all bits are 0, and nothing
/// else uses them meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn mark_first_counts(firsts: View<'_, u32>, are_first: ViewMut<'_, u32>) {
    let mask = thread::index_1d();
    if mask as usize >= firsts.len() {
        return;
    }
    let first = firsts.ldg(mask);
    are_first.atomic_or(first / 32, 1 << (first % 32));
}

/// Counts the digits of each count.
///
/// Launch: one thread per count. Reads 4 bytes and a bit per count, and writes 4 bytes.
///
/// # Safety
///
/// The first count is a mask's first one. Nothing else uses `digits` meanwhile.
#[kernel(block = BLOCK, len(masks = (), digits = masks.counts.len()))]
pub unsafe fn count_digits(masks: MaskCounts<'_>, digits: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    if i as usize >= masks.counts.len() {
        return;
    }
    let mut count = 0;
    for_each_character(masks.number(i), |_| count += 1);
    digits.st(i, count);
}

/// Writes the characters of all counts, and the index of each mask's first character.
///
/// Launch: one thread per count; each mask has a count. Reads 8 bytes and a bit per count and 8
/// bytes per mask, and writes a byte per digit and 4 bytes per mask.
///
/// # Safety
///
/// The first count is a mask's first one, as those in `firsts` are. `before` has the number of
/// digits before each count; `text` has room for all. Nothing else uses `text` and `text_firsts`
/// meanwhile.
#[kernel(block = BLOCK, len(
    masks = (),
    before = masks.counts.len(),
    text_firsts = firsts.len(),
))]
pub unsafe fn write_digits(
    masks: MaskCounts<'_>,
    before: View<'_, u32>,
    firsts: View<'_, u32>,
    text: ViewMut<'_, u8>,
    text_firsts: ViewMut<'_, u32>,
) {
    let i = thread::index_1d();
    if i as usize >= masks.counts.len() {
        return;
    }
    if (i as usize) < firsts.len() {
        text_firsts.st(i, before.ldg(firsts.ldg(i)));
    }
    let mut at = before.ldg(i);
    for_each_character(masks.number(i), |character| {
        text.st(at, character);
        // planted: rle-text-place
        at += 1;
    });
}
