//! The components' statistics as CSV.

use std::io::Write;

use crate::error::{Error, OptionProblem, Result};
use crate::formats::measures::csv_error;
use crate::label::parts::LabelBand;
use crate::{Component, Labels};

/// Writes one line per component, from label 1 on, after the header
/// `label,area,x_min,y_min,x_max,y_max,centroid_x,centroid_y`.
///
/// Areas are pixel counts; a box's corners are pixels that belong to it; centroids are means of
/// the pixels' integer coordinates.
///
/// # Errors
/// [`Error::InvalidOption`] if the labels have no statistics; [`Error::Write`].
pub fn write_statistics_csv(labels: &Labels, out: impl Write) -> Result<()> {
    write_components(labels.components(), 1, true, out)
}

/// Writes the lines of the components that start in a band of a labelled image, as
/// [`write_statistics_csv`] writes them, and the header before those of the first band.
///
/// # Errors
/// Those of [`write_statistics_csv`].
pub fn write_band_statistics_csv<T>(band: &LabelBand<'_, T>, out: impl Write) -> Result<()> {
    let is_first = band.first_row() == 0;
    write_components(band.components(), band.first_component(), is_first, out)
}

fn write_components(
    components: Option<&[Component]>,
    first_label: u64,
    with_header: bool,
    out: impl Write,
) -> Result<()> {
    let components = components.ok_or_else(|| {
        Error::option(
            "statistics",
            OptionProblem::Missing,
            "the labels come without statistics: label with statistics on",
        )
    })?;
    let mut csv = csv::Writer::from_writer(out);
    let header = [
        "label",
        "area",
        "x_min",
        "y_min",
        "x_max",
        "y_max",
        "centroid_x",
        "centroid_y",
    ];
    if with_header {
        csv.write_record(header).map_err(csv_error)?;
    }
    for (label, component) in (first_label..).zip(components) {
        let bounds = component.bounding_box;
        csv.write_record([
            label.to_string(),
            component.area.to_string(),
            bounds.min.x.to_string(),
            bounds.min.y.to_string(),
            bounds.max.x.to_string(),
            bounds.max.y.to_string(),
            component.centroid.x.to_string(),
            component.centroid.y.to_string(),
        ])
        .map_err(csv_error)?;
    }
    Ok(csv.flush()?)
}

#[cfg(test)]
mod tests {
    use crate::{BinaryImage, Engine, LabelOptions};

    /// Areas, boxes and means worked out by hand.
    #[test]
    fn lines_of_an_image_with_three_components() {
        let image = BinaryImage::from_art("##..#\n##...\n...##").expect("an image");
        let options = LabelOptions::default().statistics(true);
        let labels = Engine::cpu().label(&image, &options).expect("labels");
        let mut csv = Vec::new();
        super::write_statistics_csv(&labels, &mut csv).expect("written");
        assert_eq!(
            String::from_utf8(csv).expect("text"),
            "label,area,x_min,y_min,x_max,y_max,centroid_x,centroid_y\n\
             1,4,0,0,1,1,0.5,0.5\n\
             2,1,4,0,4,0,4,0\n\
             3,2,3,2,4,2,3.5,2\n"
        );
    }
}
