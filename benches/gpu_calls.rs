//! The calls that `python/benches/gpu.py` makes, from Rust: images of one byte per pixel in the
//! GPU's memory; the median of several runs by the host's clock, from the call until the GPU is
//! done and the result is freed. `cargo bench -p trazar-benches --bench gpu_calls`
//!
//! Each line is a job and its time in milliseconds. Results are compared with the processor's
//! before.
//!
//! | variable | what it chooses |
//! |---|---|
//! | `TRAZAR_BENCH_SIDES=4096` | the sizes of single images |
//! | `TRAZAR_BENCH_BATCH=256x1024` | the number and the size of a batch's images |
//!
//! Without a GPU the bench says so and ends.

use std::time::{Duration, Instant};

use trazar::cuda::{Device, Queue};
use trazar::{
    Connectivity, DeviceBytes, DeviceImage, DeviceImageBatch, DeviceLabeler, DeviceTracer, Engine,
    LabelOptions, Result, TraceOptions, generate,
};
use trazar_bench_support::images;
use trazar_bench_support::settings::{list, numbers};

const MS_PER_S: f64 = 1e3;

/// Prints the median time of `work`, which waits for the GPU itself.
fn report(job: &str, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    const WARM: u32 = 10;
    const MOST: usize = 200;
    const LONGEST: Duration = Duration::from_millis(500);
    for _ in 0..WARM {
        work()?;
    }
    let mut times = Vec::new();
    let begun = Instant::now();
    while times.len() < MOST && begun.elapsed() < LONGEST {
        let started = Instant::now();
        work()?;
        times.push(started.elapsed().as_secs_f64() * MS_PER_S);
    }
    times.sort_by(f64::total_cmp);
    println!("{job}: {:.4}", times[times.len() / 2]);
    Ok(())
}

fn bench_image(queue: &Queue, side: u32) -> Result<()> {
    let image = generate::blobs(side, side, 1)?;
    let trace = TraceOptions::default();
    let label = LabelOptions::default().connectivity(Connectivity::Eight);
    let tracer = DeviceTracer::on(queue.clone());
    let labeler = DeviceLabeler::on(queue.clone());
    let stream = queue.stream();
    let values = stream.upload(&images::bytes(&image))?;
    let bytes = DeviceBytes::new(side, side, &values, 0)?;

    let packed = DeviceImage::pack(queue, &bytes)?;
    let contours = tracer.trace(&packed, &trace)?.to_host()?;
    assert!(contours == Engine::cpu().trace(&image, &trace)?);
    let labels = labeler.label_bytes(&bytes, &label)?.1.to_host()?;
    assert_eq!(
        labels.as_slice(),
        Engine::cpu().label(&image, &label)?.as_slice()
    );

    report(&format!("contours {side}, from bits"), || {
        let contours = tracer.trace(&packed, &trace)?;
        stream.synchronize()?;
        drop(contours);
        Ok(())
    })?;
    report(&format!("contours {side}"), || {
        let packed = DeviceImage::pack(queue, &bytes)?;
        let contours = tracer.trace(&packed, &trace)?;
        stream.synchronize()?;
        drop((packed, contours));
        Ok(())
    })?;
    report(&format!("labels {side}"), || {
        let labels = labeler.label_bytes(&bytes, &label)?;
        stream.synchronize()?;
        drop(labels);
        Ok(())
    })
}

/// Images that are one above the other in an image of blobs.
fn bench_batch(queue: &Queue, count: u32, side: u32) -> Result<()> {
    let tracer = DeviceTracer::on(queue.clone());
    let stream = queue.stream();
    let bytes = images::bytes(&generate::blobs(side, side * count, 1)?);
    let values = stream.upload(&bytes)?;
    let pack = || {
        let (pitch, view) = (side as usize, values.view());
        // SAFETY: the buffer outlives the work, which the caller waits for.
        unsafe { DeviceImageBatch::pack_pitched(queue, side, side, count, view, pitch, 0) }
    };
    let options = TraceOptions::default();
    let packed = pack()?;
    let found = tracer.trace_batch(&packed, &options.contours)?.to_host()?;
    for (found, image) in found.iter().zip(&packed.to_host()?) {
        assert!(*found == Engine::cpu().trace(image, &options)?);
    }
    report(&format!("contours {count} x {side}"), || {
        let packed = pack()?;
        let contours = tracer.trace_batch(&packed, &options.contours)?;
        stream.synchronize()?;
        drop((packed, contours));
        Ok(())
    })
}

fn main() -> Result<()> {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => {
            println!("gpu_calls: skipped: {error}");
            return Ok(());
        }
    };
    let queue = Queue::open(&device)?;
    for side in numbers("TRAZAR_BENCH_SIDES", "4096")? {
        bench_image(&queue, side)?;
    }
    for batch in list("TRAZAR_BENCH_BATCH", "256x1024") {
        let numbers = batch.split_once('x');
        let numbers = numbers.and_then(|(n, side)| Some((n.parse().ok()?, side.parse().ok()?)));
        let (count, side) = numbers.expect("TRAZAR_BENCH_BATCH: images and their side, 256x1024");
        bench_batch(&queue, count, side)?;
    }
    Ok(())
}
