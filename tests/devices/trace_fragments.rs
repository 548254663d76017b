//! Contours by fragments, where borders cross the rims and corners of tiles, where tiles are dense,
//! and where the tracer's memory is used again.

use proptest::prelude::*;
use trazar::generate::{self, Pattern};
use trazar::gpu::{Gpu, GpuBuffer};
use trazar::hooks;
use trazar::{
    Approximation, BinaryImage, DeviceTracer, Geometry, Retrieval, TraceAlgorithm, TraceOptions,
};
use trazar_test_support::contours::{APPROXIMATIONS, GEOMETRIES, RETRIEVALS, compare};
use trazar_test_support::emulators::{say, seed};
use trazar_test_support::kernels::fragments::{self, PartsBuffers, Sizes, counter, follow};
use trazar_test_support::kernels::options as kernel_options;
use trazar_test_support::kernels::pixels::{Pixels, Raster, TracedImage};
use trazar_test_support::seeds::Random;

use super::{Device, check, setup};

/// The sides of a tile.
const TILE: (u32, u32) = (64, 32);

/// The combination of options with an index: all 16 of them come in turn.
fn options(index: u64) -> TraceOptions {
    let i = index as usize;
    TraceOptions::default()
        .algorithm(TraceAlgorithm::Fragments)
        .geometry(GEOMETRIES[i % 2])
        .approximation(APPROXIMATIONS[i / 2 % 2])
        .retrieval(RETRIEVALS[i / 4 % 4])
}

/// Traces `image` with the options of that index.
///
/// # Panics
/// The result is not the CPU's.
fn assert_same<G: Gpu>(name: &str, tracer: &DeviceTracer<G>, image: &BinaryImage, index: u64) {
    let options = options(index);
    let same = compare(tracer, image, &options);
    let (width, height) = (image.width(), image.height());
    assert!(
        same.is_ok(),
        "{name}, {width} × {height}, {options:?}, {:?}: {same:?}",
        tracer.gpu()
    );
}

/// Traces `image` with `count` combinations of options, from that of index `first`, each in its own
/// order of threads.
fn assert_same_in_orders<D: Device>(
    device: &D,
    name: &str,
    image: &BinaryImage,
    first: u64,
    count: u64,
) {
    for index in first..first + count {
        let tracer = DeviceTracer::on(device.small(1000 * seed() + index));
        assert_same(name, &tracer, image, index);
    }
}

/// How far a coordinate is from the nearest rim of a tile: 0 for the pixels on both sides of it.
fn to_rim(at: u32, side: u32) -> u32 {
    (at % side).min(side - 1 - at % side)
}

/// Noise in squares of `scale` pixels, within `reach` pixels of the tiles' rims, or of their
/// corners alone: there, borders cross in every way.
fn noise_at_rims() -> impl Strategy<Value = BinaryImage> {
    let size = (65..=140u32, 33..=70u32);
    let kind = (1..=2u32, 1..=4u32, any::<bool>(), 2..=8u32);
    (size, kind, any::<u64>()).prop_map(
        |((width, height), (scale, reach, corners, tenths), seed)| {
            let noise = {
                let (width, height) = (width.div_ceil(scale) + 1, height.div_ceil(scale) + 1);
                generate::noise(width, height, f64::from(tenths) / 10.0, seed).unwrap()
            };
            // Squares begin at even or at odd pixels.
            let shift = (seed % u64::from(scale)) as u32;
            BinaryImage::from_fn(width, height, |x, y| {
                let (beside, above) = (to_rim(x, TILE.0) < reach, to_rim(y, TILE.1) < reach);
                let near = if corners {
                    beside && above
                } else {
                    beside || above
                };
                near && noise.get((x + shift) / scale, (y + shift) / scale)
            })
            .unwrap()
        },
    )
}

