//! Following along edges, by horizontal segments instead of pixel by pixel.
//!
//! Along edges, a border is a polygon whose sides are horizontal and vertical in turn. A
//! **segment** is one of its horizontal sides: the sides of a row of pixels, of one region, that
//! lie on one **line** between two rows, from one turn to the next.
//!
//! 1. **Link** (`link.rs`): the lines of a strip are scanned from top to bottom, each from left to
//!    right. The turns at the corners of 64 pixels are found at once (`corners.rs`). A turn begins
//!    or ends a segment, and begins a vertical side below the line or ends one above it. For each
//!    corner of a line, a table keeps the segments whose vertical sides are open there; so when a
//!    vertical side ends, the segments above and below it are known, and one is the next after the
//!    other. A turn takes no branches but those of the loop over corners.
//! 2. Corners on the strip's rims, and open saddles, join borders to other fragments. They are few,
//!    and decided one by one (`rims.rs`). There, and where a fragment begins, a segment of no
//!    length stands for what lies beyond.
//! 3. **Walk** (`walk.rs`): each border is a cycle of segments, each fragment a path of them. Their
//!    chain codes are written a side at a time.
//!
//! A border begins at its topmost, then leftmost segment. At both of its ends such a segment turns
//! down: it is a **top**. Segments are numbered by their left ends in raster order, so a border is
//! discovered at the first of its tops, in the order in which [`suzuki`](super::super::suzuki)
//! discovers borders. When a top is found, the table also tells which segment the side before it
//! in its row belongs to.
//!
//! Time: linear in the number of words plus the number of turns and of steps. Memory: 12 bytes per
//! segment of the strip, 8 per column.

mod corners;
mod link;
mod rims;
mod steps;
mod walk;

use bytemuck::Zeroable;

use self::steps::Steps;
use super::super::chains::{Direction, NO_BORDER};
use super::super::pixels::{Pixels, SPARE_ROWS};
use super::super::saddle_halves::halves_within;
use super::super::saddles::{OpenSaddle, Saddles};
use super::super::walk::Edges;
use super::follow::{Exit, Found, FragmentId, Rims, SideKey, Strip, StripRows, check_count};
use crate::error::{Error, Result};
use crate::image::WORD_BITS;
use crate::memory::{advise_large_pages, push, reserve, with_room, zeroed_vec};
use crate::trace::contours::BorderKind;

/// Name used in out-of-memory errors.
const SEGMENTS: &str = "the horizontal segments of borders";

/// The index of a segment. After [`NONE`] come those that fragments begin with, in the order of the
/// fragments.
type SegmentId = u32;

/// A segment of no border, where turns that a corner does not have are read and written.
const NONE: SegmentId = 0;

/// The first segment of a fragment.
const fn first_of(fragment: FragmentId) -> SegmentId {
    NONE + 1 + fragment
}

/// The end of a horizontal side of a border. The border runs along it to the east if its pixels are
/// above it, to the west if they are below it. It begins where the vertical side before it ends, in
/// the column in which the segment before ends.
#[derive(Clone, Copy, Zeroable)]
struct End {
    x: u32,
    /// Its line, by the row of the strip below it; and [`TOP`].
    y: u32,
}

/// Added to the line of a segment at which a border may begin.
const TOP: u32 = 1 << 31;

/// Added to the border of a segment that has been walked along.
const WALKED: u32 = 1 << 31;

/// Added to the index of what comes after a fragment, in place of a next segment.
const EXIT: u32 = 1 << 30;

impl End {
    const fn line(self) -> u32 {
        self.y & !TOP
    }

    const fn is_top(self) -> bool {
        self.y & TOP != 0
    }

    /// The kind of a border that begins in column `x`, if this is the end of its top: the segment
    /// of an outer border ends at its left end.
    const fn kind(self, x: u32) -> BorderKind {
        if self.x == x {
            BorderKind::Outer
        } else {
            BorderKind::Hole
        }
    }
}

/// A segment at which a border may begin.
#[derive(Clone, Copy)]
struct Top {
    segment: SegmentId,
    /// The column of the corner at which the border begins: where the segment of an outer border
    /// ends, or that of a hole begins.
    x: u32,
    /// The segment whose vertical side comes before the border's first one in its row. [`NONE`] if
    /// there is none.
    before: SegmentId,
}

