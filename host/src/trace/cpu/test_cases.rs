//! Cases for the tests of tracing in strips and in parts.

use proptest::prelude::*;

use crate::image::BinaryImage;
use crate::trace::{Approximation, ContourOptions, Geometry, Retrieval};

/// Options with every combination of retrieval, geometry and approximation.
pub(in crate::trace) fn all_options() -> Vec<ContourOptions> {
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
            all.push(ContourOptions {
                retrieval,
                geometry,
                approximation,
                ..ContourOptions::default()
            });
        }
    }
    all
}

/// Noise of any density.
pub(in crate::trace) fn images() -> impl Strategy<Value = BinaryImage> {
    (1..140u32, 1..70u32, 0.0..1.0, any::<u64>()).prop_map(|(width, height, density, seed)| {
        crate::generate::noise(width, height, density, seed).unwrap()
    })
}

/// Runs `work` on this thread alone: waking others would take longer than the work.
pub(in crate::trace) fn alone(work: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let pool = pool.use_current_thread().build().unwrap();
    pool.install(work);
}
