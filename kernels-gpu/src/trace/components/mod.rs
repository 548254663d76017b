//! Tracing by components: boundary extraction, component analysis by union-find, starting points.
//!
//! The flow is that of "G-Contour: GPU Accelerated Contour Tracing For Large-Scale Layouts" (Yin et al., 2025), but what
//! is joined are not boundary pixels: they are [nodes](crate::trace::pixels), of which each belongs to one border. So holes are
//! kept, the two borders of a thin wall stay apart, and a border that passes a pixel several times is whole.
//!
//! | kernel | stage | reads, writes |
//! | --- | --- | --- |
//! | [`count_nodes`](fn@count_nodes) | boundary extraction | 1 bit a pixel; 8 bytes a word |
//! | [`list_nodes`](fn@list_nodes) | " | 1 bit a pixel; 8 bytes a node |
//! | [`join_nodes`](fn@join_nodes) | component analysis | the words around each node, and what its union touches |
//! | [`flatten_nodes`](fn@flatten_nodes) | " , points a border | the parents on the way to the root; 4 bytes a node |
//! | [`select_starts`](fn@select_starts) | starting points, one a border | 1 bit a node, and for each border a part of its row |
//!
//! Between the first two, a scan of the counts numbers the nodes; after `flatten_nodes`, one of the roots' counts
//! numbers the borders. Nothing has a guessed capacity: counts come before what is written. [`search`](super::search) then
//! writes the points.
//!
//! A set's root is its smallest node, and so the border's start: the atomic minimum of the union-find selects it.
//!
//! `edges` in the arguments is 0 for borders over pixel centres. Else they run along pixels' sides, for which `labels` are
//! the labels of the 4-connected components; they decide which way a border goes where two pixels of one
//! component touch at a corner.

pub mod follow;
pub mod join;
pub mod nodes;
mod walk;

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

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
pub const fn bit_words(nodes: u32) -> u32 {
    nodes.div_ceil(WARP_SIZE)
}

/// How many of `bits` are set before bit `at`; `ranks` has the number of those before each word.
#[inline(always)]
pub(super) fn rank(bits: View<'_, u32>, ranks: View<'_, u32>, at: u32) -> u32 {
    let word = at / WARP_SIZE;
    let below = (1u32 << (at % WARP_SIZE)) - 1;
    ranks.ldg(word) + (bits.ldg(word) & below).count_ones()
}
