//! Jobs on images of values, labels and masks on the GPU: image and result in its memory (tables of
//! measures in the host's), the median of several runs by the host's clock.
//! `cargo bench -p trazar-benches --bench gpu_values`
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
use trazar::generate::{cells, classes};
use trazar::gpu::Gpu;
use trazar::measure::{DeviceIntensities, DeviceMeasurer, Intensity, MeasureOptions, Property};
use trazar::rle::{DeviceLabelRles, DeviceRles, Rle, encode_labels};
use trazar::trace::ContourOptions;
use trazar::{
    BinaryImage, Connectivity, DeviceImageBatch, DeviceLabeler, DeviceTracer, DeviceValues, Engine,
    PixelValue, RegionOptions, Result, Retrieval, Samples, ValueImage, generate,
};
use trazar_bench_support::settings::list;
use trazar_bench_support::timing::{MS_PER_S, median_ms};

/// Times one image.
fn bench<T: PixelValue>(gpu: &Queue, name: &str, side: u32, values: &[T]) -> Result<()> {
    let image = ValueImage::new(Samples::new(side, side, values)?)?;
    let (labeler, tracer) = (
        DeviceLabeler::on(gpu.clone()),
        DeviceTracer::on(gpu.clone()),
    );
    let on_device = DeviceValues::upload(gpu, &image)?;
    println!("{name} {side} x {side}, {} bytes per value", size_of::<T>());
    let mut copy: <Queue as Gpu>::Buffer<u8> = gpu.alloc(size_of_val(values))?;
    let ms = median_ms(repeats(), || {
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
        let ms = resident_ms(gpu, || labeler.label_values(&on_device, connectivity))?;
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
    let ms = resident_ms(gpu, || tracer.trace_regions(&on_device, &options))?;
    println!(
        "  polygons {:>9} rings {:>9} points {ms:>9.3} ms   all cores {cpu:>8.1} ms",
        expected.len(),
        expected.contours().points().len()
    );
    drop((expected, found));
    for retrieval in [Retrieval::List, Retrieval::Tree] {
        let options = ContourOptions::default().retrieval(retrieval);
        let started = Instant::now();
        let expected = Engine::cpu().trace_values(&image, &options)?;
        let cpu = started.elapsed().as_secs_f64() * MS_PER_S;
        let found = tracer.trace_values(&on_device, &options)?.to_host(&image)?;
        assert!(found == expected, "wrong contours");
        let ms = resident_ms(gpu, || tracer.trace_values(&on_device, &options))?;
        println!(
            "  contours of values, {retrieval:?} {:>9} contours of {:>7} values {ms:>9.3} ms   \
             all cores {cpu:>8.1} ms",
            expected.contours().len(),
            expected.len()
        );
    }
    Ok(())
}

/// How often each job is timed.
fn repeats() -> usize {
    list("TRAZAR_BENCH_REPEATS", "10")[0].parse().unwrap_or(10)
}

/// The median time of a job whose result stays on the GPU, until its kernels have ended.
fn resident_ms<T>(gpu: &Queue, mut job: impl FnMut() -> Result<T>) -> Result<f64> {
    median_ms(repeats(), || {
        let result = job()?;
        gpu.stream().synchronize()?;
        drop(result);
        Ok(())
    })
}

/// Times the measures of an image's labels, with intensities of two types.
fn bench_measures(gpu: &Queue, side: u32, labels: &[u32]) -> Result<()> {
    // No intensity is 0: an object all of whose intensities are 0 has no weighted centroid.
    let bytes = (0..labels.len()).map(|at| ((at * 37) >> 3) as u8 | 1);
    let floats: Vec<f32> = bytes.clone().map(|byte| f32::from(byte) / 7.0).collect();
    let bytes: Vec<u8> = bytes.collect();
    let few = [
        Property::Label,
        Property::Area,
        Property::Centroid,
        Property::Bbox,
    ];
    let ten = [
        Property::Label,
        Property::Area,
        Property::Bbox,
        Property::Centroid,
        Property::Perimeter,
        Property::Eccentricity,
        Property::Orientation,
        Property::EulerNumber,
        Property::IntensityMean,
        Property::IntensityMax,
    ];
    let moments = [Property::Label, Property::MomentsHu];
    let weighted_moments = [Property::Label, Property::MomentsWeightedHu];
    let weighted = [Property::Label, Property::CentroidWeighted];
    let deviations = [Property::IntensityMean, Property::IntensityStd];
    let hulls = [Property::AreaConvex, Property::Solidity];
    let diameters = [Property::FeretDiameterMax];
    let filled = [Property::AreaFilled];
    let samples = Samples::new(side, side, labels)?;
    let there = DeviceValues::upload(gpu, &ValueImage::new(samples)?.background(0)?)?;
    for properties in [
        &few[..],
        &ten,
        &moments,
        &weighted_moments,
        &weighted,
        &hulls,
        &diameters,
        &filled,
    ] {
        time_measures(gpu, (samples, &there), &bytes, properties)?;
    }
    for properties in [&ten[..], &weighted, &deviations] {
        time_measures(gpu, (samples, &there), &floats, properties)?;
    }
    drop(there);
    println!("  labels too large for a table:");
    let large: Vec<u32> = labels.iter().map(|&label| label << 10).collect();
    let samples = Samples::new(side, side, &large)?;
    let there = DeviceValues::upload(gpu, &ValueImage::new(samples)?.background(0)?)?;
    for properties in [&few[..], &ten] {
        time_measures(gpu, (samples, &there), &bytes, properties)?;
    }
    Ok(())
}

/// Times measures, from images in the GPU's memory to a table in the host's, and to one there.
fn time_measures<I: Intensity>(
    gpu: &Queue,
    (samples, labels): (Samples<'_, u32>, &DeviceValues<Queue, u32>),
    light: &[I],
    properties: &[Property],
) -> Result<()> {
    let measurer = DeviceMeasurer::on(gpu.clone());
    let options = MeasureOptions::default().properties(properties);
    let light = Samples::new(labels.width(), labels.height(), light)?;
    let light_there = DeviceIntensities::upload(gpu, light)?;
    let started = Instant::now();
    let expected = Engine::cpu().measure_intensities(samples, light, &options)?;
    let cpu = started.elapsed().as_secs_f64() * MS_PER_S;
    let measure = || measurer.measure_intensities(labels, &light_there, &options);
    assert!(measure()? == expected, "wrong measures");
    let ms = median_ms(repeats(), || measure().map(drop))?;
    let measure_there = || measurer.measure_intensities_on_device(labels, &light_there, &options);
    assert!(measure_there()?.to_host()? == expected, "wrong measures");
    let ms_there = resident_ms(gpu, measure_there)?;
    let names: Vec<_> = properties.iter().map(|property| property.name()).collect();
    println!(
        "  {:>7} labels, {} {ms:>9.3} ms, the table left on the GPU {ms_there:>9.3} ms   \
         all cores {cpu:>8.1} ms: {}",
        expected.len(),
        std::any::type_name::<I>(),
        names.join(" ")
    );
    Ok(())
}

/// Times the run lengths of 256 masks of 1024².
fn bench_masks(gpu: &Queue) -> Result<()> {
    const SIDE: u32 = 1024;
    let masks: Vec<BinaryImage> = (0..256)
        .map(|seed| generate::blobs(SIDE, SIDE, seed))
        .collect::<Result<_>>()?;
    let started = Instant::now();
    let expected: Vec<Rle> = masks.iter().map(Rle::from_image).collect::<Result<_>>()?;
    let cpu = started.elapsed().as_secs_f64() * MS_PER_S;
    let there = DeviceImageBatch::upload(gpu, &masks)?;
    let found = DeviceRles::encode(gpu, &there)?;
    let counts = found.counts().len();
    assert!(found.to_host()? == expected, "wrong run lengths");
    let ms = resident_ms(gpu, || DeviceRles::encode(gpu, &there))?;
    println!(
        "256 masks of {SIDE} x {SIDE}: {counts} run lengths {ms:>9.3} ms   one core {cpu:>8.1} ms"
    );
    bench_text(gpu, &found, &expected)
}

/// Times the compressed text of run lengths, on the GPU and in the host's memory.
fn bench_text(gpu: &Queue, rles: &DeviceRles<Queue>, expected: &[Rle]) -> Result<()> {
    let started = Instant::now();
    let expected: Vec<_> = expected.iter().map(Rle::to_text).collect::<Result<_>>()?;
    let cpu = started.elapsed().as_secs_f64() * MS_PER_S;
    let found = rles.compress(gpu)?;
    assert!(found.to_host()?.iter().eq(&expected), "wrong text");
    let ms_there = resident_ms(gpu, || rles.compress(gpu))?;
    let ms = median_ms(repeats(), || rles.compress(gpu)?.to_host().map(drop))?;
    println!(
        "  {} characters of {} masks, left on the GPU {ms_there:>9.3} ms, in the host's memory \
         {ms:>9.3} ms   one core {cpu:>8.1} ms",
        found.bytes().len(),
        expected.len()
    );
    Ok(())
}

/// Times the run lengths of all labels of an image.
fn bench_label_masks(gpu: &Queue, side: u32, labels: &[u32]) -> Result<()> {
    let samples = Samples::new(side, side, labels)?;
    let started = Instant::now();
    let expected = encode_labels(samples)?;
    let cpu = started.elapsed().as_secs_f64() * MS_PER_S;
    let there = DeviceValues::upload(gpu, &ValueImage::new(samples)?)?;
    let found = DeviceLabelRles::encode(gpu, &there)?;
    assert!(found.to_host()? == expected, "wrong run lengths");
    let ms = resident_ms(gpu, || DeviceLabelRles::encode(gpu, &there))?;
    println!(
        "  masks of {} labels: {} run lengths {ms:>9.3} ms   all cores {cpu:>8.1} ms",
        expected.len(),
        found.rles().counts().len()
    );
    let masks: Vec<Rle> = expected.into_iter().map(|(_, mask)| mask).collect();
    bench_text(gpu, found.rles(), &masks)
}

fn main() -> Result<()> {
    let gpu = match Device::open(0).and_then(|device| Queue::open(&device)) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("no GPU: {error}");
            return Ok(());
        }
    };
    bench_masks(&gpu)?;
    for side in list("TRAZAR_BENCH_SIDES", "2048,4096,16384") {
        let side = side.parse().expect("a side in TRAZAR_BENCH_SIDES");
        let labels = cells(side, side, 26, 1)?;
        bench(&gpu, "touching cells", side, &labels)?;
        bench_measures(&gpu, side, &labels)?;
        bench_label_masks(&gpu, side, &labels)?;
        bench(
            &gpu,
            "16 smooth classes",
            side,
            &classes(side, side, 16, 1)?,
        )?;
    }
    Ok(())
}
