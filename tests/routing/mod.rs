//! Random grids and nets, and how an algorithm's routes of them are compared with the processor's.

use proptest::prelude::*;
use proptest::sample::select;
use trazar::Engine;
use trazar::route::{
    BLOCKED, Cell, Direction, Net, Pin, RouteAlgorithm, RouteOptions, RoutingGrid, Window,
};

/// A grid and nets on it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) grid: RoutingGrid,
    pub(crate) nets: Vec<Net>,
    /// What it was drawn from.
    #[allow(dead_code, reason = "read by some tests, and shown where a case fails")]
    pub(crate) recipe: Recipe,
}

/// What a case is drawn from: small, so that a failing case is shrunk quickly and is one line.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) layers: u32,
    /// Weights lie from `least` to `most`.
    pub(crate) least: u32,
    pub(crate) most: u32,
    /// Of 100 edges, how many are blocked; of 100 cells, half as many.
    pub(crate) blocked: u32,
    /// Whether layers have preferred directions, in turn.
    pub(crate) preferred: bool,
    pub(crate) nets: u32,
    /// The most pins of a net, and the most cells of a pin.
    pub(crate) pins: u32,
    pub(crate) pin_cells: u32,
    /// Whether nets may have windows.
    pub(crate) windows: bool,
    pub(crate) seed: u64,
}

impl Recipe {
    pub(crate) fn draw(&self) -> Case {
        let mut random = Random(self.seed);
        let (width, height) = (self.width, self.height);
        let layers: Vec<RoutingGrid> = (0..self.layers)
            .map(|layer| self.draw_layer(layer, &mut random))
            .collect();
        let area = width as usize * height as usize;
        let vias: Vec<u32> = (0..area * (layers.len() - 1))
            .map(|_| self.weight(&mut random))
            .collect();
        let mut grid = RoutingGrid::stack(&layers, &vias).unwrap();
        for _ in 0..grid.cell_count() {
            if random.below(200) < self.blocked {
                let cell = grid.cell(random.below(grid.cell_count()));
                grid.block(cell).unwrap();
            }
        }
        let nets = (0..self.nets)
            .map(|_| self.draw_net(&grid, &mut random))
            .collect();
        let recipe = self.clone();
        Case { grid, nets, recipe }
    }

    fn weight(&self, random: &mut Random) -> u32 {
        if random.below(100) < self.blocked {
            return BLOCKED;
        }
        self.least + random.below(self.most - self.least + 1)
    }

    fn draw_layer(&self, layer: u32, random: &mut Random) -> RoutingGrid {
        let mut weights = |count: u32| -> Vec<u32> {
            let weights = (0..count).map(|_| self.weight(random));
            weights.collect()
        };
        let right = weights((self.width - 1) * self.height);
        let down = weights(self.width * (self.height - 1));
        let grid = RoutingGrid::from_edges(self.width, self.height, &right, &down).unwrap();
        match (self.preferred, layer % 2) {
            (false, _) => grid,
            (true, 0) => grid.with_direction(Direction::Horizontal),
            (true, _) => grid.with_direction(Direction::Vertical),
        }
    }

    fn draw_net(&self, grid: &RoutingGrid, random: &mut Random) -> Net {
        let mut window = Window::of(grid);
        let cropped = self.windows && random.below(2) == 0;
        if cropped {
            window.x = random.below(self.width);
            window.y = random.below(self.height);
            window.width = 1 + random.below(self.width - window.x);
            window.height = 1 + random.below(self.height - window.y);
        }
        let mut cells = Vec::new();
        let mut pins = Vec::new();
        for _ in 0..random.below(self.pins + 1) {
            let mut pin = Vec::new();
            for _ in 0..1 + random.below(self.pin_cells) {
                // Now and then the same cell again, in this pin or another.
                let old = cells.len() as u32;
                let cell = if old > 0 && random.below(8) == 0 {
                    cells[random.below(old) as usize]
                } else {
                    Cell {
                        x: window.x + random.below(window.width),
                        y: window.y + random.below(window.height),
                        layer: random.below(grid.layers()),
                    }
                };
                cells.push(cell);
                pin.push(cell);
            }
            pins.push(Pin { cells: pin });
        }
        Net {
            pins,
            window: cropped.then_some(window),
        }
    }
}

/// Cases of all kinds, with sides up to `largest`: lines and single cells; weights with many ties, plateaus of weight 0, the
/// largest weights; blocked edges and cells; layers; pins of several cells, repeated ones, and such as no path reaches; windows.
pub(crate) fn case(largest: u32) -> impl Strategy<Value = Case> {
    let side = || prop_oneof![1 => Just(1), 1 => Just(2), 6 => 1..=largest];
    let layers = prop_oneof![4 => Just(1u32), 2 => Just(2), 1 => 3..=5u32];
    let weights = select(vec![
        (0, 0),
        (0, 1),
        (0, 3),
        (1, 1),
        (1, 3),
        (1, 90),
        (0, 255),
        (1 << 20, 1 << 30),
        (0, BLOCKED - 1),
        (BLOCKED - 3, BLOCKED - 1),
    ]);
    let blocked = select(vec![0, 0, 5, 20, 40]);
    let shape = (side(), side(), layers, weights, blocked, any::<bool>());
    let nets = (1..=2u32, 0..=8u32, 1..=4u32, any::<bool>(), any::<u64>());
    (shape, nets).prop_map(|(shape, nets)| {
        let (width, height, layers, (least, most), blocked, preferred) = shape;
        let (nets, pins, pin_cells, windows, seed) = nets;
        Recipe {
            width,
            height,
            layers,
            least,
            most,
            blocked,
            preferred: preferred && layers > 1,
            nets,
            pins,
            pin_cells,
            windows,
            seed,
        }
        .draw()
    })
}

/// Routes the case on `engine` by `algorithm`, and on the processor by sweeps on one thread; the routes must be equal, path by path,
/// and hold.
pub(crate) fn assert_same(engine: &Engine, case: &Case, algorithm: RouteAlgorithm) {
    let with = |algorithm| RouteOptions {
        algorithm: Some(algorithm),
        ..RouteOptions::default()
    };
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

/// SplitMix64: the same numbers for the same seed everywhere.
struct Random(u64);

impl Random {
    /// A number from 0 to `end - 1`.
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((u128::from(bits) * u128::from(end)) >> 64) as u32
    }
}
