//! Tracking: all pieces of borders in each rectangle.

use cuda_std::prelude::*;

use super::grid::{NONE, Rectangle, TileGrid, tile_rectangle};
use super::sides::SideIndex;
use super::walk::{Node, STAY, Walk, moved};
use crate::trace::neighbours::{ALL_SIDES, EAST, NORTH, SOUTH, WEST, sides_in};

/// A piece of a border in a rectangle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Fragment {
    /// Where its codes are.
    pub begin: u32,
    /// The number of its steps.
    pub length: u32,
    /// The number of those followed forward, which come last on the border and first in memory.
    pub forward: u32,
    /// The pixel of its first node.
    pub first: u32,
    /// The node that passes the first of its vertical sides: the steps before it, and its pixel.
    pub discovery_step: u32,
    /// The pixel.
    pub discovery_pixel: u32,
}

/// An open border of a rectangle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Open {
    /// Its first fragment.
    pub first: u32,
    /// Its last fragment.
    pub last: u32,
    /// The pixel of its first node.
    pub entry: u32,
    /// That node's code, and from bit 8 on the direction to the pixel of the node before, which lies outside.
    pub entry_code: u32,
    /// The pixel of the node after the last one, outside.
    pub exit: u32,
    /// That node's code.
    pub exit_code: u32,
    /// The first vertical side that it passes, or [`NONE`].
    pub key: u32,
    /// The fragment that passes it.
    pub leader: u32,
}

/// What [`track_write`](fn@track_write) writes.
#[derive(Clone, Copy)]
struct Output<'a> {
    sides: SideIndex<'a>,
    passed_by: ViewMut<'a, u32>,
    steps: ViewMut<'a, u8>,
    fragments: ViewMut<'a, Fragment>,
    next: ViewMut<'a, u32>,
    keys: ViewMut<'a, u32>,
    open: ViewMut<'a, Open>,
}

/// The walk in one rectangle.
struct Tracker<'a> {
    walk: Walk<'a>,
    marks: ViewMut<'a, u8>,
    rectangle: Rectangle,
    /// So far, or the numbers of the next ones.
    fragments: u32,
    steps: u32,
    open: u32,
}

/// The first vertical side that a fragment passes.
#[derive(Clone, Copy)]
struct Discovery {
    key: u32,
    step: u32,
    pixel: u32,
}

