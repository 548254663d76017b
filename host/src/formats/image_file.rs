//! Reading PNG, PBM/PGM/PPM/PAM, BMP and colour TIFF, through the crate `image`.

use image::error::{ImageError, LimitErrorKind};
use image::{ColorType, ExtendedColorType, ImageDecoder, ImageFormat, ImageReader};

use super::read::{Origin, ReadImage, ReadOptions, Source};
use super::threshold::{SampleKind, Stored, Thresholder};
use crate::error::zeroed_vec;
use crate::{Error, Result};

pub(super) fn read(
    source: &mut Source<'_>,
    format: ImageFormat,
    options: &ReadOptions,
) -> Result<ReadImage> {
    let origin = source.origin;
    // The size that the file claims is checked below, by asking for the memory.
    let mut reader = ImageReader::with_format(&mut source.bytes, format);
    reader.no_limits();
    let decoder = match reader.into_decoder() {
        Ok(decoder) => decoder,
        Err(error) => return Err(explain(origin, format, error)),
    };
    let (width, height) = decoder.dimensions();
    let color = decoder.color_type();
    let original = decoder.original_color_type();
    let Some(layout) = Layout::of(color, original) else {
        return Err(origin.unreadable(format_args!(
            "samples of type {color:?} are not read: save it as grey with 8 or 16 bits"
        )));
    };
    let threshold = layout.kind.threshold(options.threshold)?;

    let pixels = u64::from(width) * u64::from(height);
    let bits = pixels.saturating_mul(original.bits_per_pixel().into());
    if bits / 8 > most_bytes(format, origin.len) {
        return Err(origin.unreadable(format_args!(
            "the file is truncated: {} bytes cannot hold the {width} × {height} pixels it claims",
            origin.len
        )));
    }
    let rows = Thresholder::new(width.into(), height.into(), options)?;
    let samples = decoder.total_bytes();
    // Aligned for 16-bit samples.
    let words = usize::try_from(samples.div_ceil(2)).unwrap_or(usize::MAX);
    let mut buffer: Vec<u16> = zeroed_vec(words, "the decoded samples")?;
    let bytes = &mut bytemuck::cast_slice_mut(&mut buffer)[..samples as usize];
    match decoder.read_image(bytes) {
        Ok(()) => {}
        Err(error) => return Err(explain(origin, format, error)),
    }
    let rows = match layout.bytes {
        1 => {
            // The decoder stretches 1-bit samples to 0 and 255.
            let white = if layout.kind == SampleKind::Bit {
                255.0
            } else {
                1.0
            };
            take(rows, bytes, layout.channels, u8::at_most(threshold * white))?
        }
        _ => take(
            rows,
            bytemuck::cast_slice::<u8, u16>(bytes),
            layout.channels,
            u16::at_most(threshold),
        )?,
    };
    Ok(ReadImage::new(rows, layout.kind, threshold, options))
}

/// The most bytes of samples that a file of `len` bytes can hold.
fn most_bytes(format: ImageFormat, len: u64) -> u64 {
    match format {
        // Deflate's best is 1032 to 1.
        ImageFormat::Png => len.saturating_mul(1032),
        ImageFormat::Pnm => len,
        _ => u64::MAX,
    }
}

struct Layout {
    kind: SampleKind,
    channels: usize,
    /// Bytes of a sample.
    bytes: u8,
}

impl Layout {
    fn of(color: ColorType, original: ExtendedColorType) -> Option<Self> {
        let bytes = match color {
            ColorType::L8 | ColorType::La8 | ColorType::Rgb8 | ColorType::Rgba8 => 1,
            ColorType::L16 | ColorType::La16 | ColorType::Rgb16 | ColorType::Rgba16 => 2,
            _ => return None,
        };
        let kind = match (bytes, original) {
            (_, ExtendedColorType::L1) => SampleKind::Bit,
            (1, _) => SampleKind::U8,
            _ => SampleKind::U16,
        };
        Some(Self {
            kind,
            channels: color.channel_count().into(),
            bytes,
        })
    }
}

/// Thresholds all rows, with colours reduced to their luminance.
fn take<T: Stored + Into<u64> + TryFrom<u64>>(
    mut rows: Thresholder,
    samples: &[T],
    channels: usize,
    threshold: T,
) -> Result<Thresholder> {
    let width = rows.width();
    let mut reduced = vec![T::zeroed(); if channels == 1 { 0 } else { width }];
    for (y, row) in samples.chunks_exact(width * channels).enumerate() {
        if channels == 1 {
            rows.row(y, row, threshold)?;
            continue;
        }
        for (out, pixel) in reduced.iter_mut().zip(row.chunks_exact(channels)) {
            *out = match *pixel {
                [r, g, b, ..] => luminance(r, g, b),
                [grey, ..] => grey,
                [] => T::zeroed(),
            };
        }
        rows.row(y, &reduced, threshold)?;
    }
    Ok(rows)
}

/// ITU-R BT.601's weights in 16-bit fixed point, rounded: white stays white.
fn luminance<T: Stored + Into<u64> + TryFrom<u64>>(r: T, g: T, b: T) -> T {
    let sum = 19595 * r.into() + 38470 * g.into() + 7471 * b.into() + 0x8000;
    // The weights' sum is 1, so it always fits.
    T::try_from(sum >> 16).unwrap_or(r)
}

/// The decoder's error in the library's terms.
fn explain(origin: Origin<'_>, format: ImageFormat, error: ImageError) -> Error {
    match error {
        ImageError::IoError(error) => origin.io(error),
        ImageError::Limits(error) if error.kind() == LimitErrorKind::InsufficientMemory => {
            origin.unreadable("the samples do not fit the memory")
        }
        other => {
            let name = format.extensions_str().first().unwrap_or(&"image");
            origin.unreadable(format_args!(
                "damaged, or not a {} file that can be read: {other}",
                name.to_uppercase()
            ))
        }
    }
}