/// Lines through corners of tiles, along both diagonals and flat ones.
fn lines_through_corners() -> impl Strategy<Value = BinaryImage> {
    let line = (-1..=1i32, -1..=1i32, -2..=2i32, 1..=3i32);
    let lines = prop::collection::vec(line, 1..5);
    (65..=140u32, 33..=70u32, lines).prop_map(|(width, height, lines)| {
        let (corner_x, corner_y) = (TILE.0.cast_signed(), TILE.1.cast_signed());
        BinaryImage::from_fn(width, height, |x, y| {
            let (x, y) = (x.cast_signed() - corner_x, y.cast_signed() - corner_y);
            lines.iter().any(|&(a, b, offset, thickness)| {
                (offset..offset + thickness).contains(&(a * x + b * y))
            })
        })
        .unwrap()
    })
}

pub(crate) fn borders_cross_rims_and_corners<D: Device>(device: &D) {
    let image = prop_oneof![3 => noise_at_rims(), 1 => lines_through_corners()];
    check::<D, _>(
        "borders cross rims and corners",
        40,
        &(image, device.any(), 0..16u64),
        |(image, gpu, index)| compare(&DeviceTracer::on(gpu), &image, &options(index)),
    );
}

/// All 2 × 2 and 4 × 2 pixels around the corner that four tiles share, surrounded by background and
/// by foreground.
pub(crate) fn every_pattern_around_a_corner<D: Device>(device: &D) {
    let (width, height) = (TILE.0 + 3, TILE.1 + 3);
    let mut index = seed();
    for around in [false, true] {
        for bits in 0..1u32 << 8 {
            if bits >> 4 != 0 && bits % 9 != u32::from(around) {
                continue;
            }
            let image = BinaryImage::from_fn(width, height, |x, y| {
                let (x, y) = ((x + 2).wrapping_sub(TILE.0), (y + 1).wrapping_sub(TILE.1));
                if x < 4 && y < 2 {
                    bits >> (y * 4 + x) & 1 != 0
                } else {
                    // Few pixels, so that a case is quick.
                    around && x.wrapping_add(2) < 8 && y.wrapping_add(2) < 6
                }
            })
            .unwrap();
            index += 1;
            let name = format!("{bits:b} in {around}");
            assert_same_in_orders(device, &name, &image, index, 1);
        }
    }
}

/// Tiles with more nodes than a small block takes, several for each block that takes such tiles.
pub(crate) fn dense_tiles<D: Device>(device: &D) {
    let checkerboard = Pattern::Checkerboard.generate(140, 40, seed()).unwrap();
    let noise = generate::noise(140, 40, 0.45, seed()).unwrap();
    for (i, (name, mut image)) in [("checkerboard", checkerboard), ("noise", noise)]
        .into_iter()
        .enumerate()
    {
        for half in 0..2 {
            let first = seed() + i as u64 * 8 + half * 5;
            assert_same_in_orders(device, name, &image, first, 2);
            image.invert();
        }
    }
    // Few multiprocessors: each block takes several tiles.
    let image = generate::noise(330, 64, 0.5, seed()).unwrap();
    for index in 0..2 {
        let gpu = device.gpu(setup(seed() + index).multiprocessors(1).resident_blocks(6));
        let tracer = DeviceTracer::on(gpu);
        assert_same("several dense tiles per block", &tracer, &image, index);
    }
}

