//! The points of borders, written fragment by fragment.

use cuda_std::prelude::*;

use super::gather::{Fragments, Position, Turns};
use super::walk::moved;
use crate::trace::BLOCK;
use crate::trace::borders::{Destination, NO_BORDER};
use crate::trace::options::{Approximation, Geometry};
use crate::trace::pixels::Raster;

/// The positions of each fragment's points on its border.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
pub struct FragmentRanks<'a> {
    /// For each fragment, the positions of its nodes.
    pub positions: View<'a, Position>,
    /// For each fragment, the positions of its turns. Used only if these are the points.
    pub turns: View<'a, Turns>,
}

/// Writes the borders' points. Launch: one thread per fragment, which reads 60 bytes and 1 per
/// step; writes 8 per point.
///
/// # Safety
///
/// `fragments` and `ranks` are as the previous kernels left them, for an image of this size and
/// with this geometry and approximation. `destination` has room for all points of the borders that
/// have a place, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(destination = ()))]
pub unsafe fn write_points(
    fragments: Fragments<'_>,
    ranks: FragmentRanks<'_>,
    destination: Destination<'_>,
    raster: Raster,
    geometry: Geometry,
    approximation: Approximation,
) {
    let index = thread::index_1d();
    if index >= fragments.len() {
        return;
    }
    let fragment = fragments.fragments.ldg(index);
    let position = ranks.positions.ldg(index);
    let place = destination.places.ldg(position.border);
    if place == NO_BORDER {
        return;
    }
    let offset = destination.offsets.ldg(place);
    let (mut x, mut y) = raster.split(fragment.first);
    if fragment.length == 0 {
        destination.write(offset, x, y);
        return;
    }
    if geometry == Geometry::Edges {
        // From the pixel to the corner where its first side begins.
        let heading = fragments.code(&fragment, 0);
        x = x.wrapping_add(u32::from(heading == 2 || heading == 4));
        y = y.wrapping_add(u32::from(heading == 0 || heading == 2));
    }
    // The index of the next point: for nodes from `split` on, and for those before.
    let (from_split, wrapped) = match approximation {
        Approximation::None => (position.rank, position.wrapped),
        Approximation::Simple => {
            let turns = ranks.turns.ldg(index);
            (turns.rank, turns.wrapped)
        }
    };
    let mut rank = wrapped;
    let mut code_before = position.code_before;
    let mut i = 0;
    while i < fragment.length {
        if i == position.split {
            rank = from_split;
        }
        let code = fragments.code(&fragment, i);
        if approximation == Approximation::None || code != code_before {
            destination.write(offset.wrapping_add(rank), x, y);
            rank = rank.wrapping_add(1);
        }
        code_before = code;
        (x, y) = moved(x, y, code);
        i += 1;
    }
}
