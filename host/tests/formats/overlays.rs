//! Pictures of contours over their image, pixel by pixel.

use trazar::formats::{GreyImage, write_overlay_png};
use trazar::{Approximation, BorderKind, Engine, TraceOptions, generate};

use crate::regions::written;

/// An image with 800 columns is not enlarged, and a contour without approximation is drawn on its
/// own points only. The lines between the points that `Simple` keeps pass through the other points.
#[test]
fn contours_are_drawn_over_a_dimmed_image() {
    let (width, height) = (800, 33);
    let image = generate::noise(width, height, 0.6, 5).unwrap();
    let grey: Vec<u8> = (0..width * height).map(|i| (i * 7 % 256) as u8).collect();
    let trace = |approximation| {
        let options = TraceOptions::default().approximation(approximation);
        Engine::cpu().trace(&image, &options).unwrap()
    };
    let all = trace(Approximation::None);
    let mut expected: Vec<[u8; 3]> = grey
        .iter()
        .map(|&grey| [16 + (u32::from(grey) * 253 / 255 / 3) as u8; 3])
        .collect();
    for contour in all.iter() {
        let colour = match contour.kind() {
            BorderKind::Outer => [255, 150, 20],
            BorderKind::Hole => [40, 220, 255],
        };
        for point in contour.points() {
            expected[(point.y as u32 * width + point.x as u32) as usize] = colour;
        }
    }
    for contours in [all, trace(Approximation::Simple)] {
        let picture = GreyImage::new(width, height, grey.clone()).unwrap();
        let png = written(|out| write_overlay_png(&contours, picture, out));
        let found = image::load_from_memory(&png).unwrap().into_rgb8();
        assert_eq!(found.dimensions(), (width, height));
        let found: Vec<[u8; 3]> = found.pixels().map(|pixel| pixel.0).collect();
        assert!(found == expected, "{} contours", contours.len());
    }
}
