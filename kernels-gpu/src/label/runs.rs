//! The labels of an image's runs, one per run in raster order. From these and the image's bits, the
//! host writes the labels of all pixels.
//!
//! A run is a longest stretch of foreground in a row. The index of a run is the number of runs that
//! start before it: in earlier chunks, in earlier words of its chunk, and in its word.
//! [`number`](super::number) says what a chunk is.
//!
//! | kernel | launch | reads | writes |
//! | --- | --- | --- | --- |
//! | [`count_runs`](fn@count_runs) | one thread per word | 1 bit per pixel | 2 bytes per word, 4 bytes per chunk |
//! | a [`scan`](crate::primitives::scan) of the chunks' counts | | | |
//! | [`run_labels`](fn@run_labels) | one thread per word | 1 bit per pixel, 2 bytes per word, and the label of each run's first pixel | 4 bytes per run |

use cuda_std::prelude::*;

use super::number::{BLOCK, BitCounts, CHUNK};
use crate::image::BitImage;
use crate::primitives::bits::starts;
use crate::primitives::quotient;
use crate::primitives::scan::ScanState;

/// Counts the runs that start in each word and in each chunk. Makes `scan` ready.
///
/// # Safety
///
/// `counts` has the lengths for the image's words, and `scan` is for its chunks; nothing else uses
/// them meanwhile. The launch has one thread per word of the image.
#[kernel(block = BLOCK, len(image = (), counts = image.row_words * image.height))]
pub unsafe fn count_runs(image: BitImage<'_>, counts: BitCounts<'_>, scan: ScanState<'_>) {
    let word = thread::index_1d();
    scan.make_ready(word);
    let words = image.row_words * image.height;
    // Threads past the last word take part in the sums too.
    let own = if word < words {
        let y = quotient(word, image.row_words);
        starts_of_word(image, word, word - y * image.row_words)
    } else {
        0
    };
    counts.count(own, word, words);
}

/// Writes the labels of the runs: element `i` of `of_runs` is the label of run `i`. `image` may be
/// several images stacked vertically with a row of background after each: their tops are `pitch`
/// rows apart.
///
/// # Safety
///
/// `labels` has one element per pixel of `image`, without the rows between images. `in_chunk` are
/// the counts of [`count_runs`](fn@count_runs), and `chunks` the exclusive prefix sums of its
/// chunks' counts. `of_runs` has one element per run, and nothing else uses it meanwhile. `pitch`
/// is not 0. The launch has one thread per word of the image.
#[kernel(
    block = BLOCK,
    len(
        image = (),
        labels = image.stack_pixels(pitch),
        in_chunk = image.row_words * image.height,
    ),
)]
pub unsafe fn run_labels(
    image: BitImage<'_>,
    labels: View<'_, u32>,
    in_chunk: View<'_, u16>,
    chunks: View<'_, u32>,
    of_runs: ViewMut<'_, u32>,
    pitch: u32,
) {
    let word = thread::index_1d();
    // planted: run-labels-end
    if word >= image.row_words * image.height {
        return;
    }
    let y = quotient(word, image.row_words);
    let column = word - y * image.row_words;
    let mut rest = starts_of_word(image, word, column);
    if rest == 0 {
        return;
    }
    let mut run = chunks.ldg(word / CHUNK) + u32::from(in_chunk.ldg(word));
    // planted: run-labels-row
    let first_pixel = (y - quotient(y, pitch)) * image.width + column * 64;
    while rest != 0 {
        // planted: run-labels-pixel
        of_runs.st(run, labels.ldg(first_pixel + rest.trailing_zeros()));
        rest &= rest - 1;
        run += 1;
    }
}

/// The pixels of word `word` at which a run starts. `column` is the word's index in its row.
#[inline(always)]
fn starts_of_word(image: BitImage<'_>, word: u32, column: u32) -> u64 {
    let carry = if column == 0 {
        0
    } else {
        // planted: run-carry
        image.words.ldg(word - 1) >> 63
    };
    starts(image.words.ldg(word), carry)
}
