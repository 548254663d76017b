//! Jobs on images of values on the GPU: equal to the processor's. Without a GPU each test says that
//! it was skipped; with `TRAZAR_REQUIRE_GPU=1` that is a failure. `TRAZAR_LARGE=1` adds 10,000
//! random images, and large ones.
#![cfg(not(target_os = "macos"))]

use trazar::{Engine, PixelValue, RegionOptions, Samples, ValueImage};
use trazar_test_support::labels::CONNECTIVITIES;
use trazar_test_support::optional;
use trazar_test_support::seeds::{Random, seed_or};
use trazar_test_support::values::{Classes, PATTERNS};

/// Labels and traces an image on the GPU and on the processor.
fn check<T: PixelValue>(gpu: &Engine, name: &str, image: &ValueImage<'_, T>) {
    let cpu = Engine::cpu();
    for connectivity in CONNECTIVITIES {
        let expected = cpu.label_values(image, connectivity).unwrap();
        let found = gpu.label_values(image, connectivity).unwrap();
        assert_eq!(found.count(), expected.count(), "{name}, {connectivity:?}");
        assert!(
            found.as_slice() == expected.as_slice(),
            "{name}, {connectivity:?}: labels"
        );
        let options = RegionOptions::default().connectivity(connectivity);
        let expected = cpu.trace_regions(image, &options).unwrap();
        let found = gpu.trace_regions(image, &options).unwrap();
        assert!(found == expected, "{name}, {connectivity:?}: regions");
    }
}

fn check_classes(gpu: &Engine, name: &str, classes: &Classes, background: bool) {
    let samples = Samples::new(classes.width, classes.height, &classes.values).unwrap();
    let mut image = ValueImage::new(samples).unwrap();
    if background {
        image = image.background(0).unwrap();
    }
    check(gpu, name, &image);
}

/// `count` images with random patterns, sizes and types.
fn check_random(gpu: &Engine, count: u32, most: u32) {
    let seed = seed_or(1);
    let random = &mut Random::new(seed);
    for i in 0..count {
        let (width, height) = (1 + random.below(most), 1 + random.below(most));
        let pattern = PATTERNS[random.below(PATTERNS.len() as u32) as usize];
        let classes = Classes::draw(pattern, width, height, random);
        let name = format!("image {i} of seed {seed}: {pattern}, {width} × {height}");
        check_classes(gpu, &name, &classes, random.below(2) == 0);
    }
}

#[test]
fn random_values() {
    if let Some(gpu) = optional::on_gpu("random_values", Engine::cuda()) {
        check_random(&gpu, 500, 300);
    }
}

#[test]
fn racecheck_values() {
    if let Some(gpu) = optional::on_gpu("racecheck_values", Engine::cuda()) {
        check_random(&gpu, 6, 150);
    }
}

#[test]
fn values_of_all_types() {
    let Some(gpu) = optional::on_gpu("values_of_all_types", Engine::cuda()) else {
        return;
    };
    let classes = Classes::draw("noise", 301, 97, &mut Random::new(seed_or(1)));
    macro_rules! check {
        ($($t:ty: $to_value:expr;)*) => {$(
            let values: Vec<$t> = classes.values.iter().copied().map($to_value).collect();
            let image = ValueImage::new(Samples::new(301, 97, &values).unwrap()).unwrap();
            check(&gpu, stringify!($t), &image);
        )*};
    }
    check! {
        u8: |class| class as u8;
        u16: |class| class as u16 * 7;
        u32: |class| class as u32 | 1 << 31;
        i16: |class| -(class as i16);
        i32: |class| class - 2;
        i64: |class| i64::from(class) << 40;
        f32: |class| if class == 1 { f32::NAN } else { class as f32 };
    }
}

#[test]
fn many_random_values() {
    let test = "many_random_values";
    if optional::large(test)
        && let Some(gpu) = optional::on_gpu(test, Engine::cuda())
    {
        check_random(&gpu, 10_000, 200);
        for pattern in PATTERNS {
            let classes = Classes::draw(pattern, 3001, 2003, &mut Random::new(seed_or(1)));
            check_classes(&gpu, pattern, &classes, false);
        }
    }
}
