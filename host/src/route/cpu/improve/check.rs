//! Tests after every change of a tree: it is still a tree, and what is known of the regions around
//! it is what a search from all its cells finds.

use trazar_test_seeds::Random;

use super::budget::Budget;
use super::diagram::Diagram;
use super::exchange::Exchange;
use super::links::Link;
use super::pieces::{NONE, Part};
use super::sections::Section;
use super::{Edge, edges_of, improved_trees};
use crate::Engine;
use crate::progress::Progress;
use crate::route::cpu::{dijkstra, spanning};
use crate::route::{BLOCKED, Effort, Net, Pin, RouteOptions, RoutingGrid, TreeKind};

impl Exchange<'_> {
    pub(super) fn check(&self) {
        let cells = self.cells().unwrap();
        let mut fresh = Diagram::new(self.grid).unwrap();
        fresh.new_piece().unwrap();
        for &cell in &cells {
            fresh.pieces.set(cell, 0);
        }
        fresh.fill(&Progress::SILENT).unwrap();
        for cell in 0..self.grid.cell_count() {
            assert_eq!(fresh.cost(cell), self.diagram.cost(cell), "cell {cell}");
            assert_eq!(fresh.base(cell), self.diagram.base(cell), "cell {cell}");
            let on_tree = self.states[cell as usize] != 0;
            assert_eq!(self.diagram.pieces.of(cell) != NONE, on_tree, "cell {cell}");
            if let Some(base) = self.diagram.base(cell) {
                assert!(self.states[base as usize] != 0, "cell {cell}");
            }
        }
        self.check_pieces();
        self.diagram.check_ways();
        self.diagram.check_borders();
        for &cell in cells.iter().filter(|&&cell| self.is_key(cell)) {
            for next in self.tree_neighbours(cell) {
                assert_ne!(self.diagram.pieces.of(next), self.diagram.pieces.of(cell));
            }
        }
        // Edges and groups join the cells without a cycle, so there is one tree.
        let mut sets: Vec<u32> = (0..self.grid.cell_count()).collect();
        let find = |sets: &[u32], mut cell: u32| {
            while sets[cell as usize] != cell {
                cell = sets[cell as usize];
            }
            cell
        };
        let mut left = cells.len();
        let joined = self
            .groups
            .all()
            .flat_map(|group| group[1..].iter().map(|&cell| (group[0], cell)));
        for (a, b) in joined.chain(self.edges().unwrap()) {
            let (a, b) = (find(&sets, a), find(&sets, b));
            assert_ne!(a, b, "a cycle");
            sets[a as usize] = b;
            left -= 1;
        }
        assert_eq!(left, 1, "parts");
    }

    /// Checks that `link` is the shortest path between `part` and the rest of the tree, if it costs
    /// less than `limit`. One part in eight is checked.
    pub(super) fn check_link(&self, part: &Part, limit: u64, link: Option<Link>) {
        if !self.last_part.is_multiple_of(8) {
            return;
        }
        let pieces = self.diagram.pieces.by_cell().iter();
        let of_part = |piece: &u32| part.pieces.contains(piece);
        let sources = (0..).zip(pieces.clone());
        let sources: Vec<u32> = sources
            .filter_map(|(cell, piece)| of_part(piece).then_some(cell))
            .collect();
        let distances = dijkstra::distances(self.grid, &sources).unwrap();
        let others = pieces.zip(distances);
        let nearest = others
            .filter(|&(piece, _)| *piece != NONE && !of_part(piece))
            .map(|(_, distance)| distance)
            .min();
        assert_eq!(
            link.map(|link| link.cost),
            nearest.filter(|&cost| cost < limit)
        );
    }
}

/// Weights of edges, from `least` to `most`; one edge in `gaps` is blocked.
fn weights(random: &mut Random, count: u32, ([least, most], gaps): ([u32; 2], u32)) -> Vec<u32> {
    let weight = |_| match random.below(gaps) {
        0 => BLOCKED,
        _ => least + random.below(most - least + 1),
    };
    (0..count).map(weight).collect()
}

/// A grid of layers with such [`weights`].
fn draw_grid(
    random: &mut Random,
    [width, height, layers]: [u32; 3],
    range: ([u32; 2], u32),
) -> RoutingGrid {
    let mut layer = || {
        let right = weights(random, (width - 1) * height, range);
        let down = weights(random, width * (height - 1), range);
        RoutingGrid::from_edges(width, height, &right, &down).unwrap()
    };
    let stacked: Vec<RoutingGrid> = (0..layers).map(|_| layer()).collect();
    let vias = weights(random, width * height * (layers - 1), range);
    RoutingGrid::stack(&stacked, &vias).unwrap()
}

/// A grid with such [`weights`], and a net whose pins have up to three cells.
fn draw(random: &mut Random, layers: u32, range: ([u32; 2], u32)) -> (RoutingGrid, Net) {
    let [width, height] = [0; 2].map(|_| 2 + random.below(18));
    let grid = draw_grid(random, [width, height, layers], range);
    let pins = (0..2 + random.below(14)).map(|_| {
        let cells = (0..1 + random.below(3)).map(|_| grid.cell(random.below(grid.cell_count())));
        Pin::new(cells.collect::<Vec<_>>())
    });
    let pins: Vec<Pin> = pins.collect();
    (grid, Net::new(pins))
}

