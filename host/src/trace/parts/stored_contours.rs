//! [`StoredContours`]: the contours of an image, their points still in the [`Store`].

use std::mem::take;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use glam::IVec2;
use rayon::prelude::*;

use super::pool::{Border, Key, Length, NO_PIECE, Piece, Pool, RegionValue};
use super::runs::{Pen, Runs};
use super::store::Store;
use crate::error::Result;
use crate::memory::{advise_large_pages, extend_from_slice, push, reserve, zeroed_vec};
use crate::threads::lock;
use crate::trace::contours::{BorderKind, Contours, HierarchyRow};
use crate::trace::cpu::chains::{BorderId, Direction, NO_BORDER, Nesting, check_count};
use crate::trace::cpu::fragments::KeptPoints;
use crate::trace::cpu::hierarchy::{self, Arrangement};
use crate::trace::cpu::plane::Plane;
use crate::trace::cpu::teh_chin::{Curvature, Selection};
use crate::trace::cpu::walk::{Centers, Edges, Walk};
use crate::trace::source::{ContourSource, PointRoom, RangePoints};
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
    store: Mutex<Store>,
    /// Those that [`points_of`](ContourSource::points_of) has read last. No lock is held while
    /// points are made, since threads that wait for others may take tasks that read.
    loaded: Mutex<Arc<Loaded>>,
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

/// Consecutive contours, in memory.
#[derive(Debug, Default)]
struct Loaded {
    /// The index of the first one.
    first: usize,
    room: PointRoom,
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
            store: Mutex::new(pool.store),
            loaded: Mutex::default(),
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
const ENDS: &str = "the contours' ends";

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
        offsets.push(0);
        if self.curvature.is_none() {
            reserve(
                &mut points,
                self.length_of(0..self.stored.len()) as usize,
                POINTS,
            )?;
        }
        advise_large_pages(points.spare_capacity_mut());
        let mut at = 0;
        while at < self.stored.len() {
            let loaded = self.load(at)?;
            offsets.extend(loaded.room.ends.iter().map(|end| points.len() + end));
            extend_from_slice(&mut points, &loaded.room.points, POINTS)?;
            at += loaded.len();
        }
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
    fn load(&self, first: usize) -> Result<Loaded> {
        let range = first..self.batch_end(first);
        let read = self.read(range.clone())?;

        // Shares of about the same number of points.
        let mut shares: Vec<Range<usize>> = Vec::new();
        let (mut begin, mut points) = (first, 0);
        for at in range.clone() {
            points += self.stored[at].length.points();
            if points >= LEAST_SHARE || at + 1 == range.end {
                push(&mut shares, begin..at + 1, POINTS)?;
                (begin, points) = (at + 1, 0);
            }
        }
        let make = |share: Range<usize>| {
            let mut room = PointRoom::default();
            self.make(share, first, &read, &mut room)?;
            Ok(room)
        };
        let made: Vec<PointRoom> = shares.into_par_iter().map(make).collect::<Result<_>>()?;

        let mut room = PointRoom::default();
        let PointRoom { ends, points } = &mut room;
        reserve(ends, range.len(), ENDS)?;
        reserve(
            points,
            made.iter().map(|made| made.points.len()).sum(),
            POINTS,
        )?;
        for made in made {
            ends.extend(made.ends.iter().map(|end| points.len() + end));
            points.extend(made.points);
        }
        Ok(Loaded { first, room })
    }

    /// Reads the steps of some contours.
    fn read(&self, range: Range<usize>) -> Result<Steps> {
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
        let mut store = lock(&self.store);
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

    /// Turns the steps of some contours into points. `steps` has those of contour `first` first.
    fn make(
        &self,
        range: Range<usize>,
        first: usize,
        steps: &Steps,
        room: &mut PointRoom,
    ) -> Result<()> {
        let stored = &self.stored[range.clone()];
        let most = stored.iter().map(|s| s.length.points()).sum::<u64>() as usize;
        room.ends.clear();
        reserve(&mut room.ends, stored.len(), ENDS)?;
        // Points are written over old ones.
        let points = &mut room.points;
        reserve(points, most.saturating_sub(points.len()), POINTS)?;
        points.resize(most, IVec2::ZERO);
        let mut selection = Selection::default();
        let mut directions: Vec<Direction> = Vec::new();
        let mut end = 0;
        for (stored, index) in stored.iter().zip(range) {
            let bytes = steps.of(index - first);
            let mut pen = self.pen(stored);
            let own = &mut points[end..][..stored.length.points() as usize];
            if bytes.is_empty() {
                own[0] = pen.at();
            }
            let mut put = 0;
            for (direction, length) in Runs(bytes) {
                put += pen.write(direction, length, &mut own[put..]);
            }
            if let Some(curvature) = self.curvature {
                directions.clear();
                reserve(&mut directions, own.len(), "a border's steps")?;
                for (direction, length) in Runs(bytes) {
                    directions.extend(std::iter::repeat_n(direction, length));
                }
                let kept = selection.dominant(own, &directions, curvature)?;
                let count = kept.len();
                // In their order, so that none is overwritten before it is kept. The last one may
                // be the first one again, which is in its place then.
                for (at, &i) in kept.iter().enumerate() {
                    own[at] = own[i as usize];
                }
                end += count;
            } else {
                end += own.len();
            }
            room.ends.push(end);
        }
        points.truncate(end);
        Ok(())
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
            lock(&self.store).read(piece.offset, piece.bytes as usize, &mut bytes)?;
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

impl Loaded {
    fn len(&self) -> usize {
        self.room.ends.len()
    }

    /// The points of contour `index`, if it is one of these.
    fn get(&self, index: usize) -> Option<&[IVec2]> {
        self.room.points_from(self.first).get(index)
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
            let mut at = 0;
            while at < self.stored.len() {
                let loaded = self.load(at)?;
                at += loaded.len();
                count += loaded.room.points.len() as u64;
            }
        }
        Ok(*self.points.get_or_init(|| count))
    }

    fn points_of<'a>(&'a self, index: usize, room: &'a mut Vec<IVec2>) -> Result<&'a [IVec2]> {
        room.clear();
        let mut loaded = lock(&self.loaded).clone();
        if loaded.get(index).is_none() {
            // Memory for one batch at a time.
            drop(take(&mut *lock(&self.loaded)));
            drop(loaded);
            loaded = Arc::new(self.load(index)?);
            *lock(&self.loaded) = loaded.clone();
        }
        extend_from_slice(room, loaded.get(index).unwrap_or_default(), POINTS)?;
        Ok(room)
    }

    fn most_points(&self, index: usize) -> Option<u64> {
        Some(self.stored[index].length.points())
    }

    fn points_of_range<'a>(
        &'a self,
        range: Range<usize>,
        room: &'a mut PointRoom,
    ) -> Result<RangePoints<'a>> {
        let first = range.start;
        let steps = self.read(range.clone())?;
        self.make(range, first, &steps, room)?;
        Ok(room.points_from(first))
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
