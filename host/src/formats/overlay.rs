//! Contours drawn over the image, as PNG.

use std::io::{BufWriter, Write};

use glam::IVec2;

use super::grey::GreyImage;
use crate::error::zeroed_vec;
use crate::{BorderKind, Contours, Error, Geometry, Result};

/// The palette's entry for outer borders; shades of grey are below.
const OUTER: u8 = 254;
/// The palette's entry for holes.
const HOLE: u8 = 255;
/// Pictures with both sides below this are enlarged.
const ENLARGE_BELOW: u32 = 800;
/// At most so many times.
const ENLARGE_MOST: u32 = 16;

/// Writes a PNG of the dimmed image with the contours over it: outer borders in orange, holes
/// in cyan.
///
/// Images below 800 pixels are enlarged by a whole number, so that single pixels and the edges
/// between them can be seen. A contour along the edges of pixels is drawn on the pixels right
/// of and below the edges.
///
/// # Errors
/// [`Error::SizeMismatch`] if `picture` is not of the size that was traced; [`Error::Write`];
/// [`Error::OutOfMemory`].
pub fn write_overlay(contours: &Contours, picture: GreyImage, out: impl Write) -> Result<()> {
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
    let mut canvas = Canvas::new(picture, contours.geometry() == Geometry::Edges)?;
    for contour in contours.iter() {
        let colour = match contour.kind() {
            BorderKind::Outer => OUTER,
            BorderKind::Hole => HOLE,
        };
        let points = contour.points();
        if let &[point] = points {
            canvas.single(point, colour);
        }
        let next = points.iter().skip(1).chain(points.first());
        for (&a, &b) in points.iter().zip(next) {
            canvas.line(a, b, colour);
        }
    }
    canvas.write(out)
}

/// Palette entries, and how points of contours lie on them.
struct Canvas {
    width: u32,
    height: u32,
    entries: Vec<u8>,
    /// Size of an image pixel.
    scale: i64,
    /// Where point (0, 0) is.
    origin: i64,
    /// Width of a line.
    pen: i64,
}

impl Canvas {
    fn new(picture: GreyImage, edges: bool) -> Result<Self> {
        let (width, height) = (picture.width, picture.height);
        let scale = (ENLARGE_BELOW / width.max(height)).clamp(1, ENLARGE_MOST);
        let dim = |shade: u8| (u16::from(shade) * 253 / 255) as u8;
        // Room for the edges on the right and at the bottom.
        let extra = u32::from(edges);
        let entries = if scale == 1 && !edges {
            let mut entries = picture.samples;
            for entry in &mut entries {
                *entry = dim(*entry);
            }
            entries
        } else {
            let row = width as usize * scale as usize + extra as usize;
            let rows = height as usize * scale as usize + extra as usize;
            let mut entries = zeroed_vec(row * rows, "the picture")?;
            for (y, line) in entries.chunks_exact_mut(row).enumerate() {
                let y = (y / scale as usize).min(height as usize - 1);
                let from = &picture.samples[y * width as usize..][..width as usize];
                for (to, &shade) in line.chunks_mut(scale as usize).zip(from) {
                    to.fill(dim(shade));
                }
                if edges {
                    line[row - 1] = line[row - 2];
                }
            }
            entries
        };
        let scale_signed = i64::from(scale);
        let pen = (scale_signed / 4).max(1);
        Ok(Self {
            width: width * scale + extra,
            height: height * scale + extra,
            entries,
            scale: scale_signed,
            origin: if edges {
                -(pen / 2)
            } else {
                (scale_signed - pen) / 2
            },
            pen,
        })
    }

    /// Draws from point `a` to point `b` (Bresenham).
    fn line(&mut self, a: IVec2, b: IVec2, colour: u8) {
        let at = |p: IVec2| {
            (
                i64::from(p.x) * self.scale + self.origin,
                i64::from(p.y) * self.scale + self.origin,
            )
        };
        let ((mut x, mut y), (to_x, to_y)) = (at(a), at(b));
        let (dx, dy) = ((to_x - x).abs(), -(to_y - y).abs());
        let (step_x, step_y) = ((to_x - x).signum(), (to_y - y).signum());
        let mut error = dx + dy;
        loop {
            self.dot(x, y, colour);
            if (x, y) == (to_x, to_y) {
                break;
            }
            let doubled = 2 * error;
            if doubled >= dy {
                error += dy;
                x += step_x;
            }
            if doubled <= dx {
                error += dx;
                y += step_y;
            }
        }
    }

    /// Fills the middle of a pixel that is a contour by itself: a line's width is easily missed.
    fn single(&mut self, point: IVec2, colour: u8) {
        let size = (self.scale / 2).max(1);
        let at = |v: i32| i64::from(v) * self.scale + (self.scale - size) / 2;
        self.square(at(point.x), at(point.y), size, colour);
    }

    /// A square of the pen's size.
    fn dot(&mut self, x: i64, y: i64, colour: u8) {
        self.square(x, y, self.pen, colour);
    }

    /// Fills a square, as far as it is on the canvas.
    fn square(&mut self, x: i64, y: i64, size: i64, colour: u8) {
        let clip = |from: i64, end: u32| {
            let end = i64::from(end);
            (
                from.clamp(0, end) as usize,
                (from + size).clamp(0, end) as usize,
            )
        };
        let (left, right) = clip(x, self.width);
        let (top, bottom) = clip(y, self.height);
        for line in top..bottom {
            self.entries[line * self.width as usize..][left..right].fill(colour);
        }
    }

    fn write(&self, out: impl Write) -> Result<()> {
        let mut palette = Vec::with_capacity(3 * 256);
        for shade in 0..OUTER {
            // From dark to middle grey: both colours stand out on all of them.
            palette.extend([16 + shade / 3; 3]);
        }
        palette.extend([255, 150, 20]);
        palette.extend([40, 220, 255]);
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let mut encoder = png::Encoder::new(&mut out, self.width, self.height);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(palette);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(png_error)?;
        let mut stream = writer.stream_writer().map_err(png_error)?;
        stream.write_all(&self.entries)?;
        stream.finish().map_err(png_error)?;
        writer.finish().map_err(png_error)?;
        Ok(out.flush()?)
    }
}

/// The encoder's error in the library's terms.
pub(super) fn png_error(error: png::EncodingError) -> Error {
    match error {
        png::EncodingError::IoError(error) => Error::Write(error),
        other => Error::Unwritable {
            format: "png",
            reason: other.to_string(),
        },
    }
}
