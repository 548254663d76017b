//! The headers of NumPy's `.npy` files, of versions 1.0 to 3.0.

mod literal;
#[cfg(test)]
mod tests;

use std::io::{BufWriter, Write};

use self::literal::Literal;
use super::source::Source;
use crate::Result;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest accepted header, in bytes: NumPy's own limit.
const MAX_HEADER: usize = 10_000;

/// Headers end at a multiple of this, so that the data can be mapped into memory.
const ALIGNMENT: usize = 64;

/// The header of an array.
#[derive(Debug, PartialEq)]
pub(super) struct ArrayHeader {
    pub(super) shape: Vec<usize>,
    /// Whether the first index is the fastest.
    pub(super) fortran: bool,
    /// The byte order and the element, as in `<u2`; for a structured type, the list as written in
    /// the file.
    pub(super) dtype: String,
}

impl ArrayHeader {
    /// Reads the header of a source that is at its start.
    pub(super) fn read(source: &mut Source<'_>) -> Result<Self> {
        let origin = source.origin;
        let damaged = |reason: &str| origin.unreadable(format_args!("damaged: {reason}"));
        let mut start = [0; 8];
        source.read_header(&mut start)?;
        if !start.starts_with(MAGIC) {
            return Err(damaged("it does not start as an .npy file does"));
        }
        let len = match start[6..] {
            [1, 0] => {
                let mut len = [0; 2];
                source.read_header(&mut len)?;
                u16::from_le_bytes(len).into()
            }
            [2 | 3, 0] => {
                let mut len = [0; 4];
                source.read_header(&mut len)?;
                u32::from_le_bytes(len) as usize
            }
            _ => {
                let reason = format!("version {}.{} of the format is unknown", start[6], start[7]);
                return Err(damaged(&reason));
            }
        };
        if len > MAX_HEADER {
            return Err(origin.unreadable(format_args!(
                "damaged: its header claims to be {len} bytes long, and {MAX_HEADER} is the most"
            )));
        }
        let mut text = vec![0; len];
        source.read_header(&mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| damaged("its header is no text"))?;
        parse(text).map_err(damaged)
    }

    /// The element without its byte order, as in `u2`.
    pub(super) fn element(&self) -> &str {
        self.dtype.get(1..).unwrap_or_default()
    }

    /// Whether elements are stored with the highest byte first. Elements of one byte have this
    /// machine's order.
    pub(super) fn is_big_endian(&self) -> bool {
        match self.dtype.get(..1) {
            Some(">") => true,
            Some("<") => false,
            _ => cfg!(target_endian = "big"),
        }
    }

    /// The shape as Python writes it.
    pub(super) fn shape_text(&self) -> String {
        let sides: Vec<_> = self.shape.iter().map(usize::to_string).collect();
        format!("({})", sides.join(", "))
    }
}

/// The header from its text: a Python dictionary with three keys, and a line's end.
fn parse(text: &str) -> std::result::Result<ArrayHeader, &'static str> {
    let text = text
        .strip_suffix('\n')
        .ok_or("its header has no end of line")?;
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    let mut text = Literal::new(text);
    text.expect('{')?;
    while !text.skip('}') {
        let key = text.string()?;
        text.expect(':')?;
        match key {
            "descr" => descr = Some(text.descr()?),
            "fortran_order" => fortran = Some(text.boolean()?),
            "shape" => shape = Some(text.tuple()?),
            _ => return Err("its header has an unknown key"),
        }
        if !text.skip(',') {
            text.expect('}')?;
            break;
        }
    }
    text.end()?;
    match (descr, fortran, shape) {
        (Some(dtype), Some(fortran), Some(shape)) => Ok(ArrayHeader {
            shape,
            fortran,
            dtype: dtype.to_owned(),
        }),
        _ => Err("its header lacks descr, fortran_order or shape"),
    }
}

/// The header of a C-ordered array of shape (height, width), in version 1.0.
pub(super) fn npy_header(dtype: &str, width: u32, height: u32) -> Vec<u8> {
    let text =
        format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({height}, {width}), }}");
    // The magic number, the version and the length of the text.
    let start = MAGIC.len() + 4;
    // At least one space, as NumPy writes it.
    let total = (start + text.len() + 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(((total - start) as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(total - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Writes values of `size` bytes, at most 8, which are in this machine's order, lowest byte first.
pub(in crate::formats) fn write_lowest_first(
    values: &[u8],
    size: usize,
    mut out: &mut dyn Write,
) -> Result<()> {
    if cfg!(target_endian = "little") {
        return Ok(out.write_all(values)?);
    }
    let mut out = BufWriter::with_capacity(1 << 16, &mut out);
    for value in values.chunks_exact(size) {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..size];
        bytes.copy_from_slice(value);
        bytes.reverse();
        out.write_all(bytes)?;
    }
    Ok(out.flush()?)
}
