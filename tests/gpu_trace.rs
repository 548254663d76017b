//! Contours on the GPU equal contours on the CPU. Without a GPU each test says that it was skipped;
//! with `TRAZAR_REQUIRE_GPU=1` that is a failure.
//!
//! `TRAZAR_LARGE=1` adds images of up to 16384 × 16384 pixels, more random images, and images of up
//! to 100,000 × 100,000 pixels with known answers, which take 40 GB of the GPU's memory.
//! `TRAZAR_DATA` names a folder with more images, in `masks/*.png`.
#![cfg(not(target_os = "macos"))]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use glam::IVec2;
use trazar::cuda::{Device, Queue};
use trazar::generate::{self, Pattern};
use trazar::trace::BandTracer;
use trazar::{
    Approximation, BinaryImage, Contours, DeviceImage, DeviceImageBatch, DeviceTracer, Engine,
    Error, Geometry, Retrieval, TraceAlgorithm, TraceOptions,
};
use trazar_test_support::contours::{APPROXIMATIONS, GEOMETRIES, RETRIEVALS, check, difference};
use trazar_test_support::optional;
use trazar_test_support::seeds::{Random, seed_or};

/// Held by all tests that use the GPU's memory: by the one that uses it up, alone.
static DEVICE_MEMORY: RwLock<()> = RwLock::new(());

/// A tracer on the GPU, and the right to use memory there beside other tests; `None`, with a line
/// that says so, if there is no GPU.
fn tracer(test: &str) -> Option<(DeviceTracer<Queue>, RwLockReadGuard<'static, ()>)> {
    let memory = DEVICE_MEMORY.read().unwrap_or_else(PoisonError::into_inner);
    Some((tracer_of(test)?, memory))
}

/// A tracer on the GPU; `None`, with a line that says so, if there is none.
fn tracer_of(test: &str) -> Option<DeviceTracer<Queue>> {
    let opened = Device::open(0).map_err(Error::from);
    optional::on_gpu(test, opened.and_then(|device| DeviceTracer::new(&device)))
}

fn all_options() -> impl Iterator<Item = TraceOptions> {
    RETRIEVALS.into_iter().flat_map(|retrieval| {
        APPROXIMATIONS.into_iter().flat_map(move |approximation| {
            GEOMETRIES.into_iter().flat_map(move |geometry| {
                let algorithms = TraceAlgorithm::on(trazar::Backend::Cuda).iter();
                algorithms.map(move |&algorithm| {
                    TraceOptions::default()
                        .retrieval(retrieval)
                        .approximation(approximation)
                        .geometry(geometry)
                        .algorithm(algorithm)
                })
            })
        })
    })
}

#[test]
fn contours_of_random_images() {
    let Some((tracer, _memory)) = tracer("contours_of_random_images") else {
        return;
    };
    let sizes = [(1, 1), (64, 1), (1, 300), (65, 64), (255, 257), (1001, 333)];
    for (i, (width, height)) in sizes.into_iter().enumerate() {
        for percent in [0, 3, 20, 41, 50, 60, 80, 97, 100] {
            let density = f64::from(percent) / 100.0;
            let image = generate::noise(width, height, density, i as u64).unwrap();
            for options in all_options() {
                check(&tracer, &format!("noise {density}"), &image, &options);
            }
        }
    }
}

#[test]
fn translated_points() {
    let Some((tracer, _memory)) = tracer("translated_points") else {
        return;
    };
    for (width, height) in [(1, 1), (255, 257), (1001, 333)] {
        let image = generate::noise(width, height, 0.5, 3).unwrap();
        let on_device = DeviceImage::upload(tracer.gpu(), &image).unwrap();
        for offset in [IVec2::ZERO, IVec2::new(-3, 1000), IVec2::MAX, IVec2::MIN] {
            let options = TraceOptions::default();
            let traced = Engine::cpu().trace(&image, &options).unwrap();
            let expected: Vec<i32> = traced
                .points()
                .iter()
                .flat_map(|point| point.wrapping_add(offset).to_array())
                .collect();
            let contours = tracer.trace(&on_device, &options).unwrap();
            let mut points = contours.into_buffers().points;
            tracer.translate_points(&mut points, offset).unwrap();
            assert_eq!(
                points.to_vec().unwrap(),
                expected,
                "{width} × {height}, {offset}: not the CPU's points with an offset"
            );
        }
    }
}

