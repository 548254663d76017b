//! Options of labelling, and how the labels of two devices are compared.

use trazar::{Connectivity, LabelAlgorithm, LabelOptions, Labels};

/// The algorithms that are kernels.
pub const ALGORITHMS: [LabelAlgorithm; 2] = [LabelAlgorithm::Tiles, LabelAlgorithm::Direct];
/// Both connectivities.
pub const CONNECTIVITIES: [Connectivity; 2] = [Connectivity::Four, Connectivity::Eight];

/// Describes the first difference between two results.
pub fn difference(found: &Labels, expected: &Labels) -> Option<String> {
    let size = |labels: &Labels| (labels.width(), labels.height());
    if size(found) != size(expected) {
        return Some(format!("{:?} is not {:?}", size(found), size(expected)));
    }
    let (a, b) = (found.as_slice(), expected.as_slice());
    if a.len() != b.len() {
        return Some(format!("{} labels, not {}", a.len(), b.len()));
    }
    if let Some(i) = (0..a.len()).find(|&i| a[i] != b[i]) {
        let width = found.width() as usize;
        let (x, y) = (i % width, i / width);
        return Some(format!("at ({x}, {y}): {}, not {}", a[i], b[i]));
    }
    if found.count() != expected.count() {
        return Some(format!(
            "{} components, not {}",
            found.count(),
            expected.count()
        ));
    }
    let (a, b) = (found.components(), expected.components());
    if a == b {
        return None;
    }
    let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    Some(format!("components differ first at {at:?}"))
}

/// Options to label by `algorithm`.
pub fn options(
    connectivity: Connectivity,
    algorithm: LabelAlgorithm,
    statistics: bool,
) -> LabelOptions {
    LabelOptions::default()
        .connectivity(connectivity)
        .statistics(statistics)
        .algorithm(algorithm)
}
