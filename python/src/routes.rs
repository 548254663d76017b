//! Routes on grids.

use std::sync::Arc;
use std::time::Duration;

use numpy::ndarray::IxDyn;
use numpy::{
    IntoPyArray, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trazar::route::{
    DistanceAlgorithm, DistanceOptions, EdgeCounts, Effort, NegotiationOptions, Route,
};
use trazar::{Cell, Engine, Job, Net, Pin, RouteAlgorithm, RouteOptions, RoutingGrid, TreeKind};

use crate::arguments::{Integer, Name, named, named_by};
use crate::arrays::{borrowed, collect, owned, reserve};
use crate::engine::Device;
use crate::errors;
use crate::image::side;
use crate::work;

/// A routing grid.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct Grid {
    grid: Arc<RoutingGrid>,
}

#[pymethods]
impl Grid {
    /// From weights of shape (L, H, W - 1), (L, H - 1, W) and (L - 1, H, W), contiguous.
    #[new]
    fn new(
        right: PyReadonlyArrayDyn<'_, u32>,
        down: PyReadonlyArrayDyn<'_, u32>,
        via: PyReadonlyArrayDyn<'_, u32>,
    ) -> PyResult<Self> {
        let (right, down, via) = (right.as_array(), down.as_array(), via.as_array());
        let &[layers, height, columns] = right.shape() else {
            return Err(errors::input(
                "weights to the right of shape (L, H, W - 1) are needed",
            ));
        };
        let width = columns + 1;
        let fits = |shape: &[usize], needed: [usize; 3]| shape == needed;
        if layers == 0
            || !fits(down.shape(), [layers, height.saturating_sub(1), width])
            || !fits(via.shape(), [layers - 1, height, width])
        {
            return Err(errors::input(format!(
                "weights of shapes {:?} to the right, {:?} down and {:?} for vias are not those of \
                 one grid: (L, H, W - 1), (L, H - 1, W) and (L - 1, H, W) are",
                right.shape(),
                down.shape(),
                via.shape()
            )));
        }
        let values = |of: &numpy::ndarray::ArrayViewD<'_, u32>| -> PyResult<Vec<u32>> {
            collect(of.iter().copied(), WEIGHTS).map_err(errors::from_library)
        };
        let (right, down) = (values(&right)?, values(&down)?);
        let (to_right, downs) = (height * columns, height.saturating_sub(1) * width);
        let layer = |layer: usize| {
            RoutingGrid::from_edges(
                side(width),
                side(height),
                &right[layer * to_right..][..to_right],
                &down[layer * downs..][..downs],
            )
        };
        let grid = match layers {
            1 => layer(0),
            _ => (0..layers)
                .map(layer)
                .collect::<trazar::Result<Vec<_>>>()
                .and_then(|layers| {
                    RoutingGrid::stack(&layers, &collect(via.iter().copied(), WEIGHTS)?)
                }),
        };
        let grid = Arc::new(grid.map_err(errors::from_library)?);
        Ok(Self { grid })
    }

    /// Layers, height, width.
    #[getter]
    fn shape(&self) -> (u32, u32, u32) {
        let grid = &self.grid;
        (grid.layers(), grid.height(), grid.width())
    }

    /// By cell, of shape (L, H, W): the weights to the right, down and of vias. A grid of one layer
    /// has no vias.
    fn weights<'py>(this: &Bound<'py, Self>) -> PyResult<[Bound<'py, PyArray3<u32>>; 3]> {
        let grid = &this.get().grid;
        let [layers, height, width] =
            [grid.layers(), grid.height(), grid.width()].map(|side| side as usize);
        let array = |weights: &[u32]| {
            let layers = if weights.is_empty() { 0 } else { layers };
            // SAFETY: the object is frozen and keeps its grid, which has no interior mutability.
            unsafe { borrowed(this.clone().into_any(), (layers, height, width), weights) }
        };
        Ok([
            array(grid.rights())?,
            array(grid.downs())?,
            array(grid.vias())?,
        ])
    }
}

/// Cells of rows (layer, row, column).
fn cells(of: &PyReadonlyArray2<'_, u32>) -> PyResult<Vec<Cell>> {
    let rows = of.as_array();
    let cells = rows.rows().into_iter().map(|row| Cell {
        layer: row[0],
        y: row[1],
        x: row[2],
    });
    collect(cells, CELLS).map_err(errors::from_library)
}

