//! Reading BMP.
//!
//! All headers from OS/2's first (12 bytes) to `BITMAPV5HEADER` (124 bytes) are read, with palettes
//! of 1, 2, 4 and 8 bits, 16, 24 and 32 bits per pixel, masks for the colours, and runs of 4-bit
//! and 8-bit indices. Each pixel is reduced to its luminance; alpha is ignored.

mod colors;
mod header;
mod runs;
#[cfg(test)]
mod tests;

use std::io::{Read, Seek, SeekFrom};

use self::colors::Decoder;
use self::header::{Compression, Header};
use super::content::ReadImage;
use super::options::ReadOptions;
use super::sample::{SampleKind, Stored};
use super::threshold::Thresholder;
use crate::formats::source::{Origin, Source};
use crate::memory::zeroed_vec;
use crate::{Error, Result};

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    let origin = source.origin;
    let header = Header::read(source)?;
    let (width, height) = (header.width, header.height);
    header.check_claim(origin)?;
    let decoder = Decoder::of(&header, source)?;
    let kind = match decoder {
        Decoder::Palette { two_shades, .. } if two_shades => SampleKind::Bit,
        _ => SampleKind::U8,
    };
    let threshold = kind.threshold(options.threshold)?;
    // White of a 1-bit picture is decoded as 255.
    let white = if kind == SampleKind::Bit { 255.0 } else { 1.0 };
    let at_most = u8::at_most(threshold * white);

    let mut rows = Thresholder::new(width.into(), height.into(), options.keep_grey)?;
    let start = source.bytes.seek(SeekFrom::Start(header.pixels_at));
    start.map_err(|error| origin.io(error))?;
    let mut grey: Vec<u8> = zeroed_vec(width as usize, "a row of samples")?;
    // The n-th row of the file is row n from the top, or from the bottom.
    let row_of = |n: u32| (if header.top_down { n } else { height - 1 - n }) as usize;
    match (header.compression, &decoder) {
        (Compression::Runs4 | Compression::Runs8, Decoder::Palette { shades, .. }) => {
            runs::read(source, &header, shades, &mut grey, |n, grey| {
                rows.row(row_of(n), grey, at_most)
            })?;
        }
        _ => {
            let bytes = usize::try_from(header.row_bytes()).unwrap_or(usize::MAX);
            let mut stored: Vec<u8> = zeroed_vec(bytes, "a row of the file")?;
            for n in 0..height {
                let read = source.bytes.read_exact(&mut stored);
                read.map_err(|error| origin.io(error))?;
                decoder.row(&stored, &mut grey);
                rows.row(row_of(n), &grey, at_most)?;
            }
        }
    }
    Ok(ReadImage::new(rows, kind, threshold, options))
}

/// Reads bytes that are not pixels.
fn read_exact<const N: usize>(source: &mut Source<'_>) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    source.read_header(&mut bytes)?;
    Ok(bytes)
}

fn damaged(origin: Origin<'_>, reason: impl std::fmt::Display) -> Error {
    origin.unreadable(format_args!(
        "damaged, or not a BMP file that can be read: {reason}"
    ))
}
