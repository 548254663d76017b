//! The headers of Netpbm's formats.

use std::io::{BufRead, Read};

use super::damaged;
use crate::Result;
use crate::formats::image::sample::SampleKind;
use crate::formats::source::{Origin, Source};

/// The longest accepted line of a PAM's header, in bytes.
const MAX_LINE: u64 = 1 << 16;

/// How samples are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    /// The digits 0 and 1; spaces between them are optional. 1 is black.
    TextBits,
    /// Decimal numbers with spaces between them.
    TextNumbers,
    /// Bits, the leftmost pixel in the highest one, each row padded to bytes. 1 is black.
    PackedBits,
    /// One byte, or two with the higher one first.
    Samples,
}

#[derive(Debug)]
pub(super) struct Header {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) channels: usize,
    /// The sample that stands for white, at least 1.
    pub(super) maximum: u16,
    pub(super) kind: SampleKind,
    /// Whether it is a PAM whose samples are all 0 or 1.
    pub(super) two_shades: bool,
    pub(super) encoding: Encoding,
}

impl Header {
    /// Reads the header of a source that is at its start, up to the raster's first byte.
    pub(super) fn read(source: &mut Source<'_>) -> Result<Self> {
        let origin = source.origin;
        let mut magic = [0; 2];
        source.read_header(&mut magic)?;
        let (encoding, channels) = match &magic {
            b"P1" => (Encoding::TextBits, 1),
            b"P2" => (Encoding::TextNumbers, 1),
            b"P3" => (Encoding::TextNumbers, 3),
            b"P4" => (Encoding::PackedBits, 1),
            b"P5" => (Encoding::Samples, 1),
            b"P6" => (Encoding::Samples, 3),
            _ => return Self::read_pam(source),
        };
        let (width, height) = (number(source)?, number(source)?);
        let bits = matches!(encoding, Encoding::TextBits | Encoding::PackedBits);
        // Bits are decoded to 0 and 255.
        let maximum = if bits { 255 } else { number(source)? };
        let maximum = checked_maximum(maximum, origin)?;
        Ok(Self {
            width,
            height,
            channels,
            maximum,
            kind: match maximum {
                _ if bits => SampleKind::Bit,
                ..=255 => SampleKind::U8,
                _ => SampleKind::U16,
            },
            two_shades: false,
            encoding,
        })
    }

    /// Reads a PAM's header after its first two bytes.
    fn read_pam(source: &mut Source<'_>) -> Result<Self> {
        let origin = source.origin;
        let (mut width, mut height, mut depth, mut maximum) = (None, None, None, None);
        let mut tuples: Option<String> = None;
        if !line(source)?.is_empty() {
            return Err(damaged(origin, "its first line is not P7"));
        }
        loop {
            let line = line(source)?;
            if line.starts_with('#') {
                continue;
            }
            let line = line.trim();
            let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let value = value.trim();
            let field = match key {
                "" => continue,
                "ENDHDR" => break,
                "TUPLTYPE" => {
                    // Several lines are one value.
                    match &mut tuples {
                        Some(before) => *before = format!("{before} {value}"),
                        None => tuples = Some(value.to_owned()),
                    }
                    continue;
                }
                "WIDTH" => &mut width,
                "HEIGHT" => &mut height,
                "DEPTH" => &mut depth,
                "MAXVAL" => &mut maximum,
                _ => {
                    let reason = format_args!("a line of its header starts with {key:?}");
                    return Err(damaged(origin, reason));
                }
            };
            if field.is_some() {
                return Err(damaged(origin, format_args!("it has two lines {key}")));
            }
            let Ok(value) = value.parse::<u32>() else {
                let reason = format_args!("{value:?} in the line {key} is no number");
                return Err(damaged(origin, reason));
            };
            *field = Some(value);
        }
        let (Some(width), Some(height), Some(depth), Some(maximum)) =
            (width, height, depth, maximum)
        else {
            let reason = "its header lacks WIDTH, HEIGHT, DEPTH or MAXVAL";
            return Err(damaged(origin, reason));
        };
        let maximum = checked_maximum(maximum, origin)?;
        let fits = match tuples.as_deref() {
            None => (1..=4).contains(&depth),
            Some("BLACKANDWHITE") => depth == 1 && maximum == 1,
            Some("BLACKANDWHITE_ALPHA") => depth == 2 && maximum == 1,
            Some("GRAYSCALE") => depth == 1,
            Some("GRAYSCALE_ALPHA") => depth == 2,
            Some("RGB") => depth == 3,
            Some("RGB_ALPHA") => depth == 4,
            Some(other) => {
                let reason = format_args!("tuples of type {other:?} are not read");
                return Err(damaged(origin, reason));
            }
        };
        if !fits {
            let reason = format_args!(
                "{depth} channels of 0 to {maximum} do not go with the type {:?}",
                tuples.as_deref().unwrap_or_default()
            );
            return Err(damaged(origin, reason));
        }
        Ok(Self {
            width,
            height,
            channels: depth as usize,
            maximum,
            kind: match maximum {
                _ if tuples.as_deref() == Some("BLACKANDWHITE") => SampleKind::Bit,
                ..=255 => SampleKind::U8,
                _ => SampleKind::U16,
            },
            two_shades: tuples.is_some_and(|tuples| tuples.starts_with("BLACKANDWHITE")),
            encoding: Encoding::Samples,
        })
    }

