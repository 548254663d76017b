//! Label on all cores.
//!
//! 1. Cut the image into strips of rows. Assign provisional labels in each strip as
//!    [`sequential`](super::sequential) does, with one forest per strip.
//! 2. Where runs touch across the seam of two strips, join their trees. A small forest holds the
//!    trees that reach a seam.
//! 3. Number the trees of each strip, except those that belong to a tree of a strip above. A prefix
//!    sum over the strips makes the numbers consecutive.
//! 4. Fill each strip.
//!
//! A component's first pixel lies in the uppermost of its strips, where trees are ordered by their
//! first pixels. So the numbers are those of one pass over the whole image.
//!
//! Memory: that of one thread, and 8 bytes per pair of runs that touch across a seam.

use rayon::prelude::*;

use super::forest::Forest;
use super::runs::{Word, places, runs, touching};
use super::statistics::{self, Sum, Tally};
use super::strip::{Meter, Strip, background};
use crate::error::{Error, Result};
use crate::image::BinaryImage;
use crate::label::{Component, Connectivity, LabelOptions, Labels};
use crate::memory::reserve;
use crate::progress::Progress;

/// Strips per thread: enough that the threads end at about the same time.
const STRIPS_PER_THREAD: usize = 4;

/// The smallest strip. With fewer rows, joining the seam takes too large a share of the time.
const LEAST_ROWS: u32 = 32;

/// Labels the components of `image`.
pub(super) fn label(
    image: &BinaryImage,
    options: &LabelOptions,
    progress: &Progress<'_>,
) -> Result<Labels> {
    label_strips(rows_of_strip(image), MOST_LABELS, image, options, progress)
}

/// The number of rows of a strip.
fn rows_of_strip(image: &BinaryImage) -> u32 {
    let strips = (rayon::current_num_threads() * STRIPS_PER_THREAD) as u32;
    image.height().div_ceil(strips).max(LEAST_ROWS)
}

/// Set in a number that is the index of a component at the seams.
const AT_SEAM: u32 = 1 << 31;

/// The most provisional labels of a strip, so that [`AT_SEAM`] is free.
const MOST_LABELS: u32 = AT_SEAM - 1;

/// A strip after the first pass.
struct Assigned {
    forest: Forest,
    /// The provisional labels of the last row's runs.
    last_row: Vec<u32>,
}

/// Labels in strips of `rows` rows, with at most `limit` provisional labels per strip.
fn label_strips(
    rows: u32,
    limit: u32,
    image: &BinaryImage,
    options: &LabelOptions,
    progress: &Progress<'_>,
) -> Result<Labels> {
    let mut labels = background(image)?;
    let meter = Meter::new(image, progress);
    let connectivity = options.connectivity;
    let mut numbered =
        Numbered::in_strips(rows, limit, image, connectivity, Some(&mut labels), &meter)?;
    numbered.fill(&mut labels, |number| number, &meter);
    let components = options
        .statistics
        .then(|| numbered.measure(&labels))
        .transpose()?;
    Ok(Labels {
        width: image.width(),
        height: image.height(),
        labels,
        count: numbered.count,
        components,
    })
}

/// An image whose components have their numbers, before pixels are filled with them.
pub(in crate::label) struct Numbered<'a> {
    strips: Vec<Strip<'a>>,
    /// By strip and provisional label: the component's number among those that start in the strip,
    /// or [`AT_SEAM`] with its index in `at_seams`.
    numbers: Vec<Vec<u32>>,
    /// By strip: the number of components that start above it.
    before: Vec<u32>,
    at_seams: Vec<u32>,
    /// The provisional labels of the last row's runs.
    last_row: Vec<u32>,
    /// The number of components.
    pub(in crate::label) count: u32,
}

impl<'a> Numbered<'a> {
    /// Finds and numbers the components. The runs' provisional labels are stored in `labels`, which
    /// must be 0; without it, pixels cannot be filled afterwards.
    pub(in crate::label) fn of(
        image: &'a BinaryImage,
        connectivity: Connectivity,
        labels: Option<&mut [u32]>,
        meter: &Meter<'_>,
    ) -> Result<Self> {
        let rows = rows_of_strip(image);
        Self::in_strips(rows, MOST_LABELS, image, connectivity, labels, meter)
    }

