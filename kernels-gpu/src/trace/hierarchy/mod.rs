//! The order and the hierarchy of the result, from the previous border of each in its row.
//!
//! The result is the pre-order walk of a forest whose siblings stand in reverse order of discovery.
//! [`Levels`] says which borders are in it, and which of their parents count.
//!
//! [`arrange_borders`](fn@arrange_borders) finds each border's place, in one cooperative launch.
//! The number of borders is read from memory, so that the host need not know it yet. Its steps,
//! with a grid barrier after each:
//!
//! 1. Each border finds its parent, by way of siblings that were discovered before it
//!    (`parents.rs`). Borders are listed, the last discovered first.
//! 2. They are sorted by the parents that count: siblings then stand together, in their order. A
//!    border's index among the sorted ones is its **rank**. If there are many borders, most may
//!    have the same parent: these are set apart, and only the others are sorted.
//! 3. Each border learns its parent's rank. From here on, the data of borders is kept by rank, so
//!    that borders processed together lie together.
//! 4. Borders with children are listed, and count their children without children. The list is
//!    short: if there are many borders, most are holes with nothing inside.
//! 5. The listed borders count all borders below them: in round `k`, a border tells its ancestor 2ᵏ
//!    levels up how many borders it has found within 2ᵏ levels (`descendants.rs`).
//! 6. A scan of these sizes over the ranks says how many borders stand between a parent and each of
//!    its children.
//! 7. Pointer jumping from parent to parent, among those listed, adds these numbers up, which gives
//!    the places of the listed borders.
//! 8. Each border's place follows from its parent's. The lengths are scanned in the order of
//!    places.
//!
//! The number of rounds in 5 and 7 is the logarithm of the depth of nesting. Without parents, the
//! ranks are the places.
//!
//! Few borders are arranged by one block in its shared memory instead:
//! [`arrange_few_borders`](fn@few::arrange_few_borders).
//!
//! [`write_rows`](fn@rows::write_rows) then writes the rows of the result.

mod descendants;
pub mod few;
mod parents;
pub mod rows;
#[cfg(not(target_arch = "nvptx64"))]
mod sizes;

use cuda_std::grid::GridBarrier;
use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use self::descendants::link_to;
#[cfg(not(target_arch = "nvptx64"))]
pub use self::sizes::ArrangementSizes;
use super::borders::{FoundBorders, NO_BORDER, Stack, count};
use super::options::Levels;
use crate::primitives::grid::{Grid, ScanMemory, each, zip};
use crate::primitives::list_ranking::{END, element, jumped_from, next, weight};
use crate::primitives::partition::{Group, common_key, partition};
use crate::primitives::sort::{self, Pairs, SortMemory, bits_up_to, sort_pairs};

/// Threads per block.
pub const BLOCK: u32 = sort::BLOCK;
/// The most rounds over levels.
const MOST_ROUNDS: u32 = count::COUNT_OF_ROUNDS / 2;

