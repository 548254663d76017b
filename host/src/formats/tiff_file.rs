//! Reading TIFF: directories through the crate `tiff`, strips and tiles by
//! [`tiff_chunk`](super::tiff_chunk).

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};

use tiff::decoder::{BufferLayoutPreference, ChunkType, Decoder};
use tiff::tags::{
    ByteOrder, CompressionMethod, PhotometricInterpretation, PlanarConfiguration, Predictor,
    SampleFormat, Tag,
};
use tiff::{ColorType, TiffError};

use super::image_file::luminance;
use super::read::{BufReadSeek, Note, Origin, ReadImage, ReadOptions, Source};
use super::threshold::{SampleKind, Stored, Thresholder};
use super::tiff_chunk::{Extent, Packing};
use crate::memory::zeroed_vec;
use crate::{Error, Result};

type TiffDecoder<'a> = Decoder<&'a mut Box<dyn BufReadSeek>>;

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    let origin = source.origin;
    let pages = more_pages(&mut source.bytes, origin.len).unwrap_or(0);
    source.rewind()?;
    let mut decoder = Decoder::new(&mut source.bytes).map_err(|error| explain(origin, error))?;
    let layout = Layout::of(&mut decoder, origin)?;
    let threshold = layout.kind.threshold(options.threshold)?;
    layout.check_claim(origin)?;
    let rows = Thresholder::new(layout.width as u64, layout.height as u64, options)?;
    let mut notes = notes(&mut decoder);
    if pages > 0 {
        notes.push(Note::MorePages(pages));
    }
    let mut chunks = Chunks {
        origin,
        decoder,
        layout,
    };
    let rows = match chunks.layout.kind {
        SampleKind::Bit => chunks.take_bits(rows, u8::at_most(255.0 * threshold))?,
        SampleKind::U8 => chunks.take(rows, u8::at_most(threshold), Layout::shade)?,
        SampleKind::U16 => chunks.take(rows, u16::at_most(threshold), Layout::shade)?,
        SampleKind::I16 => chunks.take(rows, i16::at_most(threshold), first)?,
        SampleKind::I32 => chunks.take(rows, i32::at_most(threshold), first)?,
        SampleKind::F32 => chunks.take(rows, f32::at_most(threshold), first)?,
        SampleKind::F64 => chunks.take(rows, f64::at_most(threshold), first)?,
    };
    let mut image = ReadImage::new(rows, chunks.layout.kind, threshold, options);
    image.notes = notes;
    Ok(image)
}

/// What a file of one image holds, and where.
struct Layout {
    width: usize,
    height: usize,
    kind: SampleKind,
    /// Those that make up the colour: 1, 2 with alpha, 3, 4 with alpha or of ink.
    channels: usize,
    /// Cyan, magenta, yellow and black.
    ink: bool,
    white_is_zero: bool,
    /// Each channel lies in strips or tiles of its own.
    separate: bool,
    packing: Packing,
    tiled: bool,
    chunk_width: usize,
    chunk_height: usize,
    across: usize,
    /// Strips or tiles of a plane.
    per_plane: usize,
    offsets: Vec<u64>,
    counts: Vec<u64>,
}

