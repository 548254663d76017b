//! Reading Netpbm's formats: PBM, PGM and PPM, as text or binary, and PAM.

mod header;
mod raster;
#[cfg(test)]
mod tests;

use self::header::{Encoding, Header};
use self::raster::Raster;
use super::georeference::Georeferenced;
use super::luminance::reduced;
use super::opened::{Opened, Rows};
use super::options::ReadOptions;
use super::raster::COLOURS;
use super::sample::{SampleKind, Stored};
use super::sink::Sink;
use crate::formats::source::{Bytes, Origin, Source};
use crate::image::check_size;
use crate::memory::zeroed_vec;
use crate::{Error, Result};

pub(super) fn open<S: Sink>(mut source: Source<'_>, options: &ReadOptions) -> Result<Opened<S>> {
    let origin = source.origin;
    let header = Header::read(&mut source)?;
    let kind = header.kind;
    if S::VALUES && header.channels > 1 {
        return Err(origin.unsupported(COLOURS));
    }
    let threshold = kind.threshold(options.threshold)?;
    let (width, height) = (header.width, header.height);
    origin.holds(header.least_bytes(), 1, width, height)?;
    check_size(width.into(), height.into())?;
    let row_bytes = u64::from(width).saturating_mul(4 * header.channels as u64);
    let bytes = source.bytes;
    Ok(Opened {
        width,
        height,
        kind,
        threshold,
        notes: Vec::new(),
        whole_only: None,
        decoding_bytes: row_bytes + (1 << 20),
        no_data: None,
        georeference: Georeferenced::none(),
        rows: match kind {
            // White is decoded as 255.
            SampleKind::Bit => {
                Box::new(Picture::new(bytes, header, u8::at_most(threshold * 255.0))?)
            }
            SampleKind::U16 => Box::new(Picture::new(bytes, header, u16::at_most(threshold))?),
            _ => Box::new(Picture::new(bytes, header, u8::at_most(threshold))?),
        },
    })
}

/// A file after its header.
struct Picture<T> {
    raster: Raster,
    header: Header,
    row: Vec<T>,
    /// A row's luminance, if pixels have several channels.
    grey: Vec<T>,
    threshold: T,
}

impl<T: Sample> Picture<T> {
    fn new(bytes: Bytes, header: Header, threshold: T) -> Result<Self> {
        let (width, channels) = (header.width as usize, header.channels);
        let what = "a row of samples";
        Ok(Self {
            raster: Raster::new(bytes, &header)?,
            row: zeroed_vec(width.saturating_mul(channels), what)?,
            grey: zeroed_vec(if channels == 1 { 0 } else { width }, what)?,
            header,
            threshold,
        })
    }
}

impl<S: Sink> Rows<S> for Picture<u8> {
    fn read(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()> {
        if self.header.encoding != Encoding::PackedBits {
            return self.samples(origin, into);
        }
        for y in 0..into.rows() {
            let packed = self.raster.row(origin)?;
            into.packed_row(y, packed, false, self.threshold);
        }
        Ok(())
    }
}

impl<S: Sink> Rows<S> for Picture<u16> {
    fn read(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()> {
        self.samples(origin, into)
    }
}

impl<T: Sample> Picture<T> {
    /// Reads and thresholds rows of samples.
    fn samples<S: Sink>(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()> {
        let (row, header) = (&mut self.row, &self.header);
        let most = f32::from(T::MOST);
        for y in 0..into.rows() {
            match header.encoding {
                Encoding::TextBits => self.raster.text_bits(origin, row)?,
                Encoding::TextNumbers => self.raster.text_numbers(origin, row)?,
                Encoding::PackedBits | Encoding::Samples => {
                    self.raster.samples(origin, row, header)?;
                }
            }
            if S::VALUES {
                if header.kind == SampleKind::Bit {
                    for sample in row.iter_mut() {
                        *sample = T::rounded(u8::from(*sample > T::zeroed()).into());
                    }
                }
            } else if header.maximum != T::MOST {
                // Samples above the maximum become white.
                let factor = most / f32::from(header.maximum);
                for sample in row.iter_mut() {
                    let value: f32 = (*sample).into();
                    *sample = T::rounded(value * factor);
                }
            }
            let shades = reduced(row, header.channels, &mut self.grey);
            into.row(y, shades, self.threshold)?;
        }
        Ok(())
    }
}

/// A type of decoded samples.
trait Sample: Stored + Into<u64> + TryFrom<u64> + TryFrom<u16> + Into<f32> {
    /// White.
    const MOST: u16;
    /// The nearest sample.
    fn rounded(value: f32) -> Self;
    /// The sample with these bytes, the highest first.
    fn of_bytes(bytes: &[u8]) -> Self;
}

impl Sample for u8 {
    const MOST: u16 = 255;
    fn rounded(value: f32) -> Self {
        value.round() as Self
    }
    fn of_bytes(bytes: &[u8]) -> Self {
        bytes[0]
    }
}

impl Sample for u16 {
    const MOST: u16 = 65535;
    fn rounded(value: f32) -> Self {
        value.round() as Self
    }
    fn of_bytes(bytes: &[u8]) -> Self {
        Self::from_be_bytes([bytes[0], bytes[1]])
    }
}

fn damaged(origin: Origin<'_>, reason: impl std::fmt::Display) -> Error {
    origin.unreadable(format_args!(
        "damaged, or not a PBM/PGM/PPM/PAM file that can be read: {reason}"
    ))
}
