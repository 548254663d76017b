//! Douglas and Peucker's selection of corners.

use glam::{I64Vec2, IVec2};
use rayon::prelude::*;

use super::arcs::{Arcs, Corner};
use crate::error::Result;
use crate::memory::push;

/// Name used in out-of-memory errors.
const STACK: &str = "parts of arcs";

/// Marks the corners that stay as fixed. On all threads: arcs are independent.
pub(super) fn mark(arcs: &mut Arcs, tolerance: f64) -> Result<()> {
    let count = arcs.len();
    let mut rest = &mut arcs.corners[..];
    let mut shares = crate::memory::with_room(count, STACK)?;
    let mut start = 0;
    for index in 0..count {
        let end = arcs.offsets[index + 1];
        let (corners, others) = rest.split_at_mut(end - start);
        shares.push((&arcs.points[start..end], corners));
        (rest, start) = (others, end);
    }
    shares
        .into_par_iter()
        .with_min_len(256)
        .try_for_each_init(Vec::new, |stack, (points, corners)| {
            mark_arc(points, corners, tolerance * tolerance, stack)
        })
}

/// Marks the corners of one arc; the tolerance is a squared distance. `stack` is scratch.
fn mark_arc(
    points: &[IVec2],
    corners: &mut [Corner],
    tolerance: f64,
    stack: &mut Vec<(usize, usize)>,
) -> Result<()> {
    stack.clear();
    push(stack, (0, points.len() - 1), STACK)?;
    while let Some((first, last)) = stack.pop() {
        let mut farthest = (tolerance, None);
        for at in first + 1..last {
            let distance = squared_distance(points[at], points[first], points[last]);
            if distance > farthest.0 {
                farthest = (distance, Some(at));
            }
        }
        if let Some(at) = farthest.1 {
            corners[at] = Corner::Fixed;
            push(stack, (first, at), STACK)?;
            push(stack, (at, last), STACK)?;
        }
    }
    Ok(())
}

/// The squared distance of a point from the line between two others, which may be the same.
fn squared_distance(point: IVec2, from: IVec2, to: IVec2) -> f64 {
    let wide = |v: IVec2| -> I64Vec2 { v.as_i64vec2() };
    let (line, start) = (wide(to) - wide(from), wide(point) - wide(from));
    // Coordinates have 31 bits: products have 62.
    let along = line.x * start.x + line.y * start.y;
    let length = line.x * line.x + line.y * line.y;
    let squared = |v: I64Vec2| (v.x * v.x + v.y * v.y) as f64;
    if along <= 0 {
        squared(start)
    } else if along >= length {
        squared(wide(point) - wide(to))
    } else {
        let across = (line.x * start.y - line.y * start.x) as f64;
        across * across / length as f64
    }
}
