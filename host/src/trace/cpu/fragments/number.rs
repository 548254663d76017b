//! Numbering: closed borders and rings in raster order of their starts, and their parents.
//!
//! All rows of a strip come before those of the next, so each strip is merged on its own. A
//! border's parent is found in its strip, unless the border is a sibling of a ring from a strip
//! above. Such a parent is noted as that ring's, and replaced once the parents of rings are known.

use std::mem::take;
use std::ops::Range;

use rayon::prelude::*;

use super::super::chains::{BorderId, NO_BORDER, Nesting, check_count};
use super::follow::{Closed, FragmentId, SideKey, Strip};
use super::join::{Ring, RingId, Rings};
use crate::error::Result;
use crate::memory::{advise_large_pages, with_room, zeroed_vec};
use crate::trace::contours::BorderKind;

/// A border, once it is numbered.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
pub(in crate::trace::cpu) struct Border {
    /// Where it is discovered.
    pub(in crate::trace::cpu) side: SideKey,
    /// The range of its steps in its strip's; for a ring, its [`RingId`] and [`RING`].
    pub(in crate::trace::cpu) steps: [u32; 2],
    /// The number of its points that are kept; unused for a ring.
    pub(in crate::trace::cpu) points: u32,
}

/// Sentinel for the end of a border's steps: the border is a ring.
const RING: u32 = u32::MAX;

impl Border {
    pub(in crate::trace::cpu) fn ring(&self) -> Option<RingId> {
        (self.steps[1] == RING).then_some(self.steps[0])
    }
}

/// Flag of a parent: the same parent as the ring in the other bits. [`NO_BORDER`] has this bit too.
const AS_RING: u32 = 1 << 31;

/// The fewest borders that are worth a task.
const LEAST_SHARE: usize = 1 << 14;

/// Takes the closed borders from the strips, of `rows` rows each. Returns all borders, in raster
/// order.
pub(in crate::trace::cpu) fn number(
    strips: &mut [Strip],
    rings: &Rings,
    rows: u32,
) -> Result<(Vec<Border>, Nesting)> {
    let merges = Merge::all(strips, rings, rows)?;
    let count = merges.last().map_or(0, |last| last.end());
    check_count(count)?;
    let mut ring_ids = with_room(rings.rings.len(), "the borders of fragments")?;
    for merge in &merges {
        ring_ids.extend(merge.rings.clone().map(|ring| merge.ring_id(ring)));
    }

    let mut borders: Vec<Border> = zeroed_vec(count, "the borders")?;
    let mut kinds = with_room(count, "the borders")?;
    kinds.resize(count, BorderKind::Outer);
    let mut parents: Vec<BorderId> = zeroed_vec(count, "the borders' parents")?;
    advise_large_pages(&mut borders);
    advise_large_pages(&mut parents);
    let mut work = with_room(strips.len(), "the strips")?;
    let mut rest = (&mut *borders, &mut *kinds, &mut *parents);
    for (strip, merge) in strips.iter_mut().zip(&merges) {
        let (borders, after) = rest.0.split_at_mut(merge.len());
        rest.0 = after;
        let (kinds, after) = rest.1.split_at_mut(merge.len());
        rest.1 = after;
        let (parents, after) = rest.2.split_at_mut(merge.len());
        rest.2 = after;
        let target = Target {
            borders,
            kinds,
            parents,
        };
        work.push((strip, merge, target));
    }
    work.into_par_iter().for_each(|(strip, merge, target)| {
        merge.write(strip, rings, &ring_ids, target);
    });

    if strips.len() > 1 {
        let mut ring_parents: Vec<BorderId> = with_room(ring_ids.len(), "the borders' parents")?;
        for &id in &ring_ids {
            let parent = match parents[id as usize] {
                NO_BORDER => NO_BORDER,
                ring @ AS_RING.. => ring_parents[(ring ^ AS_RING) as usize],
                parent => parent,
            };
            ring_parents.push(parent);
        }
        let each = parents.par_iter_mut().with_min_len(LEAST_SHARE);
        each.for_each(|parent| {
            if *parent & AS_RING != 0 && *parent != NO_BORDER {
                *parent = ring_parents[(*parent ^ AS_RING) as usize];
            }
        });
    }
    Ok((borders, Nesting { kinds, parents }))
}

/// How the borders of a strip are merged.
struct Merge {
    /// The strip's index.
    strip: usize,
    /// The number of borders in the strips above.
    first: usize,
    /// The number of closed borders.
    closed: usize,
    /// The rings that start in the strip.
    rings: Range<RingId>,
    /// For each of them, the number of closed borders before it.
    closed_before: Vec<u32>,
}

/// Where the borders of a strip go.
struct Target<'a> {
    borders: &'a mut [Border],
    kinds: &'a mut [BorderKind],
    parents: &'a mut [BorderId],
}

