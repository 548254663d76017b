//! [`Regions`]: the rings around regions.

use crate::trace::Contours;

/// The regions of an image of values, as rings along the pixels' edges.
///
/// Pixel `(x, y)` is the square from `(x, y)` to `(x + 1, y + 1)`. Each region has one outer ring,
/// which runs counter-clockwise on the screen, and one ring per hole, which runs clockwise. A ring
/// has a vertex where it turns and nowhere else, and starts at its topmost, then leftmost vertex.
/// Together the polygons are a partition of the pixels that count: where two regions meet, their
/// rings pass the same edges in opposite directions, and the area of a polygon is its region's
/// number of pixels.
///
/// Rings are in the order of their regions; an outer ring comes before its holes, which are in
/// raster order of discovery. This is not the order of other [`Contours`], whose siblings are in
/// reverse order.
///
/// ```
/// use trazar::{Engine, RegionOptions, Samples, ValueImage};
///
/// let classes = [3u8, 3, 3, 3, 8, 3, 3, 3, 3];
/// let image = ValueImage::new(Samples::new(3, 3, &classes)?)?;
/// let regions = Engine::cpu().trace_regions(&image, &RegionOptions::default())?;
/// assert_eq!(regions.values(), [3, 3, 8]);
/// assert_eq!(regions.regions(), [1, 1, 2]);
/// assert_eq!(regions.contours().hierarchy()[1][3], 0);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Regions<T> {
    pub(crate) contours: Contours,
    pub(crate) values: Vec<T>,
    pub(crate) regions: Vec<u32>,
    pub(crate) count: u32,
}

/// The arrays of [`Regions`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RegionArrays<T> {
    /// As [`Regions::contours`].
    pub contours: Contours,
    /// As [`Regions::values`].
    pub values: Vec<T>,
    /// As [`Regions::regions`].
    pub regions: Vec<u32>,
    /// As [`Regions::count`].
    pub count: u32,
}

impl<T> Regions<T> {
    /// Takes the arrays out.
    pub fn into_arrays(self) -> RegionArrays<T> {
        RegionArrays {
            contours: self.contours,
            values: self.values,
            regions: self.regions,
            count: self.count,
        }
    }

    /// The rings; in the hierarchy, each hole is below its region's outer ring.
    pub fn contours(&self) -> &Contours {
        &self.contours
    }

    /// Each ring's value.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Each ring's region, numbered from 1 in raster order of the regions' first pixels: the number
    /// that [`Engine::label_values`](crate::Engine::label_values) gives.
    pub fn regions(&self) -> &[u32] {
        &self.regions
    }

    /// The number of regions.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The number of rings.
    pub fn len(&self) -> usize {
        self.contours.len()
    }

    /// Whether there are no regions.
    pub fn is_empty(&self) -> bool {
        self.contours.is_empty()
    }

    /// The polygons in the order of regions, each with its value and the number of its region.
    /// Coordinates are those of the points: x right, y down.
    #[cfg(feature = "formats")]
    pub fn polygons(&self) -> impl Iterator<Item = (T, u32, geo_types::Polygon<f64>)> + '_
    where
        T: Copy,
    {
        self.polygons_of(&self.contours)
    }

    /// As [`polygons`](Self::polygons), with other points for the rings.
    #[cfg(feature = "formats")]
    pub(super) fn polygons_of<'a>(
        &'a self,
        rings: &'a Contours,
    ) -> impl Iterator<Item = (T, u32, geo_types::Polygon<f64>)> + 'a
    where
        T: Copy,
    {
        let outers = rings.iter().filter(|contour| {
            // Holes come with their outer ring.
            contour.kind() == crate::trace::BorderKind::Outer
        });
        outers.zip(rings.polygons()).map(|(outer, polygon)| {
            let ring = outer.index();
            (self.values[ring], self.regions[ring], polygon)
        })
    }
}
