//! Tracking: all pieces of borders in each rectangle.

use cuda_std::prelude::*;

use super::grid::{NONE, Rectangle, TileGrid};
use super::sides::SideIndex;
use super::walk::{Node, STAY, Walk, moved};
use crate::trace::neighbours::{ALL_SIDES, EAST, NORTH, SOUTH, WEST, sides_in};
use crate::trace::pixels::{Raster, TracedImage};

/// A piece of a border in a rectangle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Fragment {
    /// The index of its first code.
    pub begin: u32,
    /// The number of its steps.
    pub length: u32,
    /// The number of steps followed forward: the last on the border, the first in memory.
    pub forward: u32,
    /// The pixel of its first node.
    pub first: u32,
    /// The number of steps before the node that passes the first of its vertical sides.
    pub discovery_step: u32,
    /// The pixel of that node.
    pub discovery_pixel: u32,
}

/// An open border of a rectangle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Open {
    /// Its first fragment.
    pub first_fragment: u32,
    /// Its last fragment.
    pub last_fragment: u32,
    /// The pixel of its first node.
    pub entry: u32,
    /// That node's code, and from bit 8 on the direction to the pixel of the previous node,
    /// outside.
    pub entry_code: u32,
    /// The pixel of the node after the last one, outside the rectangle.
    pub exit: u32,
    /// That node's code.
    pub exit_code: u32,
    /// The first vertical side that it passes, or [`NONE`].
    pub key: u32,
    /// The fragment that passes it.
    pub leader: u32,
}

/// The sums of [`TileCounts`], from which the lengths of [`TrackedBorders`] follow.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackedSizes {
    /// Vertical sides of the image.
    pub sides: u32,
    /// Fragments.
    pub fragments: u32,
    /// Steps.
    pub steps: u32,
    /// Open borders.
    pub open: u32,
}

/// The results of [`track_write`](fn@track_write): all pieces of borders, and the open borders.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(TrackedSizes, buffers = TrackedBuffers)]
pub struct TrackedBorders<'a> {
    /// For each vertical side, the fragment that passes it.
    #[len(sizes.sides)]
    pub passed_by: ViewMut<'a, u32>,
    /// The code of each step, fragment by fragment.
    #[len(sizes.steps)]
    pub steps: ViewMut<'a, u8>,
    /// All fragments.
    #[len(sizes.fragments)]
    pub fragments: ViewMut<'a, Fragment>,
    /// For each fragment, the one that continues it: itself at first.
    #[len(sizes.fragments)]
    pub next: ViewMut<'a, u32>,
    /// For each fragment, the key of the closed border that is discovered in it, or [`NONE`].
    #[len(sizes.fragments)]
    pub keys: ViewMut<'a, u32>,
    /// All open borders, rectangle by rectangle.
    #[len(sizes.open)]
    pub open: ViewMut<'a, Open>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl TrackedBorders<'_> {
    /// The numbers for which there is room.
    fn room(&self) -> TrackedSizes {
        TrackedSizes {
            sides: self.passed_by.len() as u32,
            fragments: self.fragments.len() as u32,
            steps: self.steps.len() as u32,
            open: self.open.len() as u32,
        }
    }
}

/// The counts of [`track_count`](fn@track_count). The sizes are the number of rectangles.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = TileCountBuffers)]
pub struct TileCounts<'a> {
    /// Fragments.
    #[len(*sizes)]
    pub fragments: ViewMut<'a, u32>,
    /// Steps.
    #[len(*sizes)]
    pub steps: ViewMut<'a, u32>,
    /// Open borders.
    #[len(*sizes)]
    pub open: ViewMut<'a, u32>,
}

/// The scans of [`TileCounts`]: in each view, the index of each rectangle's first element. The
/// sizes are the number of rectangles.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct TileStarts<'a> {
    /// Fragments.
    #[len(*sizes)]
    pub fragments: View<'a, u32>,
    /// Steps.
    #[len(*sizes)]
    pub steps: View<'a, u32>,
    /// Open borders.
    #[len(*sizes)]
    pub open: View<'a, u32>,
}

