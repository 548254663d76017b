//! Pipelines with inputs from another queue. Each pipeline waits for its input, and later work on
//! the input waits for the pipeline. On a GPU a mistake here would be a rare wrong result; the
//! emulator reports it.

use trazar::emulator::Emulator;
use trazar::generate;
use trazar::gpu::Scanner;
use trazar::route::{
    Cell, DeviceGrid, DeviceRouteAlgorithm, DeviceRouteOptions, DeviceRouter, Net, RouteOptions,
    RoutingGrid,
};
use trazar::trace::TileCounts;
use trazar::{
    BinaryImage, Connectivity, DeviceBytes, DeviceImage, DeviceLabeler, DeviceTracer, Engine,
    Geometry, LabelAlgorithm, LabelOptions, TraceAlgorithm, TraceOptions,
};

/// The queue of the inputs, and the queue of the pipelines.
fn queues(seed: u64) -> (Emulator, Emulator) {
    let inputs = Emulator::new(seed);
    let works = inputs.another_queue();
    (inputs, works)
}

fn image() -> BinaryImage {
    generate::blobs(96, 41, 5).unwrap()
}

fn labels(image: &BinaryImage) -> trazar::Labels {
    let options = LabelOptions::default().statistics(true);
    Engine::cpu().label(image, &options).unwrap()
}

#[test]
fn labels_and_statistics() {
    let image = image();
    let expected = labels(&image);
    for algorithm in [LabelAlgorithm::Tiles, LabelAlgorithm::Direct] {
        let (inputs, works) = queues(1);
        let labeler = DeviceLabeler::on(works.clone());
        let input = DeviceImage::upload(&inputs, &image).unwrap();
        let found = labeler
            .label(&input, &LabelOptions::default().algorithm(algorithm))
            .unwrap();
        // With a third queue, to which neither the image nor the labels belong.
        let measures = DeviceLabeler::on(inputs.another_queue());
        let components = measures.measure(&input, &found).unwrap();
        drop(input);
        assert_eq!(
            found.to_host().unwrap().as_slice(),
            expected.as_slice(),
            "{algorithm:?}"
        );
        drop(found);
        assert_eq!(Some(&components[..]), expected.components());
    }
}

#[test]
fn bytes() {
    // A width for the kernel that labels bytes, and a width that is packed to bits first.
    for width in [96, 77] {
        let (inputs, works) = queues(2);
        let labeler = DeviceLabeler::on(works);
        let image = generate::blobs(width, 23, 4).unwrap();
        let values: Vec<u8> = (0..23)
            .flat_map(|y| (0..width).map(move |x| (x, y)))
            .map(|(x, y)| if image.get(x, y) { 200 } else { 100 })
            .collect();
        let input = inputs.upload(&values).unwrap();
        let packed = DeviceImage::pack(
            labeler.gpu(),
            &DeviceBytes::new(width, 23, &input, 127).unwrap(),
        )
        .unwrap();
        drop(input);
        assert!(packed.to_host().unwrap() == image, "{width}");

        let input = inputs.upload(&values).unwrap();
        let (packed, found) = labeler
            .label_bytes(
                &DeviceBytes::new(width, 23, &input, 127).unwrap(),
                &LabelOptions::default(),
            )
            .unwrap();
        drop(input);
        assert!(packed.to_host().unwrap() == image, "{width}");
        assert_eq!(
            found.to_host().unwrap().as_slice(),
            labels(&image).as_slice()
        );
    }
}

#[test]
fn contours() {
    let image = image();
    for algorithm in [
        TraceAlgorithm::Tiles(TileCounts::BY_SIZE),
        TraceAlgorithm::Components,
    ] {
        for geometry in [Geometry::Centers, Geometry::Edges] {
            let options = TraceOptions::default()
                .algorithm(algorithm)
                .geometry(geometry);
            let (inputs, works) = queues(3);
            let input = DeviceImage::upload(&inputs, &image).unwrap();
            let found = DeviceTracer::on(works).trace(&input, &options).unwrap();
            drop(input);
            let expected = TraceOptions::default().geometry(geometry);
            let expected = Engine::cpu().trace(&image, &expected).unwrap();
            assert_eq!(found.to_host().unwrap(), expected, "{options:?}");
        }
    }
}

