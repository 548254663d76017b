//! Tracing: the borders of a binary image of 1 bit per pixel, with their hierarchy.
//!
//! | file | stage |
//! | --- | --- |
//! | [`pixels`] | a pixel's neighbours, the gaps between them, its sides |
//! | [`components`] | borders as sets of nodes, joined by union-find, and followed to write their points |
//! | [`tiles`] | or borders followed in rectangles, one thread each, and joined pairwise; their points too |
//! | [`hierarchy`] | parents, the order of the result, its hierarchy |

pub mod components;
pub mod hierarchy;
pub mod pixels;
pub mod tiles;
