//! The samples of Netpbm's formats, row by row.

use std::io::{BufRead, Read};

use super::header::{Encoding, Header, is_space};
use super::{Sample, damaged};
use crate::Result;
use crate::formats::source::{Bytes, Origin};
use crate::memory::zeroed_vec;

/// A file after its header.
pub(super) struct Raster {
    bytes: Bytes,
    /// A row as it is stored in a binary file.
    stored: Vec<u8>,
}

impl Raster {
    pub(super) fn new(bytes: Bytes, header: &Header) -> Result<Self> {
        let samples = (header.width as usize).saturating_mul(header.channels);
        let stored = match header.encoding {
            Encoding::TextBits | Encoding::TextNumbers => 0,
            Encoding::PackedBits => samples.div_ceil(8),
            Encoding::Samples => samples.saturating_mul(header.sample_bytes()),
        };
        Ok(Self {
            bytes,
            stored: zeroed_vec(stored, "a row of the file")?,
        })
    }

    pub(super) fn text_bits<T: Sample>(&mut self, origin: Origin<'_>, row: &mut [T]) -> Result<()> {
        for sample in row {
            *sample = loop {
                match self.byte(origin)? {
                    Some(b'0') => break T::rounded(T::MOST.into()),
                    Some(b'1') => break T::zeroed(),
                    Some(space) if is_space(space) => {}
                    other => return Err(unexpected(origin, other)),
                }
            };
        }
        Ok(())
    }

    pub(super) fn text_numbers<T: Sample>(
        &mut self,
        origin: Origin<'_>,
        row: &mut [T],
    ) -> Result<()> {
        for sample in row {
            let mut value: Option<u16> = None;
            loop {
                match self.byte(origin)? {
                    Some(digit @ b'0'..=b'9') => {
                        let next = value.unwrap_or(0).checked_mul(10);
                        let next = next.and_then(|v| v.checked_add((digit - b'0').into()));
                        value = Some(next.ok_or_else(|| too_large::<T>(origin))?);
                    }
                    Some(space) if is_space(space) => {
                        if value.is_some() {
                            break;
                        }
                    }
                    None if value.is_some() => break,
                    other => return Err(unexpected(origin, other)),
                }
            }
            let value = value.unwrap_or(0);
            *sample = T::try_from(value).map_err(|_| too_large::<T>(origin))?;
        }
        Ok(())
    }

    pub(super) fn samples<T: Sample>(
        &mut self,
        origin: Origin<'_>,
        row: &mut [T],
        header: &Header,
    ) -> Result<()> {
        let stored = self.row(origin)?;
        let bytes = header.sample_bytes();
        for (sample, stored) in row.iter_mut().zip(stored.chunks_exact(bytes)) {
            *sample = T::of_bytes(stored);
        }
        if header.two_shades
            && let Some(other) = stored.iter().find(|&&sample| sample > 1)
        {
            let reason = format_args!("a sample is {other}, where only 0 and 1 may be");
            return Err(damaged(origin, reason));
        }
        Ok(())
    }

    /// Reads the next row of a binary file.
    pub(super) fn row(&mut self, origin: Origin<'_>) -> Result<&[u8]> {
        let read = self.bytes.read_exact(&mut self.stored);
        read.map_err(|error| origin.io(error))?;
        Ok(&self.stored)
    }

    /// The next byte; `None` at the end of the file.
    fn byte(&mut self, origin: Origin<'_>) -> Result<Option<u8>> {
        let buffer = self.bytes.fill_buf();
        let first = buffer.map_err(|error| origin.io(error))?.first().copied();
        self.bytes.consume(first.is_some().into());
        Ok(first)
    }
}

fn unexpected(origin: Origin<'_>, byte: Option<u8>) -> crate::Error {
    match byte {
        Some(byte) => {
            let byte = char::from(byte);
            let reason = format_args!("{byte:?} among its samples is no digit");
            damaged(origin, reason)
        }
        None => origin.io(std::io::ErrorKind::UnexpectedEof.into()),
    }
}

fn too_large<T: Sample>(origin: Origin<'_>) -> crate::Error {
    damaged(origin, format_args!("a sample is larger than {}", T::MOST))
}
