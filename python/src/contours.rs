//! Contours of arrays in this machine's memory.

use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use rayon::prelude::*;
use trazar::formats::{self, GdsOptions};
use trazar::regions::{SimplifyMethod, SimplifyOptions};
use trazar::trace::ContourSource;
use trazar::{
    Approximation, BorderKind, Contour, Contours, Engine, Geometry, Job, Retrieval, TraceAlgorithm,
    TraceOptions, glam::IVec2,
};

use crate::arguments::{Integer, Name, Offset, named, named_by};
use crate::arrays::{borrowed, contour_views, owned, python_bytes, reserve};
use crate::engine::Device;
use crate::errors;
use crate::image::{self, Input, side};
use crate::parts::{Reduced, detached, reduced};
use crate::work;

/// The options for OpenCV's constants.
pub(crate) fn opencv_options(mode: &Integer, method: &Integer) -> PyResult<TraceOptions> {
    let retrieval = match mode.value() {
        Some(0) => Retrieval::External,
        Some(1) => Retrieval::List,
        Some(2) => Retrieval::Ccomp,
        Some(3) => Retrieval::Tree,
        _ => {
            return Err(errors::input(format!(
                "mode={mode}: it is RETR_EXTERNAL (0), RETR_LIST (1), RETR_CCOMP (2) or RETR_TREE \
                 (3)"
            )));
        }
    };
    let approximation = match method.value() {
        Some(1) => Approximation::None,
        Some(2) => Approximation::Simple,
        Some(3) => Approximation::TehChinL1,
        Some(4) => Approximation::TehChinKCos,
        _ => {
            return Err(errors::input(format!(
                "method={method}: it is CHAIN_APPROX_NONE (1), CHAIN_APPROX_SIMPLE (2), \
                 CHAIN_APPROX_TC89_L1 (3) or CHAIN_APPROX_TC89_KCOS (4)"
            )));
        }
    };
    Ok(TraceOptions::default()
        .retrieval(retrieval)
        .approximation(approximation))
}

/// The options for these names.
pub(crate) fn named_options(
    retrieval: &Name,
    approximation: &Name,
    geometry: &Name,
    algorithm: Option<&Name>,
) -> PyResult<TraceOptions> {
    let algorithm = algorithm.map(|name| {
        let all = TraceAlgorithm::ALL;
        named_by("algorithm", name, all, TraceAlgorithm::name)
    });
    let options = TraceOptions::default()
        .retrieval(named_by(
            "retrieval",
            retrieval,
            Retrieval::ALL,
            Retrieval::name,
        )?)
        .approximation(named_by(
            "approximation",
            approximation,
            Approximation::ALL,
            Approximation::name,
        )?)
        .geometry(named_by(
            "geometry",
            geometry,
            Geometry::ALL,
            Geometry::name,
        )?)
        .algorithm(algorithm.transpose()?);
    options.contours.validate().map_err(errors::from_library)?;
    Ok(options)
}

/// The contours of each image.
fn trace_all(
    py: Python<'_>,
    input: Input,
    options: TraceOptions,
    device: Device,
) -> PyResult<Vec<Contours>> {
    let Some(first) = input.images.first() else {
        return Ok(Vec::new());
    };
    let runs = u32::try_from(input.images.len()).unwrap_or(u32::MAX);
    let engine = device.engine(py, || Job::trace(first), runs)?;
    let size = input.pixels();
    work::run(py, engine, size, move |engine: &Engine| {
        match &input.images[..] {
            [image] => Ok(vec![engine.trace(image, &options)?]),
            images => engine.trace_batch(images, &options),
        }
    })
}

/// `cv2.findContours`: for each image a tuple of arrays, and the hierarchy. Without `batch`, there
/// is one image.
#[pyfunction]
pub(crate) fn find_contours<'py>(
    images: &Bound<'py, PyAny>,
    batch: bool,
    mode: Integer,
    method: Integer,
    offset: Offset,
    threshold: Option<&Bound<'py, PyAny>>,
    device: Device,
) -> PyResult<Bound<'py, PyList>> {
    let py = images.py();
    let options = opencv_options(&mode, &method)?;
    let input = image::read(images, threshold, batch, false, 0)?;
    offset.check_fits(side(input.width), side(input.height))?;
    let found = PyList::empty(py);
    for contours in trace_all(py, input, options, device)? {
        found.append(in_opencv_form(py, contours, offset)?)?;
    }
    Ok(found)
}

