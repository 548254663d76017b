//! [`StripWalk`]: the walk over pixel centers in one strip, along its fragments and its closed
//! borders.

use std::ops::Range;

use super::super::chains::{Direction, NO_BORDER};
use super::super::neighbours::{EAST, WEST};
use super::super::pixels::{MAX_STRAIGHT, Pixels};
use super::super::sides::{Marks, Side};
use super::super::walk::{Centers, Node, Walk};
use super::KeptPoints;
use super::follow::{Closed, Exit, Fragment, FragmentId, SideKey, check_count};
use super::ways::{MOST_STEPS, NextNode};
use crate::error::{Error, Result};
use crate::memory::reserve;
use crate::trace::contours::BorderKind;

/// The walk in one strip.
pub(super) struct StripWalk<'a, P, N> {
    pub(super) walk: &'a Centers<'a, P>,
    pub(super) next: N,
    pub(super) plane: &'a P,
    pub(super) marks: &'a mut Marks,
    /// The strip's first row in the band.
    pub(super) first_row: u32,
    /// The places of the strip's rows.
    pub(super) places: Range<usize>,
    pub(super) kept: KeptPoints,
    pub(super) steps: &'a mut Vec<Direction>,
}

/// The result of a walk.
struct Walked {
    /// The node after it.
    end: Node,
    /// The number of points where it turns.
    turns: u32,
}

/// The first side that a walk passes of those that are [looked at](Fragment::side).
#[derive(Clone, Copy)]
struct FirstSide {
    /// Twice its pixel's place, and 1 for the east side.
    key: usize,
    /// The number of steps, and of points where the walk turns, before the side at which a border
    /// may begin.
    steps: usize,
    turns: u32,
}

/// A fragment, and the node after it, by which its border enters the adjacent strip.
pub(super) struct Followed {
    pub(super) fragment: Fragment,
    pub(super) end: Node,
}

