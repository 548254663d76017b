//! Tracing: the borders of a binary image of 1 bit per pixel, with their hierarchy.
//!
//! | file | stage |
//! | --- | --- |
//! | [`options`] | what to trace: the kernels' options |
//! | [`neighbours`], [`node_bits`] | the topology of bits, which the CPU uses too |
//! | [`pixels`] | the image |
//! | `node_walk` | from a node of a border to the next one |
//! | [`fragments`] | borders in tiles, and their fragments joined: the default |
//! | [`components`] | or borders as sets of nodes, joined by union-find, then followed |
//! | [`tiles`] | or borders followed in rectangles, which are then joined pairwise |
//! | [`borders`] | the borders found, in the form that all ways to find them share |
//! | [`hierarchy`] | parents, the order of the result, its hierarchy |
//! | [`regions`] | the order of the borders of regions |
//! | [`teh_chin`] | dominant points of contours that have every point |
//! | [`translate`] | an offset added to all points |

pub mod borders;
pub mod components;
pub mod fragments;
pub mod hierarchy;
pub mod neighbours;
pub mod node_bits;
pub(crate) mod node_walk;
pub mod options;
pub mod pixels;
pub mod regions;
pub mod teh_chin;
pub mod tiles;
pub mod translate;
pub mod values;

/// Threads per block of all kernels here, except those that follow borders in rectangles.
pub const BLOCK: u32 = 256;
