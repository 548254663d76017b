//! Border following in rectangles, one thread a rectangle.
//!
//! V. M. Garcia-Molla, P. Alonso-Jordá, R. García-Laguía, "Parallel border tracking in binary images using GPUs", The
//! Journal of Supercomputing 78 (2022). The image is divided into NX × NY rectangles, powers of two. In each, one thread
//! follows all borders, forward and then backward where they leave it; then log2(NY) + log2(NX) launches join neighbouring
//! rectangles in pairs, one thread a pair.
//!
//! | kernel | threads |
//! | --- | --- |
//! | [`border_preprocessing`](fn@border_preprocessing) | one a word: the pixels that borders pass, and the number of vertical sides |
//! | [`track_count`](fn@track_count), then scans, then [`track_write`](fn@track_write) | one a rectangle |
//! | [`connect`](fn@connect), for each stage | one a pair of rectangles |
//! | [`mark_discoveries`](fn@mark_discoveries), then a scan, then [`list_borders`](fn@list_borders) | one a fragment |
//! | [`rank_fragments`](fn@rank_fragments) | one a border: where each fragment's steps go, and the number of steps |
//! | [`find_before`](fn@find_before) | one a border: what lies before it in its row |
//! | [`count_turns`](fn@count_turns), then [`rank_turns`](fn@rank_turns) | one a fragment, then one a border: where turns go, if only these are points |
//! | [`write_points`](fn@write_points) | one a fragment |
//!
//! Threads that follow borders go different ways, so that each has a block, and so a warp, of its own; 16 of these on a
//! multiprocessor are asked for, because ptxas else spills registers to make room for more. The other kernels have 256
//! threads a block.
//!
//! # Terms
//!
//! A **node** is a step of a border with what it passes: over centers, it is known by its pixel and the direction **back**
//! to the former one; along edges, by its pixel and half the direction of the **side** that it runs along. Either is the
//! node's code. A pixel's **sides** are where it is foreground and its neighbour to the E, N, W or S is not. A side
//! belongs to one node, a node to one border. A pixel's **mark** is a product of the numbers of sides, 2, 3, 5 and 7 for W, N, E and S: [`track_count`](fn@track_count) multiplies
//! it for each node that it follows, from 1 on, and [`track_write`](fn@track_write), which goes the same way, divides it.
//!
//! A **fragment** is a piece of a border within a rectangle: the codes of its steps, those that were followed forward, then
//! those that were followed backward, from their end. Fragments are linked; their codes are not moved.
//!
//! **Vertical sides** (W and E) are numbered in raster order, a pixel's W before its E: so they are W and E in turn. A
//! border is **discovered** at the first that it passes: its key. An even key is an outer border's, an odd one a hole's; and
//! what lies before a border is what passes the side before its key.

use cuda_std::prelude::*;

use crate::primitives::quotient;
use crate::trace::components::NO_BORDER;
use crate::trace::pixels::{Pixels, Raster, after, before, step};

/// Nothing: no side, no fragment, no entry.
pub const NONE: u32 = u32::MAX;

/// Numbers of entries into a pixel over one side of a rectangle: the two low bits of their nodes' codes.
const CODES: u32 = 4;

/// An image, how its borders go, and its rectangles, counted column by column.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Grid {
    /// The image's size.
    pub raster: Raster,
    /// NX, the number of rectangles along x: a power of two.
    pub columns: u32,
    /// NY, the number of rectangles along y: a power of two.
    pub rows: u32,
    /// Pixels in a row of a rectangle.
    pub tile_width: u32,
    /// Rows of a rectangle.
    pub tile_height: u32,
    /// Whether borders go along the pixels' edges: 0 or 1.
    pub edges: u32,
}

impl Grid {
    /// The grid of an image in `columns × rows` rectangles, of which there are at most as many as pixels.
    #[must_use]
    pub const fn new(raster: Raster, columns: u32, rows: u32, edges: bool) -> Self {
        Self {
            raster,
            columns,
            rows,
            tile_width: raster.width.div_ceil(columns),
            tile_height: raster.height.div_ceil(rows),
            edges: edges as u32,
        }
    }

    /// Rectangles: blocks of [`track_count`](fn@track_count) and [`track_write`](fn@track_write).
    #[must_use]
    pub const fn tiles(self) -> u32 {
        self.columns * self.rows
    }

    /// The stages of connection, first to last.
    pub fn stages(self) -> impl Iterator<Item = Stage> {
        let stages = |along: u32, vertical| {
            (0..along.trailing_zeros()).map(move |stage| Stage {
                across: 1 << stage,
                vertical,
            })
        };
        stages(self.rows, 1).chain(stages(self.columns, 0))
    }

