//! `cargo bench --bench trace`: borders of images of several kinds and sizes, in pixels a
//! second. "bits" starts from the packed image, "bytes" packs it from one byte a pixel first.

#![allow(
    missing_docs,
    reason = "criterion's macros make undocumented functions"
)]

mod images;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use trazar::{
    Approximation, BinaryImage, Engine, Geometry, Retrieval, TraceAlgorithm, TraceOptions,
};

fn trace(criterion: &mut Criterion) {
    let engine = Engine::cpu();
    let tree = TraceOptions::default();
    let variants = [
        ("tree simple", tree),
        (
            "tree simple tiles",
            TraceOptions {
                algorithm: Some(TraceAlgorithm::Tiles),
                ..tree
            },
        ),
        (
            "list simple",
            TraceOptions {
                retrieval: Retrieval::List,
                ..tree
            },
        ),
        (
            "tree none",
            TraceOptions {
                approximation: Approximation::None,
                ..tree
            },
        ),
        (
            "tree tc89-l1",
            TraceOptions {
                approximation: Approximation::TehChinL1,
                ..tree
            },
        ),
        (
            "tree edges",
            TraceOptions {
                geometry: Geometry::Edges,
                ..tree
            },
        ),
    ];
    images::for_each(criterion, "trace", |group, input| {
        for (name, options) in &variants {
            // All variants where they take little time, the main one everywhere.
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

criterion_group!(benches, trace);
criterion_main!(benches);
