//! What only an emulator can show: allocations that fail on request, which kernels were launched,
//! and memory of another device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use trazar::generate::{self, CompetingNets, Pattern};
use trazar::gpu::watched::{Allocation, Watched};
use trazar::route::{
    DeviceGrid, DeviceRouteOptions, DeviceRouter, Fallback, FieldUse, NegotiationOptions, Net,
    Route, RouteAlgorithm, RouteOptions, RoutingGrid,
};
use trazar::{
    BinaryImage, Cell, Connectivity, DeviceImage, DeviceImageBatch, DeviceLabeler, Engine, Error,
    LabelAlgorithm, LabelOptions, Result, TraceOptions,
};
use trazar_test_support::emulators::{emulator_of, seed};
use trazar_test_support::grids::{Weights, random_grid};
use trazar_test_support::labels::{ALGORITHMS, CONNECTIVITIES, difference, options};
use trazar_test_support::routes::mistake;
use trazar_test_support::seeds::Random;

use crate::devices::label::check_labels;
use crate::devices::route_fields::{check_nets, close_pins, pairs_far_apart};

/// An emulator on which every fourth allocation of 16-bit elements fails with that error: a band
/// makes three, so that no two bands have memory for their tiles at once. Those of no elements
/// don't count.
fn short_of_memory(error: impl Fn(Allocation) -> Error + Send + 'static) -> Watched {
    let mut allocations = 0;
    Watched::refusing(emulator_of(seed()), move |allocation| {
        let counts = allocation.element == 2 && allocation.bytes > 0;
        allocations += u32::from(counts);
        let is_fourth = counts && allocations.is_multiple_of(4);
        is_fourth.then(|| error(allocation))
    })
}

/// Without memory to keep the tiles of several bands, labels are written twice.
#[test]
fn labels_in_bands_without_memory_to_wait() {
    let image = Pattern::ALL[0].generate(131, 3 * 64 + 7, seed()).unwrap();
    let noise = generate::noise(68, 4 * 64, 0.5, seed()).unwrap();
    for (image, connectivity) in [&image, &noise].into_iter().zip(CONNECTIVITIES) {
        let gpu = short_of_memory(|allocation| allocation.out_of_memory());
        let labeler = DeviceLabeler::on(gpu).with_band_pixels(64);
        let on_device = DeviceImage::upload(labeler.gpu(), image).unwrap();
        let run = options(connectivity, LabelAlgorithm::Tiles, false);
        let found = labeler.label(&on_device, &run).unwrap().to_host().unwrap();
        let expected = options(connectivity, LabelAlgorithm::Sequential, false);
        let expected = Engine::cpu().label(image, &expected).unwrap();
        assert_eq!(difference(&found, &expected), None, "not the CPU's labels");
        let refused = labeler.gpu().refused();
        assert_eq!(refused, 3, "one per band but the first");
    }
}

/// Another error than a lack of memory ends the work, and is returned.
#[test]
fn labels_in_bands_on_a_gpu_that_fails() {
    let image = Pattern::ALL[0].generate(131, 3 * 64 + 7, seed()).unwrap();
    let gpu = short_of_memory(|_| std::io::Error::other("broken").into());
    let labeler = DeviceLabeler::on(gpu).with_band_pixels(64);
    let on_device = DeviceImage::upload(labeler.gpu(), &image).unwrap();
    let run = options(CONNECTIVITIES[0], LabelAlgorithm::Tiles, false);
    let refused = labeler.label(&on_device, &run);
    assert!(
        matches!(&refused, Err(Error::Write(error)) if error.to_string() == "broken"),
        "{refused:?}"
    );
    assert_eq!(labeler.gpu().refused(), 1, "tried again");
}

/// An emulator that refuses the allocation with a number.
fn refusing_allocation(number: usize) -> Watched {
    Watched::refusing(emulator_of(seed()), move |allocation| {
        (allocation.number == number).then(|| allocation.out_of_memory())
    })
}

