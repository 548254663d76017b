//! A tree from shortest paths between neighbouring pins.
//!
//! One search from all pins at once gives each cell its nearest pin. An edge between cells of
//! different pins closes a path between the two. A smallest spanning tree of the pins over the
//! cheapest such paths costs no more than one over all shortest paths between pins (K. Mehlhorn, A
//! faster approximation algorithm for the Steiner problem in graphs, 1988), so at most twice the
//! optimum.

use super::diagram::Diagram;
use super::pieces::NONE;
use crate::Result;
use crate::memory::{collect, extend};
use crate::progress::Progress;
use crate::route::cpu::spanning;
use crate::route::grid::RoutingGrid;
use crate::route::net_by_net::{Joined, PATHS, PINS};

/// A tree that joins `pins`, which must be connected.
pub(super) fn tree(
    grid: &RoutingGrid,
    pins: &Vec<Vec<u32>>,
    progress: &Progress<'_>,
) -> Result<Joined> {
    let mut diagram = Diagram::new(grid)?;
    for pin in pins {
        let piece = diagram.new_piece()?;
        for &cell in pin {
            // A cell of several pins belongs to the first one: the others reach it for free.
            if diagram.pieces.of(cell) == NONE {
                diagram.pieces.set(cell, piece);
            }
        }
    }
    diagram.fill(progress)?;
    let mut links = diagram.links()?;
    links.sort_unstable();
    // Kruskal's tree of the pins.
    let mut sets = collect(0..pins.len() as u32, PINS)?;
    let mut edges = Vec::new();
    for link in links {
        let [p, q] = link.pieces.map(|pin| find(&mut sets, pin));
        if p != q {
            sets[p as usize] = q;
            let path = diagram.path(link)?.unwrap_or_default();
            let steps = path.windows(2).map(|step| (step[0], step[1]));
            let steps = steps.map(|(a, b)| (a.min(b), a.max(b)));
            extend(&mut edges, steps, PATHS)?;
        }
    }
    // Paths to one pin may share their last edges.
    edges.sort_unstable();
    edges.dedup();
    spanning::joined_over(grid, pins, &edges)
}

/// The set of `pin`, by one of its members.
fn find(sets: &mut [u32], mut pin: u32) -> u32 {
    while sets[pin as usize] != pin {
        sets[pin as usize] = sets[sets[pin as usize] as usize];
        pin = sets[pin as usize];
    }
    pin
}