/// About as many nodes as a small block takes: 512.
pub(crate) fn tiles_at_the_limit_of_density<D: Device>(device: &D) {
    for dots in 6..=11u32 {
        // A row of 64 pixels has 126 nodes over centers, and a dot has one.
        let image = BinaryImage::from_fn(TILE.0, TILE.1, |x, y| match y {
            0 | 2 | 4 | 6 => true,
            20 => x % 2 == 0 && x / 2 < dots,
            _ => false,
        })
        .unwrap();
        for retrieval in [Retrieval::Tree, Retrieval::List] {
            let options = TraceOptions::default()
                .algorithm(TraceAlgorithm::Fragments)
                .approximation(Approximation::None)
                .retrieval(retrieval);
            let tracer = DeviceTracer::on(device.small(seed() + u64::from(dots)));
            let same = compare(&tracer, &image, &options);
            assert!(same.is_ok(), "{dots} dots, {retrieval:?}: {same:?}");
        }
        // Along edges a dot has four nodes.
        let image = BinaryImage::from_fn(TILE.0, TILE.1, |x, y| {
            x % 2 == 0 && y % 2 == 0 && x / 2 + y / 2 * 32 < dots + 120
        })
        .unwrap();
        let options = TraceOptions::default()
            .algorithm(TraceAlgorithm::Fragments)
            .geometry(Geometry::Edges);
        let tracer = DeviceTracer::on(device.small(seed() + u64::from(dots)));
        let same = compare(&tracer, &image, &options);
        assert!(same.is_ok(), "{dots} more dots: {same:?}");
    }
}

/// More than a thousand rings in a tile: the points are placed in several rounds.
pub(crate) fn more_rings_in_a_tile_than_a_block_keeps_in_mind<D: Device>(device: &D) {
    let image = Pattern::Checkerboard.generate(66, 32, 0).unwrap();
    for (index, retrieval) in RETRIEVALS.into_iter().enumerate() {
        let options = TraceOptions::default()
            .algorithm(TraceAlgorithm::Fragments)
            .geometry(Geometry::Edges)
            .retrieval(retrieval);
        let tracer = DeviceTracer::on(device.small(seed() + index as u64));
        let same = compare(&tracer, &image, &options);
        assert!(same.is_ok(), "{retrieval:?}: {same:?}");
    }
}

/// So many words and borders that several blocks join and arrange them, and fewer than there are:
/// squares, many of them on the rims of tiles.
pub(crate) fn many_blocks<D: Device>(device: &D) {
    let image = BinaryImage::from_fn(130, 1500, |x, y| x % 9 < 7 && y % 9 < 7).unwrap();
    for index in 0..2 {
        let gpu = device.gpu(setup(seed() + index).multiprocessors(16));
        assert_same("many blocks", &DeviceTracer::on(gpu), &image, index);
    }
}

/// The left tiles have nothing but a side on which indices of nodes rise: no node learns of a lower
/// one, and each has to learn where its fragment ends.
pub(crate) fn a_border_that_runs_down_tiles<D: Device>(device: &D) {
    let image = BinaryImage::from_fn(130, 100, |x, y| x >= 20 + y % 2).unwrap();
    for index in 0..4 {
        let tracer = DeviceTracer::on(device.small(seed() + index));
        assert_same("a border that runs down", &tracer, &image, index);
    }
}

/// So many borders that blocks follow chains of siblings through their own parts first.
pub(crate) fn more_borders_than_threads_take_at_once<D: Device>(device: &D) {
    let image = generate::noise(190, 200, 0.5, seed()).unwrap();
    for blocks in 1..=2 {
        let gpu = device.gpu(setup(seed() + u64::from(blocks)).multiprocessors(blocks));
        assert_same("many borders", &DeviceTracer::on(gpu), &image, 0);
    }
}

/// Rings of 7 × 7 pixels with a dot each.
fn is_ring_with_dot(x: u32, y: u32) -> bool {
    match (x % 8, y % 8) {
        (0 | 6, 0..=6) | (0..=6, 0 | 6) => true,
        at => at == (3, 3),
    }
}

