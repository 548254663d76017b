//! Rows of values whose columns may be at any distance.

use crate::error::Result;
use crate::image::Samples;
use crate::memory::filled_vec;

/// Rows that are copied together: values of a column may be adjacent.
const ROWS: usize = 16;

/// Copies rows from row `top` on. Tiles go through a small array, since rows at distances of powers
/// of two push each other out of the cache.
fn copy_rows<T: Copy>(samples: &Samples<'_, T>, top: usize, rows: &mut [T]) {
    const COLUMNS: usize = 64;
    let width = samples.width();
    let count = rows.len() / width;
    let mut tile = [[samples.get(0, top); COLUMNS]; ROWS];
    for left in (0..width).step_by(COLUMNS) {
        let columns = COLUMNS.min(width - left);
        for x in 0..columns {
            for (y, row) in tile[..count].iter_mut().enumerate() {
                row[x] = samples.get(left + x, top + y);
            }
        }
        for (row, tile) in rows.chunks_exact_mut(width).zip(&tile) {
            row[left..left + columns].copy_from_slice(&tile[..columns]);
        }
    }
}

/// Some rows of an image: in the caller's memory if their values are adjacent there, otherwise
/// copied.
pub(super) struct Rows<'a, T> {
    samples: Samples<'a, T>,
    first: usize,
    copied: Vec<T>,
}

impl<'a, T: Copy> Rows<'a, T> {
    /// The rows from `first` to before `end`.
    pub(super) fn new(samples: Samples<'a, T>, first: usize, end: usize) -> Result<Self> {
        let width = samples.width();
        let mut copied = Vec::new();
        if samples.row(first).is_none() {
            let len = width * (end - first);
            copied = filled_vec(samples.get(0, first), len, "rows of values")?;
            for (top, rows) in (first..end)
                .step_by(ROWS)
                .zip(copied.chunks_mut(width * ROWS))
            {
                copy_rows(&samples, top, rows);
            }
        }
        Ok(Self {
            samples,
            first,
            copied,
        })
    }

    /// The values of row `y`, counted in the image.
    pub(super) fn row(&self, y: usize) -> &[T] {
        let width = self.samples.width();
        match self.samples.row(y) {
            Some(row) => row,
            None => &self.copied[(y - self.first) * width..][..width],
        }
    }
}
