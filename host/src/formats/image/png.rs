//! Reading PNG, through the crate `png`: only the chunks that make up the pixels.

use ::png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};

use super::content::ReadImage;
use super::luminance::threshold_all;
use super::options::ReadOptions;
use super::sample::{SampleKind, Stored};
use super::threshold::Thresholder;
use crate::error::{Error, ReadProblem, Result};
use crate::formats::source::{Origin, Source};
use crate::memory::zeroed_vec;

/// The memory that the decoder may use for chunks other than pixels, in bytes.
const CHUNKS: usize = 64 << 20;

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    let origin = source.origin;
    let mut decoder = Decoder::new(&mut source.bytes);
    // Such chunks can expand to a thousand times their size.
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_ignore_text_chunk(true);
    decoder.set_transformations(Transformations::EXPAND);
    let size = decoder
        .read_header_info()
        .map(|info| (info.size(), info.raw_row_length()));
    let ((width, height), row) = size.map_err(|error| explain(origin, error))?;
    decoder.set_limits(Limits {
        // A bit becomes four bytes if it is an index of a palette with transparency.
        bytes: row.saturating_mul(32).saturating_add(CHUNKS),
    });
    let mut reader = decoder
        .read_info()
        .map_err(|error| explain(origin, error))?;

    let info = reader.info();
    let two_shades = match (info.color_type, &info.palette) {
        (ColorType::Grayscale, _) => true,
        (ColorType::Indexed, Some(palette)) => black_and_white(palette.as_chunks::<3>().0),
        _ => false,
    };
    let kind = match info.bit_depth {
        BitDepth::One if two_shades => SampleKind::Bit,
        BitDepth::Sixteen => SampleKind::U16,
        _ => SampleKind::U8,
    };
    let threshold = kind.threshold(options.threshold)?;
    let bits = pixels(width, height).saturating_mul(info.bits_per_pixel() as u64);
    // Deflate compresses by 1032 to 1 at best.
    origin.holds(bits / 8, 1032, width, height)?;
    let (color, depth) = reader.output_color_type();
    let channels = color.samples();

    let rows = Thresholder::new(width.into(), height.into(), options.keep_grey)?;
    let bytes = reader.output_buffer_size().unwrap_or(usize::MAX);
    // The buffer is aligned for 16-bit samples.
    let mut buffer: Vec<u16> = zeroed_vec(bytes.div_ceil(2), "the decoded samples")?;
    let samples = &mut bytemuck::cast_slice_mut::<u16, u8>(&mut buffer)[..bytes];
    reader
        .next_frame(samples)
        .map_err(|error| explain(origin, error))?;
    let rows = if depth == BitDepth::Sixteen {
        for sample in &mut buffer {
            *sample = u16::from_be(*sample);
        }
        threshold_all(rows, &buffer, channels, u16::at_most(threshold))?
    } else {
        // The decoder stretches 1-bit samples to 0 and 255.
        let white = if kind == SampleKind::Bit { 255.0 } else { 1.0 };
        threshold_all(rows, samples, channels, u8::at_most(threshold * white))?
    };
    Ok(ReadImage::new(rows, kind, threshold, options))
}

pub(super) fn pixels(width: u32, height: u32) -> u64 {
    u64::from(width) * u64::from(height)
}

/// Whether all entries of a palette are black or white.
pub(super) fn black_and_white(palette: &[[u8; 3]]) -> bool {
    palette
        .iter()
        .all(|entry| matches!(entry, [0, 0, 0] | [255, 255, 255]))
}

fn explain(origin: Origin<'_>, error: DecodingError) -> Error {
    match error {
        DecodingError::IoError(error) => origin.io(error),
        DecodingError::LimitsExceeded => {
            origin.refused(ReadProblem::TooLarge, "the samples do not fit the memory")
        }
        other => {
            let reason = format!("damaged, or not a PNG file that can be read: {other}");
            origin.undecodable(ReadProblem::Damaged, reason, other)
        }
    }
}
