//! Regions of arrays of values in this machine's memory.

use numpy::ndarray::ArrayView2;
use numpy::{Element, IntoPyArray, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyString};
use trazar::{
    BinaryImage, BorderKind, Connectivity, Contours, Engine, Job, PixelValue, RegionOptions,
    Regions, ValueContours, ValueImage,
};

use crate::arguments::Integer;
use crate::arrays::{contour_views, owned, reserve};
use crate::contours::{HostContours, opencv_options};
use crate::engine::Device;
use crate::errors;
use crate::image;
use crate::view::View;
use crate::work;

/// Calls a function on an array of one of the library's types of values.
macro_rules! on_values {
    ($array:expr, $function:ident($($argument:expr),*)) => {
        $crate::regions::on_values!(PyArray2, $array, $function($($argument),*))
    };
    ($kind:ident, $array:expr, $function:ident($($argument:expr),*)) => {{
        let array = $array;
        if let Ok(array) = array.cast::<numpy::$kind<u8>>() {
            $function(array, $($argument),*)
        } else if let Ok(array) = array.cast::<numpy::$kind<u16>>() {
            $function(array, $($argument),*)
        } else if let Ok(array) = array.cast::<numpy::$kind<u32>>() {
            $function(array, $($argument),*)
        } else if let Ok(array) = array.cast::<numpy::$kind<i16>>() {
            $function(array, $($argument),*)
        } else if let Ok(array) = array.cast::<numpy::$kind<i32>>() {
            $function(array, $($argument),*)
        } else if let Ok(array) = array.cast::<numpy::$kind<i64>>() {
            $function(array, $($argument),*)
        } else if let Ok(array) = array.cast::<numpy::$kind<f32>>() {
            $function(array, $($argument),*)
        } else {
            Err(pyo3::exceptions::PyTypeError::new_err(
                "an array of values of another type",
            ))
        }
    }};
}

pub(crate) use on_values;

/// Which pixels of an image belong to regions.
pub(crate) struct Counted<T> {
    background: Vec<T>,
    mask: Option<BinaryImage>,
}

impl<T: PixelValue + Element> Counted<T> {
    /// `background` is an array of the image's type.
    pub(crate) fn new(
        background: &Bound<'_, PyAny>,
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let background: Vec<T> = background
            .cast::<numpy::PyArray1<T>>()
            .map_err(|_| PyTypeError::new_err("background of another type"))?
            .to_vec()?;
        let mask = image::mask(mask)?;
        Ok(Self { background, mask })
    }

    pub(crate) fn image<'a>(
        &'a self,
        values: ArrayView2<'a, T>,
    ) -> trazar::Result<ValueImage<'a, T>> {
        let mut image = ValueImage::new(values)?;
        for &value in &self.background {
            image = image.background(value)?;
        }
        match &self.mask {
            Some(mask) => image.mask(mask),
            None => Ok(image),
        }
    }
}

