//! The ellipse that has an object's second moments: axes, eccentricity, orientation.
//!
//! Kernels and the processor use the same functions, made of operations that IEEE 754 rounds, so
//! that their numbers are the same bit for bit. Arctangents of libraries differ in their last bits.

use core::f64::consts::{FRAC_PI_2, FRAC_PI_4, FRAC_PI_8, PI, SQRT_2};

use cuda_std::math::sqrt;

/// Sums of the coordinates of an object's pixels, and of their products. Coordinates count from the
/// pixel at the centroid, rounded down, so that the sums are small.
#[derive(Clone, Copy, Debug)]
pub struct CenteredSums {
    /// The number of pixels, not 0.
    pub pixels: u64,
    /// Of rows.
    pub r: i128,
    /// Of columns.
    pub c: i128,
    /// Of squared rows.
    pub rr: i128,
    /// Of rows times columns.
    pub rc: i128,
    /// Of squared columns.
    pub cc: i128,
}

/// Second central moments times the number of pixels, for a spacing of 1: of rows, of both, and of
/// columns.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pixels: u64,
    /// The moments.
    pub moments: [f64; 3],
    /// The same exactly, unless they exceed 127 bits.
    whole: Option<[i128; 3]>,
}

/// The inertia tensor and its ellipse.
#[derive(Clone, Copy, Debug)]
pub struct Ellipse {
    /// The tensor's entries `[[a, b], [b, c]]`.
    pub a: f64,
    /// See [`a`](Self::a).
    pub b: f64,
    /// See [`a`](Self::a).
    pub c: f64,
    /// The greater eigenvalue.
    pub major: f64,
    /// The lesser eigenvalue.
    pub minor: f64,
    /// The difference of the eigenvalues.
    apart: f64,
}

/// An integer as a floating-point number, rounded to the nearest one and to even, as `as` does it.
#[must_use]
#[inline(always)]
pub const fn rounded(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let high = (magnitude >> 64) as u64;
    let number = if high == 0 {
        magnitude as u64 as f64
    } else {
        let shift = 64 - high.leading_zeros();
        let top = (magnitude >> shift) as u64;
        // Of 64 bits, the last ones decide on rounding alone: one of them stands for all below.
        let rest = magnitude & ((1 << shift) - 1) != 0;
        (top | rest as u64) as f64 * f64::from_bits((1023 + shift as u64) << 52)
    };
    if value < 0 { -number } else { number }
}

/// The product, unless it exceeds 127 bits.
#[inline(always)]
const fn product(a: i128, b: i128) -> Option<i128> {
    let (x, y) = (a.unsigned_abs(), b.unsigned_abs());
    let (x_high, y_high) = ((x >> 64) as u64, (y >> 64) as u64);
    if x_high != 0 && y_high != 0 {
        return None;
    }
    let (x_low, y_low) = (x as u64 as u128, y as u64 as u128);
    // One of the two is 0.
    let cross = x_high as u128 * y_low + y_high as u128 * x_low;
    let low = x_low * y_low;
    let high = cross + (low >> 64);
    if high >> 63 != 0 {
        return None;
    }
    let magnitude = (high << 64 | low as u64 as u128).cast_signed();
    Some(if (a < 0) == (b < 0) {
        magnitude
    } else {
        -magnitude
    })
}

/// `a · b - c · d`, unless it or a product exceeds 127 bits.
#[inline(always)]
fn difference(a: i128, b: i128, c: i128, d: i128) -> Option<i128> {
    let (ab, cd) = (product(a, b)?, product(c, d)?);
    ab.checked_sub(cd)
}

/// The length of the vector `(x, y)`.
#[inline(always)]
fn length(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    let (longer, shorter) = if x < y { (y, x) } else { (x, y) };
    if shorter == 0.0 {
        return longer;
    }
    let ratio = shorter / longer;
    longer * sqrt(1.0 + ratio * ratio)
}

/// The arctangent of a number from 0 to 1.
#[inline(always)]
fn arctangent(tangent: f64) -> f64 {
    // The angles 0, π/8 and π/4 have the tangents 0, √2 - 1 and 1. At most π/16 is left.
    const TAN_1_16: f64 = 0.198_912_367_379_658;
    const TAN_3_16: f64 = 0.668_178_637_919_298_9;
    let (base, of_base) = if tangent < TAN_1_16 {
        (0.0, 0.0)
    } else if tangent < TAN_3_16 {
        (FRAC_PI_8, SQRT_2 - 1.0)
    } else {
        (FRAC_PI_4, 1.0)
    };
    let rest = (tangent - of_base) / (1.0 + of_base * tangent);
    // The power series x - x³/3 + x⁵/5 - … up to x²³/23: what follows is below 2⁻⁶⁰ of x.
    let square = rest * rest;
    let (mut sum, mut k) = (0.0, 23.0);
    while k > 1.0 {
        sum = (1.0 / k - sum) * square;
        k -= 2.0;
    }
    base + (rest - rest * sum)
}

/// The angle from the axis of x to the vector `(x, y)`, from -π to π: the arctangent of `y / x`, to
/// less than 4 units in the last place. One of the two is not 0.
#[inline(always)]
fn angle(y: f64, x: f64) -> f64 {
    let (across, along) = (y.abs(), x.abs());
    let of_quadrant = if across > along {
        FRAC_PI_2 - arctangent(along / across)
    } else {
        arctangent(across / along)
    };
    let of_half = if x < 0.0 {
        PI - of_quadrant
    } else {
        of_quadrant
    };
    if y.is_sign_negative() {
        -of_half
    } else {
        of_half
    }
}

