//! What tests of a tracer's algorithms share: images, options, and the reference.

use proptest::prelude::*;
use trazar::{
    Approximation, BinaryImage, Contours, Engine, Geometry, Retrieval, TraceAlgorithm, TraceOptions,
};

pub(crate) fn trace(image: &BinaryImage, options: TraceOptions) -> Contours {
    Engine::cpu().trace(image, &options).unwrap()
}

/// All that can be asked of a tracer.
pub(crate) fn all_options() -> Vec<TraceOptions> {
    let mut all = Vec::new();
    for retrieval in [
        Retrieval::External,
        Retrieval::List,
        Retrieval::Ccomp,
        Retrieval::Tree,
    ] {
        for (geometry, approximation) in [
            (Geometry::Centers, Approximation::None),
            (Geometry::Centers, Approximation::Simple),
            (Geometry::Centers, Approximation::TehChinL1),
            (Geometry::Centers, Approximation::TehChinKCos),
            (Geometry::Edges, Approximation::None),
            (Geometry::Edges, Approximation::Simple),
        ] {
            all.push(TraceOptions {
                retrieval,
                approximation,
                geometry,
                ..TraceOptions::default()
            });
        }
    }
    all
}

/// What a mistake in any stage shows in: all points, of all borders, as a tree.
pub(crate) fn main_options() -> [TraceOptions; 2] {
    [Geometry::Centers, Geometry::Edges].map(|geometry| TraceOptions {
        approximation: Approximation::None,
        geometry,
        ..TraceOptions::default()
    })
}

/// Checks what `changed` options give against tracing on one thread.
pub(crate) fn check(image: &BinaryImage, options: TraceOptions, changed: &[TraceOptions]) {
    let expected = trace(
        image,
        TraceOptions {
            algorithm: Some(TraceAlgorithm::Suzuki),
            ..options
        },
    );
    for &changed in changed {
        let traced = trace(image, changed);
        assert!(traced == expected, "{changed:?} of {image:?}");
    }
}

/// Random noise at any density, or random rectangles over each other.
pub(crate) fn images() -> impl Strategy<Value = BinaryImage> {
    let noise = (1u32..40, 1u32..40, 0.0..1.0f64).prop_flat_map(|(width, height, density)| {
        let pixels =
            prop::collection::vec(prop::bool::weighted(density), (width * height) as usize);
        pixels.prop_map(move |pixels| {
            BinaryImage::from_values(width, height, &pixels, false).unwrap()
        })
    });
    let rectangles = (1u32..140, 1u32..70).prop_flat_map(|(width, height)| {
        let rectangle = (0..width, 0..height, 1..=width, 1..=height);
        prop::collection::vec(rectangle, 1..12).prop_map(move |rectangles| {
            BinaryImage::from_fn(width, height, |x, y| {
                let covers = |&&(left, top, w, h): &&(u32, u32, u32, u32)| {
                    (left..left + w).contains(&x) && (top..top + h).contains(&y)
                };
                rectangles.iter().filter(covers).count() % 2 == 1
            })
            .unwrap()
        })
    });
    prop_oneof![noise, rectangles]
}

/// Images of `width × height` pixels whose set bits of a number are foreground; of those with more than 12 pixels a sixteenth,
/// spread.
pub(crate) fn tiny_images(width: u32, height: u32) -> impl Iterator<Item = BinaryImage> {
    let all = 0..1u64 << (width * height);
    let some = all.filter(move |bits| {
        width * height <= 12 || bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 == 0
    });
    some.map(move |bits| {
        BinaryImage::from_fn(width, height, |x, y| bits >> (y * width + x) & 1 == 1).unwrap()
    })
}

/// An image with lines, one pixel wide, at columns and rows.
pub(crate) fn lines(size: u32, columns: &[u32], rows: &[u32]) -> BinaryImage {
    BinaryImage::from_fn(size, size, |x, y| columns.contains(&x) || rows.contains(&y)).unwrap()
}
