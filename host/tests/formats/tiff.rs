//! TIFF files of every layout.

use std::io::Write;

use trazar::Error;
use trazar::formats::{Note, ReadImage, ReadOptions, SampleKind, read_image};

use crate::tiffs::Form;

fn read(bytes: &[u8], threshold: Option<f64>) -> Result<ReadImage, Error> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let options = ReadOptions::default().threshold(threshold);
    read_image(file.path(), &options)
}

#[track_caller]
fn holds(form: Form, bytes: &[u8], threshold: Option<f64>, is_set: impl Fn(usize, usize) -> bool) {
    let image = read(bytes, threshold).unwrap_or_else(|error| panic!("{form:?}: {error}"));
    let image = image.image;
    assert_eq!(
        (image.width() as usize, image.height() as usize),
        (form.width, form.height)
    );
    for y in 0..form.height {
        for x in 0..form.width {
            let found = image.get(x as u32, y as u32);
            assert_eq!(found, is_set(x, y), "({x}, {y}) of {form:?}");
        }
    }
}

#[track_caller]
fn refused(bytes: &[u8], words: &[&str]) {
    match read(bytes, None) {
        Err(Error::Unreadable { reason, .. }) => {
            for word in words {
                assert!(reason.contains(word), "no {word:?} in {reason}");
            }
        }
        other => panic!("{other:?} where {words:?} should be said"),
    }
}

/// Sides that are not multiples of a tile's.
pub(crate) const PLAIN: (usize, usize) = (37, 21);

/// A sample of eight bits; in the padding beyond the image, another one.
fn noise(x: usize, y: usize, c: usize) -> u64 {
    if x >= PLAIN.0 || y >= PLAIN.1 {
        return 0xff;
    }
    // Runs of equal values too.
    (((x / 3 * 31 + y / 2 * 57 + c * 91) * 0x9e37) >> 7) as u64 & 0xff
}

pub(crate) fn layouts() -> impl Iterator<Item = Form> {
    let plain = Form::plain(PLAIN.0, PLAIN.1);
    let tiles = [None, Some((16, 16)), Some((64, 8))].into_iter();
    tiles.flat_map(move |tile| {
        [1, 5, 8, 32773].into_iter().flat_map(move |compression| {
            [false, true].map(|big_endian| Form {
                tile,
                compression,
                big_endian,
                rows_per_strip: 5,
                ..plain
            })
        })
    })
}

/// Among them those at which the crate `tiff` panics: separate planes in tiles, with a height that
/// is no multiple of the tile's.
#[test]
fn strips_and_tiles_of_every_packing() {
    for form in layouts() {
        for (samples, channels) in [(1, 1), (3, 3), (4, 3)] {
            for (separate, predictor) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
                for bits in [8, 16] {
                    let form = Form {
                        samples,
                        channels,
                        separate,
                        predictor,
                        bits,
                        ..form
                    };
                    let scale = if bits == 16 { 257 } else { 1 };
                    let bytes = form.file(&|x, y, c| scale * noise(x, y, c));
                    let grey = |x, y| {
                        let [r, g, b] = [0, 1, 2].map(|c| scale * noise(x, y, c));
                        match channels {
                            1 => r,
                            _ => (19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16,
                        }
                    };
                    let threshold = 100 * scale;
                    let is_set = |x, y| grey(x, y) > threshold;
                    holds(form, &bytes, Some(threshold as f64), is_set);
                }
            }
        }
    }
}

