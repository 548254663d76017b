//! Contours in a GPU's memory.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use trazar::Geometry;
use trazar::cuda::Queue;
use trazar::{DeviceContourBatch, DeviceContours as LibraryContours, TraceAlgorithm, TraceOptions};

use super::array::{DeviceArray, Kind};
use super::input::Input;
use crate::arguments::{Integer, Name, Offset};
use crate::contours::{HostContours, named_options, opencv_options};
use crate::errors;

/// The traced contours.
enum Traced {
    Image(LibraryContours<Queue>),
    Batch(DeviceContourBatch<Queue>),
}

impl Traced {
    fn contours(&self) -> &LibraryContours<Queue> {
        match self {
            Self::Image(contours) => contours,
            Self::Batch(batch) => batch.contours(),
        }
    }

    fn into_contours(self) -> LibraryContours<Queue> {
        match self {
            Self::Image(contours) => contours,
            Self::Batch(batch) => batch.into_contours(),
        }
    }

    /// The number of contours before each image, and that of all.
    fn image_offsets(&self) -> Vec<u32> {
        match self {
            Self::Image(contours) => vec![0, contours.len() as u32],
            Self::Batch(batch) => batch.image_offsets().to_vec(),
        }
    }
}

/// Contours in a GPU's memory.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct DeviceContours {
    traced: Arc<Traced>,
}

/// Traces the images of `input`.
fn traced(py: Python<'_>, input: Input<'_>, options: &TraceOptions) -> PyResult<Traced> {
    let traced = {
        let tracer = &input.place.tracer;
        let image = |image: trazar::Result<_>| -> trazar::Result<Traced> {
            Ok(Traced::Image(tracer.trace(&image?, options)?))
        };
        let batch = |batch: trazar::Result<_>| -> trazar::Result<Traced> {
            Ok(Traced::Batch(
                tracer.trace_batch(&batch?, &options.contours)?,
            ))
        };
        match input.images {
            None => {
                let packed = input.pack();
                py.detach(|| image(packed))
            }
            Some(_) => {
                check_batch(options)?;
                let packed = input.pack_batch();
                py.detach(|| batch(packed))
            }
        }
    };
    // Before returning an error too: the queued work may still read the array.
    let finished = input.finish();
    let traced = traced.map_err(errors::from_library)?;
    finished?;
    Ok(traced)
}

/// Refuses a batch by another algorithm than the one that traces several images at once.
fn check_batch(options: &TraceOptions) -> PyResult<()> {
    match options.algorithm {
        None | Some(TraceAlgorithm::Fragments) => Ok(()),
        Some(other) => Err(errors::input(format!(
            "a batch is traced by fragments, not by {other}"
        ))),
    }
}

/// [`trace`](crate::contours::trace) of an array in a GPU's memory.
#[pyfunction]
pub(crate) fn device_trace<'py>(
    images: &Bound<'py, PyAny>,
    batch: bool,
    retrieval: Name,
    approximation: Name,
    geometry: Name,
    algorithm: Option<Name>,
    threshold: Option<&Bound<'py, PyAny>>,
) -> PyResult<DeviceContours> {
    let options = named_options(&retrieval, &approximation, &geometry, algorithm.as_ref())?;
    let input = Input::new(images, threshold, batch)?;
    let traced = Arc::new(traced(images.py(), input, &options)?);
    Ok(DeviceContours { traced })
}

