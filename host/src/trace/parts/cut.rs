//! The borders and fragments of a band, from the contours of a larger image: that of the band's
//! rows, the row above them and the row below them.
//!
//! In that image, every border is closed. A border that stays in the band is the same there and in
//! the whole image. If a border leaves the band, its stretches between the two rows beside the band
//! are the same, since the nodes of a row depend only on the pixels beside it: these **paths** are
//! the band's fragments. Contours with points where they turn are enough: a contour turns wherever
//! it is farthest up or down, so it leaves the band only if one of its points does.
//!
//! The makers of the contours tell which border or path passes the side before a start in its row
//! ([`Before`]).

use std::ops::Range;

use glam::IVec2;
use rayon::prelude::*;

use super::assemble::Assembly;
use super::follow_band::BandBorders;
use super::pool::{Border, Key, Length, NO_ITEM, NO_PIECE, Piece};
use super::runs::encode_run;
use crate::error::{Error, Result};
use crate::memory::reserve;
use crate::trace::Band;
use crate::trace::ContourOptions;
use crate::trace::cpu::chains::{Direction, STEPS, opposite};
use crate::trace::cpu::fragments::KeptPoints;
use crate::trace::cpu::walk::Rim;

/// Contours over pixel centers, as points where they turn.
#[derive(Clone, Copy)]
pub(in crate::trace) struct Cycles<'a> {
    pub(in crate::trace) points: &'a [IVec2],
    /// Start of each contour's points, then the number of points.
    pub(in crate::trace) offsets: &'a [u32],
    /// 1 for a hole's border, else 0.
    pub(in crate::trace) kinds: &'a [u8],
    /// The band's first row, in the contours' image.
    pub(in crate::trace) first_row: u32,
}

/// What passes the side before a start in its row.
#[derive(Clone, Copy)]
pub(in crate::trace) struct Before {
    /// The contour, or [`NO_CONTOUR`].
    pub(in crate::trace) contour: u32,
    /// The first of its points after the contour has entered the 32 rows with that side.
    pub(in crate::trace) point: u32,
}

/// No contour: there is no side before, or no start.
pub(in crate::trace) const NO_CONTOUR: u32 = u32::MAX;

/// Sentinel: no start.
pub(super) const NO_START: u64 = u64::MAX;

/// The fewest points that are worth a task.
pub(in crate::trace) const LEAST_POINTS: usize = 1 << 14;

pub(super) const FRAGMENTS: &str = "the fragments of borders";

/// Cuts contours where they leave a band, in tasks of at least `least_points` points. `before`
/// tells what passes the side before each start. A start has its row in the upper 32 bits, and
/// twice the column, plus 1 for an east side, in the lower ones; rows are those of the contours'
/// image.
pub(in crate::trace) fn cut(
    band: Band<'_>,
    options: &ContourOptions,
    cycles: Cycles<'_>,
    least_points: usize,
    before: impl FnOnce(&[u64]) -> Result<Vec<Before>>,
) -> Result<BandBorders> {
    let (kept, _) = KeptPoints::of(options);
    let count = cycles.kinds.len();
    let cutter = Cutter {
        cycles,
        kept,
        rows: cycles.first_row as i32..(cycles.first_row + band.height()) as i32,
        band_rows: u64::from(band.rows().start.wrapping_sub(cycles.first_row)) << 32,
    };
    let tasks = (cycles.points.len() / least_points).max(1);
    let first_of = |task: usize| {
        let points = cycles.points.len() as u64 * task as u64 / tasks as u64;
        cycles.offsets[..count].partition_point(|&offset| u64::from(offset) < points)
    };
    let shares: Vec<Share> = (0..tasks)
        .into_par_iter()
        .map(|task| {
            let end = if task + 1 == tasks {
                count
            } else {
                first_of(task + 1)
            };
            cutter.share(first_of(task)..end)
        })
        .collect::<Result<_>>()?;

    let mut assembly = Assembly::new(band, count, &shares)?;
    for share in shares {
        assembly.add(share, &cutter)?;
    }
    assembly.finish(&cutter, before)
}

