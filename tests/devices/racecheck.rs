//! Small enough for `compute-sanitizer --tool racecheck`, which checks every access to shared
//! memory, to end within minutes.

use trazar::generate::{self, Pattern};
use trazar::route::{
    Cell, DeviceGrid, DeviceRouteAlgorithm, DeviceRouteOptions, DeviceRouter, Net, RouteAlgorithm,
    Window,
};
use trazar::{Approximation, DeviceTracer, Engine, TraceAlgorithm, TraceOptions};
use trazar_test_support::contours::{GEOMETRIES, RETRIEVALS, check};
use trazar_test_support::emulators::seed;
use trazar_test_support::grids::{Weights, random_grid};
use trazar_test_support::labels::{ALGORITHMS, CONNECTIVITIES};
use trazar_test_support::routes::mistake;
use trazar_test_support::seeds::Random;

use super::label::check_labels;
use super::route::on_cpu;
use super::teh_chin::{both, triangle};
use super::values::assert_random;
use super::{Device, PerDevice};

/// A few tiles, with seams and a corner between them.
pub(crate) fn racecheck_labels<D: Device>(device: &D) {
    let engine = Engine::on(device.gpu(seed()));
    // Tiles with few runs, and with more runs than a band holds.
    for density in [0.2, 0.5] {
        let image = generate::noise(300, 100, density, 11).unwrap();
        for connectivity in CONNECTIVITIES {
            for algorithm in ALGORITHMS {
                check_labels(&engine, &image, connectivity, algorithm, true).unwrap();
            }
        }
    }
}

/// A few tiles, with rims and a corner between them, sparse and dense ones.
pub(crate) fn racecheck_contours_by_fragments<D: Device>(device: &D) {
    let tracer = DeviceTracer::on(device.small(seed()));
    for density in [0.03, 0.2, 0.5] {
        let image = generate::noise(150, 75, density, 11).unwrap();
        for geometry in GEOMETRIES {
            let options = TraceOptions::default()
                .geometry(geometry)
                .algorithm(TraceAlgorithm::Fragments);
            check(&tracer, "noise", &image, &options);
        }
    }
}

/// Borders that pass many tiles, and borders nested in each other.
pub(crate) fn racecheck_long_and_nested_borders<D: Device>(device: &D) {
    let tracer = DeviceTracer::on(device.small(seed()));
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

pub(crate) fn racecheck_dominant_points<D: Device>(device: &D) {
    let tracer = DeviceTracer::on(device.small(seed()));
    let image = Pattern::Blobs.generate(120, 90, 3).unwrap();
    let noise = generate::noise(90, 60, 0.5, 3).unwrap();
    for options in both() {
        check(&tracer, "blobs", &image, &options);
        check(&tracer, "noise", &noise, &options);
        check(&tracer, "triangle", &triangle(120, 60, 1, 2), &options);
    }
}

/// Nets in windows, in one launch.
fn many_nets<D: Device>(device: &D, layers: u32) {
    let router = DeviceRouter::on(device.gpu(seed()));
    let (width, height) = (100, 70);
    let nets = PerDevice {
        emulator: 2,
        gpu: 24,
    };
    let grid = random_grid(width, height, layers, Weights::Gaps, 31);
    let mut random = Random::new(32);
    let nets: Vec<_> = (0..nets.on::<D>())
        .map(|_| {
            let window = Window {
                x: random.below(width - 30),
                y: random.below(height - 30),
                width: 30,
                height: 30,
            };
            let mut cell = || {
                let (x, y) = (random.below(30), random.below(30));
                Cell::at(window.x + x, window.y + y).on(random.below(layers))
            };
            Net::from_cells([cell(), cell(), cell()]).within(window)
        })
        .collect();
    let expected = on_cpu(&grid, &nets);
    let on_device = DeviceGrid::upload(router.gpu(), &grid).unwrap();
    let found = router.route(
        &on_device,
        &nets,
        &DeviceRouteOptions::default().algorithm(DeviceRouteAlgorithm::Tiles),
    );
    assert_eq!(mistake(found, &expected, RouteAlgorithm::Tiles), None);
}

pub(crate) fn racecheck_many_nets_in_tiles<D: Device>(device: &D) {
    many_nets(device, 1);
}

pub(crate) fn racecheck_many_nets_in_tiles_of_layers<D: Device>(device: &D) {
    many_nets(device, 2);
}

pub(crate) fn racecheck_values<D: Device>(device: &D) {
    let (count, most) = PerDevice {
        emulator: (2, 60),
        gpu: (6, 150),
    }
    .on::<D>();
    assert_random(&Engine::on(device.small(seed())), count, most);
}
