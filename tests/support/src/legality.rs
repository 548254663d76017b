//! A checker of competing trees that shares nothing with the router: it reads the text of the case
//! and of the trees with parsers of its own, counts the nets on every edge, and floods every net.

use std::collections::{BTreeMap, BTreeSet};

/// A cell: layer, row, column.
type Cell = [usize; 3];

/// Something that a set of trees must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A segment that is not straight, or leaves the grid.
    Crooked {
        /// The net's index.
        net: usize,
    },
    /// An edge that is blocked, such as one across its layer's direction, or without capacity.
    Blocked {
        /// The net's index.
        net: usize,
        /// The edge's lower cell.
        from: Cell,
        /// Its other cell.
        to: Cell,
    },
    /// More nets on an edge than it has room for.
    Overfull {
        /// The edge's lower cell.
        from: Cell,
        /// Its other cell.
        to: Cell,
        /// The number of nets that use it.
        usage: u64,
        /// The number that may.
        capacity: u64,
    },
    /// A pin that the net's wires do not join to its first pin.
    PinApart {
        /// The net's index.
        net: usize,
        /// The pin's index.
        pin: usize,
    },
    /// Wires that are not joined to the net's first pin.
    WireApart {
        /// The net's index.
        net: usize,
    },
    /// A tree for a net that the case does not have, or none for one that it has.
    Nets {
        /// The number of nets.
        expected: usize,
        /// The number of trees.
        found: usize,
    },
}

/// A case, from its text.
pub struct Problem {
    size: Cell,
    /// The cells of each pin of each net.
    nets: Vec<Vec<Vec<Cell>>>,
    /// By the lower cell and the axis (0 layers, 1 rows, 2 columns): whether there is an edge.
    open: BTreeSet<(Cell, usize)>,
    /// The same, with the edge's capacity; unlimited edges are left out.
    capacities: BTreeMap<(Cell, usize), u64>,
}

fn numbers(text: &str) -> Vec<usize> {
    let words = text.split_whitespace();
    words.map(|word| word.parse().expect("a number")).collect()
}