#[test]
fn contours_of_every_pattern() {
    let Some((tracer, _memory)) = tracer("contours_of_every_pattern") else {
        return;
    };
    for pattern in Pattern::ALL {
        let mut image = pattern.generate(777, 1100, 5).unwrap();
        for _ in 0..2 {
            for options in all_options() {
                check(&tracer, &pattern.to_string(), &image, &options);
            }
            image.invert();
        }
    }
}

/// Noise of random density, in squares of up to 4 pixels, or a pattern; inverted or not; of up to
/// 200 × 200 pixels.
fn draw(random: &mut Random) -> BinaryImage {
    let (width, height) = (1 + random.below(200), 1 + random.below(200));
    let seed = u64::from(random.below(u32::MAX));
    let mut image = match random.below(4) {
        0 => {
            let pattern = Pattern::ALL[random.below(Pattern::ALL.len() as u32) as usize];
            pattern.generate(width, height, seed).unwrap()
        }
        1 => generate::blobs(width, height, seed).unwrap(),
        _ => {
            let scale = 1 + random.below(4);
            let density = f64::from(random.below(101)) / 100.0;
            let (columns, rows) = (width.div_ceil(scale), height.div_ceil(scale));
            let noise = generate::noise(columns, rows, density, seed).unwrap();
            BinaryImage::from_fn(width, height, |x, y| noise.get(x / scale, y / scale)).unwrap()
        }
    };
    if random.below(2) == 1 {
        image.invert();
    }
    image
}

/// Traces `image` with all 16 combinations of options, and compares with the CPU.
fn check_all_options(tracer: &DeviceTracer<Queue>, name: &str, image: &BinaryImage) {
    let on_device = DeviceImage::upload(tracer.gpu(), image).unwrap();
    for geometry in GEOMETRIES {
        for approximation in APPROXIMATIONS {
            for retrieval in RETRIEVALS {
                let sequential = TraceOptions::default()
                    .geometry(geometry)
                    .approximation(approximation)
                    .retrieval(retrieval)
                    .algorithm(TraceAlgorithm::Suzuki);
                let expected = Engine::cpu().trace(image, &sequential).unwrap();
                let options = sequential.algorithm(TraceAlgorithm::Fragments);
                let found = tracer.trace(&on_device, &options).unwrap();
                let difference = difference(&found.to_host().unwrap(), &expected);
                assert!(
                    difference.is_none(),
                    "{name}, {} × {}, {options:?}: {}",
                    image.width(),
                    image.height(),
                    difference.unwrap_or_default()
                );
            }
        }
    }
}

/// 10,000 images with `TRAZAR_LARGE=1`, else 500, each with all options. Several threads trace,
/// each on a stream of its own, so that the sequential tracer does not decide how long it takes.
#[test]
fn ten_thousand_random_images() {
    let test = "ten_thousand_random_images";
    let Some((tracer, _memory)) = tracer(test) else {
        return;
    };
    let images = if optional::large(test) { 10_000 } else { 500 };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(16));
    let (seed, begin, next) = (seed_or(1), Instant::now(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let stream = tracer.gpu().stream().device().stream().unwrap();
                let own = DeviceTracer::on(tracer.gpu().on_stream(&stream).unwrap());
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= images {
                        break;
                    }
                    // An image depends on the seed and its number, whichever thread draws it.
                    let image = draw(&mut Random::new(seed << 32 | i));
                    check_all_options(&own, &format!("image {i} of seed {seed}"), &image);
                }
            });
        }
    });
    println!(
        "{images} images of seed {seed}, 16 combinations of options each, on {threads} threads: \
         {:.1} s",
        begin.elapsed().as_secs_f64()
    );
}

