//! Tests after every change of a tree: it is one, and what is known of the regions around it is what
//! a search from all its cells finds.

use super::diagram::{Diagram, NONE};
use super::exchange::Exchange;

impl Exchange<'_> {
    pub(super) fn check(&self) {
        let cells = self.cells().unwrap();
        let mut fresh = Diagram::new(self.grid).unwrap();
        fresh.new_piece().unwrap();
        for &cell in &cells {
            fresh.set_piece(cell, 0);
        }
        fresh.fill().unwrap();
        for cell in 0..self.grid.cell_count() {
            assert_eq!(fresh.cost(cell), self.diagram.cost(cell), "cell {cell}");
            let on_tree = self.states[cell as usize] != 0;
            assert_eq!(self.diagram.piece(cell) != NONE, on_tree, "cell {cell}");
            if let Some(base) = self.diagram.base(cell) {
                assert!(self.states[base as usize] != 0, "cell {cell}");
            }
        }
        self.diagram.check_borders();
        for &cell in cells.iter().filter(|&&cell| self.is_key(cell)) {
            for next in self.tree_neighbours(cell) {
                assert_ne!(self.diagram.piece(next), self.diagram.piece(cell));
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
        let groups = self.groups.iter().filter(|group| !group.is_empty());
        let joined = groups.flat_map(|group| group[1..].iter().map(|&cell| (group[0], cell)));
        for (a, b) in joined.chain(self.edges().unwrap()) {
            let (a, b) = (find(&sets, a), find(&sets, b));
            assert_ne!(a, b, "a cycle");
            sets[a as usize] = b;
            left -= 1;
        }
        assert_eq!(left, 1, "parts");
    }
}