/// The form in which `cv2.findContours` returns contours. The arrays of points are views of one
/// array.
fn in_opencv_form(
    py: Python<'_>,
    contours: Contours,
    offset: Offset,
) -> PyResult<Bound<'_, PyTuple>> {
    let count = contours.len();
    let Offset { x, y } = offset;
    let mut parts = contours.into_arrays();
    if (x, y) != (0, 0) {
        let offset = IVec2::new(x, y);
        for point in &mut parts.points {
            *point += offset;
        }
    }
    let coordinates: Vec<i32> = bytemuck::allocation::cast_vec(parts.points);
    let views = contour_views(&coordinates.into_pyarray(py), &parts.offsets)?;
    let rows = parts.hierarchy.into_flattened();
    let hierarchy = match count {
        0 => py.None().into_bound(py),
        _ => owned(py, (1, count, 4), rows)?.into_any(),
    };
    (views, hierarchy).into_pyobject(py)
}

/// Traces each image; the result is a list of [`HostContours`], without `batch` of one.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python function has them")]
pub(crate) fn trace<'py>(
    images: &Bound<'py, PyAny>,
    batch: bool,
    retrieval: Name,
    approximation: Name,
    geometry: Name,
    algorithm: Option<Name>,
    threshold: Option<&Bound<'py, PyAny>>,
    device: Device,
) -> PyResult<Bound<'py, PyList>> {
    let py = images.py();
    let options = named_options(&retrieval, &approximation, &geometry, algorithm.as_ref())?;
    let input = image::read(images, threshold, batch, false, 0)?;
    let traced = PyList::empty(py);
    for contours in trace_all(py, input, options, device)? {
        traced.append(Bound::new(py, HostContours { contours })?)?;
    }
    Ok(traced)
}

/// Contours in this machine's memory.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct HostContours {
    pub(crate) contours: Contours,
}

/// The file formats for contours.
#[derive(Clone)]
enum Format {
    Svg,
    GeoJson,
    Json,
    Gds(GdsOptions),
}

impl Format {
    fn write(&self, contours: &Contours, out: impl Write) -> trazar::Result<()> {
        match self {
            Self::Svg => formats::write_contours_svg(contours, out),
            Self::GeoJson => formats::write_contours_geojson(contours, out),
            Self::Json => formats::write_contours_json(contours, out),
            Self::Gds(options) => formats::write_contours_gds(contours, options, out),
        }
    }
}

impl HostContours {
    /// A column with one value per contour.
    fn column<'py, T: numpy::Element + Copy + Default + Sync>(
        &self,
        py: Python<'py>,
        value: impl Fn(Contour<'_>) -> T + Sync + Send,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        Ok(self.measured(py, T::default(), value)?.into_pyarray(py))
    }

    /// A table with one row per contour.
    fn table<'py, T: numpy::Element + Copy + Default + Sync, const N: usize>(
        &self,
        py: Python<'py>,
        row: impl Fn(Contour<'_>) -> [T; N] + Sync + Send,
    ) -> PyResult<Bound<'py, PyArray2<T>>> {
        let rows = self.measured(py, [T::default(); N], row)?;
        owned(py, (rows.len(), N), rows.into_flattened())
    }

    /// A measure of each contour; `none` for a missing contour.
    fn measured<T: Copy + Send + Sync>(
        &self,
        py: Python<'_>,
        none: T,
        value: impl Fn(Contour<'_>) -> T + Sync + Send,
    ) -> PyResult<Vec<T>> {
        detached(py, || {
            let count = self.contours.len();
            let mut values = Vec::new();
            reserve(&mut values, count, "the measures of contours")?;
            let indices = (0..count).into_par_iter().with_min_len(256);
            indices
                .map(|index| self.contours.get(index).map_or(none, &value))
                .collect_into_vec(&mut values);
            Ok(values)
        })
    }
}

#[pymethods]
impl HostContours {
    #[getter]
    fn width(&self) -> u32 {
        self.contours.width()
    }

    #[getter]
    fn height(&self) -> u32 {
        self.contours.height()
    }

