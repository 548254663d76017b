//! Label on one thread: the reference for all other algorithms.
//!
//! Run-based labelling in two passes with union-find, on rows of bits (after Lifeng He, Yuyan Chao
//! and Kenji Suzuki, "A run-based two-scan labeling algorithm", IEEE Transactions on Image
//! Processing 17(5), 2008).
//!
//! 1. Row after row, find the runs, and which of them touch runs above. A run that touches none
//!    gets a new provisional label. Another run gets the label of a run that it touches; if it
//!    touches several, their labels are joined to one tree of the forest.
//! 2. Number the trees in the order of their roots, which is the raster order of the
//!    components' first pixels.
//! 3. Fill each run with the number of its label's tree.
//!
//! # Cost
//!
//! Time is linear in words, runs and foreground pixels, except for the nearly constant depth of the
//! forest. Memory, besides the image and the result of 4 bytes per pixel, is 4 bytes per
//! provisional label, and up to a quarter of a byte per pixel while there are few runs. The worst
//! case for 4 neighbours is a checkerboard, with a label for every second pixel: **2 bytes per
//! pixel**. For 8 neighbours, at most every fourth pixel has a label (`dots`): 1 byte per pixel.

use super::forest::Forest;
use super::rows::{self, LabelRows};
use super::statistics;
use super::strip::{Meter, Strip};
use crate::error::Result;
use crate::image::BinaryImage;
use crate::label::{ComponentOptions, LabelSummary, Labels};
use crate::progress::Progress;

/// Labels the components of `image`.
pub(super) fn label(
    image: &BinaryImage,
    options: &ComponentOptions,
    progress: &Progress<'_>,
) -> Result<Labels> {
    label_up_to(u32::MAX, image, options, progress)
}

/// Labels the components of `image` in `labels`, which has one element per pixel.
pub(super) fn label_into(
    image: &BinaryImage,
    options: &ComponentOptions,
    progress: &Progress<'_>,
    labels: &mut [u32],
) -> Result<LabelSummary> {
    let write = in_one_strip(u32::MAX, image, options, progress);
    let count = write(&mut LabelRows::of_strips(
        labels,
        image.width(),
        image.height(),
    )?)?;
    summary(image, options, labels, count)
}

/// Labels the components of `image` with at most `limit` provisional labels.
fn label_up_to(
    limit: u32,
    image: &BinaryImage,
    options: &ComponentOptions,
    progress: &Progress<'_>,
) -> Result<Labels> {
    let write = in_one_strip(limit, image, options, progress);
    let (labels, count) = rows::written(image.width(), image.height(), image.height(), write)?;
    let LabelSummary { count, components } = summary(image, options, &labels, count)?;
    Ok(Labels {
        width: image.width(),
        height: image.height(),
        labels,
        count,
        components,
    })
}

/// A function that labels the rows of `image` and returns the number of components.
fn in_one_strip(
    limit: u32,
    image: &BinaryImage,
    options: &ComponentOptions,
    progress: &Progress<'_>,
) -> impl FnOnce(&mut [LabelRows<'_>]) -> Result<u32> {
    let strip = Strip::whole(image);
    let connectivity = options.connectivity;
    move |rows| {
        let meter = Meter::new(image, progress);
        let mut forest = Forest::new(limit)?;
        strip.assign(connectivity, &mut forest, Some(&mut rows[0]), &meter)?;
        let (number, count) = forest.number(0, |_| None);
        strip.fill(&mut rows[0], |label| number[label as usize], &meter)?;
        Ok(count)
    }
}

/// The summary that `options` ask for.
fn summary(
    image: &BinaryImage,
    options: &ComponentOptions,
    labels: &[u32],
    count: u32,
) -> Result<LabelSummary> {
    let measure = || statistics::measure(&[Strip::whole(image)], &[0], labels, count);
    Ok(LabelSummary {
        count,
        components: options.statistics.then(measure).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::label::Connectivity;
    use crate::label::cpu::oracle;
    use proptest::prelude::*;

    fn check(image: &BinaryImage) {
        for connectivity in [Connectivity::Four, Connectivity::Eight] {
            let expected = oracle::label(image, connectivity);
            let mut options = ComponentOptions {
                connectivity,
                statistics: false,
            };
            let found = label(image, &options, &Progress::SILENT).unwrap();
            assert_eq!(found.labels, expected.labels, "not the oracle's: {image:?}");
            options.statistics = true;
            let found = label(image, &options, &Progress::SILENT).unwrap();
            assert_eq!(found, expected, "not the oracle's: {image:?}");
        }
    }

    proptest! {
        #![proptest_config(crate::seeds::config(1024, 1))]

        #[test]
        fn agrees_with_a_flood_fill(image in oracle::images()) {
            check(&image);
        }
    }

    #[test]
    fn agrees_with_a_flood_fill_on_patterns() {
        for (image, _) in oracle::patterns() {
            check(&image);
        }
    }

    #[test]
    fn the_comparison_can_fail() {
        let image = BinaryImage::from_art("#.#\n.#.").unwrap();
        assert_ne!(
            oracle::label(&image, Connectivity::Four),
            oracle::label(&image, Connectivity::Eight)
        );
    }

    #[test]
    fn refuses_more_labels_than_the_limit() {
        let image = crate::generate::dots(8, 8).unwrap();
        let options = ComponentOptions::default();
        assert_eq!(
            label_up_to(16, &image, &options, &Progress::SILENT)
                .unwrap()
                .count(),
            16
        );
        assert!(matches!(
            label_up_to(15, &image, &options, &Progress::SILENT),
            Err(Error::TooMany { limit: 15, .. })
        ));
    }

    #[test]
    fn reports_progress_to_the_end() {
        use std::sync::Mutex;
        let image = BinaryImage::new(4096, 1000).unwrap();
        let shares = std::sync::Arc::new(Mutex::new(Vec::new()));
        let seen = shares.clone();
        let engine = crate::Engine::cpu().with_progress(move |share| {
            seen.lock().unwrap().push(share);
            std::ops::ControlFlow::Continue(())
        });
        for algorithm in [
            crate::LabelAlgorithm::Sequential,
            crate::LabelAlgorithm::Parallel,
        ] {
            let options = crate::LabelOptions::default().algorithm(algorithm);
            engine.label(&image, &options).unwrap();
            let shares = std::mem::take(&mut *shares.lock().unwrap());
            assert!(shares.len() >= 8 && shares.contains(&1.0), "{shares:?}");
        }
    }
}