    fn in_strips(
        rows: u32,
        limit: u32,
        image: &'a BinaryImage,
        connectivity: Connectivity,
        labels: Option<&mut [u32]>,
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
        let strip_pixels = rows as usize * image.width() as usize;
        let mut parts: Vec<Option<&mut [u32]>> = match labels {
            Some(labels) => labels.chunks_mut(strip_pixels).map(Some).collect(),
            None => strips.iter().map(|_| None).collect(),
        };
        let mut assigned = strips
            .par_iter()
            .zip(&mut parts)
            .map(|(strip, labels)| {
                let mut forest = Forest::new(limit)?;
                let labels = labels.as_deref_mut();
                let last_row = strip.assign(connectivity, &mut forest, labels, meter)?;
                Ok(Assigned { forest, last_row })
            })
            .collect::<Result<Vec<_>>>()?;

        let seams = Seams::join(&strips, &mut assigned, connectivity)?;

        let last_row = assigned
            .last_mut()
            .map(|strip| std::mem::take(&mut strip.last_row));
        let (numbers, starting): (Vec<Vec<u32>>, Vec<u32>) = assigned
            .into_par_iter()
            .zip(&seams.trees_from_above)
            .map(|(strip, trees)| {
                let mut trees = trees.iter().peekable();
                strip.forest.number(|root| {
                    let tree = trees.next_if(|tree| tree.root == root)?;
                    Some(AT_SEAM | tree.component)
                })
            })
            .unzip();

        // The number of components that start above each strip.
        let mut before = Vec::with_capacity(strips.len());
        let mut count = 0u32;
        for starting in starting {
            before.push(count);
            count = count.checked_add(starting).ok_or(Error::TooMany {
                what: "components",
                limit: u32::MAX.into(),
            })?;
        }
        let at_seams: Vec<u32> = seams
            .first_trees
            .iter()
            .map(|&(strip, root)| before[strip] + numbers[strip][root as usize])
            .collect();
        Ok(Self {
            strips,
            numbers,
            before,
            at_seams,
            last_row: last_row.unwrap_or_default(),
            count,
        })
    }

    /// The number of the component of a provisional label of a strip.
    fn number(&self, strip: usize, label: u32) -> u32 {
        match self.numbers[strip][label as usize] {
            at_seam @ AT_SEAM.. => self.at_seams[(at_seam ^ AT_SEAM) as usize],
            own => self.before[strip] + own,
        }
    }

    /// Fills all foreground pixels with `map` of their components' numbers. To be called once, and
    /// after what asks for the numbers of rows.
    pub(in crate::label) fn fill(
        &mut self,
        labels: &mut [u32],
        map: impl Fn(u32) -> u32 + Sync,
        meter: &Meter<'_>,
    ) {
        let strip = &self.strips[0];
        let strip_pixels = strip.rows.len() * strip.image.width() as usize;
        let at_seams = &self.at_seams;
        self.strips
            .par_iter()
            .zip(labels.par_chunks_mut(strip_pixels))
            .zip(
                std::mem::take(&mut self.numbers)
                    .into_par_iter()
                    .zip(&self.before),
            )
            .for_each(|((strip, labels), (numbers, before))| {
                let number = |label| {
                    map(match numbers[label as usize] {
                        at_seam @ AT_SEAM.. => at_seams[(at_seam ^ AT_SEAM) as usize],
                        own => before + own,
                    })
                };
                strip.fill(labels, number, meter);
            });
    }

    /// The components' numbers, by run of the first row.
    pub(in crate::label) fn first_row(&self) -> Vec<u32> {
        let runs = runs(self.strips[0].image.row(0)).count() as u32;
        (1..=runs).map(|label| self.number(0, label)).collect()
    }

    /// The components' numbers, by run of the last row.
    pub(in crate::label) fn last_row(&self) -> Vec<u32> {
        let strip = self.strips.len() - 1;
        let labels = self.last_row.iter();
        labels.map(|&label| self.number(strip, label)).collect()
    }

    /// The components' measures, from pixels that are filled with their numbers.
    fn measure(&self, labels: &[u32]) -> Result<Vec<Component>> {
        statistics::measure(&self.strips, &self.before, labels, self.count)
    }

    /// The components' measures, likewise, and the tallies of those with the numbers `tallied`. The
    /// image's row 0 is row `first_row` of a larger one.
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
        // A component is as large as a tally of 64-bit sums, so it is collected in place.
        Ok((all.into_iter().map(Tally::finish).collect(), some))
    }
}

