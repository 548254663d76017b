//! Following: the borders and fragments of one strip.

use std::mem::take;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::super::chains::Direction;
use super::super::pixels::{Pixels, SPARE_ROWS, Strips};
use super::super::saddles::{OpenSaddle, Saddles};
use super::super::sides::{Joined, Marks, Sides};
use super::super::walk::{Centers, Node, Rim, Walk};
use super::KeptPoints;
use super::entries::Entries;
use super::segments::{self, Segments};
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
/// saddle. `kept` applies to centers; along edges, the points where a border turns are kept.
pub(in crate::trace) fn follow<S: Strips>(
    band: S,
    saddles: Option<&Saddles>,
    open: &[OpenSaddle],
    rows: u32,
    kept: KeptPoints,
    progress: &Progress<'_>,
) -> Result<Vec<Strip>> {
    let rows_of_strips = rows.min(band.height());
    match saddles {
        None => {
            let room = || Ok((Sides::with_room(&band, rows_of_strips)?, Ways::default()));
            let follow = |memory: &mut (Sides<S::Pixels>, Ways), strip: StripRows, found: Found| {
                let (sides, ways) = memory;
                sides.find(&band, strip.rows.clone(), Joined::Eight)?;
                let (plane, marks) = sides.split();
                let is_open = band.goes_on(&strip.rows);
                let ground = Ground {
                    plane,
                    is_open,
                    strip,
                    kept,
                };
                ground.follow((marks, ways), found)
            };
            strip_by_strip(&band, rows, progress, room, follow)
        }
        Some(saddles) => {
            let room = || Ok((band.room(rows_of_strips)?, Segments::default()));
            let follow = |memory: &mut (S::Pixels, Segments), strip: StripRows, found: Found| {
                let (pixels, segments) = memory;
                band.load(pixels, &strip.rows, |_, _| ());
                let ground = segments::Ground {
                    plane: pixels,
                    saddles,
                    open,
                    is_open: band.goes_on(&strip.rows),
                    strip,
                };
                ground.follow(segments, found)
            };
            strip_by_strip(&band, rows, progress, room, follow)
        }
    }
}

/// Some rows of an image or a band, by which its borders are followed.
pub(super) struct StripRows {
    /// The strip's index.
    pub(super) index: u32,
    pub(super) rows: Range<u32>,
}

/// The steps and closed borders of a strip, in memory reused for strip after strip.
pub(super) struct Found<'a> {
    pub(super) steps: &'a mut Vec<Direction>,
    pub(super) closed: &'a mut Vec<Closed>,
}

/// The memory in which a strip is followed, reused for strip after strip: the system would have to
/// clear fresh memory each time.
struct Workspace<M> {
    memory: M,
    steps: Vec<Direction>,
    closed: Vec<Closed>,
}

