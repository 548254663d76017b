//! Georeferences of GeoTIFFs, true and false.

use trazar::Error;
use trazar::formats::{
    Affine, Crs, GeoReference, ImageBands, Note, RasterBands, ReadOptions, read_image, read_raster,
};

use crate::bands::file;
use crate::tiffs::Form;

type Field = (u16, u16, Vec<u8>);

fn doubles(tag: u16, values: &[f64]) -> Field {
    (
        tag,
        12,
        values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    )
}

fn scale(values: &[f64]) -> Field {
    doubles(33550, values)
}

fn tie(values: &[f64]) -> Field {
    doubles(33922, values)
}

fn matrix(values: &[f64]) -> Field {
    doubles(34264, values)
}

fn keys(values: &[u16]) -> Field {
    (
        34735,
        3,
        values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    )
}

fn read(fields: &[Field]) -> Result<Option<GeoReference>, Error> {
    let file = file(&Form::plain(4, 3).file_with(fields, &|x, y, _| (x + y) as u64));
    let found = read_raster(file.path()).unwrap().georeference();
    // All readers say the same.
    let others = [
        RasterBands::open(file.path()).unwrap().georeference(),
        read_image(file.path(), &ReadOptions::default())
            .unwrap()
            .georeference(),
        ImageBands::open(file.path(), &ReadOptions::default())
            .unwrap()
            .georeference(),
    ];
    for other in others {
        match (&found, other) {
            (Ok(found), Ok(other)) => assert_eq!(*found, other),
            (Err(found), Err(other)) => assert_eq!(found.to_string(), other.to_string()),
            other => panic!("{other:?}"),
        }
    }
    found
}

fn transform(fields: &[Field]) -> Option<[f64; 6]> {
    let found = read(fields).unwrap()?.transform?;
    Some(found.coefficients())
}

fn crs(values: &[u16]) -> Option<Crs> {
    read(&[keys(values)]).unwrap()?.crs
}

#[track_caller]
fn refused(fields: &[Field], words: &str) {
    match read(fields) {
        Err(Error::Unreadable { reason, .. }) => {
            assert!(reason.contains(words), "no {words:?} in {reason}");
            assert!(!reason.contains('\n'));
        }
        other => panic!("{other:?} where {words:?} should be said"),
    }
}

#[test]
fn transforms() {
    assert_eq!(read(&[]).unwrap(), None);
    let point = keys(&[1, 1, 0, 1, 1025, 0, 1, 2]);
    let by_scale = [
        scale(&[30.0, 20.0, 0.0]),
        tie(&[0.0, 0.0, 0.0, 5e5, 4e6, 0.0]),
    ];
    let expected = [30.0, 0.0, 5e5, 0.0, -20.0, 4e6];
    assert_eq!(transform(&by_scale), Some(expected));
    // The tie point is another pixel; y scales always point down.
    let by_scale = [
        scale(&[2.0, -2.0, 0.0]),
        tie(&[1.0, 3.0, 0.0, 100.0, 50.0, 0.0]),
    ];
    let expected = [2.0, 0.0, 98.0, 0.0, -2.0, 56.0];
    assert_eq!(transform(&by_scale), Some(expected));
    let [a, b] = by_scale;
    let expected = [2.0, 0.0, 97.0, 0.0, -2.0, 57.0];
    assert_eq!(transform(&[a, b, point.clone()]), Some(expected));
    let turned = [
        1.0, 2.0, 0.0, 30.0, 4.0, -5.0, 0.0, 60.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0,
    ];
    let expected = [1.0, 2.0, 30.0, 4.0, -5.0, 60.0];
    assert_eq!(transform(&[matrix(&turned)]), Some(expected));
    let expected = [1.0, 2.0, 28.5, 4.0, -5.0, 60.5];
    assert_eq!(transform(&[matrix(&turned), point]), Some(expected));
    // Control points are no affine map.
    assert_eq!(transform(&[tie(&[0.0; 18])]), None);
    let map = Affine::new(expected, 4, 3).unwrap();
    assert_eq!(
        map.apply(2.0, 1.0),
        (1.0 * 2.0 + 2.0 + 28.5, 8.0 - 5.0 + 60.5)
    );
    assert!(map.mirrors());
}

