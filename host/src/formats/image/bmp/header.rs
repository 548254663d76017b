//! The headers of a BMP.

use super::{damaged, read_exact};
use crate::formats::image::png::pixels;
use crate::formats::source::{Origin, Source};
use crate::{Error, Result};

/// The bytes of the file before the header that tells its own size.
const FILE_HEADER: u64 = 14;
/// OS/2's first header, with sides of 16 bits.
const CORE: u32 = 12;
const INFO: u32 = 40;
/// Headers of at least this size have a mask for alpha.
const V3: u32 = 56;

/// The largest number of pixels per byte of a run-length encoded BMP.
const RUN_PIXELS: u64 = 128;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Compression {
    None,
    Runs8,
    Runs4,
    /// Uncompressed, with a mask for each colour.
    Masks,
}

#[derive(Debug)]
pub(super) struct Header {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) top_down: bool,
    /// Bits per pixel.
    pub(super) depth: u16,
    pub(super) compression: Compression,
    /// Where the pixels start.
    pub(super) pixels_at: u64,
    /// Where the palette starts, if there is one.
    pub(super) palette_at: u64,
    pub(super) palette_len: usize,
    /// Bytes per entry of the palette.
    pub(super) entry: usize,
    /// The masks of red, green, blue and alpha.
    pub(super) masks: [u32; 4],
}

/// Little-endian numbers at fixed places of a header.
struct Fields([u8; INFO as usize]);

impl Fields {
    fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn double(&self, at: usize) -> u32 {
        u32::from(self.word(at)) | u32::from(self.word(at + 2)) << 16
    }
}

impl Header {
    /// Reads the headers of a source that is at its start.
    pub(super) fn read(source: &mut Source<'_>) -> Result<Self> {
        let origin = source.origin;
        let start: [u8; 18] = read_exact(source)?;
        let number = |at: usize| {
            u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]])
        };
        let (pixels_at, size) = (number(10), number(14));
        let mut fields = Fields([0; INFO as usize]);
        match size {
            CORE => fields.0[4..12].copy_from_slice(&read_exact::<8>(source)?),
            INFO | 52 | V3 | 108 | 124 => {
                fields.0[4..].copy_from_slice(&read_exact::<36>(source)?);
            }
            _ => {
                let reason = format_args!("a header of {size} bytes is unknown");
                return Err(damaged(origin, reason));
            }
        }
        let mut header = Self {
            width: 0,
            height: 0,
            top_down: false,
            depth: 0,
            compression: Compression::None,
            pixels_at: pixels_at.into(),
            palette_at: FILE_HEADER + u64::from(size),
            palette_len: 0,
            entry: if size == CORE { 3 } else { 4 },
            masks: [0; 4],
        };
        let (planes, compression, colours_used) = if size == CORE {
            header.width = fields.word(4).into();
            header.height = fields.word(6).into();
            header.depth = fields.word(10);
            (fields.word(8), 0, 0)
        } else {
            let (width, height) = (fields.double(4) as i32, fields.double(8) as i32);
            if width < 0 {
                return Err(damaged(origin, format_args!("its width is {width}")));
            }
            header.width = width as u32;
            header.height = height.unsigned_abs();
            header.top_down = height < 0;
            header.depth = fields.word(14);
            (fields.word(12), fields.double(16), fields.double(32))
        };
        if header.width == 0 || header.height == 0 {
            return Err(Error::EmptyImage {
                width: header.width.into(),
                height: header.height.into(),
            });
        }
        if planes != 1 {
            return Err(damaged(origin, format_args!("it has {planes} planes")));
        }
        header.compression = header.compression(compression, size == CORE, origin)?;
        if header.compression == Compression::Masks {
            for mask in &mut header.masks[..3] {
                *mask = u32::from_le_bytes(read_exact(source)?);
            }
            if size >= V3 {
                header.masks[3] = u32::from_le_bytes(read_exact(source)?);
            }
        }
        if header.depth <= 8 {
            header.palette_len = palette_len(colours_used, header.depth, origin)?;
        }
        Ok(header)
    }

    /// The compression with this number, if it goes with the pixels' depth.
    fn compression(&self, number: u32, core: bool, origin: Origin<'_>) -> Result<Compression> {
        let depth = self.depth;
        let compression = match (number, depth) {
            (0, 1 | 4 | 8 | 24) => Compression::None,
            (0, 2 | 16 | 32) if !core => Compression::None,
            (1, 8) => Compression::Runs8,
            (2, 4) => Compression::Runs4,
            (3, 16 | 32) => Compression::Masks,
            (0..=3, _) => {
                let reason =
                    format_args!("compression {number} does not go with {depth} bits per pixel");
                return Err(damaged(origin, reason));
            }
            _ => {
                let name = match number {
                    4 => "JPEG",
                    5 => "PNG",
                    11..=13 => "CMYK",
                    _ => "unknown",
                };
                let reason = format_args!("its compression is {number} ({name})");
                return Err(damaged(origin, reason));
            }
        };
        let runs = matches!(compression, Compression::Runs8 | Compression::Runs4);
        if runs && self.top_down {
            let reason = "rows of runs are stored from bottom to top, and it claims the opposite";
            return Err(damaged(origin, reason));
        }
        Ok(compression)
    }

    /// The bytes of an uncompressed row: a multiple of 4.
    pub(super) fn row_bytes(&self) -> u64 {
        (u64::from(self.width) * u64::from(self.depth)).div_ceil(32) * 4
    }

    /// Refuses a file that is too small for the pixels that it claims.
    pub(super) fn check_claim(&self, origin: Origin<'_>) -> Result<()> {
        let (width, height) = (self.width, self.height);
        if matches!(self.compression, Compression::None | Compression::Masks) {
            let bytes = self.row_bytes().saturating_mul(height.into());
            return origin.holds(bytes, 1, width, height);
        }
        // Two bytes for at most 255 pixels.
        let most = origin.len.saturating_mul(RUN_PIXELS);
        if pixels(width, height) > most {
            return Err(origin.truncated(format_args!(
                "its runs cannot hold the {width} × {height} pixels it claims: {} bytes make \
                 {most} at most; if it skips the others, save it without compression",
                origin.len
            )));
        }
        Ok(())
    }
}

/// The number of the palette's entries that are stored.
fn palette_len(used: u32, depth: u16, origin: Origin<'_>) -> Result<usize> {
    let most = 1 << depth;
    match used {
        0 => Ok(most as usize),
        used if used <= most => Ok(used as usize),
        used => Err(damaged(
            origin,
            format_args!("a palette of {used} entries for {depth} bits per pixel"),
        )),
    }
}
