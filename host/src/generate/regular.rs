//! Regular pictures: a pixel's coordinates decide whether it is foreground.

use crate::{BinaryImage, Result, WORD_BITS};

/// The image with foreground at the pixels for which `foreground(x, y)` holds.
pub(super) fn draw(
    width: u32,
    height: u32,
    foreground: impl Fn(u32, u32) -> bool,
) -> Result<BinaryImage> {
    let mut image = BinaryImage::new(width, height)?;
    for y in 0..height {
        for (word, first) in image.row_mut(y).iter_mut().zip((0..).step_by(WORD_BITS)) {
            let bits = (width - first).min(WORD_BITS as u32);
            *word = (0..bits).fold(0, |w, i| w | u64::from(foreground(first + i, y)) << i);
        }
    }
    Ok(image)
}

/// The distance from `(x, y)` to the nearest side of the image, in pixels.
fn ring(width: u32, height: u32, x: u32, y: u32) -> u32 {
    x.min(y).min(width - 1 - x).min(height - 1 - y)
}

/// Frames one pixel wide, nested one pixel apart.
///
/// ```
/// use trazar::generate::nested_rectangles;
///
/// let image = nested_rectangles(7, 5)?;
/// assert!(image.to_string().lines().eq([
///     "#######",
///     "#.....#",
///     "#.###.#",
///     "#.....#",
///     "#######",
/// ]));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn nested_rectangles(width: u32, height: u32) -> Result<BinaryImage> {
    draw(width, height, |x, y| {
        ring(width, height, x, y).is_multiple_of(2)
    })
}

/// Teeth in every second column, joined by the last row.
///
/// ```
/// use trazar::generate::comb;
///
/// let image = comb(5, 3)?;
/// assert!(image.to_string().lines().eq([
///     "#.#.#",
///     "#.#.#",
///     "#####",
/// ]));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn comb(width: u32, height: u32) -> Result<BinaryImage> {
    draw(width, height, |x, y| x.is_multiple_of(2) || y == height - 1)
}

/// Every second pixel, shifted by one from row to row: the largest number of runs and of
/// 4-connected components, but a single 8-connected one.
///
/// ```
/// use trazar::generate::checkerboard;
///
/// assert_eq!(checkerboard(5, 2)?.to_string(), "#.#.#\n.#.#.\n");
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn checkerboard(width: u32, height: u32) -> Result<BinaryImage> {
    draw(width, height, |x, y| (x + y).is_multiple_of(2))
}

/// Every second pixel of every second row: the largest number of 8-connected components.
///
/// ```
/// use trazar::generate::dots;
///
/// assert_eq!(dots(5, 3)?.to_string(), "#.#.#\n.....\n#.#.#\n");
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn dots(width: u32, height: u32) -> Result<BinaryImage> {
    draw(width, height, |x, y| (x | y).is_multiple_of(2))
}

/// Lines in every second row and column: one component with the largest number of holes, each of
/// one pixel.
///
/// ```
/// use trazar::generate::lattice;
///
/// assert_eq!(lattice(5, 3)?.to_string(), "#####\n#.#.#\n#####\n");
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn lattice(width: u32, height: u32) -> Result<BinaryImage> {
    draw(width, height, |x, y| (x & y).is_multiple_of(2))
}
