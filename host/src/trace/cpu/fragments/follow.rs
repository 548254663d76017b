//! Following: the borders and fragments of one strip.

use std::mem::take;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::super::chains::Direction;
use super::super::pixels::{Pixels, SPARE_ROWS, Strips};
use super::super::saddle_halves::{begin_of_half, half_of, halves_within};
use super::super::saddles::{OpenSaddle, Saddles};
use super::super::sides::{Joined, Marks, Sides};
use super::super::walk::{Centers, Edges, Node, OPEN_OFFSET, Rim, Walk};
use super::KeptPoints;
use super::entries::Entries;
use super::strip_walk::{Followed, StripWalk};
use super::ways::{FromPlanes, NextNode, Ways};
use crate::error::{Error, Result};
use crate::memory::with_room;
use crate::progress::Progress;
use crate::threads::lock;
use crate::trace::contours::BorderKind;

/// The index of a fragment or closed border. In a strip, fragments come first; once joined, a
/// fragment's index counts the fragments of all strips.
pub(in crate::trace) type FragmentId = u32;

/// The most fragments of an image: the highest bit is free.
const MOST_FRAGMENTS: u64 = i32::MAX as u64;

/// A vertical side of a pixel, and so a possible start of a border. In raster order, a pixel's west
/// side comes before its east side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Zeroable)]
pub(in crate::trace) struct SideKey {
    pub(in crate::trace) y: u32,
    /// Twice the column, and 1 for the east side: columns are below 2³¹.
    x: u32,
}

impl SideKey {
    /// Sentinel: after all sides.
    pub(in crate::trace) const NONE: Self = Self {
        y: u32::MAX,
        x: u32::MAX,
    };

    pub(super) fn new(kind: BorderKind, x: u32, y: u32) -> Self {
        let east = u32::from(kind == BorderKind::Hole);
        Self {
            y,
            x: x << 1 | east,
        }
    }

    /// The kind of the border that starts here.
    pub(in crate::trace) fn kind(self) -> BorderKind {
        if self.x & 1 == 0 {
            BorderKind::Outer
        } else {
            BorderKind::Hole
        }
    }

    pub(in crate::trace) fn x(self) -> u32 {
        self.x >> 1
    }

    /// Twice the column, and 1 for an east side.
    pub(in crate::trace) fn column_and_side(self) -> u32 {
        self.x
    }
}

/// Where a fragment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Exit {
    /// It goes on in the strip above.
    Above,
    /// It goes on in the strip below.
    Below,
    /// It ends at an open saddle.
    Saddle,
}

/// A part of a border that lies in one strip.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Fragment {
    /// The fragment after it: in the adjacent strip until fragments are joined, then among all. At
    /// an open saddle, until fragments are joined: the [half](super::halves) where it ends.
    pub(in crate::trace) next: FragmentId,
    pub(in crate::trace) exit: Exit,
    /// The step that leads to its first point.
    pub(in crate::trace) step_in: Direction,
    /// Its strip.
    pub(in crate::trace) strip: u32,
    /// The range of its steps in the strip's.
    pub(in crate::trace) steps: [u32; 2],
    /// Its first point.
    pub(in crate::trace) first: (u32, u32),
    /// The number of its points that are kept.
    pub(in crate::trace) points: u32,
    /// The first side that it passes of those that are looked at: all at which a border may begin,
    /// and perhaps others. [`SideKey::NONE`] if there is none.
    pub(in crate::trace) side: SideKey,
    /// If the border starts at that side: the number of steps, and of kept points, before the
    /// border's first point, and the point.
    pub(in crate::trace) steps_before: u32,
    pub(in crate::trace) points_before: u32,
    pub(in crate::trace) start: (u32, u32),
    /// The fragment or border of the strip that passes the side before that one.
    pub(in crate::trace) before: FragmentId,
}

/// A border that lies in one strip.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Closed {
    /// The side where it is discovered.
    pub(in crate::trace) side: SideKey,
    /// The end of its steps in the strip's; they begin where those of the one before end.
    pub(in crate::trace) steps_end: u32,
    /// The number of its points that are kept.
    pub(in crate::trace) points: u32,
    /// The fragment or border of the strip that passes the side before.
    pub(in crate::trace) before: FragmentId,
}

