//! Options of tracing, and how the contours of two devices are compared.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use trazar::gpu::Gpu;
use trazar::{
    Approximation, BinaryImage, Contours, DeviceImage, DeviceTracer, Engine, Geometry, Retrieval,
    TraceAlgorithm, TraceOptions,
};

/// All retrievals.
pub const RETRIEVALS: [Retrieval; 4] = [
    Retrieval::External,
    Retrieval::List,
    Retrieval::Ccomp,
    Retrieval::Tree,
];
/// The approximations that both geometries have.
pub const APPROXIMATIONS: [Approximation; 2] = [Approximation::None, Approximation::Simple];
/// Those of Teh and Chin, for centers alone.
pub const TEH_CHIN: [Approximation; 2] = [Approximation::TehChinL1, Approximation::TehChinKCos];
/// All geometries.
pub const GEOMETRIES: [Geometry; 2] = [Geometry::Centers, Geometry::Edges];

/// Describes the first difference between two results.
pub fn difference(found: &Contours, expected: &Contours) -> Option<String> {
    let size = |contours: &Contours| (contours.len(), contours.points().len());
    if found.kinds() != expected.kinds() {
        let (a, b) = (size(found), size(expected));
        return Some(format!(
            "kinds differ; {a:?} contours and points, not {b:?}"
        ));
    }
    if found.hierarchy() != expected.hierarchy() {
        let rows = found.hierarchy().iter().zip(expected.hierarchy());
        let at = rows.clone().position(|(a, b)| a != b)?;
        let (a, b) = (found.hierarchy()[at], expected.hierarchy()[at]);
        return Some(format!("row {at} is {a:?}, not {b:?}"));
    }
    for (a, b) in found.iter().zip(expected.iter()) {
        if a.points() != b.points() {
            let (i, a, b) = (a.index(), a.points(), b.points());
            return Some(format!("contour {i} is {a:?}, not {b:?}"));
        }
    }
    (found != expected).then(|| "they differ".to_owned())
}

/// Traces `image` with `tracer`, and on one core of the CPU, and compares.
pub fn compare<G: Gpu>(
    tracer: &DeviceTracer<G>,
    image: &BinaryImage,
    options: &TraceOptions,
) -> Result<(), TestCaseError> {
    let sequential = options.algorithm(TraceAlgorithm::Suzuki);
    let expected = Engine::cpu().trace(image, &sequential).unwrap();
    let on_device = DeviceImage::upload(tracer.gpu(), image)?;
    let found = tracer.trace(&on_device, options)?;
    prop_assert_eq!(
        found.len(),
        expected.len(),
        "not the CPU's contours: how many"
    );
    prop_assert_eq!(
        found.point_count(),
        expected.points().len(),
        "not the CPU's contours: how many points"
    );
    let difference = difference(&found.to_host()?, &expected);
    prop_assert_eq!(difference, None, "not the CPU's contours");
    Ok(())
}

/// [`compare`], for the image `name`.
///
/// # Panics
/// The contours are not the CPU's, or there are none.
pub fn check<G: Gpu>(
    tracer: &DeviceTracer<G>,
    name: &str,
    image: &BinaryImage,
    options: &TraceOptions,
) {
    if let Err(error) = compare(tracer, image, options) {
        let (width, height) = (image.width(), image.height());
        panic!("{name}, {width} × {height}, {options:?}: {error}");
    }
}