/// Names used in out-of-memory errors.
const WEIGHTS: &str = "the weights of edges";
const CELLS: &str = "the cells of pins";
const PATHS: &str = "the paths of a tree";
const OVERFULL: &str = "the use of edges";

/// The value of `tree=` for paths with the fewest edges.
const FEWEST_EDGES: &str = "fewest-edges";

/// Joins the pins of nets: net `i` has the pins from `nets[i]` to before `nets[i + 1]`, and pin `j`
/// the cells from `pins[j]` to before `pins[j + 1]`. An effort is a number of steps, or seconds.
/// Returns the parts of a `trazar.Route` for each net.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python function has them")]
pub(crate) fn route<'py>(
    grid: &Bound<'py, Grid>,
    pin_cells: PyReadonlyArray2<'py, u32>,
    pins: PyReadonlyArray1<'py, i64>,
    nets: PyReadonlyArray1<'py, i64>,
    tree: Name,
    effort: (Option<Integer>, Option<f64>),
    turn_cost: Integer,
    algorithm: Option<Name>,
    device: Device,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let py = grid.py();
    let turns = whole("turn_cost", &turn_cost, u32::MAX - 1)?;
    let trees = [
        ("nearest", Some(TreeKind::Nearest)),
        ("improved", Some(TreeKind::Improved)),
        (FEWEST_EDGES, None),
    ];
    let algorithm = algorithm.map(|name| {
        let all = RouteAlgorithm::ALL;
        named_by("algorithm", &name, all, RouteAlgorithm::name)
    });
    let algorithm = algorithm.transpose()?;
    let tree = named("tree", &tree, &trees)?;
    let effort = match effort {
        (None, None) => None,
        _ if tree != Some(TreeKind::Improved) => {
            return Err(errors::input(
                "effort= is how long to look for an improved tree: give tree=\"improved\", too",
            ));
        }
        (Some(steps), _) => Some(Effort::Steps(whole("effort", &steps, u32::MAX)?)),
        (None, Some(seconds)) => match Duration::try_from_secs_f64(seconds) {
            Ok(time) => Some(Effort::Time(time)),
            Err(_) => {
                return Err(errors::input(format!(
                    "effort={seconds} s: it is a number of steps, or a time from 0 on"
                )));
            }
        },
    };
    let options = tree.map(|tree| {
        RouteOptions::default()
            .tree(tree)
            .effort(effort.unwrap_or_default())
            .turn_cost(turns)
            .algorithm(algorithm)
    });
    if options.is_none() && (algorithm.is_some() || turns > 0) {
        return Err(errors::input(format!(
            "tree={FEWEST_EDGES:?} is found by breadth-first search, whatever turns cost: leave \
             algorithm= and turn_cost= out"
        )));
    }
    let nets = nets_of(&pin_cells, &pins, &nets)?;
    let grid = Arc::clone(&grid.get().grid);
    let device = match (device, &options) {
        // The only one that finds these trees.
        (Device::Auto, None) => Device::Cpu,
        _ => device,
    };
    let engine = device.engine(py, || Job::route(&grid, &nets), 1)?;
    // Each net may need a search of the whole grid.
    let size = u64::from(grid.cell_count()).saturating_mul(nets.len() as u64);
    let has_layers = grid.layers() > 1;
    let routes = work::run(py, engine, size, move |engine: &Engine| match &options {
        Some(options) => engine.route(&grid, &nets, options),
        None => engine.route_fewest_edges(&grid, &nets),
    })?;
    routes
        .iter()
        .map(|route| describe(py, route, has_layers))
        .collect()
}