/// Every change is checked where it is made.
#[test]
fn what_is_known_of_a_tree_stays_true() {
    let mut random = Random::new(33);
    for case in 0..240 {
        let weights = [[1, 255], [1, 3], [0, 2], [1, 1], [0, 0]][case % 5];
        let (grid, net) = draw(
            &mut random,
            1 + case as u32 % 3,
            (weights, [4, 10, 1000][case % 3]),
        );
        let options = RouteOptions::default().tree(TreeKind::Improved);
        let cost = |effort| {
            let route = Engine::cpu().route_net(&grid, &net, &options.effort(effort));
            let route = route.unwrap();
            route.verify(&grid, &net).unwrap();
            route.cost()
        };
        assert!(
            cost(Effort::Steps(40)) <= cost(Effort::Steps(0)),
            "case {case}"
        );
    }
}

/// Copies of a tree change in the same way as one alone.
#[test]
fn trees_are_the_same_with_any_number_of_copies() {
    let mut random = Random::new(35);
    for case in 0..60 {
        let weights = [[1, 255], [1, 3], [0, 2], [1, 1]][case % 4];
        let (grid, net) = draw(&mut random, 1 + case as u32 % 2, (weights, 1000));
        let plain = Engine::cpu().route_net(&grid, &net, &RouteOptions::default());
        let plain = plain.unwrap();
        let index = |cells: &Pin| cells.cells.iter().map(|&cell| grid.index(cell)).collect();
        let pins = net.pins.iter().enumerate();
        let pins = pins.filter(|(pin, _)| !plain.unreached().contains(pin));
        let pins: Vec<Vec<u32>> = pins.map(|(_, pin)| index(pin)).collect();
        let edges = plain.edges();
        let edges = edges.map(|(a, b)| (grid.index(a), grid.index(b)));
        let edges: Vec<(u32, u32)> = edges.collect();
        let budget = Budget::new(Effort::Steps(70), &grid, pins.len(), None);
        let trees = |copies| {
            improved_trees(&grid, &pins, &edges, (&budget, copies), &Progress::SILENT).unwrap()
        };
        let alone = trees(1);
        for copies in 2..4 {
            assert_eq!(trees(copies), alone, "case {case}: {copies} copies");
        }
    }
}

/// Sections have all edges of a tree, each once, and join their pins.
#[test]
fn a_tree_is_the_sum_of_its_sections() {
    let mut random = Random::new(36);
    for case in 0..12 {
        let grid = draw_grid(&mut random, [70, 60, 1 + case % 2], ([0, 9], 1000));
        let pins = (0..150 + 50 * case).map(|_| {
            let cells = (0..1 + random.below(2)).map(|_| random.below(grid.cell_count()));
            cells.collect::<Vec<u32>>()
        });
        let pins: Vec<Vec<u32>> = pins.collect();
        let tree = dijkstra::connect(&grid, &pins, &Progress::SILENT).unwrap();
        let sections = Section::all_of(&pins, &tree).unwrap();
        let sum = sections.iter().flat_map(|section| section.edges.iter());
        let mut sum: Vec<Edge> = sum.copied().collect();
        let mut edges = edges_of(&tree).unwrap();
        sum.sort_unstable();
        edges.sort_unstable();
        assert_eq!(sum, edges, "case {case}");
        assert!(sections.len() > case as usize / 3, "case {case}");
        for section in &sections {
            let joined = spanning::joined_over(&grid, &section.pins, &section.edges).unwrap();
            assert_eq!(
                joined.paths().count(),
                section.pins.len() - 1,
                "case {case}"
            );
        }
    }
}

/// The regions of many rows, which threads divide, are what one search from all cells finds.
#[test]
fn regions_of_cells_are_those_of_a_search() {
    let mut random = Random::new(34);
    for case in 0..40 {
        let [width, height] = [1 + random.below(30), 1 + random.below(300)];
        let weights = [[1, 255], [0, 2], [1, 1], [1, 1 << 30]][case % 4];
        let grid = draw_grid(&mut random, [width, height, 1], (weights, 9));
        let mut sources: Vec<u32> = (0..1 + random.below(20))
            .map(|_| random.below(grid.cell_count()))
            .collect();
        sources.sort_unstable();
        sources.dedup();
        let mut diagram = Diagram::new(&grid).unwrap();
        for &cell in &sources {
            let piece = diagram.new_piece().unwrap();
            diagram.pieces.set(cell, piece);
        }
        diagram.fill(&Progress::SILENT).unwrap();
        let distances = dijkstra::distances(&grid, &sources).unwrap();
        for (cell, &distance) in (0..).zip(&distances) {
            assert_eq!(diagram.cost(cell), distance, "case {case}: cell {cell}");
            assert!(
                diagram
                    .base(cell)
                    .is_none_or(|base| sources.contains(&base))
            );
        }
        diagram.check_ways();
        diagram.check_borders();
    }
}
