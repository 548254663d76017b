//! The contours of values: borders grouped by value, in ascending order of values.
//!
//! Each border has the value of the pixel at which it starts. Borders are sorted by value, and the
//! values are numbered. Then the borders of value number `i` are arranged as those of image `i` of
//! a batch ([`Stack`](super::borders::Stack)).

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::borders::{NO_BORDER, count};
use super::fragments::row_values::RowsOfValues;
use crate::image::bits::ValueBits;
use crate::primitives::grid::{Grid, ScanMemory};
use crate::primitives::partition::Group;
use crate::primitives::quotient;
use crate::primitives::sort::{self, Pairs, SortMemory, sort_pairs};

/// Threads per block.
pub const BLOCK: u32 = sort::BLOCK;

/// The sizes from which the lengths of a [`ValueOrder`] follow.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueOrderSizes {
    /// Borders.
    pub borders: u32,
    /// Whether values have more than 32 bits.
    pub is_wide: bool,
    /// Blocks of the cooperative grid.
    pub blocks: u32,
}

/// The memory in which borders are grouped by value.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(ValueOrderSizes, buffers = ValueOrderBuffers)]
pub struct ValueOrder<'a> {
    /// The barrier of the grid.
    #[len(())]
    pub barrier: GridBarrier<'a>,
    /// One element per block of the grid.
    #[len(sizes.blocks)]
    pub block_sums: ViewMut<'a, u32>,
    /// Values as keys, and borders.
    #[len(sizes.borders)]
    pub pairs: Pairs<'a>,
    /// Each border's value as a number in the order of values: the low 32 bits.
    #[len(sizes.borders)]
    pub low: ViewMut<'a, u32>,
    /// The high ones, of values with more.
    #[len(if sizes.is_wide { sizes.borders } else { 0 })]
    pub high: ViewMut<'a, u32>,
    /// The bits in which these numbers differ: of the low halves, and of the high ones.
    #[len(2, zeroed)]
    pub differing: ViewMut<'a, u32>,
    /// Of sorted borders, the number of values that begin before each.
    #[len(sizes.borders, align = 16)]
    pub begun: ViewMut<'a, u32>,
    /// Each border's value, numbered from 0 in ascending order.
    #[len(sizes.borders)]
    pub groups: ViewMut<'a, u32>,
    /// The number of borders of smaller values, by value.
    #[len(sizes.borders)]
    pub begins: ViewMut<'a, u32>,
}

impl ValueOrder<'_> {
    /// Whether sorted border `i` has another value than the one before it. Keys are the high halves
    /// if these differ, and else the low ones.
    #[inline(always)]
    fn is_first(&self, i: u32, high_differ: bool) -> bool {
        if i == 0 || self.pairs.keys.ld(i) != self.pairs.keys.ld(i - 1) {
            return true;
        }
        let low = |i| self.low.ld(self.pairs.values.ld(i));
        // planted: value-group-first
        high_differ && low(i) != low(i - 1)
    }
}

/// Groups borders, whose number is in `counters`, by their values: numbers the values, and counts
/// the borders of each. Element [`count::KEPT`] of `counters` gets the number of values.
///
/// Launch: cooperative, as many blocks as are resident together, or fewer. Reads and writes some 60
/// bytes per border, and 20 per pass of the sort: a pass for each digit of 8 bits that differs.
///
/// # Safety
///
/// One of the kernels below has written the keys of all borders, and the bits in which they differ.
/// `counters` has [`count::COUNT`] elements or more. Nothing else uses `counters` and `order`
/// meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 3,
    cooperative,
    len(order = ValueOrderSizes {
        borders: order.groups.len() as u32,
        is_wide: !order.high.is_empty(),
        blocks: grid.x,
    }),
)]
pub unsafe fn group_borders(counters: ViewMut<'_, u32>, order: ValueOrder<'_>) {
    let n = counters.ld(count::BORDERS);
    let memory = SortMemory {
        warps: shared_array![u32; sort::WARP_DIGITS as usize],
        scan: ScanMemory {
            block_sums: order.block_sums,
            warp_sums: shared_array![u32; (BLOCK / WARP_SIZE) as usize],
        },
    };
    if n == 0 {
        return;
    }
    let Some(grid) = Grid::<BLOCK>::for_work(order.barrier, n) else {
        return;
    };
    let pairs = order.pairs;
    let bits = order.differing.ld(0);
    let unsorted = pairs.unsorted(bits);
    grid.for_each(n, |border| {
        unsorted.keys.st(border, order.low.ld(border));
        unsorted.values.st(border, border);
    });
    grid.sync();
    sort_pairs(grid, pairs, n, Group::NONE, bits, memory);
    let high_bits = order.differing.ld(1);
    let high_differ = high_bits != 0;
    if high_differ {
        let unsorted = pairs.unsorted(high_bits);
        grid.for_each(n, |i| {
            let border = pairs.values.ld(i);
            unsorted.keys.st(i, order.high.ld(border));
            unsorted.values.st(i, border);
        });
        // planted: value-group-barrier
        grid.sync();
        sort_pairs(grid, pairs, n, Group::NONE, high_bits, memory);
    }
    let first = |i| u32::from(order.is_first(i, high_differ));
    let total = |values| counters.st(count::KEPT, values);
    grid.scan_of(first, order.begun, n, total, memory.scan);
    grid.sync();
    grid.for_each(n, |i| {
        let begun = order.begun.ld(i);
        let is_first = order.is_first(i, high_differ);
        let group = if is_first { begun } else { begun - 1 };
        order.groups.st(pairs.values.ld(i), group);
        if is_first {
            order.begins.st(group, i);
        }
    });
}

