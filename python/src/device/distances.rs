//! Costs of travel in a GPU's memory.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::intern;
use pyo3::prelude::*;
use trazar::cuda::{DeviceBuffer, Owner, RawBuffer, Release};
use trazar::distance::{CostBuffer, CostDistanceOptions, Friction, Sources};
use trazar::{DeviceDistances, DeviceSurface};

use super::array::{DeviceArray, Kind};
use super::input::{Layout, device_index, interface};
use super::place::{Library, OpenStream, place};
use crate::arguments::Name;
use crate::distances::{options, sources};
use crate::errors;
use crate::image::side;

/// [`cost_distance`](crate::distances::cost_distance) of friction in a GPU's memory, where the
/// costs stay. Its rows are contiguous.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python function has them")]
pub(crate) fn device_cost_distance(
    friction: &Bound<'_, PyAny>,
    cells: PyReadonlyArray2<'_, u32>,
    ids: PyReadonlyArray1<'_, u32>,
    start_costs: PyReadonlyArray1<'_, f64>,
    sampling: (f64, f64),
    neighbours: Name,
    max_cost: Option<f64>,
    no_data: Option<f64>,
    precision: Name,
) -> PyResult<DeviceArray> {
    let options = options(sampling, &neighbours, None, max_cost, &precision)?;
    let sources = sources(&cells, &ids, &start_costs)?;
    let given = Given::new(friction)?;
    match given.typestr.as_str() {
        "|u1" | "|b1" => given.solve::<u8>(&sources, &options, no_data),
        "<u2" => given.solve::<u16>(&sources, &options, no_data),
        "<u4" => given.solve::<u32>(&sources, &options, no_data),
        "<f4" => given.solve::<f32>(&sources, &options, no_data),
        "<f8" => given.solve::<f64>(&sources, &options, no_data),
        other => Err(errors::input(format!(
            "friction of type {other} on a GPU: it is of uint8, uint16, uint32, float32 or float64"
        ))),
    }
}

/// An array of friction, which is kept by the caller of Python's function.
struct Given<'py> {
    py: Python<'py>,
    place: OpenStream,
    typestr: String,
    layout: Layout,
}

impl<'py> Given<'py> {
    fn new(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = array.py();
        let library = Library::of(array)?;
        let place = place(py, library, device_index(array, library)?)?;
        if library != Library::Torch {
            if !array.hasattr(intern!(py, "__cuda_array_interface__"))? {
                return Err(errors::input(
                    "friction on a GPU has no __cuda_array_interface__: give an array of CuPy's, \
                     such as cupy.from_dlpack(friction)",
                ));
            }
            let found = interface(array, &place.stream)?;
            return Ok(Self {
                py,
                place,
                typestr: found.typestr,
                layout: found.layout,
            });
        }
        let dtype = array.getattr(intern!(py, "dtype"))?.str()?;
        let typestr = match dtype.to_str()? {
            "torch.uint8" => "|u1",
            "torch.bool" => "|b1",
            "torch.uint16" => "<u2",
            "torch.uint32" => "<u4",
            "torch.float32" => "<f4",
            "torch.float64" => "<f8",
            other => other,
        };
        let size: isize = array.call_method0(intern!(py, "element_size"))?.extract()?;
        let strides: Vec<isize> = array.call_method0(intern!(py, "stride"))?.extract()?;
        Ok(Self {
            py,
            place,
            typestr: typestr.to_owned(),
            layout: Layout {
                address: array.call_method0(intern!(py, "data_ptr"))?.extract()?,
                shape: array.getattr(intern!(py, "shape"))?.extract()?,
                strides: Some(strides.into_iter().map(|step| step * size).collect()),
            },
        })
    }

    /// Height, width, and elements from row to row.
    fn rows<T>(&self) -> Option<(usize, usize, usize)> {
        let size = size_of::<T>();
        let [height, width] = self.layout.shape[..] else {
            return None;
        };
        let pitch = match self.layout.strides.as_deref() {
            None => width,
            Some(&[_, column]) if width > 1 && usize::try_from(column) != Ok(size) => return None,
            // Strides of axes with one element do not matter.
            Some(&[row, _]) if height > 1 => {
                let row = usize::try_from(row).ok()?;
                row.is_multiple_of(size).then_some(row / size)?
            }
            Some(_) => width,
        };
        (pitch >= width && u32::try_from(pitch).is_ok()).then_some((height, width, pitch))
    }

    fn solve<T: Friction + Send + Sync>(
        &self,
        sources: &Sources,
        options: &CostDistanceOptions,
        no_data: Option<f64>,
    ) -> PyResult<DeviceArray> {
        let Some((height, width, pitch)) = self.rows::<T>() else {
            let Layout { shape, strides, .. } = &self.layout;
            return Err(errors::input(format!(
                "friction of shape {shape:?} and strides {strides:?}: it has shape (H, W), and \
                 each row's numbers follow each other; make it contiguous"
            )));
        };
        let len = match (height, width) {
            (0, _) | (_, 0) => 0,
            _ => (height - 1).saturating_mul(pitch).saturating_add(width),
        };
        let raw = RawBuffer {
            address: self.layout.address,
            len,
            stream: self.place.stream.clone(),
            release: Release::InOrder(Owner::none()),
        };
        // SAFETY: the array declares this memory, and the caller keeps it during the call, which
        // waits for the kernel that reads it. The driver confirms that it is memory of the stream's
        // device. The array's library's work so far was queued on the stream before, or the stream
        // waits for it.
        let friction = unsafe { DeviceBuffer::<T>::from_raw(raw) };
        let friction = friction.map_err(|error| errors::from_library(error.into()))?;
        let distances: &DeviceDistances<_> = &self.place.distances;
        let (width, height) = (side(width), side(height));
        let found = self.py.detach(|| {
            let surface = DeviceSurface::new(width, height, pitch as u32, friction)?;
            distances.cost_distance(&surface.no_data(no_data), sources, options)
        });
        let found = found.map_err(errors::from_library)?;
        let shape = vec![height as usize, width as usize];
        match found.into_costs() {
            CostBuffer::F32(costs) => Ok(DeviceArray::owning(costs, Kind::Float32, shape)),
            CostBuffer::F64(costs) => Ok(DeviceArray::owning(costs, Kind::Float64, shape)),
            _ => Err(errors::input("costs of another precision")),
        }
    }
}
