//! Corners at which borders may enter or leave a strip, one by one: those on its rims, and open
//! saddles.

use super::super::super::chains::Direction;
use super::super::super::pixels::Pixels;
use super::super::super::saddle_halves::half_of;
use super::super::super::saddles::Diagonal;
use super::super::super::walk::Rim;
use super::super::follow::{Exit, FragmentId};
use super::corners::{Corners, Sides, Turns};
use super::link::{Line, Unended};
use super::{
    DOWN, EXIT, End, Ground, NONE, SEGMENTS, Seams, SegmentId, Segments, TOP, UP, first_of,
};
use crate::error::Result;
use crate::image::WORD_BITS;
use crate::memory::push;
use crate::trace::contours::BorderKind;

/// A side by which a border comes to a corner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// To the east, above the line.
    East,
    /// Up, below the line.
    Up,
    /// To the west, below the line.
    West,
    /// Down, above the line.
    Down,
}

/// A side by which a border leaves a corner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Departure {
    /// To the east, above the line.
    East,
    /// Up, above the line.
    Up,
    /// To the west, below the line.
    West,
    /// Down, below the line.
    Down,
}

impl Arrival {
    const fn direction(self) -> Direction {
        match self {
            Self::East => 0,
            Self::Up => 2,
            Self::West => 4,
            Self::Down => 6,
        }
    }

    /// Where the side is: above the line or below it.
    const fn rim(self) -> Rim {
        match self {
            Self::East | Self::Down => Rim::Above,
            Self::West | Self::Up => Rim::Below,
        }
    }

    /// The diagonal of the corner on which the border's pixel is.
    const fn diagonal(self) -> Diagonal {
        match self {
            Self::East | Self::West => Diagonal::Falling,
            Self::Up | Self::Down => Diagonal::Rising,
        }
    }
}

impl Departure {
    /// Where the side is: above the line or below it.
    const fn rim(self) -> Rim {
        match self {
            Self::East | Self::Up => Rim::Above,
            Self::West | Self::Down => Rim::Below,
        }
    }

    /// The node with which a border leaves the corner in column `x`: the column of its pixel, and
    /// its code.
    const fn node(self, x: u32) -> (u32, u8) {
        match self {
            Self::Up => (x - 1, 0),
            Self::West => (x - 1, 1),
            Self::Down => (x, 2),
            Self::East => (x, 3),
        }
    }
}

/// The way of a border at a corner.
struct Way {
    arrival: Arrival,
    departure: Departure,
    /// Whether the corner is an open saddle. The departure is that of a border that stays with its
    /// pixel.
    is_open: bool,
}

/// A corner on a rim, or with an open saddle.
struct Corner<'a> {
    x: u32,
    y: u32,
    bit: u32,
    corners: &'a Corners,
    sides: &'a Sides,
    /// The rim on which it is: the sides above (or below) it are in another strip.
    rim: Option<Rim>,
    /// The segments above and below the line that come to here from the left.
    ended: [SegmentId; 2],
    /// Those that begin here.
    new: [SegmentId; 2],
    /// The segments whose vertical sides come to here from above.
    verticals: [SegmentId; 2],
}

impl Corner<'_> {
    fn end(&self) -> End {
        let &Self { x, y, .. } = self;
        End { x, y }
    }

    fn has(&self, word: u64) -> bool {
        word >> self.bit & 1 == 1
    }

    fn turns_back(&self, turns: Turns) -> bool {
        self.has(turns.at & !turns.across)
    }

    fn is_open(&self, diagonal: Diagonal) -> bool {
        self.has(self.sides.open[diagonal as usize])
    }

    /// Whether a side of the line is in this strip.
    fn is_own(&self, side: Rim) -> bool {
        self.rim != Some(side)
    }

    /// The ways of all borders that come to the corner.
    fn ways(&self) -> impl Iterator<Item = Way> {
        let Corners {
            above_right,
            above_left,
            below_right,
            below_left,
        } = *self.corners;
        let way = |arrival: Arrival, departure| Way {
            arrival,
            departure,
            is_open: self.is_open(arrival.diagonal()),
        };
        let east = self.has(above_right.at).then(|| {
            let departure = match self.has(above_right.across) {
                true => Departure::Down,
                false => Departure::Up,
            };
            way(Arrival::East, departure)
        });
        let west = self.has(below_left.at).then(|| {
            let departure = match self.has(below_left.across) {
                true => Departure::Up,
                false => Departure::Down,
            };
            way(Arrival::West, departure)
        });
        let down = self.has(self.sides.above[DOWN]).then(|| {
            let departure = if self.turns_back(above_left) {
                Departure::East
            } else if self.has(below_right.across) {
                Departure::West
            } else {
                Departure::Down
            };
            way(Arrival::Down, departure)
        });
        let up = self.has(self.sides.below[UP]).then(|| {
            let departure = if self.turns_back(below_right) {
                Departure::West
            } else if self.has(above_left.across) {
                Departure::East
            } else {
                Departure::Up
            };
            way(Arrival::Up, departure)
        });
        [east, west, down, up].into_iter().flatten()
    }

    /// The segment that comes to here, alone or with its vertical side, in this strip; `None` if it
    /// is further down.
    fn source(&self, arrival: Arrival) -> Option<SegmentId> {
        match arrival {
            Arrival::East => Some(self.ended[0]),
            Arrival::Down => Some(self.verticals[DOWN]),
            Arrival::West => Some(self.new[1]),
            Arrival::Up => None,
        }
    }

    /// The segment that follows from here on, alone or with its vertical side, in this strip;
    /// `None` if it is further down.
    fn target(&self, departure: Departure) -> Option<SegmentId> {
        match departure {
            Departure::East => Some(self.new[0]),
            Departure::Up => Some(self.verticals[UP]),
            Departure::West => Some(self.ended[1]),
            Departure::Down => None,
        }
    }
}