/// Joins the pins of nets that compete for edges, with nets as for [`route`] and capacities as the
/// weights of a [`Grid`]. Returns the parts of a `trazar.Negotiated`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python function has them")]
pub(crate) fn negotiate<'py>(
    grid: &Bound<'py, Grid>,
    capacities: [PyReadonlyArrayDyn<'py, u32>; 3],
    pin_cells: PyReadonlyArray2<'py, u32>,
    pins: PyReadonlyArray1<'py, i64>,
    nets: PyReadonlyArray1<'py, i64>,
    rounds: Integer,
    margin: Integer,
    device: Device,
) -> PyResult<Bound<'py, PyDict>> {
    let py = grid.py();
    let options = NegotiationOptions::default()
        .rounds(whole("rounds", &rounds, u32::MAX)?)
        .margin(whole("margin", &margin, u32::MAX)?);
    let nets = nets_of(&pin_cells, &pins, &nets)?;
    let grid = Arc::clone(&grid.get().grid);
    let capacities = edge_counts(&grid, &capacities)?;
    let has_layers = grid.layers() > 1;
    let size = u64::from(grid.cell_count()).saturating_mul(nets.len() as u64);
    let on = Arc::clone(&grid);
    let engine = device.engine(py, || Job::negotiate(&nets), 1)?;
    let found = work::run(py, engine, size, move |engine: &Engine| {
        engine.negotiate(&on, &capacities, &nets, &options)
    })?;
    let routes = found.routes.iter();
    let routes: PyResult<Vec<_>> = routes
        .map(|route| describe(py, route, has_layers))
        .collect();
    let ends = found.overfull.iter().flat_map(|edge| [edge.from, edge.to]);
    let ends = collect(ends, OVERFULL).map_err(errors::from_library)?;
    let by_round = found.rounds.iter().map(|round| round.overflow);
    let by_round = collect(by_round, OVERFULL).map_err(errors::from_library)?;
    let shape = [grid.layers(), grid.height(), grid.width()].map(|side| side as usize);
    let usage = |counts: &[u32], layers: usize| -> PyResult<_> {
        let counts = collect(counts.iter().copied(), OVERFULL).map_err(errors::from_library)?;
        owned(py, (layers, shape[1], shape[2]), counts)
    };
    let vias = if has_layers { shape[0] } else { 0 };
    let parts = PyDict::new(py);
    parts.set_item("overflow", found.overflow())?;
    parts.set_item("wire_length", found.wire_length())?;
    parts.set_item("vias", found.vias())?;
    parts.set_item("overfull", rows(py, &ends, has_layers)?)?;
    parts.set_item("overflow_by_round", by_round.into_pyarray(py))?;
    parts.set_item("right", usage(found.usage.rights(), shape[0])?)?;
    parts.set_item("down", usage(found.usage.downs(), shape[0])?)?;
    parts.set_item("via", usage(found.usage.vias(), vias)?)?;
    parts.set_item("routes", routes?)?;
    Ok(parts)
}

