//! The measures that need areas, boxes and sums of coordinates only: summed up by tiles in a table
//! with a slot per label value, and turned into columns on the GPU.

use trazar_kernels::measure::table::{
    ColumnBuffers, ColumnSizes, LabelTableBuffers, TableShape, column, find_labels, write_columns,
};

use super::result::{DeviceColumn, DeviceColumnValues, DeviceMeasures};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::image::gpu::DeviceValues;
use crate::measure::{Label, MeasureOptions, Property};
use crate::memory::{collect, with_room};

/// The fewest slots of a table.
const FEWEST_SLOTS: u64 = 256;
/// Pixels per slot of the first table that is tried: most labels have more pixels than that.
const USUAL_PIXELS: u64 = 64;
/// Pixels per slot of the largest table: with 40 bytes per slot, it takes less memory than lists of
/// runs do.
const LEAST_PIXELS: u64 = 4;

/// The column of a property that the kernel writes; none for the others.
const fn column_of(property: Property) -> Option<u32> {
    Some(match property {
        Property::Label => column::LABEL,
        Property::NumPixels => column::PIXELS,
        Property::Bbox => column::BOX,
        Property::Area => column::AREA,
        Property::AreaBbox => column::BOX_AREA,
        Property::Centroid => column::CENTROID,
        Property::CentroidLocal => column::LOCAL_CENTROID,
        Property::EquivalentDiameterArea => column::DIAMETER,
        Property::Extent => column::EXTENT,
        _ => return None,
    })
}

/// The columns of these properties, if the kernel writes all of them.
fn columns_of(properties: &[Property]) -> Option<u32> {
    let mut wanted = 0;
    for &property in properties {
        wanted |= column_of(property)?;
    }
    Some(wanted)
}

/// The measures, if the options ask for those of this module only, and no label's value is far
/// above the number of pixels. The options have been checked.
pub(super) fn measure<G: Gpu, L: Label>(
    gpu: &G,
    labels: &DeviceValues<G, L>,
    options: &MeasureOptions,
) -> Result<Option<DeviceMeasures<G>>> {
    let Some(wanted) = columns_of(options.properties.as_slice()) else {
        return Ok(None);
    };
    let pixels = u64::from(labels.width()) * u64::from(labels.height());
    let slots = |pixels_per_slot: u64| (pixels / pixels_per_slot).max(FEWEST_SLOTS) as u32;
    let memory = &OnGpu(gpu.clone());
    let mut table = LabelTableBuffers::alloc(memory, &slots(USUAL_PIXELS))?;
    labels.sum_tiles(gpu, &mut table)?;
    let mut beyond = [0];
    table.beyond.read(&mut beyond)?;
    if beyond[0] > slots(LEAST_PIXELS).into() {
        return Ok(None);
    }
    if beyond[0] > 0 {
        drop(table);
        table = LabelTableBuffers::alloc(memory, &(beyond[0] as u32))?;
        labels.sum_tiles(gpu, &mut table)?;
    }
    let slots = table.areas.len() as u32;
    let background = labels.background_values().iter();
    let background = background.map(|value| value.number().cast_unsigned());
    let background = collect(
        background.filter(|&value| value > 0),
        "the values of background",
    )?;
    let background = gpu.upload(&background)?;
    let mut before = gpu.alloc(slots as usize)?;
    let on = &gpu.launcher();
    // SAFETY: there is an element per slot.
    unsafe {
        find_labels::launch_threads(
            on,
            slots,
            table.views(),
            background.view(),
            before.view_mut(),
        )?;
    }
    let mut scanner = Scanner::new(gpu, slots)?;
    scanner.scan_in_place(&mut before)?;
    let rows = read_first(scanner.total())?;
    let sizes = ColumnSizes { rows, wanted };
    let mut columns = ColumnBuffers::alloc(memory, &sizes)?;
    let shape = TableShape {
        spacing: options.spacing,
        labels: rows.into(),
    };
    // SAFETY: `before` and `rows` are the numbers of this table's labels, and each wanted column
    // has an element for each.
    unsafe {
        write_columns::launch_threads(
            on,
            slots,
            table.views(),
            before.view(),
            shape,
            wanted,
            columns.views(),
        )?;
    }
    in_order(columns, rows as usize, options.properties.as_slice()).map(Some)
}

/// The columns in the order of the properties.
fn in_order<G: Gpu>(
    columns: ColumnBuffers<OnGpu<G>>,
    len: usize,
    properties: &[Property],
) -> Result<DeviceMeasures<G>> {
    use DeviceColumnValues::{Floats, Integers};
    let mut of_properties = with_room(properties.len(), "the columns of measures")?;
    let mut add = |property: Property, values: Vec<DeviceColumnValues<G>>| {
        if let Some(place) = properties.iter().position(|&wanted| wanted == property) {
            of_properties.push((place, values));
        }
    };
    add(Property::Label, vec![Integers(columns.label)]);
    add(Property::NumPixels, vec![Integers(columns.pixels)]);
    let sides = [columns.top, columns.left, columns.bottom, columns.right];
    add(Property::Bbox, sides.map(Integers).into());
    add(Property::Area, vec![Floats(columns.area)]);
    add(Property::AreaBbox, vec![Floats(columns.box_area)]);
    let centroid = [columns.centroid_row, columns.centroid_column];
    add(Property::Centroid, centroid.map(Floats).into());
    let local = [columns.local_row, columns.local_column];
    add(Property::CentroidLocal, local.map(Floats).into());
    add(
        Property::EquivalentDiameterArea,
        vec![Floats(columns.diameter)],
    );
    add(Property::Extent, vec![Floats(columns.extent)]);
    of_properties.sort_by_key(|&(place, _)| place);
    let columns = of_properties.into_iter().flat_map(|(place, values)| {
        let property = properties[place];
        let names = property.columns().into_iter();
        names.zip(values).map(move |(name, values)| DeviceColumn {
            property,
            name,
            values,
        })
    });
    Ok(DeviceMeasures {
        len,
        columns: columns.collect(),
    })
}
