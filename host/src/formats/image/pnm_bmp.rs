//! Reading PBM/PGM/PPM/PAM and BMP, through the crate `image`.

use std::io::Read;

use ::image::error::{ImageError, LimitErrorKind};
use ::image::{ColorType, ExtendedColorType, ImageDecoder, ImageFormat, ImageReader};

use super::content::ReadImage;
use super::luminance::threshold_all;
use super::options::ReadOptions;
use super::sample::{SampleKind, Stored};
use super::threshold::Thresholder;
use crate::formats::source::{Origin, Source};
use crate::memory::zeroed_vec;
use crate::{Error, Result};

/// The largest number of pixels per byte of a run-length encoded BMP.
const RUN_PIXELS: u64 = 128;

pub(super) fn read(
    source: &mut Source<'_>,
    format: ImageFormat,
    options: &ReadOptions,
) -> Result<ReadImage> {
    let origin = source.origin;
    // The size that the file claims is checked below, by allocating the memory.
    let bilevel = format == ImageFormat::Bmp && check_bmp(source)?;
    let mut reader = ImageReader::with_format(&mut source.bytes, format);
    reader.no_limits();
    let decoder = match reader.into_decoder() {
        Ok(decoder) => decoder,
        Err(error) => return Err(explain(origin, format, error)),
    };
    let (width, height) = decoder.dimensions();
    let color = decoder.color_type();
    let original = decoder.original_color_type();
    let original = if bilevel {
        ExtendedColorType::L1
    } else {
        original
    };
    let Some(layout) = Layout::of(color, original) else {
        return Err(origin.unreadable(format_args!(
            "samples of type {color:?} are not read: save it as grey with 8 or 16 bits"
        )));
    };
    let threshold = layout.kind.threshold(options.threshold)?;

    if format == ImageFormat::Pnm {
        let bits = pixels(width, height).saturating_mul(original.bits_per_pixel().into());
        origin.holds(bits / 8, 1, width, height)?;
    }
    let rows = Thresholder::new(width.into(), height.into(), options.keep_grey)?;
    let samples = decoder.total_bytes();
    // The buffer is aligned for 16-bit samples.
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
            threshold_all(rows, bytes, layout.channels, u8::at_most(threshold * white))?
        }
        _ => threshold_all(
            rows,
            bytemuck::cast_slice::<u8, u16>(bytes),
            layout.channels,
            u16::at_most(threshold),
        )?,
    };
    Ok(ReadImage::new(rows, layout.kind, threshold, options))
}

pub(super) fn pixels(width: u32, height: u32) -> u64 {
    u64::from(width) * u64::from(height)
}

/// Refuses a BMP that is too small for the pixels that its header claims. Returns whether its
/// pixels have 1 bit, for black or white.
fn check_bmp(source: &mut Source<'_>) -> Result<bool> {
    let origin = source.origin;
    let mut start = Vec::new();
    let read = (&mut source.bytes).take(256).read_to_end(&mut start);
    read.map_err(|error| origin.io(error))?;
    source.rewind()?;
    let number = |at: usize, bytes: usize| {
        let field = start.get(at..at + bytes)?;
        Some(
            field
                .iter()
                .rev()
                .fold(0, |n, &byte| n << 8 | u64::from(byte)),
        )
    };
    // OS/2's first header is shorter, and its palette has three bytes per entry.
    let fields = || {
        let header = number(14, 4)?;
        let core = header == 12;
        let side = if core { 2 } else { 4 };
        let (width, height) = (number(18, side)?, number(18 + side, side)?);
        let depth = number(if core { 24 } else { 28 }, 2)?;
        let colours = if core { 0 } else { number(46, 4)? };
        let entry = if core { 3 } else { 4 };
        let colours = if colours == 0 { 2 } else { colours.min(2) } as usize;
        let first = usize::try_from(header).ok()?.checked_add(14)?;
        let palette = start.get(first..first.checked_add(colours * entry)?);
        let compression = if core { 0 } else { number(30, 4)? };
        Some((width, height, depth, compression, palette, entry))
    };
    let Some((width, height, depth, compression, palette, entry)) = fields() else {
        return Ok(false);
    };
    if width == 0 || height == 0 {
        return Err(Error::EmptyImage { width, height });
    }
    // A negative height means that rows are stored from top to bottom.
    let (columns, rows) = (width as u32, (height as i32).unsigned_abs());
    let claimed = pixels(columns, rows);
    match compression {
        // Uncompressed, or uncompressed with masks for the colours.
        0 | 3 => origin.holds(claimed.saturating_mul(depth) / 8, 1, columns, rows)?,
        // Run-length encoded: two bytes for at most 255 pixels.
        1 | 2 if claimed > origin.len.saturating_mul(RUN_PIXELS) => {
            return Err(origin.unreadable(format_args!(
                "its runs cannot hold the {columns} × {rows} pixels it claims: {} bytes make {} \
                 at most; if it skips the others, save it without compression",
                origin.len,
                origin.len.saturating_mul(RUN_PIXELS)
            )));
        }
        _ => {}
    }
    let palette = palette.unwrap_or(&[1]).chunks(entry);
    let mut shades = palette.map(|entry| entry.get(..3));
    Ok(depth == 1 && shades.all(|shade| matches!(shade, Some([0, 0, 0] | [255, 255, 255]))))
}

struct Layout {
    kind: SampleKind,
    channels: usize,
    /// Bytes per sample.
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