#[test]
fn signed_samples_and_floats() {
    let value = |x, y| noise(x, y, 0) as i64 * 11 - 900;
    for form in layouts() {
        for (bits, format, predictor, kind) in [
            (16, 2, 1, SampleKind::I16),
            (16, 2, 2, SampleKind::I16),
            (32, 2, 1, SampleKind::I32),
            (32, 2, 2, SampleKind::I32),
            (32, 3, 1, SampleKind::F32),
            (32, 3, 3, SampleKind::F32),
            (64, 3, 1, SampleKind::F64),
            (64, 3, 3, SampleKind::F64),
        ] {
            let form = Form {
                bits,
                format,
                predictor,
                ..form
            };
            let sample = |x, y, _| match (format, bits) {
                (2, _) => value(x, y) as u64,
                (_, 32) => u64::from((value(x, y) as f32).to_bits()),
                _ => (value(x, y) as f64).to_bits(),
            };
            let bytes = form.file(&sample);
            assert_eq!(read(&bytes, None).unwrap().kind, kind);
            if format == 2 {
                holds(form, &bytes, None, |x, y| value(x, y) > 0);
            }
            holds(form, &bytes, Some(-456.5), |x, y| value(x, y) > -457);
        }
    }
    let form = Form {
        bits: 16,
        format: 2,
        ..Form::plain(3, 1)
    };
    let bytes = form.file(&|x, _, _| [-32768i64, 0, 32767][x] as u64);
    holds(form, &bytes, Some(-32768.0), |x, _| x > 0);
    holds(form, &bytes, Some(32767.0), |_, _| false);
    assert!(matches!(
        read(&bytes, Some(40000.0)),
        Err(Error::InvalidOption(_))
    ));
}

/// All pixels are there, but the end code is missing, which some writers leave out.
#[test]
fn lzw_without_an_end() {
    for form in layouts().filter(|form| form.compression == 5) {
        let form = Form {
            lzw_end: false,
            ..form
        };
        let bytes = form.file(&noise);
        holds(form, &bytes, Some(100.0), |x, y| noise(x, y, 0) > 100);
    }
}

#[test]
fn single_bits() {
    for form in layouts() {
        for lowest_bit_first in [false, true] {
            let form = Form {
                bits: 1,
                lowest_bit_first,
                ..form
            };
            let bytes = form.file(&|x, y, _| noise(x, y, 0) >> 4);
            holds(form, &bytes, None, |x, y| noise(x, y, 0) >> 4 & 1 == 1);
        }
    }
}

/// 16 × 16 pixels, black but for the lower right quarter.
const JPEG: &[u8] = &[
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01,
    0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x03, 0x02, 0x02, 0x03, 0x02, 0x02, 0x03,
    0x03, 0x03, 0x03, 0x04, 0x03, 0x03, 0x04, 0x05, 0x08, 0x05, 0x05, 0x04, 0x04, 0x05, 0x0a, 0x07,
    0x07, 0x06, 0x08, 0x0c, 0x0a, 0x0c, 0x0c, 0x0b, 0x0a, 0x0b, 0x0b, 0x0d, 0x0e, 0x12, 0x10, 0x0d,
    0x0e, 0x11, 0x0e, 0x0b, 0x0b, 0x10, 0x16, 0x10, 0x11, 0x13, 0x14, 0x15, 0x15, 0x15, 0x0c, 0x0f,
    0x17, 0x18, 0x16, 0x14, 0x18, 0x12, 0x14, 0x15, 0x14, 0xff, 0xc0, 0x00, 0x0b, 0x08, 0x00, 0x10,
    0x00, 0x10, 0x01, 0x01, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x16, 0x00, 0x01, 0x01, 0x01, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x0a, 0xff, 0xc4,
    0x00, 0x14, 0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0x95, 0x40,
    0xd5, 0x43, 0xff, 0xd9,
];

#[test]
fn tiles_of_jpeg() {
    let form = Form {
        tile: Some((16, 16)),
        compression: 7,
        ..Form::plain(27, 16)
    };
    let bytes = form.file_of(&[JPEG.to_vec(), JPEG.to_vec()], &[]);
    holds(form, &bytes, None, |x, y| x % 16 >= 8 && y >= 8);
    // In two parts, the tables and the rest, each with a start and an end.
    let rest = JPEG
        .windows(2)
        .position(|marker| marker == [0xff, 0xc0])
        .unwrap();
    let tables = [&JPEG[..rest], &[0xff, 0xd9]].concat();
    let data = [&[0xff, 0xd8], &JPEG[rest..]].concat();
    let bytes = form.file_of(&[data.clone(), data.clone()], &[(347, 7, tables)]);
    holds(form, &bytes, None, |x, y| x % 16 >= 8 && y >= 8);
    // Sizes that differ from the tile's; no memory is allocated for them.
    let start = data
        .windows(2)
        .position(|marker| marker == [0xff, 0xc0])
        .unwrap();
    for side in [[0, 8], [0, 17], [0xff, 0xff]] {
        let mut other = JPEG.to_vec();
        let start = start + JPEG.len() - data.len();
        other[start + 5..][..2].copy_from_slice(&side);
        other[start + 7..][..2].copy_from_slice(&side);
        refused(
            &form.file_of(&[other.clone(), other], &[]),
            &["tile 0", "JPEG"],
        );
    }
}

