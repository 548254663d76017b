//! Labelling regions of equal value on the CPU, on all cores.
//!
//! A **run** is a longest stretch of pixels in a row that count and have one value. Runs are
//! labelled as runs of bits are ([`strip`](super::strip)): where two of them touch follows from
//! words that tell which neighbours are equal.
//!
//! 1. In each strip of rows, runs get provisional labels, and labels of runs that touch are joined
//!    (`assign.rs`). Each value is read once. Two bits per pixel are kept: whether it counts, and
//!    whether a run starts there.
//! 2. On one thread, the strips' forests become one, the runs along their seams are joined, and the
//!    trees are numbered in the order of their first pixels.
//! 3. All strips are filled, run by run (`fill.rs`).
//!
//! Memory besides the result: 0.25 bytes per pixel, 4 bytes per run and 4 bytes per provisional
//! label.

mod assign;
mod fill;

use rayon::prelude::*;

use self::assign::Assigned;
use super::forest::Forest;
use super::parallel;
use super::rows::{self, LabelRows};
use crate::error::Result;
use crate::image::{PixelValue, ValueImage};
use crate::label::parts::RIMS;
use crate::label::{Connectivity, Labels};
use crate::memory::collect;
use crate::progress::Progress;

/// Labels the regions of `image`.
pub(crate) fn label<T: PixelValue>(
    image: &ValueImage<'_, T>,
    connectivity: Connectivity,
    progress: &Progress<'_>,
) -> Result<Labels> {
    let numbered = NumberedValues::of(image, connectivity, progress)?;
    Ok(Labels {
        width: image.width(),
        height: image.height(),
        labels: numbered.labels(progress)?,
        count: numbered.count,
        components: None,
    })
}

/// The regions of an image or a band, numbered; its pixels have no labels yet.
pub(in crate::label) struct NumberedValues {
    width: usize,
    height: usize,
    /// The number of rows of a strip; the last one may have fewer.
    rows: usize,
    strips: Vec<Assigned>,
    /// The number of each provisional label's region.
    numbers: Vec<u32>,
    /// The number of regions.
    pub(in crate::label) count: u32,
}

impl NumberedValues {
    pub(in crate::label) fn of<T: PixelValue>(
        image: &ValueImage<'_, T>,
        connectivity: Connectivity,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        crate::threads::ensure();
        let height = image.height();
        let pixels = u64::from(image.width()) * u64::from(height);
        let rows = parallel::usual_rows(pixels, height);
        let numbered = Self::in_strips(rows, image, connectivity)?;
        progress.report(1, 2)?;
        Ok(numbered)
    }

    /// In strips of `rows` rows.
    fn in_strips<T: PixelValue>(
        rows: u32,
        image: &ValueImage<'_, T>,
        connectivity: Connectivity,
    ) -> Result<Self> {
        let height = image.height();
        let count = height.div_ceil(rows);
        let mut strips = (0..count)
            .into_par_iter()
            .map(|i| {
                let rows = i * rows..height.min((i + 1) * rows);
                Assigned::new(image, rows, connectivity)
            })
            .collect::<Result<Vec<_>>>()?;

        // The labels of each strip follow those of the one above.
        let mut forest = Forest::new(u32::MAX)?;
        for i in 0..strips.len() {
            let (above, below) = strips.split_at_mut(i);
            let strip = &mut below[0];
            strip.first_label = forest.append(std::mem::take(&mut strip.forest))?;
            if let Some(above) = above.last() {
                assign::join_seam(image, above, strip, connectivity, &mut forest)?;
            }
        }
        let (numbers, count) = forest.number(0, |_| None);
        Ok(Self {
            width: image.width() as usize,
            height: height as usize,
            rows: rows as usize,
            strips,
            numbers,
            count,
        })
    }

    /// The numbers of the runs in the first row and in the last one.
    pub(in crate::label) fn rims(&self) -> Result<[Vec<u32>; 2]> {
        let of = |strip: &Assigned, runs: &[u32]| {
            let numbers = &self.numbers[strip.first_label as usize..];
            let runs = runs.iter().map(|&label| numbers[label as usize]);
            collect(runs, RIMS)
        };
        match (self.strips.first(), self.strips.last()) {
            (Some(first), Some(last)) => {
                Ok([of(first, first.first_row())?, of(last, last.last_row())?])
            }
            _ => Ok([Vec::new(), Vec::new()]),
        }
    }

