//! A piece of a strip or tile: read, unpacked and taken by one thread.

use std::fmt::Display;

use tiff::decoder::BufferLayoutPreference;
use tiff::tags::CompressionMethod;

use super::layout::{Layout, Stripe, TiffDecoder, explain};
use super::unpack::{Extent, Tools};
use crate::error::{Error, Result};
use crate::formats::image::sample::{SampleKind, Stored};
use crate::formats::image::sink::Sink;
use crate::formats::source::{Origin, Store};
use crate::memory::zeroed_vec;

/// The place of a piece in the image.
#[derive(Clone, Copy)]
pub(super) struct PiecePlace {
    pub(super) stripe: Stripe,
    /// The column of tiles; 0 for strips.
    pub(super) column: usize,
}

/// A thread's buffers, kept from piece to piece.
#[derive(Default)]
pub(super) struct Workplace {
    tools: Tools,
    packed: Vec<u8>,
    /// The samples of each plane, in words so that they are aligned.
    samples: [Vec<u64>; 4],
    /// The bytes per row of each plane.
    strides: [usize; 4],
    /// A row of samples with its channels reduced to one, in words.
    line: Vec<u64>,
}

impl Workplace {
    /// Reads and unpacks a piece, and returns the number of bytes that were read.
    pub(super) fn fetch(
        &mut self,
        store: &Store,
        layout: &Layout,
        origin: Origin<'_>,
        place: PiecePlace,
    ) -> Result<u64> {
        let mut bytes = 0;
        for plane in 0..layout.planes() {
            bytes += self.fetch_plane(store, layout, origin, place, plane)?;
        }
        Ok(bytes)
    }

