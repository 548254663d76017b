//! Nets as text, on a fixed grid.
#![no_main]

use trazar::formats::read_pins;
use trazar::route::{RoutingCase, RoutingGrid};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let layer = RoutingGrid::uniform(7, 5, 1).expect("a grid");
    let grid = RoutingGrid::stack(&[layer.clone(), layer], &[3; 35]).expect("layers");
    match read_pins(trazar_fuzz::file("pins", data), &grid) {
        Err(error) => trazar_fuzz::check(&error),
        Ok(nets) => trazar_fuzz::route(&RoutingCase::new(grid, nets)),
    }
    trazar_fuzz::check_folder(&["pins"]);
});
