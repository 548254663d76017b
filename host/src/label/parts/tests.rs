use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::plan::Plan;
use super::*;
use crate::emulator::Emulator;
use crate::generate::{self, Pattern};
use crate::seeds::Random;
use crate::{Engine, LabelAlgorithm, LabelOptions, Labels};

/// An image in memory as a source of bands.
struct InMemory {
    image: BinaryImage,
    next: u32,
}

impl BandSource for InMemory {
    fn width(&self) -> u32 {
        self.image.width()
    }
    fn height(&self) -> u32 {
        self.image.height()
    }
    fn next_band(&mut self, rows: u32) -> Result<Option<BinaryImage>> {
        let end = self.image.height().min(self.next + rows);
        let band = (self.next < end).then(|| rows_of(&self.image, self.next..end));
        self.next = end;
        Ok(band)
    }
    fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

fn rows_of(image: &BinaryImage, rows: Range<u32>) -> BinaryImage {
    let words = rows.clone().flat_map(|y| image.row(y).to_vec()).collect();
    BinaryImage::from_words(image.width(), rows.end - rows.start, words).unwrap()
}

fn options(connectivity: Connectivity, statistics: bool) -> ComponentOptions {
    ComponentOptions::default()
        .connectivity(connectivity)
        .statistics(statistics)
}

/// The first rows of random bands of at most `most` rows.
fn divide(height: u32, most: u32, numbers: &mut Random) -> Vec<u32> {
    let mut starts = vec![0];
    loop {
        let next = starts[starts.len() - 1] + 1 + numbers.below(most);
        if next >= height {
            return starts;
        }
        starts.push(next);
    }
}

/// Labels in bands, joins them in a random order, and compares with the whole image's labels.
fn check(image: &BinaryImage, whole: &Labels, options: &ComponentOptions, most: u32, seed: u64) {
    let mut numbers = Random::new(seed);
    let starts = divide(image.height(), most, &mut numbers);
    let ends = starts.iter().skip(1).copied().chain([image.height()]);
    let bands: Vec<(u32, BinaryImage)> = starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| (start, rows_of(image, start..end)))
        .collect();
    let mut parts: Vec<LabelPart> = bands
        .iter()
        .map(|(start, band)| LabelPart::label(band, *start, options).unwrap())
        .collect();
    while parts.len() > 1 {
        let at = numbers.below(parts.len() as u32 - 1) as usize;
        let lower = parts.remove(at + 1);
        let upper = parts.remove(at);
        parts.insert(at, LabelPart::join(upper, lower).unwrap());
    }
    let part = parts.remove(0);
    assert_eq!(
        (part.width(), part.rows()),
        (image.width(), 0..image.height())
    );
    let table = part.finish().unwrap();
    assert_eq!(table.count(), u64::from(whole.count()));
    assert_eq!(table.components(), whole.components());
    let engine = Engine::cpu();
    let sequential = LabelOptions::from(*options)
        .algorithm(LabelAlgorithm::Sequential)
        .statistics(false);
    let mut found = Vec::new();
    for (start, band) in &bands {
        let own = engine.label(band, &sequential).unwrap();
        let numbers = table.numbers::<u64>(*start).unwrap();
        assert_eq!(numbers.len(), own.count() as usize + 1);
        let narrow: Vec<u64> = table
            .numbers::<u32>(*start)
            .unwrap()
            .into_iter()
            .map(u64::from)
            .collect();
        assert_eq!(numbers, narrow);
        found.extend(
            own.as_slice()
                .iter()
                .map(|&label| numbers[label as usize] as u32),
        );
    }
    assert_eq!(found, whole.as_slice());
}

