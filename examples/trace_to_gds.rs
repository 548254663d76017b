//! Traces an image along its pixels' edges and writes the polygons as a GDSII layout.
//!
//! ```sh
//! cargo run --release --example trace_to_gds -- docs/images/mask.png mask.gds
//! ```
//!
//! Along edges a polygon's area is its number of pixels: nothing is lost between image and layout.

use std::error::Error;

use trazar::formats::{GdsOptions, Output, ReadOptions, read_image, write_contours_gds};
use trazar::{BorderKind, Engine, Geometry, TraceOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let input = arguments
        .next()
        .unwrap_or_else(|| "docs/images/mask.png".into());
    let output = arguments.next().unwrap_or_else(|| "mask.gds".into());

    let image = read_image(&input, &ReadOptions::default())?.image;
    let options = TraceOptions::default().geometry(Geometry::Edges);
    let contours = Engine::cpu().trace(&image, &options)?;

    // The hierarchy gives each outer border its holes: what is left is the foreground.
    let mut pixels = 0.0;
    for contour in contours.iter().filter(|c| c.kind() == BorderKind::Outer) {
        let holes: f64 = contour.children().map(|hole| hole.area().abs()).sum();
        pixels += contour.area().abs() - holes;
    }
    println!(
        "{} contours around {pixels} pixels; the image has {}",
        contours.len(),
        image.count_foreground()
    );

    // 5 nm per pixel in the default database unit of 1 nm.
    let layout = GdsOptions::default().pixel_size(5);
    // The file appears complete or not at all.
    let mut file = Output::create(&output)?;
    file.fill(|file| write_contours_gds(&contours, &layout, file))?;
    file.commit()?;
    println!("wrote {output}");
    Ok(())
}