/// A few tiles, with rims and a corner between them, sparse and dense ones: small enough for
/// `compute-sanitizer --tool racecheck`, which checks every access to shared memory, to end within
/// minutes.
/// Each image of a batch gives what it gives by itself.
#[test]
fn contours_of_batches() {
    let Some((tracer, _memory)) = tracer("contours_of_batches") else {
        return;
    };
    for (count, width, height) in [(1, 70, 33), (7, 64, 31), (100, 201, 97), (16, 1232, 1028)] {
        let images: Vec<_> = (0..count)
            .map(|seed| {
                let density = [0.0, 0.03, 0.5, 0.97][seed as usize % 4];
                generate::noise(width, height, density, seed).unwrap()
            })
            .collect();
        let batch = DeviceImageBatch::upload(tracer.gpu(), &images).unwrap();
        for options in all_options() {
            if options.algorithm != Some(TraceAlgorithm::Fragments) {
                continue;
            }
            let found = tracer.trace_batch(&batch, &options.contours).unwrap();
            for (i, (found, image)) in found.to_host().unwrap().iter().zip(&images).enumerate() {
                let sequential = options.algorithm(TraceAlgorithm::Suzuki);
                let expected = Engine::cpu().trace(image, &sequential).unwrap();
                let difference = difference(found, &expected);
                assert!(
                    difference.is_none(),
                    "image {i} of {count}, {options:?}: {difference:?}"
                );
            }
        }
    }
}

#[test]
fn racecheck_contours_by_fragments() {
    let Some((tracer, _memory)) = tracer("racecheck_contours_by_fragments") else {
        return;
    };
    for density in [0.03, 0.2, 0.5] {
        let image = generate::noise(150, 75, density, 11).unwrap();
        for geometry in GEOMETRIES {
            let options = TraceOptions::default()
                .geometry(geometry)
                .algorithm(TraceAlgorithm::Fragments);
            check(&tracer, "noise for racecheck", &image, &options);
        }
    }
}

/// Borders that pass many tiles, and borders nested in each other, for the same tool.
#[test]
fn racecheck_long_and_nested_borders() {
    let Some((tracer, _memory)) = tracer("racecheck_long_and_nested_borders") else {
        return;
    };
    for pattern in [Pattern::Spiral, Pattern::NestedRectangles] {
        let image = pattern.generate(150, 75, 1).unwrap();
        for retrieval in RETRIEVALS {
            let options = TraceOptions::default()
                .retrieval(retrieval)
                .approximation(Approximation::None)
                .algorithm(TraceAlgorithm::Fragments);
            check(&tracer, &pattern.to_string(), &image, &options);
        }
    }
}

#[test]
fn large_images() {
    if !optional::large("large_images") {
        return;
    }
    let Some((tracer, _memory)) = tracer("large_images") else {
        return;
    };
    let large = [
        ("blobs", 16384, 16384),
        ("noise:0.5", 4096, 4096),
        ("noise:0.41", 5000, 7001),
        // One contour of millions of points, and a million contours.
        ("spiral", 4096, 4096),
        ("dots", 2048, 2048),
        ("lattice", 2048, 2048),
        ("checkerboard", 2048, 2048),
    ];
    for (name, width, height) in large {
        let pattern: Pattern = name.parse().unwrap();
        let image = pattern.generate(width, height, 7).unwrap();
        for geometry in GEOMETRIES {
            for &algorithm in TraceAlgorithm::on(trazar::Backend::Cuda) {
                let options = TraceOptions::default()
                    .geometry(geometry)
                    .algorithm(algorithm);
                check(&tracer, name, &image, &options);
            }
        }
        let options = TraceOptions::default()
            .approximation(Approximation::None)
            .retrieval(Retrieval::List)
            .geometry(Geometry::Centers);
        check(&tracer, name, &image, &options);
    }
}

