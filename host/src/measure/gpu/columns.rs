//! The columns of properties in a GPU's memory.

use trazar_kernels::measure::shape_table::{ShapeColumnBuffers, shape_column};
use trazar_kernels::measure::table::{ColumnBuffers, ColumnSizes, PointBuffers, column};

use super::result::{DeviceColumn, DeviceColumnValues, DeviceMeasures};
use crate::error::Result;
use crate::gpu::{Gpu, OnGpu};
use crate::measure::Property;

/// The column of a property that follows from areas, boxes and sums of coordinates; none for the
/// others.
pub(super) const fn column_of(property: Property) -> Option<u32> {
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

/// The column of a property that follows from the other exact sums; none for the others.
pub(super) const fn shape_column_of(property: Property) -> Option<u32> {
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

/// The bits of the columns that follow from exact sums.
#[derive(Clone, Copy)]
pub(super) struct ColumnBits {
    /// Those that follow from areas, boxes and sums of coordinates.
    pub(super) columns: u32,
    /// The others.
    pub(super) shape_columns: u32,
}

impl ColumnBits {
    /// Those of the columns of these properties.
    pub(super) fn of(properties: &[Property]) -> Self {
        Self {
            columns: columns_of(properties, column_of),
            shape_columns: columns_of(properties, shape_column_of),
        }
    }
}

/// The bits of the columns of these properties.
pub(super) fn columns_of(
    properties: &[Property],
    column_of: impl Fn(Property) -> Option<u32>,
) -> u32 {
    let columns = properties
        .iter()
        .filter_map(|&property| column_of(property));
    columns.fold(0, |all, column| all | column)
}

/// A table of `len` rows with these properties, from the columns of each; those of other properties
/// are left out.
pub(super) fn table_of<G: Gpu>(
    columns: Vec<(Property, Vec<DeviceColumnValues<G>>)>,
    len: usize,
    properties: &[Property],
) -> DeviceMeasures<G> {
    let columns = columns.into_iter();
    let columns = columns.filter(|(property, _)| properties.contains(property));
    let columns = columns.flat_map(|(property, values)| {
        let names = property.columns().into_iter();
        names.zip(values).map(move |(name, values)| DeviceColumn {
            property,
            name,
            values,
        })
    });
    DeviceMeasures {
        len,
        columns: columns.collect(),
    }
}

/// A table without rows.
pub(super) fn table_without_rows<G: Gpu>(
    gpu: &G,
    properties: &[Property],
) -> Result<DeviceMeasures<G>> {
    let mut columns = Vec::new();
    for &property in properties {
        for name in property.columns() {
            columns.push(DeviceColumn {
                property,
                name,
                values: if property.is_integer() {
                    DeviceColumnValues::Integers(gpu.alloc(0)?)
                } else {
                    DeviceColumnValues::Floats(gpu.alloc(0)?)
                },
            });
        }
    }
    Ok(DeviceMeasures { len: 0, columns })
}

/// The columns of points.
pub(super) fn points<G: Gpu>(points: PointBuffers<OnGpu<G>>) -> Vec<DeviceColumnValues<G>> {
    [points.rows, points.columns]
        .map(DeviceColumnValues::Floats)
        .into()
}

/// The columns that follow from exact sums; those not wanted are empty.
pub(super) struct ExactColumns<G: Gpu> {
    /// Those that follow from areas, boxes and sums of coordinates.
    pub(super) columns: ColumnBuffers<OnGpu<G>>,
    /// The others.
    pub(super) shapes: ShapeColumnBuffers<OnGpu<G>>,
}

impl<G: Gpu> ExactColumns<G> {
    /// Room for these columns of `rows` labels.
    pub(super) fn alloc(gpu: &G, rows: u32, bits: ColumnBits) -> Result<Self> {
        let memory = &OnGpu(gpu.clone());
        let sizes = |wanted| ColumnSizes { rows, wanted };
        Ok(Self {
            columns: ColumnBuffers::alloc(memory, &sizes(bits.columns))?,
            shapes: ShapeColumnBuffers::alloc(memory, &sizes(bits.shape_columns))?,
        })
    }

    /// The table of `len` rows with these properties.
    pub(super) fn table(self, len: usize, properties: &[Property]) -> DeviceMeasures<G> {
        let Self { columns, shapes } = self;
        use DeviceColumnValues::{Floats, Integers};
        let mut of_properties = Vec::new();
        let mut add = |property, values| of_properties.push((property, values));
        add(Property::Label, vec![Integers(columns.label)]);
        add(Property::NumPixels, vec![Integers(columns.pixels)]);
        let sides = [columns.top, columns.left, columns.bottom, columns.right];
        add(Property::Bbox, sides.map(Integers).into());
        add(Property::Area, vec![Floats(columns.area)]);
        add(Property::AreaBbox, vec![Floats(columns.box_area)]);
        add(Property::Centroid, points(columns.centroid));
        add(Property::CentroidLocal, points(columns.local_centroid));
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
        table_of(of_properties, len, properties)
    }
}
