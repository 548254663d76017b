//! `cargo bench -p trazar-benches --bench trace`: borders of images of several kinds and sizes, in
//! pixels per second. "bits" starts from the packed image, "bytes" packs it from one byte per pixel
//! first.

#![allow(
    missing_docs,
    reason = "criterion's macros make undocumented functions"
)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use trazar::trace::TileCounts;
use trazar::{
    Approximation, Backend, BinaryImage, Engine, Geometry, Retrieval, TraceAlgorithm, TraceOptions,
};
use trazar_bench_support::images;

fn trace(criterion: &mut Criterion) {
    let engine = Engine::cpu();
    let tree = TraceOptions::default();
    let variants = [
        ("tree simple", tree),
        ("list simple", tree.retrieval(Retrieval::List)),
        ("tree none", tree.approximation(Approximation::None)),
        ("tree tc89-l1", tree.approximation(Approximation::TehChinL1)),
        ("tree edges", tree.geometry(Geometry::Edges)),
    ];
    images::for_each(criterion, "trace", |group, input| {
        for (name, options) in &variants {
            // All variants on small images, the main one on all of them.
            if *options != tree && input.image.pixel_count() > 1 << 23 {
                continue;
            }
            let id = BenchmarkId::new(format!("{name} bits"), &input.name);
            group.bench_function(id, |bencher| {
                bencher.iter_with_large_drop(|| engine.trace(&input.image, options));
            });
        }
        let bytes = input.bytes();
        let (width, height) = (input.image.width(), input.image.height());
        let id = BenchmarkId::new("tree simple bytes", &input.name);
        group.bench_function(id, |bencher| {
            bencher.iter_with_large_drop(|| {
                let image = BinaryImage::from_values(width, height, &bytes, 127)?;
                engine.trace(&image, &tree)
            });
        });
    });
}

/// All algorithms on each image, and the algorithm tiles with several numbers of tiles.
fn algorithms(criterion: &mut Criterion) {
    let engine = Engine::cpu();
    images::for_each(criterion, "trace algorithms", |group, input| {
        let mut bench = |name: String, options: TraceOptions| {
            let id = BenchmarkId::new(name, &input.name);
            group.bench_function(id, |bencher| {
                bencher.iter_with_large_drop(|| engine.trace(&input.image, &options));
            });
        };
        for &algorithm in TraceAlgorithm::on(Backend::Cpu) {
            for (name, geometry) in [("centers", Geometry::Centers), ("edges", Geometry::Edges)] {
                let options = TraceOptions::default()
                    .algorithm(algorithm)
                    .geometry(geometry);
                bench(format!("{} {name}", algorithm.name()), options);
            }
        }
        for side in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            let tiles = TileCounts::new(side, side).expect("powers of two");
            let options = TraceOptions::default().algorithm(TraceAlgorithm::Tiles(tiles));
            bench(format!("{side} x {side} tiles"), options);
        }
    });
}

criterion_group!(benches, trace, algorithms);
criterion_main!(benches);