impl Problem {
    /// Reads the project's text format, without windows.
    ///
    /// # Panics
    /// The text is not of this format.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let size = numbers(lines.next().expect("a size"));
        let size = [size.get(2).copied().unwrap_or(1), size[1], size[0]];
        let mut problem = Self {
            size,
            nets: Vec::new(),
            open: BTreeSet::new(),
            capacities: BTreeMap::new(),
        };
        // By word, the rows read so far.
        let mut rows: BTreeMap<String, usize> = BTreeMap::new();
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "Net" => problem.nets.push(Vec::new()),
                "Pin" => {
                    let cells = rest.split('/').map(|cell| {
                        let cell = numbers(cell);
                        [cell.get(2).copied().unwrap_or(0), cell[0], cell[1]]
                    });
                    let net = problem.nets.last_mut().expect("a net");
                    net.push(cells.collect());
                }
                _ if word.parse::<usize>().is_ok() => problem.nets.push(Vec::new()),
                _ => {
                    let row = rows.entry(word.to_owned()).or_default();
                    problem.read_row(word, *row, rest);
                    *row += 1;
                }
            }
        }
        problem
    }

    fn read_row(&mut self, word: &str, row: usize, rest: &str) {
        let axis = match word.strip_suffix("Capacity").unwrap_or(word) {
            "Vertical" => 2,
            "Horizontal" => 1,
            "Via" => 0,
            other => panic!("{other}"),
        };
        let rows = self.size[1] - usize::from(axis == 1);
        for (column, number) in rest.split_whitespace().enumerate() {
            let edge = ([row / rows, row % rows, column], axis);
            match (word.ends_with("Capacity"), number) {
                (true, "x") | (false, "x") => {}
                (true, number) => {
                    self.capacities
                        .insert(edge, number.parse().expect("a capacity"));
                }
                (false, _) => {
                    self.open.insert(edge);
                }
            }
        }
    }

    /// Everything that is wrong with the trees in `routes`, the text of a `.route` file.
    pub fn violations(&self, routes: &str) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut usage: BTreeMap<(Cell, usize), u64> = BTreeMap::new();
        let mut segments: Vec<Vec<[usize; 6]>> = Vec::new();
        let mut is_in_net = false;
        for line in routes.lines() {
            match line {
                "(" => is_in_net = true,
                ")" => is_in_net = false,
                line if is_in_net => {
                    let segment = numbers(line).try_into().expect("six numbers");
                    segments.last_mut().expect("a net").push(segment);
                }
                _name => segments.push(Vec::new()),
            }
        }
        if segments.len() != self.nets.len() {
            violations.push(Violation::Nets {
                expected: self.nets.len(),
                found: segments.len(),
            });
        }
        for (net, (pins, segments)) in self.nets.iter().zip(&segments).enumerate() {
            let mut edges = BTreeSet::new();
            for segment in segments {
                match self.edges_of(*segment) {
                    Some(found) => edges.extend(found),
                    None => violations.push(Violation::Crooked { net }),
                }
            }
            for &(from, axis) in &edges {
                *usage.entry((from, axis)).or_default() += 1;
                let is_closed = self.capacities.get(&(from, axis)) == Some(&0);
                if is_closed || !self.open.contains(&(from, axis)) {
                    let to = next(from, axis);
                    violations.push(Violation::Blocked { net, from, to });
                }
            }
            flood(net, pins, &edges, &mut violations);
        }
        for ((from, axis), usage) in usage {
            let capacity = self.capacities.get(&(from, axis)).copied();
            let capacity = capacity.unwrap_or(u64::MAX);
            if usage > capacity && capacity > 0 {
                let to = next(from, axis);
                violations.push(Violation::Overfull {
                    from,
                    to,
                    usage,
                    capacity,
                });
            }
        }
        violations
    }

    /// The edges of a segment `x1 y1 layer1 x2 y2 layer2`.
    fn edges_of(&self, segment: [usize; 6]) -> Option<Vec<(Cell, usize)>> {
        let [x1, y1, layer1, x2, y2, layer2] = segment;
        let (a, b) = ([layer1, y1, x1], [layer2, y2, x2]);
        if (0..3).any(|axis| a[axis].max(b[axis]) >= self.size[axis]) {
            return None;
        }
        let mut axes = (0..3).filter(|&axis| a[axis] != b[axis]);
        let (axis, None) = (axes.next()?, axes.next()) else {
            return None;
        };
        let range = a[axis].min(b[axis])..a[axis].max(b[axis]);
        let edge = |at| {
            let mut from = a;
            from[axis] = at;
            (from, axis)
        };
        Some(range.map(edge).collect())
    }
}

fn next(mut cell: Cell, axis: usize) -> Cell {
    cell[axis] += 1;
    cell
}

/// Floods a net from the cells of its first pin; a pin's cells are joined to each other.
fn flood(
    net: usize,
    pins: &[Vec<Cell>],
    edges: &BTreeSet<(Cell, usize)>,
    violations: &mut Vec<Violation>,
) {
    let mut beside: BTreeMap<Cell, Vec<Cell>> = BTreeMap::new();
    let mut join = |a: Cell, b: Cell| {
        beside.entry(a).or_default().push(b);
        beside.entry(b).or_default().push(a);
    };
    for &(from, axis) in edges {
        join(from, next(from, axis));
    }
    for pin in pins {
        for pair in pin.windows(2) {
            join(pair[0], pair[1]);
        }
    }
    let Some(root) = pins.first() else {
        return;
    };
    let mut reached = BTreeSet::from([root[0]]);
    let mut waiting = vec![root[0]];
    while let Some(cell) = waiting.pop() {
        for &other in beside.get(&cell).into_iter().flatten() {
            if reached.insert(other) {
                waiting.push(other);
            }
        }
    }
    for (pin, cells) in pins.iter().enumerate() {
        if !reached.contains(&cells[0]) {
            violations.push(Violation::PinApart { net, pin });
        }
    }
    let ends = edges.iter().map(|&(from, _)| from);
    if ends.into_iter().any(|cell| !reached.contains(&cell)) {
        violations.push(Violation::WireApart { net });
    }
}
