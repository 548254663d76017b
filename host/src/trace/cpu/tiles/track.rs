//! Tracking: all pieces of borders in each rectangle.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::super::chains::{Direction, STEPS, opposite};
use super::super::neighbours::{EAST, NORTH, SIDES, SOUTH, WEST, side_in};
use super::super::pixels::Pixels;
use super::super::sides::Sides;
use super::super::walk::{Move, Node, Step, StepBack, Walk, with_stay};
use super::grid::{Rectangle, TileGrid};
use crate::error::{Error, Result};
use crate::image::WORD_BITS;
use crate::memory::reserve;
use crate::progress::Progress;

/// The index of a fragment: in its rectangle during tracking, then in the whole image.
pub(super) type FragmentId = u32;

/// The first vertical side of a border in raster order, where the border is discovered. A pixel's
/// west side comes before its east side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Discovery {
    /// Twice the pixel's place, and 1 for the east side.
    pub(super) key: u64,
    /// The node that passes the side: its fragment, and the number of steps before it in that
    /// fragment.
    pub(super) fragment: FragmentId,
    pub(super) step: usize,
}

impl Discovery {
    /// Sentinel: no side; after all others.
    fn none(fragment: FragmentId) -> Self {
        Self {
            key: u64::MAX,
            fragment,
            step: 0,
        }
    }
}

/// A node through which a border comes into a rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    /// Its pixel.
    pub(super) x: u32,
    pub(super) y: u32,
    /// Its code.
    pub(super) code: u8,
    /// Direction from its pixel to the pixel of the node before.
    pub(super) from: Direction,
}

/// An open border of a rectangle: linked fragments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) first_fragment: FragmentId,
    pub(super) last_fragment: FragmentId,
    /// The first node; the one before lies outside.
    pub(super) entry: Port,
    /// The node after the last one, outside.
    pub(super) exit: Port,
    pub(super) discovery: Discovery,
    /// The number of steps.
    pub(super) length: usize,
}

/// A closed border: fragments linked in a circle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closed {
    pub(super) discovery: Discovery,
    pub(super) length: usize,
}

/// The result of tracking a rectangle.
#[derive(Debug, Default)]
pub(super) struct Tile {
    /// The steps of its fragments, one fragment after the other.
    pub(super) steps: Vec<Direction>,
    /// The end of each fragment's steps.
    pub(super) ends: Vec<usize>,
    pub(super) open: Vec<Open>,
    pub(super) closed: Vec<Closed>,
    /// The number of fragments in the rectangles before it.
    pub(super) fragments_before: FragmentId,
}

/// The most fragments of an image: one id is reserved for none.
const MOST_FRAGMENTS: u64 = FragmentId::MAX as u64;

/// Tracks all rectangles, and gives all fragments indices.
pub(super) fn track<W: Walk>(
    walk: &W,
    sides: &Sides,
    grid: &TileGrid,
    progress: &Progress<'_>,
) -> Result<Vec<Tile>> {
    let border_pixels = sides.border_pixels()?;
    let mut tiles = Vec::new();
    reserve(&mut tiles, grid.len(), "the rectangles")?;
    tiles.resize_with(grid.len(), Tile::default);

    let tracked = AtomicUsize::new(0);
    let batch = grid.len().div_ceil(64);
    tiles
        .par_iter_mut()
        .enumerate()
        .try_for_each_init(Vec::new, |marks, (i, tile)| {
            let rectangle = grid.tile(i);
            let offsets = prepare_marks(marks, &rectangle)?;
            let mut tracker = Tracker {
                walk,
                sides,
                tile,
                marks,
                mark_offsets: offsets,
                place_offsets: with_stay(sides.plane.neighbour_offsets()),
            };
            tracker.track(&rectangle, &border_pixels)?;
            let tracked = tracked.fetch_add(1, Relaxed) + 1;
            if tracked.is_multiple_of(batch) {
                progress.report(tracked as u64 * 3, grid.len() as u64 * 5)?;
            }
            Ok::<_, Error>(())
        })?;

    let mut fragments = 0;
    for tile in &mut tiles {
        tile.fragments_before = fragments as FragmentId;
        fragments += tile.ends.len() as u64;
        check_count(fragments)?;
    }
    tiles.par_iter_mut().for_each(|tile| {
        let before = tile.fragments_before;
        for open in &mut tile.open {
            open.first_fragment += before;
            open.last_fragment += before;
            open.discovery.fragment += before;
        }
        for closed in &mut tile.closed {
            closed.discovery.fragment += before;
        }
    });
    Ok(tiles)
}

