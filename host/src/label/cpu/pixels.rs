//! The labels of a row's pixels, from those of its runs, one word of pixels after another.

use super::rows::RowWriter;
use super::runs::{Word, stretches};
use crate::image::WORD_BITS;

/// The labels of a word's pixels.
pub(super) type WordLabels = [u32; WORD_BITS];

/// Turns the labels of the row above into those of `row`, in whole words of pixels, and writes
/// them. `runs` are the provisional labels of the row's runs, and `number` gives their numbers.
///
/// In drawings and masks, most words equal the word above. Their pixels have the labels of the
/// pixels above.
pub(super) fn fill_row(
    row: &[u64],
    above: &[u64],
    runs: &[u32],
    labels: &mut [WordLabels],
    writer: &mut RowWriter<'_>,
    number: &impl Fn(u32) -> u32,
) {
    #[cfg(target_arch = "x86_64")]
    if has_wide_vectors() {
        // SAFETY: the processor has the features, as just asked.
        return unsafe { fill_row_avx2(row, above, runs, labels, writer, number) };
    }
    fill_row_anywhere(row, above, runs, labels, writer, number, &blend_anywhere);
}

/// Fills one row of pixels, which are 0. The labels of its runs are the next of `runs`.
pub(super) fn fill_row_of_runs(
    row: &[u64],
    labels: &mut [u32],
    runs: &mut (impl Iterator<Item = u32> + Clone),
) {
    #[cfg(target_arch = "x86_64")]
    if has_wide_vectors() {
        // SAFETY: the processor has the features, as just asked.
        return unsafe { fill_row_of_runs_avx2(row, labels, runs) };
    }
    fill_row_of_runs_anywhere(row, labels, runs, &blend_anywhere);
}

/// Whether the processor has vectors of 256 bits, and instructions that count bits.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_wide_vectors() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

/// As [`fill_row`], with vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn fill_row_avx2(
    row: &[u64],
    above: &[u64],
    runs: &[u32],
    labels: &mut [WordLabels],
    writer: &mut RowWriter<'_>,
    number: &impl Fn(u32) -> u32,
) {
    let blend = |bits, label, others| blend_avx2(bits, label, others);
    fill_row_anywhere(row, above, runs, labels, writer, number, &blend);
}

#[inline(always)]
fn fill_row_anywhere(
    row: &[u64],
    above: &[u64],
    runs: &[u32],
    labels: &mut [WordLabels],
    writer: &mut RowWriter<'_>,
    number: &impl Fn(u32) -> u32,
    blend: &impl Blend,
) {
    let mut runs = runs.iter().copied();
    // The label of the last pixel of the word before.
    let mut last = 0;
    for ((w, &above), labels) in Word::of_row(row).zip(above).zip(labels) {
        if w.bits != above {
            fill_word(w, last, labels, &mut runs, number, blend);
        } else if w.bits != 0 {
            skip_runs(w, &mut runs);
        }
        last = labels[WORD_BITS - 1];
        if w.bits == 0 {
            writer.background();
        } else {
            writer.word(labels);
        }
    }
}

/// As [`fill_row_of_runs`], with vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn fill_row_of_runs_avx2(
    row: &[u64],
    labels: &mut [u32],
    runs: &mut (impl Iterator<Item = u32> + Clone),
) {
    let blend = |bits, label, others| blend_avx2(bits, label, others);
    fill_row_of_runs_anywhere(row, labels, runs, &blend);
}

#[inline(always)]
fn fill_row_of_runs_anywhere(
    row: &[u64],
    labels: &mut [u32],
    runs: &mut (impl Iterator<Item = u32> + Clone),
    blend: &impl Blend,
) {
    let mut last = 0;
    for (w, labels) in Word::of_row(row).zip(labels.chunks_mut(WORD_BITS)) {
        if w.bits == 0 {
            last = 0;
            continue;
        }
        let number = &|label| label;
        if let Some(labels) = labels.first_chunk_mut() {
            fill_word(w, last, labels, runs, number, blend);
        } else {
            let mut whole = [0; WORD_BITS];
            fill_word(w, last, &mut whole, runs, number, blend);
            labels.copy_from_slice(&whole[..labels.len()]);
        }
        last = labels[labels.len() - 1];
    }
}

/// Takes the labels of the runs that start in a word.
#[inline(always)]
fn skip_runs(w: Word, runs: &mut impl Iterator<Item = u32>) {
    let starts = w.starts().count_ones() as usize;
    if starts > 0 {
        runs.nth(starts - 1);
    }
}

/// Writes the labels of a word's pixels, which are the numbers of the next of `runs`. `last` is the
/// label of the pixel to the left.
#[inline(always)]
fn fill_word(
    w: Word,
    last: u32,
    labels: &mut WordLabels,
    runs: &mut (impl Iterator<Item = u32> + Clone),
    number: &impl Fn(u32) -> u32,
    blend: &impl Blend,
) {
    let mut goes_on = w.carry & w.bits & 1 == 1;
    let starts = w.starts().count_ones() as usize;
    let mut numbers = runs.clone().take(starts).map(number);
    let first = match goes_on {
        true => last,
        false => numbers.next().unwrap_or(0),
    };
    // Usually all runs of a word belong to one component.
    if numbers.all(|number| number == first) {
        if starts > 0 {
            runs.nth(starts - 1);
        }
        select(w.bits, first, labels, blend);
        return;
    }
    let mut pixels = WordPixels::default();
    for (start, end) in stretches(w.bits) {
        let label = match goes_on {
            true => last,
            false => number(runs.next().unwrap_or(0)),
        };
        goes_on = false;
        pixels.fill(start, end, label);
    }
    pixels.write(labels);
}