/// As many borders, most of which have children: more than a warp lists at a time. One square in
/// five is not a ring, so that others than the lanes of the first ones are listed after them.
pub(crate) fn many_borders_with_children<D: Device>(device: &D) {
    let is_square = |x, y| (x / 8 + y / 8 * 3) % 5 == 0 && x % 8 < 7 && y % 8 < 7;
    let is_set = |x, y| is_ring_with_dot(x, y) || is_square(x, y);
    let image = BinaryImage::from_fn(128, 272, is_set).unwrap();
    for geometry in GEOMETRIES {
        let options = TraceOptions::default()
            .algorithm(TraceAlgorithm::Fragments)
            .geometry(geometry);
        let gpu = device.gpu(setup(seed()).multiprocessors(1));
        let same = compare(&DeviceTracer::on(gpu), &image, &options);
        assert!(same.is_ok(), "{geometry:?}: {same:?}");
    }
}

/// As many borders, most of them with the same parent, which is neither the first nor the last
/// border with children; or with one of two parents.
pub(crate) fn many_borders_of_one_parent<D: Device>(device: &D) {
    // A plate with holes of one pixel.
    let is_plate = |x, y| x % 2 == 0 || y % 2 == 0;
    let one = |x, y| match y {
        0..8 => is_ring_with_dot(x, y),
        8..80 => is_plate(x, y - 8),
        80 => false,
        _ => is_ring_with_dot(x, y - 81),
    };
    let two = |x, y| y != 44 && is_plate(x, if y < 44 { y } else { y - 45 });
    let dots = |x, y| x % 2 == 0 && y % 2 == 0;
    for (i, (name, image)) in [
        ("one parent", BinaryImage::from_fn(129, 88, one)),
        ("two parents", BinaryImage::from_fn(129, 88, two)),
        ("no parents", BinaryImage::from_fn(129, 88, dots)),
    ]
    .into_iter()
    .enumerate()
    {
        let image = image.unwrap();
        for (index, retrieval) in RETRIEVALS.into_iter().enumerate() {
            let options = TraceOptions::default()
                .algorithm(TraceAlgorithm::Fragments)
                .geometry(GEOMETRIES[(i + index) % 2])
                .retrieval(retrieval);
            let gpu = device.gpu(setup(seed() + index as u64).multiprocessors(2));
            let same = compare(&DeviceTracer::on(gpu), &image, &options);
            assert!(same.is_ok(), "{name}, {retrieval:?}: {same:?}");
        }
    }
}

/// So many borders of one parent that an odd number of passes sorts the others.
pub(crate) fn partitioned_keys_of_three_digits<D: Device>(device: &D) {
    let is_set = |x, y| match y {
        0..516 => x % 2 == 0 && y % 2 == 0,
        _ => is_ring_with_dot(x, y - 516),
    };
    let image = BinaryImage::from_fn(512, 524, is_set).unwrap();
    let options = TraceOptions::default().algorithm(TraceAlgorithm::Fragments);
    let gpu = device.gpu(setup(seed()).multiprocessors(1));
    let same = compare(&DeviceTracer::on(gpu), &image, &options);
    assert!(same.is_ok(), "{same:?}");
}

/// The last side before each dot is one where its border goes straight on. Warps defer such dots:
/// here, several times as many as they have lanes.
pub(crate) fn dots_beside_bars<D: Device>(device: &D) {
    let is_set = |x, y| x % 4 == 0 || x % 4 == 2 && y % 2 == 1;
    let image = BinaryImage::from_fn(390, 32, is_set).unwrap();
    for index in 0..4 {
        let gpu = device.gpu(setup(seed() + index).multiprocessors(1));
        assert_same("dots beside bars", &DeviceTracer::on(gpu), &image, index);
    }
}

/// Walls of one pixel, each between two holes: the sides of a pixel belong to different borders,
/// also in a tile's first row, to which those of dots further down lead.
pub(crate) fn dots_in_cells<D: Device>(device: &D) {
    let is_wall = |x, y| y == 0 || y == 69 || x % 4 == 0;
    let is_dot = |x, y| x % 4 == 2 && y % 2 == 1 && (3..67).contains(&y);
    let image = BinaryImage::from_fn(133, 70, |x, y| is_wall(x, y) || is_dot(x, y)).unwrap();
    for index in 0..4 {
        let tracer = DeviceTracer::on(device.small(seed() + index));
        assert_same("dots in cells", &tracer, &image, index);
    }
}

