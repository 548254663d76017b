//! Connection: neighbouring rectangles are joined in pairs until one is left.
//!
//! A border that crosses the side shared by a pair of rectangles enters the other rectangle at a
//! node, and a node belongs to one border. So the entries of a pair are indexed by node, and each
//! border finds the one that continues it at once. A border is followed from fragment to fragment
//! until
//!
//! - it leaves the pair: it is open, and goes to the list of the joined rectangle;
//! - it comes back to where it began: it is closed, and goes to the global list.
//!
//! It may change between the two rectangles many times. Borders that come from outside the pair are
//! followed first, from there; what is then left is closed.

use std::mem::{replace, take};
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::super::chains::STEPS;
use super::grid::{Rectangle, TileGrid};
use super::track::{Closed, FragmentId, Open, Port, Tile};
use crate::error::Result;
use crate::memory::{reserve, zeroed_vec};

/// The fragment that continues each one; a closed one continues with itself.
pub(super) struct Links(Vec<AtomicU32>);

impl Links {
    fn new(tiles: &[Tile]) -> Result<Self> {
        let fragments: usize = tiles.iter().map(|tile| tile.ends.len()).sum();
        let mut links: Vec<AtomicU32> = zeroed_vec(fragments, "the links of borders")?;
        links
            .par_iter_mut()
            .enumerate()
            .for_each(|(id, link)| *link.get_mut() = id as FragmentId);
        Ok(Self(links))
    }

    pub(super) fn next(&self, fragment: FragmentId) -> FragmentId {
        self.0[fragment as usize].load(Relaxed)
    }

    fn set(&self, fragment: FragmentId, next: FragmentId) {
        self.0[fragment as usize].store(next, Relaxed);
    }
}

/// The global list of closed borders, in no order.
#[derive(Default)]
struct ClosedList(Mutex<Vec<Closed>>);

impl ClosedList {
    /// Moves `borders` to the list.
    fn append(&self, borders: &mut Vec<Closed>) -> Result<()> {
        if borders.is_empty() {
            return Ok(());
        }
        let mut list = self.0.lock().unwrap_or_else(|list| list.into_inner());
        reserve(&mut list, borders.len(), "closed borders")?;
        list.append(borders);
        Ok(())
    }

    fn into_vec(self) -> Vec<Closed> {
        self.0.into_inner().unwrap_or_else(|list| list.into_inner())
    }
}

/// Connects the borders of all rectangles.
pub(super) fn connect(tiles: &mut [Tile], grid: &TileGrid) -> Result<(Links, Vec<Closed>)> {
    let links = Links::new(tiles)?;
    let closed = ClosedList::default();
    let mut open = Vec::new();
    reserve(&mut open, tiles.len(), "the rectangles")?;
    for tile in tiles {
        open.push(take(&mut tile.open));
        closed.append(&mut take(&mut tile.closed))?;
    }

    // The lists of rectangles, row by row. Joined rectangles have one list, at the first one's
    // place.
    let columns = grid.columns as usize;
    let mut across = 1;
    while across < grid.rows {
        let apart = columns * across as usize;
        let bands = open.par_chunks_exact_mut(2 * apart).enumerate();
        bands.try_for_each(|(band, lists)| {
            let row = band as u32 * 2 * across;
            let (upper, lower) = lists.split_at_mut(apart);
            let pairs = upper[..columns]
                .par_iter_mut()
                .zip(&mut lower[..columns])
                .enumerate();
            pairs.try_for_each_init(Index::default, |index, (column, (upper, lower))| {
                let columns = column as u32..column as u32 + 1;
                let rectangles = [
                    grid.rectangle(columns.clone(), row..row + across),
                    grid.rectangle(columns, row + across..row + 2 * across),
                ];
                let pair = Pair {
                    rectangles,
                    share: Share::Row,
                };
                pair.join([upper, lower], index, &links, &closed)
            })
        })?;
        across *= 2;
    }
    let mut across = 1;
    while across < grid.columns {
        let pairs = open[..columns]
            .par_chunks_exact_mut(2 * across as usize)
            .enumerate();
        pairs.try_for_each_init(Index::default, |index, (pair, lists)| {
            let column = pair as u32 * 2 * across;
            let (left, right) = lists.split_at_mut(across as usize);
            let rectangles = [
                grid.rectangle(column..column + across, 0..grid.rows),
                grid.rectangle(column + across..column + 2 * across, 0..grid.rows),
            ];
            let pair = Pair {
                rectangles,
                share: Share::Column,
            };
            pair.join([&mut left[0], &mut right[0]], index, &links, &closed)
        })?;
        across *= 2;
    }
    Ok((links, closed.into_vec()))
}

