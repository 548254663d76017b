//! Joining: the fragments of each ring, in order.
//!
//! Every fragment has one successor and one predecessor: a permutation, whose cycles are the rings.
//! About one fragment in 64 is *marked*, by a hash of its index. A **stretch** goes from a marked
//! fragment to before the next marked one. All stretches are measured at once. One thread then goes
//! from stretch to stretch, and gives each its place in its ring. Finally all stretches are visited
//! again, and their fragments listed. A ring without a marked fragment is short; one walk around it
//! suffices.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rayon::prelude::*;

use super::follow::{Exit, Fragment, FragmentId, SideKey, Strip, check_count};
use crate::error::Result;
use crate::memory::{par_collect, reserve, with_room, zeroed_vec};

/// The index of a ring, in raster order of starts.
pub(in crate::trace) type RingId = u32;

/// A border that consists of fragments.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Ring {
    /// The fragment in which it starts.
    pub(in crate::trace) leader: FragmentId,
    /// The number of its fragments.
    fragments: u32,
    /// Where they begin in [`Rings::order`].
    first: u32,
    /// The number of its points that are kept.
    pub(in crate::trace) points: usize,
}

/// The fragments of all strips, and the rings that they form.
pub(in crate::trace) struct Rings {
    pub(in crate::trace) fragments: Vec<Fragment>,
    /// The number of fragments in the strips before each, then in all.
    pub(in crate::trace) first_fragments: Vec<FragmentId>,
    /// In raster order of starts.
    pub(in crate::trace) rings: Vec<Ring>,
    /// The ring of each fragment.
    ring_of: Vec<AtomicU32>,
    /// The fragments of each ring in order, from its leader on.
    order: Vec<AtomicU32>,
    /// For each fragment, the number of points of the ring before it; unused for the leader, which
    /// is divided.
    points_before: Vec<AtomicU64>,
}

/// A part of a ring's points: some steps of one fragment.
#[derive(Clone, Copy)]
pub(in crate::trace) struct Piece {
    pub(in crate::trace) fragment: FragmentId,
    /// The number of points of the ring before it.
    pub(in crate::trace) points_before: usize,
    /// Which of the fragment's steps it has.
    pub(in crate::trace) part: Part,
}

/// Which steps of a fragment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) enum Part {
    Whole,
    /// Those before the ring's start.
    Head,
    /// Those from the ring's start on.
    Tail,
}

impl Rings {
    /// The number of a strip's steps that belong to fragments.
    pub(in crate::trace) fn steps_of_fragments(&self, strip: usize) -> u32 {
        let [first, end] = [strip, strip + 1].map(|i| self.first_fragments[i] as usize);
        self.fragments[first..end]
            .last()
            .map_or(0, |last| last.steps[1])
    }

    /// The ring that a fragment belongs to.
    pub(in crate::trace) fn ring_of(&self, fragment: FragmentId) -> RingId {
        self.ring_of[fragment as usize].load(Relaxed)
    }

    /// The fragments of a ring, from its leader on.
    pub(in crate::trace) fn fragments_of(
        &self,
        ring: RingId,
    ) -> impl Iterator<Item = FragmentId> + Clone {
        let ring = &self.rings[ring as usize];
        let order = &self.order[ring.first as usize..][..ring.fragments as usize];
        order.iter().map(|id| id.load(Relaxed))
    }

    /// The number of pieces of a ring: its leader has two.
    pub(in crate::trace) fn piece_count(&self, ring: RingId) -> u32 {
        self.rings[ring as usize].fragments + 1
    }

    /// Piece `index` of a ring.
    pub(in crate::trace) fn piece(&self, ring: RingId, index: u32) -> Piece {
        let ring = &self.rings[ring as usize];
        if index == 0 {
            return Piece {
                fragment: ring.leader,
                points_before: 0,
                part: Part::Tail,
            };
        }
        if index == ring.fragments {
            let head = self.fragments[ring.leader as usize].points_before;
            return Piece {
                fragment: ring.leader,
                points_before: ring.points - head as usize,
                part: Part::Head,
            };
        }
        let at = (ring.first + index) as usize;
        Piece {
            fragment: self.order[at].load(Relaxed),
            points_before: self.points_before[at].load(Relaxed) as usize,
            part: Part::Whole,
        }
    }
}

