//! [`Corridor`]: the cells near the paths of least cost between two sets of sources.

use rayon::prelude::*;

use super::real::Real;
use super::result::{CostDistance, Costs};
use crate::error::{Error, OptionProblem, Result};
use crate::memory::filled_vec;

/// The sum of two cost surfaces: what the least path through each cell costs from one set of
/// sources to the other.
#[derive(Clone, Debug)]
pub struct Corridor {
    width: u32,
    height: u32,
    costs: Costs,
    least: Option<f64>,
}

impl Corridor {
    /// Width in cells.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in cells.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The sums, row by row; NaN outside the corridor.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// The sums, without a copy.
    pub fn into_costs(self) -> Costs {
        self.costs
    }

    /// The least sum, which is the cost of the best path; `None` if no path joins the two sets.
    pub fn least(&self) -> Option<f64> {
        self.least
    }
}

/// The sum of two surfaces, rounded in their precision. With a `threshold`, only cells remain whose
/// sum is at most the least sum plus `threshold`; others are NaN.
///
/// ```
/// use trazar::distance::{CostDistanceOptions, CostSurface, Sources, corridor};
/// use trazar::{Engine, Samples};
///
/// let surface = CostSurface::new(Samples::new(3, 2, &[1.0f32; 6])?);
/// let options = CostDistanceOptions::default();
/// let from = |cell| {
///     Engine::cpu().cost_distance(&surface, &Sources::from_cells([cell]), &options)
/// };
/// let corridor = corridor(&from((0, 0))?, &from((2, 0))?, Some(0.5))?;
/// assert_eq!(corridor.least(), Some(2.0));
/// let kept = corridor.costs().as_f32().unwrap().iter().map(|sum| !sum.is_nan());
/// assert_eq!(kept.collect::<Vec<_>>(), [true, true, true, false, false, false]);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::RastersDiffer`] for surfaces that differ in size or precision,
/// [`Error::InvalidOption`] for a threshold that is negative or NaN, [`Error::OutOfMemory`].
pub fn corridor(
    first: &CostDistance,
    second: &CostDistance,
    threshold: Option<f64>,
) -> Result<Corridor> {
    let size = |of: &CostDistance| format!("{} × {} cells", of.width(), of.height());
    if (first.width(), first.height()) != (second.width(), second.height()) {
        return Err(Error::RastersDiffer {
            what: "size",
            first: size(first),
            second: size(second),
        });
    }
    if let Some(threshold) = threshold.filter(|&it| it < 0.0 || it.is_nan()) {
        let why = format!("the threshold is {threshold}: it must be 0 or more");
        return Err(Error::option("threshold", OptionProblem::OutOfRange, why));
    }
    crate::threads::ensure();
    let (costs, least) = match (first.costs(), second.costs()) {
        (Costs::F32(first), Costs::F32(second)) => sum(first, second, threshold)?,
        (Costs::F64(first), Costs::F64(second)) => sum(first, second, threshold)?,
        (first, second) => {
            return Err(Error::RastersDiffer {
                what: "precision",
                first: first.precision().to_string(),
                second: second.precision().to_string(),
            });
        }
    };
    Ok(Corridor {
        width: first.width(),
        height: first.height(),
        costs,
        least,
    })
}

fn sum<P: Real>(first: &[P], second: &[P], threshold: Option<f64>) -> Result<(Costs, Option<f64>)> {
    let mut sums = filled_vec(P::NAN, first.len(), "the corridor")?;
    let least = sums
        .par_iter_mut()
        .zip(first.par_iter().zip(second))
        .map(|(sum, (&first, &second))| {
            let both = first + second;
            // Neither NaN nor an overflow.
            if both.is_finite() {
                *sum = both;
                return both;
            }
            P::INFINITY
        })
        .reduce(|| P::INFINITY, |a, b| if b < a { b } else { a });
    if !least.is_finite() {
        return Ok((P::wrap(sums), None));
    }
    if let Some(threshold) = threshold {
        let limit = least + P::from_f64(threshold);
        sums.par_iter_mut().for_each(|sum| {
            // NaN stays.
            if *sum > limit {
                *sum = P::NAN;
            }
        });
    }
    Ok((P::wrap(sums), Some(least.to_f64())))
}