/// A stretch of a contour between two points beyond the band.
pub(super) struct Path {
    pub(super) contour: u32,
    /// The index of the contour's first point beyond the band; points are counted from it,
    /// cyclically.
    pub(super) origin: u32,
    /// The first point of the path, or else the one after it.
    pub(super) first: u32,
    pub(super) entry: Crossing,
    pub(super) exit: Crossing,
    /// The first vertical side that it passes, or [`NO_START`].
    pub(super) start: u64,
    /// The step to there.
    pub(super) step_in: Direction,
    pub(super) points: u64,
    /// Places in the share's bytes: the beginning of the steps before the start, the beginning of
    /// the steps from the start on, and the end of these.
    pub(super) steps: [usize; 3],
}

/// Where a path enters or leaves: the rim, the column of the pixel that it comes to, and the
/// direction back.
#[derive(Clone, Copy)]
pub(super) struct Crossing {
    pub(super) rim: Rim,
    pub(super) x: u32,
    pub(super) back: Direction,
}

/// The result of a task.
#[derive(Default)]
pub(super) struct Share {
    pub(super) bytes: Vec<u8>,
    /// The borders that stay in the band, with the share's pieces; what comes before them is not
    /// yet known.
    pub(super) borders: Vec<Border>,
    /// The contour of each border.
    pub(super) contours: Vec<u32>,
    /// Of the share's bytes.
    pub(super) pieces: Vec<Piece>,
    pub(super) paths: Vec<Path>,
}

/// What all tasks share.
pub(super) struct Cutter<'a> {
    pub(super) cycles: Cycles<'a>,
    pub(super) kept: KeptPoints,
    /// The band's rows in the contours' image.
    pub(super) rows: Range<i32>,
    /// Offset from these rows to the larger image's, in the bits where starts have rows; wraps
    /// around.
    pub(super) band_rows: u64,
}

/// A path, as far as it has been followed.
struct Open {
    entry: Crossing,
    first: u32,
    start: u64,
    step_in: Direction,
    /// The number of steps before the start.
    steps_before: u64,
    steps: u64,
    turns: u64,
}

impl Open {
    /// Adds the node of pixel `at`, with the directions of the steps to it and from it, after a
    /// number of steps.
    #[inline]
    fn meet(&mut self, at: IVec2, came: Direction, goes: Direction, steps: u64) {
        let start = match vertical_side(came, goes) {
            Some(east) => start_at(at, east),
            None => return,
        };
        if start < self.start {
            (self.start, self.step_in, self.steps_before) = (start, came, steps);
        }
    }

    /// Adds `count` nodes from pixel `at` on, between which the path goes straight on.
    #[inline]
    fn meet_run(&mut self, at: IVec2, direction: Direction, count: u32) {
        // The uppermost node comes first on the way down, and last on the way up.
        let skipped = match direction {
            _ if count == 0 => return,
            1..=3 => count - 1,
            _ => 0,
        };
        let to = at + step(direction) * skipped as i32;
        self.meet(to, direction, direction, self.steps + u64::from(skipped));
    }
}

