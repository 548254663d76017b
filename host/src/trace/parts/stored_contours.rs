//! [`StoredContours`]: the contours of an image, their points still in the [`Store`].

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use glam::IVec2;
use rayon::prelude::*;

use super::pool::{Border, Key, Length, NO_PIECE, Piece, Pool, RegionValue};
use super::runs::{Pen, Runs};
use super::store::Store;
use crate::error::Result;
use crate::memory::{advise_large_pages, extend_from_slice, reserve, zeroed_vec};
use crate::trace::contours::{BorderKind, Contours, HierarchyRow};
use crate::trace::cpu::chains::{BorderId, Direction, NO_BORDER, Nesting, check_count};
use crate::trace::cpu::fragments::KeptPoints;
use crate::trace::cpu::hierarchy::{self, Arrangement};
use crate::trace::cpu::plane::Plane;
use crate::trace::cpu::teh_chin::{Curvature, Selection};
use crate::trace::cpu::walk::{Centers, Edges, Walk};
use crate::trace::source::ContourSource;
use crate::trace::{ContourOptions, Geometry};

/// The contours of an image in their order, with their hierarchy; points are made on demand.
///
/// [`BandTracer::finish`](super::BandTracer::finish) returns them. Steps are read from the store,
/// many contours at a time, and turned into points on all threads.
///
/// Memory: 41 bytes per contour; 16 or 32 per pass of a border through one of the joined parts, for
/// borders in several parts; and 16 per point of the contours that were read last, a million points
/// or one contour.
#[derive(Debug)]
pub struct StoredContours {
    width: u32,
    height: u32,
    geometry: Geometry,
    kept: KeptPoints,
    curvature: Option<Curvature>,
    kinds: Vec<BorderKind>,
    hierarchy: Vec<HierarchyRow>,
    stored: Vec<Stored>,
    pieces: Vec<Piece>,
    reader: Mutex<Reader>,
    /// The number of points, once it is known.
    points: OnceLock<u64>,
}

/// Where a contour is.
#[derive(Clone, Copy, Debug)]
struct Stored {
    key: Key,
    length: Length,
    first_piece: u32,
}

/// The store, and the contours that were last read from it.
#[derive(Debug)]
struct Reader {
    store: Store,
    batch: Batch,
}

/// Consecutive contours, in memory.
#[derive(Debug, Default)]
struct Batch {
    /// The index of the first one.
    first: usize,
    /// Start of each contour's points, then the number of points, if there are any contours.
    offsets: Vec<usize>,
    points: Vec<IVec2>,
}

/// The borders of a pool, all of them closed, in raster order.
pub(super) struct InRasterOrder<V> {
    pool: Pool<V>,
    order: Vec<(Key, u32)>,
}

const BORDERS: &str = "the borders";

impl<V: RegionValue> InRasterOrder<V> {
    pub(super) fn of(mut pool: Pool<V>) -> Result<(Self, Nesting)> {
        let count = pool.borders.len();
        check_count(count)?;
        debug_assert_eq!(pool.open(), 0);
        // Bands are nearly in raster order already. A merge sort would allocate, and abort when out
        // of memory.
        let mut order: Vec<(Key, u32)> = Vec::new();
        reserve(&mut order, count, BORDERS)?;
        order.extend(pool.borders.iter().map(|border| border.key).zip(0..));
        order.par_sort_unstable();
        let mut ranks: Vec<u32> = zeroed_vec(count, BORDERS)?;
        for (&(_, border), rank) in order.iter().zip(0..) {
            ranks[border as usize] = rank;
        }
        let mut nesting = Nesting::default();
        reserve(&mut nesting.kinds, count, BORDERS)?;
        nesting
            .kinds
            .extend(order.iter().map(|(key, _)| key.kind()));
        nesting.find_parents(|rank, _| {
            let before = pool.borders[order[rank].1 as usize].before;
            let border = pool.border_of(before);
            border.map_or(NO_BORDER, |border| ranks[border as usize])
        })?;
        drop(ranks);
        pool.fates = Vec::new();
        Ok((Self { pool, order }, nesting))
    }

    /// The border at a place in the order.
    pub(super) fn border(&self, rank: BorderId) -> &Border<V> {
        &self.pool.borders[self.order[rank as usize].1 as usize]
    }
}

