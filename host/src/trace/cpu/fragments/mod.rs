//! Border following in strips of rows, on all cores.
//!
//! 1. **Follow** (`follow.rs`): the image is divided into strips of rows, which
//!    threads take one after the other. A border that stays in its strip is *closed* there: it is
//!    followed as [`suzuki`](super::suzuki) does, and in the same order. A border that crosses the
//!    seam between two strips falls apart into *fragments*. A fragment begins at an **entry**: the
//!    node by which the border comes into the strip. Entries are found for 64 pixels at once
//!    (`entries.rs`) and followed first, so the scan for unpassed starts then meets closed borders
//!    only. Over centers, borders are walked along pixel by pixel (`strip_walk.rs`); where they are
//!    dense, steps are looked up (`ways.rs`). Along edges, a scan of the strip finds their
//!    horizontal segments and links each to the one after it (`segments/`).
//! 2. **Join** (`join.rs`): a fragment ends where the next one enters the adjacent strip; the index
//!    of that next one is its entry's rank in its row. Fragments are thus a permutation, and its
//!    cycles, the **rings**, are the other borders. List ranking puts each ring's fragments in
//!    order, from the first vertical side in raster order on, where `suzuki` would begin the
//!    border.
//! 3. **Number** (`number.rs`): closed borders and rings are merged into raster order of their
//!    starts. A border's parent follows from the border that passes the side before its start in
//!    its row; a row lies in one strip, so that is a fragment or closed border of the same strip.
//! 4. **Write** (`write.rs`): the order of the result gives each border its place among the points,
//!    and each fragment its place in the border. The result is divided evenly, and the threads turn
//!    chain codes into points where they belong.
//!
//! A band of a larger image goes through stages 1 and 2 and becomes a part of the image's contours,
//! which is joined to others later (`trace/parts/`).
//!
//! A step of a border is kept as its direction, one byte, from stage 1 to 4. The planes of pixels
//! and sides exist only while their strip is followed, and fit a core's cache.
//!
//! Time: linear in the number of words of the image plus the number of steps, divided evenly among
//! the threads. One thread alone makes three passes over the borders, for the sizes of their
//! subtrees and their places in the result.
//!
//! Memory beyond the result:
//!
//! | bytes | per | |
//! |---|---|---|
//! | 1 | step of a border | |
//! | 41 | border | at most, while they are put into order |
//! | 80 | fragment | |
//! | 0.7 | pixel of the strips that are being followed | over centers |
//! | 2 | pixel of these strips | over centers, where borders are dense (`ways.rs`) |
//! | 12 | horizontal segment of these strips | along edges, and up to half as much to spare |
//! | 4 | run of foreground in a row | along edges, given back before the rest |
//! | 0.125 | pixel | along edges |

pub(in crate::trace) mod entries;
pub(in crate::trace) mod follow;
pub(in crate::trace) mod join;
pub(in crate::trace::cpu) mod number;
mod segments;
mod strip_walk;
#[cfg(test)]
mod tests;
mod ways;
pub(in crate::trace::cpu) mod write;

pub(in crate::trace) use follow::check_count;

use self::follow::{SideKey, Strip};
use self::join::Rings;
use self::number::Border;
use super::approximate::{self, Points};
use super::chains::{BorderId, Nesting};
use super::hierarchy;
use super::pixels::Strips;
use super::saddles::Saddles;
use super::teh_chin::Curvature;
use crate::error::Result;
use crate::image::BinaryImage;
use crate::progress::Progress;
use crate::trace::Band;
use crate::trace::contours::Contours;
use crate::trace::{Approximation, ContourOptions, Geometry};

/// The most pixels of a strip: its planes take 0.7 bytes per pixel, and a core's own cache has a
/// megabyte or more.
const STRIP_PIXELS: u32 = 1 << 20;

/// Strips per thread: enough that the threads end at about the same time.
const STRIPS_PER_THREAD: usize = 4;

/// The smallest strip. With fewer rows, fragments take too large a share of the time.
const LEAST_ROWS: u32 = 16;

/// The fewest pixels of a strip: about 60 µs' work, several times what it takes to wake a thread.
const LEAST_PIXELS: u32 = 1 << 16;

/// Traces all borders of an image.
pub(in crate::trace) fn trace(
    image: &BinaryImage,
    options: &ContourOptions,
    progress: &Progress<'_>,
) -> Result<Contours> {
    in_strips(image.width(), image.height(), |rows| {
        trace_in_strips(image, rows, options, progress)
    })
}

