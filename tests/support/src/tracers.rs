//! Options of tracing on the CPU, and the comparison with tracing on one thread.

use trazar::{
    Approximation, BinaryImage, Contours, Engine, Geometry, TraceAlgorithm, TraceOptions,
};

use crate::contours::RETRIEVALS;

/// Traces `image` on the CPU.
pub fn trace(image: &BinaryImage, options: TraceOptions) -> Contours {
    Engine::cpu().trace(image, &options).unwrap()
}

/// Options with every combination of retrieval, geometry and approximation.
pub fn all_options() -> Vec<TraceOptions> {
    let mut all = Vec::new();
    for retrieval in RETRIEVALS {
        for (geometry, approximation) in [
            (Geometry::Centers, Approximation::None),
            (Geometry::Centers, Approximation::Simple),
            (Geometry::Centers, Approximation::TehChinL1),
            (Geometry::Centers, Approximation::TehChinKCos),
            (Geometry::Edges, Approximation::None),
            (Geometry::Edges, Approximation::Simple),
        ] {
            all.push(
                TraceOptions::default()
                    .retrieval(retrieval)
                    .approximation(approximation)
                    .geometry(geometry),
            );
        }
    }
    all
}

/// The options under which a mistake in any stage shows: all points of all borders, as a tree.
pub fn main_options() -> [TraceOptions; 2] {
    [Geometry::Centers, Geometry::Edges].map(|geometry| {
        TraceOptions::default()
            .approximation(Approximation::None)
            .geometry(geometry)
    })
}

/// Compares what each of the `changed` options gives with tracing on one thread under `options`.
///
/// # Panics
/// The contours differ.
pub fn check(image: &BinaryImage, options: TraceOptions, changed: &[TraceOptions]) {
    let expected = trace(image, options.algorithm(TraceAlgorithm::Suzuki));
    for &changed in changed {
        let traced = trace(image, changed);
        assert!(traced == expected, "{changed:?} of {image:?}");
    }
}
