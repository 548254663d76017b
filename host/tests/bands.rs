//! Images read band by band, compared with the same files read as a whole.

#![allow(missing_docs)]

mod tiffs;

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;
use tiffs::Form;
use trazar::formats::{ImageBands, ReadImage, ReadOptions, read_image};
use trazar::formats::{write_image_npy, write_image_pbm, write_image_png};
use trazar::{BinaryImage, Error, generate};

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// A sequence of numbers that only `seed` decides (a xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }
}

/// Reads all rows of `bands`, in bands of 1 to 64 rows, and compares them with `whole`.
#[track_caller]
fn compare(bands: &mut ImageBands, whole: &BinaryImage, numbers: &mut Numbers, name: &str) {
    assert_eq!(
        (bands.width(), bands.height()),
        (whole.width(), whole.height())
    );
    let mut y = 0;
    let rows = if numbers.next().is_multiple_of(4) {
        1
    } else {
        64
    };
    while let Some(band) = bands.next_band(numbers.between(1, rows) as u32).unwrap() {
        for row in 0..band.height() {
            assert_eq!(
                band.row(row),
                whole.row(y + row),
                "row {} of {name}",
                y + row
            );
        }
        y += band.height();
        assert_eq!(bands.next_row(), y);
    }
    assert_eq!(y, whole.height(), "{name}");
    assert!(bands.next_band(1).unwrap().is_none());
}

#[track_caller]
fn check(path: &Path, threshold: Option<f64>, numbers: &mut Numbers, name: &str) -> ReadImage {
    let options = ReadOptions::default()
        .threshold(threshold)
        .invert(numbers.next().is_multiple_of(2));
    let whole = read_image(path, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut bands = ImageBands::open(path, &options).unwrap();
    assert_eq!(bands.kind(), whole.kind);
    assert_eq!(bands.threshold(), whole.threshold);
    assert_eq!(bands.notes(), whole.notes);
    // Twice, and from the middle of the image.
    compare(&mut bands, &whole.image, numbers, name);
    assert_eq!(
        bands.only_below_threshold(),
        whole.only_below_threshold,
        "{name}"
    );
    bands.rewind().unwrap();
    bands.next_band(numbers.between(1, 9) as u32).unwrap();
    bands.rewind().unwrap();
    compare(&mut bands, &whole.image, numbers, name);
    whole
}

#[test]
fn what_this_library_writes() {
    let mut numbers = Numbers(3);
    for round in 0..24 {
        let (width, height) = (numbers.between(1, 300), numbers.between(1, 400));
        let image = generate::noise(width as u32, height as u32, 0.5, round).unwrap();
        let mut files: [Vec<u8>; 3] = Default::default();
        write_image_png(&image, &mut files[0]).unwrap();
        write_image_pbm(&image, &mut files[1]).unwrap();
        write_image_npy(&image, &mut files[2]).unwrap();
        for (bytes, name) in files.iter().zip(["PNG", "PBM", "npy"]) {
            let threshold = [None, Some(0.0), Some(1.0)][numbers.between(0, 2) as usize];
            let read = check(file(bytes).path(), threshold, &mut numbers, name);
            if threshold.is_none() {
                let inverted = read.image != image;
                let mut expected = image.clone();
                if inverted {
                    expected.invert();
                }
                assert_eq!(read.image, expected);
            }
        }
    }
}

#[test]
fn netpbm_of_every_kind() {
    let mut numbers = Numbers(5);
    for round in 0..20 {
        let (width, height) = (numbers.between(1, 90), numbers.between(1, 140));
        for kind in 1..=6 {
            let maximum = [1, 100, 255, 1000, 65535][numbers.between(0, 4) as usize];
            let channels = if kind % 3 == 0 { 3 } else { 1 };
            let mut bytes = format!("P{kind}\n{width} {height}\n").into_bytes();
            if kind % 3 != 1 {
                bytes.extend(format!("{maximum}\n").into_bytes());
            }
            let samples = width * height * channels;
            for _ in 0..samples {
                let sample = numbers.next() % (maximum + 1);
                match kind {
                    1 => bytes.push(b'0' + (sample & 1) as u8),
                    2 | 3 => bytes.extend(format!("{sample} ").into_bytes()),
                    4 => {}
                    _ if maximum > 255 => bytes.extend((sample as u16).to_be_bytes()),
                    _ => bytes.push(sample as u8),
                }
            }
            if kind == 4 {
                let packed = width.div_ceil(8) * height;
                bytes.extend((0..packed).map(|_| numbers.next() as u8));
            }
            let name = format!("P{kind} of {width} × {height}, round {round}");
            check(file(&bytes).path(), None, &mut numbers, &name);
        }
    }
}

#[test]
fn bmp_from_top_or_bottom() {
    let mut numbers = Numbers(7);
    for _ in 0..20 {
        let (width, height) = (
            numbers.between(1, 90) as u32,
            numbers.between(1, 140) as i32,
        );
        for top_down in [false, true] {
            let stride = (3 * width).next_multiple_of(4);
            let mut bytes = b"BM".to_vec();
            bytes.extend(0u64.to_le_bytes());
            bytes.extend(54u32.to_le_bytes());
            bytes.extend(40u32.to_le_bytes());
            bytes.extend(width.to_le_bytes());
            bytes.extend(if top_down { -height } else { height }.to_le_bytes());
            bytes.extend([1, 0, 24, 0]);
            bytes.resize(54, 0);
            let pixels = stride as usize * height as usize;
            bytes.extend((0..pixels).map(|_| numbers.next() as u8));
            check(file(&bytes).path(), Some(120.0), &mut numbers, "BMP");
        }
    }
}

fn npy(dtype: &str, fortran: bool, shape: (u64, u64), values: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut text = format!(
        "{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': ({}, {}), }}",
        shape.0, shape.1
    );
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.into_bytes());
    bytes.extend(values);
    bytes
}

