//! Contours drawn over the image, as PNG.

use std::io::Write;

use crate::formats::GreyImage;
use crate::formats::canvas::Canvas;
use crate::{BorderKind, Contours, Error, Geometry, Result};

/// The palette's entry for outer borders; the entries below it are shades of grey.
const OUTER: u8 = 254;
/// The palette's entry for holes.
const HOLE: u8 = 255;

/// Writes a PNG of the dimmed image with the contours over it: outer borders in orange, holes
/// in cyan.
///
/// Images with both sides below 800 pixels are enlarged by a whole number, at most 16, so that
/// single pixels and the edges between them can be seen. A contour along pixel edges is drawn on
/// the pixels to the right of and below the edges.
///
/// # Errors
/// [`Error::SizeMismatch`] if `picture` and the traced image differ in size; [`Error::Write`];
/// [`Error::OutOfMemory`].
pub fn write_overlay_png(contours: &Contours, picture: GreyImage, out: impl Write) -> Result<()> {
    let (width, height) = (contours.width(), contours.height());
    if (picture.width, picture.height) != (width, height) {
        return Err(Error::SizeMismatch {
            width,
            height,
            needed: u64::from(width) * u64::from(height),
            given: u64::from(picture.width) * u64::from(picture.height),
            unit: "pixels of the picture",
        });
    }
    let mut entries = picture.samples;
    for entry in &mut entries {
        *entry = (u16::from(*entry) * 253 / 255) as u8;
    }
    let edges = contours.geometry() == Geometry::Edges;
    let mut canvas = Canvas::new(width, height, entries, edges)?;
    for contour in contours.iter() {
        let colour = match contour.kind() {
            BorderKind::Outer => OUTER,
            BorderKind::Hole => HOLE,
        };
        let points = contour.points();
        if let &[point] = points {
            canvas.spot(point, colour);
        }
        let next = points.iter().skip(1).chain(points.first());
        for (&a, &b) in points.iter().zip(next) {
            canvas.line(a, b, colour);
        }
    }
    let mut palette = Vec::with_capacity(3 * 256);
    for shade in 0..OUTER {
        // From dark to medium grey: both colours stand out against all of them.
        palette.extend([16 + shade / 3; 3]);
    }
    palette.extend([255, 150, 20]);
    palette.extend([40, 220, 255]);
    canvas.write(palette, out)
}
