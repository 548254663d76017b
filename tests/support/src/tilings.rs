//! A tiling whose labels and measures are known at any size, for images that are too large to be
//! labelled another way.
//!
//! Cells of 64 × 64 pixels have lines above and to the left, and hold a ring with a dot inside. The
//! lines are one component through the whole image. Cells that the image cuts off have lines only.

use trazar::glam::{DVec2, IVec2};
use trazar::{BinaryImage, Component};

/// The side of a cell in pixels.
pub const CELL: u32 = 64;

/// The first and the last column and row of the ring in its cell.
const RING: (u32, u32) = (8, 55);

/// The dot's position in its cell.
const DOT: u32 = 32;

/// The tiling of `width` by `height` pixels.
#[derive(Clone, Copy, Debug)]
pub struct Tiling {
    width: u32,
    height: u32,
}

/// What is known of a component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The number of its pixels.
    pub area: u64,
    /// The first and the last corner of its box.
    pub corners: (IVec2, IVec2),
    /// The mean of its pixels.
    pub centroid: DVec2,
}

impl Tiling {
    /// An image of `width` by `height` pixels, each at least 2, so that the lines go on.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }

    /// Whole cells per row and per column.
    fn cells(self) -> (u64, u64) {
        ((self.width / CELL).into(), (self.height / CELL).into())
    }

    /// The number of components, for either connectivity.
    #[must_use]
    pub fn count(self) -> u64 {
        let (columns, rows) = self.cells();
        1 + 2 * columns * rows
    }

    /// The words of row `y`.
    fn row(self, y: u32) -> Vec<u64> {
        let (columns, rows) = self.cells();
        let at = y % CELL;
        let ring = match at {
            _ if u64::from(y / CELL) >= rows => 0,
            at if at == RING.0 || at == RING.1 => {
                (u64::MAX << RING.0) & (u64::MAX >> (63 - RING.1))
            }
            at if RING.0 < at && at < RING.1 => {
                1 << RING.0 | 1 << RING.1 | u64::from(at == DOT) << DOT
            }
            _ => 0,
        };
        let line = if at == 0 { u64::MAX } else { 1 };
        let mut words = vec![line | ring; columns as usize];
        let rest = self.width % CELL;
        if rest > 0 {
            words.push(line & (u64::MAX >> (64 - rest)));
        }
        words
    }

    /// The rows from `first` to, not including, `end`.
    ///
    /// # Panics
    /// The image is too large for the memory.
    #[must_use]
    pub fn rows(self, first: u32, end: u32) -> BinaryImage {
        let cell: Vec<Vec<u64>> = (0..CELL).map(|y| self.row(y)).collect();
        let mut words = Vec::with_capacity(cell[0].len() * (end - first) as usize);
        for y in first..end {
            if u64::from(y / CELL) < self.cells().1 {
                words.extend_from_slice(&cell[(y % CELL) as usize]);
            } else {
                words.extend(self.row(y));
            }
        }
        BinaryImage::from_words(self.width, end - first, words).expect("a tiling's words")
    }

    /// The whole image.
    #[must_use]
    pub fn image(self) -> BinaryImage {
        self.rows(0, self.height)
    }

    /// The label of pixel `(x, y)`.
    #[must_use]
    pub fn label(self, x: u32, y: u32) -> u64 {
        let (columns, rows) = self.cells();
        let (column, row) = (u64::from(x / CELL), u64::from(y / CELL));
        let (x, y) = (x % CELL, y % CELL);
        if x == 0 || y == 0 {
            return 1;
        }
        if column >= columns || row >= rows {
            return 0;
        }
        // The rings of a row of cells come before its dots.
        let first = 2 + 2 * row * columns + column;
        let is_edge = |at: u32| at == RING.0 || at == RING.1;
        let is_within = |at: u32| RING.0 <= at && at <= RING.1;
        if is_edge(x) && is_within(y) || is_edge(y) && is_within(x) {
            first
        } else if (x, y) == (DOT, DOT) {
            first + columns
        } else {
            0
        }
    }

    /// The first label of row `y` that is wrong among `labels`, with its column.
    #[must_use]
    pub fn wrong_label(self, y: u32, labels: &[u32]) -> Option<(u32, u32)> {
        let right = (0..self.width).zip(labels);
        right
            .filter(|&(x, &label)| u64::from(label) != self.label(x, y))
            .map(|(x, &label)| (x, label))
            .next()
    }

