//! How the pixels of a TIFF are stored.

use tiff::decoder::{ChunkType, Decoder};
use tiff::tags::{
    ByteOrder, CompressionMethod, PhotometricInterpretation, PlanarConfiguration, Predictor,
    SampleFormat, Tag,
};
use tiff::{ColorType, TiffError};

use super::unpack::Packing;
use crate::error::{Error, ReadProblem, Result};
use crate::formats::image::luminance::luminance;
use crate::formats::image::raster::COLOURS;
use crate::formats::image::sample::{SampleKind, Stored};
use crate::formats::source::{Bytes, Origin};

pub(super) type TiffDecoder = Decoder<Bytes>;

/// Uncompressed strips or tiles are unpacked in pieces of about this size.
const PIECE_BYTES: usize = 1 << 20;

/// Rows of the image within one row of strips or tiles.
#[derive(Clone, Copy)]
pub(super) struct Stripe {
    pub(super) top: usize,
    pub(super) rows: usize,
}

/// How a file stores its image.
pub(super) struct Layout {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) kind: SampleKind,
    /// The channels of a pixel: 1 for grey, 2 with alpha; 3 for colour, 4 with alpha or of inks.
    pub(super) channels: usize,
    /// Whether the channels are cyan, magenta, yellow and black.
    pub(super) ink: bool,
    pub(super) white_is_zero: bool,
    /// Whether each channel is in strips or tiles of its own.
    pub(super) separate: bool,
    pub(super) packing: Packing,
    pub(super) tiled: bool,
    pub(super) chunk_width: usize,
    pub(super) chunk_height: usize,
    /// The rows of a strip or tile that are unpacked at once: all, unless uncompressed.
    pub(super) piece_height: usize,
    /// Strips or tiles per row of them.
    pub(super) across: usize,
    /// Strips or tiles per plane.
    pub(super) per_plane: usize,
    pub(super) offsets: Vec<u64>,
    pub(super) counts: Vec<u64>,
}

/// The number of channels of pixels of this type, and of bits of each.
fn channels(color: ColorType, values: bool, origin: Origin<'_>) -> Result<(usize, u8)> {
    Ok(match color {
        ColorType::Gray(bits) => (1, bits),
        _ if values => return Err(origin.unsupported(COLOURS)),
        ColorType::GrayA(bits) => (2, bits),
        ColorType::RGB(bits) => (3, bits),
        ColorType::RGBA(bits) | ColorType::CMYK(bits) => (4, bits),
        _ => {
            return Err(origin.unsupported(format_args!(
                "samples of type {color:?} are not read: save it as grey with 8 or 16 bits"
            )));
        }
    })
}

/// The kind of samples of `bits` bits and this format.
fn sample_kind(
    channels: usize,
    bits: u8,
    format: &SampleFormat,
    values: bool,
    origin: Origin<'_>,
) -> Result<SampleKind> {
    Ok(match (channels, bits, format) {
        (1, 1, SampleFormat::Uint) => SampleKind::Bit,
        (_, 8, SampleFormat::Uint) => SampleKind::U8,
        (_, 16, SampleFormat::Uint) => SampleKind::U16,
        (1, 16, SampleFormat::Int) => SampleKind::I16,
        (1, 32, SampleFormat::Int) => SampleKind::I32,
        (1, 32, SampleFormat::Uint) if values => SampleKind::U32,
        (1, 64, SampleFormat::Int) if values => SampleKind::I64,
        (1, 32, SampleFormat::IEEEFP) => SampleKind::F32,
        (1, 64, SampleFormat::IEEEFP) => SampleKind::F64,
        (1, ..) if values => {
            return Err(origin.unsupported(format_args!(
                "values of {bits} bits (type {format:?}) are not read: use 1, 8, 16 or 32 bits \
                 unsigned, 16, 32 or 64 bits signed, or floats of 32 or 64 bits"
            )));
        }
        (1, ..) => {
            return Err(origin.unsupported(format_args!(
                "grey samples of {bits} bits (type {format:?}) are not read: use 1, 8 or 16 \
                 bits unsigned, 16 or 32 bits signed, or floats of 32 or 64 bits"
            )));
        }
        _ => {
            return Err(origin.unsupported(format_args!(
                "colours of {bits} bits a channel are not read: use 8 or 16 bits unsigned"
            )));
        }
    })
}

