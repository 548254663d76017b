//! Linking: each segment of a strip to the one after it.

use std::hint::select_unpredictable as select;
use std::ops::Range;

use super::super::super::pixels::{Pixels, SPARE_ROWS};
use super::super::super::walk::Rim;
use super::corners::{
    ABOVE_LEFT_ACROSS, ABOVE_LEFT_BACK, ABOVE_RIGHT_ACROSS, ABOVE_RIGHT_BACK, Around,
    BELOW_LEFT_ACROSS, BELOW_LEFT_BACK, BELOW_RIGHT_ACROSS, BELOW_RIGHT_BACK, Corners, LineWord,
};
use super::{End, Ground, NONE, Seams, SegmentId, Segments};
use crate::error::Result;
use crate::image::WORD_BITS;

/// The segments of the line so far that have not ended, above the line and below it.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) y: u32,
    pub(super) above: Unended,
    pub(super) below: Unended,
}

/// A segment whose right end is to come; [`NONE`] if there is none.
#[derive(Clone, Copy, Default)]
pub(super) struct Unended {
    pub(super) id: SegmentId,
    /// If the border turns down at its left end, one more than that end's column; else 0.
    pub(super) down: u32,
}

/// One line in this many is sampled to tell how much room segments take.
const SAMPLED_LINES: usize = 16;

impl Unended {
    /// After the corner in column `x`, where the segment ends if `ends`, and `new` begins if
    /// `begins`, after or before a turn down if `is_down`.
    #[inline(always)]
    fn after(self, ends: bool, begins: bool, new: SegmentId, is_down: bool, x: u32) -> Self {
        Self {
            id: select(begins, new, select(ends, NONE, self.id)),
            down: select(begins, select(is_down, x + 1, 0), self.down),
        }
    }
}

impl<P: Pixels> Ground<'_, P> {
    /// About how many segments there are, with an eighth to spare: arrays that grow are copied.
    pub(super) fn expected(&self) -> usize {
        let row_words = self.plane.row_words();
        let lines = SPARE_ROWS..SPARE_ROWS + self.strip.rows.len() + 1;
        let sampled = lines.clone().skip(lines.len().min(SAMPLED_LINES) / 2);
        let (mut count, mut of_lines) = (0, 0);
        for line in sampled.step_by(SAMPLED_LINES) {
            for at in line * row_words..(line + 1) * row_words {
                let corners = Around::at(self, at).corners();
                let lefts = [corners.above_left, corners.below_left];
                count += lefts.map(|turns| turns.at.count_ones()).iter().sum::<u32>() as usize;
            }
            of_lines += 1;
        }
        // At least one line is sampled.
        (count / of_lines + 1).saturating_mul(lines.len() + lines.len() / 8)
    }

    /// Links the segments of all lines.
    pub(super) fn link(&self, segments: &mut Segments, seams: &Seams<'_>) -> Result<()> {
        let height = self.strip.rows.len() as u32;
        for y in 0..=height {
            let rim = match y {
                0 if self.is_open[0] => Some(Rim::Above),
                _ if y == height && self.is_open[1] => Some(Rim::Below),
                _ => None,
            };
            self.link_line(segments, seams, y, rim)?;
        }
        Ok(())
    }

    /// Links what ends on line `y` to what begins above it, and on it.
    fn link_line(
        &self,
        segments: &mut Segments,
        seams: &Seams<'_>,
        y: u32,
        rim: Option<Rim>,
    ) -> Result<()> {
        let mut line = Line {
            y,
            above: Unended::default(),
            below: Unended::default(),
        };
        let row_words = self.plane.row_words();
        let first = (y as usize + SPARE_ROWS) * row_words;
        let may_be_open = rim.is_some() || self.saddles.has_open();
        let mut tops = [Unended::default(); 2 * WORD_BITS];
        for group in (0..row_words).step_by(WORD_BITS) {
            let words = group..row_words.min(group + WORD_BITS);
            let mut busy = match rim {
                None => self.busy_words(first, words),
                Some(_) => !0 >> (WORD_BITS - words.len()),
            };
            while busy != 0 {
                let i = group + busy.trailing_zeros() as usize;
                busy &= busy - 1;
                let around = Around::at(self, first + i);
                let corners = around.corners();
                if may_be_open {
                    let sides = around.sides(self, first + i);
                    if rim.is_some() || sides.open != [0, 0] {
                        let word = (&corners, &sides);
                        self.link_one_by_one(segments, seams, (&mut line, rim), i, word)?;
                        continue;
                    }
                }
                segments.make_room(2 * WORD_BITS)?;
                let count = segments.link_word(&mut line, i, &corners, &mut tops);
                for &top in &tops[..count] {
                    self.add_top(segments, top, y)?;
                }
            }
        }
        Ok(())
    }

    /// Which of some words, at most 64, have a corner at which a border may turn: one at the end of
    /// a side on the line. Found before any is worked on, since branches on single words are hard
    /// to predict.
    #[inline(always)]
    fn busy_words(&self, first: usize, words: Range<usize>) -> u64 {
        let mut busy = 0;
        let mut before = LineWord::at(self.plane, first + words.start - 1).sides();
        for (bit, i) in words.enumerate() {
            let sides = LineWord::at(self.plane, first + i).sides();
            busy |= u64::from(sides | before >> (WORD_BITS - 1) != 0) << bit;
            before = sides;
        }
        busy
    }

    /// Notes that a border may begin at a segment that has ended on line `y`.
    #[inline(never)]
    pub(super) fn add_top(&self, segments: &mut Segments, top: Unended, y: u32) -> Result<()> {
        let x = top.down - 1;
        let kind = segments.ends[top.id as usize].kind(x);
        segments.add_top(self.top(segments, top.id, kind, [x, y]))
    }
}

