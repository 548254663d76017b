//! [`Error`]: the library's one error type.
//!
//! Kinds of errors that have several causes say which it was: [`OptionError`], [`Unavailable`],
//! [`ReadProblem`], [`WriteProblem`]. Texts may change from version to version; variants, kinds and
//! names of options do not.

mod problem;

use std::error::Error as StdError;
use std::path::PathBuf;

pub use problem::{OptionError, OptionProblem, ReadProblem, Unavailable, WriteProblem};

/// A failure, and, where that helps, what would have been right.
///
/// Every message is one line without a full stop at its end, so that it can follow `error: ` on a
/// terminal. It includes the message of [`source`](std::error::Error::source), where there is one.
///
/// ```
/// use trazar::{BinaryImage, Error};
///
/// let refused = BinaryImage::new(0, 4);
/// assert!(matches!(refused, Err(Error::EmptyImage { width: 0, .. })));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An image without pixels.
    #[error("the image is {width} × {height} pixels: both sides must be at least 1")]
    #[non_exhaustive]
    EmptyImage {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
    },

    /// An image with sides or a number of pixels too large for the types that index it.
    #[error("an image of {width} × {height} pixels is too large: {limit}")]
    #[non_exhaustive]
    ImageTooLarge {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
        /// The limit that it exceeds, in words.
        limit: &'static str,
    },

    /// A buffer whose length does not fit the image's size.
    #[error("an image of {width} × {height} needs {needed} {unit}, but {given} were given")]
    #[non_exhaustive]
    SizeMismatch {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// The number of values that the size asks for.
        needed: u64,
        /// The number of values given.
        given: u64,
        /// The values' name: `"values"`, `"words"`, `"bytes"`.
        unit: &'static str,
    },

    /// Two parts of an image of which the second does not start in the row below the first.
    #[error(
        "the upper part ends above row {upper_end} and the lower one starts in row {lower_start}: \
         join parts that lie one below the other"
    )]
    #[non_exhaustive]
    PartsNotAdjacent {
        /// The row below the upper part's last.
        upper_end: u32,
        /// The lower part's first row.
        lower_start: u32,
    },

    /// Two parts that are not of one image, or were made with different options.
    #[error("the parts differ in {what}: {upper} and {lower}")]
    #[non_exhaustive]
    PartsDiffer {
        /// The property in which they differ: `"width"`, `"connectivity"`, `"statistics"`,
        /// `"pixels"`, `"options"`, `"number of components"`, `"the rows at their seam"`.
        what: &'static str,
        /// Its value in the upper part.
        upper: String,
        /// Its value in the lower part.
        lower: String,
    },

    /// A part for which a result of the whole image was requested.
    #[error(
        "rows {first_row} to {last_row} are not all of the image: join the parts above and below \
         them first"
    )]
    #[non_exhaustive]
    PartNotWhole {
        /// The part's first row.
        first_row: u32,
        /// The part's last row.
        last_row: u32,
    },

    /// A source of bands that returned another image in a later pass than in the first one.
    #[error(
        "the image has changed between two passes over it: from row {first_row} on, it had \
         {before} {unit}, and has {now}"
    )]
    #[non_exhaustive]
    ImageChanged {
        /// The first row of the band where that was noticed.
        first_row: u32,
        /// What is counted: `"rows"` or `"components"`, of that band.
        unit: &'static str,
        /// Their number in the first pass.
        before: u64,
        /// Their number in the later pass.
        now: u64,
    },

    /// An array whose length is not the needed one.
    #[error("an array of {needed} elements is needed, but one of {given} was given")]
    #[non_exhaustive]
    LengthMismatch {
        /// The number of elements needed.
        needed: usize,
        /// The number of elements given.
        given: usize,
    },

    /// A routing grid without cells.
    #[error("the grid is {width} × {height} cells: both sides must be at least 1")]
    #[non_exhaustive]
    EmptyGrid {
        /// Width in cells.
        width: u64,
        /// Height in cells.
        height: u64,
    },

    /// A routing grid with too many cells for the types that index them.
    #[error("a grid of {width} × {height} cells in {layers} layers is too large: {limit}")]
    #[non_exhaustive]
    GridTooLarge {
        /// Width in cells.
        width: u64,
        /// Height in cells.
        height: u64,
        /// The number of layers.
        layers: u32,
        /// The limit that it exceeds, in words.
        limit: &'static str,
    },

    /// A cell that a routing grid does not have.
    #[error(
        "there is no cell at {cell}: the grid has {height} rows, {width} columns and {layers} \
         layers, counted from 0"
    )]
    #[non_exhaustive]
    CellOutside {
        /// The cell.
        cell: crate::geometry::Cell,
        /// The grid's width in cells.
        width: u32,
        /// The grid's height in cells.
        height: u32,
        /// The number of the grid's layers.
        layers: u32,
    },

    /// An edge that would leave a routing grid.
    #[error(
        "there is no edge {towards} from {cell}: the grid has {height} rows, {width} columns and \
         {layers} layers, counted from 0"
    )]
    #[non_exhaustive]
    EdgeOutside {
        /// The cell where it would start.
        cell: crate::geometry::Cell,
        /// Where it would lead: `"to the right"`, `"down"`, `"to the next layer"`.
        towards: &'static str,
        /// The grid's width in cells.
        width: u32,
        /// The grid's height in cells.
        height: u32,
        /// The number of the grid's layers.
        layers: u32,
    },

    /// A part of a routing grid that is empty, or that is not all on the grid.
    #[error(
        "the part of {} × {} cells from row {}, column {} is not within the grid of {width} × \
         {height}",
        window.width, window.height, window.y, window.x
    )]
    #[non_exhaustive]
    PartOutside {
        /// The part.
        window: crate::geometry::Window,
        /// The grid's width in cells.
        width: u32,
        /// The grid's height in cells.
        height: u32,
    },

    /// More or fewer weights than a routing grid has edges.
    #[error("the grid has {needed} {what}, but {given} weights for them were given")]
    #[non_exhaustive]
    WeightCount {
        /// The kind of edges, in words.
        what: &'static str,
        /// The number of such edges.
        needed: usize,
        /// The number of weights given.
        given: usize,
    },

    /// A pin without cells.
    #[error("net {net}: pin {pin} has no cells: give it one at least")]
    #[non_exhaustive]
    PinWithoutCells {
        /// Index of the net in the call, from 0.
        net: usize,
        /// Index of the pin in the net, from 0.
        pin: usize,
    },

    /// A pin outside the routing grid, or outside its net's window.
    #[error(
        "net {net}: pin {pin} is at {cell}, outside of rows {} to {} and columns {} to {} of \
         {layers} layers",
        window.y, window.y + (window.height - 1), window.x, window.x + (window.width - 1)
    )]
    #[non_exhaustive]
    PinOutside {
        /// Index of the net in the call, from 0.
        net: usize,
        /// Index of the pin in the net, from 0.
        pin: usize,
        /// The pin's cell.
        cell: crate::geometry::Cell,
        /// The cells where the pin may be.
        window: crate::geometry::Window,
        /// The number of the grid's layers.
        layers: u32,
    },

    /// A net's window that is empty, or that is not all on the routing grid.
    #[error(
        "net {net}: the window of {} × {} cells from row {}, column {} is not within the grid of \
         {width} × {height}",
        window.width, window.height, window.y, window.x
    )]
    #[non_exhaustive]
    WindowOutside {
        /// Index of the net in the call, from 0.
        net: usize,
        /// The window.
        window: crate::geometry::Window,
        /// The grid's width in cells.
        width: u32,
        /// The grid's height in cells.
        height: u32,
    },

    /// A path that costs more than the algorithm can represent.
    #[error(
        "a path costs {limit} or more, which the algorithm `{algorithm}` cannot count: {instead}"
    )]
    #[non_exhaustive]
    CostTooLarge {
        /// The algorithm's name.
        algorithm: &'static str,
        /// The smallest cost that it cannot represent.
        limit: u64,
        /// What to use instead, in words.
        instead: &'static str,
    },

    /// A friction below 0, or one that the precision of the costs cannot represent.
    #[error("the friction at row {y}, column {x} is {}: {instead}", short(*value))]
    #[non_exhaustive]
    Friction {
        /// The cell's column.
        x: u32,
        /// The cell's row.
        y: u32,
        /// The friction.
        value: f64,
        /// What would be right, in words.
        instead: &'static str,
    },

    /// A cell that a raster of friction does not have.
    #[error(
        "there is no cell at row {y}, column {x}: the raster has {height} rows and {width} \
         columns, counted from 0"
    )]
    #[non_exhaustive]
    OutsideRaster {
        /// The cell's column.
        x: i64,
        /// The cell's row.
        y: i64,
        /// The raster's width in cells.
        width: u32,
        /// The raster's height in cells.
        height: u32,
    },

    /// A source of costs on a cell that nothing may enter.
    #[error(
        "the source with id {id} at row {y}, column {x} is on a barrier (the friction is NaN, \
         infinite or no-data): move it, or give the cell a friction"
    )]
    #[non_exhaustive]
    SourceOnBarrier {
        /// The source's id.
        id: u32,
        /// The cell's column.
        x: u32,
        /// The cell's row.
        y: u32,
    },

    /// A cell from which no path leads to a source.
    #[error(
        "nothing reaches the cell at row {y}, column {x}: barriers or `max_cost` part it from \
         every source"
    )]
    #[non_exhaustive]
    Unreached {
        /// The cell's column.
        x: u32,
        /// The cell's row.
        y: u32,
    },

    /// Costs that exceed the largest number of their precision.
    #[error(
        "the costs of all paths to row {y}, column {x} exceed the largest {precision}: {instead}"
    )]
    #[non_exhaustive]
    CostOverflow {
        /// The column of a cell that paths reach at such costs only.
        x: u32,
        /// The cell's row.
        y: u32,
        /// The precision's name.
        precision: &'static str,
        /// What to do, in words.
        instead: &'static str,
    },

    /// Two rasters that belong together and differ in size, precision or options.
    #[error("the rasters differ in {what}: {first} and {second}")]
    #[non_exhaustive]
    RastersDiffer {
        /// The property in which they differ.
        what: &'static str,
        /// Its value in the first raster.
        first: String,
        /// Its value in the second raster.
        second: String,
    },

    /// A value that is not a number (NaN), so neither foreground nor background.
    #[error(
        "the value at x = {x}, y = {y} is not a number (NaN): replace such values before \
         thresholding"
    )]
    #[non_exhaustive]
    NotANumber {
        /// Column of the first such value.
        x: u32,
        /// Row of the first such value.
        y: u32,
    },

    /// More borders, components or points than the result's index type can count.
    #[error("the image has more than {limit} {what}: work on it in parts")]
    #[non_exhaustive]
    TooMany {
        /// The name of what there is too much of.
        what: &'static str,
        /// The largest number that can be represented.
        limit: u64,
    },

    /// The program has ended the job: its progress report returned
    /// [`ControlFlow::Break`](std::ops::ControlFlow::Break).
    #[error("cancelled: the progress report asked for it")]
    Cancelled,
    /// Memory that could not be allocated.
    #[error("out of memory: {bytes} bytes for {what} could not be had")]
    #[non_exhaustive]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// The number of bytes asked for.
        bytes: u64,
    },

    /// A working buffer, on a GPU or the emulator, for which there was no memory.
    #[error(transparent)]
    Buffer(Box<cuda_std::lengths::AllocError<Error>>),

    /// Options that contradict each other, or a value that an option does not take.
    #[error(transparent)]
    InvalidOption(#[from] OptionError),

    /// An engine, algorithm or device that this build or machine does not have.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),

    /// An error of the GPU or its driver.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),

    /// A request that the emulator refused, or a fault that it found in a kernel.
    #[error(transparent)]
    Emulator(#[from] cuda_std::emulator::EmulatorError),

    /// A file that could not be opened, read, written or renamed.
    #[error("{}: {source}", path.display())]
    #[non_exhaustive]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// A destination that takes no more bytes, such as a full disk or a closed pipe.
    #[error("writing failed: {0}")]
    Write(#[from] std::io::Error),

    /// A file of a kind that this library does not read, or a damaged file.
    #[error("{}: {reason}", path.display())]
    #[non_exhaustive]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kind of problem.
        problem: ReadProblem,
        /// What is wrong with it, and what would be right, in words.
        reason: String,
        /// The decoder's error, if a decoder of another library refused the file.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },

    /// A result that the chosen file format cannot hold.
    #[error("{format}: {reason}")]
    #[non_exhaustive]
    Unwritable {
        /// The format's name.
        format: &'static str,
        /// The kind of problem.
        problem: WriteProblem,
        /// Why the format cannot hold the result, in words.
        reason: String,
        /// The encoder's error, if an encoder of another library refused the result.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
}

/// Refuses an array of another length than is needed.
pub(crate) fn check_len(needed: usize, given: usize) -> Result<()> {
    if given == needed {
        return Ok(());
    }
    Err(Error::LengthMismatch { needed, given })
}

impl Error {
    /// An [`InvalidOption`](Self::InvalidOption).
    pub(crate) fn option(
        option: &'static str,
        problem: OptionProblem,
        reason: impl Into<String>,
    ) -> Self {
        OptionError::new(option, problem, reason).into()
    }

    /// An [`Unwritable`](Self::Unwritable) of this library's own writers.
    #[cfg(feature = "formats")]
    pub(crate) fn unwritable(
        format: &'static str,
        problem: WriteProblem,
        reason: impl Into<String>,
    ) -> Self {
        Self::Unwritable {
            format,
            problem,
            reason: reason.into(),
            source: None,
        }
    }

    /// An [`OutOfMemory`](Self::OutOfMemory), for a caller that allocates by itself, such as a
    /// [`BandSource`](crate::label::BandSource): there was no room for `bytes` bytes of `what`.
    pub fn out_of_memory(what: &'static str, bytes: u64) -> Self {
        Self::OutOfMemory { what, bytes }
    }

    /// Whether a lack of memory, on this machine or on the GPU, was the only reason. The same call
    /// with a smaller input, or with another algorithm, may succeed.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::OutOfMemory { .. }
            | Self::Buffer(_)
            | Self::Emulator(cuda_std::emulator::EmulatorError::OutOfMemory { .. }) => true,
            #[cfg(feature = "cuda")]
            Self::Cuda(
                crate::cuda::CudaError::OutOfMemory { .. }
                | crate::cuda::CudaError::OutOfLockedMemory { .. }
                | crate::cuda::CudaError::OutOfHostMemory { .. },
            ) => true,
            // A destination in memory.
            Self::Write(source) => source.kind() == std::io::ErrorKind::OutOfMemory,
            _ => false,
        }
    }
}

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// `value` in at most about 25 characters: very large and very small values have an exponent.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-5..1e15 => value.to_string(),
        _ => format!("{value:e}"),
    }
}
