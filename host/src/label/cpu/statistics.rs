//! The components' measures, from the finished labels.

use std::collections::HashMap;
use std::ops::AddAssign;

use glam::{DVec2, IVec2};
use rayon::prelude::*;

use super::runs::runs;
use super::strip::Strip;
use crate::error::Result;
use crate::geometry::BoundingBox;
use crate::label::Component;
use crate::memory::{reserve, reserve_in_map};

/// The measures of components 1 to `count`, from the `labels` of the whole image.
///
/// `before[i]` is the number of components that start above `strips[i]`. The components that start
/// in a strip are its own, and only its thread writes their measures. A strip's additions to
/// components from above are kept apart until all strips are done. The sums are exact, so the order
/// of additions does not matter.
///
/// Memory: none besides the result if sums fit into 64 bits (sides up to 2 million), otherwise as
/// much again; and the measures that the strips keep apart.
pub(super) fn measure(
    strips: &[Strip<'_>],
    before: &[u32],
    labels: &[u32],
    count: u32,
) -> Result<Vec<Component>> {
    let image = strips[0].image;
    if sums_fit_64_bits(image.pixel_count(), image.width().max(image.height())) {
        measure_with::<u64>(strips, before, labels, count)
    } else {
        measure_with::<u128>(strips, before, labels, count)
    }
}

/// Whether the sum of `pixels` coordinates below `side` fits into 64 bits.
pub(in crate::label) fn sums_fit_64_bits(pixels: u64, side: u32) -> bool {
    pixels.checked_mul(side.into()).is_some()
}

fn measure_with<S: Sum>(
    strips: &[Strip<'_>],
    before: &[u32],
    labels: &[u32],
    count: u32,
) -> Result<Vec<Component>> {
    let tallies = tallies::<S>(strips, 0, before, labels, count)?;
    // A component is as large as a tally of 64-bit sums, so components are collected in place.
    Ok(tallies.into_iter().map(Tally::finish).collect())
}

/// The tallies of components 1 to `count`; otherwise as [`measure`]. The image's row 0 is row
/// `first_row` of a larger one.
pub(super) fn tallies<S: Sum>(
    strips: &[Strip<'_>],
    first_row: u32,
    before: &[u32],
    labels: &[u32],
    count: u32,
) -> Result<Vec<Tally<S>>> {
    let mut tallies = Vec::new();
    reserve(&mut tallies, count as usize, "the components' measures")?;
    tallies.resize(count as usize, Tally::<S>::NOTHING);

    let width = strips[0].image.width() as usize;
    let (mut rest, mut rest_labels) = (&mut tallies[..], labels);
    let mut jobs = Vec::with_capacity(strips.len());
    for (i, strip) in strips.iter().enumerate() {
        let owned = before.get(i + 1).unwrap_or(&count) - before[i];
        let own = rest.split_off_mut(..owned as usize).unwrap_or_default();
        let pixels = strip.rows.len() * width;
        let labels = rest_labels.split_off(..pixels).unwrap_or_default();
        jobs.push((strip, before[i], own, labels));
    }
    let add = |(strip, before, own, labels)| add_strip(strip, first_row, before, own, labels);
    let from_above: Vec<HashMap<u32, Tally<S>>> = if let [_] = strips {
        jobs.into_iter().map(add).collect::<Result<_>>()?
    } else {
        jobs.into_par_iter().map(add).collect::<Result<_>>()?
    };
    for (label, tally) in from_above.into_iter().flatten() {
        tallies[label as usize - 1].add(&tally);
    }
    Ok(tallies)
}

/// Adds up the runs of a strip. Those of its own components go to `own`, which starts with
/// component `before + 1`; the measures of the others are returned.
fn add_strip<S: Sum>(
    strip: &Strip<'_>,
    first_row: u32,
    before: u32,
    own: &mut [Tally<S>],
    labels: &[u32],
) -> Result<HashMap<u32, Tally<S>>> {
    let mut from_above = HashMap::new();
    // The label and tally of the last run from above: usually there is one large component.
    let (mut last, mut tally) = (0, Tally::NOTHING);
    let width = strip.image.width() as usize;
    for (y, labels) in strip.rows.clone().zip(labels.chunks_exact(width)) {
        for (start, end) in runs(strip.image.row(y)) {
            let y = first_row + y;
            let label = labels[start];
            if label > before {
                own[(label - before - 1) as usize].add_run(y, start, end);
                continue;
            }
            if label != last {
                keep(&mut from_above, last, &tally)?;
                (last, tally) = (label, Tally::NOTHING);
            }
            tally.add_run(y, start, end);
        }
    }
    keep(&mut from_above, last, &tally)?;
    Ok(from_above)
}

fn keep<S: Sum>(tallies: &mut HashMap<u32, Tally<S>>, label: u32, tally: &Tally<S>) -> Result<()> {
    if tally.area > 0 {
        reserve_in_map(tallies, "the components' measures")?;
        tallies.entry(label).or_insert(Tally::NOTHING).add(tally);
    }
    Ok(())
}

/// An unsigned integer that holds the sum of coordinates.
pub(in crate::label) trait Sum:
    Copy + AddAssign + From<u64> + Send + Sync
{
    const ZERO: Self;
    fn to_f64(self) -> f64;
    fn to_u128(self) -> u128;
}

impl Sum for u64 {
    const ZERO: Self = 0;
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn to_u128(self) -> u128 {
        self.into()
    }
}

impl Sum for u128 {
    const ZERO: Self = 0;
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn to_u128(self) -> u128 {
        self
    }
}

/// The measures of some pixels of one component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::label) struct Tally<S> {
    pub(in crate::label) area: u64,
    pub(in crate::label) min: IVec2,
    pub(in crate::label) max: IVec2,
    pub(in crate::label) sum_x: S,
    pub(in crate::label) sum_y: S,
}

impl<S: Sum> Tally<S> {
    pub(in crate::label) const NOTHING: Self = Self {
        area: 0,
        min: IVec2::MAX,
        max: IVec2::MIN,
        sum_x: S::ZERO,
        sum_y: S::ZERO,
    };

    /// Adds the pixels of row `y` from column `start` up to, not including, column `end`.
    fn add_run(&mut self, y: u32, start: usize, end: usize) {
        let (start, end, row) = (start as u64, end as u64, u64::from(y));
        let pixels = end - start;
        self.area += pixels;
        self.min = self.min.min(IVec2::new(start as i32, y as i32));
        self.max = self.max.max(IVec2::new(end as i32 - 1, y as i32));
        // Below 2⁶³ each.
        self.sum_x += S::from((start + end - 1) * pixels / 2);
        self.sum_y += S::from(row * pixels);
    }

    /// The same with sums of 128 bits.
    pub(in crate::label) fn widened(self) -> Tally<u128> {
        Tally {
            area: self.area,
            min: self.min,
            max: self.max,
            sum_x: self.sum_x.to_u128(),
            sum_y: self.sum_y.to_u128(),
        }
    }

    pub(in crate::label) fn add(&mut self, other: &Self) {
        self.area += other.area;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum_x += other.sum_x;
        self.sum_y += other.sum_y;
    }

    pub(in crate::label) fn finish(self) -> Component {
        let area = self.area as f64;
        Component {
            area: self.area,
            bounding_box: BoundingBox {
                min: self.min,
                max: self.max,
            },
            centroid: DVec2::new(self.sum_x.to_f64() / area, self.sum_y.to_f64() / area),
        }
    }
}
