//! The library's half of `benches/opencv.py`: draws an image, and times the library on it.
//!
//! - `side_by_side draw PATTERN SIDE FILE` writes the square image of that pattern (seed 1) as
//!   one byte per pixel, 255 for foreground, row by row without a header;
//! - `side_by_side label|trace FILE WIDTH HEIGHT REPEAT` reads such a file (foreground is
//!   above 127) and prints the fastest of at most `REPEAT` runs as one JSON object, in seconds:
//!   from the bytes in memory, as the peer does, and from the image packed to bits. Freeing the
//!   result does not count.

use std::error::Error;
use std::time::Instant;

use trazar::generate::Pattern;
use trazar::{BinaryImage, Engine, TraceOptions};
use trazar_bench_support::{images, labels};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["draw", pattern, side, file] => draw(pattern.parse()?, side.parse()?, file),
        [job @ ("label" | "trace"), file, width, height, repeat] => {
            time(job, file, width.parse()?, height.parse()?, repeat.parse()?)
        }
        _ => Err("draw PATTERN SIDE FILE, or label|trace FILE WIDTH HEIGHT REPEAT".into()),
    }
}

fn draw(pattern: Pattern, side: u32, file: &str) -> Result<(), Box<dyn Error>> {
    let image = pattern.generate(side, side, 1)?;
    Ok(std::fs::write(file, images::bytes(&image))?)
}

fn time(
    job: &str,
    file: &str,
    width: u32,
    height: u32,
    repeat: usize,
) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let pack = || BinaryImage::from_values(width, height, &bytes, 127);
    let image = pack()?;
    let engine = Engine::cpu();
    let mut times = vec![("pack".to_owned(), fastest(repeat, pack)?)];
    if job == "label" {
        for (name, options) in labels::options() {
            let bits = fastest(repeat, || engine.label(&image, &options))?;
            let bytes = fastest(repeat, || engine.label(&pack()?, &options))?;
            times.push((format!("{name} from bits"), bits));
            times.push((format!("{name} from bytes"), bytes));
        }
    } else {
        let options = TraceOptions::default();
        let bits = fastest(repeat, || engine.trace(&image, &options))?;
        let bytes = fastest(repeat, || engine.trace(&pack()?, &options))?;
        times.push(("tree simple from bits".to_owned(), bits));
        times.push(("tree simple from bytes".to_owned(), bytes));
    }
    let fields: Vec<String> = times
        .iter()
        .map(|(name, seconds)| format!("\"{name}\": {seconds:e}"))
        .collect();
    println!("{{{}}}", fields.join(", "));
    Ok(())
}

/// The fastest of `repeat` runs, or of as many, at least 3, as fit in 2 seconds; in seconds. The
/// results are dropped outside the time.
fn fastest<T>(repeat: usize, mut run: impl FnMut() -> trazar::Result<T>) -> trazar::Result<f64> {
    let (mut runs, mut total, mut fastest) = (0, 0.0, f64::INFINITY);
    while runs < 3 || (runs < repeat && total < 2.0) {
        let start = Instant::now();
        let result = run()?;
        let seconds = start.elapsed().as_secs_f64();
        drop(result);
        runs += 1;
        total += seconds;
        fastest = seconds.min(fastest);
    }
    Ok(fastest)
}