#[test]
fn npy_of_every_type_and_order() {
    let mut numbers = Numbers(11);
    for _ in 0..20 {
        let (width, height) = (numbers.between(1, 200), numbers.between(1, 150));
        for dtype in ["|b1", "|u1", "<u2", ">u2", "<i2", ">i4", "<f4", ">f8"] {
            for fortran in [false, true] {
                let mut values = Vec::new();
                for _ in 0..width * height {
                    let value = numbers.between(0, 200) as i32 - 100;
                    match &dtype[1..] {
                        "b1" => values.push(u8::from(value > 0)),
                        "u1" => values.push((value + 100) as u8),
                        "u2" | "i2" => values.extend((300 * value as i16).to_le_bytes()),
                        "i4" => values.extend(value.to_be_bytes()),
                        "f4" => values.extend((value as f32 / 50.0).to_le_bytes()),
                        _ => values.extend(f64::from(value).to_be_bytes()),
                    }
                }
                let bytes = npy(dtype, fortran, (height, width), &values);
                check(file(&bytes).path(), None, &mut numbers, dtype);
            }
        }
    }
}

#[test]
fn png_of_every_color() {
    use image::codecs::png::PngEncoder;
    use image::{ExtendedColorType as Color, ImageEncoder};
    let mut numbers = Numbers(13);
    for _ in 0..20 {
        let (width, height) = (
            numbers.between(1, 90) as u32,
            numbers.between(1, 140) as u32,
        );
        for (color, bytes) in [
            (Color::L8, 1),
            (Color::La8, 2),
            (Color::Rgb8, 3),
            (Color::Rgba8, 4),
            (Color::L16, 2),
            (Color::Rgb16, 6),
        ] {
            let samples: Vec<u8> = (0..width * height * bytes)
                .map(|_| numbers.next() as u8)
                .collect();
            let mut out = Vec::new();
            let encoder = PngEncoder::new(&mut out);
            encoder.write_image(&samples, width, height, color).unwrap();
            check(file(&out).path(), None, &mut numbers, &format!("{color:?}"));
        }
    }
}

/// All strips and tiles, with sides below and above those of the image, and no multiples of 64.
fn tiff_forms(numbers: &mut Numbers) -> Vec<Form> {
    let mut forms = Vec::new();
    let (width, height) = (numbers.between(1, 150), numbers.between(1, 160));
    for compression in [1, 5, 8, 32773] {
        for (bits, format) in [(1, 1), (8, 1), (16, 1), (16, 2), (32, 3), (64, 3)] {
            let mut form = Form::plain(width as usize, height as usize);
            form.bits = bits;
            form.format = format;
            form.compression = compression;
            form.big_endian = numbers.next().is_multiple_of(2);
            form.rows_per_strip = numbers.between(1, height) as usize;
            if numbers.next().is_multiple_of(2) {
                let side = |number: u64| 16 * number as usize;
                form.tile = Some((side(numbers.between(1, 6)), side(numbers.between(1, 6))));
            }
            if bits <= 16 && bits > 1 && format == 1 && numbers.next().is_multiple_of(2) {
                form.samples = 3;
                form.channels = 3;
                form.separate = numbers.next().is_multiple_of(2);
            }
            forms.push(form);
        }
    }
    forms
}

