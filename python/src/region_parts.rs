//! Bands of rows of an array of values, traced separately and joined: what `trazar.dask` passes to
//! its workers.

use numpy::{Element, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use trazar::trace::{self, ValueBand};
use trazar::{PixelValue, RegionOptions, ValueImage};

use crate::arrays::python_bytes;
use crate::errors;
use crate::parts::{Reduced, detached};
use crate::regions::{Counted, Traced, neighbours, on_values, traced};
use crate::view::View;

/// Defines [`AnyPart`].
macro_rules! parts_of_types {
    ($($variant:ident($type:ty, $name:literal),)*) => {
        /// The part of a band with values of one type.
        enum AnyPart {
            $($variant(trace::RegionPart<$type>),)*
        }

        $(
            impl Part for $type {
                fn wrap(part: trace::RegionPart<Self>) -> AnyPart {
                    AnyPart::$variant(part)
                }
            }
        )*

        impl AnyPart {
            /// The type's name, as NumPy has it.
            fn dtype(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            fn join(&self, lower: &Self) -> Option<trazar::Result<Self>> {
                match (self, lower) {
                    $((Self::$variant(upper), Self::$variant(lower)) => Some((|| {
                        let (upper, lower) = (upper.try_clone()?, lower.try_clone()?);
                        Ok(Self::$variant(trace::RegionPart::join(upper, lower)?))
                    })()),)*
                    _ => None,
                }
            }

            fn from_bytes(dtype: &str, bytes: &[u8]) -> Option<trazar::Result<Self>> {
                match dtype {
                    $($name => Some(trace::RegionPart::from_bytes(bytes).map(Self::$variant)),)*
                    _ => None,
                }
            }
        }

        /// `$do` with the part as `$part`, whatever its type.
        macro_rules! with_part {
            ($any:expr, $part:ident => $do:expr) => {
                match $any {
                    $(AnyPart::$variant($part) => $do,)*
                }
            };
        }
    };
}

parts_of_types! {
    U8(u8, "uint8"),
    U16(u16, "uint16"),
    U32(u32, "uint32"),
    I16(i16, "int16"),
    I32(i32, "int32"),
    I64(i64, "int64"),
    F32(f32, "float32"),
}

/// A type of values with parts.
trait Part: PixelValue + Element {
    fn wrap(part: trace::RegionPart<Self>) -> AnyPart;
}

/// The rings of regions in some rows of an array, complete or not.
#[pyclass(frozen, module = "trazar._trazar")]
pub(crate) struct RegionPart {
    part: AnyPart,
}

/// Rows of an array of values, with their mask.
type Rows<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// The part of a band. `above` ends with the row above it and `below` begins with the row below it,
/// unless the band ends at the frame.
#[pyfunction]
pub(crate) fn trace_region_part(
    rows: Rows<'_>,
    first_row: u32,
    above: Option<Rows<'_>>,
    below: Option<Rows<'_>>,
    background: &Bound<'_, PyAny>,
    connectivity: u32,
) -> PyResult<RegionPart> {
    fn of<T: Part>(
        array: &Bound<'_, PyArray2<T>>,
        mask: Option<&Bound<'_, PyAny>>,
        first_row: u32,
        [above, below]: [Option<Rows<'_>>; 2],
        background: &Bound<'_, PyAny>,
        options: RegionOptions,
    ) -> PyResult<RegionPart> {
        let beside = |rows: Option<Rows<'_>>| -> PyResult<Option<(View<T>, Counted<T>)>> {
            let Some((array, mask)) = rows else {
                return Ok(None);
            };
            let array = array.cast::<PyArray2<T>>();
            let array = array.map_err(|_| PyTypeError::new_err("bands of several types"))?;
            let counted = Counted::new(background, mask.as_ref())?;
            Ok(Some((View::new(array.to_dyn())?, counted)))
        };
        let (above, below) = (beside(above)?, beside(below)?);
        let counted = Counted::new(background, mask)?;
        let view = View::new(array.to_dyn())?;
        let part = detached(array.py(), move || {
            let own = counted.image(view.view())?;
            let above = above.as_ref().map(image_of).transpose()?;
            let below = below.as_ref().map(image_of).transpose()?;
            let mut band = ValueBand::new(&own, first_row);
            if let Some(above) = &above {
                band = band.with_above(above);
            }
            if let Some(below) = &below {
                band = band.with_below(below);
            }
            trace::RegionPart::trace(band, &options)
        })?;
        Ok(RegionPart {
            part: T::wrap(part),
        })
    }
    let options = RegionOptions::default().connectivity(neighbours(connectivity));
    let (array, mask) = rows;
    let beside = [above, below];
    on_values!(
        &array,
        of(mask.as_ref(), first_row, beside, background, options)
    )
}

/// The image of some rows.
fn image_of<'a, T: Part>(
    (view, counted): &'a (View<T>, Counted<T>),
) -> trazar::Result<ValueImage<'a, T>> {
    counted.image(view.view())
}

#[pymethods]
impl RegionPart {
    #[getter]
    fn rows(&self) -> (u32, u32) {
        let rows = with_part!(&self.part, part => part.rows());
        (rows.start, rows.end)
    }

    fn __sizeof__(&self) -> usize {
        with_part!(&self.part, part => part.memory())
    }

    /// This part and the one below it as one.
    fn join(&self, py: Python<'_>, lower: &Self) -> PyResult<Self> {
        match detached(py, || self.part.join(&lower.part).transpose())? {
            Some(part) => Ok(Self { part }),
            None => Err(errors::input(format!(
                "bands of {} and of {} are of no one image",
                self.part.dtype(),
                lower.part.dtype()
            ))),
        }
    }

    /// The regions, of the part of all rows.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Traced<'py>> {
        with_part!(&self.part, part => {
            traced(py, detached(py, || part.try_clone()?.finish())?)
        })
    }

    /// The number of regions, of the part of all rows.
    fn count(&self, py: Python<'_>) -> PyResult<u32> {
        with_part!(&self.part, part => {
            detached(py, || Ok(part.try_clone()?.finish_stored()?.count()))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, dtype: &str, bytes: &[u8]) -> PyResult<Self> {
        match detached(py, || AnyPart::from_bytes(dtype, bytes).transpose())? {
            Some(part) => Ok(Self { part }),
            None => Err(errors::input(format!("there are no regions of {dtype}"))),
        }
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = this.py();
        let part = &this.get().part;
        let bytes = detached(py, || with_part!(part, part => part.to_bytes()))?;
        let from_bytes = this.get_type().getattr(intern!(py, "from_bytes"))?;
        let arguments = (part.dtype(), python_bytes(py, &bytes)?);
        Ok((from_bytes, arguments.into_pyobject(py)?))
    }
}