/// Runs a job on an array of values. `size` gives its size, by which a device is chosen.
fn run<T, R>(
    array: &Bound<'_, PyArray2<T>>,
    background: &Bound<'_, PyAny>,
    mask: Option<&Bound<'_, PyAny>>,
    (device, size): (Device, fn(&ValueImage<'_, T>) -> Job),
    job: impl FnOnce(&Engine, &ValueImage<'_, T>) -> trazar::Result<R> + Send + 'static,
) -> PyResult<R>
where
    T: PixelValue + Element,
    R: Send + 'static,
{
    let py = array.py();
    let counted = Counted::new(background, mask)?;
    let view = View::new(array.to_dyn())?;
    let image = counted.image(view.view());
    let size = || match &image {
        Ok(image) => size(image),
        // The job itself says what is wrong.
        Err(_) => Job::LabelBands { pixels: 0 },
    };
    let engine = device.engine(py, size, 1)?;
    drop(image);
    let pixels = array.len() as u64;
    work::run(py, engine, pixels, move |engine: &Engine| {
        job(engine, &counted.image(view.view())?)
    })
}

/// The options for 4 or 8 neighbours.
pub(crate) fn neighbours(connectivity: u32) -> Connectivity {
    match connectivity {
        8 => Connectivity::Eight,
        _ => Connectivity::Four,
    }
}

/// Rings with their values, regions' numbers, and the number of regions.
pub(crate) type Traced<'py> = (
    Bound<'py, HostContours>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    u32,
);

/// The rings of regions.
#[pyfunction]
pub(crate) fn trace_regions<'py>(
    array: &Bound<'py, PyAny>,
    background: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    connectivity: u32,
    device: Device,
) -> PyResult<Traced<'py>> {
    fn of<'py, T: PixelValue + Element>(
        array: &Bound<'py, PyArray2<T>>,
        background: &Bound<'py, PyAny>,
        mask: Option<&Bound<'py, PyAny>>,
        options: RegionOptions,
        device: Device,
    ) -> PyResult<Traced<'py>> {
        let py = array.py();
        let regions = run(
            array,
            background,
            mask,
            (device, Job::trace_values),
            move |engine, image| engine.trace_regions(image, &options),
        )?;
        traced(py, regions)
    }
    let options = RegionOptions::default().connectivity(neighbours(connectivity));
    on_values!(array, of(background, mask, options, device))
}

/// Regions, for Python.
pub(crate) fn traced<T: PixelValue + Element>(
    py: Python<'_>,
    regions: Regions<T>,
) -> PyResult<Traced<'_>> {
    let parts = regions.into_arrays();
    let contours = parts.contours;
    Ok((
        Bound::new(py, HostContours { contours })?,
        parts.values.into_pyarray(py).into_any(),
        parts.regions.into_pyarray(py).into_any(),
        parts.count,
    ))
}

/// The labels of regions, of the array's shape, and their number.
#[pyfunction]
pub(crate) fn label_values<'py>(
    array: &Bound<'py, PyAny>,
    background: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    connectivity: u32,
    device: Device,
) -> PyResult<(Bound<'py, PyAny>, u32)> {
    fn of<'py, T: PixelValue + Element>(
        array: &Bound<'py, PyArray2<T>>,
        background: &Bound<'py, PyAny>,
        mask: Option<&Bound<'py, PyAny>>,
        connectivity: Connectivity,
        device: Device,
    ) -> PyResult<(Bound<'py, PyAny>, u32)> {
        let labels = run(
            array,
            background,
            mask,
            (device, Job::label_values),
            move |engine, image| {
                let labels = engine.label_values(image, connectivity)?;
                crate::labels::checked(labels.count())?;
                Ok(labels)
            },
        )?;
        let (shape, count) = (array.dims(), labels.count());
        let labels: Vec<i32> = bytemuck::allocation::cast_vec(labels.into_vec());
        let labels = owned(array.py(), shape, labels)?;
        Ok((labels.into_any(), count))
    }
    let connectivity = neighbours(connectivity);
    on_values!(array, of(background, mask, connectivity, device))
}

/// For each value its contours, in OpenCV's form.
#[pyfunction]
pub(crate) fn find_contours_by_label<'py>(
    array: &Bound<'py, PyAny>,
    background: &Bound<'py, PyAny>,
    mode: Integer,
    method: Integer,
    device: Device,
) -> PyResult<Bound<'py, PyDict>> {
    fn of<'py, T: PixelValue + Element + for<'a> IntoPyObject<'a>>(
        array: &Bound<'py, PyArray2<T>>,
        background: &Bound<'py, PyAny>,
        options: trazar::trace::ContourOptions,
        device: Device,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = array.py();
        let traced = run(
            array,
            background,
            None,
            (device, Job::trace_values),
            move |engine, image| engine.trace_values(image, &options),
        )?;
        contours_by_label(py, traced)
    }
    let options = opencv_options(&mode, &method)?.contours;
    on_values!(array, of(background, options, device))
}