impl<P: Pixels> Ground<'_, P> {
    /// Makes the turns at the corners of a line's word `i`, on a rim or with open saddles.
    pub(super) fn link_one_by_one(
        &self,
        segments: &mut Segments,
        seams: &Seams<'_>,
        (line, rim): (&mut Line, Option<Rim>),
        i: usize,
        (corners, sides): (&Corners, &Sides),
    ) -> Result<()> {
        let mut any = corners.any();
        for word in sides.above.iter().chain(&sides.below) {
            any |= word;
        }
        while any != 0 {
            let bit = any.trailing_zeros();
            any &= any - 1;
            // Two segments begin at a corner, and a fragment ends at each of its four sides.
            segments.make_room(6)?;
            let x = (i * WORD_BITS) as u32 + bit;
            let mut corner = Corner {
                x,
                y: line.y,
                bit,
                corners,
                sides,
                rim,
                ended: [line.above.id, line.below.id],
                new: [NONE; 2],
                verticals: segments.verticals[i][bit as usize],
            };
            self.link_at(segments, seams, line, &mut corner)?;
        }
        Ok(())
    }

    /// Makes the turns at a corner.
    fn link_at(
        &self,
        segments: &mut Segments,
        seams: &Seams<'_>,
        line: &mut Line,
        corner: &mut Corner<'_>,
    ) -> Result<()> {
        let [own_above, own_below] = [Rim::Above, Rim::Below].map(|side| corner.is_own(side));
        let Corners {
            above_right,
            above_left,
            below_right,
            below_left,
        } = *corner.corners;
        let [ended_above, _] = corner.ended;
        let is_falling_open = corner.is_open(Diagonal::Falling);
        let down = |is_down: bool| if is_down { corner.x + 1 } else { 0 };
        let mut tops = [None; 2];
        if own_above && corner.has(above_right.at) {
            segments.ends[ended_above as usize] = corner.end();
            let may_be_down = corner.has(above_right.across) || is_falling_open;
            tops[0] = (line.above.down != 0 && may_be_down).then_some(line.above);
            line.above = Unended::default();
        }
        if own_below && corner.has(below_right.at) {
            let is_down = corner.turns_back(below_right);
            tops[1] = (line.below.down != 0 && is_down).then_some(line.below);
            line.below = Unended::default();
        }
        if own_above && corner.has(above_left.at) {
            line.above = Unended {
                id: segments.add(corner.end()),
                // Of a segment on the lower rim, the side below is in the next strip.
                down: down(own_below && corner.has(above_left.across)),
            };
            corner.new[0] = line.above.id;
        }
        if own_below && corner.has(below_left.at) {
            line.below = Unended {
                id: segments.add(corner.end()),
                // At an open saddle, a fragment begins with the side below.
                down: down(corner.turns_back(below_left) && !is_falling_open),
            };
            corner.new[1] = line.below.id;
        }
        for way in corner.ways() {
            self.link_way(segments, seams, corner, &way)?;
        }
        for top in tops.into_iter().flatten() {
            self.add_top(segments, top, corner.y)?;
        }
        Ok(())
    }

    /// Links the segments of a border on its way at a corner.
    fn link_way(
        &self,
        segments: &mut Segments,
        seams: &Seams<'_>,
        corner: &Corner<'_>,
        way: &Way,
    ) -> Result<()> {
        let &Way {
            arrival, departure, ..
        } = way;
        let own = [arrival.rim(), departure.rim()].map(|side| corner.is_own(side));
        let (x, y) = (corner.x, corner.y);
        // At the end of a fragment that comes up, a hole may begin with its last side, if the
        // border goes on to the east.
        let mut last = None;
        match own {
            [false, false] => return Ok(()),
            [true, true] if way.is_open => {
                let saddle = (x, self.strip.rows.start + y);
                let half = half_of(seams.open, saddle, arrival.diagonal(), arrival.rim());
                let fragment = seams.of_half(half);
                let entry = segments.set_entry(fragment, arrival.direction(), corner.end());
                let exit = segments.add_exit(Exit::Saddle, half, corner.end())?;
                segments.link(x, corner.source(arrival), Some(exit));
                segments.link(x, Some(entry), corner.target(departure));
                last = (arrival == Arrival::Up).then_some(exit);
                if departure == Departure::Down {
                    // An outer border may begin with the fragment's first side.
                    segments.ends[entry as usize].y |= TOP;
                    let top = self.top(segments, entry, BorderKind::Outer, [x, y]);
                    push(&mut segments.tops_of_entries, top, SEGMENTS)?;
                }
            }
            [true, true] => {
                segments.link(x, corner.source(arrival), corner.target(departure));
            }
            [false, true] => {
                let fragment = seams.entry(departure, x);
                let entry = segments.set_entry(fragment, arrival.direction(), corner.end());
                segments.link(x, Some(entry), corner.target(departure));
            }
            [true, false] => {
                let (exit, next) = seams.exit(departure, x);
                let exit = segments.add_exit(exit, next, corner.end())?;
                segments.link(x, corner.source(arrival), Some(exit));
                let is_hole = (arrival, departure) == (Arrival::Up, Departure::East);
                last = is_hole.then_some(exit);
            }
        }
        if let Some(exit) = last {
            segments.add_top(self.top(segments, exit, BorderKind::Hole, [x, y]))?;
        }
        Ok(())
    }
}

