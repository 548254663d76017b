//! [`CostSurface`]: the friction of a raster's cells.

use super::gpu::DeviceFriction;
use super::real::Real;
use crate::image::{Sample, Samples};

/// A type of friction values: `u8`, `u16`, `u32`, `f32`, `f64`.
pub trait Friction: Sample + Send + Sync + std::fmt::Debug + DeviceFriction {
    /// The value as an f64, which represents every value of these types.
    fn to_f64(self) -> f64;

    /// The value rounded to f32.
    fn to_f32(self) -> f32;

    /// Whether it is `no_data`, rounded to this type.
    fn is(self, no_data: f64) -> bool;
}

macro_rules! whole {
    ($($type:ty => $to_f32:expr;)*) => {$(
        impl Friction for $type {
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn to_f32(self) -> f32 {
                $to_f32(self)
            }

            fn is(self, no_data: f64) -> bool {
                f64::from(self) == no_data
            }
        }
    )*};
}

whole! {
    u8 => f32::from;
    u16 => f32::from;
    u32 => |value| value as f32;
}

impl Friction for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn to_f32(self) -> f32 {
        self
    }

    fn is(self, no_data: f64) -> bool {
        self == no_data as f32
    }
}

impl Friction for f64 {
    fn to_f64(self) -> f64 {
        self
    }

    fn to_f32(self) -> f32 {
        self as f32
    }

    fn is(self, no_data: f64) -> bool {
        self == no_data
    }
}

/// The friction of each cell of a raster, in the caller's memory: what a step costs per unit of
/// length.
///
/// NaN, infinity and the no-data value are barriers, which no step enters. 0 is allowed.
#[derive(Clone, Copy, Debug)]
pub struct CostSurface<'a, T> {
    friction: Samples<'a, T>,
    no_data: Option<f64>,
}

impl<'a, T: Friction> CostSurface<'a, T> {
    /// A surface without a no-data value.
    pub fn new(friction: Samples<'a, T>) -> Self {
        Self {
            friction,
            no_data: None,
        }
    }

    /// Cells of this friction are barriers.
    #[must_use]
    pub fn no_data(mut self, value: impl Into<Option<f64>>) -> Self {
        self.no_data = value.into();
        self
    }

    /// Width in cells.
    pub fn width(&self) -> usize {
        self.friction.width()
    }

    /// Height in cells.
    pub fn height(&self) -> usize {
        self.friction.height()
    }

    /// The friction.
    pub(crate) fn samples(&self) -> &Samples<'a, T> {
        &self.friction
    }

    /// The friction that marks barriers.
    pub(crate) fn no_data_value(&self) -> Option<f64> {
        self.no_data
    }

    /// Writes row `y` to `row`, with infinity for barriers. Returns the first column whose friction
    /// is negative, or finite but too large for `P`.
    pub(crate) fn row<P: Real>(&self, y: usize, row: &mut [P]) -> Option<usize> {
        let values = self.friction.row(y);
        let mut refused = None;
        for (x, to) in row.iter_mut().enumerate() {
            let value = match values {
                Some(values) => values[x],
                None => self.friction.get(x, y),
            };
            *to = match self.convert(value) {
                Some(value) => value,
                None => {
                    refused = refused.or(Some(x));
                    P::INFINITY
                }
            };
        }
        refused
    }

    #[inline(always)]
    fn convert<P: Real>(&self, value: T) -> Option<P> {
        if value.is_nan() || self.no_data.is_some_and(|no_data| value.is(no_data)) {
            return Some(P::INFINITY);
        }
        let exact = value.to_f64();
        let rounded = P::from_friction(value);
        if exact < 0.0 || (!rounded.is_finite() && exact < f64::INFINITY) {
            return None;
        }
        // -0 becomes 0.
        Some(rounded + P::ZERO)
    }

    /// The friction at a cell.
    pub(crate) fn at(&self, x: usize, y: usize) -> f64 {
        self.friction.get(x, y).to_f64()
    }
}