#[test]
fn codes() {
    assert_eq!(
        crs(&[1, 1, 0, 1, 3072, 0, 1, 32633]),
        Some(Crs::Epsg(32633))
    );
    assert_eq!(crs(&[1, 1, 0, 1, 2048, 0, 1, 4326]), Some(Crs::Epsg(4326)));
    let both = [
        1, 1, 0, 3, 1024, 0, 1, 1, 2048, 0, 1, 4326, 3072, 0, 1, 25832,
    ];
    assert_eq!(crs(&both), Some(Crs::Epsg(25832)));
    let mut geographic = both;
    geographic[7] = 2;
    assert_eq!(crs(&geographic), Some(Crs::Epsg(4326)));
    assert_eq!(crs(&[1, 1, 0, 1, 3072, 0, 1, 32767]), Some(Crs::Other));
    // A projection without a code, on a datum with one.
    for model in [1, 32767] {
        let by_text = [1, 1, 0, 2, 1024, 0, 1, model, 2048, 0, 1, 4326];
        assert_eq!(crs(&by_text), Some(Crs::Other));
    }
    assert_eq!(crs(&[1, 1, 0, 0]), None);
    // The value is elsewhere.
    assert_eq!(crs(&[1, 1, 0, 1, 3072, 34737, 1, 5]), None);
    assert_eq!(Crs::Epsg(4326).epsg(), Some(4326));
    assert_eq!(Crs::Other.epsg(), None);
}

#[test]
fn tags_that_lie() {
    let good = tie(&[0.0, 0.0, 0.0, 5e5, 4e6, 0.0]);
    refused(
        &[scale(&[30.0]), good.clone()],
        "ModelPixelScale has 1 values",
    );
    refused(&[scale(&[30.0, 30.0, 0.0])], "no ModelTiepoint");
    refused(
        &[scale(&[30.0, 30.0, 0.0]), tie(&[0.0; 4])],
        "ModelTiepoint has 4 values",
    );
    refused(&[matrix(&[1.0; 7])], "ModelTransformation has 7 values");
    for bad in [f64::NAN, f64::INFINITY, 1e308] {
        refused(&[scale(&[bad, 30.0, 0.0]), good.clone()], "not finite");
        let far = tie(&[-1.0, 0.0, 0.0, bad, bad, 0.0]);
        if bad != 1e308 {
            refused(&[scale(&[30.0, 30.0, 0.0]), far], "not finite");
        }
    }
    refused(&[scale(&[0.0, 30.0, 0.0]), good.clone()], "no area");
    refused(&[scale(&[1e-200, 1e-200, 0.0]), good.clone()], "no area");
    // Pixels that are smaller than the difference of neighbouring numbers.
    let far = tie(&[0.0, 0.0, 0.0, 1e18, 1e18, 0.0]);
    refused(&[scale(&[30.0, 30.0, 0.0]), far], "no area");
    refused(&[matrix(&[2.0; 16])], "no area");
    // Of another type.
    refused(
        &[(33550, 2, b"30 30 0\0".to_vec()), good],
        "ModelPixelScale holds no numbers",
    );
    refused(
        &[(34735, 2, b"no keys\0".to_vec())],
        "GeoKeyDirectory holds no short numbers",
    );
    refused(&[keys(&[1, 1, 0])], "GeoKeyDirectory has 3 values");
    refused(
        &[keys(&[1, 1, 0, 2, 3072, 0, 1, 32633])],
        "claims 2 keys, and has 1",
    );
    refused(
        &[keys(&[1, 1, 0, 65535, 3072, 0, 1, 32633])],
        "claims 65535 keys, and has 1",
    );
    // Data beyond the end of the file.
    let mut bytes = Form::plain(4, 3).file_with(&[scale(&[1.0; 3]), tie(&[0.0; 6])], &|_, _, _| 0);
    let field = [0x0e, 0x83, 12, 0];
    let at = bytes.windows(4).position(|window| window == field).unwrap();
    for count in [4u32, 1000, u32::MAX] {
        bytes[at + 4..][..4].copy_from_slice(&count.to_le_bytes());
        let raster = read_raster(file(&bytes).path());
        match (count, raster.map(|raster| raster.georeference())) {
            (4, Ok(Ok(Some(_)))) => {}
            (_, Ok(Err(Error::Unreadable { .. })) | Err(Error::Unreadable { .. })) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// The value for missing data, as the reader applies it and as it is noted, is one.
#[test]
fn no_data_is_read_as_noted() {
    let cases = [
        ("-9999", Some(-9999.0)),
        (" 255 \n", Some(255.0)),
        ("-9999\x1b\n", Some(-9999.0)),
        ("1e3", Some(1000.0)),
        ("none", None),
        ("", None),
    ];
    for (text, value) in cases {
        let field = (42113, 2, [text.as_bytes(), b"\0"].concat());
        let file = file(&Form::plain(4, 3).file_with(&[field], &|x, y, _| (x + y) as u64));
        let raster = read_raster(file.path()).unwrap();
        assert_eq!(raster.no_data, value, "{text:?}");
        let [Note::NoData(noted)] = &raster.notes[..] else {
            panic!("{text:?}: {:?}", raster.notes);
        };
        assert_eq!(noted.parse().ok(), value, "{text:?}");
    }
}
