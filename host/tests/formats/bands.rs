//! Images read as a whole and band by band, against the pixels that were written.

use std::io::Write;

use tempfile::NamedTempFile;
use trazar::error::ReadProblem;
use trazar::formats::{ImageBands, ReadOptions, read_image};
use trazar::formats::{write_image_npy, write_image_pbm, write_image_png};
use trazar::{BinaryImage, Error, generate};

use crate::tiffs::Form;

pub(crate) fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// A sequence of numbers that only `seed` decides (a xorshift).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn coin(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.between(0, values.len() as u64 - 1) as usize]
    }
}

/// Samples to be written, and what is foreground at half of white.
struct Picture {
    width: usize,
    height: usize,
    channels: usize,
    /// Row by row, the channels of a pixel one after the other.
    samples: Vec<u64>,
    foreground: Vec<bool>,
}

impl Picture {
    /// Samples of 0 to `white`. Channels are grey, grey and alpha, RGB, or RGB and alpha. Where the
    /// luminance is near half of white, its rounding would decide: there are no such pixels.
    fn draw(
        numbers: &mut Numbers,
        (width, height): (usize, usize),
        channels: usize,
        white: u64,
    ) -> Self {
        let (mut samples, mut foreground) = (Vec::new(), Vec::new());
        for _ in 0..width * height {
            loop {
                let mut pixel = [0; 4];
                pixel[..channels].fill_with(|| numbers.between(0, white));
                let luminance = match pixel.map(|sample| sample as f64 / white as f64) {
                    [red, green, blue, _] if channels > 2 => {
                        0.299 * red + 0.587 * green + 0.114 * blue
                    }
                    [grey, ..] => grey,
                };
                if (luminance - 0.5).abs() > 0.02 {
                    samples.extend(&pixel[..channels]);
                    foreground.push(luminance > 0.5);
                    break;
                }
            }
        }
        Self {
            width,
            height,
            channels,
            samples,
            foreground,
        }
    }

    /// Sample `c` of a pixel; 1 beyond the image.
    fn sample(&self, x: usize, y: usize, c: usize) -> u64 {
        match x < self.width && y < self.height {
            true => self.samples[(y * self.width + x) * self.channels + c],
            false => 1,
        }
    }

    /// The image at half of white.
    fn image(&self) -> BinaryImage {
        image(self.width, self.height, |x, y| {
            self.foreground[y * self.width + x]
        })
    }
}

fn image(width: usize, height: usize, is_set: impl Fn(usize, usize) -> bool) -> BinaryImage {
    let is_set = |x, y| is_set(x as usize, y as usize);
    BinaryImage::from_fn(width as u32, height as u32, is_set).unwrap()
}

/// Reads all rows of `bands`, in bands of 1 to 64 rows, and compares them with `expected`.
#[track_caller]
fn compare(bands: &mut ImageBands, expected: &BinaryImage, numbers: &mut Numbers, name: &str) {
    assert_eq!(
        (bands.width(), bands.height()),
        (expected.width(), expected.height())
    );
    let mut y = 0;
    let rows = numbers.one_of(&[1, 64, 64, 64]);
    while let Some(band) = bands.next_band(numbers.between(1, rows) as u32).unwrap() {
        for row in 0..band.height() {
            assert!(
                band.row(row) == expected.row(y + row),
                "row {} of {name} is not the file's",
                y + row
            );
        }
        y += band.height();
        assert_eq!(bands.next_row(), y);
    }
    assert_eq!(y, expected.height(), "{name}");
    assert!(bands.next_band(1).unwrap().is_none());
}

