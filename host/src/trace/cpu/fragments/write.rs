//! Writing: from chain codes to points, each at its final place.
//!
//! The points of the result are divided evenly, at borders or at fragments. Each share is written
//! from beginning to end by one thread.

use glam::IVec2;
use rayon::prelude::*;

use super::super::approximate::{Points, offset};
use super::super::chains::{BorderId, Direction};
use super::super::plane::Plane;
use super::super::walk::{Centers, Edges, Walk};
use super::KeptPoints;
use super::follow::Strip;
use super::join::{Part, Piece, Rings};
use super::number::Border;
use crate::error::Result;
use crate::memory::{advise_large_pages, with_room, zeroed_vec};
use crate::trace::Geometry;

/// What the points are made of.
pub(in crate::trace::cpu) struct Pieces<'a> {
    pub(in crate::trace::cpu) strips: &'a [Strip],
    pub(in crate::trace::cpu) rings: &'a Rings,
    pub(in crate::trace::cpu) borders: &'a [Border],
    /// The number of rows of a strip.
    pub(in crate::trace::cpu) rows: u32,
    pub(in crate::trace::cpu) geometry: Geometry,
    pub(in crate::trace::cpu) kept: KeptPoints,
}

/// Shares per thread: enough that the threads end at about the same time.
const SHARES_PER_THREAD: usize = 8;

/// The fewest points of a share.
const LEAST_SHARE: usize = 1 << 14;

/// The fewest borders whose offsets are worth several threads.
const LEAST_BORDERS: usize = 1 << 14;

/// A place in the result where a border or a piece of a ring begins.
#[derive(Clone, Copy)]
struct Cut {
    /// The border's place in the order of the result.
    border: usize,
    piece: u32,
    /// The number of points before.
    points: usize,
}

