//! Hulls and holes of labels in a GPU's memory, from sorted runs.

use trazar_kernels::measure::holes::{join_gaps, start_gaps, sum_areas};
use trazar_kernels::measure::hull_columns::{
    HullColumnBuffers, HullSums, column, write_hull_columns,
};
use trazar_kernels::measure::hulls::{
    BoxRowsBuffers, Boxes, HULL_BLOCK, NO_PIXEL, find_heights, find_hulls, list_box_rows,
};
use trazar_kernels::measure::table::{ColumnSizes, TableShape};

use super::runs::Sorted;
use super::{DeviceColumn, DeviceColumnValues, DeviceMeasures, warp_blocks};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::measure::{MeasureOptions, Property};
use crate::memory::push;

/// The columns that need hulls.
const OF_HULLS: u32 = column::AREA_CONVEX | column::SOLIDITY | column::DIAMETER;
/// Rows of boxes for which there is memory in any case; there may be as many as runs.
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

/// The table of these properties, which all [follow](column_of) from hulls or holes. `background` is
/// the key of the greatest value that is no label; `sorted` is `None` if there are no runs.
pub(super) fn measure<G: Gpu>(
    gpu: &G,
    sorted: Option<&mut Sorted<G>>,
    background: u64,
    options: &MeasureOptions,
) -> Result<DeviceMeasures<G>> {
    let properties = options.properties.as_slice();
    let wanted = properties.iter().copied().filter_map(column_of);
    let wanted = wanted.fold(0, |all, column| all | column);
    let (columns, rows) = match sorted {
        Some(sorted) => write_columns(gpu, sorted, background, wanted, options.spacing)?,
        None => {
            let sizes = ColumnSizes { rows: 0, wanted };
            (HullColumnBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?, 0)
        }
    };
    let mut columns = [
        (Property::AreaConvex, columns.area_convex),
        (Property::Solidity, columns.solidity),
        (Property::FeretDiameterMax, columns.diameter),
        (Property::AreaFilled, columns.area_filled),
    ]
    .map(Some);
    let columns = properties.iter().filter_map(|&wanted| {
        let mut all = columns.iter_mut();
        let column = all.find(|column| column.as_ref().is_some_and(|(of, _)| *of == wanted))?;
        let (property, values) = column.take()?;
        Some(DeviceColumn {
            property,
            name: property.name().to_owned(),
            values: DeviceColumnValues::Floats(values),
        })
    });
    Ok(DeviceMeasures {
        len: rows as usize,
        columns: columns.collect(),
    })
}

/// The wanted columns, and their number of rows.
fn write_columns<G: Gpu>(
    gpu: &G,
    sorted: &mut Sorted<G>,
    background: u64,
    wanted: u32,
    spacing: [f64; 2],
) -> Result<(HullColumnBuffers<OnGpu<G>>, u32)> {
    let on = &gpu.launcher();
    let (labels, len) = (sorted.groups.values, sorted.len);
    let mut heights = gpu.alloc(labels as usize)?;
    // SAFETY: there is an element per label.
    unsafe {
        find_heights::launch_threads(on, labels, sorted.view(), background, heights.view_mut())?;
    }
    let heights = heights.to_vec()?;
    let background = heights.partition_point(|&height| height == 0) as u32;
    let room = |needed: u32| {
        if wanted & needed != 0 {
            labels as usize
        } else {
            0
        }
    };
    let mut hulls = Hulls {
        gpu,
        areas: gpu.alloc(room(OF_HULLS))?,
        diameters: gpu.alloc(room(column::DIAMETER))?,
        spacing,
    };
    if wanted & OF_HULLS != 0 {
        hulls.find_all(sorted, &heights, background)?;
    }
    let mut pixels = gpu.alloc_zeroed(labels as usize)?;
    let mut holes = gpu.alloc_zeroed(room(column::AREA_FILLED))?;
    let has_gaps = wanted & column::AREA_FILLED != 0;
    let mut parents = gpu.alloc(if has_gaps { len as usize } else { 0 })?;
    let runs = sorted.view();
    let shape = TableShape {
        spacing,
        labels: (labels - background).into(),
    };
    let sizes = ColumnSizes {
        rows: labels - background,
        wanted,
    };
    let mut columns = HullColumnBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?;
    // SAFETY: there is a parent per run, if they are needed, and they are set before gaps are
    // joined; there are sums for each label, and a row for each that is not background.
    unsafe {
        if has_gaps {
            start_gaps::launch_threads(on, len, parents.view_mut())?;
            join_gaps::launch_threads(on, len, runs, parents.view_mut())?;
        }
        let [pixels_of, holes_of] = [pixels.view_mut(), holes.view_mut()];
        sum_areas::launch_threads(on, len, runs, parents.view_mut(), pixels_of, holes_of)?;
        let sums = HullSums {
            labels,
            wanted,
            pixels: pixels.view(),
            convex: hulls.areas.view(),
            diameters: hulls.diameters.view(),
            holes: holes.view(),
        };
        write_hull_columns::launch_threads(
            on,
            sizes.rows,
            sums,
            background,
            shape,
            columns.views(),
        )?;
    }
    Ok((columns, sizes.rows))
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
    /// Finds the hulls of all labels but the first ones, which are background, as many at a time as
    /// there is memory for. Labels have boxes of these heights.
    fn find_all(&mut self, sorted: &mut Sorted<G>, heights: &[u32], background: u32) -> Result<()> {
        let limit = sorted.len.max(FEWEST_ROWS);
        let mut first = background as usize;
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
            self.find_some(sorted, first as u32, &offsets)?;
            first += offsets.len() - 1;
        }
        Ok(())
    }

    /// Finds the hulls of the labels from the first one on, whose boxes have these offsets.
    fn find_some(&mut self, sorted: &mut Sorted<G>, first: u32, offsets: &[u32]) -> Result<()> {
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
        // SAFETY: these are the places of the labels' runs, and there is memory for all rows of
        // their boxes, which have no pixels yet. There are results for each label.
        unsafe {
            list_box_rows::launch_threads(
                on,
                end - begin,
                runs,
                begin,
                end - begin,
                boxes,
                rows.views(),
            )?;
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