/// The fewest fragments that are worth a task.
const LEAST_SHARE: usize = 1 << 11;

/// Takes the fragments from the strips and joins them.
pub(in crate::trace) fn join(strips: &mut [Strip]) -> Result<Rings> {
    let (fragments, first_fragments) = gather(strips)?;
    rings(fragments, first_fragments)
}

/// The rings of fragments, each of which is the successor of one other.
pub(in crate::trace) fn rings(
    fragments: Vec<Fragment>,
    first_fragments: Vec<FragmentId>,
) -> Result<Rings> {
    let count = fragments.len();
    let mut ring_of: Vec<AtomicU32> = zeroed_vec(count, "the fragments of borders")?;
    ring_of
        .par_iter_mut()
        .with_min_len(LEAST_SHARE)
        .for_each(|ring| *ring.get_mut() = NONE);
    let chains = Chains {
        fragments: &fragments,
        ring_of: &ring_of,
    };

    let marked = (0..count as FragmentId)
        .into_par_iter()
        .with_min_len(LEAST_SHARE)
        .filter(|&fragment| is_marked(fragment));
    let stretches = par_collect(marked, "the fragments of borders")?;
    let mut measured: Vec<Stretch> = with_room(stretches.len(), "the fragments of borders")?;
    stretches
        .par_iter()
        .with_min_len(LEAST_SHARE / 64)
        .map(|&first| chains.measure(first))
        .collect_into_vec(&mut measured);
    let (mut cycles, places) = close(&stretches, &measured)?;
    let unmarked = (0..count as FragmentId)
        .into_par_iter()
        .with_min_len(LEAST_SHARE)
        .filter_map(|first| chains.close_unmarked(first));
    let unmarked = par_collect(unmarked, "the borders of fragments")?;
    let marked_cycles = cycles.len();
    reserve(&mut cycles, unmarked.len(), "the borders of fragments")?;
    cycles.extend(unmarked);

    let (rings, ids) = in_raster_order(&cycles)?;
    let order: Vec<AtomicU32> = zeroed_vec(count, "the fragments of borders")?;
    let points_before: Vec<AtomicU64> = zeroed_vec(count, "the fragments of borders")?;
    let lists = Lists {
        chains,
        cycles: &cycles,
        rings: &rings,
        ids: &ids,
        order: &order,
        points_before: &points_before,
    };
    stretches
        .par_iter()
        .zip(&measured)
        .zip(&places)
        .with_min_len(LEAST_SHARE / 64)
        .for_each(|((&first, stretch), &place)| lists.add(first, stretch.fragments, place));
    (marked_cycles..cycles.len())
        .into_par_iter()
        .with_min_len(LEAST_SHARE / 8)
        .for_each(|cycle| {
            let Cycle { first, stretch } = cycles[cycle];
            let place = PlaceInRing {
                cycle: cycle as u32,
                fragments: 0,
                points: 0,
            };
            lists.add(first, stretch.fragments, place);
        });
    Ok(Rings {
        fragments,
        first_fragments,
        rings,
        ring_of,
        order,
        points_before,
    })
}

