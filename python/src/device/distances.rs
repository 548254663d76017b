//! Costs of travel in a GPU's memory.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use trazar::distance::{CostBuffer, CostDistanceOptions, Friction, Sources};
use trazar::{DeviceDistances, DeviceSurface};

use super::array::{DeviceArray, Kind};
use super::numbers::Numbers;
use crate::arguments::Name;
use crate::distances::{options, sources};
use crate::errors;

/// Costs, allocation and directions in a GPU's memory.
type Parts = (DeviceArray, Option<DeviceArray>, Option<DeviceArray>);

/// [`cost_distance`](crate::distances::cost_distance) of friction in a GPU's memory, where the
/// results stay.
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
    allocation: bool,
    direction: bool,
) -> PyResult<Parts> {
    let options = options(sampling, &neighbours, None, max_cost, &precision)?
        .allocation(allocation)
        .direction(direction);
    let sources = sources(&cells, &ids, &start_costs)?;
    let friction = Numbers::new(friction, "friction")?;
    match friction.typestr.as_str() {
        "|u1" | "|b1" => solve::<u8>(&friction, &sources, &options, no_data),
        "<u2" => solve::<u16>(&friction, &sources, &options, no_data),
        "<u4" => solve::<u32>(&friction, &sources, &options, no_data),
        "<f4" => solve::<f32>(&friction, &sources, &options, no_data),
        "<f8" => solve::<f64>(&friction, &sources, &options, no_data),
        _ => Err(friction.refused("friction", "uint8, uint16, uint32, float32 or float64")),
    }
}

fn solve<T: Friction + Send + Sync>(
    friction: &Numbers<'_>,
    sources: &Sources,
    options: &CostDistanceOptions,
    no_data: Option<f64>,
) -> PyResult<Parts> {
    let distances: &DeviceDistances<_> = &friction.place.distances;
    let (width, height, pitch) = (friction.width, friction.height, friction.pitch);
    let values = friction.buffer::<T>()?;
    // Waits for the kernel that reads the friction.
    let found = friction.array.py().detach(|| {
        let surface = DeviceSurface::new(width, height, pitch, values)?;
        distances.cost_distance(&surface.no_data(no_data), sources, options)
    });
    let found = found.map_err(errors::from_library)?;
    let shape = vec![height as usize, width as usize];
    let (costs, allocation, direction) = found.into_parts();
    let costs = match costs {
        CostBuffer::F32(costs) => DeviceArray::owning(costs, Kind::Float32, shape.clone()),
        CostBuffer::F64(costs) => DeviceArray::owning(costs, Kind::Float64, shape.clone()),
        _ => return Err(errors::input("costs of another precision")),
    };
    let allocation = allocation.map(|ids| DeviceArray::owning(ids, Kind::Uint32, shape.clone()));
    let direction = direction.map(|codes| DeviceArray::owning(codes, Kind::Uint8, shape));
    Ok((costs, allocation, direction))
}
