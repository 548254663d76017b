//! `cargo bench -p trazar-benches --bench label`: components of images of several kinds and sizes,
//! in pixels per second. "bits" starts from the packed image, "bytes" packs it from one byte per
//! pixel first.

#![allow(
    missing_docs,
    reason = "criterion's macros make undocumented functions"
)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use trazar::{BinaryImage, Engine, LabelAlgorithm, LabelOptions};
use trazar_bench_support::{images, labels};

fn label(criterion: &mut Criterion) {
    let engine = Engine::cpu();
    images::for_each(criterion, "label", |group, input| {
        for (name, options) in labels::options() {
            let id = BenchmarkId::new(format!("{name} bits"), &input.name);
            group.bench_function(id, |bencher| {
                bencher.iter_with_large_drop(|| engine.label(&input.image, &options));
            });
        }
        let bytes = input.bytes();
        let (width, height) = (input.image.width(), input.image.height());
        let options = LabelOptions::default().algorithm(LabelAlgorithm::Sequential);
        let id = BenchmarkId::new("sequential 8 bytes", &input.name);
        group.bench_function(id, |bencher| {
            bencher.iter_with_large_drop(|| {
                let image = BinaryImage::from_values(width, height, &bytes, 127)?;
                engine.label(&image, &options)
            });
        });
    });
}

criterion_group!(benches, label);
criterion_main!(benches);
