//! [`Measures`]: a table with a row for each label.

use super::properties::Property;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Labels, numbers of pixels, rows and columns of boxes, Euler numbers.
    Integers(Vec<i64>),
    /// All others.
    Floats(Vec<f64>),
}

/// A column of a table of measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub(super) property: Property,
    pub(super) name: String,
    pub(super) values: Values,
}

impl Column {
    /// The property that it belongs to.
    pub fn property(&self) -> Property {
        self.property
    }

    /// The property's name, with the value's indices if it has several numbers: `bbox-0`,
    /// `moments-0-1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One value per label.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The values, and the name.
    pub fn into_parts(self) -> (String, Values) {
        (self.name, self.values)
    }
}

/// Measures of labels: a row for each label in the order of the labels' values, and a column for
/// each number of each property in the order in which the properties were asked for.
///
/// ```
/// use trazar::measure::{MeasureOptions, Property};
/// use trazar::{Engine, Samples};
///
/// let labels = [7u16, 7, 0, 0, 7, 5];
/// let properties = [Property::Label, Property::Area, Property::Centroid];
/// let options = MeasureOptions::default().properties(properties);
/// let measures = Engine::cpu().measure(Samples::new(3, 2, &labels)?, &options)?;
/// assert_eq!(measures.len(), 2);
/// assert_eq!(measures.integers("label"), Some(&[5, 7][..]));
/// assert_eq!(measures.floats("area"), Some(&[1.0, 3.0][..]));
/// assert_eq!(measures.floats("centroid-1"), Some(&[2.0, 2.0 / 3.0][..]));
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    pub(super) len: usize,
    pub(super) columns: Vec<Column>,
}

impl Measures {
    /// The number of labels.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// All columns.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The values of a column of integers, if there is one of this name.
    pub fn integers(&self, name: &str) -> Option<&[i64]> {
        match &self.column(name)?.values {
            Values::Integers(values) => Some(values),
            Values::Floats(_) => None,
        }
    }

    /// The values of a column of floating-point numbers, if there is one of this name.
    pub fn floats(&self, name: &str) -> Option<&[f64]> {
        match &self.column(name)?.values {
            Values::Integers(_) => None,
            Values::Floats(values) => Some(values),
        }
    }
}
