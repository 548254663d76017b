//! A tree from shortest paths between neighbouring pins.
//!
//! One search from all pins at once gives each cell its nearest pin and the path to it. An edge
//! between cells of different pins closes a path between the two. A smallest spanning tree of the
//! pins over the cheapest such paths costs no more than one over all shortest paths between pins
//! (K. Mehlhorn, A faster approximation algorithm for the Steiner problem in graphs, 1988), so at
//! most twice the optimum.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::{Edge, edges_of, heaviest};
use crate::Result;
use crate::memory::{collect, extend, push_to_heap, reserve_in_map};
use crate::progress::Progress;
use crate::route::cpu::dijkstra::Queue;
use crate::route::cpu::retrace::UNREACHED;
use crate::route::cpu::spanning;
use crate::route::grid::RoutingGrid;
use crate::route::grid::by_cell;
use crate::route::net_by_net::{PATHS, PINS};

const SEARCH: &str = "the cells of a search";

/// A tree that joins `pins`, which must be connected.
pub(super) fn tree(
    grid: &RoutingGrid,
    pins: &Vec<Vec<u32>>,
    progress: &Progress<'_>,
) -> Result<Vec<Edge>> {
    let regions = Regions::new(grid, pins, progress)?;
    // The cheapest path between each two neighbouring pins.
    let mut links: HashMap<(u32, u32), (u64, u32, u32)> = HashMap::new();
    for a in 0..grid.cell_count() {
        if regions.costs[a as usize] == UNREACHED {
            continue;
        }
        for (b, weight) in grid.neighbours(a).filter(|&(b, _)| b > a) {
            let (of_a, of_b) = (regions.pins[a as usize], regions.pins[b as usize]);
            if of_a != of_b {
                let between = (of_a.min(of_b), of_a.max(of_b));
                let cost = regions.costs[a as usize] + u64::from(weight);
                let link = (cost.saturating_add(regions.costs[b as usize]), a, b);
                reserve_in_map(&mut links, PATHS)?;
                let old = links.entry(between).or_insert(link);
                *old = (*old).min(link);
            }
        }
    }
    let links = links.into_iter();
    let links = links.map(|((p, q), (cost, a, b))| (cost, p, q, a, b));
    let mut links = collect(links, PATHS)?;
    links.sort_unstable();
    // Kruskal's tree of the pins.
    let mut sets = collect(0..pins.len() as u32, PINS)?;
    let mut edges = Vec::new();
    for (_, p, q, a, b) in links {
        let (p, q) = (find(&mut sets, p), find(&mut sets, q));
        if p != q {
            sets[p as usize] = q;
            let path = [(a, b)].into_iter().chain(regions.path(a));
            extend(&mut edges, path.chain(regions.path(b)), PATHS)?;
        }
    }
    // Paths to one pin may share their last edges.
    edges.sort_unstable();
    edges.dedup();
    edges_of(&spanning::joined_over(grid, pins, &edges)?)
}

/// The nearest pin of each cell.
struct Regions {
    costs: Vec<u64>,
    pins: Vec<u32>,
    /// The next cell on the path to the pin; the cell itself at its end.
    next: Vec<u32>,
}

impl Regions {
    fn new(grid: &RoutingGrid, pins: &[Vec<u32>], progress: &Progress<'_>) -> Result<Self> {
        let mut regions = Self {
            costs: by_cell(grid, "the distances")?,
            pins: by_cell(grid, "the nearest pins")?,
            next: by_cell(grid, "the paths to them")?,
        };
        regions.costs.fill(UNREACHED);
        let mut queue = Queue::new(heaviest(grid));
        for (pin, cells) in (0..).zip(pins) {
            for &cell in cells {
                // A cell of several pins belongs to the first one: the others reach it for free.
                if regions.costs[cell as usize] == UNREACHED {
                    regions.costs[cell as usize] = 0;
                    regions.pins[cell as usize] = pin;
                    regions.next[cell as usize] = cell;
                    queue.push(0, cell);
                }
            }
        }
        // In the order of costs and cells: a bucket's cells are put in order when its turn comes.
        let mut border = BinaryHeap::new();
        let (mut taken, all) = (0, u64::from(grid.cell_count()));
        loop {
            // A cell may be taken more than once.
            progress.report(all.min(taken), all)?;
            queue.check()?;
            queue.widen()?;
            let Some(bucket) = queue.first() else {
                break;
            };
            let cells = queue.take(bucket).unwrap_or_default();
            taken += cells.len() as u64;
            for &cell in &cells {
                push_to_heap(
                    &mut border,
                    Reverse((regions.costs[cell as usize], cell)),
                    SEARCH,
                )?;
            }
            queue.give_back(cells)?;
            while let Some(Reverse((cost, cell))) = border.pop() {
                if cost > regions.costs[cell as usize] || cost >> queue.shift != bucket as u64 {
                    continue;
                }
                for (to, weight) in grid.neighbours(cell) {
                    let through = cost + u64::from(weight);
                    if through < regions.costs[to as usize] {
                        regions.costs[to as usize] = through;
                        regions.pins[to as usize] = regions.pins[cell as usize];
                        regions.next[to as usize] = cell;
                        if through >> queue.shift == bucket as u64 {
                            push_to_heap(&mut border, Reverse((through, to)), SEARCH)?;
                        } else {
                            queue.push(through, to);
                        }
                    }
                }
            }
        }
        Ok(regions)
    }

    /// The edges from a cell to its pin.
    fn path(&self, from: u32) -> impl Iterator<Item = Edge> {
        let mut at = from;
        std::iter::from_fn(move || {
            let next = self.next[at as usize];
            let edge = (at.min(next), at.max(next));
            let more = next != at;
            at = next;
            more.then_some(edge)
        })
    }
}

/// The set of `pin`, by one of its members.
fn find(sets: &mut [u32], mut pin: u32) -> u32 {
    while sets[pin as usize] != pin {
        sets[pin as usize] = sets[sets[pin as usize] as usize];
        pin = sets[pin as usize];
    }
    pin
}
