//! Valid files of every format, from which the fuzzer starts.

use std::fs;
use std::io::{Cursor, Result};
use std::path::Path;

use crate::tiffs::Form;
use crate::{MAGICS, join};
use image::{DynamicImage, ImageFormat};

/// Writes them to `folder/TARGET/`.
pub fn make(folder: &Path) -> Result<()> {
    let images: Vec<Vec<u8>> = tiffs()
        .into_iter()
        .chain(pictures())
        .chain(bitmaps())
        .chain(texts())
        .chain(arrays())
        .collect();
    write(folder, "image", &images)?;
    let of_format = images.iter().filter_map(|image| {
        let which = MAGICS.iter().position(|magic| image.starts_with(magic))?;
        Some([&[which as u8], image.as_slice()].concat())
    });
    write(folder, "format", &of_format.collect::<Vec<_>>())?;
    write(folder, "case", &cases().map(|text| text.into_bytes()))?;
    write(folder, "weights", &weights())?;
    let pins = ["1 2\n4 6\n", "Net\n0 0 1 / 1 1\n2 2\nNet\n3 3 0\n4 4\n\n"];
    write(folder, "pins", &pins.map(|text| text.as_bytes().to_vec()))
}

fn write(folder: &Path, target: &str, seeds: &[Vec<u8>]) -> Result<()> {
    let folder = folder.join(target);
    fs::create_dir_all(&folder)?;
    for (i, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("seed-{i:03}")), seed)?;
    }
    Ok(())
}

fn tiffs() -> Vec<Vec<u8>> {
    let sample = |x: usize, y: usize, c: usize| (x / 3 * 31 + y / 2 * 57 + c * 91) as u64;
    let mut files = Vec::new();
    for compression in [1, 5, 8, 32773] {
        for tile in [None, Some((16, 16))] {
            for (samples, separate) in [(1, false), (3, false), (3, true), (4, false)] {
                for (bits, format, predictor) in [
                    (8, 1, 1),
                    (8, 1, 2),
                    (16, 1, 2),
                    (32, 3, 3),
                    (16, 2, 2),
                    (32, 2, 1),
                    (1, 1, 1),
                    (32, 1, 1),
                    (64, 2, 2),
                ] {
                    if samples > 1 && (format != 1 || bits == 1) {
                        continue;
                    }
                    let form = Form {
                        tile,
                        compression,
                        samples,
                        channels: samples.min(3),
                        separate,
                        bits,
                        format,
                        predictor,
                        rows_per_strip: 5,
                        big_endian: predictor == 2,
                        ..Form::plain(19, 9)
                    };
                    let nodata = (42113, 2, b"-9999\0".to_vec());
                    let keys = (34735, 3, vec![1, 0, 1, 0, 0, 0, 0, 0]);
                    let doubles = |values: [f64; 6]| -> Vec<u8> {
                        let bytes = values.map(|value| match form.big_endian {
                            true => value.to_be_bytes(),
                            false => value.to_le_bytes(),
                        });
                        bytes.concat()
                    };
                    let scale = (33550, 12, doubles([30.0, 20.0, 0.0, 0.0, 0.0, 0.0]));
                    let tie = (33922, 12, doubles([0.0, 0.0, 0.0, 5e5, 4e6, 0.0]));
                    files.push(form.file_with(&[nodata, keys, scale, tie], &sample));
                }
            }
        }
    }
    files
}

fn pictures() -> Vec<Vec<u8>> {
    let grey = image::GrayImage::from_fn(19, 9, |x, y| image::Luma([(x * 13 * y) as u8]));
    let grey = DynamicImage::from(grey);
    let all = [
        grey.clone(),
        grey.to_rgb8().into(),
        grey.to_rgba8().into(),
        grey.to_luma16().into(),
        grey.to_luma_alpha8().into(),
    ];
    let formats = [
        ImageFormat::Png,
        ImageFormat::Bmp,
        ImageFormat::Pnm,
        ImageFormat::Tiff,
    ];
    let mut files = Vec::new();
    for picture in &all {
        for format in formats {
            let mut bytes = Cursor::new(Vec::new());
            if picture.write_to(&mut bytes, format).is_ok() {
                files.push(bytes.into_inner());
            }
        }
    }
    let mask = "blobs"
        .parse::<trazar::generate::Pattern>()
        .expect("a pattern");
    let mask = mask.generate(40, 20, 1).expect("a mask");
    let mut bytes = Vec::new();
    trazar::formats::write_image_png(&mask, &mut bytes).expect("a PNG");
    files.push(bytes);
    files
}

