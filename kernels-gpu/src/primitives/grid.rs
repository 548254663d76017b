//! Operations of a whole grid: all threads of all blocks of a cooperative kernel call them
//! together.

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::{block, quotient};

/// The threads of all blocks of a cooperative kernel, or of only its first blocks: the fewer, the
/// sooner they meet. A block has `THREADS` threads along x.
#[derive(Clone, Copy)]
pub struct Grid<'a, const THREADS: u32> {
    barrier: GridBarrier<'a>,
    blocks: u32,
}

/// The working memory of [`Grid::scan`].
#[derive(Clone, Copy)]
pub struct ScanMemory<'a> {
    /// One element per block of the grid.
    pub block_sums: ViewMut<'a, u32>,
    /// In shared memory, one element per warp of the block.
    pub warp_sums: SharedView<u32>,
}

/// The results of `work` for each of four things.
#[inline(always)]
pub fn each<A: Copy, B>(things: [A; 4], mut work: impl FnMut(A) -> B) -> [B; 4] {
    let [a, b, c, d] = things;
    [work(a), work(b), work(c), work(d)]
}

/// Pairs the elements of two arrays.
#[inline(always)]
#[must_use]
pub fn zip<A, B>([a, b, c, d]: [A; 4], [e, f, g, h]: [B; 4]) -> [(A, B); 4] {
    [(a, e), (b, f), (c, g), (d, h)]
}

/// Calls `work` for the indices `first`, `first + stride` and so on below `count`, each with the
/// value that `load` gives for it.
///
/// A thread passes four indices to `load` at a time, so that their loads are in flight at once.
/// Past the last index, the first of the four is repeated. Of the data that `work` writes, `load`
/// reads at most that of its own index.
#[inline(always)]
pub fn for_each_loaded<T: Copy>(
    (first, stride): (u32, u32),
    count: u32,
    load: impl Fn([u32; 4]) -> [T; 4],
    mut work: impl FnMut(u32, T),
) {
    let mut i = first;
    while i < count {
        let last = count - 1;
        // No index wraps around, since distances to the last one are compared.
        // planted: loaded-ahead
        let ahead = |by: u32| if last - i < by { i } else { i + by };
        let loaded = load([i, ahead(stride), ahead(2 * stride), ahead(3 * stride)]);
        work(i, loaded[0]);
        if last - i < stride {
            return;
        }
        work(i + stride, loaded[1]);
        if last - i < 2 * stride {
            return;
        }
        work(i + 2 * stride, loaded[2]);
        if last - i < 3 * stride {
            return;
        }
        work(i + 3 * stride, loaded[3]);
        // planted: loaded-step.1
        if last - i < 4 * stride {
            return;
        }
        // planted: loaded-step.2
        i += 4 * stride;
    }
}

impl<'a, const THREADS: u32> Grid<'a, THREADS> {
    /// Elements that a block scans at a time, 4 per thread.
    const ROW: u32 = THREADS * 4;

    /// For work on `n` elements in many short steps: as many blocks as there are elements for.
    /// `None` for the blocks that are not needed.
    ///
    /// All blocks of the grid call it with the same number.
    #[inline(always)]
    #[must_use]
    pub fn for_work(barrier: GridBarrier<'a>, n: u32) -> Option<Self> {
        // For few elements, only the first block.
        let wanted = if n <= THREADS * 4 {
            1
        } else {
            n.div_ceil(THREADS)
        };
        let blocks = thread::grid_dim_x().min(wanted);
        (thread::block_idx_x() < blocks).then_some(Self { barrier, blocks })
    }

    /// The index of this block.
    #[inline(always)]
    #[must_use]
    pub fn block(self) -> u32 {
        thread::block_idx_x()
    }

