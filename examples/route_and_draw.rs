//! Joins a net's pins by a tree of shortest paths around an obstacle, and draws it.
//!
//! ```sh
//! cargo run --release --example route_and_draw -- tree.svg
//! ```

use std::error::Error;

use trazar::Engine;
use trazar::formats::{Output, write_routes_svg};
use trazar::route::{Cell, Net, RouteOptions, RoutingCase, RoutingGrid};

fn main() -> Result<(), Box<dyn Error>> {
    let output = std::env::args().nth(1);
    let output = output.unwrap_or_else(|| "tree.svg".into());

    // 48 × 32 cells; a step costs 3, and nothing passes through the block in the middle.
    let mut grid = RoutingGrid::uniform(48, 32, 3)?;
    for y in 8..24 {
        for x in 20..28 {
            grid.block(Cell::at(x, y))?;
        }
    }
    let net = Net::from_cells([
        Cell::at(2, 3),
        Cell::at(45, 4),
        Cell::at(44, 29),
        Cell::at(16, 16),
    ]);

    let route = Engine::cpu().route_net(&grid, &net, &RouteOptions::default())?;
    // An independent check: the tree joins the pins, uses no blocked cell, and costs what it says.
    route.verify(&grid, &net)?;
    println!("cost {}, {} cells", route.cost(), route.cells().len());
    for connection in route.connections() {
        println!("pin {} joined", connection.pin);
    }

    let case = RoutingCase::new(grid, [net]);
    let mut file = Output::create(&output)?;
    file.fill(|file| write_routes_svg(&case, std::slice::from_ref(&route), file))?;
    file.commit()?;
    println!("wrote {output}");
    Ok(())
}
