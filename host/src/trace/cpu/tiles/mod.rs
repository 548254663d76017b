//! Border following in rectangles, on all cores.
//!
//! V. M. Garcia-Molla, P. Alonso-Jordá, R. García-Laguía, "Parallel border tracking in binary
//! images using GPUs", The Journal of Supercomputing 78 (2022).
//!
//! 1. **Preprocessing**: a plane of the pixels that a border passes.
//! 2. **Tracking** (`track.rs`): the image is divided into NX × NY rectangles. In each, one
//!    sequential walk looks for sides of pixels that no border has passed yet, and follows the
//!    border there from node to node (`../walk.rs`): forward, and backward from where it began if
//!    forward leads out of the rectangle. A border that stays in the rectangle is closed and goes
//!    to the global list; the pieces of others are open.
//! 3. **Connection** (`connect.rs`): log2(NY) stages join rectangles one above the other, then
//!    log2(NX) stages those side by side, all pairs of a stage at once, until one rectangle is
//!    left, in which every border is closed.
//! 4. **Gathering** (`gather.rs`): closed borders in order of discovery become [`Chains`].
//!
//! A **node** is a step of a border with the sides that it passes: over centers, an ordered triad
//! of former pixel, pixel and next pixel; along edges, a side of a pixel. A side belongs to one
//! node and a node to one border. A tracked node is noted in its pixel's **mark**, one byte: the
//! set of all sides that were passed, as 4 bits. (The paper multiplies 2, 3, 5 and 7 for W, N, E
//! and S, so that a side has been passed if its number divides the mark.)
//!
//! A piece of a border within a rectangle is a **fragment**: the codes of its steps. Connection
//! links fragments and copies none.
//!
//! With one rectangle this is the sequential algorithm. Memory beyond what that takes:
//!
//! | bytes | per | |
//! |---|---|---|
//! | 0.125 | pixel | |
//! | 1 | pixel of the rectangles that are being tracked | marks |
//! | 1 | step | |
//! | 16 | fragment | |
//! | 64 | open border | 128 while it is joined |
//! | 32 | closed border | |
//! | 4 | run of foreground in a row | along edges, given back before tracking |
//! | 0.125 | pixel | along edges, the joined saddles |

mod connect;
mod gather;
mod grid;
mod track;

use super::chains::Chains;
use super::saddles::Saddles;
use super::sides::{Joined, Sides};
use super::walk::{Centers, Edges, Walk};
use crate::error::Result;
use crate::image::BinaryImage;
use crate::progress::Progress;
use crate::trace::Band;
use crate::trace::Geometry;
use grid::TileGrid;

/// Follows all borders of an image, with `tiles` rectangles along x and y, or a number of them that
/// suits its size.
pub(super) fn follow_borders(
    image: &BinaryImage,
    geometry: Geometry,
    tiles: Option<(u32, u32)>,
    progress: &Progress<'_>,
) -> Result<Chains> {
    let grid = TileGrid::new(image.width(), image.height(), tiles)?;
    match geometry {
        Geometry::Centers => {
            let sides = Sides::of(image, Joined::Eight)?;
            follow(
                &Centers {
                    plane: &sides.plane,
                },
                &sides,
                &grid,
                progress,
            )
        }
        Geometry::Edges => {
            let sides = Sides::of(image, Joined::Four)?;
            let saddles = Saddles::of(Band::whole(image))?;
            let edges = Edges::new(&sides.plane, &saddles, 0);
            follow(&edges, &sides, &grid, progress)
        }
    }
}

fn follow<W: Walk>(
    walk: &W,
    sides: &Sides,
    grid: &TileGrid,
    progress: &Progress<'_>,
) -> Result<Chains> {
    let mut tiles = track::track(walk, sides, grid, progress)?;
    let (links, closed) = connect::connect(&mut tiles, grid)?;
    progress.report(4, 5)?;
    gather::gather::<W>(&tiles, &links, closed, sides, grid)
}
