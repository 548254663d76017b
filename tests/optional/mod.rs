//! What not every machine has: a GPU, time, real images. A test that lacks it says so, on a line that the test harness does not
//! hide.

use std::io::Write;
use std::path::PathBuf;

use trazar::BinaryImage;
use trazar::formats::{ReadOptions, read_image};

/// Says that `test` is skipped.
pub(crate) fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stdout(), "{test}: skipped: {why}");
}

fn set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// What was opened on the GPU, or none; with `TRAZAR_REQUIRE_GPU=1` that is a failure.
pub(crate) fn on_gpu<T>(test: &str, opened: trazar::Result<T>) -> Option<T> {
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

/// Whether large images are wanted.
pub(crate) fn large(test: &str) -> bool {
    let large = set("TRAZAR_LARGE");
    if !large {
        skipped(test, "TRAZAR_LARGE=1 is not set");
    }
    large
}

/// The folder of masks, if there are any.
pub(crate) fn masks(test: &str) -> Option<PathBuf> {
    let data = std::env::var_os("TRAZAR_DATA");
    if data.is_none() {
        skipped(test, "TRAZAR_DATA is not set");
    }
    Some(PathBuf::from(data?).join("masks"))
}

/// Calls `check` with the name and the image of each mask in `folder`, of which there is at least one.
pub(crate) fn for_each_mask(folder: &PathBuf, mut check: impl FnMut(&str, &BinaryImage)) {
    let mut found = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "png") {
            let read = read_image(&path, &ReadOptions::default());
            check(&path.display().to_string(), &read.unwrap().image);
            found += 1;
        }
    }
    assert!(found > 0, "no *.png in {}", folder.display());
}