/// The memory in which borders are arranged.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(ArrangementSizes, buffers = ArrangementBuffers)]
pub struct Arrangement<'a> {
    /// The barrier of the grid.
    #[len(())]
    pub barrier: GridBarrier<'a>,
    /// One element per block of the grid.
    #[len(sizes.blocks)]
    pub block_sums: ViewMut<'a, u32>,
    /// Parents as keys, and borders.
    #[len(sizes.borders)]
    pub pairs: Pairs<'a>,
    /// By rank, the rank of each border's parent, or [`NO_BORDER`].
    #[len(sizes.borders)]
    pub parents: ViewMut<'a, u32>,
    /// By rank, the rank of each border's first child, or [`NO_BORDER`]; then, per image, the rank
    /// of its first border without a parent.
    #[len(sizes.borders + sizes.images)]
    pub first_children: ViewMut<'a, u32>,
    /// By rank, the size of each border's subtree, as far as it is known.
    #[len(sizes.borders)]
    pub sizes: ViewMut<'a, u32>,
    /// By rank, what borders with children were told in the last rounds: three elements per border.
    #[len(3 * sizes.borders)]
    pub told: ViewMut<'a, u32>,
    /// By rank, the sum of the sizes before each border's.
    #[len(sizes.borders, align = 16)]
    pub before: ViewMut<'a, u32>,
    /// By rank, elements of lists of borders with children.
    #[len(sizes.borders)]
    pub list: ViewMut<'a, u64>,
    /// The same again, for the rounds to alternate.
    #[len(sizes.borders)]
    pub other_list: ViewMut<'a, u64>,
    /// By rank, each border's place in the result.
    #[len(sizes.borders)]
    pub ranked_places: ViewMut<'a, u32>,
    /// Each border's place in the result, or [`NO_BORDER`].
    #[len(sizes.borders)]
    pub places: ViewMut<'a, u32>,
    /// For each place, the number of points before it, and the number of all points.
    #[len(sizes.borders + 1, align = 16)]
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
    /// The key of those borders of an image that have no parent that counts. The key of the others
    /// is their parent.
    #[inline(always)]
    fn top(&self, image: u32) -> u32 {
        self.count + image
    }

    /// The key of borders that are not kept: the largest.
    #[inline(always)]
    fn left_out(&self) -> u32 {
        self.count + self.stack.images
    }

    /// Whether borders must be sorted; otherwise they are already listed in their order.
    #[inline(always)]
    fn are_sorted(&self) -> bool {
        self.levels != Levels::List || self.stack.images > 1
    }

    /// Where borders are listed.
    #[inline(always)]
    fn unsorted(&self) -> Pairs<'_> {
        if self.are_sorted() {
            self.to.pairs.unsorted(bits_up_to(self.left_out()))
        } else {
            self.to.pairs
        }
    }

    /// The key of a border with this parent: the parent, if that counts.
    #[inline(always)]
    fn key(&self, border: u32, kind: u32, parent: u32) -> u32 {
        let levels = self.levels;
        let is_hole = kind != 0;
        // planted: ccomp-parents
        let counts = levels == Levels::Tree || levels == Levels::Ccomp && is_hole;
        if levels == Levels::External && parent != NO_BORDER {
            self.left_out()
        } else if counts && parent != NO_BORDER {
            parent
        } else {
            self.top(self.stack.image_of(border))
        }
    }

    /// The index at which a border is listed, the last discovered first; also, the border listed at
    /// an index.
    #[inline(always)]
    fn listed_at(&self, border: u32) -> u32 {
        self.count - 1 - border
    }

    /// By border, its rank, or [`NO_BORDER`] if it is not kept. It is the memory of the places,
    /// which are found last.
    #[inline(always)]
    fn ranks(&self) -> ViewMut<'_, u32> {
        self.to.places
    }

    /// Notes the rank `i` of a border.
    #[inline(always)]
    fn rank(&self, sorted: Pairs<'_>, i: u32, counters: ViewMut<'_, u32>) {
        let (key, border) = (sorted.keys.ld(i), sorted.values.ld(i));
        if key == self.left_out() {
            self.ranks().st(border, NO_BORDER);
            return;
        }
        if i + 1 == self.count || sorted.keys.ld(i + 1) == self.left_out() {
            // planted: hierarchy-kept
            counters.st(count::KEPT, i + 1);
        }
        self.ranks().st(border, i);
    }

    /// The key of the border with rank `i`, that of the one before it, and the rank of its parent.
    /// The key before the first one is that of borders that are not kept.
    #[inline(always)]
    fn parent_rank(&self, sorted: Pairs<'_>, i: u32) -> (u32, u32, u32) {
        let key = sorted.keys.ld(i);
        // planted: first-sibling
        let before = if i > 0 {
            sorted.keys.ld(i - 1)
        } else {
            self.left_out()
        };
        let parent = if key < self.count {
            self.ranks().ld(key)
        } else {
            NO_BORDER
        };
        (key, before, parent)
    }

    /// Links the border with rank `i` to its parent; if it is the first child, also the parent to
    /// it.
    #[inline(always)]
    fn link(&self, i: u32, (key, before, parent): (u32, u32, u32)) {
        if key == self.left_out() {
            return;
        }
        self.to.parents.st(i, parent);
        if before != key {
            let above = if parent == NO_BORDER { key } else { parent };
            self.to.first_children.st(above, i);
        }
        self.to.sizes.st(i, 1);
    }

    /// The number of borders that are kept in the images before `image`.
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
            // planted: batch-kept
            if sorted.keys.ld(middle) < self.top(image) {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }

    /// Writes the places of all borders that are kept, and their lengths in the order of places.
    /// `places` gives the places of four ranks at a time.
    #[inline(always)]
    fn place(
        &self,
        grid: Grid<'_, BLOCK>,
        sorted: Pairs<'_>,
        kept: u32,
        places: impl Fn([u32; 4]) -> [u32; 4],
    ) {
        let (to, lengths) = (self.to, self.found.lengths);
        let placed = |ranks| {
            let placed = zip(places(ranks), each(ranks, |i| sorted.values.ld(i)));
            each(placed, |(place, border)| {
                (place, border, lengths.ld(border))
            })
        };
        grid.for_each_loaded(kept, placed, |i, (place, border, length)| {
            to.ranked_places.st(i, place);
            to.places.st(border, place);
            to.offsets.st(place, length);
        });
    }

    /// For the borders with these ranks: the parent, or [`NO_BORDER`], and the number of borders
    /// from the parent, or the image's beginning, up to the border.
    #[inline(always)]
    fn steps_from_parents(&self, sorted: Pairs<'_>, ranks: [u32; 4]) -> [(u32, u32); 4] {
        let siblings = each(ranks, |i| {
            let (parent, before) = (self.to.parents.ld(i), self.to.before.ld(i));
            let above = if parent == NO_BORDER {
                sorted.keys.ld(i)
            } else {
                parent
            };
            (parent, above, before)
        });
        let siblings = each(siblings, |(parent, above, before)| {
            (parent, above, before, self.to.first_children.ld(above))
        });
        each(siblings, |(parent, above, before, first)| {
            // planted: hierarchy-steps
            let mut steps = before - self.to.before.ld(first) + 1;
            if parent == NO_BORDER {
                // planted: batch-places
                steps += self.stack.borders_before(above - self.count);
            }
            (parent, steps)
        })
    }

    /// The places of the borders with these ranks, given those of borders with children in `list`.
    #[inline(always)]
    fn places(&self, sorted: Pairs<'_>, ranks: [u32; 4], list: ViewMut<'_, u64>) -> [u32; 4] {
        each(self.steps_from_parents(sorted, ranks), |(parent, steps)| {
            let up_to_parent = if parent == NO_BORDER {
                0
            } else {
                weight(list.ld(parent))
            };
            up_to_parent + steps - 1
        })
    }
}

