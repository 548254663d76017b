//! Labelling on the CPU.
//!
//! | stage | file |
//! |---|---|
//! | runs of foreground in rows of bits, and which of them touch | `runs.rs` |
//! | which provisional labels belong to one component: union-find | `forest.rs` |
//! | the memory of labels: written once | `rows.rs` |
//! | the labels of a row's pixels, word by word | `pixels.rs` |
//! | the two passes over a strip of rows: assign, fill | `strip.rs` |
//! | the whole image on one thread | `sequential.rs` |
//! | on all cores, in strips joined at their seams | `parallel.rs` |
//! | area, bounding box, centroid | `statistics.rs` |

mod forest;
#[cfg(test)]
mod oracle;
mod parallel;
mod pixels;
mod rows;
mod runs;
mod sequential;
mod statistics;
mod strip;
pub(crate) mod values;

pub(super) use parallel::{Numbered, label_band};
pub(crate) use runs::places;
pub(super) use runs::{Word, touching};
pub(super) use statistics::{Tally, sums_fit_64_bits};
pub(crate) use strip::background;
pub(super) use strip::{Meter, Strip};

use super::{LabelAlgorithm, LabelOptions, LabelSummary, Labels};
use crate::error::Result;
use crate::image::BinaryImage;
use crate::progress::Progress;

/// Labels on the CPU, with an algorithm that runs there.
pub(crate) fn label(
    image: &BinaryImage,
    options: &LabelOptions,
    algorithm: LabelAlgorithm,
    progress: &Progress<'_>,
) -> Result<Labels> {
    crate::threads::ensure();
    match algorithm {
        LabelAlgorithm::Sequential => sequential::label(image, &options.components, progress),
        _ => parallel::label(image, options, progress),
    }
}

/// As [`label`], with the labels in an array with one element per pixel.
pub(crate) fn label_into(
    image: &BinaryImage,
    options: &LabelOptions,
    algorithm: LabelAlgorithm,
    progress: &Progress<'_>,
    labels: &mut [u32],
) -> Result<LabelSummary> {
    crate::threads::ensure();
    match algorithm {
        LabelAlgorithm::Sequential => {
            sequential::label_into(image, &options.components, progress, labels)
        }
        _ => parallel::label_into(image, options, progress, labels),
    }
}