impl Pieces<'_> {
    /// The points of the borders in `order`.
    pub(in crate::trace::cpu) fn points(&self, order: &[BorderId]) -> Result<Points> {
        let offsets = self.offsets(order)?;
        let total = offsets[order.len()];
        let mut points: Vec<IVec2> = zeroed_vec(total, "the contours' points")?;
        advise_large_pages(&mut points);
        let threads = rayon::current_num_threads();
        let most = match threads {
            1 => 1,
            _ => threads * SHARES_PER_THREAD,
        };
        let count = (total / LEAST_SHARE).clamp(1, most);
        let mut shares = with_room(count, "the contours' points")?;
        let mut rest = &mut *points;
        let mut from = Cut {
            border: 0,
            piece: 0,
            points: 0,
        };
        for share in 1..=count {
            let to = self.cut(
                order,
                &offsets,
                (total as u128 * share as u128 / count as u128) as usize,
            );
            let (points, after) = std::mem::take(&mut rest).split_at_mut(to.points - from.points);
            rest = after;
            shares.push((from, to, points));
            from = to;
        }
        shares
            .into_par_iter()
            .for_each(|(from, to, points)| self.write(order, from, to, points));
        Ok(Points { points, offsets })
    }

    /// The number of points of a border.
    fn count(&self, border: &Border) -> usize {
        match border.ring() {
            Some(ring) => self.rings.rings[ring as usize].points,
            None => border.points as usize,
        }
    }

    /// The number of points before each border, then of all.
    fn offsets(&self, order: &[BorderId]) -> Result<Vec<usize>> {
        let mut offsets: Vec<usize> = zeroed_vec(order.len() + 1, "the contours' offsets")?;
        let borders = self.borders;
        let count = |&id: &BorderId| self.count(&borders[id as usize]);
        let accumulate = |mut sum: usize, order: &[BorderId], offsets: &mut [usize]| {
            for (id, offset) in order.iter().zip(offsets) {
                sum += count(id);
                *offset = sum;
            }
        };
        let threads = rayon::current_num_threads();
        if threads == 1 || order.len() < LEAST_BORDERS {
            accumulate(0, order, &mut offsets[1..]);
            return Ok(offsets);
        }
        let chunk = order.len().div_ceil(threads * SHARES_PER_THREAD);
        let sums: Vec<usize> = order
            .par_chunks(chunk)
            .map(|order| order.iter().map(count).sum())
            .collect();
        let before: Vec<usize> = sums
            .iter()
            .scan(0, |sum, &own| Some(std::mem::replace(sum, *sum + own)))
            .collect();
        order
            .par_chunks(chunk)
            .zip(offsets[1..].par_chunks_mut(chunk))
            .zip(before)
            .for_each(|((order, offsets), before)| accumulate(before, order, offsets));
        Ok(offsets)
    }

    /// The first beginning of a border or piece at or after a number of points.
    fn cut(&self, order: &[BorderId], offsets: &[usize], points: usize) -> Cut {
        let end = |border: usize| Cut {
            border,
            piece: 0,
            points: offsets[border],
        };
        // The last border that begins at or before: all borders have points.
        let at = offsets.partition_point(|&offset| offset <= points) - 1;
        if at == order.len() || offsets[at] == points {
            return end(at);
        }
        let border = &self.borders[order[at] as usize];
        let Some(ring) = border.ring() else {
            return end(at + 1);
        };
        let within = points - offsets[at];
        let before = |piece| self.rings.piece(ring, piece).points_before;
        let (mut low, mut high) = (1, self.rings.piece_count(ring));
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle) < within {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.rings.piece_count(ring) {
            return end(at + 1);
        }
        Cut {
            border: at,
            piece: low,
            points: offsets[at] + before(low),
        }
    }

    /// Writes the points from one place to another.
    fn write(&self, order: &[BorderId], from: Cut, to: Cut, points: &mut [IVec2]) {
        let mut points = points;
        let mut first = from.piece;
        for (at, &id) in order
            .iter()
            .enumerate()
            .take(to.border + 1)
            .skip(from.border)
        {
            let border = &self.borders[id as usize];
            let is_last = at == to.border;
            match border.ring() {
                Some(ring) => {
                    let end = if is_last {
                        to.piece
                    } else {
                        self.rings.piece_count(ring)
                    };
                    for piece in first..end {
                        let piece = self.rings.piece(ring, piece);
                        points = self.write_piece(piece, points);
                    }
                }
                None if is_last => {}
                None => points = self.write_border(border, points),
            }
            first = 0;
        }
    }

    /// Writes all points of a closed border; returns the rest of `points`.
    fn write_border<'p>(&self, border: &Border, points: &'p mut [IVec2]) -> &'p mut [IVec2] {
        let (kind, x, y) = (border.side.kind(), border.side.x(), border.side.y);
        let start = match self.geometry {
            Geometry::Centers => Centers::<Plane>::start(kind, x, y).0,
            Geometry::Edges => Edges::<Plane>::start(kind, x, y).0,
        };
        let strip = &self.strips[(y / self.rows) as usize];
        let [begin, end] = border.steps.map(|step| step as usize);
        let steps = &strip.steps[begin..end];
        match steps.last() {
            Some(&last) => self.write_steps(start, last, steps, points),
            None => {
                points[0] = to_point(start);
                &mut points[1..]
            }
        }
    }

    /// Writes the points of a piece of a ring; returns the rest of `points`.
    fn write_piece<'p>(&self, piece: Piece, points: &'p mut [IVec2]) -> &'p mut [IVec2] {
        let fragment = &self.rings.fragments[piece.fragment as usize];
        let strip = &self.strips[fragment.strip as usize];
        let [begin, end] = fragment.steps.map(|step| step as usize);
        let steps = &strip.steps[begin..end];
        let (head, tail) = steps.split_at(fragment.steps_before as usize);
        match piece.part {
            Part::Whole => self.write_steps(fragment.first, fragment.step_in, steps, points),
            Part::Head => self.write_steps(fragment.first, fragment.step_in, head, points),
            Part::Tail => {
                let step_in = head.last().copied().unwrap_or(fragment.step_in);
                self.write_steps(fragment.start, step_in, tail, points)
            }
        }
    }

    /// Writes the kept points of some steps; returns the rest of `points`.
    fn write_steps<'p>(
        &self,
        start: (u32, u32),
        step_in: Direction,
        steps: &[Direction],
        points: &'p mut [IVec2],
    ) -> &'p mut [IVec2] {
        let start = to_point(start);
        match self.kept {
            KeptPoints::All => write_all(start, steps, points),
            KeptPoints::Turns => write_turns(start, step_in, steps, points),
        }
    }
}

fn write_all<'p>(start: IVec2, steps: &[Direction], points: &'p mut [IVec2]) -> &'p mut [IVec2] {
    let (own, rest) = points.split_at_mut(steps.len());
    let mut point = start;
    for (to, &step) in own.iter_mut().zip(steps) {
        *to = point;
        point += offset(step);
    }
    rest
}

fn write_turns<'p>(
    start: IVec2,
    mut step_in: Direction,
    steps: &[Direction],
    points: &'p mut [IVec2],
) -> &'p mut [IVec2] {
    let mut point = start;
    let mut at = 0;
    for eight in steps.chunks(8) {
        if eight
            .try_into()
            .is_ok_and(|eight: [_; 8]| eight == [step_in; 8])
        {
            // Straight on, with nothing to keep.
            point += offset(step_in) * 8;
            continue;
        }
        for &step in eight {
            // Each is written, and kept or overwritten by the next.
            if let Some(to) = points.get_mut(at) {
                *to = point;
            }
            at += usize::from(step != step_in);
            step_in = step;
            point += offset(step);
        }
    }
    &mut points[at..]
}

fn to_point((x, y): (u32, u32)) -> IVec2 {
    IVec2::new(x as i32, y as i32)
}
