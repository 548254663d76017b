//! Shapes and strides of arrays.

use super::TensorError;

/// `shape` in the format's integers, if it has `len` elements.
pub(crate) fn signed_shape(shape: &[usize], len: usize) -> Result<Vec<i64>, TensorError> {
    let signed: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
    if count(&signed) == Some(len) {
        Ok(signed)
    } else {
        Err(TensorError::Shape { shape: signed, len })
    }
}

/// The number of elements of a shape; `None` if it has too many, or a negative extent.
pub(crate) fn count(shape: &[i64]) -> Option<usize> {
    let extents = shape.iter().map(|&n| usize::try_from(n).ok());
    // A later zero must not hide a negative extent, nor an earlier one an overflow.
    let extents: Vec<usize> = extents.collect::<Option<_>>()?;
    if extents.contains(&0) {
        return Some(0);
    }
    extents
        .iter()
        .try_fold(1usize, |count, &n| count.checked_mul(n))
}

/// The steps of a contiguous array in C's order, whose elements are `step` apart.
pub(super) fn contiguous(shape: &[i64], step: i64) -> Vec<i64> {
    let mut strides = vec![step; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i].max(1));
    }
    strides
}

/// Checks that elements `step` apart, with these steps of the dimensions, follow each other. The
/// steps of dimensions with one element don't matter.
pub(crate) fn check_strides(shape: &[i64], strides: &[i64], step: i64) -> Result<(), TensorError> {
    let expected = contiguous(shape, step);
    let is_contiguous = shape.contains(&0)
        || shape.len() == strides.len()
            && (0..shape.len()).all(|i| shape[i] == 1 || strides[i] == expected[i]);
    if is_contiguous {
        return Ok(());
    }
    Err(TensorError::Strides {
        shape: shape.to_vec(),
        strides: strides.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_strides() {
        assert_eq!(count(&[]), Some(1));
        assert_eq!(count(&[3, 0, -1]), None);
        assert_eq!(count(&[i64::MAX, i64::MAX]), None);
        assert_eq!(count(&[i64::MAX, i64::MAX, 0]), Some(0));
        assert_eq!(contiguous(&[2, 3, 4], 1), [12, 4, 1]);
        assert_eq!(contiguous(&[2, 3], 4), [12, 4]);
        assert!(check_strides(&[2, 3], &[3, 1], 1).is_ok());
        assert!(check_strides(&[2, 3], &[4, 1], 1).is_err());
        assert!(check_strides(&[2, 3], &[1, 2], 1).is_err());
        assert!(check_strides(&[2, 3], &[3], 1).is_err());
        assert!(check_strides(&[1, 3], &[99, 1], 1).is_ok());
        assert!(check_strides(&[5, 0], &[7, 7], 1).is_ok());
    }
}