impl Segments {
    /// Makes the turns at the corners of a line's word `i`, for which there is room. Sets the tops
    /// that end there, and returns their number.
    ///
    /// Without branches: what is not there is read from and written to the segment [`NONE`].
    fn link_word(
        &mut self,
        line: &mut Line,
        i: usize,
        corners: &Corners,
        tops: &mut [Unended; 2 * WORD_BITS],
    ) -> usize {
        let ends = self.ends.as_mut_slice();
        let next = &mut self.next[..ends.len()];
        let verticals = &mut self.verticals[i];
        let (mut new, mut count) = (self.count, 0);
        let Line {
            y,
            mut above,
            mut below,
        } = *line;
        let sets = corners.sets();
        let mut any = corners.any();
        while any != 0 {
            let bit = any.trailing_zeros() as usize;
            any &= any - 1;
            let x = (i * WORD_BITS + bit) as u32;
            let turns = sets[bit % WORD_BITS];
            let has = |set: u8| turns & set != 0;

            // Segments that begin or end here. One above the line that does not end here ends
            // further on.
            let (ended_above, ended_below) = (above.id, below.id);
            let new_above = new as SegmentId;
            new += usize::from(has(ABOVE_LEFT_BACK | ABOVE_LEFT_ACROSS));
            let new_below = new as SegmentId;
            new += usize::from(has(BELOW_LEFT_BACK | BELOW_LEFT_ACROSS));
            ends[ended_above as usize] = End { x, y };
            ends[new_below as usize] = End { x, y };

            // Vertical sides that end here: a border that runs up comes from the segment here, and
            // one that runs down leads to it.
            let [down, up] = verticals[bit % WORD_BITS];
            let from = select(has(BELOW_LEFT_ACROSS), new_below, NONE);
            let from = select(has(ABOVE_RIGHT_BACK), ended_above, from);
            next[from as usize] = up;
            let to = select(has(ABOVE_LEFT_BACK), new_above, ended_below);
            let from = select(has(ABOVE_LEFT_BACK | BELOW_RIGHT_ACROSS), down, NONE);
            next[from as usize] = to;

            // Those that begin here.
            let down = select(has(ABOVE_RIGHT_ACROSS), ended_above, down);
            let down = select(has(BELOW_LEFT_BACK), new_below, down);
            let up = select(has(ABOVE_LEFT_ACROSS), new_above, up);
            let up = select(has(BELOW_RIGHT_BACK), ended_below, up);
            verticals[bit % WORD_BITS] = [down, up];

            if has(ABOVE_RIGHT_ACROSS) && above.down != 0 {
                tops[count % (2 * WORD_BITS)] = above;
                count += 1;
            }
            if has(BELOW_RIGHT_BACK) && below.down != 0 {
                tops[count % (2 * WORD_BITS)] = below;
                count += 1;
            }
            above = above.after(
                has(ABOVE_RIGHT_BACK | ABOVE_RIGHT_ACROSS),
                has(ABOVE_LEFT_BACK | ABOVE_LEFT_ACROSS),
                new_above,
                has(ABOVE_LEFT_ACROSS),
                x,
            );
            below = below.after(
                has(BELOW_RIGHT_BACK | BELOW_RIGHT_ACROSS),
                has(BELOW_LEFT_BACK | BELOW_LEFT_ACROSS),
                new_below,
                has(BELOW_LEFT_BACK),
                x,
            );
        }
        self.count = new;
        *line = Line { y, above, below };
        count
    }
}