impl Merge {
    fn all(strips: &[Strip], rings: &Rings, rows: u32) -> Result<Vec<Self>> {
        let mut merges: Vec<Self> = with_room(strips.len(), "the strips")?;
        let side = |ring: &Ring| rings.fragments[ring.leader as usize].side;
        for (i, strip) in strips.iter().enumerate() {
            let (first, first_ring) = match merges.last() {
                Some(last) => (last.end(), last.rings.end),
                None => (0, 0),
            };
            let others = &rings.rings[first_ring as usize..];
            let count = others.partition_point(|ring| (side(ring).y / rows) as usize <= i);
            let mut closed_before = with_room(count, "the borders of fragments")?;
            let before = |ring| {
                let side = side(ring);
                strip.closed.partition_point(|closed| closed.side < side) as u32
            };
            closed_before.extend(others[..count].iter().map(before));
            merges.push(Self {
                strip: i,
                first,
                closed: strip.closed.len(),
                rings: first_ring..first_ring + count as RingId,
                closed_before,
            });
        }
        Ok(merges)
    }

    /// The number of borders.
    fn len(&self) -> usize {
        self.closed + self.rings.len()
    }

    /// The number of borders up to the end of this strip.
    fn end(&self) -> usize {
        self.first + self.len()
    }

    /// The border of a ring that starts in this strip.
    fn ring_id(&self, ring: RingId) -> BorderId {
        let at = (ring - self.rings.start) as usize;
        (self.first + at) as BorderId + self.closed_before[at]
    }

    /// Merges the borders of the strip, and finds their parents.
    fn write(&self, strip: &mut Strip, rings: &Rings, ring_ids: &[BorderId], target: Target<'_>) {
        let [first_fragment, end] = [self.strip, self.strip + 1].map(|i| rings.first_fragments[i]);
        let fragments = end - first_fragment;
        let mut merged = Merged {
            target,
            len: 0,
            closed: take(&mut strip.closed),
            first: self.first,
        };
        // A border of the strip; or, for a ring from above, the parent: that ring, or the ring's
        // parent if they are siblings.
        let ring_before = |kind: BorderKind, before: FragmentId| {
            let ring = rings.ring_of(first_fragment + before);
            let id = ring_ids[ring as usize];
            if id as usize >= self.first {
                return Before::Own(id as usize - self.first);
            }
            let leader = rings.rings[ring as usize].leader;
            let is_sibling = rings.fragments[leader as usize].side.kind() == kind;
            Before::Parent(if is_sibling { AS_RING | ring } else { id })
        };
        let before = |merged: &Merged<'_>, kind: BorderKind, before: FragmentId| {
            if before == NO_BORDER {
                Before::Parent(NO_BORDER)
            } else if before < fragments {
                ring_before(kind, before)
            } else {
                Before::Own(merged.closed[(before - fragments) as usize].before as usize)
            }
        };
        let add_ring = |merged: &mut Merged<'_>, ring: RingId| {
            let leader = &rings.fragments[rings.rings[ring as usize].leader as usize];
            let border = Border {
                side: leader.side,
                steps: [ring, RING],
                points: 0,
            };
            let kind = leader.side.kind();
            merged.add(border, kind, before(merged, kind, leader.before));
        };

        let mut steps_begin = rings.steps_of_fragments(self.strip);
        let mut each_ring = self.rings.clone().zip(&self.closed_before).peekable();
        for i in 0..merged.closed.len() {
            while let Some((ring, _)) = each_ring.next_if(|&(_, &before)| before as usize <= i) {
                add_ring(&mut merged, ring);
            }
            let closed = merged.closed[i];
            let border = Border {
                side: closed.side,
                steps: [steps_begin, closed.steps_end],
                points: closed.points,
            };
            steps_begin = closed.steps_end;
            let kind = closed.side.kind();
            // From now on, its place in `target`.
            merged.closed[i].before = merged.len as u32;
            merged.add(border, kind, before(&merged, kind, closed.before));
        }
        for (ring, _) in each_ring {
            add_ring(&mut merged, ring);
        }
    }
}

/// What the side before a border's start tells about its parent.
#[derive(Clone, Copy)]
enum Before {
    /// A border of the strip passes it: its place there.
    Own(usize),
    /// The border's parent.
    Parent(BorderId),
}

/// The borders of a strip that are merged so far.
struct Merged<'a> {
    target: Target<'a>,
    len: usize,
    /// The closed borders; for merged ones, `before` is the place in `target`.
    closed: Vec<Closed>,
    /// The number of borders in the strips above.
    first: usize,
}

impl Merged<'_> {
    fn add(&mut self, border: Border, kind: BorderKind, before: Before) {
        let Target {
            borders,
            kinds,
            parents,
        } = &mut self.target;
        borders[self.len] = border;
        kinds[self.len] = kind;
        parents[self.len] = match before {
            Before::Own(at) if kinds[at] == kind => parents[at],
            Before::Own(at) => (self.first + at) as BorderId,
            Before::Parent(parent) => parent,
        };
        self.len += 1;
    }
}
