//! Trace: the borders of a binary image, with their hierarchy.
//!
//! # What a contour is
//!
//! One outer border per 8-connected foreground component, and one hole border per 4-connected
//! background component that does not reach the frame. Points are `(x, y)`, y down.
//!
//! # Files
//!
//! | what | where |
//! |---|---|
//! | options | this file |
//! | the result | `contours.rs` |
//! | what writers take: the result, wherever it is kept | `source.rs` |
//! | on the CPU | `cpu/` |
//! | in parts of an image, and in bands of one larger than the memory | `parts/` |
//! | by kernels, on a GPU or the emulator | `gpu/`, and `trace/` of the crate `trazar-kernels` |

mod band;
mod contours;
mod contours_bytes;
pub(crate) mod cpu;
pub(crate) mod gpu;
mod parts;
mod source;
mod value_band;

pub use band::Band;
pub use contours::{BorderKind, Contour, ContourArrays, Contours, HierarchyRow, Links};
pub use gpu::{
    ContourBuffers, DeviceContourBatch, DeviceContours, DeviceRegions, DeviceTracer,
    DeviceValueContours,
};
pub(crate) use gpu::{Rings, ValueContoursOf};
pub use parts::{BandTracer, ContourPart, RegionPart, RegionTracer, StoredContours, StoredRegions};
pub use source::{ContourSource, PointRoom, RangePoints};
pub use value_band::ValueBand;

use crate::backend::Backend;
use crate::error::{Error, OptionProblem, Result};
use crate::options::{names, setters};

/// Which borders to keep, and how they are linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retrieval {
    /// The outer borders that lie inside no hole, without links between levels.
    External,
    /// All borders, without links between levels.
    List,
    /// Two levels: all outer borders on top, each with its component's holes below it.
    Ccomp,
    /// The whole nesting: holes below their component, components below the hole they lie in.
    #[default]
    Tree,
}

names! { Retrieval, "retrieval" {
    External => "external",
    List => "list",
    Ccomp => "ccomp",
    Tree => "tree",
} }

/// Which points of a border to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Approximation {
    /// Every step of the walk.
    None,
    /// The points where the direction changes; the border can be rebuilt from them.
    #[default]
    Simple,
    /// Teh and Chin's dominant points ("On the detection of dominant points on digital curves",
    /// 1989), by 1-curvature: not exact, much fewer.
    TehChinL1,
    /// Teh and Chin's dominant points, by k-cosine: not exact, much fewer.
    TehChinKCos,
}

names! { Approximation, "approximation" {
    None => "none",
    Simple => "simple",
    TehChinL1 => "tc89-l1",
    TehChinKCos => "tc89-kcos",
} }

/// What the points of a contour are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Geometry {
    /// Centers of foreground pixels.
    ///
    /// A border is a closed walk over 8-connected pixels; an outer one starts at its
    /// component's first pixel in raster order, a hole's at the pixel left of the hole's first.
    #[default]
    Centers,
    /// Corners of pixels, along the pixels' sides: the polygon whose area is the pixel count.
    ///
    /// Pixel `(x, y)` is the square from `(x, y)` to `(x + 1, y + 1)`. Pixels that touch at a
    /// corner only are not joined: there is one outer ring per **4-connected** foreground
    /// component, and one hole ring per 4-connected part of its complement that does not reach
    /// the frame. So every ring is simple (passes no corner twice), rings touch at corners at
    /// most, and each outer ring with its holes is a valid polygon with a connected interior.
    ///
    /// A ring has a vertex where it turns and nowhere else, with [`Approximation::None`] too.
    /// It starts at its topmost, then leftmost vertex.
    Edges,
}

names! { Geometry, "geometry" {
    Centers => "centers",
    Edges => "edges",
} }

/// The ways to trace. All give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TraceAlgorithm {
    /// One border after the other in raster order, on one thread (Suzuki and Abe, "Topological
    /// structural analysis of digitized binary images by border following", 1985).
    Suzuki,
    /// In parts of the image: borders are joined from their fragments by list ranking. The
    /// processor uses strips of rows on all threads, and on one thread takes as long as
    /// [`Self::Suzuki`]; kernels use tiles of 64 × 32 pixels.
    Fragments,
    /// In rectangles of the image on all threads; the rectangles are then joined pairwise
    /// (Garcia-Molla, Alonso-Jordá and García-Laguía, "Parallel border tracking in binary images
    /// using GPUs", 2022).
    Tiles(TileCounts),
    /// On all threads or by kernels: the steps of borders joined by union-find, then all borders
    /// followed at once (after Yin et al., "G-Contour: GPU Accelerated Contour Tracing For
    /// Large-Scale Layouts", 2025).
    Components,
}

names! { TraceAlgorithm, "algorithm" {
    Suzuki => "suzuki",
    Fragments => "fragments",
    Tiles(TileCounts::BY_SIZE) => "tiles",
    Components => "components",
} }