/// For each value its contours, in OpenCV's form, for Python.
pub(crate) fn contours_by_label<T: PixelValue + for<'a> IntoPyObject<'a>>(
    py: Python<'_>,
    traced: ValueContours<T>,
) -> PyResult<Bound<'_, PyDict>> {
    let parts = traced.into_arrays();
    let contours = parts.contours.into_arrays();
    let coordinates: Vec<i32> = bytemuck::allocation::cast_vec(contours.points);
    let views = contour_views(&coordinates.into_pyarray(py), &contours.offsets)?;
    // Links by index into the contours of one value.
    let mut rows = contours.hierarchy;
    for group in parts.groups.windows(2) {
        let first = group[0] as i32;
        for link in rows[group[0]..group[1]].as_flattened_mut() {
            *link -= if *link < 0 { 0 } else { first };
        }
    }
    let hierarchy = owned(py, (1, rows.len(), 4), rows.into_flattened())?;
    let result = PyDict::new(py);
    for (index, (group, &value)) in parts.groups.windows(2).zip(&parts.values).enumerate() {
        if index.is_multiple_of(work::OBJECTS) {
            py.check_signals()?;
        }
        let [begin, end] = [group[0], group[1]];
        let key = value.into_bound_py_any(py)?;
        let of_value = views.get_slice(begin, end);
        let rows = crate::arrays::hierarchy_view(&hierarchy, begin, end)?;
        result.set_item(key, (of_value, rows))?;
    }
    Ok(result)
}

/// From pixels to the coordinates of a map: `x = a * column + b * row + c`, `y = d * column + e *
/// row + f`.
type Transform = [f64; 6];

/// Where a pixel's corner is.
fn moved(transform: &Transform, x: i32, y: i32) -> [f64; 2] {
    let [a, b, c, d, e, f] = *transform;
    let (x, y) = (f64::from(x), f64::from(y));
    [a * x + b * y + c, d * x + e * y + f]
}

/// Each polygon as a dict in GeoJSON's form, as `rasterio.features.shapes` gives it, with its value
/// in a pair. `values` has a Python number per ring.
#[pyfunction]
pub(crate) fn region_dicts<'py>(
    contours: &Bound<'py, HostContours>,
    values: &Bound<'py, PyList>,
    transform: Transform,
) -> PyResult<Bound<'py, PyList>> {
    let py = contours.py();
    let contours = &contours.get().contours;
    // None of the new objects is garbage, and a collection would take as long as making them.
    // SAFETY: this thread is attached to the interpreter.
    let was_enabled = unsafe { ffi::PyGC_Disable() } == 1;
    let made = make_dicts(py, contours, values, &transform);
    if was_enabled {
        // SAFETY: as above.
        unsafe { ffi::PyGC_Enable() };
    }
    made
}

fn make_dicts<'py>(
    py: Python<'py>,
    contours: &Contours,
    values: &Bound<'py, PyList>,
    transform: &Transform,
) -> PyResult<Bound<'py, PyList>> {
    let mut points = Points::new(py, contours, transform)?;
    let [type_key, coordinates_key, polygon] =
        ["type", "coordinates", "Polygon"].map(|text| PyString::intern(py, text));
    let result = PyList::empty(py);
    for outer in contours.iter() {
        if outer.kind() != BorderKind::Outer {
            continue;
        }
        if outer.index().is_multiple_of(work::OBJECTS) {
            py.check_signals()?;
        }
        let rings = PyList::empty(py);
        rings.append(points.ring(outer.points())?)?;
        for hole in outer.children() {
            rings.append(points.ring(hole.points())?)?;
        }
        let geometry = PyDict::new(py);
        geometry.set_item(&type_key, &polygon)?;
        geometry.set_item(&coordinates_key, rings)?;
        result.append((geometry, values.get_item(outer.index())?))?;
    }
    Ok(result)
}

/// Makes points of Python's numbers. Without rotation, a column's x and a row's y are made once.
struct Points<'py, 'a> {
    py: Python<'py>,
    transform: &'a Transform,
    columns: Vec<Option<Bound<'py, PyFloat>>>,
    rows: Vec<Option<Bound<'py, PyFloat>>>,
}

