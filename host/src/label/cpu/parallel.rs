//! Label on all cores.
//!
//! 1. Cut the image into strips of rows. Assign provisional labels in each strip as
//!    [`sequential`](super::sequential) does, with one forest per strip. List the trees on the
//!    strip's rim: its first and its last row.
//! 2. On one thread: where runs touch across the seam of two strips, join their trees, in a small
//!    forest of the rims' trees. Number the components at the seams, and count those that start in
//!    each strip.
//! 3. Number the other trees of each strip, and fill it.
//!
//! A component's first pixel lies in the uppermost of its strips, where trees are ordered by their
//! first pixels. So the numbers are those of one pass over the whole image.
//!
//! Memory: that of one thread, and at most 32 bytes per run of the strips' first and last rows.

use rayon::prelude::*;

use super::forest::Forest;
use super::rows::{self, LabelRows};
use super::runs::{Word, places, runs, touching};
use super::statistics::{self, Sum, Tally};
use super::strip::{Meter, Strip};
use crate::error::{Error, Result};
use crate::image::BinaryImage;
use crate::label::{Component, ComponentOptions, Connectivity, LabelOptions, LabelSummary, Labels};
use crate::memory::{collect, reserve};
use crate::progress::Progress;

/// Strips per thread: enough that the threads end at about the same time. Noise of 2048² takes 2.9
/// ms with four on 16 threads, and 2.4 with two; masks take the same.
const STRIPS_PER_THREAD: usize = 2;

/// The smallest strip. With fewer rows, joining the seam takes too large a share of the time.
const LEAST_ROWS: u32 = 32;

/// Smaller images are labelled in one strip, on the caller's thread, unless the algorithm is
/// requested by name. On 2 threads, images of 256² take half to all of the time that they take in
/// strips, depending on their content; those of 512² take about the same.
const LEAST_PIXELS: u64 = 1 << 17;

/// Labels the components of `image`.
pub(super) fn label(
    image: &BinaryImage,
    options: &LabelOptions,
    progress: &Progress<'_>,
) -> Result<Labels> {
    label_strips(
        rows_for(image, options),
        u32::MAX,
        image,
        &options.components,
        progress,
    )
}

/// Labels the components of `image` in `labels`, which has one element per pixel.
pub(super) fn label_into(
    image: &BinaryImage,
    options: &LabelOptions,
    progress: &Progress<'_>,
    labels: &mut [u32],
) -> Result<LabelSummary> {
    let rows = rows_for(image, options);
    let write = in_strips(rows, u32::MAX, image, &options.components, progress);
    let numbered = write(&mut LabelRows::of_strips(labels, image.width(), rows)?)?;
    numbered.summary(&options.components, labels)
}

/// Labels the components of a band of an image with their numbers in the image. From the number of
/// components in the band, `numbers` gives these numbers, starting with that of background.
pub(in crate::label) fn label_band(
    band: &BinaryImage,
    connectivity: Connectivity,
    numbers: impl FnOnce(u32) -> Result<Vec<u32>>,
    progress: &Progress<'_>,
) -> Result<Vec<u32>> {
    crate::threads::ensure();
    let meter = Meter::new(band, progress);
    let (width, height) = (band.width(), band.height());
    let (labels, ()) = rows::written(width, height, rows_of_strip(height), |labels| {
        let mut numbered = Numbered::of(band, connectivity, Some(&mut *labels), &meter)?;
        let numbers = numbers(numbered.count)?;
        numbered.fill(labels, |number| numbers[number as usize], &meter)
    })?;
    Ok(labels)
}

/// The number of rows of a strip for these options.
fn rows_for(image: &BinaryImage, options: &LabelOptions) -> u32 {
    match options.algorithm {
        None => usual_rows(image.pixel_count(), image.height()),
        Some(_) => rows_of_strip(image.height()),
    }
}

