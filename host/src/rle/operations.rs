//! Unions, intersections and overlaps of masks, without their images.

use super::{Rle, copy};
use crate::error::{Error, OptionProblem, Result};
use crate::memory::{collect, push};

/// How masks are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Merge {
    /// Foreground of any of them.
    Union,
    /// Foreground of all of them.
    Intersection,
}

/// Merges masks into one. Masks of different sizes, and no masks, give a mask without pixels, as
/// `pycocotools.mask.merge` does.
///
/// ```
/// use trazar::BinaryImage;
/// use trazar::rle::{Merge, Rle, merge};
///
/// let mask = |art| BinaryImage::from_art(art).and_then(|image| Rle::from_image(&image));
/// let masks = [mask("##.")?, mask(".##")?];
/// assert_eq!(merge(&masks, Merge::Intersection)?.counts(), [1, 1, 1]);
/// assert_eq!(merge(&masks, Merge::Union)?.counts(), [0, 3]);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn merge(masks: &[Rle], how: Merge) -> Result<Rle> {
    let Some((first, others)) = masks.split_first() else {
        return Ok(Rle::default());
    };
    let mut merged = copy(first)?;
    for mask in others {
        if (mask.height, mask.width) != (first.height, first.width) {
            return Ok(Rle::default());
        }
        let mut counts = Vec::new();
        let (mut count, mut was) = (0, false);
        let mut walk = Walk::new(&merged, mask);
        loop {
            let (length, [a, b], is_end) = walk.step();
            count += length;
            let is = match how {
                Merge::Union => a || b,
                Merge::Intersection => a && b,
            };
            if is != was || is_end {
                push(&mut counts, count, "run lengths")?;
                count = 0;
            }
            was = is;
            if is_end {
                break;
            }
        }
        merged.counts = counts;
    }
    Ok(merged)
}

impl Rle {
    /// The intersection of two masks divided by their union; of a crowd, by this mask's area
    /// instead. 0 if the masks' boxes do not overlap; `None` if they do and the sizes of the masks
    /// differ.
    ///
    /// ```
    /// use trazar::rle::Rle;
    ///
    /// let [a, b] = [Rle::new(1, 4, vec![0, 2, 2])?, Rle::new(1, 4, vec![1, 3])?];
    /// assert_eq!(a.iou(&b, false), Some(0.25));
    /// assert_eq!(a.iou(&b, true), Some(0.5));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn iou(&self, other: &Self, other_is_crowd: bool) -> Option<f64> {
        let boxes = [self.bounding_box(), other.bounding_box()];
        self.iou_in(other, other_is_crowd, boxes)
    }

    /// As [`iou`](Self::iou), with the boxes of both masks.
    fn iou_in(&self, other: &Self, other_is_crowd: bool, boxes: [[u32; 4]; 2]) -> Option<f64> {
        let overlap = |a: u32, a_len: u32, b: u32, b_len: u32| {
            (u64::from(a) + u64::from(a_len)).min(u64::from(b) + u64::from(b_len))
                > u64::from(a.max(b))
        };
        let [a, b] = boxes;
        if !(overlap(a[0], a[2], b[0], b[2]) && overlap(a[1], a[3], b[1], b[3])) {
            return Some(0.0);
        }
        if (self.height, self.width) != (other.height, other.width) {
            return None;
        }
        let (mut both, mut any) = (0u64, 0u64);
        let mut walk = Walk::new(self, other);
        let mut is = [false; 2];
        loop {
            let (length, next, is_end) = walk.step();
            if is[0] || is[1] {
                any += u64::from(length);
            }
            if is[0] && is[1] {
                both += u64::from(length);
            }
            if is_end {
                break;
            }
            is = next;
        }
        if other_is_crowd {
            any = self.area();
        }
        Some(if both == 0 {
            0.0
        } else {
            both as f64 / any as f64
        })
    }
}

/// The [overlap](Rle::iou) of each mask of `found` with each mask of `truth`, of which `is_crowd`
/// says which are crowds. The overlaps with the first mask of `truth` come first.
///
/// # Errors
/// [`Error::InvalidOption`](crate::Error::InvalidOption) unless `is_crowd` has one value for each
/// of `truth`; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn iou_of_all(found: &[Rle], truth: &[Rle], is_crowd: &[bool]) -> Result<Vec<Option<f64>>> {
    if truth.len() != is_crowd.len() {
        return Err(Error::option(
            "is_crowd",
            OptionProblem::Conflict,
            format!(
                "{} values say which of {} masks are crowds: give one for each",
                is_crowd.len(),
                truth.len()
            ),
        ));
    }
    let boxes_of = |masks: &[Rle]| collect(masks.iter().map(Rle::bounding_box), "boxes of masks");
    let (boxes, true_boxes) = (boxes_of(found)?, boxes_of(truth)?);
    let truth = truth.iter().zip(is_crowd).zip(true_boxes);
    let pairs = truth.flat_map(|((truth, &is_crowd), true_box)| {
        let found = found.iter().zip(&boxes);
        found.map(move |(found, &own_box)| found.iou_in(truth, is_crowd, [own_box, true_box]))
    });
    collect(pairs, "the overlaps of masks")
}

/// Two masks of one size, read together.
struct Walk<'a> {
    counts: [std::slice::Iter<'a, u32>; 2],
    /// What is left of each mask's current run, and whether it is foreground.
    left: [u32; 2],
    is: [bool; 2],
    /// The pixels that are left.
    rest: u64,
}

impl<'a> Walk<'a> {
    fn new(a: &'a Rle, b: &'a Rle) -> Self {
        let mut counts = [a.counts.iter(), b.counts.iter()];
        let left = counts
            .each_mut()
            .map(|counts| counts.next().copied().unwrap_or(0));
        Self {
            counts,
            left,
            is: [false; 2],
            rest: u64::from(a.height) * u64::from(a.width),
        }
    }

    /// The number of pixels to the next end of a run, whether the pixels after it are foreground in
    /// each mask, and whether none follow. Runs without pixels are taken one by one, as other runs.
    fn step(&mut self) -> (u32, [bool; 2], bool) {
        let length = self.left[0].min(self.left[1]);
        self.rest -= u64::from(length);
        for side in 0..2 {
            self.left[side] -= length;
            if self.left[side] == 0
                && let Some(&next) = self.counts[side].next()
            {
                self.left[side] = next;
                self.is[side] = !self.is[side];
            }
        }
        (length, self.is, self.left == [0; 2] && self.rest == 0)
    }
}