/// Reads a file whose foreground above `threshold` is `expected`, as a whole and in bands.
#[track_caller]
fn check(
    bytes: &[u8],
    threshold: Option<f64>,
    expected: &BinaryImage,
    numbers: &mut Numbers,
    name: &str,
) {
    let file = file(bytes);
    let options = ReadOptions::default()
        .threshold(threshold)
        .invert(numbers.coin());
    let mut expected = expected.clone();
    if options.invert {
        expected.invert();
    }
    let whole = read_image(file.path(), &options)
        .unwrap_or_else(|error| panic!("{name}: not the file's pixels, but {error}"));
    assert!(
        whole.image == expected,
        "{name}: the image is not the file's"
    );
    let mut bands = ImageBands::open(file.path(), &options).unwrap();
    assert_eq!(bands.kind(), whole.kind);
    assert_eq!(bands.threshold(), whole.threshold);
    assert_eq!(bands.notes(), whole.notes);
    // Twice, and from the middle of the image.
    compare(&mut bands, &expected, numbers, name);
    assert_eq!(
        bands.only_below_threshold(),
        whole.only_below_threshold,
        "{name}"
    );
    bands.rewind().unwrap();
    bands.next_band(numbers.between(1, 9) as u32).unwrap();
    bands.rewind().unwrap();
    compare(&mut bands, &expected, numbers, name);
}

#[test]
fn what_this_library_writes() {
    let mut numbers = Numbers(3);
    for round in 0..24 {
        let (width, height) = (numbers.between(1, 300), numbers.between(1, 400));
        let image = generate::noise(width as u32, height as u32, 0.5, round).unwrap();
        let nothing = BinaryImage::new(width as u32, height as u32).unwrap();
        let mut files: [Vec<u8>; 3] = Default::default();
        write_image_png(&image, &mut files[0]).unwrap();
        write_image_pbm(&image, &mut files[1]).unwrap();
        write_image_npy(&image, &mut files[2]).unwrap();
        for (bytes, name) in files.iter().zip(["PNG", "PBM", "npy"]) {
            let threshold = numbers.one_of(&[None, Some(0.0), Some(1.0)]);
            let expected = if threshold == Some(1.0) {
                &nothing
            } else {
                &image
            };
            check(bytes, threshold, expected, &mut numbers, name);
        }
    }
}

#[test]
fn netpbm_of_every_kind() {
    let mut numbers = Numbers(5);
    for round in 0..20 {
        let size = (
            numbers.between(1, 90) as usize,
            numbers.between(1, 140) as usize,
        );
        for kind in 1..=6 {
            let bits = kind % 3 == 1;
            let maximum = match bits {
                true => 1,
                false => numbers.one_of(&[1, 100, 255, 1000, 65535]),
            };
            let channels = if kind % 3 == 0 { 3 } else { 1 };
            let picture = Picture::draw(&mut numbers, size, channels, maximum);
            let mut bytes = format!("P{kind}\n{} {}\n", size.0, size.1).into_bytes();
            if !bits {
                bytes.extend(format!("{maximum}\n").into_bytes());
            }
            if kind == 4 {
                // Bits of 1 are black.
                for row in picture.samples.chunks(size.0) {
                    bytes.extend(row.chunks(8).map(|eight| {
                        let bits = eight.iter().enumerate();
                        bits.fold(0, |byte, (i, bit)| byte | (1 - *bit as u8) << (7 - i))
                    }));
                }
            } else {
                for &sample in &picture.samples {
                    match kind {
                        1 => bytes.push(b'1' - sample as u8),
                        2 | 3 => bytes.extend(format!("{sample} ").into_bytes()),
                        _ if maximum > 255 => bytes.extend((sample as u16).to_be_bytes()),
                        _ => bytes.push(sample as u8),
                    }
                }
            }
            let name = format!("P{kind} of {size:?}, maximum {maximum}, round {round}");
            check(&bytes, None, &picture.image(), &mut numbers, &name);
        }
    }
}

