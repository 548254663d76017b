//! Contours of images in bands: the CPU's of the whole image, whatever the bands are, whoever
//! traces them, and on several devices at once.

use trazar::generate::{self, Pattern};
use trazar::gpu::Gpu;
use trazar::hooks;
use trazar::trace::{Band, BandTracer, ContourPart};
use trazar::{BinaryImage, Contours, DeviceTracer, Engine, Geometry, TraceAlgorithm, TraceOptions};
use trazar_test_support::contours::{APPROXIMATIONS, RETRIEVALS, TEH_CHIN, difference};
use trazar_test_support::emulators::{say, seed};
use trazar_test_support::seeds::Random;

use super::{Device, PerDevice};

/// Rows of bands: those that kernels take alone, and others.
const ROWS: [u32; 10] = [32, 32, 32, 64, 96, 33, 40, 70, 1, 5];

/// Noise in squares of up to 3 pixels, or a pattern; inverted or not.
fn draw(random: &mut Random) -> BinaryImage {
    let (width, height) = (1 + random.below(140), 33 + random.below(110));
    let seed = u64::from(random.below(u32::MAX));
    let mut image = match random.below(3) {
        0 => {
            let pattern = Pattern::ALL[random.below(Pattern::ALL.len() as u32) as usize];
            pattern.generate(width, height, seed).unwrap()
        }
        _ => {
            let scale = 1 + random.below(3);
            let density = f64::from(1 + random.below(9)) / 10.0;
            let (columns, rows) = (width.div_ceil(scale), height.div_ceil(scale));
            let noise = generate::noise(columns, rows, density, seed).unwrap();
            BinaryImage::from_fn(width, height, |x, y| noise.get(x / scale, y / scale)).unwrap()
        }
    };
    if random.below(3) == 0 {
        image.invert();
    }
    image
}

fn options(random: &mut Random) -> TraceOptions {
    let approximation = match random.below(6) {
        i @ 0..2 => TEH_CHIN[i as usize],
        i => APPROXIMATIONS[i as usize % 2],
    };
    TraceOptions::default()
        .approximation(approximation)
        .retrieval(RETRIEVALS[random.below(4) as usize])
}

/// `rows` rows of an image, from `first` on.
fn band_of(image: &BinaryImage, first: u32, rows: u32) -> BinaryImage {
    let row_words = image.words_per_row();
    let words = &image.words()[first as usize * row_words..][..rows as usize * row_words];
    BinaryImage::from_words(image.width(), rows, words.to_vec()).unwrap()
}

/// The rows of an image in bands.
fn bands(random: &mut Random, image: &BinaryImage) -> Vec<BinaryImage> {
    let mut bands = Vec::new();
    let mut first = 0;
    while first < image.height() {
        let rows = ROWS[random.below(ROWS.len() as u32) as usize].min(image.height() - first);
        bands.push(band_of(image, first, rows));
        first += rows;
    }
    bands
}

/// The contours of an image, by one thread of the processor.
fn expected(image: &BinaryImage, options: &TraceOptions) -> Contours {
    let options = options.algorithm(TraceAlgorithm::Suzuki);
    Engine::cpu().trace(image, &options).unwrap()
}

fn assert_same(name: &str, found: &Contours, expected: &Contours) {
    let difference = difference(found, expected);
    assert!(
        difference.is_none(),
        "{name}: not the CPU's contours: {}",
        difference.unwrap_or_default()
    );
}