impl<P: Pixels, N: NextNode> StripWalk<'_, P, N> {
    /// Follows the fragment that begins at a node.
    pub(super) fn follow_fragment(
        &mut self,
        node: Node,
        id: FragmentId,
        strip: u32,
    ) -> Result<Followed> {
        let step_in = self.walk.step_in(node);
        let begin = self.steps.len();
        let mut first_side = FirstSide {
            key: usize::MAX,
            steps: 0,
            turns: 0,
        };
        let Walked { end, turns } = self.walk::<true>(node, step_in, id, &mut first_side)?;
        let steps = [begin, self.steps.len()];
        let (x, y) = self.coordinates(node.place);
        let points = |steps: usize, turns| match self.kept {
            KeptPoints::All => steps as u32,
            KeptPoints::Turns => turns,
        };
        let mut fragment = Fragment {
            next: 0,
            exit: Exit::Above,
            step_in,
            strip,
            steps: steps.map(|step| step as u32),
            first: (x, y),
            points: points(steps[1] - steps[0], turns),
            side: SideKey::NONE,
            steps_before: 0,
            points_before: 0,
            start: (0, 0),
            before: NO_BORDER,
        };
        if first_side.key != usize::MAX {
            let kind = kind(first_side.key);
            let (x, y) = self.coordinates(first_side.key / 2);
            fragment.side = SideKey::new(kind, x, y);
            fragment.start = (x, y);
            fragment.steps_before = first_side.steps as u32;
            fragment.points_before = points(first_side.steps, first_side.turns);
        }
        Ok(Followed { fragment, end })
    }

    /// Follows the borders that are closed in the strip; their ids begin with `first_id`.
    pub(super) fn follow_closed(
        &mut self,
        first_id: FragmentId,
        closed: &mut Vec<Closed>,
    ) -> Result<()> {
        let rows = (self.places.len() / self.plane.stride()) as u32;
        for y in 0..rows {
            let mut x = 0;
            while let Some(side) = self.marks.next_unpassed(y, &mut x) {
                let (kind, aside) = match side {
                    Side::West => (BorderKind::Outer, 4),
                    Side::East => (BorderKind::Hole, 0),
                };
                check_count(u64::from(first_id) + closed.len() as u64 + 1)?;
                let id = first_id + closed.len() as FragmentId;
                let before = self.marks.border_before(self.plane, kind, x, y);
                let place = self.plane.place(x, y);
                let begin = self.steps.len();
                let turns = match self.walk.node_at(place, aside) {
                    Some(code) => self.follow_border(Node { place, code }, id)?,
                    None => {
                        self.marks.pass(place, WEST | EAST, id);
                        1
                    }
                };
                reserve(closed, 1, "the borders")?;
                let steps = self.steps.len() - begin;
                closed.push(Closed {
                    side: SideKey::new(kind, x, self.first_row + y),
                    steps_end: self.steps.len() as u32,
                    points: match self.kept {
                        KeptPoints::All => steps.max(1) as u32,
                        KeptPoints::Turns => turns,
                    },
                    before,
                });
            }
        }
        Ok(())
    }

    /// Follows the border that is discovered at a node. Returns the number of points where it
    /// turns.
    fn follow_border(&mut self, node: Node, id: FragmentId) -> Result<u32> {
        let step_in = self.walk.step_in(node);
        let mut unused = FirstSide {
            key: usize::MAX,
            steps: 0,
            turns: 0,
        };
        let walked = self.walk::<false>(node, step_in, id, &mut unused)?;
        Ok(walked.turns)
    }

    /// Walks from a node, passes sides, and appends the steps. A fragment's walk ends where it
    /// leaves the strip, a border's where it began.
    fn walk<const FRAGMENT: bool>(
        &mut self,
        start: Node,
        step_in: Direction,
        id: FragmentId,
        first_side: &mut FirstSide,
    ) -> Result<Walked> {
        let begin = self.steps.len();
        let mut node = start;
        let (mut before, mut turns) = (step_in, 0);
        loop {
            let mut latest = [0; MOST_STEPS];
            let mut count = 0;
            let (at, step, mut ends) = loop {
                let at = node;
                let (step, is_marked);
                (node, step, is_marked) = self.next.next(at);
                if is_marked {
                    self.marks.pass(at.place, step.passed, id);
                }
                latest[count] = step.direction;
                if FRAGMENT && is_marked {
                    let east = step.passed & WEST == 0;
                    let key = at.place * 2 + usize::from(east);
                    if key < first_side.key {
                        *first_side = FirstSide {
                            key,
                            steps: self.steps.len() + count - begin,
                            turns: turns + count_turns(before, &latest[..count]),
                        };
                    }
                }
                count += 1;
                let ends = self.ends::<FRAGMENT>(node, start);
                if count == N::STEPS || ends {
                    break (at, step, ends);
                }
            };
            let straight =
                node.code == at.code && step.to == step.direction && step.direction & 3 == 0;
            let latest = &latest[..count];
            self.add_steps(latest)?;
            turns += count_turns(before, latest);
            before = latest[count - 1];
            if !ends && straight && latest.iter().all(|&step| step == before) {
                // Horizontal runs are long in layouts. A run may end at the start but not go
                // through it: a border starts where it has background to its W (outer) or E (hole).
                let straight = self.plane.straight(node.place, before);
                self.steps.resize(self.steps.len() + straight, before);
                match before {
                    0 => node.place += straight,
                    _ => node.place -= straight,
                }
                ends = self.ends::<FRAGMENT>(node, start);
            }
            if ends {
                return Ok(Walked { end: node, turns });
            }
        }
    }

    /// Whether a walk ends before a node: a fragment's where it leaves the strip, a border's where
    /// it began.
    #[inline(always)]
    fn ends<const FRAGMENT: bool>(&self, node: Node, start: Node) -> bool {
        if FRAGMENT {
            !self.places.contains(&node.place)
        } else {
            node == start
        }
    }

    /// Appends steps, and makes room for those of a straight run.
    #[inline]
    fn add_steps(&mut self, steps: &[Direction]) -> Result<()> {
        if self.steps.capacity() - self.steps.len() < MOST_STEPS + MAX_STRAIGHT {
            self.make_room()?;
        }
        self.steps.extend_from_slice(steps);
        Ok(())
    }

    /// Makes room for the latest steps and those of a straight run.
    #[cold]
    fn make_room(&mut self) -> Result<()> {
        let limit = u32::MAX as usize;
        if self.steps.len() > limit - 2 * (MOST_STEPS + MAX_STRAIGHT) {
            return Err(Error::TooMany {
                what: "steps of borders in a strip",
                limit: limit as u64,
            });
        }
        reserve(
            self.steps,
            MOST_STEPS + MAX_STRAIGHT,
            "the chain codes of borders",
        )
    }

    /// The pixel of the band at a place.
    fn coordinates(&self, place: usize) -> (u32, u32) {
        let (x, y) = self.plane.coordinates(place);
        (x, self.first_row + y)
    }
}

/// The number of steps whose direction differs from that of the step before.
#[inline(always)]
fn count_turns(mut before: Direction, steps: &[Direction]) -> u32 {
    let mut turns = 0;
    for &step in steps {
        turns += u32::from(step != before);
        before = step;
    }
    turns
}

/// The kind of a border that starts at the side with this key.
fn kind(key: usize) -> BorderKind {
    if key & 1 == 0 {
        BorderKind::Outer
    } else {
        BorderKind::Hole
    }
}