/// The rings in raster order, and the ring of each cycle.
fn in_raster_order(cycles: &[Cycle]) -> Result<(Vec<Ring>, Vec<RingId>)> {
    let mut by_start = with_room(cycles.len(), "the borders of fragments")?;
    by_start.extend(0..cycles.len() as u32);
    by_start.par_sort_unstable_by_key(|&cycle| cycles[cycle as usize].stretch.side);
    let mut rings = with_room(cycles.len(), "the borders of fragments")?;
    let mut ids: Vec<RingId> = zeroed_vec(cycles.len(), "the borders of fragments")?;
    let mut first = 0;
    for (id, &cycle) in by_start.iter().enumerate() {
        ids[cycle as usize] = id as RingId;
        let stretch = &cycles[cycle as usize].stretch;
        rings.push(Ring {
            leader: stretch.leader,
            fragments: stretch.fragments,
            first,
            points: stretch.points as usize,
        });
        first += stretch.fragments;
    }
    Ok((rings, ids))
}

/// The lists of the rings' fragments, which threads fill together.
struct Lists<'a> {
    chains: Chains<'a>,
    cycles: &'a [Cycle],
    rings: &'a [Ring],
    ids: &'a [RingId],
    order: &'a [AtomicU32],
    points_before: &'a [AtomicU64],
}

impl Lists<'_> {
    /// Lists `fragments` fragments from `first` on, which has this place in its cycle.
    fn add(&self, first: FragmentId, fragments: u32, place: PlaceInRing) {
        let Cycle { stretch, .. } = &self.cycles[place.cycle as usize];
        let id = self.ids[place.cycle as usize];
        let ring = &self.rings[id as usize];
        let leader = &self.chains.fragments[ring.leader as usize];
        let start = stretch.points_to_leader + u64::from(leader.points_before);
        let (mut at, mut points) = (place.fragments, place.points);
        let mut fragment = first;
        for _ in 0..fragments {
            // Those before the leader come after all others. The leader's own place among the
            // points is unused.
            let (after_leader, after_start) = if at < stretch.fragments_to_leader {
                (
                    at + stretch.fragments - stretch.fragments_to_leader,
                    points + stretch.points - start,
                )
            } else {
                (
                    at - stretch.fragments_to_leader,
                    points.saturating_sub(start),
                )
            };
            let listed = (ring.first + after_leader) as usize;
            self.order[listed].store(fragment, Relaxed);
            self.points_before[listed].store(after_start, Relaxed);
            self.chains.ring_of[fragment as usize].store(id, Relaxed);
            at += 1;
            let this = &self.chains.fragments[fragment as usize];
            points += u64::from(this.points);
            fragment = this.next;
        }
    }
}

/// Sentinel: not known yet.
const NONE: u32 = u32::MAX;

/// Takes the fragments from the strips, and counts those before each strip. The successor of a
/// fragment that leaves all strips stays as it is.
pub(in crate::trace) fn gather(strips: &mut [Strip]) -> Result<(Vec<Fragment>, Vec<FragmentId>)> {
    let mut first_fragments = with_room(strips.len() + 1, "the strips")?;
    let mut count = 0;
    for strip in &*strips {
        first_fragments.push(count as FragmentId);
        count += strip.fragments.len() as u64;
        check_count(count)?;
    }
    first_fragments.push(count as FragmentId);
    let mut fragments = with_room(count as usize, "the fragments of borders")?;
    for i in 0..strips.len() {
        let own = std::mem::take(&mut strips[i].fragments);
        fragments.extend(own.into_iter().map(|mut fragment| {
            match fragment.exit {
                Exit::Above if i > 0 => {
                    fragment.next += first_fragments[i - 1] + strips[i - 1].from_above;
                }
                Exit::Below if i + 1 < strips.len() => {
                    fragment.next += first_fragments[i + 1];
                }
                _ => {}
            }
            fragment
        }));
    }
    Ok((fragments, first_fragments))
}

/// Whether a fragment is marked: one in 64, without a pattern.
#[inline]
const fn is_marked(fragment: FragmentId) -> bool {
    // The finalizer of MurmurHash3.
    let mut hash = fragment ^ fragment >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    (hash ^ hash >> 16) >> 26 == 0
}