impl Packing {
    /// Whether samples of this format, packed so, are read.
    fn check(&self, format: &SampleFormat, origin: Origin<'_>) -> Result<()> {
        let Self {
            compression,
            predictor,
            lowest_bit_first,
            bits,
            ..
        } = self;
        let fits = match predictor {
            Predictor::None => true,
            Predictor::Horizontal => *bits >= 8,
            Predictor::FloatingPoint => *format == SampleFormat::IEEEFP,
            _ => false,
        };
        let is_fax = *compression == CompressionMethod::Fax4;
        if !fits || is_fax && (*predictor != Predictor::None || *lowest_bit_first || *bits != 1) {
            return Err(origin.unsupported(format_args!(
                "samples of {bits} bits (type {format:?}) with the compression {compression:?}, \
                 the predictor {predictor:?} and the fill order {} are not read: save it with \
                 LZW or deflate",
                1 + u8::from(*lowest_bit_first)
            )));
        }
        Ok(())
    }
}

impl Layout {
    /// Of a file whose samples are thresholded, or kept as `values`.
    pub(super) fn of(decoder: &mut TiffDecoder, values: bool, origin: Origin<'_>) -> Result<Self> {
        let explain = |error| explain(origin, error);
        let (width, height) = decoder.dimensions().map_err(explain)?;
        let big_endian = decoder.byte_order() == ByteOrder::BigEndian;
        let tiled = decoder.get_chunk_type() == ChunkType::Tile;
        let (chunk_width, chunk_height) = decoder.chunk_dimensions();
        let number = |decoder: &mut TiffDecoder, tag, default: u16| -> Result<u16> {
            let found = decoder.find_tag_unsigned_vec::<u16>(tag).map_err(explain)?;
            Ok(found
                .and_then(|all| all.first().copied())
                .unwrap_or(default))
        };
        let format = SampleFormat::from_u16_exhaustive(number(decoder, Tag::SampleFormat, 1)?);
        let samples = usize::from(number(decoder, Tag::SamplesPerPixel, 1)?);
        let separate =
            number(decoder, Tag::PlanarConfiguration, 1)? == PlanarConfiguration::Planar.to_u16();
        let compression =
            CompressionMethod::from_u16_exhaustive(number(decoder, Tag::Compression, 1)?);
        let predictor = number(decoder, Tag::Predictor, 1)?;
        let predictor = Predictor::from_u16(predictor).unwrap_or(Predictor::None);
        let lowest_bit_first = number(decoder, Tag::FillOrder, 1)? == 2;
        let photometric = number(decoder, Tag::PhotometricInterpretation, 1)?;
        let white_is_zero =
            !values && photometric == PhotometricInterpretation::WhiteIsZero.to_u16();
        let color = match photometric == PhotometricInterpretation::RGBPalette.to_u16() {
            // The crate refuses palettes; their indices are values like others.
            true if values && samples == 1 => ColorType::Gray(
                number(decoder, Tag::BitsPerSample, 1)?
                    .try_into()
                    .unwrap_or(0),
            ),
            _ => decoder.colortype().map_err(explain)?,
        };
        let (channels, bits) = channels(color, values, origin)?;
        let kind = sample_kind(channels, bits, &format, values, origin)?;
        let packing = Packing {
            compression,
            predictor,
            lowest_bit_first,
            big_endian,
            samples: if separate { 1 } else { samples },
            bits: bits.into(),
            jpeg_tables: None,
        };
        packing.check(&format, origin)?;
        if white_is_zero && format == SampleFormat::Int {
            return Err(origin.unsupported(
                "signed samples whose zero is white are not read: save it with black as zero",
            ));
        }
        let jpeg_tables = match packing.compression == CompressionMethod::ModernJPEG {
            true => decoder.find_tag(Tag::JPEGTables).map_err(explain)?,
            false => None,
        };
        let jpeg_tables = jpeg_tables.map(|tables| tables.into_u8_vec()).transpose();
        let list = |decoder: &mut TiffDecoder, strips, tiles| {
            let tag = if tiled { tiles } else { strips };
            let found = decoder.find_tag_unsigned_vec::<u64>(tag).map_err(explain)?;
            Ok::<_, Error>(found.unwrap_or_default())
        };
        let (width, height) = (width as usize, height as usize);
        let (chunk_width, chunk_height) = (chunk_width as usize, chunk_height as usize);
        let across = width.div_ceil(chunk_width.max(1));
        let per_plane = across * height.div_ceil(chunk_height.max(1));
        let offsets = list(decoder, Tag::StripOffsets, Tag::TileOffsets)?;
        let counts = list(decoder, Tag::StripByteCounts, Tag::TileByteCounts)?;
        let planes = if separate { channels } else { 1 };
        let packing = Packing {
            jpeg_tables: jpeg_tables.map_err(explain)?,
            ..packing
        };
        let row_bytes = packing.row_bytes(chunk_width).unwrap_or(usize::MAX).max(1);
        let piece_height = match packing.compression {
            CompressionMethod::None => (PIECE_BYTES / row_bytes).clamp(1, chunk_height.max(1)),
            _ => chunk_height,
        };
        if offsets.len().min(counts.len()) < per_plane.saturating_mul(planes) {
            return Err(origin.unreadable(format_args!(
                "damaged: {} strips or tiles are listed, and {per_plane} for each of {planes} \
                 planes are needed",
                offsets.len().min(counts.len())
            )));
        }
        Ok(Self {
            width,
            height,
            kind,
            channels,
            ink: matches!(color, ColorType::CMYK(_)),
            white_is_zero,
            separate,
            packing,
            tiled,
            chunk_width,
            chunk_height,
            piece_height,
            across,
            per_plane,
            offsets,
            counts,
        })
    }

