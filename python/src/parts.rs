//! Bands of rows of an image, processed separately and joined: the objects that `trazar.dask`
//! passes to its workers.
//!
//! All classes are frozen, so that tasks can share their objects, and have a byte format, by which
//! they are pickled.

use std::sync::OnceLock;

use numpy::PyArray1;
use numpy::ndarray::Ix2;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use trazar::formats::{self, Output};
use trazar::label;
use trazar::trace::{self, Band, ContourSource, StoredContours};
use trazar::{BinaryImage, Component};

use crate::arguments::Name;
use crate::arrays::{collect, owned, python_bytes};
use crate::contours::{HostContours, Rings, named_options, rings};
use crate::engine::Device;
use crate::errors;
use crate::image;
use crate::labels;
use crate::work::in_pool;

/// A function and its arguments, by which an object is pickled.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// The function and its arguments that recreate an object of this class.
pub(crate) fn reduced<'py>(class: Bound<'py, PyType>, bytes: &[u8]) -> PyResult<Reduced<'py>> {
    let py = class.py();
    let from_bytes = class.getattr(intern!(py, "from_bytes"))?;
    Ok((from_bytes, PyTuple::new(py, [python_bytes(py, bytes)?])?))
}

/// Runs `work` without the GIL, in a pool with threads.
pub(crate) fn detached<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> trazar::Result<R> + Send,
) -> PyResult<R> {
    let done = py.detach(|| in_pool(work));
    done.map_err(errors::from_library)
}

/// Rows of a binary image, one bit per pixel.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct Mask {
    image: BinaryImage,
}

/// Packs an array of shape (H, W) that has pixels.
#[pyfunction]
pub(crate) fn pack(
    image: &Bound<'_, PyAny>,
    threshold: Option<&Bound<'_, PyAny>>,
) -> PyResult<Mask> {
    let input = image::read(image, threshold, false, false, 0)?;
    match <[BinaryImage; 1]>::try_from(input.images) {
        Ok([image]) => Ok(Mask::new(image)),
        Err(_) => Err(errors::input("a band has shape (H, W)")),
    }
}

impl Mask {
    pub(crate) fn new(image: BinaryImage) -> Self {
        Self { image }
    }

    #[cfg(not(target_os = "macos"))]
    pub(crate) fn image(&self) -> &BinaryImage {
        &self.image
    }
}

#[pymethods]
impl Mask {
    #[getter]
    fn shape(&self) -> (u32, u32) {
        (self.image.height(), self.image.width())
    }

    #[getter]
    fn nbytes(&self) -> usize {
        size_of_val(self.image.words())
    }

    fn __sizeof__(&self) -> usize {
        self.nbytes()
    }

    /// The first row and the last one.
    fn edges(&self, py: Python<'_>) -> PyResult<(Self, Self)> {
        let row = |y: u32| -> trazar::Result<Self> {
            let image = BinaryImage::from_words(self.image.width(), 1, self.image.row(y).to_vec())?;
            Ok(Self::new(image))
        };
        detached(py, || Ok((row(0)?, row(self.image.height() - 1)?)))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let damaged = || errors::input("the bytes are not those of a mask");
        let (sides, words) = bytes.split_at_checked(8).ok_or_else(damaged)?;
        let side = |at: usize| {
            let mut side = [0; 4];
            side.copy_from_slice(&sides[at..at + 4]);
            u32::from_le_bytes(side)
        };
        let (words, rest) = words.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(damaged());
        }
        let words = words.iter().map(|&word| u64::from_le_bytes(word));
        let image = collect(words, "a mask")
            .and_then(|words| BinaryImage::from_words(side(0), side(4), words));
        Ok(Self::new(image.map_err(errors::from_library)?))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let image = &this.get().image;
        let mut bytes = Vec::with_capacity(8 + size_of_val(image.words()));
        bytes.extend_from_slice(&image.width().to_le_bytes());
        bytes.extend_from_slice(&image.height().to_le_bytes());
        for word in image.words() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        reduced(this.get_type(), &bytes)
    }
}

/// The information that joining needs about a band's components.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct LabelPart {
    part: label::LabelPart,
}

/// The measures of a band's components that touch none of its rims.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct Measures {
    components: Vec<Component>,
}

/// The final numbers of a band's components.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct BandNumbers {
    numbers: label::BandNumbers,
}