/// Arranges the borders in `found`, whose number is in `counters`: finds their links, their places,
/// the number of borders that are kept and of their points, and where their points begin.
///
/// Launch: cooperative, as many blocks as are resident together, or fewer. Reads and writes some
/// 150 bytes per border, 20 per pass of the sort, and 60 per border with children and per doubling
/// of the nesting depth. Replaces previous borders by parents.
///
/// # Safety
///
/// `counters` has [`count::COUNT`] elements or more, all 0 but the first; `stack.offsets` has one
/// more than there are images, if there are several. The elements of `found` and `arrangement` are
/// for at least the number of borders there, which is below 2³¹ - 1. The previous border of each is
/// one discovered earlier, or [`NO_BORDER`]. Nothing else uses the three meanwhile.
#[kernel(
    block = BLOCK,
    min_blocks = 3,
    cooperative,
    len(
        counters = count::COUNT,
        stack = (),
        found = found.room(),
        arrangement = Arrangement::sizes_for(&found, &stack, grid.x),
    ),
)]
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
        rows::no_borders(stack);
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
    let work = Work {
        grid,
        borders,
        counters,
        memory,
    };
    work.sort_by_parents();
    work.rank();
    // The borders by rank.
    let sorted = to.pairs;
    if levels == Levels::Tree || levels == Levels::Ccomp {
        let parents = work.list_parents();
        let rounds = work.count_descendants(parents);
        let size = |i| borders.size(i, rounds);
        grid.scan_of(size, to.before, n, |_| (), memory.scan);
        grid.sync();
        let list = work.place_parents(parents);
        borders.place(grid, sorted, n, |ranks| borders.places(sorted, ranks, list));
    } else {
        let kept = counters.ld_relaxed(count::KEPT, Device);
        borders.place(grid, sorted, kept, |ranks| ranks);
    }
    grid.sync();
    let kept = counters.ld(count::KEPT);
    let total = |points| counters.st(count::POINTS, points);
    grid.scan(to.offsets, kept, total, memory.scan);
}

