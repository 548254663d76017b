//! The borders of a band of a larger image, found by kernels.
//!
//! The GPU traces the band together with the row above and the row below. Each of those two lies in
//! its own row of tiles, so a fragment is either in the band or outside it. The host then cuts
//! contours where they leave the band (`parts/cut.rs`).

use glam::IVec2;
use trazar_kernels::trace::borders::NO_BORDER;
use trazar_kernels::trace::fragments::TILE_HEIGHT;
use trazar_kernels::trace::options as kernel_options;

use super::fragments::{self, Images};
use super::{DeviceTracer, Work, contours, raster};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::memory::reserve;
use crate::trace::Band;
use crate::trace::parts::{BandBorders, Before, Cycles, NO_CONTOUR, cut};
use crate::trace::{ContourOptions, Retrieval, TraceAlgorithm};

/// A band with rows below it has a multiple of this many rows.
pub(in crate::trace) const BAND_ROWS: u32 = TILE_HEIGHT;

/// Traces a band over pixel centers: one without rows below it, or with a multiple of
/// [`BAND_ROWS`].
pub(in crate::trace) fn trace_band<G: Gpu>(
    tracer: &DeviceTracer<G>,
    band: Band<'_>,
    options: &ContourOptions,
) -> Result<BandBorders> {
    let (words, first_row, height) = surrounded(band)?;
    // Before anything is copied.
    let raster = raster(band.width(), height, TraceAlgorithm::Fragments)?;
    let gpu = tracer.gpu();
    let uploaded = gpu.upload(&words)?;
    drop(words);
    let none = gpu.alloc(0)?;
    let work = Work {
        gpu,
        words: &uploaded,
        labels: &none,
        raster,
        geometry: kernel_options::Geometry::Centers,
        approximation: kernel_options::Approximation::Simple,
        joining: tracer.joining,
    };
    let single = Images {
        count: 1,
        pitch: height,
    };
    let arena = tracer.arena.take();
    // `Retrieval::List` is the cheapest: borders are ordered once all have been joined.
    let mut traced = fragments::trace(&work, single, Retrieval::List, arena, &mut |_| Ok(()))?;
    let points: Vec<[i32; 2]> = contours::pairs(traced.points.to_vec()?);
    let offsets = traced.arranged.offsets.to_vec()?;
    let kinds = traced.arranged.kinds.to_vec()?;
    let cycles = Cycles {
        points: bytemuck::cast_slice::<[i32; 2], IVec2>(&points),
        offsets: &offsets,
        kinds: &kinds,
        first_row,
    };
    let borders = cut(band, options, cycles, tracer.cut_points, |starts| {
        let found = fragments::sides_before(&work, &mut traced, starts)?;
        let before = |pair: &[u32; 2]| Before {
            contour: if pair[0] == NO_BORDER {
                NO_CONTOUR
            } else {
                pair[0]
            },
            point: pair[1],
        };
        Ok(found.as_chunks().0.iter().map(before).collect())
    })?;
    tracer.arena.put(traced.arena);
    Ok(borders)
}

/// The words of the band and of the rows next to it, padded with background above so that the band
/// begins at a row of tiles; then the band's first row and the number of rows.
fn surrounded(band: Band<'_>) -> Result<(Vec<u64>, u32, u32)> {
    let row_words = band.row(0).len();
    let above = band.row_above(0);
    let below = band.row_below(band.height() - 1);
    let first_row = if above.is_some() { BAND_ROWS } else { 0 };
    let height = first_row + band.height() + u32::from(below.is_some());
    let mut words = Vec::new();
    reserve(
        &mut words,
        row_words * height as usize,
        "the rows of a band",
    )?;
    if let Some(above) = above {
        words.resize((first_row as usize - 1) * row_words, 0);
        words.extend_from_slice(above);
    }
    for y in 0..band.height() {
        words.extend_from_slice(band.row(y));
    }
    words.extend_from_slice(below.unwrap_or_default());
    Ok((words, first_row, height))
}
