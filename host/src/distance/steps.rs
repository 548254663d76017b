//! Steps to neighbours: directions, lengths, and the one sequence of operations of a step's cost.

use super::options::{CellSize, CostDistanceOptions, Neighbours, StepCost};
use super::real::Real;

/// A direction's code: where the next cell on the way back to the source is.
///
/// | code | cell | code | cell |
/// |---|---|---|---|
/// | 0 | this cell is the source | | |
/// | 1 | right | 2 | lower right |
/// | 3 | below | 4 | lower left |
/// | 5 | left | 6 | upper left |
/// | 7 | above | 8 | upper right |
/// | 9 | 2 right, 1 down | 10 | 1 right, 2 down |
/// | 11 | 1 left, 2 down | 12 | 2 left, 1 down |
/// | 13 | 2 left, 1 up | 14 | 1 left, 2 up |
/// | 15 | 1 right, 2 up | 16 | 2 right, 1 up |
///
/// Codes 1 to 8 are those of ArcGIS's back link. [`NO_DIRECTION`] marks cells that nothing reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Direction(u8);

/// The direction of cells that nothing reaches.
pub const NO_DIRECTION: u8 = 255;

/// `(x, y)` of the direction with code `i + 1`.
pub(crate) const OFFSETS: [(i32, i32); 16] = [
    (1, 0),
    (1, 1),
    (0, 1),
    (-1, 1),
    (-1, 0),
    (-1, -1),
    (0, -1),
    (1, -1),
    (2, 1),
    (1, 2),
    (-1, 2),
    (-2, 1),
    (-2, -1),
    (-1, -2),
    (1, -2),
    (2, -1),
];

impl Direction {
    /// The direction with a code from 0 to 16.
    pub fn from_code(code: u8) -> Option<Self> {
        (code <= 16).then_some(Self(code))
    }

    /// The code.
    pub fn code(self) -> u8 {
        self.0
    }

    /// Columns to the right and rows down; `(0, 0)` at the source.
    pub fn offset(self) -> (i32, i32) {
        match self.0 {
            0 => (0, 0),
            code => OFFSETS[usize::from(code) - 1],
        }
    }
}

impl Neighbours {
    /// The codes of the directions to the neighbours, in ascending order.
    pub fn codes(self) -> &'static [u8] {
        match self {
            Self::Four => &[1, 3, 5, 7],
            Self::Eight => &[1, 2, 3, 4, 5, 6, 7, 8],
            Self::Sixteen => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        }
    }

    /// How far a step leads, in rows and columns.
    pub(crate) fn reach(self) -> usize {
        match self {
            Self::Four | Self::Eight => 1,
            Self::Sixteen => 2,
        }
    }
}

/// A step in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<P> {
    /// The direction's code.
    pub(crate) code: u8,
    /// Columns and rows.
    pub(crate) offset: (i32, i32),
    /// The cells that a knight's move passes through, as offsets.
    pub(crate) passes: Option<[(i32, i32); 2]>,
    /// The length divided by the number of cells that the step crosses: 2, or 4 for a knight's
    /// move.
    pub(crate) share: P,
    /// Whether it costs the friction of the cell that it enters ([`StepCost::Entered`]).
    pub(crate) entered: bool,
}

impl<P: Real> Step<P> {
    /// The step with that code, for cells of that size.
    pub(crate) fn new(code: u8, size: CellSize) -> Self {
        let offset @ (x, y) = OFFSETS[usize::from(code) - 1];
        let (along_x, along_y) = (size.x * f64::from(x), size.y * f64::from(y));
        let length = (along_y * along_y + along_x * along_x).sqrt();
        let passes = (code > 8).then(|| {
            // The segment crosses four cells, each for a quarter of its length: its ends, the next
            // cell along the longer axis, and that cell's neighbour along both.
            if x.abs() == 2 {
                [(x / 2, 0), (x / 2, y)]
            } else {
                [(0, y / 2), (x, y / 2)]
            }
        });
        let part = if passes.is_some() { 0.25 } else { 0.5 };
        Self {
            code,
            offset,
            passes,
            share: P::from_f64(part * length),
            entered: false,
        }
    }

    /// All steps to neighbours, in the order of their codes.
    pub(crate) fn all(options: &CostDistanceOptions) -> Vec<Self> {
        let codes = options.neighbours.codes().iter();
        let entered = options.step_cost == StepCost::Entered;
        let steps = codes.map(|&code| Self {
            entered,
            ..Self::new(code, options.cell_size)
        });
        steps.collect()
    }

    /// What the step costs from a cell to its neighbour, whose friction is `from` and `to`;
    /// infinity if one of the cells is a barrier. `at(x, y)` is the friction at an offset from the
    /// first cell.
    ///
    /// Additions commute and come in pairs, so that the step back costs the same, unless steps cost
    /// what they enter.
    #[inline(always)]
    pub(crate) fn cost(&self, from: P, to: P, at: impl Fn((i32, i32)) -> P) -> P {
        match self.passes {
            // Nothing is at a barrier, so no step leaves one.
            None if self.entered => to,
            None => self.share * (from + to),
            Some([first, second]) => self.share * ((from + to) + (at(first) + at(second))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_step_back_of_equal_cost() {
        let size = CellSize { x: 3.0, y: 0.7 };
        let options = CostDistanceOptions::default().neighbours(Neighbours::Sixteen);
        let all = Step::<f32>::all(&options.cell_size(size));
        for step in &all {
            let (x, y) = step.offset;
            let back = all.iter().find(|back| back.offset == (-x, -y));
            let back = back.expect("a step back");
            assert_eq!(step.share.to_bits(), back.share.to_bits());
            let seen = step.passes.map(|cells| cells.map(|(a, b)| (a - x, b - y)));
            let mut seen = seen.unwrap_or_default();
            seen.reverse();
            assert_eq!(seen, back.passes.unwrap_or_default(), "{step:?}");
        }
    }

    /// The crossed cells, by sampling the segment.
    #[test]
    fn a_knights_move_passes_each_cell_for_a_quarter_of_its_length() {
        for code in 9..=16 {
            let step = Step::<f64>::new(code, CellSize::default());
            let (x, y) = step.offset;
            let mut counts = std::collections::HashMap::new();
            const SAMPLES: i32 = 4000;
            for i in 0..SAMPLES {
                let t = (f64::from(i) + 0.5) / f64::from(SAMPLES);
                let cell = [x, y].map(|side| (f64::from(side) * t).round() as i32);
                *counts.entry((cell[0], cell[1])).or_insert(0) += 1;
            }
            let [first, second] = step.passes.expect("a knight's move");
            for cell in [(0, 0), first, second, (x, y)] {
                assert_eq!(counts.get(&cell), Some(&(SAMPLES / 4)), "{step:?} {cell:?}");
            }
        }
    }
}