#[test]
fn bmp_from_top_or_bottom() {
    let mut numbers = Numbers(7);
    for _ in 0..20 {
        let size = (
            numbers.between(1, 90) as usize,
            numbers.between(1, 140) as usize,
        );
        for top_down in [false, true] {
            let picture = Picture::draw(&mut numbers, size, 3, 255);
            let mut rows: Vec<&[u64]> = picture.samples.chunks(3 * size.0).collect();
            let mut height = size.1 as i32;
            if top_down {
                height = -height;
            } else {
                rows.reverse();
            }
            let mut bytes = b"BM".to_vec();
            bytes.extend(0u64.to_le_bytes());
            bytes.extend(54u32.to_le_bytes());
            bytes.extend(40u32.to_le_bytes());
            bytes.extend((size.0 as u32).to_le_bytes());
            bytes.extend(height.to_le_bytes());
            bytes.extend([1, 0, 24, 0]);
            bytes.resize(54, 0);
            for row in rows {
                for pixel in row.chunks(3) {
                    bytes.extend(pixel.iter().rev().map(|&sample| sample as u8));
                }
                let past = (3 * size.0).next_multiple_of(4) - 3 * size.0;
                bytes.extend([0xff; 3].iter().take(past));
            }
            check(&bytes, None, &picture.image(), &mut numbers, "BMP");
        }
    }
}

pub(crate) fn npy(dtype: &str, fortran: bool, shape: (usize, usize), values: &[u8]) -> Vec<u8> {
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
        let size = (
            numbers.between(1, 200) as usize,
            numbers.between(1, 150) as usize,
        );
        for dtype in ["|b1", "|u1", "<u2", ">u2", "<i2", ">i4", "<f4", ">f8"] {
            for fortran in [false, true] {
                let white = if dtype == "|b1" { 1 } else { 255 };
                let picture = Picture::draw(&mut numbers, size, 1, white);
                let mut values = Vec::new();
                let mut put = |x, y| {
                    let value = picture.sample(x, y, 0) as u8;
                    let signed = i16::from(value) - 127;
                    match dtype {
                        "<u2" => values.extend((257 * u16::from(value)).to_le_bytes()),
                        ">u2" => values.extend((257 * u16::from(value)).to_be_bytes()),
                        "<i2" => values.extend((255 * signed).to_le_bytes()),
                        ">i4" => values.extend((99_999 * i32::from(signed)).to_be_bytes()),
                        "<f4" => values.extend((f32::from(value) / 255.0).to_le_bytes()),
                        ">f8" => values.extend((f64::from(value) / 255.0).to_be_bytes()),
                        _ => values.push(value),
                    }
                };
                match fortran {
                    true => (0..size.0).for_each(|x| (0..size.1).for_each(|y| put(x, y))),
                    false => (0..size.1).for_each(|y| (0..size.0).for_each(|x| put(x, y))),
                }
                let bytes = npy(dtype, fortran, (size.1, size.0), &values);
                check(&bytes, None, &picture.image(), &mut numbers, dtype);
            }
        }
    }
}

/// More rows than are read at once.
#[test]
fn npy_of_more_than_a_megabyte() {
    let mut numbers = Numbers(12);
    let (width, height) = (1500, 900);
    for fortran in [false, true] {
        let bright = |x: usize, y: usize| (x / 7 + y * y / 50).is_multiple_of(3);
        let byte = |x, y| if bright(x, y) { 200 } else { 90 };
        let values: Vec<u8> = (0..width * height)
            .map(|i| match fortran {
                true => byte(i / height, i % height),
                false => byte(i % width, i / width),
            })
            .collect();
        let bytes = npy("|u1", fortran, (height, width), &values);
        let expected = image(width, height, bright);
        check(&bytes, None, &expected, &mut numbers, "npy");
    }
}

#[test]
fn png_of_every_color() {
    use image::codecs::png::PngEncoder;
    use image::{ExtendedColorType as Color, ImageEncoder};
    let mut numbers = Numbers(13);
    for _ in 0..20 {
        let size = (
            numbers.between(1, 90) as usize,
            numbers.between(1, 140) as usize,
        );
        for (color, channels, white) in [
            (Color::L8, 1, 0xff),
            (Color::La8, 2, 0xff),
            (Color::Rgb8, 3, 0xff),
            (Color::Rgba8, 4, 0xff),
            (Color::L16, 1, 0xffff),
            (Color::Rgb16, 3, 0xffff),
        ] {
            let picture = Picture::draw(&mut numbers, size, channels, white);
            let samples = picture.samples.iter();
            let samples: Vec<u8> = match white {
                0xff => samples.map(|&sample| sample as u8).collect(),
                _ => samples.flat_map(|&s| (s as u16).to_ne_bytes()).collect(),
            };
            let mut out = Vec::new();
            let encoder = PngEncoder::new(&mut out);
            let (width, height) = (size.0 as u32, size.1 as u32);
            encoder.write_image(&samples, width, height, color).unwrap();
            let name = format!("{color:?}");
            check(&out, None, &picture.image(), &mut numbers, &name);
        }
    }
}

