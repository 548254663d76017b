//! The order and the hierarchy of few borders, by one block in its shared memory.
//!
//! The steps are those of [`arrange_borders`](fn@super::arrange_borders), which this kernel
//! replaces where it can. There, a step takes a barrier of the grid and loads from device memory, a
//! few microseconds in all, however few borders there are; here, it takes a fraction of one.
//!
//! A border's number, its rank and the size of its subtree fit 16 bits, so seven arrays with one
//! element per border hold everything:
//!
//! | step | arrays |
//! |---|---|
//! | parents, by pointer jumping along siblings | links (2), kinds |
//! | sort by parent: two passes | counts (2), keys (2), borders (2) |
//! | ranks | keys, borders, ranks, parents, first children |
//! | sizes of subtrees, by pointer jumping | those kept for places, sizes (2), ancestors (2) |
//! | places, by pointer jumping | borders, parents, first children, sums, steps, ancestors (2) |
//! | offsets | places, borders, offsets of 32 bits (2) |
//!
//! Borders by rank, parents and first children are kept from the ranks to the places, whose last
//! rounds take the memory of the first children for steps.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::{Arrangement, Borders};
use crate::primitives::block;
use crate::primitives::grid::{each, for_each_loaded};
use crate::primitives::warp::inclusive_sum;
use crate::trace::borders::{FoundBorders, NO_BORDER, Stack, count};
use crate::trace::options::Levels;

/// Threads of the block.
pub const FEW_BLOCK: u32 = 1024;
/// Warps of the block.
const WARPS: u32 = FEW_BLOCK / WARP_SIZE;
/// The most borders. From here on, a whole grid is faster: the block is bound by its instructions.
pub const MOST_FEW: u32 = 1 << 13;
/// The fewest borders for which there is memory. It holds the counts of a sort, too.
pub const LEAST_ROOM: u32 = 1 << 10;
/// Arrays of 16 bits per border.
const ARRAYS: usize = 7;

/// No border, or a border without a parent.
const NONE: u16 = u16::MAX;
/// Set in a link that leads to a border's parent; [`NONE`] has it, too.
const IS_PARENT: u16 = 1 << 15;

/// Bytes of dynamic shared memory of [`arrange_few_borders`](fn@arrange_few_borders) with room for
/// as many borders.
#[must_use]
pub const fn few_bytes(room: u32) -> u32 {
    room * ARRAYS as u32 * 2
}

/// The number of borders for which `bytes` bytes of shared memory have room: at most [`MOST_FEW`],
/// and 0 if there is not even room for [`LEAST_ROOM`]. A multiple of 8, so that each array starts
/// at a multiple of 16 bytes.
#[must_use]
pub const fn room_of(bytes: u32) -> u32 {
    // What the block declares.
    let declared = 4 * (WARPS + 4);
    let room = bytes.saturating_sub(declared) / (ARRAYS as u32 * 2) / 8 * 8;
    match room {
        0..LEAST_ROOM => 0,
        LEAST_ROOM..MOST_FEW => room,
        _ => MOST_FEW,
    }
}

/// An array of 16 bits per border.
type Array = SharedView<u16>;

/// The block at work.
#[derive(Clone, Copy)]
struct Few<'a> {
    borders: Borders<'a>,
    counters: ViewMut<'a, u32>,
    /// Borders for which there is room.
    room: u32,
    /// One element per warp.
    warp_sums: SharedView<u32>,
    /// [`word::COUNT`] elements.
    words: SharedView<u32>,
}

/// A digit of a key.
#[derive(Clone, Copy)]
struct Digit {
    /// Its lowest bit.
    shift: u32,
    /// The number of its bits.
    bits: u32,
}

impl Digit {
    /// The number of values that it has.
    #[inline(always)]
    const fn values(self) -> u32 {
        1 << self.bits
    }

    /// The digit of a key.
    #[inline(always)]
    const fn of(self, key: u32) -> u32 {
        key >> self.shift & (self.values() - 1)
    }
}

/// Single words that the threads share.
mod word {
    /// The number of borders that are kept.
    pub(super) const KEPT: u32 = 0;
    /// The rank of the first border without a parent that counts.
    pub(super) const FIRST_TOP: u32 = 1;
    /// The number of words.
    pub(super) const COUNT: u32 = 2;
}