    #[getter]
    fn geometry(&self) -> &'static str {
        match self.contours.geometry() {
            Geometry::Edges => "edges",
            _ => "centers",
        }
    }

    fn __len__(&self) -> usize {
        self.contours.len()
    }

    fn __sizeof__(&self) -> usize {
        let contours = &self.contours;
        size_of_val(contours.points()) + 25 * contours.len()
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let contours = detached(py, || Contours::from_bytes(bytes))?;
        Ok(Self { contours })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let contours = &this.get().contours;
        let bytes = detached(this.py(), || contours.to_bytes())?;
        reduced(this.get_type(), &bytes)
    }

    #[getter]
    fn points<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let points = this.get().contours.points();
        let coordinates: &[i32] = bytemuck::cast_slice(points);
        // SAFETY: the object is frozen and keeps its contours, which have no interior mutability.
        unsafe { borrowed(this.clone().into_any(), (points.len(), 2), coordinates) }
    }

    #[getter]
    fn offsets<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<isize>>> {
        let offsets: &[isize] = bytemuck::cast_slice(this.get().contours.offsets());
        // SAFETY: as for the points.
        unsafe { borrowed(this.clone().into_any(), offsets.len(), offsets) }
    }

    #[getter]
    fn kinds<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let kinds: &[BorderKind] = this.get().contours.kinds();
        // SAFETY: a `BorderKind` is a byte.
        let kinds = unsafe { std::slice::from_raw_parts(kinds.as_ptr().cast::<u8>(), kinds.len()) };
        // SAFETY: as for the points.
        unsafe { borrowed(this.clone().into_any(), kinds.len(), kinds) }
    }

    #[getter]
    fn hierarchy<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let rows = this.get().contours.hierarchy();
        let links: &[i32] = bytemuck::cast_slice(rows);
        // SAFETY: as for the points.
        unsafe { borrowed(this.clone().into_any(), (rows.len(), 4), links) }
    }

    fn areas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.column(py, |contour| contour.area())
    }

    fn perimeters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.column(py, |contour| contour.perimeter())
    }

    fn bounding_boxes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        self.table(py, |contour| {
            let bounds = contour.bounding_box();
            [bounds.min.x, bounds.min.y, bounds.max.x, bounds.max.y]
        })
    }

    fn centroids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.table(py, |contour| contour.centroid().to_array())
    }

    /// The rings of polygons, for `shapely.from_ragged_array`: see [`rings`].
    fn rings<'py>(&self, py: Python<'py>) -> PyResult<Rings<'py>> {
        let contours = &self.contours;
        rings(py, contours, 0..contours.len())
    }

    /// Rings with fewer corners: see `trazar::Contours::simplify`.
    fn simplify(this: &Bound<'_, Self>, tolerance: f64, method: Name) -> PyResult<Self> {
        let methods = SimplifyMethod::ALL;
        let options = SimplifyOptions::default()
            .tolerance(tolerance)
            .method(named_by("method", &method, methods, SimplifyMethod::name)?);
        let object = this.clone().unbind();
        let simplify = move |_| move || object.get().contours.simplify(&options);
        let contours = work::apart(this.py(), simplify)?.map_err(errors::from_library)?;
        Ok(Self { contours })
    }

    /// The rings of regions that are kept, and which those are: see `trazar::Regions::filter`.
    fn filter_regions<'py>(
        &self,
        py: Python<'py>,
        min_area: u64,
        fill_holes: bool,
    ) -> PyResult<(Self, Bound<'py, PyArray1<isize>>)> {
        let filter = || self.contours.filter_regions(min_area, fill_holes);
        let (contours, kept) = py.detach(filter).map_err(errors::from_library)?;
        let kept: Vec<isize> = bytemuck::allocation::cast_vec(kept);
        Ok((Self { contours }, kept.into_pyarray(py)))
    }

    /// Writes a file that appears complete or not at all, or returns its bytes.
    fn write<'py>(
        this: &Bound<'py, Self>,
        format: Name,
        path: Option<PathBuf>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let format = named(
            "format",
            &format,
            &[("svg", 0), ("geojson", 1), ("json", 2)],
        )?;
        let format = match format {
            0 => Format::Svg,
            1 => Format::GeoJson,
            _ => Format::Json,
        };
        Self::write_as(this, format, path)
    }

    /// As `write`, for GDSII.
    #[pyo3(name = "write_gds", signature = (
        path,
        *,
        pixel_size=1,
        database_unit=1e-9,
        user_unit=1e-6,
        layer=1,
        datatype=0,
        max_vertices=4094,
        cell="TOP",
        library="TRAZAR",
    ))]
    #[expect(clippy::too_many_arguments, reason = "the Python function has them")]
    fn write_contours_gds<'py>(
        this: &Bound<'py, Self>,
        path: Option<PathBuf>,
        pixel_size: u32,
        database_unit: f64,
        user_unit: f64,
        layer: u16,
        datatype: u16,
        max_vertices: u16,
        cell: &str,
        library: &str,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let options = GdsOptions::default()
            .pixel_size(pixel_size)
            .database_unit(database_unit)
            .user_unit(user_unit)
            .layer(layer)
            .datatype(datatype)
            .max_vertices(max_vertices)
            .cell(cell)
            .library(library);
        Self::write_as(this, Format::Gds(options), path)
    }
}

