//! Labels, traces and routes on every backend that this machine has, and checks the results.

use trazar::{
    BinaryImage, Cell, Engine, Error, LabelOptions, Net, RouteOptions, RoutingGrid, TraceOptions,
};

/// Two components, one with a hole.
const PICTURE: &str = "
    #####..
    #...#..
    #...#.#
    #####.#
    ......#
";

fn main() -> Result<(), Error> {
    let image = BinaryImage::from_art(PICTURE)?;
    let grid = RoutingGrid::uniform(8, 8, 3)?;
    let nets = [Net::from_cells([Cell::at(0, 0), Cell::at(7, 7)])];

    let mut engines = vec![Engine::cpu(), Engine::emulator(7)];
    match Engine::cuda() {
        Ok(engine) => engines.push(engine),
        Err(Error::Cuda(reason)) => println!("cuda: {reason}"),
        Err(other) => return Err(other),
    }
    for engine in &engines {
        let labels = engine.label(&image, &LabelOptions::default())?;
        assert_eq!(labels.count(), 2);
        let contours = engine.trace(&image, &TraceOptions::default())?;
        assert_eq!(contours.len(), 3);
        let routes = engine.route(&grid, &nets, &RouteOptions::default())?;
        assert_eq!(routes[0].cost(), 14 * 3);
        println!("{}: as expected", engine.backend().name());
    }
    Ok(())
}
