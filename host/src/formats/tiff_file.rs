//! Reading TIFF: grey ones through the crate `tiff`, which knows floats, the others through
//! `image`.

use image::ImageFormat;
use tiff::decoder::{Decoder, DecodingSampleType, Limits};
use tiff::{ColorType, TiffError};

use super::image_file;
use super::read::{Origin, ReadImage, ReadOptions, Source};
use super::threshold::{SampleKind, Stored, Thresholder};
use crate::error::zeroed_vec;
use crate::{Error, Result};

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    match read_grey(source, options)? {
        Some(image) => Ok(image),
        None => {
            source.rewind()?;
            image_file::read(source, ImageFormat::Tiff, options)
        }
    }
}

/// `None` for what is not grey.
fn read_grey(source: &mut Source<'_>, options: &ReadOptions) -> Result<Option<ReadImage>> {
    let origin = source.origin;
    let mut limits = Limits::unlimited();
    // Lists of strips and tiles: they are in the file.
    limits.ifd_value_size = usize::try_from(origin.len).unwrap_or(usize::MAX);
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
    let kind = match (color, layout.sample_type) {
        (ColorType::Gray(1), Some(DecodingSampleType::U8)) => SampleKind::Bit,
        (ColorType::Gray(8), Some(DecodingSampleType::U8)) => SampleKind::U8,
        (ColorType::Gray(16), Some(DecodingSampleType::U16)) => SampleKind::U16,
        (ColorType::Gray(32), Some(DecodingSampleType::F32)) => SampleKind::F32,
        (ColorType::Gray(64), Some(DecodingSampleType::F64)) => SampleKind::F64,
        (ColorType::Gray(bits), kind) => {
            let kind = kind.map_or("unknown".into(), |kind| format!("{kind:?}"));
            return Err(origin.unreadable(format_args!(
                "grey samples of {bits} bits (type {kind}) are not read: \
                 use 1, 8 or 16 bits unsigned, or floats of 32 or 64 bits"
            )));
        }
        _ => return Ok(None),
    };
    let threshold = kind.threshold(options.threshold)?;
    let mut rows = Thresholder::new(width.into(), height.into(), options)?;

    // Aligned for every kind of sample.
    let mut buffer: Vec<u64> = zeroed_vec(layout.complete_len.div_ceil(8), "the decoded samples")?;
    let bytes = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut buffer)[..layout.complete_len];
    if let Err(error) = decoder.read_image_bytes(bytes) {
        return Err(explain(origin, error));
    }
    match kind {
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
    Ok(Some(ReadImage::new(rows, kind, threshold, options)))
}

fn take<T: Stored>(rows: &mut Thresholder, bytes: &[u8], threshold: f64) -> Result<()> {
    let samples: &[T] = bytemuck::cast_slice(bytes);
    for (y, row) in samples.chunks_exact(rows.width()).enumerate() {
        rows.row(y, row, T::at_most(threshold))?;
    }
    Ok(())
}

fn explain(origin: Origin<'_>, error: TiffError) -> Error {
    match error {
        TiffError::IoError(error) => origin.io(error),
        other => origin.unreadable(format_args!(
            "damaged, or not a TIFF file that can be read: {other}"
        )),
    }
}