/// Labels band by band, on the processor, or on emulators if there are any, and compares with the
/// whole image's labels.
fn check_band_labels(
    image: &BinaryImage,
    whole: &Labels,
    options: &ComponentOptions,
    plan: Plan,
    emulators: &[Emulator],
) {
    let band_labels = || {
        let source = InMemory {
            image: image.clone(),
            next: 0,
        };
        let workers = (!emulators.is_empty()).then(|| workers_on(emulators, options).unwrap());
        BandLabels::in_bands(source, options, plan, workers, None).unwrap()
    };
    let mut narrow = band_labels();
    assert_eq!(narrow.count(), u64::from(whole.count()));
    assert_eq!(narrow.foreground_count(), image.count_foreground());
    let (mut labels, mut components) = (Vec::new(), Vec::new());
    while let Some(band) = narrow.next_band::<u32>().unwrap() {
        assert_eq!(
            labels.len(),
            band.first_row() as usize * image.width() as usize
        );
        labels.extend_from_slice(band.labels());
        if options.statistics {
            assert_eq!(band.first_component(), components.len() as u64 + 1);
        }
        components.extend_from_slice(band.components().unwrap_or_default());
        assert_eq!(band.components().is_some(), options.statistics);
        assert_eq!(
            (band.width(), band.image_height()),
            (image.width(), image.height())
        );
    }
    assert_eq!(labels, whole.as_slice());
    assert_eq!(components, whole.components().unwrap_or_default());
    let mut wide = band_labels();
    let (mut labels, mut components) = (Vec::new(), Vec::new());
    while let Some(band) = wide.next_band::<u64>().unwrap() {
        labels.extend(band.labels().iter().map(|&label| label as u32));
        components.extend_from_slice(band.components().unwrap_or_default());
    }
    assert_eq!(labels, whole.as_slice());
    assert_eq!(components, whole.components().unwrap_or_default());
}

