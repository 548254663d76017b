//! Reading the image that the command line names.

use std::path::Path;
use std::time::Instant;

use trazar::formats::{ReadImage, ReadOptions, read_image};

use crate::args::{InputArgs, RunArgs};
use crate::failure::Failure;
use crate::stderr;

/// The image, and how many seconds reading it took.
pub(crate) fn read(
    input: &InputArgs,
    run: &RunArgs,
    keep_grey: bool,
) -> Result<(ReadImage, f64), Failure> {
    let started = Instant::now();
    let options = ReadOptions {
        threshold: input.threshold,
        invert: input.invert,
        keep_grey,
    };
    // Read as any other pipe or file.
    let path = if cfg!(unix) && input.image.as_os_str() == "-" {
        Path::new("/dev/stdin")
    } else {
        &input.image
    };
    let image = read_image(path, &options).map_err(|error| Failure::about(&input.image, error))?;
    if image.only_below_threshold && !run.quiet {
        stderr::say(format_args!(
            "warning: no pixel is above the threshold {}, though some are not zero: \
             see --threshold",
            image.threshold
        ));
    }
    Ok((image, started.elapsed().as_secs_f64()))
}
