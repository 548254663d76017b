//! Labels, traces and routes on every backend that this machine has, and compares the results.

use trazar::route::{Net, RouteOptions, RoutingGrid};
use trazar::{BinaryImage, Engine, Error, LabelOptions, Location, TraceOptions};

/// Two components, one with a hole.
const PICTURE: [&str; 5] = ["#####..", "#...#..", "#...#.#", "#####.#", "......#"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (width, height) = (PICTURE[0].len() as u32, PICTURE.len() as u32);
    let grey: Vec<u8> = PICTURE
        .concat()
        .bytes()
        .map(|c| if c == b'#' { 255 } else { 0 })
        .collect();
    let image = BinaryImage::from_values(width, height, &grey, 127)?;
    let grid = RoutingGrid::uniform(8, 8, 3)?;
    let net = Net::new([Location { x: 0, y: 0 }, Location { x: 7, y: 7 }]);

    let mut engines = vec![Engine::cpu(), Engine::emulator(7)];
    match Engine::cuda() {
        Ok(engine) => engines.push(engine),
        Err(Error::Cuda(reason)) => println!("no GPU: {reason}"),
        Err(other) => return Err(other.into()),
    }
    for engine in &engines {
        let labels = engine.label(&image, &LabelOptions::default())?;
        assert_eq!(labels.count(), 2);
        let contours = engine.trace(&image, &TraceOptions::default())?;
        assert_eq!(contours.len(), 3);
        let trees = engine.route(&grid, std::slice::from_ref(&net), &RouteOptions::default())?;
        assert_eq!(trees[0].cost(), 42);
        println!("{}: as expected", engine.backend().name());
    }
    Ok(())
}