/// Strips or tiles with sides below and above those of the image, of 1 to 3 channels.
fn tiff_forms(numbers: &mut Numbers) -> Vec<Form> {
    let mut forms = Vec::new();
    let (width, height) = (numbers.between(1, 150), numbers.between(1, 160));
    for compression in [1, 5, 8, 32773] {
        for (bits, format) in [(1, 1), (8, 1), (16, 1), (16, 2), (32, 3), (64, 3)] {
            let mut form = Form::plain(width as usize, height as usize);
            form.bits = bits;
            form.format = format;
            form.compression = compression;
            form.big_endian = numbers.coin();
            form.backwards = numbers.coin();
            form.rows_per_strip = numbers.between(1, height) as usize;
            if numbers.coin() {
                let side = |number: u64| 16 * number as usize;
                form.tile = Some((side(numbers.between(1, 6)), side(numbers.between(1, 6))));
            }
            if bits <= 16 && bits > 1 && format == 1 && numbers.coin() {
                form.samples = 3;
                form.channels = 3;
                form.separate = numbers.coin();
            }
            forms.push(form);
        }
    }
    forms
}

/// The file of a picture drawn for `form`.
fn tiff(form: Form, numbers: &mut Numbers) -> (Picture, Vec<u8>) {
    let white = match form.bits {
        1 => 1,
        8 => 0xff,
        _ => 0xffff,
    };
    let picture = Picture::draw(numbers, (form.width, form.height), form.channels, white);
    let sample = |x: usize, y: usize, c: usize| {
        let sample = picture.sample(x, y, c);
        match (form.bits, form.format) {
            (16, 2) => sample ^ 0x8000,
            (32, 3) => (sample as f32 / white as f32).to_bits().into(),
            (64, 3) => (sample as f64 / white as f64).to_bits(),
            _ => sample,
        }
    };
    let bytes = form.file(&sample);
    (picture, bytes)
}

#[test]
fn tiff_strips_and_tiles() {
    let mut numbers = Numbers(17);
    for _ in 0..20 {
        for form in tiff_forms(&mut numbers) {
            let (picture, bytes) = tiff(form, &mut numbers);
            let name = format!("{form:?}");
            check(&bytes, None, &picture.image(), &mut numbers, &name);
        }
    }
}

/// Tiles whose columns end within words of the image.
#[test]
fn tiffs_of_tiles_of_no_whole_words() {
    let mut numbers = Numbers(18);
    let form = Form {
        tile: Some((48, 16)),
        ..Form::plain(150, 40)
    };
    for bits in [1, 8] {
        let form = Form { bits, ..form };
        let (picture, bytes) = tiff(form, &mut numbers);
        let name = format!("{form:?}");
        check(&bytes, None, &picture.image(), &mut numbers, &name);
    }
}

/// Uncompressed strips and tiles of more than a megabyte are read in pieces; the last piece of each
/// has fewer rows. The last strip or tile is the file's first.
#[test]
fn tiffs_of_long_strips() {
    let mut numbers = Numbers(19);
    for tile in [None, Some((1504, 1008))] {
        let form = Form {
            tile,
            rows_per_strip: 1000,
            backwards: true,
            ..Form::plain(1500, 1900)
        };
        let bright = |x: usize, y: usize| (x / 7 + y * y / 50).is_multiple_of(3);
        let bytes = form.file(&|x, y, _| if bright(x, y) { 200 } else { 90 });
        let expected = image(form.width, form.height, bright);
        let name = format!("{form:?}");
        check(&bytes, None, &expected, &mut numbers, &name);
    }
}

