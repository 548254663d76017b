//! Unions, intersections and overlaps of masks, without their images.

use super::{Rle, copy};
use crate::error::{Error, OptionProblem, Result};
use crate::memory::{collect, par_rows, push, with_room};

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
    /// differ. [`iou_of_all`] compares many masks.
    ///
    /// ```
    /// use trazar::rle::Rle;
    ///
    /// let [a, b] = [Rle::new(1, 4, vec![0, 2, 2])?, Rle::new(1, 4, vec![1, 3])?];
    /// assert_eq!(a.iou(&b, false)?, Some(0.25));
    /// assert_eq!(a.iou(&b, true)?, Some(0.5));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn iou(&self, other: &Self, other_is_crowd: bool) -> Result<Option<f64>> {
        Ok(Runs::of(self)?.iou(&Runs::of(other)?, other_is_crowd))
    }
}

/// The [overlap](Rle::iou) of each mask of `found` with each mask of `truth`, of which `is_crowd`
/// says which are crowds. The overlaps with the first mask of `truth` come first. Many are found on
/// all threads.
///
/// # Errors
/// [`Error::InvalidOption`](crate::Error::InvalidOption) unless `is_crowd` has one value for each
/// of `truth`; [`Error::OutOfMemory`].
pub fn iou_of_all(found: &[Rle], truth: &[Rle], is_crowd: &[bool]) -> Result<Vec<Option<f64>>> {
    /// The number of runs that are compared in some 50 µs: fewer are not worth another thread.
    const SHARE: usize = 1 << 14;

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
    let of = |masks: &[Rle]| -> Result<Vec<Runs>> {
        let mut all = with_room(masks.len(), "the runs of masks")?;
        for mask in masks {
            all.push(Runs::of(mask)?);
        }
        Ok(all)
    };
    let (found, truth) = (of(found)?, of(truth)?);
    let count = |masks: &[Runs]| -> usize { masks.iter().map(|mask| 1 + mask.runs.len()).sum() };
    let steps = (count(&found).saturating_mul(truth.len()))
        .saturating_add(count(&truth).saturating_mul(found.len()));
    let len = found.len().saturating_mul(truth.len());
    let size = len.div_ceil(1 + steps / SHARE).max(1);
    par_rows(size, len, "the overlaps of masks", |share| {
        let pairs = share * size..len;
        pairs.map(|pair| {
            let of_truth = pair / found.len();
            found[pair % found.len()].iou(&truth[of_truth], is_crowd[of_truth])
        })
    })
}

/// The runs of a mask's foreground.
struct Runs {
    /// The place of each run's first pixel, and that after its last one.
    runs: Vec<[u32; 2]>,
    area: u64,
    bounding_box: [u32; 4],
    /// The mask's height and width.
    size: [u32; 2],
}

impl Runs {
    fn of(mask: &Rle) -> Result<Self> {
        let runs = mask.foreground().map(|run| run.map(|at| at as u32));
        Ok(Self {
            runs: collect(runs, "the runs of masks")?,
            area: mask.area(),
            bounding_box: mask.bounding_box(),
            size: [mask.height, mask.width],
        })
    }

    /// See [`Rle::iou`].
    fn iou(&self, other: &Self, other_is_crowd: bool) -> Option<f64> {
        let overlap = |a: u32, a_len: u32, b: u32, b_len: u32| {
            (u64::from(a) + u64::from(a_len)).min(u64::from(b) + u64::from(b_len))
                > u64::from(a.max(b))
        };
        let [a, b] = [self.bounding_box, other.bounding_box];
        if !(overlap(a[0], a[2], b[0], b[2]) && overlap(a[1], a[3], b[1], b[3])) {
            return Some(0.0);
        }
        if self.size != other.size {
            return None;
        }
        let both = self.common(other);
        let any = match other_is_crowd {
            true => self.area,
            false => self.area + other.area - both,
        };
        Some(if both == 0 {
            0.0
        } else {
            both as f64 / any as f64
        })
    }

    /// The number of pixels that are foreground in both masks.
    ///
    /// Each step goes to the next end of a run in either mask. A branch on which mask's run ends
    /// first would be mispredicted, so there is none. Each step then waits for the one before, so
    /// four walks, each along a quarter of this mask's runs, are interleaved.
    fn common(&self, other: &Self) -> u64 {
        let (runs, others) = (&self.runs[..], &other.runs[..]);
        let quarter = runs.len().div_ceil(4);
        let starts = [0, 1, 2, 3].map(|i| runs.len().min(i * quarter));
        let mut at = starts.map(|start| {
            let first = runs.get(start).map_or(u32::MAX, |run| run[0]);
            [start, others.partition_point(|run| run[1] <= first)]
        });
        let until = starts.map(|start| &runs[..runs.len().min(start + quarter)]);
        let mut both = 0;
        let mut step = |[i, j]: &mut [usize; 2], runs: &[[u32; 2]]| {
            let (Some(&[start, end]), Some(&[other_start, other_end])) =
                (runs.get(*i), others.get(*j))
            else {
                return false;
            };
            let common = end.min(other_end).saturating_sub(start.max(other_start));
            both += u64::from(common);
            *i += usize::from(end <= other_end);
            *j += usize::from(other_end <= end);
            true
        };
        let [a, b, c, d] = &mut at;
        while step(a, until[0]) & step(b, until[1]) & step(c, until[2]) & step(d, until[3]) {}
        for (at, runs) in at.iter_mut().zip(until) {
            while step(at, runs) {}
        }
        both
    }
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