fn check_count(fragments: u64) -> Result<()> {
    if fragments > MOST_FRAGMENTS {
        return Err(Error::TooMany {
            what: "pieces of borders in tiles",
            limit: MOST_FRAGMENTS,
        });
    }
    Ok(())
}

/// The mark of the frame around a rectangle's marks, which lies outside it. No set of sides has
/// this bit.
const OUTSIDE: u8 = 1 << 7;

/// All sides of a pixel.
const ALL_SIDES: u8 = WEST | NORTH | EAST | SOUTH;

/// The directions of a pixel's sides in the order in which borders are looked for, clockwise from
/// W.
const ASIDE: [Direction; 4] = [4, 2, 0, 6];

/// Makes the marks of a rectangle's pixels, in rows, in a frame of [`OUTSIDE`]; returns the offsets
/// from a pixel's mark to those of its neighbours.
fn prepare_marks(marks: &mut Vec<u8>, rectangle: &Rectangle) -> Result<[isize; 9]> {
    let (width, height) = (rectangle.x.len(), rectangle.y.len());
    let stride = width + 2;
    let needed = stride * (height + 2);
    marks.clear();
    reserve(marks, needed, "the marks of border pixels")?;
    marks.resize(needed, 0);
    marks[..stride].fill(OUTSIDE);
    marks[needed - stride..].fill(OUTSIDE);
    for row in marks.chunks_exact_mut(stride) {
        (row[0], row[stride - 1]) = (OUTSIDE, OUTSIDE);
    }
    Ok(with_stay(STEPS.map(|(dx, dy)| {
        dx as isize + dy as isize * stride as isize
    })))
}

/// The walk in one rectangle.
struct Tracker<'a, W> {
    walk: &'a W,
    sides: &'a Sides,
    tile: &'a mut Tile,
    marks: &'a mut [u8],
    /// By [`Move`]: offsets of marks, and of places.
    mark_offsets: [isize; 9],
    place_offsets: [isize; 9],
}

/// A node, and the index of its pixel's mark.
#[derive(Clone, Copy)]
struct At {
    node: Node,
    mark: usize,
}

