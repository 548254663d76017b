//! The library's half of `benches/opencv_contours.sh`.
//!
//! - `contour_times draw PATTERN SIDE FILE` writes the square image of that pattern (seed 1) as
//!   binary PBM with white foreground;
//! - `contour_times pbm IMAGE FILE` writes the mask that the benches use of an image, foreground
//!   above 127, in the same way;
//! - `contour_times trace IMAGE...` times all ways to trace such files on the CPU and prints a row
//!   of a Markdown table for each, like those of `benches/opencv_contours.cpp`: the fastest and
//!   the median of 5 to 50 runs, as many as fit in a second, in milliseconds; then contours,
//!   points, and a checksum of all contours and points in their order. Freeing results does not
//!   count. "bytes" packs the image from one byte per pixel first, "bits" starts from the packed
//!   image. What runs on all threads is timed on one, too; `RAYON_NUM_THREADS` says how many are
//!   all.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use trazar::formats::{Output, write_image_pbm};
use trazar::generate::Pattern;
use trazar::{Backend, BinaryImage, Contours, Engine, Retrieval, TraceAlgorithm, TraceOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["draw", pattern, side, file] => draw(pattern.parse()?, side.parse()?, file),
        ["pbm", image, file] => write(&BinaryImage::from_samples(&open(image)?, 127)?, file),
        ["trace", ref images @ ..] if !images.is_empty() => images.iter().try_for_each(trace),
        _ => Err("draw PATTERN SIDE FILE, pbm IMAGE FILE, or trace IMAGE...".into()),
    }
}

fn open(path: &str) -> Result<image::GrayImage, Box<dyn Error>> {
    let image = image::open(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(image.into_luma8())
}

fn draw(pattern: Pattern, side: u32, file: &str) -> Result<(), Box<dyn Error>> {
    write(&pattern.generate(side, side, 1)?, file)
}

fn write(image: &BinaryImage, file: &str) -> Result<(), Box<dyn Error>> {
    let mut output = Output::create(file)?;
    output.fill(|out| write_image_pbm(image, out))?;
    Ok(output.commit()?)
}

fn trace(path: &&str) -> Result<(), Box<dyn Error>> {
    let grey = open(path)?;
    let pack = || BinaryImage::from_samples(&grey, 127);
    let image = pack()?;
    let name = Path::new(path).file_stem().unwrap_or_default();
    let size = format!("{} × {}", image.width(), image.height());
    let engine = Engine::cpu();
    let all = rayon::current_num_threads();
    for &algorithm in TraceAlgorithm::on(Backend::Cpu) {
        let options = |retrieval| {
            TraceOptions::default()
                .algorithm(algorithm)
                .retrieval(retrieval)
        };
        let (list, tree) = (options(Retrieval::List), options(Retrieval::Tree));
        let mut threads = vec![1];
        if algorithm != TraceAlgorithm::Suzuki && all > 1 {
            threads.push(all);
        }
        for threads in threads {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()?;
            let rows = pool.install(|| -> trazar::Result<_> {
                Ok([
                    ("list, bytes", time(|| engine.trace(&pack()?, &list))?),
                    ("tree, bytes", time(|| engine.trace(&pack()?, &tree))?),
                    ("tree, bits", time(|| engine.trace(&image, &tree))?),
                ])
            })?;
            for (way, times) in rows {
                println!(
                    "| {} | {size} | {}, {way} | {threads} | {:.2} | {:.2} | {} | {} | {:08x} | |",
                    name.display(),
                    algorithm.name(),
                    times.fastest * 1e3,
                    times.median * 1e3,
                    times.contours,
                    times.points,
                    times.checksum,
                );
            }
        }
    }
    Ok(())
}

/// Seconds, and what was found.
struct Times {
    fastest: f64,
    median: f64,
    contours: usize,
    points: usize,
    checksum: u32,
}

fn time(run: impl Fn() -> trazar::Result<Contours>) -> trazar::Result<Times> {
    let contours = run()?;
    let mut seconds = Vec::new();
    while seconds.len() < 5 || (seconds.len() < 50 && seconds.iter().sum::<f64>() < 1.0) {
        let start = Instant::now();
        let result = black_box(run()?);
        seconds.push(start.elapsed().as_secs_f64());
        drop(result);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(Times {
        fastest: seconds[0],
        median: seconds[seconds.len() / 2],
        contours: contours.len(),
        points: contours.points().len(),
        checksum: checksum(&contours),
    })
}

/// FNV-1a of all contours in their order, over 32-bit words: the number of points of each, then
/// their coordinates.
fn checksum(contours: &Contours) -> u32 {
    let mut hash = 2_166_136_261_u32;
    let mut add = |word: u32| hash = (hash ^ word).wrapping_mul(16_777_619);
    for contour in contours.iter() {
        add(contour.points().len() as u32);
        for point in contour.points() {
            add(point.x as u32);
            add(point.y as u32);
        }
    }
    hash
}
