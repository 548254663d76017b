//! Reading the image that the command line names.

use serde_json::json;
use trazar::formats::{Crs, GeoReference, Note, ReadImage, ReadOptions, SampleKind, read_image};

use crate::args::{InputArgs, RunArgs, no_data_option};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::paths::source;
use crate::printable::number;
use crate::progress::Progress;
use crate::stderr;

/// How to read the image.
pub(crate) fn options(input: &InputArgs) -> ReadOptions {
    ReadOptions::default()
        .threshold(input.threshold)
        .invert(input.invert)
        .no_data(no_data_option(input.nodata))
}

/// Reads the image, and warns of a threshold that leaves no foreground.
pub(crate) fn read(
    input: &InputArgs,
    run: &RunArgs,
    keep_grey: bool,
) -> Result<ReadImage, Failure> {
    let options = options(input).keep_grey(keep_grey);
    let image = Progress::reading(run.quiet, || read_image(source(&input.image), &options))
        .map_err(|error| Failure::about(&input.image, error))?;
    warn_of_threshold(image.only_below_threshold, image.threshold, run);
    Ok(image)
}

/// Warns of a threshold that leaves no foreground.
pub(crate) fn warn_of_threshold(only_below: bool, threshold: f64, run: &RunArgs) {
    if only_below && !run.quiet {
        stderr::say(format_args!(
            "warning: no pixel is above the threshold {}, though some are not zero: \
             see --threshold",
            number(threshold)
        ));
    }
}

/// The image, for the summary.
pub(crate) fn facts(input: &InputArgs, read: &ReadImage, placed: Option<&GeoReference>) -> Facts {
    let described = Described {
        width: read.image.width(),
        height: read.image.height(),
        kind: read.kind,
        threshold: read.threshold,
        foreground: read.image.count_foreground(),
        notes: notes(&read.notes, placed),
    };
    described.facts(input)
}

/// What is said of the file's other contents, with results in the coordinates of `placed`.
pub(crate) fn notes(of_file: &[Note], placed: Option<&GeoReference>) -> Vec<String> {
    // That a georeference is left out is not true of results in its coordinates.
    let said = |note: &&Note| placed.is_none() || !matches!(note, Note::Georeference { .. });
    let mut notes: Vec<_> = of_file
        .iter()
        .filter(said)
        .map(ToString::to_string)
        .collect();
    if placed.is_some_and(|placed| placed.crs == Some(Crs::Other)) {
        notes.push("the file's CRS has no EPSG code and is left out".into());
    }
    notes
}

/// The summary's data about an image.
pub(crate) struct Described {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) kind: SampleKind,
    pub(crate) threshold: f64,
    /// The number of foreground pixels.
    pub(crate) foreground: u64,
    pub(crate) notes: Vec<String>,
}

impl Described {
    pub(crate) fn facts(&self, input: &InputArgs) -> Facts {
        let pixels = u64::from(self.width) * u64::from(self.height);
        let share = 100.0 * self.foreground as f64 / pixels as f64;
        let name = input.image.display();
        Facts {
            text: format!(
                "{name}: {} × {} pixels, {}, {share:.1} % foreground",
                self.width,
                self.height,
                self.kind.name(),
            ),
            values: json!({
                "image": name.to_string(),
                "width": self.width,
                "height": self.height,
                "samples": self.kind.name(),
                "threshold": self.threshold,
                "foreground": self.foreground,
                "notes": self.notes,
            }),
        }
    }
}
