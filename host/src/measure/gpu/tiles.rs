//! The measures that need sums over each label's pixels only, other than those of higher powers,
//! weighted ones, and those of rounded intensities: summed up by tiles in a table with a slot per
//! label value, and turned into columns on the GPU.

use trazar_kernels::measure::shape_table::{
    ShapeColumnBuffers, ShapeSizes, ShapeTableBuffers, shape_column, write_shape_columns,
};
use trazar_kernels::measure::shapes::Intensities;
use trazar_kernels::measure::sums::wanted as sums;
use trazar_kernels::measure::table::{
    ColumnBuffers, ColumnSizes, LabelTableBuffers, TableShape, column, find_labels, write_columns,
};

use super::result::{DeviceColumnValues, DeviceMeasures};
use super::table_in_order;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::image::gpu::{DeviceValues, no_intensities};
use crate::measure::records::wanted as sums_of;
use crate::measure::strip::Needs;
use crate::measure::{Label, MeasureOptions, Property};
use crate::memory::collect;

/// The fewest slots of a table.
const FEWEST_SLOTS: u64 = 256;
/// Pixels per slot of the first table that is tried: most labels have more pixels than that.
const USUAL_PIXELS: u64 = 64;
/// Pixels per slot of the largest table: with 40 bytes per slot, and up to 124 for all sums, it
/// takes less memory than lists of runs do.
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

/// The column of a property that follows from the sums for shapes; none for the others.
const fn shape_column_of(property: Property) -> Option<u32> {
    Some(match property {
        Property::InertiaTensor => shape_column::INERTIA,
        Property::InertiaTensorEigvals => shape_column::EIGENVALUES,
        Property::AxisMajorLength => shape_column::AXIS_MAJOR,
        Property::AxisMinorLength => shape_column::AXIS_MINOR,
        Property::Eccentricity => shape_column::ECCENTRICITY,
        Property::Orientation => shape_column::ORIENTATION,
        Property::Perimeter => shape_column::PERIMETER,
        Property::PerimeterCrofton => shape_column::CROFTON,
        Property::EulerNumber => shape_column::EULER_8,
        Property::EulerNumber4 => shape_column::EULER_4,
        Property::IntensityMin => shape_column::INTENSITY_MIN,
        Property::IntensityMax => shape_column::INTENSITY_MAX,
        Property::IntensityMean => shape_column::INTENSITY_MEAN,
        Property::IntensityStd => shape_column::INTENSITY_STD,
        _ => return None,
    })
}

/// What a table must have for some properties.
#[derive(Clone, Copy, Default)]
struct Wanted {
    /// The columns that follow from areas, boxes and sums of coordinates.
    columns: u32,
    /// The columns that follow from the sums for shapes.
    shape_columns: u32,
    /// The sums for shapes.
    sums: u32,
}

impl Wanted {
    /// What the table must have for these properties. [Tiles give](gives) all of them.
    fn of(properties: &[Property]) -> Self {
        let (mut wanted, mut needs) = (Self::default(), Needs::default());
        for &property in properties {
            if let Some(column) = column_of(property) {
                wanted.columns |= column;
            } else if let Some(column) = shape_column_of(property) {
                wanted.shape_columns |= column;
                property.add_needs(&mut needs);
            }
        }
        wanted.sums = sums_of(needs);
        if needs.intensities {
            wanted.sums |= sums::INTENSITIES;
        }
        if needs.deviations {
            wanted.sums |= sums::SQUARES;
        }
        wanted
    }
}

/// Whether tiles give this property of an image of this size with these intensities.
fn gives(property: Property, size: [u32; 2], intensities: Option<Intensities<'_>>) -> bool {
    if column_of(property).is_some() {
        return true;
    }
    // Squares of numbers of 32 bits need more than 64 bits.
    let are_summed = |intensities: Intensities<'_>| {
        property != Property::IntensityStd || intensities.words.is_empty()
    };
    shape_column_of(property).is_some()
        && shapes_fit(size)
        && (!property.needs_intensities() || intensities.is_some_and(are_summed))
}

