//! Reading the image that the command line names.

use serde_json::json;
use trazar::formats::{ReadImage, ReadOptions, read_image};

use crate::args::{InputArgs, RunArgs};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::paths::source;
use crate::printable::number;
use crate::progress::Progress;
use crate::stderr;

/// Reads the image, and warns of a threshold that leaves nothing of it.
pub(crate) fn read(
    input: &InputArgs,
    run: &RunArgs,
    keep_grey: bool,
) -> Result<ReadImage, Failure> {
    let options = ReadOptions::default()
        .threshold(input.threshold)
        .invert(input.invert)
        .keep_grey(keep_grey);
    let image = Progress::reading(run.quiet, || read_image(source(&input.image), &options))
        .map_err(|error| Failure::about(&input.image, error))?;
    if image.only_below_threshold && !run.quiet {
        stderr::say(format_args!(
            "warning: no pixel is above the threshold {}, though some are not zero: \
             see --threshold",
            number(image.threshold)
        ));
    }
    Ok(image)
}

/// The image, for the summary.
pub(crate) fn facts(input: &InputArgs, read: &ReadImage) -> Facts {
    let image = &read.image;
    let foreground = image.count_foreground();
    let share = 100.0 * foreground as f64 / image.pixel_count() as f64;
    let name = input.image.display();
    let notes: Vec<String> = read.notes.iter().map(ToString::to_string).collect();
    Facts {
        text: format!(
            "{name}: {} × {} pixels, {}, {share:.1} % foreground",
            image.width(),
            image.height(),
            read.kind.name(),
        ),
        values: json!({
            "image": name.to_string(),
            "width": image.width(),
            "height": image.height(),
            "samples": read.kind.name(),
            "threshold": read.threshold,
            "foreground": foreground,
            "notes": notes,
        }),
    }
}
