//! Which neighbours are equal, as one bit per pixel: all that runs, perimeters and Euler numbers
//! need to know of the labels.

use crate::image::compare::equal_words;

/// The equalities of the pixels of a row with their neighbours to the right and below. A neighbour
/// outside the image is not equal.
#[derive(Default)]
pub(super) struct Planes {
    /// With the pixel to the right.
    pub(super) right: Vec<u64>,
    /// With the pixel below.
    pub(super) below: Vec<u64>,
    /// With the pixel below and to the right.
    pub(super) below_right: Vec<u64>,
    /// With the pixel below and to the left.
    pub(super) below_left: Vec<u64>,
    /// The pixels with a side on which the neighbour is not equal.
    pub(super) border: Vec<u64>,
}

impl Planes {
    /// All planes, in a fixed order.
    pub(super) fn all(&mut self) -> [&mut Vec<u64>; 5] {
        [
            &mut self.right,
            &mut self.below,
            &mut self.below_right,
            &mut self.below_left,
            &mut self.border,
        ]
    }

    /// Nothing is equal, as outside the image.
    pub(super) fn clear(&mut self) {
        for plane in self.all() {
            plane.fill(0);
        }
    }

    /// Finds the border pixels; `above` are the planes of the row above.
    pub(super) fn find_border(&mut self, above: &Self) {
        for i in 0..self.border.len() {
            let left = from_left(&self.right, i);
            self.border[i] = !(self.right[i] & left & self.below[i] & above.below[i]);
        }
    }
}

/// Word `i` of the plane in which each pixel has the bit of its left neighbour.
#[inline(always)]
pub(super) fn from_left(plane: &[u64], i: usize) -> u64 {
    let carried = if i == 0 { 0 } else { plane[i - 1] >> 63 };
    plane[i] << 1 | carried
}

/// Word `i` of the plane in which each pixel has the bit of its right neighbour.
#[inline(always)]
pub(super) fn from_right(plane: &[u64], i: usize) -> u64 {
    let carried = plane.get(i + 1).map_or(0, |word| word << 63);
    plane[i] >> 1 | carried
}

/// Finds which pixels of `row` equal their right neighbours.
pub(super) fn compare_right<T: Copy + PartialEq>(row: &[T], plane: &mut [u64]) {
    equal_words(&row[..row.len() - 1], &row[1..], plane);
}

/// Compares `row` with the row below it.
pub(super) fn compare_below<T: Copy + PartialEq>(row: &[T], next: &[T], planes: &mut Planes) {
    let last = row.len() - 1;
    equal_words(row, next, &mut planes.below);
    equal_words(&row[..last], &next[1..], &mut planes.below_right);
    // Of each pixel but the first, with the place of its left neighbour.
    equal_words(&row[1..], &next[..last], &mut planes.below_left);
    let mut carried = 0;
    for word in &mut planes.below_left {
        let next = *word >> 63;
        *word = *word << 1 | carried;
        carried = next;
    }
}
