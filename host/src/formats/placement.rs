//! [`Placement`]: where points of an image go in a file's coordinates.

use glam::IVec2;

use super::image::{Affine, GeoReference};
use crate::geometry::doubled_area;

/// Where points go: to pixel coordinates, x right and y down, or to those of a georeference.
pub(super) struct Placement {
    transform: Option<Affine>,
    epsg: Option<u32>,
    /// What is added to the points' coordinates.
    half: f64,
}

/// The direction of a ring, with y pointing up.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Winding {
    Clockwise,
    CounterClockwise,
}

impl Placement {
    pub(super) fn pixels() -> Self {
        Self {
            transform: None,
            epsg: None,
            half: 0.0,
        }
    }

    /// For points whose corner is at `(x + half, y + half)`.
    pub(super) fn new(georeference: &GeoReference, half: f64) -> Self {
        Self {
            transform: georeference.transform,
            // Pixels are in no CRS.
            epsg: match georeference.transform {
                Some(_) => georeference.crs.and_then(|crs| crs.epsg()),
                None => None,
            },
            half,
        }
    }

    /// Whether coordinates are those of the points.
    pub(super) fn is_pixels(&self) -> bool {
        self.transform.is_none()
    }

    /// The EPSG code of the coordinates.
    pub(super) fn epsg(&self) -> Option<u32> {
        self.epsg
    }

    pub(super) fn position(&self, point: IVec2) -> (f64, f64) {
        let (x, y) = (f64::from(point.x), f64::from(point.y));
        match &self.transform {
            None => (x, y),
            Some(map) => map.apply(x + self.half, y + self.half),
        }
    }

    /// The direction of a ring in the file's coordinates, as if y pointed up.
    pub(super) fn winding(&self, points: &[IVec2]) -> Winding {
        let mirrors = self.transform.is_some_and(|map| map.mirrors());
        // The area is positive if the points run counter-clockwise with y pointing down.
        match (doubled_area(points) > 0) != mirrors {
            true => Winding::Clockwise,
            false => Winding::CounterClockwise,
        }
    }
}