/// Borders that run through many tiles.
pub(crate) fn rings_and_spirals_over_several_tiles<D: Device>(device: &D) {
    let mut index = seed();
    for pattern in [
        Pattern::NestedRectangles,
        Pattern::Spiral,
        Pattern::Serpentine,
        Pattern::Hilbert,
        Pattern::Comb,
    ] {
        let image = pattern.generate(135, 70, seed()).unwrap();
        for geometry in 0..2u64 {
            // All retrievals come in turn.
            index += 1;
            let options = geometry | (index & 1) << 1 | index << 2;
            let tracer = DeviceTracer::on(device.small(index));
            assert_same(&pattern.to_string(), &tracer, &image, options);
        }
    }
}

/// Sixteen rings in each other, twice: as deep as it takes several rounds to count, and with a
/// sibling, whose place depends on the count.
pub(crate) fn two_nests_side_by_side<D: Device>(device: &D) {
    let side = 66u32;
    let image = BinaryImage::from_fn(2 * side + 2, side, |x, y| {
        let x = x % (side + 2);
        let ring = y.min(side - 1 - y).min(x).min((side - 1).wrapping_sub(x));
        x < side && ring % 2 == 0
    })
    .unwrap();
    for geometry in 0..2 {
        for retrieval in [2, 3] {
            let index = geometry | 1 << 1 | retrieval << 2;
            let tracer = DeviceTracer::on(device.small(seed() + index));
            assert_same("two nests", &tracer, &image, index);
        }
    }
}

/// As many nests of three rings as fill lists of borders with children, which are five of six, to
/// their last places: a warp appends its list to the common one in time.
pub(crate) fn many_nests<D: Device>(device: &D) {
    let is_ring = |at: u32, side: u32| at.min(side - 1 - at);
    let image = BinaryImage::from_fn(224, 224, |x, y| {
        let (x, y) = (x % 12, y % 12);
        x < 11 && y < 11 && is_ring(x, 11).min(is_ring(y, 11)) % 2 == 0
    })
    .unwrap();
    for blocks in 1..=2 {
        let gpu = device.gpu(setup(seed() + u64::from(blocks)).resident_blocks(blocks));
        assert_same("many nests", &DeviceTracer::on(gpu), &image, 14);
    }
}

/// Images of which one thing alone does not fit the memory of the first guess: what has been found
/// is counted, and nothing else happens until there is room for it.
pub(crate) fn one_kind_of_part_alone_exceeds_its_room<D: Device>(device: &D) {
    // Room is for 16 tiles or more: 384 fragments, 256 borders inside tiles, 3072 sides and points.
    let diagonals = BinaryImage::from_fn(64, 96, |x, y| (x + y) % 3 == 0);
    let rows = BinaryImage::from_fn(64, 96, |_, y| y % 2 == 0);
    let dots = BinaryImage::from_fn(64, 96, |x, y| x % 4 == 0 && y % 4 == 0);
    let dominoes = BinaryImage::from_fn(256, 128, |x, y| x % 2 == 0 && to_rim(y, TILE.1) == 0);
    for (i, (name, image, approximation)) in [
        ("sides", diagonals, Approximation::Simple),
        ("points", rows, Approximation::None),
        ("closed borders", dots, Approximation::Simple),
        ("fragments", dominoes, Approximation::Simple),
    ]
    .into_iter()
    .enumerate()
    {
        let options = TraceOptions::default()
            .algorithm(TraceAlgorithm::Fragments)
            .approximation(approximation);
        let tracer = DeviceTracer::on(device.small(seed() + i as u64));
        let same = compare(&tracer, &image.unwrap(), &options);
        assert!(same.is_ok(), "{name}: {same:?}");
    }
}

