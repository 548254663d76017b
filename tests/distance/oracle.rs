//! A plain oracle: relaxes every step of every cell until nothing changes, and applies the rules
//! for ties as `docs/distances.md` states them, cell by cell.

use std::collections::BTreeSet;

use trazar::distance::{CostDistanceOptions, Neighbours, Sources, StepCost};

/// Arithmetic in one of the precisions, by hand.
pub(crate) trait Number: Copy + PartialOrd + PartialEq {
    fn of(value: f64) -> Self;
    fn add(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn bits(self) -> u64;
    fn to_f64(self) -> f64;
}

impl Number for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }
    fn add(self, other: Self) -> Self {
        self + other
    }
    fn times(self, other: Self) -> Self {
        self * other
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Number for f64 {
    fn of(value: f64) -> Self {
        value
    }
    fn add(self, other: Self) -> Self {
        self + other
    }
    fn times(self, other: Self) -> Self {
        self * other
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// Row by row, `None` where nothing reaches.
pub(crate) struct Answer<P> {
    pub(crate) costs: Vec<Option<P>>,
    pub(crate) allocation: Vec<u32>,
    pub(crate) direction: Vec<u8>,
}

/// A raster of friction, `None` for barriers.
pub(crate) struct Raster<P> {
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) friction: Vec<Option<P>>,
}

/// In the order of the codes of directions, as the page draws them.
const ROUND: [(i32, i32); 16] = [
    (1, 0),
    (1, 1),
    (0, 1),
    (-1, 1),
    (-1, 0),
    (-1, -1),
    (0, -1),
    (1, -1),
    (2, 1),
    (1, 2),
    (-1, 2),
    (-2, 1),
    (-2, -1),
    (-1, -2),
    (1, -2),
    (2, -1),
];

impl<P: Number> Raster<P> {
    fn index(&self, x: i32, y: i32) -> Option<usize> {
        let inside = (0..self.width).contains(&x) && (0..self.height).contains(&y);
        inside.then(|| (y * self.width + x) as usize)
    }

    fn at(&self, x: i32, y: i32) -> Option<P> {
        self.friction[self.index(x, y)?]
    }

    /// What a step between two cells costs, if it is allowed.
    pub(crate) fn step(
        &self,
        options: &CostDistanceOptions,
        (x, y): (i32, i32),
        (dx, dy): (i32, i32),
    ) -> Option<P> {
        let (along_x, along_y) = (
            f64::from(dx) * options.cell_size.x,
            f64::from(dy) * options.cell_size.y,
        );
        let length = (along_y * along_y + along_x * along_x).sqrt();
        let ends = self.at(x, y)?.add(self.at(x + dx, y + dy)?);
        Some(match (dx.abs(), dy.abs()) {
            (2, _) => {
                let between = self.at(x + dx / 2, y)?.add(self.at(x + dx / 2, y + dy)?);
                P::of(0.25 * length).times(ends.add(between))
            }
            (_, 2) => {
                let between = self.at(x, y + dy / 2)?.add(self.at(x + dx, y + dy / 2)?);
                P::of(0.25 * length).times(ends.add(between))
            }
            _ if options.step_cost == StepCost::Entered => self.at(x + dx, y + dy)?,
            _ => P::of(0.5 * length).times(ends),
        })
    }

    /// All allowed steps: from, to, code of the direction back, cost.
    fn steps(&self, options: &CostDistanceOptions) -> Vec<(usize, usize, u8, P)> {
        let mut steps = Vec::new();
        for y in 0..self.height {
            for x in 0..self.width {
                for (&(dx, dy), code) in ROUND.iter().zip(1u8..) {
                    let among = match options.neighbours {
                        Neighbours::Four => dx == 0 || dy == 0,
                        Neighbours::Eight => code <= 8,
                        _ => true,
                    };
                    // The way back leads by (dx, dy).
                    let step = self.step(options, (x + dx, y + dy), (-dx, -dy));
                    if let (true, Some(cost)) = (among, step) {
                        let to = self.index(x, y).unwrap();
                        let from = self.index(x + dx, y + dy).unwrap();
                        steps.push((from, to, code, cost));
                    }
                }
            }
        }
        steps
    }

    pub(crate) fn solve(&self, sources: &Sources, options: &CostDistanceOptions) -> Answer<P> {
        let cells = self.friction.len();
        let steps = self.steps(options);
        let infinity = P::of(f64::INFINITY);
        let limit = options.max_cost.unwrap_or(f64::INFINITY);
        let within = |cost: P| cost < infinity && f64::from_bits(wide(cost)) <= limit;
        let mut costs: Vec<Option<P>> = vec![None; cells];
        let starts: Vec<_> = sources
            .as_slice()
            .iter()
            .map(|s| {
                let index = self.index(s.x as i32, s.y as i32).unwrap();
                (index, s.id, P::of(s.start_cost))
            })
            .collect();
        for &(cell, _, cost) in &starts {
            if within(cost) && costs[cell].is_none_or(|old| cost < old) {
                costs[cell] = Some(cost);
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &(from, to, _, step) in &steps {
                let Some(cost) = costs[from].map(|cost| cost.add(step)) else {
                    continue;
                };
                if within(cost) && costs[to].is_none_or(|old| cost < old) {
                    costs[to] = Some(cost);
                    changed = true;
                }
            }
        }
        let tight: Vec<_> = steps
            .into_iter()
            .filter(|&(from, to, _, step)| {
                costs[from].is_some_and(|cost| costs[to] == Some(cost.add(step)))
            })
            .collect();
        let tight_starts: Vec<_> = starts
            .into_iter()
            .filter(|&(cell, _, cost)| costs[cell] == Some(cost))
            .collect();

        // Allocation: all ids that reach a cell, then the least.
        let mut ids = vec![BTreeSet::new(); cells];
        for &(cell, id, _) in &tight_starts {
            ids[cell].insert(id);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &(from, to, ..) in &tight {
                let more: Vec<_> = ids[from].difference(&ids[to]).copied().collect();
                changed |= !more.is_empty();
                ids[to].extend(more);
            }
        }
        let allocation = ids.iter().map(|ids| ids.first().copied().unwrap_or(0));

        // Direction: layer 0, then one layer after the other.
        let mut direction = vec![255; cells];
        for &(from, to, code, _) in &tight {
            if costs[from] < costs[to] {
                direction[to] = code.min(direction[to]);
            }
        }
        for &(cell, ..) in &tight_starts {
            direction[cell] = 0;
        }
        loop {
            let before = direction.clone();
            for &(from, to, code, _) in &tight {
                if costs[from] == costs[to] && before[to] == 255 && before[from] != 255 {
                    direction[to] = code.min(direction[to]);
                }
            }
            if before == direction {
                break;
            }
        }
        Answer {
            costs,
            allocation: allocation.collect(),
            direction,
        }
    }
}

/// The bits of the same number as an f64.
fn wide<P: Number>(cost: P) -> u64 {
    match u32::try_from(cost.bits()) {
        // An f64 that is not tiny has bits in its upper half.
        Ok(bits) if size_of::<P>() == 4 => f64::from(f32::from_bits(bits)).to_bits(),
        _ => cost.bits(),
    }
}