/// A band's part, and its measures, which are useless without statistics.
#[pyfunction]
pub(crate) fn label_part(
    py: Python<'_>,
    mask: &Mask,
    first_row: u32,
    connectivity: u32,
    statistics: bool,
    device: Device,
) -> PyResult<(LabelPart, Measures)> {
    let options = labels::options(connectivity, None, statistics)?.components;
    let engine = device.named_engine(py)?;
    detached(py, || {
        let mut part = engine.label_part(&mask.image, first_row, &options)?;
        let components = part.take_inside();
        Ok((LabelPart { part }, Measures { components }))
    })
}

impl LabelPart {
    pub(crate) fn new(part: label::LabelPart) -> Self {
        Self { part }
    }
}

#[pymethods]
impl LabelPart {
    #[getter]
    fn rows(&self) -> (u32, u32) {
        let rows = self.part.rows();
        (rows.start, rows.end)
    }

    fn __sizeof__(&self) -> usize {
        self.part.memory()
    }

    /// This part and the one below it as one.
    fn join(&self, py: Python<'_>, lower: &Self) -> PyResult<Self> {
        let (upper, lower) = (self.part.clone(), lower.part.clone());
        let part = detached(py, || label::LabelPart::join(upper, lower))?;
        Ok(Self { part })
    }

    /// The numbers of each band.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<BandNumbers>> {
        let bands = detached(py, || Ok(self.part.clone().finish()?.into_bands()))?;
        let bands = bands.into_iter().map(|numbers| BandNumbers { numbers });
        Ok(bands.collect())
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let part = detached(py, || label::LabelPart::from_bytes(bytes))?;
        Ok(Self { part })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let part = &this.get().part;
        let bytes = detached(this.py(), || part.to_bytes())?;
        reduced(this.get_type(), &bytes)
    }
}

#[pymethods]
impl Measures {
    fn __len__(&self) -> usize {
        self.components.len()
    }

    fn __sizeof__(&self) -> usize {
        size_of_val(&self.components[..])
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let components = detached(py, || label::components_from_bytes(bytes))?;
        Ok(Self { components })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let components = &this.get().components;
        let bytes = detached(this.py(), || label::components_to_bytes(components))?;
        reduced(this.get_type(), &bytes)
    }
}

#[pymethods]
impl BandNumbers {
    /// The number of components of the whole image.
    #[getter]
    fn count(&self) -> u64 {
        self.numbers.count()
    }

    /// Labels the band that the numbers are of: int32 or, with `wide`, int64.
    fn label<'py>(
        &self,
        py: Python<'py>,
        mask: &Mask,
        connectivity: u32,
        wide: bool,
        device: Device,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = labels::options(connectivity, None, false)?.components;
        let engine = device.named_engine(py)?;
        let (band, numbers) = (&mask.image, &self.numbers);
        let shape = Ix2(band.height() as usize, band.width() as usize);
        if wide {
            let labels = detached(py, || {
                engine.label_band::<u64>(band, numbers, options.connectivity)
            })?;
            let labels: Vec<i64> = bytemuck::allocation::cast_vec(labels);
            return Ok(owned(py, shape, labels)?.into_any());
        }
        self.check_narrow()?;
        let labels = detached(py, || {
            engine.label_band::<u32>(band, numbers, options.connectivity)
        })?;
        let labels: Vec<i32> = bytemuck::allocation::cast_vec(labels);
        Ok(owned(py, shape, labels)?.into_any())
    }

    /// The columns of the components that start in the band; with `wide`, labels are int64.
    fn columns<'py>(
        &self,
        py: Python<'py>,
        measures: &Measures,
        wide: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let components = detached(py, || self.numbers.components(&measures.components))?;
        let components = components.unwrap_or_default();
        if !wide {
            self.check_narrow()?;
        }
        let first = self.numbers.first_component();
        let all = first..first + components.len() as u64;
        let columns = PyDict::new(py);
        if wide {
            let all = all.map(|label| label as i64);
            columns.set_item("label", PyArray1::from_iter(py, all))?;
        } else {
            let all = all.map(|label| label as i32);
            columns.set_item("label", PyArray1::from_iter(py, all))?;
        }
        labels::measures(&columns, &[&components])?;
        Ok(columns)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let numbers = detached(py, || label::BandNumbers::from_bytes(bytes))?;
        Ok(Self { numbers })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let numbers = &this.get().numbers;
        let bytes = detached(this.py(), || numbers.to_bytes())?;
        reduced(this.get_type(), &bytes)
    }
}

impl BandNumbers {
    pub(crate) fn numbers(&self) -> &label::BandNumbers {
        &self.numbers
    }

    /// Refuses more components than labels of type int32 can count.
    pub(crate) fn check_narrow(&self) -> PyResult<()> {
        let count = self.numbers.count();
        if count <= i32::MAX as u64 {
            return Ok(());
        }
        Err(errors::input(format!(
            "the image has {count} components, and labels are of 32 bits, signed: use dtype=int64"
        )))
    }
}

