//! Grids as arrays of weights, with nets as text.
#![no_main]

use trazar::formats::{read_pins, read_weights};
use trazar::route::RoutingCase;
use trazar_fuzz::{file, part};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    let right = file("right", part(&mut rest));
    let down = file("down", part(&mut rest));
    let via = part(&mut rest);
    let via = (!via.is_empty()).then(|| file("via", via));
    let pins = file("pins", part(&mut rest));
    match read_weights(right, down, via.as_deref()) {
        Err(error) => trazar_fuzz::check(&error),
        Ok(grid) => match read_pins(pins, &grid) {
            Err(error) => trazar_fuzz::check(&error),
            Ok(nets) => trazar_fuzz::route(&RoutingCase::new(grid, nets)),
        },
    }
    trazar_fuzz::check_folder(&["right", "down", "via", "pins"]);
});
