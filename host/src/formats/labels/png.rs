//! Labels as a picture.

use std::io::Write;

use crate::formats::colour::colour_of;
use crate::formats::png_writer::{Pixels, write_png};
use crate::{Labels, Result};

/// Writes a PNG with one colour per component on a black background.
///
/// A colour depends on the label alone; consecutive labels differ much in hue.
///
/// # Errors
/// [`Error::Write`](crate::Error::Write).
pub fn write_labels_png(labels: &Labels, out: impl Write) -> Result<()> {
    let width = labels.width() as usize;
    write_png(out, labels.width(), labels.height(), Pixels::Rgb, |out| {
        let mut line = Vec::new();
        for row in labels.as_slice().chunks_exact(width) {
            line.clear();
            // Neighbouring pixels usually have the same label.
            let mut last = (0, [0; 3]);
            for &label in row {
                if label != last.0 {
                    last = (label, colour_of(label));
                }
                line.extend_from_slice(&last.1);
            }
            out.write_all(&line)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryImage, Engine, LabelOptions};

    /// The picture is read by another crate.
    #[test]
    fn pixels_have_the_colours_of_their_labels() {
        let image = BinaryImage::from_art("##..#\n##...\n...##").expect("an image");
        let options = LabelOptions::default();
        let labels = Engine::cpu().label(&image, &options).expect("labels");
        let mut png = Vec::new();
        write_labels_png(&labels, &mut png).expect("written");
        let picture = image::load_from_memory(&png).expect("a picture").to_rgb8();
        assert_eq!(picture.dimensions(), (5, 3));
        let expected = [1, 1, 0, 0, 2, 1, 1, 0, 0, 0, 0, 0, 0, 3, 3];
        for (pixel, label) in picture.pixels().zip(expected) {
            assert_eq!(pixel.0, colour_of(label), "label {label}");
        }
    }

    #[test]
    fn colours_are_bright_and_near_labels_differ() {
        for label in 1..2000u32 {
            let c = colour_of(label);
            assert!(c.iter().any(|&v| v >= 120), "{label}: {c:?} is too dark");
            for other in label + 1..label + 8 {
                let d: i32 = c
                    .iter()
                    .zip(colour_of(other))
                    .map(|(&a, b)| (i32::from(a) - i32::from(b)).abs())
                    .sum();
                assert!(d >= 24, "{label} {c:?} and {other} {:?}", colour_of(other));
            }
        }
    }
}
