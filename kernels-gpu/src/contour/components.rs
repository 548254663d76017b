//! Tracing by components: boundary extraction, component analysis by union-find, one thread a border.
//!
//! The flow is that of "G-Contour: GPU Accelerated Contour Tracing For Large-Scale Layouts" (Yin et al., 2025), but what
//! is joined are not boundary pixels: they are [nodes](super::pixels), of which each belongs to one border. So holes are
//! kept, the two borders of a thin wall stay apart, and a border that passes a pixel several times is whole.
//!
//! | kernel | stage | reads, writes |
//! | --- | --- | --- |
//! | [`count_nodes`](fn@count_nodes) | boundary extraction | 1 bit a pixel; 8 bytes a word |
//! | [`list_nodes`](fn@list_nodes) | " | 1 bit a pixel; 8 bytes a node |
//! | [`join_nodes`](fn@join_nodes) | component analysis | the words around each node, and what its union touches |
//! | [`flatten_nodes`](fn@flatten_nodes) | " , points a border | the parents on the way to the root; 4 bytes a node |
//! | [`select_starts`](fn@select_starts) | starting points, one a border | 1 bit a node, and for each border a part of its row |
//! | [`search_borders`](fn@search_borders) | parallel searching | the words around each node; 8 bytes a point |
//!
//! Between the first two, a scan of the counts numbers the nodes; after `flatten_nodes`, one of the roots' counts
//! numbers the borders. Nothing has a guessed capacity: counts come before what is written.
//!
//! A set's root is its smallest node, and so the border's start: the atomic minimum of the union-find selects it.
//!
//! `edges` in the arguments is 0 for borders over pixel centres. Else they run along pixels' sides, for which `labels` are
//! the labels of the 4-connected components; they decide which way a border goes where two pixels of one
//! component touch at a corner.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use super::pixels::{Kind, Nodes, Pixels, Raster, after, before, kind_after, step};
use crate::primitives::union_find::{find, union};

/// No border.
pub const NO_BORDER: u32 = u32::MAX;

/// Threads per block of all kernels here.
const BLOCK: u32 = 256;

/// Blocks for so many threads.
#[must_use]
pub const fn blocks(threads: u32) -> u32 {
    threads.div_ceil(BLOCK)
}

/// Words of one bit for each of `nodes` nodes.
#[must_use]
pub const fn root_words(nodes: u32) -> u32 {
    nodes.div_ceil(WARP_SIZE)
}

/// A node: a pixel and what it is named by.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Node {
    x: u32,
    y: u32,
    kind: Kind,
}

/// Borders over pixel centres, or along pixels' sides.
#[derive(Clone, Copy)]
struct Borders<'a> {
    pixels: Pixels<'a>,
    labels: View<'a, u32>,
    edges: bool,
}

impl<'a> Borders<'a> {
    #[inline(always)]
    fn new(image: View<'a, u64>, labels: View<'a, u32>, raster: Raster, edges: u32) -> Self {
        Self {
            pixels: Pixels {
                words: image,
                raster,
            },
            labels,
            edges: edges != 0,
        }
    }

    /// The nodes of a word's pixels.
    #[inline(always)]
    fn nodes(&self, word_x: u32, y: u32) -> Nodes {
        let around = self.pixels.around(word_x, y);
        if self.edges {
            around.sides()
        } else {
            around.nodes()
        }
    }

    /// The number of a node, from the number of its word's first node.
    #[inline(always)]
    fn number(&self, first: View<'_, u32>, node: Node) -> u32 {
        let raster = self.pixels.raster;
        let nodes = self.nodes(node.x / 64, node.y);
        let bit = node.x % 64;
        let below = (1u64 << bit) - 1;
        let word = node.y * raster.row_words + node.x / 64;
        let (a, b, word) = match node.kind {
            Kind::W | Kind::E => (nodes.w, nodes.e, word),
            Kind::N | Kind::S => (nodes.n, nodes.s, raster.words() + word),
        };
        // The second of a pixel's two comes after the first.
        let second = matches!(node.kind, Kind::E | Kind::S);
        let own = if second { (a >> bit & 1) as u32 } else { 0 };
        first.ldg(word) + (a & below).count_ones() + (b & below).count_ones() + own
    }

