//! Parts from any division into bands, joined in any order, against one thread's tracing of the
//! whole image.

use std::ops::Range;

use proptest::prelude::*;

use super::follow_band::trace_band_in_strips;
use super::*;
use crate::error::Error;
use crate::generate::Pattern;
use crate::image::BinaryImage;
use crate::progress::Progress;
use crate::seeds::Random;
use crate::trace::cpu::test_cases::{all_options, alone, images};
use crate::trace::{
    Approximation, Band, ContourOptions, ContourSource, Geometry, Retrieval, TraceAlgorithm,
};

pub(super) fn options(
    geometry: Geometry,
    approximation: Approximation,
    retrieval: Retrieval,
) -> ContourOptions {
    ContourOptions::default()
        .geometry(geometry)
        .approximation(approximation)
        .retrieval(retrieval)
}

/// Options under which a mistake in any stage shows.
pub(super) fn main_options() -> [ContourOptions; 3] {
    [
        options(Geometry::Centers, Approximation::None, Retrieval::Tree),
        options(Geometry::Centers, Approximation::Simple, Retrieval::Tree),
        options(Geometry::Edges, Approximation::None, Retrieval::Tree),
    ]
}

fn rows_of(image: &BinaryImage, rows: Range<u32>) -> BinaryImage {
    let words = rows.clone().flat_map(|y| image.row(y)).copied().collect();
    BinaryImage::from_words(image.width(), rows.len() as u32, words).unwrap()
}

/// The part of some rows, followed in strips of `strip` rows.
pub(super) fn part(
    image: &BinaryImage,
    rows: Range<u32>,
    strip: u32,
    options: &ContourOptions,
) -> ContourPart {
    let own = rows_of(image, rows.clone());
    let mut band = Band::new(&own, rows.start);
    if rows.start > 0 {
        band = band.with_above(image.row(rows.start - 1));
    }
    if rows.end < image.height() {
        band = band.with_below(image.row(rows.end));
    }
    let found = trace_band_in_strips(band, strip, options).unwrap();
    ContourPart::of_band(band, *options, found).unwrap()
}

/// Divides the rows of an image of this height into bands of 1 to `most` rows, each in strips of
/// some rows, and joins their parts in a random tree.
pub(super) fn join_bands<P>(
    height: u32,
    most: u32,
    seed: u64,
    part: impl Fn(Range<u32>, u32) -> P,
    join: impl Fn(P, P, &mut Random) -> P,
) -> P {
    let mut numbers = Random::new(seed);
    let mut parts = Vec::new();
    let mut first = 0;
    while first < height {
        let rows = 1 + numbers.below(most);
        let end = height.min(first + rows);
        let strip = 1 + numbers.below(rows * 2);
        parts.push(part(first..end, strip));
        first = end;
    }
    while parts.len() > 1 {
        let at = match seed % 4 {
            // From the top, and from the bottom.
            0 => 0,
            1 => parts.len() - 2,
            _ => numbers.below(parts.len() as u32 - 1) as usize,
        };
        let lower = parts.remove(at + 1);
        let upper = parts.remove(at);
        parts.insert(at, join(upper, lower, &mut numbers));
    }
    parts.pop().unwrap()
}

fn joined(image: &BinaryImage, most: u32, options: &ContourOptions, seed: u64) -> ContourPart {
    let part = |rows, strip| part(image, rows, strip, options);
    let join = |upper, lower, _: &mut Random| ContourPart::join(upper, lower).unwrap();
    join_bands(image.height(), most, seed, part, join)
}

