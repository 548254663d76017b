//! Routing: input of grids and nets, output of trees.

mod arrays;
mod case;
mod congestion;
mod ispd;
mod json;
mod lines;
mod picture;
mod png;
mod svg;
mod text;

pub use self::arrays::{read_pins, read_weights};
pub use self::case::{read_case, write_case_text};
pub use self::congestion::write_congestion_png;
pub use self::ispd::{read_ispd, write_routes_ispd};
pub use self::json::write_routes_json;
pub use self::png::write_routes_png;
pub use self::svg::write_routes_svg;
pub use self::text::write_routes_text;

use crate::error::WriteProblem;
use crate::route::{Route, RoutingCase, RoutingGrid};
use crate::{Error, Result};

/// Checks that there is one route per net.
fn check_routes(case: &RoutingCase, routes: &[Route]) -> Result<()> {
    if case.nets.len() == routes.len() {
        return Ok(());
    }
    Err(Error::LengthMismatch {
        needed: case.nets.len(),
        given: routes.len(),
    })
}

/// Refuses a picture of a grid with a side that a PNG can't have.
fn check_picture(grid: &RoutingGrid) -> Result<()> {
    let (width, height) = (grid.width(), grid.height());
    if width.max(height) <= i32::MAX as u32 {
        return Ok(());
    }
    Err(Error::unwritable(
        "png",
        WriteProblem::TooLarge,
        format!("a grid of {width} × {height} cells is too large: a side is at most 2147483647"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;
    use crate::route::{BLOCKED, Cell, Net, Pin, RouteOptions};

    type Write = fn(&RoutingCase, &[Route], &mut Vec<u8>) -> Result<()>;

    fn routes(case: &RoutingCase) -> Vec<Route> {
        let options = RouteOptions::default();
        Engine::cpu()
            .route(&case.grid, &case.nets, &options)
            .unwrap()
    }

    fn written(write: Write, case: &RoutingCase) -> Vec<u8> {
        let mut out = Vec::new();
        write(case, &routes(case), &mut out).unwrap();
        out
    }

    fn text(write: Write, case: &RoutingCase) -> String {
        String::from_utf8(written(write, case)).unwrap()
    }

    /// A grid of 4 × 3 cells, whose last column cannot be reached. One net has three pins, one of
    /// them in that column; the other net has one pin.
    fn flat() -> RoutingCase {
        let right = |x: u32, _| if x == 2 { BLOCKED } else { x };
        let grid = RoutingGrid::from_fn(4, 3, right, |_, y| 3 + y).unwrap();
        let nets = vec![
            Net::from_cells([Cell::at(0, 0), Cell::at(3, 0), Cell::at(2, 1)]),
            Net::from_cells([Cell::at(1, 2)]),
        ];
        RoutingCase::new(grid, nets)
    }

    /// Two layers, joined at two cells.
    fn stacked() -> RoutingCase {
        let lower = RoutingGrid::from_fn(3, 2, |_, _| BLOCKED, |_, _| 2).unwrap();
        let upper = RoutingGrid::uniform(3, 2, 1).unwrap();
        let (x, via) = (BLOCKED, 5);
        let grid = RoutingGrid::stack(&[lower, upper], &[via, x, x, x, x, via]).unwrap();
        let first = Pin {
            cells: vec![Cell::at(0, 1), Cell::at(1, 1)],
        };
        let net = Net {
            pins: vec![first, Cell::at(2, 0).into()],
            window: None,
        };
        RoutingCase::new(grid, [net])
    }

    #[test]
    fn cells_as_text() {
        let write: Write = |case, routes, out| write_routes_text(case, routes, out);
        assert_eq!(
            text(write, &flat()),
            "Net 4\n0 0\n0 1\n1 1\n1 2\nNet 1\n2 1\n"
        );
        let cells = "0 0 0\n0 2 0\n1 0 0\n1 2 0\n0 0 1\n1 0 1\n1 1 1\n1 2 1\n";
        assert_eq!(text(write, &stacked()), cells);
        let mut empty = flat();
        empty.nets = vec![Net::default()];
        assert_eq!(text(write, &empty), "");
        empty.nets = vec![];
        assert_eq!(text(write, &empty), "");
    }

    #[test]
    fn all_as_json() {
        let write: Write = |case, routes, out| write_routes_json(case, routes, out);
        let parse = |case: &RoutingCase| -> serde_json::Value {
            serde_json::from_str(&text(write, case)).unwrap()
        };
        let expected = serde_json::json!({
            "width": 4, "height": 3, "layers": 1, "cost": 4,
            "nets": [
                {
                    "cost": 4,
                    "pins": [[[0, 0, 0]], [[3, 0, 0]], [[2, 1, 0]]],
                    "connections": [{"pin": 2, "cost": 4, "length": 3}],
                    "unreached": [1],
                    "segments": [
                        [[2, 1, 0], [1, 1, 0]],
                        [[1, 1, 0], [1, 0, 0]],
                        [[1, 0, 0], [0, 0, 0]],
                    ],
                    "cells": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [2, 1, 0]],
                },
                {
                    "cost": 0, "pins": [[[1, 2, 0]]], "connections": [], "unreached": [],
                    "segments": [], "cells": [[1, 2, 0]],
                },
            ],
        });
        assert_eq!(parse(&flat()), expected);
        let found = parse(&stacked());
        assert_eq!(found["cost"], 17);
        assert_eq!(
            found["nets"][0]["pins"][0],
            serde_json::json!([[0, 1, 0], [1, 1, 0]])
        );
        assert_eq!(found["nets"][0]["segments"].as_array().unwrap().len(), 6);
    }

    #[test]
    fn trees_as_svg() {
        let write: Write = |case, routes, out| write_routes_svg(case, routes, out);
        let flat = text(write, &flat());
        assert!(
            flat.starts_with("<svg ") && flat.ends_with("</svg>\n"),
            "{flat}"
        );
        assert!(flat.contains("viewBox=\"0 0 4 3\""), "{flat}");
        assert!(
            flat.contains("<path stroke=\"#d62728\" d=\"M2 1H1V0H0\"/>"),
            "{flat}"
        );
        // Two connected pins and the only pin of the other net; then the one that is not reached.
        assert!(
            flat.contains("M0 0m-.5-.5h1v1h-1zM2 1m-.5-.5h1v1h-1zM1 2m"),
            "{flat}"
        );
        assert!(
            flat.contains("fill=\"#ffdc00\"") && flat.contains("M3 0m"),
            "{flat}"
        );
        // The frames of all pins are under the wires, and the pins over them.
        let places = [
            "fill=\"#ffffff\" d=\"M0 0m-.7-.7",
            "<path stroke",
            "fill=\"#000000\" d",
        ];
        let places = places.map(|part| flat.find(part).unwrap());
        assert!(places.is_sorted(), "{places:?} in {flat}");
        let stacked = text(write, &stacked());
        assert_eq!(stacked.matches("<circle").count(), 2, "{stacked}");
        assert_eq!(stacked.matches("<path stroke").count(), 2, "{stacked}");
        // Without shades on a large grid.
        let large = RoutingCase::new(
            RoutingGrid::uniform(200, 200, 1).unwrap(),
            [Net::from_cells([Cell::at(0, 0), Cell::at(199, 199)])],
        );
        let large = text(write, &large);
        assert!(
            !large.contains("crispEdges") && large.len() < 2000,
            "{large}"
        );
    }

    #[test]
    fn trees_as_png() {
        let write: Write = |case, routes, out| write_routes_png(case, routes, out);
        let picture = |case: &RoutingCase| {
            let bytes = written(write, case);
            let picture = image::load_from_memory(&bytes).unwrap().to_rgb8();
            // Coordinates are in quarters of a cell.
            move |x: u32, y: u32| picture.get_pixel(4 * x, 4 * y).0
        };
        let at = picture(&flat());
        let red = picture::COLOURS[0];
        // In the middle of cells: pins, and the wire between them.
        assert_eq!(at(2, 2), [0; 3]);
        assert_eq!(at(6, 2), red);
        assert_eq!(at(6, 4), red);
        assert_eq!(at(6, 6), red);
        assert_eq!(at(10, 6), [0; 3]);
        assert_eq!(at(14, 2), picture::UNREACHED);
        assert_eq!(at(6, 10), [0; 3]);
        // Beside it: the cost of cells, darker for higher costs.
        assert!(at(1, 6)[0] > at(14, 10)[0]);
        assert_eq!(at(1, 6)[0], at(1, 6)[2]);
        // A wire is visible up to the pin, across the pin's frame.
        let bytes = written(write, &flat());
        let whole = image::load_from_memory(&bytes).unwrap().to_rgb8();
        assert_eq!(whole.get_pixel(18, 8).0, red);
        assert_eq!(whole.get_pixel(18, 18).0, [255; 3]);
        let mut blocked = flat();
        blocked.grid.block(Cell::at(0, 2)).unwrap();
        assert_eq!(picture(&blocked)(1, 10), picture::BLOCKED_CELL);
        // Up, along the upper layer, and down.
        let lower = |x, _| if x == 3 { BLOCKED } else { 1 };
        let lower = RoutingGrid::from_fn(8, 1, lower, |_, _| 1).unwrap();
        let upper = RoutingGrid::uniform(8, 1, 1).unwrap();
        let (x, via) = (BLOCKED, 1);
        let vias = [x, x, via, x, x, via, x, x];
        let case = RoutingCase::new(
            RoutingGrid::stack(&[lower, upper], &vias).unwrap(),
            [Net::from_cells([Cell::at(0, 0), Cell::at(7, 0)])],
        );
        let at = picture(&case);
        assert_eq!(at(6, 2), picture::COLOURS[0]);
        assert_eq!(at(10, 2), [255; 3]);
        assert_eq!(at(14, 2), picture::COLOURS[1]);
        assert_eq!(at(22, 2), [255; 3]);
    }

    #[test]
    fn a_route_for_each_net() {
        let case = flat();
        let writers: [Write; 4] = [
            |case, routes, out| write_routes_text(case, routes, out),
            |case, routes, out| write_routes_json(case, routes, out),
            |case, routes, out| write_routes_svg(case, routes, out),
            |case, routes, out| write_routes_png(case, routes, out),
        ];
        for write in writers {
            let mut out = Vec::new();
            let error = write(&case, &routes(&case)[1..], &mut out);
            assert!(
                matches!(
                    error,
                    Err(Error::LengthMismatch {
                        needed: 2,
                        given: 1
                    })
                ),
                "{error:?}"
            );
            assert!(out.is_empty());
        }
    }
}
