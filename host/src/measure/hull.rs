//! The convex hull of an object, and the pixels in it.
//!
//! A pixel is represented by the middles of its four sides, as in scikit-image's
//! `convex_hull_image`, and a pixel is in the hull if its center is, or is on its edge. Doubled
//! coordinates make all of this integers, so that no tolerance is needed.

use super::sums::Span;
use crate::error::Result;
use crate::memory::{push, reserve};

/// The first and last column of each row of an object's convex hull; and memory that is used again
/// for each object.
#[derive(Default)]
pub(super) struct Hull {
    /// Of the object, for its rows that have pixels; then of the hull, for all of its rows.
    rows: Vec<[i64; 3]>,
    chain: Vec<[i64; 2]>,
    bounds: Vec<[i64; 2]>,
}

const WHAT: &str = "a convex hull";

/// Where an edge is `down` half rows below its start: the column, rounded down, and the remainder
/// of the division. The edge starts at `x0` and moves `rise` half columns in `steps` half rows.
#[inline(always)]
fn start(x0: i64, steps: i64, rise: i64, down: i64) -> (i64, i64) {
    const NARROW: i64 = 1 << 30;
    let divisor = 2 * steps;
    if x0.abs().max(rise.abs()).max(steps) < NARROW {
        let value = x0 * steps + rise * down;
        return (value.div_euclid(divisor), value.rem_euclid(divisor));
    }
    let value = i128::from(x0) * i128::from(steps) + i128::from(rise) * i128::from(down);
    let divisor = i128::from(divisor);
    (
        value.div_euclid(divisor) as i64,
        value.rem_euclid(divisor) as i64,
    )
}

impl Hull {
    /// Finds the hull of the object with these runs, which are in raster order. Rows and columns
    /// count from those of the first run.
    pub(super) fn find(&mut self, spans: &[Span]) -> Result<()> {
        self.rows.clear();
        let Some(first) = spans.first() else {
            return Ok(());
        };
        for runs in spans.chunk_by(|a, b| a.row == b.row) {
            let row = i64::from(runs[0].row) - i64::from(first.row);
            let origin = i64::from(first.start);
            let start = i64::from(runs[0].start) - origin;
            let end = i64::from(runs[runs.len() - 1].end) - 1 - origin;
            push(&mut self.rows, [row, start, end], WHAT)?;
        }
        let height = self.rows[self.rows.len() - 1][0] + 1;
        self.bounds.clear();
        reserve(&mut self.bounds, height as usize, WHAT)?;
        self.bounds.resize(height as usize, [0; 2]);
        for (side, sign) in [(0, -1), (1, 1)] {
            self.find_chain(side, sign)?;
            // The last column inside: that of the chain, rounded down.
            for edge in 1..self.chain.len() {
                let ([y0, x0], [y1, x1]) = (self.chain[edge - 1], self.chain[edge]);
                let (steps, rise) = (y1 - y0, x1 - x0);
                // Doubled, a row's coordinate is even.
                let mut row = (y0 + 1).div_euclid(2).max(0);
                let end = y1.div_euclid(2).min(height - 1);
                let (divisor, by_row) = (2 * steps, 2 * rise);
                let (mut column, mut rest) = start(x0, steps, rise, 2 * row - y0);
                let (whole, part) = (by_row.div_euclid(divisor), by_row.rem_euclid(divisor));
                while row <= end {
                    self.bounds[row as usize][side] = sign * column;
                    column += whole;
                    rest += part;
                    if rest >= divisor {
                        rest -= divisor;
                        column += 1;
                    }
                    row += 1;
                }
            }
        }
        Ok(())
    }

    /// The left or the right chain of the hull of the rows' pixels, from top to bottom: points
    /// `[y, x]` in doubled coordinates, where x counts to the outside.
    fn find_chain(&mut self, side: usize, sign: i64) -> Result<()> {
        self.chain.clear();
        // The last row's lower corner is the next one's upper corner, if it is adjacent.
        let mut corner: Option<[i64; 2]> = None;
        for i in 0..self.rows.len() {
            let row = self.rows[i][0];
            let outside = 2 * sign * self.rows[i][1 + side];
            let mut upper = [2 * row - 1, outside];
            if let Some(lower) = corner {
                if lower[0] == upper[0] {
                    upper[1] = upper[1].max(lower[1]);
                } else {
                    self.add(lower)?;
                }
            }
            self.add(upper)?;
            self.add([2 * row, outside + 1])?;
            corner = Some([2 * row + 1, outside]);
        }
        corner.map_or(Ok(()), |last| self.add(last))
    }

    /// Adds a point to the chain, and removes those that are then inside.
    fn add(&mut self, point: [i64; 2]) -> Result<()> {
        while let [.., a, b] = self.chain[..] {
            let across = i128::from(b[1] - a[1]) * i128::from(point[0] - a[0]);
            let along = i128::from(point[1] - a[1]) * i128::from(b[0] - a[0]);
            if across > along {
                break;
            }
            self.chain.pop();
        }
        push(&mut self.chain, point, WHAT)
    }

    /// The number of pixels in the hull.
    pub(super) fn area(&self) -> u64 {
        let lengths = self.bounds.iter().map(|[first, last]| last - first + 1);
        lengths.sum::<i64>() as u64
    }

    /// The longest distance between two points of the outline of the hull's pixels: of the middles
    /// of their outer sides. `spacing` is that of rows and of columns.
    pub(super) fn diameter(&mut self, spacing: [f64; 2]) -> Result<f64> {
        self.rows.clear();
        for (row, bounds) in (0..).zip(&self.bounds) {
            push(&mut self.rows, [row, bounds[0], bounds[1]], WHAT)?;
        }
        let mut points = Vec::new();
        for (side, sign) in [(0, -1), (1, 1)] {
            self.find_chain(side, sign)?;
            reserve(&mut points, self.chain.len(), WHAT)?;
            points.extend(self.chain.iter().map(|&[y, x]| {
                [
                    y as f64 / 2.0 * spacing[0],
                    (sign * x) as f64 / 2.0 * spacing[1],
                ]
            }));
        }
        let mut longest = 0.0f64;
        for (i, a) in points.iter().enumerate() {
            for b in &points[i + 1..] {
                let (dy, dx) = (a[0] - b[0], a[1] - b[1]);
                longest = longest.max(dy * dy + dx * dx);
            }
        }
        Ok(longest.sqrt())
    }
}