impl Layout {
    fn of(decoder: &mut TiffDecoder<'_>, origin: Origin<'_>) -> Result<Self> {
        let explain = |error| explain(origin, error);
        let (width, height) = decoder.dimensions().map_err(explain)?;
        let color = decoder.colortype().map_err(explain)?;
        let big_endian = decoder.byte_order() == ByteOrder::BigEndian;
        let tiled = decoder.get_chunk_type() == ChunkType::Tile;
        let (chunk_width, chunk_height) = decoder.chunk_dimensions();
        let number = |decoder: &mut TiffDecoder<'_>, tag, default: u16| -> Result<u16> {
            let found = decoder.find_tag_unsigned_vec::<u16>(tag).map_err(explain)?;
            Ok(found
                .and_then(|all| all.first().copied())
                .unwrap_or(default))
        };
        let format = SampleFormat::from_u16_exhaustive(number(decoder, Tag::SampleFormat, 1)?);
        let samples = usize::from(number(decoder, Tag::SamplesPerPixel, 1)?);
        let planar = number(decoder, Tag::PlanarConfiguration, 1)?;
        let separate = planar == PlanarConfiguration::Planar.to_u16();
        let compression =
            CompressionMethod::from_u16_exhaustive(number(decoder, Tag::Compression, 1)?);
        let predictor = number(decoder, Tag::Predictor, 1)?;
        let predictor = Predictor::from_u16(predictor).unwrap_or(Predictor::None);
        let lowest_bit_first = number(decoder, Tag::FillOrder, 1)? == 2;
        let photometric = number(decoder, Tag::PhotometricInterpretation, 1)?;
        let white_is_zero = photometric == PhotometricInterpretation::WhiteIsZero.to_u16();
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
        let kind = match (channels, bits, &format) {
            (1, 1, SampleFormat::Uint) => SampleKind::Bit,
            (_, 8, SampleFormat::Uint) => SampleKind::U8,
            (_, 16, SampleFormat::Uint) => SampleKind::U16,
            (1, 16, SampleFormat::Int) => SampleKind::I16,
            (1, 32, SampleFormat::Int) => SampleKind::I32,
            (1, 32, SampleFormat::IEEEFP) => SampleKind::F32,
            (1, 64, SampleFormat::IEEEFP) => SampleKind::F64,
            (1, ..) => {
                return Err(origin.unreadable(format_args!(
                    "grey samples of {bits} bits (type {format:?}) are not read: use 1, 8 or 16 \
                     bits unsigned, 16 or 32 bits signed, or floats of 32 or 64 bits"
                )));
            }
            _ => {
                return Err(origin.unreadable(format_args!(
                    "colours of {bits} bits a channel are not read: use 8 or 16 bits unsigned"
                )));
            }
        };
        let fits = match predictor {
            Predictor::None => true,
            Predictor::Horizontal => bits >= 8,
            Predictor::FloatingPoint => format == SampleFormat::IEEEFP,
            _ => false,
        };
        let is_fax = compression == CompressionMethod::Fax4;
        if !fits || is_fax && (predictor != Predictor::None || lowest_bit_first || bits != 1) {
            return Err(origin.unreadable(format_args!(
                "samples of {bits} bits (type {format:?}) with the compression {compression:?}, \
                 the predictor {predictor:?} and the fill order {} are not read: save it with \
                 LZW or deflate",
                1 + u8::from(lowest_bit_first)
            )));
        }
        if white_is_zero && format == SampleFormat::Int {
            return Err(origin.unreadable(
                "signed samples whose zero is white are not read: save it with black as zero",
            ));
        }
        let jpeg_tables = match compression == CompressionMethod::ModernJPEG {
            true => decoder.find_tag(Tag::JPEGTables).map_err(explain)?,
            false => None,
        };
        let jpeg_tables = jpeg_tables.map(|tables| tables.into_u8_vec()).transpose();
        let list = |decoder: &mut TiffDecoder<'_>, strips, tiles| {
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
            packing: Packing {
                compression,
                predictor,
                lowest_bit_first,
                big_endian,
                samples: if separate { 1 } else { samples },
                bits: bits.into(),
                jpeg_tables: jpeg_tables.map_err(explain)?,
            },
            tiled,
            chunk_width,
            chunk_height,
            across,
            per_plane,
            offsets,
            counts,
        })
    }

    fn planes(&self) -> usize {
        if self.separate { self.channels } else { 1 }
    }

    /// Bytes of `rows` rows of a strip or tile, unpacked.
    fn chunk_bytes(&self, rows: usize) -> Option<usize> {
        self.packing.row_bytes(self.chunk_width)?.checked_mul(rows)
    }

    /// Refuses a file that is too small for its pixels, however well they are packed.
    fn check_claim(&self, origin: Origin<'_>) -> Result<()> {
        let (width, height) = (self.width as u32, self.height as u32);
        let row = self.packing.row_bytes(self.width).unwrap_or(usize::MAX) as u64;
        let bytes = row
            .saturating_mul(self.height as u64)
            .saturating_mul(self.planes() as u64);
        match self.packing.most_per_byte() {
            Some(ratio) => origin.holds(bytes, ratio, width, height),
            // A bit for each row at least.
            None => origin.holds(self.height as u64 / 8, 1, width, height),
        }
    }

    /// The luminance of a pixel whose channels are given.
    fn shade<T: Stored + Into<u64> + TryFrom<u64>>(&self, channel: &dyn Fn(usize) -> T) -> T {
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

/// The only channel, of samples that have no luminance.
fn first<T: Stored>(_: &Layout, channel: &dyn Fn(usize) -> T) -> T {
    channel(0)
}

/// A file's strips or tiles, unpacked row of them by row.
struct Chunks<'a> {
    origin: Origin<'a>,
    decoder: TiffDecoder<'a>,
    layout: Layout,
}