/// A function that takes eight bits, a label and eight other labels: it gives the label where a bit
/// is set, and the other labels elsewhere.
pub(super) trait Blend: Fn(u64, u32, [u32; BLOCK]) -> [u32; BLOCK] {}

impl<F: Fn(u64, u32, [u32; BLOCK]) -> [u32; BLOCK]> Blend for F {}

/// As [`Blend`] says.
#[inline(always)]
pub(super) fn blend_anywhere(bits: u64, label: u32, mut block: [u32; BLOCK]) -> [u32; BLOCK] {
    for (place, pixel) in block.iter_mut().enumerate() {
        if bits >> place & 1 == 1 {
            *pixel = label;
        }
    }
    block
}

/// As [`Blend`] says. The compiler does not find these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn blend_avx2(bits: u64, label: u32, others: [u32; BLOCK]) -> [u32; BLOCK] {
    use std::arch::x86_64::*;

    let places = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let bits = _mm256_set1_epi32((bits as u32).cast_signed());
    let masks = _mm256_cmpeq_epi32(_mm256_and_si256(bits, places), places);
    let label = _mm256_set1_epi32(label.cast_signed());
    bytemuck::cast(_mm256_blendv_epi8(bytemuck::cast(others), label, masks))
}

/// Gives the pixels of a word that are set a label, and the others 0.
#[inline(always)]
pub(super) fn select(bits: u64, label: u32, labels: &mut WordLabels, blend: &impl Blend) {
    for (i, block) in labels.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        *block = blend(bits >> (BLOCK * i), label, [0; BLOCK]);
    }
}

/// Gives the pixels of a word that are set a label; the others keep theirs.
#[inline(always)]
pub(super) fn replace(bits: u64, label: u32, labels: &mut WordLabels, blend: &impl Blend) {
    for (i, block) in labels.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        *block = blend(bits >> (BLOCK * i), label, *block);
    }
}

/// The labels of a word's pixels, filled from left to right. Stretches are written in blocks of
/// constant length, with room for the surplus: the next stretch, or the background after it,
/// overwrites that.
pub(super) struct WordPixels([u32; WORD_BITS + 2 * BLOCK]);

impl Default for WordPixels {
    fn default() -> Self {
        Self([0; WORD_BITS + 2 * BLOCK])
    }
}

impl WordPixels {
    #[inline(always)]
    pub(super) fn fill(&mut self, start: usize, end: usize, label: u32) {
        for block in (start..end).step_by(BLOCK) {
            self.0[block..][..BLOCK].fill(label);
        }
        self.0[end..][..BLOCK].fill(0);
    }

    #[inline(always)]
    pub(super) fn write(&self, labels: &mut WordLabels) {
        labels.copy_from_slice(&self.0[..WORD_BITS]);
    }
}

/// Pixels per block.
const BLOCK: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the eight places by itself.
    fn blend_plainly(bits: u64, label: u32, others: [u32; BLOCK]) -> [u32; BLOCK] {
        std::array::from_fn(|place| match bits & 1 << place {
            0 => others[place],
            _ => label,
        })
    }

    #[test]
    fn blends_are_those_of_each_place() {
        let others = [10, 0, u32::MAX, 13, 14, 1 << 31, 16, 17];
        for bits in 0..1 << 9 {
            for label in [0, 7, u32::MAX] {
                let expected = blend_plainly(bits, label, others);
                assert_eq!(blend_anywhere(bits, label, others), expected);
                #[cfg(target_arch = "x86_64")]
                if has_wide_vectors() {
                    // SAFETY: the processor has the features, as just asked.
                    let found = unsafe { blend_avx2(bits, label, others) };
                    assert_eq!(found, expected);
                }
            }
        }
    }

    /// The two versions of a row's labels, at widths that end within words.
    #[test]
    fn rows_of_runs_are_the_same_without_wide_vectors() {
        for width in [1, 63, 64, 65, 200] {
            for (density, seed) in [(0.02, 1), (0.5, 2), (0.98, 3)] {
                let image = crate::generate::noise(width, 1, density, seed).unwrap();
                let (mut expected, mut label) = (vec![0; width as usize], 0);
                for x in 0..width {
                    if image.get(x, 0) {
                        label += u32::from(x == 0 || !image.get(x - 1, 0));
                        // Labels that differ, and ones that are the same again.
                        expected[x as usize] = label / 3 + 1;
                    }
                }
                let runs = || (1..=label).map(|run| run / 3 + 1);
                let mut labels = vec![0; width as usize];
                fill_row_of_runs(image.row(0), &mut labels, &mut runs());
                assert_eq!(labels, expected, "{width} {density}");
                labels.fill(0);
                let row = image.row(0);
                fill_row_of_runs_anywhere(row, &mut labels, &mut runs(), &blend_anywhere);
                assert_eq!(labels, expected, "{width} {density}");
            }
        }
    }
}
