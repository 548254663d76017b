//! The pixels of a tile in shared memory, its nodes, and the links from node to node.

use cuda_std::prelude::*;

use super::crossings::Crossing;
use super::source::Source;
use crate::trace::neighbours::{after, before, neighbourhood, step};
use crate::trace::node_bits::{Around, BesideBits, Kind, NodeBits, kind_after};
use crate::trace::options::{Approximation, Geometry};

/// Pixels per row of a tile: one word of the image.
pub const TILE_WIDTH: u32 = 64;
/// Rows of a tile.
pub const TILE_HEIGHT: u32 = 32;
/// The most nodes of a tile. In each square of 2 × 2 pixels of a binary image, at most 8 sides have
/// background beyond them, and every node has a side of its own. Tiles of an image of values have
/// half as many rows.
pub const MOST_NODES: u32 = TILE_WIDTH * TILE_HEIGHT * 2;

/// Rows of a tile and the two beside it.
pub(super) const HALO_ROWS: u32 = TILE_HEIGHT + 2;
/// The columns that are not at a tile's rim.
const INNER_COLUMNS: u64 = !(1 | 1 << (TILE_WIDTH - 1));
/// Words of 32 bits per row in shared memory: 64 pixels, and one more to each side.
pub(super) const ROW_WORDS: u32 = 3;
/// Words per row for the nodes that are passed straight on: one per kind.
pub(super) const STRAIGHT_WORDS: u32 = 4;

/// A node by its place in a tile.
#[derive(Clone, Copy)]
pub(super) struct TileNode {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) kind: Kind,
}

/// Where a border goes from a node.
#[derive(Clone, Copy)]
pub(super) enum Successor {
    /// To a node of the tile.
    Inside(TileNode),
    /// Out of the tile.
    Outside(Crossing),
}

/// What is known of a node from the pixels around it.
#[derive(Clone, Copy)]
pub(super) struct NodeLinks {
    /// Where the border goes from here.
    pub(super) successor: Successor,
    /// The crossing by which it enters the tile, if it does so at this node.
    pub(super) entry: Option<Crossing>,
    /// Whether a point of the border belongs to the node.
    pub(super) is_point: bool,
}

/// The pixels of a tile and around it.
#[derive(Clone, Copy)]
pub(super) struct TilePixels<I> {
    /// [`ROW_WORDS`] per row, the row above the tile first; bit 0 is the pixel left of the tile.
    pub(super) rows: SharedView<u32>,
    /// For each row, the nodes that are passed [straight on](straight_inside), one word per kind.
    pub(super) straight: SharedView<u64>,
    /// For each pixel, its neighbourhood, if [`keeps_neighbourhoods`](Self::keeps_neighbourhoods).
    pub(super) neighbourhoods: SharedView<u8>,
    /// Whether neighbourhoods are found once for all pixels, instead of on demand.
    pub(super) keeps_neighbourhoods: bool,
    pub(super) image: I,
    pub(super) approximation: Approximation,
    /// The tile's upper left pixel.
    pub(super) left: u32,
    pub(super) top: u32,
}

impl<I: Source> TilePixels<I> {
    /// Loads row `row` of those in shared memory; called by one thread per row.
    #[inline(always)]
    pub(super) fn load_row(&self, row: u32) {
        if !I::IS_BINARY {
            return;
        }
        let word_x = self.left / 64;
        let y = (self.top + row).wrapping_sub(1);
        let word = |x| self.image.word(x, y);
        // planted: fragment-right-of-tile
        let beside = (word(word_x.wrapping_sub(1)) >> 63, word(word_x + 1) & 1);
        let here = word(word_x);
        let first = row * ROW_WORDS;
        self.rows.st(first, (here << 1 | beside.0) as u32);
        self.rows.st(first + 1, (here >> 31) as u32);
        self.rows.st(first + 2, (here >> 63 | beside.1 << 1) as u32);
    }

    /// Row `y` of the tile and the pixels beside it; `y` may be -1, wrapped around.
    #[inline(always)]
    fn beside(&self, y: u32) -> BesideBits {
        let first = y.wrapping_add(1) * ROW_WORDS;
        let west = u64::from(self.rows.ld(first)) | u64::from(self.rows.ld(first + 1)) << 32;
        let last = u64::from(self.rows.ld(first + 2));
        BesideBits {
            west,
            here: west >> 1 | last << 63,
            east: west >> 2 | last << 62,
        }
    }

    /// The pixels of row `y` and around them.
    #[inline(always)]
    pub(super) fn around(&self, y: u32) -> Around {
        if !I::IS_BINARY {
            return self.image.around(self.left / 64, self.top + y);
        }
        Around::new(
            self.beside(y.wrapping_sub(1)),
            self.beside(y),
            self.beside(y + 1),
        )
    }

    /// The nodes of row `y`, given the pixels around them: those that are listed, and those that
    /// are not.
    #[inline(always)]
    pub(super) fn nodes(&self, around: Around, y: u32) -> (NodeBits, NodeBits) {
        listed_nodes(
            around,
            self.image.geometry(),
            self.approximation,
            (y, I::TILE_HEIGHT),
        )
    }