    /// The pairs of rectangles that a stage joins: blocks of [`connect`](fn@connect).
    #[must_use]
    pub const fn pairs(self, stage: Stage) -> u32 {
        self.tiles() / (2 * self.unit(stage))
    }

    /// Length of `entries` for a stage.
    #[must_use]
    pub const fn entries_len(self, stage: Stage) -> usize {
        self.pairs(stage) as usize * self.pair_entries(stage)
    }

    /// The rectangles that make up one of a pair.
    const fn unit(self, stage: Stage) -> u32 {
        if stage.vertical != 0 {
            stage.across
        } else {
            stage.across * self.rows
        }
    }

    /// The entries of a pair.
    const fn pair_entries(self, stage: Stage) -> usize {
        let along = if stage.vertical != 0 {
            self.tile_width
        } else {
            self.raster.height
        };
        2 * CODES as usize * along as usize
    }

    /// The pixels of the rectangles from column and row on, so many of them along x and y.
    #[inline(always)]
    fn rectangle(self, column: u32, row: u32, columns: u32, rows: u32) -> Rectangle {
        // Below 2³²: a tile is at most its image, and the last ones reach less than twice as far.
        let end = |tiles: u32, size: u32, end: u32| tiles.wrapping_mul(size).min(end);
        Rectangle {
            left: end(column, self.tile_width, self.raster.width),
            right: end(column + columns, self.tile_width, self.raster.width),
            top: end(row, self.tile_height, self.raster.height),
            bottom: end(row + rows, self.tile_height, self.raster.height),
        }
    }

    #[inline(always)]
    const fn pixel(self, x: u32, y: u32) -> u32 {
        y.wrapping_mul(self.raster.width).wrapping_add(x)
    }
}

/// One launch of [`connect`](fn@connect): joins rectangles of `across` along one side.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Stage {
    /// How many of the first rectangles lie along the side on which a pair is joined.
    pub across: u32,
    /// Whether the pairs lie one above the other, not side by side: 0 or 1.
    pub vertical: u32,
}

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
    pub head: u32,
    /// Its last fragment.
    pub tail: u32,
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

/// Where a fragment's nodes are on their border: node `i` to `rank + i - split`, or before `split` to `wrapped + i`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Position {
    /// The border.
    pub border: u32,
    /// The nodes before the border's start; 0 but for the fragment that it starts in.
    pub split: u32,
    /// The border's nodes before the fragment, or before `split`.
    pub rank: u32,
    /// The border's nodes before those that stand before its start.
    pub wrapped: u32,
    /// The code of the step into the first node.
    pub code_before: u32,
}

/// Where a fragment's turns are on their border; at first, how many there are from `split` on and before it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Turns {
    /// Of the nodes from `split` on.
    pub rank: u32,
    /// Of those before.
    pub wrapped: u32,
}

/// Some pixels.
#[derive(Clone, Copy)]
struct Rectangle {
    left: u32,
    right: u32,
    top: u32,
    bottom: u32,
}

impl Rectangle {
    #[inline(always)]
    const fn contains(self, x: u32, y: u32) -> bool {
        // planted: rectangle-edge
        self.left <= x && x < self.right && self.top <= y && y < self.bottom
    }
}

/// The directions of the four neighbours that share a side, as bits.
const CROSS: u32 = 0b0101_0101;
/// The sides as such bits.
const EAST: u32 = 1;
const NORTH: u32 = 1 << 2;
const WEST: u32 = 1 << 4;
const SOUTH: u32 = 1 << 6;

/// A mark multiplied by the numbers of some sides.
#[inline(always)]
const fn multiplied(mark: u32, sides: u32) -> u32 {
    let w = if sides & WEST != 0 { 2 } else { 1 };
    let n = if sides & NORTH != 0 { 3 } else { 1 };
    let e = if sides & EAST != 0 { 5 } else { 1 };
    let s = if sides & SOUTH != 0 { 7 } else { 1 };
    mark.wrapping_mul(w * n * e * s)
}

/// A mark divided by the numbers of some sides, of which it is a multiple.
#[inline(always)]
const fn divided(mark: u32, sides: u32) -> u32 {
    let mark = if sides & WEST != 0 { mark / 2 } else { mark };
    let mark = if sides & NORTH != 0 { mark / 3 } else { mark };
    let mark = if sides & EAST != 0 { mark / 5 } else { mark };
    if sides & SOUTH != 0 { mark / 7 } else { mark }
}

