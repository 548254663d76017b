//! Values as NumPy's `.npy`.

use std::io::Write;

use super::Values;
use crate::Result;
use crate::formats::npy::npy_header;

/// Writes values as an array of shape (height, width), C order, little-endian.
///
/// # Errors
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch),
/// [`Error::Write`](crate::Error::Write).
pub fn write_values_npy(
    values: Values<'_>,
    width: u32,
    height: u32,
    mut out: impl Write,
) -> Result<()> {
    values.check(width, height)?;
    let dtype = match values {
        Values::U8(_) => "|u1",
        Values::U32(_) => "<u4",
        Values::F32(_) => "<f4",
        Values::F64(_) => "<f8",
    };
    out.write_all(&npy_header(dtype, width, height))?;
    values.write(&mut out)?;
    Ok(out.flush()?)
}