fn check_all(image: &BinaryImage, seed: u64) {
    for connectivity in [Connectivity::Four, Connectivity::Eight] {
        for statistics in [false, true] {
            let options = options(connectivity, statistics);
            let whole = Engine::cpu().label(image, &options.into()).unwrap();
            for most in [1, 3, 64] {
                check(image, &whole, &options, most, seed);
            }
            let hold = seed.is_multiple_of(2);
            for rows in [1, 5, 64, image.height()] {
                check_band_labels(image, &whole, &options, Plan { rows, hold }, &[]);
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::seeds::config(64, 1))]

    #[test]
    fn joining_in_any_order_gives_the_whole_images_labels(
        width in 1u32..200,
        height in 1u32..150,
        density in 0.0..1.0,
        scale in 1u32..4,
        seed: u64,
    ) {
        let noise = generate::noise(width, height, density, seed).unwrap();
        let image = BinaryImage::from_fn(width, height, |x, y| noise.get(x / scale, y / scale));
        check_all(&image.unwrap(), seed);
    }
}

#[test]
fn patterns() {
    for (width, height) in [(1, 90), (90, 1), (65, 63), (130, 200)] {
        for pattern in Pattern::ALL {
            let mut image = pattern.generate(width, height, 9).unwrap();
            check_all(&image, u64::from(width));
            image.invert();
            check_all(&image, u64::from(width) + 1);
        }
    }
}

/// Shapes whose parts meet at many seams: a spiral, a comb from above and from below, rings.
#[test]
fn shapes_that_cross_all_seams() {
    let spiral = |x: u32, y: u32| {
        let ring = x.min(y).min(100 - x).min(100 - y);
        ring.is_multiple_of(2) != (x == ring && y == ring + 1)
    };
    let comb = |x: u32, y: u32| y == 0 || x.is_multiple_of(2);
    let comb_below = |x: u32, y: u32| y == 100 || x.is_multiple_of(2);
    let rings = |x: u32, y: u32| x.min(y).min(100 - x).min(100 - y).is_multiple_of(2);
    let checkers = |x: u32, y: u32| (x + y).is_multiple_of(2);
    let zigzag = |x: u32, y: u32| y.is_multiple_of(2) || x == if y % 4 == 1 { 0 } else { 100 };
    let shapes: [&dyn Fn(u32, u32) -> bool; 6] =
        [&spiral, &comb, &comb_below, &rings, &checkers, &zigzag];
    for (i, shape) in shapes.into_iter().enumerate() {
        let mut image = BinaryImage::from_fn(101, 101, shape).unwrap();
        check_all(&image, 3 + i as u64);
        image.invert();
        check_all(&image, 4 + i as u64);
    }
}

/// Bands on one emulator and on several, with more bands than emulators, and fewer.
#[test]
fn bands_on_several_gpus() {
    for (i, pattern) in Pattern::ALL.iter().copied().enumerate() {
        let image = pattern.generate(67, 41, 5).unwrap();
        let emulators: Vec<Emulator> = (0..1 + i as u64 % 3).map(Emulator::new).collect();
        let connectivity = [Connectivity::Four, Connectivity::Eight][i / 2 % 2];
        let options = options(connectivity, i.is_multiple_of(2));
        let whole = Engine::cpu().label(&image, &options.into()).unwrap();
        for (rows, hold) in [(41, true), (20, false), (9, i.is_multiple_of(3))] {
            let plan = Plan { rows, hold };
            check_band_labels(&image, &whole, &options, plan, &emulators);
        }
    }
}

/// Each band's part and labels come from the next device in turn, and make the whole image's
/// labels.
#[test]
fn bands_on_any_device() {
    let engines = [Engine::cpu(), Engine::emulator(0)];
    let mut numbers = Random::new(0);
    for seed in 0..8 {
        let image = generate::noise(70 + seed as u32, 90, 0.5, seed).unwrap();
        let connectivity = [Connectivity::Four, Connectivity::Eight][seed as usize % 2];
        let options = options(connectivity, seed % 4 < 2);
        let whole = engines[0].label(&image, &options.into()).unwrap();
        let mut next = || &engines[numbers.below(2) as usize];
        let mut inside = Vec::new();
        let mut joined: Option<LabelPart> = None;
        let bands = [0..64, 64..65, 65..90].map(|rows| (rows.start, rows_of(&image, rows)));
        for (start, band) in &bands {
            let mut part = next().label_part(band, *start, &options).unwrap();
            inside.push(part.take_inside());
            joined = Some(match joined.take() {
                Some(upper) => LabelPart::join(upper, part).unwrap(),
                None => part,
            });
        }
        let table = joined.unwrap().finish().unwrap().into_bands();
        let (mut labels, mut wide, mut components) = (Vec::new(), Vec::new(), Vec::new());
        for (((_, band), of_band), inside) in bands.iter().zip(&table).zip(&inside) {
            labels.extend(
                next()
                    .label_band::<u32>(band, of_band, options.connectivity)
                    .unwrap(),
            );
            wide.extend(
                next()
                    .label_band::<u64>(band, of_band, options.connectivity)
                    .unwrap(),
            );
            components.extend(of_band.components(inside).unwrap().into_iter().flatten());
        }
        assert_eq!(labels, whole.as_slice(), "seed {seed}");
        assert!(wide.iter().map(|&label| label as u32).eq(labels));
        assert_eq!(components, whole.components().unwrap_or_default());
    }
}

#[test]
fn bands_that_have_changed_are_refused_on_any_device() {
    let band = BinaryImage::from_art("#.#\n...").unwrap();
    let others = ["#.#", "...\n#.."].map(|art| BinaryImage::from_art(art).unwrap());
    let options = ComponentOptions::default();
    for engine in [Engine::cpu(), Engine::emulator(0)] {
        let part = engine.label_part(&band, 4, &options).unwrap();
        let numbers = part.finish().unwrap().into_bands().remove(0);
        for (other, unit, before, now) in
            [(&others[0], "rows", 2, 1), (&others[1], "components", 2, 1)]
        {
            let expected = Error::ImageChanged {
                first_row: 4,
                unit,
                before,
                now,
            };
            let narrow = engine.label_band::<u32>(other, &numbers, options.connectivity);
            assert_eq!(narrow.unwrap_err().to_string(), expected.to_string());
            let wide = engine.label_band::<u64>(other, &numbers, options.connectivity);
            assert_eq!(wide.unwrap_err().to_string(), expected.to_string());
        }
    }
}

#[test]
fn images_on_several_gpus() {
    for (i, pattern) in Pattern::ALL.iter().copied().enumerate() {
        // Bands of 64 rows: four for each of up to three.
        let image = pattern.generate(37, 64 * (i as u32 % 5) + 31, 5).unwrap();
        let options = options(Connectivity::Eight, true);
        let whole = Engine::cpu().label(&image, &options.into()).unwrap();
        let engine = Engine::on_all((0..1 + i as u64 % 3).map(Emulator::new)).unwrap();
        assert_eq!(
            engine.label(&image, &options.into()).unwrap(),
            whole,
            "{pattern:?}"
        );
    }
    assert!(Engine::on_all([] as [Emulator; 0]).is_err());
}

/// Reports come for each band of both passes, and the last one is complete.
#[test]
fn progress_of_bands_on_gpus() {
    let image = generate::noise(40, 30, 0.4, 1).unwrap();
    let engine = Engine::on_all((0..2).map(Emulator::new)).unwrap();
    let options = options(Connectivity::Four, false);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&reports);
    let source = InMemory {
        image: image.clone(),
        next: 0,
    };
    let workers = engine.label_workers(&options).unwrap();
    let plan = Plan {
        rows: 7,
        hold: false,
    };
    let report = move |share| {
        sink.lock().unwrap().push(share);
        std::ops::ControlFlow::Continue(())
    };
    let mut band_labels =
        BandLabels::in_bands(source, &options, plan, workers, Some(Arc::new(report))).unwrap();
    while band_labels.next_band::<u32>().unwrap().is_some() {}
    let ends = [7.0, 14.0, 21.0, 28.0, 30.0];
    let first = ends.map(|end| end / 60.0);
    let second = ends.map(|end| (30.0 + end) / 60.0);
    assert_eq!(*reports.lock().unwrap(), [first, second].concat());
}