impl StoredContours {
    /// Puts the borders of a pool into the result's order; all of them are closed.
    pub(super) fn new(pool: Pool, size: (u32, u32), options: ContourOptions) -> Result<Self> {
        let (borders, nesting) = InRasterOrder::of(pool)?;
        let arrangement = hierarchy::arrange(&nesting, options.retrieval)?;
        drop(nesting);
        Self::arranged(borders, arrangement, size, &options)
    }

    /// Borders in the order of the result.
    pub(super) fn arranged<V: RegionValue>(
        borders: InRasterOrder<V>,
        arrangement: Arrangement,
        size: (u32, u32),
        options: &ContourOptions,
    ) -> Result<Self> {
        let mut stored = Vec::new();
        reserve(&mut stored, arrangement.order.len(), BORDERS)?;
        stored.extend(arrangement.order.iter().map(|&rank| {
            let border = borders.border(rank);
            Stored {
                key: border.key,
                length: border.length,
                first_piece: border.first_piece,
            }
        }));
        let InRasterOrder { pool, order } = borders;
        drop((order, arrangement.order, pool.borders));
        let (kept, curvature) = KeptPoints::of(options);
        Ok(Self {
            width: size.0,
            height: size.1,
            geometry: options.geometry,
            kept,
            curvature,
            hierarchy: hierarchy::link(&arrangement.parents)?,
            kinds: arrangement.kinds,
            stored,
            pieces: pool.pieces,
            reader: Mutex::new(Reader {
                store: pool.store,
                batch: Batch::default(),
            }),
            points: OnceLock::new(),
        })
    }
}

/// The number of points that are read at a time.
const BATCH_POINTS: u64 = 1 << 20;

/// The fewest points that are worth a task.
const LEAST_SHARE: u64 = 1 << 13;

/// The largest gap between two pieces that are read together: the gap's bytes are dropped.
const MOST_SKIPPED: u64 = 1 << 14;

/// The most bytes of several pieces that are read together.
const MOST_READ: u64 = 1 << 22;

const POINTS: &str = "the contours' points";

impl StoredContours {
    /// All contours, in memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and
    /// [`Error::Io`](crate::Error::Io) for the temporary file.
    pub fn into_contours(self) -> Result<Contours> {
        let mut points = Vec::new();
        let mut offsets = Vec::new();
        reserve(&mut offsets, self.stored.len() + 1, "the contours' offsets")?;
        if self.curvature.is_none() {
            reserve(
                &mut points,
                self.length_of(0..self.stored.len()) as usize,
                POINTS,
            )?;
        }
        advise_large_pages(points.spare_capacity_mut());
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = 0;
        while at < self.stored.len() {
            self.load(at, &mut reader)?;
            let batch = &reader.batch;
            offsets.extend(
                batch.offsets[..batch.len()]
                    .iter()
                    .map(|own| own + points.len()),
            );
            extend_from_slice(&mut points, &batch.points, POINTS)?;
            at += batch.len();
        }
        offsets.push(points.len());
        drop(reader);
        Ok(Contours {
            width: self.width,
            height: self.height,
            geometry: self.geometry,
            points,
            offsets,
            kinds: self.kinds,
            hierarchy: self.hierarchy,
        })
    }

    /// The number of points of some contours, before approximation.
    fn length_of(&self, range: Range<usize>) -> u64 {
        let lengths = self.stored[range].iter();
        lengths.map(|stored| stored.length.points()).sum()
    }

    /// The end of the batch of contours that begins with `first`.
    fn batch_end(&self, first: usize) -> usize {
        let mut points = 0;
        let lengths = self.stored[first..].iter();
        let fitting = lengths.take_while(|stored| {
            points += stored.length.points();
            points <= BATCH_POINTS
        });
        first + fitting.count().max(1)
    }