impl Chunks<'_> {
    /// Thresholds all rows, with the channels of a pixel reduced by `reduce`.
    fn take<T: Stored>(
        &mut self,
        mut rows: Thresholder,
        threshold: T,
        reduce: impl Fn(&Layout, &dyn Fn(usize) -> T) -> T,
    ) -> Result<Thresholder> {
        let mut line = vec![T::zeroed(); self.layout.width];
        self.each_row(|layout, y, x, planes| {
            let end = (x + layout.chunk_width).min(layout.width);
            let step = layout.packing.samples;
            let planes: [&[T]; 4] = planes.map(bytemuck::cast_slice);
            for (i, out) in line[x..end].iter_mut().enumerate() {
                *out = match (layout.channels, layout.separate) {
                    (1, _) => planes[0][i * step],
                    (_, true) => reduce(layout, &|c| planes[c][i]),
                    (_, false) => reduce(layout, &|c| planes[0][i * step + c]),
                };
            }
            if end < layout.width {
                return Ok(());
            }
            rows.row(y, &line, threshold)
        })?;
        Ok(rows)
    }

    /// Thresholds samples of one bit.
    fn take_bits(&mut self, mut rows: Thresholder, threshold: u8) -> Result<Thresholder> {
        let mut line = vec![0u8; self.layout.width];
        self.each_row(|layout, y, x, [packed, ..]| {
            let end = (x + layout.chunk_width).min(layout.width);
            for (i, out) in line[x..end].iter_mut().enumerate() {
                *out = 255 * (packed[i / 8] >> (7 - i % 8) & 1);
            }
            if end < layout.width {
                return Ok(());
            }
            rows.row(y, &line, threshold)
        })?;
        Ok(rows)
    }

    /// Hands each row of each strip or tile to `take`, from left to right and from top to bottom,
    /// with its row and first column in the image, by planes.
    fn each_row(
        &mut self,
        mut take: impl FnMut(&Layout, usize, usize, [&[u8]; 4]) -> Result<()>,
    ) -> Result<()> {
        let (across, planes) = (self.layout.across, self.layout.planes());
        let chunk_height = self.layout.chunk_height;
        let mut band: Vec<Vec<u64>> = vec![Vec::new(); across * planes];
        // Bytes of a row of each.
        let mut strides = vec![0; across * planes];
        for (down, top) in (0..self.layout.height).step_by(chunk_height).enumerate() {
            let rows = chunk_height.min(self.layout.height - top);
            for plane in 0..planes {
                for column in 0..across {
                    let chunk = plane * self.layout.per_plane + down * across + column;
                    let place = plane * across + column;
                    strides[place] = self.unpack(chunk, rows, &mut band[place])?;
                }
            }
            for y in 0..rows {
                for column in 0..across {
                    let row = std::array::from_fn(|plane| {
                        // Planes that there are not repeat the last.
                        let place = plane.min(planes - 1) * across + column;
                        let bytes: &[u8] = bytemuck::cast_slice(&band[place]);
                        &bytes[y * strides[place]..(y + 1) * strides[place]]
                    });
                    let x = column * self.layout.chunk_width;
                    take(&self.layout, top + y, x, row)?;
                }
            }
        }
        Ok(())
    }

    /// Unpacks the first `rows` rows of a strip or tile, padded to whole words; gives the bytes
    /// of a row.
    fn unpack(&mut self, chunk: usize, rows: usize, into: &mut Vec<u64>) -> Result<usize> {
        let origin = self.origin;
        let layout = &self.layout;
        let name = if layout.tiled { "tile" } else { "strip" };
        let (offset, count) = (layout.offsets[chunk], layout.counts[chunk]);
        let plain = layout.packing.compression == CompressionMethod::None;
        let most = match layout.packing.most_per_byte() {
            Some(ratio) => ratio.saturating_mul(if plain { origin.len } else { count }),
            None => return self.unpack_by_crate(chunk, rows, into),
        };
        let needed = layout.chunk_bytes(rows).unwrap_or(usize::MAX);
        let most_rows = match layout.tiled {
            true => layout.chunk_height,
            false => layout.chunk_height.min(layout.height),
        };
        // A JPEG is unpacked as a whole.
        let claimed = match layout.packing.compression == CompressionMethod::ModernJPEG {
            true => layout.chunk_bytes(most_rows).unwrap_or(usize::MAX),
            false => needed,
        };
        if count == 0 && !plain {
            return Err(origin.unreadable(format_args!(
                "{name} {chunk} has no data, as in a sparse file: save it with all its {name}s"
            )));
        }
        let end = offset.saturating_add(if plain { needed as u64 } else { count });
        if end > origin.len {
            return Err(origin.unreadable(format_args!(
                "the file is truncated: {name} {chunk} ends at byte {end} of {}",
                origin.len
            )));
        }
        let unpackable = |what: &dyn std::fmt::Display| {
            origin.unreadable(format_args!(
                "the file is whole but its pixels cannot be unpacked ({name} {chunk}: {what}): \
                 damaged, or its compression is not supported: save it with another"
            ))
        };
        if claimed as u64 > most {
            return Err(unpackable(&format_args!(
                "{count} bytes cannot hold the {claimed} it claims"
            )));
        }
        // What lies behind the pixels is not needed, however much the file says it is.
        let len = match plain {
            true => needed as u64,
            false => count.min((needed as u64).saturating_mul(4).saturating_add(1 << 16)),
        };
        let mut data: Vec<u8> = zeroed_vec(len as usize, "the packed samples")?;
        let bytes = self.decoder.inner();
        let read = bytes.seek(SeekFrom::Start(offset));
        read.and_then(|_| bytes.read_exact(&mut data))
            .map_err(|error| origin.io(error))?;
        let extent = Extent {
            width: layout.chunk_width,
            rows,
            most_rows,
        };
        if into.len() != needed.div_ceil(8) {
            *into = zeroed_vec(needed.div_ceil(8), "the decoded samples")?;
        }
        let out = &mut bytemuck::cast_slice_mut(into)[..needed];
        let unpacked = layout.packing.unpack(&mut data, extent, out);
        unpacked.map_err(|what| unpackable(&what))?;
        if layout.white_is_zero {
            invert(layout.kind, into);
        }
        Ok(needed / rows)
    }

    /// The same through the crate, for what only it unpacks.
    fn unpack_by_crate(&mut self, chunk: usize, rows: usize, into: &mut Vec<u64>) -> Result<usize> {
        let origin = self.origin;
        if self.layout.separate && self.layout.tiled {
            return Err(origin.unreadable(format_args!(
                "separate planes in tiles with the compression {:?} are not read: save it with \
                 LZW or deflate",
                self.layout.packing.compression
            )));
        }
        if self.layout.chunk_width > usize::from(u16::MAX) {
            return Err(origin.unreadable(format_args!(
                "rows of {} pixels with the compression {:?} are not read: {} is the most",
                self.layout.chunk_width,
                self.layout.packing.compression,
                u16::MAX
            )));
        }
        let chunk = chunk as u32;
        let BufferLayoutPreference {
            len, row_stride, ..
        } = self
            .decoder
            .image_chunk_buffer_layout(chunk)
            .map_err(|error| explain(origin, error))?;
        if into.len() != len.div_ceil(8) {
            *into = zeroed_vec(len.div_ceil(8), "the decoded samples")?;
        }
        let out = &mut bytemuck::cast_slice_mut(into)[..len];
        self.decoder
            .read_chunk_bytes(chunk, out)
            .map_err(|error| explain(origin, error))?;
        Ok(row_stride.map_or(len / rows, |stride| stride.get()))
    }
}