/// Images of one pixel's width or height, and of tiles exactly.
pub(crate) fn awkward_sizes<D: Device>(device: &D) {
    let mut index = seed();
    for (width, height) in [
        (1, 5000),
        (5000, 1),
        (2, 1000),
        (1000, 2),
        (63, 31),
        (64, 32),
        (64, 33),
        (65, 32),
        (65, 33),
        (128, 64),
        (129, 65),
    ] {
        index += 5;
        let density = [0.7, 0.2, 1.0][index as usize % 3];
        let image = generate::noise(width, height, density, index).unwrap();
        assert_same_in_orders(device, "noise", &image, index, 1);
    }
}

/// Dominoes across the tiles' rims: as many borders as a number of fragments can have.
pub(crate) fn every_border_has_two_fragments<D: Device>(device: &D) {
    let (width, height) = (6 * TILE.0, 6 * TILE.1);
    let image = BinaryImage::from_fn(width, height, |x, y| {
        let inside = x > 0 && y > 0 && x + 1 < width && y + 1 < height;
        let (beside, above) = (to_rim(x, TILE.0), to_rim(y, TILE.1));
        inside && (above == 0 && beside > 1 && x % 2 == 0 || beside == 0 && above > 1 && y % 2 == 0)
    })
    .unwrap();
    for index in [0, 15] {
        assert_same_in_orders(device, "dominoes", &image, index, 1);
    }
}

/// Random images of a few sizes.
fn draw(random: &mut Random) -> BinaryImage {
    let sizes = [(64, 32), (65, 33), (130, 40), (130, 70), (40, 100), (1, 1)];
    let (width, height) = sizes[random.below(sizes.len() as u32) as usize];
    let density = f64::from(random.below(11)) / 10.0;
    generate::noise(width, height, density, random.below(u32::MAX).into()).unwrap()
}

/// One tracer keeps its memory from image to image: the sizes change, and what one image needs is
/// more or less than what the last one did.
pub(crate) fn one_tracer_traces_many_images<D: Device>(device: &D) {
    let mut random = Random::new(seed());
    for run in 0..2 {
        let tracer = DeviceTracer::on(device.small(seed() + run));
        let mut index = u64::from(random.below(16));
        // Little, more than the first guess, and little again: of one size.
        for density in [0.1, 0.5, 0.0, 0.3] {
            index += 7;
            let image = generate::noise(200, 40, density, index).unwrap();
            assert_same("one size", &tracer, &image, index);
        }
        for _ in 0..8 {
            index += 3;
            let image = draw(&mut random);
            assert_same("any size", &tracer.clone(), &image, index);
        }
    }
    say("one tracer traces many images", "2 runs of 12 images");
}

/// An image that follows one of its size: one block arranges the borders if they are about as many
/// as expected, and the result is written before its size is known. After an image without borders
/// there is too little room for most results, after the image itself there is enough.
pub(crate) fn random_images_after_others<D: Device>(device: &D) {
    let image = prop_oneof![2 => noise_at_rims(), 1 => rings_and_dots()];
    check::<D, _>(
        "images after others of their size",
        12,
        &(image, device.any(), 0..16u64),
        |(image, gpu, index)| {
            let tracer = DeviceTracer::on(gpu);
            let empty = BinaryImage::new(image.width(), image.height()).unwrap();
            for image in [&empty, &image, &image] {
                compare(&tracer, image, &options(index))?;
            }
            Ok(())
        },
    );
}

/// Nests of rings with dots between them: levels of nesting, and many borders with one parent.
fn rings_and_dots() -> impl Strategy<Value = BinaryImage> {
    (1..=2u32, 2..=14u32, 1..=3u32).prop_map(|(nests, rings, gap)| {
        let side = 2 * rings * (gap + 1);
        BinaryImage::from_fn(nests * side, side, |x, y| {
            let x = x % side;
            let ring = x.min(y).min(side - 1 - x).min(side - 1 - y);
            ring % (gap + 1) == 0 || gap == 3 && ring % 4 == 2 && (x + y) % 2 == 0
        })
        .unwrap()
    })
}

