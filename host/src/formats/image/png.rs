//! Reading PNG, through the crate `png`: only the chunks that make up the pixels.

use ::png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Reader, Transformations};

use super::georeference::Georeferenced;
use super::luminance::reduced;
use super::opened::{Opened, Rows};
use super::options::ReadOptions;
use super::raster::COLOURS;
use super::sample::{SampleKind, Stored};
use super::sink::Sink;
use crate::error::{Error, ReadProblem, Result};
use crate::formats::source::{Bytes, Origin, Source};
use crate::image::check_size;
use crate::memory::zeroed_vec;

/// The memory that the decoder may use for chunks other than pixels, in bytes.
const CHUNKS: usize = 64 << 20;

pub(super) fn open<S: Sink>(source: Source<'_>, options: &ReadOptions) -> Result<Opened<S>> {
    let origin = source.origin;
    let mut decoder = Decoder::new(source.bytes);
    // Such chunks can expand to a thousand times their size.
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_ignore_text_chunk(true);
    let header = decoder
        .read_header_info()
        .map_err(|error| explain(origin, error))?;
    let ((width, height), row) = (header.size(), header.raw_row_length());
    // Grey bits are kept as they are; all other samples of fewer than 8 bits become bytes.
    let bits = header.color_type == ColorType::Grayscale && header.bit_depth == BitDepth::One;
    let one_channel = matches!(header.color_type, ColorType::Grayscale | ColorType::Indexed);
    if S::VALUES && !one_channel {
        return Err(origin.unsupported(COLOURS));
    }
    decoder.set_transformations(match bits || S::VALUES {
        true => Transformations::IDENTITY,
        false => Transformations::EXPAND,
    });
    decoder.set_limits(Limits {
        // A bit becomes four bytes if it is an index of a palette with transparency.
        bytes: row.saturating_mul(32).saturating_add(CHUNKS),
    });
    let reader = decoder
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
    let all_bits = pixels(width, height).saturating_mul(info.bits_per_pixel() as u64);
    let interlaced = info.interlaced;
    // Deflate compresses by 1032 to 1 at best.
    origin.holds(all_bits / 8, 1032, width, height)?;
    check_size(width.into(), height.into())?;
    let (color, depth) = reader.output_color_type();
    let too_large = || explain(origin, DecodingError::LimitsExceeded);
    let line = reader.output_line_size(width).ok_or_else(too_large)?;
    // An interlaced picture is decoded as a whole.
    let buffer = match interlaced {
        true => reader.output_buffer_size().ok_or_else(too_large)?,
        false => line,
    };
    let picture = Picture {
        reader,
        line,
        // Words, so that it is aligned for 16-bit samples.
        buffer: zeroed_vec(buffer.div_ceil(2), "the decoded samples")?,
        interlaced,
        rows_left: height,
        samples: match (bits, depth) {
            (true, _) => Samples::Bits,
            (_, BitDepth::Sixteen) => Samples::Words,
            (_, BitDepth::Eight) => Samples::Bytes,
            (_, few) => Samples::Packed(few as u8),
        },
        channels: color.samples(),
        // The decoder stretches 1-bit samples to 0 and 255.
        threshold: threshold * if kind == SampleKind::Bit { 255.0 } else { 1.0 },
        grey: Vec::new(),
    };
    Ok(Opened {
        width,
        height,
        kind,
        threshold,
        notes: Vec::new(),
        whole_only: interlaced.then_some("its rows are interlaced"),
        decoding_bytes: 8 * line as u64 + (1 << 20),
        no_data: None,
        georeference: Georeferenced::none(),
        rows: Box::new(picture),
    })
}

/// The decoder's form of samples.
#[derive(Clone, Copy)]
enum Samples {
    /// Grey, eight pixels per byte.
    Bits,
    /// Indices, or grey values that are not stretched, of 1, 2 or 4 bits.
    Packed(u8),
    Bytes,
    Words,
}

struct Picture {
    reader: Reader<Bytes>,
    /// Bytes per decoded row.
    line: usize,
    buffer: Vec<u16>,
    interlaced: bool,
    rows_left: u32,
    samples: Samples,
    channels: usize,
    /// In the scale of the decoded samples.
    threshold: f64,
    /// The luminance of a row of words.
    grey: Vec<u16>,
}

impl<S: Sink> Rows<S> for Picture {
    fn read(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()> {
        let failed = |error| explain(origin, error);
        if self.interlaced {
            let bytes = bytemuck::cast_slice_mut(&mut self.buffer);
            self.reader.next_frame(bytes).map_err(failed)?;
        }
        for y in 0..into.rows() {
            if !self.interlaced {
                let line = &mut bytemuck::cast_slice_mut(&mut self.buffer)[..self.line];
                if self.reader.read_row(line).map_err(failed)?.is_none() {
                    return Err(origin.truncated("the file is truncated: a row is missing"));
                }
            }
            let first = if self.interlaced { y * self.line } else { 0 };
            self.take(y, first, into)?;
        }
        self.rows_left -= into.rows() as u32;
        if self.rows_left == 0 && !self.interlaced {
            // Data after the last row is checked too.
            let line = &mut bytemuck::cast_slice_mut(&mut self.buffer)[..self.line];
            self.reader.read_row(line).map_err(failed)?;
        }
        Ok(())
    }
}

impl Picture {
    /// Passes row `y` to `into`; it starts at byte `first` of the buffer.
    fn take(&mut self, y: usize, first: usize, into: &mut impl Sink) -> Result<()> {
        let row = &mut bytemuck::cast_slice_mut::<u16, u8>(&mut self.buffer)[first..][..self.line];
        match self.samples {
            Samples::Bits => {
                into.packed_row(y, row, true, u8::at_most(self.threshold));
                Ok(())
            }
            Samples::Packed(bits) => {
                self.grey.resize(into.width().div_ceil(2), 0);
                let values = &mut bytemuck::cast_slice_mut(&mut self.grey)[..into.width()];
                unpack(row, bits, values);
                into.row(y, values, u8::at_most(self.threshold))
            }
            Samples::Bytes => {
                self.grey.resize(into.width().div_ceil(2), 0);
                let grey = &mut bytemuck::cast_slice_mut(&mut self.grey)[..into.width()];
                let row = reduced(row, self.channels, grey);
                into.row(y, row, u8::at_most(self.threshold))
            }
            Samples::Words => {
                // Rows of 16-bit samples have an even number of bytes.
                let row: &mut [u16] = &mut self.buffer[first / 2..][..self.line / 2];
                for sample in row.iter_mut() {
                    *sample = u16::from_be(*sample);
                }
                self.grey.resize(into.width(), 0);
                let row = reduced(row, self.channels, &mut self.grey);
                into.row(y, row, u16::at_most(self.threshold))
            }
        }
    }
}

/// Unpacks values of `bits` bits, the leftmost in the highest bits of the first byte.
fn unpack(packed: &[u8], bits: u8, values: &mut [u8]) {
    let per_byte = usize::from(8 / bits);
    for (values, byte) in values.chunks_mut(per_byte).zip(packed) {
        for (i, value) in (1u8..).zip(values) {
            *value = byte >> (8 - i * bits) & ((1 << bits) - 1);
        }
    }
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
