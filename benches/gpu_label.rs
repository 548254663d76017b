//! Labelling on the GPU, and the scan, timed with CUDA events: data in the GPU's memory, the median
//! of several runs after a warm-up. The host queues the work while the GPU is busy with a fill
//! before it, so that launches cost nothing where kernels take longer. `cargo bench -p
//! trazar-benches --bench gpu_label`
//!
//! Each table opens with a device-to-device copy of the same bytes in the same run, as a measure
//! for the times below it. GB/s count compulsory traffic: each pixel's bit or byte read once, its
//! label of 4 bytes written once. Copies to and from the host are listed apart. Every result that
//! is timed is first compared with the CPU's, up to 4096 × 4096 pixels.
//!
//! | variable | what it chooses |
//! |---|---|
//! | `TRAZAR_BENCH_SIDES=512,4096` | the sizes; from 65536 on, a tiling with known labels in place of the images |
//! | `TRAZAR_BENCH_IMAGES=blobs,noise:0.5` | the images |
//! | `TRAZAR_BENCH_ONLY=tiles` | `tiles`, `bytes`, `direct`, `host`, `scan`, `load`, `batch`, `gpus` |
//! | `TRAZAR_BENCH_BATCHES=256:1024` | for `batch`: numbers of images and their sides |
//! | `TRAZAR_BENCH_PTX=A,B` | PTX files with variants of the kernels, which are timed, too |
//!
//! `TRAZAR_BENCH_ONLY` lists what is timed; by default all but `gpus`, which compares all GPUs with
//! one on that tiling.
//!
//! Without a GPU the bench says so and ends.

use std::time::Instant;

use trazar::cuda::{Device, DeviceBuffer, Queue, Stream};
use trazar::generate::Pattern;
use trazar::gpu::Scanner;
use trazar::label::MultiLabeler;
use trazar::{
    BinaryImage, Connectivity, DeviceBytes, DeviceImage, DeviceImageBatch, DeviceLabeler, Engine,
    LabelAlgorithm, LabelOptions, Result,
};
use trazar_bench_support::images;
use trazar_bench_support::settings::list;
use trazar_bench_support::variants::variants;
use trazar_test_support::tilings::{Tiling, check_measures, check_rows};

const MS_PER_S: f64 = 1e3;