/// The number of rows of a strip of an image of `pixels` pixels: all of its rows, if the image is
/// small or there is only one thread.
pub(super) fn usual_rows(pixels: u64, height: u32) -> u32 {
    if pixels < LEAST_PIXELS || rayon::current_num_threads() == 1 {
        height
    } else {
        rows_of_strip(height)
    }
}

/// The number of rows of a strip if all threads work.
fn rows_of_strip(height: u32) -> u32 {
    let strips = (rayon::current_num_threads() * STRIPS_PER_THREAD) as u32;
    height.div_ceil(strips).max(LEAST_ROWS)
}

/// A strip after the first pass.
struct Assigned {
    forest: Forest,
    rim: Rim,
    /// The number of trees.
    trees: u32,
}

/// Labels in strips of `rows` rows, with at most `limit` provisional labels per strip.
fn label_strips(
    rows: u32,
    limit: u32,
    image: &BinaryImage,
    options: &ComponentOptions,
    progress: &Progress<'_>,
) -> Result<Labels> {
    let write = in_strips(rows, limit, image, options, progress);
    let (labels, numbered) = rows::written(image.width(), image.height(), rows, write)?;
    let LabelSummary { count, components } = numbered.summary(options, &labels)?;
    Ok(Labels {
        width: image.width(),
        height: image.height(),
        labels,
        count,
        components,
    })
}

