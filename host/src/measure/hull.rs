//! The convex hull of an object, and the pixels in it: see [`trazar_kernels::measure::convex`].

use trazar_kernels::measure::convex::{EdgeRows, Vertex, corner, is_inside, squared_distance};

use super::sums::Span;
use crate::error::Result;
use crate::memory::{push, reserve};

/// The last pixels of each row of an object's convex hull, to the left and to the right; and memory
/// that is used again for each object.
#[derive(Default)]
pub(super) struct Hull {
    sides: [Side; 2],
}

/// One side of a hull, whose columns count to the outside.
#[derive(Default)]
struct Side {
    /// The vertices `[row, column]`.
    chain: Vec<[i64; 2]>,
    /// The column of the last pixel of each row.
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
        let mut points = Vec::new();
        for (side, sign) in self.sides.iter_mut().zip(SIGNS) {
            side.chain.clear();
            for row in 0..side.last.len() {
                side.add([row as i64, side.last[row]])?;
            }
            for vertex in side.vertices() {
                let corners = vertex.corners();
                for number in (0..3).filter(|number| corners >> number & 1 != 0) {
                    push(
                        &mut points,
                        corner(vertex.this, number, sign, spacing),
                        WHAT,
                    )?;
                }
            }
        }
        let mut longest = 0.0f64;
        for (i, &a) in points.iter().enumerate() {
            for &b in &points[i + 1..] {
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

    /// Finds the last pixel of each row.
    fn find_last(&mut self) -> Result<()> {
        let height = self.chain.last().map_or(0, |&[row, _]| row as usize + 1);
        let mut last = std::mem::take(&mut self.last);
        last.clear();
        reserve(&mut last, height, WHAT)?;
        for vertex in self.vertices() {
            last.push(vertex.last_pixel());
            if let Some(below) = vertex.below {
                let mut rows = EdgeRows::between(vertex.this, below);
                last.extend((vertex.this[0] + 1..below[0]).map(|_| rows.next()));
            }
        }
        self.last = last;
        Ok(())
    }
}