/// Whichever allocation fails, the labels are right or the error says that memory is short.
#[test]
fn labels_where_any_allocation_fails() {
    let image = generate::noise(68, 3 * 64, 0.5, seed()).unwrap();
    let run = options(CONNECTIVITIES[1], LabelAlgorithm::Tiles, true);
    let expected = options(CONNECTIVITIES[1], LabelAlgorithm::Sequential, true);
    let expected = Engine::cpu().label(&image, &expected).unwrap();
    let mut failed = 0;
    for number in 0.. {
        let gpu = refusing_allocation(number);
        let labeler = DeviceLabeler::on(gpu).with_band_pixels(64);
        let label = || {
            let on_device = DeviceImage::upload(labeler.gpu(), &image)?;
            labeler.label(&on_device, &run)?.to_host()
        };
        match label() {
            Ok(found) => {
                let difference = difference(&found, &expected);
                assert_eq!(
                    difference, None,
                    "not the CPU's labels: allocation {number}"
                );
            }
            Err(error) if error.is_out_of_memory() => failed += 1,
            Err(error) => panic!("allocation {number}: {error}"),
        }
        if labeler.gpu().refused() == 0 {
            break;
        }
    }
    assert!(failed > 0);
}

/// Where an allocation fails, the trees are right or the error says that memory is short. Where
/// memory does not suffice for the windows of all nets, they are routed in several launches.
#[test]
fn negotiations_where_an_allocation_fails() {
    let case = CompetingNets::default()
        .width(24)
        .height(18)
        .nets(16)
        .layers(2)
        .pins(3);
    let case = case.reach(5).demand(0.8).generate(seed()).unwrap();
    let capacities = case.capacities.as_ref().unwrap();
    let options = NegotiationOptions::default().rounds(1);
    let by = |engine: Engine| engine.negotiate(&case.grid, capacities, &case.nets, &options);
    let expected = by(Engine::cpu()).unwrap();
    let (mut failed, mut survived) = (0, 0);
    // A launch makes more than three, and their number is no multiple of three.
    for number in (0..).step_by(3) {
        let gpu = refusing_allocation(number);
        let found = by(Engine::on(gpu.clone()));
        let refused = gpu.refused();
        match found {
            Ok(found) => {
                assert!(
                    found == expected,
                    "not the CPU's trees: allocation {number}"
                );
                survived += u32::from(refused > 0);
            }
            Err(error) if error.is_out_of_memory() => failed += 1,
            Err(error) => panic!("allocation {number}: {error}"),
        }
        if refused == 0 {
            break;
        }
    }
    assert!(
        failed > 0 && survived > 0,
        "{failed} failed, {survived} did not"
    );
}

/// Labels come to the host by runs where these are few, else by pixels. Rows start anywhere in the
/// chunks of words in which runs are counted.
#[test]
fn labels_by_runs_and_by_pixels() {
    let sizes = [
        (1, 3000),
        (63, 700),
        (64, 513),
        (65, 300),
        (131, 200),
        (20_000, 3),
    ];
    let mut ways = [0; 2];
    for (width, height) in sizes {
        let noise = |density| generate::noise(width, height, density, seed()).unwrap();
        let images = [
            BinaryImage::new(width, height).unwrap(),
            noise(0.05),
            noise(0.97),
            generate::blobs(width, height, seed()).unwrap(),
            generate::checkerboard(width, height).unwrap(),
        ];
        for (i, image) in images.iter().enumerate() {
            let gpu = Watched::new(emulator_of(seed()));
            let engine = Engine::on(gpu.clone());
            let algorithm = ALGORITHMS[i % ALGORITHMS.len()];
            let connectivity = CONNECTIVITIES[(i + width as usize) % CONNECTIVITIES.len()];
            let same = check_labels(&engine, image, connectivity, algorithm, i % 2 == 0);
            same.unwrap_or_else(|error| panic!("{width} × {height}, image {i}: {error}"));
            let is_start = |x: u32, y| image.get(x, y) && (x == 0 || !image.get(x - 1, y));
            let starts_in = |y| (0..width).filter(|&x| is_start(x, y)).count() as u64;
            let runs: u64 = (0..height).map(starts_in).sum();
            // An image without runs needs no labels of them.
            let by_runs = runs > 0 && runs <= image.pixel_count() / 8;
            let was_launched = gpu.has_launched("run_labels");
            assert_eq!(was_launched, by_runs, "{width} × {height}, image {i}");
            ways[usize::from(by_runs)] += 1;
        }
    }
    assert!(ways.iter().all(|&images| images >= 6), "{ways:?}");
}

/// Without memory to count runs, labels come by pixels.
#[test]
fn labels_without_memory_for_runs() {
    let gpu = short_of_memory(|allocation| allocation.out_of_memory());
    let image = generate::blobs(131, 200, seed()).unwrap();
    let engine = Engine::on(gpu.clone());
    let (connectivity, algorithm) = (CONNECTIVITIES[0], LabelAlgorithm::Tiles);
    check_labels(&engine, &image, connectivity, algorithm, false).unwrap();
    assert_eq!(gpu.refused(), 1);
    assert!(!gpu.has_launched("run_labels"));

    let gpu = short_of_memory(|_| std::io::Error::other("broken").into());
    let run = options(connectivity, algorithm, false);
    let refused = Engine::on(gpu).label(&image, &run);
    assert!(
        matches!(&refused, Err(Error::Write(error)) if error.to_string() == "broken"),
        "{refused:?}"
    );
}

