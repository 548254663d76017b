//! [`ValueContours`]: contours, grouped by value.

use std::ops::Range;

use glam::IVec2;

use crate::trace::{BorderKind, Contour, Contours, HierarchyRow};

/// The contours of each value of an image, grouped by value in ascending order.
///
/// The group of value k has the contours of the binary image of the pixels with value k, with the
/// same points, in the same order and with the same hierarchy: those of
/// `cv2.findContours(image == k)`.
///
/// ```
/// use trazar::trace::ContourOptions;
/// use trazar::{Engine, Samples, ValueImage};
///
/// let labels = [0u16, 7, 7, 4, 0, 7];
/// let image = ValueImage::new(Samples::new(3, 2, &labels)?)?.background(0)?;
/// let contours = Engine::cpu().trace_values(&image, &ContourOptions::default())?;
/// assert_eq!(contours.values(), [4, 7]);
/// let seven = contours.of_value(7).unwrap();
/// assert_eq!(seven.len(), 1);
/// assert_eq!(seven.contours().next().unwrap().points().len(), 3);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValueContours<T> {
    /// All contours, group after group. Links stay within a group.
    pub(crate) contours: Contours,
    /// Each group's value, ascending.
    pub(crate) values: Vec<T>,
    /// Each group's first contour, then the number of contours.
    pub(crate) groups: Vec<usize>,
}

/// The arrays of [`ValueContours`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValueContourArrays<T> {
    /// As [`ValueContours::contours`].
    pub contours: Contours,
    /// As [`ValueContours::values`].
    pub values: Vec<T>,
    /// As [`ValueContours::group_offsets`].
    pub groups: Vec<usize>,
}

impl<T> ValueContours<T> {
    /// Takes the arrays out.
    pub fn into_arrays(self) -> ValueContourArrays<T> {
        ValueContourArrays {
            contours: self.contours,
            values: self.values,
            groups: self.groups,
        }
    }

    /// The contours of all values, group after group. The hierarchy links contours of one group
    /// only, by index into all contours.
    pub fn contours(&self) -> &Contours {
        &self.contours
    }

    /// The values, in ascending order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Each group's first contour in [`contours`](Self::contours), then the number of contours.
    pub fn group_offsets(&self) -> &[usize] {
        &self.groups
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no values: no pixel counts.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The contours of each value.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ValueGroup<'_, T>>
    where
        T: Copy,
    {
        (0..self.len()).map(|index| self.group(index))
    }

    /// The contours of the value `values()[index]`, if there are that many.
    pub fn get(&self, index: usize) -> Option<ValueGroup<'_, T>>
    where
        T: Copy,
    {
        (index < self.len()).then(|| self.group(index))
    }

    /// The contours of a value, if a pixel has it.
    pub fn of_value(&self, value: T) -> Option<ValueGroup<'_, T>>
    where
        T: Copy + PartialOrd,
    {
        let index = self.values.partition_point(|&other| other < value);
        self.get(index).filter(|group| group.value == value)
    }

    fn group(&self, index: usize) -> ValueGroup<'_, T>
    where
        T: Copy,
    {
        ValueGroup {
            all: &self.contours,
            value: self.values[index],
            range: self.groups[index]..self.groups[index + 1],
        }
    }
}

/// The contours of one value of [`ValueContours`]: some of its arrays' elements, without a copy.
#[derive(Clone, Debug)]
pub struct ValueGroup<'a, T> {
    all: &'a Contours,
    value: T,
    range: Range<usize>,
}

impl<'a, T: Copy> ValueGroup<'a, T> {
    /// The value.
    pub fn value(&self) -> T {
        self.value
    }

    /// The number of contours.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none: false, because each value has an outer border.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Its contours in [`ValueContours::contours`].
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The contours in order. Their [`index`](Contour::index) and links count the contours of all
    /// values.
    pub fn contours(&self) -> impl ExactSizeIterator<Item = Contour<'a>> + use<'a, T> {
        let all = self.all;
        self.range.clone().map(move |index| all.at(index))
    }

    /// All contours' points, one contour after the other.
    pub fn points(&self) -> &'a [IVec2] {
        let offsets = self.offsets();
        &self.all.points()[offsets[0]..offsets[offsets.len() - 1]]
    }

    /// Start of each contour's points, then the end of the last one's, as indices into the points
    /// of all values' contours.
    pub fn offsets(&self) -> &'a [usize] {
        &self.all.offsets()[self.range.start..=self.range.end]
    }

    /// Each contour's kind.
    pub fn kinds(&self) -> &'a [BorderKind] {
        &self.all.kinds()[self.range.clone()]
    }

    /// Each contour's row `[next, previous, first child, parent]`, by index into this group's
    /// contours; -1 for none.
    pub fn hierarchy(&self) -> impl ExactSizeIterator<Item = HierarchyRow> + use<'a, T> {
        let first = self.range.start as i32;
        let rows = &self.all.hierarchy()[self.range.clone()];
        rows.iter()
            .map(move |row| row.map(|link| if link < 0 { link } else { link - first }))
    }
}