/// A function that labels strips of `rows` rows, with at most `limit` provisional labels per strip.
fn in_strips<'a>(
    rows: u32,
    limit: u32,
    image: &'a BinaryImage,
    options: &ComponentOptions,
    progress: &Progress<'_>,
) -> impl FnOnce(&mut [LabelRows<'_>]) -> Result<Numbered<'a>> {
    let connectivity = options.connectivity;
    move |labels| {
        let meter = Meter::new(image, progress);
        let mut numbered =
            Numbered::in_strips(rows, limit, image, connectivity, Some(&mut *labels), &meter)?;
        numbered.fill(labels, |number| number, &meter)?;
        Ok(numbered)
    }
}

/// An image whose components have their numbers, before pixels are filled with them.
pub(in crate::label) struct Numbered<'a> {
    strips: Vec<Strip<'a>>,
    /// By strip; empty once the labels are filled.
    assigned: Vec<Assigned>,
    /// By strip: the number of components that start above it.
    before: Vec<u32>,
    /// The number of components.
    pub(in crate::label) count: u32,
}

impl<'a> Numbered<'a> {
    /// The rows of `labels`, an array with one element per pixel, for [`of`](Self::of) and
    /// [`fill`](Self::fill). The elements' old values do not matter.
    pub(in crate::label) fn rows<'l>(
        image: &BinaryImage,
        labels: &'l mut [u32],
    ) -> Result<Vec<LabelRows<'l>>> {
        LabelRows::of_strips(labels, image.width(), rows_of_strip(image.height()))
    }

    /// Finds and numbers the components. Without the rows of labels, [`fill`](Self::fill) is not
    /// possible afterwards.
    pub(in crate::label) fn of(
        image: &'a BinaryImage,
        connectivity: Connectivity,
        labels: Option<&mut [LabelRows<'_>]>,
        meter: &Meter<'_>,
    ) -> Result<Self> {
        let rows = rows_of_strip(image.height());
        Self::in_strips(rows, u32::MAX, image, connectivity, labels, meter)
    }

    fn in_strips(
        rows: u32,
        limit: u32,
        image: &'a BinaryImage,
        connectivity: Connectivity,
        labels: Option<&mut [LabelRows<'_>]>,
        meter: &Meter<'_>,
    ) -> Result<Self> {
        let height = image.height();
        let strips: Vec<Strip<'_>> = (0..height)
            .step_by(rows as usize)
            .map(|y| Strip {
                image,
                rows: y..height.min(y + rows),
            })
            .collect();
        let parts: Vec<Option<&mut LabelRows<'_>>> = match labels {
            Some(labels) => labels.iter_mut().map(Some).collect(),
            None => strips.iter().map(|_| None).collect(),
        };
        let mut assigned = strips
            .par_iter()
            .zip(parts)
            .map(|(strip, labels)| {
                let mut forest = Forest::new(limit)?;
                let last_row = strip.assign(connectivity, &mut forest, labels, meter)?;
                let first_row = 1..=runs(image.row(strip.rows.start)).count() as u32;
                let first_row = collect(first_row, RIMS)?;
                let (rim, trees) = Rim::of(first_row, last_row, &mut forest)?;
                Ok(Assigned { forest, rim, trees })
            })
            .collect::<Result<Vec<_>>>()?;
        let (before, count) = number_rims(&strips, &mut assigned, connectivity)?;
        Ok(Self {
            strips,
            assigned,
            before,
            count,
        })
    }

    /// Writes all rows: foreground pixels get `map` of their components' numbers. Call it once, and
    /// after the queries of rows' numbers.
    pub(in crate::label) fn fill(
        &mut self,
        labels: &mut [LabelRows<'_>],
        map: impl Fn(u32) -> u32 + Sync,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let assigned = std::mem::take(&mut self.assigned);
        self.strips
            .par_iter()
            .zip(labels)
            .zip(assigned.into_par_iter().zip(&self.before))
            .try_for_each(|((strip, labels), (assigned, &before))| {
                let Assigned { forest, rim, .. } = assigned;
                let mut rim = rim.trees.iter().peekable();
                let (numbers, _) = forest.number(before, |root| {
                    Some(rim.next_if(|tree| tree.root == root)?.number)
                });
                strip.fill(labels, |label| map(numbers[label as usize]), meter)
            })
    }

    /// The components' numbers, by run of the first row.
    pub(in crate::label) fn first_row(&self) -> Result<Vec<u32>> {
        let rim = self.assigned.first().map(|strip| &strip.rim);
        rim.map_or(Ok(Vec::new()), |rim| rim.numbers(&rim.first_row))
    }

    /// The components' numbers, by run of the last row.
    pub(in crate::label) fn last_row(&self) -> Result<Vec<u32>> {
        let rim = self.assigned.last().map(|strip| &strip.rim);
        rim.map_or(Ok(Vec::new()), |rim| rim.numbers(&rim.last_row))
    }

    /// The summary that `options` ask for, from pixels filled with their components' numbers.
    fn summary(&self, options: &ComponentOptions, labels: &[u32]) -> Result<LabelSummary> {
        let measure = || statistics::measure(&self.strips, &self.before, labels, self.count);
        Ok(LabelSummary {
            count: self.count,
            components: options.statistics.then(measure).transpose()?,
        })
    }

    /// The components' measures, from the same pixels, and the tallies of the components `tallied`.
    /// The image's row 0 is row `first_row` of a larger one.
    pub(in crate::label) fn measure_part(
        &self,
        first_row: u32,
        labels: &[u32],
        tallied: &[u32],
    ) -> Result<(Vec<Component>, Vec<Tally<u128>>)> {
        let image = self.strips[0].image;
        let side = image.width().max(first_row + image.height());
        if statistics::sums_fit_64_bits(image.pixel_count(), side) {
            self.measure_part_with::<u64>(first_row, labels, tallied)
        } else {
            self.measure_part_with::<u128>(first_row, labels, tallied)
        }
    }

    fn measure_part_with<S: Sum>(
        &self,
        first_row: u32,
        labels: &[u32],
        tallied: &[u32],
    ) -> Result<(Vec<Component>, Vec<Tally<u128>>)> {
        let (strips, before) = (&self.strips, &self.before);
        let all = statistics::tallies::<S>(strips, first_row, before, labels, self.count)?;
        let mut some = Vec::new();
        reserve(&mut some, tallied.len(), "the components' measures")?;
        some.extend(
            tallied
                .iter()
                .map(|&number| all[number as usize - 1].widened()),
        );
        // A component is as large as a tally of 64-bit sums, so components are collected in place.
        Ok((all.into_iter().map(Tally::finish).collect(), some))
    }
}

/// Name used in out-of-memory errors.
const RIMS: &str = "the strips' seams";

/// The trees that reach the first or the last row of a strip.
struct Rim {
    /// In the order of their roots.
    trees: Vec<RimTree>,
    /// By run of the row: its tree's index in `trees`.
    first_row: Vec<u32>,
    last_row: Vec<u32>,
}

struct RimTree {
    root: u32,
    /// The place among all trees of the strip, from 1.
    place: u32,
    /// The component's number.
    number: u32,
}

impl Rim {
    /// The rim of a strip, from the provisional labels of the runs in its first and last row; and
    /// the number of all trees in the strip.
    fn of(
        mut first_row: Vec<u32>,
        mut last_row: Vec<u32>,
        forest: &mut Forest,
    ) -> Result<(Self, u32)> {
        for label in first_row.iter_mut().chain(&mut last_row) {
            *label = forest.find(*label);
        }
        let mut all = collect(first_row.iter().chain(&last_row).copied(), RIMS)?;
        all.sort_unstable();
        all.dedup();
        for root in first_row.iter_mut().chain(&mut last_row) {
            *root = all.partition_point(|other| other < root) as u32;
        }
        let mut place = 0;
        let mut next = 1;
        let tree = |root| {
            let end = root as usize + 1;
            place += forest.count_roots(next..end);
            next = end;
            RimTree {
                root,
                place,
                number: 0,
            }
        };
        let trees = collect(all.into_iter().map(tree), RIMS)?;
        let rim = Self {
            trees,
            first_row,
            last_row,
        };
        Ok((rim, place + forest.count_roots(next..forest.end())))
    }

    /// The components' numbers of a row.
    fn numbers(&self, row: &[u32]) -> Result<Vec<u32>> {
        let trees = row.iter().map(|&tree| &self.trees[tree as usize]);
        collect(trees.map(|tree| tree.number), RIMS)
    }
}

/// Numbers the components of the trees on the strips' rims. Returns by strip the number of
/// components that start above it, and the number of all components.
fn number_rims(
    strips: &[Strip<'_>],
    assigned: &mut [Assigned],
    connectivity: Connectivity,
) -> Result<(Vec<u32>, u32)> {
    // A forest in which the label of a tree is its place among the trees of all rims, from 1.
    let mut forest = Forest::new(u32::MAX)?;
    let trees = assigned.iter().map(|strip| strip.rim.trees.len()).sum();
    forest.reserve(trees)?;
    for _ in 0..trees {
        forest.plant()?;
    }
    // The label of the upper strip's first tree.
    let mut first_label = 1;
    for (strips, rims) in strips.windows(2).zip(assigned.windows(2)) {
        let (upper, lower) = (&rims[0].rim, &rims[1].rim);
        let first_below = first_label + upper.trees.len() as u32;
        let y = strips[1].rows.start;
        let (row, above) = (strips[1].image.row(y), strips[1].image.row(y - 1));
        let (mut row_runs, mut above_runs) = (0, 0);
        for (w, u) in Word::of_row(row).zip(Word::of_row(above)) {
            for place in places(touching(w, u, connectivity)) {
                let run = row_runs + w.runs_through(place);
                let over = above_runs + u.runs_through(place);
                forest.join(
                    first_label + upper.last_row[over - 1],
                    first_below + lower.first_row[run - 1],
                );
            }
            row_runs += w.starts().count_ones() as usize;
            above_runs += u.starts().count_ones() as usize;
        }
        first_label = first_below;
    }

    let (components, count) = forest.number(0, |_| None);
    let mut components = components.into_iter().skip(1);
    // By component of the forest.
    let mut numbers = Vec::new();
    reserve(&mut numbers, count as usize, RIMS)?;
    let mut before = Vec::with_capacity(strips.len());
    let mut count = 0u32;
    for strip in assigned {
        before.push(count);
        // The trees so far that belong to a component with an earlier tree.
        let mut later = 0;
        for (tree, component) in strip.rim.trees.iter_mut().zip(&mut components) {
            let known = numbers.get(component as usize - 1).copied();
            tree.number = known.unwrap_or_else(|| {
                // If this is too large, so is the sum below.
                let number = count.wrapping_add(tree.place - later);
                numbers.push(number);
                number
            });
            later += u32::from(known.is_some());
        }
        count = count
            .checked_add(strip.trees - later)
            .ok_or(Error::TooMany {
                what: "components",
                limit: u32::MAX.into(),
            })?;
    }
    Ok((before, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::LabelAlgorithm;
    use crate::label::cpu::{oracle, sequential};
    use proptest::prelude::*;

    fn options(connectivity: Connectivity) -> LabelOptions {
        LabelOptions::default()
            .connectivity(connectivity)
            .statistics(true)
            // Small images, too, are divided into strips.
            .algorithm(LabelAlgorithm::Parallel)
    }

    proptest! {
        #![proptest_config(crate::seeds::config(512, 1))]

        #[test]
        fn strips_of_any_height_agree_with_one_pass(
            image in oracle::images(),
            rows in 1u32..8,
        ) {
            for connectivity in [Connectivity::Four, Connectivity::Eight] {
                let options = options(connectivity);
                let expected = sequential::label(&image, &options.components, &Progress::SILENT).unwrap();
                let found =
                    label_strips(rows, u32::MAX, &image, &options.components, &Progress::SILENT).unwrap();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn patterns_agree_with_one_pass() {
        for (image, name) in oracle::patterns() {
            for connectivity in [Connectivity::Four, Connectivity::Eight] {
                let options = options(connectivity);
                let expected =
                    sequential::label(&image, &options.components, &Progress::SILENT).unwrap();
                for rows in [1, 2, 5, 64] {
                    let found = label_strips(
                        rows,
                        u32::MAX,
                        &image,
                        &options.components,
                        &Progress::SILENT,
                    );
                    assert_eq!(found.unwrap(), expected, "{name} in strips of {rows}");
                }
                let found = label(&image, &options, &Progress::SILENT).unwrap();
                assert_eq!(found, expected, "{name}");
            }
        }
    }

    #[test]
    fn refuses_more_labels_than_the_limit() {
        // Eight components in each strip of four rows.
        let image = crate::generate::dots(8, 16).unwrap();
        let options = ComponentOptions::default();
        assert!(label_strips(4, 8, &image, &options, &Progress::SILENT).is_ok());
        assert!(matches!(
            label_strips(4, 7, &image, &options, &Progress::SILENT),
            Err(Error::TooMany { limit: 7, .. })
        ));
    }

    #[test]
    fn labels_replace_what_an_array_held() {
        let image =
            BinaryImage::from_fn(70, 90, |x, y| (x * x + 3 * y * y + x * y) % 7 < 3).unwrap();
        let engine = crate::Engine::cpu();
        let algorithms = [
            None,
            Some(LabelAlgorithm::Parallel),
            Some(LabelAlgorithm::Sequential),
        ];
        for algorithm in algorithms {
            for connectivity in [Connectivity::Four, Connectivity::Eight] {
                let expected = oracle::label(&image, connectivity);
                let options = LabelOptions::default().connectivity(connectivity);
                let options = options.statistics(true).algorithm(algorithm);
                let mut labels = vec![u32::MAX; 70 * 90];
                let found = engine.label_into(&image, &options, &mut labels).unwrap();
                assert_eq!(labels, expected.as_slice(), "{algorithm:?}");
                assert_eq!(found.count, expected.count());
                assert_eq!(found.components.as_deref(), expected.components());
                let short = engine.label_into(&image, &options, &mut labels[1..]);
                assert!(matches!(
                    short,
                    Err(Error::SizeMismatch { given: 6299, .. })
                ));
            }
        }
    }
}