#[test]
fn an_image_of_another_device_is_refused() {
    let image = BinaryImage::from_art("#.#").unwrap();
    let on_device = DeviceImage::upload(&emulator_of(seed()), &image).unwrap();
    let other = DeviceLabeler::on(emulator_of(seed()));
    let run = options(Connectivity::Four, LabelAlgorithm::Tiles, false);
    let refused = other.label(&on_device, &run);
    assert!(matches!(refused, Err(Error::Emulator(_))), "{refused:?}");
}

/// An engine keeps the memory that it works in. Where there is none for another job, it gives that
/// back and tries once more.
#[test]
fn an_engine_gives_its_memory_back() {
    let is_short = Arc::new(AtomicBool::new(false));
    let refuses = is_short.clone();
    let gpu = Watched::refusing(emulator_of(seed()), move |allocation| {
        // The image, which comes first.
        let refused = allocation.bytes > 1000 && refuses.swap(false, Relaxed);
        refused.then(|| allocation.out_of_memory())
    });
    let engine = Engine::on(gpu.clone());
    let first = generate::noise(200, 100, 0.5, seed()).unwrap();
    let second = generate::noise(131, 70, 0.5, seed()).unwrap();
    let options = TraceOptions::default();
    let check = |image| {
        let expected = Engine::cpu().trace(image, &options).unwrap();
        assert_eq!(engine.trace(image, &options).unwrap(), expected);
    };
    assert_eq!(engine.working_memory(), 0);
    check(&first);
    let kept = engine.working_memory();
    assert!(kept > first.pixel_count(), "{kept}");
    // The second time, memory is needed for the image and the result alone.
    let before = gpu.allocations();
    check(&first);
    let again = gpu.allocations() - before;
    assert!(again < before / 2, "{again} allocations after {before}");
    assert_eq!(engine.working_memory(), kept);

    is_short.store(true, Relaxed);
    check(&second);
    assert_eq!(gpu.refused(), 1);
    assert!((1..kept).contains(&engine.working_memory()));
    is_short.store(true, Relaxed);
    let labels = LabelOptions::default();
    let expected = Engine::cpu().label(&second, &labels).unwrap();
    let found = engine.label(&second, &labels).unwrap();
    assert_eq!(found.as_slice(), expected.as_slice());
    assert_eq!(gpu.refused(), 2);
    let of_labels = engine.working_memory();
    assert!(of_labels > 0);
    assert_eq!(engine.release_working_memory(), of_labels);
    // Now the engine has nothing to give back.
    is_short.store(true, Relaxed);
    let refused = engine.label(&second, &labels);
    assert!(
        matches!(&refused, Err(error) if error.is_out_of_memory()),
        "{refused:?}"
    );
    assert_eq!(gpu.refused(), 3);
}

/// Of errors, only a lack of memory makes routing by fields fall back to tiles.
#[test]
fn nets_without_memory_for_fields_go_to_tiles() {
    let grid = random_grid(24, 20, 1, Weights::Even, seed());
    let nothing = FieldUse::default();
    // Fields take more memory than a net in tiles.
    let limited = |bytes, error: fn(Allocation) -> Error| {
        Watched::refusing(emulator_of(seed()), move |allocation| {
            (allocation.bytes > bytes).then(|| error(allocation))
        })
    };
    let no_memory = |allocation: Allocation| allocation.out_of_memory();
    let some = 64 << 10;
    let uses = check_nets(
        &limited(some, no_memory),
        &grid,
        &[close_pins(30), Net::default()],
    )
    .unwrap();
    let mut in_tiles = FieldUse::default();
    in_tiles.in_tiles = 29;
    in_tiles.fallback = Some(Fallback::OutOfMemory);
    assert_eq!(uses, [in_tiles, nothing]);
    let broken = |_: Allocation| Error::from(std::io::Error::other("broken"));
    let router = DeviceRouter::on(limited(some, broken));
    let on_device = DeviceGrid::upload(router.gpu(), &grid).unwrap();
    let refused = router.route(
        &on_device,
        &[close_pins(30)],
        &DeviceRouteOptions::default(),
    );
    assert!(
        matches!(&refused, Err(Error::Write(error)) if error.to_string() == "broken"),
        "{refused:?}"
    );

    // There may be memory for fields, but none for a search besides.
    let (grid, net) = pairs_far_apart();
    let is_short = Arc::new(AtomicBool::new(false));
    let refuses = is_short.clone();
    let once = Watched::refusing(emulator_of(seed()), move |allocation| {
        // Less memory than for the labels of two tiles.
        let refused = allocation.bytes > 30 << 10 && refuses.swap(false, Relaxed);
        refused.then(|| allocation.out_of_memory())
    });
    let on_device = DeviceGrid::upload(&once, &grid).unwrap();
    is_short.store(true, Relaxed);
    let nets = [net];
    let found = DeviceRouter::on(once).route(&on_device, &nets, &DeviceRouteOptions::default());
    let used = found.as_deref().unwrap()[0].field_use().unwrap();
    assert_eq!(used.fallback, Some(Fallback::OutOfMemory));
    assert!(used.by_fields > 0 && used.in_tiles > 0, "{used:?}");
    let expected = Engine::cpu().route(&grid, &nets, &RouteOptions::default());
    let mistake = mistake(found, &expected.unwrap(), RouteAlgorithm::Fields);
    assert_eq!(mistake, None);
}

