//! The extension module of the Python package `trazar`, below its Python files.
//!
//! | file | what |
//! |---|---|
//! | `arguments.rs` | names, numbers and thresholds, and what is said of wrong ones |
//! | `image.rs` | arrays to binary images |
//! | `view.rs` | arrays that a job reads in place |
//! | `arrays.rs` | vectors to NumPy arrays, without a copy |
//! | `engine.rs` | the device that a call runs on |
//! | `work.rs` | runs a job without the GIL, and ends it at Ctrl-C |
//! | `contours.rs`, `labels.rs`, `measure.rs`, `rle.rs`, `routes.rs`, `distances.rs` | the jobs |
//! | `regions.rs`, `sieve.rs` | the jobs on arrays of values |
//! | `parts.rs`, `region_parts.rs`, `value_labels.rs` | jobs on bands, for `trazar.dask` |
//! | `device/` | the same on arrays in a GPU's memory |
//! | `errors.rs` | the library's errors as Python's exceptions |
//! | `info.rs`, `command.rs` | what there is, and the command `trazar` |
//!
//! Names, defaults, documentation and everything else that is not work are in the Python files.

#![allow(
    clippy::needless_pass_by_value,
    reason = "functions get their arguments from Python by value"
)]

mod arguments;
mod arrays;
mod command;
mod contours;

#[cfg(not(target_os = "macos"))]
mod device;
mod distances;
mod engine;
mod errors;
mod image;
mod info;
mod labels;
mod measure;
mod parts;
mod region_files;
mod region_parts;
mod regions;
mod reports;
mod rle;
mod routes;
mod sieve;
mod value_labels;
mod view;
mod work;

use pyo3::prelude::*;

/// The module `trazar._trazar`. Its classes are frozen, and its state is locked or a thread's own,
/// so that free-threaded Python needs no GIL for it.
#[pymodule(gil_used = false)]
mod _trazar {
    #[pymodule_export]
    use super::arguments::checked_offset;
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::contours::{HostContours, find_contours, trace};
    #[cfg(not(target_os = "macos"))]
    #[pymodule_export]
    use super::device::{
        DeviceArray, DeviceContours, device_cost_distance, device_find_contours,
        device_find_contours_by_label, device_label, device_label_band, device_label_values,
        device_measure, device_pack, device_rle_encode, device_rle_encode_labels, device_trace,
        device_trace_regions, is_on_gpu,
    };
    #[pymodule_export]
    use super::distances::{cost_distance, follow};
    #[pymodule_export]
    use super::info::info;
    #[pymodule_export]
    use super::labels::label;
    #[pymodule_export]
    use super::measure::{MeasurePart, measure, measure_part};
    #[pymodule_export]
    use super::parts::{
        BandNumbers, ContourPart, LabelPart, Mask, Measures, label_part, pack, trace_part,
    };
    #[pymodule_export]
    use super::region_files::write_regions;
    #[pymodule_export]
    use super::region_parts::{RegionPart, trace_region_part};
    #[pymodule_export]
    use super::regions::{
        find_contours_by_label, label_values, region_dicts, region_wkb, trace_regions,
    };
    #[pymodule_export]
    use super::reports::set_progress;
    #[pymodule_export]
    use super::rle::{
        rle_area, rle_decode, rle_encode, rle_encode_labels, rle_iou, rle_merge, rle_to_bbox,
    };
    #[pymodule_export]
    use super::routes::{Grid, distances, negotiate, route};
    #[pymodule_export]
    use super::sieve::sieve;
    #[pymodule_export]
    use super::value_labels::{label_values_band, label_values_part};

    /// The package's version.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