/// The sides whose numbers divide a mark.
#[inline(always)]
const fn dividing(mark: u32) -> u32 {
    let w = if mark.is_multiple_of(2) { WEST } else { 0 };
    let n = if mark.is_multiple_of(3) { NORTH } else { 0 };
    let e = if mark.is_multiple_of(5) { EAST } else { 0 };
    let s = if mark.is_multiple_of(7) { SOUTH } else { 0 };
    w | n | e | s
}

/// To the same pixel, where else a direction stands.
const STAY: u32 = 8;

/// The pixel in a direction, or at [`STAY`]. Wraps around at the left and upper end.
#[inline(always)]
const fn moved(x: u32, y: u32, to: u32) -> (u32, u32) {
    if to == STAY {
        return (x, y);
    }
    let (dx, dy) = step(to);
    (x.wrapping_add(dx), y.wrapping_add(dy))
}

/// The sides between direction `back` and `out`, counter-clockwise, as bits of their directions; all others if they are the
/// same.
#[inline(always)]
const fn sides_between(back: u32, out: u32) -> u32 {
    let count = out.wrapping_sub(back).wrapping_sub(1) & 7;
    let gap = ((1 << count) - 1) << (back.wrapping_add(1) & 7);
    (gap | gap >> 8) & CROSS
}

/// A node of a border.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Node {
    x: u32,
    y: u32,
    code: u32,
}

/// What leads to the next node.
#[derive(Clone, Copy)]
struct Step {
    /// The border's step.
    direction: u32,
    /// The sides that the node passes, as bits of their directions.
    passed: u32,
    /// To the next node's pixel.
    to: u32,
    /// The next node's code.
    code: u32,
}

/// What leads to the node before.
#[derive(Clone, Copy)]
struct StepBack {
    /// To its pixel.
    to: u32,
    /// Its code.
    code: u32,
    /// The step from it.
    direction: u32,
    /// The sides that it passes.
    passed: u32,
}

/// The image, and how its borders go.
#[derive(Clone, Copy)]
struct Walk<'a> {
    pixels: Pixels<'a>,
    /// Along edges, those of the 4-connected components.
    labels: View<'a, u32>,
    grid: Grid,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    fn new(image: View<'a, u64>, labels: View<'a, u32>, grid: Grid) -> Self {
        let raster = grid.raster;
        Self {
            pixels: Pixels {
                words: image,
                raster,
            },
            labels,
            grid,
        }
    }

    /// The node that passes the side in direction `aside` of a pixel with some foreground neighbours.
    #[inline(always)]
    fn node_at(self, x: u32, y: u32, neighbours: u32, aside: u32) -> Node {
        let code = if self.grid.edges != 0 {
            aside / 2
        } else {
            before(neighbours, aside)
        };
        Node { x, y, code }
    }

    #[inline(always)]
    fn step(self, Node { x, y, code }: Node) -> Step {
        let neighbours = self.pixels.neighbours(x, y);
        if self.grid.edges == 0 {
            let direction = after(neighbours, code);
            return Step {
                direction,
                passed: sides_between(code, direction),
                to: direction,
                code: direction ^ 4,
            };
        }
        let aside = code * 2;
        let heading = (aside + 2) & 7;
        let to_beside = aside + 1;
        let ahead = neighbours >> heading & 1 != 0;
        let beside = neighbours >> to_beside & 1 != 0;
        let crosses = beside && !ahead && self.crosses(x, y, to_beside);
        let (to, code) = if beside && ahead || crosses {
            (to_beside, (code + 3) & 3)
        } else if ahead {
            (heading, code)
        } else {
            (STAY, (code + 1) & 3)
        };
        Step {
            direction: heading,
            passed: 1 << aside,
            to,
            code,
        }
    }

    #[inline(always)]
    fn step_back(self, Node { x, y, code }: Node) -> StepBack {
        let edges = self.grid.edges != 0;
        // Over centers what counts is around the former pixel, which is known.
        let (near_x, near_y) = moved(x, y, if edges { STAY } else { code });
        let neighbours = self.pixels.neighbours(near_x, near_y);
        if !edges {
            let direction = code ^ 4;
            let back = before(neighbours, direction);
            return StepBack {
                to: code,
                code: back,
                direction,
                passed: sides_between(back, direction),
            };
        }
        let aside = code * 2;
        let to_behind = (aside + 6) & 7;
        let to_beside = (aside + 7) & 7;
        let behind = neighbours >> to_behind & 1 != 0;
        let beside = neighbours >> to_beside & 1 != 0;
        let crosses = beside && !behind && self.crosses(x, y, to_beside);
        let (to, code) = if beside && behind || crosses {
            (to_beside, (code + 1) & 3)
        } else if behind {
            (to_behind, code)
        } else {
            (STAY, (code + 3) & 3)
        };
        StepBack {
            to,
            code,
            direction: (code * 2 + 2) & 7,
            passed: 1 << (code * 2),
        }
    }

    /// Whether borders cross over at a saddle: where a pixel and its neighbour in the diagonal direction `to` are foreground, and
    /// the other two pixels at their corner are not. They do if the two are of one 4-connected component.
    #[inline(always)]
    fn crosses(self, x: u32, y: u32, to: u32) -> bool {
        let (u, v) = moved(x, y, to);
        self.labels.ldg(self.grid.pixel(x, y)) == self.labels.ldg(self.grid.pixel(u, v))
    }
}

