//! Pictures with a palette: enlarged pixels with lines and squares drawn over them.

use std::io::Write;

use glam::IVec2;

use super::png_writer::{Pixels, write_png};
use super::scale::display_scale;
use crate::Result;
use crate::memory::zeroed_vec;

/// A picture of palette entries. One pixel of the image is a square of `scale × scale` pixels here.
pub(super) struct Canvas {
    width: u32,
    height: u32,
    entries: Vec<u8>,
    /// The side of an image's pixel.
    scale: i64,
    /// The left and top offset of the pen at point (0, 0).
    origin: i64,
    /// The width of a line.
    pen: i64,
}

impl Canvas {
    /// A canvas that shows `entries`, one palette entry per pixel of the image, row by row; small
    /// images are enlarged. Points are centers of pixels, or with `edges` their corners.
    pub(super) fn new(width: u32, height: u32, entries: Vec<u8>, edges: bool) -> Result<Self> {
        let scale = display_scale(width, height);
        // Room for the edges on the right and at the bottom.
        let extra = u32::from(edges);
        let entries = if scale == 1 && !edges {
            entries
        } else {
            let row = width as usize * scale as usize + extra as usize;
            let rows = height as usize * scale as usize + extra as usize;
            let mut enlarged = zeroed_vec(row * rows, "the picture")?;
            for (y, line) in enlarged.chunks_exact_mut(row).enumerate() {
                let y = (y / scale as usize).min(height as usize - 1);
                let from = &entries[y * width as usize..][..width as usize];
                for (to, &entry) in line.chunks_mut(scale as usize).zip(from) {
                    to.fill(entry);
                }
                if edges {
                    line[row - 1] = line[row - 2];
                }
            }
            enlarged
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

    /// Makes lines half as wide as a pixel of the image, instead of a quarter as wide.
    pub(super) fn with_thick_lines(mut self) -> Self {
        self.pen = (self.scale / 2).max(1);
        self.origin = (self.scale - self.pen) / 2;
        self
    }

    /// Draws from point `a` to point `b` (Bresenham).
    pub(super) fn line(&mut self, a: IVec2, b: IVec2, colour: u8) {
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
            self.stamp(x, y, colour);
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

    /// Fills a square in the middle of a pixel, half as wide as the pixel. (A square as wide as a
    /// line would be easily missed.)
    pub(super) fn spot(&mut self, point: IVec2, colour: u8) {
        self.middle(point, self.scale / 2, colour);
    }

    /// Fills a square that is larger than a pixel: drawn first, it frames a
    /// [`marker`](Self::marker).
    pub(super) fn frame(&mut self, point: IVec2, colour: u8) {
        self.middle(point, self.frame_size(), colour);
    }

    /// Fills a square that fits in its [`frame`](Self::frame).
    pub(super) fn marker(&mut self, point: IVec2, colour: u8) {
        let size = self.frame_size();
        let thick = (size / 8).max(1);
        self.middle(point, size - 2 * thick, colour);
    }

    /// The side of a frame: one and a half pixels of the image, and large enough to be seen.
    fn frame_size(&self) -> i64 {
        (self.scale * 3 / 2).max(5)
    }

    /// Fills a square in the middle of a pixel. It is `size` pixels of the picture wide, at least
    /// 1.
    fn middle(&mut self, point: IVec2, size: i64, colour: u8) {
        let size = size.max(1);
        let at = |v: i32| i64::from(v) * self.scale + (self.scale - size) / 2;
        self.square(at(point.x), at(point.y), size, colour);
    }

    /// Fills a square as wide as a line.
    fn stamp(&mut self, x: i64, y: i64, colour: u8) {
        self.square(x, y, self.pen, colour);
    }

    /// Fills the part of a square that is on the canvas.
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

    /// Writes a PNG with this palette, three bytes per entry.
    pub(super) fn write(&self, palette: Vec<u8>, out: impl Write) -> Result<()> {
        let pixels = Pixels::Indexed(palette);
        write_png(out, self.width, self.height, pixels, |out| {
            Ok(out.write_all(&self.entries)?)
        })
    }
}
