//! The memory that labels are written to, once.

use std::mem::MaybeUninit;

use super::pixels::WordLabels;
use crate::error::Result;
use crate::image::WORD_BITS;
use crate::memory::{KEPT_BYTES, advise_large_pages, reserve, zeroed_vec};

/// A strip's rows in an array of labels. The array's memory may be new: it is neither cleared nor
/// read before it is written.
///
/// A row first keeps some provisional labels, at its start. Then the rows are written as a whole,
/// from the first to the last.
///
/// In an array of zeros, the first rows keep their labels in a list, as long as there are few
/// labels. The system clears a page when it is first touched; with the list, that is just before
/// the page's pixels are written.
pub(in crate::label) struct LabelRows<'a> {
    labels: &'a mut [MaybeUninit<u32>],
    width: usize,
    /// Whether the array was 0 before rows kept labels in it.
    is_zero: bool,
    /// The number of labels that each row keeps, for the rows so far.
    kept: Vec<u32>,
    /// The labels kept by the first rows.
    list: Vec<u32>,
    /// The number of these rows.
    listed: usize,
    /// The number of rows that are written as a whole.
    written: usize,
    /// The number of labels in the list that these rows have kept.
    taken: usize,
}

/// Rows keep their labels in the list as long as it has at most one label per this many pixels.
const PIXELS_PER_LISTED: usize = 16;

impl<'a> LabelRows<'a> {
    /// Strips of `rows` rows of an array to be overwritten; the last strip may have fewer rows.
    pub(super) fn of_strips(labels: &'a mut [u32], width: u32, rows: u32) -> Result<Vec<Self>> {
        Self::divide(uninit(labels), width, rows, false)
    }

    fn divide(
        memory: &'a mut [MaybeUninit<u32>],
        width: u32,
        rows: u32,
        is_zero: bool,
    ) -> Result<Vec<Self>> {
        let width = width as usize;
        let strip = |labels: &'a mut [MaybeUninit<u32>]| {
            let mut kept = Vec::new();
            reserve(&mut kept, labels.len() / width, "the rows of labels")?;
            Ok(Self {
                labels,
                width,
                is_zero,
                kept,
                list: Vec::new(),
                listed: 0,
                written: 0,
                taken: 0,
            })
        };
        memory
            .chunks_mut(rows as usize * width)
            .map(strip)
            .collect()
    }

    /// Keeps `labels`, at most one per pixel, in the next row.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub(super) fn keep(&mut self, labels: &[u32]) -> Result<()> {
        let rows = self.kept.len() + 1;
        let fit = self.list.len() + labels.len() <= rows * self.width / PIXELS_PER_LISTED;
        if self.is_zero && self.listed + 1 == rows && fit {
            if self.list.is_empty() {
                let most = self.labels.len() / PIXELS_PER_LISTED;
                reserve(&mut self.list, most, "the labels of runs")?;
            }
            self.list.extend_from_slice(labels);
            self.listed += 1;
        } else {
            let start = self.kept.len() * self.width;
            self.labels[start..][..labels.len()].write_copy_of_slice(labels);
        }
        self.kept.push(labels.len() as u32);
        Ok(())
    }

    /// The labels kept in the next row to be written.
    pub(super) fn kept(&self) -> &[u32] {
        let count = self.kept[self.written] as usize;
        if self.written < self.listed {
            return &self.list[self.taken..][..count];
        }
        let kept = &self.labels[self.written * self.width..][..count];
        // SAFETY: `keep` has written this number of elements from the row's start on.
        unsafe { kept.assume_init_ref() }
    }

    /// Lets `write` write all words of the next row, over the labels it has kept.
    ///
    /// # Panics
    /// If `write` does not write all of them.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut RowWriter<'_>)) {
        let is_listed = self.written < self.listed;
        let has_kept = self.written < self.kept.len() && !is_listed;
        let start = self.written * self.width;
        let mut writer = RowWriter {
            rest: &mut self.labels[start..][..self.width],
            // planted: rows-listed
            is_zero: self.is_zero && !has_kept,
        };
        write(&mut writer);
        assert!(writer.rest.is_empty(), "a row is not written to its end");
        if is_listed {
            self.taken += self.kept[self.written] as usize;
        }
        self.written += 1;
    }

    /// The number of elements in the rows that are written as a whole.
    fn elements_written(&self) -> usize {
        self.written * self.width
    }
}

/// Writes the words of a row, from left to right.
pub(super) struct RowWriter<'a> {
    /// What is left of the row.
    rest: &'a mut [MaybeUninit<u32>],
    /// Whether that is 0.
    is_zero: bool,
}

impl<'a> RowWriter<'a> {
    /// Writes the labels of the next word's pixels, as far as the row goes.
    #[inline(always)]
    pub(super) fn word(&mut self, labels: &WordLabels) {
        let word = self.next_word();
        let Some(word) = word.first_chunk_mut::<WORD_BITS>() else {
            word.write_copy_of_slice(&labels[..word.len()]);
            return;
        };
        // In vectors, without a call. The C library's copy of a row takes up to twice as long.
        let blocks = word.as_chunks_mut::<8>().0.iter_mut();
        for (block, labels) in blocks.zip(labels.as_chunks::<8>().0) {
            *block = labels.map(MaybeUninit::new);
        }
    }

