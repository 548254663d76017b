//! [`RandomNets`]: random grids with nets to route.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::noise::check_density;
use super::random::{below, random};
use crate::error::{Error, OptionProblem, Result};
use crate::memory::reserve;
use crate::options::setters;
use crate::route::{
    BLOCKED, Cell, Direction, MAX_LAYERS, Net, Pin, RoutingCase, RoutingGrid, check_size,
};

/// The parameters of a random grid with nets of random pins.
///
/// ```
/// use trazar::generate::RandomNets;
///
/// // Weights from 1 to 90, the default.
/// let case = RandomNets::default().width(64).height(32).pins(9).generate(7)?;
/// assert_eq!(case.nets[0].pins.len(), 9);
/// assert!(case.grid.max_weight() <= 90);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// The same values and seed give the same case on every machine:
///
/// - weights are independent whole numbers from `weights`, all equally likely to within 2⁻³²;
/// - with several layers, the first and every second layer after it have wires along x only, the
///   others along y only; each via costs `via_weight`;
/// - each pin is one cell on layer 0; the pins of a net are drawn without repetition, all choices
///   being equally likely, but two nets may have a pin at the same cell;
/// - each cell of each layer that is not a pin is blocked with probability `blocked`, independently
///   of the others, so two pins may have no path.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RandomNets {
    /// Width in cells; 1024 by default.
    pub width: u32,
    /// Height in cells; 1024 by default.
    pub height: u32,
    /// The number of layers, 1 to [`MAX_LAYERS`]; 1 by default.
    pub layers: u32,
    /// The smallest and the largest weight; 1 and 90 by default.
    pub weights: RangeInclusive<u32>,
    /// The cost of a via between two layers; 90 by default.
    pub via_weight: u32,
    /// The share of cells to block, 0 to 1; 0 by default.
    pub blocked: f64,
    /// The number of nets; 1 by default.
    pub nets: u32,
    /// The number of pins per net; 16 by default.
    pub pins: u32,
}

impl Default for RandomNets {
    fn default() -> Self {
        Self {
            width: 1024,
            height: 1024,
            layers: 1,
            weights: 1..=90,
            via_weight: 90,
            blocked: 0.0,
            nets: 1,
            pins: 16,
        }
    }
}

setters! {
    RandomNets {
        width: u32,
        height: u32,
        layers: u32,
        weights: RangeInclusive<u32>,
        via_weight: u32,
        blocked: f64,
        nets: u32,
        pins: u32,
    }
}

/// Stream numbers, the upper half of an index in the random sequence. The pins of net `n` have
/// `PINS + n`.
mod stream {
    pub(super) const RIGHT: u64 = 0;
    pub(super) const DOWN: u64 = 1;
    pub(super) const BLOCKED: u64 = 2;
    pub(super) const PINS: u64 = 3;
}

/// The most pins of all nets together.
const MAX_PINS: u64 = u32::MAX as u64;

impl RandomNets {
    /// Makes the case.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for more pins per net than a layer has cells, more than 2³² - 1
    /// pins in all, an empty range of weights or one that includes `BLOCKED`, a share that is not
    /// from 0 to 1, no layers, or more than [`MAX_LAYERS`]; [`Error::EmptyGrid`],
    /// [`Error::GridTooLarge`], [`Error::OutOfMemory`].
    pub fn generate(&self, seed: u64) -> Result<RoutingCase> {
        self.check()?;
        let mut grid = RoutingGrid::blocked(self.width, self.height, self.layers)?;
        self.draw_weights(&mut grid, seed);
        self.check_memory()?;
        let nets: Vec<Net> = (0..self.nets).map(|net| self.net(net, seed)).collect();
        if self.blocked > 0.0 {
            let pins = nets.iter().flat_map(|net| &net.pins);
            let mut pins: Vec<u32> = pins.map(|pin| grid.index(pin.cells[0])).collect();
            pins.sort_unstable();
            // The share of numbers from 0 to 2³² - 1 that are below the limit is `blocked`.
            let limit = (self.blocked * 4_294_967_296.0) as u64;
            for index in 0..grid.cell_count() {
                let drawn = random(seed, stream::BLOCKED << 32 | u64::from(index)) >> 32;
                if drawn < limit && pins.binary_search(&index).is_err() {
                    grid.block(grid.cell(index))?;
                }
            }
        }
        Ok(RoutingCase::new(grid, nets))
    }

