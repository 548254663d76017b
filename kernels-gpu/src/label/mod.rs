//! Label: the connected components of a binary image of 1 bit per pixel.
//!
//! A component's root is its first pixel in raster order, known by its index `y * width + x`.
//! Components are numbered 1, 2, … in the order of their roots. The kernels of [`tiles`] label many
//! images of one size in one launch each, and those of [`statistics`] and [`runs`] take them
//! stacked vertically.
//!
//! | file | stage |
//! | --- | --- |
//! | [`tiles`] | joins runs in tiles in shared memory, then along the tiles' borders; writes the labels |
//! | [`values`] | the same for images of values: regions of equal value |
//! | [`direct`] | joins pixels in global memory, one thread per pixel; writes the labels |
//! | [`number`] | numbers components by the bits of their roots, for both |
//! | [`renumber`] | from the numbers of a band's components to those in the whole image |
//! | [`runs`] | the labels of runs, for the host to write those of pixels |
//! | [`statistics`] | area, bounding box and coordinate sums of each component |

pub mod direct;
pub mod number;
pub mod renumber;
pub mod runs;
pub mod statistics;
pub mod tiles;
pub mod values;

use cuda_std::prelude::*;

/// Which neighbours of a foreground pixel belong to its component.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, KernelParam)]
pub enum Connectivity {
    /// The four that share a side with it.
    Four,
    /// The eight that share a side or a corner with it.
    #[default]
    Eight,
}
