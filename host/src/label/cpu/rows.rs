//! The memory that labels are written to, once.

use std::mem::MaybeUninit;

use crate::error::Result;
use crate::image::BinaryImage;
use crate::memory::{advise_large_pages, reserve};

/// A strip's rows in an array of labels. The array's memory may be new: it is neither cleared nor
/// read before it is written.
///
/// A row first keeps some provisional labels at its start. Then the rows are written as a whole,
/// from the first to the last.
pub(in crate::label) struct LabelRows<'a> {
    labels: &'a mut [MaybeUninit<u32>],
    width: usize,
    /// The number of labels that each row keeps, for the rows so far.
    kept: Vec<u32>,
    /// The number of rows that are written as a whole.
    written: usize,
}

impl<'a> LabelRows<'a> {
    /// Strips of `rows` rows of an array to be overwritten; the last strip may have fewer rows.
    pub(super) fn of_strips(labels: &'a mut [u32], width: u32, rows: u32) -> Result<Vec<Self>> {
        let labels: *mut [u32] = labels;
        // SAFETY: the memory is that of `labels`, borrowed for as long, and the types have the same
        // layout. Only elements with a value are written to it.
        let memory = unsafe { &mut *(labels as *mut [MaybeUninit<u32>]) };
        Self::divide(memory, width, rows)
    }

    fn divide(memory: &'a mut [MaybeUninit<u32>], width: u32, rows: u32) -> Result<Vec<Self>> {
        let width = width as usize;
        let strip = |labels: &'a mut [MaybeUninit<u32>]| {
            let mut kept = Vec::new();
            reserve(&mut kept, labels.len() / width, "the rows of labels")?;
            Ok(Self {
                labels,
                width,
                kept,
                written: 0,
            })
        };
        memory
            .chunks_mut(rows as usize * width)
            .map(strip)
            .collect()
    }

    /// Keeps `labels`, at most one per pixel, in the next row.
    pub(super) fn keep(&mut self, labels: &[u32]) {
        let start = self.kept.len() * self.width;
        self.labels[start..][..labels.len()].write_copy_of_slice(labels);
        self.kept.push(labels.len() as u32);
    }

    /// The labels kept in the next row to be written.
    pub(super) fn kept(&self) -> &[u32] {
        let count = self.kept[self.written] as usize;
        let kept = &self.labels[self.written * self.width..][..count];
        // SAFETY: `keep` has written this number of elements from the row's start on.
        unsafe { kept.assume_init_ref() }
    }

    /// Writes the next row, over the labels it has kept.
    pub(super) fn write(&mut self, row: &[u32]) {
        let start = self.written * self.width;
        self.labels[start..][..self.width].write_copy_of_slice(row);
        self.written += 1;
    }

    /// The number of elements in the rows that are written as a whole.
    fn elements_written(&self) -> usize {
        self.written * self.width
    }
}

/// The labels of `image`, in new memory that `write` fills, in strips of `rows` rows.
///
/// # Panics
/// If `write` succeeds without having written all rows.
pub(super) fn written<R>(
    image: &BinaryImage,
    rows: u32,
    write: impl FnOnce(&mut [LabelRows<'_>]) -> Result<R>,
) -> Result<(Vec<u32>, R)> {
    let pixels = image.pixel_count() as usize;
    let mut labels = Vec::new();
    reserve(&mut labels, pixels, "labels")?;
    let memory = &mut labels.spare_capacity_mut()[..pixels];
    advise_large_pages(memory);
    let mut strips = LabelRows::divide(memory, image.width(), rows)?;
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

    #[test]
    fn rows_keep_labels_until_they_are_written() {
        let image = BinaryImage::new(4, 3).unwrap();
        let fill = |strips: &mut [LabelRows<'_>]| {
            strips[0].keep(&[7, 8]);
            strips[0].keep(&[]);
            strips[1].keep(&[9, 9, 9, 9]);
            assert_eq!(strips[0].kept(), [7, 8]);
            strips[0].write(&[1; 4]);
            assert!(strips[0].kept().is_empty());
            strips[0].write(&[2; 4]);
            assert_eq!(strips[1].kept(), [9; 4]);
            strips[1].write(&[3; 4]);
            Ok(())
        };
        let expected = [[1; 4], [2; 4], [3; 4]].concat();
        assert_eq!(written(&image, 2, fill).unwrap().0, expected);
        let mut array = vec![5; 12];
        fill(&mut LabelRows::of_strips(&mut array, 4, 2).unwrap()).unwrap();
        assert_eq!(array, expected);
    }

    #[test]
    #[should_panic = "some rows have no labels"]
    fn rows_that_are_only_kept_are_not_labels() {
        let image = BinaryImage::new(4, 2).unwrap();
        let _ = written(&image, 2, |strips| {
            strips[0].write(&[1; 4]);
            strips[0].keep(&[2; 4]);
            strips[0].keep(&[2; 4]);
            Ok(())
        });
    }
}
