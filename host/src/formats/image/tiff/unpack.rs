//! Unpacking a strip or tile of a TIFF.
//!
//! The crate `tiff` (0.11.3) unpacks them too, but fails on tiles that reach beyond the image: it
//! panics if colours are in separate planes, and stops inside the padding of LZW tiles. Here a
//! whole strip or tile is unpacked, with its padding, and then clipped to the image.

use flate2::{Decompress, FlushDecompress, Status};
use tiff::tags::{CompressionMethod, Predictor};
use weezl::LzwStatus;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

/// How the samples of a strip or tile are packed.
pub(super) struct Packing {
    pub(super) compression: CompressionMethod,
    pub(super) predictor: Predictor,
    /// Whether the lowest bit of each byte comes first.
    pub(super) lowest_bit_first: bool,
    pub(super) big_endian: bool,
    /// Samples per pixel that are stored together.
    pub(super) samples: usize,
    /// Bits per sample: 1, 8, 16, 32 or 64.
    pub(super) bits: usize,
    /// The tables that all JPEG streams of the file share.
    pub(super) jpeg_tables: Option<Vec<u8>>,
}

/// Buffers and decoders for unpacking, kept from one strip or tile to the next.
pub(super) struct Tools {
    inflate: Decompress,
    lzw: weezl::decode::Decoder,
    /// A row of floats before their bytes are put together.
    row: Vec<u8>,
}

impl Default for Tools {
    fn default() -> Self {
        let lzw = weezl::decode::Configuration::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
        Self {
            inflate: Decompress::new(true),
            lzw: lzw.with_yield_on_full_buffer(true).build(),
            row: Vec::new(),
        }
    }
}

/// The rectangle of a strip or tile, of which `rows` rows are wanted.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) width: usize,
    pub(super) rows: usize,
    /// The most rows that its data may hold; a tile's padding is not wanted.
    pub(super) max_rows: usize,
}

impl Packing {
    /// The most bytes of samples per byte of the file; `None` for a compression that is not
    /// unpacked here.
    pub(super) fn max_per_byte(&self) -> Option<u64> {
        Some(match self.compression {
            CompressionMethod::None => 1,
            CompressionMethod::PackBits => 64,
            CompressionMethod::Deflate | CompressionMethod::OldDeflate => 1032,
            // The longest string has 3838 bytes, for a code of 12 bits.
            CompressionMethod::LZW => 2560,
            // One bit per block of 64 samples, and colours at a quarter of the resolution.
            CompressionMethod::ModernJPEG => 1024,
            _ => return None,
        })
    }

    /// The bytes of a row of `width` pixels.
    pub(super) fn row_bytes(&self, width: usize) -> Option<usize> {
        let bits = width.checked_mul(self.samples)?.checked_mul(self.bits)?;
        Some(bits.div_ceil(8))
    }

    /// Unpacks `data` to samples in this machine's byte order. `out` takes the wanted rows of
    /// `extent`. The error describes the damage.
    pub(super) fn unpack(
        &self,
        tools: &mut Tools,
        data: &mut [u8],
        extent: Extent,
        out: &mut [u8],
    ) -> Result<(), String> {
        if self.lowest_bit_first {
            reverse_bits(data);
        }
        let filled = match self.compression {
            CompressionMethod::None => copy(data, out),
            CompressionMethod::PackBits => unpack_bits(data, out),
            CompressionMethod::LZW => unpack_lzw(&mut tools.lzw, data, out)?,
            CompressionMethod::Deflate | CompressionMethod::OldDeflate => {
                unpack_deflate(&mut tools.inflate, data, out)?
            }
            CompressionMethod::ModernJPEG => self.unpack_jpeg(data, extent, out)?,
            other => return Err(format!("compression {other:?} is not supported")),
        };
        if filled < out.len() {
            return Err(format!(
                "its data end after {filled} of {} bytes",
                out.len()
            ));
        }
        self.restore(tools, extent, out);
        Ok(())
    }

    /// As [`unpack`](Self::unpack), for uncompressed rows that are already in place.
    pub(super) fn unpack_in_place(&self, tools: &mut Tools, extent: Extent, rows: &mut [u8]) {
        if self.lowest_bit_first {
            reverse_bits(rows);
        }
        self.restore(tools, extent, rows);
    }

    /// Restores the byte order and undoes the prediction in all rows.
    fn restore(&self, tools: &mut Tools, extent: Extent, out: &mut [u8]) {
        let in_order = self.big_endian == cfg!(target_endian = "big") || self.bits <= 8;
        if in_order && self.predictor == Predictor::None {
            return;
        }
        let row_bytes = self.row_bytes(extent.width).unwrap_or(out.len()).max(1);
        for row in out.chunks_exact_mut(row_bytes) {
            self.restore_row(row, &mut tools.row);
        }
    }

    fn restore_row(&self, row: &mut [u8], scratch: &mut Vec<u8>) {
        if self.predictor == Predictor::FloatingPoint {
            return add_up_floats(row, self.samples, self.bits / 8, scratch);
        }
        if self.big_endian != cfg!(target_endian = "big") && self.bits > 8 {
            for sample in row.chunks_exact_mut(self.bits / 8) {
                sample.reverse();
            }
        }
        if self.predictor == Predictor::Horizontal {
            match self.bits {
                16 => add_up(row, self.samples, |a, b| {
                    u16::from_ne_bytes(a)
                        .wrapping_add(u16::from_ne_bytes(b))
                        .to_ne_bytes()
                }),
                32 => add_up(row, self.samples, |a, b| {
                    u32::from_ne_bytes(a)
                        .wrapping_add(u32::from_ne_bytes(b))
                        .to_ne_bytes()
                }),
                64 => add_up(row, self.samples, |a, b| {
                    u64::from_ne_bytes(a)
                        .wrapping_add(u64::from_ne_bytes(b))
                        .to_ne_bytes()
                }),
                _ => add_up(row, self.samples, |[a]: [u8; 1], [b]| [a.wrapping_add(b)]),
            }
        }
    }