/// `cv2.findContours` of each image of an array in a GPU's memory, to arrays there. Waits for the
/// numbers of points.
#[pyfunction]
pub(crate) fn device_find_contours<'py>(
    images: &Bound<'py, PyAny>,
    batch: bool,
    mode: Integer,
    method: Integer,
    offset: Offset,
    threshold: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = images.py();
    let options = opencv_options(&mode, &method)?;
    let input = Input::new(images, threshold, batch)?;
    offset.check_fits(input.width, input.height)?;
    let tracer = input.place.tracer.clone();
    let traced = traced(py, input, &options)?;
    let image_offsets = traced.image_offsets();
    let found = traced.into_contours();
    let (count, point_count) = (found.len(), found.point_count());
    let mut buffers = found.into_buffers();
    let offsets = py.detach(|| {
        tracer.translate_points(&mut buffers.points, offset.vector())?;
        Ok::<_, trazar::Error>(buffers.offsets.to_vec()?)
    });
    let offsets = offsets.map_err(errors::from_library)?;
    let points = DeviceArray::owning(buffers.points, Kind::Int32, vec![point_count, 2]);
    let hierarchy = DeviceArray::owning(buffers.hierarchy, Kind::Int32, vec![count, 4]);
    let found = PyList::empty(py);
    for range in image_offsets.windows(2) {
        let [begin, end] = [range[0] as usize, range[1] as usize];
        let contours = offsets[begin..=end].windows(2).map(|range| {
            let [begin, end] = [range[0] as usize, range[1] as usize];
            Bound::new(py, points.rows(begin, end, vec![end - begin, 1, 2]))
        });
        let contours = PyTuple::new(py, contours.collect::<PyResult<Vec<_>>>()?)?;
        let count = end - begin;
        let hierarchy = match count {
            0 => None,
            _ => Some(hierarchy.rows(begin, end, vec![1, count, 4])),
        };
        found.append((contours, hierarchy))?;
    }
    Ok(found)
}

#[pymethods]
impl DeviceContours {
    #[getter]
    fn width(&self) -> u32 {
        self.traced.contours().width()
    }

    #[getter]
    fn height(&self) -> u32 {
        self.traced.contours().height()
    }

    #[getter]
    fn geometry(&self) -> &'static str {
        match self.traced.contours().geometry() {
            Geometry::Edges => "edges",
            _ => "centers",
        }
    }

    #[getter]
    fn device(&self) -> String {
        let stream = self.traced.contours().points().stream();
        format!("cuda:{}", stream.device().info().index)
    }

    /// The number of contours before each image, and that of all.
    #[getter]
    fn image_offsets(&self) -> Vec<u32> {
        self.traced.image_offsets()
    }

    fn __len__(&self) -> usize {
        self.traced.contours().len()
    }

    #[getter]
    fn points(&self) -> DeviceArray {
        let contours = self.traced.contours();
        let shape = vec![contours.point_count(), 2];
        DeviceArray::new(contours.points(), Kind::Int32, shape, self.traced.clone())
    }

    #[getter]
    fn offsets(&self) -> DeviceArray {
        let offsets = self.traced.contours().offsets();
        DeviceArray::new(
            offsets,
            Kind::Int32,
            vec![offsets.len()],
            self.traced.clone(),
        )
    }

    #[getter]
    fn kinds(&self) -> DeviceArray {
        let kinds = self.traced.contours().kinds();
        DeviceArray::new(kinds, Kind::Uint8, vec![kinds.len()], self.traced.clone())
    }

    #[getter]
    fn hierarchy(&self) -> DeviceArray {
        let contours = self.traced.contours();
        let shape = vec![contours.len(), 4];
        DeviceArray::new(
            contours.hierarchy(),
            Kind::Int32,
            shape,
            self.traced.clone(),
        )
    }

    /// The contours on the host, of a batch one after the other.
    fn to_host(&self, py: Python<'_>) -> PyResult<HostContours> {
        let contours = py.detach(|| self.traced.contours().to_host());
        let contours = contours.map_err(errors::from_library)?;
        Ok(HostContours { contours })
    }

    /// The contours of each image on the host.
    fn images<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let images = py.detach(|| match &*self.traced {
            Traced::Image(contours) => Ok(vec![contours.to_host()?]),
            Traced::Batch(batch) => batch.to_host(),
        });
        let images = images.map_err(errors::from_library)?;
        let images = images.into_iter().map(|contours| HostContours { contours });
        let images: Vec<_> = images
            .map(|each| Bound::new(py, each))
            .collect::<PyResult<_>>()?;
        PyList::new(py, images)
    }
}