/// Turns samples whose zero is white around.
fn invert(kind: SampleKind, samples: &mut [u64]) {
    match kind {
        SampleKind::F32 => {
            let floats: &mut [f32] = bytemuck::cast_slice_mut(samples);
            floats.iter_mut().for_each(|value| *value = 1.0 - *value);
        }
        SampleKind::F64 => {
            let floats: &mut [f64] = bytemuck::cast_slice_mut(samples);
            floats.iter_mut().for_each(|value| *value = 1.0 - *value);
        }
        _ => samples.iter_mut().for_each(|word| *word = !*word),
    }
}

/// What the first page holds beside its pixels.
fn notes(decoder: &mut TiffDecoder<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut has = |tag| matches!(decoder.find_tag(tag), Ok(Some(_)));
    let crs = has(Tag::GeoKeyDirectoryTag);
    let transform = [
        Tag::ModelPixelScaleTag,
        Tag::ModelTiepointTag,
        Tag::ModelTransformationTag,
    ];
    let transform = transform.into_iter().any(has);
    if crs || transform {
        notes.push(Note::Georeference { crs, transform });
    }
    if let Ok(value) = decoder.get_tag_ascii_string(Tag::GdalNodata) {
        // It goes to terminals as it is.
        let value = value.trim_matches(['\0', ' ']).chars().take(40);
        notes.push(Note::NoData(value.filter(|c| !c.is_control()).collect()));
    }
    notes
}

