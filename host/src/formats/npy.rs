//! The headers of NumPy's `.npy` files.

use std::io::{Cursor, Read};

use ndarray_npy::npy::header::{Header, Layout};

use super::source::{Source, contain};
use crate::{Error, Result};

/// The longest header that is read, in bytes: NumPy's own limit.
const MAX_HEADER: usize = 10_000;

/// The header of an array.
pub(super) struct ArrayHeader {
    pub(super) shape: Vec<usize>,
    /// Whether the first index is the fastest.
    pub(super) fortran: bool,
    /// The byte order and the element, as in `<u2`.
    pub(super) dtype: String,
}

impl ArrayHeader {
    pub(super) fn read(source: &mut Source<'_>) -> Result<Self> {
        let header = contain(source.origin, || read_header(source))?;
        let dtype = header.type_descriptor.to_string();
        Ok(Self {
            shape: header.shape,
            fortran: header.layout == Layout::Fortran,
            dtype: dtype.trim_matches('\'').to_owned(),
        })
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

/// Reads the header. First it checks what the parser does not: that the header is not gigabytes
/// long, nor nested so deeply that parsing it overflows the stack.
fn read_header(source: &mut Source<'_>) -> Result<Header> {
    let origin = source.origin;
    let mut bytes = vec![0; 10];
    let read = |source: &mut Source<'_>, bytes: &mut [u8]| {
        let read = source.bytes.read_exact(bytes);
        read.map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                origin.truncated("the file is truncated: it ends within its header")
            }
            _ => origin.io(error),
        })
    };
    read(source, &mut bytes)?;
    let len = if bytes[6] == 1 {
        usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))
    } else {
        bytes.resize(12, 0);
        read(source, &mut bytes[10..])?;
        u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize
    };
    if len > MAX_HEADER {
        return Err(origin.unreadable(format_args!(
            "damaged: its header claims to be {len} bytes long, and {MAX_HEADER} is the most"
        )));
    }
    let start = bytes.len();
    bytes.resize(start + len, 0);
    read(source, &mut bytes[start..])?;
    let mut depth = 0;
    for byte in &bytes[start..] {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth > 16 {
            return Err(origin.unreadable("damaged: its header is nested too deeply"));
        }
    }
    Header::from_reader(&mut Cursor::new(bytes))
        .map_err(|error| origin.unreadable(format_args!("damaged: {error}")))
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
