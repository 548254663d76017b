//! Reading NumPy's `.npy`.

use std::io::{Cursor, Read};

use ndarray_npy::npy::header::{Header, Layout};

use super::read::{ReadImage, ReadOptions, Source, contain};
use super::threshold::{SampleKind, Stored, Thresholder};
use crate::Result;
use crate::image::check_size;
use crate::memory::zeroed_vec;

/// The longest header that is read; NumPy's own limit is 10,000.
const MAX_HEADER: usize = 10_000;

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    let origin = source.origin;
    let header = ArrayHeader::read(source)?;
    let &[height, width] = header.shape.as_slice() else {
        return Err(origin.unreadable(format_args!(
            "an array of shape {} is no image: it must have two dimensions, (height, width)",
            header.shape_text()
        )));
    };
    let (kind, bytes) = match header.element() {
        "b1" => (SampleKind::Bit, 1),
        "u1" => (SampleKind::U8, 1),
        "u2" => (SampleKind::U16, 2),
        "i2" => (SampleKind::I16, 2),
        "i4" => (SampleKind::I32, 4),
        "f4" => (SampleKind::F32, 4),
        "f8" => (SampleKind::F64, 8),
        _ => {
            return Err(origin.unreadable(format_args!(
                "arrays of dtype '{}' are not read: use bool, uint8, uint16, int16, int32, \
                 float32 or float64",
                header.dtype
            )));
        }
    };
    let threshold = kind.threshold(options.threshold)?;
    check_size(width as u64, height as u64)?;
    if width as u128 * height as u128 * bytes > origin.len.into() {
        return Err(origin.unreadable(format_args!(
            "the file is truncated: {} bytes cannot hold the {width} × {height} values it claims",
            origin.len
        )));
    }
    let mut array = Array {
        fortran: header.fortran,
        swap: header.is_big_endian() == cfg!(target_endian = "little"),
        rows: Thresholder::new(width as u64, height as u64, options)?,
    };
    match kind {
        SampleKind::Bit | SampleKind::U8 => array.read::<u8>(source, threshold)?,
        SampleKind::U16 => array.read::<u16>(source, threshold)?,
        SampleKind::I16 => array.read::<i16>(source, threshold)?,
        SampleKind::I32 => array.read::<i32>(source, threshold)?,
        SampleKind::F32 => array.read::<f32>(source, threshold)?,
        SampleKind::F64 => array.read::<f64>(source, threshold)?,
    }
    Ok(ReadImage::new(array.rows, kind, threshold, options))
}

/// What an array's header says.
pub(super) struct ArrayHeader {
    pub(super) shape: Vec<usize>,
    /// The first index is the fastest.
    pub(super) fortran: bool,
    /// Byte order and element, as in `<u2`.
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

    /// Whether elements have their highest byte first; those of one byte are taken as this machine's.
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

/// Reads the header, but first checks what the parser takes on trust: that the header is not
/// gigabytes long, and not nested so deeply that parsing it overflows the stack.
fn read_header(source: &mut Source<'_>) -> Result<Header> {
    let origin = source.origin;
    let mut bytes = vec![0; 10];
    let read = |source: &mut Source<'_>, bytes: &mut [u8]| {
        let read = source.bytes.read_exact(bytes);
        read.map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                origin.unreadable("the file is truncated: it ends within its header")
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

struct Array {
    fortran: bool,
    swap: bool,
    rows: Thresholder,
}

impl Array {
    fn read<T: Stored>(&mut self, source: &mut Source<'_>, threshold: f64) -> Result<()> {
        let origin = source.origin;
        let threshold = T::at_most(threshold);
        let (width, height) = (self.rows.width(), self.rows.height());
        let (lines, line) = if self.fortran {
            (width, height)
        } else {
            (height, width)
        };
        // Whole rows, about a megabyte of them; or 64 columns, a word of each row.
        let at_once = if self.fortran {
            crate::WORD_BITS
        } else {
            ((1 << 20) / (line * size_of::<T>())).max(1)
        };
        let at_once = at_once.min(lines);
        let mut buffer: Vec<T> = zeroed_vec(at_once * line, "the samples")?;
        for first in (0..lines).step_by(at_once) {
            let count = at_once.min(lines - first);
            let values = &mut buffer[..count * line];
            let read = source.bytes.read_exact(bytemuck::cast_slice_mut(values));
            read.map_err(|error| origin.io(error))?;
            if self.swap {
                for value in values.iter_mut() {
                    *value = value.swapped();
                }
            }
            if self.fortran {
                self.rows.columns(first, values, threshold)?;
            } else {
                for (y, row) in values.chunks_exact(line).enumerate() {
                    self.rows.row(first + y, row, threshold)?;
                }
            }
        }
        Ok(())
    }
}
