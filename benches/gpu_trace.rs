//! Tracing on the GPU: image and contours in its memory, all contours and holes with their
//! hierarchy; the median of several runs by the host's clock, from the call to the last point.
//! `cargo bench -p trazar-benches --bench gpu_trace`
//!
//! Every result that is timed is first compared with the CPU's, which is timed too: one thread,
//! `suzuki`; past 2³⁰ pixels all threads, `fragments`. What the GPU cannot number is left out.
//!
//! | variable | what it chooses |
//! |---|---|
//! | `TRAZAR_BENCH_SIDES=512,4096` | the sizes |
//! | `TRAZAR_BENCH_IMAGES=blobs,noise:0.5` | the images |
//! | `TRAZAR_BENCH_PTX=A,B` | PTX files with variants of the kernels, timed on single images |
//! | `TRAZAR_DATA=FOLDER` | more images, `FOLDER/masks/*.png` |
//! | `TRAZAR_BENCH_ALGORITHMS=fragments` | the algorithms, of `fragments,components,tiles` |
//! | `TRAZAR_BENCH_BATCHES=0` | leaves out the frame and the batches |
//! | `TRAZAR_BENCH_HOST=0` | leaves out the times with the copies to the GPU and back |
//! | `TRAZAR_BENCH_STAGES=0` | leaves out the stages |
//! | `TRAZAR_BENCH_BANDS=0` | leaves out tracing in bands |
//! | `TRAZAR_BENCH_TILES=0` | leaves out the table by number of tiles |
//! | `TRAZAR_BENCH_CRITERION=0` | leaves out the measurements by criterion, which come last |
//!
//! Without a GPU the bench says so and ends.

use std::time::Instant;

use criterion::{BenchmarkId, Criterion};
use trazar::cuda::{Device, Queue};
use trazar::generate::{self, Pattern};
use trazar::hooks;
use trazar::trace::{BandTracer, ContourSource, TileCounts};
use trazar::{
    Approximation, BinaryImage, Contours, DeviceImage, DeviceImageBatch, DeviceTracer, Engine,
    Error, Geometry, Result, TraceAlgorithm, TraceOptions,
};
use trazar_bench_support::images;
use trazar_bench_support::settings::{is_wanted, list};
use trazar_bench_support::timing::{MS_PER_S, median, median_ms};
use trazar_bench_support::variants::variants;

