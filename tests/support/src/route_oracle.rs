//! Routing trees by their definition alone, in the plainest way: distances by passes over a list of
//! all edges, pins and ties by trying all of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use trazar::route::{BLOCKED, Cell, Net, Route, RoutingGrid, Window};

/// A tree as a list of paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The pin of each path, its cost, and its cells from the pin to the tree.
    pub paths: Vec<(usize, u64, Vec<Cell>)>,
    /// Pins that no path reaches.
    pub unreached: Vec<usize>,
}

impl From<&Route> for Tree {
    fn from(route: &Route) -> Self {
        let paths = route.connections();
        Self {
            paths: paths
                .map(|path| (path.pin, path.cost, path.cells.to_vec()))
                .collect(),
            unreached: route.unreached().to_vec(),
        }
    }
}

/// Both directions of every edge that is not blocked: from, to, weight, and the direction's index
/// among left, up, right, down, below, above.
fn edges(grid: &RoutingGrid, window: Window) -> Vec<(Cell, Cell, u64, usize)> {
    let mut edges = Vec::new();
    for layer in 0..grid.layers() {
        for y in window.y..window.y + window.height {
            for x in window.x..window.x + window.width {
                let cell = Cell { x, y, layer };
                let right = Cell { x: x + 1, ..cell };
                let down = Cell { y: y + 1, ..cell };
                let above = Cell {
                    layer: layer + 1,
                    ..cell
                };
                for (next, weight, there, back) in [
                    (right, grid.right(cell), 2, 0),
                    (down, grid.down(cell), 3, 1),
                    (above, grid.via(cell), 5, 4),
                ] {
                    if weight != BLOCKED && window.contains(next) {
                        edges.push((cell, next, weight.into(), there));
                        edges.push((next, cell, weight.into(), back));
                    }
                }
            }
        }
    }
    edges
}

/// The weight of each edge that is not blocked, by its two cells in either order.
pub fn weights(grid: &RoutingGrid) -> HashMap<(Cell, Cell), u64> {
    let edges = edges(grid, Window::of(grid)).into_iter();
    edges
        .map(|(from, to, weight, _)| ((from, to), weight))
        .collect()
}

/// The cost of the cheapest path over `edges` from each cell to one of `targets`; `None` where
/// there is no path.
fn costs(
    grid: &RoutingGrid,
    edges: &[(Cell, Cell, u64, usize)],
    targets: impl Iterator<Item = Cell>,
) -> Vec<Option<u64>> {
    let mut costs = vec![None; grid.cell_count() as usize];
    for cell in targets {
        costs[grid.index(cell) as usize] = Some(0);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &(from, to, weight, _) in edges {
            if let Some(cost) = costs[grid.index(to) as usize] {
                let from = &mut costs[grid.index(from) as usize];
                if from.is_none_or(|old| old > cost + weight) {
                    *from = Some(cost + weight);
                    changed = true;
                }
            }
        }
    }
    costs
}

/// The tree that joins the pins of `net`.
pub fn tree(grid: &RoutingGrid, net: &Net) -> Tree {
    let mut result = Tree::default();
    let Some(root) = net.pins.first() else {
        return result;
    };
    let edges = edges(grid, net.window.unwrap_or(Window::of(grid)));
    let mut tree = root.cells.clone();
    let mut open: Vec<usize> = (1..net.pins.len()).collect();
    while !open.is_empty() {
        let costs = costs(grid, &edges, tree.iter().copied());
        let cost = |cell: Cell| costs[grid.index(cell) as usize];
        let mut nearest: Option<(u64, usize, Cell)> = None;
        for &pin in &open {
            for &cell in &net.pins[pin].cells {
                if let Some(cost) = cost(cell)
                    && nearest.is_none_or(|(least, _, _)| cost < least)
                {
                    nearest = Some((cost, pin, cell));
                }
            }
        }
        let Some((least, pin, start)) = nearest else {
            break;
        };
        // The steps that lead nearer to the tree, and the cells where a way over edges of weight 0
        // may end.
        let nearer: Vec<_> = edges
            .iter()
            .filter(|&&(from, to, weight, _)| {
                weight > 0 && cost(from).is_some() && cost(from) == cost(to).map(|c| c + weight)
            })
            .collect();
        let exits = tree
            .iter()
            .copied()
            .chain(nearer.iter().map(|edge| edge.0))
            .collect::<Vec<_>>();
        let free: Vec<_> = edges
            .iter()
            .filter(|edge| edge.2 == 0)
            .map(|&(from, to, _, direction)| (from, to, 1, direction))
            .collect();
        let steps = self::costs(grid, &free, exits.into_iter());
        let steps = |cell: Cell| steps[grid.index(cell) as usize];
        let mut path = vec![start];
        let mut at = start;
        while !tree.contains(&at) {
            let there = |edges: &mut dyn Iterator<Item = &(Cell, Cell, u64, usize)>| {
                let here = edges.filter(|edge| edge.0 == at);
                here.min_by_key(|edge| edge.3).map(|edge| edge.1)
            };
            let next = if steps(at) == Some(0) {
                there(&mut nearer.iter().copied())
            } else {
                let on = |edge: &&(Cell, Cell, u64, usize)| {
                    steps(edge.1).is_some() && steps(edge.1).map(|s| s + 1) == steps(at)
                };
                there(&mut free.iter().filter(on))
            };
            at = next.expect("a cell with a cost has a way to the tree");
            path.push(at);
        }
        tree.extend(&path);
        tree.extend(&net.pins[pin].cells);
        open.retain(|&other| other != pin);
        result.paths.push((pin, least, path));
    }
    result.unreached = open;
    result
}