impl Cutter<'_> {
    /// Cuts some contours.
    fn share(&self, contours: Range<usize>) -> Result<Share> {
        let mut share = Share::default();
        reserve(&mut share.borders, contours.len(), "the borders")?;
        reserve(&mut share.contours, contours.len(), "the borders")?;
        reserve(&mut share.pieces, contours.len(), "the pieces of borders")?;
        let mut runs = Vec::new();
        for contour in contours {
            let offsets = &self.cycles.offsets[contour..=contour + 1];
            let points = &self.cycles.points[offsets[0] as usize..offsets[1] as usize];
            match points.iter().position(|&point| !self.is_inside(point)) {
                None => self.whole(contour, points, &mut share)?,
                Some(origin) => self.paths(contour, points, origin, &mut runs, &mut share)?,
            }
        }
        share.bytes.shrink_to_fit();
        Ok(share)
    }

    fn is_inside(&self, point: IVec2) -> bool {
        self.rows.contains(&point.y)
    }

    fn whole(&self, contour: usize, points: &[IVec2], share: &mut Share) -> Result<()> {
        let begin = share.bytes.len();
        let (first, last) = (points[0], points[points.len() - 1]);
        let is_hole = self.cycles.kinds[contour] != 0;
        share.contours.push(contour as u32);
        if points.len() == 1 {
            share.borders.push(Border {
                key: self.key(start_at(first, false)),
                length: Length::new(1, 0),
                first_piece: NO_PIECE,
                before: NO_ITEM,
                value: (),
            });
            return Ok(());
        }
        let (step_in, last_length) = run(last, first);
        let (step_out, _) = run(first, points[1]);
        // A hole's border may come straight through its start, which is then one step before the
        // first point.
        let is_start = !is_hole || vertical_side(step_in, step_out) == Some(true);
        let mut start = first;
        if !is_start {
            start -= step(step_in);
            encode_run(step_in, 1, &mut share.bytes)?;
        }
        let mut steps = 0;
        for pair in points.windows(2) {
            let (direction, length) = run(pair[0], pair[1]);
            encode_run(direction, length as usize, &mut share.bytes)?;
            steps += u64::from(length);
        }
        let rest = last_length - u32::from(!is_start);
        encode_run(step_in, rest as usize, &mut share.bytes)?;
        let kept = match self.kept {
            KeptPoints::All => steps + u64::from(last_length),
            KeptPoints::Turns => points.len() as u64,
        };
        let end = share.bytes.len();
        share.borders.push(Border {
            key: self.key(start_at(start, is_hole)),
            length: Length::new(kept, step_in),
            first_piece: piece_of(&mut share.pieces, 0, begin..end)?,
            before: NO_ITEM,
            value: (),
        });
        Ok(())
    }

    /// The band's key for a start.
    pub(super) fn key(&self, start: u64) -> Key {
        match start {
            NO_START => Key::NONE,
            start => Key(start.wrapping_add(self.band_rows)),
        }
    }

    /// Adds the paths of a contour with a point beyond the band, at index `origin`. `runs` is
    /// scratch.
    fn paths(
        &self,
        contour: usize,
        points: &[IVec2],
        origin: usize,
        runs: &mut Vec<(Direction, u32)>,
        share: &mut Share,
    ) -> Result<()> {
        let n = points.len();
        let mut open: Option<Open> = None;
        let mut came = 0;
        for j in 0..n {
            let at = |j: usize| points[(origin + j) % n];
            let (from, to) = (at(j), at(j + 1));
            let (direction, length) = run(from, to);
            if self.is_inside(from) {
                let path = open.as_mut();
                let Some(path) = path else {
                    unreachable!("the first point lies beyond the band");
                };
                path.meet(from, came, direction, path.steps);
                path.turns += 1;
                path.steps += 1;
                path.meet_run(from + step(direction), direction, length - 1);
                path.steps += u64::from(length - 1);
                reserve(runs, 1, FRAGMENTS)?;
                runs.push((direction, length));
            } else if from.y != to.y {
                let next = from + step(direction);
                runs.clear();
                let mut path = Open {
                    entry: self.crossing(from, next, direction),
                    first: j as u32 + 1,
                    start: NO_START,
                    step_in: direction,
                    steps_before: 0,
                    steps: 0,
                    turns: 0,
                };
                if length > 1 {
                    path.meet_run(next, direction, length - 1);
                    path.steps = u64::from(length - 1);
                    reserve(runs, 1, FRAGMENTS)?;
                    runs.push((direction, length - 1));
                }
                open = Some(path);
            }
            came = direction;
            if !self.is_inside(to)
                && let Some(path) = open.take()
            {
                let exit = self.crossing(to, to, direction);
                self.close(contour, origin, &path, exit, runs, share)?;
            }
        }
        Ok(())
    }

    /// The crossing of the rim at pixel `outside`, to pixel `to`.
    fn crossing(&self, outside: IVec2, to: IVec2, direction: Direction) -> Crossing {
        Crossing {
            rim: if outside.y < self.rows.start {
                Rim::Above
            } else {
                Rim::Below
            },
            x: to.x as u32,
            back: opposite(direction),
        }
    }

    /// Adds a path whose end has been met.
    fn close(
        &self,
        contour: usize,
        origin: usize,
        path: &Open,
        exit: Crossing,
        runs: &[(Direction, u32)],
        share: &mut Share,
    ) -> Result<()> {
        let begin = share.bytes.len();
        // Without a start, all steps are before it.
        let mut before = if path.start == NO_START {
            path.steps
        } else {
            path.steps_before
        };
        let mut start = begin;
        for &(direction, length) in runs {
            let head = before.min(length.into()) as u32;
            if head > 0 {
                encode_run(direction, head as usize, &mut share.bytes)?;
                before -= u64::from(head);
                start = share.bytes.len();
            }
            if head < length {
                encode_run(direction, (length - head) as usize, &mut share.bytes)?;
            }
        }
        reserve(&mut share.paths, 1, FRAGMENTS)?;
        share.paths.push(Path {
            contour: contour as u32,
            origin: origin as u32,
            first: path.first,
            entry: path.entry,
            exit,
            start: path.start,
            step_in: if path.start == NO_START {
                0
            } else {
                path.step_in
            },
            points: match self.kept {
                KeptPoints::All => path.steps,
                KeptPoints::Turns => path.turns,
            },
            steps: [begin, start, share.bytes.len()],
        });
        Ok(())
    }
}