/// Each band is traced by kernels or by the processor, and parts are joined in any order.
pub(crate) fn parts_of_bands<D: Device>(device: &D) {
    let runs = PerDevice {
        emulator: 60,
        gpu: 600,
    };
    let runs = runs.on::<D>();
    for run in 0..runs {
        let mut random = Random::new(seed() << 32 | run);
        let image = draw(&mut random);
        let mut options = options(&mut random);
        if run % 16 == 15 {
            options = TraceOptions::default().geometry(Geometry::Edges);
        }
        let bands = bands(&mut random, &image);
        // Contours are cut in tasks of so few points that there are several of them.
        let tracer =
            hooks::with_cut_points(DeviceTracer::on(device.small(seed() + run)), 1 << (run % 8));
        let mut first_row = 0;
        let mut parts = Vec::new();
        for (i, own) in bands.iter().enumerate() {
            let mut band = Band::new(own, first_row);
            if first_row > 0 {
                band = band.with_above(image.row(first_row - 1));
            }
            first_row += own.height();
            if first_row < image.height() {
                band = band.with_below(image.row(first_row));
            }
            let part = if i > 0 && random.below(4) == 0 {
                ContourPart::trace(band, &options.contours)
            } else {
                tracer.trace_part(band, &options.contours)
            };
            parts.push(part.unwrap());
        }
        while parts.len() > 1 {
            let upper = random.below(parts.len() as u32 - 1) as usize;
            let lower = parts.remove(upper + 1);
            let joined = ContourPart::join(parts.remove(upper), lower).unwrap();
            parts.insert(upper, joined);
        }
        let found = parts.remove(0).finish().unwrap();
        let rows: Vec<_> = bands.iter().map(BinaryImage::height).collect();
        let name = format!(
            "run {run} of seed {}, {} × {rows:?}, {options:?}",
            seed(),
            image.width()
        );
        assert_same(&name, &found, &expected(&image, &options));
    }
    say("parts of bands", &format!("{runs} images"));
}

/// Traces each band of 32 rows by kernels, and joins them from the top.
fn trace_in_bands<G: Gpu>(tracer: &DeviceTracer<G>, image: &BinaryImage) -> Contours {
    let options = TraceOptions::default();
    let row = |y| (0..image.height()).contains(&y).then(|| image.row(y));
    let mut all: Option<ContourPart> = None;
    for first in (0..image.height()).step_by(32) {
        let rows = 32.min(image.height() - first);
        let own = band_of(image, first, rows);
        let mut band = Band::new(&own, first);
        if let Some(above) = row(first.wrapping_sub(1)) {
            band = band.with_above(above);
        }
        if let Some(below) = row(first + rows) {
            band = band.with_below(below);
        }
        let part = tracer.trace_part(band, &options.contours).unwrap();
        all = Some(match all {
            Some(above) => ContourPart::join(above, part).unwrap(),
            None => part,
        });
    }
    all.unwrap().finish().unwrap()
}

