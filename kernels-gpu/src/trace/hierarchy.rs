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
//! 2. They are sorted by the parents that count: siblings then stand together, in their order. A
//!    border's index among the sorted ones is its **rank**.
//! 3. Each border learns its parent's rank. From here on, what is known of borders is kept by rank,
//!    so that borders that are worked on together lie together.
//! 4. Each border counts the borders below it: in round `k`, a border tells its ancestor 2ᵏ levels
//!    up how many borders it has found within 2ᵏ levels.
//! 5. A scan of these sizes over the ranks says how many borders stand between a parent and each of
//!    its children, and
//! 6. pointer jumping from parent to parent adds these numbers up: the border's place.
//! 7. Lengths are scanned in the order of places.
//!
//! The rounds of 4 and 6 are as many as the logarithm of the depth of nesting. Without parents, the
//! ranks are the places.
//!
//! [`write_rows`](fn@write_rows) then writes the rows of the result.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::borders::{FoundBorders, NO_BORDER, Stack, count};
use super::options::Levels;
use crate::primitives::grid::{Grid, GridBarrier, ScanMemory, each};
use crate::primitives::list_ranking::{END, element, jumped_from, next, weight};
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
    /// By rank, the rank of each border's parent, or [`NO_BORDER`].
    pub parents: ViewMut<'a, u32>,
    /// By rank, the rank of each border's first child, or [`NO_BORDER`]; and after those of all
    /// borders that of the first border without a parent of each image: one more element per image.
    pub first_children: ViewMut<'a, u32>,
    /// By rank, the number of borders in each one's part of the forest, as far as it is known.
    pub sizes: ViewMut<'a, u32>,
    /// By rank, what borders were told in the last rounds: three elements per border.
    pub told: ViewMut<'a, u32>,
    /// By rank, the sums of the sizes before each. Starts at a multiple of 16 bytes.
    pub before: ViewMut<'a, u32>,
    /// By rank, elements of lists.
    pub list: ViewMut<'a, u64>,
    /// The same once more.
    pub other_list: ViewMut<'a, u64>,
    /// By rank, each border's place in the result.
    pub ranked_places: ViewMut<'a, u32>,
    /// Each border's place in the result, or [`NO_BORDER`]; before that, its rank.
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

/// A border's previous one in its row, or an earlier sibling of it.
#[derive(Clone, Copy)]
struct Previous {
    /// The border's own kind.
    kind: u8,
    /// The previous border, or [`NO_BORDER`].
    border: u32,
    kind_of_it: u8,
    before_it: u32,
}

/// What a border knows of those below it and above it.
#[derive(Clone, Copy)]
struct Known {
    size: u32,
    /// The ancestor that it tells its size, or [`END`].
    ancestor: u32,
    /// The link after one more round.
    jumped: u64,
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

    /// Whether borders have to be sorted: otherwise they are listed in their order.
    #[inline(always)]
    fn are_sorted(&self) -> bool {
        self.levels != Levels::List || self.stack.images > 1
    }

