//! The points of borders.

use trazar_kernels::trace::components::blocks;
use trazar_kernels::trace::tiles::points::write_points;

use super::{Arranged, TileBorders, Work};
use crate::Result;
use crate::gpu::{Gpu, GpuBuffer};

/// Writes the points of the borders that are kept.
pub(in crate::trace::gpu) fn write<G: Gpu>(
    work: &Work<'_, G>,
    borders: &TileBorders<G>,
    arranged: &Arranged<G>,
) -> Result<G::Buffer<i32>> {
    let mut points = work.gpu.alloc(arranged.points as usize * 2)?;
    if arranged.points == 0 {
        return Ok(points);
    }
    let n = borders.fragments.len() as u32;
    // SAFETY: the kernels before have made what is read, and there is room for all points of the borders that have a place.
    unsafe {
        write_points::launch(
            &work.gpu.launcher(),
            blocks(n),
            borders.steps.view(),
            borders.fragments.view(),
            borders.positions.view(),
            borders.turns.view(),
            arranged.places.view(),
            arranged.offsets.view(),
            points.view_mut(),
            n,
            work.simple,
            borders.grid,
        )?;
    }
    Ok(points)
}
