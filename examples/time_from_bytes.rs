//! Times the library on an image of one byte a pixel, from the bytes and from packed bits.
//!
//! `time_from_bytes FILE WIDTH HEIGHT REPEAT` reads `WIDTH × HEIGHT` bytes (foreground is above
//! 127) and prints the fastest of `REPEAT` runs as one JSON object, in seconds. For
//! `benches/opencv.py`, whose peer starts from the bytes.

use std::error::Error;
use std::time::Instant;

use trazar::{BinaryImage, Connectivity, Engine, LabelAlgorithm, LabelOptions, TraceOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("FILE WIDTH HEIGHT REPEAT");
    let bytes = std::fs::read(next()?)?;
    let (width, height) = (next()?.parse()?, next()?.parse()?);
    let repeat: usize = next()?.parse()?;

    let pack = || BinaryImage::from_values(width, height, &bytes, 127);
    let image = pack()?;
    let engine = Engine::cpu();
    let mut times = vec![("pack".to_owned(), fastest(repeat, pack)?)];
    for (algorithm, name) in [
        (LabelAlgorithm::Sequential, "sequential"),
        (LabelAlgorithm::Parallel, "parallel"),
    ] {
        for (connectivity, neighbours) in [(Connectivity::Four, 4), (Connectivity::Eight, 8)] {
            let options = LabelOptions {
                connectivity,
                algorithm: Some(algorithm),
                ..LabelOptions::default()
            };
            times.push((
                format!("label {name} {neighbours} from bits"),
                fastest(repeat, || engine.label(&image, &options))?,
            ));
            times.push((
                format!("label {name} {neighbours} from bytes"),
                fastest(repeat, || engine.label(&pack()?, &options))?,
            ));
        }
    }
    let options = TraceOptions::default();
    times.push((
        "trace tree simple from bits".to_owned(),
        fastest(repeat, || engine.trace(&image, &options))?,
    ));
    times.push((
        "trace tree simple from bytes".to_owned(),
        fastest(repeat, || engine.trace(&pack()?, &options))?,
    ));

    let fields: Vec<String> = times
        .iter()
        .map(|(name, seconds)| format!("\"{name}\": {seconds:e}"))
        .collect();
    println!("{{{}}}", fields.join(", "));
    Ok(())
}

/// The fastest of `repeat` runs in seconds; the results are dropped outside the time.
fn fastest<T>(repeat: usize, mut run: impl FnMut() -> trazar::Result<T>) -> trazar::Result<f64> {
    let mut fastest = f64::INFINITY;
    for _ in 0..repeat.max(1) {
        let start = Instant::now();
        let result = run()?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
        drop(result);
    }
    Ok(fastest)
}