    /// The borders by rank, once they are sorted.
    #[inline(always)]
    fn in_order(&self) -> Pairs<'_> {
        if self.are_sorted() {
            self.to.pairs.sorted(self.left_out())
        } else {
            self.to.pairs
        }
    }

    /// What is known of a border's previous one.
    #[inline(always)]
    fn previous(&self, border: u32) -> Previous {
        let (kinds, previous) = (self.found.kinds, self.found.previous_in_row);
        let (kind, border) = (kinds.ld(border), previous.ld_relaxed(border, Device));
        Previous {
            kind,
            border,
            kind_of_it: kind,
            before_it: NO_BORDER,
        }
    }

    /// With what is known of that one.
    #[inline(always)]
    fn looked_up(&self, known: Previous) -> Previous {
        let (kinds, previous) = (self.found.kinds, self.found.previous_in_row);
        if known.border == NO_BORDER {
            return known;
        }
        Previous {
            kind_of_it: kinds.ld(known.border),
            before_it: previous.ld_relaxed(known.border, Device),
            ..known
        }
    }

    /// A border's parent, or [`NO_BORDER`]. Replaces its previous border, and those of its siblings
    /// on the way, by earlier ones.
    #[inline(always)]
    fn parent(&self, border: u32, known: Previous) -> u32 {
        let previous = self.found.previous_in_row;
        let mut known = known;
        // planted: siblings-parents
        while known.border != NO_BORDER && known.kind_of_it == known.kind {
            // What the sibling has, however far it has come: one discovered before it, or the
            // parent.
            known.border = known.before_it;
            // planted: links-plain-store
            previous.st_relaxed(border, known.border, Device);
            known = self.looked_up(known);
        }
        known.border
    }

    /// Lists a border, the last discovered first, by its parent, if that counts.
    #[inline(always)]
    fn list(&self, border: u32, kind: u8, parent: u32) {
        let levels = self.levels;
        let is_hole = kind != 0;
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

    /// Notes the rank `i` of a border.
    #[inline(always)]
    fn rank(&self, sorted: Pairs<'_>, i: u32, counters: ViewMut<'_, u32>) {
        let (key, border) = (sorted.keys.ld(i), sorted.values.ld(i));
        if key == self.left_out() {
            self.to.places.st(border, NO_BORDER);
            return;
        }
        if i + 1 == self.count || sorted.keys.ld(i + 1) == self.left_out() {
            // planted: hierarchy-kept
            counters.st(count::KEPT, i + 1);
        }
        self.to.places.st(border, i);
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
            self.to.places.ld(key)
        } else {
            NO_BORDER
        };
        (key, before, parent)
    }

    /// Links the border with rank `i` with its parent, which gets it as a child if it is the first.
    #[inline(always)]
    fn link(&self, i: u32, (key, before, parent): (u32, u32, u32)) {
        if key == self.left_out() {
            return;
        }
        self.to.parents.st(i, parent);
        let (above, up) = if parent == NO_BORDER {
            (key, END)
        } else {
            (parent, parent)
        };
        if before != key {
            self.to.first_children.st(above, i);
        }
        self.to.list.st(i, element(up, 0));
        self.to.sizes.st(i, 1);
        self.to.told.st(self.told_in(0, i), 0);
        self.to.told.st(self.told_in(1, i), 0);
        self.to.told.st(self.told_in(2, i), 0);
    }

    /// What the borders with four ranks, or past the last one, know before a round. `list` has
    /// links to the ancestors 2ᵏ levels up.
    #[inline(always)]
    fn known(&self, ranks: [u32; 4], round: u32, list: ViewMut<'_, u64>) -> [Known; 4] {
        let known = each(ranks, |i| {
            if i < self.count {
                (self.size(i, round), list.ld(i))
            } else {
                (0, element(END, 0))
            }
        });
        each(known, |(size, link)| Known {
            size,
            ancestor: next(link),
            jumped: jumped_from(link, list.as_view()),
        })
    }

    /// One round of counting the borders below the border with rank `i`. `to` gets links twice as
    /// far as those before. Whether there are any of these. Called by all lanes of a warp, also
    /// with ranks past the last one.
    #[inline(always)]
    fn tell(&self, i: u32, known: Known, round: u32, to: ViewMut<'_, u64>) -> bool {
        let Known {
            size,
            ancestor,
            jumped,
        } = known;
        if i < self.count {
            self.to.sizes.st(i, size);
            // planted: hierarchy-told-zero
            self.to.told.st(self.told_in(round + 1, i), 0);
            to.st(i, jumped);
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
        next(jumped) != END
    }

    /// The number of borders in the part of the forest of the border with rank `i`, as far as it is
    /// known before a round.
    #[inline(always)]
    fn size(&self, i: u32, round: u32) -> u32 {
        // With what was told in the round before.
        self.to.sizes.ld(i) + self.to.told.ld(self.told_in(round + 2, i))
    }

    /// Where the border with rank `i` is told something in a round.
    #[inline(always)]
    fn told_in(&self, round: u32, i: u32) -> usize {
        (round % 3) as usize * self.count as usize + i as usize
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

    /// Writes the places of all borders that are kept, from their ranks, and their lengths in the
    /// order of places.
    #[inline(always)]
    fn place(
        &self,
        grid: Grid<'_, BLOCK>,
        sorted: Pairs<'_>,
        kept: u32,
        place: impl Fn(u32) -> u32,
    ) {
        let (to, lengths) = (self.to, self.found.lengths);
        let placed = |ranks| {
            let placed = each(ranks, |i| (place(i), sorted.values.ld(i)));
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

    /// For the borders with four ranks, the links to their parents, weighted with the number of
    /// borders from the parent up to the border.
    #[inline(always)]
    fn links_to_parents(&self, sorted: Pairs<'_>, ranks: [u32; 4]) -> [u64; 4] {
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
            let mut up = parent;
            if parent == NO_BORDER {
                up = END;
                // planted: batch-places
                steps += self.stack.borders_before(above - self.count);
            }
            element(up, steps)
        })
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
#[kernel(block = BLOCK, min_blocks = 2, cooperative)]
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
    let previous = |at| {
        let known = each(at, |border| borders.previous(border));
        each(known, |known| borders.looked_up(known))
    };
    grid.for_each_loaded(n, previous, |border, known| {
        let parent = borders.parent(border, known);
        borders.list(border, known.kind, parent);
        // planted: first-child-fill
        to.first_children.st(border, NO_BORDER);
    });
    grid.sync();
    if borders.are_sorted() {
        sort_pairs(grid, to.pairs, n, borders.left_out(), memory);
    }
    let sorted = borders.in_order();
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
            let known = |ranks| borders.known(ranks, round, list);
            grid.for_each_loaded(n.next_multiple_of(WARP_SIZE), known, |i, known| {
                some |= borders.tell(i, known, round, other);
            });
            (list, other) = (other, list);
            round += 1;
            if !goes_on(round - 1, some) {
                break;
            }
        }
        let size = |i| borders.size(i, round);
        grid.scan_of(size, to.before, n, (to.offsets, 0), memory.scan);
        grid.sync();
        let links = |ranks| borders.links_to_parents(sorted, ranks);
        grid.for_each_loaded(n, links, |i, link| to.list.st(i, link));
        grid.sync();
        let (mut list, mut other) = (to.list, to.other_list);
        let mut round = MOST_ROUNDS;
        loop {
            let mut some = false;
            let jump = |ranks| {
                let elements = each(ranks, |i| list.ld(i));
                each(elements, |element| jumped_from(element, list.as_view()))
            };
            grid.for_each_loaded(n, jump, |i, element| {
                some |= next(element) != END;
                other.st(i, element);
            });
            (list, other) = (other, list);
            round += 1;
            if !goes_on(round - 1, some) {
                break;
            }
        }
        let place = |i| weight(list.ld(i)) - 1;
        borders.place(grid, sorted, n, place);
    } else {
        borders.place(
            grid,
            sorted,
            counters.ld_relaxed(count::KEPT, Device),
            |i| i,
        );
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

/// Writes the row of each border that is kept to its place. Launch: one thread per such border, or
/// one. Reads 49 bytes per border and writes 21.
///
/// # Safety
///
/// [`arrange_borders`](fn@arrange_borders) has made `counters` and `arrangement` of `found`, with
/// these `levels`. `rows` has one element per border that is kept, or as many as its fields say,
/// and nothing else uses it meanwhile.
#[kernel(block = BLOCK)]
pub unsafe fn write_rows(
    counters: View<'_, u32>,
    stack: Stack<'_>,
    found: FoundBorders<'_>,
    arrangement: Arrangement<'_>,
    levels: Levels,
    rows: Rows<'_>,
) {
    let i = thread::index_1d();
    let to = arrangement;
    let kept = counters.ldg(count::KEPT);
    if i == 0 {
        // planted: offsets-end
        rows.offsets.st(kept, counters.ldg(count::POINTS));
    }
    if i >= kept {
        return;
    }
    let borders = Borders {
        count: counters.ldg(count::BORDERS),
        levels,
        stack,
        found,
        to,
    };
    let sorted = borders.in_order();
    let (key, border) = (sorted.keys.ld(i), sorted.values.ld(i));
    // Rows count from their image's first.
    let first = if stack.images == 1 {
        0
    } else {
        stack.offsets.ld(stack.image_of(border))
    };
    let link = |rank: u32| {
        if rank == NO_BORDER {
            -1
        } else {
            (to.ranked_places.ld(rank) - first).cast_signed()
        }
    };
    let sibling = |is_there: bool, rank: u32| {
        if is_there && sorted.keys.ld(rank) == key {
            rank
        } else {
            NO_BORDER
        }
    };
    let row = [
        // planted: row-order.1
        link(sibling(i + 1 < kept, i + 1)),
        // planted: row-order.2
        link(sibling(i > 0, i.wrapping_sub(1))),
        link(to.first_children.ld(i)),
        link(to.parents.ld(i)),
    ];
    let place = to.ranked_places.ld(i);
    rows.kinds.st(place, found.kinds.ld(border));
    rows.links.st_vector(place as usize * 4, row);
    rows.offsets.st(place, to.offsets.ld(place));
}
