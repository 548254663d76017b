//! Several GPUs: one that is opened twice stands for two.

use trazar::cuda::{Device as Gpu, Queue};
use trazar::generate::Pattern;
use trazar::label::MultiLabeler;
use trazar::{Backend, DeviceImage, Engine, LabelOptions, TraceOptions};
use trazar_test_support::optional;
use trazar_test_support::tilings::{Tiling, check_measures, check_rows};

use crate::Beside;
use crate::devices::Device;
use crate::devices::label_bands::check_bands;

fn opened_twice() -> [Queue; 2] {
    [0; 2].map(|_| Queue::open(&Gpu::open(0).unwrap()).unwrap())
}

#[test]
fn labels_on_several_opened_twice() {
    let Some(_beside) = Beside::open("labels_on_several_gpus") else {
        return;
    };
    let twice = Engine::on_all(opened_twice()).unwrap();
    for (name, width, height) in [
        ("noise:0.4", 3001, 2500),
        ("spiral", 2048, 3000),
        ("blobs", 70, 9),
    ] {
        let image = name
            .parse::<Pattern>()
            .unwrap()
            .generate(width, height, 3)
            .unwrap();
        check_bands(&twice, &image, 1 << 30, u32::MAX, &[false, true]);
        check_bands(
            &Engine::cuda_all().unwrap(),
            &image,
            1 << 30,
            u32::MAX,
            &[false, true],
        );
        check_bands(
            &Engine::cuda_device(0).unwrap(),
            &image,
            1 << 30,
            u32::MAX,
            &[false, true],
        );
    }
    // Each GPU holds its rows.
    let tiling = Tiling::new(5000, 6100);
    let labeler = MultiLabeler::on(opened_twice());
    let halves = [tiling.rows(0, 3333), tiling.rows(3333, 6100)];
    let images: Vec<_> = labeler
        .gpus()
        .zip(&halves)
        .map(|(gpu, rows)| DeviceImage::upload(gpu, rows).unwrap())
        .collect();
    let run = LabelOptions::default().statistics(true);
    let labels = labeler.label(&images, &run).unwrap();
    assert_eq!(labels.count(), tiling.count());
    check_measures(tiling, labels.components().unwrap());
    check_rows(tiling, |y, row| {
        let (band, y) = if y < 3333 { (0, y) } else { (1, y - 3333) };
        let labels = labels.bands()[band].labels();
        labels.read_at(y as usize * 5000, row).unwrap();
    });
}

/// The engine that opens the GPU itself.
#[test]
fn an_engine_on_cuda() {
    let test = "an_engine_on_cuda";
    let Some(_beside) = Beside::open(test) else {
        return;
    };
    let Some(engine) = optional::on_gpu(test, Engine::cuda()) else {
        return;
    };
    assert_eq!(engine.backend(), Backend::Cuda);
    let image = Pattern::Blobs.generate(700, 500, 3).unwrap();
    check_bands(&engine, &image, 1 << 30, u32::MAX, &[false, true]);
    let options = TraceOptions::default();
    let expected = Engine::cpu().trace(&image, &options).unwrap();
    assert!(engine.trace(&image, &options).unwrap() == expected);
}
