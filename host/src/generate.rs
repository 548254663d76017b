//! Test images and nets: deterministic, of any size.
//!
//! A picture depends on its arguments alone. The random ones take a seed and give the same
//! pixels on every platform: they use integers and the four exactly rounded operations on
//! floats, and no function of the system's mathematics library.
//!
//! [`Pattern`] is the list of them, for callers that choose one by name.
//!
//! | pattern | what it is hard for |
//! |---|---|
//! | [`blobs`] | nothing: what a real mask looks like |
//! | [`noise`] | anything that costs by the run, the component or the border |
//! | [`nested_rectangles`] | deep hierarchies |
//! | [`spiral`], [`serpentine`], [`hilbert`] | one long border; labels that travel far |
//! | [`comb`] | components that join late |
//! | [`checkerboard`], [`dots`] | the largest number of runs; of components |
//! | [`lattice`] | the largest number of holes |
//! | [`text`] | strokes one to four pixels wide, corners that touch |
//!
//! [`RandomNets`] makes grids with nets to route.

#[cfg(test)]
mod fingerprint;
mod net;

pub use self::net::RandomNets;

use std::fmt;
use std::str::FromStr;

use crate::error::{short, zeroed_vec};
use crate::{BinaryImage, Error, Result, WORD_BITS};

/// The test images by name: a name or `noise:DENSITY` as text.
///
/// ```
/// use trazar::generate::Pattern;
///
/// let pattern: Pattern = "noise:0.25".parse()?;
/// assert_eq!(pattern, Pattern::Noise { density: 0.25 });
/// assert_eq!(pattern.to_string(), "noise:0.25");
///
/// let image = "checkerboard".parse::<Pattern>()?.generate(3, 2, 0)?;
/// assert_eq!(image.to_string(), "#.#\n.#.\n");
///
/// assert!("polka".parse::<Pattern>().is_err());
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pattern {
    /// [`blobs`].
    Blobs,
    /// [`noise`].
    Noise {
        /// The probability of foreground.
        density: f64,
    },
    /// [`nested_rectangles`].
    NestedRectangles,
    /// [`spiral`].
    Spiral,
    /// [`serpentine`].
    Serpentine,
    /// [`hilbert`].
    Hilbert,
    /// [`comb`].
    Comb,
    /// [`checkerboard`].
    Checkerboard,
    /// [`dots`].
    Dots,
    /// [`lattice`].
    Lattice,
    /// [`text`].
    Text,
}

impl Pattern {
    /// Each pattern once, noise at one half.
    pub const ALL: [Self; 11] = [
        Self::Blobs,
        Self::Noise { density: 0.5 },
        Self::NestedRectangles,
        Self::Spiral,
        Self::Serpentine,
        Self::Hilbert,
        Self::Comb,
        Self::Checkerboard,
        Self::Dots,
        Self::Lattice,
        Self::Text,
    ];

    /// The pattern's name, without parameters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blobs => "blobs",
            Self::Noise { .. } => "noise",
            Self::NestedRectangles => "nested-rectangles",
            Self::Spiral => "spiral",
            Self::Serpentine => "serpentine",
            Self::Hilbert => "hilbert",
            Self::Comb => "comb",
            Self::Checkerboard => "checkerboard",
            Self::Dots => "dots",
            Self::Lattice => "lattice",
            Self::Text => "text",
        }
    }

    /// Draws the pattern. Only [`Blobs`](Self::Blobs), [`Noise`](Self::Noise) and [`Text`](Self::Text) use the seed.
    ///
    /// # Errors
    /// Those of the function that draws it.
    pub fn generate(self, width: u32, height: u32, seed: u64) -> Result<BinaryImage> {
        match self {
            Self::Blobs => blobs(width, height, seed),
            Self::Noise { density } => noise(width, height, density, seed),
            Self::NestedRectangles => nested_rectangles(width, height),
            Self::Spiral => spiral(width, height),
            Self::Serpentine => serpentine(width, height),
            Self::Hilbert => hilbert(width, height),
            Self::Comb => comb(width, height),
            Self::Checkerboard => checkerboard(width, height),
            Self::Dots => dots(width, height),
            Self::Lattice => lattice(width, height),
            Self::Text => text(width, height, seed),
        }
    }
}