impl TraceAlgorithm {
    /// The backends that run it.
    pub fn backends(self) -> &'static [Backend] {
        match self {
            Self::Suzuki => &[Backend::Cpu],
            Self::Fragments | Self::Tiles(_) | Self::Components => {
                &[Backend::Cpu, Backend::Cuda, Backend::Emulator]
            }
        }
    }

    /// The algorithms that run on `backend`, first the one that an [`Engine`](crate::Engine)
    /// chooses.
    pub fn on(backend: Backend) -> &'static [Self] {
        const TILES: TraceAlgorithm = TraceAlgorithm::Tiles(TileCounts::BY_SIZE);
        match backend {
            Backend::Cpu => &[Self::Fragments, Self::Suzuki, TILES, Self::Components],
            Backend::Cuda | Backend::Emulator => &[Self::Fragments, Self::Components, TILES],
        }
    }

    /// Refuses a backend that does not run it.
    ///
    /// # Errors
    /// [`Error::Unavailable`], which names the algorithms that the backend runs.
    pub fn check_runs_on(self, backend: Backend) -> Result<()> {
        let others = Self::on(backend).iter().map(|other| other.name());
        backend.check_runs("tracing", self.name(), self.backends(), others)
    }
}

/// The number of rectangles along x and along y for [`TraceAlgorithm::Tiles`].
///
/// ```
/// use trazar::TraceAlgorithm;
/// use trazar::trace::TileCounts;
///
/// let algorithm = TraceAlgorithm::Tiles(TileCounts::new(8, 4)?);
/// assert_ne!(algorithm, TraceAlgorithm::Tiles(TileCounts::BY_SIZE));
/// assert!(TileCounts::new(8, 3).is_err());
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TileCounts(Option<(u32, u32)>);

impl TileCounts {
    /// As many as suit the size of the image.
    pub const BY_SIZE: Self = Self(None);

    /// `columns` rectangles along x and `rows` along y. An image must have at least as many pixels
    /// along each side.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a number that is not a power of two.
    pub fn new(columns: u32, rows: u32) -> Result<Self> {
        if columns.is_power_of_two() && rows.is_power_of_two() {
            return Ok(Self(Some((columns, rows))));
        }
        Err(Error::option(
            "tiles",
            OptionProblem::Malformed,
            format!("{columns} × {rows} tiles: both numbers must be powers of two"),
        ))
    }

    /// The numbers along x and along y; `None` if they depend on the size of the image.
    pub fn get(self) -> Option<(u32, u32)> {
        self.0
    }

    /// The numbers for an image: the given ones, or the largest powers of two for which rectangles
    /// have at least `default_side` pixels along each side, or 1.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for more rectangles along a side than there are pixels.
    fn for_image(self, width: u32, height: u32, default_side: u32) -> Result<(u32, u32)> {
        let Some((columns, rows)) = self.0 else {
            let along = |side: u32| 1 << (side / default_side).max(1).ilog2();
            return Ok((along(width), along(height)));
        };
        if columns > width || rows > height {
            return Err(Error::option(
                "tiles",
                OptionProblem::OutOfRange,
                format!(
                    "{columns} × {rows} tiles are more than an image of {width} × {height} pixels \
                     has along a side"
                ),
            ));
        }
        Ok((columns, rows))
    }
}

/// What contours to make. The result depends on these options alone, however and in whatever parts
/// an image is traced.
///
/// ```
/// use trazar::Geometry;
/// use trazar::trace::{Band, ContourOptions, ContourPart};
///
/// let image = trazar::BinaryImage::from_art("##.#")?;
/// let options = ContourOptions::default().geometry(Geometry::Edges);
/// let part = ContourPart::trace(Band::new(&image, 0), &options)?;
/// assert_eq!(part.finish()?.len(), 2);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ContourOptions {
    /// Which borders to keep.
    pub retrieval: Retrieval,
    /// Which of their points to keep.
    pub approximation: Approximation,
    /// What the points are.
    pub geometry: Geometry,
}

setters! {
    ContourOptions {
        retrieval: Retrieval,
        approximation: Approximation,
        geometry: Geometry,
    }
}

impl ContourOptions {
    /// Whether the options go together.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a Teh-Chin approximation of [`Geometry::Edges`], whose polygons
    /// are exact or nothing.
    pub fn validate(&self) -> Result<()> {
        if self.geometry == Geometry::Edges
            && matches!(
                self.approximation,
                Approximation::TehChinL1 | Approximation::TehChinKCos
            )
        {
            return Err(Error::option(
                "approximation",
                OptionProblem::Conflict,
                "the Teh-Chin approximations are for centers: with edges use none or simple",
            ));
        }
        Ok(())
    }
}

/// What to trace and how.
///
/// ```
/// use trazar::{Approximation, Geometry, TraceOptions};
///
/// let options = TraceOptions::default().geometry(Geometry::Edges);
/// assert_eq!(options.contours.approximation, Approximation::Simple);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TraceOptions {
    /// What contours to make.
    pub contours: ContourOptions,
    /// How to compute them; `None` leaves the choice to the engine: the first of those
    /// [on](TraceAlgorithm::on) its backend. On the processor that is
    /// [`TraceAlgorithm::Fragments`], for any number of threads and any size: a small image is one
    /// strip, followed on the calling thread.
    pub algorithm: Option<TraceAlgorithm>,
}

setters! {
    TraceOptions {
        contours: ContourOptions,
        algorithm: impl Into<Option<TraceAlgorithm>>,
    }
}

setters! {
    TraceOptions.contours {
        retrieval: Retrieval,
        approximation: Approximation,
        geometry: Geometry,
    }
}

impl From<ContourOptions> for TraceOptions {
    fn from(contours: ContourOptions) -> Self {
        Self::default().contours(contours)
    }
}

impl TraceOptions {
    /// The algorithm to use on `backend`.
    pub(crate) fn algorithm_on(&self, backend: Backend) -> TraceAlgorithm {
        self.algorithm.unwrap_or(TraceAlgorithm::on(backend)[0])
    }
}