    fn check(&self) -> Result<()> {
        let invalid =
            |option, reason: String| Err(Error::option(option, OptionProblem::OutOfRange, reason));
        check_size(self.width.into(), self.height.into(), self.layers)?;
        check_density(self.blocked)?;
        if !(1..=MAX_LAYERS).contains(&self.layers) {
            return invalid(
                "layers",
                format!("{} layers: a grid has 1 to {MAX_LAYERS}", self.layers),
            );
        }
        let (least, most) = (*self.weights.start(), *self.weights.end());
        if least > most || most == BLOCKED {
            return invalid(
                "weights",
                format!(
                    "weights from {least} to {most}: they must be from 0 to {} and the first the \
                 smaller",
                    BLOCKED - 1
                ),
            );
        }
        if self.via_weight == BLOCKED {
            return invalid(
                "via_weight",
                format!(
                    "a via weight of {BLOCKED}: it must be from 0 to {}",
                    BLOCKED - 1
                ),
            );
        }
        let pins = u64::from(self.nets) * u64::from(self.pins);
        if pins > MAX_PINS {
            return invalid(
                "nets",
                format!(
                    "{} nets of {} pins are {pins} pins: {MAX_PINS} is the most",
                    self.nets, self.pins
                ),
            );
        }
        let cells = u64::from(self.width) * u64::from(self.height);
        if u64::from(self.pins) > cells {
            return invalid(
                "pins",
                format!("{} pins on {cells} cells: each pin has its own", self.pins),
            );
        }
        Ok(())
    }

    /// Requests the nets' memory all at once: a failed request is an error here, but would be an
    /// abort if made pin by pin.
    fn check_memory(&self) -> Result<()> {
        const NET: u128 = size_of::<Net>() as u128;
        // With its list of cells, which is a separate allocation.
        const PIN: u128 = (size_of::<Pin>() + 2 * size_of::<Cell>()) as u128;
        let bytes = u128::from(self.nets) * (NET + u128::from(self.pins) * PIN);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        reserve(&mut Vec::<u8>::new(), bytes, "the nets")
    }

    fn draw_weights(&self, grid: &mut RoutingGrid, seed: u64) {
        let (width, height) = (self.width as usize, self.height as usize);
        let least = *self.weights.start();
        let count = u64::from(*self.weights.end() - least) + 1;
        let weight = |stream: u64, cell: usize| {
            let drawn = random(seed, stream << 32 | cell as u64);
            least + below(drawn, count) as u32
        };
        let runs = |layer: usize, direction: Direction| {
            self.layers == 1 || layer.is_multiple_of(2) == (direction == Direction::Horizontal)
        };
        let [rights, downs, vias] = grid.weights_mut();
        for cell in 0..rights.len() {
            let (x, line) = (cell % width, cell / width);
            let (y, layer) = (line % height, line / height);
            if x + 1 < width && runs(layer, Direction::Horizontal) {
                rights[cell] = weight(stream::RIGHT, cell);
            }
            if y + 1 < height && runs(layer, Direction::Vertical) {
                downs[cell] = weight(stream::DOWN, cell);
            }
        }
        let last_layer = vias.len().saturating_sub(width * height);
        vias[..last_layer].fill(self.via_weight);
    }