impl<'py, 'a> Points<'py, 'a> {
    fn new(py: Python<'py>, contours: &Contours, transform: &'a Transform) -> PyResult<Self> {
        let is_rotated = transform[1] != 0.0 || transform[3] != 0.0;
        let room = |side: u32| -> PyResult<Vec<Option<Bound<'py, PyFloat>>>> {
            let mut numbers = Vec::new();
            if !is_rotated {
                let len = side as usize + 1;
                reserve(&mut numbers, len, "coordinates").map_err(errors::from_library)?;
                numbers.resize_with(len, || None);
            }
            Ok(numbers)
        };
        Ok(Self {
            py,
            transform,
            columns: room(contours.width())?,
            rows: room(contours.height())?,
        })
    }

    /// The list of a ring's points, closed.
    fn ring(&mut self, points: &[trazar::glam::IVec2]) -> PyResult<Bound<'py, PyList>> {
        let py = self.py;
        let len = points.len() as ffi::Py_ssize_t + 1;
        // SAFETY: a new reference, or null with an exception.
        let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(len))? };
        for (at, point) in (0..).zip(points.iter().chain(points.first())) {
            let [x, y] = self.numbers(point.x, point.y);
            // SAFETY: a new reference, or null with an exception. The tuple's two places and the
            // list's place `at` are empty, and take over the references.
            unsafe {
                let pair = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(2))?;
                ffi::PyTuple_SetItem(pair.as_ptr(), 0, x.into_ptr());
                ffi::PyTuple_SetItem(pair.as_ptr(), 1, y.into_ptr());
                ffi::PyList_SetItem(list.as_ptr(), at, pair.into_ptr());
            }
        }
        Ok(list.cast_into()?)
    }

    fn numbers(&mut self, x: i32, y: i32) -> [Bound<'py, PyFloat>; 2] {
        let (py, transform) = (self.py, self.transform);
        let kept = self
            .columns
            .get_mut(x as usize)
            .zip(self.rows.get_mut(y as usize));
        match kept {
            Some((column, row)) => {
                let make = |i: usize| PyFloat::new(py, moved(transform, x, y)[i]);
                [
                    column.get_or_insert_with(|| make(0)).clone(),
                    row.get_or_insert_with(|| make(1)).clone(),
                ]
            }
            None => moved(transform, x, y).map(|number| PyFloat::new(py, number)),
        }
    }
}

/// Each polygon in the OGC's well-known binary form.
#[pyfunction]
pub(crate) fn region_wkb<'py>(
    contours: &Bound<'py, HostContours>,
    transform: Transform,
) -> PyResult<Bound<'py, PyList>> {
    let py = contours.py();
    let contours = &contours.get().contours;
    let result = PyList::empty(py);
    let mut bytes = Vec::new();
    for outer in contours.iter() {
        if outer.kind() != BorderKind::Outer {
            continue;
        }
        if outer.index().is_multiple_of(work::OBJECTS) {
            py.check_signals()?;
        }
        let rings = || std::iter::once(outer).chain(outer.children());
        bytes.clear();
        let points: usize = rings().map(|ring| 1 + ring.points().len()).sum();
        reserve(
            &mut bytes,
            9 + 4 * rings().count() + 16 * points,
            "a polygon",
        )
        .map_err(errors::from_library)?;
        // Little-endian, a polygon.
        bytes.push(1);
        bytes.extend(3u32.to_le_bytes());
        bytes.extend((rings().count() as u32).to_le_bytes());
        for ring in rings() {
            let points = ring.points();
            bytes.extend((points.len() as u32 + 1).to_le_bytes());
            for point in points.iter().chain(points.first()) {
                for number in moved(&transform, point.x, point.y) {
                    bytes.extend(number.to_le_bytes());
                }
            }
        }
        result.append(PyBytes::new(py, &bytes))?;
    }
    Ok(result)
}