/// The median time of `work` in milliseconds.
fn median_ms(stream: &Stream, repeats: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    for _ in 0..3 {
        work()?;
    }
    let mut times = Vec::with_capacity(repeats);
    // The GPU fills this while the host queues the work, so that only the GPU's time is measured.
    let mut busy: DeviceBuffer<u8> = stream.alloc(256 << 20)?;
    for _ in 0..repeats {
        busy.fill_bytes(0)?;
        let start = stream.record()?;
        work()?;
        let end = stream.record()?;
        times.push(f64::from(end.elapsed_ms_since(&start)?));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn row(what: &str, ms: f64, bytes: f64, copy_ms: f64) {
    println!(
        "  {what:<28} {ms:>10.4} ms {:>8.0} GB/s {:>8.2} x copy",
        bytes / 1e9 / (ms / MS_PER_S),
        ms / copy_ms
    );
}

/// Compares the labels with the CPU's: wrong labels are worth no time.
fn verify(
    labeler: &DeviceLabeler<Queue>,
    image: &BinaryImage,
    on_device: &DeviceImage<Queue>,
) -> Result<()> {
    for connectivity in [Connectivity::Four, Connectivity::Eight] {
        let options = LabelOptions::default().connectivity(connectivity);
        let expected = Engine::cpu().label(image, &options)?;
        for algorithm in [LabelAlgorithm::Tiles, LabelAlgorithm::Direct] {
            let found = labeler
                .label(
                    on_device,
                    &LabelOptions::default()
                        .connectivity(connectivity)
                        .algorithm(algorithm),
                )?
                .to_host()?;
            assert!(
                found.as_slice() == expected.as_slice() && found.count() == expected.count(),
                "wrong labels: {algorithm:?}, {connectivity:?}"
            );
        }
    }
    Ok(())
}

fn bench_image(
    labeler: &DeviceLabeler<Queue>,
    name: &str,
    side: u32,
    only: &[String],
) -> Result<()> {
    let wanted = |what: &str| only.iter().any(|item| item == what);
    let stream = labeler.gpu().stream();
    let pattern: Pattern = name.parse()?;
    let image = pattern.generate(side, side, 1)?;
    let on_device = DeviceImage::upload(labeler.gpu(), &image)?;
    let bytes = images::bytes(&image);
    let bytes_on_device = stream.upload(&bytes)?;
    if side <= 4096 {
        verify(labeler, &image, &on_device)?;
    }
    let repeats = if side <= 4096 { 100 } else { 30 };
    let pixels = f64::from(side) * f64::from(side);

    println!("{name} {side} x {side}");
    let mut target: DeviceBuffer<u8> = stream.alloc(bytes.len())?;
    let copy_ms = median_ms(stream, repeats, || {
        Ok(target.copy_from(0, &bytes_on_device, 0..bytes.len())?)
    })?;
    drop(target);
    row("copy of the bytes", copy_ms, 2.0 * pixels, copy_ms);
    let mut labels: DeviceBuffer<u32> = stream.alloc(bytes.len())?;
    let fill_ms = median_ms(stream, repeats, || Ok(labels.fill(1)?))?;
    drop(labels);
    row("fill of the labels", fill_ms, 4.0 * pixels, copy_ms);
    for connectivity in [Connectivity::Eight, Connectivity::Four] {
        let label = |algorithm| {
            median_ms(stream, repeats, || {
                labeler.label(
                    &on_device,
                    &LabelOptions::default()
                        .connectivity(connectivity)
                        .algorithm(algorithm),
                )?;
                Ok(())
            })
        };
        let kind = format!("{connectivity:?}").to_lowercase();
        if wanted("tiles") {
            let ms = label(LabelAlgorithm::Tiles)?;
            row(
                &format!("tiles, {kind}, from bits"),
                ms,
                pixels * 4.125,
                copy_ms,
            );
        }
        if wanted("bytes") {
            let ms = median_ms(stream, repeats, || {
                labeler.label_bytes(
                    &DeviceBytes::new(side, side, &bytes_on_device, 127)?,
                    &LabelOptions::default().connectivity(connectivity),
                )?;
                Ok(())
            })?;
            row(
                &format!("tiles, {kind}, from bytes"),
                ms,
                pixels * 5.0,
                copy_ms,
            );
        }
        if wanted("direct") {
            let ms = label(LabelAlgorithm::Direct)?;
            row(
                &format!("direct, {kind}, from bits"),
                ms,
                pixels * 4.125,
                copy_ms,
            );
        }
    }
    if wanted("host") {
        bench_host(labeler, &image, pixels, copy_ms)?;
    }
    Ok(())
}

/// Copies to and from the host, and all steps from host to host: first pixel by pixel, and then as
/// `Engine::label` copies labels, run by run where that is faster; beside the processor.
fn bench_host(
    labeler: &DeviceLabeler<Queue>,
    image: &BinaryImage,
    pixels: f64,
    copy_ms: f64,
) -> Result<()> {
    // The first run provides page-locked memory for the copies.
    for run in ["first", "second", "third"] {
        let started = Instant::now();
        let on_device = DeviceImage::upload(labeler.gpu(), image)?;
        let uploaded = started.elapsed().as_secs_f64() * MS_PER_S;
        let labels = labeler.label(
            &on_device,
            &LabelOptions::default().algorithm(LabelAlgorithm::Tiles),
        )?;
        labels.count()?;
        let labelled = started.elapsed().as_secs_f64() * MS_PER_S;
        let on_host = labels.to_host()?;
        let whole = started.elapsed().as_secs_f64() * MS_PER_S;
        println!(
            "  {run} run from host to host, {} components",
            on_host.count()
        );
        row("host to device, bits", uploaded, pixels / 8.0, copy_ms);
        row(
            "device to host, labels",
            whole - labelled,
            pixels * 4.0,
            copy_ms,
        );
        row("host to host, by pixels", whole, pixels * 4.125, copy_ms);
    }
    let options = LabelOptions::default();
    let on_gpu = Engine::on(labeler.gpu().clone());
    for (what, engine) in [("Engine::label", on_gpu), ("processor", Engine::cpu())] {
        let mut times = Vec::new();
        for _ in 0..7 {
            let started = Instant::now();
            let labels = engine.label(image, &options)?;
            times.push(started.elapsed().as_secs_f64() * MS_PER_S);
            drop(labels);
        }
        let first = times[0];
        times.sort_by(f64::total_cmp);
        println!("  {what}: first {first:.2} ms, slowest {:.2} ms", times[6]);
        row(
            "host to host, the fastest",
            times[0],
            pixels * 4.125,
            copy_ms,
        );
        row(
            "host to host, the median",
            times[3],
            pixels * 4.125,
            copy_ms,
        );
    }
    Ok(())
}

/// A batch of `count` images of `side` by `side` pixels, resident and from host to host, by the
/// host's clock: the whole of `label_batch` and `label_stats_batch`, one image after the other
/// beside it, and the processor. Each result is first compared with the processor's.
fn bench_batch(labeler: &DeviceLabeler<Queue>, name: &str, count: u32, side: u32) -> Result<()> {
    let pattern: Pattern = name.parse()?;
    let images: Result<Vec<_>> = (0..u64::from(count))
        .map(|seed| pattern.generate(side, side, seed))
        .collect();
    let images = images?;
    let stream = labeler.gpu().stream();
    let batch = DeviceImageBatch::upload(labeler.gpu(), &images)?;
    let alone: Result<Vec<_>> = images
        .iter()
        .map(|image| DeviceImage::upload(labeler.gpu(), image))
        .collect();
    let alone = alone?;
    let pixels = f64::from(count) * f64::from(side) * f64::from(side);
    println!("{count} images of {name} {side} x {side}, median by the host's clock");
    let bytes: DeviceBuffer<u8> = stream.alloc_zeroed(2 * pixels as usize)?;
    let mut target: DeviceBuffer<u8> = stream.alloc(2 * pixels as usize)?;
    // As many bytes as labels have, once read and once written.
    let copy_ms = median_wall_ms(|| {
        target.copy_from(0, &bytes, 0..bytes.len())?;
        Ok(stream.synchronize()?)
    })?;
    drop((bytes, target));
    row("copy of half the labels", copy_ms, 4.0 * pixels, copy_ms);
    let wait = || -> Result<()> { Ok(stream.synchronize()?) };
    for statistics in [false, true] {
        let options = LabelOptions::default().statistics(statistics);
        let expected = Engine::cpu().label_batch(&images, &options)?;
        let found = labeler.label_batch(&batch, &options)?.to_host()?;
        assert!(found == expected, "wrong labels: resident");
        let on_gpu = Engine::on(labeler.gpu().clone());
        let found = on_gpu.label_batch(&images, &options)?;
        assert!(found == expected, "wrong labels: from host to host");
        let what = if statistics { "stats" } else { "labels" };
        let counted = |what: &str, ms: f64| row(what, ms, 4.125 * pixels, copy_ms);
        let ms = median_wall_ms(|| {
            let found = labeler.label_batch(&batch, &options)?;
            found.counts()?;
            Ok(())
        })?;
        counted(&format!("{what}, resident"), ms);
        let ms = median_wall_ms(|| {
            for image in &alone {
                labeler.label(image, &options)?;
            }
            wait()
        })?;
        counted(&format!("{what}, resident, each alone"), ms);
        let mut labels = vec![1; pixels as usize];
        for (on, engine) in [("GPU", &on_gpu), ("processor", &Engine::cpu())] {
            let ms = median_wall_ms(|| {
                engine.label_batch(&images, &options)?;
                Ok(())
            })?;
            counted(&format!("{what}, host to host, {on}"), ms);
            let ms = median_wall_ms(|| {
                engine.label_batch_into(&images, &options, &mut labels)?;
                Ok(())
            })?;
            counted(&format!("{what}, into an array, {on}"), ms);
        }
    }
    Ok(())
}

/// The batches that the environment asks for.
fn bench_batches(labeler: &DeviceLabeler<Queue>) -> Result<()> {
    for batch in list("TRAZAR_BENCH_BATCHES", "256:1024,64:1024,256:256,4096:64") {
        let Some((count, side)) = batch.split_once(':') else {
            panic!("TRAZAR_BENCH_BATCHES has `{batch}`, which is no COUNT:SIDE");
        };
        let number = |text: &str| text.parse().expect("a number in TRAZAR_BENCH_BATCHES");
        for name in list("TRAZAR_BENCH_IMAGES", "blobs,noise:0.5") {
            bench_batch(labeler, &name, number(count), number(side))?;
        }
    }
    Ok(())
}

/// The smallest side that takes the tiling.
const LARGE: u32 = 65536;

/// The median wall time of `work` in milliseconds, after one run that does not count.
fn median_wall_ms(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        work()?;
        times.push(started.elapsed().as_secs_f64() * MS_PER_S);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// The tiling of `side` by `side` pixels, whole in the GPU's memory: 4.125 bytes per pixel, and
/// 1.3 GB while it works. Labels and measures are compared with what is known of them.
fn bench_large(labeler: &DeviceLabeler<Queue>, side: u32, only: &[String]) -> Result<()> {
    if !only.iter().any(|item| item == "tiles") {
        return Ok(());
    }
    let pixels = f64::from(side) * f64::from(side);
    let memory = labeler.gpu().stream().device().memory()?;
    println!("tiling {side} x {side}");
    if (memory.free as f64) < 4.2 * pixels + 4e9 {
        println!(
            "  skipped: {:.1} GB of memory are free",
            memory.free as f64 / 1e9
        );
        return Ok(());
    }
    let tiling = Tiling::new(side, side);
    let started = Instant::now();
    let image = DeviceImage::upload(labeler.gpu(), &tiling.image())?;
    let upload = started.elapsed().as_secs_f64() * MS_PER_S;
    println!("  made and copied up in {upload:.0} ms");
    for connectivity in [Connectivity::Eight, Connectivity::Four] {
        let options = LabelOptions::default().connectivity(connectivity);
        let labels = labeler.label(&image, &options)?;
        assert_eq!(u64::from(labels.count()?), tiling.count());
        check_rows(tiling, |y, row| {
            let start = y as usize * side as usize;
            labels.labels().read_at(start, row).expect("a row");
        });
        check_measures(tiling, &labeler.measure(&image, &labels)?);
        let mut filled = labels.into_labels();
        let fill = median_wall_ms(|| {
            filled.fill(1)?;
            Ok(labeler.gpu().stream().synchronize()?)
        })?;
        drop(filled);
        let ms = median_wall_ms(|| {
            labeler.label(&image, &options)?;
            Ok(labeler.gpu().stream().synchronize()?)
        })?;
        let kind = format!("{connectivity:?}").to_lowercase();
        println!("  fill of the labels           {fill:>10.2} ms");
        println!(
            "  tiles, {kind:<6} from bits     {ms:>10.2} ms {:>8.0} GB/s, {} components",
            pixels * 4.125 / 1e9 / (ms / MS_PER_S),
            tiling.count()
        );
    }
    Ok(())
}

/// All GPUs against the first: each holds `side` rows of the tiling and its labels; and from host
/// to host, the tiling of `side` by `side` pixels.
fn bench_gpus(side: u32) -> Result<()> {
    let count = Device::count()?;
    let tiling = Tiling::new(side, side * count);
    let mut queues = Vec::new();
    for number in 0..count {
        queues.push(Queue::open(&Device::open(number)?)?);
    }
    println!("tiling of {side} x {side} per GPU");
    let images: Result<Vec<_>> = (0..count)
        .zip(&queues)
        .map(|(i, gpu)| DeviceImage::upload(gpu, &tiling.rows(i * side, (i + 1) * side)))
        .collect();
    let images = images?;
    let options = LabelOptions::default();
    let mut times = Vec::new();
    for gpus in [1, count as usize] {
        let labeler = MultiLabeler::on(queues[..gpus].iter().cloned());
        let ms = median_wall_ms(|| {
            let labels = labeler.label(&images[..gpus], &options)?;
            for gpu in labeler.gpus() {
                gpu.stream().synchronize()?;
            }
            assert_eq!(
                labels.count(),
                Tiling::new(side, side * gpus as u32).count()
            );
            Ok(())
        })?;
        println!("  in their memory, {gpus} GPUs: {ms:>10.2} ms");
        times.push(ms);
    }
    let faster = f64::from(count) * times[0] / times[1];
    println!("  pixels per second, {count} GPUs against one: {faster:.2}");
    drop(images);

    let image = Tiling::new(side, side).image();
    // Also in bands on several queues of one GPU, to compare with one copy after the other.
    for (what, gpus) in [
        ("one GPU", queues[..1].to_vec()),
        ("one GPU, in bands", vec![queues[0].clone(); 2]),
        ("all GPUs", queues),
    ] {
        let engine = Engine::on_all(gpus)?;
        let ms = median_wall_ms(|| {
            let labels = engine.label(&image, &options)?;
            assert_eq!(u64::from(labels.count()), Tiling::new(side, side).count());
            Ok(())
        })?;
        println!("  from host to host, {what}: {ms:>10.2} ms");
    }
    Ok(())
}

fn bench_scan(labeler: &DeviceLabeler<Queue>) -> Result<()> {
    let stream = labeler.gpu().stream();
    for log2 in [20, 24, 28] {
        let n = 1usize << log2;
        let values: Vec<u32> = (0..n as u32)
            .map(|i| i.wrapping_mul(2_654_435_761) >> 20)
            .collect();
        let input = stream.upload(&values)?;
        let mut output: DeviceBuffer<u32> = stream.alloc(n)?;
        let copy_ms = median_ms(stream, 50, || Ok(output.copy_from(0, &input, 0..n)?))?;
        let mut scanner = Scanner::new(labeler.gpu(), n as u32)?;
        let ms = median_ms(stream, 50, || scanner.scan(&input, &mut output))?;
        let found = output.to_vec()?;
        let mut sum = 0u32;
        for (found, value) in found.iter().zip(&values) {
            assert_eq!(*found, sum, "wrong scan");
            sum = sum.wrapping_add(*value);
        }
        println!("scan of 2^{log2} u32");
        row("copy", copy_ms, 8.0 * n as f64, copy_ms);
        row("exclusive scan", ms, 8.0 * n as f64, copy_ms);
        println!("  {:.1} % of copy bandwidth", 100.0 * copy_ms / ms);
    }
    Ok(())
}

fn main() -> Result<()> {
    let only = list(
        "TRAZAR_BENCH_ONLY",
        "tiles,bytes,direct,host,scan,load,batch",
    );
    let started = Instant::now();
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => {
            println!("gpu_label: skipped: {error}");
            return Ok(());
        }
    };
    println!("{}", device.info().name);
    let opened = started.elapsed().as_secs_f64() * MS_PER_S;
    if only.iter().any(|item| item == "load") {
        let labeler = DeviceLabeler::new(&device)?;
        let loaded = started.elapsed().as_secs_f64() * MS_PER_S;
        let image = DeviceImage::upload(labeler.gpu(), &BinaryImage::from_art("##.#")?)?;
        let labels = labeler.label(
            &image,
            &LabelOptions::default().algorithm(LabelAlgorithm::Tiles),
        )?;
        assert_eq!(labels.to_host()?.as_slice(), [1, 1, 0, 2]);
        let first = started.elapsed().as_secs_f64() * MS_PER_S;
        println!(
            "open {opened:.0} ms, load the kernels {:.0} ms, first result {:.0} ms; \
             together {first:.0} ms",
            loaded - opened,
            first - loaded
        );
    }
    for variant in variants(&device)? {
        println!("kernels: {}", variant.name);
        bench(&DeviceLabeler::on(variant.queue), &only)?;
    }
    Ok(())
}

fn bench(labeler: &DeviceLabeler<Queue>, only: &[String]) -> Result<()> {
    if only.iter().any(|item| item == "scan") {
        bench_scan(labeler)?;
    }
    if only.iter().any(|item| item == "batch") {
        bench_batches(labeler)?;
    }
    for side in list("TRAZAR_BENCH_SIDES", "512,1024,2048,4096,8192,16384") {
        if let Ok(side) = side.parse()
            && only.iter().any(|item| item == "gpus")
        {
            bench_gpus(side)?;
        }
        if let Ok(side @ LARGE..) = side.parse() {
            bench_large(labeler, side, only)?;
            continue;
        }
        for name in list("TRAZAR_BENCH_IMAGES", "blobs,noise:0.1,noise:0.5,noise:0.9") {
            if let Ok(side) = side.parse() {
                bench_image(labeler, &name, side, only)?;
            }
        }
    }
    Ok(())
}