    /// Reads the batch of contours that begins with `first`.
    fn load(&self, first: usize, reader: &mut Reader) -> Result<()> {
        let range = first..self.batch_end(first);
        let Reader { store, batch } = reader;
        *batch = Batch::default();
        let read = self.read(range.clone(), store)?;

        // Shares of about the same number of points.
        let mut shares: Vec<Range<usize>> = Vec::new();
        let (mut begin, mut points) = (0, 0);
        for at in 0..range.len() {
            points += self.stored[first + at].length.points();
            if points >= LEAST_SHARE || at + 1 == range.len() {
                reserve(&mut shares, 1, POINTS)?;
                shares.push(begin..at + 1);
                (begin, points) = (at + 1, 0);
            }
        }
        let make = |share: Range<usize>| self.make(first, share, &read);
        let made: Vec<Points> = shares.into_par_iter().map(make).collect::<Result<_>>()?;

        reserve(&mut batch.offsets, range.len() + 1, "the contours' offsets")?;
        let total = made.iter().map(|made| made.points.len()).sum();
        reserve(&mut batch.points, total, POINTS)?;
        for Points { points, ends } in made {
            let before = batch.points.len();
            if before == 0 {
                batch.offsets.push(0);
            }
            batch.offsets.extend(ends.iter().map(|end| before + end));
            batch.points.extend(points);
        }
        batch.first = first;
        Ok(())
    }

    /// Reads the steps of some contours.
    fn read(&self, range: Range<usize>, store: &mut Store) -> Result<Steps> {
        const STEPS: &str = "the chain codes of borders";
        let mut steps = Steps::default();
        reserve(&mut steps.ends, range.len(), STEPS)?;
        // Each piece, with its place among the bytes.
        let mut pieces: Vec<(Piece, usize)> = Vec::new();
        let mut len = 0;
        for stored in &self.stored[range] {
            let mut next = stored.first_piece;
            while next != NO_PIECE {
                let piece = self.pieces[next as usize];
                reserve(&mut pieces, 1, STEPS)?;
                pieces.push((piece, len));
                len += piece.bytes as usize;
                next = piece.next;
            }
            steps.ends.push(len);
        }
        reserve(&mut steps.bytes, len, STEPS)?;
        steps.bytes.resize(len, 0);
        pieces.sort_unstable_by_key(|(piece, _)| piece.offset);
        let mut read = Vec::new();
        let mut rest = &pieces[..];
        while let Some((first, _)) = rest.first() {
            let begin = first.offset;
            let mut end = begin + u64::from(first.bytes);
            let together = rest[1..].iter().take_while(|(piece, _)| {
                let after = piece.offset + u64::from(piece.bytes);
                let follows = piece.offset <= end + MOST_SKIPPED && after - begin <= MOST_READ;
                if follows {
                    end = end.max(after);
                }
                follows
            });
            let count = 1 + together.count();
            read.clear();
            store.read(begin, (end - begin) as usize, &mut read)?;
            for (piece, to) in &rest[..count] {
                let from = (piece.offset - begin) as usize;
                let len = piece.bytes as usize;
                steps.bytes[*to..*to + len].copy_from_slice(&read[from..from + len]);
            }
            rest = &rest[count..];
        }
        Ok(steps)
    }

    /// Turns the steps of some contours into points.
    fn make(&self, first: usize, share: Range<usize>, steps: &Steps) -> Result<Points> {
        let stored = &self.stored[first + share.start..first + share.end];
        let most = stored.iter().map(|s| s.length.points()).sum::<u64>() as usize;
        let mut made = Points::default();
        reserve(&mut made.ends, stored.len(), "the contours' offsets")?;
        let mut walk: Vec<IVec2> = zeroed_vec(most, POINTS)?;
        let mut selection = Selection::default();
        let mut directions: Vec<Direction> = Vec::new();
        let mut at = 0;
        for (stored, i) in stored.iter().zip(share) {
            let points = stored.length.points() as usize;
            let bytes = steps.of(i);
            let mut pen = self.pen(stored);
            let own = &mut walk[at..at + points];
            if bytes.is_empty() {
                own[0] = pen.at();
            }
            let mut put = 0;
            for (direction, length) in Runs(bytes) {
                put += pen.write(direction, length, &mut own[put..]);
            }
            let Some(curvature) = self.curvature else {
                at += points;
                made.ends.push(at);
                continue;
            };
            directions.clear();
            reserve(&mut directions, points, "a border's steps")?;
            for (direction, length) in Runs(bytes) {
                directions.extend(std::iter::repeat_n(direction, length));
            }
            let kept = selection.dominant(own, &directions, curvature)?;
            reserve(&mut made.points, kept.len(), POINTS)?;
            made.points.extend(kept.iter().map(|&i| own[i as usize]));
            made.ends.push(made.points.len());
        }
        if self.curvature.is_none() {
            made.points = walk;
        }
        Ok(made)
    }