/// A kernel's fault is passed from the GPU's thread to the caller.
#[test]
fn errors_of_gpus_are_returned() {
    let image = generate::noise(64, 200, 0.5, 1).unwrap();
    let gpus = || (0..2).map(|seed| Emulator::new(seed).with_step_limit(10));
    let engine = Engine::on_all(gpus()).unwrap();
    let plain = ComponentOptions::default();
    let refused = engine.label(&image, &plain.into());
    assert!(matches!(refused, Err(Error::Emulator(_))), "{refused:?}");
    let source = || InMemory {
        image: image.clone(),
        next: 0,
    };
    let refused = engine.label_bands(source(), &plain, 64 << 20);
    assert!(matches!(refused, Err(Error::Emulator(_))));
    // Two bands at a time take more memory than one.
    let rows_within = |engine: &Engine, memory| engine.label_rows_within(&source(), &plain, memory);
    let base = 32 << 20;
    let least = |engine| {
        (base..base << 1)
            .step_by(1024)
            .find(|&memory| rows_within(engine, memory).is_ok())
    };
    assert!(least(&Engine::cpu()).unwrap() < least(&engine).unwrap());
}

#[test]
fn parts_that_do_not_go_together() {
    let band = BinaryImage::from_art("##.\n#..").unwrap();
    let part = |first_row, options: &ComponentOptions| {
        LabelPart::label(&band, first_row, options).unwrap()
    };
    let plain = ComponentOptions::default();
    let join = |upper, lower| LabelPart::join(upper, lower).unwrap_err();
    for lower in [0, 1, 3] {
        assert!(matches!(
            join(part(0, &plain), part(lower, &plain)),
            Error::PartsNotAdjacent { upper_end: 2, .. }
        ));
    }
    let four = plain.connectivity(Connectivity::Four);
    let with = plain.statistics(true);
    let wider = LabelPart::label(&BinaryImage::from_art("#..#").unwrap(), 2, &plain).unwrap();
    for (lower, difference) in [
        (part(2, &four), "connectivity"),
        (part(2, &with), "statistics"),
        (wider, "width"),
    ] {
        let error = join(part(0, &plain), lower);
        assert!(error.to_string().contains(difference), "{error}");
        assert!(matches!(error, Error::PartsDiffer { what, .. } if what == difference));
    }
    let table = part(7, &plain).finish().unwrap();
    assert!(table.numbers::<u32>(0).is_err() && table.numbers::<u32>(7).is_ok());
    assert!(matches!(
        LabelPart::label(&band, MAX_SIDE - 1, &plain),
        Err(Error::ImageTooLarge { .. })
    ));
}

