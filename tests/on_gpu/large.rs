//! Images, grids and arrays that are too large for the emulator, with `TRAZAR_LARGE=1`; and masks
//! of people who work with them, where `TRAZAR_DATA` names some.

use std::time::Instant;

use trazar::cuda::{CudaError, Device as Gpu, Module, ModuleQueue};
use trazar::generate::Pattern;
use trazar::route::Cell;
use trazar::{
    Approximation, BinaryImage, DeviceImage, DeviceLabeler, DeviceTracer, Engine, Geometry,
    LabelAlgorithm, Retrieval, TraceAlgorithm, TraceOptions,
};
use trazar_test_support::contours::{GEOMETRIES, check};
use trazar_test_support::grids::{Weights, net, random_grid};
use trazar_test_support::kernels::PTX;
use trazar_test_support::kernels::scan::{self, ScanState};
use trazar_test_support::labels::{ALGORITHMS, CONNECTIVITIES, options};
use trazar_test_support::optional;
use trazar_test_support::tilings::{Tiling, check_measures, check_rows};

use crate::devices::label::check_labels;
use crate::devices::route::assert_routes;
use crate::devices::route_tiles::assert_distances;
use crate::devices::{Device, teh_chin, trace};
use crate::{Alone, Beside};

/// The GPU alone, if large inputs are asked for.
fn alone(test: &str) -> Option<Alone> {
    if optional::large(test) {
        Alone::open(test)
    } else {
        None
    }
}

/// Labels `image` with both connectivities by each of `algorithms`, with statistics.
fn assert_labels(gpu: &Engine, name: &str, image: &BinaryImage, algorithms: &[LabelAlgorithm]) {
    for connectivity in CONNECTIVITIES {
        for &algorithm in algorithms {
            let same = check_labels(gpu, image, connectivity, algorithm, true);
            let (width, height) = (image.width(), image.height());
            same.unwrap_or_else(|error| {
                panic!("{name}, {width} × {height}, {algorithm:?}: {error}")
            });
        }
    }
}

#[test]
fn labels_of_large_images() {
    let Some(alone) = alone("labels_of_large_images") else {
        return;
    };
    let gpu = Engine::on(alone.queue.clone());
    let large = [
        ("blobs", 16384, 16384),
        ("noise:0.5", 10_001, 9_999),
        ("noise:0.41", 16384, 16384),
        ("spiral", 8192, 8192),
        ("hilbert", 8192, 8192),
        ("comb", 8192, 8192),
    ];
    for (name, width, height) in large {
        let image = name.parse::<Pattern>().unwrap();
        let image = image.generate(width, height, 7).unwrap();
        assert_labels(&gpu, name, &image, &ALGORITHMS);
    }
    for name in ["blobs", "noise:0.5", "checkerboard"] {
        let image = name.parse::<Pattern>().unwrap();
        let image = image.generate(32768, 32768, 8).unwrap();
        assert_labels(&gpu, name, &image, &[LabelAlgorithm::Tiles]);
    }
}

/// More pixels than 32 bits can index, in the GPU's memory.
#[test]
fn labels_of_more_than_32_bits_of_pixels() {
    let Some(alone) = alone("labels_of_more_than_32_bits_of_pixels") else {
        return;
    };
    let labeler = DeviceLabeler::on(alone.queue.clone());
    let device = alone.queue.stream().device();
    for side in [65_600u32, 100_000] {
        let bytes = 4.2 * f64::from(side) * f64::from(side) + 5e9;
        if (device.memory().unwrap().free as f64) < bytes {
            optional::skipped("labels_of_more_than_32_bits_of_pixels", "not enough memory");
            continue;
        }
        let tiling = Tiling::new(side, side);
        let image = DeviceImage::upload(labeler.gpu(), &tiling.image()).unwrap();
        for connectivity in CONNECTIVITIES {
            let run = options(connectivity, LabelAlgorithm::Tiles, true);
            let labels = labeler.label(&image, &run).unwrap();
            assert_eq!(u64::from(labels.count().unwrap()), tiling.count());
            check_measures(tiling, labels.components().unwrap());
            check_rows(tiling, |y, row| {
                labels
                    .labels()
                    .read_at(y as usize * side as usize, row)
                    .unwrap();
            });
        }
    }
}

