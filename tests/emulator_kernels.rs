//! Every kernel of the PTX runs under the emulator, so that no kernel is shipped untested.

use std::collections::BTreeSet;

use trazar::distance::{CostDistanceOptions, CostSurface, Neighbours, Precision, Sources};
use trazar::emulator::{Emulator, tally};
use trazar::generate::{self, Pattern};
use trazar::glam::IVec2;
use trazar::gpu::Scanner;
use trazar::hooks;
use trazar::measure::{MeasureOptions, Property};
use trazar::rle::{DeviceLabelRles, DeviceRles};
use trazar::route::{
    Cell, DeviceGrid, DeviceRouteAlgorithm, DeviceRouteOptions, DeviceRouter, EdgeCounts,
    NegotiationOptions, Net, RouteAlgorithm, RouteOptions, RoutingGrid, Window,
};
use trazar::trace::{Band, ContourOptions};
use trazar::{
    Backend, Connectivity, DeviceBytes, DeviceImage, DeviceImageBatch, DeviceLabeler, DeviceTracer,
    DeviceValues, Engine, Geometry, LabelAlgorithm, LabelOptions, PixelValue, RegionOptions,
    Retrieval, Samples, TraceAlgorithm, TraceOptions, ValueImage,
};
use trazar_test_support::contours::TEH_CHIN;
use trazar_test_support::kernels::PTX;

/// The names of the PTX's kernels.
fn entries() -> BTreeSet<&'static str> {
    let names = PTX.lines().filter_map(|line| {
        let (_, name) = line.split_once(".entry ")?;
        Some(name.trim_end_matches(['(', ' ']))
    });
    names.collect()
}

/// Labels and traces an image of values in four tiles.
fn run_values<T: PixelValue + From<u8>>(engine: &Engine) {
    let values: Vec<T> = (0..272 * 80u32)
        .map(|i| (((i * i) >> 9) as u8 & 1).into())
        .collect();
    let image = ValueImage::new(Samples::new(272, 80, &values).unwrap()).unwrap();
    engine.label_values(&image, Connectivity::Eight).unwrap();
    engine
        .trace_regions(&image, &RegionOptions::default())
        .unwrap();
    // In two tiles, for the launches of cooperative kernels are slow here.
    let image = ValueImage::new(Samples::new(70, 10, &values[..700]).unwrap()).unwrap();
    let options = ContourOptions::default().retrieval(Retrieval::Tree);
    engine.trace_values(&image, &options).unwrap();
}

/// Measures labels with intensities of each type that kernels sum up.
fn run_measures(engine: &Engine) {
    // Too large for a table: all sums are those of runs.
    let labels = [0u32, 1000, 1000, 2, 0, 1000];
    let labels = Samples::new(3, 2, &labels).unwrap();
    let options = MeasureOptions::default().properties([
        Property::IntensityMean,
        Property::Moments,
        Property::Perimeter,
        Property::EulerNumber,
        Property::CentroidWeighted,
        Property::FeretDiameterMax,
        Property::AreaFilled,
    ]);
    macro_rules! measure {
        ($($t:ty)*) => {$(
            let light = Samples::new(3, 2, &[1 as $t; 6]).unwrap();
            engine.measure_intensities(labels, light, &options).unwrap();
        )*};
    }
    measure!(u8 u16 u32 i16 i32 i64 f32 f64);
    macro_rules! measure_by_tiles {
        ($($t:ty)*) => {$(
            let labels = Samples::new(3, 2, &[1 as $t; 6]).unwrap();
            engine.measure(labels, &MeasureOptions::default()).unwrap();
            let shapes = [Property::Orientation, Property::Perimeter];
            let shapes = MeasureOptions::default().properties(shapes);
            engine.measure(labels, &shapes).unwrap();
        )*};
    }
    measure_by_tiles!(u8 u16 u32 i64);
}

