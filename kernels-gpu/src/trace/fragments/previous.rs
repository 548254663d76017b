//! The border that passes the last vertical side before each border's start.
//!
//! In most cases the tile has noted the node of that side. Otherwise the side is looked for in the
//! image, which takes long. Such borders are scattered among the rest: each warp puts them aside
//! until it has one for each lane.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::join::{BLOCK, Join, JoinMemory, WARPS};
use super::key::Key;
use super::records::{NO_NODE, TileParts};
use super::source::Source;
use super::tile::listed_nodes;
use crate::primitives::grid::{Grid, each};
use crate::primitives::warp_list::WarpList;
use crate::trace::borders::{FoundBorders, NO_BORDER};
use crate::trace::node_bits::{Kind, NodeBits};
use crate::trace::node_walk::{NamedNode, NodeWalk};
use crate::trace::pixels::TracedImage;

/// The most borders that a warp has put aside: the four per lane that it looks at together, and up
/// to one less than a warp of earlier ones.
pub(super) const MOST_ASIDE: u32 = 5 * WARP_SIZE;
/// Set in the name of a border inside one tile: the name is its index among these. Another border's
/// name is the index of the fragment with its start.
const CLOSED: u64 = 1 << 32;

/// A border whose previous border is to be found.
#[derive(Clone, Copy)]
struct Border<K> {
    /// The border's name, or [`NONE`] if there is no border.
    name: u64,
    key: K,
    number: u32,
    /// The node of the side before its start, or [`NO_NODE`] if the side must be looked for.
    node: u16,
}

/// For lanes without a border.
const NONE: u64 = u64::MAX;

impl<K: Key> Border<K> {
    const NONE: Self = Self {
        name: NONE,
        key: K::LOWEST,
        number: NO_BORDER,
        node: NO_NODE,
    };
}

impl<K: Key> Join<'_, K, TracedImage<'_>> {
    /// Finds each border's previous border, given the numbers of fragments and of borders inside
    /// one tile, and the fragments' ranked links. All threads of the grid call it.
    #[inline(always)]
    pub(super) fn find_previous(
        &self,
        grid: Grid<'_, BLOCK>,
        [fragments, closed]: [u32; 2],
        links: ViewMut<'_, u32>,
        borders: FoundBorders<'_>,
        memory: JoinMemory,
    ) {
        let t = thread::thread_idx_x();
        let (warp, lane) = (t / WARP_SIZE, t % WARP_SIZE);
        let mut aside = WarpList::new(memory.aside, MOST_ASIDE);
        // A group has one fragment, or one closed border, per lane.
        let first_closed = fragments.div_ceil(WARP_SIZE);
        let groups = first_closed + closed.div_ceil(WARP_SIZE);
        let stride = grid.blocks() * WARPS;
        let mut group = grid.block() * WARPS + warp;
        loop {
            if group < groups {
                let border = |group: u32| {
                    if group < first_closed {
                        let i = group * WARP_SIZE + lane;
                        self.starting_in(i, fragments, links)
                    } else {
                        let i = (group - first_closed) * WARP_SIZE + lane;
                        self.closed_border(i, closed)
                    }
                };
                // Groups past the last one stand for closed borders that do not exist.
                let of_warp = [
                    group,
                    group + stride,
                    group + 2 * stride,
                    group + 3 * stride,
                ];
                let four = each(of_warp, border);
                each(four, |border| {
                    let is_unknown = border.name != NONE && border.node == NO_NODE;
                    aside.put(is_unknown, border.name);
                });
                self.take_noted(four, borders);
                group += 4 * stride;
            }
            let is_end = group >= groups;
            while aside.count() >= WARP_SIZE || is_end && aside.count() > 0 {
                let name = aside.take(lane, NONE);
                if name != NONE {
                    self.look_for(name, borders);
                }
            }
            if is_end {
                return;
            }
        }
    }

    /// The border that starts in fragment `i`, if one does, and what the tile has noted.
    #[inline(always)]
    fn starting_in(&self, i: u32, fragments: u32, links: ViewMut<'_, u32>) -> Border<K> {
        let mut border = Border::NONE;
        if i < fragments {
            let key = self.key(i);
            if key == K::load(links, i).key {
                border = Border {
                    name: i.into(),
                    key,
                    number: self.of_fragment(i),
                    node: self.parts.fragment_nodes_before.ld(i),
                };
            }
        }
        border
    }

    /// Closed border `i`, if there is one, and what the tile has noted.
    #[inline(always)]
    fn closed_border(&self, i: u32, closed: u32) -> Border<K> {
        if i >= closed {
            return Border::NONE;
        }
        Border {
            name: CLOSED | u64::from(i),
            key: self.closed(i).0,
            number: self.of_closed(i),
            node: self.parts.closed_nodes_before.ld(i),
        }
    }