/// As many borders as one block has memory for, more, and fewer; also as many as one block takes
/// with the least memory.
pub(crate) fn numbers_of_borders_around_a_blocks_memory<D: Device>(device: &D) {
    let dots = |count: u32| {
        BinaryImage::from_fn(2 * 96, 2 * 64, |x, y| {
            x % 2 == 0 && y % 2 == 0 && y / 2 * 96 + x / 2 < count
        })
        .unwrap()
    };
    // One block holds at most 3,500 borders in 48 KiB.
    let gpu = device.gpu(setup(seed()).shared_per_block(48 << 10).resident_blocks(2));
    let tracer = DeviceTracer::on(gpu);
    let counts = [
        0, 1023, 1024, 1025, 3400, 0, 1025, 2700, 3600, 3400, 5000, 1, 0, 1,
    ];
    for (index, count) in counts.into_iter().enumerate() {
        // Trees, external borders, lists and two levels in turn.
        let index = [12, 0, 4, 8, 15][index % 5];
        assert_same("dots", &tracer, &dots(count), index);
    }
    // After one border with many points there is room for the points of many borders, but not for
    // these.
    let comb = BinaryImage::from_fn(2 * 96, 2 * 64, |x, y| x % 2 == 0 || y == 0).unwrap();
    for image in [&comb, &dots(250), &comb] {
        assert_same("a comb and dots", &tracer, image, 12);
    }
}

/// Two threads trace with clones of one tracer. Its memory is one thread's at a time; the other
/// gets memory of its own.
pub(crate) fn two_threads_share_a_tracer<D: Device>(device: &D) {
    let tracer = DeviceTracer::on(device.small(seed()));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let tracer = tracer.clone();
            scope.spawn(move || {
                let mut random = Random::new(2 * seed() + thread);
                for index in 0..4 {
                    let image = draw(&mut random);
                    assert_same("shared", &tracer, &image, 3 * index + thread);
                }
            });
        }
    });
}

/// Small images by the kernels of the largest ones, whose keys have 64 bits.
pub(crate) fn wide_keys<D: Device>(device: &D) {
    check::<D, _>(
        "wide keys",
        20,
        &(noise_at_rims(), device.any(), 0..16u64),
        |(image, gpu, index)| {
            let tracer = hooks::with_wide_keys(DeviceTracer::on(gpu));
            compare(&tracer, &image, &options(index))
        },
    );
    // Memory that was made for narrow keys is not used for wide ones.
    let narrow = DeviceTracer::on(device.small(seed()));
    let wide = hooks::with_wide_keys(narrow.clone());
    for (index, tracer) in [&narrow, &wide, &narrow, &wide].into_iter().enumerate() {
        let index = index as u64;
        let image = generate::noise(200, 70, 0.3, seed() + index).unwrap();
        assert_same("narrow and wide", tracer, &image, index);
    }
}

/// Keys number the nodes of kinds W and E of all words from 0 on, and the largest number of 32 bits
/// is none of them.
pub(crate) fn keys_are_wide_from_the_first_image_that_needs_it<D: Device>(_device: &D) {
    let sizes = [
        (1, 1),
        (64, (1 << 25) - 1),
        (64, 1 << 25),
        (1, 1 << 25),
        (65, 1 << 24),
        (65_536, 32_767),
        (65_536, 32_768),
        (65_535, 32_768),
        (65_536, 32_769),
        (100_000, 100_000),
    ];
    for (width, height) in sizes {
        let last_key = u64::from(width).div_ceil(64) * u64::from(height) * 128 - 1;
        let raster = Raster::new(width, height).unwrap();
        assert_eq!(
            fragments::key::is_wide(raster),
            last_key >= u32::MAX.into(),
            "not the CPU's number of keys: {width} × {height}"
        );
    }
    let is_wide = |width, height| fragments::key::is_wide(Raster::new(width, height).unwrap());
    assert!(is_wide(65_536, 32_768) && !is_wide(65_536, 32_767));
}