/// What [`FromStr`] reads: the name, and for noise the density behind a colon.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noise { density } => write!(f, "noise:{density}"),
            _ => f.write_str(self.name()),
        }
    }
}

/// Plain `noise` has density 0.5.
impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(density) = text.strip_prefix("noise:") {
            let density = density.parse().map_err(|_| {
                Error::InvalidOption(format!(
                    "{density:?} is not a density: a number from 0 to 1"
                ))
            })?;
            check_density(density)?;
            return Ok(Self::Noise { density });
        }
        Self::ALL
            .into_iter()
            .find(|pattern| pattern.name() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                Error::InvalidOption(format!("no pattern is called {text:?}: there are {names}"))
            })
    }
}

/// Number `index` of the random sequence `seed`: SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014), entered anywhere.
pub(crate) fn random(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// An image from a function of the pixel, a word at a time.
fn draw(width: u32, height: u32, foreground: impl Fn(u32, u32) -> bool) -> Result<BinaryImage> {
    let mut image = BinaryImage::new(width, height)?;
    for y in 0..height {
        for (word, first) in image.row_mut(y).iter_mut().zip((0..).step_by(WORD_BITS)) {
            let bits = (width - first).min(WORD_BITS as u32);
            *word = (0..bits).fold(0, |w, i| w | u64::from(foreground(first + i, y)) << i);
        }
    }
    Ok(image)
}

/// Independent pixels, each foreground with probability `density` (to within 2⁻³²).
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

fn check_density(density: f64) -> Result<()> {
    if (0.0..=1.0).contains(&density) {
        return Ok(());
    }
    Err(Error::InvalidOption(format!(
        "a density is from 0 to 1, not {}",
        short(density)
    )))
}

/// Smooth blobs some forty pixels wide, half of the pixels foreground: like curvilinear mask
/// shapes.
///
/// Uniform random values on a grid of one cell per 8 × 8 pixels are blurred by a Gaussian of
/// sigma 1.2 cells, enlarged by cubic convolution (a = -0.75, pixel centres aligned), and cut at
/// the median: foreground is what lies above it.
///
/// Memory: 1 byte a pixel while it works (8 bytes a cell and row of cells), besides the image.
/// Time: about 6 ns a pixel.
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

/// The side of a cell of [`blobs`] in pixels.
const CELL: usize = 8;

/// The smooth random function that [`blobs`] cuts, as its samples on the grid of cells.
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

    /// Calls `visit(y, keys)` for each row of pixels, with a key per pixel that orders like the
    /// function's value there.
    fn for_each_row(&self, mut visit: impl FnMut(u32, &[u32])) -> Result<()> {
        let rows = self.height.div_ceil(CELL);
        let mut across = zeroed_vec::<f32>(self.columns + 4, "the blobs' rows")?;
        let mut keys = zeroed_vec::<u32>(self.columns * CELL, "the blobs' rows")?;
        for y in 0..self.height {
            // The five cells around, two to each side, repeated at the frame.
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

    /// The key of the median pixel, the lower one of two.
    fn median(&self) -> Result<u32> {
        // Upper half of the key first, then the lower half among those that share the upper.
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

/// The bin that holds the value of rank `rank` (from 0), which becomes its rank in the bin.
fn bin_of_rank(histogram: &[u64], rank: &mut u64) -> u32 {
    for (bin, &count) in (0..).zip(histogram) {
        if *rank < count {
            return bin;
        }
        *rank -= count;
    }
    unreachable!("a rank is below the number of values")
}

/// Orders like the float (no NaN).
fn order_key(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 0 {
        bits | 1 << 31
    } else {
        !bits
    }
}

/// The cells `k` before and after `at`, the row mirrored at its ends as often as it takes.
fn mirrored(at: usize, k: usize, len: usize) -> (usize, usize) {
    let fold = |i: usize| {
        let i = i % (2 * len);
        i.min(2 * len - 1 - i)
    };
    // One period is at least 2, and 5 periods more than the radius.
    (fold(at + BLUR.len() * 2 * len - k), fold(at + k))
}

/// exp(-i² / (2 · 1.2²)) over the sum for i from -5 to 5.
const BLUR: [f32; 6] = [
    0.332_452_73,
    0.234_927_15,
    0.082_897_82,
    0.014_606_954,
    0.001_285_236,
    0.000_056_469_3,
];

/// The weight of cell `k - 2` (from the pixel's own) for the pixel at each place in its cell:
/// cubic convolution, a = -0.75, exact in 14 bits.
const CUBIC: [[f32; CELL]; 5] = {
    let mut weights = [[0.0; CELL]; 5];
    let mut p = 0;
    while p < CELL {
        // The pixel's centre lies 2 p + 9 sixteenths right of the centre of cell -1.
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

/// How far `(x, y)` is from the frame, in pixels.
fn ring(width: u32, height: u32, x: u32, y: u32) -> u32 {
    x.min(y).min(width - 1 - x).min(height - 1 - y)
}

/// Frames of one pixel, one inside the other, one pixel apart.
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

/// One line of one pixel that winds clockwise to the middle, with one pixel between the turns.
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
    // The nested frames, each opened below its upper left corner and joined there to the next.
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

/// One line of one pixel that runs to and fro in every second row.
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

/// A Hilbert curve, drawn by a line of one pixel with one pixel between its parts, and cropped
/// from the smallest whole one that covers the image: one component where both sides are 2ᵏ or
/// 2ᵏ - 1 for the same k, perhaps several otherwise.
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

/// Draws the links of the Hilbert curve through `n × n` cells: from cell `start`, over the cells
/// that lie towards `along` and `across` of it, to the cell `n - 1` steps along. Cell `(x, y)`
/// is pixel `(2 x, 2 y)`.
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

/// Teeth in every second column, joined in the last row.
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

/// Every second pixel, shifted from row to row: the largest number of runs and of 4-connected
/// components, and one 8-connected component.
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

/// Lines in every second row and column: one component with as many holes as there can be
/// squares of one pixel between them.
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

/// Letters from A to Z, five pixels wide: seven rows each, the leftmost pixel in the highest of five bits.
#[rustfmt::skip]
const LETTERS: [[u8; 7]; 26] = [
    [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001], // A
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110], // B
    [0b01110, 0b10001, 0b10000, 0b10000, 0b10000, 0b10001, 0b01110], // C
    [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110], // D
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111], // E
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000], // F
    [0b01110, 0b10001, 0b10000, 0b10111, 0b10001, 0b10001, 0b01110], // G
    [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001], // H
    [0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110], // I
    [0b00111, 0b00010, 0b00010, 0b00010, 0b00010, 0b10010, 0b01100], // J
    [0b10001, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010, 0b10001], // K
    [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111], // L
    [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001], // M
    [0b10001, 0b11001, 0b10101, 0b10011, 0b10001, 0b10001, 0b10001], // N
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110], // O
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000], // P
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101], // Q
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001], // R
    [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110], // S
    [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100], // T
    [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110], // U
    [0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b01010, 0b00100], // V
    [0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b11011, 0b10001], // W
    [0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b01010, 0b10001], // X
    [0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100], // Y
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b11111], // Z
];