impl Spread {
    /// The moments of an object with these sums.
    #[must_use]
    #[inline(always)]
    pub fn of(sums: &CenteredSums) -> Self {
        let CenteredSums {
            pixels,
            r,
            c,
            rr,
            rc,
            cc,
        } = *sums;
        let n = i128::from(pixels);
        let whole = match (
            difference(n, rr, r, r),
            difference(n, rc, r, c),
            difference(n, cc, c, c),
        ) {
            (Some(rows), Some(both), Some(columns)) => Some([rows, both, columns]),
            _ => None,
        };
        let about = |products: i128, a: i128, b: i128| {
            pixels as f64 * rounded(products) - rounded(a) * rounded(b)
        };
        let moments = match whole {
            Some([rows, both, columns]) => [rounded(rows), rounded(both), rounded(columns)],
            None => [about(rr, r, r), about(rc, r, c), about(cc, c, c)],
        };
        Self {
            pixels,
            moments,
            whole,
        }
    }

    /// The ellipse, for these distances between rows and between columns.
    #[must_use]
    #[inline(always)]
    pub fn ellipse(&self, [dy, dx]: [f64; 2]) -> Ellipse {
        let [rows, both, columns] = self.moments;
        let n = self.pixels as f64;
        let a = columns / n / n * (dx * dx);
        let b = -(both / n / n * (dy * dx));
        let c = rows / n / n * (dy * dy);
        let apart = 2.0 * length((a - c) / 2.0, b);
        let major = (a + c + apart) / 2.0;
        // From the determinant, which integers give without cancellation.
        let whole = match self.whole {
            Some([rows, both, columns]) => difference(rows, columns, both, both),
            None => None,
        };
        let determinant = match whole {
            Some(whole) => rounded(whole) / (n * n) / (n * n) * (dy * dx * dy * dx),
            None => a * c - b * b,
        };
        let mut minor = 0.0;
        if major > 0.0 {
            let quotient = determinant / major;
            if quotient > 0.0 {
                minor = if quotient < major { quotient } else { major };
            }
        }
        Ellipse {
            a,
            b,
            c,
            major,
            minor,
            apart,
        }
    }
}

impl Ellipse {
    /// The length of the longer axis.
    #[must_use]
    #[inline(always)]
    pub fn axis_major_length(&self) -> f64 {
        4.0 * sqrt(self.major)
    }

    /// The length of the shorter axis.
    #[must_use]
    #[inline(always)]
    pub fn axis_minor_length(&self) -> f64 {
        4.0 * sqrt(self.minor)
    }

    /// The distance of the foci divided by the longer axis, from 0 to 1.
    #[must_use]
    #[inline(always)]
    pub fn eccentricity(&self) -> f64 {
        if self.major == 0.0 {
            return 0.0;
        }
        let ratio = self.apart / self.major;
        if ratio < 1.0 { sqrt(ratio) } else { 1.0 }
    }

    /// The angle from the rows' axis to the longer axis, from -π/2 to π/2.
    #[must_use]
    #[inline(always)]
    pub fn orientation(&self) -> f64 {
        let Self { a, b, c, .. } = *self;
        if a != c {
            0.5 * angle(-2.0 * b, c - a)
        } else if b < 0.0 {
            FRAC_PI_4
        } else {
            -FRAC_PI_4
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all magnitudes, and those around powers of two.
    fn numbers() -> impl Iterator<Item = i128> {
        let mut state = 1u128;
        let drawn = (0..4000).map(move |i| {
            state = state.wrapping_mul(0xda94_2042_e4dd_58b5_0123_4567_89ab_cdef) + 1;
            state.cast_signed() >> (i % 128)
        });
        let around = (0..127).flat_map(|bit| [-1, 0, 1].map(|more| (1i128 << bit) + more));
        let half = (60..127).map(|bit| (1i128 << bit) + (1i128 << (bit - 53)));
        drawn
            .chain(around)
            .chain(half)
            .chain([i128::MIN, i128::MAX])
    }

    #[test]
    fn integers_are_rounded_as_by_casts() {
        for number in numbers().flat_map(|number| [number, number.wrapping_neg()]) {
            assert_eq!(
                rounded(number).to_bits(),
                (number as f64).to_bits(),
                "{number}"
            );
        }
    }

    #[test]
    fn products_are_those_that_are_checked() {
        let all: Vec<i128> = numbers().collect();
        for (&a, &b) in all
            .iter()
            .zip(all.iter().rev())
            .chain(all.iter().zip(&all[7..]))
        {
            // The least number is refused, too: no sum is that large.
            let expected = a.checked_mul(b).filter(|&product| product != i128::MIN);
            assert_eq!(product(a, b), expected, "{a} · {b}");
        }
    }

    #[test]
    fn angles_are_those_of_the_library() {
        let tangents = (0..=4000).map(|i| f64::from(i) / 4000.0);
        let powers = (-60..60).map(|bit| 2f64.powi(bit));
        for tangent in tangents.chain(powers) {
            for (y, x) in [(tangent, 1.0), (1.0, tangent), (3.0 * tangent, 3.0)] {
                for (y, x) in [(y, x), (-y, x), (y, -x), (-y, -x)] {
                    let (found, expected) = (angle(y, x), y.atan2(x));
                    let apart = (found - expected).abs() / (f64::EPSILON * expected.abs());
                    let is_close = found == expected || apart < 4.0;
                    assert!(is_close, "{y}, {x}: {found}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn lengths_neither_overflow_nor_vanish() {
        for (x, y, expected) in [
            (3.0, -4.0, 5.0),
            (0.0, 0.0, 0.0),
            (0.0, 2.0, 2.0),
            (-3e200, 4e200, 5e200),
            (3e-200, 4e-200, 5e-200),
        ] {
            let found = length(x, y);
            assert!(
                (found - expected).abs() <= 1e-15 * expected,
                "{x}, {y}: {found}"
            );
        }
    }
}