impl Tracker<'_> {
    /// Follows all borders in the rectangle; counts, or writes to `output`.
    #[inline(always)]
    fn track(&mut self, border: View<'_, u64>, output: Option<Output<'_>>) {
        let Rectangle {
            left,
            right,
            top,
            bottom,
        } = self.rectangle;
        if left >= right || top >= bottom {
            return;
        }
        let (first, last) = (left / 64, (right - 1) / 64);
        let row_words = self.walk.grid.raster.row_words;
        let words = |word: u32, y: u32| {
            let from = if word == first { left % 64 } else { 0 };
            let to = if word == last { (right - 1) % 64 } else { 63 };
            let at = y.wrapping_mul(row_words).wrapping_add(word);
            border.ldg(at) & u64::MAX << from & u64::MAX >> (63 - to)
        };
        let (mut word, mut y) = (first, top);
        let mut pixels = words(word, y);
        loop {
            if pixels == 0 {
                let next_row = word == last;
                word = if next_row { first } else { word + 1 };
                y += u32::from(next_row);
                if y == bottom {
                    return;
                }
                pixels = words(word, y);
                continue;
            }
            let x = word * 64 + pixels.trailing_zeros();
            let neighbours = self.walk.pixels.neighbours(x, y);
            let aside = self.side_to_follow(x, y, neighbours, output.is_some());
            if aside == NONE {
                pixels &= pixels - 1;
            } else if neighbours == 0 && self.walk.grid.edges == 0 {
                self.add_single(x, y, output);
            } else {
                self.follow(self.walk.node_at(x, y, neighbours, aside), output);
            }
        }
    }

    /// The direction of a pixel's first side, clockwise from W, whose border has not been followed; [`NONE`] if there is none.
    #[inline(always)]
    fn side_to_follow(&self, x: u32, y: u32, neighbours: u32, writes: bool) -> u32 {
        let sides = sides_in(!neighbours);
        let mark = u32::from(self.marks.ld(self.walk.grid.pixel(x, y)));
        let unfollowed = sides & if writes { mark } else { !mark };
        if unfollowed & WEST != 0 {
            4
        } else if unfollowed & NORTH != 0 {
            2
        } else if unfollowed & EAST != 0 {
            0
        } else if unfollowed & SOUTH != 0 {
            6
        } else {
            NONE
        }
    }

    /// Adds the border of a pixel without neighbours, which has no steps.
    #[inline(always)]
    fn add_single(&mut self, x: u32, y: u32, output: Option<Output<'_>>) {
        let mut discovery = Discovery {
            key: NONE,
            step: 0,
            pixel: 0,
        };
        self.pass(x, y, ALL_SIDES, 0, &mut discovery, output);
        if let Some(output) = output {
            let fragment = Fragment {
                begin: self.steps,
                length: 0,
                forward: 0,
                first: self.walk.grid.pixel(x, y),
                discovery_step: 0,
                discovery_pixel: discovery.pixel,
            };
            output.fragments.st(self.fragments, fragment);
            output.next.st(self.fragments, self.fragments);
            output.keys.st(self.fragments, discovery.key);
        }
        self.fragments = self.fragments.wrapping_add(1);
    }

    /// Follows a border through the rectangle: forward until it is back at the start or leaves, then backward.
    #[inline(always)]
    fn follow(&mut self, start: Node, output: Option<Output<'_>>) {
        let begin = self.steps;
        // Its step is counted in the order in which nodes are followed.
        let mut discovery = Discovery {
            key: NONE,
            step: 0,
            pixel: 0,
        };
        let mut closed = false;
        // The number of steps that were followed forward, once it is known.
        let mut forward = NONE;
        let mut exit = start;
        let mut from = STAY;
        let mut node = start;
        let mut steps = 0u32;
        loop {
            // The node to pass, and the one to go on from.
            let (at, passed, direction, next);
            if forward == NONE {
                let step = self.walk.step(node);
                let (x, y) = moved(node.x, node.y, step.to);
                let code = step.code;
                (at, next) = (node, Node { x, y, code });
                (passed, direction) = (step.passed, step.direction);
            } else {
                let step = self.walk.step_back(node);
                let (x, y) = moved(node.x, node.y, step.to);
                if !self.rectangle.contains(x, y) {
                    from = step.to;
                    break;
                }
                let code = step.code;
                at = Node { x, y, code };
                next = at;
                (passed, direction) = (step.passed, step.direction);
            }
            self.pass(at.x, at.y, passed, steps, &mut discovery, output);
            if let Some(output) = output {
                output.steps.st(begin.wrapping_add(steps), direction as u8);
            }
            steps = steps.wrapping_add(1);
            node = next;
            if forward == NONE {
                closed = node == start;
                if closed {
                    break;
                }
                if !self.rectangle.contains(node.x, node.y) {
                    (forward, exit, node) = (steps, node, start);
                }
            }
        }
        let forward = if closed { steps } else { forward };
        let entry = node;
        discovery.step = if discovery.step < forward {
            discovery.step.wrapping_add(steps).wrapping_sub(forward)
        } else {
            // The last step followed backward is the first one.
            steps.wrapping_sub(1).wrapping_sub(discovery.step)
        };
        if let Some(output) = output {
            let grid = self.walk.grid;
            let fragment = Fragment {
                begin,
                length: steps,
                forward,
                first: grid.pixel(entry.x, entry.y),
                discovery_step: discovery.step,
                discovery_pixel: discovery.pixel,
            };
            output.fragments.st(self.fragments, fragment);
            output.next.st(self.fragments, self.fragments);
            output
                .keys
                .st(self.fragments, if closed { discovery.key } else { NONE });
            if !closed {
                let open = Open {
                    first: self.fragments,
                    last: self.fragments,
                    entry: fragment.first,
                    entry_code: entry.code | from << 8,
                    exit: grid.pixel(exit.x, exit.y),
                    exit_code: exit.code,
                    key: discovery.key,
                    leader: self.fragments,
                };
                output.open.st(self.open, open);
            }
        }
        if !closed {
            self.open = self.open.wrapping_add(1);
        }
        self.fragments = self.fragments.wrapping_add(1);
        self.steps = begin.wrapping_add(steps);
    }

    /// Marks the sides that a node passes, the `step`th followed.
    #[inline(always)]
    fn pass(
        &mut self,
        x: u32,
        y: u32,
        passed: u32,
        step: u32,
        discovery: &mut Discovery,
        output: Option<Output<'_>>,
    ) {
        let pixel = self.walk.grid.pixel(x, y);
        let mark = u32::from(self.marks.ld(pixel));
        let Some(output) = output else {
            self.marks.st(pixel, (mark | passed) as u8);
            return;
        };
        self.marks.st(pixel, (mark & !passed) as u8);
        if passed & (WEST | EAST) == 0 {
            return;
        }
        let (west, east) = output.sides.of(x, y);
        if passed & WEST != 0 {
            output.passed_by.st(west, self.fragments);
        }
        if passed & EAST != 0 {
            output.passed_by.st(east, self.fragments);
        }
        let key = if passed & WEST != 0 { west } else { east };
        if key < discovery.key {
            *discovery = Discovery { key, step, pixel };
        }
    }
}