/// How many pages there are after the first, smaller copies of pages aside. `None` for a file
/// that ends before its last directory.
fn more_pages(bytes: &mut (impl Read + Seek + ?Sized), len: u64) -> Option<u64> {
    let mut read = |at: u64, count: usize| {
        let mut field = [0; 8];
        bytes.seek(SeekFrom::Start(at)).ok()?;
        bytes.read_exact(&mut field[..count]).ok()?;
        Some(field)
    };
    let start = read(0, 8)?;
    let little = start.starts_with(b"II");
    let number = |field: [u8; 8], count: usize| match little {
        true => u64::from_le_bytes(field),
        false => u64::from_be_bytes(field) >> (64 - 8 * count),
    };
    let big = number([start[2], start[3], 0, 0, 0, 0, 0, 0], 2) == 43;
    let (count_size, entry_size, pointer_size) = if big { (8, 20, 8) } else { (2, 12, 4) };
    let mut at = number(read(pointer_size as u64, pointer_size)?, pointer_size);
    let mut seen = HashSet::new();
    // Directories that lie over each other would take long.
    let mut left = len;
    let mut pages = 0u64;
    while at != 0 && seen.insert(at) {
        let entries = number(read(at, count_size)?, count_size);
        let Some(rest) = left.checked_sub(entries.checked_mul(entry_size)?.checked_add(2)?) else {
            break;
        };
        left = rest;
        let first = at + count_size as u64;
        let mut is_copy = false;
        // Tags are in ascending order, and that of a page's kind is the lowest there is.
        if entries > 0 && number(read(first, 2)?, 2) == u64::from(Tag::NewSubfileType.to_u16()) {
            let value = number(read(first + entry_size - pointer_size as u64, 4)?, 4);
            is_copy = value & 1 == 1;
        }
        pages += u64::from(!is_copy);
        at = number(
            read(first + entries * entry_size, pointer_size)?,
            pointer_size,
        );
    }
    Some(pages.saturating_sub(1))
}

fn explain(origin: Origin<'_>, error: TiffError) -> Error {
    match error {
        TiffError::IoError(error) => origin.io(error),
        other => origin.unreadable(format_args!(
            "damaged, or not a TIFF file that can be read: {other}"
        )),
    }
}
