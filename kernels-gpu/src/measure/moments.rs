//! Moments from sums of powers of coordinates. Kernels and the processor use the same functions,
//! made of operations that IEEE 754 rounds, so that their numbers are the same bit for bit.

use cuda_std::math::sqrt;

use super::powers::{POWERS, shifted};

/// Powers of a coordinate, from 0 up.
const N: usize = POWERS as usize;

/// Moments, or sums, of `rowⁱ · columnʲ`: row i and column j of a matrix.
pub type Moments = [[f64; N]; N];

/// What makes moments of first and second order exact: the number of pixels; the sums of rows and
/// of columns, from the pixel at which the sums of powers start; and the second central moments
/// times the number of pixels, of rows, of both, and of columns.
#[derive(Clone, Copy, Debug)]
pub struct ExactSums {
    /// The number of pixels.
    pub pixels: f64,
    /// The sums of rows and of columns.
    pub first: [f64; 2],
    /// Those of [`Spread`](super::ellipse::Spread).
    pub second: [f64; 3],
}

impl ExactSums {
    /// Those of no pixels.
    pub(super) const NONE: Self = Self {
        pixels: 0.0,
        first: [0.0; 2],
        second: [0.0; 3],
    };

    /// The row and the column of the centroid.
    #[must_use]
    #[inline(always)]
    pub const fn centroid(&self) -> [f64; 2] {
        [self.first[0] / self.pixels, self.first[1] / self.pixels]
    }

    /// Moments from the centroid on, those of lower orders without rounding.
    #[must_use]
    #[inline(always)]
    pub const fn refined(&self, central: Moments) -> Moments {
        let (mut moments, n) = (central, self.pixels);
        let [rows, both, columns] = self.second;
        moments[0][0] = n;
        moments[0][1] = 0.0;
        moments[1][0] = 0.0;
        moments[0][2] = columns / n;
        moments[1][1] = both / n;
        moments[2][0] = rows / n;
        moments
    }
}

/// Moments from sums of powers, for coordinates that count from this row and this column.
#[must_use]
#[inline(always)]
pub fn from_point<const M: usize>(sums: [[f64; M]; M], [row, column]: [f64; 2]) -> [[f64; M]; M] {
    shifted(sums, -row, -column)
}

/// The powers of a number, from 0 up.
#[inline(always)]
const fn powers(base: f64) -> [f64; N] {
    [1.0, base, base * base, base * base * base]
}

/// Moments in pixels for these distances between rows and between columns.
#[must_use]
#[inline(always)]
pub const fn scaled(moments: Moments, [dy, dx]: [f64; 2]) -> Moments {
    let (rows, columns) = (powers(dy), powers(dx));
    let mut all = moments;
    let mut i = 0;
    while i < N {
        let mut j = 0;
        while j < N {
            all[i][j] *= rows[i] * columns[j];
            j += 1;
        }
        i += 1;
    }
    all
}

/// Central moments, already [scaled], independent of scale; NaN where i + j < 2.
#[must_use]
#[inline(always)]
pub fn normalized(central: &Moments, [dy, dx]: [f64; 2]) -> Moments {
    let scale = if dx < dy { dx } else { dy };
    let [_, _, of_two, of_three] = powers(scale);
    let scales = [
        1.0,
        scale,
        of_two,
        of_three,
        of_two * of_two,
        of_two * of_three,
        of_three * of_three,
    ];
    // The area to the power of half the order, plus one.
    let area = central[0][0];
    let (square, root) = (area * area, sqrt(area));
    let areas = [
        area,
        area * root,
        square,
        square * root,
        square * area,
        square * area * root,
        square * square,
    ];
    let mut all = [[f64::NAN; N]; N];
    let mut i = 0;
    while i < N {
        let mut j = 0;
        while j < N {
            if i + j >= 2 {
                all[i][j] = central[i][j] / scales[i + j] / areas[i + j];
            }
            j += 1;
        }
        i += 1;
    }
    all
}

/// Hu's moments from [`normalized`] ones (Visual Pattern Recognition by Moment Invariants, 1962).
#[must_use]
#[inline(always)]
pub const fn hu(nu: &Moments) -> [f64; 7] {
    let (sum, difference) = (nu[2][0] + nu[0][2], nu[2][0] - nu[0][2]);
    let (p, q) = (nu[3][0] + nu[1][2], nu[2][1] + nu[0][3]);
    let (u, v) = (nu[3][0] - 3.0 * nu[1][2], 3.0 * nu[2][1] - nu[0][3]);
    let (pp, qq) = (p * p, q * q);
    let (by_p, by_q) = (p * (pp - 3.0 * qq), q * (3.0 * pp - qq));
    [
        sum,
        difference * difference + 4.0 * nu[1][1] * nu[1][1],
        u * u + v * v,
        pp + qq,
        u * by_p + v * by_q,
        difference * (pp - qq) + 4.0 * nu[1][1] * p * q,
        v * by_p - u * by_q,
    ]
}