/// Calls `trace` with the number of rows of a strip.
pub(in crate::trace::cpu) fn in_strips<R: Send>(
    width: u32,
    height: u32,
    trace: impl FnOnce(u32) -> Result<R> + Send,
) -> Result<R> {
    let rows = strip_rows(width, height, rayon::current_num_threads());
    if rows >= height {
        return trace(rows);
    }
    // On one of rayon's threads, so that this one does not fall asleep and wake up in each stage.
    rayon::scope(|_| trace(rows))
}

/// The number of rows of each strip but the last.
pub(in crate::trace) fn strip_rows(width: u32, height: u32, threads: usize) -> u32 {
    let shared = match threads {
        1 => height,
        _ => height.div_ceil((threads * STRIPS_PER_THREAD) as u32),
    };
    let within = |pixels: u32| (pixels / width).max(LEAST_ROWS);
    shared.clamp(within(LEAST_PIXELS), within(STRIP_PIXELS))
}

/// Which points of a border are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum KeptPoints {
    /// All.
    All,
    /// Those where it turns.
    Turns,
}

impl KeptPoints {
    /// The points to keep for `options`, and the approximation that thins them in the end.
    pub(in crate::trace) fn of(options: &ContourOptions) -> (Self, Option<Curvature>) {
        match (options.geometry, options.approximation) {
            // A ring has a vertex where it turns and nowhere else.
            (Geometry::Edges, _) | (_, Approximation::Simple) => (Self::Turns, None),
            (_, Approximation::None) => (Self::All, None),
            (_, Approximation::TehChinL1) => (Self::All, Some(Curvature::L1)),
            (_, Approximation::TehChinKCos) => (Self::All, Some(Curvature::KCosine)),
        }
    }
}

/// The borders of an image, numbered, without their points.
pub(in crate::trace::cpu) struct Borders {
    strips: Vec<Strip>,
    rings: Rings,
    borders: Vec<Border>,
    /// The number of rows of a strip.
    rows: u32,
    geometry: Geometry,
    kept: KeptPoints,
}

impl Borders {
    /// Follows all borders in strips of `rows` rows.
    pub(in crate::trace::cpu) fn follow<S: Strips>(
        image: S,
        saddles: Option<Saddles>,
        rows: u32,
        options: &ContourOptions,
        progress: &Progress<'_>,
    ) -> Result<(Self, Nesting)> {
        let (kept, _) = KeptPoints::of(options);
        let mut strips = follow::follow(image, saddles.as_ref(), &[], rows, kept, progress)?;
        drop(saddles);
        let rings = join::join(&mut strips)?;
        let (borders, nesting) = number::number(&mut strips, &rings, rows)?;
        let this = Self {
            strips,
            rings,
            borders,
            rows,
            geometry: options.geometry,
            kept,
        };
        Ok((this, nesting))
    }

    /// The side at which a border begins.
    pub(in crate::trace::cpu) fn side(&self, id: BorderId) -> SideKey {
        self.borders[id as usize].side
    }

    /// The points of the borders in `order`.
    pub(in crate::trace::cpu) fn points(&self, order: &[BorderId]) -> Result<Points> {
        let pieces = write::Pieces {
            strips: &self.strips,
            rings: &self.rings,
            borders: &self.borders,
            rows: self.rows,
            geometry: self.geometry,
            kept: self.kept,
        };
        pieces.points(order)
    }
}

/// Traces all borders of an image in strips of `rows` rows.
fn trace_in_strips(
    image: &BinaryImage,
    rows: u32,
    options: &ContourOptions,
    progress: &Progress<'_>,
) -> Result<Contours> {
    let (_, curvature) = KeptPoints::of(options);
    let band = Band::whole(image);
    let saddles = match options.geometry {
        Geometry::Centers => None,
        Geometry::Edges => Some(Saddles::of(band)?),
    };
    let (borders, nesting) = Borders::follow(band, saddles, rows, options, progress)?;
    // Each stage's input is freed before the next stage's results are allocated.
    let arrangement = hierarchy::arrange(&nesting, options.retrieval)?;
    drop(nesting);
    progress.report(9, 10)?;
    let points = borders.points(&arrangement.order)?;
    drop((borders, arrangement.order));
    let contours = Contours {
        width: image.width(),
        height: image.height(),
        geometry: options.geometry,
        points: points.points,
        offsets: points.offsets,
        kinds: arrangement.kinds,
        hierarchy: hierarchy::link(&arrangement.parents)?,
    };
    let contours = match curvature {
        Some(curvature) => approximate::dominant_of(contours, curvature)?,
        None => contours,
    };
    progress.report(1, 1)?;
    Ok(contours)
}
