//! The library's one error type.

use std::path::PathBuf;

/// What went wrong, and what would have been right.
///
/// Every message is one line without a trailing full stop, fit to stand after
/// `error: ` on a terminal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An image with no pixels.
    #[error("the image is {width} × {height} pixels: both sides must be at least 1")]
    EmptyImage {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
    },

    /// An image whose sides or pixel count do not fit the types that index it.
    #[error("an image of {width} × {height} pixels is too large: {limit}")]
    ImageTooLarge {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
        /// The limit that it passes, in words.
        limit: &'static str,
    },

    /// A buffer that does not hold as many values as the image has pixels.
    #[error("an image of {width} × {height} needs {needed} {unit}, but {given} were given")]
    SizeMismatch {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// How many values the size asks for.
        needed: u64,
        /// How many values there are.
        given: u64,
        /// What is counted: `"values"`, `"words"`, `"rows"`.
        unit: &'static str,
    },

    /// An array that has not the length of the others.
    #[error("an array of {needed} elements is needed, but one of {given} was given")]
    LengthMismatch {
        /// How many elements it should have.
        needed: usize,
        /// How many it has.
        given: usize,
    },

    /// A routing grid without cells.
    #[error("the grid is {width} × {height} cells: both sides must be at least 1")]
    EmptyGrid {
        /// Width in cells.
        width: u64,
        /// Height in cells.
        height: u64,
    },

    /// A routing grid whose cells do not fit the types that number them.
    #[error("a grid of {width} × {height} cells in {layers} layers is too large: {limit}")]
    GridTooLarge {
        /// Width in cells.
        width: u64,
        /// Height in cells.
        height: u64,
        /// Layers.
        layers: u32,
        /// The limit that it passes, in words.
        limit: &'static str,
    },

    /// A cell that a routing grid does not have.
    #[error(
        "there is no cell at {cell}: the grid has {height} rows, {width} columns and {layers} \
         layers, counted from 0"
    )]
    CellOutside {
        /// The cell.
        cell: crate::geometry::Cell,
        /// The grid's width in cells.
        width: u32,
        /// Its height in cells.
        height: u32,
        /// Its layers.
        layers: u32,
    },

    /// An edge that would lead off a routing grid.
    #[error(
        "there is no edge {towards} from {cell}: the grid has {height} rows, {width} columns and \
         {layers} layers, counted from 0"
    )]
    EdgeOutside {
        /// The cell that it would start from.
        cell: crate::geometry::Cell,
        /// Where it would lead: `"to the right"`, `"down"`, `"to the next layer"`.
        towards: &'static str,
        /// The grid's width in cells.
        width: u32,
        /// Its height in cells.
        height: u32,
        /// Its layers.
        layers: u32,
    },

    /// A part of a routing grid that is empty or reaches beyond it.
    #[error(
        "the part of {} × {} cells from row {}, column {} is not within the grid of {width} × {height}",
        window.width, window.height, window.y, window.x
    )]
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
    WeightCount {
        /// Which edges.
        what: &'static str,
        /// How many there are.
        needed: usize,
        /// How many weights were given.
        given: usize,
    },

    /// A pin with no cell at which it could be reached.
    #[error("net {net}: pin {pin} has no cells: give it one at least")]
    PinWithoutCells {
        /// The net's number in the call.
        net: usize,
        /// The pin's number in the net.
        pin: usize,
    },

    /// A pin that is not on the routing grid, or not in its net's window.
    #[error(
        "net {net}: pin {pin} is at {cell}, outside of rows {} to {} and columns {} to {} of {layers} layers",
        window.y, window.y + (window.height - 1), window.x, window.x + (window.width - 1)
    )]
    PinOutside {
        /// The net's number in the call.
        net: usize,
        /// The pin's number in the net.
        pin: usize,
        /// Where it is.
        cell: crate::geometry::Cell,
        /// Where it may be.
        window: crate::geometry::Window,
        /// How many layers there are.
        layers: u32,
    },

    /// A net's window that is empty or reaches beyond the routing grid.
    #[error(
        "net {net}: the window of {} × {} cells from row {}, column {} is not within the grid of {width} × {height}",
        window.width, window.height, window.y, window.x
    )]
    WindowOutside {
        /// The net's number in the call.
        net: usize,
        /// The window.
        window: crate::geometry::Window,
        /// The grid's width in cells.
        width: u32,
        /// The grid's height in cells.
        height: u32,
    },

    /// A path whose cost the algorithm's numbers cannot hold.
    #[error(
        "a path costs {limit} or more, which the algorithm `{algorithm}` cannot count: {instead}"
    )]
    CostTooLarge {
        /// The algorithm's name.
        algorithm: &'static str,
        /// The smallest cost that it cannot count.
        limit: u64,
        /// What can.
        instead: &'static str,
    },

    /// A float that is not a number, so neither foreground nor background.
    #[error(
        "the value at x = {x}, y = {y} is not a number (NaN): replace such values before thresholding"
    )]
    NotANumber {
        /// Column of the first such value.
        x: u32,
        /// Row of the first such value.
        y: u32,
    },

    /// More borders, components or points than the result's index type counts.
    #[error("the image has more than {limit} {what}: work on it in parts")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The largest number that can be represented.
        limit: u64,
    },

    /// Memory that the system would not give.
    #[error("out of memory: {bytes} bytes for {what} could not be had")]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// How many bytes were asked for.
        bytes: u64,
    },

    /// Two options that do not go together, or a value that an option does not take.
    #[error("{0}")]
    InvalidOption(String),

    /// An engine, algorithm or device that this build or machine does not have.
    #[error("{0}")]
    Unavailable(String),

    /// What the GPU, its driver or its memory refused.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),

    /// What the emulator refused, or found wrong in a kernel.
    #[error(transparent)]
    Emulator(#[from] cuda_std::emulator::EmulatorError),

    /// A file that could not be opened, read, written or renamed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// A destination that would take no more bytes: a full disk, a closed pipe.
    #[error("writing failed: {0}")]
    Write(#[from] std::io::Error),

    /// A file that is none of those this library reads, or a damaged one.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what would be right.
        reason: String,
    },

    /// A result that the chosen file format cannot hold.
    #[error("{format}: {reason}")]
    Unwritable {
        /// The format's name.
        format: &'static str,
        /// Why it cannot hold the result.
        reason: String,
    },
}

impl Error {
    /// Whether memory is all that was missing, this machine's or the GPU's: the same call with less
    /// to do, or in another way, may succeed.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::OutOfMemory { .. }
            | Self::Emulator(cuda_std::emulator::EmulatorError::OutOfMemory { .. }) => true,
            #[cfg(feature = "cuda")]
            Self::Cuda(
                crate::cuda::CudaError::OutOfMemory { .. }
                | crate::cuda::CudaError::OutOfPinnedMemory { .. },
            ) => true,
            _ => false,
        }
    }
}

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// `value` in at most some 25 characters: one of 300 digits with an exponent.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-5..1e15 => value.to_string(),
        _ => format!("{value:e}"),
    }
}
