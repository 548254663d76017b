//! Contours: the borders of a binary image of 1 bit a pixel, with their hierarchy.
//!
//! | file | stage |
//! | --- | --- |
//! | [`pixels`] | neighbours, gaps between them, the sides of pixels |
//! | [`components`] | borders as sets of nodes, joined by union-find; then one thread a border |
//! | [`arrange`] | parents, the order of the result, its hierarchy |

pub mod arrange;
pub mod components;
pub mod pixels;