/// The sides of a word's pixels to the W, and to the E.
#[inline(always)]
fn vertical_sides(pixels: Pixels<'_>, word_x: u32, y: u32) -> (u64, u64) {
    let here = pixels.word(word_x, y);
    let left = pixels.word(word_x.wrapping_sub(1), y);
    let right = pixels.word(word_x + 1, y);
    (
        here & !(here << 1 | left >> 63),
        here & !(here >> 1 | right << 63),
    )
}

/// Finds the pixels that borders pass: foreground with background to the W, N, E or S. Counts each word's vertical sides,
/// for a scan. One thread a word: reads 5 words from the cache, writes 12 bytes.
///
/// # Safety
///
/// `image`, `border` and `side_counts` have an element a word; nothing else uses the latter two meanwhile.
#[kernel(block = 256)]
pub unsafe fn border_preprocessing(
    image: View<'_, u64>,
    border: ViewMut<'_, u64>,
    side_counts: ViewMut<'_, u32>,
    raster: Raster,
) {
    let at = thread::index_1d();
    if at >= raster.words() {
        return;
    }
    let y = quotient(at, raster.row_words);
    let word_x = at.wrapping_sub(y.wrapping_mul(raster.row_words));
    let pixels = Pixels {
        words: image,
        raster,
    };
    let (west, east) = vertical_sides(pixels, word_x, y);
    let inside = pixels.word(word_x, y.wrapping_sub(1)) & pixels.word(word_x, y + 1);
    border.st(at, west | east | pixels.word(word_x, y) & !inside);
    side_counts.st(at, west.count_ones() + east.count_ones());
}

/// Numbers vertical sides.
#[derive(Clone, Copy)]
struct Sides<'a> {
    walk: Walk<'a>,
    /// The sides before each word.
    before: View<'a, u32>,
}

impl Sides<'_> {
    /// The numbers of a pixel's W and E sides, as far as it has them.
    #[inline(always)]
    fn numbers(self, x: u32, y: u32) -> (u32, u32) {
        let (word, bit) = (x / 64, x % 64);
        let (west, east) = vertical_sides(self.walk.pixels, word, y);
        let before = (1u64 << bit) - 1;
        let at = y
            .wrapping_mul(self.walk.grid.raster.row_words)
            .wrapping_add(word);
        let first = self
            .before
            .ldg(at)
            .wrapping_add((west & before).count_ones())
            .wrapping_add((east & before).count_ones());
        (first, first.wrapping_add((west >> bit & 1) as u32))
    }
}

/// What [`track_write`](fn@track_write) writes.
#[derive(Clone, Copy)]
struct Output<'a> {
    sides: Sides<'a>,
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
        let sides = !neighbours & CROSS;
        let mark = u32::from(self.marks.ld(self.walk.grid.pixel(x, y)));
        let marked = dividing(mark);
        let unfollowed = sides & if writes { marked } else { !marked };
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
        self.pass(x, y, CROSS, 0, &mut discovery, output);
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
                    head: self.fragments,
                    tail: self.fragments,
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
            self.marks.st(pixel, multiplied(mark, passed) as u8);
            return;
        };
        self.marks.st(pixel, divided(mark, passed) as u8);
        if passed & (WEST | EAST) == 0 {
            return;
        }
        let (west, east) = output.sides.numbers(x, y);
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

/// The pixels of rectangle `tile`.
#[inline(always)]
fn tile_rectangle(grid: Grid, tile: u32) -> Rectangle {
    let column = quotient(tile, grid.rows);
    let row = tile.wrapping_sub(column.wrapping_mul(grid.rows));
    grid.rectangle(column, row, 1, 1)
}