    /// A pen at the start of a contour.
    fn pen(&self, stored: &Stored) -> Pen {
        let (x, y) = stored.key.pixel();
        let start = match self.geometry {
            Geometry::Centers => Centers::<Plane>::start(stored.key.kind(), x, y).0,
            Geometry::Edges => Edges::<Plane>::start(stored.key.kind(), x, y).0,
        };
        Pen::new(
            start,
            stored.length.step_in(),
            self.kept == KeptPoints::Turns,
        )
    }

    /// Visits the points of a contour of any length.
    fn visit_long(
        &self,
        stored: &Stored,
        visit: &mut dyn FnMut(&[IVec2]) -> Result<()>,
    ) -> Result<()> {
        /// The number of points that are visited at a time.
        const CHUNK: usize = 1 << 14;
        let mut pen = self.pen(stored);
        let mut points: Vec<IVec2> = zeroed_vec(2 * CHUNK, POINTS)?;
        let mut at = 0;
        let mut bytes = Vec::new();
        let mut next = stored.first_piece;
        while next != NO_PIECE {
            let piece = self.pieces[next as usize];
            next = piece.next;
            bytes.clear();
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader
                .store
                .read(piece.offset, piece.bytes as usize, &mut bytes)?;
            drop(reader);
            for (direction, mut length) in Runs(&bytes) {
                while length > 0 {
                    let some = length.min(CHUNK);
                    at += pen.write(direction, some, &mut points[at..]);
                    length -= some;
                    if at >= CHUNK {
                        visit(&points[..at])?;
                        at = 0;
                    }
                }
            }
        }
        visit(&points[..at])
    }
}

impl Batch {
    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The points of contour `index`, if it is one of these.
    fn get(&self, index: usize) -> Option<&[IVec2]> {
        let at = index
            .checked_sub(self.first)
            .filter(|&at| at < self.len())?;
        Some(&self.points[self.offsets[at]..self.offsets[at + 1]])
    }
}

/// The encoded steps of some contours.
#[derive(Default)]
struct Steps {
    bytes: Vec<u8>,
    /// The end of each contour's bytes.
    ends: Vec<usize>,
}

impl Steps {
    fn of(&self, contour: usize) -> &[u8] {
        let begin = match contour {
            0 => 0,
            _ => self.ends[contour - 1],
        };
        &self.bytes[begin..self.ends[contour]]
    }
}

/// The points of some contours.
#[derive(Default)]
struct Points {
    points: Vec<IVec2>,
    /// The end of each contour's points.
    ends: Vec<usize>,
}

impl ContourSource for StoredContours {
    fn width(&self) -> u32 {
        self.width
    }

    fn height(&self) -> u32 {
        self.height
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn kinds(&self) -> &[BorderKind] {
        &self.kinds
    }

    fn hierarchy(&self) -> &[HierarchyRow] {
        &self.hierarchy
    }

    /// If the approximation keeps dominant points, the first call finds those of all contours.
    fn point_count(&self) -> Result<u64> {
        if let Some(&count) = self.points.get() {
            return Ok(count);
        }
        let mut count = 0;
        if self.curvature.is_none() {
            count = self.length_of(0..self.stored.len());
        } else {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let mut at = 0;
            while at < self.stored.len() {
                self.load(at, &mut reader)?;
                at += reader.batch.len();
                count += reader.batch.points.len() as u64;
            }
        }
        Ok(*self.points.get_or_init(|| count))
    }

    fn points_of<'a>(&'a self, index: usize, room: &'a mut Vec<IVec2>) -> Result<&'a [IVec2]> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if reader.batch.get(index).is_none() {
            self.load(index, &mut reader)?;
        }
        let points = reader.batch.get(index).unwrap_or_default();
        room.clear();
        extend_from_slice(room, points, POINTS)?;
        Ok(room)
    }

    fn visit_points(
        &self,
        index: usize,
        visit: &mut dyn FnMut(&[IVec2]) -> Result<()>,
    ) -> Result<()> {
        let stored = &self.stored[index];
        if self.curvature.is_none() && stored.length.points() > BATCH_POINTS {
            return self.visit_long(stored, visit);
        }
        visit(self.points_of(index, &mut Vec::new())?)
    }
}