/// Follows all strips of `rows` rows, on all threads. `follow` leaves the steps and closed borders
/// of a strip in [`Found`]; its memory comes from `room`.
fn strip_by_strip<S: Strips, M: Send>(
    band: &S,
    rows: u32,
    progress: &Progress<'_>,
    room: impl Fn() -> Result<M> + Sync,
    follow: impl Fn(&mut M, StripRows, Found<'_>) -> Result<Strip> + Sync,
) -> Result<Vec<Strip>> {
    let height = band.height();
    let count = height.div_ceil(rows);
    let done = AtomicUsize::new(0);
    let workspaces = Mutex::new(Vec::new());
    let follow = |strip: u32| -> Result<Strip> {
        let mut workspace = match lock(&workspaces).pop() {
            Some(workspace) => workspace,
            None => Workspace {
                memory: room()?,
                steps: Vec::new(),
                closed: Vec::new(),
            },
        };
        let Workspace {
            memory,
            steps,
            closed,
        } = &mut workspace;
        let of_strip = StripRows {
            index: strip,
            rows: strip * rows..height.min((strip + 1) * rows),
        };
        let mut followed = follow(memory, of_strip, Found { steps, closed })?;
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

/// A strip whose borders are followed over pixel centers.
struct Ground<'a, P> {
    /// Its rows, with the one above and the one below.
    plane: &'a P,
    strip: StripRows,
    /// Whether there are rows above, and below.
    is_open: [bool; 2],
    kept: KeptPoints,
}

impl<P: Pixels> Ground<'_, P> {
    /// Follows the fragments and borders.
    fn follow(&self, (marks, ways): (&mut Marks, &mut Ways), found: Found<'_>) -> Result<Strip> {
        let walk = &Centers { plane: self.plane };
        let rows = SPARE_ROWS..SPARE_ROWS + self.strip.rows.len();
        match ways.find(self.plane, marks, rows)? {
            Some(next) => self.follow_by(walk, next, marks, found),
            None => {
                let next = FromPlanes::new(walk);
                self.follow_by(walk, next, marks, found)
            }
        }
    }

    fn follow_by<N: NextNode>(
        &self,
        walk: &Centers<'_, P>,
        next: N,
        marks: &mut Marks,
        Found { steps, closed }: Found<'_>,
    ) -> Result<Strip> {
        let &Self {
            plane,
            ref strip,
            is_open,
            kept,
        } = self;
        let rims = Rims::of(walk, plane, strip.rows.len(), is_open)?;
        let [from_above, from_below] = &rims.from;
        let [to_above, to_below] = &rims.to;
        let count = u64::from(from_above.count) + u64::from(from_below.count);
        check_count(count)?;
        let mut fragments: Vec<Fragment> = with_room(count as usize, "the fragments of borders")?;

        let stride = plane.stride();
        let (first, last) = (SPARE_ROWS, SPARE_ROWS + strip.rows.len() - 1);
        let mut this = StripWalk {
            walk,
            next,
            plane,
            marks,
            first_row: strip.rows.start,
            places: first * stride..(last + 1) * stride,
            kept,
            steps,
        };
        for (entries, row) in [(from_above, first), (from_below, last)] {
            entries.for_each::<Centers<'_, P>>(|x, code| {
                let place = row * stride + x;
                let id = fragments.len() as FragmentId;
                let Followed { mut fragment, end } =
                    this.follow_fragment(Node { place, code }, id, strip.index)?;
                let Node { place, code } = end;
                (fragment.exit, fragment.next) = if place < this.places.start {
                    (Exit::Above, to_above.index(place % stride, code))
                } else {
                    (Exit::Below, to_below.index(place % stride, code))
                };
                fragments.push(fragment);
                Ok(())
            })?;
        }
        this.follow_closed(fragments.len() as FragmentId, closed)?;
        for fragment in &mut fragments {
            let side = fragment.side;
            if side != SideKey::NONE {
                let y = side.y - strip.rows.start;
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
            halves: Vec::new(),
            closed: Vec::new(),
        })
    }
}

/// The nodes by which borders enter and leave a strip.
pub(super) struct Rims {
    /// Entries into the strip over its upper and its lower rim.
    pub(super) from: [Entries; 2],
    /// Entries into the strips above and below, by which borders leave.
    pub(super) to: [Entries; 2],
}

impl Rims {
    /// Those of a strip of `height` rows, by a walk in its plane; of each rim beyond which there
    /// are rows.
    pub(super) fn of<P: Pixels, K: Walk>(
        walk: &K,
        plane: &P,
        height: usize,
        [is_open_above, is_open_below]: [bool; 2],
    ) -> Result<Self> {
        let (first, last) = (SPARE_ROWS, SPARE_ROWS + height - 1);
        let entries = |is_open, row, rim| match is_open {
            true => Entries::of(walk, plane, row, rim),
            false => Ok(Entries::none(rim)),
        };
        Ok(Self {
            from: [
                entries(is_open_above, first, Rim::Above)?,
                entries(is_open_below, last, Rim::Below)?,
            ],
            to: [
                entries(is_open_above, first - 1, Rim::Below)?,
                entries(is_open_below, last + 1, Rim::Above)?,
            ],
        })
    }
}
