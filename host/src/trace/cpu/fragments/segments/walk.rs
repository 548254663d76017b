//! Walking along the linked segments: from cycles and paths to chain codes. Along edges, the points
//! where a border turns are those that are kept.

use super::super::super::chains::Direction;
use super::super::super::pixels::Pixels;
use super::super::follow::{Closed, Exit, Fragment, FragmentId, SideKey, check_count};
use super::steps::{Steps, Straight};
use super::{EXIT, End, Ground, SegmentId, Segments, Top, WALKED, first_column, first_of};
use crate::error::Result;
use crate::memory::reserve;
use crate::trace::contours::BorderKind;

const EAST: Direction = 0;
const UP: Direction = 2;
const WEST: Direction = 4;
const DOWN: Direction = 6;

impl<P: Pixels> Ground<'_, P> {
    /// Walks along fragment `id`. Its [`before`](Fragment::before) becomes the segment with its
    /// side.
    pub(super) fn walk_fragment(
        &self,
        segments: &mut Segments,
        id: FragmentId,
        steps: &mut Steps<'_>,
    ) -> Result<Fragment> {
        let mut segment = first_of(id);
        let step_in = segments.steps_in[id as usize];
        let first_step = steps.len();
        let mut at = segments.ends[segment as usize];
        let mut fragment = Fragment {
            next: 0,
            exit: Exit::Above,
            step_in,
            strip: self.strip.index,
            steps: [first_step as u32; 2],
            first: (at.x, self.strip.rows.start + at.line()),
            points: 0,
            side: SideKey::NONE,
            steps_before: 0,
            points_before: 0,
            start: (0, 0),
            before: 0,
        };
        let mut so_far = SoFar {
            before: step_in,
            steps: 0,
            turns: 0,
        };
        if at.is_top() {
            self.may_begin(&mut fragment, (segment, at), BorderKind::Outer, &so_far);
        }
        loop {
            segment = segments.walk_along(segment, id);
            let end = segments.ends[segment as usize];
            so_far.add(steps, vertical(at, end))?;
            if segments.next[segment as usize] & EXIT != 0 {
                // The corner, which is the border's next point.
                at = end;
                break;
            }
            let side = horizontal(at, end);
            if end.is_top() && side.0 == EAST {
                // Where the segment begins.
                let begin = (segment, End { y: end.y, ..at });
                self.may_begin(&mut fragment, begin, BorderKind::Hole, &so_far);
            }
            at = end;
            so_far.add(steps, side)?;
            if at.is_top() && side.0 == WEST {
                self.may_begin(&mut fragment, (segment, at), BorderKind::Outer, &so_far);
            }
        }
        if at.is_top() {
            self.may_begin(&mut fragment, (segment, at), BorderKind::Hole, &so_far);
        }
        let exit = segments.walk_along(segment, id) & !EXIT;
        (fragment.exit, fragment.next) = segments.exits[exit as usize];
        fragment.steps[1] = steps.len() as u32;
        fragment.points = so_far.turns;
        Ok(fragment)
    }

    /// Notes that a border of a kind may begin at a corner, which an end of a segment of a fragment
    /// is.
    fn may_begin(
        &self,
        fragment: &mut Fragment,
        (segment, corner): (SegmentId, End),
        kind: BorderKind,
        so_far: &SoFar,
    ) {
        let (x, y) = (corner.x, self.strip.rows.start + corner.line());
        let side = SideKey::new(kind, first_column(kind, x), y);
        if side < fragment.side {
            fragment.side = side;
            fragment.start = (x, y);
            fragment.steps_before = so_far.steps as u32;
            fragment.points_before = so_far.turns;
            fragment.before = segment;
        }
    }

    /// Walks along the borders that are closed in the strip; their ids begin with `first_id`.
    pub(super) fn walk_closed(
        &self,
        segments: &mut Segments,
        first_id: FragmentId,
        steps: &mut Steps<'_>,
        closed: &mut Vec<Closed>,
    ) -> Result<()> {
        for top in 0..segments.tops.len() {
            let top = segments.tops[top];
            if segments.next[top.segment as usize] & WALKED != 0 {
                continue;
            }
            check_count(u64::from(first_id) + closed.len() as u64 + 1)?;
            let id = first_id + closed.len() as FragmentId;
            let end = segments.ends[top.segment as usize];
            let kind = end.kind(top.x);
            let before = segments.border_of(top.before);
            let count = segments.walk_border(&top, kind, id, steps)?;
            reserve(closed, 1, "the borders")?;
            let y = self.strip.rows.start + end.line();
            closed.push(Closed {
                side: SideKey::new(kind, first_column(kind, top.x), y),
                steps_end: steps.len() as u32,
                // Each segment begins and ends where the border turns.
                points: 2 * count,
                before,
            });
        }
        Ok(())
    }
}

/// The steps of a fragment up to a point.
struct SoFar {
    /// The last one.
    before: Direction,
    steps: usize,
    /// The number of points where it turns.
    turns: u32,
}

impl SoFar {
    /// Appends a side, which may have no steps.
    #[inline(always)]
    fn add(&mut self, steps: &mut Steps<'_>, side: Straight) -> Result<()> {
        let (direction, count) = side;
        if count > 0 {
            steps.add(side)?;
            self.steps += count;
            self.turns += u32::from(direction != self.before);
            self.before = direction;
        }
        Ok(())
    }
}

impl Segments {
    /// Walks along a border: an outer border from the end of its top on, a hole's from where its
    /// top begins. Returns the number of segments.
    fn walk_border(
        &mut self,
        top: &Top,
        kind: BorderKind,
        id: FragmentId,
        steps: &mut Steps<'_>,
    ) -> Result<u32> {
        let mut at = self.ends[top.segment as usize];
        if kind == BorderKind::Hole {
            steps.add((EAST, (at.x - top.x) as usize))?;
        }
        let mut count = 1;
        let mut segment = self.walk_along(top.segment, id);
        while segment != top.segment {
            let end = self.ends[segment as usize];
            steps.add_two(vertical(at, end), horizontal(at, end))?;
            at = end;
            count += 1;
            segment = self.walk_along(segment, id);
        }
        let end = self.ends[segment as usize];
        steps.add(vertical(at, end))?;
        if kind == BorderKind::Outer {
            steps.add((WEST, (at.x - end.x) as usize))?;
        }
        Ok(count)
    }

    /// Notes the border of a segment; returns what came after it.
    #[inline(always)]
    fn walk_along(&mut self, segment: SegmentId, border: FragmentId) -> SegmentId {
        std::mem::replace(&mut self.next[segment as usize], border | WALKED)
    }
}

/// The steps along the vertical side between the ends of two segments.
#[inline(always)]
fn vertical(from: End, to: End) -> Straight {
    let (from, to) = (from.line(), to.line());
    let direction = if from < to { DOWN } else { UP };
    (direction, from.abs_diff(to) as usize)
}

/// The steps along a segment, from the end of the one before.
#[inline(always)]
fn horizontal(from: End, to: End) -> Straight {
    let direction = if from.x < to.x { EAST } else { WEST };
    (direction, from.x.abs_diff(to.x) as usize)
}