/// Writes the pixel at which the first border of each value's group starts.
///
/// Launch: one thread per border. Reads 12 bytes per border and writes 4 per value.
///
/// # Safety
///
/// `places` are those of all borders, and `groups` their values' numbers. `offsets` has the number
/// of borders of the result before each group. `firsts` has one element per group.
#[kernel(block = BLOCK, len(groups = starts.len(), places = starts.len(), offsets = firsts.len()))]
pub unsafe fn find_group_starts(
    starts: View<'_, u32>,
    places: View<'_, u32>,
    groups: View<'_, u32>,
    offsets: View<'_, u32>,
    firsts: ViewMut<'_, u32>,
) {
    let border = thread::index_1d();
    if border as usize >= starts.len() {
        return;
    }
    let (place, group) = (places.ld(border), groups.ld(border));
    if place != NO_BORDER && place == offsets.ld(group) {
        firsts.st(group, starts.ld(border));
    }
}

/// Sets the bits of all lanes of a warp in element `at` of `all`. All lanes call it.
#[inline(always)]
fn add_bits(bits: u32, all: ViewMut<'_, u32>, at: u32) {
    let mut of_warp = bits;
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        of_warp |= warp::warp_shuffle_xor(FULL_MASK, of_warp, distance, WARP_SIZE).0;
        distance /= 2;
    }
    // For most warps, these bits are already set.
    if thread::thread_idx_x().is_multiple_of(WARP_SIZE)
        && of_warp & !all.ld_relaxed(at, Device) != 0
    {
        all.atomic_or(at, of_warp);
    }
}

/// Defines the kernel for a type of values.
macro_rules! keys_kernel {
    ($name:ident, $t:ty, $what:literal) => {
        #[doc = concat!("Writes a number in the order of values for each border, for values of ")]
        #[doc = concat!($what, ".")]
        /// Unless `differing` is empty, sets the bits in which they differ there: of the low
        /// halves, and of the high ones.
        ///
        /// Launch: one thread per border. Reads 4 bytes and a value per border, and writes 4 or 8;
        /// warps with bits that are not yet set take an atomic operation.
        ///
        /// # Safety
        ///
        /// `starts` are pixels of the image of width `width`; `values` has an element for each
        /// pixel, rows `pitch` elements apart. `high` has as many elements as `low`, or none;
        /// `differing` has two, which are 0, or none. Nothing else uses the three meanwhile.
        #[kernel(block = BLOCK, len(low = starts.len()))]
        pub unsafe fn $name(
            values: RowsOfValues<'_, $t>,
            width: u32,
            sign: u64,
            starts: View<'_, u32>,
            low: ViewMut<'_, u32>,
            high: ViewMut<'_, u32>,
            differing: ViewMut<'_, u32>,
        ) {
            let border = thread::index_1d();
            let number = |border| {
                let start = starts.ld(border);
                let y = quotient(start, width);
                values.at(start - y * width, y).ordered(sign)
            };
            let mut bits = 0;
            if (border as usize) < starts.len() {
                let own = number(border);
                low.st(border, own as u32);
                if !high.is_empty() {
                    high.st(border, (own >> 32) as u32);
                }
                if !differing.is_empty() {
                    bits = own ^ number(0);
                }
            }
            if !differing.is_empty() {
                // planted: value-keys-differing
                add_bits(bits as u32, differing, 0);
                if !high.is_empty() {
                    // planted: value-keys-differing-high
                    add_bits((bits >> 32) as u32, differing, 1);
                }
            }
        }
    };
}

keys_kernel!(value_keys_of_u8, u8, "8 bits");
keys_kernel!(value_keys_of_u16, u16, "16 bits");
keys_kernel!(value_keys_of_u32, u32, "32 bits");
keys_kernel!(value_keys_of_u64, u64, "64 bits");
keys_kernel!(value_keys_of_f32, f32, "floating-point numbers of 32 bits");
