//! Reading Netpbm's formats: PBM, PGM and PPM, as text or binary, and PAM.

mod header;
mod raster;
#[cfg(test)]
mod tests;

use self::header::{Encoding, Header};
use self::raster::Raster;
use super::content::ReadImage;
use super::luminance::reduced;
use super::options::ReadOptions;
use super::sample::{SampleKind, Stored};
use super::threshold::Thresholder;
use crate::formats::source::{Origin, Source};
use crate::memory::zeroed_vec;
use crate::{Error, Result};

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    let origin = source.origin;
    let header = Header::read(source)?;
    let threshold = header.kind.threshold(options.threshold)?;
    let (width, height) = (header.width, header.height);
    origin.holds(header.least_bytes(), 1, width, height)?;
    let rows = Thresholder::new(width.into(), height.into(), options.keep_grey)?;
    let rows = match header.kind {
        // White is decoded as 255.
        SampleKind::Bit => samples(source, &header, rows, u8::at_most(threshold * 255.0)),
        SampleKind::U16 => samples(source, &header, rows, u16::at_most(threshold)),
        _ => samples(source, &header, rows, u8::at_most(threshold)),
    }?;
    Ok(ReadImage::new(rows, header.kind, threshold, options))
}

/// Reads and thresholds all rows.
fn samples<T: Sample>(
    source: &mut Source<'_>,
    header: &Header,
    mut rows: Thresholder,
    threshold: T,
) -> Result<Thresholder> {
    let (width, channels) = (header.width as usize, header.channels);
    let what = "a row of samples";
    let mut row: Vec<T> = zeroed_vec(width.saturating_mul(channels), what)?;
    let mut grey: Vec<T> = zeroed_vec(if channels == 1 { 0 } else { width }, what)?;
    let mut raster = Raster::new(source, header)?;
    let most = f32::from(T::MOST);
    for y in 0..header.height as usize {
        match header.encoding {
            Encoding::TextBits => raster.text_bits(&mut row)?,
            Encoding::TextNumbers => raster.text_numbers(&mut row)?,
            Encoding::PackedBits => raster.packed_bits(&mut row)?,
            Encoding::Samples => raster.samples(&mut row, header)?,
        }
        if header.maximum != T::MOST {
            // Samples above the maximum become white.
            let factor = most / f32::from(header.maximum);
            for sample in &mut row {
                let value: f32 = (*sample).into();
                *sample = T::rounded(value * factor);
            }
        }
        rows.row(y, reduced(&row, channels, &mut grey), threshold)?;
    }
    Ok(rows)
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