/// Follows all borders in each rectangle, and counts their fragments, their steps and the open ones.
///
/// One thread a rectangle, in a block of its own: [`Grid::tiles`] blocks. Reads 1 bit a pixel, and for each step 9 words and
/// a mark; writes a mark for each.
///
/// # Safety
///
/// `image` and `border` have an element a word, the latter as [`border_preprocessing`](fn@border_preprocessing) has made them;
/// along edges, `labels` has one a pixel: those of the 4-connected components; `marks` has one a pixel, all 1; the counts
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
    grid: Grid,
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

/// Follows all borders in each rectangle once more, and writes them. Sets the marks to 1 again, and `open_counts`.
///
/// One thread a rectangle, in a block of its own: [`Grid::tiles`] blocks. Reads what [`track_count`](fn@track_count) reads, and
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
    grid: Grid,
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
        sides: Sides {
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

/// Two rectangles that are joined.
#[derive(Clone, Copy)]
struct Pair<'a> {
    grid: Grid,
    vertical: bool,
    first: Rectangle,
    second: Rectangle,
    /// The open borders of both, and where each one's begin.
    open: View<'a, Open>,
    first_begin: u32,
    second_begin: u32,
    /// Which of them comes in by each node at the side that they share; the pair's part begins at `entries_begin`.
    entries: ViewMut<'a, u32>,
    entries_begin: usize,
    next: ViewMut<'a, u32>,
}

impl Pair<'_> {
    #[inline(always)]
    const fn rectangle(&self, second: bool) -> Rectangle {
        if second { self.second } else { self.first }
    }

    /// The place among `entries` of a node of one of the two, at the side that they share.
    #[inline(always)]
    fn entry_at(&self, x: u32, y: u32, code: u32, second: bool) -> usize {
        let Rectangle {
            left,
            right,
            top,
            bottom,
        } = self.rectangle(second);
        let (along, length) = if self.vertical {
            (x.wrapping_sub(left), right.wrapping_sub(left))
        } else {
            (y.wrapping_sub(top), bottom.wrapping_sub(top))
        };
        let along = if second {
            length.wrapping_add(along)
        } else {
            along
        };
        self.entries_begin
            .wrapping_add(along as usize * CODES as usize + (code % CODES) as usize)
    }

    /// The place among `entries` of a border's first node, if it comes from the other of the two.
    #[inline(always)]
    fn entry_of(&self, open: &Open, second: bool) -> Option<usize> {
        let (x, y) = self.grid.raster.split(open.entry);
        let (from_x, from_y) = moved(x, y, open.entry_code >> 8);
        let code = open.entry_code & 0xff;
        self.rectangle(!second)
            .contains(from_x, from_y)
            .then(|| self.entry_at(x, y, code, second))
    }

    /// Follows a border that begins in one of the two, and links what continues it. Says whether it comes back to its
    /// start, whose entry has been taken.
    #[inline(always)]
    fn follow(&self, border: &mut Open, second: bool) -> bool {
        let mut second = second;
        loop {
            second = !second;
            let (x, y) = self.grid.raster.split(border.exit);
            if !self.rectangle(second).contains(x, y) {
                return false;
            }
            let at = self.entry_at(x, y, border.exit_code, second);
            let i = self.entries.ld(at);
            if i == NONE {
                return true;
            }
            self.entries.st(at, NONE);
            let next = self.open.ldg(i);
            self.next.st(border.tail, next.head);
            border.tail = next.tail;
            border.exit = next.exit;
            border.exit_code = next.exit_code;
            // planted: rectangle-key
            if next.key < border.key {
                border.key = next.key;
                border.leader = next.leader;
            }
        }
    }
}