/// The properties that tiles give of an image of this size with these intensities, and those that
/// runs give, both in their order.
pub(super) fn split(
    properties: &[Property],
    size: [u32; 2],
    intensities: Option<Intensities<'_>>,
) -> (Vec<Property>, Vec<Property>) {
    let all = properties.iter().copied();
    all.partition(|&property| gives(property, size, intensities))
}

/// Whether all of these properties follow from areas and boxes.
pub(super) fn follow_from_boxes(properties: &[Property]) -> bool {
    let mut needs = Needs::default();
    for property in properties {
        property.add_needs(&mut needs);
    }
    needs == Needs::default()
}

/// Whether the sums for shapes of an image of this size fit their numbers of bits.
fn shapes_fit([width, height]: [u32; 2]) -> bool {
    let pixels = u64::from(width) * u64::from(height);
    let longer = u64::from(width.max(height));
    pixels < 1 << 31
        && longer
            .checked_mul(longer)
            .and_then(|square| square.checked_mul(pixels))
            .is_some()
}

/// The sums of an image's labels.
struct Tables<G: Gpu> {
    labels: LabelTableBuffers<OnGpu<G>>,
    shapes: ShapeTableBuffers<OnGpu<G>>,
}

impl<G: Gpu> Tables<G> {
    /// The number of labels before each slot, and their number in all. Background is left out.
    fn find_labels(&mut self, gpu: &G, background: &[impl Label]) -> Result<(G::Buffer<u32>, u32)> {
        let background = background.iter();
        let background = background.map(|value| value.number().cast_unsigned());
        let background = collect(
            background.filter(|&value| value > 0),
            "the values of background",
        )?;
        let background = gpu.upload(&background)?;
        let slots = self.labels.areas.len() as u32;
        let mut before = gpu.alloc(slots as usize)?;
        // SAFETY: there is an element per slot.
        unsafe {
            find_labels::launch_threads(
                &gpu.launcher(),
                slots,
                self.labels.views(),
                background.view(),
                before.view_mut(),
            )?;
        }
        let mut scanner = Scanner::new(gpu, slots)?;
        scanner.scan_in_place(&mut before)?;
        let rows = read_first(scanner.total())?;
        Ok((before, rows))
    }

    /// The wanted columns of `rows` labels. `before` has the number of labels before each slot;
    /// `sign` is the bit of the intensities' sign, or 0.
    fn write_columns(
        &mut self,
        gpu: &G,
        before: &G::Buffer<u32>,
        rows: u32,
        sign: u32,
        wanted: Wanted,
        options: &MeasureOptions,
    ) -> Result<Columns<G>> {
        let memory = &OnGpu(gpu.clone());
        let sizes = |wanted| ColumnSizes { rows, wanted };
        let mut columns = ColumnBuffers::alloc(memory, &sizes(wanted.columns))?;
        let mut shape_columns = ShapeColumnBuffers::alloc(memory, &sizes(wanted.shape_columns))?;
        let slots = self.labels.areas.len() as u32;
        let shape = TableShape {
            spacing: options.spacing,
            labels: rows.into(),
        };
        let on = &gpu.launcher();
        // SAFETY: `before` and `rows` are the numbers of this table's labels, and each wanted
        // column has an element for each, as the table has the sums that they follow from.
        unsafe {
            if wanted.columns != 0 {
                write_columns::launch_threads(
                    on,
                    slots,
                    self.labels.views(),
                    before.view(),
                    shape,
                    wanted.columns,
                    columns.views(),
                )?;
            }
            if wanted.shape_columns != 0 {
                write_shape_columns::launch_threads(
                    on,
                    slots,
                    self.labels.views(),
                    self.shapes.views(),
                    before.view(),
                    shape,
                    wanted.sums,
                    sign,
                    wanted.shape_columns,
                    shape_columns.views(),
                )?;
            }
        }
        Ok((columns, shape_columns))
    }
}

/// What sums are made of.
struct Summed<'a, G: Gpu, L: Label> {
    labels: &'a DeviceValues<G, L>,
    intensities: Intensities<'a>,
    /// The sums for shapes.
    bits: u32,
}

