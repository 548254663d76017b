//! When to stop improving a tree.

use std::time::Instant;

use crate::Result;
use crate::progress::Progress;
use crate::route::Effort;
use crate::route::grid::RoutingGrid;

/// The usual effort ends when steps have set this many labels, plus the second number per cell of
/// the grid. A label takes about as much work as one of a search of the whole grid does.
const USUAL_LABELS: [u64; 2] = [7_500, 3];

/// The usual effort takes at most this many steps, plus the second number per pin.
const USUAL_STEPS: [u64; 2] = [72, 6];

/// The most steps that are tried from the same tree. They are more than most machines have threads,
/// since some steps take several times as long as others.
const MOST_AT_ONCE: u64 = 32;

/// There are at least this many pins per step that is tried from the same tree: steps close to each
/// other would mostly not help together.
const PINS_PER_STEP: u64 = 4;

/// What one net may take.
pub(super) struct Budget {
    steps: u64,
    labels: u64,
    at_once: u64,
    begin: Instant,
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
            at_once: (pins as u64 / PINS_PER_STEP).clamp(1, MOST_AT_ONCE),
            begin: Instant::now(),
            deadline,
        }
    }

    /// Whether another step may follow `steps` that have set `labels` labels.
    pub(super) fn permits(&self, steps: u64, labels: u64) -> bool {
        steps < self.steps && labels < self.labels && !self.is_over()
    }

    /// The most steps that are tried from the same tree.
    pub(super) fn at_once(&self) -> usize {
        self.at_once as usize
    }

    /// How many steps to try next from the same tree, after `steps` that have set `labels` labels:
    /// about as many as are permitted.
    pub(super) fn batch(&self, steps: u64, labels: u64) -> u64 {
        let left = self.labels.saturating_sub(labels).saturating_mul(steps);
        let likely = match labels {
            // Nothing is known of what steps take.
            0 => MOST_AT_ONCE / 4,
            _ => left / labels,
        };
        likely.clamp(1, self.at_once).min(self.steps - steps)
    }

    /// Reports the share of the budget that is spent after `steps` steps that have set `labels`
    /// labels.
    ///
    /// # Errors
    /// [`Error::Cancelled`](crate::Error::Cancelled).
    pub(super) fn report(&self, steps: u64, labels: u64, progress: &Progress<'_>) -> Result<()> {
        // A share of what is not limited is close to 0.
        let of_counts = [(steps, self.steps), (labels, self.labels)];
        let of_counts = of_counts.map(|(done, all)| done as f64 / all.max(1) as f64);
        let of_time = self.deadline.map_or(0.0, |deadline| {
            let all = deadline.saturating_duration_since(self.begin).as_secs_f64();
            self.begin.elapsed().as_secs_f64() / all.max(f64::MIN_POSITIVE)
        });
        progress.report_share(of_counts[0].max(of_counts[1]).max(of_time).min(1.0))
    }

    /// Whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}