/// Does the work of [`arrange_borders`](fn@super::arrange_borders) for a single image with at most
/// `room` borders, and nothing if there are more.
///
/// Launch: one block, with [`few_bytes`] of dynamic shared memory for `room`. Reads 9 bytes per
/// border, and writes 28.
///
/// # Safety
///
/// That of [`arrange_borders`](fn@super::arrange_borders), for one image; `room` is at least
/// [`LEAST_ROOM`], at most [`MOST_FEW`], and a multiple of 8.
#[kernel(
    block = FEW_BLOCK,
    len(
        counters = count::COUNT,
        stack = (),
        found = found.room(),
        arrangement = Arrangement::sizes_for(&found, &stack, 0),
    ),
)]
pub unsafe fn arrange_few_borders(
    counters: ViewMut<'_, u32>,
    stack: Stack<'_>,
    found: FoundBorders<'_>,
    arrangement: Arrangement<'_>,
    levels: Levels,
    room: u32,
) {
    let n = counters.ld(count::BORDERS);
    // planted: few-room
    if n == 0 || n > room {
        return;
    }
    let few = Few {
        borders: Borders {
            count: n,
            levels,
            stack,
            found,
            to: arrangement,
        },
        counters,
        room,
        warp_sums: shared_array![u32; WARPS as usize],
        words: shared_array![u32; word::COUNT as usize],
    };
    let (sorted_keys, sorted) = few.sort_by_parents();
    let parents = few.rank(sorted_keys, sorted);
    let kept = few.words.ld(word::KEPT);
    let places = if levels == Levels::Tree || levels == Levels::Ccomp {
        let sizes = few.count_descendants(parents);
        few.place(parents, sizes)
    } else {
        few.each(kept, |i| parents.st(i, i as u16));
        parents
    };
    few.write(kept, places, sorted);
}