/// The fragments and closed borders of a strip.
#[derive(Debug)]
pub(in crate::trace) struct Strip {
    /// The steps of fragments, then of closed borders.
    pub(in crate::trace) steps: Vec<Direction>,
    pub(in crate::trace) fragments: Vec<Fragment>,
    /// The number of fragments that enter over the strip's upper rim. They come first.
    pub(in crate::trace) from_above: u32,
    /// The number of those that enter over its lower rim, which come next. The others begin at open
    /// saddles.
    pub(in crate::trace) from_below: u32,
    /// The halves of open saddles at which they begin, in their order.
    pub(in crate::trace) halves: Vec<u32>,
    /// In raster order.
    pub(in crate::trace) closed: Vec<Closed>,
}

/// Follows all borders of an image or a band in strips of `rows` rows: along edges if there are
/// saddles, else over pixel centers. If `open` is empty, no fragment begins or ends at an open
/// saddle.
pub(in crate::trace) fn follow<S: Strips>(
    band: S,
    saddles: Option<&Saddles>,
    open: &[OpenSaddle],
    rows: u32,
    kept: KeptPoints,
    progress: &Progress<'_>,
) -> Result<Vec<Strip>> {
    let height = band.height();
    let count = height.div_ceil(rows);
    let done = AtomicUsize::new(0);
    let workspaces = Mutex::new(Vec::new());
    let follow = |strip: u32| -> Result<Strip> {
        let of_strip = strip * rows..height.min((strip + 1) * rows);
        let mut workspace = match lock(&workspaces).pop() {
            Some(workspace) => workspace,
            None => Workspace::new(&band, rows.min(height))?,
        };
        let Workspace {
            sides,
            ways,
            steps,
            closed,
        } = &mut workspace;
        let joined = match saddles {
            None => Joined::Eight,
            Some(saddles) => saddles.joins(),
        };
        sides.find(&band, of_strip.clone(), joined)?;
        let (plane, marks) = sides.split();
        let ground = Ground {
            plane,
            is_open: band.goes_on(&of_strip),
            rows: of_strip,
            strip,
            kept,
        };
        let mut followed = match saddles {
            None => ground.follow(&Centers { plane }, &[], (marks, ways), steps, closed)?,
            Some(saddles) => {
                let walk = Edges::new(plane, saddles, ground.rows.start);
                ground.follow(&walk, open, (marks, ways), steps, closed)?
            }
        };
        if count == 1 {
            followed.steps = take(steps);
            followed.closed = take(closed);
        } else {
            followed.steps = take_copy(steps, "the chain codes of borders")?;
            followed.closed = take_copy(closed, "the borders")?;
        }
        lock(&workspaces).push(workspace);
        let done = done.fetch_add(1, Relaxed) as u64 + 1;
        progress.report(done * 4, u64::from(count) * 5)?;
        Ok(followed)
    };
    let strips = (0..count).into_par_iter().with_max_len(1);
    strips.map(follow).collect()
}

/// The memory in which a strip is followed, reused for strip after strip: the system would have to
/// clear fresh memory each time.
struct Workspace<P> {
    sides: Sides<P>,
    ways: Ways,
    steps: Vec<Direction>,
    closed: Vec<Closed>,
}

impl<P: Pixels> Workspace<P> {
    fn new<S: Strips<Pixels = P>>(strips: &S, rows: u32) -> Result<Self> {
        Ok(Self {
            sides: Sides::with_room(strips, rows)?,
            ways: Ways::default(),
            steps: Vec::new(),
            closed: Vec::new(),
        })
    }
}

/// Copies into memory of exactly that length; leaves `from` empty, with its capacity.
fn take_copy<T: Copy>(from: &mut Vec<T>, what: &'static str) -> Result<Vec<T>> {
    let mut copy = with_room(from.len(), what)?;
    copy.extend_from_slice(from);
    from.clear();
    Ok(copy)
}

pub(in crate::trace) fn check_count(fragments: u64) -> Result<()> {
    if fragments > MOST_FRAGMENTS {
        return Err(Error::TooMany {
            what: "fragments of borders",
            limit: MOST_FRAGMENTS,
        });
    }
    Ok(())
}

/// A strip of an image or a band.
struct Ground<'a, P> {
    /// Its rows, with the one above and the one below.
    plane: &'a P,
    rows: Range<u32>,
    /// Whether there are rows above, and below.
    is_open: [bool; 2],
    /// Its index.
    strip: u32,
    kept: KeptPoints,
}