/// More pixels than are decoded at once.
#[test]
fn tiffs_of_several_batches() {
    let mut numbers = Numbers(20);
    let bright = |x: usize, y: usize| (x * x / 64 + y * 5) & 0x400 != 0;
    let expected = image(4001, 4500, bright);
    for (compression, tile) in [(1, Some((208, 1040))), (8, None)] {
        let form = Form {
            compression,
            tile,
            rows_per_strip: 7,
            ..Form::plain(4001, 4500)
        };
        let bytes = form.file(&|x, y, _| if bright(x, y) { 200 } else { 90 });
        let name = format!("{form:?}");
        check(&bytes, None, &expected, &mut numbers, &name);
    }
}

/// Reads a file as a whole and, twice, in bands, up to the error.
fn errors(file: &NamedTempFile) -> [Error; 3] {
    let whole = read_image(file.path(), &ReadOptions::default()).unwrap_err();
    let mut bands = ImageBands::open(file.path(), &ReadOptions::default()).unwrap();
    let in_bands = [(); 2].map(|()| {
        let error = loop {
            match bands.next_band(4) {
                Ok(band) => assert!(band.is_some(), "{whole}"),
                Err(error) => break error,
            }
        };
        assert!(bands.next_band(4).is_err());
        bands.rewind().unwrap();
        error
    });
    let [first, second] = in_bands;
    [whole, first, second]
}

/// The file's first value that is no number is at `place`.
#[track_caller]
fn first_nan(bytes: &[u8], place: (u32, u32)) {
    for error in errors(&file(bytes)) {
        match error {
            Error::NotANumber { x, y, .. } => {
                let found = (x, y);
                assert_eq!(found, place, "the first NaN's place is not the file's");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_first_nan_is_named() {
    let values: Vec<u8> = (0..20 * 30)
        .flat_map(|i| if i == 345 { f32::NAN } else { 1.0 }.to_le_bytes())
        .collect();
    first_nan(&npy("<f4", false, (30, 20), &values), (345 % 20, 345 / 20));
    first_nan(&npy("<f4", true, (30, 20), &values), (345 / 30, 345 % 30));
    // In two tiles, the first one in the right tile.
    let form = Form {
        bits: 32,
        format: 3,
        tile: Some((16, 16)),
        ..Form::plain(40, 30)
    };
    let nans = [(5, 25), (22, 19), (35, 23)];
    let sample = |x, y, _| {
        u64::from(
            if nans.contains(&(x, y)) {
                f32::NAN
            } else {
                0.0
            }
            .to_bits(),
        )
    };
    first_nan(&form.file(&sample), (22, 19));
}

/// The buffers of the first batch are used again for the second one, where the NaN is.
#[test]
fn a_nan_in_a_later_batch_is_named() {
    // 2²⁴ pixels are a batch: eight of these strips.
    let form = Form {
        bits: 32,
        format: 3,
        compression: 8,
        rows_per_strip: 512,
        ..Form::plain(4096, 10 * 512)
    };
    let strip = |nan: Option<(usize, usize)>| {
        let value = |x, y| if nan == Some((x, y)) { f32::NAN } else { 0.0 };
        let one = Form {
            height: 512,
            ..form
        };
        one.chunks(&|x, y, _| value(x, y).to_bits().into())
            .remove(0)
    };
    let mut strips = vec![strip(None); 9];
    strips.push(strip(Some((70, 11))));
    first_nan(&form.file_of(&strips, &[]), (70, 9 * 512 + 11));
}

#[test]
fn a_file_that_is_cut_is_truncated() {
    let mut png = Vec::new();
    write_image_png(&generate::noise(300, 300, 0.5, 1).unwrap(), &mut png).unwrap();
    png.truncate(png.len() / 2);
    let errors = errors(&file(&png));
    for error in &errors {
        let truncated = ReadProblem::Truncated;
        assert!(matches!(error, Error::Unreadable { problem, .. } if *problem == truncated));
        assert_eq!(error.to_string(), errors[0].to_string());
    }
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
pub(crate) fn interlaced_png() -> Vec<u8> {
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
