//! Contours: the borders of a binary image of 1 bit a pixel, with their hierarchy.
//!
//! | file | stage |
//! | --- | --- |
//! | [`pixels`] | neighbours, gaps between them, the sides of pixels |
//! | `nodes.rs` | what borders are made of, and what comes next |
//! | [`components`] | borders as sets of nodes, joined by union-find |
//! | [`tiles`] | or borders followed in rectangles, one thread each, and joined pairwise; their points too |
//! | [`arrange`] | parents, the order of the result, its hierarchy |
//! | [`search`] | the points |

pub mod arrange;
pub mod components;
mod nodes;
pub mod pixels;
pub mod search;
pub mod tiles;
