//! Contours in a GPU's memory.

use glam::IVec2;
use rayon::prelude::*;

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::memory::collect;
use crate::trace::Geometry;
use crate::trace::contours::{BorderKind, Contours};

/// Contours in a GPU's memory.
///
/// Arrays are laid out as in [`Contours`]. Contour `i` has the points from `offsets[i]` to before
/// `offsets[i + 1]`.
#[derive(Debug)]
pub struct DeviceContours<G: Gpu> {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) geometry: Geometry,
    pub(super) points: G::Buffer<i32>,
    pub(super) offsets: G::Buffer<u32>,
    pub(super) kinds: G::Buffer<u8>,
    pub(super) hierarchy: G::Buffer<i32>,
}

/// The arrays of a [`DeviceContours`].
#[derive(Debug)]
#[non_exhaustive]
pub struct ContourBuffers<G: Gpu> {
    /// As [`DeviceContours::points`].
    pub points: G::Buffer<i32>,
    /// As [`DeviceContours::offsets`].
    pub offsets: G::Buffer<u32>,
    /// As [`DeviceContours::kinds`].
    pub kinds: G::Buffer<u8>,
    /// As [`DeviceContours::hierarchy`].
    pub hierarchy: G::Buffer<i32>,
}

impl<G: Gpu> DeviceContours<G> {
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
        self.len() == 0
    }

    /// The number of points of all contours.
    pub fn point_count(&self) -> usize {
        self.points.len() / 2
    }

    /// All contours' points, one contour after the other: x and y of each.
    pub fn points(&self) -> &G::Buffer<i32> {
        &self.points
    }

    /// Start of each contour's points, counted in points, then the number of points.
    pub fn offsets(&self) -> &G::Buffer<u32> {
        &self.offsets
    }

    /// Each contour's kind: 0 is an outer border, 1 a hole's.
    pub fn kinds(&self) -> &G::Buffer<u8> {
        &self.kinds
    }

    /// Each contour's row of the hierarchy: next, previous, first child, parent; -1 is none.
    pub fn hierarchy(&self) -> &G::Buffer<i32> {
        &self.hierarchy
    }

    /// Takes the arrays out, for other GPU code: on an NVIDIA GPU each is a `DeviceBuffer`, which
    /// the crate `cust` hands to other libraries. They are written when the work queued so far on
    /// their streams is done.
    pub fn into_buffers(self) -> ContourBuffers<G> {
        ContourBuffers {
            points: self.points,
            offsets: self.offsets,
            kinds: self.kinds,
            hierarchy: self.hierarchy,
        }
    }

    /// Copies them to the host.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_host(&self) -> Result<Contours> {
        const WHAT: &str = "the contours";
        let rows = self.hierarchy.to_vec()?;
        let (rows, _) = rows.as_chunks();
        Ok(Contours {
            width: self.width,
            height: self.height,
            geometry: self.geometry,
            points: points_of(self.points.to_vec()?),
            offsets: offsets_of(&self.offsets.to_vec()?, WHAT)?,
            kinds: kinds_of(&self.kinds.to_vec()?, WHAT)?,
            hierarchy: collect(rows.iter().copied(), WHAT)?,
        })
    }
}

/// Offsets as the host has them.
pub(super) fn offsets_of(offsets: &[u32], what: &'static str) -> Result<Vec<usize>> {
    collect(offsets.iter().map(|&offset| offset as usize), what)
}

/// Kinds from their codes.
pub(super) fn kinds_of(codes: &[u8], what: &'static str) -> Result<Vec<BorderKind>> {
    collect(codes.iter().map(|&code| BorderKind::of_code(code)), what)
}

/// Points from their coordinates.
pub(super) fn points_of(coordinates: Vec<i32>) -> Vec<IVec2> {
    bytemuck::allocation::cast_vec::<[i32; 2], IVec2>(pairs(coordinates))
}

/// The contours of a batch of images in a GPU's memory, one image after the other.
///
/// Image `i` has the contours from `image_offsets[i]` to before `image_offsets[i + 1]`. A row of
/// the hierarchy counts contours from the first one of its image.
#[derive(Debug)]
pub struct DeviceContourBatch<G: Gpu> {
    pub(super) contours: DeviceContours<G>,
    pub(super) image_offsets: Vec<u32>,
}

impl<G: Gpu> DeviceContourBatch<G> {
    /// The number of images.
    pub fn len(&self) -> usize {
        self.image_offsets.len() - 1
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The contours of all images.
    pub fn contours(&self) -> &DeviceContours<G> {
        &self.contours
    }

    /// The number of contours before each image, then the total.
    pub fn image_offsets(&self) -> &[u32] {
        &self.image_offsets
    }

    /// Takes the contours of all images out.
    pub fn into_contours(self) -> DeviceContours<G> {
        self.contours
    }

    /// Copies them to the host, image by image.
    ///
    /// # Errors
    /// Those of [`DeviceContours::to_host`].
    pub fn to_host(&self) -> Result<Vec<Contours>> {
        let all = self.contours.to_host()?;
        crate::threads::ensure();
        let images = self.image_offsets.par_windows(2);
        Ok(images
            .map(|range| {
                let (begin, end) = (range[0] as usize, range[1] as usize);
                let first = all.offsets[begin];
                Contours {
                    width: all.width,
                    height: all.height,
                    geometry: all.geometry,
                    points: all.points[first..all.offsets[end]].to_vec(),
                    offsets: all.offsets[begin..=end]
                        .iter()
                        .map(|offset| offset - first)
                        .collect(),
                    kinds: all.kinds[begin..end].to_vec(),
                    hierarchy: all.hierarchy[begin..end].to_vec(),
                }
            })
            .collect())
    }
}

/// Points from their coordinates; in place if the vector's capacity allows it.
pub(super) fn pairs(coordinates: Vec<i32>) -> Vec<[i32; 2]> {
    bytemuck::allocation::try_cast_vec(coordinates)
        .unwrap_or_else(|(_, coordinates)| bytemuck::cast_slice(&coordinates).to_vec())
}
