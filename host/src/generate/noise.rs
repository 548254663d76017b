//! [`noise`]: independent pixels.

use super::random::random;
use crate::error::{Error, OptionProblem, Result, short};
use crate::{BinaryImage, WORD_BITS};

/// Independent pixels, each of which is foreground with probability `density`, to within 2⁻³².
///
/// ```
/// use trazar::generate::noise;
///
/// let image = noise(8, 3, 0.5, 1)?;
/// assert!(image.to_string().lines().eq([
///     "..#....#",
///     "#######.",
///     "#.##.###",
/// ]));
/// assert_eq!(noise(8, 3, 1.0, 1)?.count_foreground(), 24);
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidOption`] unless `density` is from 0 to 1; the errors of
/// [`BinaryImage::new`].
pub fn noise(width: u32, height: u32, density: f64, seed: u64) -> Result<BinaryImage> {
    check_density(density)?;
    let threshold = (density * 4_294_967_296.0) as u64;
    let mut image = BinaryImage::new(width, height)?;
    let row_words = image.words_per_row() as u64;
    for y in 0..height {
        let mut index = u64::from(y) * row_words * (WORD_BITS as u64 / 2);
        let mut past = width as usize;
        for word in image.row_mut(y) {
            for i in (0..WORD_BITS).step_by(2) {
                let bits = random(seed, index);
                index += 1;
                *word |= u64::from((bits & 0xffff_ffff) < threshold) << i;
                *word |= u64::from((bits >> 32) < threshold) << (i + 1);
            }
            if past < WORD_BITS {
                *word &= (1 << past) - 1;
            }
            past = past.saturating_sub(WORD_BITS);
        }
    }
    Ok(image)
}

/// Refuses a density that is not from 0 to 1.
pub(super) fn check_density(density: f64) -> Result<()> {
    if (0.0..=1.0).contains(&density) {
        return Ok(());
    }
    Err(Error::option(
        "density",
        OptionProblem::OutOfRange,
        format!("a density is from 0 to 1, not {}", short(density)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_are_met() {
        for density in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let count = noise(1000, 1000, density, 3).unwrap().count_foreground();
            // Four standard deviations.
            assert!((count as f64 - 1e6 * density).abs() < 2000.0);
        }
        assert_eq!(noise(130, 7, 1.0, 3).unwrap().count_foreground(), 910);
    }
}
