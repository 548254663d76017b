//! Files of regions.

use std::io::Write;
use std::path::PathBuf;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use trazar::Contours;
use trazar::formats::{
    self, Affine, Crs, FileValue, GeoReference, RegionSource, RegionWriteOptions,
};

use crate::arguments::{Name, named};
use crate::arrays::collect;
use crate::contours::{HostContours, written};
use crate::errors;
use crate::regions::on_values;

/// Regions whose arrays Python has.
struct Given<T> {
    contours: Py<HostContours>,
    /// Of each ring.
    values: Vec<T>,
    regions: Vec<u32>,
    /// The number of pixels of each outer ring's region, unless rings enclose just those.
    pixels: Option<Vec<u64>>,
}

impl<T: FileValue> RegionSource for Given<T> {
    type Value = T;
    type Rings = Contours;

    fn rings(&self) -> &Contours {
        &self.contours.get().contours
    }

    fn value(&self, ring: usize) -> T {
        self.values[ring]
    }

    fn region(&self, ring: usize) -> u32 {
        self.regions[ring]
    }

    fn pixels(&self, ring: usize) -> Option<u64> {
        self.pixels.as_ref().map(|pixels| pixels[ring])
    }
}

/// A copy of an array with a number per ring.
fn column<T: Element + Copy>(array: &Bound<'_, PyArray1<T>>, rings: usize) -> PyResult<Vec<T>> {
    let array = array.try_readonly();
    let array = array.map_err(|error| PyTypeError::new_err(error.to_string()))?;
    let numbers = array.as_array();
    if numbers.len() != rings {
        return Err(PyTypeError::new_err("an array with a number per ring"));
    }
    collect(numbers.iter().copied(), "the values of regions").map_err(errors::from_library)
}

/// Writes a file that appears complete or not at all. `transform` is `None` for pixels.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "only the module's Python code calls it"
)]
pub(crate) fn write_regions(
    contours: &Bound<'_, HostContours>,
    values: &Bound<'_, PyAny>,
    regions: &Bound<'_, PyAny>,
    pixels: Option<&Bound<'_, PyAny>>,
    format: Name,
    path: PathBuf,
    transform: Option<[f64; 6]>,
    epsg: Option<u32>,
) -> PyResult<()> {
    let is_flatgeobuf = named(
        "format",
        &format,
        &[("geojson", false), ("flatgeobuf", true)],
    )?;
    let rings = &contours.get().contours;
    let mut georeference = GeoReference::default();
    if let Some(transform) = transform {
        let affine = Affine::new(transform, rings.width(), rings.height());
        georeference.transform = Some(affine.map_err(errors::from_library)?);
        georeference.crs = epsg.map(Crs::Epsg);
    }
    let options = RegionWriteOptions::default().georeference(georeference);
    on_values!(
        PyArray1,
        values,
        write_of(contours, regions, pixels, is_flatgeobuf, path, options)
    )
}

/// Writes regions with values of a type.
fn write_of<T: FileValue + Element>(
    values: &Bound<'_, PyArray1<T>>,
    contours: &Bound<'_, HostContours>,
    regions: &Bound<'_, PyAny>,
    pixels: Option<&Bound<'_, PyAny>>,
    is_flatgeobuf: bool,
    path: PathBuf,
    options: RegionWriteOptions,
) -> PyResult<()> {
    let rings = &contours.get().contours;
    let given = Given {
        contours: contours.clone().unbind(),
        values: column(values, rings.len())?,
        regions: column(regions.cast()?, rings.len())?,
        pixels: pixels
            .map(|pixels| column(pixels.cast()?, rings.len()))
            .transpose()?,
    };
    let write = move |out: &mut dyn Write| match is_flatgeobuf {
        true => formats::write_regions_flatgeobuf(&given, &options, out),
        false => formats::write_regions_geojson(&given, &options, out),
    };
    written(contours.py(), rings.points().len(), Some(path), write).map(drop)
}
