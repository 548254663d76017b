//! The convex hull of an object, and the pixels in it: see [`trazar_kernels::measure::convex`].

use trazar_kernels::measure::convex::{Vertex, corner, is_inside, squared_distance};

use super::sums::Span;
use crate::error::Result;
use crate::memory::{push, reserve};

/// The outermost pixels of each row of an object's convex hull, and memory that is used again for
/// each object.
#[derive(Default)]
pub(super) struct Hull {
    sides: [Side; 2],
    /// The vertices of the outline of the hull's pixels.
    corners: Vec<[f64; 2]>,
}

/// One side of a hull, whose columns count to the outside.
#[derive(Default)]
struct Side {
    /// The vertices `[row, column]`.
    chain: Vec<[i64; 2]>,
    /// The column of the outermost pixel of each row.
    last: Vec<i64>,
}

/// The signs of columns on both sides.
const SIGNS: [i64; 2] = [-1, 1];

const WHAT: &str = "a convex hull";

impl Hull {
    /// Finds the hull of the object with these runs, which are in raster order. Rows and columns
    /// count from those of the first run.
    pub(super) fn find(&mut self, spans: &[Span]) -> Result<()> {
        for side in &mut self.sides {
            side.chain.clear();
        }
        if let [first, ..] = spans {
            let [left, right] = &mut self.sides;
            for runs in spans.chunk_by(|a, b| a.row == b.row) {
                let row = i64::from(runs[0].row) - i64::from(first.row);
                let origin = i64::from(first.start);
                let end = i64::from(runs[runs.len() - 1].end) - 1;
                left.add([row, origin - i64::from(runs[0].start)])?;
                right.add([row, end - origin])?;
            }
        }
        self.sides.iter_mut().try_for_each(Side::find_last)
    }

    /// The number of pixels in the hull.
    pub(super) fn area(&self) -> u64 {
        let columns = |side: &Side| side.last.iter().sum::<i64>();
        let [left, right] = self.sides.each_ref().map(columns);
        (left + right) as u64 + self.sides[0].last.len() as u64
    }

    /// The longest distance between two points of the outline of the hull's pixels: of the middles
    /// of their outer sides. `spacing` is that of rows and of columns.
    pub(super) fn diameter(&mut self, spacing: [f64; 2]) -> Result<f64> {
        self.corners.clear();
        for (side, sign) in self.sides.iter_mut().zip(SIGNS) {
            side.chain.clear();
            for row in 0..side.last.len() {
                side.add([row as i64, side.last[row]])?;
            }
            for vertex in side.vertices() {
                let corners = vertex.corners();
                for number in (0..3).filter(|number| corners >> number & 1 != 0) {
                    push(
                        &mut self.corners,
                        corner(vertex.this, number, sign, spacing),
                        WHAT,
                    )?;
                }
            }
        }
        let mut longest = 0.0f64;
        for (i, &a) in self.corners.iter().enumerate() {
            for &b in &self.corners[i + 1..] {
                longest = longest.max(squared_distance(a, b));
            }
        }
        Ok(longest.sqrt())
    }
}

impl Side {
    /// Adds a point below the others to the chain, and removes those that are then inside.
    fn add(&mut self, point: [i64; 2]) -> Result<()> {
        while let [.., a, b] = self.chain[..]
            && is_inside([a, b, point])
        {
            self.chain.pop();
        }
        push(&mut self.chain, point, WHAT)
    }

    fn vertices(&self) -> impl Iterator<Item = Vertex> {
        let chain = &self.chain;
        chain.iter().enumerate().map(|(i, &this)| Vertex {
            above: i.checked_sub(1).map(|i| chain[i]),
            this,
            below: chain.get(i + 1).copied(),
        })
    }

    /// Finds the outermost pixel of each row.
    fn find_last(&mut self) -> Result<()> {
        let height = self.chain.last().map_or(0, |&[row, _]| row as usize + 1);
        let mut last = std::mem::take(&mut self.last);
        last.clear();
        reserve(&mut last, height, WHAT)?;
        for vertex in self.vertices() {
            vertex.for_each_row(|_, column| last.push(column));
        }
        self.last = last;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The greatest row and the greatest column of an image.
    const LAST: i64 = (1 << 31) - 3;

    fn point() -> impl Strategy<Value = [i64; 2]> {
        [0..=LAST, -LAST..=LAST]
    }

    /// Whether the pixel of this row and column is in the hull at an edge, or further inside.
    fn is_in_hull([upper, lower]: [[i64; 2]; 2], row: i64, column: i64) -> bool {
        let [rows, rise] = [0, 1].map(|i| i128::from(lower[i] - upper[i]));
        // 2 · rows times the edge's column in the row, and that many half rows below it.
        let start = 2 * rows * i128::from(upper[1]);
        let edge = |halves: i128| start + rise * (2 * i128::from(row - upper[0]) + halves);
        // The outer corner of a diamond, and its upper and its lower one.
        let most = (edge(0) + rows).max(edge(1)).max(edge(-1));
        2 * rows * i128::from(column) <= most
    }

    /// The rows and columns that a vertex gives.
    fn rows_of(vertex: Vertex) -> Vec<[i64; 2]> {
        let mut all = Vec::new();
        vertex.for_each_row(|row, column| all.push([row, column]));
        all
    }

    proptest! {
        #[test]
        fn the_last_pixels_of_rows_are_in_the_hull_and_the_next_ones_are_not(
            upper in point(),
            rows in 1..2000i64,
            column in -LAST..=LAST,
        ) {
            let lower = [upper[0] + rows, column];
            let (above, below) = (None, Some(lower));
            let found = rows_of(Vertex { above, this: upper, below });
            prop_assert_eq!(found.len() as i64, rows);
            for [row, column] in found.into_iter().skip(1) {
                prop_assert!(is_in_hull([upper, lower], row, column));
                prop_assert!(!is_in_hull([upper, lower], row, column + 1));
            }
        }

        #[test]
        fn the_rows_of_vertices_reach_as_far_as_their_edges(mut points in [point(), point()]) {
            points.sort();
            prop_assume!(points[0][0] < points[1][0]);
            let [above, this] = points;
            let [found] = rows_of(Vertex { above: Some(above), this, below: None })[..] else {
                panic!("more than one row");
            };
            // The edge ends at the vertex: its lower half row is beyond.
            let reach = |column: i64| {
                let [rows, rise] = [0, 1].map(|i| i128::from(this[i] - above[i]));
                2 * rows * i128::from(column - this[1]) <= rows.max(-rise)
            };
            prop_assert_eq!(found[0], this[0]);
            prop_assert!(reach(found[1]) && !reach(found[1] + 1));
        }

        #[test]
        fn points_inside_a_chain_are_no_vertices(mut points in [point(), point(), point()]) {
            points.sort();
            let [a, b, c] = points;
            let along = |i: usize, from: [i64; 2], to: [i64; 2]| i128::from(to[i] - from[i]);
            let inside = along(1, a, b) * along(0, a, c) <= along(1, a, c) * along(0, a, b);
            prop_assert_eq!(is_inside(points), inside);
        }
    }
}