/// Routes nets again and again, each time with another of the allocations after the grid's upload
/// refused, until none is left to refuse. `check` gets the emulator, the number of the allocation,
/// and the result.
fn route_without_each_allocation(
    grid: &RoutingGrid,
    nets: &[Net],
    mut check: impl FnMut(&Watched, usize, Result<Vec<Route>>),
) {
    for refused in 0.. {
        let gpu = refusing_allocation(refused);
        let Ok(on_device) = DeviceGrid::upload(&gpu, grid) else {
            continue;
        };
        let router = DeviceRouter::on(gpu.clone());
        let found = router.route(&on_device, nets, &DeviceRouteOptions::default());
        if gpu.refused() == 0 {
            break;
        }
        check(&gpu, refused, found);
    }
}

/// Whichever allocation for fields is refused: tiles route the net, or the error says so.
#[test]
fn nets_without_one_of_the_allocations_for_fields() {
    let grid = random_grid(24, 20, 1, Weights::Even, seed());
    let nets = [close_pins(30)];
    let expected = Engine::cpu().route(&grid, &nets, &RouteOptions::default());
    let expected = expected.unwrap();
    let (mut in_tiles, mut errors) = (0, 0);
    route_without_each_allocation(&grid, &nets, |_, refused, found| match found {
        Err(error) => {
            assert!(error.is_out_of_memory(), "{error}");
            errors += 1;
        }
        Ok(routes) => {
            let used = routes[0].field_use().unwrap();
            assert_eq!(used.fallback, Some(Fallback::OutOfMemory), "{refused}");
            let mistake = mistake(Ok(routes), &expected, RouteAlgorithm::Fields);
            assert_eq!(mistake, None, "{refused}");
            in_tiles += 1;
        }
    });
    // What joins paths together for the host is not for fields alone.
    assert!(in_tiles >= 13 && errors <= 2, "{in_tiles}, {errors}");
}

/// A net of many pins a few cells apart; and one with a pin that no square reaches, 32 columns from
/// all others.
fn dense_nets() -> [(RoutingGrid, Net); 2] {
    let mut random = Random::new(1);
    let mut pins = |width| -> Vec<Cell> {
        let cells = (0..70).map(|_| Cell::at(random.below(width), random.below(16)));
        cells.collect()
    };
    let (dense, mut apart) = (pins(16), pins(8));
    apart.push(Cell::at(39, 8));
    let grid = |width| random_grid(width, 16, 1, Weights::Even, 1);
    [
        (grid(16), Net::from_cells(dense)),
        (grid(40), Net::from_cells(apart)),
    ]
}

/// Small fields, and larger ones on the host, join all pins of dense nets. Otherwise routes would
/// be the same, but take longer.
#[test]
fn dense_nets_are_joined_by_small_fields_alone() {
    for (grid, net) in dense_nets() {
        let gpu = Watched::new(emulator_of(seed()));
        check_nets(&gpu, &grid, &[net]).unwrap();
        assert!(gpu.has_launched("list_near_pins"));
        for kernel in [
            "grow_fields",
            "grow_wide_fields",
            "join_pins",
            "route_start",
        ] {
            assert!(!gpu.has_launched(kernel), "{kernel}");
        }
    }
}