#[test]
fn contours_of_large_images() {
    let Some(alone) = alone("contours_of_large_images") else {
        return;
    };
    let tracer = DeviceTracer::on(alone.queue.clone());
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

#[test]
fn dominant_points_of_large_images() {
    let Some(alone) = alone("dominant_points_of_large_images") else {
        return;
    };
    let tracer = DeviceTracer::on(alone.queue.clone());
    let mut large = vec![
        // One line of 16384 steps whose regions reach as far as it does.
        (
            "slope 1/2".to_owned(),
            teh_chin::triangle(16384, 8192, 1, 2),
        ),
    ];
    for (name, width, height) in [
        ("blobs", 16384, 16384),
        ("noise:0.5", 4096, 4096),
        ("noise:0.41", 5000, 7001),
        // One contour of millions of points, and a million contours.
        ("spiral", 4096, 4096),
        ("dots", 2048, 2048),
    ] {
        let pattern: Pattern = name.parse().unwrap();
        large.push((name.to_owned(), pattern.generate(width, height, 7).unwrap()));
    }
    for (name, image) in &large {
        for options in teh_chin::both() {
            check(&tracer, name, image, &options);
        }
    }
}

#[test]
fn routes_on_large_grids() {
    let Some(alone) = alone("routes_on_large_grids") else {
        return;
    };
    let gpu = &alone.queue;
    let grid = random_grid(4096, 4096, 1, Weights::Small, 9);
    assert_distances(gpu, &grid, &[Cell::at(0, 0)]);
    for (side, pins) in [(1024, 700), (2048, 64), (4096, 16)] {
        let grid = random_grid(side, side, 1, Weights::Small, 7);
        let net = net(&grid, pins, 8);
        let name = format!("{side} x {side}, {pins} pins");
        assert_routes(gpu, &name, &grid, &[net]);
    }
}

/// By the calls of those who launch kernels of their own, without the library's pipelines.
#[test]
fn prefix_sums_of_many_elements() -> Result<(), CudaError> {
    let test = "prefix_sums_of_many_elements";
    let Some(alone) = Alone::open(test) else {
        return Ok(());
    };
    let device: &Gpu = alone.queue.stream().device();
    let n = (1 << 28) + 3;
    if device.memory()?.free < 3 * 4 * n {
        optional::skipped(test, "less than 3 GiB of device memory are free");
        return Ok(());
    }
    let stream = device.stream()?;
    let queue = ModuleQueue::new(&stream, &Module::from_ptx(device, PTX)?)?;
    // Irregular values whose sum overflows within a few elements.
    let values: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let blocks = scan::blocks(n as u32, device.info().multiprocessors);
    let start = Instant::now();
    let input = stream.upload(&values)?;
    let mut output = stream.alloc::<u32>(n)?;
    let mut total = stream.upload(&[0u32])?;
    let mut status = stream.alloc::<u64>(scan::status_len(n as u32) as usize)?;
    let mut ticket = stream.alloc::<u32>(1)?;
    output.fill_bytes(0xff)?;
    status.fill_bytes(0xff)?;
    ticket.fill_bytes(0xff)?;
    let state = ScanState {
        status: status.view_mut(),
        ticket: ticket.view_mut(),
    };
    let (from, to, sum) = (input.view(), output.view_mut(), total.view_mut());
    // SAFETY: lengths, alignment and order are those that the kernels require.
    unsafe {
        scan::scan_init::launch_threads(&queue, scan::status_len(n as u32), state)?;
        scan::scan_exclusive::launch(&queue, blocks, from, to, sum, state, n as u32)?;
    }
    let (found, found_total) = (output.to_vec()?, total.to_vec()?);
    println!("{:.1?} with both copies", start.elapsed());
    let mut sum = 0u32;
    for (i, (&value, &found)) in values.iter().zip(&found).enumerate() {
        assert_eq!(found, sum, "sum of the elements before {i}");
        sum = sum.wrapping_add(value);
    }
    assert_eq!((found.len(), found_total), (n, vec![sum]));
    Ok(())
}

/// Labels, contours and dominant points, with every combination of options.
#[test]
fn masks() {
    let Some(folder) = optional::masks("masks") else {
        return;
    };
    let Some(beside) = <Beside as Device>::open("masks") else {
        return;
    };
    let engine = Engine::on(beside.queue.clone());
    let tracer = DeviceTracer::on(beside.queue.clone());
    let contours = trace::all_options::<Beside>();
    let dominant_points = teh_chin::all_options::<Beside>();
    optional::for_each_mask(&folder, |name, image| {
        assert_labels(&engine, name, image, &ALGORITHMS);
        for options in contours.iter().chain(&dominant_points) {
            check(&tracer, name, image, options);
        }
    });
}