/// Follows all borders in each rectangle, and counts their fragments, their steps and the open ones.
///
/// One thread a rectangle, in a block of its own: [`TileGrid::tiles`] blocks. Reads 1 bit a pixel, and for each step 9 words and
/// a mark; writes a mark for each.
///
/// # Safety
///
/// `image` and `border` have an element a word, the latter as [`border_preprocessing`](fn@border_preprocessing) has made them;
/// along edges, `labels` has one a pixel: those of the 4-connected components; `marks` has one a pixel, all 0; the counts
/// have one a rectangle; nothing else uses marks and counts meanwhile.
#[kernel(block = 1, min_blocks = 16)]
pub unsafe fn track_count(
    image: View<'_, u64>,
    border: View<'_, u64>,
    labels: View<'_, u32>,
    marks: ViewMut<'_, u8>,
    fragment_counts: ViewMut<'_, u32>,
    step_counts: ViewMut<'_, u32>,
    open_counts: ViewMut<'_, u32>,
    grid: TileGrid,
) {
    let tile = thread::index_1d();
    if tile >= grid.tiles() {
        return;
    }
    let mut tracker = Tracker {
        walk: Walk::new(image, labels, grid),
        marks,
        rectangle: tile_rectangle(grid, tile),
        fragments: 0,
        steps: 0,
        open: 0,
    };
    tracker.track(border, None);
    fragment_counts.st(tile, tracker.fragments);
    step_counts.st(tile, tracker.steps);
    open_counts.st(tile, tracker.open);
}

/// Follows all borders in each rectangle once more, and writes them. Sets the marks to 0 again, and `open_counts`.
///
/// One thread a rectangle, in a block of its own: [`TileGrid::tiles`] blocks. Reads what [`track_count`](fn@track_count) reads, and
/// for each vertical side 3 words and a number; writes 2 bytes a step, 4 a vertical side, 32 a fragment and 32 an open one.
///
/// # Safety
///
/// [`track_count`](fn@track_count) has run, and made `marks`; `sides_before`, `first_fragments`, `first_steps` and `first_open`
/// are the exclusive prefix sums of its counts and of those of [`border_preprocessing`](fn@border_preprocessing), and the other
/// views have as many elements as the sums of all: one a vertical side for `passed_by`, a step for `steps`, a fragment
/// for `fragments`, `next` and `keys`, an open one for `open`. Nothing else uses what is written meanwhile.
#[kernel(block = 1, min_blocks = 16)]
pub unsafe fn track_write(
    image: View<'_, u64>,
    border: View<'_, u64>,
    labels: View<'_, u32>,
    marks: ViewMut<'_, u8>,
    sides_before: View<'_, u32>,
    first_fragments: View<'_, u32>,
    first_steps: View<'_, u32>,
    first_open: View<'_, u32>,
    passed_by: ViewMut<'_, u32>,
    steps: ViewMut<'_, u8>,
    fragments: ViewMut<'_, Fragment>,
    next: ViewMut<'_, u32>,
    keys: ViewMut<'_, u32>,
    open: ViewMut<'_, Open>,
    grid: TileGrid,
) {
    let tile = thread::index_1d();
    if tile >= grid.tiles() {
        return;
    }
    let walk = Walk::new(image, labels, grid);
    let mut tracker = Tracker {
        walk,
        marks,
        rectangle: tile_rectangle(grid, tile),
        fragments: first_fragments.ldg(tile),
        steps: first_steps.ldg(tile),
        open: first_open.ldg(tile),
    };
    let output = Output {
        sides: SideIndex {
            walk,
            before: sides_before,
        },
        passed_by,
        steps,
        fragments,
        next,
        keys,
        open,
    };
    tracker.track(border, Some(output));
}
