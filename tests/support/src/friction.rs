//! Random rasters of friction, with sources and options.

use trazar::distance::{
    CellSize, CostDistance, CostDistanceOptions, CostSurface, Costs, Neighbours, Precision, Source,
    Sources,
};
use trazar::{Engine, Error, Result, Samples};
use trazar_test_seeds::Random;

/// A raster of friction, and what is asked of it.
#[derive(Clone, Debug)]
pub struct Friction {
    /// Cells per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Row by row; NaN and infinity are barriers.
    pub values: Vec<f32>,
    /// Sources on cells that are no barriers.
    pub sources: Sources,
    /// How to compute the costs.
    pub options: CostDistanceOptions,
}

/// The kinds of rasters that [`Friction::draw`] draws.
pub const KINDS: [&str; 9] = [
    "reals",
    "few",
    "zeros",
    "barriers",
    "uniform",
    "maze",
    "swallowed",
    "serpentine",
    "huge",
];

impl Friction {
    /// Draws a raster of one of [`KINDS`], with sources and options.
    pub fn draw(kind: &str, width: u32, height: u32, random: &mut Random) -> Self {
        let mut values: Vec<f32> = (0..width * height)
            .map(|i| cell(kind, i % width, i / width, width, random))
            .collect();
        let first = random.below(width * height);
        values[first as usize] = 1.0;
        let mut sources = Sources::default();
        let most = 1 << random.below(5);
        for i in 0..=random.below(most) {
            let cell = if i == 0 {
                first
            } else {
                random.below(width * height)
            };
            if values[cell as usize].is_finite() {
                let mut source = Source::new(cell % width, cell / width, 1 + random.below(4));
                if random.below(4) == 0 {
                    source = source.start_cost(f64::from(random.below(80)) / 4.0);
                }
                sources.push(source).unwrap();
            }
        }
        let neighbours = [Neighbours::Four, Neighbours::Eight, Neighbours::Sixteen];
        let mut options =
            CostDistanceOptions::default().neighbours(neighbours[random.below(3) as usize]);
        if random.below(3) == 0 {
            options = options.cell_size(CellSize { x: 2.0, y: 0.3 });
        }
        if random.below(4) == 0 {
            options = options.max_cost(f64::from(random.below(100)) / 3.0);
        }
        if random.below(3) == 0 {
            options = options.precision(Precision::F64);
        }
        options = options
            .allocation(random.below(2) == 0)
            .direction(random.below(2) == 0);
        Self {
            width,
            height,
            values,
            sources,
            options,
        }
    }

    /// Puts walls into a raster without barriers: `apart` rows of them after each `apart` rows, with
    /// gaps as wide at alternating ends. With `upright`, the raster is transposed, so that they are
    /// columns. The only source is the first cell.
    pub fn wall_off(&mut self, apart: u32, upright: bool) {
        let width = self.width;
        for (i, friction) in (0..).zip(&mut self.values) {
            let (x, y) = (i % width, i / width);
            let is_wall = match (y / apart % 2, y / apart / 2 % 2) {
                (1, 0) => x + apart < width,
                (1, 1) => x >= apart,
                _ => false,
            };
            *friction = match is_wall {
                true => f32::NAN,
                false if friction.is_finite() => *friction,
                false => 1.0,
            };
        }
        if upright {
            let columns = 0..width as usize;
            let rows = self.values.chunks_exact(width as usize);
            let at = |x: usize| rows.clone().map(move |row| row[x]);
            self.values = columns.flat_map(at).collect();
            (self.width, self.height) = (self.height, width);
        }
        self.sources = Sources::from_cells([(0, 0)]);
    }

    /// Computes it.
    ///
    /// # Errors
    /// The engine's.
    pub fn solve(&self, engine: &Engine) -> Result<CostDistance> {
        let samples = Samples::new(self.width, self.height, &self.values)?;
        engine.cost_distance(&CostSurface::new(samples), &self.sources, &self.options)
    }

    /// What differs from the processor's result, or from its error.
    pub fn difference(&self, engine: &Engine) -> Option<String> {
        let (expected, found) = (self.solve(&Engine::cpu()), self.solve(engine));
        let (expected, found) = match (expected, found) {
            (Ok(expected), Ok(found)) => (arrays(&expected), arrays(&found)),
            (Err(expected), Err(found)) if expected.to_string() == found.to_string() => {
                return None;
            }
            (Err(expected), _) => return Some(format!("not the CPU's error: {expected}")),
            (_, Err(found @ Error::CostOverflow { .. })) => {
                return Some(format!("not the CPU's costs: {found}"));
            }
            (_, Err(found)) => return Some(found.to_string()),
        };
        for ((what, expected), (_, found)) in expected.into_iter().zip(found) {
            if expected.len() != found.len() {
                return Some(format!("not as many {what} as the CPU's; {}", self.name()));
            }
            if let Some(at) = (0..expected.len()).find(|&i| expected[i] != found[i]) {
                return Some(format!(
                    "not the CPU's {what} at {}, {}: {:x} instead of {:x}; {}",
                    at as u32 % self.width,
                    at as u32 / self.width,
                    found[at],
                    expected[at],
                    self.name()
                ));
            }
        }
        None
    }

    /// Size and options, for messages.
    pub fn name(&self) -> String {
        format!("{} × {}, {:?}", self.width, self.height, self.options)
    }
}

fn cell(kind: &str, x: u32, y: u32, width: u32, random: &mut Random) -> f32 {
    let positive = |random: &mut Random| (1 + random.below(1 << 20)) as f32 / 65536.0;
    match kind {
        "reals" => positive(random),
        "few" => random.below(3) as f32,
        "zeros" => (random.below(4) / 3) as f32,
        "barriers" => [1.5, f32::NAN, 2.25, f32::INFINITY][random.below(4) as usize],
        "uniform" => 1.5,
        // Walls every second row with one gap each.
        "maze" => match (y % 2, y / 2 % 2) {
            (1, 0) if x + 1 < width => f32::NAN,
            (1, 1) if x > 0 => f32::NAN,
            _ => positive(random),
        },
        // Steps that vanish beside the cost.
        "swallowed" => 10f32.powi(random.below(24) as i32 - 12),
        // Walls 4 cells wide and apart, with a gap at alternating ends.
        "serpentine" => match (y / 4 % 2, y / 8 % 2) {
            (1, 0) if x + 4 < width => f32::INFINITY,
            (1, 1) if x >= 4 => f32::INFINITY,
            _ => positive(random),
        },
        // Sums that overflow in f32.
        "huge" => 3e37 * (1 + random.below(8)) as f32,
        _ => unreachable!("a kind of `KINDS`"),
    }
}

/// The costs' bits, the allocation and the directions, each with its name; nothing in place of what
/// was not asked for.
fn arrays(distance: &CostDistance) -> [(&'static str, Vec<u64>); 3] {
    let costs = match distance.costs() {
        Costs::F32(costs) => costs.iter().map(|cost| cost.to_bits().into()).collect(),
        Costs::F64(costs) => costs.iter().map(|cost| cost.to_bits()).collect(),
        _ => unreachable!("two precisions"),
    };
    let ids = distance.allocation().unwrap_or_default().iter();
    let codes = distance.direction().unwrap_or_default().iter();
    [
        ("costs", costs),
        ("allocation", ids.map(|&id| id.into()).collect()),
        ("directions", codes.map(|&code| code.into()).collect()),
    ]
}
