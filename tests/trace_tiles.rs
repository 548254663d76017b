//! Tracing in tiles against tracing on one thread, for many numbers of tiles.

use proptest::prelude::*;
use trazar::generate::Pattern;
use trazar::trace::TileCounts;
use trazar::{BinaryImage, Engine, Error, TraceAlgorithm, TraceOptions};
use trazar_test_support::images::{lines, noise_or_rectangles, tiny_images};
use trazar_test_support::seeds;
use trazar_test_support::tracers::{self, all_options, main_options, trace};

fn images() -> impl Strategy<Value = BinaryImage> {
    noise_or_rectangles([1..40, 1..40], [1..140, 1..70])
}

fn check(image: &BinaryImage, options: TraceOptions, tiles: &[(u32, u32)]) {
    let in_tiles = |&(columns, rows): &(u32, u32)| {
        let tiles = TileCounts::new(columns, rows).unwrap();
        options.algorithm(TraceAlgorithm::Tiles(tiles))
    };
    let changed: Vec<_> = tiles.iter().map(in_tiles).collect();
    tracers::check(image, options, &changed);
}

/// Powers of two up to `side`.
fn powers(side: u32) -> impl Iterator<Item = u32> {
    (0..=side.ilog2()).map(|i| 1 << i)
}

/// All numbers of tiles that an image allows.
fn all_tiles(image: &BinaryImage) -> Vec<(u32, u32)> {
    powers(image.width())
        .flat_map(|columns| powers(image.height()).map(move |rows| (columns, rows)))
        .collect()
}

/// Some numbers of tiles: one, few, many, and as many as there are pixels along a side.
fn some_tiles(image: &BinaryImage) -> Vec<(u32, u32)> {
    let (width, height) = (image.width(), image.height());
    let (most_columns, most_rows) = (1 << width.ilog2(), 1 << height.ilog2());
    let mut tiles = vec![
        (1, 1),
        (1, 2),
        (2, 1),
        (4, 4),
        (16, 8),
        (8, 32),
        (most_columns, 1),
        (1, most_rows),
        (most_columns, most_rows),
    ];
    tiles.retain(|&(columns, rows)| columns <= width && rows <= height);
    tiles.dedup();
    tiles
}

fn check_some(image: &BinaryImage) {
    for options in main_options() {
        check(image, options, &some_tiles(image));
    }
}

proptest! {
    #![proptest_config(seeds::config(300, 2022))]

    #[test]
    fn random_images_match(image in images()) {
        check_some(&image);
    }
}

#[test]
fn every_image_of_few_pixels_matches() {
    for (width, height) in [(4, 4), (3, 5), (5, 3), (9, 1), (1, 9), (8, 2)] {
        for image in tiny_images(width, height) {
            let tiles = [(1 << width.ilog2(), 1 << height.ilog2()), (2.min(width), 1)];
            for options in main_options() {
                check(&image, options, &tiles);
            }
        }
    }
}

#[test]
fn patterns_match() {
    for pattern in Pattern::ALL {
        for (width, height) in [
            (1, 1),
            (1, 9),
            (9, 1),
            (16, 16),
            (65, 20),
            (64, 64),
            (129, 100),
        ] {
            let image = pattern.generate(width, height, 7).unwrap();
            check_some(&image);
        }
        let image = pattern.generate(97, 83, 3).unwrap();
        for options in all_options() {
            check(&image, options, &[(1, 1), (4, 8), (64, 64)]);
        }
    }
    for density in [0.02, 0.1, 0.3, 0.6, 0.8, 0.95] {
        let image = Pattern::Noise { density }.generate(100, 77, 5).unwrap();
        check_some(&image);
    }
}

#[test]
fn images_larger_than_tiles_by_default_match() {
    for pattern in [
        Pattern::Blobs,
        Pattern::Noise { density: 0.5 },
        Pattern::Spiral,
    ] {
        let image = pattern.generate(1500, 1100, 1).unwrap();
        for options in main_options() {
            check(&image, options, &[(2, 2), (64, 32), (1024, 1), (256, 256)]);
            let tiles = trace(
                &image,
                options.algorithm(TraceAlgorithm::Tiles(TileCounts::BY_SIZE)),
            );
            assert_eq!(tiles, trace(&image, options));
        }
    }
}

#[test]
fn borders_along_seams_match() {
    let size = 32;
    // Lines along both sides of a seam, on the frame, and across.
    for at in [0, 7, 8, 15, 16, 23, 24, 31] {
        for image in [
            lines(size, &[at], &[]),
            lines(size, &[], &[at]),
            lines(size, &[at], &[at]),
            lines(size, &[0, at, 31], &[0, at, 31]),
        ] {
            for options in main_options() {
                check(&image, options, &all_tiles(&image));
            }
        }
    }
    // Single pixels, diagonals, and all of the image but one pixel.
    for at in [0, 7, 8, 15, 16, 31] {
        for image in [
            BinaryImage::from_fn(size, size, |x, y| (x, y) == (at, at)).unwrap(),
            BinaryImage::from_fn(size, size, |x, y| (x, y) != (at, at)).unwrap(),
            BinaryImage::from_fn(size, size, |x, y| x + y == at + 16).unwrap(),
            BinaryImage::from_fn(size, size, |x, y| x + at == y).unwrap(),
            BinaryImage::from_fn(size, size, |x, y| x + at != y).unwrap(),
        ] {
            check_some(&image);
        }
    }
    // Borders that change sides at every row, open and closed.
    let zigzag = BinaryImage::from_fn(64, 64, |x, y| (28 + y % 2 * 7..=36).contains(&x)).unwrap();
    let comb = BinaryImage::from_fn(64, 64, |x, y| x == 20 || x < 44 && y % 2 == 0).unwrap();
    for image in [zigzag, comb] {
        for options in main_options() {
            check(&image, options, &all_tiles(&image));
        }
    }
}

#[test]
fn all_numbers_of_tiles_match() {
    for (width, height) in [(33, 17), (64, 64), (63, 5)] {
        let image = Pattern::Noise { density: 0.55 }
            .generate(width, height, 9)
            .unwrap();
        for options in main_options() {
            check(&image, options, &all_tiles(&image));
        }
    }
}

#[test]
fn wrong_numbers_of_tiles_are_refused() {
    let image = BinaryImage::new(20, 10).unwrap();
    let refused = |columns, rows| {
        let traced = TileCounts::new(columns, rows).and_then(|tiles| {
            let options = TraceOptions::default().algorithm(TraceAlgorithm::Tiles(tiles));
            Engine::cpu().trace(&image, &options)
        });
        match traced {
            Err(Error::InvalidOption(error)) => error.reason,
            other => panic!("{columns} × {rows}: {other:?}"),
        }
    };
    assert!(refused(0, 1).contains("powers of two"));
    assert!(refused(4, 12).contains("powers of two"));
    assert!(refused(32, 1).contains("20 × 10"));
    assert!(refused(1, 16).contains("20 × 10"));
    let tiles = TileCounts::new(16, 8).unwrap();
    assert_eq!(tiles.get(), Some((16, 8)));
    assert_eq!(TileCounts::BY_SIZE.get(), None);
    let options = TraceOptions::default().algorithm(TraceAlgorithm::Tiles(tiles));
    assert!(trace(&image, options).is_empty());
}
