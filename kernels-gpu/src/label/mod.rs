//! Label: the connected components of a binary image of 1 bit a pixel.
//!
//! A component's root is its first pixel in raster order, known by its number `y * width + x`. Components are numbered
//! 1, 2, … in the order of their roots.
//!
//! | file | stage |
//! | --- | --- |
//! | [`tiles`] | runs joined in tiles in shared memory, then along the tiles' borders; the labels written |
//! | [`direct`] | pixels joined in global memory, one thread a pixel |
//! | [`number`] | dense numbers from the bits of the roots |
//! | [`statistics`] | area, bounding box and coordinate sums of each component |

pub mod direct;
pub mod number;
pub mod statistics;
pub mod tiles;
