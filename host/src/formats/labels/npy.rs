//! Labels as NumPy's `.npy`.

use std::io::Write;

use crate::formats::npy::{npy_header, write_lowest_first};
use crate::label::parts::{LabelBand, LabelNumber};
use crate::{Labels, Result};

/// Writes the labels as an array of `uint32`, shape (height, width), C order, little-endian.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_labels_npy(labels: &Labels, out: impl Write) -> Result<()> {
    out_of(
        labels.width(),
        labels.height(),
        true,
        labels.as_slice(),
        out,
    )
}

/// Writes a band of a labelled image: its rows of an array of `uint32` or `uint64`, as
/// [`write_labels_npy`] writes them, and the header before the first band.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_band_labels_npy<T: LabelNumber>(
    band: &LabelBand<'_, T>,
    out: impl Write,
) -> Result<()> {
    let is_first = band.first_row() == 0;
    out_of(
        band.width(),
        band.image_height(),
        is_first,
        band.labels(),
        out,
    )
}

fn out_of<T: LabelNumber>(
    width: u32,
    height: u32,
    with_header: bool,
    labels: &[T],
    mut out: impl Write,
) -> Result<()> {
    if with_header {
        let dtype = if size_of::<T>() == 4 { "<u4" } else { "<u8" };
        out.write_all(&npy_header(dtype, width, height))?;
    }
    write_lowest_first(bytemuck::cast_slice(labels), size_of::<T>(), &mut out)?;
    Ok(out.flush()?)
}
