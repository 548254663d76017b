//! Writing PNG, for all writers of pictures.

use std::io::{BufWriter, Write};

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};

use crate::error::{Error, Result, WriteProblem};

/// How a PNG stores its pixels.
pub(super) enum Pixels {
    /// One bit of grey per pixel.
    Bits,
    /// Three bytes per pixel: red, green and blue.
    Rgb,
    /// One byte per pixel, the index of an entry in this palette of three bytes per entry.
    Indexed(Vec<u8>),
}

/// Writes a PNG of `width × height` pixels; `put_rows` writes its rows, one after the other.
pub(super) fn write_png(
    out: impl Write,
    width: u32,
    height: u32,
    pixels: Pixels,
    put_rows: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let mut encoder = Encoder::new(&mut out, width, height);
    match pixels {
        Pixels::Bits => {
            encoder.set_color(ColorType::Grayscale);
            encoder.set_depth(BitDepth::One);
        }
        Pixels::Rgb => encoder.set_color(ColorType::Rgb),
        Pixels::Indexed(palette) => {
            encoder.set_color(ColorType::Indexed);
            encoder.set_palette(palette);
        }
    }
    encoder.set_compression(Compression::Fast);
    let mut writer = encoder.write_header().map_err(explain)?;
    let mut stream = writer.stream_writer().map_err(explain)?;
    put_rows(&mut stream)?;
    stream.finish().map_err(explain)?;
    writer.finish().map_err(explain)?;
    Ok(out.flush()?)
}

/// The encoder's error in the library's terms.
fn explain(error: EncodingError) -> Error {
    match error {
        EncodingError::IoError(error) => Error::Write(error),
        other => Error::Unwritable {
            format: "png",
            problem: WriteProblem::Encoder,
            reason: other.to_string(),
            source: Some(Box::new(other)),
        },
    }
}