    fn fetch_plane(
        &mut self,
        store: &Store,
        layout: &Layout,
        origin: Origin<'_>,
        place: PiecePlace,
        plane: usize,
    ) -> Result<u64> {
        let Stripe { top, rows } = place.stripe;
        let (down, within) = (top / layout.chunk_height, top % layout.chunk_height);
        let chunk = plane * layout.per_plane + down * layout.across + place.column;
        let name = if layout.tiled { "tile" } else { "strip" };
        let (offset, count) = (layout.offsets[chunk], layout.counts[chunk]);
        let plain = layout.packing.compression == CompressionMethod::None;
        let ratio = layout.packing.max_per_byte().unwrap_or(1);
        let most = ratio.saturating_mul(if plain { origin.len } else { count });
        // The rows of the whole strip or tile that are in the image.
        let chunk_rows = layout.chunk_height.min(layout.height - (top - within));
        let bytes_of = |rows| layout.chunk_bytes(rows).unwrap_or(usize::MAX);
        let (whole, needed) = (bytes_of(chunk_rows), bytes_of(rows));
        let max_rows = match layout.tiled {
            true => layout.chunk_height,
            false => layout.chunk_height.min(layout.height),
        };
        // A JPEG is unpacked as a whole.
        let claimed = match layout.packing.compression == CompressionMethod::ModernJPEG {
            true => bytes_of(max_rows),
            false => whole,
        };
        if count == 0 && !plain {
            return Err(origin.unreadable(format_args!(
                "{name} {chunk} has no data, as in a sparse file: save it with all its {name}s"
            )));
        }
        let end = offset.saturating_add(if plain { whole as u64 } else { count });
        if end > origin.len {
            return Err(origin.truncated(format_args!(
                "the file is truncated: {name} {chunk} ends at byte {end} of {}",
                origin.len
            )));
        }
        let unpackable = |what: &dyn Display| {
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
        let extent = Extent {
            width: layout.chunk_width,
            rows,
            max_rows,
        };
        let io = |error| origin.io(error);
        let samples = &mut self.samples[plane];
        grow(samples, needed.div_ceil(8), "the decoded samples")?;
        let out = &mut bytemuck::cast_slice_mut(&mut samples[..])[..needed];
        let read = if plain {
            // planted: tiff-strip-start
            let start = offset + bytes_of(within) as u64;
            store.read_exact_at(start, out).map_err(io)?;
            layout.packing.unpack_in_place(&mut self.tools, extent, out);
            needed as u64
        } else {
            // The file may claim more data than the pixels need; no more is read.
            let len = count.min((needed as u64).saturating_mul(4).saturating_add(1 << 16));
            grow(&mut self.packed, len as usize, "the packed samples")?;
            let data = &mut self.packed[..len as usize];
            store.read_exact_at(offset, data).map_err(io)?;
            let unpacked = layout.packing.unpack(&mut self.tools, data, extent, out);
            unpacked.map_err(|what| unpackable(&what))?;
            len
        };
        if layout.white_is_zero {
            invert(layout.kind, &mut samples[..needed.div_ceil(8)]);
        }
        self.strides[plane] = needed / rows;
        Ok(read)
    }

    /// Unpacks a piece with the crate `tiff`, for compressions that only that crate supports.
    pub(super) fn fetch_by_crate(
        &mut self,
        decoder: &mut TiffDecoder,
        layout: &Layout,
        origin: Origin<'_>,
        place: PiecePlace,
    ) -> Result<()> {
        if layout.separate && layout.tiled {
            return Err(origin.unsupported(format_args!(
                "separate planes in tiles with the compression {:?} are not read: save it with \
                 LZW or deflate",
                layout.packing.compression
            )));
        }
        if layout.chunk_width > usize::from(u16::MAX) {
            return Err(origin.unsupported(format_args!(
                "rows of {} pixels with the compression {:?} are not read: {} is the most",
                layout.chunk_width,
                layout.packing.compression,
                u16::MAX
            )));
        }
        let explain = |error| explain(origin, error);
        let Stripe { top, rows } = place.stripe;
        for plane in 0..layout.planes() {
            let down = top / layout.chunk_height;
            let chunk = (plane * layout.per_plane + down * layout.across + place.column) as u32;
            let buffer = decoder.image_chunk_buffer_layout(chunk);
            let BufferLayoutPreference {
                len, row_stride, ..
            } = buffer.map_err(explain)?;
            let samples = &mut self.samples[plane];
            grow(samples, len.div_ceil(8), "the decoded samples")?;
            let out = &mut bytemuck::cast_slice_mut(&mut samples[..])[..len];
            decoder.read_chunk_bytes(chunk, out).map_err(explain)?;
            self.strides[plane] = row_stride.map_or(len / rows, |stride| stride.get());
        }
        Ok(())
    }

    /// Passes the samples of the piece that was fetched to `piece`, a sink like `model`.
    pub(super) fn pass<S: Sink>(
        &mut self,
        layout: &Layout,
        place: PiecePlace,
        threshold: f64,
        model: &S,
        piece: &mut Option<S>,
    ) -> Result<()> {
        let x = place.column * layout.chunk_width;
        let width = layout.chunk_width.min(layout.width - x) as u32;
        let Stripe { top, rows } = place.stripe;
        let (top, rows) = (top as u32, rows as u32);
        let piece = match piece {
            Some(old) if (old.width(), old.rows()) == (width as usize, rows as usize) => {
                old.start_again(top);
                old
            }
            other => other.insert(model.piece(width, top, rows)?),
        };
        let taken = match layout.kind {
            SampleKind::Bit => {
                let threshold = u8::at_most(255.0 * threshold);
                let packed: &[u8] = bytemuck::cast_slice(&self.samples[0]);
                for y in 0..piece.rows() {
                    let row = &packed[y * self.strides[0]..][..(width as usize).div_ceil(8)];
                    piece.packed_row(y, row, true, threshold);
                }
                Ok(())
            }
            SampleKind::U8 => self.take(layout, piece, u8::at_most(threshold), Layout::shade),
            SampleKind::U16 => self.take(layout, piece, u16::at_most(threshold), Layout::shade),
            SampleKind::U32 => self.take(layout, piece, u32::at_most(threshold), first),
            SampleKind::I64 => self.take(layout, piece, i64::at_most(threshold), first),
            SampleKind::I16 => self.take(layout, piece, i16::at_most(threshold), first),
            SampleKind::I32 => self.take(layout, piece, i32::at_most(threshold), first),
            SampleKind::F32 => self.take(layout, piece, f32::at_most(threshold), first),
            SampleKind::F64 => self.take(layout, piece, f64::at_most(threshold), first),
        };
        taken.map_err(|error| match error {
            Error::NotANumber { x: at, y } => Error::NotANumber {
                x: x as u32 + at,
                y,
            },
            other => other,
        })
    }

    /// Passes the rows to `piece`, with the channels of a pixel reduced by `reduce`.
    fn take<T: Stored>(
        &mut self,
        layout: &Layout,
        piece: &mut impl Sink,
        threshold: T,
        reduce: impl Fn(&Layout, &dyn Fn(usize) -> T) -> T,
    ) -> Result<()> {
        let (width, step) = (piece.width(), layout.packing.samples);
        let bytes = width * size_of::<T>();
        grow(&mut self.line, bytes.div_ceil(8), "a row of samples")?;
        let line: &mut [T] = &mut bytemuck::cast_slice_mut(&mut self.line)[..width];
        for y in 0..piece.rows() {
            let row_of = |plane: usize| -> &[T] {
                let stride = self.strides[plane];
                let row = &bytemuck::cast_slice::<u64, u8>(&self.samples[plane])[y * stride..];
                bytemuck::cast_slice(&row[..stride])
            };
            if layout.channels == 1 && step == 1 {
                piece.row(y, &row_of(0)[..width], threshold)?;
                continue;
            }
            // Missing planes repeat the last one.
            let planes: [&[T]; 4] =
                std::array::from_fn(|plane| row_of(plane.min(layout.planes() - 1)));
            for (i, out) in line.iter_mut().enumerate() {
                *out = match (layout.channels, layout.separate) {
                    (1, _) => planes[0][i * step],
                    (_, true) => reduce(layout, &|c| planes[c][i]),
                    (_, false) => reduce(layout, &|c| planes[0][i * step + c]),
                };
            }
            piece.row(y, line, threshold)?;
        }
        Ok(())
    }
}

/// The only channel, for sample types without colours.
fn first<T: Stored>(_: &Layout, channel: &dyn Fn(usize) -> T) -> T {
    channel(0)
}

/// Makes a buffer at least `len` long; its content is lost.
fn grow<T: bytemuck::Zeroable>(buffer: &mut Vec<T>, len: usize, what: &'static str) -> Result<()> {
    if buffer.len() < len {
        // Drop the old one first, so that memory does not hold both.
        *buffer = Vec::new();
        *buffer = zeroed_vec(len, what)?;
    }
    Ok(())
}

/// Inverts samples whose zero is white.
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