/// The results of [`border_preprocessing`](fn@super::sides::border_preprocessing). The sizes are
/// the number of words.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct Preprocessed<'a> {
    /// The pixels that borders pass, one bit per pixel, as the image's words.
    #[len(*sizes)]
    pub border: View<'a, u64>,
    /// For each word, the number of vertical sides before it.
    #[len(*sizes)]
    pub sides_before: View<'a, u32>,
}

/// The results of [`track_write`](fn@track_write), and the indices of sides.
#[derive(Clone, Copy)]
struct Output<'a> {
    sides: SideIndex<'a>,
    tracked: TrackedBorders<'a>,
}

/// The walk in one rectangle.
struct Tracker<'a> {
    walk: Walk<'a>,
    marks: ViewMut<'a, u8>,
    rectangle: Rectangle,
    /// The number of fragments so far, or the index of the next one; likewise steps and open
    /// borders.
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
    #[inline(always)]
    fn raster(&self) -> Raster {
        self.walk.image.pixels.raster
    }

    /// Follows all borders in the rectangle; counts them, or writes them to `output`.
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
        let row_words = self.raster().row_words;
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
            let neighbours = self.walk.image.pixels.neighbours(x, y);
            let aside = self.side_to_follow(x, y, neighbours, output.is_some());
            if aside == NONE {
                pixels &= pixels - 1;
            } else if neighbours == 0 && !self.walk.along_edges() {
                self.add_single(x, y, output);
            } else {
                self.follow(self.walk.node_at(x, y, neighbours, aside), output);
            }
        }
    }

    /// The direction of the pixel's first side, clockwise from W, whose border has not been
    /// followed; [`NONE`] if there is none.
    #[inline(always)]
    fn side_to_follow(&self, x: u32, y: u32, neighbours: u32, writes: bool) -> u32 {
        let sides = sides_in(!neighbours);
        let mark = u32::from(self.marks.ld(self.raster().pixel(x, y)));
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
                first: self.raster().pixel(x, y),
                discovery_step: 0,
                discovery_pixel: discovery.pixel,
            };
            output.tracked.fragments.st(self.fragments, fragment);
            output.tracked.next.st(self.fragments, self.fragments);
            output.tracked.keys.st(self.fragments, discovery.key);
        }
        self.fragments = self.fragments.wrapping_add(1);
    }

    /// Follows a border through the rectangle: forward until it is back at the start or leaves; in
    /// the latter case, then backward from the start.
    ///
    /// ```text
    /// from `start` step forward, passing each node, until back at it or outside
    /// if outside: step backward from `start`, passing each node, until outside again
    /// add the fragment, and its discovery: the first vertical side passed
    /// if it leaves the rectangle: add an open border with its entry and exit
    /// ```
    #[inline(always)]
    fn follow(&mut self, start: Node, output: Option<Output<'_>>) {
        let begin = self.steps;
        // Its `step` counts nodes in the order in which they are followed.
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
            // The node to pass, and the node to continue from.
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
                output
                    .tracked
                    .steps
                    .st(begin.wrapping_add(steps), direction as u8);
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
            let raster = self.raster();
            let fragment = Fragment {
                begin,
                length: steps,
                forward,
                first: raster.pixel(entry.x, entry.y),
                discovery_step: discovery.step,
                discovery_pixel: discovery.pixel,
            };
            output.tracked.fragments.st(self.fragments, fragment);
            output.tracked.next.st(self.fragments, self.fragments);
            output
                .tracked
                .keys
                .st(self.fragments, if closed { discovery.key } else { NONE });
            if !closed {
                let open = Open {
                    first_fragment: self.fragments,
                    last_fragment: self.fragments,
                    entry: fragment.first,
                    entry_code: entry.code | from << 8,
                    exit: raster.pixel(exit.x, exit.y),
                    exit_code: exit.code,
                    key: discovery.key,
                    leader: self.fragments,
                };
                output.tracked.open.st(self.open, open);
            }
        }
        if !closed {
            self.open = self.open.wrapping_add(1);
        }
        self.fragments = self.fragments.wrapping_add(1);
        self.steps = begin.wrapping_add(steps);
    }

    /// Marks the sides that a node passes. The node was followed after `step` others.
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
        let pixel = self.raster().pixel(x, y);
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
            output.tracked.passed_by.st(west, self.fragments);
        }
        if passed & EAST != 0 {
            output.tracked.passed_by.st(east, self.fragments);
        }
        let key = if passed & WEST != 0 { west } else { east };
        if key < discovery.key {
            *discovery = Discovery { key, step, pixel };
        }
    }
}

