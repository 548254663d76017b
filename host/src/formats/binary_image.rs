//! A binary image as a file: PNG, PBM or `.npy`.

use std::io::{BufWriter, Write};

use super::canvas::png_error;
use super::labels_npy::npy_header;
use crate::{BinaryImage, Result};

/// Writes a 1-bit grey PNG: foreground white, background black.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_image_png(image: &BinaryImage, out: impl Write) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let mut encoder = png::Encoder::new(&mut out, image.width(), image.height());
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(png_error)?;
    let mut stream = writer.stream_writer().map_err(png_error)?;
    let mut line = Vec::new();
    for y in 0..image.height() {
        pack(image, y, &mut line);
        stream.write_all(&line)?;
    }
    stream.finish().map_err(png_error)?;
    writer.finish().map_err(png_error)?;
    Ok(out.flush()?)
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
    out.write_all(&npy_header("|b1", image.width(), image.height())?)?;
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

/// Row `y` with the leftmost pixel in each byte's highest bit.
fn pack(image: &BinaryImage, y: u32, line: &mut Vec<u8>) {
    line.clear();
    let bytes = image.row(y).iter().flat_map(|word| word.to_le_bytes());
    line.extend(bytes.map(u8::reverse_bits));
    line.truncate((image.width() as usize).div_ceil(8));
}
