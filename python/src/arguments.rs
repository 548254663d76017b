//! Arguments that are read without failing, so that the code that refuses them can say what would
//! be right.

use std::fmt;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
#[cfg(not(target_os = "macos"))]
use trazar::glam::IVec2;

use crate::errors;

/// An argument as shown in a message: as Python writes it, but limited in length.
fn shown(object: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 60;
    let text = object.repr().map(|text| text.to_string());
    let text = text.unwrap_or_else(|_| "...".into());
    if text.chars().count() <= MOST && !text.contains('\n') {
        return text;
    }
    let start: String = text.lines().next().unwrap_or_default().into();
    let start: String = start.chars().take(MOST).collect();
    format!("{start}...")
}

/// An argument that should be a name.
pub(crate) enum Name {
    Text(String),
    /// Something else, as shown in a message.
    Other(String),
}

impl Name {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other(_) => None,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Other(shown) => f.write_str(shown),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Name {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(match object.cast::<PyString>() {
            Ok(text) => Self::Text(text.to_string()),
            Err(_) => Self::Other(shown(&object)),
        })
    }
}

/// The value that a name stands for.
pub(crate) fn named<T: Copy>(option: &str, name: &Name, values: &[(&str, T)]) -> PyResult<T> {
    let found = name.text().and_then(|name| {
        let mut values = values.iter();
        values.find(|(known, _)| *known == name)
    });
    found.map(|&(_, value)| value).ok_or_else(|| {
        let names: Vec<_> = values.iter().map(|(known, _)| *known).collect();
        errors::input(format!(
            "{option}={name}: it is one of {}",
            names.join(", ")
        ))
    })
}

/// The value of `all` with this name, by the names that the library gives them.
pub(crate) fn named_by<T: Copy>(
    option: &str,
    name: &Name,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> PyResult<T> {
    let values: Vec<_> = all.iter().map(|&value| (name_of(value), value)).collect();
    named(option, name, &values)
}

/// An argument that should be a whole number.
pub(crate) enum Integer {
    Value(i64),
    /// Something else, as shown in a message.
    Other(String),
}

impl Integer {
    pub(crate) fn value(&self) -> Option<i64> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Other(_) => None,
        }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Other(shown) => f.write_str(shown),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Integer {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(match object.extract::<i64>() {
            Ok(value) => Self::Value(value),
            Err(_) => Self::Other(shown(&object)),
        })
    }
}

/// The offset added to x and y of each point: two whole numbers of 32 bits, in a tuple, a list or
/// an array.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Offset {
    pub(crate) x: i32,
    pub(crate) y: i32,
}

impl Offset {
    #[cfg(not(target_os = "macos"))]
    pub(crate) fn vector(self) -> IVec2 {
        IVec2::new(self.x, self.y)
    }

    /// Refuses an offset that would move points of an image of this size out of 32 bits.
    pub(crate) fn check_fits(self, width: u32, height: u32) -> PyResult<()> {
        let fits = |offset: i32, side: u32| {
            i64::from(offset) + i64::from(side.saturating_sub(1)) <= i32::MAX.into()
        };
        if self == (Self { x: 0, y: 0 }) || fits(self.x, width) && fits(self.y, height) {
            return Ok(());
        }
        Err(errors::input(format!(
            "offset=({}, {}): points of an image of {width} × {height} pixels, with the offset \
             added, must have 32 bits: up to {}",
            self.x,
            self.y,
            i32::MAX
        )))
    }
}

/// The offset of an image of this size, checked.
#[pyfunction]
pub(crate) fn checked_offset(offset: Offset, width: u32, height: u32) -> PyResult<(i32, i32)> {
    offset.check_fits(width, height)?;
    Ok((offset.x, offset.y))
}

impl<'py> FromPyObject<'_, 'py> for Offset {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok((x, y)) = object.extract::<(i32, i32)>() {
            return Ok(Self { x, y });
        }
        // A list, or an array of shape (2,), (1, 2) or (2, 1).
        let values = || -> PyResult<Vec<i32>> {
            let numpy = object.py().import(intern!(object.py(), "numpy"))?;
            let array = numpy.call_method1(intern!(object.py(), "asarray"), (object,))?;
            let flat = array.call_method0(intern!(object.py(), "ravel"))?;
            flat.call_method0(intern!(object.py(), "tolist"))?.extract()
        };
        match values().as_deref() {
            Ok(&[x, y]) => Ok(Self { x, y }),
            _ => Err(errors::input(format!(
                "offset={}: it is (x, y), two whole numbers from {} to {}",
                shown(&object),
                i32::MIN,
                i32::MAX
            ))),
        }
    }
}

/// The value that pixels are compared with: `image > threshold`, as NumPy 2 compares.
pub(crate) struct Threshold<'py> {
    /// The value passed to NumPy when the library does not compare.
    pub(crate) scalar: Bound<'py, PyAny>,
    value: Value,
    /// Whether it is a Python number, which is rounded to the type of a floating-point array (NEP
    /// 50). A NumPy scalar is compared as it is.
    is_weak: bool,
}

