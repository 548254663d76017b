//! Tracing by components: boundary extraction, component analysis by union-find, starting points,
//! and following all borders at once.
//!
//! The stages are those of Yin et al., "G-Contour: GPU Accelerated Contour Tracing For Large-Scale
//! Layouts" (2025). But the elements joined are not boundary pixels. They are
//! [nodes](crate::trace::node_bits), each of which belongs to one border. So holes are kept, the
//! two borders of a thin wall stay apart, and a border that passes a pixel several times stays one
//! border.
//!
//! | kernel | stage | reads, writes |
//! | --- | --- | --- |
//! | [`count_nodes`](fn@nodes::count_nodes) | boundary extraction | 1 bit per pixel; 8 bytes per word |
//! | [`list_nodes`](fn@nodes::list_nodes) | " | 1 bit per pixel; 8 bytes per node |
//! | [`join_nodes`](fn@join::join_nodes) | component analysis | the words around each node, and the parents that its union touches |
//! | [`flatten_nodes`](fn@join::flatten_nodes) | " , points per border | the parents on the way to the root; 4 bytes per node |
//! | [`select_starts`](fn@join::select_starts) | one starting point per border | 1 bit per node, and for each border a part of its row |
//! | those of [`follow`] | points | the words around each node; 8 bytes per point |
//!
//! Between the first two kernels, a scan of the counts gives each word the index of its first node;
//! after `flatten_nodes`, a scan of the roots' counts gives each border its index. No capacity is
//! guessed: everything is counted before it is written.
//!
//! A set's root is its smallest node, the border's start: the atomic minimum of the union-find
//! selects it.

pub mod follow;
pub mod join;
pub mod nodes;

use cuda_std::prelude::*;

use crate::primitives::ranked_bits::RankedBits;

/// The nodes of an image, in order. The sizes are the number of words.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct NodeList<'a> {
    /// The index of each word's first W or E node, then of each word's first N or S node.
    #[len(2 * *sizes)]
    pub first: View<'a, u32>,
    /// Each node: 4 times its pixel's index, plus its [`Kind`](crate::trace::node_bits::Kind).
    pub entries: View<'a, u32>,
}

impl NodeList<'_> {
    /// How many there are.
    #[inline(always)]
    fn len(&self) -> u32 {
        self.entries.len() as u32
    }
}

/// The sets that nodes have been joined to, one per border. The sizes are the number of nodes.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32)]
pub struct JoinedNodes<'a> {
    /// Each node's root.
    #[len(*sizes)]
    pub parents: View<'a, u32>,
    /// The roots. A root's rank is the index of its border.
    #[len(*sizes)]
    pub roots: RankedBits<'a>,
}

impl JoinedNodes<'_> {
    /// The index of the border that a node belongs to.
    #[inline(always)]
    fn border_of(&self, node: u32) -> u32 {
        self.roots.rank(self.parents.ldg(node))
    }
}