/// Lines of random letters in four sizes: pixels of one to four.
///
/// ```
/// use trazar::generate::text;
///
/// assert_eq!(text(11, 2, 1)?.to_string(), "#####.#####\n..#.....#..\n");
/// # Ok::<(), trazar::Error>(())
/// ```
///
/// # Errors
/// Those of [`BinaryImage::new`].
pub fn text(width: u32, height: u32, seed: u64) -> Result<BinaryImage> {
    // A line of each size, and again: eight rows of its pixels each.
    const PERIOD: u32 = 8 * (1 + 2 + 3 + 4);
    draw(width, height, |x, y| {
        let in_period = y % PERIOD;
        let (size, top) = match in_period {
            0..8 => (1, 0),
            8..24 => (2, 8),
            24..48 => (3, 24),
            _ => (4, 48),
        };
        let (column, row) = (x / size % 6, (in_period - top) / size);
        if column == 5 || row == 7 {
            return false;
        }
        let line = y / PERIOD * 4 + size - 1;
        let letter = u64::from(line) << 32 | u64::from(x / size / 6);
        let letter = LETTERS[(random(seed, letter) % 26) as usize];
        letter[row as usize] >> (4 - column) & 1 != 0
    })
}

#[cfg(test)]
mod tests {
    use super::fingerprint::fingerprint;
    use super::*;

