//! [`Contours`]: the result of tracing.

use glam::{DVec2, IVec2};

use super::Geometry;
use crate::geometry::{self, BoundingBox, Location};

/// Which side of its component a border is. As a byte it is 0 or 1, as on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BorderKind {
    /// The outside of a foreground component; runs counter-clockwise on the screen.
    Outer = 0,
    /// The rim of a hole, on the foreground pixels around it; runs clockwise on the screen.
    Hole = 1,
}

impl BorderKind {
    /// The kind of a code: 0 is [`Outer`](Self::Outer), all else [`Hole`](Self::Hole).
    pub(super) fn of_code(code: u8) -> Self {
        match code {
            0 => Self::Outer,
            _ => Self::Hole,
        }
    }
}

/// A contour's neighbours in the hierarchy, by index into its [`Contours`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Links {
    /// The next contour with the same parent.
    pub next: Option<usize>,
    /// The previous contour with the same parent.
    pub previous: Option<usize>,
    /// The first of the contours directly inside.
    pub first_child: Option<usize>,
    /// The contour directly around.
    pub parent: Option<usize>,
}

impl Links {
    pub(super) fn of(row: HierarchyRow) -> Self {
        let [next, previous, first_child, parent] = row.map(|link| usize::try_from(link).ok());
        Self {
            next,
            previous,
            first_child,
            parent,
        }
    }
}

/// A hierarchy row as it is stored and exported: next, previous, first child, parent; -1 is none.
pub type HierarchyRow = [i32; 4];

/// The contours of an image: points, kinds and hierarchy.
///
/// Contour `i` has the points `points()[offsets()[i]..offsets()[i + 1]]`. Contours are in pre-order
/// of the hierarchy, siblings in reverse raster order of discovery, as in `cv2.findContours`.
///
/// ```
/// use trazar::glam::IVec2;
/// use trazar::{BinaryImage, BorderKind, Engine, TraceOptions};
///
/// let ring = BinaryImage::from_art(
///     "
///     ......
///     .####.
///     .#..#.
///     .####.
///     ",
/// )?;
/// let contours = Engine::cpu().trace(&ring, &TraceOptions::default())?;
/// assert_eq!(contours.len(), 2);
/// let outer = contours.get(0).unwrap();
/// let hole = contours.get(1).unwrap();
/// assert_eq!(outer.points(), [[1, 1], [1, 3], [4, 3], [4, 1]].map(IVec2::from_array));
/// assert_eq!(hole.kind(), BorderKind::Hole);
/// assert_eq!(hole.links().parent, Some(0));
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contours {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) geometry: Geometry,
    pub(crate) points: Vec<IVec2>,
    pub(crate) offsets: Vec<usize>,
    pub(crate) kinds: Vec<BorderKind>,
    pub(crate) hierarchy: Vec<HierarchyRow>,
}

/// The arrays of a [`Contours`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContourArrays {
    /// As [`Contours::points`].
    pub points: Vec<IVec2>,
    /// As [`Contours::offsets`].
    pub offsets: Vec<usize>,
    /// As [`Contours::kinds`].
    pub kinds: Vec<BorderKind>,
    /// As [`Contours::hierarchy`].
    pub hierarchy: Vec<HierarchyRow>,
}

