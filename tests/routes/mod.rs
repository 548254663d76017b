//! Random grids and nets, and how routes are compared.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trazar::Error;
use trazar::route::{BLOCKED, Cell, Net, Pin, Route, RouteAlgorithm, RoutingGrid};

/// The algorithms that run by kernels.
pub(crate) fn on_device() -> &'static [RouteAlgorithm] {
    &[
        RouteAlgorithm::Fields,
        RouteAlgorithm::Tiles,
        RouteAlgorithm::DivideConquer,
        RouteAlgorithm::Prefix,
        RouteAlgorithm::PrefixFused,
    ]
}

/// Which weights a random grid has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    /// 1 to 255.
    Small,
    /// 0 to 2: many shortest paths.
    Few,
    /// 1 or 2: as many, and no free edge.
    Even,
    /// 1 to 255, one in eight blocked.
    Gaps,
    /// Many 0, many blocked.
    FreeOrBlocked,
    /// Up to the largest.
    Large,
    /// All of these.
    Any,
}

impl Weights {
    #[allow(dead_code, reason = "not every test draws them")]
    pub(crate) const ALL: [Self; 7] = [
        Self::Small,
        Self::Few,
        Self::Even,
        Self::Gaps,
        Self::FreeOrBlocked,
        Self::Large,
        Self::Any,
    ];

    fn draw(self, random: &mut Random) -> u32 {
        let kind = match self {
            Self::Any => Self::ALL[random.below(6) as usize],
            kind => kind,
        };
        match kind {
            Self::Small => 1 + random.below(255),
            Self::Few => random.below(3),
            Self::Even => 1 + random.below(2),
            Self::Gaps if random.below(8) == 0 => BLOCKED,
            Self::Gaps => 1 + random.below(255),
            Self::FreeOrBlocked => [0, 0, 1, BLOCKED][random.below(4) as usize],
            Self::Large | Self::Any => BLOCKED - 1 - random.below(1 << 20) * random.below(4096),
        }
    }
}

/// Numbers that follow a seed.
pub(crate) struct Random(u64);

impl Random {
    /// Those of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number less than `limit`.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ z >> 31) * u128::from(limit)) >> 64) as u32
    }
}

/// A grid of random weights.
pub(crate) fn random_grid(
    width: u32,
    height: u32,
    layers: u32,
    weights: Weights,
    seed: u64,
) -> RoutingGrid {
    let mut random = Random::new(seed);
    let layers: Vec<_> = (0..layers)
        .map(|_| {
            let mut grid = RoutingGrid::uniform(width, height, 0).unwrap();
            for y in 0..height {
                for x in 0..width {
                    let (cell, right, down) = (
                        Cell::at(x, y),
                        weights.draw(&mut random),
                        weights.draw(&mut random),
                    );
                    if x + 1 < width {
                        grid.set_right(cell, right).unwrap();
                    }
                    if y + 1 < height {
                        grid.set_down(cell, down).unwrap();
                    }
                }
            }
            grid
        })
        .collect();
    let vias = (width * height) as usize * (layers.len() - 1);
    let vias: Vec<_> = (0..vias).map(|_| weights.draw(&mut random)).collect();
    RoutingGrid::stack(&layers, &vias).unwrap()
}

/// A net of `pins` pins on `grid`, every third of which has several cells.
pub(crate) fn net(grid: &RoutingGrid, pins: usize, seed: u64) -> Net {
    let mut random = Random::new(!seed);
    let pins = (0..pins).map(|_| {
        let cells = if random.below(3) == 0 {
            1 + random.below(4)
        } else {
            1
        };
        let cell = |_| grid.cell(random.below(grid.cell_count()));
        Pin {
            cells: (0..cells).map(cell).collect(),
        }
    });
    Net {
        pins: pins.collect(),
        window: None,
    }
}

/// Distances by Dijkstra's algorithm, as textbooks have it; `u64::MAX` where there is no path.
#[allow(dead_code, reason = "not every test asks for all distances")]
pub(crate) fn dijkstra(grid: &RoutingGrid, sources: &[Cell]) -> Vec<u64> {
    let mut distances = vec![u64::MAX; grid.cell_count() as usize];
    let mut heap = BinaryHeap::new();
    let mut offer = |heap: &mut BinaryHeap<_>, cell: u32, distance: u64| {
        if distance < distances[cell as usize] {
            distances[cell as usize] = distance;
            heap.push(Reverse((distance, cell)));
        }
    };
    for &source in sources {
        offer(&mut heap, grid.index(source), 0);
    }
    while let Some(Reverse((distance, number))) = heap.pop() {
        let cell = grid.cell(number);
        let Cell { x, y, layer } = cell;
        let mut step = |to: Cell, weight: u32| {
            if weight != BLOCKED {
                offer(&mut heap, grid.index(to), distance + u64::from(weight));
            }
        };
        if x > 0 {
            let to = Cell { x: x - 1, ..cell };
            step(to, grid.right(to));
        }
        if y > 0 {
            let to = Cell { y: y - 1, ..cell };
            step(to, grid.down(to));
        }
        if layer > 0 {
            let to = cell.on(layer - 1);
            step(to, grid.via(to));
        }
        if x + 1 < grid.width() {
            step(Cell { x: x + 1, ..cell }, grid.right(cell));
        }
        if y + 1 < grid.height() {
            step(Cell { y: y + 1, ..cell }, grid.down(cell));
        }
        if layer + 1 < grid.layers() {
            step(cell.on(layer + 1), grid.via(cell));
        }
    }
    distances
}

/// The smallest cost of a path that tiles do not count.
const TOO_LARGE: u64 = 1 << 35;

/// What is wrong with the answer of an algorithm, in words. Of a path that costs too much for it, it has to say so.
pub(crate) fn mistake(
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

/// In what two lists of routes differ first, in words.
pub(crate) fn difference(found: &[Route], expected: &[Route]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} routes, not {}", found.len(), expected.len()));
    }
    for (net, (found, expected)) in found.iter().zip(expected).enumerate() {
        let paths = found.connections().zip(expected.connections());
        for (i, (found, expected)) in paths.enumerate() {
            if found != expected {
                return Some(format!(
                    "net {net}, path {i}: pin {} at {} by {} cells, not pin {} at {} by {}; first apart: {:?}",
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
