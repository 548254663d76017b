//! Jobs on images of values on the GPU: image and result in its memory, the median of several runs
//! by the host's clock. `cargo bench -p trazar-benches --bench gpu_values`
//!
//! Every result that is timed is first compared with that of all cores of the processor, which is
//! timed too, as is a copy of the values within the GPU's memory.
//!
//! | variable | what it chooses |
//! |---|---|
//! | `TRAZAR_BENCH_SIDES=4096,16384` | the sizes |
//! | `TRAZAR_BENCH_REPEATS=10` | the number of runs |
//!
//! Without a GPU the bench says so and ends.

use std::time::Instant;

use trazar::cuda::{Device, Queue};
use trazar::gpu::Gpu;
use trazar::{
    Connectivity, DeviceLabeler, DeviceTracer, DeviceValues, Engine, PixelValue, RegionOptions,
    Result, Samples, ValueImage,
};
use trazar_bench_support::settings::list;
use trazar_bench_support::timing::{MS_PER_S, median_ms};
use trazar_bench_support::values::{cells, classes};

/// Times one image.
fn bench<T: PixelValue>(gpu: &Queue, name: &str, side: u32, values: &[T]) -> Result<()> {
    let repeats = list("TRAZAR_BENCH_REPEATS", "10")[0].parse().unwrap_or(10);
    let image = ValueImage::new(Samples::new(side, side, values)?)?;
    let (labeler, tracer) = (
        DeviceLabeler::on(gpu.clone()),
        DeviceTracer::on(gpu.clone()),
    );
    let on_device = DeviceValues::upload(gpu, &image)?;
    println!("{name} {side} x {side}, {} bytes per value", size_of::<T>());
    let mut copy: <Queue as Gpu>::Buffer<u8> = gpu.alloc(size_of_val(values))?;
    let ms = median_ms(repeats, || {
        copy.fill(1)?;
        gpu.stream().synchronize()?;
        Ok(())
    })?;
    println!("  as many bytes set         {ms:>9.3} ms");

    for connectivity in [Connectivity::Four, Connectivity::Eight] {
        let started = Instant::now();
        let expected = Engine::cpu().label_values(&image, connectivity)?;
        let cpu = started.elapsed().as_secs_f64() * MS_PER_S;
        let found = labeler.label_values(&on_device, connectivity)?.to_host()?;
        assert!(found.as_slice() == expected.as_slice(), "wrong labels");
        let ms = median_ms(repeats, || {
            let labels = labeler.label_values(&on_device, connectivity)?;
            gpu.stream().synchronize()?;
            drop(labels);
            Ok(())
        })?;
        println!(
            "  labels, {connectivity:?}   {:>9} regions {ms:>9.3} ms   all cores {cpu:>8.1} ms",
            expected.count()
        );
    }
    let options = RegionOptions::default();
    let started = Instant::now();
    let expected = Engine::cpu().trace_regions(&image, &options)?;
    let cpu = started.elapsed().as_secs_f64() * MS_PER_S;
    let found = tracer
        .trace_regions(&on_device, &options)?
        .to_host(&image)?;
    assert!(found == expected, "wrong regions");
    let ms = median_ms(repeats, || {
        let regions = tracer.trace_regions(&on_device, &options)?;
        gpu.stream().synchronize()?;
        drop(regions);
        Ok(())
    })?;
    println!(
        "  polygons {:>9} rings {:>9} points {ms:>9.3} ms   all cores {cpu:>8.1} ms",
        expected.len(),
        expected.contours().points().len()
    );
    Ok(())
}

fn main() -> Result<()> {
    let gpu = match Device::open(0).and_then(|device| Queue::open(&device)) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("no GPU: {error}");
            return Ok(());
        }
    };
    for side in list("TRAZAR_BENCH_SIDES", "2048,4096,16384") {
        let side = side.parse().expect("a side in TRAZAR_BENCH_SIDES");
        bench(&gpu, "touching cells", side, &cells(side, 26))?;
        bench(&gpu, "16 smooth classes", side, &classes(side, 16))?;
    }
    Ok(())
}
