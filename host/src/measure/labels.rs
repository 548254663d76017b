//! Label images of any type of integers, as runs and as planes of equality.

use super::planes::{Planes, compare_below, compare_right};
use super::rows::Rows;
use crate::error::Result;
use crate::image::{PixelValue, Samples, WORD_BITS};
use crate::memory::push;

/// A type of labels: `u8`, `u16`, `u32`, `i16`, `i32` or `i64`. Labels are positive; 0 and negative
/// values are background.
pub trait Label: PixelValue + sealed::Number {}

mod sealed {
    pub trait Number: Sized + 'static {
        /// The value of pixels without a label.
        const BACKGROUND: Self;

        /// The value.
        fn number(self) -> i64;
    }
}

macro_rules! labels {
    ($($type:ty)*) => {$(
        impl sealed::Number for $type {
            const BACKGROUND: Self = 0;

            #[inline(always)]
            fn number(self) -> i64 {
                self.into()
            }
        }
        impl Label for $type {}
    )*};
}

labels! { u8 u16 u32 i16 i32 i64 }

/// Evaluates an expression for the labels in an [`AnyValues`](crate::image::gpu::AnyValues), whose
/// type is one of labels.
macro_rules! with_labels {
    ($values:expr, $image:ident => $result:expr) => {
        match $values {
            $crate::image::gpu::AnyValues::U8($image) => $result,
            $crate::image::gpu::AnyValues::U16($image) => $result,
            $crate::image::gpu::AnyValues::I16($image) => $result,
            $crate::image::gpu::AnyValues::U32($image) => $result,
            $crate::image::gpu::AnyValues::I32($image) => $result,
            $crate::image::gpu::AnyValues::I64($image) => $result,
            $crate::image::gpu::AnyValues::F32(_) => unreachable!("labels are integers"),
        }
    };
}

pub(super) use with_labels;

/// Adjacent pixels of a row with the same label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) start: u32,
    /// The column after the last.
    pub(super) end: u32,
    /// The label.
    pub(super) label: i64,
    /// Where the label's sums are.
    pub(super) slot: u32,
}

/// A label image, whatever its type.
pub(super) trait LabelImage: Sync {
    fn width(&self) -> usize;
    fn height(&self) -> usize;
    /// The rows from `first` to before `end`.
    fn rows(&self, first: usize, end: usize) -> Result<Box<dyn LabelRows + '_>>;
}

/// Some rows of a label image.
pub(super) trait LabelRows {
    /// Fills in which pixels of row `y` equal their right neighbours.
    fn compare_right(&self, y: usize, plane: &mut [u64]);
    /// Fills in which pixels of row `y` equal those of row `y + 1`, which is among the rows.
    fn compare_below(&self, y: usize, planes: &mut Planes);
    /// Lists the runs of row `y` from its plane of right neighbours, without those of background.
    fn runs(&self, y: usize, right: &[u64], runs: &mut Vec<Run>) -> Result<()>;
}

impl<T: Label> LabelImage for Samples<'_, T> {
    fn width(&self) -> usize {
        Samples::width(self)
    }

    fn height(&self) -> usize {
        Samples::height(self)
    }

    fn rows(&self, first: usize, end: usize) -> Result<Box<dyn LabelRows + '_>> {
        Ok(Box::new(Rows::new(*self, first, end)?))
    }
}

impl<T: Label> LabelRows for Rows<'_, T> {
    fn compare_right(&self, y: usize, plane: &mut [u64]) {
        compare_right(self.row(y), plane);
    }

    fn compare_below(&self, y: usize, planes: &mut Planes) {
        compare_below(self.row(y), self.row(y + 1), planes);
    }

    fn runs(&self, y: usize, right: &[u64], runs: &mut Vec<Run>) -> Result<()> {
        let row = self.row(y);
        runs.clear();
        let mut start = 0;
        for (i, word) in right.iter().enumerate() {
            let mut ends = !word;
            while ends != 0 {
                let end = i * WORD_BITS + ends.trailing_zeros() as usize + 1;
                ends &= ends - 1;
                // The last word's bits beyond the row are ends too, after the last pixel's.
                let Some(label) = row.get(end - 1) else {
                    return Ok(());
                };
                let label = label.number();
                if label > 0 {
                    let run = Run {
                        start: start as u32,
                        end: end as u32,
                        label,
                        slot: 0,
                    };
                    push(runs, run, "runs of a row")?;
                }
                start = end;
            }
        }
        Ok(())
    }
}
