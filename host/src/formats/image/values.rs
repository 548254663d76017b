//! [`SampleRows`]: samples kept as they are.

use rayon::prelude::*;

use super::raster::RasterValues;
use super::sample::{SampleKind, Stored};
use super::sink::{PieceRows, Sink};
use crate::image::check_size;
use crate::{Error, Result};

/// The values of a band of a raster's rows, or of all rows.
pub(super) struct SampleRows {
    width: usize,
    first_row: u32,
    rows: usize,
    kind: SampleKind,
    values: RasterValues,
}

impl SampleRows {
    /// For the rows `first_row` to `first_row + rows - 1` of a raster.
    pub(super) fn new(width: u32, first_row: u32, rows: u32, kind: SampleKind) -> Result<Self> {
        check_size(width.into(), rows.into())?;
        let count = u64::from(width) * u64::from(rows);
        let count = usize::try_from(count).map_err(|_| Error::ImageTooLarge {
            width: width.into(),
            height: rows.into(),
            limit: "its pixel count does not fit this machine's addresses",
        })?;
        Ok(Self {
            width: width as usize,
            first_row,
            rows: rows as usize,
            kind,
            values: RasterValues::zeros(kind, count)?,
        })
    }

    pub(super) fn finish(self) -> RasterValues {
        self.values
    }
}

/// `$do` with the values as `$slice`, whatever their type.
macro_rules! for_values {
    ($values:expr, $slice:ident => $do:expr) => {
        match $values {
            RasterValues::U8($slice) => $do,
            RasterValues::U16($slice) => $do,
            RasterValues::U32($slice) => $do,
            RasterValues::I16($slice) => $do,
            RasterValues::I32($slice) => $do,
            RasterValues::I64($slice) => $do,
            RasterValues::F32($slice) => $do,
            RasterValues::F64($slice) => $do,
        }
    };
}

pub(super) use for_values;

impl Sink for SampleRows {
    const VALUES: bool = true;

    fn bytes(kind: SampleKind, pixels: u64) -> u64 {
        pixels.saturating_mul(RasterValues::sample_bytes(kind))
    }

    fn width(&self) -> usize {
        self.width
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn first_row(&self) -> usize {
        self.first_row as usize
    }

    fn row<T: Stored>(&mut self, y: usize, values: &[T], _: T) -> Result<()> {
        if let Some(all) = T::values_mut(&mut self.values) {
            all[y * self.width..][..self.width].copy_from_slice(values);
        }
        Ok(())
    }

    fn packed_row(&mut self, y: usize, packed: &[u8], white: bool, _: u8) {
        if let RasterValues::U8(values) = &mut self.values {
            let row = &mut values[y * self.width..][..self.width];
            for (x, value) in row.iter_mut().enumerate() {
                let bit = packed[x / 8] >> (7 - x % 8) & 1;
                *value = if white { bit } else { 1 - bit };
            }
        }
    }

    fn columns<T: Stored>(&mut self, x: usize, values: &[T], _: T) -> Result<()> {
        if let Some(all) = T::values_mut(&mut self.values) {
            let height = self.rows;
            for (y, row) in all.chunks_exact_mut(self.width).enumerate() {
                let column = values.iter().skip(y).step_by(height);
                for (to, value) in row[x..].iter_mut().zip(column) {
                    *to = *value;
                }
            }
        }
        Ok(())
    }

    fn piece(&self, width: u32, first_row: u32, rows: u32) -> Result<Self> {
        Self::new(width, first_row, rows, self.kind)
    }

    fn start_again(&mut self, first_row: u32) {
        self.first_row = first_row;
    }

    fn take_facts(&mut self, _: &Self) {}

    fn take_pieces(&mut self, y: usize, count: usize, pieces: &PieceRows<'_, Self>) {
        let width = self.width;
        for_values!(&mut self.values, values => {
            paste(&mut values[y * width..][..count * width], width, pieces);
        });
    }
}

/// Copies the rows of pieces to `rows`, which has rows of `width` values.
fn paste<T: Stored>(rows: &mut [T], width: usize, pieces: &PieceRows<'_, SampleRows>) {
    rows.par_chunks_mut(width)
        .with_min_len((1 << 14) / width)
        .enumerate()
        .for_each(|(i, into)| {
            let (row, y) = (pieces.at)(i);
            for (column, piece) in row.iter().enumerate() {
                let Some(piece) = piece else { continue };
                if let Some(values) = T::values(&piece.values) {
                    let from = &values[y * piece.width..][..piece.width];
                    into[column * pieces.width..][..piece.width].copy_from_slice(from);
                }
            }
        });
}
