//! [`Chains`]: borders as they are followed, before they become points.
//!
//! A border is kept as a start and a chain code: one byte a step, the direction of the step.
//! That is an eighth of the points' size, and all approximations are made from it.

use super::contours::BorderKind;

/// A step to a neighbour: 0 = E, 1 = NE, 2 = N, 3 = NW, 4 = W, 5 = SW, 6 = S, 7 = SE.
///
/// Counter-clockwise on the screen, where y points down.
pub(super) type Direction = u8;

/// The change of (x, y) by a step.
pub(super) const STEPS: [(i32, i32); 8] = [
    (1, 0),
    (1, -1),
    (0, -1),
    (-1, -1),
    (-1, 0),
    (-1, 1),
    (0, 1),
    (1, 1),
];

/// The direction back.
pub(super) fn opposite(direction: Direction) -> Direction {
    direction ^ 4
}

/// The index of a border among its [`Chains`].
pub(super) type BorderId = u32;

/// No border: what lies outside the image.
pub(super) const NO_BORDER: BorderId = BorderId::MAX;

/// One border.
#[derive(Clone, Copy, Debug)]
pub(super) struct Border {
    /// Where the chain starts.
    pub(super) start: (u32, u32),
    pub(super) kind: BorderKind,
    /// The border directly around, or [`NO_BORDER`], once it has been found.
    pub(super) parent: BorderId,
    /// Where its steps end in [`Chains::steps`]; they begin where the previous border's end.
    pub(super) steps_end: usize,
}

impl Border {
    pub(super) fn new(start: (u32, u32), kind: BorderKind, steps_end: usize) -> Self {
        Self {
            start,
            kind,
            parent: NO_BORDER,
            steps_end,
        }
    }
}

/// The borders of an image, in raster order of discovery, so that a border stands after the one
/// around it.
#[derive(Debug, Default)]
pub(super) struct Chains {
    pub(super) borders: Vec<Border>,
    pub(super) steps: Vec<Direction>,
    /// The number of points at which a border turns; the point of one without steps counts.
    pub(super) turns: usize,
}

impl Chains {
    /// The steps of border `id`: a closed walk; none for a single point.
    pub(super) fn steps(&self, id: BorderId) -> &[Direction] {
        let id = id as usize;
        let begin = match id {
            0 => 0,
            _ => self.borders[id - 1].steps_end,
        };
        &self.steps[begin..self.borders[id].steps_end]
    }
}
