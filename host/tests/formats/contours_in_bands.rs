//! Images of every file format, read and traced in bands, against the whole image.

use std::fs;

use trazar::formats::{
    ImageBands, ReadOptions, read_image, write_image_npy, write_image_pbm, write_image_png,
};
use trazar::generate::{self, Pattern};
use trazar::trace::{BandTracer, ContourOptions};
use trazar::{Approximation, BinaryImage, Engine, Geometry, Retrieval, TraceOptions};

use crate::bands::Numbers;
use crate::tiffs::Form;

/// The image as a file of the format with this number.
fn encode(image: &BinaryImage, format: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (width, height) = (image.width() as usize, image.height() as usize);
    let bit = |x: usize, y: usize| image.get(x as u32, y as u32);
    match format {
        0 => write_image_png(image, &mut bytes).unwrap(),
        1 => write_image_pbm(image, &mut bytes).unwrap(),
        2 => write_image_npy(image, &mut bytes).unwrap(),
        3 => {
            let mut form = Form::plain(width, height);
            form.compression = 8;
            form.tile = Some((64, 48));
            bytes = form.file(&|x, y, _| if bit(x, y) { 200 } else { 20 });
        }
        4 => {
            let mut form = Form::plain(width, height);
            form.bits = 1;
            form.rows_per_strip = 7;
            bytes = form.file(&|x, y, _| u64::from(bit(x, y)));
        }
        _ => {
            let stride = (3 * width).next_multiple_of(4);
            bytes.extend(b"BM");
            bytes.extend(0u64.to_le_bytes());
            bytes.extend(54u32.to_le_bytes());
            bytes.extend(40u32.to_le_bytes());
            bytes.extend((width as u32).to_le_bytes());
            bytes.extend((height as u32).to_le_bytes());
            bytes.extend([1, 0, 24, 0]);
            bytes.resize(54, 0);
            for y in (0..height).rev() {
                let begin = bytes.len();
                bytes.extend((0..width).flat_map(|x| [if bit(x, y) { 255 } else { 0 }; 3]));
                bytes.resize(begin + stride, 0);
            }
        }
    }
    bytes
}

#[test]
fn images_of_every_format_match() {
    let mut numbers = Numbers(trazar_test_seeds::seed_or(2026));
    let folder = tempfile::tempdir().unwrap();
    let spill = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let (width, height) = (numbers.between(1, 3000), numbers.between(1, 3000));
        let (width, height) = (width as u32, height as u32);
        let seed = numbers.between(0, 1 << 20);
        let image = match round % 4 {
            0 => Pattern::Blobs.generate(width, height, seed).unwrap(),
            1 => Pattern::Spiral.generate(width, height, seed).unwrap(),
            _ => {
                let density = numbers.between(1, 99) as f64 / 100.0;
                generate::noise(width, height, density, seed).unwrap()
            }
        };
        let options = TraceOptions::default()
            .geometry([Geometry::Centers, Geometry::Edges][numbers.between(0, 1) as usize])
            .approximation([Approximation::None, Approximation::Simple][round / 2 % 2])
            .retrieval([Retrieval::Ccomp, Retrieval::Tree][numbers.between(0, 1) as usize]);
        let format = round as u64 % 6;
        let path = folder.path().join("image");
        fs::write(&path, encode(&image, format)).unwrap();
        let read = read_image(&path, &ReadOptions::default()).unwrap().image;
        assert!(read == image, "format {format}");

        let whole = Engine::cpu().trace(&image, &options).unwrap();
        let mut bands = ImageBands::open(&path, &ReadOptions::default()).unwrap();
        let most = [1, 5, 64][numbers.between(0, 2) as usize];
        let tracer = BandTracer::in_file(&options.contours, spill.path()).unwrap();
        let traced = tracer.trace(|| bands.next_band(numbers.between(1, most) as u32));
        let contours = traced.unwrap().into_contours().unwrap();
        assert!(
            contours == whole,
            "{width} × {height}, format {format}, bands of up to {most} rows, {options:?}"
        );
        assert_eq!(fs::read_dir(spill.path()).unwrap().count(), 0);
    }
}

#[test]
fn errors_of_reading_come_through() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let image = Pattern::Blobs.generate(500, 400, 1).unwrap();
    let bytes = encode(&image, 0);
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let mut bands = ImageBands::open(&path, &ReadOptions::default()).unwrap();
    let tracer = BandTracer::in_memory(&ContourOptions::default()).unwrap();
    let failed = tracer.trace(|| bands.next_band(64));
    assert!(matches!(failed, Err(trazar::Error::Unreadable { .. })));
}