/// Some fragments that follow each other, from a marked one on, or all of a ring.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    fragments: u32,
    /// The number of their points that are kept.
    points: u64,
    /// The fragment that passes the first of all vertical sides, and the number of fragments and
    /// points before it.
    leader: FragmentId,
    side: SideKey,
    fragments_to_leader: u32,
    points_to_leader: u64,
    /// The fragment after the last one.
    end: FragmentId,
}

impl Stretch {
    fn empty(first: FragmentId) -> Self {
        Self {
            fragments: 0,
            points: 0,
            leader: first,
            side: SideKey::NONE,
            fragments_to_leader: 0,
            points_to_leader: 0,
            end: first,
        }
    }

    /// Appends the fragments after it.
    fn add(&mut self, next: &Self) {
        if next.side < self.side {
            self.side = next.side;
            self.leader = next.leader;
            self.fragments_to_leader = self.fragments + next.fragments_to_leader;
            self.points_to_leader = self.points + next.points_to_leader;
        }
        self.fragments += next.fragments;
        self.points += next.points;
        self.end = next.end;
    }
}

/// A whole ring.
struct Cycle {
    /// The first fragment of `stretch`.
    first: FragmentId,
    stretch: Stretch,
}

/// Where a stretch is in its ring.
#[derive(Clone, Copy)]
struct PlaceInRing {
    cycle: u32,
    /// The fragments and points before it.
    fragments: u32,
    points: u64,
}

/// Finds the rings that have stretches, and the place of each stretch.
fn close(stretches: &[FragmentId], measured: &[Stretch]) -> Result<(Vec<Cycle>, Vec<PlaceInRing>)> {
    let mut places = with_room(stretches.len(), "the fragments of borders")?;
    let unknown = PlaceInRing {
        cycle: NONE,
        fragments: 0,
        points: 0,
    };
    places.resize(stretches.len(), unknown);
    let mut cycles = Vec::new();
    for (i, &first) in stretches.iter().enumerate() {
        if places[i].cycle != NONE {
            continue;
        }
        let mut cycle = Cycle {
            first,
            stretch: Stretch::empty(first),
        };
        let mut at = i;
        loop {
            places[at] = PlaceInRing {
                cycle: cycles.len() as u32,
                fragments: cycle.stretch.fragments,
                points: cycle.stretch.points,
            };
            cycle.stretch.add(&measured[at]);
            if cycle.stretch.end == first {
                break;
            }
            at = stretches.partition_point(|&other| other < cycle.stretch.end);
        }
        reserve(&mut cycles, 1, "the borders of fragments")?;
        cycles.push(cycle);
    }
    Ok((cycles, places))
}

/// Fragments, each with the one after it.
#[derive(Clone, Copy)]
struct Chains<'a> {
    fragments: &'a [Fragment],
    /// Anything but [`NONE`] for the fragments of stretches, once these are measured.
    ring_of: &'a [AtomicU32],
}

impl Chains<'_> {
    fn single(&self, id: FragmentId) -> Stretch {
        let fragment = &self.fragments[id as usize];
        Stretch {
            fragments: 1,
            points: fragment.points.into(),
            side: fragment.side,
            end: fragment.next,
            ..Stretch::empty(id)
        }
    }

    /// Measures the stretch of a marked fragment.
    fn measure(&self, first: FragmentId) -> Stretch {
        let mut stretch = self.single(first);
        self.ring_of[first as usize].store(0, Relaxed);
        while !is_marked(stretch.end) {
            let fragment = stretch.end;
            self.ring_of[fragment as usize].store(0, Relaxed);
            stretch.add(&self.single(fragment));
        }
        stretch
    }

    /// The ring with the lowest fragment `first`; `None` if the ring has a lower one or a marked
    /// one.
    fn close_unmarked(&self, first: FragmentId) -> Option<Cycle> {
        if self.ring_of[first as usize].load(Relaxed) != NONE {
            return None;
        }
        let mut stretch = self.single(first);
        while stretch.end != first {
            if stretch.end < first {
                return None;
            }
            stretch.add(&self.single(stretch.end));
        }
        Some(Cycle { first, stretch })
    }
}
