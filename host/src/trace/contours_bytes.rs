//! The contours of a whole image as bytes, to be sent to other processes.

use glam::IVec2;

use crate::bytes::{Reader, Writer};
use crate::error::Result;
use crate::image::MAX_SIDE;
use crate::memory::reserve;
use crate::trace::Geometry;
use crate::trace::contours::{BorderKind, Contours};
use crate::trace::cpu::hierarchy;

const CONTOURS: &str = "contours";
const LETTERS: [u8; 4] = *b"TZCT";
const VERSION: u8 = 1;

impl Contours {
    /// The contours as bytes, which other processes and machines read by
    /// [`from_bytes`](Self::from_bytes): 13 per contour and 8 per point, and a hash of all other
    /// bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let room = 64 + 13 * self.kinds.len() + 8 * self.points.len();
        let mut to = Writer::new(LETTERS, VERSION, room, CONTOURS)?;
        to.put(self.width);
        to.put(self.height);
        to.put(u8::from(self.geometry == Geometry::Edges));
        to.list(
            self.kinds
                .iter()
                .map(|&kind| u8::from(kind == BorderKind::Hole)),
        )?;
        to.list(self.hierarchy.iter().map(|row| row[3]))?;
        to.list(self.offsets.iter().skip(1).map(|&end| end as u64))?;
        let coordinates: &[i32] = bytemuck::cast_slice(&self.points);
        to.list(coordinates.iter().copied())?;
        to.finish()
    }

    /// The contours that [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for bytes that are damaged, or not of
    /// contours within an image in the order of their hierarchy;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    ///
    /// ```
    /// use trazar::{BinaryImage, Contours, Engine, TraceOptions};
    ///
    /// let image = BinaryImage::from_art("###\n#.#\n###")?;
    /// let contours = Engine::cpu().trace(&image, &TraceOptions::default())?;
    /// assert_eq!(Contours::from_bytes(&contours.to_bytes()?)?, contours);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes, LETTERS, VERSION, CONTOURS)?;
        let (width, height): (u32, u32) = (from.get()?, from.get()?);
        let sides = 1..=MAX_SIDE;
        let is_image = sides.contains(&width) && sides.contains(&height);
        from.check(is_image, "there is no such image")?;
        let geometry = match from.get::<u8>()? {
            0 => Geometry::Centers,
            1 => Geometry::Edges,
            other => return Err(from.refusal(format!("there is no geometry {other}"))),
        };
        let holes: Vec<u8> = from.list()?;
        let parents: Vec<i32> = from.list()?;
        let ends: Vec<u64> = from.list()?;
        let coordinates: Vec<i32> = from.list()?;
        from.end()?;

        let (points, rest) = coordinates.as_chunks::<2>();
        let same = holes.len() == parents.len() && holes.len() == ends.len() && rest.is_empty();
        let few = i32::try_from(holes.len()).is_ok();
        from.check(same && few, "there is no value for each contour")?;
        let is_kind = holes.iter().all(|&hole| hole <= 1);
        from.check(is_kind, "a contour is neither outer nor a hole")?;
        let in_order = hierarchy::is_pre_order(&parents);
        from.check(
            in_order,
            "the contours are not in the order of their hierarchy",
        )?;
        let in_order = ends.is_sorted_by(|a, b| a < b)
            && ends.first().is_none_or(|&end| end > 0)
            && ends.last().copied().unwrap_or(0) == points.len() as u64;
        from.check(in_order, "the contours have other points")?;
        // Along edges, one corner more.
        let (right, bottom) = (0..=width as i32, 0..=height as i32);
        let is_inside = |[x, y]: &[i32; 2]| right.contains(x) && bottom.contains(y);
        from.check(
            points.iter().all(is_inside),
            "a point is outside of the image",
        )?;

        let mut own = Vec::new();
        reserve(&mut own, points.len(), "the contours' points")?;
        own.extend(points.iter().map(|&point| IVec2::from(point)));
        let mut offsets = Vec::new();
        reserve(&mut offsets, ends.len() + 1, "the contours' offsets")?;
        offsets.push(0);
        offsets.extend(ends.iter().map(|&end| end as usize));
        let mut kinds = Vec::new();
        reserve(&mut kinds, holes.len(), "the contours")?;
        kinds.extend(holes.iter().map(|&hole| BorderKind::of_code(hole)));
        Ok(Self {
            width,
            height,
            geometry,
            points: own,
            offsets,
            kinds,
            hierarchy: hierarchy::link(&parents)?,
        })
    }
}
