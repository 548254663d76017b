//! Values as they are stored, of every format and type.

use trazar::Error;
use trazar::distance::Source;
use trazar::formats::{
    ImageBands, NoData, RasterBands, RasterValues, ReadOptions, read_image, read_raster,
    sources_of_raster,
};

use crate::bands::{file, interlaced_png, npy};
use crate::tiff::{PLAIN, layouts};
use crate::tiffs::Form;

/// The bits of the values, which tell numbers apart that are not equal to themselves.
fn bits(values: &RasterValues) -> Vec<u64> {
    fn all<T: Copy>(values: &[T], bits: impl Fn(T) -> u64) -> Vec<u64> {
        values.iter().map(|&value| bits(value)).collect()
    }
    match values {
        RasterValues::U8(values) => all(values, u64::from),
        RasterValues::U16(values) => all(values, u64::from),
        RasterValues::U32(values) => all(values, u64::from),
        RasterValues::I16(values) => all(values, |value| value.cast_unsigned().into()),
        RasterValues::I32(values) => all(values, |value| value.cast_unsigned().into()),
        RasterValues::I64(values) => all(values, i64::cast_unsigned),
        RasterValues::F32(values) => all(values, |value| value.to_bits().into()),
        RasterValues::F64(values) => all(values, f64::to_bits),
        other => panic!("{other:?}"),
    }
}

