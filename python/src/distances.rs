//! Cost distances on rasters.

use numpy::{
    IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use trazar::distance::{
    CellSize, CostDistance, CostDistanceOptions, CostSurface, Costs, Friction, Neighbours,
    Precision, Source, Sources, StepCost, follow_directions,
};
use trazar::{Engine, Error, Samples};

use crate::arguments::{Name, named_by};
use crate::arrays::{collect, owned};
use crate::engine::Device;
use crate::errors;
use crate::image::side;
use crate::view::View;
use crate::work;

/// Named in out-of-memory errors.
const PATH: &str = "the cells of a path";

/// Costs, allocation and directions.
type Parts<'py> = (
    Bound<'py, PyAny>,
    Option<Bound<'py, PyArray2<u32>>>,
    Option<Bound<'py, PyArray2<u8>>>,
);

/// Friction is a contiguous array of shape (H, W) of uint8, uint16, uint32, float32 or float64.
/// Source `i` is at the row and column `cells[i]`. Costs that were found `before` are of the shape
/// (H, W) and of the precision.
#[pyfunction]
#[pyo3(signature = (
    friction, cells, ids, start_costs, sampling, neighbours, step_cost, max_cost, no_data,
    precision, allocation, direction, device, before=None
))]
#[expect(clippy::too_many_arguments, reason = "the Python function has them")]
pub(crate) fn cost_distance<'py>(
    friction: Bound<'py, PyAny>,
    cells: PyReadonlyArray2<'py, u32>,
    ids: PyReadonlyArray1<'py, u32>,
    start_costs: PyReadonlyArray1<'py, f64>,
    sampling: (f64, f64),
    neighbours: Name,
    step_cost: Name,
    max_cost: Option<f64>,
    no_data: Option<f64>,
    precision: Name,
    allocation: bool,
    direction: bool,
    device: Device,
    before: Option<Bound<'py, PyAny>>,
) -> PyResult<Parts<'py>> {
    let py = friction.py();
    let options = options(
        sampling,
        &neighbours,
        Some(&step_cost),
        max_cost,
        &precision,
    )?
    .allocation(allocation)
    .direction(direction);
    let sources = sources(&cells, &ids, &start_costs)?;
    let before = before.map(|costs| costs_of(&costs)).transpose()?;
    let engine = device.named_engine(py)?;
    macro_rules! of_type {
        ($($type:ty)*) => {$(
            if let Ok(friction) = friction.cast::<PyArray2<$type>>() {
                return solve(friction, sources, options, no_data, before, engine);
            }
        )*};
    }
    of_type! { f32 f64 u8 u16 u32 }
    Err(errors::input(
        "friction is an array of shape (H, W) of uint8, uint16, uint32, float32 or float64",
    ))
}

/// The options that results of all devices have.
pub(crate) fn options(
    sampling: (f64, f64),
    neighbours: &Name,
    step_cost: Option<&Name>,
    max_cost: Option<f64>,
    precision: &Name,
) -> PyResult<CostDistanceOptions> {
    let step_cost = match step_cost {
        Some(name) => named_by("step_cost", name, StepCost::ALL, StepCost::name)?,
        None => StepCost::default(),
    };
    let precision = named_by("precision", precision, Precision::ALL, Precision::name)?;
    let neighbours = named_by("neighbours", neighbours, Neighbours::ALL, Neighbours::name)?;
    Ok(CostDistanceOptions::default()
        .neighbours(neighbours)
        .step_cost(step_cost)
        .precision(precision)
        .cell_size(CellSize {
            y: sampling.0,
            x: sampling.1,
        })
        .max_cost(max_cost))
}

/// Source `i` is at the row and column `cells[i]`.
pub(crate) fn sources(
    cells: &PyReadonlyArray2<'_, u32>,
    ids: &PyReadonlyArray1<'_, u32>,
    start_costs: &PyReadonlyArray1<'_, f64>,
) -> PyResult<Sources> {
    let (cells, ids) = (cells.as_array(), ids.as_array());
    let mut sources = Sources::default();
    for ((cell, &id), &cost) in cells
        .rows()
        .into_iter()
        .zip(ids)
        .zip(start_costs.as_array())
    {
        let source = Source::new(cell[1], cell[0], id).start_cost(cost);
        sources.push(source).map_err(errors::from_library)?;
    }
    Ok(sources)
}

fn solve<'py, T: Friction + numpy::Element + 'static>(
    friction: &Bound<'py, PyArray2<T>>,
    sources: Sources,
    options: CostDistanceOptions,
    no_data: Option<f64>,
    before: Option<Costs>,
    engine: Engine,
) -> PyResult<Parts<'py>> {
    let py = friction.py();
    let shape = friction.shape();
    let (height, width) = (shape[0], shape[1]);
    let view = View::new(friction.to_dyn())?;
    let size = friction.len() as u64;
    let found = work::run(py, engine, size, move |engine: &Engine| {
        let surface = CostSurface::new(Samples::from(view.view())).no_data(no_data);
        match &before {
            None => engine.cost_distance(&surface, &sources, &options),
            Some(before) => engine.lower_cost_distance(&surface, before, &sources, &options),
        }
    })?;
    parts(py, found, (height, width))
}

/// A contiguous array of costs.
fn costs_of(array: &Bound<'_, PyAny>) -> PyResult<Costs> {
    fn values<T: numpy::Element + Copy>(array: &Bound<'_, PyArray2<T>>) -> PyResult<Vec<T>> {
        let borrowed = array
            .try_readonly()
            .map_err(|error| errors::input(error.to_string()))?;
        let values = borrowed.as_slice()?.iter().copied();
        collect(values, "the costs before").map_err(errors::from_library)
    }
    if let Ok(costs) = array.cast::<PyArray2<f32>>() {
        return Ok(Costs::F32(values(costs)?));
    }
    Ok(Costs::F64(values(array.cast::<PyArray2<f64>>()?)?))
}

fn parts(py: Python<'_>, found: CostDistance, shape: (usize, usize)) -> PyResult<Parts<'_>> {
    let (costs, allocation, direction) = found.into_parts();
    let costs = match costs {
        Costs::F32(costs) => owned(py, shape, costs)?.into_any(),
        Costs::F64(costs) => owned(py, shape, costs)?.into_any(),
        _ => return Err(errors::input("costs of another precision")),
    };
    let allocation = allocation.map(|ids| owned(py, shape, ids)).transpose()?;
    let direction = direction.map(|codes| owned(py, shape, codes)).transpose()?;
    Ok((costs, allocation, direction))
}

/// The cells (row, column) of the path to a cell, of shape (n, 2). The codes are contiguous.
#[pyfunction]
pub(crate) fn follow(
    direction: PyReadonlyArray2<'_, u8>,
    row: u32,
    column: u32,
) -> PyResult<Py<PyAny>> {
    let py = direction.py();
    let (height, width) = (side(direction.shape()[0]), side(direction.shape()[1]));
    let codes = direction.as_slice()?;
    let path = || -> Result<_, Error> {
        let cells = follow_directions(width, height, codes, column, row)?;
        let count = cells.len();
        let coordinates = cells
            .into_iter()
            .flat_map(|(x, y)| [i64::from(y), i64::from(x)]);
        Ok((count, collect(coordinates, PATH)?))
    };
    let (count, coordinates) = path().map_err(errors::from_library)?;
    let coordinates = coordinates.into_pyarray(py);
    Ok(coordinates.reshape((count, 2))?.into_any().unbind())
}