/// The step in a direction.
fn step(direction: Direction) -> IVec2 {
    STEPS[usize::from(direction)].into()
}

/// The direction and the number of steps from one point to another straight ahead.
#[inline]
fn run(from: IVec2, to: IVec2) -> (Direction, u32) {
    // By the signs of y and x.
    const DIRECTIONS: [[Direction; 3]; 3] = [[3, 2, 1], [4, 0, 0], [5, 6, 7]];
    let way = to - from;
    let signs = way.signum() + 1;
    let length = way.abs().max_element() as u32;
    (DIRECTIONS[signs.y as usize][signs.x as usize], length)
}

/// Whether the node between two steps passes a vertical side of its pixel: `Some(false)` if a west
/// side, `Some(true)` if an east side only. The background on the right hand is counter-clockwise
/// from the direction back to the direction out.
#[inline]
fn vertical_side(came: Direction, goes: Direction) -> Option<bool> {
    let back = opposite(came);
    let gap = goes.wrapping_sub(back).wrapping_sub(1) & 7;
    let passes = |side: Direction| {
        let after_back = side.wrapping_sub(back) & 7;
        (1..=gap).contains(&after_back)
    };
    match (passes(4), passes(0)) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        (false, false) => None,
    }
}

fn start_at(at: IVec2, east: bool) -> u64 {
    u64::from(at.y as u32) << 32 | u64::from((at.x as u32) << 1 | u32::from(east))
}

/// Adds a piece for these bytes, counted from `first_byte` on, unless they are empty.
pub(super) fn piece_of(
    pieces: &mut Vec<Piece>,
    first_byte: u64,
    bytes: Range<usize>,
) -> Result<u32> {
    if bytes.is_empty() {
        return Ok(NO_PIECE);
    }
    let len = u32::try_from(bytes.len()).map_err(|_| Error::TooMany {
        what: "bytes of a border's chain code in a band",
        limit: u32::MAX.into(),
    })?;
    pieces.push(Piece {
        offset: first_byte + bytes.start as u64,
        bytes: len,
        next: NO_PIECE,
    });
    Ok(pieces.len() as u32 - 1)
}
