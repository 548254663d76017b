//! Numbering: closed borders and rings in raster order of their starts, and their parents.
//!
//! All rows of a strip come before those of the next, so each strip is merged on its own. A border's
//! parent is found in its strip, unless that is what it has in common with a ring from a strip above
//! it; then the ring is noted, and replaced once the parents of rings are known.

use std::ops::Range;

use rayon::prelude::*;

use super::super::chains::{BorderId, NO_BORDER, Nesting, check_count};
use super::follow::{Closed, FragmentId, Strip};
use super::join::{Ring, RingId, Rings};
use super::{for_each, with_room};
use crate::error::Result;
use crate::memory::zeroed_vec;
use crate::trace::contours::BorderKind;

/// A border, once it is numbered.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
pub(super) struct Border {
    /// The pixel where it is discovered.
    pub(super) x: u32,
    pub(super) y: u32,
    /// Where its steps are in those of its strip; of a ring, its [`RingId`] and [`RING`].
    pub(super) steps: [u32; 2],
    /// The number of its points that are kept; not of a ring.
    pub(super) points: u32,
}

/// In the place of the end of a border's steps.
const RING: u32 = u32::MAX;

impl Border {
    pub(super) fn ring(&self) -> Option<RingId> {
        (self.steps[1] == RING).then_some(self.steps[0])
    }
}

/// All borders, in raster order.
pub(super) struct Borders {
    pub(super) borders: Vec<Border>,
    pub(super) nesting: Nesting,
}

/// In the place of a parent: that of the ring in the other bits. [`NO_BORDER`] has this bit too.
const AS_RING: u32 = 1 << 31;

/// Takes the closed borders from the strips, of `rows` rows each, and numbers all borders.
pub(super) fn number(strips: &mut [Strip], rings: &Rings, rows: u32) -> Result<Borders> {
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
    for_each(work, |(strip, merge, target)| {
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
        parents.par_iter_mut().for_each(|parent| {
            if *parent & AS_RING != 0 && *parent != NO_BORDER {
                *parent = ring_parents[(*parent ^ AS_RING) as usize];
            }
        });
    }
    Ok(Borders {
        borders,
        nesting: Nesting { kinds, parents },
    })
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

    /// The border of a ring that starts here.
    fn ring_id(&self, ring: RingId) -> BorderId {
        let at = (ring - self.rings.start) as usize;
        (self.first + at) as BorderId + self.closed_before[at]
    }

    /// The border of a closed one.
    fn closed_id(&self, closed: u32) -> BorderId {
        let rings = self
            .closed_before
            .partition_point(|&before| before <= closed);
        (self.first + rings) as BorderId + closed
    }

    /// Merges the borders of the strip, and finds their parents.
    fn write(&self, strip: &mut Strip, rings: &Rings, ring_ids: &[BorderId], target: Target<'_>) {
        let [first_fragment, end] = [self.strip, self.strip + 1].map(|i| rings.first_fragments[i]);
        let fragments = end - first_fragment;
        let Target {
            borders,
            kinds,
            parents,
        } = target;
        // The parent of a border of some kind, by what passes the side before it.
        let parent = |kind: BorderKind, before: FragmentId, kinds: &[_], parents: &[BorderId]| {
            if before == NO_BORDER {
                return NO_BORDER;
            }
            let id = if before < fragments {
                let ring = rings.ring_of(first_fragment + before);
                let id = ring_ids[ring as usize];
                if (id as usize) < self.first {
                    let leader = rings.rings[ring as usize].leader;
                    let other = rings.fragments[leader as usize].side.kind();
                    return if kind == other { AS_RING | ring } else { id };
                }
                id
            } else {
                self.closed_id(before - fragments)
            };
            let at = id as usize - self.first;
            if kinds[at] == kind { parents[at] } else { id }
        };

        let closed = std::mem::take(&mut strip.closed);
        let mut steps_begin = rings.steps_of_fragments(self.strip);
        let mut each_ring = self.rings.clone().zip(&self.closed_before).peekable();
        let mut at = 0;
        let mut add = |border: Border, kind, before| {
            borders[at] = border;
            parents[at] = parent(kind, before, kinds, parents);
            kinds[at] = kind;
            at += 1;
        };
        let of_ring = |ring: RingId| {
            let leader = &rings.fragments[rings.rings[ring as usize].leader as usize];
            let border = Border {
                x: leader.side.x(),
                y: leader.side.y,
                steps: [ring, RING],
                points: 0,
            };
            (border, leader.side.kind(), leader.before)
        };
        for (i, closed) in closed.iter().enumerate() {
            while let Some((ring, _)) = each_ring.next_if(|&(_, &before)| before as usize <= i) {
                let (border, kind, before) = of_ring(ring);
                add(border, kind, before);
            }
            let &Closed {
                side,
                steps_end,
                points,
                before,
            } = closed;
            let border = Border {
                x: side.x(),
                y: side.y,
                steps: [steps_begin, steps_end],
                points,
            };
            steps_begin = steps_end;
            add(border, side.kind(), before);
        }
        for (ring, _) in each_ring {
            let (border, kind, before) = of_ring(ring);
            add(border, kind, before);
        }
    }
}
