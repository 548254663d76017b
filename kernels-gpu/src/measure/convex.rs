//! The convex hull of an object's pixels, and the pixels in it. Kernels and the processor use the
//! same functions.
//!
//! A pixel is represented by the midpoints of its four sides, as in scikit-image's
//! `convex_hull_image`. They are the corners of a diamond around its center, so the hull is that of
//! the centers, widened by a diamond. A **chain** is one side of the hull of the centers: its
//! vertices `[row, column]` from top to bottom, where columns count to the outside (on the left,
//! they are negative). All numbers are integers, so no tolerance is needed.

/// Whether the middle one of three points, from top to bottom, is not a vertex of the chain.
#[must_use]
#[inline(always)]
pub const fn is_inside([a, b, c]: [[i64; 2]; 3]) -> bool {
    // Sides are below 2³¹, so that products are below 2⁶².
    (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])
}

/// `a / by` rounded down, and the remainder. `by` is positive.
#[inline(always)]
const fn divided(a: i64, by: i64) -> (i64, i64) {
    // Kernels have no panics.
    let whole = match a.checked_div(by) {
        Some(whole) => whole,
        None => 0,
    };
    let rest = a - whole * by;
    if rest < 0 {
        (whole - 1, rest + by)
    } else {
        (whole, rest)
    }
}

/// The last pixels in the hull, in the rows between two vertices of a chain.
///
/// Along an edge that moves by `s` columns per row, diamonds reach beyond the edge by the greater
/// of ½ and `|s| / 2` columns.
#[derive(Clone, Copy, Debug)]
struct EdgeRows {
    column: i64,
    rest: i64,
    whole: i64,
    part: i64,
    divisor: i64,
}

impl EdgeRows {
    /// The pixels between two vertices.
    #[inline(always)]
    const fn between(upper: [i64; 2], lower: [i64; 2]) -> Self {
        let (rows, rise) = (lower[0] - upper[0], lower[1] - upper[1]);
        let divisor = 2 * rows;
        let half = if rise.abs() > rows { rise.abs() } else { rows };
        let (beyond, rest) = divided(half, divisor);
        let (whole, part) = divided(2 * rise, divisor);
        Self {
            column: upper[1] + beyond,
            rest,
            whole,
            part,
            divisor,
        }
    }

    /// The column of the last pixel in the next row.
    #[inline(always)]
    const fn next(&mut self) -> i64 {
        self.column += self.whole;
        self.rest += self.part;
        if self.rest >= self.divisor {
            self.rest -= self.divisor;
            self.column += 1;
        }
        self.column
    }
}

/// A vertex of a chain, and the ones before and after it.
#[derive(Clone, Copy, Debug)]
pub struct Vertex {
    /// The vertex above; none for the first one.
    pub above: Option<[i64; 2]>,
    /// The vertex.
    pub this: [i64; 2],
    /// The vertex below; none for the last one.
    pub below: Option<[i64; 2]>,
}

impl Vertex {
    /// Calls `found` with the vertex's row and with each row between it and the one below, and with
    /// the column of the last pixel in the hull there.
    #[inline(always)]
    pub fn for_each_row(self, mut found: impl FnMut(i64, i64)) {
        let mut row = self.this[0];
        found(row, self.last_pixel());
        if let Some(below) = self.below {
            let mut rows = EdgeRows::between(self.this, below);
            row += 1;
            while row < below[0] {
                found(row, rows.next());
                row += 1;
            }
        }
    }

    /// The column of the last pixel in the hull in the vertex's row.
    #[inline(always)]
    const fn last_pixel(self) -> i64 {
        // The diamond of this row adds half a column, which rounds down to none; one half a row
        // away may reach further.
        let above = self.reach_along(self.above);
        let below = self.reach_along(self.below);
        self.this[1] + if above > below { above } else { below }
    }

    /// Columns by which an edge leads to the outside within half a row, rounded down; not below 0.
    #[inline(always)]
    const fn reach_along(self, other: Option<[i64; 2]>) -> i64 {
        let Some([row, column]) = other else {
            return 0;
        };
        let rows = (row - self.this[0]).abs();
        let (columns, _) = divided(column - self.this[1], 2 * rows);
        if columns > 0 { columns } else { 0 }
    }

    /// Which corners of the diamond around it are vertices of the hull: bit 0 for the upper one, 1
    /// for the outer one, 2 for the lower one.
    #[must_use]
    #[inline(always)]
    pub const fn corners(self) -> u32 {
        // Edges become steeper to the inside from top to bottom. A corner is a vertex if a line of
        // a slope between those of both edges touches the diamond in it alone.
        let (mut upper, mut outer, mut lower) = (true, true, true);
        if let Some([row, column]) = self.above {
            let (rows, rise) = (self.this[0] - row, self.this[1] - column);
            upper = rise > rows;
            outer = rise > -rows;
        }
        if let Some([row, column]) = self.below {
            let (rows, rise) = (row - self.this[0], column - self.this[1]);
            lower = rise < -rows;
            outer = outer && rise < rows;
        }
        upper as u32 | (outer as u32) << 1 | (lower as u32) << 2
    }
}

/// The place of a corner of the diamond around a pixel, as a multiple of the spacing of rows and of
/// columns. Corners have the numbers of [`Vertex::corners`]; `sign` is that of columns to the
/// outside.
#[must_use]
#[inline(always)]
pub const fn corner(
    [row, column]: [i64; 2],
    number: u32,
    sign: i64,
    spacing: [f64; 2],
) -> [f64; 2] {
    let [y, x] = [
        2 * row + number as i64 - 1,
        2 * column + (number == 1) as i64,
    ];
    [
        y as f64 / 2.0 * spacing[0],
        (sign * x) as f64 / 2.0 * spacing[1],
    ]
}

/// The squared distance of two points.
#[must_use]
#[inline(always)]
pub const fn squared_distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [dy, dx] = [a[0] - b[0], a[1] - b[1]];
    dy * dy + dx * dx
}
