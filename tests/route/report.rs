//! The cases of 王領崧, "Parallized Maze Routing" (sic), undated project report, with its answers:
//! `route/case*.txt` and `.out` in the folder that `TRAZAR_DATA` names.

use std::path::Path;

use trazar::Engine;
use trazar::route::{BLOCKED, Cell, Net, RoutingGrid};

use crate::improved::improved;
use crate::{algorithms, by, route, say};

/// The costs of the report's trees, from their cells.
const REPORT_COSTS: [u64; 5] = [1217, 2041, 11921, 22018, 36467];

#[test]
fn the_reports_cases_cost_no_more_than_its_trees() {
    let Some(data) = std::env::var_os("TRAZAR_DATA") else {
        say("the_reports_cases_cost_no_more_than_its_trees: skipped: TRAZAR_DATA is not set");
        return;
    };
    for number in 1..=6 {
        let folder = Path::new(&data).join("route");
        let (grid, net) = read_case(&folder.join(format!("case{number}.txt")));
        let answer = read_cells(&folder.join(format!("case{number}.out")));
        let report = spanning_cost(&grid, &net, &answer);
        if let Some(&cost) = REPORT_COSTS.get(number - 1) {
            assert_eq!(report, cost, "case {number}");
        }
        let found = route(&grid, &net);
        // Sweeps take long on the large ones.
        for algorithm in algorithms().filter(|_| number <= 3) {
            let other = Engine::cpu().route_net(&grid, &net, &by(algorithm));
            assert_eq!(other.unwrap(), found, "case {number}, {}", algorithm.name());
        }
        found.verify(&grid, &net).unwrap();
        assert_eq!(found.unreached(), [0; 0]);
        let better = improved(&grid, &net).cost();
        let plain = found.cost();
        say(&format!(
            "case {number}: {plain}, improved {better}, the report {report}"
        ));
        assert!(better < plain && better < report, "case {number}");
        assert!(
            found.cost() * 1000 <= report * 1003,
            "case {number}: {} against {report}",
            found.cost()
        );
    }
}

/// A grid and its net in the report's text format.
fn read_case(path: &Path) -> (RoutingGrid, Net) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let mut numbers = |word: &str| -> Vec<u32> {
        let line = lines.next().unwrap().strip_prefix(word).unwrap();
        let numbers = line.split_whitespace().map(|n| n.parse().unwrap());
        numbers.collect()
    };
    let [width, height] = numbers("")[..] else {
        panic!("{}: not `W H`", path.display());
    };
    let count = numbers("")[0];
    let pins: Vec<Cell> = (0..count)
        .map(|_| numbers("Pin "))
        .map(|at| Cell::at(at[1], at[0]))
        .collect();
    let right: Vec<u32> = (0..height).flat_map(|_| numbers("Vertical")).collect();
    let down: Vec<u32> = (1..height).flat_map(|_| numbers("Horizontal")).collect();
    let grid = RoutingGrid::from_edges(width, height, &right, &down).unwrap();
    (grid, Net::from_cells(pins))
}

/// The cells of an answer: one line with row and column for each.
fn read_cells(path: &Path) -> Vec<Cell> {
    let text = std::fs::read_to_string(path).unwrap();
    let numbers: Vec<u32> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    numbers
        .chunks_exact(2)
        .map(|at| Cell::at(at[1], at[0]))
        .collect()
}

/// The cost of a minimum spanning tree (Prim's algorithm) over `cells`, which contain all pins.
fn spanning_cost(grid: &RoutingGrid, net: &Net, cells: &[Cell]) -> u64 {
    let mut apart: std::collections::BTreeSet<Cell> = cells.iter().copied().collect();
    assert!(net.pins.iter().all(|pin| apart.contains(&pin.cells[0])));
    let mut border = std::collections::BinaryHeap::new();
    let mut total = 0;
    border.push((std::cmp::Reverse(0), cells[0]));
    while let Some((std::cmp::Reverse(weight), cell)) = border.pop() {
        if !apart.remove(&cell) {
            continue;
        }
        total += u64::from(weight);
        let Cell { x, y, .. } = cell;
        let mut reach = |weight: u32, next: Cell| {
            if weight != BLOCKED {
                border.push((std::cmp::Reverse(weight), next));
            }
        };
        reach(grid.right(cell), Cell::at(x + 1, y));
        reach(grid.down(cell), Cell::at(x, y + 1));
        if x > 0 {
            reach(grid.right(Cell::at(x - 1, y)), Cell::at(x - 1, y));
        }
        if y > 0 {
            reach(grid.down(Cell::at(x, y - 1)), Cell::at(x, y - 1));
        }
    }
    assert!(apart.is_empty(), "the cells are connected");
    total
}
