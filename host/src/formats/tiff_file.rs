//! Reading TIFF, through the crate `tiff`.

use std::io;

use tiff::decoder::{BufferLayoutPreference, Decoder, DecodingSampleType, Limits};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError};

use super::image_file::luminance;
use super::read::{BufReadSeek, Origin, ReadImage, ReadOptions, Source};
use super::threshold::{SampleKind, Stored, Thresholder};
use crate::error::zeroed_vec;
use crate::{Error, Result};

/// What the decoder may use beyond the size of the file or the image.
const MARGIN: usize = 64 << 20;

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    let origin = source.origin;
    let mut limits = Limits::unlimited();
    // Lists of strips and tiles: they are in the file.
    limits.ifd_value_size = usize::try_from(origin.len).unwrap_or(usize::MAX);
    limits.intermediate_buffer_size = limits.ifd_value_size.saturating_add(MARGIN);
    let decoder = Decoder::new(&mut source.bytes).map(|decoder| decoder.with_limits(limits));
    let mut decoder = match decoder {
        Ok(decoder) => decoder,
        Err(error) => return Err(explain(origin, error)),
    };
    let (size, color, layout) = match (
        decoder.dimensions(),
        decoder.colortype(),
        decoder.image_buffer_layout(),
    ) {
        (Ok(size), Ok(color), Ok(layout)) => (size, color, layout),
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
            return Err(explain(origin, error));
        }
    };
    let (width, height) = size;
    let (channels, bits) = match color {
        ColorType::Gray(bits) => (1, bits),
        ColorType::GrayA(bits) => (2, bits),
        ColorType::RGB(bits) => (3, bits),
        ColorType::RGBA(bits) | ColorType::CMYK(bits) => (4, bits),
        _ => {
            return Err(origin.unreadable(format_args!(
                "samples of type {color:?} are not read: save it as grey with 8 or 16 bits"
            )));
        }
    };
    let kind = match (channels, bits, layout.sample_type) {
        (1, 1, Some(DecodingSampleType::U8)) => SampleKind::Bit,
        (_, 8, Some(DecodingSampleType::U8)) => SampleKind::U8,
        (_, 16, Some(DecodingSampleType::U16)) => SampleKind::U16,
        (1, 32, Some(DecodingSampleType::F32)) => SampleKind::F32,
        (1, 64, Some(DecodingSampleType::F64)) => SampleKind::F64,
        (1, _, kind) => {
            let kind = kind.map_or("unknown".into(), |kind| format!("{kind:?}"));
            return Err(origin.unreadable(format_args!(
                "grey samples of {bits} bits (type {kind}) are not read: \
                 use 1, 8 or 16 bits unsigned, or floats of 32 or 64 bits"
            )));
        }
        _ => {
            return Err(origin.unreadable(format_args!(
                "colours of {bits} bits a channel are not read: use 8 or 16 bits unsigned"
            )));
        }
    };
    let threshold = kind.threshold(options.threshold)?;
    let mut rows = Thresholder::new(width.into(), height.into(), options)?;

    // Aligned for every kind of sample.
    let mut buffer: Vec<u64> = zeroed_vec(layout.complete_len.div_ceil(8), "the decoded samples")?;
    let bytes = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut buffer)[..layout.complete_len];
    if let Err(error) = decoder.read_image_bytes(bytes) {
        let early = matches!(&error, TiffError::IoError(error)
            if error.kind() == io::ErrorKind::UnexpectedEof);
        if early && holds_all_data(&mut decoder, origin.len) {
            return Err(origin.unreadable(
                "the file is whole but its pixels cannot be unpacked: damaged, or its compression \
                 is not supported for tiles or strips of this size: save it with another",
            ));
        }
        return Err(explain(origin, error));
    }
    let colours = Colours {
        channels,
        ink: matches!(color, ColorType::CMYK(_)),
        layout,
    };
    match kind {
        SampleKind::U8 if channels > 1 => colours.take::<u8>(&mut rows, bytes, threshold)?,
        SampleKind::U16 if channels > 1 => colours.take::<u16>(&mut rows, bytes, threshold)?,
        SampleKind::Bit => {
            let mut row = vec![0u8; width as usize];
            let row_bytes = (width as usize).div_ceil(8);
            for (y, packed) in bytes.chunks_exact(row_bytes).enumerate() {
                for (x, sample) in row.iter_mut().enumerate() {
                    *sample = 255 * (packed[x / 8] >> (7 - x % 8) & 1);
                }
                rows.row(y, &row, u8::at_most(255.0 * threshold))?;
            }
        }
        SampleKind::U8 => take::<u8>(&mut rows, bytes, threshold)?,
        SampleKind::U16 => take::<u16>(&mut rows, bytes, threshold)?,
        SampleKind::F32 => take::<f32>(&mut rows, bytes, threshold)?,
        SampleKind::F64 => take::<f64>(&mut rows, bytes, threshold)?,
    }
    Ok(ReadImage::new(rows, kind, threshold, options))
}