/// The borders in some rows of an image, complete or not.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct ContourPart {
    part: trace::ContourPart,
    /// The contours, once requested, if it is the part of all rows.
    stored: OnceLock<StoredContours>,
}

/// The part of a band, which has the rows `above` and `below` it unless it ends at the frame.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python function has them")]
pub(crate) fn trace_part(
    py: Python<'_>,
    mask: &Mask,
    first_row: u32,
    above: Option<&Mask>,
    below: Option<&Mask>,
    retrieval: Name,
    approximation: Name,
    geometry: Name,
    device: Device,
) -> PyResult<ContourPart> {
    let options = named_options(&retrieval, &approximation, &geometry, None)?.contours;
    let engine = device.named_engine(py)?;
    let part = detached(py, || {
        let mut band = Band::new(&mask.image, first_row);
        if let Some(above) = above {
            band = band.with_above(above.image.row(above.image.height() - 1));
        }
        if let Some(below) = below {
            band = band.with_below(below.image.row(0));
        }
        engine.trace_part(band, &options)
    })?;
    Ok(ContourPart::new(part))
}

impl ContourPart {
    fn new(part: trace::ContourPart) -> Self {
        Self {
            part,
            stored: OnceLock::new(),
        }
    }

    fn stored(&self, py: Python<'_>) -> PyResult<&StoredContours> {
        if let Some(stored) = self.stored.get() {
            return Ok(stored);
        }
        let stored = detached(py, || self.part.try_clone()?.finish_stored())?;
        // Another thread may have been first, with the same result.
        Ok(self.stored.get_or_init(|| stored))
    }

    /// The share `index` of `count` of the contours.
    fn share(stored: &StoredContours, index: usize, count: usize) -> std::ops::Range<usize> {
        let at =
            |index: usize| (stored.len() as u128 * index as u128 / count.max(1) as u128) as usize;
        let end = at((index + 1).min(count));
        at(index).min(end)..end
    }
}

#[pymethods]
impl ContourPart {
    #[getter]
    fn rows(&self) -> (u32, u32) {
        let rows = self.part.rows();
        (rows.start, rows.end)
    }

    /// The borders that lie in the part, and the fragments of those that leave it.
    #[getter]
    fn borders(&self) -> (usize, usize) {
        (self.part.closed_count(), self.part.open_count())
    }

    fn __sizeof__(&self) -> usize {
        self.part.memory()
    }

    /// This part and the one below it as one.
    fn join(&self, py: Python<'_>, lower: &Self) -> PyResult<Self> {
        let part = detached(py, || {
            trace::ContourPart::join(self.part.try_clone()?, lower.part.try_clone()?)
        })?;
        Ok(Self::new(part))
    }

    /// The contours, of the part of all rows.
    fn finish(&self, py: Python<'_>) -> PyResult<HostContours> {
        let contours = detached(py, || self.part.try_clone()?.finish())?;
        Ok(HostContours { contours })
    }

    /// The number of contours, of the part of all rows.
    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.stored(py)?.len())
    }

    /// Writes the share `index` of `count` of the contours as GeoJSON features, one per line.
    fn write_lines(
        &self,
        py: Python<'_>,
        index: usize,
        count: usize,
        path: std::path::PathBuf,
    ) -> PyResult<()> {
        let stored = self.stored(py)?;
        let share = Self::share(stored, index, count);
        detached(py, || {
            let mut output = Output::create(path)?;
            output.fill(|out| formats::write_contours_geojson_lines(stored, share, out))?;
            output.commit()
        })
    }

    /// The polygons of the share `index` of `count` of the contours: their contours' indices, and
    /// their [`rings`].
    fn polygons<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        count: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Rings<'py>)> {
        let stored = self.stored(py)?;
        let share = Self::share(stored, index, count);
        let kinds = &stored.kinds()[share.clone()];
        let outer = (share.start as i64..).zip(kinds);
        let outer = outer.filter(|(_, kind)| **kind == trazar::BorderKind::Outer);
        let indices: Vec<i64> = outer.map(|(index, _)| index).collect();
        Ok((PyArray1::from_vec(py, indices), rings(py, stored, share)?))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let part = detached(py, || trace::ContourPart::from_bytes(bytes))?;
        Ok(Self::new(part))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let part = &this.get().part;
        let bytes = detached(this.py(), || part.to_bytes())?;
        reduced(this.get_type(), &bytes)
    }
}