#[test]
fn every_kernel_of_the_ptx_is_emulated() {
    // All pipelines, on an image of several tiles, with borders that are long enough to be followed
    // in stretches.
    let emulator = Emulator::new(1);
    let image = generate::noise(272, 80, 0.4, 1).unwrap();
    let on_device = DeviceImage::upload(&emulator, &image).unwrap();
    let labeler = DeviceLabeler::on(emulator.clone());
    for algorithm in [LabelAlgorithm::Direct, LabelAlgorithm::Tiles] {
        let labels = labeler
            .label(&on_device, &LabelOptions::default().algorithm(algorithm))
            .unwrap();
        labeler.measure(&on_device, &labels).unwrap();
    }
    let in_bands = labeler.clone().with_band_pixels(272 * 64);
    in_bands
        .label(&on_device, &LabelOptions::default())
        .unwrap();
    // This writes labels before bands are joined, and replaces them afterwards.
    in_bands
        .label(
            &on_device,
            &LabelOptions::default().algorithm(LabelAlgorithm::Direct),
        )
        .unwrap();
    let batch = DeviceImageBatch::upload(&emulator, [&image, &image]).unwrap();
    labeler
        .label_batch(&batch, &LabelOptions::default().statistics(true))
        .unwrap();
    let bytes: Vec<u8> = (0..272 * 80u32).map(|i| ((i * i) >> 4) as u8).collect();
    let bytes = emulator.upload(&bytes).unwrap();
    DeviceImage::pack(
        labeler.gpu(),
        &DeviceBytes::new(272, 80, &bytes, 100).unwrap(),
    )
    .unwrap();
    labeler
        .label_bytes(
            &DeviceBytes::new(272, 80, &bytes, 100).unwrap(),
            &LabelOptions::default().connectivity(Connectivity::Four),
        )
        .unwrap();
    // Five images of 272 × 16 bytes.
    // SAFETY: there is a value for each of their pixels, and nothing else uses these.
    unsafe { DeviceImageBatch::pack_pitched(&emulator, 272, 16, 5, bytes.view(), 272, 100) }
        .unwrap();
    // Labels come to the host by runs, of which this image has few.
    let sparse = generate::noise(272, 80, 0.02, 1).unwrap();
    Engine::on(emulator.clone())
        .label(&sparse, &LabelOptions::default())
        .unwrap();
    let mut values = emulator.upload(&[1; 1000]).unwrap();
    Scanner::new(&emulator, 1000)
        .unwrap()
        .scan_in_place(&mut values)
        .unwrap();
    let tracer = DeviceTracer::on(emulator.clone());
    for &algorithm in TraceAlgorithm::on(Backend::Emulator) {
        for geometry in [Geometry::Centers, Geometry::Edges] {
            let options = TraceOptions::default()
                .geometry(geometry)
                .algorithm(algorithm);
            let contours = tracer.trace(&on_device, &options).unwrap();
            let mut points = contours.into_buffers().points;
            tracer
                .translate_points(&mut points, IVec2::new(1, 2))
                .unwrap();
        }
    }
    // Few dense tiles, where those of the other image all are. At first, the image is expected to
    // be like that one.
    let on_device_sparse = DeviceImage::upload(&emulator, &sparse).unwrap();
    for _ in 0..2 {
        tracer
            .trace(&on_device_sparse, &TraceOptions::default())
            .unwrap();
    }
    // As the largest images.
    hooks::with_wide_keys(tracer.clone())
        .trace(&on_device, &TraceOptions::default())
        .unwrap();
    // Part of a larger image.
    let below = image.row(0);
    let band = Band::new(&image, 0).with_below(below);
    tracer.trace_part(band, &ContourOptions::default()).unwrap();
    // More tiles than are resident at once.
    let small = Emulator::new(1).with_resident_blocks(1);
    let on_small = DeviceImage::upload(&small, &image).unwrap();
    DeviceTracer::on(small)
        .trace(&on_small, &TraceOptions::default())
        .unwrap();
    for approximation in TEH_CHIN {
        let options = TraceOptions::default().approximation(approximation);
        tracer.trace(&on_device, &options).unwrap();
    }

    // Images of values of all types.
    let engine = Engine::on(emulator.clone());
    run_values::<u8>(&engine);
    run_values::<u16>(&engine);
    run_values::<u32>(&engine);
    run_values::<i64>(&engine);
    run_values::<f32>(&engine);
    run_measures(&engine);
    let masks = DeviceImageBatch::upload(&emulator, [&image]).unwrap();
    let rles = DeviceRles::encode(&emulator, &masks).unwrap();
    rles.compress(&emulator).unwrap();
    let labels = ValueImage::new(Samples::new(3, 2, &[7u8, 7, 0, 0, 7, 5]).unwrap()).unwrap();
    let labels = DeviceValues::upload(&emulator, &labels).unwrap();
    DeviceLabelRles::encode(&emulator, &labels).unwrap();

    // More stretches than one block ranks.
    let checkerboard: Pattern = "checkerboard".parse().unwrap();
    let large = checkerboard.generate(200, 190, 1).unwrap();
    let large = DeviceImage::upload(&emulator, &large).unwrap();
    let options = TraceOptions::default().algorithm(TraceAlgorithm::Components);
    tracer.trace(&large, &options).unwrap();

    // Two layers, and free edges.
    let layer = RoutingGrid::from_fn(12, 9, |x, y| x * y % 5, |x, _| x % 3).unwrap();
    let grid = RoutingGrid::stack(&[layer.clone(), layer], &[2; 12 * 9]).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(11, 8).on(1)]);
    let router = DeviceRouter::on(emulator.clone());
    for algorithm in [
        RouteAlgorithm::DivideConquer,
        RouteAlgorithm::Prefix,
        RouteAlgorithm::PrefixFused,
    ] {
        let net = std::slice::from_ref(&net);
        Engine::on(router.gpu().clone())
            .route(&grid, net, &RouteOptions::default().algorithm(algorithm))
            .unwrap();
    }
    // By fields, and in tiles: one layer and two, with free edges and without.
    let flat = Net::from_cells([Cell::at(0, 0), Cell::at(11, 8)]);
    for free in [true, false] {
        let weight = |x, y| u32::from(!free) + x * y % 5;
        let layer = RoutingGrid::from_fn(12, 9, weight, weight).unwrap();
        let layers = RoutingGrid::stack(&[layer.clone(), layer.clone()], &[2; 12 * 9]).unwrap();
        for (grid, net) in [(layer, &flat), (layers, &net)] {
            let grid = DeviceGrid::upload(&emulator, &grid).unwrap();
            router
                .route(
                    &grid,
                    std::slice::from_ref(net),
                    &DeviceRouteOptions::default(),
                )
                .unwrap();
            router
                .route(
                    &grid,
                    std::slice::from_ref(net),
                    &DeviceRouteOptions::default().algorithm(DeviceRouteAlgorithm::Tiles),
                )
                .unwrap();
            router.distances(&grid, &[Cell::at(3, 3)]).unwrap();
        }
    }

    // Nets that compete: two, for edges with room for one.
    let grid = RoutingGrid::uniform(9, 6, 1).unwrap();
    let capacities = EdgeCounts::uniform(&grid, 1, 0).unwrap();
    let engine = Engine::on(emulator.clone());
    let options = NegotiationOptions::default();
    let nets = [(); 2].map(|()| Net::from_cells([Cell::at(0, 0), Cell::at(8, 5)]));
    engine
        .negotiate(&grid, &capacities, &nets, &options)
        .unwrap();

    // By fields in wide boxes.
    let large_blocks = Emulator::new(1).with_shared_per_block(227 << 10);
    let grid = RoutingGrid::uniform(440, 300, 2).unwrap();
    let grid = DeviceGrid::upload(&large_blocks, &grid).unwrap();
    let net = Net::from_cells([(200, 150), (203, 151), (198, 155)].map(|(x, y)| Cell::at(x, y)));
    // Pins that are a few cells apart, in a window.
    let dense = Net::from_cells((0..100).map(|i| Cell::at(i % 10, i / 10))).within(Window {
        x: 0,
        y: 0,
        width: 20,
        height: 20,
    });
    DeviceRouter::on(large_blocks.clone())
        .route(&grid, &[net, dense], &DeviceRouteOptions::default())
        .unwrap();

    for neighbours in [Neighbours::Eight, Neighbours::Sixteen] {
        for precision in [Precision::F32, Precision::F64] {
            let options = CostDistanceOptions::default()
                .neighbours(neighbours)
                .precision(precision)
                .allocation(true)
                .direction(true);
            macro_rules! of_types {
                ($($type:ty)*) => {$(
                    let cells = [1 as $type; 6];
                    let friction = CostSurface::new(Samples::new(3, 2, &cells).unwrap());
                    Engine::on(emulator.clone())
                        .cost_distance(&friction, &Sources::from_cells([(0, 0)]), &options)
                        .unwrap();
                )*};
            }
            of_types! { u8 u16 u32 f32 f64 }
        }
    }

    let emulated: BTreeSet<&str> = tally().kernels.into_keys().collect();
    let entries = entries();
    // A PTX that was parsed wrongly would have no entries.
    assert!(entries.contains("scan_exclusive"), "{entries:?}");
    let missing: Vec<_> = entries.difference(&emulated).collect();
    assert!(missing.is_empty(), "not run by the emulator: {missing:?}");
    let unknown: Vec<_> = emulated.difference(&entries).collect();
    assert!(unknown.is_empty(), "not in the PTX: {unknown:?}");
}