#[derive(Clone, Copy)]
enum Value {
    Integer(i64),
    Float(f64),
    /// A number that fits neither.
    Other,
}

impl<'py> Threshold<'py> {
    /// A Python or NumPy number, or an array without dimensions.
    pub(crate) fn new(given: &Bound<'py, PyAny>) -> PyResult<Self> {
        let is_weak = given.is_exact_instance_of::<pyo3::types::PyFloat>()
            || given.is_exact_instance_of::<pyo3::types::PyInt>()
            || given.is_exact_instance_of::<pyo3::types::PyBool>();
        if is_weak {
            return Ok(Self {
                value: Value::of(given),
                scalar: given.clone(),
                is_weak,
            });
        }
        let py = given.py();
        let numpy = py.import(intern!(py, "numpy"))?;
        let no_number = || {
            errors::input(format!(
                "threshold={}: it is a number, without which what is not 0 is foreground",
                shown(given)
            ))
        };
        let array = numpy.call_method1(intern!(py, "asarray"), (given,));
        let array = array.map_err(|_| no_number())?;
        let shape = array.getattr(intern!(py, "shape"))?;
        if !shape.is_empty()? {
            return Err(errors::input(format!(
                "threshold of shape {}: it is one number; compare with an array first, and give \
                 image > threshold",
                shown(&shape)
            )));
        }
        let dtype = array.getattr(intern!(py, "dtype"))?;
        let kind: String = dtype.getattr(intern!(py, "kind"))?.extract()?;
        if !matches!(kind.as_str(), "b" | "i" | "u" | "f") {
            return Err(no_number());
        }
        let size: usize = dtype.getattr(intern!(py, "itemsize"))?.extract()?;
        let value = match size {
            ..=8 => Value::of(&array.call_method0(intern!(py, "item"))?),
            _ => Value::Other,
        };
        Ok(Self {
            scalar: array.get_item(())?,
            value,
            is_weak,
        })
    }

    /// The threshold for an array of `float16`.
    pub(crate) fn for_halves(&self) -> PyResult<Self> {
        let py = self.scalar.py();
        if !self.is_weak {
            return Ok(Self {
                scalar: self.scalar.clone(),
                ..*self
            });
        }
        let numpy = py.import(intern!(py, "numpy"))?;
        let rounded = numpy.call_method1(intern!(py, "float16"), (&self.scalar,));
        Self::new(&rounded.map_err(|error| self.refused(&error))?)
    }

    /// Whether, of the values 0 and 1, only 1 is greater.
    pub(crate) fn divides_booleans(&self) -> bool {
        match self.value {
            Value::Integer(value) => value == 0,
            Value::Float(value) => (0.0..1.0).contains(&value),
            Value::Other => false,
        }
    }

    /// The error for a threshold that NumPy does not compare with.
    pub(crate) fn refused(&self, error: &PyErr) -> PyErr {
        errors::input(format!(
            "threshold={}: {}",
            shown(&self.scalar),
            error.value(self.scalar.py())
        ))
    }
}

impl Value {
    fn of(number: &Bound<'_, PyAny>) -> Self {
        if let Ok(value) = number.extract::<i64>() {
            return Self::Integer(value);
        }
        match number.cast::<pyo3::types::PyFloat>() {
            Ok(value) => Self::Float(pyo3::types::PyFloatMethods::value(value)),
            Err(_) => Self::Other,
        }
    }
}

/// An element type that is compared with a limit of the same type.
pub(crate) trait Limit: Sized {
    /// The largest value that is not greater than the threshold; `None` if there is none, or it is
    /// unknown. A value is greater than the threshold exactly if it is greater than this.
    fn at_most(threshold: &Threshold<'_>) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Limit for $t {
            fn at_most(threshold: &Threshold<'_>) -> Option<Self> {
                match threshold.value {
                    Value::Integer(value) if value < Self::MIN.into() => None,
                    Value::Integer(value) => Some(value.try_into().unwrap_or(Self::MAX)),
                    Value::Float(value) if value < Self::MIN.into() => None,
                    // Nothing is greater than NaN.
                    Value::Float(value) if value.is_nan() => Some(Self::MAX),
                    // Saturates.
                    Value::Float(value) => Some(value.floor() as Self),
                    Value::Other => None,
                }
            }
        }
    )*};
}

integers!(u8, u16, i16, i32);

impl Limit for f32 {
    fn at_most(threshold: &Threshold<'_>) -> Option<Self> {
        let value = f64::at_most(threshold)?;
        let rounded = value as Self;
        // All values of the type are compared exactly by this: none lies between the two.
        Some(if !threshold.is_weak && f64::from(rounded) > value {
            rounded.next_down()
        } else {
            rounded
        })
    }
}

impl Limit for f64 {
    fn at_most(threshold: &Threshold<'_>) -> Option<Self> {
        match threshold.value {
            Value::Integer(value) => Some(value as Self),
            Value::Float(value) => Some(value),
            Value::Other => None,
        }
    }
}
