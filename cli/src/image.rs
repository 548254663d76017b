//! Reading the image that the command line names.

use serde_json::json;
use trazar::formats::{Note, ReadImage, ReadOptions, SampleKind, read_image};

use crate::args::{InputArgs, RunArgs};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::paths::source;
use crate::printable::number;
use crate::progress::Progress;
use crate::stderr;

/// How the image is to be read.
pub(crate) fn options(input: &InputArgs) -> ReadOptions {
    ReadOptions::default()
        .threshold(input.threshold)
        .invert(input.invert)
}

/// Reads the image, and warns of a threshold that leaves nothing of it.
pub(crate) fn read(
    input: &InputArgs,
    run: &RunArgs,
    keep_grey: bool,
) -> Result<ReadImage, Failure> {
    let options = options(input).keep_grey(keep_grey);
    let image = Progress::reading(run.quiet, || read_image(source(&input.image), &options))
        .map_err(|error| Failure::about(&input.image, error))?;
    if image.only_below_threshold {
        warn_of_threshold(image.threshold, run);
    }
    Ok(image)
}

/// Warns of a threshold that leaves nothing of the image.
pub(crate) fn warn_of_threshold(threshold: f64, run: &RunArgs) {
    if !run.quiet {
        stderr::say(format_args!(
            "warning: no pixel is above the threshold {}, though some are not zero: \
             see --threshold",
            number(threshold)
        ));
    }
}

/// The image, for the summary.
pub(crate) fn facts(input: &InputArgs, read: &ReadImage) -> Facts {
    let image = &read.image;
    described(
        input,
        &Described {
            width: image.width(),
            height: image.height(),
            kind: read.kind,
            threshold: read.threshold,
            notes: &read.notes,
            foreground: image.count_foreground(),
        },
    )
}

/// What the summary says of an image.
pub(crate) struct Described<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) kind: SampleKind,
    pub(crate) threshold: f64,
    pub(crate) notes: &'a [Note],
    /// The number of foreground pixels.
    pub(crate) foreground: u64,
}

/// An image, for the summary.
pub(crate) fn described(input: &InputArgs, image: &Described<'_>) -> Facts {
    let Described {
        width,
        height,
        foreground,
        ..
    } = *image;
    let pixels = f64::from(width) * f64::from(height);
    let share = 100.0 * foreground as f64 / pixels;
    let name = input.image.display();
    let notes: Vec<String> = image.notes.iter().map(ToString::to_string).collect();
    Facts {
        text: format!(
            "{name}: {width} × {height} pixels, {}, {share:.1} % foreground",
            image.kind.name(),
        ),
        values: json!({
            "image": name.to_string(),
            "width": width,
            "height": height,
            "samples": image.kind.name(),
            "threshold": image.threshold,
            "foreground": foreground,
            "notes": notes,
        }),
    }
}