    /// The number of blocks.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(self) -> u32 {
        self.blocks
    }

    /// Waits until all threads have arrived. They then see what any of them wrote before.
    #[inline(always)]
    pub fn sync(self) {
        if self.blocks == 1 {
            thread::sync_threads();
        } else {
            // planted: grid-first-blocks
            self.barrier.sync_first(self.blocks);
        }
    }

    /// Calls `work` for each index below `count`, one thread each.
    #[inline(always)]
    pub fn for_each(self, count: u32, mut work: impl FnMut(u32)) {
        let mut i = self.block() * THREADS + thread::thread_idx_x();
        while i < count {
            work(i);
            i += self.blocks * THREADS;
        }
    }

    /// [`for_each`](Self::for_each), but all threads of a block call `work` together, also with
    /// indices past the last one.
    #[inline(always)]
    pub fn for_each_together(self, count: u32, mut work: impl FnMut(u32)) {
        let mut first = self.block() * THREADS;
        while first < count {
            work(first + thread::thread_idx_x());
            first += self.blocks * THREADS;
        }
    }

    /// [`for_each_loaded`], one thread of the grid for each index.
    #[inline(always)]
    pub fn for_each_loaded<T: Copy>(
        self,
        count: u32,
        load: impl Fn([u32; 4]) -> [T; 4],
        work: impl FnMut(u32, T),
    ) {
        let first = self.block() * THREADS + thread::thread_idx_x();
        for_each_loaded((first, self.blocks * THREADS), count, load, work);
    }

    /// Calls `work` for each index below `count`, and for some past it, each with the value that
    /// `load` gives for it. Each warp goes through a part of its own, in ascending order: its lanes
    /// call `work` together, with consecutive indices.
    ///
    /// A thread passes four indices to `load` at a time, as in [`for_each_loaded`]; those past the
    /// end of the warp's part are `u32::MAX`.
    #[inline(always)]
    pub fn for_each_in_warps<T: Copy>(
        self,
        count: u32,
        load: impl Fn([u32; 4]) -> [T; 4],
        mut work: impl FnMut(u32, T),
    ) {
        let t = thread::thread_idx_x();
        let warp = self.block() * (THREADS / WARP_SIZE) + t / WARP_SIZE;
        let warps = self.blocks * (THREADS / WARP_SIZE);
        // A group has one index per lane.
        let groups = count.div_ceil(WARP_SIZE);
        let own = quotient(groups + warps - 1, warps);
        let mut group = warp * own;
        let end = groups.min(group + own);
        while group < end {
            let four = [0, 1, 2, 3].map(|k| {
                if group + k < end {
                    (group + k) * WARP_SIZE + t % WARP_SIZE
                } else {
                    u32::MAX
                }
            });
            let loaded = load(four);
            each(zip(four, loaded), |(i, loaded)| {
                if i != u32::MAX {
                    work(i, loaded);
                }
            });
            group += 4;
        }
    }

    /// Replaces each of the first `n` elements of `values` by the sum of those before it. One
    /// thread passes the sum of all to `total`.
    ///
    /// All threads call it, after a grid barrier that follows the last write to `values`. It waits
    /// for all blocks once; the caller puts another barrier before the first use of the sums. Reads
    /// each element twice and writes it once.
    ///
    /// `values` starts at a multiple of 16 bytes.
    #[inline(always)]
    pub fn scan(
        self,
        values: ViewMut<'_, u32>,
        n: u32,
        total: impl FnOnce(u32),
        memory: ScanMemory<'_>,
    ) {
        let add_up = |row| Self::load(values, n, row);
        self.scan_rows(add_up, values, n, total, memory);
    }

    /// [`scan`](Self::scan) of `n` numbers, each computed once from its index. `sums` gets their
    /// sums; its previous contents do not matter.
    #[inline(always)]
    pub fn scan_of(
        self,
        value: impl Fn(u32) -> u32,
        sums: ViewMut<'_, u32>,
        n: u32,
        total: impl FnOnce(u32),
        memory: ScanMemory<'_>,
    ) {
        let add_up = |row| {
            let at = row * Self::ROW + thread::thread_idx_x() * 4;
            let value = |i| if at + i < n { value(at + i) } else { 0 };
            let values = [value(0), value(1), value(2), value(3)];
            Self::store(sums, n, row, values);
            values
        };
        self.scan_rows(add_up, sums, n, total, memory);
    }

    /// This thread's four elements of a row; 0 past the last element.
    #[inline(always)]
    fn load(values: ViewMut<'_, u32>, n: u32, row: u32) -> [u32; 4] {
        let at = row * Self::ROW + thread::thread_idx_x() * 4;
        if at + 4 <= n {
            return values.ld_vector(at);
        }
        let element = |i| if at + i < n { values.ld(at + i) } else { 0 };
        [element(0), element(1), element(2), element(3)]
    }

    /// Replaces these elements, as far as they exist.
    #[inline(always)]
    fn store(values: ViewMut<'_, u32>, n: u32, row: u32, new: [u32; 4]) {
        let at = row * Self::ROW + thread::thread_idx_x() * 4;
        if at + 4 <= n {
            values.st_vector(at, new);
            return;
        }
        let element = |i: u32, new: u32| {
            if at + i < n {
                values.st(at + i, new);
            }
        };
        element(0, new[0]);
        element(1, new[1]);
        element(2, new[2]);
        element(3, new[3]);
    }

    /// The scan of `values`. On the first pass, `first_load` gives this thread's four elements of
    /// each row.
    #[inline(always)]
    fn scan_rows(
        self,
        first_load: impl Fn(u32) -> [u32; 4],
        values: ViewMut<'_, u32>,
        n: u32,
        total: impl FnOnce(u32),
        memory: ScanMemory<'_>,
    ) {
        let ScanMemory {
            block_sums,
            warp_sums,
        } = memory;
        let t = thread::thread_idx_x();
        let (me, blocks) = (self.block(), self.blocks);
        let rows = n.div_ceil(Self::ROW);
        let rows_each = quotient(rows + blocks - 1, blocks);
        let first = (me * rows_each).min(rows);
        let end = (first + rows_each).min(rows);
        let mut own = 0;
        let mut row = first;
        while row < end {
            let [a, b, c, d] = first_load(row);
            own += a + b + c + d;
            row += 1;
        }
        let sum = block::sum_of_threads(own, warp_sums).total;
        if t == 0 {
            block_sums.st(me, sum);
        }
        // planted: grid-scan-sums
        self.sync();
        let mut own = 0;
        let mut other = t;
        while other < me {
            own += block_sums.ld(other);
            other += THREADS;
        }
        let mut before = block::sum_of_threads(own, warp_sums).total;
        if t == 0 && me + 1 == blocks {
            total(before + sum);
        }
        let mut row = first;
        while row < end {
            let [a, b, c, d] = Self::load(values, n, row);
            // The sums of the previous step have been read.
            thread::sync_threads();
            let sums = block::sum_of_threads(a + b + c + d, warp_sums);
            let next = before + sums.before;
            Self::store(
                values,
                n,
                row,
                [next, next + a, next + a + b, next + a + b + c],
            );
            before += sums.total;
            row += 1;
        }
        thread::sync_threads();
    }
}
