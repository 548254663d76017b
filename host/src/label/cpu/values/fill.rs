//! Second pass: the labels of a strip's pixels.

use super::super::strip::WordPixels;
use super::assign::{Assigned, RunWord};
use crate::image::WORD_BITS;
use crate::image::compare::row_words;

/// Writes a strip's labels into `labels`, which are all 0. `numbers[label]` is the final number of
/// a provisional label.
pub(super) fn fill(strip: &Assigned, numbers: &[u32], labels: &mut [u32], width: usize) {
    let numbers = &numbers[strip.first_label as usize..];
    let mut runs = strip.runs.iter().map(|&label| numbers[label as usize]);
    let rows = strip.words.chunks_exact(row_words(width as u32));
    for (words, labels) in rows.zip(labels.chunks_exact_mut(width)) {
        // The label of the last run that started.
        let mut last = 0;
        for (&word, labels) in words.iter().zip(labels.chunks_mut(WORD_BITS)) {
            last = fill_word(word, last, labels, &mut runs);
        }
    }
}

/// The most runs that start in a word and are written over each other.
const FEW: u32 = 3;

/// Writes the labels of a word's pixels. The runs that start there have the next of `runs`; the run
/// before them has the label `last`. Returns the label of the last run.
#[inline(always)]
fn fill_word(
    RunWord { here, starts }: RunWord,
    mut last: u32,
    labels: &mut [u32],
    runs: &mut impl Iterator<Item = u32>,
) -> u32 {
    if here == 0 {
        return last;
    }
    if here == !0
        && starts.count_ones() <= FEW
        && let Some(labels) = labels.first_chunk_mut::<WORD_BITS>()
    {
        // Each run is written as if it went on to the end of the word.
        labels.fill(last);
        let mut starts = starts;
        while starts != 0 {
            let start = starts.trailing_zeros() as usize;
            starts &= starts - 1;
            last = runs.next().unwrap_or(0);
            labels[start..].fill(last);
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
