//! From each border's previous one in its row to the order and the hierarchy of the result.
//!
//! The result is the pre-order walk of a forest whose siblings stand in reverse order of discovery.
//! [`Levels`] says which borders are in it, and which of their parents count.
//!
//! [`arrange_borders`](fn@arrange_borders) finds each border's place, in one cooperative launch.
//! The number of borders is read from memory, so that the host need not know it yet. Its steps,
//! with a barrier of the grid after each:
//!
//! 1. Each border finds its parent, over siblings that were discovered before it. Borders are
//!    listed, the last discovered first.
//! 2. They are sorted by the parents that count: siblings then stand together, in their order.
//! 3. Siblings are linked.
//! 4. Each border counts the borders below it: in round `k`, a border tells its ancestor 2ᵏ levels
//!    up how many borders it has found within 2ᵏ levels.
//! 5. A scan of these sizes over the sorted borders says how many borders stand between a parent
//!    and each of its children, and
//! 6. pointer jumping from parent to parent adds these numbers up: the border's place.
//! 7. Lengths are scanned in the order of places.
//!
//! The rounds of 4 and 6 are as many as the logarithm of the depth of nesting. Without parents, the
//! sorted order is the result's.
//!
//! [`write_rows`](fn@write_rows) then writes the rows of the result.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::borders::{FoundBorders, NO_BORDER, Stack, count};
use super::options::Levels;
use crate::primitives::grid::{Grid, GridBarrier, ScanMemory};
use crate::primitives::list_ranking::{END, element, jumped, next, weight};
use crate::primitives::sort::{self, Pairs, SortMemory, sort_pairs};
use crate::primitives::warp::inclusive_sum;

/// Threads per block.
pub const BLOCK: u32 = sort::BLOCK;
/// The most rounds over levels.
const MOST_ROUNDS: u32 = count::COUNT_OF_ROUNDS / 2;

/// What borders are arranged in, for at most a number of borders: one element for each in each view
/// unless it says otherwise.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Arrangement<'a> {
    /// The barrier of the grid.
    pub barrier: GridBarrier<'a>,
    /// One element per block of the grid.
    pub block_sums: ViewMut<'a, u32>,
    /// Parents as keys, and borders.
    pub pairs: Pairs<'a>,
    /// The parent of each border, or [`NO_BORDER`].
    pub parents: ViewMut<'a, u32>,
    /// The first child of each border, or [`NO_BORDER`], and after those of all borders the first
    /// border without a parent of each image: one more element per image.
    pub first_children: ViewMut<'a, u32>,
    /// The sibling after each border, or [`NO_BORDER`].
    pub next: ViewMut<'a, u32>,
    /// The sibling before each border, or [`NO_BORDER`].
    pub previous: ViewMut<'a, u32>,
    /// The number of borders in each one's part of the forest, as far as it is known.
    pub sizes: ViewMut<'a, u32>,
    /// What borders were told in the last rounds: three elements per border.
    pub told: ViewMut<'a, u32>,
    /// Sizes by sorted order, and the sums of those before. Starts at a multiple of 16 bytes.
    pub before: ViewMut<'a, u32>,
    /// Elements of lists.
    pub list: ViewMut<'a, u64>,
    /// The same once more.
    pub other_list: ViewMut<'a, u64>,
    /// Each border's place in the result, or [`NO_BORDER`].
    pub places: ViewMut<'a, u32>,
    /// For each place, the number of points before it: one more element. Starts at a multiple of 16
    /// bytes.
    pub offsets: ViewMut<'a, u32>,
}

/// The borders, on their way to their places.
#[derive(Clone, Copy)]
struct Borders<'a> {
    count: u32,
    levels: Levels,
    stack: Stack<'a>,
    found: FoundBorders<'a>,
    to: Arrangement<'a>,
}