impl<G: Gpu, L: Label> Summed<'_, G, L> {
    /// The sums of all labels; `None` if a label's value is far above the number of pixels.
    fn sum_up_all(&self, gpu: &G) -> Result<Option<Tables<G>>> {
        let pixels = u64::from(self.labels.width()) * u64::from(self.labels.height());
        let slots = |pixels_per_slot: u64| (pixels / pixels_per_slot).max(FEWEST_SLOTS) as u32;
        let tables = self.sum_up(gpu, slots(USUAL_PIXELS))?;
        let mut beyond = [0];
        tables.labels.beyond.read(&mut beyond)?;
        match beyond[0] {
            0 => Ok(Some(tables)),
            greatest if greatest > slots(LEAST_PIXELS).into() => Ok(None),
            greatest => {
                drop(tables);
                self.sum_up(gpu, greatest as u32).map(Some)
            }
        }
    }

    /// Queues the sums of all labels up to this number.
    fn sum_up(&self, gpu: &G, slots: u32) -> Result<Tables<G>> {
        let memory = &OnGpu(gpu.clone());
        let sizes = ShapeSizes {
            slots,
            wanted: self.bits,
        };
        let mut tables = Tables {
            labels: LabelTableBuffers::alloc(memory, &slots)?,
            shapes: ShapeTableBuffers::alloc(memory, &sizes)?,
        };
        if self.bits == 0 {
            self.labels.sum_tiles(gpu, &mut tables.labels)?;
        } else {
            let both = (&mut tables.labels, &mut tables.shapes);
            self.labels
                .sum_shapes(gpu, self.intensities, self.bits, both)?;
        }
        Ok(tables)
    }
}

/// The measures, unless a label's value is far above the number of pixels. The options have been
/// checked, and [tiles give](split) all of their properties. Pixels whose intensities are summed up
/// have been acquired.
pub(super) fn measure<G: Gpu, L: Label>(
    gpu: &G,
    labels: &DeviceValues<G, L>,
    intensities: Option<Intensities<'_>>,
    options: &MeasureOptions,
) -> Result<Option<DeviceMeasures<G>>> {
    let wanted = Wanted::of(options.properties.as_slice());
    let intensities = intensities.unwrap_or_else(no_intensities);
    let summed = Summed {
        labels,
        intensities,
        bits: wanted.sums,
    };
    let Some(mut tables) = summed.sum_up_all(gpu)? else {
        return Ok(None);
    };
    let (before, rows) = tables.find_labels(gpu, labels.background_values())?;
    let both = tables.write_columns(gpu, &before, rows, intensities.sign, wanted, options)?;
    in_order(both, rows as usize, options.properties.as_slice()).map(Some)
}

/// The columns that kernels have written; those not wanted are empty.
type Columns<G> = (ColumnBuffers<OnGpu<G>>, ShapeColumnBuffers<OnGpu<G>>);

/// The columns in the order of the properties.
fn in_order<G: Gpu>(
    (columns, shapes): Columns<G>,
    len: usize,
    properties: &[Property],
) -> Result<DeviceMeasures<G>> {
    use DeviceColumnValues::{Floats, Integers};
    let mut of_properties = Vec::new();
    let mut add = |property, values| of_properties.push((property, values));
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
    let inertia = [
        shapes.inertia_00,
        shapes.inertia_01,
        shapes.inertia_10,
        shapes.inertia_11,
    ];
    add(Property::InertiaTensor, inertia.map(Floats).into());
    let eigenvalues = [shapes.greater, shapes.lesser];
    add(
        Property::InertiaTensorEigvals,
        eigenvalues.map(Floats).into(),
    );
    add(Property::EulerNumber, vec![Integers(shapes.euler_8)]);
    add(Property::EulerNumber4, vec![Integers(shapes.euler_4)]);
    for (property, column) in [
        (Property::AxisMajorLength, shapes.axis_major),
        (Property::AxisMinorLength, shapes.axis_minor),
        (Property::Eccentricity, shapes.eccentricity),
        (Property::Orientation, shapes.orientation),
        (Property::Perimeter, shapes.perimeter),
        (Property::PerimeterCrofton, shapes.crofton),
        (Property::IntensityMin, shapes.intensity_min),
        (Property::IntensityMax, shapes.intensity_max),
        (Property::IntensityMean, shapes.intensity_mean),
        (Property::IntensityStd, shapes.intensity_std),
    ] {
        add(property, vec![Floats(column)]);
    }
    table_in_order(of_properties, len, properties)
}
