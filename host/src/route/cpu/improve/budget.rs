//! When to stop improving a tree.

use std::time::Instant;

use crate::route::Effort;
use crate::route::grid::RoutingGrid;

/// The usual effort ends when steps have set this many labels, plus the second number per cell of
/// the grid. A label takes about as much work as one of a search of the whole grid does.
const USUAL_LABELS: [u64; 2] = [5_000, 2];

/// The usual effort takes at most this many steps, plus the second number per pin.
const USUAL_STEPS: [u64; 2] = [48, 4];

/// What one net may take.
pub(super) struct Budget {
    steps: u64,
    labels: u64,
    deadline: Option<Instant>,
}

impl Budget {
    /// For a net of `pins` pins on `grid`. With [`Effort::Time`], it ends at `deadline`.
    pub(super) fn new(
        effort: Effort,
        grid: &RoutingGrid,
        pins: usize,
        deadline: Option<Instant>,
    ) -> Self {
        let (steps, labels) = match effort {
            Effort::Usual => (
                USUAL_STEPS[0] + USUAL_STEPS[1] * pins as u64,
                USUAL_LABELS[0] + USUAL_LABELS[1] * u64::from(grid.cell_count()),
            ),
            Effort::Steps(steps) => (steps.into(), u64::MAX),
            Effort::Time(_) => (u64::MAX, u64::MAX),
        };
        Self {
            steps,
            labels,
            deadline,
        }
    }

    /// Whether another step may follow `steps` that have set `labels` labels.
    pub(super) fn permits(&self, steps: u64, labels: u64) -> bool {
        steps < self.steps && labels < self.labels && !self.is_over()
    }

    /// Whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}