    /// A node from its list entry.
    #[inline(always)]
    fn node(&self, entry: u32) -> Node {
        let (x, y) = self.pixels.raster.split(entry >> 2);
        Node {
            x,
            y,
            kind: Kind::from_bits(entry),
        }
    }

    /// The node whose gap holds the E neighbour of pixel `(x, y)`, which is background.
    #[inline(always)]
    fn at_east_side(&self, x: u32, y: u32) -> Node {
        let kind = if self.edges {
            Kind::E
        } else {
            self.pixels.around(x / 64, y).kind_at_e(x % 64)
        };
        Node { x, y, kind }
    }

    /// The node that the border visits next.
    #[inline(always)]
    fn successor(&self, node: Node) -> Node {
        if self.edges {
            return self.next_side(node).0;
        }
        let neighbours = self.pixels.neighbours(node.x, node.y);
        if neighbours == 0 {
            return node;
        }
        let out = after(neighbours, node.kind.direction());
        let (dx, dy) = step(out);
        let (x, y) = (node.x.wrapping_add(dx), node.y.wrapping_add(dy));
        Node {
            x,
            y,
            kind: kind_after(self.pixels.neighbours(x, y), out ^ 4),
        }
    }

    /// How many of the border's points are a node's; only those where the border turns if `simple`.
    #[inline(always)]
    fn points(&self, node: Node, simple: bool) -> u32 {
        if self.edges {
            return if self.next_side(node).1.is_some() {
                2
            } else {
                0
            };
        }
        let neighbours = self.pixels.neighbours(node.x, node.y);
        if !simple || neighbours == 0 {
            return 1;
        }
        let direction = node.kind.direction();
        u32::from(after(neighbours, direction) != before(neighbours, direction) ^ 4)
    }

    /// Whether pixels `(x, y)` and `(u, v)`, which touch at a corner, are of one 4-connected component.
    #[inline(always)]
    fn joined(&self, x: u32, y: u32, u: u32, v: u32) -> bool {
        let width = self.pixels.raster.width;
        self.labels.ldg(y * width + x) == self.labels.ldg(v * width + u)
    }

    /// The vertical side after this one on its ring; and if they do not meet end to end, the corners where this one
    /// ends and the next begins.
    ///
    /// A ring runs down W sides and up E sides, foreground on its left. `(x, y)` is also the upper left corner of pixel
    /// `(x, y)`. What lies outside the image has wrapped around, and is background.
    #[inline(always)]
    fn next_side(&self, side: Node) -> (Node, Option<[(u32, u32); 2]>) {
        let Node { x, y, kind } = side;
        let at = |x, y, kind| Node { x, y, kind };
        let set = |x, y| self.pixels.is_set(x, y);
        // The corner where the side ends, and whether the ring goes on eastward from there.
        let (corner_x, corner_y, east);
        if kind == Kind::W {
            (corner_x, corner_y) = (x, y + 1);
            let (left, right) = (set(x, y + 1), set(x.wrapping_sub(1), y + 1));
            if left && !right {
                return (at(x, y + 1, Kind::W), None);
            }
            east = !(left || right && self.joined(x, y, x - 1, y + 1));
        } else {
            (corner_x, corner_y) = (x + 1, y);
            let (left, right) = (set(x, y.wrapping_sub(1)), set(x + 1, y.wrapping_sub(1)));
            if left && !right {
                return (at(x, y - 1, Kind::E), None);
            }
            east = right && (left || self.joined(x, y, x + 1, y - 1));
        }
        let up = corner_y.wrapping_sub(1);
        let (end, next);
        if east {
            // Foreground above, background below.
            end = self.run_end_east(corner_x, up, corner_y);
            let (left, right) = (set(end, up), set(end, corner_y));
            next = if right && (left || self.joined(end - 1, up, end, corner_y)) {
                at(end, corner_y, Kind::W)
            } else {
                at(end - 1, up, Kind::E)
            };
        } else {
            // Foreground below, background above.
            end = self.run_end_west(corner_x, corner_y, up);
            let before = end.wrapping_sub(1);
            let (left, right) = (set(before, corner_y), set(before, up));
            next = if right && (left || self.joined(end, corner_y, before, up)) {
                at(before, up, Kind::E)
            } else {
                at(end, corner_y, Kind::W)
            };
        }
        (next, Some([(corner_x, corner_y), (end, corner_y)]))
    }

