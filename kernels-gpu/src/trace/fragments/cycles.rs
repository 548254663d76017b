//! List ranking of fragments around their borders: each fragment learns where its border starts,
//! and how many points lie before the start.
//!
//! If fragments are few, or most borders have few of them, all are ranked by pointer jumping. In a
//! round, each fragment takes over the link of the one that it leads to. The rounds end when no
//! fragment learns of a lower start. Then no fragment's lowest start is above that of the fragment
//! its link leads to, and so on around the cycle: so all of them are the same.
//!
//! Otherwise, borders are first cut into **segments**. A segment begins just before each fragment
//! that starts lower than both its neighbours, so that every border has a segment. One also begins
//! at one in four of all fragments, so that few segments are much longer. A thread walks along each
//! segment. Only segments are ranked by pointer jumping, and only those whose border has several; a
//! second walk tells the fragments what is known of their border. So a fragment's link is read only
//! a few times, however long its border is.

use cuda_std::prelude::*;

use super::counter;
use super::join::{BLOCK, Chains, Join, JoinMemory};
use super::key::{Key, Link};
use super::source::Source;
use crate::primitives::block;
use crate::primitives::grid::{Grid, each};
use crate::primitives::quotient;

/// Of this number of consecutive fragments, one begins a segment, wherever it starts.
const GROUP: u32 = 4;
/// About the number of fragments sampled to learn how many of them borders have.
const SAMPLE: u32 = 1 << 14;
/// Borders are cut if at most one in this number of the sample's fragments starts lower than both
/// its neighbours.
const LONG: u32 = 8;
/// For fragments at which no segment begins.
const NONE: u32 = u32::MAX;

/// For each fragment, the segment that begins there, or [`NONE`]. It is the memory of
/// [`Chains::fragment_borders`], which has no other use before borders are known.
#[derive(Clone, Copy)]
struct BegunSegments<'a>(ViewMut<'a, u32>);

impl<'a> BegunSegments<'a> {
    #[inline(always)]
    const fn of(chains: &Chains<'a>) -> Self {
        Self(chains.fragment_borders)
    }

    /// The segment that begins at a fragment.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn at(self, fragment: u32) -> u32 {
        self.0.ld(fragment)
    }

    /// Notes the segment that begins at a fragment.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn note(self, fragment: u32, segment: u32) {
        self.0.st(fragment, segment);
    }
}

/// The most segments of a number of fragments. Of two consecutive fragments, at most one precedes a
/// fragment that starts lower than its neighbours.
#[must_use]
pub const fn most_segments(fragments: u32) -> u32 {
    fragments / 2 + fragments.div_ceil(GROUP)
}