#[test]
fn prefix_sums() {
    let values: Vec<u32> = (0..100).collect();
    let expected: Vec<u32> = (0..100u32).map(|i| i * i.saturating_sub(1) / 2).collect();
    let (inputs, works) = queues(4);
    let mut scanner = Scanner::new(&works, 100).unwrap();

    let input = inputs.upload(&values).unwrap();
    let mut output = inputs.another_queue().alloc(100).unwrap();
    scanner.scan(&input, &mut output).unwrap();
    drop(input);
    assert_eq!(output.to_vec().unwrap(), expected);
    drop(output);

    let mut both = inputs.upload(&values).unwrap();
    scanner.scan_in_place(&mut both).unwrap();
    assert_eq!(both.to_vec().unwrap(), expected);
}

#[test]
fn routes() {
    let mut grid = RoutingGrid::uniform(70, 40, 5).unwrap();
    for y in 5..30 {
        grid.set_right(Cell::at(40, y), 50).unwrap();
    }
    // Two pins that fields join, and some pins that only tiles reach.
    let nets = [
        Net::from_cells([(30, 10), (50, 12), (33, 20), (60, 30)].map(|(x, y)| Cell::at(x, y))),
        Net::from_cells([Cell::at(1, 1), Cell::at(68, 38)]),
    ];
    let expected = Engine::cpu()
        .route(&grid, &nets, &RouteOptions::default())
        .unwrap();
    let costs: Vec<u64> = expected.iter().map(trazar::route::Route::cost).collect();
    let (inputs, works) = queues(5);
    let router = DeviceRouter::on(works);

    let input = DeviceGrid::upload(&inputs, &grid).unwrap();
    let found = router
        .route(&input, &nets, &DeviceRouteOptions::default())
        .unwrap();
    drop(input);
    let found: Vec<u64> = found.iter().map(trazar::route::Route::cost).collect();
    assert_eq!(found, costs);

    let input = DeviceGrid::upload(&inputs, &grid).unwrap();
    let found = router
        .route(
            &input,
            &nets,
            &DeviceRouteOptions::default().algorithm(DeviceRouteAlgorithm::Tiles),
        )
        .unwrap();
    drop(input);
    let found: Vec<u64> = found.iter().map(trazar::route::Route::cost).collect();
    assert_eq!(found, costs);

    // The work may still go on when `distances` returns.
    let input = DeviceGrid::upload(&inputs, &grid).unwrap();
    let found = router.distances(&input, &[Cell::at(1, 1)]).unwrap();
    drop(input);
    let found = found.to_vec().unwrap();
    assert_eq!(found[38 * 70 + 68], (67 + 37) * 5);
}

/// A pipeline that fails half-way also gives back what it holds.
#[test]
fn failures_release_their_inputs() {
    let image = image();
    // Too few steps for the whole pipeline, so that some launch fails. Whichever it is, the input
    // can be used and dropped.
    let mut failures = 0;
    for limit in [1, 100, 1_000, 4_000, 16_000] {
        let inputs = Emulator::new(6);
        let works = inputs.another_queue().with_step_limit(limit);
        let input = DeviceImage::upload(&inputs, &image).unwrap();
        let traced = DeviceTracer::on(works.clone()).trace(&input, &TraceOptions::default());
        let labelled = DeviceLabeler::on(works.clone()).label(
            &input,
            &LabelOptions::default()
                .connectivity(Connectivity::Four)
                .algorithm(LabelAlgorithm::Tiles),
        );
        failures += usize::from(traced.is_err()) + usize::from(labelled.is_err());
        assert!(input.to_host().unwrap() == image, "{limit}");

        let mut values = inputs.upload(&[1u32; 5000]).unwrap();
        let mut scanner = Scanner::new(&works, 5000).unwrap();
        failures += usize::from(scanner.scan_in_place(&mut values).is_err());
        assert_eq!(values.view().len(), 5000);
    }
    assert!(failures >= 6, "{failures}");
}