/// The segments of a strip, and memory reused for strip after strip.
#[derive(Default)]
pub(super) struct Segments {
    /// The number of segments. The arrays of segments are at least as long.
    count: usize,
    /// Where each ends.
    ends: Vec<End>,
    /// The one after each. Apart from the ends, because a walk waits for nothing else. At the end
    /// of a fragment, [`EXIT`] and an index of `exits`. Of a segment that has been walked along,
    /// its border, and [`WALKED`].
    next: Vec<SegmentId>,
    /// The steps that lead to the first segments of fragments.
    steps_in: Vec<Direction>,
    /// How fragments end, and what [`Fragment::next`](super::follow::Fragment::next) becomes.
    exits: Vec<(Exit, FragmentId)>,
    /// By the corners of a line, in words: the segments whose vertical sides pass through the
    /// corner, of the pixel to the right (which runs down) and of that to the left (which runs up).
    verticals: Vec<[[SegmentId; 2]; WORD_BITS]>,
    /// In the order of their segments.
    tops: Vec<Top>,
    /// Of tops that are the first segments of fragments: the same.
    tops_of_entries: Vec<Top>,
}

/// The indices of a corner's [`verticals`](Segments::verticals).
const DOWN: usize = 0;
const UP: usize = 1;

/// A strip whose borders are followed along edges.
pub(super) struct Ground<'a, P> {
    /// Its rows, with the one above and the one below.
    pub(super) plane: &'a P,
    pub(super) saddles: &'a Saddles,
    pub(super) open: &'a [OpenSaddle],
    pub(super) strip: StripRows,
    /// Whether there are rows above, and below.
    pub(super) is_open: [bool; 2],
}

/// Where fragments begin and end.
struct Seams<'a> {
    rims: Rims,
    open: &'a [OpenSaddle],
    /// The halves of open saddles in this strip.
    halves: Vec<u32>,
}

impl Seams<'_> {
    /// The number of fragments that begin at entries.
    fn entries(&self) -> u64 {
        let entries = self
            .rims
            .from
            .iter()
            .map(|entries| u64::from(entries.count));
        entries.sum()
    }
}

impl<P: Pixels> Ground<'_, P> {
    /// Follows the fragments and borders.
    pub(super) fn follow(
        &self,
        segments: &mut Segments,
        Found { steps, closed }: Found<'_>,
    ) -> Result<Strip> {
        let rows = &self.strip.rows;
        let walk = Edges::new(self.plane, self.saddles, rows.start);
        let seams = Seams {
            rims: Rims::of(&walk, self.plane, rows.len(), self.is_open)?,
            open: self.open,
            halves: halves_within(self.open, rows)?,
        };
        let count = seams.entries() + seams.halves.len() as u64;
        check_count(count)?;
        segments.clear(count as usize, self.expected(), self.plane.row_words())?;
        self.link(segments, &seams)?;
        let mut fragments = with_room(count as usize, "the fragments of borders")?;
        let steps = &mut Steps::after(steps);
        for id in 0..count as FragmentId {
            fragments.push(self.walk_fragment(segments, id, steps)?);
        }
        self.walk_closed(segments, count as FragmentId, steps, closed)?;
        for fragment in &mut fragments {
            if fragment.side != SideKey::NONE {
                // Until now, the segment with the side.
                fragment.before = segments.border_before(fragment.before);
            }
        }
        let [from_above, from_below] = [0, 1].map(|rim| seams.rims.from[rim].count);
        Ok(Strip {
            steps: Vec::new(),
            fragments,
            from_above,
            from_below,
            halves: seams.halves,
            closed: Vec::new(),
        })
    }

    /// The word of the saddles at the pixels of the plane's word `at`.
    #[inline(always)]
    fn word_of_saddles(&self, at: usize) -> usize {
        let rows = self.strip.rows.start as isize - SPARE_ROWS as isize;
        at.wrapping_add_signed(rows * self.plane.row_words() as isize)
    }

    /// Segment `segment` as a top of a border that begins in column `x` of line `y`.
    fn top(
        &self,
        segments: &Segments,
        segment: SegmentId,
        kind: BorderKind,
        [x, y]: [u32; 2],
    ) -> Top {
        let row = y as usize + SPARE_ROWS;
        let column = first_column(kind, x) as usize;
        let before = match (kind, self.plane.side_before(kind, column, row)) {
            (_, None) => NONE,
            (BorderKind::Outer, Some(before)) => segments.vertical(before as u32 + 1)[UP],
            (BorderKind::Hole, Some(before)) => segments.vertical(before as u32)[DOWN],
        };
        Top { segment, x, before }
    }
}

