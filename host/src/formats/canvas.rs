//! Pictures with a palette: pixels enlarged, lines and squares over them.

use std::io::{BufWriter, Write};

use glam::IVec2;

use crate::memory::zeroed_vec;
use crate::{Error, Result};

/// Pictures with both sides below this are enlarged.
const ENLARGE_BELOW: u32 = 800;
/// At most so many times.
const ENLARGE_MOST: u32 = 16;

/// Palette entries, and how points of contours lie on them.
pub(super) struct Canvas {
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
    /// A canvas with a palette entry for each pixel, row by row, enlarged by a whole number where it is small; points are pixels'
    /// centres, or with `edges` their corners.
    pub(super) fn new(width: u32, height: u32, entries: Vec<u8>, edges: bool) -> Result<Self> {
        let scale = (ENLARGE_BELOW / width.max(height)).clamp(1, ENLARGE_MOST);
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

    /// Draws lines half as wide as a pixel from here on, not a quarter.
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

    /// Fills the middle of a pixel, half as wide: a line's width is easily missed.
    pub(super) fn single(&mut self, point: IVec2, colour: u8) {
        self.middle(point, self.scale / 2, colour);
    }

    /// A square half as large again as a pixel, and large enough to be seen: what is under a
    /// [`marker`](Self::marker) and frames it.
    pub(super) fn frame(&mut self, point: IVec2, colour: u8) {
        self.middle(point, self.frame_size(), colour);
    }

    /// A square within its [`frame`](Self::frame).
    pub(super) fn marker(&mut self, point: IVec2, colour: u8) {
        let size = self.frame_size();
        let thick = (size / 8).max(1);
        self.middle(point, size - 2 * thick, colour);
    }

    fn frame_size(&self) -> i64 {
        (self.scale * 3 / 2).max(5)
    }

    /// Fills the middle of a pixel, `size` of the picture's pixels wide but one at least.
    fn middle(&mut self, point: IVec2, size: i64, colour: u8) {
        let size = size.max(1);
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

    /// Writes a PNG with this palette, three bytes an entry.
    pub(super) fn write(&self, palette: Vec<u8>, out: impl Write) -> Result<()> {
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
