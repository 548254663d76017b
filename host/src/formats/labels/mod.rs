//! Writers of labels and of the components' statistics.

mod npy;
mod png;
mod statistics;

pub use self::npy::{write_band_labels_npy, write_labels_npy};
pub use self::png::write_labels_png;
pub use self::statistics::{write_band_statistics_csv, write_statistics_csv};