    /// The least number of bytes of the raster.
    pub(super) fn least_bytes(&self) -> u64 {
        let samples = u64::from(self.width).saturating_mul(self.channels as u64);
        let row = match self.encoding {
            Encoding::TextBits => samples,
            // A digit and a space.
            Encoding::TextNumbers => samples.saturating_mul(2),
            Encoding::PackedBits => samples.div_ceil(8),
            Encoding::Samples => samples.saturating_mul(self.sample_bytes() as u64),
        };
        let bytes = row.saturating_mul(self.height.into());
        // The last number needs no space after it.
        bytes.saturating_sub((self.encoding == Encoding::TextNumbers).into())
    }

    /// Bytes per sample of a binary file.
    pub(super) fn sample_bytes(&self) -> usize {
        if self.maximum > 255 { 2 } else { 1 }
    }
}

fn checked_maximum(maximum: u32, origin: Origin<'_>) -> Result<u16> {
    match u16::try_from(maximum) {
        Ok(maximum @ 1..) => Ok(maximum),
        _ => Err(damaged(
            origin,
            format_args!("its largest sample is {maximum}: it must be 1 to 65535"),
        )),
    }
}

/// Reads a number and the one byte of white space after it. Skips comments, from `#` to the end of
/// the line, wherever they are, as the format requires.
fn number(source: &mut Source<'_>) -> Result<u32> {
    let origin = source.origin;
    let mut value: Option<u32> = None;
    let mut comment = false;
    loop {
        let mut byte = [0];
        match source.bytes.read_exact(&mut byte) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return value.ok_or_else(|| origin.header_io(error));
            }
            Err(error) => return Err(origin.header_io(error)),
        }
        match byte[0] {
            b'\r' | b'\n' if comment => comment = false,
            _ if comment => {}
            b'#' => comment = true,
            byte if is_space(byte) => {
                if let Some(value) = value {
                    return Ok(value);
                }
            }
            digit @ b'0'..=b'9' => {
                let next = value.unwrap_or(0).checked_mul(10);
                let next = next.and_then(|value| value.checked_add((digit - b'0').into()));
                value = Some(next.ok_or_else(|| damaged(origin, "a number is too large"))?);
            }
            other => {
                let reason = format_args!("{:?} in its header is no digit", char::from(other));
                return Err(damaged(origin, reason));
            }
        }
    }
}

/// A line of a PAM's header, without its end.
fn line(source: &mut Source<'_>) -> Result<String> {
    let origin = source.origin;
    let mut line = Vec::new();
    let read = (&mut source.bytes)
        .take(MAX_LINE)
        .read_until(b'\n', &mut line);
    read.map_err(|error| origin.header_io(error))?;
    if line.pop_if(|last| *last == b'\n').is_none() {
        return Err(if line.len() as u64 == MAX_LINE {
            damaged(origin, "a line of its header is too long")
        } else {
            origin.header_io(std::io::ErrorKind::UnexpectedEof.into())
        });
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// White space, as the formats define it.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}