/// Walls of one pixel through several bands, with dots beside them. The sides right of a wall are
/// on the way up, which ends at the contour's first point; where the wall is a frame's, they are
/// those of the hole.
pub(crate) fn dots_beside_walls_across_bands<D: Device>(device: &D) {
    let line = |x, _| x == 9;
    let frame = |x, y| {
        let (beside, above) = (x == 13 || x == 27, y == 3 || y == 124);
        (13..=27).contains(&x) && (3..=124).contains(&y) && (beside || above)
    };
    let is_dot = |x: u32, y: u32| [(11, 40), (20, 40), (20, 75), (30, 75)].contains(&(x, y));
    type IsSet<'a> = &'a dyn Fn(u32, u32) -> bool;
    let images: [(&str, IsSet<'_>); 3] = [
        ("a line", &|x, y| line(x, y) || is_dot(x, y)),
        ("a frame", &|x, y| frame(x, y) || is_dot(x, y)),
        ("both", &|x, y| {
            line(x, y) || line(x.wrapping_sub(23), y) || frame(x, y) || is_dot(x, y)
        }),
    ];
    for (i, (name, is_set)) in images.into_iter().enumerate() {
        let image = BinaryImage::from_fn(40, 128, is_set).unwrap();
        let tracer = DeviceTracer::on(device.small(seed() + i as u64));
        let found = trace_in_bands(&tracer, &image);
        assert_same(name, &found, &expected(&image, &TraceOptions::default()));
    }
}

/// Lines that mirror each other, so that the same steps in other directions lead through the bands:
/// each contour is cut by a task of its own.
pub(crate) fn bands_cut_in_several_tasks<D: Device>(device: &D) {
    let zigzag = |y: u32| (y % 16).min(16 - y % 16);
    let is_set = |x, y| x == 2 + zigzag(y) || x == 37 - zigzag(y);
    let image = BinaryImage::from_fn(40, 128, is_set).unwrap();
    for points in [1, 8] {
        let tracer = DeviceTracer::on(device.small(seed() + points));
        let found = trace_in_bands(&hooks::with_cut_points(tracer, points as usize), &image);
        let name = format!("tasks of {points} points");
        assert_same(&name, &found, &expected(&image, &TraceOptions::default()));
    }
}

/// Traces bands by all of `gpus` at once.
pub(crate) fn trace_on<G: Gpu + Send + Sync>(
    gpus: &[G],
    bands: impl IntoIterator<Item = BinaryImage>,
    options: &TraceOptions,
) -> Contours {
    let mut bands = bands.into_iter();
    let tracer = BandTracer::in_memory(&options.contours).unwrap();
    let contours = tracer.trace_on(gpus, || Ok(bands.next())).unwrap();
    contours.into_contours().unwrap()
}

/// The rows of an image in bands of `rows`, the last one of fewer.
pub(crate) fn bands_of(image: &BinaryImage, rows: u32) -> impl Iterator<Item = BinaryImage> {
    (0..image.height())
        .step_by(rows as usize)
        .map(move |first| band_of(image, first, rows.min(image.height() - first)))
}

/// Bands on up to three queues, or on the processor.
pub(crate) fn bands_on_several_gpus<D: Device>(device: &D) {
    let (runs, large) = PerDevice {
        emulator: (12, &[][..]),
        gpu: (2000, &[("blobs", 8192, 1024), ("noise:0.5", 2048, 512)][..]),
    }
    .on::<D>();
    for run in 0..runs {
        let mut random = Random::new((seed() << 32) | (1000 + run));
        let image = draw(&mut random);
        let options = options(&mut random);
        let gpus: Vec<_> = (0..run % 4).map(|i| device.small(4 * seed() + i)).collect();
        let bands = bands(&mut random, &image);
        let found = trace_on(&gpus, bands, &options);
        let name = format!("run {run} of seed {}, {options:?}", seed());
        assert_same(&name, &found, &expected(&image, &options));
    }
    let gpus = [0, 1].map(|i| device.small(seed() + i));
    for &(name, side, rows) in large {
        let pattern: Pattern = name.parse().unwrap();
        let image = pattern.generate(side, side, 3).unwrap();
        let options = TraceOptions::default();
        let found = trace_on(&gpus, bands_of(&image, rows), &options);
        assert_same(name, &found, &expected(&image, &options));
    }
}

/// Errors come back, from reading and from bands that do not fit.
pub(crate) fn errors_on_several_gpus<D: Device>(device: &D) {
    let gpus = [0, 1].map(|i| device.small(seed() + i));
    let options = TraceOptions::default();
    let band = |width| Ok(Some(BinaryImage::new(width, 32).unwrap()));
    let run = |next: &mut dyn FnMut() -> trazar::Result<Option<BinaryImage>>| {
        let tracer = BandTracer::in_memory(&options.contours).unwrap();
        tracer.trace_on(&gpus, next).unwrap_err().to_string()
    };
    assert!(run(&mut || Ok(None)).contains("0"));
    let mut count = 0;
    let failing = run(&mut || {
        count += 1;
        match count {
            1..4 => band(7),
            _ => BinaryImage::new(0, 0).map(Some),
        }
    });
    assert_eq!(failing, BinaryImage::new(0, 0).unwrap_err().to_string());
    let mut width = 7;
    let differing = run(&mut || {
        width += 1;
        band(width)
    });
    assert!(differing.contains("width"), "{differing}");
}
