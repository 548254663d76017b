//! Tracing: the borders of a binary image of 1 bit per pixel, with their hierarchy.
//!
//! | file | stage |
//! | --- | --- |
//! | [`neighbours`], [`node_bits`] | the topology of bits, which the CPU uses too: neighbours, sides, gaps, nodes |
//! | [`pixels`] | the image |
//! | [`components`] | borders as sets of nodes, joined by union-find, and followed to write their points |
//! | [`tiles`] | or borders followed in rectangles, one thread each, and joined pairwise; their points too |
//! | [`hierarchy`] | parents, the order of the result, its hierarchy |

pub mod components;
pub mod hierarchy;
pub mod neighbours;
pub mod node_bits;
pub mod pixels;
pub mod tiles;