/// The direction of the side that two rectangles share.
#[derive(Clone, Copy)]
enum Share {
    /// Between two rows of pixels.
    Row,
    /// Between two columns.
    Column,
}

/// Two rectangles that share a side.
struct Pair {
    rectangles: [Rectangle; 2],
    share: Share,
}

/// For each of two rectangles: which of its open borders comes in by each node at the shared side.
#[derive(Default)]
struct Index([Vec<u32>; 2]);

/// Sentinel: no border there, or none left to follow.
const NONE: u32 = u32::MAX;

impl Pair {
    /// Joins the lists of open borders into the first one.
    fn join(
        &self,
        lists: [&mut Vec<Open>; 2],
        index: &mut Index,
        links: &Links,
        closed: &ClosedList,
    ) -> Result<()> {
        let [first, second] = lists;
        let lists = [take(first), take(second)];
        let mut from_outside = 0;
        for (which, list) in lists.iter().enumerate() {
            let entries = &mut index.0[which];
            let needed = self.shared_length() * NODES;
            if entries.len() < needed {
                reserve(entries, needed - entries.len(), "the index of entries")?;
                entries.resize(needed, NONE);
            }
            for (i, border) in list.iter().enumerate() {
                match self.entry_node(&border.entry, which) {
                    Some(node) => entries[node] = i as u32,
                    None => from_outside += 1,
                }
            }
        }

        reserve(first, from_outside, "open borders")?;
        for (which, list) in lists.iter().enumerate() {
            for border in list {
                if self.entry_node(&border.entry, which).is_none() {
                    let (border, _) = self.follow(*border, which, &lists, index, links);
                    first.push(border);
                }
            }
        }
        let mut circles = Vec::new();
        for (which, list) in lists.iter().enumerate() {
            for border in list {
                let Some(node) = self.entry_node(&border.entry, which) else {
                    continue;
                };
                if replace(&mut index.0[which][node], NONE) != NONE {
                    let (border, end) = self.follow(*border, which, &lists, index, links);
                    assert_eq!(end, End::Start, "a border that nothing enters is closed");
                    links.set(border.last_fragment, border.first_fragment);
                    reserve(&mut circles, 1, "closed borders")?;
                    circles.push(Closed {
                        discovery: border.discovery,
                        length: border.length,
                    });
                }
            }
        }
        closed.append(&mut circles)
    }

    /// Follows a border that begins in rectangle `which`, and links what continues it.
    fn follow(
        &self,
        mut border: Open,
        mut which: usize,
        lists: &[Vec<Open>; 2],
        index: &mut Index,
        links: &Links,
    ) -> (Open, End) {
        loop {
            which = 1 - which;
            let Port { x, y, .. } = border.exit;
            if !self.rectangles[which].contains(x, y) {
                return (border, End::Outside);
            }
            let node = self.node(&border.exit, which);
            let next = replace(&mut index.0[which][node], NONE);
            if next == NONE {
                return (border, End::Start);
            }
            let next = &lists[which][next as usize];
            links.set(border.last_fragment, next.first_fragment);
            border.last_fragment = next.last_fragment;
            border.exit = next.exit;
            border.length += next.length;
            if next.discovery.key < border.discovery.key {
                border.discovery = next.discovery;
            }
        }
    }

    /// The index of the node through which a border enters rectangle `which` from the other one;
    /// `None` if it comes from elsewhere.
    fn entry_node(&self, entry: &Port, which: usize) -> Option<usize> {
        let (dx, dy) = STEPS[usize::from(entry.from)];
        let (x, y) = (
            entry.x.wrapping_add_signed(dx),
            entry.y.wrapping_add_signed(dy),
        );
        self.rectangles[1 - which]
            .contains(x, y)
            .then(|| self.node(entry, which))
    }

    /// The index of a node at the shared side of rectangle `which`.
    fn node(&self, port: &Port, which: usize) -> usize {
        let Rectangle { x, y } = &self.rectangles[which];
        let along = match self.share {
            Share::Row => port.x - x.start,
            Share::Column => port.y - y.start,
        };
        along as usize * NODES + usize::from(port.code) % NODES
    }

    /// The length of the shared side in pixels.
    fn shared_length(&self) -> usize {
        let Rectangle { x, y } = &self.rectangles[0];
        match self.share {
            Share::Row => x.len(),
            Share::Column => y.len(),
        }
    }
}

/// The most nodes by which borders enter a pixel over one side of a rectangle.
const NODES: usize = 4;

/// Where following ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The border leaves the two rectangles.
    Outside,
    /// It is back at the start.
    Start,
}