impl<'a, K: Key, I: Source> Join<'a, K, I> {
    /// Ranks all fragments, and returns their final links. There is a barrier before and after.
    #[inline(always)]
    pub(super) fn rank(
        &self,
        grid: Grid<'_, BLOCK>,
        fragments: u32,
        memory: JoinMemory,
    ) -> ViewMut<'a, u32> {
        let Chains {
            links,
            segment_links,
            other_segment_links,
            segments,
            few,
            ..
        } = self.chains;
        if fragments <= few || few > 0 && self.are_short(grid, fragments) {
            return self.rank_each(grid, fragments, |i| i, links, segment_links);
        }
        self.cut(grid, fragments, memory);
        // planted: join-cut-barrier
        grid.sync();
        let count = self.parts.counters.ld(counter::SEGMENTS);
        self.walk(grid, count, memory);
        // planted: join-walk-barrier
        grid.sync();
        let open = self.parts.counters.ld(counter::OPEN);
        let listed = |i| segments.ld(open_segment(i));
        let ranked = self.rank_each(grid, open, listed, segment_links, other_segment_links);
        grid.for_each(count, |segment| self.tell(segment, ranked));
        // planted: join-tell-barrier
        grid.sync();
        links
    }

    /// Whether most borders have few fragments, by a sample. There is a barrier after.
    #[inline(always)]
    fn are_short(&self, grid: Grid<'_, BLOCK>, fragments: u32) -> bool {
        let counters = self.parts.counters;
        let count = fragments.min(SAMPLE);
        let distance = quotient(fragments, count);
        grid.for_each(count, |i| {
            let fragment = i * distance;
            let link = K::load(self.chains.links, fragment);
            if self.precedes_lowest(self.key(fragment), link) {
                counters.atomic_add(counter::LOWEST, 1);
            }
        });
        grid.sync();
        counters.ld(counter::LOWEST) * LONG > count
    }

    /// Whether a fragment with this key and this link precedes one that starts lower than both its
    /// neighbours.
    #[inline(always)]
    fn precedes_lowest(&self, key: K, link: Link<K>) -> bool {
        // planted: join-cut
        link.key < key && link.key < K::load(self.chains.links, link.next).key
    }

    /// Pointer jumping over `count` links, whose indices `listed` gives, until none learns of a
    /// lower start. Rounds write to `others` and `links` in turn; returns the array with the
    /// result. There is a barrier after.
    #[inline(always)]
    fn rank_each(
        &self,
        grid: Grid<'_, BLOCK>,
        count: u32,
        listed: impl Fn(u32) -> u32,
        links: ViewMut<'a, u32>,
        others: ViewMut<'a, u32>,
    ) -> ViewMut<'a, u32> {
        let counters = self.parts.counters;
        let (mut links, mut others) = (links, others);
        let mut round = counter::ROUNDS;
        loop {
            let mut learned = false;
            let jump = |at| {
                let here = each(at, |i| K::load(links, listed(i)));
                let ahead = each(here, |link| (link, K::load(links, link.next)));
                let once = each(ahead, |(link, ahead)| (link.key, link.jumped(ahead)));
                let ahead = each(once, |(key, link)| (key, link, K::load(links, link.next)));
                each(ahead, |(key, link, ahead)| (key, link.jumped(ahead)))
            };
            grid.for_each_loaded(count, jump, |i, (key, jumped)| {
                K::store(jumped, others, listed(i));
                learned |= jumped.key != key;
            });
            if thread::sync_threads_or(learned) && thread::thread_idx_x() == 0 {
                // planted: join-round-plain
                counters.st_relaxed(round, 1, Device);
            }
            (links, others) = (others, links);
            // planted: join-round-barrier
            grid.sync();
            // planted: join-rounds
            if counters.ld_relaxed(round, Device) == 0 {
                return links;
            }
            round += 1;
        }
    }

    /// Lists the fragments at which segments begin, and notes at each of them its segment.
    #[inline(always)]
    fn cut(&self, grid: Grid<'_, BLOCK>, fragments: u32, memory: JoinMemory) {
        let Chains {
            links, segments, ..
        } = self.chains;
        let begun = BegunSegments::of(&self.chains);
        grid.for_each_together(fragments, |fragment| {
            let mut begins = false;
            if fragment < fragments {
                let link = K::load(links, fragment);
                begins = self.precedes_lowest(self.key(fragment), link) || is_chosen(fragment);
            }
            let at = self.take(counter::SEGMENTS, begins.into(), memory);
            if begins {
                segments.st(at as usize * 4, fragment);
            }
            if fragment < fragments {
                begun.note(fragment, if begins { at } else { NONE });
            }
        });
    }

    /// Takes `count` elements for this thread: adds the sum over the block's threads to a counter.
    /// Returns the index of the thread's first element.
    #[inline(always)]
    fn take(&self, counter: u32, count: u32, memory: JoinMemory) -> u32 {
        let sums = block::sum_of_threads(count, memory.warp_sums);
        if thread::thread_idx_x() == 0 {
            let first = self.parts.counters.atomic_add(counter, sums.total);
            memory.taken.st(0, first);
        }
        // planted: join-taken-barrier
        thread::sync_threads();
        memory.taken.ld(0) + sums.before
    }

    /// Walks along each of `count` segments, and links it with the next one. Lists those that are
    /// not all of their border.
    #[inline(always)]
    fn walk(&self, grid: Grid<'_, BLOCK>, count: u32, memory: JoinMemory) {
        let Chains {
            links,
            segments,
            segment_links,
            other_segment_links,
            ..
        } = self.chains;
        let begun = BegunSegments::of(&self.chains);
        grid.for_each_together(count, |segment| {
            let mut is_open = false;
            if segment < count {
                let fragment = segments.ld(segment as usize * 4);
                let mut link = K::load(links, fragment);
                let next = loop {
                    let next = begun.at(link.next);
                    if next != NONE {
                        break next;
                    }
                    link = link.jumped(K::load(links, link.next));
                };
                segments.st_vector(segment as usize * 4, [fragment, next]);
                segments.st(segment as usize * 4 + 2, link.points);
                let link = Link { next, ..link };
                K::store(link, segment_links, segment);
                is_open = next != segment;
                if !is_open {
                    // It is complete, and may be looked up in either array.
                    K::store(link, other_segment_links, segment);
                }
            }
            let at = self.take(counter::OPEN, is_open.into(), memory);
            if is_open {
                segments.st(open_segment(at), segment);
            }
        });
    }

    /// Tells the fragments of a segment the border's start and their distances to it, from
    /// `ranked`.
    #[inline(always)]
    fn tell(&self, segment: u32, ranked: ViewMut<'_, u32>) {
        let Chains {
            links, segments, ..
        } = self.chains;
        let begun = BegunSegments::of(&self.chains);
        let [first, next] = segments.ld_vector(segment as usize * 4);
        let points = segments.ld(segment as usize * 4 + 2);
        let Link {
            key, points_to_key, ..
        } = K::load(ranked, segment);
        let mut left = points_to_key;
        let mut fragment = first;
        loop {
            let link = K::load(links, fragment);
            let told = Link {
                key,
                points_to_key: left,
                ..link
            };
            K::store(told, links, fragment);
            fragment = link.next;
            if begun.at(fragment) != NONE {
                return;
            }
            left = if link.key == key {
                // From the start a whole turn: to the next segment, and on from there.
                // planted: join-around
                K::load(ranked, next).points_to_key + (points - points_to_key)
            } else {
                left - link.points
            };
        }
    }
}

/// The word with the segment that is number `i` of those to rank: the fourth word of an element,
/// which has no other use.
#[inline(always)]
const fn open_segment(i: u32) -> usize {
    i as usize * 4 + 3
}

/// Whether a segment begins at a fragment, wherever the fragment starts: at one in each [`GROUP`],
/// chosen by a hash, since the fragments of a border may be numbered at equal distances.
#[inline(always)]
const fn is_chosen(fragment: u32) -> bool {
    const { assert!(GROUP == 1 << 2) };
    fragment % GROUP == (fragment / GROUP).wrapping_mul(0x9e37_79b1) >> 30
}
