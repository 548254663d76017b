//! [`Placement`]: where points of an image go in a file's coordinates.

use glam::IVec2;

use super::image::{Affine, GeoReference};
use crate::geometry::{BoundingBox, doubled_area};

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

/// The least and the greatest coordinates: x, y, x, y.
pub(super) type Envelope = [f64; 4];

/// The envelope of no points.
pub(super) const NO_ENVELOPE: Envelope = [
    f64::INFINITY,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NEG_INFINITY,
];

/// The envelope of the points of both.
pub(super) fn union(a: Envelope, b: Envelope) -> Envelope {
    [
        a[0].min(b[0]),
        a[1].min(b[1]),
        a[2].max(b[2]),
        a[3].max(b[3]),
    ]
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

    /// The least and the greatest coordinates of points.
    pub(super) fn envelope(&self, points: &[IVec2]) -> Envelope {
        let around = |points: &[IVec2]| {
            points.iter().fold(NO_ENVELOPE, |envelope, &point| {
                let (x, y) = self.position(point);
                union(envelope, [x, y, x, y])
            })
        };
        let keeps_axes = self.transform.is_none_or(|map| map.keeps_axes());
        match BoundingBox::of(points) {
            // Where each coordinate depends on one of the points' coordinates, monotonically.
            Some(corners) if keeps_axes => around(&[corners.min, corners.max]),
            _ => around(points),
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