/// A source whose second pass returns another image, or more rows per band than asked for.
struct Changing {
    passes: Vec<InMemory>,
    more_rows: u32,
}

impl BandSource for Changing {
    fn width(&self) -> u32 {
        5
    }
    fn height(&self) -> u32 {
        6
    }
    fn next_band(&mut self, rows: u32) -> Result<Option<BinaryImage>> {
        self.passes[0].next_band(rows + self.more_rows)
    }
    fn rewind(&mut self) -> Result<()> {
        self.passes.remove(0);
        Ok(())
    }
}

#[test]
fn sources_that_change_between_the_passes_are_refused() {
    let first = "#.#.#\n#.#.#\n.....\n..#..\n.....\n.....\n";
    let plan = Plan {
        rows: 2,
        hold: false,
    };
    let changing = |arts: &[&str], more_rows| Changing {
        passes: arts
            .iter()
            .map(|art| InMemory {
                image: BinaryImage::from_art(art).unwrap(),
                next: 0,
            })
            .collect(),
        more_rows,
    };
    fn all<T: LabelNumber>(band_labels: &mut BandLabels<Changing>) -> Result<u32> {
        let mut bands = 0;
        while band_labels.next_band::<T>()?.is_some() {
            bands += 1;
        }
        Ok(bands)
    }
    let more = "#.#.#\n#.#.#\n#.#.#\n..#..\n.....\n.....\n";
    let fewer = "#.###\n#.#.#\n.....\n..#..\n.....\n.....\n";
    let shorter = "#.#.#\n#.#.#\n.....\n..#..\n";
    let odd = "#.#.#\n#.#.#\n.....\n..#..\n.....\n";
    let longer = "#.#.#\n#.#.#\n.....\n..#..\n.....\n.....\n#####";
    let narrower = "#.#.\n#.#.\n....\n..#.\n....\n....\n";
    for statistics in [false, true] {
        let options = options(Connectivity::Four, statistics);
        for on_gpus in [false, true] {
            let band_labels = |second| {
                let source = changing(&[first, second], 0);
                let emulators = [Emulator::new(1), Emulator::new(2)];
                let workers = on_gpus.then(|| workers_on(&emulators, &options).unwrap());
                BandLabels::in_bands(source, &options, plan, workers, None).unwrap()
            };
            assert_eq!(all::<u32>(&mut band_labels(first)).unwrap(), 3);
            for (second, row, what, numbers) in [
                (more, 2, "components", (1, 3)),
                (fewer, 0, "components", (3, 2)),
                (shorter, 4, "rows", (2, 0)),
                (odd, 4, "rows", (2, 1)),
                (longer, 6, "rows", (0, 1)),
            ] {
                for result in [
                    all::<u32>(&mut band_labels(second)),
                    all::<u64>(&mut band_labels(second)),
                ] {
                    match result {
                        Err(Error::ImageChanged {
                            first_row,
                            unit,
                            before,
                            now,
                        }) => assert_eq!((first_row, unit, (before, now)), (row, what, numbers)),
                        other => panic!("{other:?} for {second}"),
                    }
                }
            }
            assert!(matches!(
                all::<u32>(&mut band_labels(narrower)),
                Err(Error::SizeMismatch {
                    unit: "columns",
                    ..
                })
            ));
        }
        for (source, what) in [
            (changing(&[first], 1), "rows"),
            (changing(&[narrower], 0), "columns"),
        ] {
            let refused = BandLabels::in_bands(source, &options, plan, None, None);
            assert!(matches!(refused, Err(Error::SizeMismatch { unit, .. }) if unit == what));
        }
    }
}

