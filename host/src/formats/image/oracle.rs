//! The crate `image` as a reference for this crate's own readers.

use std::io::Cursor;

use ::image::{ExtendedColorType, ImageDecoder, ImageFormat, ImageReader};

use super::{ReadImage, ReadOptions, SampleKind, read_image};
use crate::formats::test_file::file;

/// A picture as decoded by `image`.
struct Picture {
    width: u32,
    height: u32,
    /// The luminance of each pixel.
    samples: Vec<u64>,
    sixteen_bits: bool,
    two_shades: bool,
}

fn decoded(bytes: &[u8], format: ImageFormat) -> Option<Picture> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.no_limits();
    let decoder = reader.into_decoder().ok()?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return None;
    }
    let color = decoder.color_type();
    let two_shades = decoder.original_color_type() == ExtendedColorType::L1;
    // A damaged header can claim anything.
    let mut stored = vec![
        0;
        usize::try_from(decoder.total_bytes())
            .ok()
            .filter(|n| *n < 1 << 26)?
    ];
    decoder.read_image(&mut stored).ok()?;
    let channels = usize::from(color.channel_count());
    let sixteen_bits = usize::from(color.bytes_per_pixel()) == 2 * channels;
    let samples: Vec<u64> = if sixteen_bits {
        let pairs = stored.as_chunks::<2>().0.iter();
        pairs.map(|pair| u16::from_ne_bytes(*pair).into()).collect()
    } else {
        stored.iter().map(|&sample| sample.into()).collect()
    };
    let luminance = |pixel: &[u64]| match *pixel {
        [r, g, b, ..] => (19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16,
        _ => pixel[0],
    };
    Some(Picture {
        width,
        height,
        samples: samples.chunks_exact(channels).map(luminance).collect(),
        sixteen_bits,
        two_shades,
    })
}

fn read(bytes: &[u8], threshold: Option<f64>) -> crate::Result<ReadImage> {
    let options = ReadOptions {
        threshold,
        ..ReadOptions::default()
    };
    read_image(file(bytes).path(), &options)
}

/// Whether `image` decodes a picture.
pub(super) fn reads(bytes: &[u8], format: ImageFormat) -> bool {
    decoded(bytes, format).is_some()
}

/// Compares `read_image` with `image`. Both must refuse `bytes`, or both must decode the same
/// picture, whatever the threshold. Returns whether they decoded one.
#[track_caller]
pub(super) fn check(bytes: &[u8], format: ImageFormat) -> bool {
    let expected = decoded(bytes, format);
    let text = bytes.escape_ascii();
    let found = read(bytes, None);
    let (Some(expected), Ok(found)) = (&expected, &found) else {
        let given = expected.is_some();
        // `image` takes a few runs that skip the rest of a large picture.
        let refused_size = |error: &crate::Error| error.to_string().contains("cannot hold");
        let skips = format == ImageFormat::Bmp && found.as_ref().is_err_and(refused_size);
        assert!(
            found.is_err() && (!given || skips),
            "image gives a picture: {given}; {found:?}: {text}"
        );
        return false;
    };
    let kind = found.kind;
    assert_eq!(kind == SampleKind::U16, expected.sixteen_bits);
    if expected.two_shades {
        assert_eq!(kind, SampleKind::Bit);
    }
    let (white, thresholds) = match kind {
        SampleKind::Bit => (255.0, [0.0, 0.2, 0.5, 0.99]),
        SampleKind::U16 => (1.0, [0.0, 257.0, 30_000.0, 65_534.0]),
        _ => (1.0, [0.0, 63.0, 127.0, 254.0]),
    };
    for threshold in thresholds {
        let found = read(bytes, Some(threshold)).unwrap().image;
        assert_eq!(
            (found.width(), found.height()),
            (expected.width, expected.height)
        );
        let mut samples = expected.samples.iter();
        for y in 0..found.height() {
            for x in 0..found.width() {
                let sample = *samples.next().unwrap();
                let foreground = sample as f64 > threshold * white;
                assert_eq!(
                    found.get(x, y),
                    foreground,
                    "({x}, {y}) is {sample}: {text}"
                );
            }
        }
    }
    true
}
