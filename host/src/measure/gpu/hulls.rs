//! Hulls and holes of labels in a GPU's memory, from sorted runs.

use trazar_kernels::measure::holes::{join_gaps, start_gaps, sum_areas};
use trazar_kernels::measure::hull_columns::{
    HullColumnBuffers, HullSums, column, write_hull_columns,
};
use trazar_kernels::measure::hulls::{
    BoxRowsBuffers, Boxes, HULL_BLOCK, NO_PIXEL, find_heights, find_hulls, list_box_rows,
};
use trazar_kernels::measure::table::ColumnSizes;

use super::DeviceColumnValues::Floats;
use super::columns::{columns_of, table_of};
use super::runs::Sorted;
use super::{DeviceMeasures, warp_blocks};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::measure::Property;
use crate::memory::push;

/// The most rows of boxes in a batch, if the image has fewer runs; otherwise it is the number of
/// runs.
const FEWEST_ROWS: u32 = 1 << 14;

/// The column of a property that follows from hulls or holes; none for the others.
pub(super) const fn column_of(property: Property) -> Option<u32> {
    Some(match property {
        Property::AreaConvex => column::AREA_CONVEX,
        Property::Solidity => column::SOLIDITY,
        Property::FeretDiameterMax => column::DIAMETER,
        Property::AreaFilled => column::AREA_FILLED,
        _ => return None,
    })
}

/// The table of these properties, all of which [follow](column_of) from hulls or holes.
pub(super) fn table<G: Gpu>(
    gpu: &G,
    sorted: &mut Sorted<G>,
    properties: &[Property],
    spacing: [f64; 2],
) -> Result<DeviceMeasures<G>> {
    let sizes = sorted.column_sizes(columns_of(properties, column_of));
    let columns = write_columns(gpu, sorted, sizes, spacing)?;
    let columns = [
        (Property::AreaConvex, columns.area_convex),
        (Property::Solidity, columns.solidity),
        (Property::FeretDiameterMax, columns.diameter),
        (Property::AreaFilled, columns.area_filled),
    ];
    let columns = columns.map(|(property, values)| (property, vec![Floats(values)]));
    let rows = sizes.rows as usize;
    Ok(table_of(columns.into(), rows, properties))
}

/// The wanted columns of all labels but the first ones, which are background.
fn write_columns<G: Gpu>(
    gpu: &G,
    sorted: &mut Sorted<G>,
    sizes: ColumnSizes,
    spacing: [f64; 2],
) -> Result<HullColumnBuffers<OnGpu<G>>> {
    let on = &gpu.launcher();
    let (labels, len, wanted) = (sorted.groups.values, sorted.len, sizes.wanted);
    let room = |needed: u32| {
        if wanted & needed != 0 {
            labels as usize
        } else {
            0
        }
    };
    let mut hulls = Hulls {
        gpu,
        areas: gpu.alloc(room(column::OF_HULLS))?,
        diameters: gpu.alloc(room(column::DIAMETER))?,
        spacing,
    };
    if wanted & column::OF_HULLS != 0 {
        hulls.find_all(sorted)?;
    }
    let mut pixels = gpu.alloc_zeroed(room(column::OF_PIXELS))?;
    let mut holes = gpu.alloc_zeroed(room(column::AREA_FILLED))?;
    let has_gaps = wanted & column::AREA_FILLED != 0;
    let mut parents = gpu.alloc(if has_gaps { len as usize } else { 0 })?;
    let shape = sorted.shape(spacing);
    let (background, runs) = (sorted.background, sorted.view());
    let mut columns = HullColumnBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?;
    // SAFETY: there is a parent per run, if they are needed, and they are set before gaps are
    // joined; there are sums for each label, and a row for each that is not background.
    unsafe {
        if has_gaps {
            start_gaps::launch_threads(on, len, parents.view_mut())?;
            join_gaps::launch_threads(on, len, runs, background, parents.view_mut())?;
        }
        if wanted & column::OF_PIXELS != 0 {
            let [pixels, holes] = [pixels.view_mut(), holes.view_mut()];
            sum_areas::launch_threads(on, len, runs, parents.view_mut(), pixels, holes)?;
        }
        let sums = HullSums {
            labels,
            wanted,
            pixels: pixels.view(),
            convex: hulls.areas.view(),
            diameters: hulls.diameters.view(),
            holes: holes.view(),
        };
        write_hull_columns::launch_threads(on, sizes.rows, sums, shape, columns.views())?;
    }
    Ok(columns)
}

/// What hulls give for each label; the first ones are background, and have none.
struct Hulls<'a, G: Gpu> {
    gpu: &'a G,
    /// Numbers of pixels.
    areas: G::Buffer<u64>,
    /// Diameters; empty if they are not wanted.
    diameters: G::Buffer<f64>,
    spacing: [f64; 2],
}

impl<G: Gpu> Hulls<'_, G> {
    /// Finds the hulls of all labels that are not background, in batches.
    fn find_all(&mut self, sorted: &mut Sorted<G>) -> Result<()> {
        let labels = sorted.groups.values;
        let (on, mut heights) = (&self.gpu.launcher(), self.gpu.alloc(labels as usize)?);
        // SAFETY: there is an element per label.
        unsafe { find_heights::launch_threads(on, labels, sorted.view(), heights.view_mut())? };
        let heights = heights.to_vec()?;
        let limit = sorted.len.max(FEWEST_ROWS);
        let mut first = sorted.background as usize;
        while first < heights.len() {
            let mut offsets = Vec::new();
            let mut rows = 0u32;
            push(&mut offsets, rows, "the rows of boxes")?;
            for &height in &heights[first..] {
                // A box has less than 2³¹ rows.
                match rows.checked_add(height) {
                    Some(sum) if sum <= limit || rows == 0 => rows = sum,
                    _ => break,
                }
                push(&mut offsets, rows, "the rows of boxes")?;
            }
            // SAFETY: the offsets are sums of the heights.
            unsafe { self.find_some(sorted, first as u32, &offsets)? };
            first += offsets.len() - 1;
        }
        Ok(())
    }

    /// Finds the hulls of the labels from the first one on, whose boxes have these offsets.
    ///
    /// # Safety
    /// The offsets are sums of the heights of the labels' boxes.
    unsafe fn find_some(
        &mut self,
        sorted: &mut Sorted<G>,
        first: u32,
        offsets: &[u32],
    ) -> Result<()> {
        let (gpu, on) = (self.gpu, &self.gpu.launcher());
        let count = offsets.len() as u32 - 1;
        let [begin, end] = sorted.places_of(first, first + count)?;
        let rows = offsets[count as usize];
        let offsets = gpu.upload(offsets)?;
        let boxes = Boxes {
            first_label: first,
            labels: count,
            offsets: offsets.view(),
        };
        let mut rows = BoxRowsBuffers::alloc(&OnGpu(gpu.clone()), &rows)?;
        rows.firsts.fill(NO_PIXEL)?;
        rows.lasts.fill(NO_PIXEL)?;
        let runs = sorted.view();
        let (areas, diameters) = (self.areas.view_mut(), self.diameters.view_mut());
        // SAFETY: the caller's promise; there is memory for all rows of the boxes, which have no
        // pixels yet. There are results for each label.
        unsafe {
            list_box_rows::launch_threads(on, end - begin, runs, boxes, rows.views())?;
            find_hulls::launch(
                on,
                warp_blocks(count, HULL_BLOCK),
                boxes,
                rows.views(),
                self.spacing,
                areas,
                diameters,
            )
        }
    }
}
