//! Label: the connected components of a binary image.
//!
//! | what | where |
//! |---|---|
//! | options, labels and measures | this file |
//! | on the CPU | `cpu/` |
//! | parts of an image, joined; images larger than memory | `parts/` |
//! | by kernels, on a GPU or the emulator | `gpu/`, and `label/` of the crate `trazar-kernels` |

#[cfg(feature = "ndarray")]
mod convert;
pub(crate) mod cpu;
pub(crate) mod gpu;
pub(crate) mod parts;

use glam::DVec2;
#[doc(inline)]
pub use trazar_kernels::label::Connectivity;

pub(crate) use cpu::background;
pub use gpu::{
    DeviceLabelBatch, DeviceLabeler, DeviceLabels, MultiLabeler, MultiLabels, UnfinishedLabels,
};
pub(crate) use gpu::{HostLabels, fits_a_batch, label_host, label_host_into, region_layout};
pub use parts::{
    BandLabels, BandNumbers, BandPixels, BandSource, LabelBand, LabelNumber, LabelPart, LabelTable,
    components_from_bytes, components_to_bytes,
};

use crate::backend::Backend;
use crate::error::Result;
use crate::geometry::BoundingBox;
use crate::image::BinaryImage;
use crate::options::{names, setters};

/// The algorithms that label. All give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LabelAlgorithm {
    /// Union-find over runs, row after row, on one thread.
    Sequential,
    /// Union-find over runs in strips of rows, on all cores; then the strips are joined along their
    /// seams.
    Parallel,
    /// By kernels: union-find over runs in tiles; then the tiles are joined along their borders.
    Tiles,
    /// By kernels: union-find over pixels, one thread per pixel.
    Direct,
}

names! { LabelAlgorithm, "algorithm" {
    Sequential => "sequential",
    Parallel => "parallel",
    Tiles => "tiles",
    Direct => "direct",
} }

impl LabelAlgorithm {
    /// The backends that run it, the fastest first.
    pub fn backends(self) -> &'static [Backend] {
        match self {
            Self::Sequential | Self::Parallel => &[Backend::Cpu],
            Self::Tiles | Self::Direct => &[Backend::Cuda, Backend::Emulator],
        }
    }

    /// The algorithms that run on `backend`, the fastest first.
    pub fn on(backend: Backend) -> &'static [Self] {
        match backend {
            Backend::Cpu => &[Self::Parallel, Self::Sequential],
            Backend::Cuda | Backend::Emulator => &[Self::Tiles, Self::Direct],
        }
    }

    /// Refuses a backend that does not run it.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable), which names the algorithms that the
    /// backend runs.
    pub fn check_runs_on(self, backend: Backend) -> Result<()> {
        let others = Self::on(backend).iter().map(|other| other.name());
        backend.check_runs("labelling", self.name(), self.backends(), others)
    }
}

/// What components to find. The result depends on these options alone, however and in whatever
/// parts an image is labelled.
///
/// ```
/// use trazar::label::{ComponentOptions, LabelPart};
///
/// let image = trazar::BinaryImage::from_art("##.#")?;
/// let options = ComponentOptions::default().statistics(true);
/// let table = LabelPart::label(&image, 0, &options)?.finish()?;
/// assert_eq!(table.count(), 2);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ComponentOptions {
    /// Which neighbouring pixels belong together.
    pub connectivity: Connectivity,
    /// Whether to compute each component's area, bounding box and centroid.
    pub statistics: bool,
}

setters! {
    ComponentOptions {
        connectivity: Connectivity,
        statistics: bool,
    }
}

/// What to label and how.
///
/// ```
/// use trazar::{Connectivity, LabelOptions};
///
/// let options = LabelOptions::default().connectivity(Connectivity::Four).statistics(true);
/// assert!(options.components.statistics && options.algorithm.is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LabelOptions {
    /// What components to find.
    pub components: ComponentOptions,
    /// The algorithm; `None` leaves the choice to the engine.
    pub algorithm: Option<LabelAlgorithm>,
}

setters! {
    LabelOptions {
        components: ComponentOptions,
        algorithm: impl Into<Option<LabelAlgorithm>>,
    }
}

setters! {
    LabelOptions.components {
        connectivity: Connectivity,
        statistics: bool,
    }
}

impl From<ComponentOptions> for LabelOptions {
    fn from(components: ComponentOptions) -> Self {
        Self::default().components(components)
    }
}

impl LabelOptions {
    /// The algorithm to use on `backend`.
    pub(crate) fn algorithm_on(&self, backend: Backend) -> LabelAlgorithm {
        self.algorithm.unwrap_or(LabelAlgorithm::on(backend)[0])
    }
}

/// The measures of one component.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Component {
    /// The number of its pixels.
    pub area: u64,
    /// The smallest box around its pixels. Both corners are pixels of the box.
    pub bounding_box: BoundingBox,
    /// The mean of its pixels' coordinates.
    pub centroid: DVec2,
}

/// The results besides the labels themselves: see
/// [`Engine::label_into`](crate::Engine::label_into).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelSummary {
    /// The number of components.
    pub count: u32,
    /// The measures of the components: element `i` is label `i + 1`. `None` without the option
    /// [`statistics`](field@ComponentOptions::statistics).
    pub components: Option<Vec<Component>>,
}

/// One label per pixel: 0 for background, 1, 2, … for the components in raster order of their first
/// pixels, as `scipy.ndimage.label` numbers them.
///
/// ```
/// use trazar::{BinaryImage, Connectivity, Engine, LabelOptions};
///
/// let image = BinaryImage::from_art(
///     "
///     #.#
///     .#.
///     ..#
///     ",
/// )?;
/// let eight = Engine::cpu().label(&image, &LabelOptions::default())?;
/// assert_eq!(eight.count(), 1);
/// let four = LabelOptions::default().connectivity(Connectivity::Four).statistics(true);
/// let four = Engine::cpu().label(&image, &four)?;
/// assert_eq!(four.as_slice(), [1, 0, 2, 0, 3, 0, 0, 0, 4]);
/// assert_eq!(four.components().unwrap()[1].area, 1);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    width: u32,
    height: u32,
    labels: Vec<u32>,
    count: u32,
    components: Option<Vec<Component>>,
}

impl Labels {
    /// Labels of an image, row by row, with their summary.
    pub(crate) fn of(image: &BinaryImage, labels: Vec<u32>, summary: LabelSummary) -> Self {
        Self {
            width: image.width(),
            height: image.height(),
            labels,
            count: summary.count,
            components: summary.components,
        }
    }

    /// Width of the image that was labelled.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height of the image that was labelled.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The number of components.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The labels, row by row, without padding.
    pub fn as_slice(&self) -> &[u32] {
        &self.labels
    }

    /// The labels, row by row, and the summary.
    pub fn into_labels_and_summary(self) -> (Vec<u32>, LabelSummary) {
        let summary = LabelSummary {
            count: self.count,
            components: self.components,
        };
        (self.labels, summary)
    }

    /// The labels, row by row, as a vector.
    pub fn into_vec(self) -> Vec<u32> {
        self.labels
    }

    /// The label at `(x, y)`; 0 outside the image.
    pub fn get(&self, x: u32, y: u32) -> u32 {
        if x < self.width && y < self.height {
            self.labels[y as usize * self.width as usize + x as usize]
        } else {
            0
        }
    }

    /// The measures of the components: element `i` is label `i + 1`. `None` without the option
    /// [`statistics`](field@ComponentOptions::statistics).
    pub fn components(&self) -> Option<&[Component]> {
        self.components.as_deref()
    }
}