    /// Draws the pins by a Fisher-Yates shuffle of layer 0's cells that stops after the last pin.
    fn net(&self, net: u32, seed: u64) -> Net {
        let cells = u64::from(self.width) * u64::from(self.height);
        // The cells that have left their own place.
        let mut moved: HashMap<u64, u64> = HashMap::new();
        let mut draw = |i: u64| {
            let drawn = random(seed, (stream::PINS + u64::from(net)) << 32 | i);
            let j = i + below(drawn, cells - i);
            let at_i = moved.get(&i).copied().unwrap_or(i);
            moved.insert(j, at_i).unwrap_or(j)
        };
        let width = u64::from(self.width);
        Net::from_cells((0..self.pins.into()).map(|i| {
            let cell = draw(i);
            Cell::at((cell % width) as u32, (cell / width) as u32)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fingerprint::fingerprint;
    use super::*;
    use std::collections::BTreeSet;

    fn small() -> RandomNets {
        RandomNets {
            width: 20,
            height: 15,
            pins: 12,
            ..RandomNets::default()
        }
    }

    #[test]
    fn never_change() {
        // From the first version: results of benchmarks and tests refer to them.
        let case = small().generate(7).unwrap();
        assert_eq!(case.grid.rights()[..6], [36, 2, 82, 53, 41, 23]);
        assert_eq!(case.grid.downs()[..6], [53, 38, 16, 62, 84, 62]);
        let pins = case.nets[0].pins.iter().take(4);
        let pins: Vec<_> = pins.map(|pin| (pin.cells[0].x, pin.cells[0].y)).collect();
        assert_eq!(pins, [(7, 2), (3, 13), (17, 7), (12, 4)]);

        let case = RandomNets {
            layers: 3,
            blocked: 0.2,
            nets: 4,
            ..small()
        };
        let case = case.generate(7).unwrap();
        let grid = &case.grid;
        let weights = [grid.rights(), grid.downs(), grid.vias()].concat();
        let pins = case.nets.iter().flat_map(|net| &net.pins);
        let cells = pins.flat_map(|pin| &pin.cells);
        let numbers = weights
            .into_iter()
            .chain(cells.flat_map(|cell| [cell.x, cell.y, cell.layer]));
        let found = fingerprint(numbers.flat_map(u32::to_le_bytes));
        assert_eq!(found, 0x276e_54aa_ac67_b8d3, "{found:#x}");
    }

    #[test]
    fn weights_are_uniform_in_their_range() {
        let case = RandomNets {
            width: 300,
            height: 300,
            weights: 3..=7,
            ..RandomNets::default()
        };
        let grid = case.generate(1).unwrap().grid;
        let mut counts = [0u32; 8];
        for &weight in grid.rights().iter().chain(grid.downs()) {
            if weight != BLOCKED {
                counts[weight as usize] += 1;
            }
        }
        assert_eq!(counts.iter().sum::<u32>(), 2 * 300 * 299);
        assert_eq!(counts[..3], [0; 3]);
        // A fifth each: 35,880; five standard deviations are 850.
        for count in &counts[3..] {
            assert!(count.abs_diff(35_880) < 850, "{counts:?}");
        }
        let one = RandomNets {
            weights: 0..=BLOCKED - 1,
            ..case
        };
        assert!(one.generate(1).unwrap().grid.max_weight() > 4_000_000_000);
    }

    #[test]
    fn pins_are_distinct_up_to_every_cell() {
        for pins in [0, 1, 150, 299, 300] {
            let case = RandomNets {
                pins,
                nets: 3,
                ..small()
            };
            let case = case.generate(5).unwrap();
            assert_eq!(case.nets.len(), 3);
            for net in &case.nets {
                let cells: BTreeSet<_> = net.pins.iter().map(|pin| pin.cells[0]).collect();
                assert_eq!(cells.len(), pins as usize);
                assert!(cells.iter().all(|&cell| case.grid.contains(cell)));
            }
            if pins > 100 && pins < 300 {
                assert_ne!(case.nets[0], case.nets[1]);
            }
        }
    }

    #[test]
    fn pins_are_anywhere() {
        // 9 cells, 3 pins each: every cell 1000 times; five standard deviations are 130.
        let mut counts = [0u32; 9];
        for seed in 0..3000 {
            let case = RandomNets {
                width: 3,
                height: 3,
                pins: 3,
                ..small()
            };
            let case = case.generate(seed).unwrap();
            for pin in &case.nets[0].pins {
                counts[case.grid.index(pin.cells[0]) as usize] += 1;
            }
        }
        for count in counts {
            assert!(count.abs_diff(1000) < 130, "{counts:?}");
        }
    }

    #[test]
    fn layers_have_directions() {
        let case = RandomNets {
            layers: 3,
            via_weight: 17,
            ..small()
        };
        let grid = case.generate(2).unwrap().grid;
        let area = 20 * 15;
        let open = |weights: &[u32]| weights.iter().filter(|&&w| w != BLOCKED).count();
        for layer in 0..3 {
            let (rights, downs) = (
                &grid.rights()[layer * area..],
                &grid.downs()[layer * area..],
            );
            let (right, down) = (open(&rights[..area]), open(&downs[..area]));
            match layer % 2 {
                0 => assert_eq!((right, down), (19 * 15, 0)),
                _ => assert_eq!((right, down), (0, 20 * 14)),
            }
        }
        assert!(grid.vias()[..2 * area].iter().all(|&via| via == 17));
        assert!(grid.vias()[2 * area..].iter().all(|&via| via == BLOCKED));
    }

    #[test]
    fn the_share_of_blocked_cells_is_met_and_pins_stay_open() {
        let case = RandomNets {
            width: 200,
            height: 200,
            blocked: 0.3,
            pins: 500,
            ..RandomNets::default()
        };
        let case = case.generate(3).unwrap();
        let grid = &case.grid;
        let blocked = |index: u32| grid.neighbours(index).next().is_none();
        let count = (0..grid.cell_count()).filter(|&n| blocked(n)).count();
        // 30 % of the other 39,500, and cells among blocked ones: 0.3⁴ of the rest.
        assert!(count.abs_diff(11_850 + 227) < 500, "{count}");
        let all = RandomNets {
            blocked: 1.0,
            ..small()
        };
        let all = all.generate(3).unwrap();
        let pins: BTreeSet<_> = all.nets[0].pins.iter().map(|pin| pin.cells[0]).collect();
        // Edges remain between pins only.
        for index in 0..all.grid.cell_count() {
            for (other, _) in all.grid.neighbours(index) {
                assert!(pins.contains(&all.grid.cell(index)));
                assert!(pins.contains(&all.grid.cell(other)));
            }
        }
    }

    #[test]
    fn bad_options_are_refused() {
        let refused = |case: RandomNets, word: &str| match case.generate(0) {
            Err(Error::InvalidOption(error)) => assert!(error.reason.contains(word), "{error}"),
            other => panic!("{other:?}"),
        };
        #[expect(clippy::reversed_empty_ranges)]
        let weights = 5..=4;
        refused(RandomNets { weights, ..small() }, "5 to 4");
        let weights = 0..=BLOCKED;
        refused(RandomNets { weights, ..small() }, "4294967294");
        refused(
            RandomNets {
                via_weight: BLOCKED,
                ..small()
            },
            "via",
        );
        refused(
            RandomNets {
                pins: 301,
                ..small()
            },
            "301 pins on 300",
        );
        refused(
            RandomNets {
                blocked: f64::NAN,
                ..small()
            },
            "0 to 1",
        );
        refused(
            RandomNets {
                layers: 17,
                ..small()
            },
            "1 to 16",
        );
        refused(
            RandomNets {
                layers: 0,
                ..small()
            },
            "1 to 16",
        );
        let empty = RandomNets {
            width: 0,
            ..small()
        };
        assert!(matches!(empty.generate(0), Err(Error::EmptyGrid { .. })));
        let large = RandomNets {
            width: u32::MAX,
            ..small()
        };
        assert!(matches!(large.generate(0), Err(Error::GridTooLarge { .. })));
    }
}