/// The column of the pixel at whose side a border begins, from that of the corner.
const fn first_column(kind: BorderKind, x: u32) -> u32 {
    match kind {
        BorderKind::Outer => x,
        BorderKind::Hole => x - 1,
    }
}

impl Segments {
    /// Makes room for a strip in which `fragments` fragments begin, with about `expected` segments
    /// and lines of some words.
    fn clear(&mut self, fragments: usize, expected: usize, row_words: usize) -> Result<()> {
        self.count = 0;
        // Room for two segments at each corner of a word is asked for before they are known.
        let expected = expected.min(EXIT as usize / 2) + 2 * WORD_BITS;
        self.make_room(1 + fragments.max(expected))?;
        self.count = 1 + fragments;
        self.steps_in.clear();
        reserve(&mut self.steps_in, fragments, SEGMENTS)?;
        self.steps_in.resize(fragments, 0);
        self.exits.clear();
        self.tops.clear();
        self.tops_of_entries.clear();
        self.verticals.clear();
        reserve(&mut self.verticals, row_words, "the corners of a line")?;
        let none = [[NONE; 2]; WORD_BITS];
        self.verticals.resize(row_words, none);
        Ok(())
    }

    /// Makes room for some more segments.
    #[inline]
    fn make_room(&mut self, more: usize) -> Result<()> {
        if self.next.len() - self.count < more {
            self.grow(more)?;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        let limit = EXIT as usize;
        if self.count + more > limit {
            return Err(Error::TooMany {
                what: "horizontal segments of borders in a strip",
                limit: limit as u64,
            });
        }
        // By half: by twice, the old array and the new one would take more than three times the
        // room that is used.
        let len = (self.count + more)
            .max(self.next.len() + self.next.len() / 2)
            .min(limit);
        grow(&mut self.ends, self.count, len)?;
        grow(&mut self.next, self.count, len)?;
        Ok(())
    }

    /// Adds a segment at which a border may begin.
    fn add_top(&mut self, top: Top) -> Result<()> {
        self.ends[top.segment as usize].y |= TOP;
        push(&mut self.tops, top, SEGMENTS)?;
        // Tops are found at their right ends. Those on one side of a line do not overlap, so each
        // is passed by at most one other.
        let mut at = self.tops.len() - 1;
        while at > 0 && self.tops[at - 1].segment > top.segment {
            self.tops.swap(at - 1, at);
            at -= 1;
        }
        Ok(())
    }

    /// The border that passes the side before a top.
    fn border_before(&self, top: SegmentId) -> FragmentId {
        for tops in [&self.tops, &self.tops_of_entries] {
            if let Ok(at) = tops.binary_search_by_key(&top, |top| top.segment) {
                return self.border_of(tops[at].before);
            }
        }
        NO_BORDER
    }

    /// The border that a segment belongs to, once it has been walked along. [`NONE`] never is.
    fn border_of(&self, segment: SegmentId) -> FragmentId {
        match self.next[segment as usize] {
            border if border & WALKED != 0 => border & !WALKED,
            _ => NO_BORDER,
        }
    }

    /// The segments whose vertical sides pass through the corner in column `x` of the line.
    fn vertical(&self, x: u32) -> [SegmentId; 2] {
        self.verticals[x as usize / WORD_BITS][x as usize % WORD_BITS]
    }
}

/// Makes room in an array of which `used` elements are used.
fn grow<T: Copy + Zeroable>(array: &mut Vec<T>, used: usize, len: usize) -> Result<()> {
    let mut longer: Vec<T> = zeroed_vec(len, SEGMENTS)?;
    // A walk up or down touches other pages on every line.
    advise_large_pages(&mut longer);
    longer[..used].copy_from_slice(&array[..used]);
    *array = longer;
    Ok(())
}
