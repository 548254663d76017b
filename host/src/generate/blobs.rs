//! [`blobs`]: smooth random shapes.

use super::random::random;
use crate::memory::zeroed_vec;
use crate::{BinaryImage, Result, WORD_BITS};

/// Smooth blobs about forty pixels wide, like the shapes of curvilinear masks. Half of the pixels
/// are foreground.
///
/// Uniform random values on a grid of one cell per 8 × 8 pixels are blurred by a Gaussian of sigma
/// 1.2 cells, enlarged by cubic convolution (a = -0.75, pixel centers aligned), and cut at the
/// median: pixels above it are foreground.
///
/// Memory besides the image: about 1/8 byte per pixel (8 bytes per cell). Time: about 6 ns per
/// pixel.
///
/// ```
/// use trazar::generate::blobs;
///
/// let image = blobs(48, 20, 3)?;
/// assert!(image.to_string().lines().eq([
///     "..............###########...............########",
///     "..............###########...............########",
///     "..............###########...............########",
///     "..............###########...............########",
///     ".............#############..............########",
///     ".............###############............########",
///     ".............################............#######",
///     ".............###################.........#######",
///     ".............#####################.......#######",
///     "............########################......######",
///     "............#########################...........",
///     "............#########################...........",
///     "............#########################...........",
///     "...........##########################...........",
///     "...........##########################...........",
///     "...........##########################...........",
///     "...........#########################............",
///     "...........#########################............",
///     "...........#########################............",
///     "...........#########################............",
/// ]));
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn blobs(width: u32, height: u32, seed: u64) -> Result<BinaryImage> {
    let mut image = BinaryImage::new(width, height)?;
    let field = Field::new(width, height, seed)?;
    let median = field.median()?;
    field.for_each_row(|y, keys| {
        for (word, keys) in image.row_mut(y).iter_mut().zip(keys.chunks(WORD_BITS)) {
            *word = keys
                .iter()
                .rev()
                .fold(0, |w, &key| w << 1 | u64::from(key > median));
        }
    })?;
    Ok(image)
}

/// The side of a cell in pixels.
const CELL: usize = 8;

/// The smooth random function that [`blobs`] thresholds, given by its samples on the grid of cells.
struct Field {
    width: usize,
    height: usize,
    columns: usize,
    cells: Vec<f32>,
}

impl Field {
    fn new(width: u32, height: u32, seed: u64) -> Result<Self> {
        let (width, height) = (width as usize, height as usize);
        let (columns, rows) = (width.div_ceil(CELL), height.div_ceil(CELL));
        let mut cells = zeroed_vec::<f32>(columns * rows, "the blobs' cells")?;
        for (cell, index) in cells.iter_mut().zip(0..) {
            // 24 bits: exact.
            *cell = (random(seed, index) >> 40) as f32 / 16_777_216.0;
        }
        let mut blurred = zeroed_vec::<f32>(columns * rows, "the blobs' cells")?;
        for (from, to) in cells.chunks(columns).zip(blurred.chunks_mut(columns)) {
            for (x, out) in to.iter_mut().enumerate() {
                *out = BLUR[0] * from[x];
                for (k, weight) in (1..).zip(&BLUR[1..]) {
                    let (low, high) = mirrored(x, k, columns);
                    *out += weight * (from[low] + from[high]);
                }
            }
        }
        for (y, to) in cells.chunks_mut(columns).enumerate() {
            let row = |y: usize| &blurred[y * columns..][..columns];
            for (out, value) in to.iter_mut().zip(row(y)) {
                *out = BLUR[0] * value;
            }
            for (k, weight) in (1..).zip(&BLUR[1..]) {
                let (low, high) = mirrored(y, k, rows);
                for ((out, a), b) in to.iter_mut().zip(row(low)).zip(row(high)) {
                    *out += weight * (a + b);
                }
            }
        }
        Ok(Self {
            width,
            height,
            columns,
            cells,
        })
    }

    /// Calls `visit(y, keys)` for each row of pixels. `keys` holds one key per pixel; keys are
    /// ordered like the function's values at the pixels.
    fn for_each_row(&self, mut visit: impl FnMut(u32, &[u32])) -> Result<()> {
        let rows = self.height.div_ceil(CELL);
        let mut across = zeroed_vec::<f32>(self.columns + 4, "the blobs' rows")?;
        let mut keys = zeroed_vec::<u32>(self.columns * CELL, "the blobs' rows")?;
        for y in 0..self.height {
            // The pixel's own cell and two on each side; at the frame, the last cell is repeated.
            let taps = std::array::from_fn::<_, 5, _>(|k| {
                let row = (y / CELL + k).saturating_sub(2).min(rows - 1);
                (
                    CUBIC[k][y % CELL],
                    &self.cells[row * self.columns..][..self.columns],
                )
            });
            for (x, value) in across[2..][..self.columns].iter_mut().enumerate() {
                *value = 0.0;
                for (weight, row) in taps {
                    *value += weight * row[x];
                }
            }
            let (first, last) = (across[2], across[self.columns + 1]);
            across[..2].fill(first);
            across[self.columns + 2..].fill(last);
            for (keys, around) in keys
                .as_chunks_mut::<CELL>()
                .0
                .iter_mut()
                .zip(across.windows(5))
            {
                let mut values = [0f32; CELL];
                for (weights, &cell) in CUBIC.iter().zip(around) {
                    for (value, weight) in values.iter_mut().zip(weights) {
                        *value += weight * cell;
                    }
                }
                *keys = values.map(order_key);
            }
            visit(y as u32, &keys[..self.width]);
        }
        Ok(())
    }

