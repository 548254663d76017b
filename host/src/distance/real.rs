//! [`Real`]: the two precisions of costs.

use std::fmt::Debug;
use std::ops::{Add, Mul, Sub};

use super::options::Precision;
use super::result::Costs;
use super::surface::Friction;

/// f32 or f64. Costs are never NaN or negative while they are computed; infinity is "not reached".
pub(crate) trait Real:
    Copy
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Send
    + Sync
    + 'static
{
    const PRECISION: Precision;
    const ZERO: Self;
    const INFINITY: Self;
    const NAN: Self;

    /// Rounded to nearest.
    fn from_f64(value: f64) -> Self;

    fn from_friction<T: Friction>(friction: T) -> Self;

    fn to_f64(self) -> f64;

    /// Bits that order as the values do, for values that are not negative.
    fn ordered(self) -> u64;

    fn wrap(costs: Vec<Self>) -> Costs;

    /// Costs in this precision, if they are.
    fn unwrap(costs: &Costs) -> Option<&[Self]>;

    /// The whole part, up to `u32::MAX`.
    fn to_bucket(self) -> u32;

    fn is_finite(self) -> bool {
        self < Self::INFINITY
    }

    /// The largest value up to `value`, which is not negative.
    fn at_most(value: f64) -> Self;
}

impl Real for f32 {
    const PRECISION: Precision = Precision::F32;
    const ZERO: Self = 0.0;
    const INFINITY: Self = Self::INFINITY;
    const NAN: Self = Self::NAN;

    fn from_f64(value: f64) -> Self {
        value as Self
    }

    fn from_friction<T: Friction>(friction: T) -> Self {
        friction.to_f32()
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn ordered(self) -> u64 {
        self.to_bits().into()
    }

    fn to_bucket(self) -> u32 {
        self as u32
    }

    fn wrap(costs: Vec<Self>) -> Costs {
        Costs::F32(costs)
    }

    fn unwrap(costs: &Costs) -> Option<&[Self]> {
        costs.as_f32()
    }

    fn at_most(value: f64) -> Self {
        let near = value as Self;
        if f64::from(near) > value {
            near.next_down()
        } else {
            near
        }
    }
}

impl Real for f64 {
    const PRECISION: Precision = Precision::F64;
    const ZERO: Self = 0.0;
    const INFINITY: Self = Self::INFINITY;
    const NAN: Self = Self::NAN;

    fn from_f64(value: f64) -> Self {
        value
    }

    fn from_friction<T: Friction>(friction: T) -> Self {
        friction.to_f64()
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn ordered(self) -> u64 {
        self.to_bits()
    }

    fn to_bucket(self) -> u32 {
        self as u32
    }

    fn wrap(costs: Vec<Self>) -> Costs {
        Costs::F64(costs)
    }

    fn unwrap(costs: &Costs) -> Option<&[Self]> {
        costs.as_f64()
    }

    fn at_most(value: f64) -> Self {
        value
    }
}