impl Seams<'_> {
    /// The fragment that begins at the corner in column `x`, on a rim.
    fn entry(&self, departure: Departure, x: u32) -> FragmentId {
        let (column, code) = departure.node(x);
        let [from_above, from_below] = &self.rims.from;
        match departure.rim() {
            // The strip is below its upper rim.
            Rim::Below => from_above.index(column as usize, code),
            Rim::Above => from_above.count + from_below.index(column as usize, code),
        }
    }

    /// Where a fragment ends that leaves the strip at the corner in column `x`, and the index of
    /// the one after it in the adjacent strip.
    fn exit(&self, departure: Departure, x: u32) -> (Exit, FragmentId) {
        let (column, code) = departure.node(x);
        let [to_above, to_below] = &self.rims.to;
        match departure.rim() {
            Rim::Above => (Exit::Above, to_above.index(column as usize, code)),
            Rim::Below => (Exit::Below, to_below.index(column as usize, code)),
        }
    }

    /// The fragment that begins at a half of an open saddle.
    fn of_half(&self, half: u32) -> FragmentId {
        let rank = self.halves.partition_point(|&before| before < half);
        self.entries() as FragmentId + rank as FragmentId
    }
}

impl Segments {
    /// Adds a segment. There is room.
    fn add(&mut self, end: End) -> SegmentId {
        self.ends[self.count] = end;
        self.count += 1;
        self.count as SegmentId - 1
    }

    /// Sets where a fragment begins. Returns its first segment.
    fn set_entry(&mut self, fragment: FragmentId, step_in: Direction, end: End) -> SegmentId {
        let entry = first_of(fragment);
        self.ends[entry as usize] = end;
        self.steps_in[fragment as usize] = step_in;
        entry
    }

    /// Adds the last segment of a fragment. There is room among the segments.
    fn add_exit(&mut self, exit: Exit, next: FragmentId, end: End) -> Result<SegmentId> {
        let id = self.add(end);
        self.next[id as usize] = EXIT | self.exits.len() as u32;
        push(&mut self.exits, (exit, next), "the fragments of borders")?;
        Ok(id)
    }

    /// Links a segment that comes to the corner in column `x` to the one after it. Where one of
    /// them is further down, its vertical side begins here.
    fn link(&mut self, x: u32, source: Option<SegmentId>, target: Option<SegmentId>) {
        let (word, bit) = (x as usize / WORD_BITS, x as usize % WORD_BITS);
        match (source, target) {
            (Some(source), Some(target)) => self.next[source as usize] = target,
            (Some(source), None) => self.verticals[word][bit][DOWN] = source,
            (None, Some(target)) => self.verticals[word][bit][UP] = target,
            (None, None) => {}
        }
    }
}
