//! Boxes of pixels, cells and windows of a routing grid, and measures of closed polygons with
//! integer vertices.
//!
//! A polygon is a slice of its vertices in order; an edge joins the last vertex to the first. Sums
//! are exact (128 bits) until they are converted to `f64`.

use glam::{DVec2, I64Vec2, IVec2};

/// The smallest axis-parallel box around points or pixels. Both corners belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundingBox {
    /// The smallest x and the smallest y.
    pub min: IVec2,
    /// The largest x and the largest y.
    pub max: IVec2,
}

impl BoundingBox {
    /// The box around `points`; `None` if there are none.
    pub fn of(points: &[IVec2]) -> Option<Self> {
        let (&first, rest) = points.split_first()?;
        let start = Self {
            min: first,
            max: first,
        };
        Some(rest.iter().fold(start, |b, &p| Self {
            min: b.min.min(p),
            max: b.max.max(p),
        }))
    }
}

/// A cell of a routing grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// Its layer, from 0, the lowest.
    pub layer: u32,
    /// Its row, from 0, the uppermost.
    pub y: u32,
    /// Its column, from 0, the leftmost.
    pub x: u32,
}

impl Cell {
    /// The cell in column `x` and row `y` of layer 0.
    pub fn at(x: u32, y: u32) -> Self {
        Self { x, y, layer: 0 }
    }

    /// The cell in the same column and row of another layer.
    #[must_use]
    pub fn on(self, layer: u32) -> Self {
        Self { layer, ..self }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {}, column {}", self.y, self.x)?;
        match self.layer {
            0 => Ok(()),
            layer => write!(f, ", layer {layer}"),
        }
    }
}

/// A rectangle of cells of a routing grid, on all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Its first column.
    pub x: u32,
    /// Its first row.
    pub y: u32,
    /// Its number of columns.
    pub width: u32,
    /// Its number of rows.
    pub height: u32,
}

impl Window {
    /// Whether a cell lies in the window, on any layer.
    pub fn contains(self, cell: Cell) -> bool {
        cell.x.wrapping_sub(self.x) < self.width && cell.y.wrapping_sub(self.y) < self.height
    }

    /// A cell of the window, as a cell of the part of the grid in it.
    pub(crate) fn to_part(self, cell: Cell) -> Cell {
        Cell {
            x: cell.x - self.x,
            y: cell.y - self.y,
            ..cell
        }
    }

    /// A cell of the part of the grid in the window, as a cell of the whole grid.
    pub(crate) fn to_whole(self, cell: Cell) -> Cell {
        Cell {
            x: cell.x + self.x,
            y: cell.y + self.y,
            ..cell
        }
    }

    /// Whether the window has cells, and all of them are on a grid of this size.
    pub(crate) fn is_within(self, width: u32, height: u32) -> bool {
        let within = |start: u32, len: u32, side: u32| {
            len > 0 && u64::from(start) + u64::from(len) <= side.into()
        };
        within(self.x, self.width, width) && within(self.y, self.height, height)
    }
}

/// The position of a point with respect to a polygon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In its interior.
    Inside,
    /// On an edge or a vertex.
    OnBorder,
    /// Outside, and on no edge or vertex.
    Outside,
}

/// The edges of a closed polygon; the last one returns to the start. A polygon of one vertex has
/// one edge of length 0.
fn edges(points: &[IVec2]) -> impl Iterator<Item = (IVec2, IVec2)> + '_ {
    let next = points.iter().skip(1).chain(points.first());
    points.iter().copied().zip(next.copied())
}

/// The cross product of `a` and `b` as vectors from the origin.
fn cross(a: I64Vec2, b: I64Vec2) -> i128 {
    i128::from(a.x) * i128::from(b.y) - i128::from(b.x) * i128::from(a.y)
}

/// Twice the signed area, positive if the polygon runs counter-clockwise on the screen (x to the
/// right, y down).
pub(crate) fn doubled_area(points: &[IVec2]) -> i128 {
    // The cross product of any two points fits 64 bits.
    let cross =
        |(a, b): (IVec2, IVec2)| i64::from(a.x) * i64::from(b.y) - i64::from(b.x) * i64::from(a.y);
    -edges(points)
        .map(|edge| i128::from(cross(edge)))
        .sum::<i128>()
}

/// The sum of the edges' lengths.
pub(crate) fn perimeter(points: &[IVec2]) -> f64 {
    edges(points)
        .map(|(a, b)| a.as_dvec2().distance(b.as_dvec2()))
        .sum()
}

