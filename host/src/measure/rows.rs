//! Rows of values whose columns may be at any distance.

use crate::error::Result;
use crate::image::Samples;
use crate::memory::reserve;

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
            /// Rows that are read together if the values of a column are closer than those of a row.
            const BLOCK: usize = 16;
            reserve(&mut copied, width * (end - first), "rows of values")?;
            copied.resize(width * (end - first), samples.get(0, first));
            for (top, block) in (first..end)
                .step_by(BLOCK)
                .zip(copied.chunks_mut(width * BLOCK))
            {
                let rows = block.len() / width;
                for x in 0..width {
                    for y in 0..rows {
                        block[y * width + x] = samples.get(x, top + y);
                    }
                }
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
