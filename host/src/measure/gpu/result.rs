//! [`DeviceMeasures`]: a table of measures in a GPU's memory.

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::measure::{Column, Measures, Property, Values};
use crate::memory::with_room;

/// The values of a [`DeviceColumn`].
#[derive(Debug)]
#[non_exhaustive]
pub enum DeviceColumnValues<G: Gpu> {
    /// Labels, numbers of pixels, rows and columns of boxes, Euler numbers.
    Integers(G::Buffer<i64>),
    /// All others.
    Floats(G::Buffer<f64>),
}

/// A column of a table of measures in a GPU's memory.
#[derive(Debug)]
pub struct DeviceColumn<G: Gpu> {
    pub(super) property: Property,
    pub(super) name: String,
    pub(super) values: DeviceColumnValues<G>,
}

impl<G: Gpu> DeviceColumn<G> {
    /// The property that it belongs to.
    pub fn property(&self) -> Property {
        self.property
    }

    /// The property's name, with the value's indices if it has several numbers: `bbox-0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One value per label.
    pub fn values(&self) -> &DeviceColumnValues<G> {
        &self.values
    }

    /// The name and the values.
    pub fn into_parts(self) -> (String, DeviceColumnValues<G>) {
        (self.name, self.values)
    }
}

/// Measures in a GPU's memory: the columns of a [`Measures`] there, in the same order.
#[derive(Debug)]
pub struct DeviceMeasures<G: Gpu> {
    pub(super) len: usize,
    pub(super) columns: Vec<DeviceColumn<G>>,
}

impl<G: Gpu> DeviceMeasures<G> {
    /// Copies a table to the memory of `gpu`, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), `Error::Cuda`,
    /// [`Error::Emulator`](crate::Error::Emulator).
    pub fn upload(gpu: &G, measures: &Measures) -> Result<Self> {
        let mut columns = with_room(measures.columns().len(), WHAT)?;
        for column in measures.columns() {
            columns.push(DeviceColumn {
                property: column.property,
                name: column.name.clone(),
                values: match &column.values {
                    Values::Integers(values) => DeviceColumnValues::Integers(gpu.upload(values)?),
                    Values::Floats(values) => DeviceColumnValues::Floats(gpu.upload(values)?),
                },
            });
        }
        Ok(Self {
            len: measures.len(),
            columns,
        })
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All columns.
    pub fn columns(&self) -> &[DeviceColumn<G>] {
        &self.columns
    }

    /// All columns.
    pub fn into_columns(self) -> Vec<DeviceColumn<G>> {
        self.columns
    }

    /// Copies the table to the host. Waits for the work on it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), `Error::Cuda`,
    /// [`Error::Emulator`](crate::Error::Emulator).
    pub fn to_host(&self) -> Result<Measures> {
        let mut columns = with_room(self.columns.len(), WHAT)?;
        for column in &self.columns {
            columns.push(Column {
                property: column.property,
                name: column.name.clone(),
                values: match &column.values {
                    DeviceColumnValues::Integers(values) => Values::Integers(values.to_vec()?),
                    DeviceColumnValues::Floats(values) => Values::Floats(values.to_vec()?),
                },
            });
        }
        Ok(Measures {
            len: self.len,
            columns,
        })
    }
}

/// Named in out-of-memory errors.
const WHAT: &str = "the columns of measures";