/// An image of `side × side` pixels whose rows are made of words.
fn from_rows(side: u32, mut row: impl FnMut(u32, &mut [u64])) -> BinaryImage {
    let row_words = side.div_ceil(64) as usize;
    let mut words = vec![0; row_words * side as usize];
    for (y, words) in words.chunks_exact_mut(row_words).enumerate() {
        row(y as u32, words);
        if !side.is_multiple_of(64) {
            words[row_words - 1] &= (1 << (side % 64)) - 1;
        }
    }
    BinaryImage::from_words(side, side, words).unwrap()
}

/// Sets the bits from `begin` to before `end` that `pattern` has.
fn set_bits(words: &mut [u64], begin: u32, end: u32, pattern: u64) {
    for at in begin / 64..end.div_ceil(64) {
        let from = begin.max(at * 64) - at * 64;
        let to = end.min(at * 64 + 64) - at * 64;
        words[at as usize] |= pattern & (u64::MAX >> (64 - to)) & (u64::MAX << from);
    }
}

/// What `generate::spiral` makes, by words: one line through all of the image. The side is even.
fn spiral(side: u32) -> BinaryImage {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let mut image = from_rows(side, |y, words| {
        let frame = y.min(side - 1 - y);
        set_bits(words, 0, frame, EVEN);
        if frame % 2 == 0 {
            set_bits(words, frame, side - frame, u64::MAX);
        }
        set_bits(words, side - frame, side, !EVEN);
    });
    for k in (0..side / 2).step_by(2) {
        if side - 2 * k >= 3 {
            image.set(k, k + 1, false);
        }
        if side - 2 * k >= 5 {
            image.set(k + 1, k + 2, true);
        }
    }
    image
}

/// Images with known answers: what `trace` finds is what follows from small images.
fn check_known_answers(side: u32, trace: &dyn Fn(&BinaryImage) -> Contours) {
    const CELL: u32 = 32;
    assert!(side.is_multiple_of(CELL));
    let cpu = |image: &BinaryImage| {
        Engine::cpu()
            .trace(image, &TraceOptions::default())
            .unwrap()
    };

    // One ring around everything.
    let frame = |side: u32| {
        from_rows(side, |y, words| {
            let whole = y == 0 || y == side - 1;
            let ends = [0..1, side - 1..side];
            let all = [0..side, 0..0];
            for run in if whole { all } else { ends } {
                set_bits(words, run.start, run.end, u64::MAX);
            }
        })
    };
    let (found, expected) = (trace(&frame(side)), cpu(&frame(CELL)));
    let far = |at: i32| at + (side - CELL).cast_signed() * i32::from(at >= 16);
    let stretched = expected.points().iter().map(|point| point.map(far));
    assert!(found.points().iter().copied().eq(stretched), "the ring");
    assert_eq!(found.hierarchy(), expected.hierarchy());
    assert_eq!(found.kinds(), expected.kinds());

    // One line through everything, along which the border goes to and fro.
    let image = spiral(side);
    let found = trace(&image);
    assert_eq!(found.len(), 1);
    assert_eq!(found.points().len(), 3 * side as usize - 2);
    let points = found.points();
    let steps = |(i, a): (usize, &IVec2)| {
        let to = (points[(i + 1) % points.len()] - *a).abs();
        assert!(to.x == 0 || to.y == 0 || to.x == to.y);
        u64::from(to.max_element().cast_unsigned())
    };
    let walked: u64 = points.iter().enumerate().map(steps).sum();
    // To the line's end and back, but for one step less at the inner side of each corner.
    assert_eq!(
        walked + u64::from(side - 1),
        2 * (image.count_foreground() - 1)
    );
    drop((image, found));

    // Cells with a ring, a dot in it, and a line across its rim.
    let cell = BinaryImage::from_fn(CELL, CELL, |x, y| {
        let ring = x.abs_diff(14).max(y.abs_diff(15));
        matches!(ring, 9 | 10) || ring == 0 || (x + y == 50 && x >= 26)
    })
    .unwrap();
    let image = from_rows(side, |y, words| {
        let row = cell.row(y % CELL)[0];
        words.fill(row | row << CELL);
    });
    let one = cpu(&cell);
    let found = trace(&image);
    drop(image);
    let columns = side / CELL;
    let cells = u64::from(columns) * u64::from(columns);
    assert_eq!(found.len() as u64, one.len() as u64 * cells);
    assert_eq!(
        found.points().len() as u64,
        one.points().len() as u64 * cells
    );
    // Borders without a parent stand in reverse order of discovery: here of rows, then of columns.
    let mut tops: Vec<(IVec2, usize)> = Vec::new();
    let of_one: Vec<_> = one.iter().collect();
    let top_level = |i: &usize| one.hierarchy()[*i][3] < 0;
    let one_tops: Vec<usize> = (0..one.len()).filter(top_level).collect();
    for row in (0..columns).rev() {
        // Starts in one row of cells: by their rows, then by columns.
        let mut starts: Vec<_> = one_tops
            .iter()
            .flat_map(|&top| {
                let start = of_one[top].points()[0];
                (0..columns).map(move |column| {
                    let origin = IVec2::new(column.cast_signed(), row.cast_signed());
                    (start.y, origin.x, start.x, origin, top)
                })
            })
            .collect();
        starts.sort_unstable_by_key(|&(y, column, x, ..)| std::cmp::Reverse((y, column, x)));
        tops.extend(
            starts
                .into_iter()
                .map(|(.., origin, top)| (origin * CELL as i32, top)),
        );
    }
    let mut at = 0;
    let mut all = found.iter();
    for (i, &(origin, top)) in tops.iter().enumerate() {
        let end = one_tops.iter().copied().find(|&next| next > top);
        let size = end.unwrap_or(one.len()) - top;
        for (k, expected) in of_one[top..top + size].iter().enumerate() {
            let found = all.next().unwrap();
            assert_eq!(found.kind(), expected.kind());
            let moved = expected.points().iter().map(|point| *point + origin);
            assert!(
                found.points().iter().copied().eq(moved),
                "contour {}",
                at + k
            );
        }
        let [next, previous, ..] = found.hierarchy()[at];
        let sibling = |exists: bool, to: usize| if exists { to as i32 } else { -1 };
        assert_eq!(next, sibling(i + 1 < tops.len(), at + size));
        assert_eq!(previous < 0, i == 0);
        let inner =
            |row: [i32; 4], first: usize| row.map(|to| if to < 0 { -1 } else { to - first as i32 });
        for k in 1..size {
            let (found, expected) = (found.hierarchy()[at + k], one.hierarchy()[top + k]);
            assert_eq!(inner(found, at), inner(expected, top));
        }
        at += size;
    }
    assert!(all.next().is_none());
}