/// BMPs with few bits per pixel, and with runs.
fn bitmaps() -> Vec<Vec<u8>> {
    let bitmap = |depth: u32, compression: u32, data: &[u8]| {
        let colours = 1usize << depth;
        let start = 54 + 4 * colours;
        let words = [
            (start + data.len()) as u32,
            0,
            start as u32,
            40,
            16,
            4,
            1 | depth << 16,
            compression,
            data.len() as u32,
            0,
            0,
            colours as u32,
            0,
        ];
        let mut bytes = b"BM".to_vec();
        bytes.extend(words.map(u32::to_le_bytes).concat());
        bytes.extend((0..colours).flat_map(|i| [(i * 255 / (colours - 1)) as u8; 4]));
        bytes.extend(data);
        bytes
    };
    let runs = [
        5, 200, 0, 3, 7, 99, 255, 0, 0, 0, 0, 2, 3, 1, 8, 255, 0, 0, 0, 1,
    ];
    vec![
        bitmap(1, 0, &[0xa5; 16]),
        bitmap(4, 0, &[0x3c; 32]),
        bitmap(8, 0, &[0x99; 64]),
        bitmap(8, 1, &runs),
        bitmap(4, 2, &runs),
    ]
}

fn texts() -> Vec<Vec<u8>> {
    [
        "P1\n# comment\n4 2\n1 0 1 0\n0110\n",
        "P2\n3 2\n15\n0 5 15\n3 9 11\n",
        "P3\n1 1\n255\n1 2 3\n",
        "P4\n9 2\n\x7f\x01\x7f\x01",
        "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nTUPLTYPE GRAYSCALE\nENDHDR\nab",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn array(dtype: &str, fortran: bool, shape: &str, len: usize) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let header =
        format!("{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..len).map(|i| (i * 37) as u8));
    bytes
}

fn arrays() -> Vec<Vec<u8>> {
    let dtypes = [
        "|b1", "|u1", "<u2", ">u2", "<i2", ">i2", "<i4", ">i4", "<f4", ">f4", "<f8", ">f8",
    ];
    let both = dtypes.iter().flat_map(|dtype| {
        let size: usize = dtype[2..].parse().expect("a size");
        [false, true].map(|fortran| array(dtype, fortran, "(5, 7)", 35 * size))
    });
    both.collect()
}

fn cases() -> [String; 4] {
    let flat = "3 3\n2\nPin 1 1\nPin 0 2\nVertical 24 26\nVertical 47 13\nVertical 70 2\n\
                Horizontal 33 68 51\nHorizontal 80 24 77\n";
    let stacked = "2 2 2\n1\nPin 0 1 1 / 1 0 0\nNet 0\nNet 1\nPin 1 1 0\nVertical 1\nVertical x\n\
                   Horizontal 2 3\nVia 4 5\nVia x 6\nVertical 7\nVertical 8\n\
                   Horizontal 4294967294 0\n";
    let window = "3 2\n2\nPin 0 0\nPin 1 1\nWindow 0 0 2 2\nNet 1\nPin 1 2\nVertical 1 2\n\
                  Vertical 3 4\nHorizontal 5 x 7\n";
    [flat, stacked, window, "1 1\n0\nVertical\n"].map(str::to_owned)
}

fn weights() -> Vec<Vec<u8>> {
    let flat = |dtype: &str, size: usize, fortran| {
        join(&[
            &array(dtype, fortran, "(5, 6)", 30 * size),
            &array(dtype, fortran, "(4, 7)", 28 * size),
            b"",
            b"0 0\n4 6\nNet\n1 1\n2 2\n",
        ])
    };
    let stacked = join(&[
        &array("<u2", false, "(2, 3, 3)", 36),
        &array("|u1", true, "(2, 2, 4)", 16),
        &array(">u4", false, "(1, 3, 4)", 48),
        b"0 0 0 / 1 1 1\n2 3 1\n",
    ]);
    vec![
        flat("|u1", 1, false),
        flat("<u2", 2, true),
        flat(">u4", 4, false),
        stacked,
    ]
}