/// The centroid of the area, by Green's theorem; of the edges if there is no area; of the point if
/// the edges have no length. `None` without points.
pub(crate) fn centroid(points: &[IVec2]) -> Option<DVec2> {
    // Coordinates relative to the first point keep the sums small.
    let origin = points.first()?.as_i64vec2();
    let (mut area, mut sum) = (0i128, (0i128, 0i128));
    for (a, b) in edges(points) {
        let (a, b) = (a.as_i64vec2() - origin, b.as_i64vec2() - origin);
        let c = cross(a, b);
        area += c;
        sum.0 += c * (i128::from(a.x) + i128::from(b.x));
        sum.1 += c * (i128::from(a.y) + i128::from(b.y));
    }
    if area != 0 {
        let scale = 3.0 * area as f64;
        return Some(origin.as_dvec2() + DVec2::new(sum.0 as f64, sum.1 as f64) / scale);
    }
    let (mut length, mut sum) = (0.0, DVec2::ZERO);
    for (a, b) in edges(points) {
        let (a, b) = (a.as_dvec2(), b.as_dvec2());
        let l = a.distance(b);
        length += l;
        sum += (a + b) * (0.5 * l);
    }
    Some(if length > 0.0 {
        sum / length
    } else {
        origin.as_dvec2()
    })
}

/// The position of `point`, by the even-odd rule.
pub(crate) fn locate(points: &[IVec2], point: IVec2) -> Location {
    let mut inside = false;
    for (a, b) in edges(points) {
        let (low, high) = (a.min(b), a.max(b));
        if point.y < low.y || point.y > high.y || point.x > high.x {
            continue;
        }
        // Sign of the area of the triangle a, b, point.
        let start = a.as_i64vec2();
        let (ab, ap) = (b.as_i64vec2() - start, point.as_i64vec2() - start);
        let side = cross(ab, ap).signum();
        if side == 0 && point.x >= low.x {
            return Location::OnBorder;
        }
        // An edge counts if it crosses the ray to the right of the point. The edge's upper end
        // belongs to it, its lower end to the next edge.
        if (a.y <= point.y) != (b.y <= point.y) {
            let point_is_left = if b.y > a.y { side > 0 } else { side < 0 };
            inside ^= point_is_left;
        }
    }
    if inside {
        Location::Inside
    } else {
        Location::Outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn polygon(points: &[(i32, i32)]) -> Vec<IVec2> {
        points.iter().map(|&p| p.into()).collect()
    }

    #[test]
    fn measures_a_rectangle() {
        // Counter-clockwise on the screen: down the left side first.
        let r = polygon(&[(2, 1), (2, 4), (6, 4), (6, 1)]);
        assert_eq!(doubled_area(&r), 24);
        assert_relative_eq!(perimeter(&r), 14.0);
        assert_relative_eq!(centroid(&r).unwrap().x, 4.0);
        assert_relative_eq!(centroid(&r).unwrap().y, 2.5);
        let b = BoundingBox::of(&r).unwrap();
        assert_eq!((b.min, b.max), (IVec2::new(2, 1), IVec2::new(6, 4)));
    }

    #[test]
    fn measures_what_has_no_area() {
        let line = polygon(&[(0, 0), (4, 0)]);
        assert_eq!(doubled_area(&line), 0);
        assert_relative_eq!(perimeter(&line), 8.0);
        assert_eq!(centroid(&line), Some(DVec2::new(2.0, 0.0)));
        let point = polygon(&[(7, 9)]);
        assert_eq!(centroid(&point), Some(DVec2::new(7.0, 9.0)));
        assert_eq!(perimeter(&point), 0.0);
        assert_eq!(centroid(&[]), None);
    }

    #[test]
    fn locates_points_around_a_polygon_with_a_notch() {
        let p = polygon(&[(0, 0), (0, 6), (6, 6), (6, 0), (3, 4)]);
        let at = |x, y| locate(&p, IVec2::new(x, y));
        assert_eq!(at(1, 3), Location::Inside);
        assert_eq!(at(3, 5), Location::Inside);
        assert_eq!(at(3, 4), Location::OnBorder);
        assert_eq!(at(0, 3), Location::OnBorder);
        assert_eq!(at(4, 6), Location::OnBorder);
        assert_eq!(at(3, 2), Location::Outside);
        assert_eq!(at(3, 0), Location::Outside);
        assert_eq!(at(-1, 0), Location::Outside);
        assert_eq!(at(7, 6), Location::Outside);
        assert_eq!(at(-1, 6), Location::Outside);
    }

    #[test]
    fn does_not_overflow_at_the_largest_coordinates() {
        let m = i32::MAX;
        let p = polygon(&[(0, 0), (0, m), (m, m), (m, 0)]);
        assert_eq!(doubled_area(&p), 2 * i128::from(m) * i128::from(m));
        assert_eq!(locate(&p, IVec2::new(1, m - 1)), Location::Inside);
        assert_eq!(locate(&p, IVec2::MIN), Location::Outside);
        assert_relative_eq!(centroid(&p).unwrap().x, f64::from(m) / 2.0);
    }
}
