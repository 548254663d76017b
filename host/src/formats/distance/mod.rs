//! Cost distances: sources in; costs, allocation, directions and paths out.

mod geojson;
mod npy;
mod png;
mod sources;
mod tags;
mod tiff;

pub use self::geojson::write_paths_geojson;
pub use self::npy::write_values_npy;
pub use self::png::write_costs_png;
pub use self::sources::{CellOf, read_cells, read_sources, sources_of_raster};
pub use self::tags::GeoTags;
pub use self::tiff::write_values_tiff;

/// Values of a raster's cells, row by row, to be written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[expect(missing_docs)]
pub enum Values<'a> {
    U8(&'a [u8]),
    U32(&'a [u32]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl<'a> Values<'a> {
    fn len(self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// The bytes of a value.
    fn size(self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::U32(_) | Self::F32(_) => 4,
            Self::F64(_) => 8,
        }
    }

    /// The values as bytes, in this machine's order.
    fn bytes(self) -> &'a [u8] {
        match self {
            Self::U8(values) => values,
            Self::U32(values) => bytemuck::cast_slice(values),
            Self::F32(values) => bytemuck::cast_slice(values),
            Self::F64(values) => bytemuck::cast_slice(values),
        }
    }

    /// Refuses a size that is not that of the values.
    fn check(self, width: u32, height: u32) -> crate::Result<()> {
        crate::error::check_len(width as usize * height as usize, self.len())
    }

    /// Writes the bytes, lowest first.
    fn write(self, out: &mut dyn std::io::Write) -> crate::Result<()> {
        crate::formats::npy::write_lowest_first(self.bytes(), self.size(), out)
    }
}

impl<'a> From<&'a crate::distance::Costs> for Values<'a> {
    fn from(costs: &'a crate::distance::Costs) -> Self {
        match costs {
            crate::distance::Costs::F32(costs) => Self::F32(costs),
            crate::distance::Costs::F64(costs) => Self::F64(costs),
        }
    }
}
