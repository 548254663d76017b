//! [`Engine`]: what its jobs have in common, on the processor and on an emulator.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trazar::distance::{CostDistanceOptions, CostSurface, Source, Sources, StepCost};
use trazar::generate::{CompetingNets, RandomNets, blobs, cells, friction};
use trazar::label::BandSource;
use trazar::measure::MeasureOptions;
use trazar::route::{DistanceOptions, Effort, NegotiationOptions, TreeKind};
use trazar::trace::ContourOptions;
use trazar::{
    Approximation, BinaryImage, Cell, Connectivity, Engine, Error, Geometry, LabelOptions,
    RegionOptions, Result, RouteOptions, Samples, TraceOptions, ValueImage, ValueRows,
};
use trazar_test_support::emulators::{emulator_of, seed};
use trazar_test_support::threads::on_threads;

/// What a job does, without its result.
type Work<'a> = dyn Fn(&Engine) -> Result<()> + Sync + 'a;

/// A job with its name.
fn job<'a, R>(
    name: &'static str,
    work: impl Fn(&Engine) -> Result<R> + Sync + 'a,
) -> (&'static str, Box<Work<'a>>) {
    (name, Box::new(move |engine| work(engine).map(drop)))
}

/// Cells that touch each other.
fn labels() -> Vec<u32> {
    cells(90, 40, 12, seed()).unwrap()
}

fn values(labels: &[u32]) -> ValueImage<'_, u32> {
    ValueImage::new(Samples::new(90, 40, labels).unwrap()).unwrap()
}

/// The shares of its work that a job reports.
fn shares(engine: &Engine, job: &Work<'_>) -> Vec<f64> {
    let shares = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&shares);
    let engine = engine.clone().with_progress(move |share| {
        reported.lock().unwrap().push(share);
        ControlFlow::Continue(())
    });
    // On one thread, what is done never gets less.
    on_threads(1, || job(&engine)).unwrap();
    std::mem::take(&mut *shares.lock().unwrap())
}

#[test]
fn progress_ends_with_all_of_the_work() {
    let image = &blobs(90, 40, seed()).unwrap();
    let images = &vec![image.clone(); 3];
    let labels = labels();
    let samples = || Samples::new(90, 40, &labels).unwrap();
    let value_images = &vec![values(&labels); 3];
    let values = &values(&labels);
    let friction = friction(90, 40, seed()).unwrap();
    let surface = &CostSurface::new(Samples::new(90, 40, &friction).unwrap());
    let sources = &Sources::from_cells([(0, 0), (40, 20)]);
    let case = CompetingNets::default()
        .width(20)
        .height(20)
        .nets(10)
        .reach(8);
    let case = &case.generate(seed()).unwrap();
    let (grid, nets) = (&case.grid, &case.nets[..]);
    let capacities = case.capacities.as_ref().unwrap();
    let four = Connectivity::Four;
    let everywhere = [
        job("trace", |on| on.trace(image, &TraceOptions::default())),
        job("trace_batch", |on| {
            on.trace_batch(images, &TraceOptions::default())
        }),
        job("label", |on| on.label(image, &LabelOptions::default())),
        job("label_batch", |on| {
            on.label_batch(images, &LabelOptions::default())
        }),
        job("trace_regions", |on| {
            on.trace_regions(values, &RegionOptions::default())
        }),
        job("trace_regions_batch", |on| {
            on.trace_regions_batch(value_images, &RegionOptions::default())
        }),
        job("trace_values", |on| {
            on.trace_values(values, &ContourOptions::default())
        }),
        job("trace_values_batch", |on| {
            on.trace_values_batch(value_images, &ContourOptions::default())
        }),
        job("label_values", |on| on.label_values(values, four)),
        job("label_values_batch", |on| {
            on.label_values_batch(value_images, four)
        }),
        job("measure", |on| {
            on.measure(samples(), &MeasureOptions::default())
        }),
        job("measure_batch", |on| {
            on.measure_batch(&[samples(), samples()], &MeasureOptions::default())
        }),
        job("cost_distance", |on| {
            on.cost_distance(surface, sources, &CostDistanceOptions::default())
        }),
        job("route", |on| on.route(grid, nets, &RouteOptions::default())),
        job("route, improved", |on| {
            let improved = RouteOptions::default().tree(TreeKind::Improved);
            on.route(grid, nets, &improved)
        }),
        job("negotiate", |on| {
            on.negotiate(grid, capacities, nets, &NegotiationOptions::default())
        }),
        job("distances", |on| {
            on.distances(grid, &[Cell::default()], &DistanceOptions::default())
        }),
    ];
    let on_the_processor = [
        job("sieve", |on| on.sieve(values, 9, four)),
        job("route_fewest_edges", |on| on.route_fewest_edges(grid, nets)),
    ];
    let on_emulators = everywhere
        .iter()
        .map(|job| (Engine::on(emulator_of(seed())), job));
    let on_processor = everywhere.iter().chain(&on_the_processor);
    for (engine, (name, job)) in on_emulators.chain(on_processor.map(|job| (Engine::cpu(), job))) {
        let name = format!("{name} on {}", engine.backend().name());
        let shares = shares(&engine, job);
        assert_eq!(shares.last(), Some(&1.0), "{name}: {shares:?}");
        assert!(shares.is_sorted() && shares[0] >= 0.0, "{name}: {shares:?}");
    }
}