/// The median time of each stage, with a wait for the GPU after each.
fn stages(
    tracer: &DeviceTracer<Queue>,
    image: &DeviceImage<Queue>,
    options: &TraceOptions,
    repeats: usize,
) -> Result<Vec<(&'static str, f64)>> {
    let mut all: Vec<(&'static str, Vec<f64>)> = Vec::new();
    for _ in 0..repeats {
        let mut last = Instant::now();
        let mut stage = 0;
        hooks::trace_in_stages(tracer, image, options, &mut |name| {
            tracer.gpu().stream().synchronize()?;
            let now = Instant::now();
            if all.len() == stage {
                all.push((name, Vec::new()));
            }
            let ms = (now - last).as_secs_f64() * MS_PER_S;
            all[stage].1.push(ms);
            stage += 1;
            last = now;
            Ok(())
        })?;
    }
    Ok(all
        .into_iter()
        .map(|(name, times)| (name, median(times)))
        .collect())
}

/// Kernels by name, and what traces with them.
type Tracers = [(String, DeviceTracer<Queue>)];

fn bench(tracers: &Tracers, name: &str, image: &BinaryImage) -> Result<()> {
    let repeats = if image.pixel_count() <= 1 << 24 {
        20
    } else {
        5
    };
    println!("{name} {} x {}", image.width(), image.height());
    use Approximation::{None, Simple};
    use Geometry::{Centers, Edges};
    use TraceAlgorithm::{Components, Fragments, Tiles};
    for (kind, algorithm, geometry, approximation) in [
        ("centers, simple", Fragments, Centers, Simple),
        ("centers, none", Fragments, Centers, None),
        ("edges", Fragments, Edges, Simple),
        ("components", Components, Centers, Simple),
        ("components, edges", Components, Edges, Simple),
        (
            "in tiles, simple",
            Tiles(TileCounts::BY_SIZE),
            Centers,
            Simple,
        ),
        ("in tiles, edges", Tiles(TileCounts::BY_SIZE), Edges, Simple),
    ] {
        if !list("TRAZAR_BENCH_ALGORITHMS", "fragments,components,tiles")
            .contains(&algorithm.name().to_string())
        {
            continue;
        }
        let options = TraceOptions::default()
            .geometry(geometry)
            .approximation(approximation)
            .algorithm(algorithm);
        let started = Instant::now();
        let (reference, cores) = if image.pixel_count() <= 1 << 30 {
            (TraceAlgorithm::Suzuki, "one core")
        } else {
            (Fragments, "all cores")
        };
        let expected = Engine::cpu().trace(image, &options.algorithm(reference))?;
        let cpu_ms = started.elapsed().as_secs_f64() * MS_PER_S;
        println!(
            "  {kind:<17} {:>8} contours {:>10} points   {cores} {cpu_ms:>8.1} ms",
            expected.len(),
            expected.points().len()
        );
        for (kernels, tracer) in tracers {
            if tracers.len() > 1 {
                println!("    kernels: {kernels}");
            }
            time(tracer, image, &options, &expected, repeats)?;
        }
    }
    Ok(())
}

/// Compares the contours with those expected, and times them.
fn time(
    tracer: &DeviceTracer<Queue>,
    image: &BinaryImage,
    options: &TraceOptions,
    expected: &Contours,
    repeats: usize,
) -> Result<()> {
    let on_device = DeviceImage::upload(tracer.gpu(), image)?;
    let found = match tracer.trace(&on_device, options) {
        Err(refused @ (Error::ImageTooLarge { .. } | Error::TooMany { .. })) => {
            println!("    {refused}");
            return Ok(());
        }
        found => found?.to_host()?,
    };
    assert!(found == *expected, "wrong contours: {options:?}");
    drop(found);
    let ms = median_ms(repeats, || {
        let contours = tracer.trace(&on_device, options)?;
        tracer.gpu().stream().synchronize()?;
        drop(contours);
        Ok(())
    })?;
    println!(
        "    on the GPU             {ms:>9.3} ms {:>7.1} Gpixel/s {:>7.1} Mpoint/s",
        image.pixel_count() as f64 / 1e6 / ms,
        expected.points().len() as f64 / 1e3 / ms
    );
    if is_wanted("TRAZAR_BENCH_HOST") {
        let ms = median_ms(repeats, || {
            let on_device = DeviceImage::upload(tracer.gpu(), image)?;
            let contours = tracer.trace(&on_device, options)?.to_host()?;
            drop(contours);
            Ok(())
        })?;
        println!("    from host to host      {ms:>9.3} ms");
    }
    if is_wanted("TRAZAR_BENCH_STAGES") {
        for (stage, ms) in stages(tracer, &on_device, options, repeats)? {
            println!("      {stage:<20} {ms:>9.3} ms");
        }
    }
    Ok(())
}

/// Bands of 4096 rows, from host to host: by the processor, and by one or two queues of one GPU.
fn bench_bands(device: &Device, name: &str, image: &BinaryImage) -> Result<()> {
    const ROWS: u32 = 4096;
    let gpus = [Queue::open(device)?, Queue::open(device)?];
    let options = TraceOptions::default();
    let run = |gpus: &[Queue]| {
        let mut firsts = (0..image.height()).step_by(ROWS as usize);
        let bands = || {
            let band = firsts.next().map(|first| {
                let rows = ROWS.min(image.height() - first);
                let words = (first..first + rows).flat_map(|y| image.row(y)).copied();
                BinaryImage::from_words(image.width(), rows, words.collect())
            });
            band.transpose()
        };
        BandTracer::in_memory(&options.contours)?.trace_on(gpus, bands)
    };
    let expected = run(&[])?.len();
    for (who, gpus) in [
        ("the processor", &gpus[..0]),
        ("one queue", &gpus[..1]),
        ("two queues", &gpus[..]),
    ] {
        assert!(run(gpus)?.len() == expected, "wrong contours: {name}");
        let ms = median_ms(3, || run(gpus).map(drop))?;
        println!("  in bands of {ROWS} rows by {who:<13} {expected:>8} contours {ms:>9.1} ms");
    }
    Ok(())
}

/// Batches of images of one size.
fn bench_batches(tracer: &DeviceTracer<Queue>) -> Result<()> {
    let options = TraceOptions::default();
    for (count, width, height) in [(16, 1232, 1028), (256, 1024, 1024), (100, 2500, 2500)] {
        let images: Result<Vec<_>> = (0..count)
            .map(|seed| generate::blobs(width, height, seed))
            .collect();
        let images = images?;
        let batch = DeviceImageBatch::upload(tracer.gpu(), &images)?;
        let found = tracer.trace_batch(&batch, &options.contours)?;
        let contours = found.contours().len();
        for (found, image) in found.to_host()?.iter().zip(&images) {
            assert!(
                *found == Engine::cpu().trace(image, &options)?,
                "wrong contours"
            );
        }
        drop(found);
        let ms = median_ms(20, || {
            let found = tracer.trace_batch(&batch, &options.contours)?;
            tracer.gpu().stream().synchronize()?;
            drop(found);
            Ok(())
        })?;
        println!(
            "batch of {count} blobs {width} x {height}: {contours} contours, {ms:.3} ms, {:.2} µs \
             per image",
            ms * MS_PER_S / f64::from(count as u32)
        );
    }
    Ok(())
}

/// Both algorithms on the images of the other benches, and several numbers of tiles, by criterion's
/// statistics.
fn by_criterion(tracer: &DeviceTracer<Queue>) {
    let mut criterion = Criterion::default().configure_from_args();
    images::for_each(&mut criterion, "gpu trace", |group, input| {
        let on_device = DeviceImage::upload(tracer.gpu(), &input.image).expect("device memory");
        let mut bench = |name: String, options: TraceOptions| {
            group.bench_function(BenchmarkId::new(name, &input.name), |bencher| {
                bencher.iter(|| {
                    let contours = tracer.trace(&on_device, &options)?;
                    tracer.gpu().stream().synchronize()?;
                    Ok::<_, trazar::Error>(contours.len())
                });
            });
        };
        for algorithm in [
            TraceAlgorithm::Components,
            TraceAlgorithm::Tiles(TileCounts::BY_SIZE),
        ] {
            for (name, geometry) in [("centers", Geometry::Centers), ("edges", Geometry::Edges)] {
                let options = TraceOptions::default()
                    .algorithm(algorithm)
                    .geometry(geometry);
                bench(format!("{} {name}", algorithm.name()), options);
            }
        }
        // Above this number of pixels per tile, the one thread of a tile takes seconds.
        const MOST_PIXELS: u64 = 1 << 18;
        for side in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            if input.image.pixel_count() <= MOST_PIXELS * u64::from(side * side) {
                let options = TraceOptions::default().algorithm(in_tiles(side));
                bench(format!("{side} x {side} tiles"), options);
            }
        }
    });
    criterion.final_summary();
}