/// Small images whose fragments are ranked as those of large ones: by segments, or as a sample of
/// the fragments says.
pub(crate) fn segments_of_fragments<D: Device>(device: &D) {
    check::<D, _>(
        "segments of fragments",
        20,
        &(noise_at_rims(), device.any(), 0..16u64, 0..2u32),
        |(image, gpu, index, few)| {
            let tracer = hooks::with_few_fragments(DeviceTracer::on(gpu), few);
            compare(&tracer, &image, &options(index))
        },
    );
    for (few, index) in [(0, 0), (1, 1), (0, 2), (1, 3)] {
        let tracer = hooks::with_few_fragments(DeviceTracer::on(device.small(seed())), few);
        let long = generate::spiral(300, 100).unwrap();
        assert_same("a spiral in segments", &tracer, &long, index);
        let image = generate::noise(200, 70, 0.3, seed() + index).unwrap();
        assert_same("noise in segments", &tracer, &image, index);
        let wide = hooks::with_wide_keys(tracer);
        assert_same("with wide keys", &wide, &image, index);
    }
}

/// A counter that passes 2³² leaves a mark, whichever it is, and nothing is written where its
/// numbers begin again.
pub(crate) fn counters_that_wrap_around_are_noticed<D: Device>(device: &D) {
    let gpu = device.small(seed());
    let image = generate::noise(130, 40, 0.3, seed()).unwrap();
    let raster = Raster::new(image.width(), image.height()).unwrap();
    // Room for nothing that is counted.
    let sizes = Sizes {
        raster,
        tile_height: fragments::TILE_HEIGHT,
        fragments: 0,
        closed: 0,
        sides: 0,
        points: 0,
    };
    let uploaded = gpu.upload(image.words()).unwrap();
    let labels = gpu.alloc(0).unwrap();
    let run = |preset: &[(u32, u32)]| -> Vec<u32> {
        let mut counters = vec![0; counter::COUNT as usize];
        for &(counter, value) in preset {
            counters[counter as usize] = value;
        }
        let mut buffers = PartsBuffers::alloc(&hooks::OnGpu(gpu.clone()), &sizes).unwrap();
        buffers.counters.write(&counters).unwrap();
        let image = TracedImage {
            pixels: Pixels {
                words: uploaded.view(),
                raster,
            },
            labels: labels.view(),
            geometry: kernel_options::Geometry::Centers,
        };
        let approximation = kernel_options::Approximation::Simple;
        let (tiles, parts, gpu) = (sizes.tiles(), buffers.views(), gpu.launcher());
        // SAFETY: one block per tile.
        unsafe { follow::follow_few_tiles::launch(&gpu, tiles, image, approximation, parts) }
            .unwrap();
        buffers.counters.to_vec().unwrap()
    };
    let counted = run(&[]);
    assert_eq!(counted[counter::WRAPPED as usize], 0);
    for counter in [
        counter::FRAGMENTS,
        counter::CLOSED,
        counter::POINTS,
        counter::SIDES,
    ] {
        let count = counted[counter as usize];
        assert!(count > 2, "{counter}");
        for (before, wraps) in [(0, false), (1, true), (count - 1, true)] {
            let counts = run(&[(counter, u32::MAX - count + before)]);
            assert_eq!(counts[counter as usize], u32::MAX.wrapping_add(before));
            let wrapped = counts[counter::WRAPPED as usize] != 0;
            assert_eq!(wrapped, wraps, "not the CPU's sum: counter {counter}");
        }
    }
}