    /// The measures of the component `label`.
    #[must_use]
    pub fn measures(self, label: u64) -> Known {
        let corner = |x: u64, y: u64| IVec2::new(x as i32, y as i32);
        let (columns, _) = self.cells();
        if label == 1 {
            let (width, height) = (u64::from(self.width), u64::from(self.height));
            let lines_down = width.div_ceil(CELL.into());
            let lines_across = height.div_ceil(CELL.into());
            let both = lines_down * lines_across;
            let area = lines_across * width + lines_down * height - both;
            // Sums of the coordinates of the pixels of lines across, of lines down, and of both.
            let sum = |lines: u64| u64::from(CELL) * (lines * (lines - 1) / 2);
            let all = |side: u64| side * (side - 1) / 2;
            let sum_x = lines_across * all(width) + height * sum(lines_down)
                - lines_across * sum(lines_down);
            let sum_y = lines_down * all(height) + width * sum(lines_across)
                - lines_down * sum(lines_across);
            return Known {
                area,
                corners: (corner(0, 0), corner(width - 1, height - 1)),
                centroid: DVec2::new(sum_x as f64 / area as f64, sum_y as f64 / area as f64),
            };
        }
        let (row, place) = ((label - 2) / (2 * columns), (label - 2) % (2 * columns));
        let (x, y) = (place % columns * u64::from(CELL), row * u64::from(CELL));
        let (first, last, area) = if place < columns {
            let side = u64::from(RING.1 - RING.0);
            (u64::from(RING.0), u64::from(RING.1), 4 * side)
        } else {
            (u64::from(DOT), u64::from(DOT), 1)
        };
        let center = |at: u64| at as f64 + (first + last) as f64 / 2.0;
        Known {
            area,
            corners: (corner(x + first, y + first), corner(x + last, y + last)),
            centroid: DVec2::new(center(x), center(y)),
        }
    }
}

/// Compares labels in a GPU's memory with those of `tiling`, in the rows that hold the first pixels
/// of components: all rows would take long to copy. `read` copies the labels of a row.
///
/// # Panics
/// A label is wrong.
pub fn check_rows(tiling: Tiling, mut read: impl FnMut(u32, &mut [u32])) {
    let mut labels = vec![0; tiling.width as usize];
    let rows = (0..tiling.height).filter(|y| [0, RING.0, RING.0 + 1, DOT].contains(&(y % CELL)));
    for y in rows.chain([tiling.height - 1]) {
        read(y, &mut labels);
        assert_eq!(
            tiling.wrong_label(y, &labels),
            None,
            "row {y} of {tiling:?}"
        );
    }
}

/// Compares measures with those of `tiling`.
///
/// # Panics
/// A measure is wrong.
pub fn check_measures(tiling: Tiling, measures: &[Component]) {
    assert_eq!(measures.len() as u64, tiling.count());
    for (found, label) in measures.iter().zip(1..) {
        let known = tiling.measures(label);
        let corners = (found.bounding_box.min, found.bounding_box.max);
        assert_eq!(
            (found.area, corners),
            (known.area, known.corners),
            "{label} of {tiling:?}"
        );
        assert_eq!(found.centroid, known.centroid, "{label} of {tiling:?}");
    }
}

#[cfg(test)]
mod tests {
    use trazar::{Connectivity, Engine, LabelOptions};

    use super::*;

    #[test]
    fn what_is_known_is_so() {
        for (width, height) in [(128, 192), (130, 65), (300, 257), (63, 200), (2, 2)] {
            let tiling = Tiling::new(width, height);
            let image = tiling.image();
            for connectivity in [Connectivity::Four, Connectivity::Eight] {
                let options = LabelOptions::default()
                    .connectivity(connectivity)
                    .statistics(true);
                let labels = Engine::cpu().label(&image, &options).unwrap();
                assert_eq!(u64::from(labels.count()), tiling.count());
                for y in 0..height {
                    let row = &labels.as_slice()[(y * width) as usize..][..width as usize];
                    assert_eq!(tiling.wrong_label(y, row), None, "row {y}");
                }
                check_measures(tiling, labels.components().unwrap());
            }
            let lower = tiling.rows(1, height);
            assert!((0..height - 1).all(|y| lower.row(y) == image.row(y + 1)));
        }
    }
}