/// In `side` × `side` tiles.
fn in_tiles(side: u32) -> TraceAlgorithm {
    TraceAlgorithm::Tiles(TileCounts::new(side, side).expect("powers of two"))
}

/// The algorithm tiles, from one tile on, beside components: the sizes and numbers of tiles in
/// tables 2 and 3 of V. M. Garcia-Molla, P. Alonso-Jordá and R. García-Laguía, *Parallel border
/// tracking in binary images using GPUs*, 2022.
fn bench_tiles(tracer: &DeviceTracer<Queue>) -> Result<()> {
    for (width, height) in [(1232, 1028), (2464, 2056), (4928, 4112)] {
        // Some tens of borders.
        let image = generate::blobs(width / 8, height / 8, 3)?;
        let image = enlarged(&image, width, height)?;
        let on_device = DeviceImage::upload(tracer.gpu(), &image)?;
        let components = TraceOptions::default().algorithm(TraceAlgorithm::Components);
        let expected = Engine::cpu().trace(&image, &TraceOptions::default())?;
        println!(
            "blobs of eight pixels, {width} x {height}: {} contours",
            expected.len()
        );
        let report = |what: &str, options: &TraceOptions, repeats: usize| -> Result<()> {
            let found = tracer.trace(&on_device, options)?.to_host()?;
            assert!(found == expected, "wrong contours: {what}");
            let ms = median_ms(repeats, || {
                drop(tracer.trace(&on_device, options)?);
                Ok(tracer.gpu().stream().synchronize()?)
            })?;
            println!("  {what:<16} {ms:>10.3} ms");
            for (stage, ms) in stages(tracer, &on_device, options, repeats)? {
                println!("    {stage:<22} {ms:>9.3} ms");
            }
            Ok(())
        };
        report("components", &components, 20)?;
        for side in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            let options = TraceOptions::default().algorithm(in_tiles(side));
            let repeats = if side < 8 { 1 } else { 20 };
            report(&format!("{side} x {side} tiles"), &options, repeats)?;
        }
    }
    Ok(())
}

/// The image with each pixel enlarged to 8 × 8.
fn enlarged(image: &BinaryImage, width: u32, height: u32) -> Result<BinaryImage> {
    let mut large = BinaryImage::new(width, height)?;
    for y in 0..height {
        for x in 0..width {
            if image.get(x / 8, y / 8) {
                large.set(x, y, true);
            }
        }
    }
    Ok(large)
}

fn main() -> Result<()> {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => {
            println!("gpu_trace: skipped: {error}");
            return Ok(());
        }
    };
    println!("{}", device.info().name);
    let mut tracers = Vec::new();
    for variant in variants(&device)? {
        tracers.push((variant.name, DeviceTracer::on(variant.queue)));
    }
    let tracer = &tracers[0].1;
    for path in images::masks() {
        let read = trazar::formats::read_image(&path, &Default::default())?;
        bench(&tracers, &path.display().to_string(), &read.image)?;
    }
    if is_wanted("TRAZAR_BENCH_BATCHES") {
        // A camera's.
        bench(&tracers, "frame", &generate::blobs(1232, 1028, 3)?)?;
        bench_batches(tracer)?;
    }
    if is_wanted("TRAZAR_BENCH_TILES") {
        bench_tiles(tracer)?;
    }
    for side in list("TRAZAR_BENCH_SIDES", "512,1024,2048,4096,8192,16384") {
        for name in list("TRAZAR_BENCH_IMAGES", "blobs,noise:0.5,nested-rectangles") {
            if let Ok(side) = side.parse() {
                let pattern: Pattern = name.parse()?;
                let image = pattern.generate(side, side, 1)?;
                bench(&tracers, &name, &image)?;
                if is_wanted("TRAZAR_BENCH_BANDS") && side > 4096 {
                    bench_bands(&device, &name, &image)?;
                }
            }
        }
    }
    if is_wanted("TRAZAR_BENCH_CRITERION") {
        by_criterion(tracer);
    }
    Ok(())
}