impl<P: Pixels> Ground<'_, P> {
    /// Follows the fragments and borders. The strip's steps and closed borders stay in `steps` and
    /// `closed`.
    fn follow<K: Walk>(
        self,
        walk: &K,
        open: &[OpenSaddle],
        (marks, ways): (&mut Marks, &mut Ways),
        steps: &mut Vec<Direction>,
        closed: &mut Vec<Closed>,
    ) -> Result<Strip> {
        let rows = SPARE_ROWS..SPARE_ROWS + self.rows.len();
        match ways.find(walk, self.plane, marks, rows)? {
            Some(next) => self.follow_by(walk, next, open, marks, steps, closed),
            None => {
                let next = FromPlanes::new(walk, self.plane);
                self.follow_by(walk, next, open, marks, steps, closed)
            }
        }
    }

    fn follow_by<K: Walk, N: NextNode>(
        self,
        walk: &K,
        next: N,
        open: &[OpenSaddle],
        marks: &mut Marks,
        steps: &mut Vec<Direction>,
        closed: &mut Vec<Closed>,
    ) -> Result<Strip> {
        let Self {
            plane,
            rows,
            is_open: [is_open_above, is_open_below],
            strip,
            kept,
        } = self;
        let height = (rows.end - rows.start) as usize;
        let (first, last) = (SPARE_ROWS, SPARE_ROWS + height - 1);
        // Entries into this strip, and entries into the adjacent strips by which borders leave.
        let (mut from_above, mut to_above) = (Entries::none(Rim::Above), Entries::none(Rim::Below));
        let (mut from_below, mut to_below) = (Entries::none(Rim::Below), Entries::none(Rim::Above));
        if is_open_above {
            from_above = Entries::of(walk, plane, first, Rim::Above)?;
            to_above = Entries::of(walk, plane, first - 1, Rim::Below)?;
        }
        if is_open_below {
            from_below = Entries::of(walk, plane, last, Rim::Below)?;
            to_below = Entries::of(walk, plane, last + 1, Rim::Above)?;
        }
        let halves = halves_within(open, &rows)?;
        let count = u64::from(from_above.count) + u64::from(from_below.count) + halves.len() as u64;
        check_count(count)?;
        let mut fragments: Vec<Fragment> = with_room(count as usize, "the fragments of borders")?;

        let stride = plane.stride();
        let mut this = StripWalk {
            walk,
            next,
            plane,
            marks,
            first_row: rows.start,
            places: first * stride..(last + 1) * stride,
            kept,
            steps,
        };
        let mut add = |node: Node| -> Result<()> {
            let id = fragments.len() as FragmentId;
            let Followed { mut fragment, end } = this.follow_fragment(node, id, strip)?;
            let Node { place, code } = end;
            if place >= OPEN_OFFSET as usize {
                let (x, y) = plane.coordinates(place - OPEN_OFFSET as usize);
                fragment.exit = Exit::Saddle;
                fragment.next = half_of(open, x, rows.start + y, code);
            } else if place < this.places.start {
                fragment.exit = Exit::Above;
                fragment.next = to_above.index(place % stride, code);
            } else {
                fragment.exit = Exit::Below;
                fragment.next = to_below.index(place % stride, code);
            }
            fragments.push(fragment);
            Ok(())
        };
        for (entries, row) in [(&from_above, first), (&from_below, last)] {
            entries.for_each::<K>(|x, code| {
                add(Node {
                    place: row * stride + x,
                    code,
                })
            })?;
        }
        for &half in &halves {
            let (x, y, code) = begin_of_half(open, half);
            add(Node {
                place: plane.place(x, y - rows.start),
                code,
            })?;
        }
        this.follow_closed(fragments.len() as FragmentId, closed)?;
        for fragment in &mut fragments {
            let side = fragment.side;
            if side != SideKey::NONE {
                let y = side.y - rows.start;
                fragment.before = this
                    .marks
                    .border_before_any(plane, side.kind(), side.x(), y);
            }
        }
        Ok(Strip {
            steps: Vec::new(),
            fragments,
            from_above: from_above.count,
            from_below: from_below.count,
            halves,
            closed: Vec::new(),
        })
    }
}