/// Whichever allocation for small fields is refused, the host's for their lists too: other kernels
/// route the net.
#[test]
fn dense_nets_without_one_of_the_allocations_for_small_fields() {
    let [(grid, net), _] = dense_nets();
    let nets = [net];
    let expected = Engine::cpu().route(&grid, &nets, &RouteOptions::default());
    let expected = expected.unwrap();
    let mut by_others = 0;
    route_without_each_allocation(&grid, &nets, |gpu, refused, found| {
        assert!(gpu.has_launched("join_pins"), "{refused}");
        let mistake = mistake(found, &expected, RouteAlgorithm::Fields);
        assert_eq!(mistake, None, "{refused}");
        by_others += 1;
    });
    // Three arrays of pins, seven for fields and lists, two for the scan, and two on the host.
    assert!(by_others >= 14, "{by_others}");
}

/// Once images of some sizes are labelled, others of these sizes need memory for their labels
/// alone, in any order.
#[test]
fn labels_in_memory_that_is_kept() {
    let is_kept = Arc::new(AtomicBool::new(false));
    let refuses = is_kept.clone();
    let gpu = Watched::refusing(emulator_of(seed()), move |allocation| {
        // Labels and their numbers have 32 bits. All else that grows has 16 or 64.
        let other = allocation.element != 4 && allocation.bytes > 0;
        (other && refuses.load(Relaxed)).then(|| allocation.out_of_memory())
    });
    let labeler = DeviceLabeler::on(gpu.clone());
    let sizes = [(300, 70), (9, 700), (700, 9), (1, 1), (64, 64)];
    let images = sizes.map(|(width, height)| {
        let image = generate::noise(width, height, 0.4, seed()).unwrap();
        let on_device = DeviceImage::upload(&gpu, &image).unwrap();
        let batch = DeviceImageBatch::upload(&gpu, [&image, &image]).unwrap();
        (image, on_device, batch)
    });
    let label_all = |connectivity: Connectivity, from: usize| {
        let images = images.iter().cycle().skip(from).take(images.len());
        let runs = images.flat_map(|image| ALGORITHMS.map(|algorithm| (image, algorithm)));
        for ((image, on_device, batch), algorithm) in runs {
            let expected = options(connectivity, LabelAlgorithm::Sequential, false);
            let expected = Engine::cpu().label(image, &expected).unwrap();
            let run = options(connectivity, algorithm, false);
            let found = labeler.label(on_device, &run).unwrap().to_host().unwrap();
            assert_eq!(difference(&found, &expected), None, "not the CPU's labels");
            let found = labeler.label_batch(batch, &run).unwrap();
            for found in found.to_host().unwrap() {
                assert_eq!(difference(&found, &expected), None, "not the CPU's labels");
            }
        }
    };
    label_all(Connectivity::Four, 0);
    let kept = labeler.working_memory();
    is_kept.store(true, Relaxed);
    for (from, connectivity) in [(3, Connectivity::Eight), (1, Connectivity::Four)] {
        label_all(connectivity, from);
        assert_eq!(labeler.working_memory(), kept);
    }
    assert_eq!(labeler.clone().release_working_memory(), kept);
    let refused = labeler.label(&images[0].1, &LabelOptions::default());
    assert!(
        matches!(&refused, Err(error) if error.is_out_of_memory()),
        "{refused:?}"
    );
}

/// Where there is no memory for all images of a batch, an engine labels fewer at once.
#[test]
fn batches_without_memory_for_all_images() {
    let images: Vec<_> = (0..7)
        .map(|i| generate::noise(40, 30, 0.4, seed().wrapping_add(i)).unwrap())
        .collect();
    let options = LabelOptions::default().statistics(true);
    let expected: Vec<_> = images
        .iter()
        .map(|image| Engine::cpu().label(image, &options).unwrap())
        .collect();
    // Labels of 1, 2, ... 7 images, and of none.
    for fits in 0..=7 {
        let gpu = Watched::refusing(emulator_of(seed()), move |allocation| {
            let refused = allocation.element == 4 && allocation.bytes > fits * 40 * 30 * 4;
            refused.then(|| allocation.out_of_memory())
        });
        let found = Engine::on(gpu.clone()).label_batch(&images, &options);
        if fits == 0 {
            assert!(
                matches!(&found, Err(error) if error.is_out_of_memory()),
                "{found:?}"
            );
            continue;
        }
        assert_eq!(gpu.refused() > 0, fits < 7, "room for {fits}");
        for (found, expected) in found.unwrap().iter().zip(&expected) {
            assert_eq!(difference(found, expected), None, "not the CPU's labels");
        }
    }
}
