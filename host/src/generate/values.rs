//! Images of values: touching cells, smooth classes, friction.

use rayon::prelude::*;

use super::random::random;
use crate::error::{Error, OptionProblem, Result};
use crate::image::check_size;
use crate::memory::filled_vec;

/// A number from 0 to before 1 that depends on the seed and on two integers.
fn fraction(seed: u64, x: u32, y: u32) -> f32 {
    let bits = random(seed, u64::from(x) << 32 | u64::from(y));
    (bits >> 40) as f32 / (1 << 24) as f32
}

/// The values of the pixels, row by row.
fn of_pixels<T: Copy + Default + Send>(
    width: u32,
    height: u32,
    value: impl Fn(u32, u32) -> T + Sync,
) -> Result<Vec<T>> {
    check_size(width.into(), height.into())?;
    let count = width as usize * height as usize;
    let mut values = filled_vec(T::default(), count, "the image")?;
    crate::threads::ensure();
    let rows = values.par_chunks_mut(width as usize).zip(0..height);
    rows.for_each(|(row, y)| {
        for (pixel, x) in row.iter_mut().zip(0..) {
            *pixel = value(x, y);
        }
    });
    Ok(values)
}

/// Labels of cells that touch each other, about `size` pixels wide, numbered from 1. Each square of
/// a grid has a point at a random place; a pixel belongs to the nearest of the points of its square
/// and of the eight around that.
///
/// ```
/// use trazar::generate::cells;
///
/// let labels = cells(100, 50, 20, 7)?;
/// assert_eq!(labels.len(), 5000);
/// assert!(labels.iter().all(|&label| label > 0));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidOption`] for a size of 0; [`Error::EmptyImage`], [`Error::ImageTooLarge`],
/// [`Error::OutOfMemory`].
pub fn cells(width: u32, height: u32, size: u32, seed: u64) -> Result<Vec<u32>> {
    if size == 0 {
        let why = "cells are at least 1 pixel wide".to_owned();
        return Err(Error::option("size", OptionProblem::OutOfRange, why));
    }
    check_size(width.into(), height.into())?;
    // A square more on every side, so that each pixel has all neighbours of its square.
    let [columns, rows] = [width, height].map(|side| side.div_ceil(size) + 2);
    let points = of_pixels(columns, rows, |u, v| {
        let place = |at: u32, share: f32| (at as f32 - 1.0 + share) * size as f32;
        [
            place(u, fraction(seed, 2 * u, v)),
            place(v, fraction(seed, 2 * u + 1, v)),
        ]
    })?;
    of_pixels(width, height, |x, y| {
        let (column, row) = (x / size, y / size);
        let mut nearest = (f32::INFINITY, 0);
        for v in row..row + 3 {
            for u in column..column + 3 {
                let cell = v * columns + u;
                let [to_x, to_y] = points[cell as usize];
                let (dx, dy) = (to_x - x as f32, to_y - y as f32);
                let distance = dx * dx + dy * dy;
                if distance < nearest.0 {
                    nearest = (distance, cell + 1);
                }
            }
        }
        nearest.1
    })
}

/// Classes with smooth borders, like those of land cover, from 0 to `count` - 1: a sum of
/// interpolated random numbers on grids of 64, 32 and 16 pixels, in `count` steps.
///
/// ```
/// use trazar::generate::classes;
///
/// let values = classes(256, 256, 16, 7)?;
/// assert!(values.iter().all(|&class| class < 16));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::EmptyImage`], [`Error::ImageTooLarge`], [`Error::OutOfMemory`].
pub fn classes(width: u32, height: u32, count: u8, seed: u64) -> Result<Vec<u8>> {
    let at = |x: u32, y: u32, size: u32| {
        let (u, v) = (x / size, y / size);
        let smooth = |part: u32| {
            let part = part as f32 / size as f32;
            part * part * (3.0 - 2.0 * part)
        };
        let (a, b) = (smooth(x % size), smooth(y % size));
        let mix = |p: f32, q: f32, share: f32| p + (q - p) * share;
        let seed = seed.wrapping_add(u64::from(size) << 32);
        let corner = |du, dv| fraction(seed, u + du, v + dv);
        let above = mix(corner(0, 0), corner(1, 0), a);
        let below = mix(corner(0, 1), corner(1, 1), a);
        mix(above, below, b)
    };
    of_pixels(width, height, |x, y| {
        let height = (at(x, y, 64) * 4.0 + at(x, y, 32) * 2.0 + at(x, y, 16)) / 7.0;
        (height * f32::from(count)) as u8
    })
}

/// Random friction: independent numbers from 1 to before 10.
///
/// ```
/// use trazar::generate::friction;
///
/// let values = friction(64, 64, 7)?;
/// assert!(values.iter().all(|value| (1.0..10.0).contains(value)));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::EmptyImage`], [`Error::ImageTooLarge`], [`Error::OutOfMemory`].
pub fn friction(width: u32, height: u32, seed: u64) -> Result<Vec<f32>> {
    of_pixels(width, height, |x, y| 1.0 + 9.0 * fraction(seed, x, y))
}

#[cfg(test)]
mod tests {
    use super::super::fingerprint::fingerprint;
    use super::*;

    /// The same on every machine. A program in NumPy gave the expected values.
    #[test]
    fn rasters_are_those_of_the_seed() {
        let cells = cells(70, 50, 12, 3).unwrap();
        let classes = classes(70, 50, 9, 3).unwrap();
        let friction = friction(70, 50, 3).unwrap();
        let found = [
            fingerprint(cells.iter().flat_map(|cell| cell.to_le_bytes())),
            fingerprint(classes),
            fingerprint(friction.iter().flat_map(|value| value.to_le_bytes())),
        ];
        let expected = [
            0xedb3_087b_0c03_56fe,
            0x62bc_1c26_c9b6_f29d,
            0x05e5_ce64_15fc_a95a,
        ];
        assert_eq!(found, expected, "{found:#x?}");
    }

    /// Cells are as large as they should be, and each is where its square is.
    #[test]
    fn cells_cover_the_image() {
        let (side, size) = (300, 20);
        let labels = cells(side, side, size, 1).unwrap();
        let mut sizes = std::collections::BTreeMap::new();
        for (i, &label) in (0..).zip(&labels) {
            *sizes.entry(label).or_insert(0) += 1;
            let columns = side / size + 2;
            let square = [(label - 1) % columns, (label - 1) / columns];
            for (pixel, square) in [i % side, i / side].into_iter().zip(square) {
                assert!((pixel / size + 1).abs_diff(square) <= 1);
            }
        }
        let mean = f64::from(side * side) / sizes.len() as f64;
        assert!((200.0..=400.0).contains(&mean), "{mean}");
    }

    /// Classes of neighbouring pixels differ by steps, and all classes but the rarest occur.
    #[test]
    fn classes_are_smooth() {
        let values = classes(256, 256, 16, 1).unwrap();
        for row in values.chunks(256) {
            assert!(row.windows(2).all(|pair| pair[0].abs_diff(pair[1]) <= 2));
        }
        assert!((2..14).all(|class| values.contains(&class)));
        assert!(values.iter().all(|&class| class < 16));
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused() {
        assert!(matches!(cells(9, 9, 0, 1), Err(Error::InvalidOption(_))));
        assert!(matches!(cells(0, 9, 5, 1), Err(Error::EmptyImage { .. })));
        assert!(matches!(classes(9, 0, 5, 1), Err(Error::EmptyImage { .. })));
        assert!(friction(1, 1, 1).is_ok());
    }
}
