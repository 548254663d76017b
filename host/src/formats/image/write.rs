//! Writing binary images: PNG, PBM and `.npy`.

use std::io::{BufWriter, Write};

use crate::formats::npy::npy_header;
use crate::formats::png_writer::{Pixels, write_png};
use crate::{BinaryImage, Result};

/// Writes a 1-bit grey PNG: foreground white, background black.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_image_png(image: &BinaryImage, out: impl Write) -> Result<()> {
    write_png(out, image.width(), image.height(), Pixels::Bits, |out| {
        let mut line = Vec::new();
        for y in 0..image.height() {
            pack(image, y, &mut line);
            out.write_all(&line)?;
        }
        Ok(())
    })
}

/// Writes a binary PBM (`P4`): foreground white (0), background black (1), as
/// [`read_image`](super::read_image) reads it.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_image_pbm(image: &BinaryImage, out: impl Write) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    write!(out, "P4\n{} {}\n", image.width(), image.height())?;
    let mut line = Vec::new();
    for y in 0..image.height() {
        pack(image, y, &mut line);
        for byte in &mut line {
            *byte = !*byte;
        }
        out.write_all(&line)?;
    }
    Ok(out.flush()?)
}

/// Writes an `.npy` array of `bool`, shape (height, width).
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_image_npy(image: &BinaryImage, out: impl Write) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    out.write_all(&npy_header("|b1", image.width(), image.height()))?;
    let mut line = Vec::new();
    for y in 0..image.height() {
        line.clear();
        let row = image.row(y);
        let bit = |x: usize| (row[x / crate::WORD_BITS] >> (x % crate::WORD_BITS) & 1) as u8;
        line.extend((0..image.width() as usize).map(bit));
        out.write_all(&line)?;
    }
    Ok(out.flush()?)
}

/// Puts row `y` into `line`, eight pixels per byte with the leftmost one in the highest bit.
fn pack(image: &BinaryImage, y: u32, line: &mut Vec<u8>) {
    line.clear();
    let bytes = image.row(y).iter().flat_map(|word| word.to_le_bytes());
    line.extend(bytes.map(u8::reverse_bits));
    line.truncate((image.width() as usize).div_ceil(8));
}
