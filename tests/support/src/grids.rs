//! Random grids and nets.

use proptest::prelude::*;
use proptest::sample::select;
use trazar::route::{BLOCKED, Cell, Direction, Net, Pin, RoutingGrid, Window};
use trazar_test_seeds::Random;

/// The weights of a [`random_grid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// 1 to 255.
    Small,
    /// 0 to 2: many shortest paths between two cells.
    Few,
    /// 1 or 2: as many shortest paths, and no edge of weight 0.
    Even,
    /// 1 to 255, one in eight blocked.
    Gaps,
    /// Many are 0, many are blocked.
    FreeOrBlocked,
    /// Up to the largest weight.
    Large,
    /// Each edge of one of these kinds.
    Any,
}

impl Weights {
    /// All kinds.
    pub const ALL: [Self; 7] = [
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

/// A grid of random weights between neighbours and between layers.
pub fn random_grid(
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

/// A net of `pins` pins at random cells of `grid`; every third pin has one to four cells.
pub fn net(grid: &RoutingGrid, pins: usize, seed: u64) -> Net {
    let mut random = Random::new(!seed);
    let pins = (0..pins).map(|_| {
        let cells = if random.below(3) == 0 {
            1 + random.below(4)
        } else {
            1
        };
        let cell = |_| grid.cell(random.below(grid.cell_count()));
        Pin::new((0..cells).map(cell))
    });
    Net::new(pins)
}

/// A grid and nets on it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The grid.
    pub grid: RoutingGrid,
    /// The nets.
    pub nets: Vec<Net>,
    /// What the case was drawn from, to show where it fails.
    pub recipe: Recipe,
}

/// What a [`Case`] is drawn from. A recipe is small: it shrinks quickly, and prints on one line.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Cells in a row.
    pub width: u32,
    /// Cells in a column.
    pub height: u32,
    /// Layers, at least one.
    pub layers: u32,
    /// The smallest weight.
    pub least: u32,
    /// The largest weight.
    pub most: u32,
    /// The percentage of edges that are blocked; of cells, half of it.
    pub blocked: u32,
    /// Whether layers have preferred directions, horizontal and vertical in turn.
    pub preferred: bool,
    /// Nets.
    pub nets: u32,
    /// The largest number of pins of a net.
    pub pins: u32,
    /// The largest number of cells of a pin.
    pub pin_cells: u32,
    /// Whether nets may have windows.
    pub windows: bool,
    /// Seeds whatever the fields above leave open.
    pub seed: u64,
}

impl Recipe {
    /// The case of this recipe, always the same.
    pub fn draw(&self) -> Case {
        let mut random = Random::new(self.seed);
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
            pins.push(Pin::new(pin));
        }
        Net::new(pins).within(cropped.then_some(window))
    }
}

/// Cases of all kinds, with sides up to `largest`: lines and single cells; weights with many ties,
/// plateaus of weight 0, the largest weights; blocked edges and cells; layers; pins of several
/// cells, repeated pins, and pins that no path reaches; windows.
pub fn case(largest: u32) -> impl Strategy<Value = Case> {
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