    /// The first column after `x` at which row `set` is not foreground above (or below) background of row `clear`.
    #[inline(always)]
    fn run_end_east(&self, x: u32, set: u32, clear: u32) -> u32 {
        let mut word_x = x / 64;
        let mut from = u64::MAX << (x % 64);
        loop {
            let ends = !(self.pixels.word(word_x, set) & !self.pixels.word(word_x, clear)) & from;
            if ends != 0 {
                return word_x * 64 + ends.trailing_zeros();
            }
            word_x += 1;
            from = u64::MAX;
        }
    }

    /// The column after the last one before `x` at which row `set` is not foreground beside background of row `clear`.
    #[inline(always)]
    fn run_end_west(&self, x: u32, set: u32, clear: u32) -> u32 {
        let last = x - 1;
        let mut word_x = last / 64;
        let mut through = u64::MAX >> (63 - last % 64);
        loop {
            let ends =
                !(self.pixels.word(word_x, set) & !self.pixels.word(word_x, clear)) & through;
            if ends != 0 {
                return word_x * 64 + 64 - ends.leading_zeros();
            }
            if word_x == 0 {
                return 0;
            }
            word_x -= 1;
            through = u64::MAX;
        }
    }

    /// The last foreground pixel of row `y` before column `x`.
    #[inline(always)]
    fn last_before(&self, x: u32, y: u32) -> Option<u32> {
        let mut word_x = x / 64;
        let mut below = (1u64 << (x % 64)) - 1;
        loop {
            let word = self.pixels.word(word_x, y) & below;
            if word != 0 {
                return Some(word_x * 64 + 63 - word.leading_zeros());
            }
            if word_x == 0 {
                return None;
            }
            word_x -= 1;
            below = u64::MAX;
        }
    }

    /// The first pixel of the run of row `y` that pixel `x` belongs to.
    #[inline(always)]
    fn run_start(&self, x: u32, y: u32) -> u32 {
        let mut word_x = x / 64;
        let mut through = u64::MAX >> (63 - x % 64);
        loop {
            let zeros = !self.pixels.word(word_x, y) & through;
            if zeros != 0 {
                return word_x * 64 + 64 - zeros.leading_zeros();
            }
            if word_x == 0 {
                return 0;
            }
            word_x -= 1;
            through = u64::MAX;
        }
    }
}

/// The word that this thread works on: its column and row, and its number; none past the last one.
#[inline(always)]
fn my_word(raster: Raster) -> Option<(u32, u32, u32)> {
    let word = thread::index_1d();
    if word >= raster.words() {
        return None;
    }
    let y = crate::primitives::quotient(word, raster.row_words);
    Some((word - y * raster.row_words, y, word))
}

/// Counts each word's nodes: first for all words those of kinds W and E, then for all words those of kinds N and S.
///
/// # Safety
///
/// `image` has the raster's words, `counts` twice as many elements; nothing else uses `counts` meanwhile; the launch has
/// [`blocks`]`(words)` blocks.
#[kernel(block = 256)]
pub unsafe fn count_nodes(
    image: View<'_, u64>,
    counts: ViewMut<'_, u32>,
    raster: Raster,
    edges: u32,
) {
    let borders = Borders::new(image, counts.as_view(), raster, edges);
    if let Some((word_x, y, word)) = my_word(raster) {
        let Nodes { w, e, n, s } = borders.nodes(word_x, y);
        counts.st(word, w.count_ones() + e.count_ones());
        counts.st(raster.words() + word, n.count_ones() + s.count_ones());
    }
}

