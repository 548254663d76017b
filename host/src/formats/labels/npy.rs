//! Labels as NumPy's `.npy`.

use std::io::{BufWriter, Write};

use crate::formats::npy::npy_header;
use crate::{Labels, Result};

/// Writes the labels as an array of `uint32`, shape (height, width), C order, little-endian.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_labels_npy(labels: &Labels, out: impl Write) -> Result<()> {
    let header = npy_header("<u4", labels.width(), labels.height());
    let mut out = BufWriter::with_capacity(1 << 16, out);
    out.write_all(&header)?;
    if cfg!(target_endian = "little") {
        out.write_all(bytemuck::cast_slice(labels.as_slice()))?;
    } else {
        for label in labels.as_slice() {
            out.write_all(&label.to_le_bytes())?;
        }
    }
    Ok(out.flush()?)
}
