//! Reading NumPy's `.npy`.

use std::io::{self, Read, Seek};

use super::georeference::Georeferenced;
use super::opened::{Opened, Rows};
use super::options::ReadOptions;
use super::sample::{SampleKind, Stored};
use super::sink::Sink;
use crate::formats::npy::ArrayHeader;
use crate::formats::source::{Bytes, Origin, Source, Store};
use crate::image::check_size;
use crate::memory::zeroed_vec;
use crate::{Result, WORD_BITS};

pub(super) fn open<S: Sink>(mut source: Source<'_>, options: &ReadOptions) -> Result<Opened<S>> {
    let origin = source.origin;
    let header = ArrayHeader::read(&mut source)?;
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
        "u4" if S::VALUES => (SampleKind::U32, 4),
        "i8" if S::VALUES => (SampleKind::I64, 8),
        "f4" => (SampleKind::F32, 4),
        "f8" => (SampleKind::F64, 8),
        _ => {
            return Err(origin.unsupported(format_args!(
                "arrays of dtype '{}' are not read: use bool, uint8, uint16, int16, int32, \
                 {}float32 or float64",
                header.dtype,
                if S::VALUES { "uint32, int64, " } else { "" }
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
    let data = source.bytes.stream_position();
    let array = Array {
        bytes: source.bytes,
        data: data.map_err(|error| origin.io(error))?,
        store: source.store,
        height,
        fortran: header.fortran,
        swap: header.is_big_endian() == cfg!(target_endian = "little"),
        threshold,
    };
    let rows: Box<dyn Rows<S>> = match kind {
        SampleKind::Bit | SampleKind::U8 => Box::new(Values::<u8>::new(array)),
        SampleKind::U16 => Box::new(Values::<u16>::new(array)),
        SampleKind::U32 => Box::new(Values::<u32>::new(array)),
        SampleKind::I64 => Box::new(Values::<i64>::new(array)),
        SampleKind::I16 => Box::new(Values::<i16>::new(array)),
        SampleKind::I32 => Box::new(Values::<i32>::new(array)),
        SampleKind::F32 => Box::new(Values::<f32>::new(array)),
        SampleKind::F64 => Box::new(Values::<f64>::new(array)),
    };
    Ok(Opened {
        width: width as u32,
        height: height as u32,
        kind,
        threshold,
        notes: Vec::new(),
        whole_only: None,
        decoding_bytes: AT_ONCE.max(width as u64 * bytes as u64),
        no_data: None,
        georeference: Georeferenced::none(),
        rows,
    })
}

/// The approximate number of bytes that are read at once.
const AT_ONCE: u64 = 1 << 20;

/// An array after its header.
struct Array {
    bytes: Bytes,
    /// Where the values start.
    data: u64,
    store: Store,
    height: usize,
    fortran: bool,
    swap: bool,
    threshold: f64,
}

/// An array of a known type.
struct Values<T> {
    array: Array,
    buffer: Vec<T>,
}

impl<T: Stored> Values<T> {
    fn new(array: Array) -> Self {
        let buffer = Vec::new();
        Self { array, buffer }
    }

    /// Reads `count` values from the array, by `read`.
    fn fill(
        &mut self,
        count: usize,
        origin: Origin<'_>,
        read: impl FnOnce(&mut Array, &mut [T]) -> io::Result<()>,
    ) -> Result<&[T]> {
        if self.buffer.len() < count {
            self.buffer = zeroed_vec(count, "the samples")?;
        }
        let values = &mut self.buffer[..count];
        read(&mut self.array, values).map_err(|error| origin.io(error))?;
        if self.array.swap {
            for value in values.iter_mut() {
                *value = value.swapped();
            }
        }
        Ok(values)
    }

    /// In C order, about a megabyte of whole rows at a time.
    fn rows(&mut self, origin: Origin<'_>, into: &mut impl Sink) -> Result<()> {
        let threshold = T::at_most(self.array.threshold);
        let (width, rows) = (into.width(), into.rows());
        let at_once = (AT_ONCE as usize / (width * size_of::<T>())).clamp(1, rows);
        for first in (0..rows).step_by(at_once) {
            let count = at_once.min(rows - first);
            let values = self.fill(count * width, origin, |array, values| {
                array.bytes.read_exact(bytemuck::cast_slice_mut(values))
            })?;
            for (y, row) in values.chunks_exact(width).enumerate() {
                // planted: npy-next-rows
                into.row(first + y, row, threshold)?;
            }
        }
        Ok(())
    }

    /// In Fortran order, the 64 columns of a word of each row at a time.
    fn columns(&mut self, origin: Origin<'_>, into: &mut impl Sink) -> Result<()> {
        let threshold = T::at_most(self.array.threshold);
        let (width, rows, first_row) = (into.width(), into.rows(), into.first_row());
        let (height, data) = (self.array.height, self.array.data);
        let place = |x: usize| data + ((x * height + first_row) * size_of::<T>()) as u64;
        let at_once = WORD_BITS.min(width);
        for first in (0..width).step_by(at_once) {
            let count = at_once.min(width - first);
            let values = self.fill(count * rows, origin, |array, values| {
                if rows == height {
                    // The columns follow one another.
                    return array.bytes.read_exact(bytemuck::cast_slice_mut(values));
                }
                for (x, column) in (first..).zip(values.chunks_exact_mut(rows)) {
                    let column = bytemuck::cast_slice_mut(column);
                    array.store.read_exact_at(place(x), column)?;
                }
                Ok(())
            })?;
            into.columns(first, values, threshold)?;
        }
        Ok(())
    }
}

impl<S: Sink, T: Stored> Rows<S> for Values<T> {
    fn read(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()> {
        match self.array.fortran {
            true => self.columns(origin, into),
            false => self.rows(origin, into),
        }
    }
}
