//! [`GeoReference`]: where an image is on Earth.

use std::path::PathBuf;

use crate::error::{Error, ReadProblem, Result, short};

/// Where an image is on Earth: what a GeoTIFF says of its coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GeoReference {
    /// From pixels to coordinates.
    pub transform: Option<Affine>,
    /// The coordinate reference system.
    pub crs: Option<Crs>,
}

/// A coordinate reference system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Crs {
    /// The one with this code in the EPSG registry.
    Epsg(u32),
    /// Another one, which the file describes by its parameters.
    Other,
}

impl Crs {
    /// The code in the EPSG registry.
    pub fn epsg(self) -> Option<u32> {
        match self {
            Self::Epsg(code) => Some(code),
            Self::Other => None,
        }
    }
}

/// An affine map from pixels to coordinates.
///
/// The corner `(x, y)` of pixels, `x` to the right and `y` down from the image's top left corner,
/// is at `(a x + b y + c, d x + e y + f)`: the order of the package `affine`, which rasterio uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// `a`, `b`, `c`, `d`, `e`, `f`.
    coefficients: [f64; 6],
}

impl Affine {
    /// The map with the coefficients `a` to `f`, for an image of this size.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a map that is not finite on the image, or that maps it to a
    /// line or a point.
    pub fn new(coefficients: [f64; 6], width: u32, height: u32) -> Result<Self> {
        Self::checked(coefficients, width, height).map_err(|reason| {
            Error::option(
                "transform",
                crate::error::OptionProblem::OutOfRange,
                format!("the transform {reason}"),
            )
        })
    }

    /// As [`new`](Self::new); the error is why it cannot be, as the end of a sentence.
    pub(super) fn checked(
        coefficients: [f64; 6],
        width: u32,
        height: u32,
    ) -> std::result::Result<Self, String> {
        let map = Self { coefficients };
        let (right, bottom) = (f64::from(width), f64::from(height));
        let corners = [(0.0, 0.0), (right, 0.0), (0.0, bottom), (right, bottom)];
        let corners = corners.map(|(x, y)| map.apply(x, y));
        if corners
            .iter()
            .any(|(x, y)| !x.is_finite() || !y.is_finite())
        {
            let all = coefficients.map(short).join(", ");
            return Err(format!("({all}) leads to coordinates that are not finite"));
        }
        let area = map.determinant();
        // Neighbouring corners of pixels must differ, or rings would collapse.
        let last = map.apply(right - 1.0, bottom - 1.0);
        if area == 0.0
            || !area.is_finite()
            || last == map.apply(right, bottom - 1.0)
            || last == map.apply(right - 1.0, bottom)
        {
            let [a, b, c, d, e, f] = coefficients.map(short);
            return Err(format!(
                "gives pixels no area: their sides are ({a}, {d}) and ({b}, {e}), at ({c}, {f})"
            ));
        }
        Ok(map)
    }

    /// The coefficients `a`, `b`, `c`, `d`, `e`, `f`.
    pub fn coefficients(&self) -> [f64; 6] {
        self.coefficients
    }

    /// The coordinates of the corner `(x, y)` of pixels.
    pub fn apply(&self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.coefficients;
        // The order of operations of the package `affine`.
        (x * a + y * b + c, x * d + y * e + f)
    }

    /// Whether each coordinate of a place depends on one coordinate of the pixels alone.
    pub(in crate::formats) fn keeps_axes(&self) -> bool {
        let [a, b, _, d, e, _] = self.coefficients;
        (b == 0.0 && d == 0.0) || (a == 0.0 && e == 0.0)
    }

    /// Whether the map mirrors: positive areas of pixels, with y down, become negative.
    pub fn mirrors(&self) -> bool {
        self.determinant() < 0.0
    }

    /// The corner of pixels with these coordinates.
    pub(in crate::formats) fn unapply(&self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.coefficients;
        let (x, y) = (x - c, y - f);
        let area = self.determinant();
        ((e * x - b * y) / area, (a * y - d * x) / area)
    }

    /// The signed area of a pixel.
    fn determinant(&self) -> f64 {
        let [a, b, _, d, e, _] = self.coefficients;
        a * e - b * d
    }
}

/// A file's georeference: a valid one, none, or why what the file says cannot be true.
#[derive(Clone, Debug)]
pub(super) struct Georeferenced(std::result::Result<Option<GeoReference>, (PathBuf, String)>);

impl Georeferenced {
    pub(super) fn none() -> Self {
        Self(Ok(None))
    }

    pub(super) fn new(
        path: &std::path::Path,
        found: std::result::Result<Option<GeoReference>, String>,
    ) -> Self {
        Self(found.map_err(|reason| (path.into(), reason)))
    }

    pub(super) fn get(&self) -> Result<Option<GeoReference>> {
        self.0.clone().map_err(|(path, reason)| Error::Unreadable {
            path,
            problem: ReadProblem::Damaged,
            reason: format!(
                "its georeference cannot be true: {reason}; its pixels can be used without it"
            ),
            source: None,
        })
    }
}
