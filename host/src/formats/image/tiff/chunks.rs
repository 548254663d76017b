//! The strips or tiles of a TIFF.

use std::io::{Read, Seek, SeekFrom};

use tiff::decoder::BufferLayoutPreference;
use tiff::tags::CompressionMethod;

use super::layout::{Layout, TiffDecoder, explain};
use super::unpack::Extent;
use crate::Result;
use crate::formats::image::sample::{SampleKind, Stored};
use crate::formats::image::threshold::Thresholder;
use crate::formats::source::Origin;
use crate::memory::zeroed_vec;

/// The strips or tiles of a file, unpacked one row of them at a time.
pub(super) struct Chunks<'a> {
    pub(super) origin: Origin<'a>,
    pub(super) decoder: TiffDecoder<'a>,
    pub(super) layout: Layout,
}

impl Chunks<'_> {
    /// Thresholds all rows, with the channels of a pixel reduced by `reduce`.
    pub(super) fn take<T: Stored>(
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

    /// Thresholds all rows of one-bit samples.
    pub(super) fn take_bits(
        &mut self,
        mut rows: Thresholder,
        threshold: u8,
    ) -> Result<Thresholder> {
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

    /// Calls `take(layout, y, x, planes)` for each row of each strip or tile, from left to right
    /// and from top to bottom. The row starts at pixel `(x, y)`; `planes` holds its bytes in each
    /// plane.
    fn each_row(
        &mut self,
        mut take: impl FnMut(&Layout, usize, usize, [&[u8]; 4]) -> Result<()>,
    ) -> Result<()> {
        let (across, planes) = (self.layout.across, self.layout.planes());
        let chunk_height = self.layout.chunk_height;
        let mut band: Vec<Vec<u64>> = vec![Vec::new(); across * planes];
        // The bytes per row of each.
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
                        // Missing planes repeat the last one.
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

    /// Unpacks the first `rows` rows of a strip or tile into `into`, padded to whole words, and
    /// returns the bytes per row.
    fn unpack(&mut self, chunk: usize, rows: usize, into: &mut Vec<u64>) -> Result<usize> {
        let origin = self.origin;
        let layout = &self.layout;
        let name = if layout.tiled { "tile" } else { "strip" };
        let (offset, count) = (layout.offsets[chunk], layout.counts[chunk]);
        let plain = layout.packing.compression == CompressionMethod::None;
        let most = match layout.packing.max_per_byte() {
            Some(ratio) => ratio.saturating_mul(if plain { origin.len } else { count }),
            None => return self.unpack_by_crate(chunk, rows, into),
        };
        let needed = layout.chunk_bytes(rows).unwrap_or(usize::MAX);
        let max_rows = match layout.tiled {
            true => layout.chunk_height,
            false => layout.chunk_height.min(layout.height),
        };
        // A JPEG is unpacked as a whole.
        let claimed = match layout.packing.compression == CompressionMethod::ModernJPEG {
            true => layout.chunk_bytes(max_rows).unwrap_or(usize::MAX),
            false => needed,
        };
        if count == 0 && !plain {
            return Err(origin.unreadable(format_args!(
                "{name} {chunk} has no data, as in a sparse file: save it with all its {name}s"
            )));
        }
        let end = offset.saturating_add(if plain { needed as u64 } else { count });
        if end > origin.len {
            return Err(origin.truncated(format_args!(
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
        // The file may claim more data than the pixels need; no more is read.
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
            max_rows,
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

    /// The same by the crate `tiff`, for compressions that only it unpacks.
    fn unpack_by_crate(&mut self, chunk: usize, rows: usize, into: &mut Vec<u64>) -> Result<usize> {
        let origin = self.origin;
        if self.layout.separate && self.layout.tiled {
            return Err(origin.unsupported(format_args!(
                "separate planes in tiles with the compression {:?} are not read: save it with \
                 LZW or deflate",
                self.layout.packing.compression
            )));
        }
        if self.layout.chunk_width > usize::from(u16::MAX) {
            return Err(origin.unsupported(format_args!(
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