    /// Finds the previous borders of those for which a tile has noted the node.
    #[inline(always)]
    fn take_noted(&self, four: [Border<K>; 4], borders: FoundBorders<'_>) {
        let tiles = each(four, |border| {
            let mut tile = TileParts::NONE;
            if border.node != NO_NODE {
                let (x, y) = border.key.pixel(self.raster);
                tile = TileParts::load(self.parts.tiles, self.tile(x, y));
            }
            (border, tile)
        });
        let sides = each(tiles, |(border, tile)| {
            let mut id = 0;
            if border.node != NO_NODE {
                id = self
                    .parts
                    .sides
                    .ld(tile.first_side + u32::from(border.node))
                    .into();
            }
            (border, tile, id)
        });
        let previous = each(sides, |(border, tile, id)| {
            let mut previous = NO_BORDER;
            if border.node != NO_NODE {
                previous = tile.select(id, |i| self.of_fragment(i), |i| self.of_closed(i));
            }
            (border, previous)
        });
        each(previous, |(border, previous)| {
            if border.node != NO_NODE {
                borders.previous_in_row.st(border.number, previous);
            }
        });
    }

    /// Finds the previous border of the one with this name, in the image.
    #[inline(always)]
    fn look_for(&self, name: u64, borders: FoundBorders<'_>) {
        let i = name as u32;
        let (key, number) = if name & CLOSED != 0 {
            (self.closed(i).0, self.of_closed(i))
        } else {
            (self.key(i), self.of_fragment(i))
        };
        let (x, y) = key.pixel(self.raster);
        let previous = self.passing_before(
            x,
            y,
            key.is_outer(),
            NO_BORDER,
            |i| self.of_fragment(i),
            |i| self.of_closed(i),
        );
        borders.previous_in_row.st(number, previous);
    }

    /// How borders go from node to node.
    #[inline(always)]
    const fn node_walk(&self) -> NodeWalk<'_> {
        NodeWalk::new(self.image)
    }

    /// Finds what passes the last vertical side before pixel `(x, y)`, where a border starts: in
    /// the pixel's row for an outer border, in its run for a hole's. Calls `fragment` or `closed`
    /// with the index found; `none` if there is no side.
    #[inline(always)]
    pub(super) fn passing_before<R>(
        &self,
        x: u32,
        y: u32,
        is_outer: bool,
        none: R,
        fragment: impl FnOnce(u32) -> R,
        closed: impl FnOnce(u32) -> R,
    ) -> R {
        let node = if is_outer {
            match self.node_walk().last_before(x, y) {
                Some(x) => self.node_walk().at_east_side(x, y),
                None => return none,
            }
        } else {
            // planted: join-run-start
            let x = self.node_walk().run_start(x, y);
            NamedNode {
                x,
                y,
                kind: Kind::W,
            }
        };
        self.passing(node, fragment, closed)
    }
}

impl<K: Key, I: Source> Join<'_, K, I> {
    /// The border of fragment `i`.
    #[inline(always)]
    pub(super) fn of_fragment(&self, i: u32) -> u32 {
        self.chains.fragment_borders.ld(i)
    }

    /// The border of closed border `i`.
    #[inline(always)]
    pub(super) fn of_closed(&self, i: u32) -> u32 {
        self.chains.closed_borders.ld(i)
    }

    /// The nodes of the word with pixel `(x, y)` that its tile has listed, and those that it has
    /// left out because they are passed straight on.
    #[inline(always)]
    fn nodes(&self, x: u32, y: u32) -> (NodeBits, NodeBits) {
        let around = self.image.around(x / 64, y);
        let geometry = self.image.geometry();
        let row = (y % I::TILE_HEIGHT, I::TILE_HEIGHT);
        listed_nodes(around, geometry, self.approximation, row)
    }

    /// Calls `fragment` or `closed` with the index of the fragment or closed border that a W or E
    /// node belongs to.
    #[inline(always)]
    pub(super) fn passing<R>(
        &self,
        node: NamedNode,
        fragment: impl FnOnce(u32) -> R,
        closed: impl FnOnce(u32) -> R,
    ) -> R {
        let NamedNode { x, mut y, mut kind } = node;
        let tile = self.tile(x, y);
        let bit = x % 64;
        let (mut nodes, straight) = self.nodes(x, y);
        let of_kind = if kind == Kind::W {
            straight.w
        } else {
            straight.e
        };
        // planted: join-straight
        if of_kind >> bit & 1 != 0 {
            // The node is not listed, but the topmost node of its run is, on the same border.
            let top = y / I::TILE_HEIGHT * I::TILE_HEIGHT;
            y = self.image.top_of_side(x, y, kind, top);
            if kind == Kind::E {
                kind = self.image.kind_at_east(x, y);
            }
            (nodes, _) = self.nodes(x, y);
        }
        let below = (1u64 << bit) - 1;
        // planted: join-second
        let second = kind == Kind::E && nodes.w >> bit & 1 != 0;
        let before = u32::from(
            self.parts
                .rows
                .ld(tile * I::TILE_HEIGHT + y % I::TILE_HEIGHT),
        );
        let in_row = (nodes.w & below).count_ones() + (nodes.e & below).count_ones();
        let parts = TileParts::load(self.parts.tiles, tile);
        let side = parts.first_side + before + in_row + u32::from(second);
        let id = self.parts.sides.ld(side).into();
        parts.select(id, fragment, closed)
    }
}