/// Reads a file as a whole and in bands: it has values of this type with these bits.
#[track_caller]
fn check(bytes: &[u8], size: (usize, usize), dtype: &str, expected: &[u64], name: &str) {
    let file = file(bytes);
    let raster = read_raster(file.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!((raster.width as usize, raster.height as usize), size);
    assert_eq!(raster.values.dtype(), dtype, "{name}");
    assert!(bits(&raster.values) == expected, "{name}");
    for at_once in [1, 3, 64, 1000] {
        let mut bands = RasterBands::open(file.path()).unwrap();
        assert_eq!(bands.kind(), raster.kind);
        for pass in 0..2 {
            let mut found = Vec::new();
            while let Some(band) = bands.next_band(at_once).unwrap() {
                found.extend(bits(&band));
            }
            assert!(found == expected, "{name}, {at_once} rows, pass {pass}");
            bands.rewind().unwrap();
        }
    }
}

#[track_caller]
fn refused(bytes: &[u8], words: &str) {
    match read_raster(file(bytes).path()) {
        Err(Error::Unreadable { reason, .. }) => assert!(reason.contains(words), "{reason}"),
        other => panic!("{other:?} where {words:?} should be said"),
    }
}

/// A number that depends on the pixel, equal in small blocks.
fn mixed(x: usize, y: usize) -> u64 {
    ((x / 3 * 31 + y / 2 * 57) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn all_of(size: (usize, usize), value: impl Fn(usize, usize) -> u64) -> Vec<u64> {
    let rows = 0..size.1;
    rows.flat_map(|y| (0..size.0).map(move |x| (x, y)))
        .map(|(x, y)| value(x, y))
        .collect()
}

#[test]
fn tiffs_of_every_type_and_layout() {
    for form in layouts() {
        for (bits, format, predictor, dtype) in [
            (1, 1, 1, "uint8"),
            (8, 1, 1, "uint8"),
            (8, 1, 2, "uint8"),
            (16, 1, 2, "uint16"),
            (16, 2, 1, "int16"),
            (32, 1, 1, "uint32"),
            (32, 1, 2, "uint32"),
            (32, 2, 2, "int32"),
            (64, 2, 1, "int64"),
            (64, 2, 2, "int64"),
            (32, 3, 3, "float32"),
            (64, 3, 1, "float64"),
        ] {
            let form = Form {
                bits,
                format,
                predictor,
                ..form
            };
            let value = |x, y| mixed(x, y) >> (64 - bits);
            let bytes = form.file(&|x, y, _| value(x, y));
            let name = format!("{form:?}");
            check(&bytes, PLAIN, dtype, &all_of(PLAIN, value), &name);
        }
    }
}

/// Bands that end within strips and tiles, of more pixels than are decoded at once.
#[test]
fn tiffs_of_several_batches() {
    let size = (2100, 2100);
    for tile in [None, Some((256, 256))] {
        let form = Form {
            rows_per_strip: 7,
            tile,
            compression: 8,
            ..Form::plain(size.0, size.1)
        };
        let value = |x, y| mixed(x, y) >> 56;
        let bytes = form.file(&|x, y, _| value(x, y));
        check(&bytes, size, "uint8", &all_of(size, value), "batches");
    }
}

#[test]
fn npy_of_every_type_and_order() {
    let size = (70, 41);
    for (dtype, name) in [
        ("|u1", "uint8"),
        ("<u2", "uint16"),
        (">u4", "uint32"),
        ("<u4", "uint32"),
        ("<i2", "int16"),
        (">i4", "int32"),
        ("<i8", "int64"),
        (">i8", "int64"),
        ("<f4", "float32"),
        (">f8", "float64"),
    ] {
        let len: usize = dtype[2..].parse().unwrap();
        let value = |x, y| mixed(x, y) >> (64 - 8 * len);
        for fortran in [false, true] {
            let mut values = Vec::new();
            let mut put = |x, y| match dtype.starts_with('>') {
                true => values.extend(&value(x, y).to_be_bytes()[8 - len..]),
                false => values.extend(&value(x, y).to_le_bytes()[..len]),
            };
            match fortran {
                true => (0..size.0).for_each(|x| (0..size.1).for_each(|y| put(x, y))),
                false => (0..size.1).for_each(|y| (0..size.0).for_each(|x| put(x, y))),
            }
            let bytes = npy(dtype, fortran, (size.1, size.0), &values);
            check(&bytes, size, name, &all_of(size, value), dtype);
        }
    }
    let bytes = npy("|b1", false, (1, 3), &[0, 1, 1]);
    check(&bytes, (3, 1), "uint8", &[0, 1, 1], "bool");
    refused(&npy("<u8", false, (1, 1), &[0; 8]), "uint32");
}

/// A picture of packed samples.
fn png(size: (usize, usize), color: png::ColorType, bits: usize, samples: &[u64]) -> Vec<u8> {
    let mut data = Vec::new();
    for row in samples.chunks(size.0) {
        let mut packed = vec![0u8; (size.0 * bits).div_ceil(8)];
        for (x, sample) in row.iter().enumerate() {
            match bits {
                16 => packed[2 * x..][..2].copy_from_slice(&(*sample as u16).to_be_bytes()),
                _ => packed[x * bits / 8] |= (*sample as u8) << (8 - bits - x * bits % 8),
            }
        }
        data.extend(packed);
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.0 as u32, size.1 as u32);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::from_u8(bits as u8).unwrap());
    if color == png::ColorType::Indexed {
        // Entries of equal colours: indices are what counts.
        encoder.set_palette(vec![9; 3 << bits]);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&data).unwrap();
    writer.finish().unwrap();
    bytes
}

#[test]
fn pngs_of_one_channel() {
    let size = (29, 13);
    for bits in [1, 2, 4, 8, 16] {
        let values = all_of(size, |x, y| mixed(x, y) >> (64 - bits));
        let dtype = if bits == 16 { "uint16" } else { "uint8" };
        for color in [png::ColorType::Grayscale, png::ColorType::Indexed] {
            if bits == 16 && color == png::ColorType::Indexed {
                continue;
            }
            let bytes = png(size, color, bits, &values);
            check(&bytes, size, dtype, &values, &format!("{bits} {color:?}"));
        }
    }
    let interlaced = file(&interlaced_png());
    let raster = read_raster(interlaced.path()).unwrap();
    let image = read_image(interlaced.path(), &ReadOptions::default()).unwrap();
    for (i, value) in (0..).zip(bits(&raster.values)) {
        let (x, y) = (i % raster.width, i / raster.width);
        assert_eq!(image.image.get(x, y), value as f64 > image.threshold);
    }
    assert!(RasterBands::open(interlaced.path()).is_err());
}

#[test]
fn netpbm_keeps_small_numbers() {
    check(
        b"P2 3 2 9 1 2 3 7 9 0",
        (3, 2),
        "uint8",
        &[1, 2, 3, 7, 9, 0],
        "P2",
    );
    check(
        b"P5 2 2 9\n\x01\x09\0\x02",
        (2, 2),
        "uint8",
        &[1, 9, 0, 2],
        "P5",
    );
    check(
        b"P2 2 1 1000 999 3",
        (2, 1),
        "uint16",
        &[999, 3],
        "P2 of words",
    );
    check(b"P1 3 1 010", (3, 1), "uint8", &[1, 0, 1], "P1");
    check(
        b"P4 9 1\n\x40\x80",
        (9, 1),
        "uint8",
        &[1, 0, 1, 1, 1, 1, 1, 1, 0],
        "P4",
    );
    let pam = b"P7\nWIDTH 3\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nENDHDR\n\0\x01\0";
    check(pam, (3, 1), "uint8", &[0, 1, 0], "P7");
}

#[test]
fn what_has_no_values() {
    let rgb = Form {
        samples: 3,
        channels: 3,
        ..Form::plain(2, 2)
    };
    refused(&rgb.file(&|_, _, _| 7), "one channel");
    refused(b"P3 1 1 9 1 2 3", "one channel");
    refused(
        &png((2, 1), png::ColorType::GrayscaleAlpha, 8, &[0; 4]),
        "one channel",
    );
    refused(b"BM..............", "colours, not values");
    refused(b"P5 2 2 9\n\x01\x09\0", "truncated");
}

/// A palette's indices, and zeros that are white, are values like others.
#[test]
fn tiffs_that_are_pictures() {
    let form = Form::plain(5, 4);
    let value = |x: usize, y: usize| (x * y) as u64;
    for (photometric, colours) in [(0, false), (3, true)] {
        let map: Vec<u8> = vec![0; 2 * 3 * 256];
        let map = [(320, 3, map)];
        let more = if colours { &map[..] } else { &[] };
        let mut bytes = form.file_with(more, &|x, y, _| value(x, y));
        let tag = [6, 1, 3, 0, 1, 0, 0, 0];
        let at = bytes.windows(8).position(|field| field == tag).unwrap();
        bytes[at + 8] = photometric;
        check(&bytes, (5, 4), "uint8", &all_of((5, 4), value), "pictures");
    }
}

/// Files with some bytes changed: values or one line, whole and in bands.
#[test]
fn damaged_files() {
    let doubles = |values: &[f64]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let fields = [
        (33550, 12, doubles(&[30.0, 20.0, 0.0])),
        (33922, 12, doubles(&[0.0, 0.0, 0.0, 5e5, 4e6, 0.0])),
        (
            34735,
            3,
            [1u16, 1, 0, 1, 3072, 0, 1, 32633]
                .map(u16::to_le_bytes)
                .concat(),
        ),
        (42113, 2, b"-9999\0".to_vec()),
    ];
    let mut files = vec![
        npy("<i4", false, (7, 9), &[3; 4 * 63]),
        b"P5 9 7 255\n".iter().copied().chain([5; 63]).collect(),
        png((9, 7), png::ColorType::Indexed, 4, &[3; 63]),
    ];
    for (compression, bits, tile) in [(1, 32, None), (5, 16, Some((16, 16))), (8, 8, None)] {
        let form = Form {
            compression,
            bits,
            tile,
            rows_per_strip: 3,
            ..Form::plain(29, 17)
        };
        files.push(form.file_with(&fields, &|x, y, _| mixed(x, y) >> 60));
    }
    let seed = trazar_test_seeds::seed_or(30);
    let mut random = trazar_test_seeds::Random::new(seed);
    let line = |error: &Error| {
        let text = error.to_string();
        assert!(!text.contains('\n') && !text.contains("host/src"), "{text}");
    };
    for _ in 0..200 {
        for bytes in &files {
            let mut bytes = bytes.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len() as u32) as usize;
                bytes[at] = [0, 1, 0x7f, 0xff, random.below(256) as u8][random.below(5) as usize];
            }
            let file = file(&bytes);
            let whole = read_raster(file.path());
            let mut bands = match (&whole, RasterBands::open(file.path())) {
                (_, Ok(bands)) => bands,
                (Err(whole), Err(error)) => {
                    line(whole);
                    line(&error);
                    continue;
                }
                (Ok(raster), Err(error)) => panic!("{raster:?}, {error}"),
            };
            let mut found = Vec::new();
            let result = loop {
                match bands.next_band(5) {
                    Ok(Some(band)) => found.extend(bits(&band)),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            match (whole, result) {
                (Ok(raster), Ok(())) => {
                    assert_eq!(bits(&raster.values), found);
                    if let Err(error) = raster.georeference() {
                        line(&error);
                    }
                }
                (Err(whole), Err(error)) => {
                    line(&whole);
                    line(&error);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Of samples with a threshold: pixels without data are background, inverted or not.
#[test]
fn pixels_without_data_are_background() {
    let floats = [f32::NAN, 0.2, 0.9, -9999.0, 7.0, 0.0, f32::NAN, 0.9];
    let values: Vec<u8> = floats.iter().flat_map(|v| v.to_le_bytes()).collect();
    let of_floats = |fortran| npy("<f4", fortran, (2, 4), &values);
    let at = |fortran, x: usize, y: usize| match fortran {
        false => f64::from(floats[4 * y + x]),
        true => f64::from(floats[2 * x + y]),
    };
    for fortran in [false, true] {
        let value = |x, y| at(fortran, x, y);
        for threshold in [0.5, -1e4, 7.0] {
            let no_data = NoData::Value(f64::NAN);
            background(&of_floats(fortran), no_data, threshold, value, f64::is_nan);
        }
        let options = ReadOptions::default().no_data(NoData::Value(-9999.0));
        let refused = read_image(file(&of_floats(fortran)).path(), &options);
        assert!(matches!(refused, Err(Error::NotANumber { x: 0, y: 0, .. })));
    }
    let form = Form {
        tile: Some((16, 16)),
        bits: 16,
        format: 2,
        ..Form::plain(37, 21)
    };
    let value = |x, y| (mixed(x, y) >> 62) as f64 - 2.0;
    let sample = |x, y, _| value(x, y) as i64 as u64;
    let named = form.file_with(&[(42113, 2, b"-1\0".to_vec())], &sample);
    for threshold in [-2.0, -1.0, 0.0, 32767.0, -32768.0] {
        background(&named, NoData::OfFile, threshold, value, |v| v == -1.0);
        background(&named, NoData::None, threshold, value, |_| false);
        background(&named, NoData::Value(1.0), threshold, value, |v| v == 1.0);
        // No sample can have these.
        background(&named, NoData::Value(0.5), threshold, value, |_| false);
        background(&named, NoData::Value(7e4), threshold, value, |_| false);
    }
    let form = Form {
        bits: 1,
        ..Form::plain(70, 3)
    };
    let value = |x, y| (mixed(x, y) >> 63) as f64;
    let bits = form.file(&|x, y, _| mixed(x, y) >> 63);
    for threshold in [0.0, 0.5, 1.0] {
        for missing in [0.0, 1.0, 7.0, 0.5, -1.0] {
            let no_data = NoData::Value(missing);
            background(&bits, no_data, threshold, value, |v| v == missing);
        }
    }
}

#[track_caller]
fn background(
    bytes: &[u8],
    no_data: NoData,
    threshold: f64,
    value: impl Fn(usize, usize) -> f64,
    is_missing: impl Fn(f64) -> bool,
) {
    let file = file(bytes);
    for invert in [false, true] {
        let options = ReadOptions::default()
            .no_data(no_data)
            .threshold(threshold)
            .invert(invert);
        let image = read_image(file.path(), &options).unwrap().image;
        let mut bands = ImageBands::open(file.path(), &options).unwrap();
        for y in 0..image.height() {
            let band = bands.next_band(1).unwrap().unwrap();
            for x in 0..image.width() {
                let value = value(x as usize, y as usize);
                let expected = !is_missing(value) && (value > threshold) != invert;
                let name = format!("{value} at {x}, {y} with {options:?}");
                assert_eq!(image.get(x, y), expected, "{name}");
                assert_eq!(band.get(x, 0), expected, "{name}, in a band");
            }
        }
    }
}

#[test]
fn rasters_of_ids_are_sources() {
    let ids = |values: RasterValues, no_data| {
        let sources = sources_of_raster(&values, no_data, 3, 2)?;
        Ok::<_, Error>(sources.as_slice().to_vec())
    };
    let expected = [Source::new(1, 0, 9), Source::new(0, 1, 4)];
    for values in [
        RasterValues::U8(vec![0, 9, 0, 4, 0, 200]),
        RasterValues::U16(vec![0, 9, 0, 4, 0, 200]),
        RasterValues::U32(vec![0, 9, 0, 4, 0, 200]),
        RasterValues::I16(vec![0, 9, 0, 4, 0, 200]),
        RasterValues::I32(vec![0, 9, 0, 4, 0, 200]),
        RasterValues::I64(vec![0, 9, 0, 4, 0, 200]),
        RasterValues::F32(vec![-0.0, 9.0, f32::NAN, 4.0, 0.0, 200.0]),
        RasterValues::F64(vec![-0.0, 9.0, f64::NAN, 4.0, 0.0, 200.0]),
    ] {
        assert_eq!(ids(values, Some(200.0)).unwrap(), expected);
    }
    let most = u32::MAX;
    let found = ids(RasterValues::I64(vec![0, 0, 0, 0, 0, most.into()]), None);
    assert_eq!(found.unwrap(), [Source::new(2, 1, most)]);
    for bad in [-1.0, 1.5, 4_294_967_296.0, f64::INFINITY] {
        let error = ids(RasterValues::F64(vec![0.0, 0.0, 0.0, 0.0, bad, 0.0]), None);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("row 1, column 1"), "{error}");
    }
    for len in [0, 5, 7] {
        let error = ids(RasterValues::U8(vec![1; len]), None).unwrap_err();
        assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        let words = format!("6 elements is needed, but one of {len} was given");
        assert!(error.to_string().contains(&words), "{error}");
    }
}
