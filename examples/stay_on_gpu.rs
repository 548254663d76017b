//! From bytes to contours without leaving the GPU: bytes are packed to bits, labelled and traced
//! there, and only what is asked for is copied back.
//!
//! ```sh
//! cargo run --release --example stay_on_gpu
//! ```
//!
//! Without a GPU it says so and stops. The pipeline itself is written for any `Gpu`, so that the
//! emulator runs it too: `cargo run --release --example stay_on_gpu -- --emulator`.

use std::error::Error;

use trazar::emulator::Emulator;
use trazar::generate;
use trazar::gpu::{Gpu, GpuBuffer};
use trazar::{DeviceBytes, DeviceImage, DeviceLabeler, DeviceTracer, LabelOptions, TraceOptions};

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args()
        .nth(1)
        .is_some_and(|argument| argument == "--emulator")
    {
        return pipeline(&DeviceTracer::on(Emulator::new(0)), 96);
    }
    #[cfg(not(target_os = "macos"))]
    match trazar::cuda::Device::open(0) {
        Ok(device) => return pipeline(&DeviceTracer::new(&device)?, 4096),
        Err(error) => println!("skipped: {error}"),
    }
    #[cfg(target_os = "macos")]
    println!("skipped: this build does not use GPUs");
    Ok(())
}

/// Labels and traces a picture of `side` × `side` bytes in the memory of the tracer's GPU.
fn pipeline<G: Gpu>(tracer: &DeviceTracer<G>, side: u32) -> Result<(), Box<dyn Error>> {
    let gpu = tracer.gpu();
    let labeler = DeviceLabeler::on(gpu.clone());

    // What a camera or another kernel would have left there: one byte per pixel, row by row.
    let drawn = generate::blobs(side, side, 7)?;
    let pixels = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
    let bytes: Vec<u8> = pixels
        .map(|(x, y)| if drawn.get(x, y) { 255 } else { 0 })
        .collect();
    let bytes = gpu.upload(&bytes)?;

    // Foreground is `value > 127`. Everything from here on is queued on the GPU; the host waits
    // only for the counts that later stages' memory depends on.
    let image = DeviceImage::pack(labeler.gpu(), &DeviceBytes::new(side, side, &bytes, 127)?)?;
    let labels = labeler.label(&image, &LabelOptions::default())?;
    let contours = tracer.trace(&image, &TraceOptions::default())?;

    println!("{} components", labels.count()?);
    println!(
        "{} contours, {} points",
        contours.len(),
        contours.point_count()
    );
    // One number per contour is all that is copied back.
    let offsets = contours.offsets().to_vec()?;
    let longest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max();
    println!("the longest has {} points", longest.unwrap_or(0));
    Ok(())
}