/// The steps of [`arrange_borders`](fn@arrange_borders), each of the whole grid.
#[derive(Clone, Copy)]
struct Work<'a> {
    grid: Grid<'a, BLOCK>,
    borders: Borders<'a>,
    counters: ViewMut<'a, u32>,
    memory: SortMemory<'a>,
}

impl Work<'_> {
    /// Steps 1 and 2: lists the borders by their parents, and sorts them.
    #[inline(always)]
    fn sort_by_parents(self) {
        let Self { grid, borders, .. } = self;
        let (n, to) = (borders.count, borders.to);
        let are_many = n.div_ceil(4 * BLOCK) > grid.blocks();
        if are_many {
            // There are more borders than all threads take at once, and chains of siblings lead
            // from row to row. First, each block follows them through its own part of the borders;
            // later, one step leaves a whole part.
            borders.follow_siblings(grid);
            grid.sync();
        }
        // Of many borders, most may have the same parent: these are set apart before the others are
        // sorted. Until then, the keys are stored where sums of sizes will be.
        let are_partitioned = are_many && borders.are_sorted();
        let unsorted = borders.unsorted();
        let listed_keys = if are_partitioned {
            to.before
        } else {
            unsorted.keys
        };
        let parents = |at| borders.with_parents(at, 0);
        grid.for_each_loaded(n, parents, |border, child| {
            let at = borders.listed_at(border);
            let key = borders.key(border, child.kind, child.parent());
            listed_keys.st(at, key);
            if !are_partitioned {
                unsorted.values.st(at, border);
            }
            // planted: first-child-fill
            to.first_children.st(border, NO_BORDER);
        });
        grid.sync();
        if !borders.are_sorted() {
            return;
        }
        let group = if are_partitioned {
            self.set_common_parent_apart(listed_keys, unsorted)
        } else {
            Group::NONE
        };
        let others = n - group.count;
        let bits = bits_up_to(borders.left_out());
        sort_pairs(grid, to.pairs, others, group, bits, self.memory);
    }

    /// Sets the borders with the most common parent apart from those to be sorted.
    #[inline(always)]
    fn set_common_parent_apart(self, listed_keys: ViewMut<'_, u32>, unsorted: Pairs<'_>) -> Group {
        let Self { grid, borders, .. } = self;
        let common = common_key(listed_keys, borders.count);
        let border = |at| borders.listed_at(at);
        let smaller = (self.counters, count::BEFORE_COMMON);
        let group = partition(
            grid,
            listed_keys,
            borders.count,
            common,
            border,
            borders.to.pairs,
            unsorted,
            smaller,
            self.memory.scan,
        );
        // planted: partition-end-barrier
        grid.sync();
        group
    }

    /// Step 3: the ranks of all borders, and of their parents and first children.
    #[inline(always)]
    fn rank(self) {
        let Self {
            grid,
            borders,
            counters,
            ..
        } = self;
        let (n, stack) = (borders.count, borders.stack);
        let sorted = borders.to.pairs;
        if stack.images > 1 {
            grid.for_each(stack.images + 1, |image| {
                let before = borders.kept_before(sorted, image);
                stack.offsets.st(image, before);
            });
        }
        grid.for_each(n, |i| borders.rank(sorted, i, counters));
        // planted: hierarchy-ranks-barrier
        grid.sync();
        let parents = |ranks| each(ranks, |i| borders.parent_rank(sorted, i));
        grid.for_each_loaded(n, parents, |i, parent| borders.link(i, parent));
        // planted: hierarchy-siblings-barrier
        grid.sync();
    }

    /// The list of [`list_parents`](Self::list_parents). It is memory that sorting no longer uses.
    #[inline(always)]
    fn listed(&self) -> ViewMut<'_, u32> {
        self.borders.to.pairs.other_keys
    }

    /// Step 4: lists the ranks of borders with children, in any order. Returns their number.
    #[inline(always)]
    fn list_parents(self) -> u32 {
        let (grid, counters) = (self.grid, self.counters);
        let warps = self.memory.warps;
        self.borders
            .list_parents(grid, self.listed(), counters, warps);
        // planted: hierarchy-list-barrier
        grid.sync();
        counters.ld(count::PARENTS)
    }

    /// Whether any thread of the grid had work to do in a round, by a counter of the round's own.
    #[inline(always)]
    fn goes_on(self, round: u32, some: bool) -> bool {
        let (grid, counters) = (self.grid, self.counters);
        let at = count::ROUNDS + round;
        if thread::sync_threads_or(some) && thread::thread_idx_x() == 0 {
            counters.st_relaxed(at, 1, Device);
        }
        // planted: hierarchy-round-barrier
        grid.sync();
        counters.ld_relaxed(at, Device) != 0
    }

    /// Step 5: the borders with children, of which there are `parents`, count the borders below
    /// them. Returns the number of rounds.
    #[inline(always)]
    fn count_descendants(self, parents: u32) -> u32 {
        let (grid, borders) = (self.grid, self.borders);
        let rank = |at| {
            if at < parents {
                self.listed().ld(at)
            } else {
                NO_BORDER
            }
        };
        let (mut list, mut other) = (borders.to.list, borders.to.other_list);
        let mut round = 0;
        loop {
            let mut some = false;
            let known = |at| borders.known(each(at, rank), round, list);
            let mut sums = borders.told_sums(round);
            grid.for_each_in_warps(parents, known, |_, known| {
                some |= borders.tell(known, round, other, &mut sums);
            });
            sums.finish();
            (list, other) = (other, list);
            round += 1;
            if !self.goes_on(round - 1, some) {
                return round;
            }
        }
    }

    /// Step 7: the places of the borders with children, of which there are `parents`, as the
    /// weights of the list that is returned.
    #[inline(always)]
    fn place_parents(&self, parents: u32) -> ViewMut<'_, u64> {
        let (grid, borders) = (self.grid, self.borders);
        let (to, listed) = (self.borders.to, self.listed());
        let links = |at| {
            let ranks = each(at, |at| listed.ld(at));
            zip(ranks, borders.steps_from_parents(to.pairs, ranks))
        };
        grid.for_each_loaded(parents, links, |_, (i, (parent, steps))| {
            to.list.st(i, element(link_to(parent), steps));
        });
        grid.sync();
        let (mut list, mut other) = (to.list, to.other_list);
        let mut round = MOST_ROUNDS;
        loop {
            let mut some = false;
            let jump = |at| {
                let elements = each(at, |at| {
                    let i = listed.ld(at);
                    (i, list.ld(i))
                });
                each(elements, |(i, element)| {
                    (i, jumped_from(element, list.as_view()))
                })
            };
            grid.for_each_loaded(parents, jump, |_, (i, element)| {
                some |= next(element) != END;
                other.st(i, element);
            });
            (list, other) = (other, list);
            round += 1;
            if !self.goes_on(round - 1, some) {
                return list;
            }
        }
    }
}
