//! The jobs on arrays in a GPU's memory, which stay there.
//!
//! | file | what |
//! |---|---|
//! | `place.rs` | devices, the caller's current stream, and the kernels there |
//! | `input.rs` | arrays of other libraries, used where they lie |
//! | `numbers.rs` | the same for arrays of numbers of more types |
//! | `output.rs` | such arrays as the destination of labels |
//! | `array.rs` | results, for other libraries to use |
//! | `contours.rs`, `distances.rs`, `labels.rs` | the jobs |
//! | `values.rs` | the jobs on images of values, labels and masks |
//! | `parts.rs` | bands of an image, for `trazar.dask` |
//!
//! # Order of work
//! All work is queued on the current stream of the array's library, and so is the freeing of
//! results. The host waits only for sizes of results: numbers of components and of points.

mod array;
mod contours;
mod distances;
mod input;
mod labels;
mod numbers;
mod output;
mod parts;
mod place;
mod values;

pub(crate) use array::DeviceArray;
pub(crate) use contours::{DeviceContours, device_find_contours, device_trace};
pub(crate) use distances::device_cost_distance;
pub(crate) use input::is_on_gpu;
pub(crate) use labels::device_label;
pub(crate) use parts::{device_label_band, device_pack};
pub(crate) use place::queue;
pub(crate) use values::{
    device_find_contours_by_label, device_label_values, device_measure, device_rle_encode,
    device_rle_encode_labels, device_trace_regions,
};