/// Joins pairs of rectangles: links the borders that go from one to the other. Those that stay open go to `joined`, those
/// that are closed get their key.
///
/// One thread a pair, in a block of its own: [`Grid::pairs`] blocks. Reads each open border 3 times, 32 bytes; writes as much
/// once, and 8 bytes an entry.
///
/// # Safety
///
/// `open` and `joined` have an element for each open fragment, `first_open` and `counts` one a rectangle: each rectangle's
/// open borders begin in `open` where `first_open` says for its first tile, and `counts` says there how many there are:
/// at first, what [`track_count`](fn@track_count) has counted. Stages follow each other as [`Grid::stages`] says, each with
/// `open` and `joined` exchanged. `entries` has at least [`entries_len`](Grid::entries_len) elements, all [`NONE`], which they
/// are again afterwards; `next` and `keys` are those of [`track_write`](fn@track_write). Nothing else uses any of them
/// meanwhile.
#[kernel(block = 1)]
pub unsafe fn connect(
    open: View<'_, Open>,
    joined: ViewMut<'_, Open>,
    first_open: View<'_, u32>,
    counts: ViewMut<'_, u32>,
    entries: ViewMut<'_, u32>,
    next: ViewMut<'_, u32>,
    keys: ViewMut<'_, u32>,
    grid: Grid,
    stage: Stage,
) {
    let index = thread::index_1d();
    if index >= quotient(grid.tiles(), 2 * grid.unit(stage)) {
        return;
    }
    let unit = grid.unit(stage);
    let first_tile = index * 2 * unit;
    let second_tile = first_tile + unit;
    let rectangle = |tile: u32| {
        let column = quotient(tile, grid.rows);
        let row = tile.wrapping_sub(column.wrapping_mul(grid.rows));
        if stage.vertical != 0 {
            grid.rectangle(column, row, 1, stage.across)
        } else {
            grid.rectangle(column, 0, stage.across, grid.rows)
        }
    };
    let pair = Pair {
        grid,
        vertical: stage.vertical != 0,
        first: rectangle(first_tile),
        second: rectangle(second_tile),
        open,
        first_begin: first_open.ldg(first_tile),
        second_begin: first_open.ldg(second_tile),
        entries,
        entries_begin: index as usize * grid.pair_entries(stage),
        next,
    };
    // The borders of the first, then those of the second.
    let first_count = counts.ld(first_tile);
    let count = first_count.wrapping_add(counts.ld(second_tile));
    let border = |i: u32| {
        let second = i >= first_count;
        let at = if second {
            pair.second_begin.wrapping_add(i.wrapping_sub(first_count))
        } else {
            pair.first_begin.wrapping_add(i)
        };
        (at, second)
    };

    let mut i = 0;
    while i < count {
        let (at, second) = border(i);
        if let Some(entry) = pair.entry_of(&open.ldg(at), second) {
            entries.st(entry, at);
        }
        i += 1;
    }

    // Those that come from outside: they leave again.
    let mut written = pair.first_begin;
    let mut i = 0;
    while i < count {
        let (at, second) = border(i);
        let mut from = open.ldg(at);
        if pair.entry_of(&from, second).is_none() {
            pair.follow(&mut from, second);
            joined.st(written, from);
            written = written.wrapping_add(1);
        }
        i += 1;
    }
    counts.st(first_tile, written.wrapping_sub(pair.first_begin));

    // What is left is closed.
    let mut i = 0;
    while i < count {
        let (at, second) = border(i);
        let mut from = open.ldg(at);
        if let Some(entry) = pair.entry_of(&from, second)
            && entries.ld(entry) != NONE
        {
            entries.st(entry, NONE);
            pair.follow(&mut from, second);
            next.st(from.tail, from.head);
            keys.st(from.leader, from.key);
        }
        i += 1;
    }
}

/// Marks the vertical sides at which borders are discovered, for a scan. One thread a fragment: reads 4 bytes, writes 4 a
/// border.
///
/// # Safety
///
/// `keys` has an element a fragment, as the last [`connect`](fn@connect) has left it; `discovered` has one a vertical side, all
/// 0; nothing else uses it meanwhile.
#[kernel(block = 256)]
pub unsafe fn mark_discoveries(keys: View<'_, u32>, discovered: ViewMut<'_, u32>, fragments: u32) {
    let fragment = thread::index_1d();
    if fragment >= fragments {
        return;
    }
    let key = keys.ldg(fragment);
    if key != NONE {
        discovered.st(key, 1);
    }
}

/// Lists the borders in their order of discovery: the fragment that each is discovered in. One thread a fragment: reads 4
/// bytes, reads and writes 4 a border.
///
/// # Safety
///
/// `keys` has an element a fragment; `discovered_before` is the exclusive prefix sums of what
/// [`mark_discoveries`](fn@mark_discoveries) has marked, and `leaders` has as many elements as their sum; nothing else uses
/// it meanwhile.
#[kernel(block = 256)]
pub unsafe fn list_borders(
    keys: View<'_, u32>,
    discovered_before: View<'_, u32>,
    leaders: ViewMut<'_, u32>,
    fragments: u32,
) {
    let fragment = thread::index_1d();
    if fragment >= fragments {
        return;
    }
    let key = keys.ldg(fragment);
    if key != NONE {
        leaders.st(discovered_before.ldg(key), fragment);
    }
}