    /// Gives region `n` the number `numbers[n]`.
    pub(in crate::label) fn renumber(&mut self, numbers: &[u32]) {
        for number in &mut self.numbers {
            *number = numbers[*number as usize];
        }
    }

    /// The pixels' labels: what is left to do.
    pub(in crate::label) fn labels(&self, progress: &Progress<'_>) -> Result<Vec<u32>> {
        let [width, height, rows] = [self.width, self.height, self.rows].map(|size| size as u32);
        let (labels, ()) = rows::written(width, height, rows, |strips| {
            self.fill_strips(strips);
            Ok(())
        })?;
        progress.report(1, 1)?;
        Ok(labels)
    }

    /// Writes the pixels' labels into `labels`. The elements' old values do not matter.
    pub(in crate::label) fn fill(&self, labels: &mut [u32]) -> Result<()> {
        let mut strips = LabelRows::of_strips(labels, self.width as u32, self.rows as u32)?;
        self.fill_strips(&mut strips);
        Ok(())
    }

    fn fill_strips(&self, strips: &mut [LabelRows<'_>]) {
        strips
            .par_iter_mut()
            .zip(&self.strips)
            .for_each(|(rows, strip)| fill::fill(strip, &self.numbers, rows, self.width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Samples;

    /// A flood fill from every first pixel in raster order.
    fn flood(values: &[u8], width: usize, reach: &[(isize, isize)]) -> Vec<u32> {
        let height = values.len() / width;
        let mut labels = vec![0; values.len()];
        let mut count = 0;
        for start in 0..values.len() {
            if values[start] == 0 || labels[start] != 0 {
                continue;
            }
            count += 1;
            labels[start] = count;
            let mut todo = vec![start];
            while let Some(at) = todo.pop() {
                let (x, y) = ((at % width) as isize, (at / width) as isize);
                for (dx, dy) in reach {
                    let (x, y) = (x + dx, y + dy);
                    if (0..width as isize).contains(&x) && (0..height as isize).contains(&y) {
                        let next = y as usize * width + x as usize;
                        if values[next] == values[at] && labels[next] == 0 {
                            labels[next] = count;
                            todo.push(next);
                        }
                    }
                }
            }
        }
        labels
    }

    #[test]
    fn strips_of_any_height_give_the_labels_of_a_flood_fill() {
        let four = [(1, 0), (-1, 0), (0, 1), (0, -1)];
        let corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)];
        let eight = [four, corners].concat();
        let mut random = 12345u32;
        // Values change after `length` pixels at the earliest: the runs of a word are few or many.
        for (width, height, most, length) in [
            (1, 40, 3, 1),
            (40, 1, 3, 1),
            (63, 20, 2, 1),
            (64, 9, 5, 1),
            (200, 30, 4, 1),
            (200, 30, 3, 19),
            (333, 9, 4, 13),
        ] {
            let values: Vec<u8> = (0..width * height)
                .map(|i| {
                    if i % length == 0 {
                        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    }
                    (random >> 16) as u8 % most
                })
                .collect();
            let samples = Samples::new(width as u32, height as u32, &values).unwrap();
            let image = ValueImage::new(samples).unwrap().background(0).unwrap();
            for (connectivity, reach) in [
                (Connectivity::Four, &four[..]),
                (Connectivity::Eight, &eight),
            ] {
                let expected = flood(&values, width as usize, reach);
                for rows in [1, 2, 7, height as u32] {
                    let found = NumberedValues::in_strips(rows, &image, connectivity).unwrap();
                    // Whatever was there before.
                    let mut labels = vec![7; values.len()];
                    found.fill(&mut labels).unwrap();
                    assert!(
                        labels == expected,
                        "not the oracle's labels: {width} × {height}, {rows}"
                    );
                    assert_eq!(found.count, expected.iter().copied().max().unwrap());
                }
            }
        }
    }
}