fn take<T: Stored>(rows: &mut Thresholder, bytes: &[u8], threshold: f64) -> Result<()> {
    let samples: &[T] = bytemuck::cast_slice(bytes);
    for (y, row) in samples.chunks_exact(rows.width()).enumerate() {
        rows.row(y, row, T::at_most(threshold))?;
    }
    Ok(())
}

/// How pixels of more than one channel lie in memory.
struct Colours {
    channels: usize,
    /// Cyan, magenta, yellow and black.
    ink: bool,
    layout: BufferLayoutPreference,
}

impl Colours {
    /// Thresholds the pixels' luminance.
    fn take<T: Stored + Into<u64> + TryFrom<u64>>(
        &self,
        rows: &mut Thresholder,
        bytes: &[u8],
        threshold: f64,
    ) -> Result<()> {
        let samples: &[T] = bytemuck::cast_slice(bytes);
        let width = rows.width();
        let white = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
        // From a pixel to the next, and from a channel to the next.
        let plane = self
            .layout
            .plane_stride
            .map_or(0, |bytes| bytes.get() / size_of::<T>());
        let (step, next) = if self.layout.planes > 1 {
            (1, plane)
        } else {
            (self.channels, 1)
        };
        let mut row = vec![T::zeroed(); width];
        for y in 0..rows.height() {
            for (x, grey) in row.iter_mut().enumerate() {
                let channel = |c: usize| samples[(y * width + x) * step + c * next];
                let paint = |c: usize| {
                    if !self.ink {
                        return channel(c);
                    }
                    let paper = |c: usize| white - channel(c).into();
                    T::try_from(paper(c) * paper(3) / white).unwrap_or(T::zeroed())
                };
                *grey = if self.channels < 3 {
                    channel(0)
                } else {
                    luminance(paint(0), paint(1), paint(2))
                };
            }
            rows.row(y, &row, T::at_most(threshold))?;
        }
        Ok(())
    }
}

/// Whether all strips or tiles lie within the file's `len` bytes.
fn holds_all_data(decoder: &mut Decoder<&mut Box<dyn BufReadSeek>>, len: u64) -> bool {
    let mut numbers = |tag| decoder.find_tag_unsigned_vec::<u64>(tag).ok().flatten();
    [
        (Tag::StripOffsets, Tag::StripByteCounts),
        (Tag::TileOffsets, Tag::TileByteCounts),
    ]
    .into_iter()
    .any(
        |(offsets, counts)| match (numbers(offsets), numbers(counts)) {
            (Some(offsets), Some(counts)) => offsets
                .iter()
                .zip(&counts)
                .all(|(offset, count)| offset.saturating_add(*count) <= len),
            _ => false,
        },
    )
}

fn explain(origin: Origin<'_>, error: TiffError) -> Error {
    match error {
        TiffError::IoError(error) => origin.io(error),
        other => origin.unreadable(format_args!(
            "damaged, or not a TIFF file that can be read: {other}"
        )),
    }
}
