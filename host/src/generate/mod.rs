//! Test images, rasters and nets of any size.
//!
//! A picture depends on its arguments alone. The random ones take a seed and have the same pixels
//! on every platform: they use only integers and the four exactly rounded operations on floats, and
//! no function of the system's mathematics library.
//!
//! [`Pattern`] lists the pictures, for choosing one by name.
//!
//! | pattern | what it is hard for |
//! |---|---|
//! | [`blobs`] | nothing: it looks like a real mask |
//! | [`noise`] | algorithms whose cost depends on the number of runs, components or borders |
//! | [`nested_rectangles`] | deep hierarchies |
//! | [`spiral`], [`serpentine`], [`hilbert`] | one long border; labels that travel far |
//! | [`comb`] | runs that turn out in the last row to be one component |
//! | [`checkerboard`], [`dots`] | the largest number of runs, and of components |
//! | [`lattice`] | the largest number of holes |
//! | [`text`] | strokes one to four pixels wide, corners that touch |
//!
//! [`cells`] makes label images, [`classes`] class rasters, [`friction`] surfaces to find distances
//! on, [`RandomNets`] grids with nets to route, and [`CompetingNets`] nets that compete for edges.

mod blobs;
mod competing;
#[cfg(test)]
mod fingerprint;
mod lines;
mod net;
mod noise;
pub(crate) mod random;
mod regular;
mod text;
mod values;

pub use self::blobs::blobs;
pub use self::competing::CompetingNets;
pub use self::lines::{hilbert, serpentine, spiral};
pub use self::net::RandomNets;
pub use self::noise::noise;
pub use self::regular::{checkerboard, comb, dots, lattice, nested_rectangles};
pub use self::text::text;
pub use self::values::{cells, classes, friction};

use std::fmt;
use std::str::FromStr;

use self::noise::check_density;
use crate::BinaryImage;
use crate::error::{Error, OptionProblem, Result};

/// A test image by name. As text, it is the name or `noise:DENSITY`.
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
    pub const ALL: &'static [Self] = &[
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

    /// Draws the pattern. Only [`Blobs`](Self::Blobs), [`Noise`](Self::Noise) and
    /// [`Text`](Self::Text) use the seed.
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

/// Writes the format that [`FromStr`] reads: the name, and for noise a colon and the density.
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
                Error::option(
                    "density",
                    OptionProblem::Malformed,
                    format!("{density:?} is not a density: a number from 0 to 1"),
                )
            })?;
            check_density(density)?;
            return Ok(Self::Noise { density });
        }
        let found = Self::ALL.iter().find(|pattern| pattern.name() == text);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|pattern| pattern.name()).collect();
            let names = names.join(", ");
            Error::option(
                "pattern",
                OptionProblem::Malformed,
                format!("no pattern is called {text:?}: there are {names}"),
            )
        })
    }
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
        for &pattern in Pattern::ALL {
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
        // The values of the first version: results of benchmarks and tests refer to these images.
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
}