/// Follows all borders in each rectangle, and counts their fragments, their steps and the open
/// ones.
///
/// Launch: one block of one thread per rectangle. Reads 1 bit per pixel, and 9 words and a mark per
/// step; writes a mark per step.
///
/// # Safety
///
/// `border` is what [`border_preprocessing`](fn@super::sides::border_preprocessing) has made of
/// `image`. `marks` has one element per pixel, all 0; `counts` has one per rectangle in each view.
/// Nothing else uses the two meanwhile.
#[kernel(
    block = 1,
    min_blocks = 16,
    len(
        image = (),
        border = image.pixels.raster.words(),
        marks = image.pixels.raster.pixels(),
        counts = grid.tiles(),
    ),
)]
pub unsafe fn track_count(
    image: TracedImage<'_>,
    grid: TileGrid,
    border: View<'_, u64>,
    marks: ViewMut<'_, u8>,
    counts: TileCounts<'_>,
) {
    let tile = thread::index_1d();
    if tile >= grid.tiles() {
        return;
    }
    let mut tracker = Tracker {
        walk: Walk { image },
        marks,
        rectangle: grid.tile(image.pixels.raster, tile),
        fragments: 0,
        steps: 0,
        open: 0,
    };
    tracker.track(border, None);
    counts.fragments.st(tile, tracker.fragments);
    counts.steps.st(tile, tracker.steps);
    counts.open.st(tile, tracker.open);
}

/// Follows all borders in each rectangle once more, and writes them. Sets the marks to 0 again.
///
/// Launch: one block of one thread per rectangle. Reads what [`track_count`](fn@track_count) reads,
/// and 3 words and an index per vertical side; writes 2 bytes per step, 4 per vertical side, 32 per
/// fragment and 32 per open border.
///
/// # Safety
///
/// [`track_count`](fn@track_count) has made `marks`, with this image and this grid. `first` are the
/// scans of its counts; `preprocessed` has the `border` given to that kernel, and the scan of the
/// counts of sides. The sums of all these counts are the lengths of the views of `tracked`. Nothing
/// else uses `marks` and `tracked` meanwhile.
#[kernel(
    block = 1,
    min_blocks = 16,
    len(
        image = (),
        preprocessed = image.pixels.raster.words(),
        marks = image.pixels.raster.pixels(),
        first = grid.tiles(),
        tracked = tracked.room(),
    ),
)]
pub unsafe fn track_write(
    image: TracedImage<'_>,
    grid: TileGrid,
    preprocessed: Preprocessed<'_>,
    marks: ViewMut<'_, u8>,
    first: TileStarts<'_>,
    tracked: TrackedBorders<'_>,
) {
    let tile = thread::index_1d();
    if tile >= grid.tiles() {
        return;
    }
    let mut tracker = Tracker {
        walk: Walk { image },
        marks,
        rectangle: grid.tile(image.pixels.raster, tile),
        fragments: first.fragments.ldg(tile),
        steps: first.steps.ldg(tile),
        open: first.open.ldg(tile),
    };
    let output = Output {
        sides: SideIndex {
            pixels: image.pixels,
            before: preprocessed.sides_before,
        },
        tracked,
    };
    tracker.track(preprocessed.border, Some(output));
}