    /// Leaves the next word's pixels 0.
    #[inline(always)]
    pub(super) fn background(&mut self) {
        if self.is_zero {
            self.next_word();
        } else {
            self.word(&[0; WORD_BITS]);
        }
    }

    #[inline(always)]
    fn next_word(&mut self) -> &'a mut [MaybeUninit<u32>] {
        let rest = std::mem::take(&mut self.rest);
        let (word, rest) = rest.split_at_mut(rest.len().min(WORD_BITS));
        self.rest = rest;
        word
    }
}

/// An array as memory to be overwritten.
fn uninit(labels: &mut [u32]) -> &mut [MaybeUninit<u32>] {
    let labels: *mut [u32] = labels;
    // SAFETY: the memory is that of `labels`, borrowed for as long, and the types have the same
    // layout. Only elements with a value are written to it, here in this module.
    unsafe { &mut *(labels as *mut [MaybeUninit<u32>]) }
}

/// New arrays of at least this many bytes are requested from the system as zeros. Unit tests have
/// small images, and request zeros for these, too.
const FROM_SYSTEM: usize = if cfg!(test) { 1 << 10 } else { KEPT_BYTES };

/// Labels of `width` × `height` pixels, in new memory that `write` fills, in strips of `rows` rows.
///
/// # Panics
/// If `write` succeeds without having written all rows.
pub(super) fn written<R>(
    width: u32,
    height: u32,
    rows: u32,
    write: impl FnOnce(&mut [LabelRows<'_>]) -> Result<R>,
) -> Result<(Vec<u32>, R)> {
    let pixels = width as usize * height as usize;
    let from_system = pixels >= FROM_SYSTEM / size_of::<u32>();
    written_to(from_system, pixels, width, rows, write)
}

fn written_to<R>(
    zeros: bool,
    pixels: usize,
    width: u32,
    rows: u32,
    write: impl FnOnce(&mut [LabelRows<'_>]) -> Result<R>,
) -> Result<(Vec<u32>, R)> {
    let mut labels = Vec::new();
    let memory = if zeros {
        labels = zeroed_vec(pixels, "labels")?;
        uninit(&mut labels)
    } else {
        reserve(&mut labels, pixels, "labels")?;
        &mut labels.spare_capacity_mut()[..pixels]
    };
    advise_large_pages(memory);
    let mut strips = LabelRows::divide(memory, width, rows, zeros)?;
    let result = write(&mut strips)?;
    let written: usize = strips.iter().map(LabelRows::elements_written).sum();
    assert_eq!(written, pixels, "some rows have no labels");
    // SAFETY: the capacity is at least `pixels`. The strips divide the first `pixels` elements.
    // Each has written a number of its elements, from its start on, or left them 0, and the numbers
    // add up to `pixels`.
    unsafe { labels.set_len(pixels) };
    Ok((labels, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of 67 pixels. Of those that are 0, the first ones keep their labels in the list.
    #[test]
    fn rows_keep_labels_until_they_are_written() {
        const WIDTH: usize = 67;
        let kept: [&[u32]; 5] = [&[7], &[8], &[3; WIDTH], &[9, 1, 2, 3], &[4; WIDTH]];
        let fill = |strips: &mut [LabelRows<'_>]| {
            let strip = |y: usize| y / 3;
            for (y, kept) in kept.iter().enumerate() {
                strips[strip(y)].keep(kept)?;
            }
            let listed = if strips[0].is_zero { [2, 1] } else { [0, 0] };
            assert_eq!([strips[0].listed, strips[1].listed], listed);
            for (y, kept) in kept.iter().enumerate() {
                let rows = &mut strips[strip(y)];
                assert_eq!(rows.kept(), *kept);
                rows.write(|writer| {
                    writer.background();
                    writer.word(&[y as u32; WORD_BITS]);
                });
            }
            Ok(())
        };
        let row = |y| [&[0; WORD_BITS], &[y; WIDTH - WORD_BITS][..]].concat();
        let expected: Vec<u32> = (0..5).flat_map(row).collect();
        for zeros in [false, true] {
            let labels = written_to(zeros, WIDTH * 5, WIDTH as u32, 3, fill);
            assert_eq!(labels.unwrap().0, expected);
        }
        let mut array = vec![5; WIDTH * 5];
        fill(&mut LabelRows::of_strips(&mut array, WIDTH as u32, 3).unwrap()).unwrap();
        assert_eq!(array, expected);
    }

    #[test]
    #[should_panic = "some rows have no labels"]
    fn rows_that_are_only_kept_are_not_labels() {
        let _ = written(4, 2, 2, |strips| {
            strips[0].write(|writer| writer.word(&[1; WORD_BITS]));
            strips[0].keep(&[2; 4])?;
            strips[0].keep(&[2; 4])
        });
    }

    #[test]
    #[should_panic = "a row is not written to its end"]
    fn words_that_are_not_written_are_not_labels() {
        let _ = written(65, 1, 1, |strips| {
            strips[0].keep(&[2])?;
            strips[0].write(|writer| writer.word(&[1; WORD_BITS]));
            Ok(())
        });
    }
}
