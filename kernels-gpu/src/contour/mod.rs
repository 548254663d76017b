//! Contours: the borders of a binary image of 1 bit a pixel, with what they lie in.
//!
//! | file | stage |
//! | --- | --- |
//! | [`tiles`] | borders followed in rectangles, one thread each, and joined pairwise |

pub mod tiles;
