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
use super::georeference::Georeferenced;
use super::opened::{Opened, Rows};
use super::options::ReadOptions;
use super::sample::{SampleKind, Stored};
use super::sink::Sink;
use crate::formats::source::{Bytes, Origin, Source};
use crate::image::check_size;
use crate::memory::zeroed_vec;
use crate::{Error, Result};

pub(super) fn open<S: Sink>(mut source: Source<'_>, options: &ReadOptions) -> Result<Opened<S>> {
    let origin = source.origin;
    if S::VALUES {
        return Err(origin.unsupported(
            "BMP images hold colours, not values: give a TIFF, PNG, PGM or .npy file",
        ));
    }
    let header = Header::read(&mut source)?;
    let (width, height) = (header.width, header.height);
    header.check_claim(origin)?;
    let decoder = Decoder::of(&header, &mut source)?;
    let kind = match decoder {
        Decoder::Palette { two_shades, .. } if two_shades => SampleKind::Bit,
        _ => SampleKind::U8,
    };
    let threshold = kind.threshold(options.threshold)?;
    // White of a 1-bit picture is decoded as 255.
    let white = if kind == SampleKind::Bit { 255.0 } else { 1.0 };
    check_size(width.into(), height.into())?;
    let runs = matches!(header.compression, Compression::Runs4 | Compression::Runs8);
    let stored = if runs { 0 } else { header.row_bytes() };
    let picture = Picture {
        bytes: source.bytes,
        stored: zeroed_vec(
            usize::try_from(stored).unwrap_or(usize::MAX),
            "a row of the file",
        )?,
        grey: zeroed_vec(width as usize, "a row of samples")?,
        threshold: u8::at_most(threshold * white),
        header,
        decoder,
    };
    Ok(Opened {
        width,
        height,
        kind,
        threshold,
        notes: Vec::new(),
        whole_only: runs.then_some("its rows are run-length encoded, from bottom to top"),
        decoding_bytes: stored + u64::from(width),
        no_data: None,
        georeference: Georeferenced::none(),
        rows: Box::new(picture),
    })
}

/// A file whose header and palette are read.
struct Picture {
    bytes: Bytes,
    header: Header,
    decoder: Decoder,
    /// A row as it is stored; nothing if rows are run-length encoded.
    stored: Vec<u8>,
    grey: Vec<u8>,
    threshold: u8,
}

impl<S: Sink> Rows<S> for Picture {
    fn read(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()> {
        let header = &self.header;
        let (rows, height) = (into.rows(), header.height as usize);
        // The n-th stored row of the band is row n from its top, or from its bottom.
        let row_of = |n: usize| if header.top_down { n } else { rows - 1 - n };
        let first = match header.top_down {
            true => into.first_row(),
            false => height - into.first_row() - rows,
        };
        let place = header.pixels_at + first as u64 * self.stored.len() as u64;
        let start = self.bytes.seek(SeekFrom::Start(place));
        start.map_err(|error| origin.io(error))?;
        if let (Decoder::Palette { shades, .. }, []) = (&self.decoder, &self.stored[..]) {
            return runs::read(
                &mut self.bytes,
                origin,
                header,
                shades,
                &mut self.grey,
                |n, grey| into.row(row_of(n as usize), grey, self.threshold),
            );
        }
        for n in 0..rows {
            let read = self.bytes.read_exact(&mut self.stored);
            read.map_err(|error| origin.io(error))?;
            self.decoder.row(&self.stored, &mut self.grey);
            into.row(row_of(n), &self.grey, self.threshold)?;
        }
        Ok(())
    }
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
