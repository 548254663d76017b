//! The pixels of a BMP as shades of grey.

use std::io::{Seek, SeekFrom};

use super::header::{Compression, Header};
use super::{damaged, read_exact};
use crate::Result;
use crate::formats::image::luminance::luminance;
use crate::formats::image::png::black_and_white;
use crate::formats::source::{Origin, Source};

/// How the bits of a pixel make a shade.
pub(super) enum Decoder {
    /// Indices of `depth` bits.
    Palette {
        depth: u16,
        /// The luminance of each entry; black beyond the stored ones.
        shades: Box<[u8; 256]>,
        /// Whether the depth is 1 and all entries are black or white.
        two_shades: bool,
    },
    /// Blue, green, red; `bytes` per pixel.
    Bytes { bytes: usize },
    /// Little-endian numbers of `bytes` bytes.
    Masks {
        bytes: usize,
        red: Mask,
        green: Mask,
        blue: Mask,
    },
}

impl Decoder {
    pub(super) fn of(header: &Header, source: &mut Source<'_>) -> Result<Self> {
        let origin = source.origin;
        let bytes = usize::from(header.depth / 8);
        match (header.compression, header.depth) {
            (Compression::None, 24 | 32) => Ok(Self::Bytes { bytes }),
            (Compression::None, 16) => Self::masks([0x7c00, 0x03e0, 0x001f, 0], 16, origin),
            (Compression::Masks, depth) => Self::masks(header.masks, depth, origin),
            _ => Self::palette(header, source),
        }
    }

    fn palette(header: &Header, source: &mut Source<'_>) -> Result<Self> {
        let start = source.bytes.seek(SeekFrom::Start(header.palette_at));
        start.map_err(|error| source.origin.io(error))?;
        let mut shades = Box::new([0; 256]);
        let mut all_two = true;
        for shade in &mut shades[..header.palette_len] {
            let [b, g, r] = read_exact(source)?;
            if header.entry == 4 {
                let [_] = read_exact(source)?;
            }
            *shade = luminance(r, g, b);
            all_two = all_two && black_and_white(&[[r, g, b]]);
        }
        Ok(Self::Palette {
            depth: header.depth,
            shades,
            two_shades: header.depth == 1 && all_two,
        })
    }

    fn masks(masks: [u32; 4], depth: u16, origin: Origin<'_>) -> Result<Self> {
        let mask = |n: usize| Mask::new(masks[n], depth, origin);
        let (red, green, blue) = (mask(0)?, mask(1)?, mask(2)?);
        mask(3)?;
        if [red, green, blue].iter().any(|mask| mask.most == 0) {
            return Err(damaged(origin, "the mask of a colour is empty"));
        }
        Ok(Self::Masks {
            bytes: usize::from(depth / 8),
            red,
            green,
            blue,
        })
    }

    /// Decodes a row as it is stored.
    pub(super) fn row(&self, stored: &[u8], grey: &mut [u8]) {
        match self {
            Self::Palette {
                depth: 8, shades, ..
            } => {
                for (grey, &index) in grey.iter_mut().zip(stored) {
                    *grey = shades[usize::from(index)];
                }
            }
            Self::Palette { depth, shades, .. } => {
                let depth = usize::from(*depth);
                let mask = (1 << depth) - 1;
                for (pixels, &byte) in grey.chunks_mut(8 / depth).zip(stored) {
                    // The leftmost pixel is in the highest bits.
                    for (x, grey) in pixels.iter_mut().enumerate() {
                        *grey = shades[usize::from(byte >> (8 - depth * (x + 1)) & mask)];
                    }
                }
            }
            Self::Bytes { bytes } => {
                for (grey, pixel) in grey.iter_mut().zip(stored.chunks_exact(*bytes)) {
                    *grey = luminance(pixel[2], pixel[1], pixel[0]);
                }
            }
            Self::Masks {
                bytes,
                red,
                green,
                blue,
            } => {
                for (grey, pixel) in grey.iter_mut().zip(stored.chunks_exact(*bytes)) {
                    let number = pixel.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b));
                    *grey = luminance(red.of(number), green.of(number), blue.of(number));
                }
            }
        }
    }
}

/// The bits of a pixel that make a colour: at most 8, the highest of those in the file's mask.
#[derive(Clone, Copy)]
pub(super) struct Mask {
    shift: u32,
    /// The largest value; 0 for an empty mask.
    most: u32,
}

impl Mask {
    fn new(mask: u32, depth: u16, origin: Origin<'_>) -> Result<Self> {
        if mask == 0 {
            return Ok(Self { shift: 0, most: 0 });
        }
        let (shift, bits) = (mask.trailing_zeros(), mask.count_ones());
        let end = u32::BITS - mask.leading_zeros();
        if end - shift != bits || end > depth.into() {
            let reason = format_args!("{mask:#x} is no mask for {depth} bits per pixel");
            return Err(damaged(origin, reason));
        }
        let kept = bits.min(8);
        Ok(Self {
            shift: shift + bits - kept,
            most: (1 << kept) - 1,
        })
    }

    /// The colour in `pixel`, stretched to the whole range.
    fn of(self, pixel: u32) -> u8 {
        let value = pixel >> self.shift & self.most;
        // Rounds to the nearest. The quotient is at most 255; masks of colours are not empty.
        ((value * 255 + self.most / 2) / self.most.max(1)) as u8
    }
}