#[test]
fn tiff_strips_and_tiles() {
    let mut numbers = Numbers(17);
    for round in 0..20 {
        for form in tiff_forms(&mut numbers) {
            let sample = |x: usize, y: usize, c: usize| {
                let noise = ((x / 3 * 31 + y / 2 * 57 + c * 91 + round) * 0x9e37) >> 7;
                match (form.bits, form.format) {
                    (1, _) => noise as u64 & 1,
                    (8, _) => noise as u64 & 0xff,
                    (32, 3) => u64::from((noise as f32 % 1.0).to_bits()),
                    (64, 3) => (noise as f64 % 97.0 / 97.0).to_bits(),
                    _ => noise as u64 & 0xffff,
                }
            };
            let bytes = form.file(&sample);
            check(
                file(&bytes).path(),
                None,
                &mut numbers,
                &format!("{form:?}"),
            );
        }
    }
}

/// Strips of several sizes, in one batch and in several.
#[test]
fn large_tiffs() {
    let mut numbers = Numbers(19);
    for compression in [1, 8] {
        for (tile, rows_per_strip) in [(None, 4500), (None, 7), (Some((208, 1040)), 1)] {
            let mut form = Form::plain(4001, 4500);
            form.compression = compression;
            form.tile = tile;
            form.rows_per_strip = rows_per_strip;
            let sample = |x: usize, y: usize, _| ((x * x / 64 + y * 5) >> 3) as u64 & 0xff;
            let bytes = form.file(&sample);
            check(
                file(&bytes).path(),
                None,
                &mut numbers,
                &format!("{form:?}"),
            );
        }
    }
}

#[test]
fn errors_are_those_of_the_whole() {
    let values: Vec<u8> = (0..20 * 30)
        .flat_map(|i| if i == 345 { f32::NAN } else { 1.0 }.to_le_bytes())
        .collect();
    for fortran in [false, true] {
        let file = file(&npy("<f4", fortran, (30, 20), &values));
        let whole = read_image(file.path(), &ReadOptions::default()).unwrap_err();
        let mut bands = ImageBands::open(file.path(), &ReadOptions::default()).unwrap();
        let error = loop {
            match bands.next_band(4) {
                Ok(band) => assert!(band.is_some()),
                Err(error) => break error,
            }
        };
        assert_eq!(error.to_string(), whole.to_string());
        assert!(bands.next_band(4).is_err());
        bands.rewind().unwrap();
        assert!(bands.next_band(4).unwrap().is_some());
    }
    // Cut in the middle.
    let mut png = Vec::new();
    write_image_png(&generate::noise(300, 300, 0.5, 1).unwrap(), &mut png).unwrap();
    png.truncate(png.len() / 2);
    let file = file(&png);
    let whole = read_image(file.path(), &ReadOptions::default()).unwrap_err();
    let mut bands = ImageBands::open(file.path(), &ReadOptions::default()).unwrap();
    let error = loop {
        if let Err(error) = bands.next_band(64) {
            break error;
        }
    };
    assert_eq!(error.to_string(), whole.to_string());
}

#[test]
fn what_cannot_be_read_in_bands() {
    let interlaced = file(&interlaced_png());
    assert!(read_image(interlaced.path(), &ReadOptions::default()).is_ok());
    match ImageBands::open(interlaced.path(), &ReadOptions::default()) {
        Err(Error::Unreadable { reason, .. }) => {
            assert!(
                reason.contains("interlaced") && reason.contains("as a whole"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
    let keep = ReadOptions::default().keep_grey(true);
    assert!(matches!(
        ImageBands::open(interlaced.path(), &keep),
        Err(Error::InvalidOption(_))
    ));
}

/// An interlaced PNG of 8 × 8 black pixels.
fn interlaced_png() -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        out.extend((data.len() as u32).to_be_bytes());
        let all = [kind, data].concat();
        let mut crc = !0u32;
        for byte in &all {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
            }
        }
        out.extend(all);
        out.extend((!crc).to_be_bytes());
    };
    chunk(b"IHDR", &[0, 0, 0, 8, 0, 0, 0, 8, 1, 0, 0, 0, 1]);
    // The 15 rows of the seven passes, each a filter and a byte, in a block that is not compressed.
    let mut data = vec![0x78, 0x01, 0x01, 30, 0, !30, 0xff];
    data.extend([0; 30]);
    data.extend(0x001e_0001u32.to_be_bytes());
    chunk(b"IDAT", &data);
    chunk(b"IEND", &[]);
    out
}

#[test]
fn a_reader_may_move_to_another_thread() {
    fn send<T: Send>() {}
    send::<ImageBands>();
}
