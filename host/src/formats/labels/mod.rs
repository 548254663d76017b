//! Writers of labels and of the components' statistics.

mod npy;
mod png;
mod statistics;

pub use self::npy::{write_label_band_npy, write_labels_npy};
pub use self::png::write_labels_png;
pub use self::statistics::{write_band_statistics, write_statistics};