fn check(image: &BinaryImage, options: &[ContourOptions], most: &[u32], seed: u64) {
    for options in options {
        let whole =
            crate::trace::cpu::trace(image, options, TraceAlgorithm::Suzuki, &Progress::SILENT);
        let whole = whole.unwrap();
        for &most in most {
            for seed in seed..seed + 2 {
                let part = joined(image, most, options, seed);
                assert_eq!(part.open_count(), 0);
                let contours = part.finish().unwrap();
                assert!(
                    contours == whole,
                    "bands of up to {most} rows, seed {seed}, {options:?} of {image:?}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::seeds::config(400, 16))]

    #[test]
    fn random_images_match(image in images(), most in 1u32..64, seed in any::<u32>()) {
        check(&image, &main_options(), &[1, most], seed.into());
    }
}

#[test]
fn every_image_of_few_pixels_matches() {
    alone(|| {
        for (width, height) in [(3, 4), (2, 6), (4, 3), (1, 9)] {
            for bits in 0..1u32 << (width * height) {
                let image =
                    BinaryImage::from_fn(width, height, |x, y| bits >> (y * width + x) & 1 == 1);
                check(&image.unwrap(), &main_options(), &[1, 2], bits.into());
            }
        }
    });
}

#[test]
fn patterns_match() {
    for pattern in Pattern::ALL {
        for (width, height) in [(1, 1), (1, 100), (100, 1), (63, 20), (64, 64), (129, 100)] {
            let image = pattern.generate(width, height, 7).unwrap();
            check(&image, &main_options(), &[1, 5, 64], 5);
        }
        let image = pattern.generate(197, 183, 3).unwrap();
        check(&image, &all_options(), &[3, 40], 2);
    }
}

/// Lines of one pixel that run along seams, or touch them at corners only, with rings around them.
#[test]
fn lines_and_corners_at_seams_match() {
    type Foreground = fn(u32, u32) -> bool;
    let patterns: [(&str, Foreground); 9] = [
        ("rows", |_, y| y % 2 == 0),
        ("columns", |x, _| x % 2 == 0),
        ("checkerboard", |x, y| (x + y) % 2 == 0),
        ("a comb from above", |x, y| y == 0 || x % 2 == 0),
        ("a comb from below", |x, y| y == 59 || x % 3 == 0),
        ("two combs in each other", |x, y| {
            y == 0 || y == 59 || (x % 4 == 0 && y < 57) || (x % 4 == 2 && y > 2)
        }),
        ("diagonals", |x, y| {
            (x + y) % 7 == 0 || (x + 60 - y) % 11 == 0
        }),
        ("zigzags that touch at corners", |x, y| {
            let shift = u32::from(y % 4 >= 2);
            (x + shift) % 3 == 0
        }),
        ("steps", |x, y| x / 2 % 2 == y / 3 % 2),
    ];
    for (name, pattern) in patterns {
        for framed in [false, true] {
            let image = BinaryImage::from_fn(70, 60, |x, y| {
                let edge = x.min(y).min(69 - x).min(59 - y);
                match edge {
                    0 | 2 if framed => true,
                    1 | 3 if framed => false,
                    _ => pattern(x, y),
                }
            });
            println!("{name}, framed: {framed}");
            check(&image.unwrap(), &main_options(), &[1, 2, 3, 17], 8);
        }
    }
}

#[test]
fn large_images_match() {
    for pattern in [
        Pattern::Blobs,
        Pattern::Noise { density: 0.6 },
        Pattern::Spiral,
        Pattern::Serpentine,
        Pattern::NestedRectangles,
    ] {
        let image = pattern.generate(700, 900, 1).unwrap();
        check(&image, &main_options(), &[64], 3);
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let image = Pattern::Blobs.generate(100, 90, 1).unwrap();
    let other = Pattern::Blobs.generate(100, 90, 2).unwrap();
    let narrow = Pattern::Blobs.generate(99, 90, 1).unwrap();
    let [centers, _, edges] = main_options();
    let top = || part(&image, 0..30, 8, &centers);
    let problem = |lower: ContourPart| match ContourPart::join(top(), lower) {
        Err(Error::PartsDiffer { what, .. }) => what,
        Err(Error::PartsNotAdjacent { .. }) => "rows",
        Err(_) => "something else",
        Ok(_) => "nothing",
    };
    assert_eq!(problem(part(&image, 30..60, 8, &centers)), "nothing");
    assert_eq!(problem(part(&image, 31..60, 8, &centers)), "rows");
    assert_eq!(problem(part(&image, 0..30, 8, &centers)), "rows");
    assert_eq!(problem(part(&narrow, 30..60, 8, &centers)), "width");
    assert_eq!(problem(part(&image, 30..60, 8, &edges)), "options");
    let seam = "the rows at their seam";
    assert_eq!(problem(part(&other, 30..60, 8, &centers)), seam);
    let ended = part(&rows_of(&image, 0..30), 0..30, 8, &centers);
    let joined = ContourPart::join(ended, part(&image, 30..60, 8, &centers));
    assert!(matches!(joined, Err(Error::PartsDiffer { what, .. }) if what == seam));
    assert!(matches!(top().finish(), Err(Error::PartNotWhole { .. })));

    let own = rows_of(&image, 30..60);
    let short = ContourPart::trace(Band::new(&own, 30).with_above(&[0]), &centers);
    assert!(matches!(short, Err(Error::LengthMismatch { .. })));
    for band in [
        Band::new(&own, 30),
        Band::new(&own, 0).with_above(image.row(29)),
        Band::new(&own, 30).with_above(&[!0; 2]),
    ] {
        assert!(matches!(
            ContourPart::trace(band, &centers),
            Err(Error::InvalidOption(_))
        ));
    }
    let deep = Band::new(&own, i32::MAX as u32 - 20).with_above(image.row(29));
    assert!(matches!(
        ContourPart::trace(deep, &centers),
        Err(Error::ImageTooLarge { .. })
    ));
}

/// Rows far down have numbers beyond 2³¹ pixels, and the joined part knows the image's height.
#[test]
fn starts_far_down_are_where_they_belong() {
    let [options, ..] = main_options();
    let first_row = i32::MAX as u32 - 12;
    let last = BinaryImage::from_art("#\n.\n#\n#\n#\n.\n.\n#\n").unwrap();
    let band = Band::new(&last, first_row).with_above(&[0]);
    let found = trace_band_in_strips(band, 2, &options).unwrap();
    let part = ContourPart::of_band(band, options, found).unwrap();
    assert_eq!(part.rows().end, i32::MAX as u32 - 4);
    assert_eq!((part.closed_count(), part.open_count()), (3, 0));
    let starts = part.0.pool.borders.iter().map(|border| border.key.pixel());
    let mut starts: Vec<_> = starts.collect();
    starts.sort_unstable_by_key(|&(x, y)| (y, x));
    assert_eq!(starts, [0, 2, 7].map(|y| (0, first_row + y)));
}

#[cfg(feature = "formats")]
#[test]
fn bands_match_in_memory_and_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let images = [
        Pattern::Noise { density: 0.55 }.generate(300, 400, 2),
        Pattern::Spiral.generate(400, 300, 1),
        Pattern::Blobs.generate(500, 333, 5),
    ];
    for image in images.map(Result::unwrap) {
        for options in all_options() {
            let whole = crate::Engine::cpu().trace(&image, &options.into()).unwrap();
            for (rows, in_file) in [(1, true), (37, false), (64, true), (1000, true)] {
                let mut tracer = match in_file {
                    true => BandTracer::in_file(&options, folder.path()).unwrap(),
                    false => BandTracer::in_memory(&options).unwrap(),
                };
                for first in (0..image.height()).step_by(rows as usize) {
                    assert_eq!(tracer.rows(), first);
                    let end = image.height().min(first + rows);
                    tracer.push(rows_of(&image, first..end)).unwrap();
                }
                let stored = tracer.finish().unwrap();
                assert_eq!(stored.len(), whole.len());
                assert_eq!(stored.point_count().unwrap(), whole.points().len() as u64);
                let mut room = Vec::new();
                for contour in whole.iter().skip(1).step_by(7) {
                    let points = stored.points_of(contour.index(), &mut room).unwrap();
                    assert_eq!(points, contour.points());
                }
                let contours = stored.into_contours().unwrap();
                assert!(contours == whole, "{rows} rows, {options:?} of {image:?}");
            }
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A contour with more points than are read at a time is visited in pieces.
#[test]
fn long_contours_are_visited_in_pieces() {
    let image = Pattern::Spiral.generate(3000, 3000, 1).unwrap();
    for options in main_options() {
        let whole = crate::Engine::cpu().trace(&image, &options.into()).unwrap();
        let mut tracer = BandTracer::in_memory(&options).unwrap();
        for first in (0..3000).step_by(700) {
            let end = 3000.min(first + 700);
            tracer.push(rows_of(&image, first..end)).unwrap();
        }
        let stored = tracer.finish().unwrap();
        for contour in whole.iter() {
            let mut points = Vec::new();
            let mut visits = 0;
            let visited = stored.visit_points(contour.index(), &mut |some| {
                points.extend_from_slice(some);
                visits += 1;
                Ok(())
            });
            visited.unwrap();
            assert!(points == contour.points(), "{options:?}");
            assert!(
                visits > 1 || points.len() <= 1 << 20,
                "{visits} {}",
                points.len()
            );
        }
    }
}

#[test]
fn bands_are_as_high_as_the_memory_allows() {
    alone(|| {
        let rows = |width, height, memory| BandTracer::rows_within(width, height, memory, 0).ok();
        let gibibyte = 1 << 30;
        assert_eq!(rows(1000, 1000, gibibyte), Some(1000));
        let tall = rows(100_000, 100_000, 2 * gibibyte).unwrap();
        assert!((2000..3000).contains(&tall), "{tall}");
        assert_eq!(rows(100_000, 100_000, 1 << 20), None);
        assert_eq!(rows(100, 3, 1 << 20), None);
        assert_eq!(rows(100, 3, 1 << 26), Some(3));
        // The memory that the error names is enough for bands.
        let refused = BandTracer::rows_within(100_000, 20, 1, 0)
            .unwrap_err()
            .to_string();
        let needed = refused.split("give ").nth(1).unwrap();
        let needed: u64 = needed.split(' ').next().unwrap().parse().unwrap();
        assert!(rows(100_000, 20, needed << 20) >= Some(16), "{refused}");
        assert_eq!(rows(100_000, 20, (needed - 1) << 20), None);
    });
}

#[test]
fn bands_of_different_images_are_refused() {
    let [options, ..] = main_options();
    let mut tracer = BandTracer::in_memory(&options).unwrap();
    tracer.push(BinaryImage::new(10, 3).unwrap()).unwrap();
    let wider = tracer.push(BinaryImage::new(11, 3).unwrap());
    assert!(matches!(
        wider,
        Err(Error::PartsDiffer { what: "width", .. })
    ));
    let tracer = BandTracer::in_memory(&options).unwrap();
    assert!(matches!(tracer.finish(), Err(Error::EmptyImage { .. })));
    #[cfg(feature = "formats")]
    {
        let missing = BandTracer::in_file(&options, "/no/such/folder");
        assert!(matches!(missing, Err(Error::Io { .. })));
    }
}

/// Writers give the same bytes, wherever the points are.
#[cfg(feature = "formats")]
#[test]
fn files_are_the_same() {
    use crate::formats::{
        GdsOptions, write_contours_gds, write_contours_geojson, write_contours_json,
        write_contours_svg,
    };
    use crate::trace::BorderKind;

    fn files(contours: &impl ContourSource, options: &ContourOptions) -> Vec<Vec<u8>> {
        let mut files = vec![Vec::new(); 4];
        write_contours_json(contours, &mut files[0]).unwrap();
        write_contours_svg(contours, &mut files[1]).unwrap();
        write_contours_geojson(contours, &mut files[2]).unwrap();
        let layout = GdsOptions::default().max_vertices(50u16);
        // A layout has no pixel centers, and no hole whose outer border is unknown.
        let has_holes = contours.kinds().contains(&BorderKind::Hole);
        let is_layout = options.geometry == Geometry::Edges
            && !(has_holes && options.retrieval == Retrieval::List);
        let written = write_contours_gds(contours, &layout, &mut files[3]);
        assert_eq!(written.is_ok(), is_layout, "{written:?}, {options:?}");
        assert_eq!(files[3].is_empty(), !is_layout, "{options:?}");
        files
    }

    let folder = tempfile::tempdir().unwrap();
    let images = [
        Pattern::Noise { density: 0.62 }
            .generate(300, 200, 2)
            .unwrap(),
        Pattern::NestedRectangles.generate(100, 130, 1).unwrap(),
        BinaryImage::new(7, 40).unwrap(),
    ];
    for image in images {
        for options in all_options() {
            let whole = crate::Engine::cpu().trace(&image, &options.into()).unwrap();
            let mut tracer = BandTracer::in_file(&options, folder.path()).unwrap();
            for first in (0..image.height()).step_by(30) {
                let end = image.height().min(first + 30);
                tracer.push(rows_of(&image, first..end)).unwrap();
            }
            let stored = tracer.finish().unwrap();
            let written = files(&stored, &options);
            assert!(!written[0].is_empty());
            assert!(
                written == files(&whole, &options),
                "{options:?} of {image:?}"
            );
        }
    }
}
