//! Reading NumPy's `.npy`.

use std::io::Read;

use super::content::ReadImage;
use super::options::ReadOptions;
use super::sample::{SampleKind, Stored};
use super::threshold::Thresholder;
use crate::Result;
use crate::formats::npy::ArrayHeader;
use crate::formats::source::Source;
use crate::image::check_size;
use crate::memory::zeroed_vec;

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    let origin = source.origin;
    let header = ArrayHeader::read(source)?;
    let &[height, width] = header.shape.as_slice() else {
        return Err(origin.unsupported(format_args!(
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
            return Err(origin.unsupported(format_args!(
                "arrays of dtype '{}' are not read: use bool, uint8, uint16, int16, int32, \
                 float32 or float64",
                header.dtype
            )));
        }
    };
    let threshold = kind.threshold(options.threshold)?;
    check_size(width as u64, height as u64)?;
    if width as u128 * height as u128 * bytes > origin.len.into() {
        return Err(origin.truncated(format_args!(
            "the file is truncated: {} bytes cannot hold the {width} × {height} values it claims",
            origin.len
        )));
    }
    let mut array = Array {
        fortran: header.fortran,
        swap: header.is_big_endian() == cfg!(target_endian = "little"),
        rows: Thresholder::new(width as u64, height as u64, options.keep_grey)?,
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
        // At a time, about a megabyte of whole rows, or the 64 columns of a word of each row.
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
