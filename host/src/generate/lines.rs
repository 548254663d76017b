//! Pictures with one line that fills the image: one long border.

use super::regular::{dots, draw, nested_rectangles};
use crate::{BinaryImage, Result};

/// A line one pixel wide that winds clockwise to the middle, with one pixel between its turns.
///
/// ```
/// use trazar::generate::spiral;
///
/// let image = spiral(7, 7)?;
/// assert!(image.to_string().lines().eq([
///     "#######",
///     "......#",
///     "#####.#",
///     "#...#.#",
///     "#.###.#",
///     "#.....#",
///     "#######",
/// ]));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn spiral(width: u32, height: u32) -> Result<BinaryImage> {
    // The nested frames, each opened below its upper left corner and joined there to the next one.
    let mut image = nested_rectangles(width, height)?;
    let mut k = 0;
    while let side @ 3.. = width.min(height).saturating_sub(2 * k) {
        image.set(k, k + 1, false);
        if side >= 5 {
            image.set(k + 1, k + 2, true);
        }
        k += 2;
    }
    Ok(image)
}

/// A line one pixel wide that runs to and fro in every second row.
///
/// ```
/// use trazar::generate::serpentine;
///
/// let image = serpentine(5, 5)?;
/// assert!(image.to_string().lines().eq([
///     "#####",
///     "....#",
///     "#####",
///     "#....",
///     "#####",
/// ]));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn serpentine(width: u32, height: u32) -> Result<BinaryImage> {
    draw(width, height, |x, y| match y % 4 {
        1 => x == width - 1,
        3 => x == 0,
        _ => true,
    })
}

/// A Hilbert curve: a line one pixel wide with one pixel between its parts, cropped from the
/// smallest whole curve that covers the image. It is one component if both sides are 2ᵏ or 2ᵏ - 1
/// for the same k; otherwise there may be several.
///
/// ```
/// use trazar::generate::hilbert;
///
/// let image = hilbert(7, 7)?;
/// assert!(image.to_string().lines().eq([
///     "###.###",
///     "..#.#..",
///     "###.###",
///     "#.....#",
///     "#.###.#",
///     "#.#.#.#",
///     "###.###",
/// ]));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn hilbert(width: u32, height: u32) -> Result<BinaryImage> {
    let mut image = dots(width, height)?;
    let cells = width.max(height).div_ceil(2).next_power_of_two();
    link_hilbert(&mut image, (0, 0), (1, 0), (0, 1), i64::from(cells));
    Ok(image)
}

/// Draws the links of the Hilbert curve through `n × n` cells, in the directions `along` and
/// `across` from the cell `start`. The curve leads from `start` to the cell `n - 1` steps along.
/// Cell `(x, y)` is pixel `(2 x, 2 y)`.
fn link_hilbert(
    image: &mut BinaryImage,
    start: (i64, i64),
    along: (i64, i64),
    across: (i64, i64),
    n: i64,
) {
    let at = |i: i64, j: i64| {
        (
            start.0 + i * along.0 + j * across.0,
            start.1 + i * along.1 + j * across.1,
        )
    };
    let (width, height) = (i64::from(image.width()), i64::from(image.height()));
    let far = at(n - 1, n - 1);
    if n < 2 || 2 * start.0.min(far.0) >= width || 2 * start.1.min(far.1) >= height {
        return;
    }
    let m = n / 2;
    for (from, to) in [
        (at(0, m - 1), at(0, m)),
        (at(m - 1, m), at(m, m)),
        (at(n - 1, m), at(n - 1, m - 1)),
    ] {
        let (x, y) = (from.0 + to.0, from.1 + to.1);
        if x < width && y < height {
            image.set(x as u32, y as u32, true);
        }
    }
    let back = |(x, y): (i64, i64)| (-x, -y);
    link_hilbert(image, start, across, along, m);
    link_hilbert(image, at(0, m), along, across, m);
    link_hilbert(image, at(m, m), along, across, m);
    link_hilbert(image, at(n - 1, m - 1), back(across), back(along), m);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spiral_is_one_open_line() {
        for (width, height) in [(3, 3), (4, 4), (5, 5), (6, 9), (40, 31), (32, 33), (3, 8)] {
            let image = spiral(width, height).unwrap();
            // A tree has one link fewer than pixels; a cycle would add one.
            let mut links = 0;
            for y in 0..height {
                for x in 0..width {
                    if image.get(x, y) {
                        links += u64::from(image.get(x + 1, y)) + u64::from(image.get(x, y + 1));
                    }
                }
            }
            let blocks = (0..height)
                .flat_map(|y| (0..width).map(move |x| (x, y)))
                .filter(|&(x, y)| {
                    image.get(x, y)
                        && image.get(x + 1, y)
                        && image.get(x, y + 1)
                        && image.get(x + 1, y + 1)
                })
                .count() as u64;
            assert_eq!(
                links - blocks,
                image.count_foreground() - 1,
                "{width} × {height}"
            );
        }
    }
}
