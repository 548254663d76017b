//! The images that the benches run on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use trazar::BinaryImage;
use trazar::generate::Pattern;

/// Widths and heights of the images.
const SIZES: [(u32, u32); 4] = [(512, 512), (1920, 1080), (2048, 2048), (8192, 8192)];
/// One more, if `TRAZAR_LARGE=1`.
const LARGE: (u32, u32) = (16384, 16384);

/// What is drawn.
const PATTERNS: [Pattern; 5] = [
    Pattern::Blobs,
    Pattern::Noise { density: 0.1 },
    Pattern::Noise { density: 0.5 },
    Pattern::Noise { density: 0.9 },
    Pattern::NestedRectangles,
];

/// An image and its name.
pub struct Named {
    /// The pattern and size, or the file's name.
    pub name: String,
    /// The image, packed.
    pub image: BinaryImage,
}

impl Named {
    /// The image as [`bytes`].
    pub fn bytes(&self) -> Vec<u8> {
        bytes(&self.image)
    }
}

/// One byte per pixel, row by row: 255 for foreground, 0 for background.
pub fn bytes(image: &BinaryImage) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(image.pixel_count() as usize);
    for y in 0..image.height() {
        let mut left = image.width();
        for word in image.row(y) {
            let count = left.min(64);
            bytes.extend((0..count).map(|bit| if word >> bit & 1 != 0 { 255 } else { 0 }));
            left -= count;
        }
    }
    bytes
}

/// Calls `bench` with each image in turn, so that one is in memory at a time: each pattern in each
/// size, then each of the [`masks`].
///
/// # Panics
/// A mask cannot be read.
pub fn for_each(criterion: &mut Criterion, group: &str, mut bench: impl FnMut(&mut Group, &Named)) {
    let mut group = criterion.benchmark_group(group);
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    let mut run = |name: String, image: BinaryImage| {
        group.throughput(Throughput::Elements(image.pixel_count()));
        bench(&mut group, &Named { name, image });
    };
    let large = std::env::var_os("TRAZAR_LARGE").is_some_and(|value| value == "1");
    for (width, height) in SIZES.into_iter().chain(large.then_some(LARGE)) {
        for pattern in PATTERNS {
            let image = pattern.generate(width, height, 1).expect("the image");
            let size = if width == height {
                format!("{width}")
            } else {
                format!("{width}x{height}")
            };
            run(format!("{pattern} {size}"), image);
        }
    }
    for path in masks() {
        let grey = image::open(&path).expect("a mask").into_luma8();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        run(
            name,
            BinaryImage::from_samples(&grey, 127).expect("the image"),
        );
    }
    group.finish();
}

/// A group of criterion's benches.
pub type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// The files `masks/*.png` in the folder that `TRAZAR_DATA` names; none if it is not set.
///
/// # Panics
/// The folder cannot be read.
pub fn masks() -> Vec<PathBuf> {
    let Some(data) = std::env::var_os("TRAZAR_DATA") else {
        return Vec::new();
    };
    let folder = Path::new(&data).join("masks");
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("TRAZAR_DATA: {}: {error}", folder.display()))
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|e| e == "png"))
        .collect();
    paths.sort();
    paths
}