/// Gives each fragment its place on its border, and each border its kind (0 outer, 1 hole) and its number of points,
/// one a step or one in all. One thread a border: reads 28 bytes a fragment and a step, writes 20 bytes a fragment and 5 a
/// border.
///
/// # Safety
///
/// `steps`, `fragments`, `next` and `keys` are as the last [`connect`](fn@connect) has left them, `leaders` as
/// [`list_borders`](fn@list_borders) has; `positions` has an element a fragment, `kinds` and `counts` one a border;
/// nothing else uses these meanwhile.
#[kernel(block = 256)]
pub unsafe fn rank_fragments(
    steps: View<'_, u8>,
    fragments: View<'_, Fragment>,
    next: View<'_, u32>,
    keys: View<'_, u32>,
    leaders: View<'_, u32>,
    positions: ViewMut<'_, Position>,
    kinds: ViewMut<'_, u8>,
    counts: ViewMut<'_, u32>,
    borders: u32,
    edges: u32,
) {
    let border = thread::index_1d();
    if border >= borders {
        return;
    }
    let leader = leaders.ldg(border);
    let hole = keys.ldg(leader) & 1;
    let whole = fragments.ldg(leader);
    // Along edges, a hole's ring starts where the step past its key ends.
    let split = whole
        .discovery_step
        // planted: rectangle-hole-start
        .wrapping_add(hole & edges)
        .min(whole.length);
    let mut rank = whole.length.wrapping_sub(split);
    let mut last = whole;
    let mut at = next.ldg(leader);
    while at != leader {
        let fragment = fragments.ldg(at);
        let position = Position {
            border,
            split: 0,
            rank,
            wrapped: 0,
            code_before: last_code(steps, &last),
        };
        positions.st(at, position);
        rank = rank.wrapping_add(fragment.length);
        last = fragment;
        at = next.ldg(at);
    }
    let position = Position {
        border,
        split,
        rank: 0,
        wrapped: rank,
        code_before: last_code(steps, &last),
    };
    positions.st(leader, position);
    kinds.st(border, hole as u8);
    counts.st(border, rank.wrapping_add(split).max(1));
}

/// The code of a fragment's last step; of one without steps, [`NONE`].
#[inline(always)]
fn last_code(steps: View<'_, u8>, fragment: &Fragment) -> u32 {
    if fragment.forward == 0 {
        return NONE;
    }
    let last = fragment
        .begin
        .wrapping_add(fragment.forward)
        .wrapping_sub(1);
    u32::from(steps.ldg(last))
}

/// The code of step `i` of a fragment.
#[inline(always)]
fn code_of(steps: View<'_, u8>, fragment: &Fragment, i: u32) -> u32 {
    let backward = fragment.length.wrapping_sub(fragment.forward);
    let at = if i < backward {
        // Followed backward, so from their end.
        fragment.length.wrapping_sub(1).wrapping_sub(i)
    } else {
        i.wrapping_sub(backward)
    };
    u32::from(steps.ldg(fragment.begin.wrapping_add(at)))
}

/// Counts the nodes of each fragment where its border turns. One thread a fragment: reads 1 byte a step and 44 a fragment,
/// writes 8 a fragment.
///
/// # Safety
///
/// `positions` is as [`rank_fragments`](fn@rank_fragments) has left it; `turns` has an element a fragment; nothing else uses it
/// meanwhile.
#[kernel(block = 256)]
pub unsafe fn count_turns(
    steps: View<'_, u8>,
    fragments: View<'_, Fragment>,
    positions: View<'_, Position>,
    turns: ViewMut<'_, Turns>,
    count: u32,
) {
    let index = thread::index_1d();
    if index >= count {
        return;
    }
    let fragment = fragments.ldg(index);
    let position = positions.ldg(index);
    let mut found = Turns {
        rank: 0,
        wrapped: 0,
    };
    let mut before = position.code_before;
    let mut i = 0;
    while i < fragment.length {
        let code = code_of(steps, &fragment, i);
        // planted: rectangle-turn
        let turn = u32::from(code != before);
        if i < position.split {
            found.wrapped = found.wrapped.wrapping_add(turn);
        } else {
            found.rank = found.rank.wrapping_add(turn);
        }
        before = code;
        i += 1;
    }
    turns.st(index, found);
}