    fn unpack_jpeg(&self, data: &[u8], extent: Extent, out: &mut [u8]) -> Result<usize, String> {
        // The end marker of the tables and the start marker of the data are left out.
        let stream = match &self.jpeg_tables {
            Some(tables) => {
                let tables = tables.strip_suffix(&[0xff, 0xd9]).unwrap_or(tables);
                [tables, data.get(2..).unwrap_or_default()].concat()
            }
            None => data.to_vec(),
        };
        let damaged = |error| format!("JPEG: {error:?}");
        // The decoder allocates the size that the stream claims, so the size is limited.
        let options = DecoderOptions::default()
            .set_max_width(extent.width)
            .set_max_height(extent.max_rows)
            .set_strict_mode(true);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(stream), options);
        decoder.decode_headers().map_err(damaged)?;
        if let Some(as_stored) = decoder.input_colorspace() {
            decoder.set_options(options.jpeg_set_out_colorspace(as_stored));
        }
        let (width, rows) = decoder.dimensions().unwrap_or_default();
        let samples = decoder.output_buffer_size().unwrap_or(0);
        if width != extent.width || rows < extent.rows || samples != width * rows * self.samples {
            return Err(format!(
                "its JPEG is {width} × {rows} pixels of {} samples, and {} × {} of {} are due",
                samples / (width * rows).max(1),
                extent.width,
                extent.rows,
                self.samples
            ));
        }
        Ok(copy(&decoder.decode().map_err(damaged)?, out))
    }
}

fn reverse_bits(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = byte.reverse_bits();
    }
}

/// Copies as much of `data` as fits `out`, and returns the number of bytes.
fn copy(data: &[u8], out: &mut [u8]) -> usize {
    let len = data.len().min(out.len());
    out[..len].copy_from_slice(&data[..len]);
    len
}

/// Apple's PackBits: runs of equal bytes, and literal bytes. Returns the number of bytes unpacked.
fn unpack_bits(mut data: &[u8], out: &mut [u8]) -> usize {
    let mut filled = 0;
    while filled < out.len()
        && let Some((&head, rest)) = data.split_first()
    {
        data = rest;
        let free = &mut out[filled..];
        filled += match head {
            0..128 => {
                let literal = &data[..(usize::from(head) + 1).min(data.len())];
                data = &data[literal.len()..];
                copy(literal, free)
            }
            128 => 0,
            _ => {
                let Some((&value, rest)) = data.split_first() else {
                    break;
                };
                data = rest;
                let len = (257 - usize::from(head)).min(free.len());
                free[..len].fill(value);
                len
            }
        };
    }
    filled
}

/// LZW with the highest bit first. Returns the number of bytes unpacked. Data after the last pixel
/// are ignored: some writers leave out the end code, others add padding.
fn unpack_lzw(
    decoder: &mut weezl::decode::Decoder,
    data: &[u8],
    out: &mut [u8],
) -> Result<usize, String> {
    /// The number of calls without progress after which the decoder is stuck: more than the codes
    /// that it buffers.
    const MAX_IDLE: u32 = 16;
    decoder.reset();
    let (mut read, mut filled, mut idle) = (0, 0, 0);
    while filled < out.len() && idle < MAX_IDLE {
        let step = decoder.decode_bytes(&data[read..], &mut out[filled..]);
        read += step.consumed_in;
        filled += step.consumed_out;
        idle = match step.consumed_in + step.consumed_out {
            0 => idle + 1,
            _ => 0,
        };
        match step.status {
            Ok(LzwStatus::Ok) => {}
            Ok(LzwStatus::Done | LzwStatus::NoProgress) => break,
            Err(_) if filled == out.len() => break,
            Err(error) => return Err(format!("LZW: {error}")),
        }
    }
    Ok(filled)
}

fn unpack_deflate(decoder: &mut Decompress, data: &[u8], out: &mut [u8]) -> Result<usize, String> {
    decoder.reset(true);
    let (mut read, mut filled) = (0, 0);
    while filled < out.len() {
        let step = decoder.decompress(&data[read..], &mut out[filled..], FlushDecompress::None);
        let status = step.map_err(|_| "deflate: corrupt deflate stream")?;
        let before = (read, filled);
        (read, filled) = (decoder.total_in() as usize, decoder.total_out() as usize);
        // The data may end in the padding.
        if status == Status::StreamEnd || before == (read, filled) {
            break;
        }
    }
    Ok(filled)
}

/// Adds to each sample of `N` bytes the same sample of the pixel before.
fn add_up<const N: usize>(
    row: &mut [u8],
    samples: usize,
    add: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    let row = row.as_chunks_mut::<N>().0;
    for i in samples..row.len() {
        row[i] = add(row[i], row[i - samples]);
    }
}

/// Undoes the prediction of floats of `size` bytes. A row holds the highest bytes of all its
/// floats, then their next bytes, and so on, all as differences.
fn add_up_floats(row: &mut [u8], samples: usize, size: usize, bytes: &mut Vec<u8>) {
    add_up(row, samples, |[a]: [u8; 1], [b]| [a.wrapping_add(b)]);
    bytes.clear();
    bytes.extend_from_slice(row);
    let count = bytes.len() / size;
    for (i, float) in row.chunks_exact_mut(size).enumerate() {
        for (at, byte) in float.iter_mut().enumerate() {
            let place = match cfg!(target_endian = "big") {
                true => at,
                false => size - 1 - at,
            };
            *byte = bytes[place * count + i];
        }
    }
}