/// Lists the nodes in order, and makes each a set of its own. An entry of the list is 4 times the pixel's number plus the
/// kind's.
///
/// # Safety
///
/// `first` is the scan of what [`count_nodes`](fn@count_nodes) gave; `nodes` and `parents` have an element per node;
/// nothing else uses these meanwhile; the launch has [`blocks`]`(words)` blocks.
#[kernel(block = 256)]
pub unsafe fn list_nodes(
    image: View<'_, u64>,
    first: View<'_, u32>,
    nodes: ViewMut<'_, u32>,
    parents: ViewMut<'_, u32>,
    raster: Raster,
    edges: u32,
) {
    let borders = Borders::new(image, first, raster, edges);
    let Some((word_x, y, word)) = my_word(raster) else {
        return;
    };
    let found = borders.nodes(word_x, y);
    let first_pixel = y * raster.width + word_x * 64;
    let list = |a: u64, b: u64, kind: Kind, mut at: u32| {
        let mut rest = a | b;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let entry = (first_pixel + bit) << 2 | kind as u32;
            if a >> bit & 1 != 0 {
                nodes.st(at, entry);
                parents.st(at, at);
                at += 1;
            }
            if b >> bit & 1 != 0 {
                nodes.st(at, entry + 1);
                parents.st(at, at);
                at += 1;
            }
        }
    };
    if found.w | found.e != 0 {
        list(found.w, found.e, Kind::W, first.ldg(word));
    }
    if found.n | found.s != 0 {
        list(found.n, found.s, Kind::N, first.ldg(raster.words() + word));
    }
}

/// Joins each node with its successor.
///
/// # Safety
///
/// [`list_nodes`](fn@list_nodes) has run with these arguments; `labels` are the image's, or anything without `edges`;
/// `n` is the number of nodes; nothing else uses `parents` meanwhile; the launch has [`blocks`]`(n)` blocks.
#[kernel(block = 256)]
pub unsafe fn join_nodes(
    image: View<'_, u64>,
    labels: View<'_, u32>,
    first: View<'_, u32>,
    nodes: View<'_, u32>,
    parents: ViewMut<'_, u32>,
    raster: Raster,
    n: u32,
    edges: u32,
) {
    let borders = Borders::new(image, labels, raster, edges);
    let i = thread::index_1d();
    if i < n {
        let successor = borders.successor(borders.node(nodes.ldg(i)));
        union(parents, i, borders.number(first, successor));
    }
}

/// Points each node at its root, sets the roots' bits, counts them, and counts the points of each root's border: those where
/// it turns if `simple`, else all.
///
/// # Safety
///
/// As for [`join_nodes`](fn@join_nodes), which has run; `points` has an element per node, all 0; `roots` and `counts` have
/// [`root_words`]`(n)`; nothing else uses these meanwhile.
#[kernel(block = 256)]
pub unsafe fn flatten_nodes(
    image: View<'_, u64>,
    labels: View<'_, u32>,
    nodes: View<'_, u32>,
    parents: ViewMut<'_, u32>,
    points: ViewMut<'_, u32>,
    roots: ViewMut<'_, u32>,
    counts: ViewMut<'_, u32>,
    raster: Raster,
    n: u32,
    edges: u32,
    simple: u32,
) {
    let borders = Borders::new(image, labels, raster, edges);
    let i = thread::index_1d();
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let mut root = u32::MAX;
    let mut own_points = 0;
    if i < n {
        root = find(parents, i);
        if root != i {
            // No thread joins any more: whoever reads this element gets a parent or the root, both right.
            parents.st_relaxed(i, root, Device);
        }
        own_points = borders.points(borders.node(nodes.ldg(i)), simple != 0);
    }
    let is_root = warp::warp_vote_ballot(FULL_MASK, i < n && root == i);
    // Neighbouring nodes are often of one border: they add together. A node has 0, 1 or 2 points.
    let peers = warp::warp_match_any_32(FULL_MASK, root);
    let some = warp::warp_vote_ballot(FULL_MASK, own_points != 0);
    let two = warp::warp_vote_ballot(FULL_MASK, own_points == 2);
    let sum = (peers & some).count_ones() + (peers & two).count_ones();
    if i < n && sum != 0 && peers.trailing_zeros() == lane {
        points.atomic_add(root, sum);
    }
    if lane == 0 && i < n {
        roots.st(i / WARP_SIZE, is_root);
        counts.st(i / WARP_SIZE, is_root.count_ones());
    }
}