/// Finds what lies before each border: the one that passes the last vertical side before it in its row, or
/// [`NO_BORDER`]. One thread a border: reads 60 bytes, writes 4.
///
/// # Safety
///
/// The views are as the kernels before have left them; `before` has an element a border, and nothing else uses it
/// meanwhile.
#[kernel(block = 256)]
pub unsafe fn find_before(
    fragments: View<'_, Fragment>,
    keys: View<'_, u32>,
    leaders: View<'_, u32>,
    positions: View<'_, Position>,
    sides_before: View<'_, u32>,
    passed_by: View<'_, u32>,
    before: ViewMut<'_, u32>,
    borders: u32,
    grid: Grid,
) {
    let border = thread::index_1d();
    if border >= borders {
        return;
    }
    let leader = leaders.ldg(border);
    let key = keys.ldg(leader);
    let (_, y) = grid.raster.split(fragments.ldg(leader).discovery_pixel);
    let first_in_row = sides_before.ldg(y.wrapping_mul(grid.raster.row_words));
    // planted: rectangle-row
    let found = if key > first_in_row {
        positions.ldg(passed_by.ldg(key - 1)).border
    } else {
        NO_BORDER
    };
    before.st(border, found);
}

/// Turns each fragment's numbers of turns into those before it on its border; gives each border its number of points, one a
/// turn or one in all. One thread a border: reads 12 bytes a fragment, writes 8 a fragment and 4 a border.
///
/// # Safety
///
/// `turns` is as [`count_turns`](fn@count_turns) has left it, the rest as the kernels before have; `counts` has an element a
/// border; nothing else uses `turns` and `counts` meanwhile.
#[kernel(block = 256)]
pub unsafe fn rank_turns(
    next: View<'_, u32>,
    leaders: View<'_, u32>,
    turns: ViewMut<'_, Turns>,
    counts: ViewMut<'_, u32>,
    borders: u32,
) {
    let border = thread::index_1d();
    if border >= borders {
        return;
    }
    let leader = leaders.ldg(border);
    let own = turns.ld(leader);
    let mut rank = own.rank;
    let mut at = next.ldg(leader);
    while at != leader {
        let found = turns.ld(at);
        turns.st(at, Turns { rank, wrapped: 0 });
        rank = rank.wrapping_add(found.rank);
        at = next.ldg(at);
    }
    let ranks = Turns {
        rank: 0,
        wrapped: rank,
    };
    turns.st(leader, ranks);
    counts.st(border, rank.wrapping_add(own.wrapped).max(1));
}

/// Writes the borders' points, (x, y): one a step, or if `simple` those where a border turns. One thread a fragment: reads 1
/// byte a step, 60 a fragment; writes 8 a point.
///
/// # Safety
///
/// The views are as the kernels before have left them; `turns` is only used if `simple`. `places` has an element a border: its
/// place in the result, or [`NO_BORDER`] if it is left out; `offsets` has one a place: where its
/// points begin; and `points` two for each point of those, as many as were counted. Nothing else uses `points` meanwhile.
#[kernel(block = 256)]
pub unsafe fn write_points(
    steps: View<'_, u8>,
    fragments: View<'_, Fragment>,
    positions: View<'_, Position>,
    turns: View<'_, Turns>,
    places: View<'_, u32>,
    offsets: View<'_, u32>,
    points: ViewMut<'_, i32>,
    count: u32,
    simple: u32,
    grid: Grid,
) {
    let index = thread::index_1d();
    if index >= count {
        return;
    }
    let fragment = fragments.ldg(index);
    let position = positions.ldg(index);
    let place = places.ldg(position.border);
    if place == NO_BORDER {
        return;
    }
    let offset = offsets.ldg(place);
    let (mut x, mut y) = grid.raster.split(fragment.first);
    let write = |rank: u32, x: u32, y: u32| {
        let at = offset.wrapping_add(rank) as usize * 2;
        points.st_vector(at, [x.cast_signed(), y.cast_signed()]);
    };
    if fragment.length == 0 {
        write(0, x, y);
        return;
    }
    if grid.edges != 0 {
        // From the pixel to the corner at which its first side begins.
        let heading = code_of(steps, &fragment, 0);
        x = x.wrapping_add(u32::from(heading == 2 || heading == 4));
        y = y.wrapping_add(u32::from(heading == 0 || heading == 2));
    }
    // Where the next point goes: from `split` on, and before.
    let (from_split, wrapped) = if simple != 0 {
        let turns = turns.ldg(index);
        (turns.rank, turns.wrapped)
    } else {
        (position.rank, position.wrapped)
    };
    let mut rank = wrapped;
    let mut code_before = position.code_before;
    let mut i = 0;
    while i < fragment.length {
        if i == position.split {
            rank = from_split;
        }
        let code = code_of(steps, &fragment, i);
        if simple == 0 || code != code_before {
            write(rank, x, y);
            rank = rank.wrapping_add(1);
        }
        code_before = code;
        (x, y) = moved(x, y, code);
        i += 1;
    }
}