/// The cost of the cheapest path between the two pins of `net` on a grid of one layer, if each turn
/// costs `turn`; `None` where there is no path.
pub fn cost_with_turns(grid: &RoutingGrid, net: &Net, turn: u64) -> Option<u64> {
    let edges = edges(grid, net.window.unwrap_or(Window::of(grid)));
    // By cell: the least cost with which a path arrives there along x, and along y.
    let mut costs = vec![[None::<u64>; 2]; grid.cell_count() as usize];
    let ends = |pin: usize| net.pins[pin].cells.iter().map(|&cell| grid.index(cell));
    for cell in ends(0) {
        costs[cell as usize] = [Some(0); 2];
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &(from, to, weight, direction) in &edges {
            let axis = direction % 2;
            let [straight, turned] = [axis, 1 - axis].map(|a| costs[grid.index(from) as usize][a]);
            let cost = [straight, turned.map(|cost| cost + turn)];
            let Some(cost) = cost.into_iter().flatten().min() else {
                continue;
            };
            let old = &mut costs[grid.index(to) as usize][axis];
            if old.is_none_or(|old| cost + weight < old) {
                *old = Some(cost + weight);
                changed = true;
            }
        }
    }
    ends(1)
        .flat_map(|cell| costs[cell as usize])
        .flatten()
        .min()
}

/// The cost of the cheapest tree that joins all pins of `net` (S. E. Dreyfus and R. A. Wagner, *The
/// Steiner problem in graphs*, 1971); `None` where there is no such tree.
pub fn steiner_cost(grid: &RoutingGrid, net: &Net) -> Option<u64> {
    let mut edges = edges(grid, net.window.unwrap_or(Window::of(grid)));
    for pin in &net.pins {
        let pairs = pin
            .cells
            .iter()
            .flat_map(|&a| pin.cells.iter().map(move |&b| (a, b)));
        edges.extend(pairs.map(|(a, b)| (a, b, 0, 0)));
    }
    let Some((root, others)) = net.pins.split_first() else {
        return Some(0);
    };
    // By set of the other pins, by cell: the cheapest tree that joins the set and the cell.
    let sets = 1usize << others.len();
    let mut best = vec![vec![None::<u64>; grid.cell_count() as usize]; sets];
    for set in 1..sets {
        if set.is_power_of_two() {
            for &cell in &others[set.trailing_zeros() as usize].cells {
                best[set][grid.index(cell) as usize] = Some(0);
            }
        }
        for part in (1..set).filter(|part| part & set == *part) {
            let halves = best[part].iter().zip(&best[set - part]);
            let sums: Vec<_> = halves.map(|(a, b)| Some((*a)? + (*b)?)).collect();
            for (best, sum) in best[set].iter_mut().zip(sums) {
                if let Some(sum) = sum
                    && best.is_none_or(|old| sum < old)
                {
                    *best = Some(sum);
                }
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &(from, to, weight, _) in &edges {
                if let Some(cost) = best[set][grid.index(from) as usize] {
                    let to = &mut best[set][grid.index(to) as usize];
                    if to.is_none_or(|old| cost + weight < old) {
                        *to = Some(cost + weight);
                        changed = true;
                    }
                }
            }
        }
    }
    if others.is_empty() {
        return Some(0);
    }
    best[sets - 1][grid.index(root.cells[0]) as usize]
}

/// The distances of all cells from `sources` by Dijkstra's algorithm, as textbooks have it;
/// `u64::MAX` where there is no path.
pub fn dijkstra(grid: &RoutingGrid, sources: &[Cell]) -> Vec<u64> {
    let mut distances = vec![u64::MAX; grid.cell_count() as usize];
    let mut heap = BinaryHeap::new();
    let mut offer = |heap: &mut BinaryHeap<_>, cell: u32, distance: u64| {
        if distance < distances[cell as usize] {
            distances[cell as usize] = distance;
            heap.push(Reverse((distance, cell)));
        }
    };
    for &source in sources {
        offer(&mut heap, grid.index(source), 0);
    }
    while let Some(Reverse((distance, number))) = heap.pop() {
        let cell = grid.cell(number);
        let Cell { x, y, layer } = cell;
        let mut step = |to: Cell, weight: u32| {
            if weight != BLOCKED {
                offer(&mut heap, grid.index(to), distance + u64::from(weight));
            }
        };
        if x > 0 {
            let to = Cell { x: x - 1, ..cell };
            step(to, grid.right(to));
        }
        if y > 0 {
            let to = Cell { y: y - 1, ..cell };
            step(to, grid.down(to));
        }
        if layer > 0 {
            let to = cell.on(layer - 1);
            step(to, grid.via(to));
        }
        if x + 1 < grid.width() {
            step(Cell { x: x + 1, ..cell }, grid.right(cell));
        }
        if y + 1 < grid.height() {
            step(Cell { y: y + 1, ..cell }, grid.down(cell));
        }
        if layer + 1 < grid.layers() {
            step(cell.on(layer + 1), grid.via(cell));
        }
    }
    distances
}
