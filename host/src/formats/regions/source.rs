//! [`RegionSource`]: where writers of regions get them.

use glam::IVec2;

use super::value::FileValue;
use crate::formats::contours::Component;
use crate::formats::image::GeoReference;
use crate::geometry::doubled_area;
use crate::options::setters;
use crate::regions::{SimplifiedRegions, pixel_count};
use crate::trace::{ContourSource, StoredContours, StoredRegions};
use crate::{BorderKind, Contours, Regions, Result};

/// Regions that are written to a file: rings along the pixels' edges, with values. [`Regions`], or
/// regions whose points are elsewhere.
pub trait RegionSource {
    /// The type of the values.
    type Value: FileValue;
    /// The type of the rings.
    type Rings: ContourSource;

    /// The rings. Each outer ring is linked to the holes directly inside it.
    fn rings(&self) -> &Self::Rings;

    /// The value of the region of ring `ring`.
    fn value(&self, ring: usize) -> Self::Value;

    /// The number of the region of ring `ring`, from 1.
    fn region(&self, ring: usize) -> u32;

    /// The number of pixels of the region of the outer ring `ring`, if that is not the area within
    /// its rings.
    fn pixels(&self, ring: usize) -> Option<u64> {
        let _ = ring;
        None
    }
}

impl<T: FileValue> RegionSource for Regions<T> {
    type Value = T;
    type Rings = Contours;

    fn rings(&self) -> &Contours {
        self.contours()
    }

    fn value(&self, ring: usize) -> T {
        self.values()[ring]
    }

    fn region(&self, ring: usize) -> u32 {
        self.regions()[ring]
    }
}

impl<T: FileValue> RegionSource for StoredRegions<T> {
    type Value = T;
    type Rings = StoredContours;

    fn rings(&self) -> &StoredContours {
        self.rings()
    }

    fn value(&self, ring: usize) -> T {
        self.values()[ring]
    }

    fn region(&self, ring: usize) -> u32 {
        self.regions()[ring]
    }
}

/// With the regions' numbers of pixels.
impl<T: FileValue> RegionSource for SimplifiedRegions<T> {
    type Value = T;
    type Rings = Contours;

    fn rings(&self) -> &Contours {
        self.contours()
    }

    fn value(&self, ring: usize) -> T {
        self.regions().value(ring)
    }

    fn region(&self, ring: usize) -> u32 {
        self.regions().region(ring)
    }

    fn pixels(&self, ring: usize) -> Option<u64> {
        let outer = self.regions().contours().get(ring)?;
        Some(pixel_count(&outer))
    }
}

/// What the writers of regions write, and in which coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RegionWriteOptions {
    /// The coordinates: those of the georeference's transform, or pixels (x right, y down) without
    /// one. Pictures and layouts are always in pixels.
    pub georeference: Option<GeoReference>,
    /// The least number of pixels of a region. Smaller ones are left out; where they were, there is
    /// nothing.
    pub min_area: u64,
}

setters! {
    RegionWriteOptions {
        georeference: impl Into<Option<GeoReference>>,
        min_area: u64,
    }
}

/// A region: its rings and what is said of it.
pub(super) struct Region<'a, T> {
    /// The outer ring, then those of the holes; at least one.
    pub(super) rings: &'a [&'a [IVec2]],
    pub(super) value: T,
    pub(super) number: u32,
    /// In pixels.
    pub(super) area: u64,
}

impl<'a, T> Region<'a, T> {
    pub(super) fn outer(&self) -> &'a [IVec2] {
        self.rings[0]
    }

    pub(super) fn holes(&self) -> &'a [&'a [IVec2]] {
        &self.rings[1..]
    }
}

/// Calls `visit` with all regions that are large enough, in order.
pub(super) fn visit<S: RegionSource>(
    regions: &S,
    min_area: u64,
    mut visit: impl FnMut(Region<'_, S::Value>) -> Result<()>,
) -> Result<()> {
    let rings = regions.rings();
    let mut component = Component::default();
    for ring in 0..rings.len() {
        if rings.kinds()[ring] == BorderKind::Hole {
            continue;
        }
        let found = component.rings(rings, ring)?;
        if found.is_empty() {
            continue;
        }
        // Holes run the other way.
        let area = regions.pixels(ring).unwrap_or_else(|| {
            let doubled: i128 = found.iter().map(|ring| doubled_area(ring)).sum();
            (doubled.unsigned_abs() / 2) as u64
        });
        if area < min_area {
            continue;
        }
        visit(Region {
            rings: &found,
            value: regions.value(ring),
            number: regions.region(ring),
            area,
        })?;
    }
    Ok(())
}

/// The number of regions of at least `min_area` pixels.
///
/// # Errors
/// Those of the place where the points are.
pub fn count_regions(regions: &impl RegionSource, min_area: u64) -> Result<u64> {
    let mut count = 0;
    visit(regions, min_area, |_| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}
