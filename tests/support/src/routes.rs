//! How the routes of two algorithms are compared.

use trazar::route::{Route, RouteAlgorithm, RouteOptions};
use trazar::{Engine, Error};

use crate::grids::Case;

/// The algorithms that are kernels.
pub fn on_device() -> &'static [RouteAlgorithm] {
    &[
        RouteAlgorithm::Fields,
        RouteAlgorithm::Tiles,
        RouteAlgorithm::DivideConquer,
        RouteAlgorithm::Prefix,
        RouteAlgorithm::PrefixFused,
    ]
}

/// Routes the case on `engine` by `algorithm`, and on the CPU by sweeps on one thread.
///
/// # Panics
/// The routes are not equal, path by path, or one does not pass its own verification.
pub fn assert_same(engine: &Engine, case: &Case, algorithm: RouteAlgorithm) {
    let with = |algorithm| RouteOptions::default().algorithm(algorithm);
    let Case { grid, nets, .. } = case;
    let expected = Engine::cpu().route(grid, nets, &with(RouteAlgorithm::Sweep));
    let found = engine.route(grid, nets, &with(algorithm));
    let (expected, found) = (expected.unwrap(), found.unwrap());
    assert_eq!(found.len(), nets.len());
    for ((found, expected), net) in found.iter().zip(&expected).zip(nets) {
        assert_eq!(found, expected, "{} of {case:?}", algorithm.name());
        found.verify(grid, net).unwrap();
    }
}

/// Path costs from here on are refused by routing in tiles.
const TOO_LARGE: u64 = 1 << 35;

/// Describes what is wrong with an algorithm's answer; `None` if it is right. An algorithm must
/// refuse a path that costs too much for it.
pub fn mistake(
    found: Result<Vec<Route>, Error>,
    expected: &[Route],
    algorithm: RouteAlgorithm,
) -> Option<String> {
    let mut paths = expected.iter().flat_map(Route::connections);
    let in_tiles = [RouteAlgorithm::Tiles, RouteAlgorithm::Fields].contains(&algorithm);
    let too_large = in_tiles && paths.any(|path| path.cost >= TOO_LARGE);
    match found {
        Ok(_) if too_large => Some("routes, though a path costs too much".to_owned()),
        Ok(found) => difference(&found, expected),
        Err(Error::CostTooLarge {
            limit: TOO_LARGE, ..
        }) if too_large => None,
        Err(error) => Some(format!("refused: {error}")),
    }
}

/// Describes the first difference between two lists of routes.
pub fn difference(found: &[Route], expected: &[Route]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} routes, not {}", found.len(), expected.len()));
    }
    for (net, (found, expected)) in found.iter().zip(expected).enumerate() {
        let paths = found.connections().zip(expected.connections());
        for (i, (found, expected)) in paths.enumerate() {
            if found != expected {
                return Some(format!(
                    "net {net}, path {i}: pin {} at {} by {} cells, not pin {} at {} by {}; \
                     first apart: {:?}",
                    found.pin,
                    found.cost,
                    found.cells.len(),
                    expected.pin,
                    expected.cost,
                    expected.cells.len(),
                    found.cells.iter().zip(expected.cells).find(|(a, b)| a != b),
                ));
            }
        }
        if found != expected {
            return Some(format!(
                "net {net}: {} paths, {:?} unreached; not {} and {:?}",
                found.connections().len(),
                found.unreached(),
                expected.connections().len(),
                expected.unreached()
            ));
        }
    }
    None
}