#[test]
fn plans_keep_to_the_memory() {
    let source = |width, height| InMemory {
        image: BinaryImage::new(width, height).unwrap(),
        next: 0,
    };
    let plain = ComponentOptions::default();
    let huge = source(20_000, 20_000);
    let large = Plan::new(&huge, &plain, 8 << 30).unwrap();
    assert_eq!(
        large,
        Plan {
            rows: 20_000,
            hold: true
        }
    );
    let half = Plan::new(&huge, &plain, 400 << 20).unwrap();
    assert!(half.hold && (1000..4000).contains(&half.rows), "{half:?}");
    let small = Plan::new(&huge, &plain, 160 << 20).unwrap();
    assert!(!small.hold && small.rows < half.rows, "{small:?}");
    // Two bands at a time.
    let on_gpu = Plan::on_gpus(&huge, &plain, 400 << 20, 2).unwrap();
    assert!(on_gpu.hold && on_gpu.rows < half.rows, "{on_gpu:?}");
    let with = Plan::on_gpus(&huge, &plain.statistics(true), 800 << 20, 2).unwrap();
    assert!(with.rows < on_gpu.rows, "{with:?}");
    let with = Plan::new(&huge, &plain.statistics(true), 800 << 20).unwrap();
    assert!(with.rows < half.rows, "{with:?}");
    match Plan::new(&huge, &plain, 40 << 20) {
        Err(Error::InvalidOption(error)) => {
            let text = error.to_string();
            let least = text
                .split("give ")
                .nth(1)
                .unwrap()
                .split(' ')
                .next()
                .unwrap();
            let least: u64 = least.parse().unwrap();
            assert!(Plan::new(&huge, &plain, least << 20).is_ok(), "{text}");
            assert!(
                Plan::new(&huge, &plain, (least - 4) << 20).is_err(),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
}

/// With any amount of memory, 32 bits number the components of a band, and index a band's pixels on
/// a GPU.
#[test]
fn plans_keep_to_32_bits() {
    struct Huge;
    impl BandSource for Huge {
        fn width(&self) -> u32 {
            100_000
        }
        fn height(&self) -> u32 {
            1_000_000
        }
        fn next_band(&mut self, _: u32) -> Result<Option<BinaryImage>> {
            Ok(None)
        }
        fn rewind(&mut self) -> Result<()> {
            Ok(())
        }
    }
    for connectivity in [Connectivity::Four, Connectivity::Eight] {
        let options = options(connectivity, false);
        let plan = Plan::new(&Huge, &options, 1 << 50).unwrap();
        assert!((80_000..85_900).contains(&plan.rows), "{plan:?}");
        let plan = Plan::on_gpus(&Huge, &options, 1 << 50, 2).unwrap();
        assert!((2_600..2_685).contains(&plan.rows), "{plan:?}");
    }
}

/// Sources of no pixels, or of too many, are refused before anything is planned.
#[test]
fn sources_of_any_size_are_planned_or_refused() {
    struct Sized(u32, u32);
    impl BandSource for Sized {
        fn width(&self) -> u32 {
            self.0
        }
        fn height(&self) -> u32 {
            self.1
        }
        fn next_band(&mut self, _: u32) -> Result<Option<BinaryImage>> {
            Ok(None)
        }
        fn rewind(&mut self) -> Result<()> {
            Ok(())
        }
    }
    let options = options(Connectivity::Four, false);
    let rows = |width, height| {
        crate::Engine::cpu().label_rows_within(&Sized(width, height), &options, 1 << 40)
    };
    assert_eq!(rows(7, 5).unwrap(), 5);
    for (width, height) in [(0, 5), (5, 0), (0, 0)] {
        let refused = rows(width, height);
        assert!(
            matches!(refused, Err(Error::EmptyImage { .. })),
            "{refused:?}"
        );
    }
    for (width, height) in [(u32::MAX, 1), (1, u32::MAX)] {
        let refused = rows(width, height);
        assert!(
            matches!(refused, Err(Error::ImageTooLarge { .. })),
            "{refused:?}"
        );
    }
}