#[test]
fn what_a_file_cannot_hold() {
    let form = Form {
        tile: Some((16, 16)),
        compression: 8,
        ..Form::plain(20, 20)
    };
    let bytes = form.file(&noise);
    holds(form, &bytes, Some(100.0), |x, y| noise(x, y, 0) > 100);
    let packed = vec![0u8; 4];
    refused(&form.file_of(&vec![packed; 4], &[]), &["tile 0", "deflate"]);
    refused(
        &form.file_of(&vec![Vec::new(); 4], &[]),
        &["tile 0", "sparse"],
    );
    refused(&form.file_of(&vec![vec![0; 9]; 3], &[]), &["damaged"]);
    let huge = Form {
        tile: Some((16, 65520)),
        ..Form::plain(16, 65520)
    };
    for compression in [1, 5, 8, 7, 32773] {
        let huge = Form {
            compression,
            ..huge
        };
        refused(&huge.file_of(&[vec![0; 20]], &[]), &["cannot hold"]);
    }
    for len in 0..bytes.len() {
        assert!(
            read(&bytes[..len], None).is_err(),
            "{len} of {}",
            bytes.len()
        );
    }
}

#[test]
fn what_is_left_out_is_noted() {
    let form = Form::plain(4, 3);
    let double = |values: &[f64]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let shorts = |values: &[u16]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let fields = [
        (33550, 12, double(&[30.0, 30.0, 0.0])),
        (33922, 12, double(&[0.0, 0.0, 0.0, 5e5, 4e6, 0.0])),
        (34735, 3, shorts(&[1, 1, 0, 1, 3072, 0, 1, 32633])),
        (42113, 2, b"-9999\x1b\n\0".to_vec()),
    ];
    let notes = |bytes: &[u8]| read(bytes, None).unwrap().notes;
    assert_eq!(notes(&form.file(&noise)), []);
    let bytes = form.file_with(&fields, &noise);
    let georeference = |crs, transform| Note::Georeference { crs, transform };
    let no_data = Note::NoData("-9999".into());
    assert_eq!(notes(&bytes), [georeference(true, true), no_data]);
    assert_eq!(
        notes(&form.file_with(&fields[..1], &noise)),
        [georeference(false, true)]
    );
    assert_eq!(
        notes(&form.file_with(&fields[2..3], &noise)),
        [georeference(true, false)]
    );
    // Pages: a full one, a smaller copy, and a chain that leads back to its start.
    let page = form.file(&noise);
    let first = u32::from_le_bytes(page[4..8].try_into().unwrap());
    let entries = u16::from_le_bytes(page[first as usize..][..2].try_into().unwrap());
    let link = first as usize + 2 + 12 * usize::from(entries);
    let at = page.len().next_multiple_of(2) as u32;
    let directory = |kind: u32, next: u32| {
        let mut bytes = 1u16.to_le_bytes().to_vec();
        bytes.extend([254u16, 4].map(u16::to_le_bytes).concat());
        bytes.extend([1, kind, next].map(u32::to_le_bytes).concat());
        bytes
    };
    let chain = |directories: &[Vec<u8>]| {
        let mut bytes = page.clone();
        bytes.resize(at as usize, 0);
        bytes[link..link + 4].copy_from_slice(&at.to_le_bytes());
        bytes.extend(directories.concat());
        notes(&bytes)
    };
    // Each takes 18 bytes.
    assert_eq!(chain(&[directory(0, 0)]), [Note::MorePages(1)]);
    assert_eq!(chain(&[directory(1, 0)]), []);
    let three = [
        directory(0, at + 18),
        directory(1, at + 36),
        directory(2, first),
    ];
    assert_eq!(chain(&three), [Note::MorePages(2)]);
}