/// The components that cross a seam.
struct Seams {
    /// By component, from 0: the strip in which it starts, and the root of its first tree there.
    first_trees: Vec<(usize, u32)>,
    /// By strip: all other trees of these components, in the order of their roots.
    trees_from_above: Vec<Vec<TreeFromAbove>>,
}

/// A tree of a component that has an earlier tree.
struct TreeFromAbove {
    root: u32,
    component: u32,
}

impl Seams {
    fn join(
        strips: &[Strip<'_>],
        assigned: &mut [Assigned],
        connectivity: Connectivity,
    ) -> Result<Self> {
        // The pairs of trees that touch: the upper tree as (strip, root), and the lower tree's
        // root.
        let mut pairs = Vec::new();
        for (i, strip) in strips.iter().enumerate().skip(1) {
            let first_row = strip.rows.start;
            let (row, above) = (strip.image.row(first_row), strip.image.row(first_row - 1));
            let (upper, lower) = assigned.split_at_mut(i);
            let (upper, lower) = (&mut upper[i - 1], &mut lower[0]);
            let (mut row_runs, mut above_runs) = (0, 0);
            for (w, u) in Word::of_row(row).zip(Word::of_row(above)) {
                for place in places(touching(w, u, connectivity)) {
                    let run = row_runs + w.runs_through(place);
                    let over = above_runs + u.runs_through(place);
                    let root = upper.forest.find(upper.last_row[over - 1]);
                    let pair = ((i - 1, root), lower.forest.find(run as u32));
                    if pairs.last() != Some(&pair) {
                        reserve(&mut pairs, 1, "the strips' seams")?;
                        pairs.push(pair);
                    }
                }
                row_runs += w.starts().count_ones() as usize;
                above_runs += u.starts().count_ones() as usize;
            }
        }

        // A forest in which a tree's label is its place in raster order, from 1.
        let mut trees = Vec::new();
        reserve(&mut trees, 2 * pairs.len(), "the strips' seams")?;
        trees.extend(pairs.iter().map(|&(upper, _)| upper));
        trees.extend(pairs.iter().map(|&((strip, _), root)| (strip + 1, root)));
        trees.sort_unstable();
        trees.dedup();
        let mut forest = Forest::new(AT_SEAM)?;
        forest.reserve(trees.len())?;
        for _ in &trees {
            forest.plant()?;
        }
        let label = |tree| trees.partition_point(|&other| other <= tree) as u32;
        for (upper, root) in pairs {
            forest.join(label(upper), label((upper.0 + 1, root)));
        }

        let (components, count) = forest.number(|_| None);
        let mut seams = Self {
            first_trees: Vec::with_capacity(count as usize),
            trees_from_above: strips.iter().map(|_| Vec::new()).collect(),
        };
        for (&(strip, root), component) in trees.iter().zip(&components[1..]) {
            let component = component - 1;
            if component as usize == seams.first_trees.len() {
                seams.first_trees.push((strip, root));
            } else {
                seams.trees_from_above[strip].push(TreeFromAbove { root, component });
            }
        }
        Ok(seams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::cpu::{oracle, sequential};
    use proptest::prelude::*;

    fn options(connectivity: Connectivity) -> LabelOptions {
        LabelOptions {
            connectivity,
            statistics: true,
            ..LabelOptions::default()
        }
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
                let expected = sequential::label(&image, &options, &Progress::SILENT).unwrap();
                let found =
                    label_strips(rows, MOST_LABELS, &image, &options, &Progress::SILENT).unwrap();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn patterns_agree_with_one_pass() {
        for (image, name) in oracle::patterns() {
            for connectivity in [Connectivity::Four, Connectivity::Eight] {
                let options = options(connectivity);
                let expected = sequential::label(&image, &options, &Progress::SILENT).unwrap();
                for rows in [1, 2, 5, 64] {
                    let found =
                        label_strips(rows, MOST_LABELS, &image, &options, &Progress::SILENT);
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
        let options = LabelOptions::default();
        assert!(label_strips(4, 8, &image, &options, &Progress::SILENT).is_ok());
        assert!(matches!(
            label_strips(4, 7, &image, &options, &Progress::SILENT),
            Err(Error::TooMany { limit: 7, .. })
        ));
    }
}
