//! Second pass: the labels of a strip's pixels.

use super::super::pixels::{Blend, WordLabels, WordPixels, blend_anywhere, replace, select};
#[cfg(target_arch = "x86_64")]
use super::super::pixels::{blend_avx2, has_wide_vectors};
use super::super::rows::{LabelRows, RowWriter};
use super::assign::{Assigned, RunWord};
use crate::image::WORD_BITS;
use crate::image::compare::row_words;

/// Writes a strip's labels into `rows`. `numbers[label]` is the final number of a provisional
/// label.
pub(super) fn fill(strip: &Assigned, numbers: &[u32], rows: &mut LabelRows<'_>, width: usize) {
    let numbers = &numbers[strip.first_label as usize..];
    let mut runs = strip.runs.iter().map(|&label| numbers[label as usize]);
    for words in strip.words.chunks_exact(row_words(width as u32)) {
        // A row has at least one bit more than it has pixels.
        let words = &words[..width.div_ceil(WORD_BITS)];
        rows.write(|writer| fill_row(words, &mut runs, writer));
    }
}

/// Writes the labels of a row's pixels. The runs that start there have the next of `runs`.
fn fill_row(words: &[RunWord], runs: &mut impl Iterator<Item = u32>, writer: &mut RowWriter<'_>) {
    #[cfg(target_arch = "x86_64")]
    if has_wide_vectors() {
        // SAFETY: the processor has the features, as just asked.
        return unsafe { fill_row_avx2(words, runs, writer) };
    }
    // Without wide vectors, runs one by one are faster.
    fill_row_anywhere(words, runs, writer, &blend_anywhere, 0);
}

/// The most runs that start in a word and are written over each other by wide vectors.
#[cfg(target_arch = "x86_64")]
const FEW: u32 = 4;

/// As [`fill_row`], with vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn fill_row_avx2(
    words: &[RunWord],
    runs: &mut impl Iterator<Item = u32>,
    writer: &mut RowWriter<'_>,
) {
    let blend = |bits, label, others| blend_avx2(bits, label, others);
    fill_row_anywhere(words, runs, writer, &blend, FEW);
}

#[inline(always)]
fn fill_row_anywhere(
    words: &[RunWord],
    runs: &mut impl Iterator<Item = u32>,
    writer: &mut RowWriter<'_>,
    blend: &impl Blend,
    few: u32,
) {
    // The label of the last run that started.
    let mut last = 0;
    let mut labels = [0; WORD_BITS];
    for &word in words {
        if word.here == 0 {
            writer.background();
        } else {
            last = fill_word(word, last, &mut labels, runs, blend, few);
            writer.word(&labels);
        }
    }
}

/// Writes the labels of a word's pixels, some of which count. The runs that start there have the
/// next of `runs`; the run before them has the label `last`. If they are at most `few`, they are
/// written over each other. Returns the label of the last run.
#[inline(always)]
fn fill_word(
    RunWord { here, mut starts }: RunWord,
    mut last: u32,
    labels: &mut WordLabels,
    runs: &mut impl Iterator<Item = u32>,
    blend: &impl Blend,
    few: u32,
) -> u32 {
    if starts.count_ones() <= few {
        let first = here & here.wrapping_neg();
        if starts & first != 0 {
            last = runs.next().unwrap_or(0);
            starts ^= first;
        }
        // Each run is written as if it went on to the end of the word.
        select(here, last, labels, blend);
        while starts != 0 {
            let start = starts.trailing_zeros();
            starts &= starts - 1;
            last = runs.next().unwrap_or(0);
            // planted: runs-replace
            replace(here & !0 << start, last, labels, blend);
        }
        return last;
    }
    let mut pixels = WordPixels::default();
    let mut rest = here;
    while rest != 0 {
        let start = rest.trailing_zeros();
        if starts >> start & 1 == 1 {
            last = runs.next().unwrap_or(0);
        }
        // Up to the next start, or to the next pixel that does not count.
        let others = (starts | !here) & !(!0 >> (WORD_BITS as u32 - 1 - start));
        let end = others.trailing_zeros();
        pixels.fill(start as usize, end as usize, last);
        rest = match end {
            64 => 0,
            end => rest & !0 << end,
        };
    }
    pixels.write(labels);
    last
}