impl Contours {
    /// Takes the arrays out.
    ///
    /// ```
    /// use trazar::{BinaryImage, Engine, TraceOptions};
    ///
    /// let image = BinaryImage::from_art("##.#")?;
    /// let arrays = Engine::cpu().trace(&image, &TraceOptions::default())?.into_arrays();
    /// assert_eq!(arrays.offsets, [0, 1, 3]);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn into_arrays(self) -> ContourArrays {
        ContourArrays {
            points: self.points,
            offsets: self.offsets,
            kinds: self.kinds,
            hierarchy: self.hierarchy,
        }
    }

    /// Width of the image that was traced.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height of the image that was traced.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// What the points are: centers of pixels or corners.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The number of contours.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are no contours: the image has no foreground.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// All contours' points, one contour after the other.
    pub fn points(&self) -> &[IVec2] {
        &self.points
    }

    /// Start of each contour's points in [`points`](Self::points), then the number of points.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Each contour's kind.
    pub fn kinds(&self) -> &[BorderKind] {
        &self.kinds
    }

    /// Each contour's row `[next, previous, first child, parent]`, -1 for none.
    pub fn hierarchy(&self) -> &[HierarchyRow] {
        &self.hierarchy
    }

    /// Contour `index`, if there are that many.
    pub fn get(&self, index: usize) -> Option<Contour<'_>> {
        (index < self.len()).then(|| self.at(index))
    }

    /// Contour `index`, which exists.
    pub(crate) fn at(&self, index: usize) -> Contour<'_> {
        Contour {
            contours: self,
            index,
        }
    }

    /// The contours in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Contour<'_>> + Clone {
        (0..self.len()).map(|index| self.at(index))
    }

    /// One polygon for each outer border, with the hole borders directly inside it as its
    /// interior rings.
    ///
    /// Coordinates are those of the points: x right, y down. Holes are found through the
    /// hierarchy, so trace with [`Retrieval::Ccomp`](super::Retrieval::Ccomp) or
    /// [`Retrieval::Tree`](super::Retrieval::Tree); without one, polygons have no holes.
    ///
    /// With [`Geometry::Edges`] the polygons are valid in the sense of the OGC's simple
    /// features, and their areas sum up to the number of foreground pixels. With
    /// [`Geometry::Centers`] a contour of one or two points, or one that doubles back, has no
    /// area and makes a degenerate polygon.
    #[cfg(feature = "formats")]
    pub fn polygons(&self) -> impl Iterator<Item = geo_types::Polygon<f64>> + '_ {
        self.iter()
            .filter(|contour| contour.kind() == BorderKind::Outer)
            .map(|contour| {
                geo_types::Polygon::new(
                    contour.ring(),
                    contour.children().map(|hole| hole.ring()).collect(),
                )
            })
    }
}

#[cfg(feature = "formats")]
impl From<&Contours> for geo_types::MultiPolygon<f64> {
    fn from(contours: &Contours) -> Self {
        contours.polygons().collect()
    }
}

/// One contour of a [`Contours`].
#[derive(Clone, Copy, Debug)]
pub struct Contour<'a> {
    contours: &'a Contours,
    index: usize,
}

impl<'a> Contour<'a> {
    /// Its index among the contours.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its points; the contour is closed, and the first is not repeated at the end.
    pub fn points(&self) -> &'a [IVec2] {
        let offsets = &self.contours.offsets;
        &self.contours.points[offsets[self.index]..offsets[self.index + 1]]
    }

    /// Outer border or hole.
    pub fn kind(&self) -> BorderKind {
        self.contours.kinds[self.index]
    }

    /// Its neighbours in the hierarchy.
    pub fn links(&self) -> Links {
        Links::of(self.contours.hierarchy[self.index])
    }

    /// The contours directly inside.
    pub fn children(&self) -> impl Iterator<Item = Contour<'a>> + use<'a> {
        let contours = self.contours;
        let at = |index: Option<usize>| index.and_then(|index| contours.get(index));
        std::iter::successors(at(self.links().first_child), move |child| {
            at(child.links().next)
        })
    }

    /// The area of the polygon through the points, never negative.
    ///
    /// For [`Geometry::Edges`] it is the number of pixels within. Exact up to 2⁵³.
    pub fn area(&self) -> f64 {
        geometry::doubled_area(self.points()).unsigned_abs() as f64 / 2.0
    }

    /// The length of the closed polygon through the points, in pixels.
    pub fn perimeter(&self) -> f64 {
        geometry::perimeter(self.points())
    }

    /// The box around the points.
    pub fn bounding_box(&self) -> BoundingBox {
        let points = self.points();
        BoundingBox::of(points).unwrap_or(BoundingBox {
            min: IVec2::ZERO,
            max: IVec2::ZERO,
        })
    }

    /// The centroid of the polygon's area, from its moments; of its line where it has no area.
    pub fn centroid(&self) -> DVec2 {
        geometry::centroid(self.points()).unwrap_or(DVec2::ZERO)
    }

    /// Whether `point` is inside the polygon through the points, on it, or outside.
    pub fn locate(&self, point: IVec2) -> Location {
        geometry::locate(self.points(), point)
    }

    /// The contour as a closed ring.
    #[cfg(feature = "formats")]
    fn ring(&self) -> geo_types::LineString<f64> {
        self.points()
            .iter()
            .map(|p| (f64::from(p.x), f64::from(p.y)))
            .collect()
    }
}
