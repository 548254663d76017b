//! Where to slice a region that is too long.

use glam::IVec2;

use super::bands::bands_of;
use super::joints::CUT;
use super::region::{Part, Region};
use super::{RINGS, no_region};
use crate::error::Result;
use crate::memory::{push, reserve};

/// The largest number of bands of one slicing: each allocates memory while it is filled.
const MAX_BANDS: usize = 64;

/// The approximate number of a region's edges that are sampled to choose where to slice it.
const SAMPLES: usize = 1 << 14;

const COLUMNS: usize = 0;
const ROWS: usize = 1;

/// Slices a region of one component that is too long, and appends its parts in reverse order.
pub(super) fn slice(region: &Region<'_>, limit: usize, parts: &mut Vec<Part>) -> Result<()> {
    let holes = region.rings.len() - region.outers;
    let length = region.rings.iter().map(|ring| ring.len()).sum::<usize>() + holes * CUT;
    // About as many bands as each of them will be sliced into later.
    let bands = length.div_ceil(limit).isqrt() + 1;
    let survey = Survey::of(region)?;
    let lines = |bands| {
        let rows = survey.lines::<ROWS>(region, bands);
        let columns = survey.lines::<COLUMNS>(region, bands);
        match (rows, columns) {
            (Some(rows), Some(columns)) if columns.cost() < rows.cost() => Some((COLUMNS, columns)),
            (Some(rows), _) => Some((ROWS, rows)),
            (None, Some(columns)) => Some((COLUMNS, columns)),
            (None, None) => None,
        }
    };
    let mut best = lines(bands.clamp(2, MAX_BANDS)).ok_or_else(no_region)?;
    // If every line crosses many edges, as in a spiral, a band falls into many components, so one
    // line is enough.
    if best.1.ends > survey.edges.len() / 2 {
        best = lines(2).ok_or_else(no_region)?;
    }
    let sliced = match best.0 {
        ROWS => bands_of::<ROWS>(region, &best.1.at)?,
        _ => bands_of::<COLUMNS>(region, &best.1.at)?,
    };
    reserve(parts, sliced.len(), RINGS)?;
    parts.extend(sliced.into_iter().rev());
    Ok(())
}

/// A sample of a region, to choose where to slice it.
struct Survey {
    min: IVec2,
    max: IVec2,
    /// Some of its edges.
    edges: Vec<(IVec2, IVec2)>,
}

/// Lines between pixels to slice a region along.
struct Lines {
    /// Their coordinates, ascending.
    at: Vec<i32>,
    /// The number of ends that slicing the sampled edges makes at the lines.
    ends: usize,
}

impl Lines {
    /// The number of ends per line.
    fn cost(&self) -> f64 {
        self.ends as f64 / self.at.len() as f64
    }
}

impl Survey {
    fn of(region: &Region<'_>) -> Result<Self> {
        let (mut min, mut max) = (IVec2::MAX, IVec2::MIN);
        let all: usize = region.rings.iter().map(|ring| ring.len()).sum();
        let step = all.div_ceil(SAMPLES);
        let mut edges = Vec::new();
        reserve(&mut edges, all.div_ceil(step.max(1)) + 1, RINGS)?;
        let (mut passed, mut next) = (0, 0);
        // Irregular steps, because rings are often regular.
        let mut random = 1u64;
        for &ring in &region.rings {
            for &point in ring {
                min = min.min(point);
                max = max.max(point);
            }
            while next < passed + ring.len() {
                let i = next - passed;
                push(&mut edges, (ring[i], ring[(i + 1) % ring.len()]), RINGS)?;
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                next += if step > 1 {
                    1 + (random >> 33) as usize % (2 * step - 1)
                } else {
                    1
                };
            }
            passed += ring.len();
        }
        Ok(Self { min, max, edges })
    }

    /// At most `bands - 1` lines strictly inside the bounding box, with about equal numbers of
    /// vertices in the bands between them; `None` if no vertex is strictly inside.
    fn lines<const AXIS: usize>(&self, region: &Region<'_>, bands: usize) -> Option<Lines> {
        let inside = |p: &IVec2| p[AXIS] > self.min[AXIS] && p[AXIS] < self.max[AXIS];
        let of_edges = self.edges.iter().map(|edge| &edge.0);
        let mut places: Vec<i32> = of_edges.filter(|p| inside(p)).map(|p| p[AXIS]).collect();
        places.sort_unstable();
        if places.is_empty() {
            let mut points = region.rings.iter().copied().flatten();
            places.push(points.find(|p| inside(p))?[AXIS]);
        }
        let mut at: Vec<i32> = (1..bands)
            .map(|band| places[band * places.len() / bands])
            .collect();
        at.dedup();
        let ends = |&(a, b): &(IVec2, IVec2)| {
            let (low, high) = (a[AXIS].min(b[AXIS]), a[AXIS].max(b[AXIS]));
            let up_to = |end: i32| at.partition_point(|&line| line <= end);
            let below = |end: i32| at.partition_point(|&line| line < end);
            (up_to(high) - up_to(low)) + (below(high) - below(low))
        };
        let ends = self.edges.iter().map(ends).sum();
        Some(Lines { at, ends })
    }
}
