//! Checks that the borders of a part are valid.
//!
//! A part that was read from bytes, or joined from such parts, is untrusted. Its lists and names
//! are checked when it is read. The steps of its borders are known once all parts are joined, and
//! are checked then.

use rayon::prelude::*;

use super::bytes::PART;
use super::part::Part;
use super::pool::{Border, NO_ITEM, NO_PIECE, Pool, RegionValue};
use super::runs::Runs;
use super::store::Segments;
use crate::bytes::damaged;
use crate::error::Result;
use crate::image::MAX_SIDE;
use crate::trace::contours::BorderKind;
use crate::trace::cpu::chains::STEPS;
use crate::trace::cpu::fragments::KeptPoints;
use crate::trace::cpu::plane::Plane;
use crate::trace::cpu::walk::{Centers, Edges, Walk};
use crate::trace::{ContourOptions, Geometry};

impl<V: RegionValue> Part<V> {
    /// Refuses invalid borders: those that start beyond the image or leave it, do not end where
    /// they start, have another number of points, or come before the border that they lie in.
    ///
    /// Time: linear in the runs of equal steps.
    pub(super) fn check_borders(&mut self) -> Result<()> {
        let size = (self.width, self.rows.end);
        for i in 0..self.pool.borders.len() {
            let Border { key, before, .. } = self.pool.borders[i];
            let (x, y) = key.pixel();
            let holds = match self.pool.border_of(before) {
                Some(before) => self.pool.borders[before as usize].key < key,
                None => before == NO_ITEM && key.kind() == BorderKind::Outer,
            };
            if !holds || x >= size.0 || y >= size.1 {
                return Err(damaged(PART, "a border starts where none can"));
            }
        }
        let Some(segments) = self.pool.store.segments() else {
            return Ok(());
        };
        let check = Check {
            pool: &self.pool,
            segments,
            options: &self.options,
            size: (size.0.into(), size.1.into()),
        };
        let borders = self.pool.borders.par_iter().with_min_len(256);
        borders.try_for_each_init(Vec::new, |room, border| check.border(border, room))
    }
}

struct Check<'a, V> {
    pool: &'a Pool<V>,
    segments: &'a Segments,
    options: &'a ContourOptions,
    size: (i64, i64),
}

impl<V: RegionValue> Check<'_, V> {
    fn border(&self, border: &Border<V>, room: &mut Vec<u8>) -> Result<()> {
        room.clear();
        let mut next = border.first_piece;
        while next != NO_PIECE {
            let piece = self.pool.pieces[next as usize];
            self.segments
                .read(piece.offset, piece.bytes as usize, room)?;
            next = piece.next;
        }
        match self.is_border(border, room) {
            true => Ok(()),
            false => Err(damaged(
                PART,
                "a border's steps do not lead back to its start",
            )),
        }
    }

    fn is_border(&self, border: &Border<V>, steps: &[u8]) -> bool {
        let (kept, _) = KeptPoints::of(self.options);
        let is_along_edges = self.options.geometry == Geometry::Edges;
        let (x, y) = border.key.pixel();
        let kind = border.key.kind();
        let (start, _) = match is_along_edges {
            false => Centers::<Plane>::start(kind, x, y),
            true => Edges::<Plane>::start(kind, x, y),
        };
        let start = (i64::from(start.0), i64::from(start.1));
        let points = border.length.points();
        if steps.is_empty() {
            return points == 1 && !is_along_edges;
        }
        let mut at = start;
        let mut last = border.length.step_in();
        let mut count = 0;
        for (direction, length) in Runs(steps) {
            if length > MAX_SIDE as usize || is_along_edges && direction % 2 != 0 {
                return false;
            }
            count += match kept {
                KeptPoints::All => length as u64,
                KeptPoints::Turns => u64::from(direction != last),
            };
            last = direction;
            let (x, y) = STEPS[usize::from(direction)];
            at.0 += i64::from(x) * length as i64;
            at.1 += i64::from(y) * length as i64;
            // Along edges, one corner more.
            if !(0..=self.size.0).contains(&at.0) || !(0..=self.size.1).contains(&at.1) {
                return false;
            }
        }
        at == start && count == points && count > 0
    }
}