    /// The key of the median pixel; of the lower one if there are two.
    fn median(&self) -> Result<u32> {
        // First the upper half of the key, then the lower half among the keys with that upper half.
        let mut rank = (self.width as u64 * self.height as u64 - 1) / 2;
        let mut histogram = zeroed_vec::<u64>(1 << 16, "the blobs' histogram")?;
        self.for_each_row(|_, keys| {
            for key in keys {
                histogram[(key >> 16) as usize] += 1;
            }
        })?;
        let upper = bin_of_rank(&histogram, &mut rank);
        histogram.fill(0);
        self.for_each_row(|_, keys| {
            for key in keys.iter().filter(|&key| key >> 16 == upper) {
                histogram[(key & 0xffff) as usize] += 1;
            }
        })?;
        Ok(upper << 16 | bin_of_rank(&histogram, &mut rank))
    }
}

/// The bin of the value with rank `rank`, counted from 0. `rank` becomes the value's rank within
/// the bin.
fn bin_of_rank(histogram: &[u64], rank: &mut u64) -> u32 {
    for (bin, &count) in (0..).zip(histogram) {
        if *rank < count {
            return bin;
        }
        *rank -= count;
    }
    unreachable!("a rank is below the number of values")
}

/// A key that orders like the float, which must not be NaN.
fn order_key(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 0 {
        bits | 1 << 31
    } else {
        !bits
    }
}

/// The indices of the cells `k` before and `k` after `at` in a row of `len` cells that is mirrored
/// at its ends, repeatedly if it is short.
fn mirrored(at: usize, k: usize, len: usize) -> (usize, usize) {
    let fold = |i: usize| {
        let i = i % (2 * len);
        i.min(2 * len - 1 - i)
    };
    // A period is at least 2 cells, so adding six periods keeps the difference positive.
    (fold(at + BLUR.len() * 2 * len - k), fold(at + k))
}

/// The blur's weights for i from 0 to 5: exp(-i² / (2 · 1.2²)), divided by the sum for i from -5 to
/// 5.
const BLUR: [f32; 6] = [
    0.332_452_73,
    0.234_927_15,
    0.082_897_82,
    0.014_606_954,
    0.001_285_236,
    0.000_056_469_3,
];

/// `CUBIC[k][p]` is the weight of the cell at distance `k - 2` from a pixel's own, for the pixel at
/// place `p` in its cell: cubic convolution with a = -0.75, exact in 14 bits.
const CUBIC: [[f32; CELL]; 5] = {
    let mut weights = [[0.0; CELL]; 5];
    let mut p = 0;
    while p < CELL {
        // The center of the pixel lies 2 p + 9 sixteenths to the right of the center of cell -1.
        let (base, t) = if p < CELL / 2 {
            (1, (2 * p + 9) as f32 / 16.0)
        } else {
            (2, (2 * p - 7) as f32 / 16.0)
        };
        let a = -0.75;
        let u = 1.0 - t;
        weights[base - 1][p] = a * t * u * u;
        weights[base][p] = ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
        weights[base + 1][p] = ((a + 2.0) * u - (a + 3.0)) * u * u + 1.0;
        if base + 2 < 5 {
            weights[base + 2][p] = a * u * t * t;
        }
        p += 1;
    }
    weights
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_pixels_are_foreground() {
        // Cut at the median; ties would leave a little less.
        assert_eq!(blobs(512, 256, 3).unwrap().count_foreground(), 65536);
    }

    #[test]
    fn enlarges_by_weights_that_sum_to_one() {
        for p in 0..CELL {
            assert_eq!(CUBIC.iter().map(|w| w[p]).sum::<f32>(), 1.0);
        }
        let blur = f64::from(BLUR[0]) + 2.0 * BLUR[1..].iter().map(|&w| f64::from(w)).sum::<f64>();
        assert!((blur - 1.0).abs() < 1e-6);
        for (i, &weight) in (0..).zip(&BLUR) {
            let gauss = f64::from(BLUR[0]) * (-f64::from(i * i) / 2.88).exp();
            assert!((f64::from(weight) - gauss).abs() < 1e-6);
        }
    }

    #[test]
    fn mirrors_short_rows() {
        assert_eq!(mirrored(0, 5, 1), (0, 0));
        assert_eq!(mirrored(0, 1, 3), (0, 1));
        assert_eq!(mirrored(2, 2, 3), (0, 1));
        assert_eq!(mirrored(0, 5, 2), (0, 1));
        assert_eq!(mirrored(1, 4, 2), (1, 1));
    }
}
