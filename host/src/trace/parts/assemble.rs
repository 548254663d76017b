//! A band's borders and fragments, assembled from what has been [cut](super::cut) out of contours.

use std::mem::take;
use std::ops::Range;

use rayon::prelude::*;

use super::cut::{Before, Crossing, Cutter, Cycles, FRAGMENTS, NO_CONTOUR, Share, piece_of};
use super::follow_band::{BandBorders, Crossings};
use super::pool::{Border, Fate, Fragment, Item, List, NO_ITEM, NO_PIECE, Name, Pool, border_item};
use super::store::Store;
use crate::error::Result;
use crate::memory::{filled_vec, reserve, with_room};
use crate::trace::Band;
use crate::trace::cpu::fragments::entries::Entries;
use crate::trace::cpu::fragments::follow::check_count;
use crate::trace::cpu::pixels::SPARE_ROWS;
use crate::trace::cpu::plane::Plane;
use crate::trace::cpu::saddles::OpenSaddles;
use crate::trace::cpu::walk::{Centers, Rim};

/// The band's result, while it is assembled from the tasks' results.
pub(super) struct Assembly {
    pool: Pool,
    rims: [RimEntries; 2],
    crossings: [Crossings; 2],
    /// By contour: the border, or [`NO_ITEM`].
    borders: Vec<Item>,
    /// By name.
    paths: Vec<PathStart>,
}

/// Where a path is in its contour: see [`Path`](super::cut::Path).
struct PathStart {
    contour: u32,
    origin: u32,
    first: u32,
    start: u64,
}

/// The entries over a rim into the band, and those out of it into the rows beyond.
struct RimEntries {
    to: Entries,
    from: Entries,
}

impl Assembly {
    /// An empty assembly, with room for everything that the tasks have found.
    pub(super) fn new(band: Band<'_>, contours: usize, shares: &[Share]) -> Result<Self> {
        let count = |of: fn(&Share) -> usize| shares.iter().map(of).sum::<usize>();
        let borders = count(|share| share.borders.len());
        let paths = count(|share| share.paths.len());
        check_count(borders as u64)?;
        check_count(paths as u64)?;
        let mut pool = Pool::new(Store::in_memory());
        reserve(&mut pool.borders, borders, "the borders")?;
        reserve(&mut pool.fragments, paths, FRAGMENTS)?;
        reserve(&mut pool.fates, paths, FRAGMENTS)?;
        reserve(
            &mut pool.pieces,
            borders + 2 * paths,
            "the pieces of borders",
        )?;
        let entries = |rim| RimEntries::new(band.width(), band.rim_rows(rim), rim);
        let rims = [entries(Rim::Above)?, entries(Rim::Below)?];
        let none = |entries: &Entries| filled_vec(Name::MAX, entries.count as usize, FRAGMENTS);
        let crossings = |rim: &RimEntries| -> Result<Crossings> {
            Ok(Crossings {
                entries: none(&rim.to)?,
                exits: none(&rim.from)?,
            })
        };
        Ok(Self {
            pool,
            crossings: [crossings(&rims[0])?, crossings(&rims[1])?],
            rims,
            borders: filled_vec(NO_ITEM, contours, "the borders")?,
            paths: with_room(paths, FRAGMENTS)?,
        })
    }

    /// Adds a task's result.
    pub(super) fn add(&mut self, share: Share, cutter: &Cutter<'_>) -> Result<()> {
        let Self { pool, .. } = self;
        // planted: cut-second-share
        let (first_byte, first_border) = (pool.store.end(), pool.borders.len() as u32);
        for (border, contour) in (first_border..).zip(&share.contours) {
            self.borders[*contour as usize] = border_item(border);
        }
        pool.add_borders(&share.borders, &share.pieces);
        let mut pieces = take(&mut pool.pieces);
        let mut piece = |bytes: Range<usize>| piece_of(&mut pieces, first_byte, bytes);
        for path in share.paths {
            let name = pool.fragments.len() as Name;
            let [begin, start, end] = path.steps;
            let mut list = |bytes| -> Result<List> {
                Ok(match piece(bytes)? {
                    NO_PIECE => List::EMPTY,
                    piece => List::of(piece),
                })
            };
            let (head, tail) = (list(begin..start)?, list(start..end)?);
            pool.fates.push(Fate::Fragment(name));
            pool.fragments.push(Fragment {
                key: cutter.key(path.start),
                before: NO_ITEM,
                value: (),
                step_in: path.step_in,
                points: path.points,
                head,
                tail,
            });
            let rim = |crossing: Crossing| match crossing.rim {
                Rim::Above => 0,
                Rim::Below => 1,
            };
            let index = |entries: &Entries, Crossing { x, back, .. }| {
                entries.index(x as usize, back) as usize
            };
            let (entry, exit) = (rim(path.entry), rim(path.exit));
            let at = index(&self.rims[entry].to, path.entry);
            self.crossings[entry].entries[at] = name;
            let at = index(&self.rims[exit].from, path.exit);
            self.crossings[exit].exits[at] = name;
            self.paths.push(PathStart {
                contour: path.contour,
                origin: path.origin,
                first: path.first,
                start: path.start,
            });
        }
        pool.pieces = pieces;
        pool.store.push(share.bytes)
    }