impl Few<'_> {
    /// Array `k` of [`ARRAYS`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn array(&self, k: usize) -> Array {
        let room = self.room as usize;
        // SAFETY: the launch has `few_bytes` of dynamic shared memory.
        unsafe { shared::dynamic_shared_mem(k * room * 2, room) }
    }

    /// Array `k` as words of two elements.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn array_of_pairs(&self, k: usize) -> SharedView<u32> {
        let room = self.room as usize;
        // SAFETY: as above; an array's size is a multiple of 16 bytes.
        unsafe { shared::dynamic_shared_mem(k * room * 2, room / 2) }
    }

    /// Calls `work` for each index below `count`, one thread each.
    #[inline(always)]
    fn each(&self, count: u32, mut work: impl FnMut(u32)) {
        let mut i = thread::thread_idx_x();
        while i < count {
            work(i);
            i += FEW_BLOCK;
        }
    }

    /// [`for_each_loaded`], one thread for each index.
    #[inline(always)]
    fn each_loaded<T: Copy>(
        &self,
        count: u32,
        load: impl Fn([u32; 4]) -> [T; 4],
        work: impl FnMut(u32, T),
    ) {
        for_each_loaded((thread::thread_idx_x(), FEW_BLOCK), count, load, work);
    }

    /// Steps 1 and 2. Returns the keys, and the borders by rank.
    #[inline(always)]
    fn sort_by_parents(&self) -> (Array, Array) {
        let borders = self.borders;
        let n = borders.count;
        let kinds = self.array(2);
        let links = self.link_to_parents(kinds);
        let (keys, listed) = (self.array(3), self.array(4));
        self.each(n, |border| {
            let link = links.ld(border);
            let parent = if link == NONE {
                NO_BORDER
            } else {
                (link & !IS_PARENT).into()
            };
            let key = borders.key(border, kinds.ld(border).into(), parent);
            let at = borders.listed_at(border);
            keys.st(at, key as u16);
            listed.st(at, border as u16);
        });
        thread::sync_threads();
        if borders.are_sorted() {
            let others = (self.array(5), self.array(6));
            let bits = (u32::BITS - borders.left_out().leading_zeros()).div_ceil(2);
            self.sort_pass((keys, listed), others, Digit { shift: 0, bits });
            let shift = bits;
            // planted: few-second-pass
            self.sort_pass(others, (keys, listed), Digit { shift, bits });
        }
        (keys, listed)
    }

    /// Step 1: links of borders to their parents, or [`NONE`]. Also loads their kinds.
    #[inline(always)]
    fn link_to_parents(&self, kinds: Array) -> Array {
        let Borders { count, found, .. } = self.borders;
        let (mut links, mut next) = (self.array(0), self.array(1));
        let load = |borders| {
            each(borders, |border| {
                (found.kinds.ld(border), found.previous_in_row.ld(border))
            })
        };
        self.each_loaded(count, load, |border, (kind, previous)| {
            kinds.st(border, kind.into());
            links.st(border, previous as u16);
        });
        thread::sync_threads();
        loop {
            let mut some = false;
            self.each(count, |border| {
                let mut link = links.ld(border);
                if link & IS_PARENT == 0 {
                    // A border of the other kind is the parent; a sibling leads on.
                    // planted: few-siblings
                    link = if kinds.ld(link) == kinds.ld(border) {
                        links.ld(link)
                    } else {
                        link | IS_PARENT
                    };
                    some |= link & IS_PARENT == 0;
                }
                next.st(border, link);
            });
            (links, next) = (next, links);
            // planted: few-links-round
            if !thread::sync_threads_or(some) {
                return links;
            }
        }
    }

    /// Sorts all pairs by a digit of their keys. Pairs with the same digit keep their order. Waits
    /// for all threads at the end.
    #[inline(always)]
    fn sort_pass(&self, from: (Array, Array), to: (Array, Array), digit: Digit) {
        // SAFETY: the launch has `few_bytes` of dynamic shared memory: arrays 0 and 1.
        let counts: Array = unsafe { shared::dynamic_shared_mem(0, 2 * self.room as usize) };
        let all = digit.values() * WARPS;
        self.each(all, |i| counts.st(i, 0));
        thread::sync_threads();
        self.each_group(from.0, digit, |at, peers, _| {
            if at < all && peers & warp::lanemask_lt() == 0 {
                counts.st(at, counts.ld(at) + peers.count_ones() as u16);
            }
        });
        thread::sync_threads();
        self.scan(
            all,
            |i| counts.ld(i).into(),
            |i, before| counts.st(i, before as u16),
        );
        thread::sync_threads();
        self.each_group(from.0, digit, |at, peers, i| {
            let before = (peers & warp::lanemask_lt()).count_ones();
            let place = if at < all { counts.ld(at).into() } else { 0 };
            // planted: few-place-sync
            warp::sync_warp(FULL_MASK);
            if at < all {
                // planted: few-order
                to.0.st(place + before, from.0.ld(i));
                to.1.st(place + before, from.1.ld(i));
                if before == 0 {
                    counts.st(at, (place + peers.count_ones()) as u16);
                }
            }
        });
        thread::sync_threads();
    }

    /// Calls `work` for each 32 pairs of this thread's warp, which are consecutive. It gets the
    /// element that counts the warp's pairs with this lane's digit, the lanes with the same digit,
    /// and the index of the lane's pair; past the last pair, an element after all others.
    #[inline(always)]
    fn each_group(&self, keys: Array, digit: Digit, mut work: impl FnMut(u32, u32, u32)) {
        let n = self.borders.count;
        let t = thread::thread_idx_x();
        let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
        let own = n.div_ceil(FEW_BLOCK) * WARP_SIZE;
        let mut group = warp * own;
        let end = n.min(group + own);
        while group < end {
            let i = group + lane;
            let value = if i < end {
                digit.of(keys.ld(i).into())
            } else {
                digit.values()
            };
            let peers = warp::warp_match_any_32(FULL_MASK, value);
            work(value * WARPS + warp, peers, i);
            warp::sync_warp(FULL_MASK);
            group += WARP_SIZE;
        }
    }

    /// Gives `store` the sum of the values before each of `n`. Returns the sum of all. The caller
    /// puts barriers before and after.
    #[inline(always)]
    fn scan(&self, n: u32, load: impl Fn(u32) -> u32, store: impl Fn(u32, u32)) -> u32 {
        // Each thread has consecutive values.
        let own = n.div_ceil(FEW_BLOCK);
        let first = thread::thread_idx_x() * own;
        let end = n.min(first + own);
        let mut sum = 0;
        let mut i = first;
        while i < end {
            sum += load(i);
            i += 1;
        }
        let sums = block::sum_of_threads(sum, self.warp_sums);
        let mut before = sums.before;
        let mut i = first;
        while i < end {
            let value = load(i);
            store(i, before);
            before += value;
            i += 1;
        }
        sums.total
    }

    /// Step 3: ranks, the parents of ranks, which it returns, and first children. Also writes the
    /// number of kept borders, and what the rows of the result are made of.
    #[inline(always)]
    fn rank(&self, keys: Array, sorted: Array) -> Array {
        let borders = self.borders;
        let (n, to) = (borders.count, borders.to);
        let (parents, ranks, first_children) = (self.array(0), self.array(5), self.array(6));
        self.each(n, |i| {
            let (key, border) = (u32::from(keys.ld(i)), sorted.ld(i));
            let is_kept = key != borders.left_out();
            ranks.st(border, if is_kept { i as u16 } else { NONE });
            first_children.st(i, NONE);
            if is_kept {
                to.pairs.keys.st(i, key);
                to.pairs.values.st(i, border.into());
                if i + 1 == n || u32::from(keys.ld(i + 1)) == borders.left_out() {
                    self.words.st(word::KEPT, i + 1);
                    self.counters.st(count::KEPT, i + 1);
                }
            } else {
                // planted: few-left-out
                to.places.st(border, NO_BORDER);
            }
        });
        thread::sync_threads();
        let kept = self.words.ld(word::KEPT);
        self.each(kept, |i| {
            let key = u32::from(keys.ld(i));
            let parent = if key < n { ranks.ld(key) } else { NONE };
            parents.st(i, parent);
            to.parents.st(i, widened(parent));
            if i == 0 || u32::from(keys.ld(i - 1)) != key {
                if parent == NONE {
                    self.words.st(word::FIRST_TOP, i);
                } else {
                    first_children.st(parent, i as u16);
                }
            }
        });
        thread::sync_threads();
        self.each(kept, |i| {
            to.first_children.st(i, widened(first_children.ld(i)));
        });
        parents
    }

    /// Steps 4 and 5: the size of each border's subtree, as halves of words. All borders are kept.
    /// Returns the index of the array.
    #[inline(always)]
    fn count_descendants(&self, parents: Array) -> usize {
        let n = self.borders.count;
        let words = n.div_ceil(2);
        let (mut sizes, mut next_sizes) = (1, 2);
        let (mut ancestors, mut next) = (self.array(3), self.array(5));
        self.each(n, |i| ancestors.st(i, parents.ld(i)));
        let first = self.array_of_pairs(sizes);
        self.each(words, |i| first.st(i, 1 | 1 << 16));
        thread::sync_threads();
        loop {
            let (known, told) = (self.array_of_pairs(sizes), self.array_of_pairs(next_sizes));
            self.each(words, |i| told.st(i, known.ld(i)));
            let mut some = false;
            self.each(n, |i| {
                let jumped = jumped(ancestors, ancestors.ld(i));
                some |= jumped != NONE;
                next.st(i, jumped);
            });
            // planted: few-told-barrier
            let goes_on = thread::sync_threads_or(some);
            self.tell(ancestors, self.array(sizes), told);
            (sizes, next_sizes) = (next_sizes, sizes);
            (ancestors, next) = (next, ancestors);
            thread::sync_threads();
            if !goes_on {
                return sizes;
            }
        }
    }

    /// Adds each border's size to its ancestor's. Ancestors of consecutive ranks are often the same
    /// one: their sizes are added up first.
    #[inline(always)]
    fn tell(&self, ancestors: Array, sizes: Array, told: SharedView<u32>) {
        let n = self.borders.count;
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let mut group = thread::thread_idx_x() - lane;
        while group < n {
            let i = group + lane;
            let (ancestor, size) = if i < n {
                (ancestors.ld(i), sizes.ld(i).into())
            } else {
                (NONE, 0)
            };
            let (before, _) = warp::warp_shuffle_up(FULL_MASK, u32::from(ancestor), 1, WARP_SIZE);
            let begins = lane == 0 || before != ancestor.into();
            let starts = warp::warp_vote_ballot(FULL_MASK, begins);
            let through = inclusive_sum(size, lane);
            // The last lane of those with the same ancestor.
            let after = starts & !(warp::lanemask_lt() | 1 << lane);
            let last = if after == 0 {
                WARP_SIZE - 1
            } else {
                after.trailing_zeros() - 1
            };
            let (sum, _) = warp::warp_shuffle_idx(FULL_MASK, through, last, WARP_SIZE);
            if begins && ancestor != NONE {
                // planted: few-told
                let sum = sum - through + size;
                told.atomic_add(u32::from(ancestor) / 2, sum << (ancestor % 2 * 16));
            }
            group += FEW_BLOCK;
        }
    }

    /// Steps 6 and 7: places, from the sizes in an array.
    #[inline(always)]
    fn place(&self, parents: Array, sizes_at: usize) -> Array {
        let n = self.borders.count;
        let sizes = self.array(sizes_at);
        let before = self.array(3 - sizes_at);
        self.scan(n, |i| sizes.ld(i).into(), |i, sum| before.st(i, sum as u16));
        thread::sync_threads();
        let first_children = self.array(6);
        let first_top = self.words.ld(word::FIRST_TOP);
        let (mut ancestors, mut steps) = (self.array(3), sizes);
        self.each(n, |i| {
            let parent = parents.ld(i);
            let first = if parent == NONE {
                first_top
            } else {
                first_children.ld(parent).into()
            };
            ancestors.st(i, parent);
            // planted: few-steps
            steps.st(i, before.ld(i) - before.ld(first) + 1);
        });
        thread::sync_threads();
        let (mut next_ancestors, mut next_steps) = (self.array(5), first_children);
        loop {
            let mut some = false;
            self.each(n, |i| {
                let ancestor = ancestors.ld(i);
                let mut sum = steps.ld(i);
                if ancestor != NONE {
                    sum += steps.ld(ancestor);
                }
                let jumped = jumped(ancestors, ancestor);
                some |= jumped != NONE;
                next_ancestors.st(i, jumped);
                next_steps.st(i, sum);
            });
            (ancestors, next_ancestors) = (next_ancestors, ancestors);
            (steps, next_steps) = (next_steps, steps);
            if !thread::sync_threads_or(some) {
                break;
            }
        }
        let places = parents;
        self.each(n, |i| places.st(i, steps.ld(i) - 1));
        places
    }

    /// Step 8: writes the places, and the numbers of points before them.
    #[inline(always)]
    fn write(&self, kept: u32, places: Array, sorted: Array) {
        let Borders { found, to, .. } = self.borders;
        let room = self.room as usize;
        // planted: few-lengths-barrier
        thread::sync_threads();
        // SAFETY: the launch has `few_bytes` of dynamic shared memory: arrays 5 and 6.
        let lengths: SharedView<u32> = unsafe { shared::dynamic_shared_mem(5 * room * 2, room) };
        let load = |ranks| {
            each(ranks, |i| {
                let border = sorted.ld(i);
                (places.ld(i), border, found.lengths.ld(border))
            })
        };
        self.each_loaded(kept, load, |i, (place, border, length)| {
            to.ranked_places.st(i, place.into());
            to.places.st(border, place.into());
            lengths.st(place, length);
        });
        thread::sync_threads();
        let points = self.scan(
            kept,
            |place| lengths.ld(place),
            |place, before| to.offsets.st(place, before),
        );
        if thread::thread_idx_x() == 0 {
            self.counters.st(count::POINTS, points);
        }
    }
}

/// A rank in 32 bits.
#[inline(always)]
fn widened(rank: u16) -> u32 {
    if rank == NONE { NO_BORDER } else { rank.into() }
}

/// The ancestor twice as far up as `ancestor`.
#[inline(always)]
fn jumped(ancestors: Array, ancestor: u16) -> u16 {
    if ancestor == NONE {
        NONE
    } else {
        ancestors.ld(ancestor)
    }
}