/// On the processor, which shows that the answers are known.
#[test]
fn known_answers_on_the_processor() {
    for side in [64, 96, 320] {
        assert_eq!(spiral(side), generate::spiral(side, side).unwrap());
        check_known_answers(side, &|image| {
            Engine::cpu()
                .trace(image, &TraceOptions::default())
                .unwrap()
        });
    }
}

/// Up to 10¹⁰ pixels in one call.
#[test]
fn known_answers_of_huge_images() {
    let test = "known_answers_of_huge_images";
    if !optional::large(test) {
        return;
    }
    let Some((tracer, _memory)) = tracer(test) else {
        return;
    };
    for side in [320, 40_000, 65_536, 100_000] {
        check_known_answers(side, &|image| {
            let on_device = DeviceImage::upload(tracer.gpu(), image).unwrap();
            // The first call takes memory for the image, the second one uses it again.
            for call in 0..2 {
                let begin = Instant::now();
                let found = tracer.trace(&on_device, &TraceOptions::default()).unwrap();
                tracer.gpu().stream().synchronize().unwrap();
                println!(
                    "{side} x {side}, {} contours, {} points, call {call}: {:.2} ms",
                    found.len(),
                    found.point_count(),
                    begin.elapsed().as_secs_f64() * 1e3
                );
                if call == 1 {
                    return found.to_host().unwrap();
                }
            }
            unreachable!()
        });
    }
}