    /// Stores the straight nodes that [`nodes`](Self::nodes) has found in row `y`.
    #[inline(always)]
    pub(super) fn keep_straight(&self, y: u32, straight: NodeBits) {
        let NodeBits { w, e, n, s } = straight;
        self.straight.st_vector(y * STRAIGHT_WORDS, [w, e]);
        self.straight.st_vector(y * STRAIGHT_WORDS + 2, [n, s]);
    }

    /// The pixel that a border reaches from pixel `(x, y)` by skipping all straight nodes of this
    /// kind. The border moves in the direction in which straight nodes of the kind are passed.
    #[inline(always)]
    fn skipped(&self, x: u32, y: u32, kind: Kind) -> (u32, u32) {
        let bit = 1u64 << x;
        let in_row = |y: u32| self.straight.ld(y * STRAIGHT_WORDS + kind as u32);
        let is_straight = |y: u32| in_row(y) & bit != 0;
        let row = in_row(y);
        if row & bit == 0 {
            return (x, y);
        }
        let (mut to_x, mut to_y) = (x, y);
        match kind {
            // The next column to the left whose node is not straight; column 0's never is.
            Kind::N => to_x = 63 - (!row & (bit - 1)).leading_zeros(),
            Kind::S => to_x = (!row & !(bit | (bit - 1))).trailing_zeros(),
            // Nodes of row 0 and of the last row never are.
            Kind::W | Kind::E => {
                // 1 down W sides, -1 up E sides.
                let down = 1u32.wrapping_sub(2 * kind as u32);
                while is_straight(to_y) {
                    to_y = to_y.wrapping_add(down);
                }
            }
        }
        (to_x, to_y)
    }

    /// The pixels from x - 1 to x + 1 of row `y`, as bits 0 to 2.
    #[inline(always)]
    fn three(&self, x: u32, y: u32) -> u32 {
        let at = y.wrapping_add(1) * ROW_WORDS + x / 32;
        let pair = u64::from(self.rows.ld(at)) | u64::from(self.rows.ld(at + 1)) << 32;
        (pair >> (x % 32)) as u32 & 7
    }

    /// The foreground around pixel `(x, y)` of the tile, one bit per direction.
    #[inline(always)]
    fn neighbours(&self, x: u32, y: u32) -> u32 {
        if self.keeps_neighbourhoods || !I::IS_BINARY {
            return u32::from(self.neighbourhoods.ld(y * TILE_WIDTH + x));
        }
        neighbourhood(
            self.three(x, y.wrapping_sub(1)),
            self.three(x, y),
            self.three(x, y + 1),
        )
    }

    #[inline(always)]
    const fn is_inside(x: u32, y: u32) -> bool {
        x < TILE_WIDTH && y < I::TILE_HEIGHT
    }

    /// As [`Crossing::new`], for a tile of this height.
    #[inline(always)]
    const fn crossing(outside: (u32, u32), to: (u32, u32), code: u32) -> Crossing {
        Crossing::new(I::TILE_HEIGHT, outside, to, code)
    }

    /// The links of a node: whether it has a point, where the border goes, and whether it enters
    /// the tile here.
    #[inline(always)]
    pub(super) fn links(&self, node: TileNode) -> NodeLinks {
        match self.image.geometry() {
            Geometry::Centers => self.links_over_centers(node),
            Geometry::Edges => self.links_along_edges(node),
        }
    }

    #[inline(always)]
    fn links_over_centers(&self, node: TileNode) -> NodeLinks {
        let TileNode { x, y, kind } = node;
        let neighbours = self.neighbours(x, y);
        if neighbours == 0 {
            return NodeLinks {
                successor: Successor::Inside(node),
                entry: None,
                is_point: true,
            };
        }
        let out = after(neighbours, kind.direction());
        let back = before(neighbours, kind.direction());
        let (from_x, from_y) = moved(x, y, back);
        let (to_x, to_y) = moved(x, y, out);
        // A node is known by its pixel and the direction back.
        let successor = if Self::is_inside(to_x, to_y) {
            // Straight on, along sides of one kind: S, E, N and W in directions 0, 2, 4 and 6.
            let (x, y) = if out & 1 == 0 {
                self.skipped(to_x, to_y, Kind::from_bits(0b00_10_01_11 >> out))
            } else {
                (to_x, to_y)
            };
            let kind = kind_after(self.neighbours(x, y), out ^ 4);
            Successor::Inside(TileNode { x, y, kind })
        } else {
            Successor::Outside(Self::crossing((to_x, to_y), (to_x, to_y), out & 3))
        };
        let entry = !Self::is_inside(from_x, from_y);
        NodeLinks {
            successor,
            entry: entry.then(|| Self::crossing((from_x, from_y), (x, y), back & 3)),
            is_point: self.approximation == Approximation::None || out != back ^ 4,
        }
    }