impl Borders<'_> {
    /// The key of an image's borders without a parent that counts; the others' is their parent.
    #[inline(always)]
    fn top(&self, image: u32) -> u32 {
        self.count + image
    }

    /// The key of borders that are not kept: the largest.
    #[inline(always)]
    fn left_out(&self) -> u32 {
        self.count + self.stack.images
    }

    /// A border's parent, or [`NO_BORDER`]. Replaces its previous border, and those of its siblings
    /// on the way, by earlier ones.
    #[inline(always)]
    fn parent(&self, border: u32) -> u32 {
        let (previous, kinds) = (self.found.previous_in_row, self.found.kinds);
        let kind = kinds.ld(border);
        let mut at = previous.ld_relaxed(border, Device);
        // planted: siblings-parents
        while at != NO_BORDER && kinds.ld(at) == kind {
            // What the sibling has, however far it has come: one discovered before it, or the
            // parent.
            at = previous.ld_relaxed(at, Device);
            // planted: links-plain-store
            previous.st_relaxed(border, at, Device);
        }
        at
    }

    /// Lists a border, the last discovered first, by its parent, if that counts.
    #[inline(always)]
    fn list(&self, border: u32, parent: u32) {
        let levels = self.levels;
        let is_hole = self.found.kinds.ld(border) != 0;
        // planted: ccomp-parents
        let counts = levels == Levels::Tree || levels == Levels::Ccomp && is_hole;
        let key = if levels == Levels::External && parent != NO_BORDER {
            self.left_out()
        } else if counts && parent != NO_BORDER {
            parent
        } else {
            self.top(self.stack.image_of(border))
        };
        let at = self.count - 1 - border;
        self.to.pairs.keys.st(at, key);
        self.to.pairs.values.st(at, border);
    }

    /// Links the border at index `i` of the sorted ones with its siblings and its parent. Its place
    /// is `i` if no border has a parent.
    #[inline(always)]
    fn link_siblings(&self, sorted: Pairs<'_>, i: u32, counters: ViewMut<'_, u32>) {
        let (key, border) = (sorted.keys.ld(i), sorted.values.ld(i));
        let after = if i + 1 < self.count {
            sorted.keys.ld(i + 1)
        } else {
            self.left_out()
        };
        if key == self.left_out() {
            self.to.places.st(border, NO_BORDER);
            return;
        }
        if after == self.left_out() {
            // planted: hierarchy-kept
            counters.st(count::KEPT, i + 1);
        }
        let parent = if key >= self.count { NO_BORDER } else { key };
        self.to.parents.st(border, parent);
        let mut sibling = NO_BORDER;
        if after == key {
            sibling = sorted.values.ld(i + 1);
        }
        self.to.next.st(border, sibling);
        // planted: first-sibling
        if i > 0 && sorted.keys.ld(i - 1) == key {
            self.to.previous.st(border, sorted.values.ld(i - 1));
        } else {
            self.to.previous.st(border, NO_BORDER);
            self.to.first_children.st(key, border);
        }
        self.to.places.st(border, i);
        let up = if parent == NO_BORDER { END } else { parent };
        self.to.list.st(border, element(up, 0));
        self.to.sizes.st(border, 1);
        self.to.told.st(self.told_in(0, border), 0);
        self.to.told.st(self.told_in(1, border), 0);
        self.to.told.st(self.told_in(2, border), 0);
    }

    /// One round of counting the borders below the border at index `i` of the sorted ones. `list`
    /// has links to the ancestors 2ᵏ levels up, and `to` gets those twice as far. Whether there are
    /// any of these. Called by all lanes of a warp, also with indices past the last one.
    #[inline(always)]
    fn tell(
        &self,
        sorted: Pairs<'_>,
        i: u32,
        round: u32,
        list: ViewMut<'_, u64>,
        to: ViewMut<'_, u64>,
    ) -> bool {
        let mut goes_on = false;
        let (mut ancestor, mut size) = (END, 0);
        if i < self.count {
            let border = sorted.values.ld(i);
            size = self.size(border, round);
            self.to.sizes.st(border, size);
            // planted: hierarchy-told-zero
            self.to.told.st(self.told_in(round + 1, border), 0);
            ancestor = next(list.ld(border));
            let link = jumped(list.as_view(), border);
            to.st(border, link);
            goes_on = next(link) != END;
        }
        // Siblings lie side by side, and thousands may have one parent: each run of lanes with the
        // same ancestor tells it once.
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let (before, _) = warp::warp_shuffle_up(FULL_MASK, ancestor, 1, WARP_SIZE);
        let begins = lane == 0 || before != ancestor;
        let first_lanes = warp::warp_vote_ballot(FULL_MASK, begins);
        let through = inclusive_sum(size, lane);
        // The first lane of the lane's own run.
        let first = 31 - (first_lanes & (u32::MAX >> (31 - lane))).leading_zeros();
        let (at_first, _) = warp::warp_shuffle_idx(FULL_MASK, through - size, first, WARP_SIZE);
        let ends = lane == WARP_SIZE - 1 || first_lanes >> (lane + 1) & 1 != 0;
        if ends && ancestor != END {
            let to = self.told_in(round, ancestor);
            // planted: sizes-plain-add
            self.to.told.atomic_add(to, through - at_first);
        }
        goes_on
    }

    /// The number of borders in a border's part of the forest, as far as it is known before a
    /// round.
    #[inline(always)]
    fn size(&self, border: u32, round: u32) -> u32 {
        // With what was told in the round before.
        self.to.sizes.ld(border) + self.to.told.ld(self.told_in(round + 2, border))
    }

    /// Where a border is told something in a round.
    #[inline(always)]
    fn told_in(&self, round: u32, border: u32) -> usize {
        (round % 3) as usize * self.count as usize + border as usize
    }

    /// The number of borders that are kept in the images before one.
    #[inline(always)]
    fn kept_before(&self, sorted: Pairs<'_>, image: u32) -> u32 {
        if self.levels != Levels::External {
            return if image == self.stack.images {
                self.count
            } else {
                self.stack.borders_before(image)
            };
        }
        // The first of the sorted borders with this image's key or a larger one.
        let (mut first, mut end) = (0, self.count);
        while first < end {
            let middle = first + (end - first) / 2;
            if sorted.keys.ld(middle) < self.top(image) {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }

    /// The number of borders between the parent of the border at index `i` of the sorted ones and
    /// itself, with a link to the parent.
    #[inline(always)]
    fn link_to_parent(&self, sorted: Pairs<'_>, i: u32) {
        let (key, border) = (sorted.keys.ld(i), sorted.values.ld(i));
        let first = self.to.first_children.ld(key);
        // Where the first sibling stands among the sorted borders; places are these as yet.
        let first = self.to.places.ld(first);
        // planted: hierarchy-steps
        let mut steps = self.to.before.ld(i) - self.to.before.ld(first) + 1;
        let mut up = key;
        if key >= self.count {
            up = END;
            // planted: batch-places
            steps += self.stack.borders_before(key - self.count);
        }
        self.to.list.st(border, element(up, steps));
    }
}

/// Arranges the borders that `counters` says are in `found`: their links, their places, the number
/// of borders that are kept and that of their points, and where their points begin.
///
/// Launch: cooperative, as many blocks as are resident together, or fewer. Reads and writes some
/// 150 bytes per border, 20 per pass of the sort, and 60 per doubling of the depth of nesting.
///
/// # Safety
///
/// `counters` has [`count::COUNT`] elements or more, all 0 but the first; `stack.offsets` has one
/// more than there are images, if there are several. The elements of `found` and `arrangement` are
/// for at least the number of borders there, which is below 2³¹ - 1. The previous border of each is
/// one discovered earlier, or [`NO_BORDER`]. Nothing else uses the three meanwhile.
#[kernel(block = BLOCK, min_blocks = 3, cooperative)]
pub unsafe fn arrange_borders(
    counters: ViewMut<'_, u32>,
    stack: Stack<'_>,
    found: FoundBorders<'_>,
    arrangement: Arrangement<'_>,
    levels: Levels,
) {
    let to = arrangement;
    let n = counters.ld(count::BORDERS);
    let memory = SortMemory {
        warps: shared_array![u32; sort::WARP_DIGITS as usize],
        scan: ScanMemory {
            block_sums: to.block_sums,
            warp_sums: shared_array![u32; (BLOCK / WARP_SIZE) as usize],
        },
    };
    if n == 0 {
        if stack.images > 1 && thread::index_1d() == 0 {
            let mut image = 0;
            while image <= stack.images {
                stack.offsets.st(image, 0);
                image += 1;
            }
        }
        return;
    }
    let Some(grid) = Grid::<BLOCK>::for_work(to.barrier, n) else {
        return;
    };
    let borders = Borders {
        count: n,
        levels,
        stack,
        found,
        to,
    };
    grid.for_each(n, |border| {
        let parent = borders.parent(border);
        borders.list(border, parent);
        // planted: first-child-fill
        to.first_children.st(border, NO_BORDER);
    });
    grid.sync();
    let sorted = if levels == Levels::List && stack.images == 1 {
        to.pairs
    } else {
        sort_pairs(grid, to.pairs, n, borders.left_out(), memory)
    };
    if stack.images > 1 {
        grid.for_each(stack.images + 1, |image| {
            let before = borders.kept_before(sorted, image);
            stack.offsets.st(image, before);
        });
    }
    grid.for_each(n, |i| borders.link_siblings(sorted, i, counters));
    // planted: hierarchy-siblings-barrier
    grid.sync();

    if levels == Levels::Tree || levels == Levels::Ccomp {
        let (mut list, mut other) = (to.list, to.other_list);
        // Whether there was something to do, told by a number that rounds have in turn.
        let goes_on = |round: u32, some: bool| {
            let at = count::ROUNDS + round;
            if thread::sync_threads_or(some) && thread::thread_idx_x() == 0 {
                counters.st_relaxed(at, 1, Device);
            }
            // planted: hierarchy-round-barrier
            grid.sync();
            counters.ld_relaxed(at, Device) != 0
        };
        let mut round = 0;
        loop {
            let mut some = false;
            grid.for_each(n.next_multiple_of(WARP_SIZE), |i| {
                some |= borders.tell(sorted, i, round, list, other);
            });
            (list, other) = (other, list);
            round += 1;
            if !goes_on(round - 1, some) {
                break;
            }
        }
        let size = |i| borders.size(sorted.values.ld(i), round);
        grid.scan_of(size, to.before, n, (to.offsets, 0), memory.scan);
        grid.sync();
        grid.for_each(n, |i| borders.link_to_parent(sorted, i));
        grid.sync();
        let (mut list, mut other) = (to.list, to.other_list);
        let mut round = MOST_ROUNDS;
        loop {
            let mut some = false;
            grid.for_each(n, |border| {
                let element = jumped(list.as_view(), border);
                some |= next(element) != END;
                other.st(border, element);
            });
            (list, other) = (other, list);
            round += 1;
            if !goes_on(round - 1, some) {
                break;
            }
        }
        grid.for_each(n, |border| {
            let place = weight(list.ld(border)) - 1;
            to.places.st(border, place);
            to.offsets.st(place, found.lengths.ld(border));
        });
    } else {
        grid.for_each(n, |border| {
            let place = to.places.ld(border);
            if place != NO_BORDER {
                to.offsets.st(place, found.lengths.ld(border));
            }
        });
    }
    grid.sync();
    let kept = counters.ld(count::KEPT);
    grid.scan(to.offsets, kept, (counters, count::POINTS), memory.scan);
}

/// The result's rows: one for each place.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct Rows<'a> {
    /// The kind of the border at each place.
    pub kinds: ViewMut<'a, u8>,
    /// Four numbers per place: next, previous, first child and parent, counted from the image's
    /// first place, or -1 for none. Starts at a multiple of 16 bytes.
    pub links: ViewMut<'a, i32>,
    /// For each place, the number of points before it; one more than there are places.
    pub offsets: ViewMut<'a, u32>,
}