/// The rows of an image in bands of `rows`, the last one of fewer.
fn bands(image: &BinaryImage, rows: u32) -> impl Iterator<Item = BinaryImage> {
    (0..image.height())
        .step_by(rows as usize)
        .map(move |first| {
            let rows = rows.min(image.height() - first);
            let row_words = image.words_per_row();
            let begin = first as usize * row_words;
            let words = image.words()[begin..][..rows as usize * row_words].to_vec();
            BinaryImage::from_words(image.width(), rows, words).unwrap()
        })
}

/// Traces an image in bands, by all of `gpus` at once.
fn trace_in_bands(
    gpus: &[Queue],
    image: &BinaryImage,
    rows: u32,
    options: &TraceOptions,
) -> Contours {
    let mut bands = bands(image, rows);
    let tracer = BandTracer::in_memory(&options.contours).unwrap();
    let contours = tracer.trace_on(gpus, || Ok(bands.next())).unwrap();
    contours.into_contours().unwrap()
}

/// One GPU that is opened twice traces what the processor does, whatever the bands.
#[test]
fn contours_in_bands() {
    let test = "contours_in_bands";
    let (Some((first, _memory)), Some(second)) = (tracer(test), tracer_of(test)) else {
        return;
    };
    let gpus = [first, second].map(|tracer| tracer.gpu().clone());
    let mut random = Random::new(seed_or(1));
    for i in 0..if optional::large(test) { 2000 } else { 200 } {
        let image = draw(&mut random);
        let options = TraceOptions::default()
            .approximation(APPROXIMATIONS[i % 2])
            .retrieval(RETRIEVALS[i / 2 % 4]);
        let expected = Engine::cpu().trace(&image, &options).unwrap();
        let rows = [32, 64, 33, 7][random.below(4) as usize];
        let found = trace_in_bands(&gpus[..1 + i % 2], &image, rows, &options);
        let difference = difference(&found, &expected);
        assert!(difference.is_none(), "image {i}: {difference:?}");
    }
    for (name, side, rows) in [("blobs", 8192, 1024), ("noise:0.5", 2048, 512)] {
        let pattern: Pattern = name.parse().unwrap();
        let image = pattern.generate(side, side, 3).unwrap();
        let options = TraceOptions::default();
        let found = trace_in_bands(&gpus, &image, rows, &options);
        assert!(found == Engine::cpu().trace(&image, &options).unwrap());
    }
    if !optional::large(test) {
        return;
    }
    check_known_answers(65_536, &|image| {
        let begin = Instant::now();
        let found = trace_in_bands(&gpus, image, 4096, &TraceOptions::default());
        println!(
            "65536 x 65536 in bands of 4096 rows on one GPU opened twice, {} contours, {} points: \
             {:.0} ms",
            found.len(),
            found.points().len(),
            begin.elapsed().as_secs_f64() * 1e3
        );
        found
    });
}

#[test]
fn masks() {
    let Some(folder) = optional::masks("masks") else {
        return;
    };
    let Some((tracer, _memory)) = tracer("masks") else {
        return;
    };
    optional::for_each_mask(&folder, |name, image| {
        for options in all_options() {
            check(&tracer, name, image, &options);
        }
    });
}

/// When memory runs out, tracing returns an error, and the GPU stays usable.
#[test]
fn out_of_device_memory_is_an_error() {
    let _alone = DEVICE_MEMORY
        .write()
        .unwrap_or_else(PoisonError::into_inner);
    let Some(tracer) = tracer_of("out_of_device_memory_is_an_error") else {
        return;
    };
    let image = generate::noise(8192, 8192, 0.5, 1).unwrap();
    let on_device = DeviceImage::upload(tracer.gpu(), &image).unwrap();
    let stream = tracer.gpu().stream();
    let free = stream.device().memory().unwrap().free;
    let most = stream.alloc::<u8>(free.saturating_sub(600 << 20)).unwrap();
    let refused = tracer.trace(&on_device, &TraceOptions::default());
    assert!(
        matches!(&refused, Err(error) if error.is_out_of_memory()),
        "{refused:?}"
    );
    drop(most);
    assert!(tracer.trace(&on_device, &TraceOptions::default()).is_ok());
}
