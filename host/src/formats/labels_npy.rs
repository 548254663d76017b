//! Labels as NumPy's `.npy`.

use std::io::{BufWriter, Write};

use ndarray_npy::npy::header::{Header, Layout};

use crate::{Error, Labels, Result};

/// Writes the labels as an array of `uint32`, shape (height, width), C order, little-endian.
///
/// # Errors
/// [`Error::Write`].
pub fn write_labels_npy(labels: &Labels, out: impl Write) -> Result<()> {
    let header = npy_header("<u4", labels.width(), labels.height())?;
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

/// The header of a C-ordered array of shape (height, width).
pub(super) fn npy_header(dtype: &str, width: u32, height: u32) -> Result<Vec<u8>> {
    let other = |error: &dyn std::fmt::Display| std::io::Error::other(error.to_string());
    let header = Header {
        type_descriptor: format!("'{dtype}'")
            .parse()
            .map_err(|error| Error::Write(other(&error)))?,
        layout: Layout::Standard,
        shape: vec![height as usize, width as usize],
    };
    Ok(header.to_bytes().map_err(|error| other(&error))?)
}
