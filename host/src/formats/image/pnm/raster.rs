//! The samples of Netpbm's formats, row by row.

use std::io::{BufRead, Read};

use super::header::{Encoding, Header, is_space};
use super::{Sample, damaged};
use crate::Result;
use crate::formats::source::{Origin, Source};
use crate::memory::zeroed_vec;

/// A source behind its header.
pub(super) struct Raster<'a, 'b> {
    source: &'a mut Source<'b>,
    origin: Origin<'b>,
    /// A row as it is stored in a binary file.
    stored: Vec<u8>,
}

impl<'a, 'b> Raster<'a, 'b> {
    pub(super) fn new(source: &'a mut Source<'b>, header: &Header) -> Result<Self> {
        let samples = (header.width as usize).saturating_mul(header.channels);
        let bytes = match header.encoding {
            Encoding::TextBits | Encoding::TextNumbers => 0,
            Encoding::PackedBits => samples.div_ceil(8),
            Encoding::Samples => samples.saturating_mul(header.sample_bytes()),
        };
        Ok(Self {
            origin: source.origin,
            source,
            stored: zeroed_vec(bytes, "a row of the file")?,
        })
    }

    pub(super) fn text_bits<T: Sample>(&mut self, row: &mut [T]) -> Result<()> {
        for sample in row {
            *sample = loop {
                match self.byte()? {
                    Some(b'0') => break T::rounded(T::MOST.into()),
                    Some(b'1') => break T::zeroed(),
                    Some(space) if is_space(space) => {}
                    other => return Err(self.unexpected(other)),
                }
            };
        }
        Ok(())
    }

    pub(super) fn text_numbers<T: Sample>(&mut self, row: &mut [T]) -> Result<()> {
        for sample in row {
            let mut value: Option<u16> = None;
            loop {
                match self.byte()? {
                    Some(digit @ b'0'..=b'9') => {
                        let next = value.unwrap_or(0).checked_mul(10);
                        let next = next.and_then(|v| v.checked_add((digit - b'0').into()));
                        value = Some(next.ok_or_else(|| self.too_large::<T>())?);
                    }
                    Some(space) if is_space(space) => {
                        if value.is_some() {
                            break;
                        }
                    }
                    None if value.is_some() => break,
                    other => return Err(self.unexpected(other)),
                }
            }
            let value = value.unwrap_or(0);
            *sample = T::try_from(value).map_err(|_| self.too_large::<T>())?;
        }
        Ok(())
    }

    pub(super) fn packed_bits<T: Sample>(&mut self, row: &mut [T]) -> Result<()> {
        self.row()?;
        for (pixels, &byte) in row.chunks_mut(8).zip(&self.stored) {
            for (x, sample) in pixels.iter_mut().enumerate() {
                *sample = if byte << x & 0x80 == 0 {
                    T::rounded(T::MOST.into())
                } else {
                    T::zeroed()
                };
            }
        }
        Ok(())
    }

    pub(super) fn samples<T: Sample>(&mut self, row: &mut [T], header: &Header) -> Result<()> {
        self.row()?;
        let bytes = header.sample_bytes();
        for (sample, stored) in row.iter_mut().zip(self.stored.chunks_exact(bytes)) {
            *sample = T::of_bytes(stored);
        }
        if header.two_shades
            && let Some(other) = self.stored.iter().find(|&&sample| sample > 1)
        {
            let reason = format_args!("a sample is {other}, where only 0 and 1 may be");
            return Err(damaged(self.origin, reason));
        }
        Ok(())
    }

    /// Reads the next row of a binary file.
    fn row(&mut self) -> Result<()> {
        let read = self.source.bytes.read_exact(&mut self.stored);
        read.map_err(|error| self.origin.io(error))
    }

    /// The next byte; `None` at the end of the file.
    fn byte(&mut self) -> Result<Option<u8>> {
        let buffer = self.source.bytes.fill_buf();
        let first = buffer
            .map_err(|error| self.origin.io(error))?
            .first()
            .copied();
        self.source.bytes.consume(first.is_some().into());
        Ok(first)
    }

    fn unexpected(&self, byte: Option<u8>) -> crate::Error {
        match byte {
            Some(byte) => {
                let byte = char::from(byte);
                damaged(
                    self.origin,
                    format_args!("{byte:?} among its samples is no digit"),
                )
            }
            None => self.origin.io(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn too_large<T: Sample>(&self) -> crate::Error {
        damaged(
            self.origin,
            format_args!("a sample is larger than {}", T::MOST),
        )
    }
}