/// Writes each border's row to its place. Launch: one thread per border of `count`, or one. Reads
/// 33 bytes per border and writes 21.
///
/// # Safety
///
/// [`arrange_borders`](fn@arrange_borders) has made `counters` and `arrangement` of `found`, which
/// has `count` borders. `rows` has one element per border that is kept, or as many as its fields
/// say, and nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn write_rows(
    counters: View<'_, u32>,
    stack: Stack<'_>,
    found: FoundBorders<'_>,
    arrangement: Arrangement<'_>,
    rows: Rows<'_>,
    count: u32,
) {
    let i = thread::index_1d();
    let to = arrangement;
    if i == 0 {
        let kept = counters.ldg(count::KEPT);
        // planted: offsets-end
        rows.offsets.st(kept, counters.ldg(count::POINTS));
    }
    if i >= count {
        return;
    }
    let place = to.places.ld(i);
    if place == NO_BORDER {
        return;
    }
    // Rows count from their image's first.
    let first = if stack.images == 1 {
        0
    } else {
        stack.offsets.ld(stack.image_of(i))
    };
    let link = |border: u32| {
        if border == NO_BORDER {
            -1
        } else {
            (to.places.ld(border) - first).cast_signed()
        }
    };
    // A first child counts only where it is kept as one: first children of borders are set for
    // those alone.
    let row = [
        // planted: row-order.1
        link(to.next.ld(i)),
        // planted: row-order.2
        link(to.previous.ld(i)),
        link(to.first_children.ld(i)),
        link(to.parents.ld(i)),
    ];
    rows.kinds.st(place, found.kinds.ld(i));
    rows.links.st_vector(place as usize * 4, row);
    rows.offsets.st(place, to.offsets.ld(place));
}