    /// A ring has the foreground on its left: it runs down W sides, to the right along S sides, up
    /// E sides and to the left along N sides.
    #[inline(always)]
    fn links_along_edges(&self, node: TileNode) -> NodeLinks {
        let TileNode { x, y, kind } = node;
        let neighbours = self.neighbours(x, y);
        let side = kind.direction();
        let set = |direction: u32| neighbours >> (direction & 7) & 1 != 0;
        let joined = |direction: u32| {
            let (x, y) = (self.left + x, self.top + y);
            let (u, v) = moved(x, y, direction & 7);
            self.image.joined(x, y, u, v)
        };
        // The pixel in `ahead`, straight on, and the one in `across`, to the right of it.
        let goes_across = |ahead: u32, across: u32| set(across) && (set(ahead) || joined(across));
        let (ahead, behind) = (side + 2, side + 6);
        let (to, turned_side) = if goes_across(ahead, side + 1) {
            (moved(x, y, (side + 1) & 7), side + 6)
        } else if set(ahead) {
            (moved(x, y, ahead & 7), side)
        } else {
            ((x, y), side + 2)
        };
        let from = if goes_across(behind, side + 7) {
            moved(x, y, (side + 7) & 7)
        } else if set(behind) {
            moved(x, y, behind & 7)
        } else {
            (x, y)
        };
        let kind = kind_of_side(turned_side);
        // A node is known by its pixel and its side.
        let successor = if Self::is_inside(to.0, to.1) {
            let (x, y) = self.skipped(to.0, to.1, kind);
            Successor::Inside(TileNode { x, y, kind })
        } else {
            Successor::Outside(Self::crossing(to, to, kind as u32))
        };
        let entry = !Self::is_inside(from.0, from.1);
        NodeLinks {
            successor,
            entry: entry.then(|| Self::crossing(from, (x, y), node.kind as u32)),
            is_point: turned_side != side,
        }
    }

    /// The point that belongs to a node, counted from the tile's upper left one.
    #[inline(always)]
    pub(super) fn point(&self, node: TileNode) -> (u32, u32) {
        let TileNode { x, y, kind } = node;
        match (self.image.geometry(), kind) {
            (Geometry::Centers, _) | (Geometry::Edges, Kind::N) => (x, y),
            // The corner where the side ends.
            (Geometry::Edges, Kind::W) => (x, y + 1),
            (Geometry::Edges, Kind::S) => (x + 1, y + 1),
            (Geometry::Edges, Kind::E) => (x + 1, y),
        }
    }
}

/// The listed nodes of row `y` of a tile of `height` rows, and those left out because borders pass
/// them [straight on](straight_inside).
#[inline(always)]
pub(super) const fn listed_nodes(
    around: Around,
    geometry: Geometry,
    approximation: Approximation,
    (y, height): (u32, u32),
) -> (NodeBits, NodeBits) {
    let all = match geometry {
        Geometry::Centers => around.gaps(),
        Geometry::Edges => around.sides(),
    };
    let straight = straight_inside(around, geometry, approximation, (y, height));
    (all.without(straight), straight)
}

/// The W and the E nodes of a row whose last vertical side before their own belongs to the node
/// listed just before them. A node is not among them if there is no such side in the row, or if it
/// is passed straight on.
#[inline(always)]
pub(super) const fn after_listed(listed: NodeBits, straight: NodeBits) -> (u64, u64) {
    let (w, e) = (listed.w | straight.w, listed.e | straight.e);
    let pixels = w | e;
    // The last node of these pixels is listed. The bits after each become a number from which 1 is
    // subtracted: that clears the first of `pixels` in it.
    let last_is_listed = listed.e | listed.w & !e;
    // planted: fragment-after-listed
    let after = pixels & !pixels.wrapping_sub(last_is_listed << 1);
    let second = listed.w | after & !straight.w;
    (listed.w & after, listed.e & second)
}

/// The nodes in row `y` of a tile of `height` rows that borders pass straight on: on horizontal
/// sides in the tile's inner columns, on vertical sides in its inner rows. At the rim, fragments
/// begin and end.
#[inline(always)]
const fn straight_inside(
    around: Around,
    geometry: Geometry,
    approximation: Approximation,
    (y, height): (u32, u32),
) -> NodeBits {
    let NodeBits { w, e, n, s } = around.straight(geometry, approximation);
    // planted: fragment-rim-straight
    let rows = if y == 0 || y == height - 1 {
        0
    } else {
        u64::MAX
    };
    NodeBits {
        w: w & rows,
        e: e & rows,
        n: n & INNER_COLUMNS,
        s: s & INNER_COLUMNS,
    }
}

/// The pixel one step away. Wraps around below 0.
#[inline(always)]
const fn moved(x: u32, y: u32, direction: u32) -> (u32, u32) {
    let (dx, dy) = step(direction);
    (x.wrapping_add(dx), y.wrapping_add(dy))
}

/// The kind of the side in a direction, which is even.
#[inline(always)]
fn kind_of_side(direction: u32) -> Kind {
    // E, N, W, S in the order of directions.
    Kind::from_bits(0b11_00_10_01 >> (direction & 6))
}