    #[test]
    fn draws_every_size() {
        for pattern in Pattern::ALL {
            for (width, height) in [
                (1, 1),
                (1, 2),
                (2, 1),
                (2, 2),
                (1, 70),
                (70, 1),
                (3, 5),
                (5, 3),
                (63, 65),
                (64, 64),
                (65, 9),
                (128, 31),
                (130, 2),
            ] {
                let image = pattern.generate(width, height, 5).unwrap();
                assert_eq!((image.width(), image.height()), (width, height));
                let words = image.words().to_vec();
                let again = BinaryImage::from_words(width, height, words).unwrap();
                assert_eq!(image, again, "{pattern}: bits past the width");
            }
            assert!(matches!(
                pattern.generate(0, 4, 5),
                Err(Error::EmptyImage { .. })
            ));
        }
    }

    #[test]
    fn names_are_read_back() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.name().parse::<Pattern>().unwrap(), pattern);
            assert_eq!(pattern.to_string().parse::<Pattern>().unwrap(), pattern);
        }
        for bad in [
            "",
            "Noise",
            "noise:",
            "noise:2",
            "noise:-0.1",
            "noise:nan",
            "blobs:1",
        ] {
            assert!(
                matches!(bad.parse::<Pattern>(), Err(Error::InvalidOption(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn images_never_change() {
        // Written down from the first version: results of benches and tests refer to them.
        for (pattern, expected) in [
            ("blobs", 0xd8d8_0704_ebfc_9851),
            ("noise:0.3", 0xd0e2_9ca2_476e_76d4),
            ("nested-rectangles", 0x31d8_343c_7bb2_ce25),
            ("spiral", 0x9f62_0839_9b0a_aa22),
            ("serpentine", 0xbd38_b0fb_4ae9_80dd),
            ("hilbert", 0x186b_f0b7_e927_3722),
            ("comb", 0xae8c_069e_e6a1_23a1),
            ("checkerboard", 0x07b1_23b3_bd20_ff1d),
            ("dots", 0x3d1d_0f1a_3e35_879d),
            ("lattice", 0x23c0_597b_ee46_1105),
            ("text", 0x1735_7fd2_a854_efbd),
        ] {
            let image = pattern.parse::<Pattern>().unwrap();
            let image = image.generate(300, 200, 7).unwrap();
            let found = fingerprint(image.words().iter().flat_map(|word| word.to_le_bytes()));
            assert_eq!(found, expected, "{pattern}: {found:#x}");
        }
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(blobs(64, 64, 1).unwrap(), blobs(64, 64, 2).unwrap());
        assert_ne!(
            noise(64, 64, 0.5, 1).unwrap(),
            noise(64, 64, 0.5, 2).unwrap()
        );
    }

    #[test]
    fn densities_are_met() {
        for density in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let count = noise(1000, 1000, density, 3).unwrap().count_foreground();
            // Four standard deviations.
            assert!((count as f64 - 1e6 * density).abs() < 2000.0);
        }
        assert_eq!(noise(130, 7, 1.0, 3).unwrap().count_foreground(), 910);
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

    #[test]
    fn a_spiral_is_one_open_line() {
        for (width, height) in [(3, 3), (4, 4), (5, 5), (6, 9), (40, 31), (32, 33), (3, 8)] {
            let image = spiral(width, height).unwrap();
            // A tree of pixels has one link less than pixels; a closed turn would add one.
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
