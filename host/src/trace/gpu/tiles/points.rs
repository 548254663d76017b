//! The points of borders.

use trazar_kernels::trace::tiles::gather::Fragments;
use trazar_kernels::trace::tiles::points::{FragmentRanks, write_points};

use super::{Arranged, TileBorders, Work};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// Writes the points of the borders that are kept.
pub(in crate::trace::gpu) fn write<G: Gpu>(
    work: &Work<'_, G>,
    borders: &TileBorders<G>,
    places: &G::Buffer<u32>,
    arranged: &Arranged<G>,
) -> Result<G::Buffer<i32>> {
    let mut points = work.gpu.alloc(arranged.points as usize * 2)?;
    if arranged.points == 0 {
        return Ok(points);
    }
    // SAFETY: the kernels before have made what is read, and there is room for all points of the
    // borders that have a place.
    unsafe {
        write_points::launch_threads(
            &work.gpu.launcher(),
            borders.fragments.len(),
            Fragments {
                steps: borders.steps.view(),
                fragments: borders.fragments.view(),
            },
            FragmentRanks {
                positions: borders.positions.view(),
                turns: borders.turns.view(),
            },
            arranged.destination(places, &mut points),
            work.raster,
            work.geometry,
            work.approximation,
        )?;
    }
    Ok(points)
}
