//! The memory that labels are written to, once.

use std::mem::MaybeUninit;

use crate::error::Result;
use crate::image::BinaryImage;
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

    /// Writes the next row, over the labels it has kept.
    pub(super) fn write(&mut self, row: &[u32]) {
        let start = self.written * self.width;
        self.labels[start..][..self.width].write_copy_of_slice(row);
        self.next_row();
    }

    /// Lets `fill` write the next row if it is 0, by the labels it has kept and the row above,
    /// which is empty for the first row. Returns whether it is.
    pub(super) fn fill_zeros(&mut self, fill: impl FnOnce(&[u32], &[u32], &mut [u32])) -> bool {
        if self.written >= self.listed {
            return false;
        }
        let start = self.written * self.width;
        let (before, row) = self.labels.split_at_mut(start);
        let (above, row) = (
            &before[start.saturating_sub(self.width)..],
            &mut row[..self.width],
        );
        // SAFETY: rows are listed in an array that was 0, and what has been written to it since are
        // values.
        let (above, row) = unsafe { (above.assume_init_ref(), row.assume_init_mut()) };
        let count = self.kept[self.written] as usize;
        fill(&self.list[self.taken..][..count], above, row);
        self.next_row();
        true
    }

    /// The latest row that was written as a whole.
    pub(super) fn latest(&self) -> Option<&[u32]> {
        let start = self.written.checked_sub(1)? * self.width;
        let row = &self.labels[start..][..self.width];
        // SAFETY: all elements of a row have a value when it counts as written.
        Some(unsafe { row.assume_init_ref() })
    }

    fn next_row(&mut self) {
        if self.written < self.listed {
            self.taken += self.kept[self.written] as usize;
        }
        self.written += 1;
    }

    /// The number of elements in the rows that are written as a whole.
    fn elements_written(&self) -> usize {
        self.written * self.width
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

/// The labels of `image`, in new memory that `write` fills, in strips of `rows` rows.
///
/// # Panics
/// If `write` succeeds without having written all rows.
pub(super) fn written<R>(
    image: &BinaryImage,
    rows: u32,
    write: impl FnOnce(&mut [LabelRows<'_>]) -> Result<R>,
) -> Result<(Vec<u32>, R)> {
    let from_system = image.pixel_count() as usize >= FROM_SYSTEM / size_of::<u32>();
    written_to(from_system, image, rows, write)
}

fn written_to<R>(
    zeros: bool,
    image: &BinaryImage,
    rows: u32,
    write: impl FnOnce(&mut [LabelRows<'_>]) -> Result<R>,
) -> Result<(Vec<u32>, R)> {
    let pixels = image.pixel_count() as usize;
    let mut labels = Vec::new();
    let memory = if zeros {
        labels = zeroed_vec(pixels, "labels")?;
        uninit(&mut labels)
    } else {
        reserve(&mut labels, pixels, "labels")?;
        &mut labels.spare_capacity_mut()[..pixels]
    };
    advise_large_pages(memory);
    let mut strips = LabelRows::divide(memory, image.width(), rows, zeros)?;
    let result = write(&mut strips)?;
    let written: usize = strips.iter().map(LabelRows::elements_written).sum();
    assert_eq!(written, pixels, "some rows have no labels");
    // SAFETY: the capacity is at least `pixels`. The strips divide the first `pixels` elements.
    // Each has written a number of its elements, from its start on, and the numbers add up to
    // `pixels`.
    unsafe { labels.set_len(pixels) };
    Ok((labels, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of 17 pixels. Of those that are 0, the first ones keep their labels in the list.
    #[test]
    fn rows_keep_labels_until_they_are_written() {
        let image = BinaryImage::new(17, 5).unwrap();
        let kept: [&[u32]; 5] = [&[7], &[8], &[3; 17], &[9, 1], &[4; 17]];
        let fill = |strips: &mut [LabelRows<'_>]| {
            let strip = |y: usize| y / 3;
            for (y, kept) in kept.iter().enumerate() {
                strips[strip(y)].keep(kept)?;
            }
            let listed = if strips[0].is_zero { [2, 0] } else { [0, 0] };
            assert_eq!([strips[0].listed, strips[1].listed], listed);
            for (y, kept) in kept.iter().enumerate() {
                let strip = &mut strips[strip(y)];
                assert_eq!(strip.kept(), *kept);
                let last = [y as u32; 2];
                let latest = strip.latest().unwrap_or(&[]).to_vec();
                let is_zero = strip.fill_zeros(|labels, above, row| {
                    assert_eq!(labels, *kept);
                    assert_eq!(above, latest);
                    row[15..].copy_from_slice(&last);
                });
                if !is_zero {
                    strip.write(&[&[0; 15], &last[..]].concat());
                }
                assert_eq!(strip.latest().unwrap()[14..], [&[0], &last[..]].concat());
            }
            Ok(())
        };
        let expected: Vec<u32> = (0..5)
            .flat_map(|y| [&[0; 15], &[y; 2][..]].concat())
            .collect();
        for zeros in [false, true] {
            assert_eq!(written_to(zeros, &image, 3, fill).unwrap().0, expected);
        }
        let mut array = vec![5; 17 * 5];
        fill(&mut LabelRows::of_strips(&mut array, 17, 3).unwrap()).unwrap();
        assert_eq!(array, expected);
    }

    #[test]
    #[should_panic = "some rows have no labels"]
    fn rows_that_are_only_kept_are_not_labels() {
        let image = BinaryImage::new(4, 2).unwrap();
        let _ = written(&image, 2, |strips| {
            strips[0].write(&[1; 4]);
            strips[0].keep(&[2; 4])?;
            strips[0].keep(&[2; 4])
        });
    }
}
