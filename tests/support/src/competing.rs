//! Random nets that compete for edges.

use proptest::prelude::*;
use trazar::route::{BLOCKED, Cell, EdgeCounts, Net, Pin, RoutingCase, RoutingGrid, UNLIMITED};

/// A grid of random weights with random capacities, and nets of pins of one or two cells.
pub fn any_case() -> impl Strategy<Value = RoutingCase> {
    let size = (1..9u32, 1..9u32, 1..4u32);
    size.prop_flat_map(|(width, height, layers)| {
        let cells = (width * height * layers) as usize;
        let weight = prop_oneof![4 => 0..6u32, 1 => Just(BLOCKED)];
        let capacity = prop_oneof![6 => 0..4u32, 1 => Just(UNLIMITED)];
        let edges = prop::collection::vec((weight, capacity), 3 * cells);
        let cell = (0..width, 0..height, 0..layers).prop_map(|(x, y, layer)| Cell { x, y, layer });
        let pin = prop::collection::vec(cell, 1..3).prop_map(Pin::new);
        let net = prop::collection::vec(pin, 0..5).prop_map(Net::new);
        let nets = prop::collection::vec(net, 1..9);
        (edges, nets).prop_map(move |(edges, nets)| {
            let layer = RoutingGrid::uniform(width, height, 1).unwrap();
            let vias = vec![1; (width * height * (layers - 1)) as usize];
            let layers_of = vec![layer; layers as usize];
            let mut grid = RoutingGrid::stack(&layers_of, &vias).unwrap();
            let mut capacities = EdgeCounts::zero(&grid).unwrap();
            for (index, edges) in edges.chunks_exact(3).enumerate() {
                let cell = grid.cell(index as u32);
                if cell.x + 1 < width {
                    grid.set_right(cell, edges[0].0).unwrap();
                    capacities.set_right(cell, edges[0].1).unwrap();
                }
                if cell.y + 1 < height {
                    grid.set_down(cell, edges[1].0).unwrap();
                    capacities.set_down(cell, edges[1].1).unwrap();
                }
                if cell.layer + 1 < layers {
                    grid.set_via(cell, edges[2].0).unwrap();
                    capacities.set_via(cell, edges[2].1).unwrap();
                }
            }
            RoutingCase::new(grid, nets).with_capacities(capacities)
        })
    })
}