#[test]
fn improving_trees_can_be_cancelled_at_every_stage() {
    let case = CompetingNets::default()
        .width(40)
        .height(40)
        .nets(2)
        .pins(12);
    let case = &case.generate(seed()).unwrap();
    // Of each of two nets: exchanges, a tree from all pins at once, twice exchanges, steps.
    let (steps, hour) = (Effort::Steps(200), Effort::Time(Duration::from_secs(3600)));
    for (effort, limits) in [
        (steps, &[0.1, 0.15, 0.2, 0.24, 0.3, 0.35, 0.4, 0.8][..]),
        (hour, &[0.1, 0.15, 0.3]),
    ] {
        for &limit in limits {
            let last = Arc::new(Mutex::new(0.0));
            let reported = Arc::clone(&last);
            let engine = Engine::cpu().with_progress(move |share| {
                *reported.lock().unwrap() = share;
                match share < limit {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            let options = RouteOptions::default()
                .tree(TreeKind::Improved)
                .effort(effort);
            let found = engine.route(&case.grid, &case.nets, &options);
            assert!(
                matches!(found, Err(Error::Cancelled)),
                "{effort:?}, {limit}"
            );
            let last = *last.lock().unwrap();
            assert!(last < limit + 0.05, "{effort:?}, {limit}: {last}");
        }
    }
}

#[test]
fn options_that_no_contours_have_are_refused() {
    let options = ContourOptions::default();
    let options = options
        .geometry(Geometry::Edges)
        .approximation(Approximation::TehChinL1);
    let image = BinaryImage::from_art("##.#").unwrap();
    let labels = labels();
    for engine in [Engine::cpu(), Engine::on(emulator_of(seed()))] {
        let traces = options.into();
        for refused in [
            engine.trace(&image, &traces).map(drop),
            engine.trace_batch(&[], &traces).map(drop),
            engine
                .trace_batch(&[image.clone(), image.clone()], &traces)
                .map(drop),
            engine.trace_values(&values(&labels), &options).map(drop),
            engine
                .trace_values_batch(&[values(&labels)], &options)
                .map(drop),
        ] {
            assert!(
                matches!(refused, Err(Error::InvalidOption { .. })),
                "{refused:?}"
            );
        }
    }
}

/// No rows.
struct NoRows;

impl BandSource<ValueRows<u32>> for NoRows {
    fn width(&self) -> u32 {
        90
    }

    fn height(&self) -> u32 {
        40
    }

    fn next_band(&mut self, _: u32) -> Result<Option<ValueRows<u32>>> {
        panic!("the job has begun")
    }

    fn rewind(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn jobs_of_the_processor_are_refused_elsewhere() {
    let labels = labels();
    let friction = friction(90, 40, seed()).unwrap();
    let surface = CostSurface::new(Samples::new(90, 40, &friction).unwrap());
    let mut sources = Sources::default();
    sources.push(Source::new(1, 2, 3)).unwrap();
    let options = CostDistanceOptions::default();
    let cpu = Engine::cpu();
    let found = cpu.cost_distance(&surface, &sources, &options).unwrap();
    let entered = options.step_cost(StepCost::Entered);
    let case = CompetingNets::default()
        .width(20)
        .height(20)
        .nets(3)
        .reach(8);
    let case = case.generate(seed()).unwrap();
    let emulator = Engine::on(emulator_of(seed()));
    for refused in [
        emulator
            .sieve(&values(&labels), 9, Connectivity::Four)
            .map(drop),
        emulator
            .label_value_bands(NoRows, Connectivity::Four, 1 << 30)
            .map(drop),
        emulator
            .cost_distance(&surface, &sources, &entered)
            .map(drop),
        emulator
            .lower_cost_distance(&surface, found.costs(), &sources, &options)
            .map(drop),
        emulator
            .route_fewest_edges(&case.grid, &case.nets)
            .map(drop),
    ] {
        let Err(Error::Unavailable { .. }) = refused else {
            panic!("{refused:?}");
        };
    }
}

#[test]
fn the_processor_has_no_gpus_and_keeps_nothing_on_them() {
    let (cpu, emulator) = (Engine::cpu(), Engine::on(emulator_of(seed())));
    assert_eq!((cpu.gpu_count(), emulator.gpu_count()), (0, 1));
    assert_eq!((cpu.working_memory(), cpu.release_working_memory()), (0, 0));

    // Each job's memory counts.
    let image = blobs(90, 40, seed()).unwrap();
    emulator.trace(&image, &TraceOptions::default()).unwrap();
    let of_tracing = emulator.working_memory();
    let friction = friction(90, 40, seed()).unwrap();
    let surface = CostSurface::new(Samples::new(90, 40, &friction).unwrap());
    let sources = Sources::from_cells([(0, 0)]);
    emulator
        .cost_distance(&surface, &sources, &CostDistanceOptions::default())
        .unwrap();
    let of_two = emulator.working_memory();
    let nets = RandomNets::default().width(20).height(20).pins(70);
    let case = nets.generate(seed()).unwrap();
    emulator
        .route(&case.grid, &case.nets, &RouteOptions::default())
        .unwrap();
    let of_all = emulator.working_memory();
    assert!(
        0 < of_tracing && of_tracing < of_two && of_two < of_all,
        "{of_tracing} {of_two} {of_all}"
    );
    assert_eq!(emulator.release_working_memory(), of_all);
    assert_eq!(emulator.working_memory(), 0);
}