impl<W: Walk> Tracker<'_, W> {
    /// Finds all borders' pieces in the rectangle.
    fn track(&mut self, rectangle: &Rectangle, border_pixels: &[u64]) -> Result<()> {
        let (left, right) = (rectangle.x.start as usize, rectangle.x.end as usize);
        if left == right {
            return Ok(());
        }
        let row_words = self.sides.plane.stride() / WORD_BITS;
        let (first_word, last_word) = (left / WORD_BITS, (right - 1) / WORD_BITS);
        for (row, y) in rectangle.y.clone().enumerate() {
            let words = &border_pixels[y as usize * row_words..][..row_words];
            let first_mark = (row + 1) * (rectangle.x.len() + 2) + 1;
            let first_place = self.sides.plane.place(rectangle.x.start, y);
            for (i, &word) in words
                .iter()
                .enumerate()
                .take(last_word + 1)
                .skip(first_word)
            {
                let mut pixels = word;
                if i == first_word {
                    pixels &= !0 << (left % WORD_BITS);
                }
                if i == last_word {
                    pixels &= !0 >> (WORD_BITS - 1 - (right - 1) % WORD_BITS);
                }
                while pixels != 0 {
                    let x = i * WORD_BITS + pixels.trailing_zeros() as usize - left;
                    pixels &= pixels - 1;
                    self.track_pixel(first_place + x, first_mark + x)?;
                }
            }
        }
        Ok(())
    }

    /// Follows the borders of a pixel that have not been tracked.
    fn track_pixel(&mut self, place: usize, mark: usize) -> Result<()> {
        let sides = SIDES[self.sides.plane.window(place)];
        if self.marks[mark] == sides {
            return Ok(());
        }
        for aside in ASIDE {
            if sides & !self.marks[mark] & side_in(aside) == 0 {
                continue;
            }
            match self.walk.node_at(place, aside) {
                Some(code) => {
                    let node = Node { place, code };
                    self.follow(At { node, mark })?;
                }
                None => self.add_single(place, mark)?,
            }
        }
        Ok(())
    }

    /// Adds the border of a pixel without neighbours, which has no steps.
    fn add_single(&mut self, place: usize, mark: usize) -> Result<()> {
        let fragment = self.begin_fragment()?;
        let mut discovery = Discovery::none(fragment);
        self.pass(place, mark, ALL_SIDES, 0, &mut discovery);
        self.end_fragment()?;
        self.add_closed(discovery, 0)
    }

    /// Follows a border through the rectangle, and adds it.
    fn follow(&mut self, start: At) -> Result<()> {
        let fragment = self.begin_fragment()?;
        let begin = self.tile.steps.len();
        let mut discovery = Discovery::none(fragment);

        let mut at = start;
        let exit = loop {
            let Step {
                direction,
                passed,
                to,
                next,
            } = self.walk.step(at.node);
            let step = self.tile.steps.len() - begin;
            self.pass(at.node.place, at.mark, passed, step, &mut discovery);
            self.push(direction)?;
            at = self.moved(at, to, next);
            if at.node == start.node {
                self.end_fragment()?;
                return self.add_closed(discovery, step + 1);
            }
            if self.marks[at.mark] == OUTSIDE {
                break self.port(at.node, opposite(to));
            }
        };

        // The part before the start, backward.
        let forward = self.tile.steps.len() - begin;
        let mut before = Discovery::none(fragment);
        let mut at = start;
        let entry = loop {
            let StepBack {
                to,
                previous,
                direction,
                passed,
            } = self.walk.step_back(at.node);
            let former = self.moved(at, to, previous);
            if self.marks[former.mark] == OUTSIDE {
                break self.port(at.node, to);
            }
            at = former;
            self.push(direction)?;
            let steps_back = self.tile.steps.len() - begin - forward;
            self.pass(at.node.place, at.mark, passed, steps_back, &mut before);
        };
        let length = self.tile.steps.len() - begin;
        let backward = length - forward;
        let steps = &mut self.tile.steps[begin..];
        steps[forward..].reverse();
        steps.rotate_left(forward);
        if before.key < discovery.key {
            before.step = backward - before.step;
            discovery = before;
        } else {
            discovery.step += backward;
        }
        self.end_fragment()?;
        reserve(&mut self.tile.open, 1, "open borders")?;
        self.tile.open.push(Open {
            first_fragment: fragment,
            last_fragment: fragment,
            entry,
            exit,
            discovery,
            length,
        });
        Ok(())
    }

    fn moved(&self, at: At, to: Move, code: u8) -> At {
        let to = usize::from(to);
        At {
            node: Node {
                place: at.node.place.wrapping_add_signed(self.place_offsets[to]),
                code,
            },
            mark: at.mark.wrapping_add_signed(self.mark_offsets[to]),
        }
    }

    fn port(&self, node: Node, from: Direction) -> Port {
        let (x, y) = self.sides.plane.coordinates(node.place);
        let code = node.code;
        Port { x, y, code, from }
    }

    /// Marks the sides of a pixel that a border passes, `step` steps from its beginning.
    #[inline]
    fn pass(
        &mut self,
        place: usize,
        mark: usize,
        passed: u8,
        step: usize,
        discovery: &mut Discovery,
    ) {
        self.marks[mark] |= passed;
        if passed & (WEST | EAST) == 0 {
            return;
        }
        self.sides
            .set_border_of_sides(place, passed, discovery.fragment);
        let key = place as u64 * 2 + u64::from(passed & WEST == 0);
        if key < discovery.key {
            (discovery.key, discovery.step) = (key, step);
        }
    }

    fn push(&mut self, direction: Direction) -> Result<()> {
        let steps = &mut self.tile.steps;
        if steps.len() == steps.capacity() {
            reserve(steps, 1, "the chain codes of borders")?;
        }
        steps.push(direction);
        Ok(())
    }

    /// The next fragment's id.
    fn begin_fragment(&self) -> Result<FragmentId> {
        let fragments = self.tile.ends.len();
        check_count(fragments as u64 + 1)?;
        Ok(fragments as FragmentId)
    }

    fn end_fragment(&mut self) -> Result<()> {
        reserve(&mut self.tile.ends, 1, "pieces of borders")?;
        self.tile.ends.push(self.tile.steps.len());
        Ok(())
    }

    fn add_closed(&mut self, discovery: Discovery, length: usize) -> Result<()> {
        reserve(&mut self.tile.closed, 1, "closed borders")?;
        self.tile.closed.push(Closed { discovery, length });
        Ok(())
    }
}
