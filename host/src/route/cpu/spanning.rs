//! A net's tree from given edges.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::Result;
use crate::memory::{
    collect, extend, filled_vec, push, push_to_heap, reserve_in_map, reserve_in_set,
};
use crate::route::grid::RoutingGrid;
use crate::route::net_by_net::{Joined, PATHS, PINS, PinCells};

/// Joins the pins over `edges` alone, which are edges of `grid`, each as its two cells. The tree is
/// the part of a smallest spanning tree (Prim's, from the first pin) between the first pin and the
/// others. Cells of one pin count as joined.
///
/// Among edges of the same weight it first takes the one to the smaller cell.
pub(in crate::route) fn joined_over(
    grid: &RoutingGrid,
    pins: &PinCells,
    edges: &[(u32, u32)],
) -> Result<Joined> {
    let mut tree = Prim::new(grid, pins, edges)?;
    if !pins.is_empty() {
        tree.add_pin(0, pins[0][0])?;
        tree.add_pending()?;
    }
    while let Some(Reverse((_, to, from))) = tree.border.pop() {
        push(&mut tree.pending, (to, from), PATHS)?;
        tree.add_pending()?;
    }
    // Pins that a path passes through are reached before those beyond.
    let mut joined = Joined::default();
    let mut on_tree = HashSet::new();
    for &(pin, entry) in &tree.reached_pins {
        if pin > 0 {
            let mut path = vec![entry];
            let mut cost = 0;
            let mut at = entry;
            while !on_tree.contains(&at) {
                let (from, weight) = tree.reached[&at];
                cost += u64::from(weight);
                push(&mut path, from, PATHS)?;
                at = from;
            }
            joined.push(pin, cost, &path)?;
            reserve_in_set(&mut on_tree, path.len(), PATHS)?;
            on_tree.extend(path);
        }
        reserve_in_set(&mut on_tree, pins[pin].len(), PINS)?;
        on_tree.extend(&pins[pin]);
    }
    Ok(joined)
}

struct Prim<'a> {
    pins: &'a PinCells,
    pins_at: HashMap<u32, Vec<usize>>,
    /// Both directions of each edge, in order: from, to, weight.
    edges: Vec<(u32, u32, u32)>,
    /// The cells reached, with the cell that each was reached from and the weight of the edge.
    reached: HashMap<u32, (u32, u32)>,
    /// The pins reached, in order, with the cell that each was reached at.
    reached_pins: Vec<(usize, u32)>,
    is_pin_reached: Vec<bool>,
    /// Edges from cells that are reached: weight, to, from.
    border: BinaryHeap<Reverse<(u32, u32, u32)>>,
    /// Cells to add, with those that they are reached from.
    pending: Vec<(u32, u32)>,
}

impl<'a> Prim<'a> {
    fn new(grid: &RoutingGrid, pins: &'a PinCells, edges: &[(u32, u32)]) -> Result<Self> {
        let mut pins_at: HashMap<u32, Vec<usize>> = HashMap::new();
        for (pin, cells) in pins.iter().enumerate() {
            for &cell in cells {
                reserve_in_map(&mut pins_at, PINS)?;
                push(pins_at.entry(cell).or_default(), pin, PINS)?;
            }
        }
        let both = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        let weighted = both.filter_map(|(from, to)| {
            let weight = grid.weight_between(from, to)?;
            Some((from, to, weight))
        });
        let mut edges = collect(weighted, PATHS)?;
        edges.sort_unstable();
        Ok(Self {
            pins,
            pins_at,
            edges,
            reached: HashMap::new(),
            reached_pins: Vec::new(),
            is_pin_reached: filled_vec(false, pins.len(), PINS)?,
            border: BinaryHeap::new(),
            pending: Vec::new(),
        })
    }

    fn add_pending(&mut self) -> Result<()> {
        while let Some((cell, from)) = self.pending.pop() {
            if self.reached.contains_key(&cell) {
                continue;
            }
            let start = self.edges.partition_point(|&(at, ..)| at < cell);
            let edges = self.edges[start..].iter();
            let mut weight = 0;
            for &(_, to, w) in edges.take_while(|&&(at, ..)| at == cell) {
                if to == from {
                    weight = w;
                }
                push_to_heap(&mut self.border, Reverse((w, to, cell)), PATHS)?;
            }
            reserve_in_map(&mut self.reached, PATHS)?;
            self.reached.insert(cell, (from, weight));
            // Each cell is reached once.
            for pin in self.pins_at.remove(&cell).unwrap_or_default() {
                self.add_pin(pin, cell)?;
            }
        }
        Ok(())
    }

    /// All cells of a pin are reached when one is.
    fn add_pin(&mut self, pin: usize, entry: u32) -> Result<()> {
        if !std::mem::replace(&mut self.is_pin_reached[pin], true) {
            push(&mut self.reached_pins, (pin, entry), PINS)?;
            let cells = self.pins[pin].iter();
            extend(&mut self.pending, cells.map(|&cell| (cell, cell)), PINS)?;
        }
        Ok(())
    }
}