    /// Finds the border or path before each start.
    pub(super) fn finish(
        mut self,
        cutter: &Cutter<'_>,
        before: impl FnOnce(&[u64]) -> Result<Vec<Before>>,
    ) -> Result<BandBorders> {
        let borders = self.pool.borders.len();
        let own = |border: &Border| border.key.0.wrapping_sub(cutter.band_rows);
        let mut starts: Vec<u64> = self.pool.borders.par_iter().map(own).collect();
        starts.extend(self.paths.iter().map(|path| path.start));
        let before = before(&starts)?;
        let item = |before: Before| -> Item {
            let Before { contour, point } = before;
            if contour == NO_CONTOUR {
                return NO_ITEM;
            }
            match self.borders[contour as usize] {
                NO_ITEM => self.path_at(cutter.cycles, contour, point),
                border => border,
            }
        };
        let items: Vec<Item> = before.into_par_iter().map(item).collect();
        let (of_borders, of_paths) = items.split_at(borders);
        for (border, &item) in self.pool.borders.iter_mut().zip(of_borders) {
            border.before = item;
        }
        for (path, &item) in self.pool.fragments.iter_mut().zip(of_paths) {
            path.before = item;
        }
        let all = self.crossings.iter();
        let mut names = all.flat_map(|rim| rim.entries.iter().chain(&rim.exits));
        assert!(
            names.all(|&name| name != Name::MAX),
            "a border crosses a rim where no path does"
        );
        Ok(BandBorders {
            pool: self.pool,
            crossings: self.crossings,
            saddles: OpenSaddles::default(),
            begins: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// The path that a contour's point belongs to, or the last path that ends before the point.
    fn path_at(&self, cycles: Cycles<'_>, contour: u32, point: u32) -> Name {
        let of_contour = self.paths.partition_point(|path| path.contour < contour);
        let origin = self.paths[of_contour].origin;
        let offsets = &cycles.offsets[contour as usize..];
        let count = offsets[1] - offsets[0];
        // The first point lies beyond the band: it is the last path that ends before it.
        let at = match (point + count - origin) % count {
            // planted: cut-wrap
            0 => count,
            at => at,
        };
        let paths = &self.paths[of_contour..];
        let after = paths.partition_point(|path| path.contour == contour && path.first <= at);
        (of_contour + after - 1) as Name
    }
}

impl RimEntries {
    /// The entries of a rim between two rows; none if there are no rows beyond.
    fn new(width: u32, rows: Option<[&[u64]; 2]>, rim: Rim) -> Result<Self> {
        let other = match rim {
            Rim::Above => Rim::Below,
            Rim::Below => Rim::Above,
        };
        let Some(rows) = rows else {
            return Ok(Self {
                to: Entries::none(rim),
                from: Entries::none(other),
            });
        };
        let mut plane = Plane::background(width, 2)?;
        plane.set_row(SPARE_ROWS, rows[0]);
        plane.set_row(SPARE_ROWS + 1, rows[1]);
        let walk = Centers { plane: &plane };
        let (own, beyond) = match rim {
            Rim::Above => (SPARE_ROWS + 1, SPARE_ROWS),
            Rim::Below => (SPARE_ROWS, SPARE_ROWS + 1),
        };
        Ok(Self {
            to: Entries::of(&walk, &plane, own, rim)?,
            from: Entries::of(&walk, &plane, beyond, other)?,
        })
    }
}
