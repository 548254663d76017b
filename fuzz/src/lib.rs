//! What the fuzz targets share.

pub mod seeds;
#[path = "../../host/tests/formats/tiffs.rs"]
mod tiffs;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use tempfile::TempDir;
use trazar::formats::{RasterBands, ReadOptions, read_image, read_raster};
use trazar::route::{RouteOptions, RoutingCase};
use trazar::{Engine, Error, LabelOptions, TraceOptions};

/// The starts of files that [`with_magic`] writes.
pub const MAGICS: [&[u8]; 12] = [
    b"II*\0",
    b"MM\0*",
    b"II+\0\x08\0\0\0",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"BM",
    b"P1\n",
    b"P2\n",
    b"P4\n",
    b"P5\n",
    b"P6\n",
    b"P7\n",
    b"\x93NUMPY\x01\0",
];

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// A file of this name, in a folder of this process, that holds `data`.
pub fn file(name: &str, data: &[u8]) -> PathBuf {
    let path = FOLDER.path().join(name);
    std::fs::write(&path, data).expect("a file");
    path
}

/// Panics if the folder has other files than those of `names`: reading leaves nothing behind.
pub fn check_folder(names: &[&str]) {
    for entry in std::fs::read_dir(FOLDER.path()).expect("the folder") {
        let name = entry.expect("an entry").file_name();
        assert!(
            names.iter().any(|known| name == *known),
            "{name:?} was left"
        );
    }
}

/// `data` as a file of the format that its first byte selects, with the right start.
pub fn with_magic(data: &[u8]) -> Vec<u8> {
    let Some((&which, rest)) = data.split_first() else {
        return Vec::new();
    };
    let magic = MAGICS[usize::from(which) % MAGICS.len()];
    let mut bytes = rest.to_vec();
    bytes.resize(bytes.len().max(magic.len()), 0);
    bytes[..magic.len()].copy_from_slice(magic);
    bytes
}

/// Panics if an error is not one line, or if it is a panic of this library that was contained.
/// Prints each panic of another crate that was contained once.
pub fn check(error: &Error) {
    static TOLD: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line:?}");
    let Some((_, panic)) = line.split_once("gave up on this file") else {
        return;
    };
    assert!(!panic.contains("host/src/"), "{line}");
    let place: String = panic.chars().take(80).collect();
    if TOLD
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(place)
    {
        eprintln!("CONTAINED: {line}");
    }
}

/// Reads an image; labels and traces a small one.
pub fn image(data: &[u8]) {
    let path = file("image", data);
    let options = ReadOptions::default().keep_grey(data.len().is_multiple_of(2));
    match read_image(&path, &options) {
        Err(error) => check(&error),
        Ok(read) => {
            let image = &read.image;
            assert!(
                read.notes
                    .iter()
                    .all(|note| !note.to_string().contains('\n'))
            );
            if image.pixel_count() <= 1 << 14 {
                let engine = Engine::cpu();
                let labels = engine.label(image, &LabelOptions::default());
                let contours = engine.trace(image, &TraceOptions::default());
                assert!(labels.is_ok() && contours.is_ok());
            }
        }
    }
    raster(&path);
    check_folder(&["image"]);
}

/// Reads a file of values, whole and in bands, with its georeference.
fn raster(path: &Path) {
    let raster = match read_raster(path) {
        Err(error) => return check(&error),
        Ok(raster) => raster,
    };
    match raster.georeference() {
        Err(error) => check(&error),
        Ok(found) => {
            if let Some(map) = found.and_then(|found| found.transform) {
                let (x, y) = map.apply(raster.width.into(), raster.height.into());
                assert!(x.is_finite() && y.is_finite());
            }
        }
    }
    let pixels = u64::from(raster.width) * u64::from(raster.height);
    assert_eq!(raster.values.len() as u64, pixels);
    if let Ok(mut bands) = RasterBands::open(path) {
        let mut count = 0;
        while let Some(band) = bands.next_band(3).expect("what was read as a whole") {
            count += band.len() as u64;
        }
        assert_eq!(count, pixels);
    }
}

/// Routes a small case.
pub fn route(case: &RoutingCase) {
    let pins: usize = case.nets.iter().map(|net| net.pins.len()).sum();
    if case.grid.cell_count() <= 1 << 10 && pins <= 64 && case.nets.len() <= 64 {
        match Engine::cpu().route(&case.grid, &case.nets, &RouteOptions::default()) {
            Ok(routes) => assert_eq!(routes.len(), case.nets.len()),
            // A file may have pins outside their net's window; routing refuses them.
            Err(error @ Error::PinOutside { .. }) => check(&error),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Takes the next part off `data`: two bytes give its length.
pub fn part<'a>(data: &mut &'a [u8]) -> &'a [u8] {
    let Some((head, rest)) = data.split_first_chunk::<2>() else {
        return std::mem::take(data);
    };
    let len = usize::from(u16::from_le_bytes(*head)).min(rest.len());
    let (part, rest) = rest.split_at(len);
    *data = rest;
    part
}

/// The inverse of [`part`]: `parts`, each with its length before it.
pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend((part.len() as u16).to_le_bytes());
        bytes.extend(*part);
    }
    bytes
}