/// Coordinates of closed rings, the start of each ring, and the start of each polygon's rings.
pub(crate) type Rings<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
);

/// Name used in out-of-memory errors.
const RINGS: &str = "the rings of polygons";

/// The rings of the outer borders among some contours, each with the holes directly inside it, for
/// `shapely.from_ragged_array`. A ring of fewer than three points has its last point repeated,
/// since shapely takes only rings of four or more coordinates.
pub(crate) fn rings<'py>(
    py: Python<'py>,
    contours: &impl ContourSource,
    indices: Range<usize>,
) -> PyResult<Rings<'py>> {
    let made = py.detach(|| -> PyResult<_> {
        let (mut coordinates, mut rings, mut polygons) = (Vec::<f64>::new(), vec![0], vec![0]);
        let mut room = Vec::new();
        let mut add = |index: usize, rings: &mut Vec<i64>| -> trazar::Result<()> {
            let points = contours.points_of(index, &mut room)?;
            reserve(&mut coordinates, 2 * points.len() + 8, RINGS)?;
            reserve(rings, 1, RINGS)?;
            let Some((first, last)) = points.first().zip(points.last()) else {
                return Ok(());
            };
            let repeated = 3usize.saturating_sub(points.len());
            let padding = std::iter::repeat_n(last, repeated);
            for point in points.iter().chain(padding).chain([first]) {
                coordinates.extend([f64::from(point.x), f64::from(point.y)]);
            }
            rings.push(coordinates.len() as i64 / 2);
            Ok(())
        };
        for outer in indices {
            if contours.kinds()[outer] != BorderKind::Outer {
                continue;
            }
            for index in std::iter::once(outer).chain(contours.children(outer)) {
                add(index, &mut rings).map_err(errors::from_library)?;
                if rings.len().is_multiple_of(work::OBJECTS) {
                    Python::attach(|py| py.check_signals())?;
                }
            }
            reserve(&mut polygons, 1, RINGS).map_err(errors::from_library)?;
            polygons.push(rings.len() as i64 - 1);
        }
        Ok((coordinates, rings, polygons))
    });
    let (coordinates, rings, polygons) = made?;
    Ok((
        owned(py, (coordinates.len() / 2, 2), coordinates)?,
        rings.into_pyarray(py),
        polygons.into_pyarray(py),
    ))
}

/// Bytes in memory; a write without room is an error.
#[derive(Default)]
struct Growing(Vec<u8>);

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .try_reserve(bytes.len())
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A destination that refuses writes once a flag is set.
struct Until<W> {
    out: W,
    interrupt: Arc<AtomicBool>,
}

impl<W: Write> Write for Until<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.interrupt.load(Ordering::Relaxed) {
            // Not `Interrupted`, after which writers would retry.
            return Err(io::Error::other("interrupted"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a file that appears complete or not at all, or returns its bytes. `points` is about how
/// many points are written. Signals interrupt long work.
pub(crate) fn written<'py>(
    py: Python<'py>,
    points: usize,
    path: Option<PathBuf>,
    write: impl FnOnce(&mut dyn Write) -> trazar::Result<()> + Send + 'static,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let write = move |interrupt: Arc<AtomicBool>| -> trazar::Result<Option<Vec<u8>>> {
        let Some(path) = path else {
            let mut until = Until {
                out: Growing::default(),
                interrupt,
            };
            write(&mut until)?;
            return Ok(Some(until.out.0));
        };
        let mut output = formats::Output::create(path)?;
        output.fill(|out| write(&mut Until { out, interrupt }))?;
        output.commit()?;
        Ok(None)
    };
    let written = match points as u64 >= work::LONG / 16 {
        true => work::apart(py, |interrupt| move || write(interrupt))?,
        false => py.detach(|| write(Arc::default())),
    };
    let bytes = written.map_err(errors::from_library)?;
    bytes.map(|bytes| python_bytes(py, &bytes)).transpose()
}

impl HostContours {
    fn write_as<'py>(
        this: &Bound<'py, Self>,
        format: Format,
        path: Option<PathBuf>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let object = this.clone().unbind();
        let points = this.get().contours.points().len();
        written(this.py(), points, path, move |out| {
            format.write(&object.get().contours, out)
        })
    }
}