    /// The rows from `top` on that are unpacked at once. `top` must be the image's first row or the
    /// end of the stripe above.
    pub(super) fn stripe(&self, top: usize) -> Stripe {
        let within = top % self.chunk_height;
        // planted: tiff-strip-end
        let rows = self.piece_height.min(self.chunk_height - within);
        Stripe {
            top,
            rows: rows.min(self.height - top),
        }
    }

    pub(super) fn planes(&self) -> usize {
        if self.separate { self.channels } else { 1 }
    }

    /// The unpacked bytes of `rows` rows of a strip or tile.
    pub(super) fn chunk_bytes(&self, rows: usize) -> Option<usize> {
        self.packing.row_bytes(self.chunk_width)?.checked_mul(rows)
    }

    /// Refuses a file that is too small for its pixels, however well they are packed.
    pub(super) fn check_claim(&self, origin: Origin<'_>) -> Result<()> {
        let (width, height) = (self.width as u32, self.height as u32);
        let row = self.packing.row_bytes(self.width).unwrap_or(usize::MAX) as u64;
        let bytes = row
            .saturating_mul(self.height as u64)
            .saturating_mul(self.planes() as u64);
        match self.packing.max_per_byte() {
            Some(ratio) => origin.holds(bytes, ratio, width, height),
            // At least a bit per row.
            None => origin.holds(self.height as u64 / 8, 1, width, height),
        }
    }

    /// The luminance of a pixel; `channel` gives its channels.
    pub(super) fn shade<T: Stored + Into<u64> + TryFrom<u64>>(
        &self,
        channel: &dyn Fn(usize) -> T,
    ) -> T {
        if self.channels < 3 {
            return channel(0);
        }
        let white = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
        let paint = |c: usize| {
            if !self.ink {
                return channel(c);
            }
            let paper = |c: usize| white - channel(c).into();
            T::try_from(paper(c) * paper(3) / white).unwrap_or(T::zeroed())
        };
        luminance(paint(0), paint(1), paint(2))
    }
}

/// The decoder's error in the library's terms.
pub(super) fn explain(origin: Origin<'_>, error: TiffError) -> Error {
    match error {
        TiffError::IoError(error) => origin.io(error),
        other => {
            let problem = match other {
                TiffError::UnsupportedError(_) => ReadProblem::Unsupported,
                TiffError::LimitsExceeded => ReadProblem::TooLarge,
                _ => ReadProblem::Damaged,
            };
            let reason = format!("damaged, or not a TIFF file that can be read: {other}");
            origin.undecodable(problem, reason, other)
        }
    }
}
