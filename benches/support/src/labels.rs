//! The ways to label on the processor.

use trazar::{Connectivity, LabelAlgorithm, LabelOptions};

/// Each algorithm with each connectivity, and a name for the two: `sequential 4`.
pub fn options() -> impl Iterator<Item = (String, LabelOptions)> {
    let algorithms = [LabelAlgorithm::Sequential, LabelAlgorithm::Parallel];
    algorithms.into_iter().flat_map(|algorithm| {
        [(Connectivity::Four, 4), (Connectivity::Eight, 8)].map(|(connectivity, neighbours)| {
            let options = LabelOptions::default()
                .connectivity(connectivity)
                .algorithm(algorithm);
            (format!("{} {neighbours}", algorithm.name()), options)
        })
    })
}
