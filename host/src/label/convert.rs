//! Labels as arrays of `ndarray`.

use ndarray::{Array2, ArrayView2};

use super::Labels;

/// The labels as an array view of shape (height, width), without a copy.
impl<'a> From<&'a Labels> for ArrayView2<'a, u32> {
    fn from(labels: &'a Labels) -> Self {
        let shape = (labels.height() as usize, labels.width() as usize);
        Self::from_shape(shape, labels.as_slice()).expect("there is one label per pixel")
    }
}

/// The labels as an array of shape (height, width), without a copy.
impl From<Labels> for Array2<u32> {
    fn from(labels: Labels) -> Self {
        let shape = (labels.height() as usize, labels.width() as usize);
        Self::from_shape_vec(shape, labels.into_vec()).expect("there is one label per pixel")
    }
}
