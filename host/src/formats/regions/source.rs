//! [`RegionSource`]: where writers of regions get them.

use std::io::Write;

use glam::IVec2;

use super::value::FileValue;
use crate::formats::contours::Component;
use crate::formats::image::GeoReference;
use crate::formats::shares::{Share, ShareText, family_shares, sum_shares, write_shares};
use crate::geometry::doubled_area;
use crate::options::setters;
use crate::regions::{SimplifiedRegions, pixel_count};
use crate::trace::{ContourSource, PointRoom, StoredContours, StoredRegions};
use crate::{BorderKind, Contours, Regions, Result};

/// Regions that are written to a file: rings along the pixels' edges, with values. [`Regions`], or
/// regions whose points are elsewhere. Writers read on all threads.
pub trait RegionSource: Sync {
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
    /// The number of pixels, if it is known already.
    pixels: Option<u64>,
}

impl<'a, T> Region<'a, T> {
    pub(super) fn outer(&self) -> &'a [IVec2] {
        self.rings[0]
    }

    /// The number of pixels.
    pub(super) fn area(&self) -> u64 {
        self.pixels.unwrap_or_else(|| {
            // Holes run the other way.
            let doubled: i128 = self.rings.iter().map(|ring| doubled_area(ring)).sum();
            (doubled.unsigned_abs() / 2) as u64
        })
    }

    pub(super) fn holes(&self) -> &'a [&'a [IVec2]] {
        &self.rings[1..]
    }
}

/// Visits the regions of a share that are large enough, in order.
fn visit<S: RegionSource>(
    regions: &S,
    share: &Share,
    min_area: u64,
    room: &mut PointRoom,
    mut visit: impl FnMut(Region<'_, S::Value>) -> Result<()>,
) -> Result<()> {
    let rings = regions.rings();
    let near = share.read(rings, room)?;
    let mut component = Component::default();
    for ring in share.contours.clone() {
        if rings.kinds()[ring] == BorderKind::Hole {
            continue;
        }
        let found = component.rings(rings, ring, near)?;
        if found.is_empty() {
            continue;
        }
        let mut region = Region {
            rings: &found,
            value: regions.value(ring),
            number: regions.region(ring),
            pixels: regions.pixels(ring),
        };
        if min_area > 0 {
            let area = region.area();
            if area < min_area {
                continue;
            }
            region.pixels = Some(area);
        }
        visit(region)?;
    }
    Ok(())
}

/// All rings, each region's in one share.
fn shares_of(regions: &impl RegionSource) -> impl Iterator<Item = Share> {
    let rings = regions.rings();
    let is_outer = |ring: usize| rings.kinds()[ring] == BorderKind::Outer;
    family_shares(rings, 0..rings.len(), is_outer)
}

/// Encodes the regions of at least `min_area` pixels on all threads, and writes them to `out` in
/// order, separated by `between`.
///
/// # Errors
/// The first one of `encode`; [`Error::OutOfMemory`](crate::Error::OutOfMemory);
/// [`Error::Write`](crate::Error::Write).
pub(super) fn write_each<S: RegionSource>(
    regions: &S,
    min_area: u64,
    encode: impl Fn(&mut ShareText<'_>, &Region<'_, S::Value>) -> Result<()> + Sync,
    between: &str,
    out: impl Write,
) -> Result<()> {
    let encode_share = |share: &Share, room: &mut PointRoom, text: &mut ShareText<'_>| {
        let mut before = "";
        visit(regions, share, min_area, room, |region| {
            encode(text.put(before), &region)?;
            before = between;
            text.write_full()
        })
    };
    write_shares(shares_of(regions), encode_share, between, out)
}

/// Sums up the regions of at least `min_area` pixels on all threads: `add` adds one to a sum, and
/// `join` joins two sums.
///
/// # Errors
/// Those of the place where the points are; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub(super) fn sum<S: RegionSource, T: Default + Send>(
    regions: &S,
    min_area: u64,
    add: impl Fn(&mut T, &Region<'_, S::Value>) + Sync,
    join: impl Fn(T, T) -> T + Sync,
) -> Result<T> {
    let add_share = |share: &Share, room: &mut PointRoom, sum: &mut T| {
        visit(regions, share, min_area, room, |region| {
            add(sum, &region);
            Ok(())
        })
    };
    sum_shares(shares_of(regions), add_share, join)
}

/// The number of regions of at least `min_area` pixels.
///
/// # Errors
/// Those of the place where the points are.
pub fn count_regions(regions: &impl RegionSource, min_area: u64) -> Result<u64> {
    sum(regions, min_area, |count, _| *count += 1, |a, b| a + b)
}