/// Lists the borders' starts, in the order in which a raster scan meets them: the entry of the start's node, whether the
/// border is a hole's (1) or an outer one (0), its points, and the border of the last side before the start in its row: the
/// two are siblings if they are of one kind, else the border lies in the one before. [`NO_BORDER`] if there is none.
///
/// # Safety
///
/// [`flatten_nodes`](fn@flatten_nodes) has run with these arguments; `ranks` is the scan of its `counts`; `starts`,
/// `kinds`, `lengths` and `befores` have an element per border; nothing else uses them meanwhile; the launch has
/// [`blocks`]`(n)` blocks.
#[kernel(block = 256)]
pub unsafe fn select_starts(
    image: View<'_, u64>,
    first: View<'_, u32>,
    nodes: View<'_, u32>,
    parents: View<'_, u32>,
    points: View<'_, u32>,
    roots: View<'_, u32>,
    ranks: View<'_, u32>,
    starts: ViewMut<'_, u32>,
    kinds: ViewMut<'_, u8>,
    lengths: ViewMut<'_, u32>,
    befores: ViewMut<'_, u32>,
    raster: Raster,
    n: u32,
    edges: u32,
) {
    let borders = Borders::new(image, first, raster, edges);
    let i = thread::index_1d();
    if i >= n || roots.ldg(i / WARP_SIZE) >> (i % WARP_SIZE) & 1 == 0 {
        return;
    }
    let border = |root: u32| {
        let below = (1u32 << (root % WARP_SIZE)) - 1;
        let word = root / WARP_SIZE;
        ranks.ldg(word) + (roots.ldg(word) & below).count_ones()
    };
    let entry = nodes.ldg(i);
    let Node { x, y, kind } = borders.node(entry);
    let before = if kind == Kind::W {
        borders
            .last_before(x, y)
            .map(|x| borders.at_east_side(x, y))
    } else {
        let x = borders.run_start(x, y);
        Some(Node {
            x,
            y,
            kind: Kind::W,
        })
    };
    let before = match before {
        Some(node) => border(parents.ldg(borders.number(first, node))),
        None => NO_BORDER,
    };
    let at = border(i);
    starts.st(at, entry);
    kinds.st(at, u8::from(kind != Kind::W));
    lengths.st(at, points.ldg(i));
    befores.st(at, before);
}

/// Follows each border from its start and writes its points, x and y of each.
///
/// # Safety
///
/// `starts` is what [`select_starts`](fn@select_starts) gave; `places` has an element per border, the border's place in
/// the result, or [`NO_BORDER`] if it is left out; `offsets` has for each place where its points begin; `points` has two
/// elements for each, and starts at a multiple of 8 bytes; nothing else uses it meanwhile; the launch has
/// [`blocks`]`(borders)` blocks.
#[kernel(block = 256)]
pub unsafe fn search_borders(
    image: View<'_, u64>,
    labels: View<'_, u32>,
    starts: View<'_, u32>,
    places: View<'_, u32>,
    offsets: View<'_, u32>,
    points: ViewMut<'_, i32>,
    raster: Raster,
    count: u32,
    edges: u32,
    simple: u32,
) {
    let borders = Borders::new(image, labels, raster, edges);
    let i = thread::index_1d();
    if i >= count || places.ldg(i) == NO_BORDER {
        return;
    }
    let place = places.ldg(i);
    let begin = offsets.ldg(place);
    let write = |at: u32, (x, y): (u32, u32)| {
        // Indices of coordinates may pass 2³².
        points.st_vector(at as usize * 2, [x.cast_signed(), y.cast_signed()]);
    };
    let start = borders.node(starts.ldg(i));
    if borders.edges {
        let end = offsets.ldg(place + 1);
        let mut at = begin;
        // An outer ring begins where its first side does: the last corner that the walk comes to.
        if start.kind == Kind::W {
            at += 1;
        }
        let mut side = start;
        loop {
            let (next, corners) = borders.next_side(side);
            if let Some([corner, next_corner]) = corners {
                write(at, corner);
                at += 1;
                write(if at == end { begin } else { at }, next_corner);
                at += 1;
            }
            side = next;
            if side == start {
                return;
            }
        }
    }

    let neighbours = borders.pixels.neighbours(start.x, start.y);
    if neighbours == 0 {
        write(begin, (start.x, start.y));
        return;
    }
    let first_back = before(neighbours, start.kind.direction());
    let (mut x, mut y, mut back) = (start.x, start.y, first_back);
    let mut at = begin;
    loop {
        let out = after(borders.pixels.neighbours(x, y), back);
        if simple == 0 || out != back ^ 4 {
            write(at, (x, y));
            at += 1;
        }
        let (dx, dy) = step(out);
        (x, y) = (x.wrapping_add(dx), y.wrapping_add(dy));
        back = out ^ 4;
        if x == start.x && y == start.y && back == first_back {
            return;
        }
    }
}
