//! The order of the borders of regions: region by region, each outer border before its holes, which
//! stand in order of discovery.
//!
//! A region's outer border is discovered before its holes. So the order is that of a stable sort by
//! region, of borders in order of discovery.

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::borders::{FoundBorders, count};
use crate::primitives::grid::{Grid, ScanMemory};
use crate::primitives::partition::Group;
use crate::primitives::sort::{self, Pairs, SortMemory, bits_up_to, sort_pairs};

/// Threads per block.
pub const BLOCK: u32 = sort::BLOCK;

/// The sizes from which the lengths of a [`RegionOrder`] follow.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionOrderSizes {
    /// The most borders.
    pub borders: u32,
    /// Blocks of the cooperative grid.
    pub blocks: u32,
}

/// The memory in which the borders of regions are put into order.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(RegionOrderSizes, buffers = RegionOrderBuffers)]
pub struct RegionOrder<'a> {
    /// The barrier of the grid.
    #[len(())]
    pub barrier: GridBarrier<'a>,
    /// One element per block of the grid.
    #[len(sizes.blocks)]
    pub block_sums: ViewMut<'a, u32>,
    /// Regions as keys, and borders.
    #[len(sizes.borders)]
    pub pairs: Pairs<'a>,
    /// Each border's place in the result.
    #[len(sizes.borders)]
    pub places: ViewMut<'a, u32>,
    /// For each place, the number of points before it.
    #[len(sizes.borders, align = 16)]
    pub offsets: ViewMut<'a, u32>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl RegionOrder<'_> {
    /// The sizes for as many borders as `found` has room for, and a grid of `blocks` blocks.
    fn sizes_for(found: &FoundBorders<'_>, blocks: u32) -> RegionOrderSizes {
        RegionOrderSizes {
            borders: found.room(),
            blocks,
        }
    }
}

/// Puts borders into order: finds their places, the number of their points, and where their points
/// begin. `found.previous_in_row` holds each border's region; regions are numbered from 1, and each
/// has an outer border.
///
/// Launch: cooperative, as many blocks as are resident together, or fewer. Reads and writes some 40
/// bytes per border, and 20 per pass of the sort.
///
/// # Safety
///
/// `counters` has [`count::COUNT`] elements or more. The elements of `found` and `order` are for at
/// least the number of borders there. Nothing else uses the three meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 3,
    cooperative,
    len(found = found.room(), order = RegionOrder::sizes_for(&found, grid.x)),
)]
pub unsafe fn order_regions(
    counters: ViewMut<'_, u32>,
    found: FoundBorders<'_>,
    order: RegionOrder<'_>,
) {
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
    // There are at most as many regions as borders.
    let bits = bits_up_to(n);
    let unsorted = order.pairs.unsorted(bits);
    grid.for_each(n, |border| {
        unsorted.keys.st(border, found.previous_in_row.ld(border));
        unsorted.values.st(border, border);
    });
    // planted: region-order-barrier
    grid.sync();
    sort_pairs(grid, order.pairs, n, Group::NONE, bits, memory);
    grid.for_each(n, |place| {
        let border = order.pairs.values.ld(place);
        order.places.st(border, place);
        order.offsets.st(place, found.lengths.ld(border));
    });
    grid.sync();
    let total = |points| {
        counters.st(count::POINTS, points);
        counters.st(count::KEPT, n);
    };
    grid.scan(order.offsets, n, total, memory.scan);
}

/// The rings of regions, in their order.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = RingBuffers)]
pub struct Rings<'a> {
    /// 0 for an outer ring, 1 for a hole's.
    #[len(*sizes)]
    pub kinds: ViewMut<'a, u8>,
    /// The region of each.
    #[len(*sizes)]
    pub regions: ViewMut<'a, u32>,
    /// The number of points before each, and of all.
    #[len(*sizes + 1)]
    pub offsets: ViewMut<'a, u32>,
}

/// Writes the rings that [`order_regions`](fn@order_regions) has put into order.
///
/// Launch: one thread per ring, at least one. Reads 17 bytes per ring and writes 9.
///
/// # Safety
///
/// `counters`, `found` and `order` are those of [`order_regions`](fn@order_regions), and `rings`
/// has as many elements as there are borders.
#[kernel(block = BLOCK, len(
    found = found.room(),
    order = RegionOrder::sizes_for(&found, 1),
    rings = rings.kinds.len() as u32,
))]
pub unsafe fn write_rings(
    counters: View<'_, u32>,
    found: FoundBorders<'_>,
    order: RegionOrder<'_>,
    rings: Rings<'_>,
) {
    let i = thread::index_1d();
    let n = counters.ld(count::BORDERS);
    if i == 0 {
        rings.offsets.st(n, counters.ld(count::POINTS));
    }
    if i < n {
        let border = order.pairs.values.ld(i);
        rings.kinds.st(i, found.kinds.ld(border));
        rings.regions.st(i, order.pairs.keys.ld(i));
        rings.offsets.st(i, order.offsets.ld(i));
    }
}
