//! What not every machine has: a GPU, time, real images. A test that lacks something says so on a
//! line that the test harness does not capture.

use std::path::{Path, PathBuf};

use trazar::BinaryImage;
use trazar::formats::{ReadOptions, read_image};
pub use trazar_test_seeds::skipped;

fn set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// Unwraps `opened`. Without a GPU, prints why `test` is skipped, and returns `None`.
///
/// # Panics
/// There is none, and `TRAZAR_REQUIRE_GPU=1`.
pub fn on_gpu<T>(test: &str, opened: trazar::Result<T>) -> Option<T> {
    opened
        .inspect_err(|error| {
            assert!(
                !set("TRAZAR_REQUIRE_GPU"),
                "TRAZAR_REQUIRE_GPU=1, but: {error}"
            );
            skipped(test, &error.to_string());
        })
        .ok()
}

/// Whether `TRAZAR_LARGE=1` asks for large inputs. If not, prints that `test` is skipped.
pub fn large(test: &str) -> bool {
    let large = set("TRAZAR_LARGE");
    if !large {
        skipped(test, "TRAZAR_LARGE=1 is not set");
    }
    large
}

/// The folder `$TRAZAR_DATA/masks`. If the variable is not set, prints that `test` is skipped.
pub fn masks(test: &str) -> Option<PathBuf> {
    let data = std::env::var_os("TRAZAR_DATA");
    if data.is_none() {
        skipped(test, "TRAZAR_DATA is not set");
    }
    Some(PathBuf::from(data?).join("masks"))
}

/// Calls `check` with the name and the image of each mask in `folder`.
///
/// # Panics
/// There is no mask, or one cannot be read.
pub fn for_each_mask(folder: &Path, mut check: impl FnMut(&str, &BinaryImage)) {
    let mut found = 0;
    let entries = std::fs::read_dir(folder);
    for entry in entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "png") {
            let read = read_image(&path, &ReadOptions::default());
            check(&path.display().to_string(), &read.unwrap().image);
            found += 1;
        }
    }
    assert!(found > 0, "no *.png in {}", folder.display());
}