/// The capacities of `grid`'s edges, from arrays of shape (L, H, W - 1), (L, H - 1, W) and
/// (L - 1, H, W).
fn edge_counts(
    grid: &RoutingGrid,
    capacities: &[PyReadonlyArrayDyn<'_, u32>; 3],
) -> PyResult<EdgeCounts> {
    let [layers, height, width] =
        [grid.layers(), grid.height(), grid.width()].map(|side| side as usize);
    let arrays = capacities.each_ref().map(|array| array.as_array());
    let shapes = [
        [layers, height, width - 1],
        [layers, height - 1, width],
        [layers - 1, height, width],
    ];
    for ((name, array), shape) in ["right", "down", "via"].iter().zip(&arrays).zip(shapes) {
        if array.shape() != shape {
            return Err(errors::input(format!(
                "capacities of shape {:?} for {name}: the grid has edges of shape {shape:?} there",
                array.shape()
            )));
        }
    }
    let fill = || -> trazar::Result<EdgeCounts> {
        let mut counts = EdgeCounts::zero(grid)?;
        type Set = fn(&mut EdgeCounts, Cell, u32) -> trazar::Result<()>;
        let set: [Set; 3] = [
            EdgeCounts::set_right,
            EdgeCounts::set_down,
            EdgeCounts::set_via,
        ];
        for (array, set) in arrays.iter().zip(set) {
            for (at, &count) in array.indexed_iter() {
                let [layer, y, x] = [at[0], at[1], at[2]].map(|at| at as u32);
                set(&mut counts, Cell { x, y, layer }, count)?;
            }
        }
        Ok(counts)
    };
    fill().map_err(errors::from_library)
}

/// The nets of [`route`] and [`negotiate`].
fn nets_of(
    pin_cells: &PyReadonlyArray2<'_, u32>,
    pins: &PyReadonlyArray1<'_, i64>,
    nets: &PyReadonlyArray1<'_, i64>,
) -> PyResult<Vec<Net>> {
    let cells = cells(pin_cells)?;
    let range = |range: &[i64]| range[0] as usize..range[1] as usize;
    let pins = pins.as_slice()?.windows(2);
    let pins: Vec<Pin> = pins
        .map(|pin| Pin::new(cells[range(pin)].iter().copied()))
        .collect();
    let nets = nets.as_slice()?.windows(2);
    Ok(nets
        .map(|net| Net::new(pins[range(net)].iter().cloned()))
        .collect())
}

/// The value of a whole number from 0 to `most`.
fn whole(name: &str, given: &Integer, most: u32) -> PyResult<u32> {
    let value = given.value().and_then(|value| u32::try_from(value).ok());
    value.filter(|&value| value <= most).ok_or_else(|| {
        errors::input(format!(
            "{name}={given}: it is a whole number from 0 to {most}"
        ))
    })
}

/// The parts of a `trazar.Route`.
fn describe<'py>(py: Python<'py>, route: &Route, has_layers: bool) -> PyResult<Bound<'py, PyDict>> {
    let paths = || -> trazar::Result<_> {
        let mut path_cells = Vec::new();
        let mut offsets = collect([0i64], PATHS)?;
        reserve(&mut offsets, route.connections().len(), PATHS)?;
        for path in route.connections() {
            reserve(&mut path_cells, path.cells.len(), PATHS)?;
            path_cells.extend_from_slice(path.cells);
            offsets.push(path_cells.len() as i64);
        }
        let pins = collect(route.connections().map(|path| path.pin as i64), PATHS)?;
        let costs = collect(route.connections().map(|path| path.cost), PATHS)?;
        let unreached = collect(route.unreached().iter().map(|&pin| pin as i64), PATHS)?;
        Ok((path_cells, offsets, pins, costs, unreached))
    };
    let (path_cells, offsets, pins, costs, unreached) = paths().map_err(errors::from_library)?;
    let parts = PyDict::new(py);
    parts.set_item("cost", route.cost())?;
    parts.set_item("turn_cost", route.turn_cost())?;
    parts.set_item("cells", rows(py, &route.cells(), has_layers)?)?;
    parts.set_item("unreached", unreached.into_pyarray(py))?;
    parts.set_item("path_pins", pins.into_pyarray(py))?;
    parts.set_item("path_costs", costs.into_pyarray(py))?;
    parts.set_item("path_offsets", offsets.into_pyarray(py))?;
    parts.set_item("path_cells", rows(py, &path_cells, has_layers)?)?;
    Ok(parts)
}

/// Cells as rows (row, column), with layers (layer, row, column).
fn rows<'py>(
    py: Python<'py>,
    cells: &[Cell],
    has_layers: bool,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let skipped = usize::from(!has_layers);
    let values = cells.iter().flat_map(|cell| {
        let row = [cell.layer, cell.y, cell.x].map(i64::from);
        row.into_iter().skip(skipped)
    });
    let values = collect(values, PATHS).map_err(errors::from_library)?;
    owned(py, (cells.len(), 3 - skipped), values)
}

/// The cost of the cheapest path to each cell, of shape (H, W), with layers (L, H, W).
#[pyfunction]
pub(crate) fn distances<'py>(
    grid: &Bound<'py, Grid>,
    sources: PyReadonlyArray2<'py, u32>,
    algorithm: Option<Name>,
    device: Device,
) -> PyResult<Bound<'py, PyAny>> {
    let py = grid.py();
    let algorithm = algorithm.map(|name| {
        let all = DistanceAlgorithm::ALL;
        named_by("algorithm", &name, all, DistanceAlgorithm::name)
    });
    let options = DistanceOptions::default().algorithm(algorithm.transpose()?);
    let sources = cells(&sources)?;
    let grid = Arc::clone(&grid.get().grid);
    let (layers, height, width) = (grid.layers(), grid.height(), grid.width());
    // The job is that of a net that reaches everywhere.
    let net = Net::new([Pin::new(sources.iter().copied())]);
    let engine = device.engine(py, || Job::route(&grid, std::slice::from_ref(&net)), 1)?;
    let size = grid.cell_count().into();
    let distances = work::run(py, engine, size, move |engine: &Engine| {
        engine.distances(&grid, &sources, &options)
    })?;
    let shape = [layers, height, width].map(|side| side as usize);
    let shape = if layers == 1 {
        IxDyn(&shape[1..])
    } else {
        IxDyn(&shape)
    };
    Ok(owned(py, shape, distances.into_vec())?.into_any())
}
